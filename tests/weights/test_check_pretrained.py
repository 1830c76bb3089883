"""`check-pretrained`: files in the names of three libraries, answered as timm answers; what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from test_weights import dinos, googles, lively, transformers_names
from torch import nn

import vitlib as vl
from vitlib import config
from vitlib.data.photos import load_image
from vitlib.files import read_json
from vitworkshop.cli import main, pretrained

cv2 = pytest.importorskip("cv2")
TINY = vl.ViTConfig(img_size=20, patch_size=4, embed_dim=24, depth=2, num_heads=3, num_classes=7)
IMAGENET = (torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225]))
# its library, how a file is written, GELU and LayerNorm's epsilon there
FILES = {
    "weights.safetensors": ("timm", lambda model, path: save_file(model.state_dict(), path), "gelu", 1e-6),
    "weights.bin": (
        "transformers",
        lambda model, path: torch.save(transformers_names(model), path),
        "gelu",
        1e-12,
    ),
    "weights.npz": ("Google", lambda model, path: np.savez(path, **googles(model)), "gelu_tanh", 1e-6),
}


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """A preset of two blocks, in a folder of its own."""
    monkeypatch.setitem(config.SIZES, "xs", (2, 24, 3))
    monkeypatch.setattr(config, "PRESETS", (*config.PRESETS, "vit-xs/4"))
    monkeypatch.chdir(tmp_path)


def quiet(cfg=TINY) -> vl.VisionTransformer:
    """Every weight matters, and so does LayerNorm's epsilon: the tokens are small."""
    model = lively(cfg)
    with torch.no_grad():
        for part in (model.cls_token, *model.pos_embed.parameters(), *model.patch_embed.parameters()):
            part.mul_(0.01)
    return model


def run(*words) -> dict:
    """What is stored, once the command has run."""
    assert main(["check-pretrained", *map(str, words), "--out", "out"]) == 0
    return read_json("out/answers.json", "")


def prepared(mean, std) -> torch.Tensor:
    """The cat for a model of 20 pixels, by hand: the middle 300 x 300 as 22 x 22, without the rim. (1, 3, 20, 20)"""
    middle = vl.sample_image("cat").permute(1, 2, 0).numpy()[:, 75:375]  # it has 300 x 451 pixels
    image = torch.from_numpy(cv2.resize(middle, (22, 22), interpolation=cv2.INTER_AREA)[1:21, 1:21])
    return ((image / 255 - mean) / std).permute(2, 0, 1)[None]


@pytest.mark.parametrize("mean_std", ["half", "imagenet"])
@pytest.mark.parametrize("name", FILES)
@torch.no_grad()
def test_the_answers_and_the_map_are_timms(timm, name, mean_std, capsys, monkeypatch):
    library, write, act, eps = FILES[name]
    ours, drawn, draw = quiet(), [], vl.viz.attention_overlay
    write(ours, name)
    monkeypatch.setattr(
        vl.viz, "attention_overlay", lambda *args, **more: drawn.append(args) or draw(*args, **more)
    )
    stored = run("vit-xs/4", name, "--mean-std", mean_std)
    theirs = timm.models.vision_transformer.VisionTransformer(
        **dict(img_size=20, patch_size=4, num_classes=7, embed_dim=24, depth=2, num_heads=3, act_layer=act),
        norm_layer=partial(nn.LayerNorm, eps=eps),
    ).eval()
    theirs.load_state_dict(ours.state_dict())
    x = prepared(*(IMAGENET if mean_std == "imagenet" else (0.5, 0.5)))
    best = theirs(x).softmax(1)[0].topk(5)
    assert [answer["class"] for answer in stored["answers"]] == best.indices.tolist()
    found = [answer["probability"] for answer in stored["answers"]]
    assert found == pytest.approx(best.values.tolist(), rel=2e-5)
    said = capsys.readouterr().out
    assert f"{name}: a vit-xs/4 by the names of {library}, 20 x 20 pixels, 7 classes" in said
    for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True):
        assert f"{p:8.2%}  class {i}\n" in said

    last = theirs.blocks[1]  # the second of two
    tokens = last.norm1(theirs.blocks[0](theirs._pos_embed(theirs.patch_embed(x))))  # (1, 26, 24)
    q, k, _ = last.attn.qkv(tokens).view(26, 3, 3, 8).permute(1, 2, 0, 3)  # (26, 3*D) -> (3, h, 26, d)
    attention = (q @ k.mT / 8**0.5).softmax(2)[:, 0, 1:].mean(0)  # (h, 26, 26) -> (25,)
    ((image, weights, grid),) = drawn
    torch.testing.assert_close(weights, attention, rtol=1e-4, atol=1e-6)
    assert image.shape == (3, 20, 20) and grid == (5, 5)
    assert sorted(path.name for path in Path("out").iterdir()) == ["answers.json", "attention.png"]
    assert len(load_image("out/attention.png").flatten(1).unique(dim=1).T) > 300  # colours: no blank


