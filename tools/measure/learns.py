"""Measures what the ViT that learns in a page can do without which of its parts, in the page's engine and in PyTorch.

    python -m tools.measure.learns        # an hour of a quiet core; goes on where it was

Writes vitlib/results/learns.json: for each task and each part switched off, of five seeds, the accuracy on 1,024 new
pictures after at most 800 steps, and how many it took: a run ends when it has named 97 % of its last 640 pictures.
PyTorch starts from the same weights and sees the same pictures. Beside them a ridge regression on the pixels of as many
pictures as the longest run sees. Needs Chrome or Chromium.
"""

from __future__ import annotations

import base64

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm.auto import tqdm

from page.browser import launched
from vitlib.config import ViTConfig
from vitlib.controls import PixelRidge
from vitlib.data.dataset import normalize
from vitlib.evidence import RESULTS, load_results, provenance
from vitlib.files import write_json
from vitlib.model.vit import VisionTransformer
from vitlib.train.optim import build_optimizer
from vitlib.train.recipe import Recipe
from vitworkshop.web.export import SCRIPTS

# in this order; the first has the words that the tasks say
ENGINE = ("boot.js", "vit.js", "kernel.js", "learn-tasks.js", "learn.js")
TASKS = ("where", "same", "line", "odd one", "shade", "count")
OFF = {
    "everything on": {},
    "no positions": {"positions": False},
    "no attention": {"attention": False},
    "no MLP": {"mlp": False},
    "no residual": {"residual": False},
    "no LayerNorm": {"norm": False},
    "CLS": {"pool": "token"},
    "CLS, no attention": {"pool": "token", "attention": False},
}
SEEDS, STEPS, CHUNK, ENOUGH, TEST = 5, 800, 50, 0.97, 1024
BEGIN = """options => {
    window.learner = new vitLearner(options);
    window.again = vitRandom(2 * options.seed + 1); // the stream of its pictures, for PyTorch
    return learner.weights();
}"""
GO = """n => {
    let right = 0;
    for (let i = 0; i < n; i++) {
        learner.step();
        if (i >= n - 10) right += learner.right / 10;
    }
    return right;
}"""
DRAW = """([task, n, test]) => {
    const {pixels, labels} = vitTasks.draw(task, n, test ? vitRandom(1234567) : window.again);
    let text = "";
    for (const byte of new Uint8Array(pixels.buffer)) text += String.fromCharCode(byte);
    return [btoa(text), labels];
}"""


def drawn(tab, task: str, n: int, test: bool = False) -> tuple[Tensor, Tensor]:
    """Pictures of the page, (n, 1, 16, 16), and their labels."""
    text, labels = tab.evaluate(DRAW, [task, n, test])
    pixels = np.frombuffer(base64.b64decode(text), dtype="<f4").copy()
    return torch.from_numpy(pixels).view(n, 1, 16, 16), torch.tensor(labels)


def logits(model: VisionTransformer, images: Tensor, off: dict) -> Tensor:
    """Of vitlib's model with parts switched off."""
    x = model.embed(images)
    for block in model.blocks:
        for name, norm, branch in (
            ("attention", block.norm1, block.attn),
            ("mlp", block.norm2, block.mlp),
        ):
            if off.get(name, True):
                y = branch(norm(x) if off.get("norm", True) else x)
                x = x + y if off.get("residual", True) else y
    x = model.norm(x) if off.get("norm", True) else x
    return model.head(x[:, 0] if off.get("pool") == "token" else x[:, 1:].mean(1))


def in_torch(tab, made: dict, task: str, off: dict) -> tuple[float, int]:
    """The same run in PyTorch: accuracy and steps."""
    positions = {} if off.get("positions", True) else {"pos_embed": "none"}
    model = VisionTransformer(ViTConfig(**made["config"], **positions))
    state = {
        name: torch.tensor(w["values"]).reshape(w["shape"])
        for name, w in made["weights"].items()
    }
    model.load_state_dict({name: state[name] for name in model.state_dict()})
    optimizer, step = build_optimizer(model, Recipe(lr=3e-3, weight_decay=0.01)), 0
    while step < STEPS:
        pixels, labels = drawn(tab, task, 64 * CHUNK)
        right = []
        for x, y in zip(pixels.split(64), labels.split(64), strict=True):
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = 3e-3 * min(1, step / 50)
            said = logits(model, x, off)
            right.append((said.argmax(1) == y).double().mean().item())
            optimizer.zero_grad()
            F.cross_entropy(said, y).backward()
            optimizer.step()
        if sum(right[-10:]) / 10 >= ENOUGH:
            break
    x, y = drawn(tab, task, TEST, test=True)
    with torch.no_grad():
        return (logits(model, x, off).argmax(1) == y).double().mean().item(), step


def in_page(tab) -> tuple[float, int]:
    """The run of the page's engine: accuracy and steps."""
    step = 0
    while step < STEPS:
        step += CHUNK
        if tab.evaluate(GO, CHUNK) >= ENOUGH:
            break
    return tab.evaluate(f"learner.accuracy({TEST})"), step


def by_ridge(tab, task: str) -> float:
    """The accuracy of a linear map of the pixels, of one stream's first pictures."""
    tab.evaluate("window.again = vitRandom(1)")
    batches = [drawn(tab, task, 64 * CHUNK) for _ in range(STEPS // CHUNK)]
    pixels, labels = map(torch.cat, zip(*batches, strict=True))
    x, y = drawn(tab, task, TEST, test=True)
    ridge = PixelRidge(in_unit(pixels), labels, int(labels.max()) + 1)
    return (ridge(normalize(in_unit(x))).argmax(1) == y).double().mean().item()


def in_unit(pixels: Tensor) -> Tensor:
    """The page's standardised pixels, of which none is as far as 10 from 0, in [0, 1]."""
    return pixels / 20 + 0.5


def main() -> None:
    """Runs what is not in the file yet, seed by seed, and writes after each cell."""
    torch.set_num_threads(1)
    path = RESULTS / "learns.json"
    result = {
        "name": "learns",
        **provenance("drawn by the page", torch.device("cpu"), "fp32"),
        "command": "python -m tools.measure.learns",
        "cells": {},
        "ridge": {},
    } | (load_results("learns") if path.is_file() else {})
    todo = [
        (seed, task, name) for seed in range(SEEDS) for task in TASKS for name in OFF
    ]
    with launched() as browser:
        tab = browser.new_page()
        for script in ENGINE:
            tab.add_script_tag(path=SCRIPTS / script)
        for task in TASKS:
            if task not in result["ridge"]:
                result["ridge"][task] = by_ridge(tab, task)
                write_json(path, result)
        for seed, task, name in tqdm(todo, desc="cells"):
            cell = (
                result["cells"]
                .setdefault(task, {})
                .setdefault(name, {"page": [], "PyTorch": []})
            )
            if len(cell["PyTorch"]) > seed:
                continue
            scatter = 0.02 if task == "where" else 1  # as the page has it
            made = tab.evaluate(
                BEGIN, {"task": task, "seed": seed, "scatter": scatter, **OFF[name]}
            )
            for engine, (accuracy, steps) in (
                ("page", in_page(tab)),
                ("PyTorch", in_torch(tab, made, task, OFF[name])),
            ):
                cell[engine].append(
                    {"seed": seed, "accuracy": accuracy, "steps": steps}
                )
            write_json(path, result)


if __name__ == "__main__":
    main()
