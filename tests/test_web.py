"""The model in the page: the same numbers as PyTorch's, interventions included; own pictures; notebooks; links."""

from __future__ import annotations

import base64
import io
import json

import numpy as np
import pytest
import torch
from browsing import needs_browser
from PIL import Image
from web_pages import explorer, page, tiny_model

import vitlib as vl

pytestmark = needs_browser


def random_intervention(draw: torch.Generator, cfg) -> dict:
    """A few of everything, as `vl.intervene` takes it."""
    N, L, h = cfg.num_patches, cfg.depth, cfg.num_heads

    def coin():
        return torch.rand((), generator=draw) < 0.5

    order = torch.randperm(N, generator=draw).tolist()
    positions = "none" if coin() else torch.randperm(N, generator=draw).tolist()
    heads = [(layer, head) for layer in range(L) for head in range(h) if torch.rand((), generator=draw) < 0.2]
    return {
        "order": order if coin() else None,
        "positions": positions if coin() else None,
        "remove": torch.randperm(N, generator=draw)[: N // 3].tolist() if coin() else [],
        "heads": heads,
    }


RUN = """async ([name, cases]) => {
    const model = await window.vit.load(name);
    return cases.map(([pixels, what]) => {
        const found = model.run(Float32Array.from(pixels), what);
        return [...found.logits, found.probs.reduce((a, b) => a + b, 0)];
    });
}"""


@pytest.mark.parametrize("pool", ["token", "avg"])
def test_logits_are_pytorchs(browser, tmp_path, pool):
    """200 pictures, each with another intervention, on weights that do something."""
    torch.manual_seed(0)
    cfg = vl.ViTConfig(img_size=16, patch_size=4, embed_dim=24, depth=3, num_heads=3, mlp_ratio=1.5, global_pool=pool)
    model = vl.VisionTransformer(cfg).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.15)
    model = model.half().float()  # what float16 keeps
    draw = torch.Generator().manual_seed(1)
    images = torch.randn(200, 3, 16, 16, generator=draw)
    done = [random_intervention(draw, cfg) for _ in images]
    wanted = torch.cat([vl.intervene(model, image[None], **what) for image, what in zip(images, done, strict=True)])
    address = page(tmp_path, "<p>nothing</p>", [(model, {"name": "tiny", "config": {"num_classes": 10}})])
    tab = browser.new_page()
    tab.goto(address)
    cases = [[image.flatten().tolist(), what] for image, what in zip(images, done, strict=True)]
    found = torch.tensor(tab.evaluate(RUN, ["tiny", cases]))
    tab.close()
    assert (found[:, :-1] - wanted).abs().max() < 1e-3
    assert (found[:, -1] - 1).abs().max() < 1e-5
    assert wanted.std() > 0.1, "the model says the same of everything"
