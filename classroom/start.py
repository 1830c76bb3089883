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
COMPUTER = {
    "python": "{}.{}".format(*sys.version_info),
    "platform": sysconfig.get_platform(),
}
WANTED = ["vitlib", "jupyterlab", "nbclient"]


def wrong(arguments: list[str], run: list[Path]) -> str:
    """What cannot be, of this Python for these wheels or of what was asked for; "" if nothing."""
    wanted = json.loads((HERE / "made-for.json").read_text(encoding="utf-8"))
    if wanted != COMPUTER:
        want, got = (
            "Python {python} on {platform}".format(**each)
            for each in (wanted, COMPUTER)
        )
        fix = "start it with that Python, or have the folder made on a computer like this one"
        return f"expected {want}, got {got}: {fix}"
    return (
        f"expected --run and a chapter, as --run 01; got {arguments}"
        if arguments and not run
        else ""
    )


def install() -> None:
    """The environment; what broke off is made anew."""
    done = ENV / "installed"
    if not done.exists():
        print("Installing from wheels/ (once) ...", flush=True)
        venv.create(ENV, clear=True, with_pip=True)
        pip = [
            PYTHON,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--quiet",
            "--no-index",
        ]
        subprocess.run([*pip, "--find-links", HERE / "wheels", *WANTED], check=True)
        done.touch()


def main(arguments: list[str]) -> int:
    """Installs what is missing, and opens or runs the chapters."""
    run = (
        [*(HERE / "notebooks").glob(f"{arguments[-1]}-*.ipynb")]
        if arguments[:1] == ["--run"]
        else []
    )
    if said := wrong(arguments, run):
        print(said)
        return 2
    try:
        install()
    except subprocess.CalledProcessError as error:
        print(error.output or "")  # where Python lacks ensurepip, what it said
        print(
            "Installing broke off; once the cause is mended, the same command begins anew."
        )
        return 1
    what = ["execute", "--timeout=600", *run] if run else ["lab"]
    ended = subprocess.run(
        [PYTHON, "-m", "jupyter", *what], cwd=HERE / "notebooks"
    ).returncode
    if run and not ended:
        print("It ran from top to bottom.")
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
