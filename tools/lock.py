"""Writes requirements.txt, the one pinned list of everything that the two commands install.

    python -m tools.lock            (or: make lock; needs uv: pip install uv)

Lets uv choose the newest versions that pyproject.toml allows for this project's dependencies and its extras `test` and
`book`, on the oldest Python. Left out are what only some systems need (torch's CUDA packages: pip adds them where they
belong) and torchvision, which must match torch's build exactly and which nothing here uses. timm, which would bring it,
is installed without its dependencies.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH = "torch==2.13.0"  # a new torch is a decision, not an accident
TARGET = ["--python-version", "3.11", "--python-platform", "x86_64-unknown-linux-gnu"]
NOT_PINNED = re.compile(r"nvidia-|cuda-|triton|torchvision|setuptools|wheel")
HEADER = """\
# Everything that `make book` and `make test` install, pinned. Written by `make lock` (tools/lock.py) from
# pyproject.toml; do not edit by hand. On Linux the public index's torch brings several GB of CUDA packages.
# Without a GPU use `make book TORCH=cpu`, or:
#   pip install --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.txt
"""


def pins(wanted: list[str], *options: str) -> list[str]:
    """The exact version of each wanted package and, by default, of all that they need."""
    command = [
        "uv",
        "pip",
        "compile",
        "-",
        "--quiet",
        "--no-header",
        "--no-annotate",
        *TARGET,
        *options,
    ]
    found = subprocess.run(
        command, input="\n".join(wanted), text=True, check=True, stdout=subprocess.PIPE
    )
    lines = (
        re.sub(r"\+\w+$", "", line) for line in found.stdout.splitlines()
    )  # torch's build is no version
    return [line for line in lines if not NOT_PINNED.match(line)]


def main() -> int:
    """Writes the lock and returns the exit status."""
    if shutil.which("uv") is None:
        print("The lock is made with uv, which was not found. Try: pip install uv")
        return 1
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"], *extras["book"], TORCH]
    bare = [
        name for name in wanted if name.startswith("timm")
    ]  # without its dependencies
    with_dependencies = pins([name for name in wanted if name not in bare])
    without = [f"# --no-deps {pin}" for pin in pins(bare, "--no-deps")]
    last = ["", "# installed last, for the tests that compare with it:", *without]
    text = HEADER + "\n".join([*with_dependencies, *last])
    (ROOT / "requirements.txt").write_text(text + "\n", encoding="utf-8", newline="\n")
    print(
        f"Wrote requirements.txt: {len(with_dependencies) + len(without)} packages pinned."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
