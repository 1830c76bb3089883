"""The book in another language, from the same source: the words of `book/zh` in the cells of `book`.

    make book LANGUAGES=en,zh        builds both; the Chinese pages lie under zh/

A translation is a file for each chapter and page: comments that name a cell, the part of it (caption, alt, show, hide;
nothing for its text) and the hash of each English unit; then the units. Code, outputs, numbers and drawings are the
English ones, and nothing runs again. A unit without a translation, or whose English has changed, stands there in
English with a mark. `page/translate.py` helps who translates.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
HEAD = re.compile(
    r"^<!-- [\w-]+(?: (?:caption|alt|show|hide))? ((?:[0-9a-f]{6} ?)+)-->\n", re.M
)
PARTS = {  # where words stand in a code cell's metadata
    "caption": ("mystnb", "figure", "caption"),
    "alt": ("mystnb", "image", "alt"),
    "show": ("mystnb", "code_prompt_show"),
    "hide": ("mystnb", "code_prompt_hide"),
}
# Directives that begin with words
TITLED = "admonition|dropdown|exercise|tab-item|warning|tip|note|important"
# A block that nobody translates
CODE = rf"^ *(?P<fence>`{{3,}})(?!`|\{{(?:{TITLED}|solution)\}})\S[^\n]*\n.*?^ *(?P=fence)$"
HAN = r"[\u3400-\u9fff]"
ENGLISH = {"api"}  # whose entries come from the code, and stay as they are there
MARK = "in English"
BANNER = "{n} parts of this page have no translation, or their English has changed: they are in English, with a mark."
TITLE = re.compile(r"((?:title|caption): (?:\d\d )?)(.*)")  # in the table of contents
SHARED = (
    "book/_static book/_templates book/references.bib vitlib vitworkshop page".split()
)
LABELS = r"(?:\([\w-]+\)=\n)*"
# What is translated as one: a directive's title with its options, a block of code, a row of a table, an item of a list,
# a heading; else what stands between blank lines
UNIT = re.compile(
    rf"^(?=.*\S){LABELS}(?: *[`:]{{3,}}\S.*(?:\n *:[a-z]+:.*)*|\|.*|"
    r".+(?:\n(?! *(?:[-*:] |\d{1,2}\. |\||[`:]{3,}\S|$)).+)*)",
    re.M,
)
# What a unit has before its words; in a glossary these are the terms
OPEN = re.compile(
    rf"{LABELS}(?:\s*(?:#{{1,4}}|[-*:>]|\d+\.|[`:]{{3,}}\{{[\w-]+\}}) "
    r"|(?:\| ?)+|!\[|(?:\S.*\n)+? {2,}|\s*)"
)

# Cutting


def lines(text: str) -> str:
    """A text in which a block of code is one line."""
    return re.sub(
        CODE, lambda code: code[0].replace("\n", "\0"), text, flags=re.M | re.S
    )


def units(text: str) -> list[str]:
    """The units of a text."""
    return [each[0].replace("\0", "\n") for each in UNIT.finditer(lines(text))]


def digest(paragraph: str) -> str:
    """Six digits by which a unit is known, wherever its lines end."""
    return hashlib.sha256(" ".join(paragraph.split()).encode()).hexdigest()[:6]


def bare(text: str) -> str:
    """What a translator may change: without code, formulas, names of directives, targets of links, tags."""
    text = re.sub(CODE, " ", text, flags=re.M | re.S)
    text = re.sub(
        r"\$\$[\s\S]*?\$\$(?: \([\w-]+\))?|\$[^$]*\$|^\([\w-]+\)=$|^:[a-z]+:.*$|^%.*$",
        "█",
        text,
        flags=re.M,
    )
    text = re.sub(
        r"\{[\w:]+\}`(?:([^`<]*?)\s*<[^`]*>|[^`]*)`",
        lambda role: f"█{role[1] or ''}█",
        text,
    )
    text = re.sub(
        rf"^[`:]{{3,}}(?:\{{(?!(?:{TITLED})\}})[\w:-]+\}} .*)?", "█", text, flags=re.M
    )
    return re.sub(
        r"(`+)[^`]+\1|\]\([^)\s]*\)|\{[^}\n]*\}|</?[a-z][^>]*>|<!--.*?-->",
        "█",
        text,
        flags=re.S,
    )


def is_prose(paragraph: str) -> bool:
    """Whether there is anything to translate."""
    return re.search(rf"[A-Za-z]{{2,}}|{HAN}", bare(paragraph)) is not None


def spots(cell: dict) -> Iterator[tuple[str, dict, str]]:
    """Where words stand in a cell of a notebook: the part, what holds them, their name there."""
    if cell["cell_type"] == "markdown":
        yield "", cell, "source"
    for part, (*above, last) in PARTS.items():
        holder = reduce(lambda place, key: place.get(key, {}), above, cell["metadata"])
        if holder.get(last):
            yield part, holder, last


def said() -> list[str]:
    """What the edition says by itself, and the table of contents."""
    contents = TITLE.findall((ROOT / "_toc.yml").read_text("utf-8"))
    return [MARK, BANNER, *(each for _, each in contents)]


def texts(path: Path, held: str = "") -> dict[tuple[str, str], str]:
    """The texts of a chapter by cell and part; of a page there is one. `held` is what the file held once."""
    held = held or path.read_text("utf-8")
    if path.suffix == ".md":
        return {("page", ""): held}
    cells = json.loads(held)["cells"]
    return {
        (cell["id"], part): "".join(holder[key])
        for cell in cells
        for part, holder, key in spots(cell)
    }


def headings(path: Path) -> list[str]:
    """The titles of a chapter's or page's sections."""
    text = re.sub(CODE, "", "\n\n".join(texts(path).values()), flags=re.M | re.S)
    return [
        re.sub(r"[`*$]", "", title).replace("'", "’")
        for title in re.findall(r"^#{1,4} (.*)", text, re.M)
    ]


def translations(path: Path, language: str) -> dict[str, str]:
    """The words of a chapter's or page's units in a language, by the hash of the English."""
    file, found = BOOK / language / f"{path.stem}.md", {}
    _, *parts = HEAD.split(file.read_text("utf-8")) if file.exists() else [""]
    for hashes, text in zip(parts[::2], parts[1::2], strict=True):
        said = [
            each
            for each in units(text)
            if is_prose(each) or not re.match(r" *(?:\||[`:]{3})", each)
        ]
        if len(said) != len(hashes.split()):
            raise ValueError(
                f"{file.name}: expected {len(hashes.split())} texts below {hashes}, got {len(said)}"
            )
        found |= zip(hashes.split(), said, strict=True)
    return found


def source(path: Path) -> Path:
    """The chapter or page that a file translates."""
    return next(
        each
        for each in (BOOK / f"{path.stem}.ipynb", BOOK / f"{path.stem}.md")
        if each.exists()
    )


# Composing what is read in another language


def languages() -> list[str]:
    """Which languages are built, by LANGUAGES, English first, as the others come to lie in it."""
    wanted = set(os.environ.get("LANGUAGES", "en").replace(",", " ").split())
    known = {"en", *(each.parent.name for each in BOOK.glob("*/config.yml"))}
    if not wanted or wanted - known:
        raise SystemExit(
            f"LANGUAGES: expected some of {', '.join(sorted(known))}; got {','.join(sorted(wanted))!r}"
        )
    return sorted(wanted, key=lambda each: (each != "en", each))


def place(language: str) -> str:
    """Where the pages of a language lie among all."""
    return "" if language == "en" else f"{language}/"


def chosen(arguments: list[str]) -> str:
    """The language that a command is asked for, "en" or "zh"; ends it with a sentence at anything else."""
    if arguments not in ([], ["zh"]):
        raise SystemExit(
            f"expected nothing, or zh for Chinese; got {' '.join(arguments)}"
        )
    return "zh" if arguments else "en"


def speak(language: str, text: str) -> str:
    """A text of the book's code in a language."""
    from vitworkshop.words import table  # here: tests import it after their hook

    return table(language).get(text, text)


