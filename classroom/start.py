"""Starts the notebooks on this computer, without a network. In this folder:

    python3 start.py             JupyterLab with the chapters          (Windows: py start.py)
    python3 start.py --run 01    runs chapter 01 from top to bottom, to try whether all is there

The first time it installs the packages from the folder wheels/ into the folder env/.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENV = HERE / "env"
PYTHON = ENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
COMPUTER = {"python": "{}.{}".format(*sys.version_info), "platform": sysconfig.get_platform()}
WANTED = ["vitlib", "jupyterlab", "nbclient"]
RUN = """
import sys, nbformat
from nbclient import NotebookClient
path = sys.argv[1]
print(f"Running {path} ...")
NotebookClient(nbformat.read(path, 4), timeout=600).execute()
print("It ran from top to bottom.")
"""


def fits() -> str:
    """What is wrong with this Python for these wheels; "" if nothing."""
    wanted = json.loads((HERE / "made-for.json").read_text(encoding="utf-8"))
    if wanted == COMPUTER:
        return ""
    want, got = ("Python {python} on {platform}".format(**each) for each in (wanted, COMPUTER))
    return f"expected {want}, got {got}: start it with that Python, or have the folder made on a computer like this one"


def install() -> None:
    """The environment; what broke off is made anew."""
    done = ENV / "installed"
    if not done.exists():
        print("Installing from wheels/ (once) ...", flush=True)
        venv.create(ENV, clear=True, with_pip=True)
        pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
        subprocess.run([*pip, "--find-links", HERE / "wheels", *WANTED], check=True)
        done.touch()


def main(arguments: list[str]) -> int:
    """Installs what is missing, and opens or runs the chapters."""
    chapters = HERE / "notebooks"
    match arguments:
        case ["--run", number]:
            run = sorted(chapters.glob(f"{number}-*.ipynb"))
        case _:
            run = []
    wrong = fits()
    if not wrong and arguments and not run:
        wrong = f"expected --run and a chapter, as --run 01; got {arguments}"
    if wrong:
        print(wrong)
        return 2
    try:
        install()
    except subprocess.CalledProcessError as error:
        print(error.output or "")  # where Python lacks ensurepip, what it said
        print("Installing broke off; once the cause is mended, the same command begins anew.")
        return 1
    if run:
        return subprocess.run([PYTHON, "-c", RUN, run[0].name], cwd=chapters).returncode
    return subprocess.run([PYTHON, "-m", "jupyter", "lab"], cwd=chapters).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
