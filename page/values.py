"""How a number of a results file is found and written in a sentence; needs no package, as `make colab` does not."""

from __future__ import annotations

import re

SPACE = "\N{NO-BREAK SPACE}"


def at(value, way: str, name: str):
    """What lies at `key/key` of the results file `name`; ValueError with the names there are if one is wrong."""
    keys = way.split("/")
    while keys:
        key = keys.pop(0)
        while (
            isinstance(value, dict) and key not in value and keys
        ):  # a name may have a stroke itself: B/16
            key += "/" + keys.pop(0)
        if (
            isinstance(value, list)
            and re.fullmatch(r"-?\d+", key)
            and -len(value) <= int(key) < len(value)
        ):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            known = (
                ", ".join(value)
                if isinstance(value, dict)
                else f"a {type(value).__name__}"
            )
            raise ValueError(
                f"{name}.json has no {key!r} on the way {way!r}; there is: {known}"
            )
    return value


def duration(seconds: float) -> str:
    """Seconds as people say them: "48 s", "9 min", "1 h 32 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def unbroken(text: str) -> str:
    """The text on one line."""
    return text.replace(" ", SPACE)


def written(value, form: str = "", way: str = "") -> str:
    """A value as it stands in a sentence; without `form`, its kind and its key decide."""
    if form == "spread" and isinstance(value, dict) and {"mean", "sd"} <= set(value):
        spread = "" if value["sd"] is None else f" ± {100 * value['sd']:.1f}"
        return unbroken(f"{100 * value['mean']:.1f}{spread} %")
    if isinstance(value, bool) or not isinstance(value, int | float):
        if form or isinstance(value, dict | list):
            raise ValueError(
                f"expected a number or a word at {way!r}, got {str(value)[:60]!r}"
            )
        return str(value)
    form = form or (
        "," if isinstance(value, int) else "percent" if "accuracy" in way else ".3g"
    )
    if form == "duration":
        return unbroken(duration(value))
    form = ".1%" if form == "percent" else form
    if re.fullmatch(r",?(\.\d+)?[fge%]?", form):
        return unbroken(format(value, form).replace("%", " %"))
    raise ValueError(
        f"unknown form {form!r}; there are percent, duration, spread, and such as .2f"
    )


def result(text: str, load) -> str:
    """What stands for `file: key/key as form`; `load` gives the contents of a results file by its name."""
    what, form = re.fullmatch(r"(.+?)(?: as ([\w.,%]+))?", text.strip(), re.S).groups()
    name, colon, way = (part.strip() for part in what.partition(":"))
    if not colon:
        raise ValueError(f"expected `file: key/key`, got {what!r}")
    return written(at(load(name), way, name), form or "", what)
