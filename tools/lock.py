"""Writes requirements.txt, the one pinned list of everything that the two commands install.

    python -m tools.lock            (or: make lock; needs uv: pip install uv)
    python -m tools.lock --upgrade  (or: make lock ARGS=--upgrade)

uv chooses versions that pyproject.toml allows for this project's dependencies and its extras `test`, `check` and
`book`. What is pinned and still fits stays; with --upgrade the newest is taken. Every pin is one for every Python that
pyproject.toml names, down to the first release of the oldest: Debian 12 has 3.11.2. Left out are what only some systems
need (torch's CUDA packages: pip adds them where they belong) and torchvision, which must match torch's build exactly
and which nothing here uses. timm, which would bring it, is installed without its dependencies.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
# a new torch is a decision: other kernels, other last digits in the chapters, and each leaves systems behind
TORCH = "torch==2.13.0"
NOT_PINNED = re.compile(r"nvidia-|cuda-|triton|torchvision|setuptools|wheel")
BARE = "# --no-deps "  # begins a line of what is installed without its dependencies
HEADER = """\
# Everything that `make book` and `make test` install, pinned. Written by `make lock` (tools/lock.py) from
# pyproject.toml; do not edit by hand. On Linux the public index's torch brings several GB of CUDA packages.
# Without a GPU use `make book TORCH=cpu`, or:
#   pip install --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.txt
"""


def pythons() -> list[str]:
    """The Pythons that pyproject.toml names, as in "3.11", from the oldest to the newest."""
    found = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.M)
    return sorted(found, key=lambda python: int(python.removeprefix("3.")))


def pins(wanted: list[str], python: str, *options: str, kept: str = "") -> list[str]:
    """The exact version of each wanted package and, by default, of all that they need; kept pins are preferred."""
    command = ["uv", "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate"]
    # its first release, since 3.11 alone would mean the newest
    command += ["--python-version", f"{python}.0"]
    command += ["--python-platform", "x86_64-unknown-linux-gnu", *options]
    with TemporaryDirectory() as folder:
        written = Path(folder) / "pins.txt"
        written.write_text(kept, encoding="utf-8")
        command += ["--output-file", str(written)]
        subprocess.run(command, input="\n".join(wanted), text=True, check=True)
        lines = written.read_text(encoding="utf-8").splitlines()
    # torch's build is no version
    lines = [re.sub(r"\+\w+$", "", line) for line in lines]
    return [line for line in lines if not NOT_PINNED.match(line)]


def main(arguments: list[str]) -> int:
    """Writes the lock and returns the exit status."""
    if shutil.which("uv") is None:
        print("The lock is made with uv, which was not found. Try: pip install uv")
        return 1
    kept = LOCK.read_text(encoding="utf-8").replace(BARE, "")
    if "--upgrade" in arguments:
        kept = ""
    oldest, *others = pythons()
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], TORCH]
    wanted += [
        pin for name in ("samples", "test", "check", "book") for pin in extras[name]
    ]
    # timm, without its dependencies
    bare = [name for name in wanted if name.startswith("timm")]
    full = [name for name in wanted if name not in bare]
    full = pins(full, oldest, kept=kept)
    bare = pins(bare, oldest, "--no-deps", kept=kept)
    for python in others:  # uv says which pin has no file for it
        pins([*full, *bare], python, "--no-deps", "--only-binary", ":all:")
    without = [f"{BARE}{pin}" for pin in bare]
    last = ["", "# installed last, for the tests that compare with it:", *without]
    text = HEADER + "\n".join([*full, *last])
    LOCK.write_text(text + "\n", encoding="utf-8", newline="\n")
    print(f"Wrote requirements.txt: {len(full) + len(bare)} packages pinned.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
