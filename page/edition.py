"""The book in another language, from the same source: the words of `book/zh` in the cells of `book`.

    make book LANGUAGES=en,zh        builds both; the Chinese pages lie under zh/

A translation is a file for each chapter and page: comments that name a cell, the part of it (caption, alt, show, hide;
nothing for its text) and the hash of each English unit; then the units. Code, outputs, numbers and drawings are the
English ones, and nothing runs again; what comments in the code say comes from the catalogue. A unit without a
translation, or whose English has changed, stands there in English with a mark. `page/translate.py` helps who
translates.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
HEAD = re.compile(
    r"^<!-- [\w-]+(?: (?:caption|alt|\w*(?:show|hide)))? ((?:[0-9a-f]{6} ?)+)-->\n",
    re.M,
)
# where words stand in a code cell's metadata
PARTS = {"caption", "alt", "code_prompt_show", "code_prompt_hide"}
# Directives that begin with words
TITLED = "admonition|dropdown|exercise|tab-item|warning|tip|note|important"
# A block that nobody translates
CODE = rf"^ *(?P<fence>`{{3,}})(?!`|\{{(?:{TITLED}|solution)\}})\S.*\n[\s\S]*?^ *(?P=fence)$"
# What nobody translates in a text: formulas, labels, options, roles up to their words, names of directives, targets of
# links, tags
SILENT = re.compile(
    rf"{CODE}|\$\$[\s\S]*?\$\$(?: \([\w-]+\))?|\$[^$]*\$|^\([\w-]+\)=$|^:[a-z]+:.*$|^%.*$"
    r"|\{[\w:]+\}`(?=[^`]*<)|\s*<[^`<>]*>`|\{[\w:]+\}`[^`]*`"
    rf"|^[`:]{{3,}}(?:\{{(?!(?:{TITLED})\}})[\w:-]+\}} .*)?"
    r"|(?<!`)(`+)(?!`)[\s\S]+?(?<!`)\2(?!`)|\]\([^)\s]*\)|\{[^}\n]*\}|</?[a-z][^>]*>|<!--[\s\S]*?-->",
    re.M,
)
HAN = r"[\u3400-\u9fff]"
ENGLISH = {"api"}  # whose entries come from the code, and stay as they are there
MARK, SET = (
    "in English",
    "{.untranslated} ",
)  # set as a mark, where there is more than letters
BANNER = "{n} parts of this page have no translation, or their English has changed: they are in English, with a mark."
SETTINGS = ["_toc.yml", "_config.yml"]
SAID = re.compile(  # what they say
    r'( (?:title|caption|extra_footer|search_bar_text|alt_text|nb_code_prompt_\w+): (?:\d\d )?"?)(.*?)(?="?$)',
    re.M,
)
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
    return re.sub(CODE, lambda code: code[0].replace("\n", "\0"), text, flags=re.M)


def units(text: str) -> list[str]:
    """The units of a text."""
    return [each[0].replace("\0", "\n") for each in UNIT.finditer(lines(text))]


def digest(paragraph: str) -> str:
    """Six digits by which a unit is known, wherever its lines end."""
    return hashlib.sha256(" ".join(paragraph.split()).encode()).hexdigest()[:6]


def bare(text: str) -> str:
    """What a translator may change."""
    return SILENT.sub("█", text)


def is_prose(paragraph: str) -> bool:
    """Whether there is anything to translate."""
    return re.search(rf"[A-Za-z]{{2,}}|{HAN}", bare(paragraph)) is not None


def spots(cell: dict) -> Iterator[tuple[dict, str]]:
    """Where words stand in a cell of a notebook: what holds them, and their name there."""
    if cell["cell_type"] == "markdown":
        yield cell, "source"
    own = cell["metadata"].get("mystnb", {})
    for holder in [own, *own.values()]:
        for name in PARTS.intersection(holder):
            yield holder, name


def said() -> list[str]:
    """What pages say that comes from here."""
    settings = "\n".join((ROOT / name).read_text("utf-8") for name in SETTINGS)
    return [MARK, BANNER, *(each for _, each in SAID.findall(settings))]


def comments(code: str) -> Iterator[tokenize.TokenInfo]:
    """The comments in a cell of code that say something in words; of one that is no plain Python none."""
    try:
        found = [*tokenize.generate_tokens(io.StringIO(code).readline)]
    except (SyntaxError, tokenize.TokenError):
        return
    for each in found:
        if each.type == tokenize.COMMENT and re.search("[a-z]{3}", each.string):
            yield each


def remarks(path: Path) -> Iterator[str]:
    """What the comments of a chapter say."""
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code" and "colab-setup" not in cell["metadata"].get(
            "tags", []
        ):
            for each in comments("".join(cell["source"])):
                yield each.string.strip("# ")


def commented(code: str, language: str) -> str:
    """A cell of code with its comments in a language."""
    rows = code.split("\n")
    for each in comments(code):
        (row, at), said = each.start, each.string.strip("# ")
        rows[row - 1] = rows[row - 1][:at] + each.string.replace(
            said, speak(language, said)
        )
    return "\n".join(rows)


def texts(path: Path, held: str = "") -> dict[str, str]:
    """The texts of a chapter by cell and part; of a page there is one. `held` is what the file held once."""
    held = held or path.read_text("utf-8")
    if path.suffix == ".md":
        return {"page": held}
    return {
        f"{cell['id']} {name}".removesuffix(" source"): "".join(holder[name])
        for cell in json.loads(held)["cells"]
        for holder, name in spots(cell)
    }


def headings(path: Path) -> list[str]:
    """The titles of a chapter's or page's sections."""
    text = re.sub(CODE, "", "\n\n".join(texts(path).values()), flags=re.M)
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
                f"{file.name}: expected a text for each of {hashes}; got {len(said)}"
            )
        found |= zip(hashes.split(), said, strict=True)
    return found


def source(stem: str) -> Path:
    """The chapter or page of a name, or of a chapter's number."""
    for path in [*BOOK.glob(f"{stem}*.ipynb"), *BOOK.glob(f"{stem}.md")]:
        return path
    raise ValueError(
        f"expected a chapter's number or a page's name, such as 05 or intro; got {stem!r}"
    )


