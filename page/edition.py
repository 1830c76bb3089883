"""The book in another language, from the same source: the words of `book/zh` in the cells of `book`.

    python -m page.edition new 05      what chapter 05 has no translation for, in the form of its file, in English
    python -m page.edition check       what breaks its source, and how much of each page is translated
    make book LANGUAGES=en,zh          builds both; the Chinese pages lie under zh/

A translation is a file for each chapter and page: comments that name a cell, the part of it (caption, alt, show, hide;
nothing for its text) and the hash of each English paragraph; then the paragraphs. Code, outputs, numbers and drawings
are the English ones, and nothing runs again. A paragraph without a translation, or whose English has changed, stands
there in English with a mark.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK, WORDS = ROOT / "book", ROOT / "book" / "zh"
HEAD = re.compile(r"^<!-- ([\w-]+)(?: (caption|alt|show|hide))? ((?:[0-9a-f]{6} ?)+)-->\n", re.M)
PARTS = {  # where words stand in a code cell's metadata
    "caption": ("mystnb", "figure", "caption"),
    "alt": ("mystnb", "image", "alt"),
    "show": ("mystnb", "code_prompt_show"),
    "hide": ("mystnb", "code_prompt_hide"),
}
# Directives that begin with words
TITLED = "admonition|dropdown|exercise|prf:[a-z]+|tab-item|warning|tip|note|important|solution"
CODE = (
    r"^ *(?P<fence>`{3,})(?!`|\{(?:" + TITLED + r")\})\S[^\n]*\n.*?^ *(?P=fence)$"
)  # a block that nobody translates
HAN = r"[\u3400-\u9fff]"
ENGLISH = {"api"}  # whose entries come from the code, and stay as they are there
MARK = "[英文]{.untranslated}"
BANNER = "本页有 {} 段尚无译文，或英文在翻译之后又改过：这些段落以英文显示，并有标记。"

# Cutting


def paragraphs(text: str) -> list[str]:
    """What stands between blank lines, and each row of a table; a block of code is one."""
    hidden = re.sub(CODE, lambda code: code[0].replace("\n", "\0"), text.strip("\n"), flags=re.M | re.S)
    cut = re.split(r"\n(?:[ \t]*\n)+|(?<=\|)\n(?=\|)", hidden)
    return [each.replace("\0", "\n") for each in cut if each.strip()]


def joined(parts: list[str]) -> str:
    """Paragraphs as a text again."""
    return re.sub(r"(?m)(^\|.*\|)\n\n(?=\|)", r"\1\n", "\n\n".join(parts))


def digest(paragraph: str) -> str:
    """Six digits by which a paragraph is known."""
    return hashlib.sha256(paragraph.strip().encode()).hexdigest()[:6]


def bare(text: str) -> str:
    """What a translator may change: without code, formulas, names of directives, targets of links, tags."""
    text = re.sub(CODE, " ", text, flags=re.M | re.S)
    text = re.sub(
        r"\$\$.*?\$\$(?: \([\w-]+\))?|\$[^$]*\$|^\([\w-]+\)=$|^:[a-z]+:.*$|^%.*$",
        "█",
        text,
        flags=re.S | re.M,
    )
    text = re.sub(r"\{[\w:]+\}`(?:([^`<]*?)\s*<[^`]*>|[^`]*)`", lambda role: f"█{role[1] or ''}█", text)
    text = re.sub(
        r"^[`:]{3,}(?:\{[\w:-]+\}(?<!admonition\})(?<!exercise\})(?<!dropdown\}) .*)?", "█", text, flags=re.M
    )
    return re.sub(r"(`+)[^`]+\1|\]\([^)\s]*\)|\{[^}\n]*\}|</?[a-z][^>]*>|<!--.*?-->", "█", text, flags=re.S)


def is_prose(paragraph: str) -> bool:
    """Whether there is anything to translate."""
    return re.search(rf"[A-Za-z]{{2,}}|{HAN}", bare(paragraph)) is not None


def units(path: Path) -> dict[tuple[str, str], str]:
    """The texts of a chapter by cell and part; those of a page by its headings."""
    if path.suffix == ".md":
        from docutils.nodes import make_id  # here, as for `make colab` no package is there

        found: dict[tuple[str, str], list[str]] = {}
        name = "top"
        for each in paragraphs(path.read_text("utf-8")):
            if heading := re.search(r"^#{1,4} (.*)", each, re.M):
                name = make_id(heading[1]) or "section"
            found.setdefault((name, ""), []).append(each)
        return {key: joined(parts) for key, parts in found.items()}
    texts = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            texts[cell["id"], ""] = "".join(cell["source"])
        for part, keys in PARTS.items():
            words = cell["metadata"]
            for key in keys:
                words = words.get(key, {})
            if words:
                texts[cell["id"], part] = words
    return texts


def headings(path: Path) -> list[str]:
    """The titles of a chapter's or page's sections."""
    text = re.sub(CODE, "", "\n\n".join(units(path).values()), flags=re.M | re.S)
    return [
        re.sub(r"[`*$]", "", title).replace("'", "’") for title in re.findall(r"^#{1,4} (.*)", text, re.M)
    ]


def pieces(path: Path) -> list[tuple[str, str, str, str]]:
    """A file of translations: of each paragraph the cell, the part, the hash of the English, and the Chinese."""
    found = []
    if path.exists():
        _, *parts = HEAD.split(path.read_text("utf-8"))
        for cell, part, hashes, text in zip(*(parts[i::4] for i in range(4)), strict=True):
            said = [each for each in paragraphs(text) if each[0] != "|" or is_prose(each)]
            if len(said) != len(hashes.split()):
                raise ValueError(
                    f"{path.name}, {cell}: expected {len(hashes.split())} paragraphs, got {len(said)}"
                )
            found += [
                (cell, part or "", known, words) for known, words in zip(hashes.split(), said, strict=True)
            ]
    return found


def translations(path: Path) -> dict[str, str]:
    """The Chinese of a chapter's or page's paragraphs, by the hash of the English."""
    return {hashed: words for _, _, hashed, words in pieces(WORDS / f"{path.stem}.md")}


# Holding a translation to its source

SAME = {  # what stands in both languages, as often
    "role": r"\{[\w:]+\}`(?:[^`<]*<([^`>]*)>|([^`]*))`",
    "label": r"^\(([\w-]+)\)=|^:(?:label|name): (\S+)|\$\$ \(([\w-]+)\)",
    "directive": r"^[`:]{3,}\{([\w:-]+)\}",
    "option": r"^:([a-z]+: .*)",
    "code": r"(?<![`}])`([^`\n]+)`(?!`)",
    "formula": r"(?<!\$)\$([^$\n]+)\$(?!\$)",
    "equation": r"\$\$(.*?)\$\$",
    "target": r"\]\(([^)]+)\)",
    "stars": r"([★☆]{3})",
    "tag": r"(</?[a-z][\w-]*[^>]*>)",
    "item": r"^([-*]|\d+\.) ",
    "cell": r"(?<!\\)(\|)",
    "heading": r"^(#{1,4}) ",
    "fence": r"^([`:]{3,})$",
}
COUNTED = "two three four five six seven eight nine ten eleven twelve sixteen thirty forty fifty hundred thousand half"
COUNTED += (
    " twice once both third quarter thirds quarters first second fourth fifth sixth tenth million single one"
)
COUNTED += " november"


def counts(pattern: str, text: str) -> Counter:
    """How often each thing that a pattern finds stands in a text."""
    found = re.finditer(pattern, text, re.M | (re.S if "$$(" in pattern or r"\$\$(.*?)" in pattern else 0))
    return Counter(" ".join(next(filter(None, each.groups()), "").split()) for each in found)


def problems(english: str, chinese: str) -> list[str]:
    """What a paragraph lost, invented or wrote in another way than the edition does."""
    found, ours = [], bare(chinese)
    for name, pattern in SAME.items():
        texts = (english, chinese) if name in ("role", "code") else (roleless(english), roleless(chinese))
        texts = tuple(re.sub(r"\{[\w:]+\}`[^`]*`", "", t) for t in texts) if name == "code" else texts
        a, b = (counts(pattern, text) for text in texts)
        if a != b:
            found.append(f"{name}: lost {list((a - b).elements())}, new {list((b - a).elements())}")
    a, b = (Counter(re.findall(r"\d+(?:[.,]\d+)*", bare(text))) for text in (english, chinese))
    if "illion" in english:  # Chinese groups by ten thousands: 3.03 亿 is 303 million
        a, b = (
            Counter(re.sub(r"[.,]", "", each).strip("0") for each in found.elements()) for found in (a, b)
        )
    words = len(re.findall(rf"(?i)\b(?:{COUNTED.replace(' ', '|')})", english))
    if a - b or (b - a).total() > words:
        found.append(f"numbers: lost {list((a - b).elements())}, new {list((b - a).elements())}")
    wrong = {
        "a half-width mark beside Chinese": rf"{HAN} ?[,;:?!]|[,;?!](?={HAN})|{HAN}\.(?=\s|$)|\((?={HAN})|(?<={HAN})\)",
        "a space between Chinese": rf"{HAN} +{HAN}",
        "no space between Chinese and Latin": rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9%]{HAN}",
        "straight quotation marks": r"\"",
    }
    found += [
        f"{what}: {m[0]!r} in {ours[max(0, m.start() - 8) : m.end() + 8]!r}"
        for what, p in wrong.items()
        if (m := re.search(p, ours))
    ]
    found += ["no Chinese in it"] * (not re.search(HAN, chinese) and chinese[0] != "|")
    return found


def roleless(text: str) -> str:
    """A text without roles, whose words look like code."""
    return re.sub(r"\{[\w:]+\}`[^`]*`", "█", text)


def source(path: Path) -> Path:
    """The chapter or page that a file translates."""
    return next(each for each in (BOOK / f"{path.stem}.ipynb", BOOK / f"{path.stem}.md") if each.exists())


def check(path: Path) -> tuple[list[str], list[str]]:
    """What is wrong in a file of translations, and the English paragraphs that it lacks."""
    texts = units(source(path))
    english = {digest(each): each for text in texts.values() for each in paragraphs(text)}
    known = translations(path)
    wrong = [f"{hashed}: its English is gone" for hashed in known.keys() - english.keys()]
    for hashed in known.keys() & english.keys():
        wrong += [
            f"{hashed} {words[:24]!r}: {each}"
            for words in [known[hashed]]
            for each in problems(english[hashed], words)
        ]
    return wrong, [each for hashed, each in english.items() if hashed not in known and is_prose(each)]


def new(stem: str) -> None:
    """Prints what a page has no translation for."""
    path = next(each for each in (*BOOK.glob(f"{stem}*.ipynb"), *BOOK.glob(f"{stem}.md")))
    known = {*translations(path)}
    for (cell, part), text in units(path).items():
        if todo := [each for each in paragraphs(text) if digest(each) not in known and is_prose(each)]:
            known |= set(map(digest, todo))
            print(f"<!-- {' '.join(filter(None, (cell, part)))} {' '.join(map(digest, todo))} -->")
            print(joined(todo), end="\n\n")


# Composing what is read in Chinese


def chosen(arguments: list[str]) -> str:
    """The language that a command is asked for, "en" or "zh"; ends it with a sentence at anything else."""
    if arguments not in ([], ["zh"]):
        raise SystemExit(f"expected nothing, or zh for Chinese; got {' '.join(arguments)}")
    return "zh" if arguments else "en"


def chinese(text: str, known: dict[str, str], mark: str = MARK) -> tuple[str, int]:
    """A text with its translations, and how many of its paragraphs stay English."""
    parts, untranslated = [], 0
    for each in paragraphs(text):
        words = known.get(digest(each))
        if words is None and is_prose(each):
            untranslated += 1
            words = re.sub(
                r"^(\| )?(?=[*\"“A-Z`]|\[(?!x))(?!`{3})",
                lambda m: f"{m[1] or ''}{mark} " if mark else m[0],
                each,
            )
        parts.append(words or each)
    return joined(parts), untranslated


def banner(text: str, untranslated: int) -> str:
    """A page that says how much of it is English."""
    note = f":::{{note}}\n:class: untranslated\n{BANNER.format(untranslated)}\n:::"
    return (
        re.sub(r"^# .*$", lambda title: f"{title[0]}\n\n{note}", text, count=1, flags=re.M)
        if untranslated
        else text
    )


def page(path: Path, language: str) -> str:
    """A page's text in a language."""
    text = path.read_text("utf-8")
    if language == "en":
        return text
    generated = path.stem in ENGLISH
    text, missing = chinese(text, translations(path), mark="" if generated else MARK)
    return banner(text, 0 if generated else missing) + "\n"