def translated(text: str, known: dict[str, str], mark: str = "") -> tuple[str, int]:
    """A text with its translations, and how many of its units stay English, with a mark."""
    stale = 0

    def said(found: re.Match) -> str:
        nonlocal stale
        unit = found[0].replace("\0", "\n")
        if digest(unit) in known or not is_prose(unit):
            return known.get(digest(unit), unit)
        stale += 1
        return OPEN.sub(rf"\g<0>{mark}", unit, count=1)

    return UNIT.sub(said, lines(text)), stale


def banner(text: str, stale: int, language: str) -> str:
    """A page that says how much of it is English."""
    said = speak(language, BANNER).format(n=stale)
    note = f"\\g<0>\n\n:::{{note}}\n:class: untranslated\n{said}\n:::"
    return re.sub("^# .*", note, text, count=1, flags=re.M) if stale else text


def page(path: Path, language: str) -> str:
    """A page's text in a language."""
    text = path.read_text("utf-8")
    if language == "en":
        return text
    known = translations(path, language)
    if path.stem in ENGLISH:
        return translated(text, known)[0]
    return banner(*translated(text, known, mark(language)), language)


def mark(language: str) -> str:
    """What stands before the words of a unit that is English."""
    return f"[{speak(language, MARK)}]{{.untranslated}} "