def test_a_file_of_the_real_size_with_imagenets_names(timm, tmp_path, capsys):
    model = lively(vl.ViTConfig.preset("vit-ti/16"))
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    photo = vl.sample_image("rocket").permute(1, 2, 0).numpy()
    cv2.imwrite("rocket.png", photo[:, :, ::-1])
    words = ["vit_tiny_patch16_224.augreg_in21k_ft_in1k", "model.safetensors", "--image", "rocket.png"]
    assert main(["check-pretrained", *words]) == 0
    stored = read_json("runs/check-vit-ti-16/answers.json", "")  # the usual folder
    image = load_image("rocket.png", 248)[:, 12:236, 12:236]  # 224 / 0.9, as timm has it
    best = vl.predict(model, image[None])[0].topk(5)
    called = timm.data.ImageNetInfo().index_to_description
    told = [(answer["class"], answer["name"]) for answer in stored["answers"]]
    assert told == [(i, called(i)) for i in best.indices.tolist()]
    assert [a["probability"] for a in stored["answers"]] == pytest.approx(best.values.tolist(), rel=1e-4)
    header = {"model": "vit-ti/16", "library": "timm", "img_size": 224, "num_classes": 1000}
    header |= {"act": "gelu", "norm_eps": 1e-6, "mean_std": "half", "dataset": "rocket.png"}
    assert stored.items() >= header.items() and stored["command"].startswith("python -m vitlib check-pretr")
    said = capsys.readouterr().out
    assert "rocket.png:\n" in said and f"class {told[0][0]}  {told[0][1]}\n" in said
    for written in ("attention.png", "answers.json"):
        assert str(Path("runs/check-vit-ti-16", written)) in said


def test_names_of_the_reader_and_no_names(monkeypatch, capsys):
    save_file(lively(TINY).state_dict(), "weights.safetensors")
    names = [f"kind of {i}" for i in range(7)]
    Path("names.txt").write_text("\n".join(names) + "\n")
    for answer in run("vit-xs/4", "weights.safetensors", "--classes", "names.txt")["answers"]:
        assert answer["name"] == names[answer["class"]]
    assert "kind of" in capsys.readouterr().out
    assert {answer["name"] for answer in run("vit-xs/4", "weights.safetensors")["answers"]} == {""}
    for spec in (None, pretrained.find_spec("vitlib")):  # without timm, and with one that has no such lists
        monkeypatch.setattr(pretrained, "find_spec", lambda name, spec=spec: spec)
        assert pretrained._class_names(None, 1000) == [""] * 1000


@pytest.mark.parametrize("kind", ["DINO", "transformers, with a pooler"])
def test_a_file_without_a_head_gives_the_map_alone(kind, capsys):
    model = lively(TINY)
    if kind == "DINO":
        state = {"teacher": {f"backbone.{key}": value for key, value in dinos(model).items()}}
    else:
        state = {k: v for k, v in transformers_names(model).items() if not k.startswith("classifier")}
        state |= {"pooler.dense.weight": torch.eye(24), "pooler.dense.bias": torch.zeros(24)}
    torch.save(state, "weights.pth")
    stored = run("vit-xs/4", "weights.pth", "--mean-std", "imagenet")
    assert stored["answers"] == [] and stored["num_classes"] == 0 and Path("out/attention.png").is_file()
    assert "no answers, the file has no head" in capsys.readouterr().out


@torch.no_grad()
def test_the_papers_hidden_layer_before_the_head():
    model = lively(replace(TINY, head="mlp"))
    state = model.state_dict()
    names = [key.replace("head.0", "pre_logits.fc").replace("head.2", "head") for key in state]
    save_file(dict(zip(names, state.values(), strict=True)), "weights.safetensors")
    best = model(prepared(0.5, 0.5)).softmax(1)[0].topk(5)
    answers = run("vit-xs/4", "weights.safetensors")["answers"]
    assert [answer["probability"] for answer in answers] == pytest.approx(best.values.tolist(), rel=1e-5)


