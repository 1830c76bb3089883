"""Writes class/bundle-PLATFORM.zip, from which a class starts without a network, and class/pages.zip for readers.

    python -m classroom.bundle          (or: make bundle; on Linux without a GPU: make bundle TORCH=cpu)

In it: the built book, the students' chapters, and wheels of all that they import, for this computer's system and
Python. Arguments go to `pip download`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from classroom import editions
from classroom.start import COMPUTER, WANTED
from page.browser import HTML
from tools import colab

ROOT = editions.ROOT
NAME = "bundle-{platform}-python{python}".format(**COMPUTER)
README = """Patch by Patch, for a class without a network.

Read:   open book/index.html in a browser. Nothing has to be installed.
Run:    python3 start.py                 (Windows: py start.py)
        It needs Python {python} on {platform}. The first time it installs from wheels/ into env/ ({size:.0f} MB to
        read, about four times that on disk). Closed or broken off, the same command goes on.
Try:    python3 start.py --run 01        runs chapter 01 and says whether it came through

The chapters draw their own pictures (Drawn-10) and bring their trained models. For CIFAR-10, put the folder
cifar-10-batches-bin somewhere and name the folder around it: VITLIB_DATA=/path/to/it python3 start.py

To start again from nothing, delete env/.
"""


def write(folder: Path, arguments: list[str]) -> None:
    """The folder that a class copies; wheels have the versions of the lock."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels, source = folder / "wheels", folder / colab.ZIP.name
    colab.write(source)  # built from a copy: in the repository an old build/ would come along
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, source], check=True)
    source.unlink()
    lock = ["--constraint", ROOT / "requirements.txt", "--only-binary", ":all:"]
    wanted = [*wheels.glob("*.whl"), *(name for name in WANTED if name != "vitlib")]
    subprocess.run([*pip, "download", "--quiet", "--dest", wheels, *lock, *arguments, *wanted], check=True)
    shutil.copytree(HTML, folder / "book")
    (folder / "notebooks").mkdir()
    editions.write(folder / "notebooks", "student")
    shutil.copyfile(Path(__file__).with_name("start.py"), folder / "start.py")
    (folder / "made-for.json").write_text(json.dumps(COMPUTER) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in wheels.iterdir()) / 1e6
    (folder / "README.txt").write_text(README.format(**COMPUTER, size=size), encoding="utf-8")


def main() -> None:
    """Writes both zips and says how large they are."""
    if not (HTML / "index.html").is_file():
        raise SystemExit(f"expected the built book in {HTML}: make book first")
    editions.publish(NAME, lambda folder: write(folder, sys.argv[1:]))
    editions.publish("pages", lambda folder: shutil.copytree(HTML, folder / "book"))


if __name__ == "__main__":
    main()
