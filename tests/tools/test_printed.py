"""Every line that README and How to run print, run as it stands: a new shell, nothing activated, an empty environment.

In blocks and in sentences; those for PowerShell as their like. Long ones get a tiny budget behind them. What sets up,
builds or fetches is named in `NOT_RUN`, with the reason; the targets of make are asked what
they would do.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

import vitlib as vl

ROOT = Path(__file__).resolve().parents[2]
PRINTED = [ROOT / name for name in ("README.md", "README.zh.md", "book/how-to-run.md")]
FENCE = re.compile(r"^ *```(?!\{)(\w*)\n(.*?)^ *```$", re.M | re.S)
INLINE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"(make|\.venv/bin/\w+) \S")
NOT_RUN = {  # what a line begins with, and why it is not run here
    "cd ": "names the reader's folder",
    "py -3.12": "Windows",
    "start ": "Windows opens a page",
    ".venv/bin/jupyter": "serves until it is stopped",
    ".venv/bin/python -m http.server": "the same",
    "python3 -m venv": "sets up; the workflow ci.yml does, on two systems",
    ".venv/bin/python -m pip": "installs; the same",
    ".venv/bin/python -m tools.build": "builds the book: make test does",
    ".venv/bin/python -m tools.notebooks": "tests/tools/test_notebooks.py",
    ".venv/bin/python -m tools.check": "is make test",
    ".venv/bin/python -m classroom grade": "tests/classroom/test_grade.py",
    ".venv/bin/python -m classroom.editions": "tests/classroom/test_editions.py",
    ".venv/bin/python -m classroom.bundle": "fetches; tests/classroom",
    ".venv/bin/python -m vitlib data cifar10": "fetches; tests/data/test_download.py",
    ".venv/bin/python -m vitlib study run": "takes hours; tests/cli/test_main.py runs one",
}
BUDGET = (  # what stands behind a long line here
    (r"-m vitlib (train|finetune)\b(?!.*--help)", "--limit 8 --epochs 1 --device cpu"),
    (r"-m vitlib finetune\b(?!.*dinov2)", "--img-size 32"),
)


def lines(block: str) -> list[str]:
    """The lines of a block for a POSIX shell, those that go on joined, without what is said behind #."""
    joined = block.replace("\\\n", " ").splitlines()
    bare = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined)
    return [line for line in bare if line]


def tasks() -> list[tuple[str, str, str]]:
    """What the pages print, in its order, once: the page, "bash" or "python", and the text."""
    found = {}
    for path in PRINTED:
        text = path.read_text(encoding="utf-8").replace("Scripts\\", "bin/")
        text = text.replace(".venv\\", ".venv/")
        text = re.sub(r"^\$env:(\w+) = ", r"export \1=", text, flags=re.M)
        blocks = FENCE.findall(text)
        inline = filter(COMMAND.match, INLINE.findall(FENCE.sub("", text)))
        for kind, block in [*blocks, *(("bash", line) for line in inline)]:
            if kind == "python":
                found.setdefault((kind, block), path.stem)
            elif kind != "bibtex":  # what is neither fails in the shell
                for line in lines(block):
                    found.setdefault(("bash", line), path.stem)
    return [(page, kind, text) for (kind, text), page in found.items()]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """The book's folder after the set-up, with what the pages call the reader's, and a way to run a line in it."""
    folder = tmp_path_factory.mktemp("printed") / "patch-by-patch"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / name, folder)
    for name in ("vitlib", "vitworkshop", "classroom", "page", "tools", "book"):
        (folder / name).symlink_to(ROOT / name)
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    draw = np.random.default_rng(0)
    for place in (
        *(f"my-pictures/{kind}/{i}" for kind in "ab" for i in range(12)),
        "holiday",
    ):
        path = folder / f"{place}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 255, (40, 48, 3), dtype=np.uint8)).save(path)
    home = folder.parent / "home"
    cifar = home / ".cache/vitlib/cifar-10-batches-bin"
    cifar.mkdir(parents=True)
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        with open(cifar / f"{name}.bin", "wb") as file:
            file.truncate(10_000 * 3073)  # black, and all of the first class
    size = dict(patch_size=14, img_size=28, num_classes=0, layer_scale=1e-5)
    dinov2 = vl.VisionTransformer(vl.ViTConfig.preset("vit-s/16", **size))
    torch.save(dinov2.state_dict(), folder / "dinov2_vits14.pth")
    tiny = vl.ViTConfig.preset("vit-ti/16", img_size=32)
    theirs = folder / "vit-base-patch16-224"
    theirs.mkdir()
    save_file(vl.VisionTransformer(tiny).state_dict(), theirs / "model.safetensors")
    told = {"num_attention_heads": 3, "image_size": 32, "layer_norm_eps": 1e-6}
    (theirs / "config.json").write_text(json.dumps(told))
    norm = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (theirs / "preprocessor_config.json").write_text(json.dumps(norm))
    empty = {"PATH": os.defpath, "HOME": str(home), "LANG": "C.UTF-8"}

    def run(*command: str, **options) -> subprocess.CompletedProcess:
        return subprocess.run(
            command, cwd=folder, env=empty, capture_output=True, text=True, **options
        )

    return run


@pytest.mark.slow
@pytest.mark.sampled(3, "printed")  # all or none: a line may need the one before it
@pytest.mark.skipif(os.name != "posix", reason="the lines are for a POSIX shell")
@pytest.mark.parametrize(("page", "kind", "text"), tasks())
def test_a_printed_line_runs_as_it_stands(shell, page, kind, text):
    if kind == "python":
        done = shell(".venv/bin/python", "-", input=text)
    elif reason := next(
        (why for what, why in NOT_RUN.items() if text.startswith(what)), ""
    ):
        pytest.skip(reason)
    elif text.startswith("make"):
        if shutil.which("make") is None:
            pytest.skip("make is not installed")
        done = shell("/bin/sh", "-c", f"{text} --dry-run")
    else:
        behind = " ".join(more for what, more in BUDGET if re.search(what, text))
        if page == "README":  # for an environment of the reader's own
            text = re.sub(r"^python ", ".venv/bin/python ", text)
        done = shell("/bin/sh", "-c", f"{text} {behind}")
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_a_line_that_is_not_run_stands_on_a_page():
    printed = [text for _, kind, text in tasks() if kind == "bash"]
    assert not [
        what for what in NOT_RUN if not any(t.startswith(what) for t in printed)
    ]