@torch.no_grad()
def test_deit_3_has_layer_scale_and_no_position_for_cls(timm):
    theirs = timm.models.vision_transformer.VisionTransformer(
        **dict(img_size=20, patch_size=4, num_classes=7, embed_dim=24, depth=2, num_heads=3),
        **dict(no_embed_class=True, init_values=0.5),
    ).eval()
    for p in theirs.parameters():
        p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())), alpha=0.2)
    save_file(theirs.state_dict(), "weights.safetensors")
    best = theirs(prepared(*IMAGENET)).softmax(1)[0].topk(5)
    answers = run("vit-xs/4", "weights.safetensors", "--mean-std", "imagenet")["answers"]
    assert [answer["class"] for answer in answers] == best.indices.tolist()
    assert [answer["probability"] for answer in answers] == pytest.approx(best.values.tolist(), rel=2e-5)


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("vit_tiny_patch16_224", "vit-ti/16"),
        ("google/vit-base-patch32-384", "vit-b/32"),
        ("deit_small_patch16_224.fb_in1k", "vit-s/16"),
        ("vit_large_patch16_224.augreg_in21k", "vit-l/16"),
        ("vit_huge_patch14_224", "vit-h/14"),
    ],
)
@pytest.mark.errors
def test_timms_names(name, preset, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(vl.ViTConfig, "preset", lambda name: asked.append(name))
    assert main(["check-pretrained", name, "nothing.npz"]) == 2  # before the file, which is not there
    assert asked == [preset] and "nothing.npz, which is not there" in capsys.readouterr().err


def refused(capsys, name="vit-xs/4", *words) -> str:
    """What is said of the file; nothing is written."""
    before = sorted(Path().iterdir())
    assert main(["check-pretrained", name, "weights.safetensors", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and sorted(Path().iterdir()) == before
    return error


@pytest.mark.errors
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 3}, "weights (timm) do not fit the model: depth 3, the model has 2; make the model with"),
        ({"mlp_ratio": 2.0}, "model: of another shape: blocks.0.mlp.fc1"),
    ],
)
def test_a_file_of_another_size_is_refused(changes, message, capsys):
    save_file(lively(replace(TINY, **changes)).state_dict(), "weights.safetensors")
    assert message in refused(capsys)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "reg_token",
            torch.zeros(1, 4, 24),
            "the head reads, got reg_token; take weights of a model without reg",
        ),
        ("register_tokens", torch.zeros(1, 4, 24), "got register_tokens; take"),
        ("dist_token", torch.zeros(1, 1, 24), "got dist_token; take"),
        ("distillation_token", torch.zeros(1, 1, 24), "got distillation_token; take"),
        ("fc_norm.weight", torch.ones(24), "got fc_norm.weight; take"),
        ("attn_pool.latent", torch.ones(24), "got attn_pool.latent; take"),
        ("cls_token", None, "got none; take"),
        ("pos_embed", None, "got no positions; take"),
        ("pos_embed", torch.zeros(26, 24), "got no positions; take"),
        ("pos_embed", torch.zeros(1, 30, 24), "29 patch positions are not a square grid"),
        ("norm_pre.weight", torch.ones(24), "a norm before the first block (CLIP's): norm_pre.weight"),
        ("norm.bias", torch.full((24,), float("nan")), "norm.bias holds numbers beyond"),
        ("head.bias", None, "missing: head.bias"),
    ],
)
def test_a_file_of_another_kind_is_refused(key, value, message, capsys):
    state = lively(TINY).state_dict() | {key: value}
    save_file({name: weight for name, weight in state.items() if weight is not None}, "weights.safetensors")
    assert message in refused(capsys)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vit-xs/8"], "preset must be one of vit-ti/16, "),
        (["vit-xs/8"], "got 'vit-xs/8'; did you mean 'vit-xs/4'?"),
        (["swin_tiny_patch4"], "got 'swin_tiny_patch4'"),
        (["vit-xs/4", "--image", "nothing.jpg"], "no file nothing.jpg"),
        (["vit-xs/4", "--image", "names.txt"], "names.txt is damaged or no image"),
        (["vit-xs/4", "--classes", "names.txt"], "expected 7 names in names.txt, got 2; write one a"),
        (["vit-xs/4", "--classes", "nothing.txt"], "No such file or directory: nothing.txt"),
        (["vit-xs/4", "--out", "names.txt"], "--out must be a folder, got the file names.txt"),
    ],
)
def test_wrong_words_are_refused(words, message, capsys):
    save_file(lively(TINY).state_dict(), "weights.safetensors")
    Path("names.txt").write_text("cat\ndog\n")
    assert message in refused(capsys, *words)