def notebook(path: Path, language: str) -> dict:
    """A chapter in a language."""
    book, stale = json.loads(path.read_text("utf-8")), 0
    if language == "en":
        return book
    known, sign = translations(path, language), mark(language)
    for cell in book["cells"]:
        for part, holder, key in spots(cell):
            # only letters can stand there
            own = re.sub(r"\{.*\}", "", sign) if part not in {"", "caption"} else sign
            holder[key], more = translated("".join(holder[key]), known, own)
            stale += more
    first = next(cell for cell in book["cells"] if cell["cell_type"] == "markdown")
    first["source"] = banner(first["source"], stale, language)
    return book


def cache_outputs(
    cache, english: Path, book: dict, name: Path, into, language: str
) -> None:
    """Puts a chapter with the outputs of the English one into the cache that Sphinx reads."""
    import nbformat
    from jupyter_cache.base import CacheBundleIn

    from page.words import exchange

    _, ran = cache.merge_match_into_notebook(nbformat.read(english, 4))
    full = nbformat.from_dict(json.loads(json.dumps(book)))
    for cell, done in zip(full.cells, ran.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = done.outputs, done.execution_count
            for output in cell.outputs:
                exchange(output.get("data", {}), language)
    into.cache_notebook_bundle(
        CacheBundleIn(full, str(name)), check_validity=False, overwrite=True
    )


def merged(settings: dict, own: dict) -> dict:
    """Settings with those of a language in their place."""
    return settings | {
        name: merged(settings[name], value) if isinstance(value, dict) else value
        for name, value in own.items()
    }


def compose(language: str, folder: Path, cache: Path) -> None:
    """Writes into `folder` what Sphinx builds: chapters, pages, settings, and links to all that is the same."""
    import yaml
    from jupyter_cache import get_cache

    def write(name: str, text: str) -> None:
        """What did not change keeps its time: Sphinx reads it as read."""
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")

    def titled(found: re.Match) -> str:
        return found[1] + speak(language, found[2])

    ran, own = get_cache(str(cache)), get_cache(str(folder / ".jupyter_cache"))
    own.clear_cache()
    for path in sorted(BOOK.glob("*.md")):
        write(f"book/{path.name}", page(path, language))
    for path in sorted(BOOK.glob("*.ipynb")):
        book, name = notebook(path, language), f"book/{path.name}"
        write(name, json.dumps(book, ensure_ascii=False, indent=1) + "\n")
        cache_outputs(ran, path, book, folder / name, own, language)
    for name in SHARED:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(ROOT / name)
    write("_toc.yml", TITLE.sub(titled, (ROOT / "_toc.yml").read_text("utf-8")))
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings["execute"] |= {"cache": str(folder / ".jupyter_cache")}
    own = yaml.safe_load((BOOK / language / "config.yml").read_text("utf-8"))
    text = yaml.safe_dump(merged(settings, own), allow_unicode=True, sort_keys=False)
    write("_config.yml", text)
