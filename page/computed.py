"""Numbers and tables that pages take from `vitlib` when the book is built, so that nobody types them.

    {result}`cifar10-modern: final/test_accuracy`                       73.6 %
    {result}`cifar10-modern: final/test_accuracy - cifar10-plain: final/test_accuracy as points`
    {model}`vit-b/16 img_size=384 tokens`                               576

What stands before the colon is a file in `vitlib/results`; behind it is the way to the value, key by key. `as` chooses
how it is written: percent, points, count, duration, text, a format such as .2f or .2%, or spread (mean ± standard
deviation, for an entry of a study's summary). The directive ``computed`` puts one of the tables below on the page. A
wrong name stops the build and says which names there are.
"""

from __future__ import annotations

import json
import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

from page.readme import RESULTS, cards, duration, hardware, row
from vitlib.evidence import load_results

NARROW = "\N{NO-BREAK SPACE}"


# Numbers from results


def look_up(text: str):
    """The value at ``file: key/key``; ValueError with the names there are if one of them is wrong."""
    name, colon, way = (part.strip() for part in text.partition(":"))
    if not colon:
        raise ValueError(f"expected `file: key/key`, got {text!r}")
    value, keys = load_results(name), way.split("/")
    while keys:
        key = keys.pop(0)
        while isinstance(value, dict) and key not in value and keys:  # a name may have a stroke itself: B/16
            key += "/" + keys.pop(0)
        if isinstance(value, list) and re.fullmatch(r"-?\d+", key) and -len(value) <= int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            known = ", ".join(value) if isinstance(value, dict) else f"a {type(value).__name__}"
            raise ValueError(f"{name}.json has no {key!r} on the way {way!r}; there is: {known}")
    return value


def written(value, form: str = "", way: str = "") -> str:
    """A value as it stands in a sentence; without ``form``, its kind and its key decide."""
    if form == "spread" and isinstance(value, dict) and {"mean", "sd"} <= set(value):
        spread = "" if value["sd"] is None else f"{NARROW}±{NARROW}{100 * value['sd']:.1f}"
        return f"{100 * value['mean']:.1f}{spread}{NARROW}%"
    if isinstance(value, bool) or not isinstance(value, int | float):
        if form not in ("", "text") or isinstance(value, dict | list):
            raise ValueError(f"expected a number or a word at {way!r}, got {str(value)[:60]!r}")
        return str(value)
    if not form:
        form = "count" if isinstance(value, int) else "percent" if "accuracy" in way else ".3g"
    if form == "percent":
        return f"{100 * value:.1f}{NARROW}%"
    if form == "points":
        return f"{100 * value:.1f}"
    if form == "count":
        return f"{value:,}"
    if form == "duration":
        return duration(value).replace(" ", NARROW)
    if form == "text":
        return str(value)
    if re.fullmatch(r"\.\d+%", form):
        return f"{100 * value:{form[:-1]}f}{NARROW}%"
    if re.fullmatch(r",?(\.\d+)?[fge]?", form):
        return format(value, form)
    known = "percent, points, count, duration, spread, text"
    raise ValueError(f"unknown form {form!r}; there are {known}, and such as .2f")


def result(text: str) -> str:
    """What stands on the page for a `result`: one value, or the difference of two."""
    what, form = re.fullmatch(r"(.+?)(?: as ([\w.,%]+))?", text.strip(), re.S).groups()
    first, minus, second = (part.strip() for part in what.partition(" - "))
    value = look_up(first) - look_up(second) if minus else look_up(first)
    return written(value, form or "", first)


# Numbers of a model's shape


def model(text: str) -> str:
    """What stands on the page for a `model`: preset, changes, quantity."""
    import vitlib as vl

    name, *changes, quantity = text.split()
    try:
        options = {key: json.loads(value) for key, value in (change.split("=") for change in changes)}
    except ValueError:
        raise ValueError(f"expected changes such as img_size=384, got {' '.join(changes)!r}") from None
    cfg = vl.ViTConfig.preset(name, **options)
    known = {
        "tokens": lambda: f"{cfg.num_patches:,}",
        "parameters": lambda: f"{parameters(cfg):,}",
        "gmacs": lambda: f"{vl.count_macs(cfg) / 1e9:.1f}",
        "grid": lambda: f"{cfg.grid[0]}{NARROW}×{NARROW}{cfg.grid[1]}",
        "depth": lambda: str(cfg.depth),
        "embed_dim": lambda: str(cfg.embed_dim),
    }
    if quantity not in known:
        raise ValueError(f"unknown quantity {quantity!r}; there are {', '.join(known)}")
    return known[quantity]()


def parameters(cfg) -> int:
    """Parameters of a model of this shape, counted on one that takes no memory."""
    import torch

    import vitlib as vl

    with torch.device("meta"):
        return vl.count_parameters(vl.VisionTransformer(cfg))


# Tables


def table(head: list[str], rows: list[list[str]], right: str = "") -> list[str]:
    """A Markdown table; ``right`` holds the headings of the columns of numbers."""
    marks = ["---:" if name in right.split("|") else "---" for name in head]
    return ["| " + " | ".join(cells) + " |" for cells in (head, marks, *rows)]


