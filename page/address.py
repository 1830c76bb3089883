"""The book's public address: `[tool.patchbypatch] url` in pyproject.toml, and all that follows from it.

    python -m page.address https://github.com/org/repo    (or: make set-url URL=https://github.com/org/repo)
    python -m page.address ""                              takes the address away again

Launch buttons, Open Graph tags and the site map read the setting when the book is built
(page/address.py). This script writes what is stored in files: the setting itself, the Colab set-up
cell of every notebook, and the README's links between `<!-- links -->` and `<!-- /links -->`. Running it twice
changes nothing.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The source of each notebook's first code cell, tagged "colab-setup" and "remove-cell". Only BOOK_URL changes.
# --no-deps: torch, numpy and the rest stay as Colab and Kaggle have them; the two packages named are what they lack.
COLAB_CELL = """\
# For Google Colab and Kaggle: installs the book's package there. On your own computer this cell does nothing.
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

BOOK_URL = "{url}"
if ("google.colab" in sys.modules or "KAGGLE_KERNEL_RUN_TYPE" in os.environ) and not find_spec("vitlib"):
    for file in Path("/kaggle/input").rglob("vitlib/__init__.py"):  # Kaggle has unpacked it, read-only
        shutil.make_archive("patch-by-patch", "zip", file.parents[1])
    found = [*Path().glob("patch-by-patch.zip"), *Path("/kaggle/input").rglob("patch-by-patch.zip")]
    if found or BOOK_URL:
        source = found[0] if found else f"git+{{BOOK_URL}}"
        %pip install -q --no-deps "{{source}}" jaxtyping wadler-lindig
    else:
        print("Upload patch-by-patch.zip, which `make colab` writes on your computer, and run this cell again;")
        print("or give the book its address, `make set-url URL=...`, and open this chapter from there.")"""


def colab_cell(url: str) -> str:
    """Returns the source of the Colab set-up cell for the address ``url`` ("" while there is none)."""
    return COLAB_CELL.format(url=url)


def read_url(root: Path = ROOT) -> str:
    """Returns the public address, "" while it is not set."""
    with open(root / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["tool"]["patchbypatch"]["url"]


def pages_url(url: str) -> str:
    """Returns where GitHub Pages serves the book of the repository ``url``."""
    owner, name = url.split("/")[-2:]
    site = f"https://{owner.lower()}.github.io/"
    return site if name.lower() == f"{owner.lower()}.github.io" else f"{site}{name}/"


def check_url(url: str) -> str:
    """Returns ``url`` without a trailing slash or ".git"; raises ValueError if it is no GitHub repository."""
    url = re.sub(r"(\.git)?/*$", "", url.strip())
    if url and not re.fullmatch(r"https://github\.com/[A-Za-z0-9-]+/[A-Za-z0-9._-]+", url):
        raise ValueError(
            f"expected the address of a GitHub repository, got {url!r}; try https://github.com/org/repo"
        )
    return url


def chapters(root: Path = ROOT) -> list[Path]:
    """Returns the book's notebooks in order."""
    return sorted((root / "book").glob("*.ipynb"))


def readme_links(url: str, root: Path = ROOT) -> str:
    """Returns the README's list of places where the book can be read and run."""
    if not url:
        return (
            "The book has no public address yet. `make book` builds it here; `make set-url "
            "URL=https://github.com/org/repo` gives it one, and with it launch buttons and links."
        )
    lines = [f"- Read it: <{pages_url(url)}>", f"- Source: <{url}>"]
    for path in chapters(root):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        heads = (re.search(r"^# (.+)$", "".join(cell["source"]), re.M) for cell in cells)
        title = next((head[1].strip() for head in heads if head), path.stem)
        link = url.replace("https://github.com/", "https://colab.research.google.com/github/")
        lines.append(f"- Run in Colab: [{title}]({link}/blob/main/book/{path.name})")
    return "\n".join(lines)


def write_if_changed(path: Path, text: str) -> bool:
    """Writes ``text`` unless the file holds it already; says whether it wrote."""
    if path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8", newline="\n")
    return True


def set_notebook(path: Path, url: str) -> bool:
    """Writes the Colab cell of one notebook; raises ValueError if it has none."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if "colab-setup" in cell["metadata"].get("tags", []):
            cell["source"] = colab_cell(url).splitlines(keepends=True)
            break
    else:
        raise ValueError(f"{path.name} has no cell tagged colab-setup; add one as its first code cell")
    return write_if_changed(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def set_url(url: str, root: Path = ROOT) -> list[Path]:
    """Makes ``url`` the book's public address and returns the files that changed."""
    url = check_url(url)
    changed = []
    pyproject = root / "pyproject.toml"
    text = pyproject.read_text(encoding="utf-8")
    text, found = re.subn(r'(?m)(^\[tool\.patchbypatch\]\nurl = )".*"$', rf'\g<1>"{url}"', text)
    if found != 1:
        raise ValueError('pyproject.toml: expected one [tool.patchbypatch] followed by url = "..."')
    if write_if_changed(pyproject, text):
        changed.append(pyproject)
    changed += [path for path in chapters(root) if set_notebook(path, url)]
    readme = root / "README.md"
    if readme.exists():
        block = f"<!-- links -->\n{readme_links(url, root)}\n<!-- /links -->"
        text = re.sub(
            r"<!-- links -->.*?<!-- /links -->", lambda _: block, readme.read_text("utf-8"), flags=re.S
        )
        if write_if_changed(readme, text):
            changed.append(readme)
    return changed


def main(arguments: list[str]) -> int:
    """Runs the command line and returns its exit status."""
    if len(arguments) != 1:
        print(__doc__)
        return 2
    try:
        changed = set_url(arguments[0])
    except ValueError as error:
        print(f"set-url: {error}", file=sys.stderr)
        return 1
    names = ", ".join(str(path.relative_to(ROOT)) for path in changed) or "nothing (it was set already)"
    print(f"The book's address is {read_url() or 'not set'}. Changed: {names}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
