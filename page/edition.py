"""The book in another language, from the same source: the words of `book/zh` in the cells of `book`.

    make book LANGUAGES=en,zh        builds both; the Chinese pages lie under zh/

A translation is a file for each chapter and page: comments that name a cell, the part of it (caption, alt, show, hide;
nothing for its text) and the hash of each English paragraph; then the paragraphs. Code, outputs, numbers and drawings
are the English ones, and nothing runs again. A paragraph without a translation, or whose English has changed, stands
there in English with a mark. `page/translate.py` helps who translates.
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
BOOK, WORDS = ROOT / "book", ROOT / "book" / "zh"
HEAD = re.compile(
    r"^<!-- ([\w-]+)(?: (caption|alt|show|hide))? ((?:[0-9a-f]{6} ?)+)-->\n", re.M
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
MARK = "[英文]{.untranslated} "
BARE = "[英文] "  # where there are only letters
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
BANNER = "本页有 {} 段尚无译文，或英文在翻译之后又改过：这些段落以英文显示，并有标记。"

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


def pieces(path: Path) -> list[tuple[str, str, str, str]]:
    """A file of translations: of each paragraph the cell, the part, the hash of the English, and the Chinese."""
    found = []
    if path.exists():
        _, *parts = HEAD.split(path.read_text("utf-8"))
        for cell, part, hashes, text in zip(
            *(parts[i::4] for i in range(4)), strict=True
        ):
            said = [
                each
                for each in units(text)
                if is_prose(each) or not re.match(r" *(?:\||[`:]{3})", each)
            ]
            if len(said) != len(hashes.split()):
                raise ValueError(
                    f"{path.name}, {cell}: expected {len(hashes.split())} paragraphs, got {len(said)}"
                )
            found += [
                (cell, part or "", known, words)
                for known, words in zip(hashes.split(), said, strict=True)
            ]
    return found


def translations(path: Path) -> dict[str, str]:
    """The Chinese of a chapter's or page's paragraphs, by the hash of the English."""
    return {hashed: words for _, _, hashed, words in pieces(WORDS / f"{path.stem}.md")}


def source(path: Path) -> Path:
    """The chapter or page that a file translates."""
    return next(
        each
        for each in (BOOK / f"{path.stem}.ipynb", BOOK / f"{path.stem}.md")
        if each.exists()
    )


# Composing what is read in Chinese


def languages() -> list[str]:
    """Which languages are built: LANGUAGES, "en", "zh" or both; ends the program with a sentence at anything else."""
    wanted = os.environ.get("LANGUAGES", "en").replace(",", " ").split()
    if not wanted or set(wanted) - {"en", "zh"}:
        raise SystemExit(
            f"LANGUAGES: expected en, zh or en,zh; got {','.join(wanted)!r}"
        )
    return sorted(set(wanted))  # the Chinese pages come to lie among the English ones


def chosen(arguments: list[str]) -> str:
    """The language that a command is asked for, "en" or "zh"; ends it with a sentence at anything else."""
    if arguments not in ([], ["zh"]):
        raise SystemExit(
            f"expected nothing, or zh for Chinese; got {' '.join(arguments)}"
        )
    return "zh" if arguments else "en"


def chinese(text: str, known: dict[str, str], mark: str = MARK) -> tuple[str, int]:
    """A text with its translations, and how many of its units stay English, each with a mark."""
    stale = 0

    def said(found: re.Match) -> str:
        nonlocal stale
        unit = found[0].replace("\0", "\n")
        if digest(unit) not in known and is_prose(unit):
            stale += 1
            return OPEN.sub(rf"\g<0>{mark}", unit, count=1)
        return known.get(digest(unit), unit)

    return UNIT.sub(said, lines(text)), stale


def banner(text: str, untranslated: int) -> str:
    """A page that says how much of it is English."""
    note = (
        f"\n\n:::{{note}}\n:class: untranslated\n{BANNER.format(untranslated)}\n:::"
        if untranslated
        else ""
    )
    return re.sub(r"^# .*$", lambda title: title[0] + note, text, count=1, flags=re.M)


def page(path: Path, language: str) -> str:
    """A page's text in a language."""
    text = path.read_text("utf-8")
    if language == "en":
        return text
    generated = path.stem in ENGLISH
    text, missing = chinese(text, translations(path), mark="" if generated else MARK)
    return banner(text, 0 if generated else missing)


def notebook(path: Path, language: str) -> dict:
    """A chapter in a language."""
    book, known, missing = json.loads(path.read_text("utf-8")), translations(path), 0
    if language == "en":
        return book
    for cell in book["cells"]:
        for part, holder, key in spots(cell):
            mark = BARE if part in {"alt", "show", "hide"} else MARK
            holder[key], more = chinese("".join(holder[key]), known, mark)
            missing += more
    first = next(cell for cell in book["cells"] if cell["cell_type"] == "markdown")
    first["source"] = banner(first["source"], missing)
    return book


def cache_outputs(cache, english: Path, book: dict, name: Path, into) -> None:
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
                exchange(output.get("data", {}))
    into.cache_notebook_bundle(
        CacheBundleIn(full, str(name)), check_validity=False, overwrite=True
    )


def merged(settings: dict, own: dict) -> dict:
    """Settings with those of a language in their place."""
    return settings | {
        name: merged(settings[name], value) if isinstance(value, dict) else value
        for name, value in own.items()
    }


def compose(folder: Path, cache: Path) -> None:
    """Writes into `folder` what Sphinx builds: chapters, pages, settings, and links to all that is the same."""
    import yaml
    from jupyter_cache import get_cache

    def write(
        path: Path, text: str
    ) -> None:  # what did not change keeps its time: Sphinx reads it as read
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")

    ran, own = get_cache(str(cache)), get_cache(str(folder / ".jupyter_cache"))
    own.clear_cache()
    for path in sorted([*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")]):
        if path.suffix == ".md":
            write(folder / "book" / path.name, page(path, "zh"))
        else:
            book = notebook(path, "zh")
            write(
                folder / "book" / path.name,
                json.dumps(book, ensure_ascii=False, indent=1) + "\n",
            )
            cache_outputs(ran, path, book, folder / "book" / path.name, own)
    for name in (
        "book/_static",
        "book/_templates",
        "book/references.bib",
        "vitlib",
        "vitworkshop",
        "page",
    ):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(ROOT / name)
    contents = (ROOT / "_toc.yml").read_text("utf-8")
    for english, said in yaml.safe_load(
        (WORDS / "contents.yml").read_text("utf-8")
    ).items():
        contents = re.sub(
            rf"((?:title|caption): (?:\d\d )?){re.escape(english)}$",
            rf"\g<1>{said}",
            contents,
            flags=re.M,
        )
    write(folder / "_toc.yml", contents)
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings["execute"] |= {"cache": str(folder / ".jupyter_cache")}
    own = yaml.safe_load((WORDS / "config.yml").read_text("utf-8"))
    text = yaml.safe_dump(merged(settings, own), allow_unicode=True, sort_keys=False)
    write(folder / "_config.yml", text)
