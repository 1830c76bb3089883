"""Five files that timm publishes: vitlib's features and answers are timm's.

Here, the five with random weights. The files themselves only by `pytest -m network`, in the weekly workflow: a gigabyte
is downloaded. That needs timm and huggingface_hub.
"""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from stir import stir

import vitlib as vl

PUBLISHED = [
    "vit_small_patch14_dinov2.lvd142m",
    "deit_tiny_patch16_224.fb_in1k",
    "vit_base_patch16_224.augreg_in21k_ft_in1k",
    "vit_base_patch16_224.mae",
    "vit_base_patch16_clip_quickgelu_224.openai",
]


def distance(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """How far apart they are, over how large they are."""
    assert ours.shape == theirs.shape
    return ((ours - theirs).norm() / theirs.norm()).item()


@torch.no_grad()
def compare(theirs: torch.nn.Module, path: Path) -> None:
    """timm's model, and ours from the same file with the config.json beside it, look at a photograph."""
    ours, card = vl.load_pretrained(path)
    assert card["library"] == "timm"
    size = theirs.pretrained_cfg["input_size"][-1]
    assert ours.cfg.img_size == size
    photo = vl.sample_image("cat", size)[None]
    mean, std = (theirs.pretrained_cfg[key] for key in ("mean", "std"))
    x = vl.normalize(photo, mean, std)  # (1, 3, H, W)
    tokens = theirs.forward_features(x)  # (1, 1+N, D)
    pooled = theirs.forward_head(tokens, pre_logits=True)  # (1, D)
    assert distance(ours.forward_features(vl.normalize(photo)), tokens) < 1e-3
    assert distance(vl.features(ours, photo), pooled) < 1e-3
    # a photograph normalised otherwise is far away
    assert distance(theirs.forward_features(0.8 * x), tokens) > 1e-2
    if theirs.num_classes:
        answer = theirs(x).softmax(1)
        torch.testing.assert_close(vl.predict(ours, photo), answer, rtol=0, atol=1e-3)
        assert vl.predict(ours, photo).argmax() == answer.argmax()


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_with_random_weights(timm, name, tmp_path):
    torch.manual_seed(0)
    theirs = stir(timm.create_model(name, pretrained=False), 0.02)
    save_file(theirs.state_dict(), tmp_path / "model.safetensors")
    config = {
        "architecture": name.split(".")[0],
        "num_features": theirs.num_features,
        "global_pool": theirs.global_pool,
        "pretrained_cfg": {key: theirs.pretrained_cfg[key] for key in ("mean", "std")},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    compare(theirs, tmp_path / "model.safetensors")


@pytest.mark.network
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", PUBLISHED)
def test_as_published(timm, name):
    hub = pytest.importorskip("huggingface_hub")
    theirs = timm.create_model(name, pretrained=True).eval()
    hub.hf_hub_download(f"timm/{name}", "config.json")
    compare(theirs, Path(hub.hf_hub_download(f"timm/{name}", "model.safetensors")))
