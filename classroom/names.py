"""What something handed in is called: shown so that a person can tell any two names apart, and matched by one rule."""

from __future__ import annotations

import hashlib
import re
import unicodedata

# letters that print nothing, though Python calls them printable
INVISIBLE = re.compile(
    "[⟨\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0]|^ | $|(?<= ) "
)
ENDING = re.compile(r"\.(ipynb|zip|py)(\.txt|\.json)?$", re.I)
MOODLE = re.compile(r"_\d+_assignsubmission_\w+$")


def shown(name: str) -> str:
    """A name in visible letters: others by their number, and a mark where letters are put together otherwise."""
    whole = unicodedata.normalize("NFC", name)
    text = "".join(c if c.isprintable() else "\0" + c for c in whole)
    text = re.sub(
        "\0(.)", lambda found: _number(found[1]), INVISIBLE.sub(lambda f: _number(f[0]), text), flags=re.S
    )
    if whole == name:
        return text
    return f"{text}⟨spelled otherwise {hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:4]}⟩"


def _number(letter: str) -> str:
    return f"⟨U+{ord(letter):04X}⟩"


def slug(key: str) -> str:
    """A name for files that no other key has, on any system."""
    plain = re.sub(r"[^a-z0-9_.-]", "_", key.casefold())[:60].strip(".")
    return plain if plain == key else f"{plain}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def bare(key: str) -> str:
    """A name without the ending of a file."""
    return ENDING.sub("", key)


def folded(key: str) -> str:
    """A name without case, composition, invisible letters, ending, and what Moodle appends."""
    text = MOODLE.sub("", bare(re.sub("⟨[^⟩]*⟩", "", key)))
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())


def matched(names: list[str], keys: list[str]) -> dict[str, str]:
    """Which of the names that a person wrote is meant by which key.

    A name is first the same as a key to the letter; else but for the ending; else `folded`. Of two, none is.
    """
    found: dict[str, str] = {}
    written = {name: shown(name) for name in names}
    for same in (str, bare, folded):
        for name, text in written.items():
            like = [key for key in keys if same(key) == same(text)]
            rivals = [other for other in written.values() if same(other) == same(text)]
            if name not in found.values() and len(like) == len(rivals) == 1:
                found.setdefault(like[0], name)
    return found
