"""What something handed in is called: shown so that a person can tell any two names apart; and whose it is."""

import hashlib
import re
from collections.abc import Iterable
from functools import partial

ENDING = re.compile(r"\.(ipynb|zip|py)(\.txt|\.json)?$", re.I)
# doejane_LATE_1234_56789_homework-1-2.ipynb; Jane Doe_81_assignsubmission_file_, a folder, or before the file's name
CANVAS = re.compile(r"(?P<name>.+?)_(?:LATE_)?(?P<id>\d+)_(?P<order>\d+)_(?P<file>.+)")
MOODLE = re.compile(
    r"(?P<name>[^_]+)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)"
)
LETTERS = str.maketrans("0123456789", "ghkmnpqrst")
WORDS = re.compile("[A-Za-z0-9]+")
bare = partial(ENDING.sub, "")  # a name without the ending of a file


def shown(name: str) -> str:
    """A name in letters that print; others by their number, and so is the "{" that begins it."""
    return "".join(
        c if c.isprintable() and c != "{" else f"{{U+{ord(c):04X}}}" for c in name
    )


def slug(key: str) -> str:
    """A name for files that no other key has, on any system."""
    plain = re.sub(r"[^a-z0-9_.-]", "_", key.casefold())[:60].strip(".")
    mark = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:8]
    return plain if plain == key else f"{plain}-{mark}"


def digest(text: str) -> str:
    """Of an answer: letters alone, which no spreadsheet takes for a number or a date."""
    marks = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    return marks.translate(LETTERS)


def packed(name: str) -> re.Match | None:
    """What Canvas or Moodle put into the name of a file or folder: `name`, `id`, and the student's own `file`."""
    return MOODLE.fullmatch(name) or CANVAS.fullmatch(name)


def whose(names: list[str], people: Iterable[str]) -> dict[str, list[str]]:
    """For each name of what was handed in whose it is, as ids: by the platform's number, else by what is in it.

    Without `people` it is the platform's number, or the name itself.
    """
    ids = {short_id(id_): id_ for id_ in people}
    ours = 2 * sum(packed(name) is not None for name in names) > len(names)
    found: dict[str, list[str]] = {}
    for name in names:
        by, text = packed(name), bare(name)
        if not ids:
            found[name] = [by["id"] if by and ours else shown(name)]
            continue
        if by:
            text = by["name"] + " " + by["file"]
        # a short number is a homework's
        words = [word for word in WORDS.findall(text) if len(word) > 3 or word == text]
        words = [by["id"]] if by and short_id(by["id"]) in ids else words
        known = [ids[short_id(word)] for word in words if short_id(word) in ids]
        found[name] = [*dict.fromkeys(known)]
    return found


def short_id(id_: str) -> str:
    """An id as it is compared: without capitals, and without the zeros that spreadsheets take away."""
    return id_.casefold().lstrip("0")
