"""Writes requirements.txt, the one pinned list of everything that the two commands install.

    python -m tools.lock            (or: make lock)

Installs this project's dependencies and its extras `test` and `book` into an empty virtual environment, in the
newest versions that pyproject.toml allows, and freezes them. Left out are what only some systems need (torch's
CUDA packages: pip adds them where they belong) and torchvision, which must match torch's build exactly and
which nothing here uses. timm, which would bring it, is installed without its dependencies.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH = "torch==2.13.0"  # a new torch is a decision, not an accident
PLATFORM_ONLY = re.compile(r"nvidia-|cuda-|triton|pywin|colorama|appnope|torchvision")
HEADER = """\
# Everything that `make book` and `make test` install, pinned. Written by `make lock` (tools/lock.py) from
# pyproject.toml; do not edit by hand. On Linux the public index's torch brings several GB of CUDA packages.
# Without a GPU use `make book TORCH=cpu`, or:
#   pip install --extra-index-url https://download.pytorch.org/whl/cpu -r requirements.txt
"""


def main() -> int:
    """Writes the lock and returns the exit status."""
    if sys.version_info[:2] != (3, 11):
        print(f"The lock must suit Python 3.11, the oldest supported, but this is {sys.version.split()[0]}.")
        print("Try: make lock PYTHON=python3.11")
        return 1
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"], *extras["book"], TORCH]
    alone = [name for name in wanted if name.startswith("timm")]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder, "Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        pip = [str(python), "-m", "pip"]
        subprocess.run([*pip, "install", *(name for name in wanted if name not in alone)], check=True)
        subprocess.run([*pip, "install", "--no-deps", *alone], check=True)
        frozen = subprocess.check_output([*pip, "freeze"], text=True)
    pins = [re.sub(r"\+\w+$", "", line) for line in frozen.splitlines() if not PLATFORM_ONLY.match(line)]
    with_dependencies = [pin for pin in pins if not pin.startswith("timm==")]
    without = [f"# --no-deps {pin}" for pin in pins if pin.startswith("timm==")]
    last = ["", "# installed last, for the tests that compare with it:", *without]
    text = HEADER + "\n".join([*with_dependencies, *last])
    (ROOT / "requirements.txt").write_text(text + "\n", encoding="utf-8", newline="\n")
    print(f"Wrote requirements.txt: {len(pins)} packages pinned.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