def model_sizes() -> list[str]:
    """Ti, S, B, L and H at 224 pixels and 1,000 classes."""
    from dataclasses import replace

    import vitlib as vl
    from vitlib.config import PRESETS

    rows = []
    for name in PRESETS:
        cfg = vl.ViTConfig.preset(name)
        full, headless = parameters(cfg), parameters(replace(cfg, num_classes=0))
        label = "ViT-" + name.removeprefix("vit-").capitalize()
        counts = [cfg.depth, cfg.embed_dim, cfg.hidden_dim, cfg.num_heads, cfg.num_patches, full, headless]
        rows.append([label, *(f"{n:,}" for n in counts), f"{vl.count_macs(cfg) / 1e9:.2f}"])
    head = ["Model", "$L$", "$D$", "MLP", "$h$", "$N$", "Parameters", "headless", "GMACs"]
    return table(head, rows, "|".join(head[1:]))


def paper_transfer() -> list[str]:
    """What the paper's models reach on CIFAR-10, by what they were pre-trained on (Tables 5 and 6)."""
    five, six = (load_results("paper")[f"table_{number}"] for number in (5, 6))
    labels = {size: f"ViT-{size}" for size in ("B/32", "B/16", "L/32", "L/16", "H/14")}
    labels |= {"R50x1": "R50x1", "R50+B/32": "R50 + ViT-B/32"}
    rows = []
    for name, label in labels.items():
        jft = six.get(name, {})
        shares = [
            five["cifar10_after_imagenet"].get(name),
            five["cifar10_after_imagenet21k"].get(name),
            jft.get("cifar10"),
            five["imagenet_top1_after_imagenet"].get(name),
        ]
        cells = [f"{100 * share:.2f}" if share else "" for share in shares]
        rows.append([label, *cells, f"{jft['exaflops']:,}" if jft else ""])
    head = ["Model", "ImageNet", "ImageNet-21k", "JFT-300M", "on ImageNet", "exaFLOPs on JFT"]
    return table(head, rows, "|".join(head[1:]))


def our_models() -> list[str]:
    """The models that come with the book: what they reach, and their shape."""
    rows = []
    for card in cards():
        cfg = card["config"]
        sizes = [cfg["depth"], cfg["embed_dim"], int(cfg["embed_dim"] * cfg["mlp_ratio"]), cfg["num_heads"]]
        reader = {"token": "CLS", "avg": "GAP"}[cfg["global_pool"]]
        rows.append(
            [
                f"`{card['name']}`",
                row(card).split("|")[-2].strip(),
                card["dataset"],
                reader,
                *(f"{n:,}" for n in [*sizes, card["parameters"]]),
            ]
        )
    head = ["Model", "Test accuracy", "Data", "reads", "$L$", "$D$", "MLP", "$h$", "Parameters"]
    return table(head, rows, "|".join(head[4:]))


def our_runs() -> list[str]:
    """How the book's models were trained."""
    rows = [
        [
            f"`{card['name']}`",
            f"{card['n_train']:,}",
            str(card["recipe"]["epochs"]),
            hardware(card["hardware"]),
            card["precision"],
            duration(card["seconds"]),
        ]
        for card in cards()
    ]
    return table(["Model", "Images", "Epochs", "Trained on", "Precision", "Time"], rows, "Images|Epochs|Time")


def time_taken(study: dict) -> str:
    """How long a study's runs took, all of them together."""
    seconds = study.get("seconds") or sum(run["seconds"] for run in study["runs"])
    return duration(seconds).replace(" ", NARROW)


def our_studies() -> list[str]:
    """The studies in `vitlib/results`: their question, their data, what they held fixed."""
    rows = []
    for path in sorted(RESULTS.glob("*.json")):
        study = load_results(path.stem)
        if "question" in study and "runs" in study:
            count = str(len(study["runs"]))
            rows.append([f"`{path.stem}`", study["question"], study["dataset"], count, time_taken(study)])
    return table(["Study", "Question", "Data", "Runs", "Time"], rows, "Runs|Time")


TABLES = {
    "model-sizes": model_sizes,
    "paper-transfer": paper_transfer,
    "our-models": our_models,
    "our-runs": our_runs,
    "our-studies": our_studies,
}


def make_table(name: str) -> list[str]:
    """One of the tables, by name, as lines of Markdown."""
    if name not in TABLES:
        raise ValueError(f"no computed table {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name]()


# Sphinx


def note_results(env) -> None:
    """A page with computed numbers is read again when a result changes."""
    for path in sorted(RESULTS.glob("*.json")):
        env.note_dependency(str(path))


class Value(SphinxRole):
    """A computed number in a sentence."""

    def __init__(self, compute) -> None:
        super().__init__()
        self.compute = compute

    def run(self):
        note_results(self.env)
        try:
            return [nodes.Text(self.compute(self.text))], []
        except ValueError as error:
            message = self.inliner.reporter.error(f"{self.rawtext}: {error}", line=self.lineno)
            return [], [message]


class Computed(SphinxDirective):
    """A computed table."""

    required_arguments = 1
    make = staticmethod(make_table)

    def run(self) -> list[nodes.Node]:
        note_results(self.env)
        try:
            lines = self.make(self.arguments[0])
        except ValueError as error:
            raise self.error(str(error)) from None
        place = nodes.Element()
        self.state.nested_parse(StringList(lines, source=self.env.docname), self.content_offset, place)
        return place.children


def setup(app):
    """Registers roles and directive with Sphinx."""
    app.add_role("result", Value(result))
    app.add_role("model", Value(model))
    app.add_directive("computed", Computed)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
