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
from difflib import get_close_matches, unified_diff
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

ROLE = r"\{[\w:]+\}`(?:[^`<]*<([^`>]*)>|([^`]*))`"
SAME = {  # what stands in both languages, as often
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
COUNTED = (
    r"(?i)\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirty|forty|fifty|hundred|thousand|million"
    "|half|twice|once|both|third|quarter|first|second|fourth|fifth|tenth|single|one|november)"
)
CHANGED = {" ": "{}", "-": "[-{}-]", "+": "{{+{}+}}"}
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
    """What a unit lost, invented or wrote in another way than the edition does."""
    both = [english, chinese]
    found = {"role": [counts(ROLE, text) for text in both]}
    for name, pattern in SAME.items():
        # the words of roles look like code
        found[name] = [counts(pattern, re.sub(ROLE, "█", text)) for text in both]
    # Chinese groups by ten thousands: 3.03 亿 is 303 million
    a, b = (numbers(text, "illion" in english) for text in both)
    if a - b or (b - a).total() > len(re.findall(COUNTED, english)):
        found["numbers"] = [a, b]
    wrong = [
        f"{name}: lost {list((a - b).elements())}, new {list((b - a).elements())}"
        for name, (a, b) in found.items()
        if a != b
    ]
    ours = bare(chinese)
    for what, pattern in UNUSUAL.items():
        wrong += [f"{what}: {at[0]!r} in {ours!r}" for at in re.finditer(pattern, ours)]
    if " " in chinese and not re.search(HAN, chinese) and chinese[0] != "|":
        wrong.append("no Chinese in it")
    return wrong


def hashed(path: Path, held: str = "") -> dict[str, tuple[str, str]]:
    """The units of a file, or of what it held once, by their hash: where they stand, and their words."""
    return {
        digest(each): (place, each)
        for place, text in texts(path, held).items()
        for each in units(text)
    }


def check(path: Path) -> tuple[list[str], str]:
    """Of a page: what is wrong in its Chinese, and in a line what is stale, if anything is."""
    known = translations(path, "zh")
    english = hashed(path)
    wrong = [
        f"{each} {known[each][:24]!r}: {problem}"
        for each in filter(known.get, english)
        for problem in problems(english[each][1], known[each])
    ]
    prose = {each for each, (_, words) in english.items() if is_prose(words)}
    missing = 0 if path.stem in ENGLISH else len(prose - known.keys())
    gone = len(known.keys() - english.keys())
    stale = f"{missing} texts have no Chinese, {gone} no English any more"
    return wrong, stale * bool(missing + gone)


def checked(*stems: str) -> Iterator[tuple[str, list[str], str]]:
    """Of each file, or of some pages, what is wrong, and in a line what is stale, if anything is."""
    from page import catalogue  # here: it imports what makes pages

    for path in sorted([*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")]):
        if path.stem.startswith(stems or ""):
            yield path.name, *check(path)
    if not stems:
        missing = len(catalogue.waiting(catalogue.read()))
        yield "words/zh.po", [], f"{missing} texts have no Chinese" * bool(missing)


def gone(path: Path, hashes: set[str]) -> dict[str, str]:
    """English that a file does not hold any more, by its hash, as far as git has it."""
    git = partial(subprocess.run, cwd=BOOK, capture_output=True, text=True)
    found = {}
    for commit in git(["git", "log", "--format=%h", "--", path.name]).stdout.split():
        if held := git(["git", "show", f"{commit}:./{path.name}"]).stdout:
            found |= hashed(path, held)
    return {each: found[each][1] for each in hashes & found.keys()}


def compared(old: str, new: str) -> str:
    """A text in whose words one sees what it was: "a [-b-] {+c+} d"."""
    words = unified_diff(old.split(), new.split(), n=len(old), lineterm="")
    return " ".join(CHANGED[each[0]].format(each[1:]) for each in [*words][3:])


def new(stem: str) -> None:
    """Prints what a page has no translation for, in the form of its file, with the Chinese of what it was."""
    path = source(stem)
    known = translations(path, "zh")
    english = hashed(path)
    was = gone(path, known.keys() - english.keys())
    for each, (place, words) in english.items():
        if each in known or not is_prose(words):
            continue
        for old in get_close_matches(words, was.values(), 1):
            print(f"Was {digest(old)}: {old}\nIs: {compared(old, words)}")
            words = known[digest(old)]
        print(f"<!-- {place} {each} -->\n{words}\n")


def main(*arguments: str) -> None:
    """Runs the command line."""
    match arguments:
        case ["new", stem]:
            new(stem)
        case ["check", *stems]:
            lines = [
                f"{name}: {each}"
                for name, wrong, stale in checked(*stems)
                for each in [*wrong, stale]
                if each
            ]
            for line in lines:
                print(line)
            sys.exit(bool(lines))
        case _:
            raise ValueError(__doc__)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
