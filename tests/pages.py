"""What tests of the pages share: the chapters as notebooks, and the prose of any page."""

import json
import re
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
PAGES = [*CHAPTERS, *sorted((ROOT / "book").glob("*.md"))]  # of the book
INLINE = ["a", "b", "em", "i", "small", "span", "strong", "sub", "sup", "tspan"]
UNREAD = "code, pre, script, style, math, head, .citation, .bibtex-citation, .guess label, .headerlink"
UNREAD += ", dl.glossary dt + dt, dl.glossary dt:has(+ dd .untranslated), tr:has(.untranslated)"
AROUND = [
    ROOT / f"{name}.md"
    for name in ("README", "README.zh", "CONTRIBUTING", "MAINTAINING")
]


@cache
def read(path: Path) -> dict:
    """A notebook."""
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell: dict) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def tags(cell: dict) -> list[str]:
    """The tags of a cell."""
    return cell["metadata"].get("tags", [])


def cells(path: Path, kind: str = "code") -> list[dict]:
    """The cells of a notebook that are "code", or "markdown"."""
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == kind]


@cache
def prose(path: Path) -> str:
    """The text of a notebook's Markdown cells, or a whole page in Markdown."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n\n".join(map(source, cells(path, "markdown")))


def python_blocks(text: str) -> list[str]:
    """The Python that a text shows."""
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def solutions(path: Path) -> dict[str, str]:
    """The Python of each solution that a chapter writes out, by its label."""
    found = re.findall(
        r"^````\{solution\} (\S+)\n(.*?)^````$", prose(path), re.DOTALL | re.MULTILINE
    )
    return {label: "\n".join(python_blocks(body)) for label, body in found}


def shown(path: Path) -> list[str]:
    """The texts of a built page and of its attributes, block by block, without code, equations, works, second terms."""
    page = BeautifulSoup(path.read_text("utf-8"), "html.parser")
    for each in page.select(UNREAD):
        each.decompose()
    texts = [
        each[name]
        for name in ("alt", "title", "aria-label", "placeholder")
        for each in page.select(f"[{name}]:not(a.reference)")
    ]
    for each in page(INLINE):
        each.unwrap()
    page.smooth()
    return [" ".join(text.split()) for text in [*texts, *page.stripped_strings]]
