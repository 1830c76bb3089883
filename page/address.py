"""The book's public address: `[tool.patchbypatch] url` in pyproject.toml, and all that follows from it.

    python -m page.address https://github.com/org/repo    (or: make set-url URL=https://github.com/org/repo)
    python -m page.address ""                              takes the address away again

The command writes what is stored in files: the setting itself, the Colab set-up cell of every notebook, and the
README's links between `<!-- links -->` and `<!-- /links -->`. Running it twice changes nothing. Launch buttons, the
addresses in Open Graph tags and the site map follow from the setting when the book is built.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# an explorer's, wherever nothing else is said
MODEL, PICTURE = "cifar10-photo", "cat"
# page, what a link must say
LINKED = {
    "lab": ("lab", {"model": MODEL, "picture": PICTURE}),
    "learn": ("learns", {}),
    "way": ("way", {"model": MODEL, "picture": PICTURE}),
}

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
    """The source of the Colab set-up cell for an address ("" while there is none)."""
    return COLAB_CELL.format(url=url)


def read_url(root: Path = ROOT) -> str:
    """The public address, "" while it is not set."""
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"][
        "patchbypatch"
    ]["url"]


def pages_url(url: str) -> str:
    """Where GitHub Pages serves the book of a repository."""
    owner, name = url.split("/")[-2:]
    site = f"https://{owner.lower()}.github.io/"
    return site if name.lower() == f"{owner.lower()}.github.io" else f"{site}{name}/"


def state_address(text: str) -> tuple[str, str]:
    """Words and address of a link `words <lab {state}>`, in which its explorer opens."""
    found = re.fullmatch(r"(.+?)\s*<(lab|learn|way) (\{.*\})>", text, re.S)
    if not found:
        raise ValueError(
            f'expected `words <lab {{"removed": [3]}}>`, with lab, learn or way, got {text!r}'
        )
    page, state = LINKED[found[2]]
    written = json.dumps({**state, **json.loads(found[3])}, separators=(",", ":"))
    # scripts make selectors of anchors
    letters = base64.urlsafe_b64encode(written.encode()).decode().rstrip("=")
    return found[1], f"{page}.html#{found[2]}-{letters}"


def chapters(root: Path = ROOT) -> list[Path]:
    """The book's notebooks in order."""
    return sorted((root / "book").glob("*.ipynb"))


def title_of(notebook: Path) -> str:
    """A chapter's title."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return next(
        m[1].strip()
        for cell in cells
        if (m := re.search(r"^# (.+)$", "".join(cell["source"]), re.M))
    )


def readme_links(url: str, root: Path = ROOT) -> str:
    """The README's list of places where the book can be read and run."""
    if not url:
        return (
            "The book has no public address yet. `make book` builds it here; `make set-url "
            "URL=https://github.com/org/repo` gives it one, and with it launch buttons and links."
        )
    colab = url.replace(
        "https://github.com/", "https://colab.research.google.com/github/"
    )
    lines = [f"- Read it: <{pages_url(url)}>", f"- Source: <{url}>"]
    lines += [
        f"- Run in Colab: [{title_of(path)}]({colab}/blob/main/book/{path.name})"
        for path in chapters(root)
    ]
    return "\n".join(lines)


def with_cell(path: Path, url: str) -> str:
    """A notebook with the Colab cell for an address; ValueError if it has no place for it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    found = [
        cell
        for cell in notebook["cells"]
        if "colab-setup" in cell["metadata"].get("tags", [])
    ]
    if not found:
        raise ValueError(
            f"{path.name} has no cell tagged colab-setup; add one as its first code cell"
        )
    found[0]["source"] = colab_cell(url).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def write_if_changed(path: Path, text: str) -> bool:
    """Writes a text unless the file holds it already; says whether it wrote."""
    if path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8", newline="\n")
    return True


def set_url(url: str, root: Path = ROOT) -> list[Path]:
    """Makes `url` the book's public address, and says which files changed; ValueError if it is no GitHub repository."""
    url = re.sub(r"(\.git)?/*$", "", url.strip())
    if url and not re.fullmatch(
        r"https://github\.com/[A-Za-z0-9-]+/[A-Za-z0-9._-]+", url
    ):
        raise ValueError(
            f"expected the address of a GitHub repository, got {url!r}; try https://github.com/org/repo"
        )
    project, readme = root / "pyproject.toml", root / "README.md"
    setting = r'(?m)(^\[tool\.patchbypatch\]\nurl = )".*"$'
    text, found = re.subn(
        setting, rf'\g<1>"{url}"', project.read_text(encoding="utf-8")
    )
    if found != 1:
        raise ValueError(
            'pyproject.toml: expected one [tool.patchbypatch] followed by url = "..."'
        )
    texts = {project: text, **{path: with_cell(path, url) for path in chapters(root)}}
    if readme.exists():
        block = f"<!-- links -->\n{readme_links(url, root)}\n<!-- /links -->"
        old = readme.read_text(encoding="utf-8")
        texts[readme] = re.sub(
            r"<!-- links -->.*?<!-- /links -->", lambda _: block, old, flags=re.S
        )
    return [path for path, text in texts.items() if write_if_changed(path, text)]


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
    names = (
        ", ".join(str(path.relative_to(ROOT)) for path in changed)
        or "nothing (it was set already)"
    )
    print(f"The book's address is {read_url() or 'not set'}. Changed: {names}.")
    return 0


# Sphinx


def use_address(app, config) -> None:
    """Shows buttons that lead to the repository and to Colab, once the book has an address."""
    # here: tests may import no package before their hook
    from page.edition import place
    from vitworkshop.words import CHOSEN

    url, options = read_url(), config.html_theme_options
    if not url:
        for name in ("repository_url", "launch_buttons"):
            options.pop(name, None)
        return
    colab = {
        "notebook_interface": "jupyterlab",
        "colab_url": "https://colab.research.google.com",
    }
    options |= {
        "repository_url": url,
        "repository_branch": "main",
        "launch_buttons": colab,
    }
    options |= {"use_repository_button": True, "use_issues_button": True}
    config.html_baseurl = pages_url(url) + place(CHOSEN["language"])
    config.sitemap_url_scheme = "{link}"


def fetch_by_address(app, docname: str, source: list[str]) -> None:
    """Says how to fetch the book, once it has an address, in place of "the folder in which you found this"."""
    if url := read_url():
        found = "cd patch-by-patch    # the folder in which you found this"
        source[0] = source[0].replace(
            found, f"git clone {url} patch-by-patch\ncd patch-by-patch"
        )


def setup(app) -> None:
    """Follows the setting before the theme reads its own."""
    if read_url():
        app.setup_extension("sphinx_sitemap")
    app.connect("config-inited", use_address, priority=0)
    app.connect("source-read", fetch_by_address)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