def notebook(path: Path, language: str) -> dict:
    """A chapter in a language."""
    book, known, missing = json.loads(path.read_text("utf-8")), translations(path), 0
    if language == "en":
        return book
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"], more = chinese("".join(cell["source"]), known)
            missing += more
        for *above, last in PARTS.values():
            place = cell["metadata"]
            for key in above:
                place = place.get(key, {})
            if last in place:
                place[last], more = chinese(place[last], known, mark="")
                missing += more
    first = next(cell for cell in book["cells"] if cell["cell_type"] == "markdown")
    first["source"] = banner(first["source"], missing)
    return book


def cache_outputs(cache, english: Path, book: dict, name: Path, into) -> None:
    """Puts a chapter with the outputs of the English one into the cache that Sphinx reads."""
    import nbformat
    from jupyter_cache.base import CacheBundleIn

    _, ran = cache.merge_match_into_notebook(nbformat.read(english, 4))
    full = nbformat.from_dict(json.loads(json.dumps(book)))
    for cell, done in zip(full.cells, ran.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = done.outputs, done.execution_count
    into.cache_notebook_bundle(CacheBundleIn(full, str(name)), check_validity=False, overwrite=True)


def compose(folder: Path, cache: Path) -> None:
    """Writes into `folder` what Sphinx builds: chapters, pages, settings, and links to all that is the same."""
    import yaml
    from jupyter_cache import get_cache

    def write(path: Path, text: str) -> None:  # what did not change keeps its time: Sphinx reads it as read
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
            write(folder / "book" / path.name, json.dumps(book, ensure_ascii=False, indent=1) + "\n")
            cache_outputs(ran, path, book, folder / "book" / path.name, own)
    for name in ("book/_static", "book/_templates", "book/references.bib", "vitlib", "vitworkshop", "page"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(ROOT / name)
    contents = (ROOT / "_toc.yml").read_text("utf-8")
    for english, said in yaml.safe_load((WORDS / "contents.yml").read_text("utf-8")).items():
        contents = re.sub(
            rf"((?:title|caption): (?:\d\d )?){re.escape(english)}$", rf"\g<1>{said}", contents, flags=re.M
        )
    write(folder / "_toc.yml", contents)
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings["execute"] |= {"cache": str(folder / ".jupyter_cache")}
    settings["sphinx"]["config"] |= yaml.safe_load((WORDS / "config.yml").read_text("utf-8"))
    write(folder / "_config.yml", yaml.safe_dump(settings, allow_unicode=True, sort_keys=False))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["new", stem]:
            new(stem)
        case ["check", *stems]:
            bad = 0
            for path in sorted(WORDS.glob("*.md")):
                if not stems or path.stem.startswith(tuple(stems)):
                    wrong, missing = check(path)
                    bad += len(wrong)
                    print("\n".join([f"{path.name}: {each}" for each in wrong]), end="\n" * bool(wrong))
                    print(f"{path.name}: {len(missing)} paragraphs are missing")
            sys.exit(bool(bad))