# Composing what is read in another language


def known() -> list[str]:
    """The languages that there are: English, and each that has a catalogue."""
    from vitworkshop.words import FOLDER  # here: tests import it after their hook

    return ["en", *sorted(path.stem for path in FOLDER.glob("*.po"))]


def languages() -> list[str]:
    """Which languages are built, by LANGUAGES, English first, as the others come to lie in it."""
    wanted = re.findall(r"\w+", os.environ.get("LANGUAGES", "en"))
    if not wanted or set(wanted) - {*known()}:
        raise SystemExit(
            f"LANGUAGES: expected some of {', '.join(known())}; got {','.join(wanted)!r}"
        )
    return [each for each in known() if each in wanted]


def place(language: str) -> str:
    """Where the pages of a language lie among all."""
    return "" if language == "en" else f"{language}/"


def speak(language: str, text: str) -> str:
    """A text of the book's code in a language."""
    from vitworkshop.words import table  # here: tests import it after their hook

    return table(language).get(text, text)


def translated(text: str, known: dict[str, str], mark: str = "") -> str:
    """A text with its translations; units that stay English have a mark before their words."""

    def said(found: re.Match) -> str:
        unit = found[0].replace("\0", "\n")
        if digest(unit) in known or not is_prose(unit):
            return known.get(digest(unit), unit)
        return OPEN.sub(rf"\g<0>{mark}", unit, count=1)

    return UNIT.sub(said, lines(text))


def mark(language: str) -> str:
    """What stands before the words of a unit that is English."""
    return f"[{speak(language, MARK)}]"


def banner(text: str, stale: int, language: str) -> str:
    """A page that says how much of it is English."""
    said = speak(language, BANNER).format(n=stale)
    note = f"\\g<0>\n\n:::{{note}}\n:class: untranslated\n{said}\n:::"
    return re.sub("^# .*", note, text, count=1, flags=re.M) if stale else text


def page(path: Path, language: str) -> str:
    """A page's text in a language."""
    text, sign = path.read_text("utf-8"), mark(language)
    if language == "en":
        return text
    known = translations(path, language)
    if path.stem in ENGLISH:
        return translated(text, known)
    text = translated(text, known, sign + SET)
    return banner(text, text.count(sign), language)


def notebook(path: Path, language: str) -> dict:
    """A chapter in a language."""
    book, sign = json.loads(path.read_text("utf-8")), mark(language)
    if language == "en":
        return book
    known = translations(path, language)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = commented("".join(cell["source"]), language)
        for holder, name in spots(cell):
            # the others can only be letters
            own = sign + (SET if name in {"source", "caption"} else " ")
            holder[name] = translated("".join(holder[name]), known, own)
    stale = json.dumps(book, ensure_ascii=False).count(sign)
    first = next(cell for cell in book["cells"] if cell["cell_type"] == "markdown")
    first["source"] = banner(first["source"], stale, language)
    return book


def ran(path: Path, language: str, cache) -> str:
    """A chapter in a language, with the outputs of the English one."""
    import nbformat

    from vitworkshop.words import exchange  # here: tests import it after their hook

    book = notebook(path, language)
    _, english = cache.merge_match_into_notebook(nbformat.read(path, 4))
    for cell, done in zip(book["cells"], english.cells, strict=True):
        if cell["cell_type"] == "code":
            cell |= {name: done[name] for name in ("outputs", "execution_count")}
            for output in cell["outputs"]:
                exchange(output.get("data", {}), language)
    return json.dumps(book, ensure_ascii=False, indent=1)


def compose(language: str, folder: Path, cache: Path) -> None:
    """Writes into `folder` what Sphinx builds: chapters, pages, settings, and links to all that is the same."""
    from jupyter_cache import get_cache

    from vitworkshop.words import catalogue

    files = {
        name: SAID.sub(
            lambda one: one[1] + speak(language, one[2]),
            (ROOT / name).read_text("utf-8"),
        )
        for name in SETTINGS
    }
    config = files["_config.yml"].replace("notebooks: cache", "notebooks: off")
    tag = catalogue(language).info()["language"]
    files["_config.yml"] = config.replace("language: en", f"language: {tag}")
    for path in BOOK.glob("*.md"):
        files[f"book/{path.name}"] = page(path, language)
    done = get_cache(str(cache))
    for path in BOOK.glob("*.ipynb"):
        files[f"book/{path.name}"] = ran(path, language, done)
    (folder / "book").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        # what did not change keeps its time: Sphinx reads it as read
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8", newline="\n")
    for link in map(folder.joinpath, SHARED):
        if not link.is_symlink():
            link.symlink_to(ROOT / link.relative_to(folder))
