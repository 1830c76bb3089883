"""Stores in the notebooks what their cells printed when `make book` last ran them, in the form kept in git.

    python -m tools.refresh         (or: make refresh)

Small text outputs and execution counts are stored, for nbval to compare with; images, progress bars and large
outputs are not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from page.address import chapters
from tools.build import CACHE

# as in .pre-commit-config.yaml: no images, no large outputs
STRIP = [
    "--max-size",
    "2k",
    "--keep-count",
    "--keep-id",
    "--extra-keys",
    "cell.metadata.execution",
]


def kept(outputs: list[dict]) -> list[dict]:
    """A cell's outputs without stderr; what it printed in pieces, which differ from run to run, in one."""
    found: list[dict] = []
    for output in outputs:
        if output.get("name") == "stderr":
            continue
        if output.get("name") == "stdout" and found[-1:] and "name" in found[-1]:
            found[-1]["text"] += output["text"]
        else:
            found.append(output)
    return found


def refresh(path: Path) -> bool:
    """Copies outputs from the cache into one notebook; False if the cache does not hold it as it is now."""
    import nbformat
    from jupyter_cache import get_cache

    try:
        _, run = get_cache(str(CACHE)).merge_match_into_notebook(nbformat.read(path, 4))
    except KeyError:
        return False
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell, ran in zip(notebook["cells"], run.cells, strict=True):
        if cell["cell_type"] == "code":
            cell["execution_count"] = ran.execution_count
            cell["outputs"] = kept(ran.outputs)
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
    return True


def store(paths: list[Path]) -> list[str]:
    """Refreshes these notebooks; returns the names of those that the build has not run as they are now."""
    stale = [path.name for path in paths if not refresh(path)]
    nbstripout = Path(sys.executable).with_name("nbstripout")
    subprocess.run([str(nbstripout), *STRIP, *map(str, paths)], check=True)
    return stale


def main() -> int:
    """Refreshes every chapter and returns the exit status."""
    paths = chapters()
    stale = store(paths)
    missing = f" Not run yet: {', '.join(stale)}." if stale else ""
    print(f"Refreshed {len(paths) - len(stale)} notebooks.{missing}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
