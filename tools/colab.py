"""Writes _build/patch-by-patch.zip, from which Colab and Kaggle install the package while the book has no address.

    python -m tools.colab           (or: make colab; Chinese chapters: make colab LANGUAGES=zh)

Needs neither git nor any package. Notebooks are not in it: they are opened one by one, and their first cell finds it;
_build/colab has them as these hosts can show them.
"""

from __future__ import annotations

import os
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from page import edition
from tools.plain import plain_notebook, text_of

ROOT = Path(__file__).resolve().parent.parent
ZIP = ROOT / "_build" / "patch-by-patch.zip"
CHAPTERS = ROOT / "_build" / "colab"


def contents(root: Path = ROOT) -> list[Path]:
    """The files that pip needs to build the package: those that pyproject.toml names, and pyproject.toml."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    files = {
        root / name
        for name in ("pyproject.toml", project["readme"], *project["license-files"])
    }
    for package, data in settings["tool"]["setuptools"]["package-data"].items():
        for pattern in ("**/*.py", *data):
            files.update((root / package).glob(pattern))
    return sorted(files, key=lambda path: path.relative_to(root).as_posix())


def write(target: Path = ZIP, root: Path = ROOT) -> None:
    """Writes the zip of the package."""
    pack(
        target,
        (
            (Path("patch-by-patch", path.relative_to(root)), path)
            for path in contents(root)
        ),
    )


def pack(target: Path, files: Iterable[tuple[Path, Path]]) -> None:
    """Writes a zip of files, each with its name in it first.

    The same files give the same bytes, and a write that breaks off leaves the old zip.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files:
            entry = zipfile.ZipInfo(name.as_posix())  # of 1980
            # the same on Windows
            entry.create_system, entry.external_attr = (
                3,
                0o644 << 16,
            )
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    os.replace(part, target)


def write_chapters(language: str, folder: Path = CHAPTERS) -> None:
    """Writes the chapters with text that Colab and Kaggle show as it is meant."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        book = edition.notebook(path, language)
        text = text_of(plain_notebook(book, path.stem, language, alone=True))
        (folder / path.name).write_text(text, encoding="utf-8", newline="\n")


def main() -> int:
    """Writes the zip and the chapters, says what to do with them, and returns the exit status."""
    write()
    write_chapters(edition.languages()[-1])
    print(
        f"Wrote {ZIP} ({ZIP.stat().st_size / 1e6:.1f} MB), and the chapters in {CHAPTERS}."
    )
    print(
        "Colab:  File, Upload notebook: a chapter. Upload the zip (folder sign on the left). Run the first cell."
    )
    print(
        "Kaggle: File, Import Notebook: a chapter. Upload the zip (Add Input), switch Internet on. Run it."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
