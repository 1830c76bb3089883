"""Real checkpoints, fetched: chapter 16 loads the first two; logits are those of the library they come from.

Only by `pytest -m network`, in the weekly workflow: a gigabyte is downloaded. It needs timm, transformers and
huggingface_hub. What `check-pretrained` answers and draws is kept in the folder VITLIB_ANSWERS, if that is set.
"""

import os
from pathlib import Path

import pytest
import torch

import vitlib as vl
from vitlib.files import read_json
from vitworkshop.cli import main

pytestmark = [pytest.mark.network, pytest.mark.timeout(1800)]


GOOGLES = "B_16-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.01-res_224.npz"
# of ImageNet's classes: tabby, tiger cat, Persian, Siamese, Egyptian cat
CATS = range(281, 286)
# whose names a file has, and how its pictures are normalised
PUBLISHED = {
    "timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k": ("timm", "half"),
    "timm/deit_tiny_patch16_224.fb_in1k": ("timm", "imagenet"),
    "google/vit-base-patch16-224": ("transformers", "half"),
    "vit_base_patch16_224.npz": ("Google", "half"),
}


@pytest.fixture(scope="module")
def googles(tmp_path_factory) -> Path:
    """A file of the authors'."""
    path = tmp_path_factory.mktemp("google") / "ViT-B_16.npz"
    url = f"https://storage.googleapis.com/vit_models/augreg/{GOOGLES}"
    torch.hub.download_url_to_file(url, str(path), progress=False)
    return path


@pytest.fixture(scope="module")
def pictures() -> torch.Tensor:
    return torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))


def base(**changes) -> vl.VisionTransformer:
    return vl.VisionTransformer(vl.ViTConfig.preset("vit-b/16", **changes)).eval()


@torch.no_grad()
def difference(ours, theirs, pictures) -> float:
    return (ours(pictures) - theirs(pictures)).abs().max().item()


def test_transformers(pictures):
    transformers, hub = (
        pytest.importorskip("transformers"),
        pytest.importorskip("huggingface_hub"),
    )
    name = "google/vit-base-patch16-224"
    theirs = transformers.ViTForImageClassification.from_pretrained(name).eval()
    ours = base(num_classes=1000)
    assert (
        vl.load_weights(ours, hub.hf_hub_download(name, "model.safetensors"))
        == "transformers"
    )
    # their epsilon is 1e-12
    assert difference(ours, lambda x: theirs(x).logits, pictures) < 1e-2


def test_dino(pictures):
    theirs = torch.hub.load(
        "facebookresearch/dino:main", "dino_vitb16", trust_repo=True
    ).eval()
    url = "https://dl.fbaipublicfiles.com/dino/dino_vitbase16_pretrain/dino_vitbase16_pretrain.pth"
    ours = base(num_classes=1000)
    before = ours.head.weight.clone()
    assert (
        vl.load_weights(ours, torch.hub.load_state_dict_from_url(url), load_head=False)
        == "timm"
    )
    assert torch.equal(ours.head.weight, before)
    assert difference(vl.replace_head(ours, 0), theirs, pictures) < 1e-3


def test_google(pictures, googles):
    """A file of Google's, under the paper's names, against timm's copy of it."""
    timm = pytest.importorskip("timm")
    ours = base(num_classes=1000)
    assert vl.load_weights(ours, googles) == "Google"
    theirs = timm.create_model(
        "vit_base_patch16_224.augreg_in21k_ft_in1k", pretrained=True
    ).eval()
    assert difference(ours, theirs, pictures) < 1e-3


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_photograph_of_a_cat_is_named_a_cat(name, request, tmp_path):
    library, mean_std = PUBLISHED[name]
    if library == "Google":
        file = request.getfixturevalue("googles")
    else:
        file = pytest.importorskip("huggingface_hub").hf_hub_download(
            name, "model.safetensors"
        )
    out = Path(os.environ.get("VITLIB_ANSWERS", tmp_path), name.replace("/", "-"))
    words = [str(file), "--assume", f"mean_std={mean_std}", "--out", str(out)]
    assert main(["check-pretrained", *words]) == 0
    stored = read_json(out / "answers.json", "")
    assert stored["library"] == library
    assert (stored["config"]["img_size"], stored["config"]["num_classes"]) == (
        224,
        1000,
    )
    assert stored["answers"][0]["class"] in CATS, stored["answers"]
    assert (out / "attention.png").is_file()
