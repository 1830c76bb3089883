"""For who translates: what is missing, and what a translation must keep of its source.

    python -m page.translate new 05      what chapter 05 has no translation for, in the form of its file, in English
    python -m page.translate check       what breaks its source, and how much is stale: before a release, nothing is

Both read the files of `book/zh`, as `page/edition.py` does; the second, unless it is given pages, also the catalogue of
what scripts and exercises say. What is *stale* is English that is new or has changed, and Chinese that has lost its
English. Pages show the English, with a mark; tests warn.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher, get_close_matches
from functools import partial
from pathlib import Path

from page.edition import (
    BOOK,
    ENGLISH,
    HAN,
    bare,
    digest,
    is_prose,
    source,
    texts,
    translations,
    units,
)

SAME = {  # what stands in both languages, as often
    "role": r"\{[\w:]+\}`(?:[^`<]*<([^`>]*)>|([^`]*))`",
    "label": r"^\(([\w-]+)\)=|^:(?:label|name): (\S+)|\$\$ \(([\w-]+)\)",
    "directive": r"^[`:]{3,}\{([\w:-]+)\}",
    "option": r"^:([a-z]+: .*)",
    "code": r"(?<![`}])`([^`\n]+)`(?!`)",
    "formula": r"(?<!\$)\$([^$\n]+)\$(?!\$)",
    "equation": r"\$\$([\s\S]*?)\$\$",
    "target": r"\]\(([^)]+)\)",
    "stars": r"([★☆]{3})",
    "tag": r"(</?[a-z][\w-]*[^>]*>)",
    "item": r"^([-*]|\d+\.) ",
    "cell": r"(?<!\\)(\|)",
    "heading": r"^(#{1,4}) ",
    "fence": r"^([`:]{3,})$",
}
# English words that Chinese may write in digits
COUNTED = """
two three four five six seven eight nine ten eleven twelve sixteen thirty forty fifty hundred thousand million half
twice once both third quarter thirds quarters first second fourth fifth sixth tenth single one november
""".split()
UNUSUAL = {
    "a half-width mark beside Chinese": rf"{HAN} ?[,;:?!]|[,;?!](?={HAN})|{HAN}\.(?=\s|$)|\((?={HAN})|(?<={HAN})\)",
    "a space between Chinese": rf"{HAN} +{HAN}",
    "no space between Chinese and Latin": rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9%]{HAN}",
    "straight quotation marks": r"\"",
}


def counts(pattern: str, text: str) -> Counter:
    """How often each thing that a pattern finds stands in a text."""
    found = re.finditer(pattern, text, re.M)
    return Counter(
        " ".join(next(filter(None, each.groups()), "").split()) for each in found
    )


def numbers(text: str, digits: bool) -> Counter:
    """How often each number stands in a text; of `digits` neither the mark nor zeros at the ends count."""
    found = re.findall(r"\d+(?:[.,]\d+)*", bare(text))
    return Counter(
        re.sub("[.,]", "", each).strip("0") if digits else each for each in found
    )


def problems(english: str, chinese: str) -> list[str]:
    """What a paragraph lost, invented or wrote in another way than the edition does."""
    found, both = {}, (english, chinese)
    # the words of roles look like code
    roleless = [re.sub(r"\{[\w:]+\}`[^`]*`", "█", text) for text in both]
    for name, pattern in SAME.items():
        found[name] = [
            counts(pattern, text) for text in (both if name == "role" else roleless)
        ]
    # Chinese groups by ten thousands: 3.03 亿 is 303 million
    grouped = "illion" in english
    a, b = (numbers(text, grouped) for text in both)
    if (b - a).total() > len(
        re.findall(rf"(?i)\b(?:{'|'.join(COUNTED)})", english)
    ) or a - b:
        found["numbers"] = [a, b]
    wrong = [
        f"{name}: lost {list((a - b).elements())}, new {list((b - a).elements())}"
        for name, (a, b) in found.items()
        if a != b
    ]
    ours = bare(chinese)
    for what, pattern in UNUSUAL.items():
        if at := re.search(pattern, ours):
            wrong.append(
                f"{what}: {at[0]!r} in {ours[max(0, at.start() - 8) : at.end() + 8]!r}"
            )
    return wrong + ["no Chinese in it"] * (
        " " in chinese and not re.search(HAN, chinese) and chinese[0] != "|"
    )


def check(path: Path) -> tuple[list[str], list[str], list[str]]:
    """Of a page: what is wrong in its Chinese, the English that has none, the hashes whose English is gone."""
    english = {
        digest(each): each for text in texts(path).values() for each in units(text)
    }
    known = translations(path, "zh")
    wrong = [
        f"{hashed} {words[:24]!r}: {each}"
        for hashed, words in known.items()
        if hashed in english
        for each in problems(english[hashed], words)
    ]
    missing = [
        each
        for hashed, each in english.items()
        if hashed not in known and is_prose(each) and path.stem not in ENGLISH
    ]
    return wrong, missing, [each for each in known if each not in english]


def checked(*stems: str) -> Iterator[tuple[str, list[str], str]]:
    """Of each file, or of some pages, what is wrong, and in a line what is stale, if anything is."""
    pages = sorted([*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")])
    found = {
        f"{path.stem}.md": check(path)
        for path in pages
        if path.stem.startswith(stems or "")
    }
    if not stems:
        from page import catalogue  # here: it imports what makes pages

        found["words/zh.po"] = [], catalogue.waiting(catalogue.read()), []
    for name, (wrong, missing, gone) in found.items():
        both = f"{len(missing)} texts have no Chinese, {len(gone)} no English any more"
        yield name, wrong, both if missing or gone else ""


def gone(path: Path, hashes: set[str]) -> dict[str, str]:
    """English that a file does not hold any more, by its hash, as far as git has it."""
    git = partial(subprocess.run, cwd=BOOK, capture_output=True, text=True)
    found = {}
    for commit in git(["git", "log", "--format=%h", "--", path.name]).stdout.split():
        held = git(["git", "show", f"{commit}:./{path.name}"]).stdout
        if held and hashes - found.keys():
            for text in texts(path, held).values():
                found |= {digest(each): each for each in units(text)}
    return {hashed: found[hashed] for hashed in hashes & found.keys()}


def compared(old: str, new: str) -> str:
    """A text in whose words one sees what it was: "a [-b-] {+c+} d"."""
    a, b = old.split(), new.split()
    said = []
    for tag, i, j, k, m in SequenceMatcher(None, a, b, False).get_opcodes():
        if tag == "equal":
            said += a[i:j]
        else:
            said += [f"[-{' '.join(a[i:j])}-]"] * (i < j)
            said += [f"{{+{' '.join(b[k:m])}+}}"] * (k < m)
    return " ".join(said)


def new(stem: str) -> None:
    """Prints what a page has no translation for, in the form of its file, with the Chinese of what it was."""
    if stem[:1].isdigit():
        stem = next((each.stem for each in BOOK.glob(f"{stem}*.ipynb")), stem)
    path = source(Path(stem))
    known = translations(path, "zh")
    parts = {
        digest(each): (cell, part, each)
        for (cell, part), text in texts(path).items()
        for each in units(text)
    }
    was = gone(path, known.keys() - parts)
    for hashed, (cell, part, each) in parts.items():
        if hashed in known or not is_prose(each):
            continue
        for old in get_close_matches(each, was.values(), 1):
            print(f"Was {digest(old)}: {old}\nIs: {compared(old, each)}")
            each = known[digest(old)]
        print(f"<!-- {' '.join(filter(None, (cell, part, hashed)))} -->\n{each}\n")


def main() -> int:
    """Runs the command line and returns its exit status."""
    match sys.argv[1:]:
        case ["new", stem]:
            new(stem)
            return 0
        case ["check", *stems]:
            lines = [
                f"{name}: {each}"
                for name, wrong, stale in checked(*stems)
                for each in [*wrong, stale]
                if each
            ]
            print(*lines, sep="\n", end="\n" * bool(lines))
            return int(bool(lines))
    print(__doc__)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
