"""Calls that once ended in an error of PyTorch's or Python's, in NaN, or not at all: each is refused in a sentence."""

import errno
import inspect
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import vitlib as vl
from vitlib.evidence import RESULTS
from vitlib.files import lock, read_json
from vitlib.train.masked import guess_patches, patch_colours
from vitworkshop.cli import main

CFG = vl.ViTConfig(
    img_size=8, patch_size=4, num_classes=4, embed_dim=12, depth=2, num_heads=2
)
MODEL, OTHER = (
    vl.VisionTransformer(CFG).eval(),
    vl.VisionTransformer(replace(CFG, depth=1)),
)
MLP = vl.Mlp(12, 24)
IMAGES, FAR = torch.rand(3, 3, 8, 8), 10**12
NAN, TOKENS = IMAGES * torch.nan, torch.rand(2, 5, 12)
NO_MASK, SOURCE = torch.zeros(3, 4, dtype=torch.bool), torch.arange(4).expand(3, 4)
X, Y = torch.rand(4, 3), torch.tensor([0, 1, 0, 1])
CARD = {"name": "tiny", "config": {"num_classes": 4}}


def tiny_weights() -> nn.Module:
    model = vl.VisionTransformer(CFG)
    model.head.weight.data.mul_(1e-9)
    return model


def export(card: dict, path: str = "model.js"):
    return lambda: vl.export_web(MODEL, card, path)


CALLS = [
    (lambda: MODEL((255 * IMAGES).byte()), "vl.normalize"),
    (lambda: MODEL(IMAGES[:, :2]), "takes 3 channels"),
    (lambda: MODEL(IMAGES.to_sparse()), "dense .* got torch.sparse_coo on cpu|must be a tensor"),
    (lambda: MLP(TOKENS[..., :5]), r"\(B, T, 12\), got \(2, 5, 5\)"),
    (lambda: vl.Attention(12, 2)(None), "got NoneType"),
    (export(CARD | {"classes": ["a", "b", "c"]}), "expected 4 names of classes, got 3"),
    *((export(CARD, path), "path of a file to write, got") for path in ("", ".", "/", "\0")),
    (lambda: vl.few_shot(X, Y, X, Y - 1), "labels of 0 or more, got -1"),
    (lambda: vl.sample_shots(torch.tensor([0, 1, FAR]), 1), r"labels in \[0, 3\), got 0 to 1000000000000; label"),
    *(
        (lambda h=h: vl.intervene(MODEL, IMAGES, heads=h), r"pairs \(layer, head\) below \(2, 2\), got")
        for h in ((0, 1), [None], [(0,)], ["ab"], [(0, 2)])
    ),
    (lambda: guess_patches(IMAGES, ~NO_MASK, SOURCE, 4), "shows a patch of each image, got .*mask fewer"),
    *((lambda s=s: vl.ViTConfig(img_size=s), "at most 8192 pixels a side") for s in (10**5, FAR, (10**5, 4))),
    *((lambda x=x: patch_colours(x, 4), r"images in \[0, 1\], got values from") for x in (255 * IMAGES, NAN)),
    *((lambda f=f: f(MODEL, NAN), "images of numbers, got NaN") for f in (vl.grad_cam, vl.logit_lens, vl.trace)),
    *((lambda o=o: vl.EMA(MODEL, 0.9).update(o), "of other weights; make") for o in (OTHER, MLP)),
    (lambda: vl.EMA(MODEL, 0.9).load_state_dict(vl.EMA(OTHER, 0.9).state_dict()), "got other .RuntimeError"),
    *((lambda x=x: vl.save_pretrained(MODEL, CARD | {"x": x}, "."), "what JSON can hold, got other: ")
      for x in (Path(), {1}, b"", X, {(1, 2): 3})),
    (lambda: vl.save_pretrained(MODEL, CARD | {"classes": 5}, "."), "the card's classes must be a list or a tuple"),
    *((lambda k=k: MODEL.attention_maps(IMAGES, k), "name blocks from -2 to 1, got")
      for k in (1, "a", [None], [2], [-3], [0, 5], [])),
    *((lambda t=t: vl.grad_cam(MODEL, IMAGES, t), "target must be a class, 3 classes") for t in ("cat", [None, 1, 2])),
    *((lambda m=m: vl.normalize(IMAGES, m), "expected mean as numbers, got") for m in (None, "half", [None])),
    *((lambda f=f: f(IMAGES[..., :0]), "got .3, 3, 8, 0.; these have no pixels") for f in (vl.normalize, MODEL)),
    (lambda: vl.save_pretrained(tiny_weights(), CARD, "."), "head.weight, at most .*, would be 0 in torch.float16"),
]  # fmt: skip


@pytest.mark.errors
@pytest.mark.parametrize(("call", "words"), CALLS)
def test_it_is_refused_in_a_sentence(call, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words) as refused:
        call()
    assert "vit" in str(refused.traceback[-1].path) and list(tmp_path.iterdir()) == []
    entered = {
        getattr(vl, frame.name, None)
        for frame in refused.traceback
        if "vitlib" in str(frame.path)
    }
    assert all("Raises:" in one.__doc__ for one in entered if inspect.isfunction(one))


# --- disks, terminals, two at once ------------------------------------------------------------------------------


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.errors
@pytest.mark.parametrize(
    "words",
    [
        ["export-web", "drawn10-small", "--out", "{}/model.js"],
        "study run norm-order --out {}".split(),
    ],
    ids=lambda words: words[0],
)
def test_a_full_disk_is_told_with_file_and_fix(tmp_path, monkeypatch, capsys, words):
    monkeypatch.setattr(os, "fsync", full)
    assert main([word.format(tmp_path) for word in words]) == 2
    said = capsys.readouterr().err
    assert (
        said.startswith(f"error: No space left on device: {tmp_path}")
        and "make room there" in said
    )
    assert not list(tmp_path.glob("*.part"))


def test_two_do_not_train_in_one_folder(tmp_path, capsys):
    small = "train --preset drawn10 --limit 40 --epochs 1 --device cpu --out".split()
    with lock(tmp_path):
        assert main([*small, str(tmp_path)]) == 2
    assert "another run has" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_every_committed_result_has_its_checksum():
    """All but the paper's numbers, which a person wrote: else one that was changed by hand would be read."""
    for path in RESULTS.glob("*.json"):
        read_json(path, "")
        assert ('"checksum": "' in path.read_text(encoding="utf-8")) == (
            path.stem != "paper"
        ), path.name
