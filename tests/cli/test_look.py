"""`look`: what a file or folder is, and the next command, which works; every remedy that it prints is executed."""

import json
import os
import pickle
import re
import shlex
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import vitlib as vl
from vitlib.weights.families import FAMILIES
from vitlib.weights.files import LATER, OTHERS
from vitworkshop.cli import main

SIZES = dict(
    img_size=32, patch_size=8, embed_dim=64, depth=2, num_heads=1, num_classes=5
)
QUICK = ["--device", "cpu", "--threads", "1"]
# a state that the family's pattern finds: fields of its model, its names and ours
MADE: dict[str, tuple[dict, dict]] = {
    "DINOv3": (
        dict(reg_tokens=2, pos_embed="rope_unit", layer_scale=1.0, num_classes=0),
        {r"^reg_token$": "storage_tokens"},
    ),
    "DINOv2": (
        dict(patch_size=14, img_size=56, layer_scale=1.0, num_classes=0),
        {},
    ),
    "DeiT III": (dict(layer_scale=1.0), {"pos_embed": "unplaced"}),
    "distilled DeiT (transformers)": (
        dict(reg_tokens=1, global_pool="token_reg"),
        {
            r"^patch_embed\.proj\.": "deit.embeddings.patch_embeddings.projection.",
            r"^(cls_token|pos_embed|blocks|norm)": r"deit.\1",
        },
    ),
    "distilled DeiT": (dict(reg_tokens=1, global_pool="token_reg"), {}),
    "SigLIP (transformers)": (
        dict(class_token=False, global_pool="map", num_classes=0),
        {
            r"^patch_embed\.proj\.": "vision_model.embeddings.patch_embedding.",
            r"^pos_embed$": "vision_model.embeddings.position_embedding.weight",
            r"^blocks\.": "vision_model.encoder.layers.",
            r"^norm\.": "vision_model.post_layernorm.",
            r"^attn_pool\.latent": "vision_model.head.probe",
            r"^attn_pool\.qkv\.": "vision_model.head.attention.in_proj_",
            r"^attn_pool\.proj": "vision_model.head.attention.out_proj",
            r"^attn_pool\.norm": "vision_model.head.layernorm",
            r"^attn_pool\.mlp": "vision_model.head.mlp",
        },
    ),
    "SigLIP (so400m, giant)": (
        dict(class_token=False, global_pool="map", embed_dim=1152, num_heads=16),
        {},
    ),
    "SigLIP": (dict(class_token=False, global_pool="map"), {}),
    "BLIP": (
        dict(num_classes=0),
        {
            r"^patch_embed\.proj\.": "vision_model.embeddings.patch_embedding.",
            r"^(cls_token)$": "vision_model.embeddings.class_embedding",
            r"^pos_embed$": "vision_model.embeddings.position_embedding",
            r"^blocks\.": "vision_model.encoder.layers.",
            r"\.norm([12])\.": r".layer_norm\1.",
            r"\.attn\.qkv\.": ".self_attn.qkv.",
            r"\.attn\.proj\.": ".self_attn.projection.",
            r"^norm\.": "vision_model.post_layernorm.",
        },
    ),
    "CLIP (timm)": (dict(pre_norm=True), {}),
    "CLIP": (
        dict(pre_norm=True),
        {
            r"^patch_embed\.proj\.": "visual.conv1.",
            r"^cls_token$": "visual.class_embedding",
            r"^pos_embed$": "visual.positional_embedding",
            r"^blocks\.": "visual.transformer.resblocks.",
            r"^norm_pre\.": "visual.ln_pre.",
            r"^norm\.": "visual.ln_post.",
            r"^head\.": "visual.head.",
        },
    ),
    "MAE (transformers)": (
        dict(num_classes=0),
        {
            r"^patch_embed\.proj\.": "vit.embeddings.patch_embeddings.projection.",
            r"^(cls_token|pos_embed|blocks|norm)": r"vit.\1",
            "more": "decoder.decoder_pred.weight",
        },
    ),
    "MAE": (dict(global_pool="avg", fc_norm=True), {}),
    "DINO": (dict(num_classes=0), {"more": "head.last_layer.weight_v"}),
    "MoCo, BYOL": (dict(num_classes=0), {r"^": "momentum_encoder."}),
    "ViT without a head": (dict(num_classes=0), {}),
    "ViT (torchvision)": ({}, {r"^patch_embed\.proj\.": "conv_proj."}),
    "ViT (Google)": ({}, {}),
    "ViT (transformers)": (
        {},
        {
            r"^patch_embed\.proj\.": "vit.embeddings.patch_embeddings.projection.",
            r"^(cls_token|pos_embed|blocks|norm)": r"vit.\1",
        },
    ),
    "ViT": ({}, {}),
}


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def published(family: str) -> Path:
    """A file whose names and shapes are the family's, of random numbers."""
    fields, names = MADE[family]
    torch.manual_seed(0)
    model = vl.VisionTransformer(vl.ViTConfig(**SIZES | fields))
    state = {}
    for key, value in model.state_dict().items():
        for pattern, new in names.items():
            key = re.sub(pattern, new, key) if pattern[0] in "^\\" else key
        state[key] = value.clone()
    if names.get("pos_embed") == "unplaced":
        state["pos_embed"] = state["pos_embed"][:, 1:].clone()
    if "more" in names:
        state[names["more"]] = torch.zeros(3, 64)
    if family.startswith("distilled DeiT"):
        at = "deit." if "deit.cls_token" in state else ""
        places, heads = state[f"{at}pos_embed"], state.pop("head.weight")
        state[f"{at}dist_token"] = state.pop("reg_token")
        state[f"{at}pos_embed"] = torch.cat([places[:, :1], places], dim=1)
        state["head.weight"], state["head_dist.weight"] = heads.clone().chunk(2, dim=1)
        state["head_dist.bias"] = state["head.bias"].clone()
    if family == "ViT (Google)":
        return googles(model)
    file = Path("x.safetensors")
    save_file({k: v.contiguous() for k, v in state.items()}, file)
    return file


def googles(model: vl.VisionTransformer) -> Path:
    """Arrays as Flax has them: inputs first, heads apart."""
    names = {
        "cls_token": "cls",
        "pos_embed": "Transformer/posembed_input/pos_embedding",
        "patch_embed.proj.": "embedding/",
        "norm.": "Transformer/encoder_norm/",
        "head.": "head/",
    }
    arrays = {}
    for key, value in model.state_dict().items():
        for ours, theirs in names.items():
            key = key.replace(ours, theirs) if key.startswith(ours) else key
        for i in range(2):
            key = key.replace(f"blocks.{i}.", f"Transformer/encoderblock_{i}/")
        key = key.replace("norm1.", "LayerNorm_0/").replace("norm2.", "LayerNorm_2/")
        key = key.replace("mlp.fc1.", "MlpBlock_3/Dense_0/")
        key = key.replace("mlp.fc2.", "MlpBlock_3/Dense_1/")
        attention = key.replace("attn.", "MultiHeadDotProductAttention_1/")
        last = "bias" if key.endswith("bias") else "kernel"
        last = "scale" if "orm" in key and last == "kernel" else last
        if "attn.qkv." in key:
            for name, part in zip(
                ("query", "key", "value"), value.chunk(3), strict=True
            ):
                part = part.T[:, None] if part.ndim == 2 else part[None]
                arrays[
                    attention.replace("qkv.weight", f"{name}/kernel").replace(
                        "qkv.bias", f"{name}/bias"
                    )
                ] = part
            continue
        if value.ndim == 2:
            value = value.T
        if value.ndim == 4:
            value = value.permute(2, 3, 1, 0)
        if "attn.proj." in key:
            key, value = (
                attention.replace("proj.", "out/"),
                value[None] if value.ndim == 2 else value,
            )
        arrays[re.sub("weight$", last, key)] = value
    np.savez("x.npz", **arrays)
    return Path("x.npz")


def commands_in(text: str) -> list[str]:
    """The commands that a text of `look` names."""
    found = re.findall(r"(?:next|page): (python -m .+)$", text, re.MULTILINE)
    return found + re.findall(r"; (python -m vitlib look)\b", text)


def works(command: str) -> None:
    """A command of the package's runs to its end."""
    words = shlex.split(command)[2 if command.startswith("python -c") else 3 :]
    if command.startswith("python -c"):
        return exec(words[0], {})
    more = ["--out", "answered"] if words[0] == "check-pretrained" else []
    if words[0] == "finetune":
        more = ["--epochs", "1", "--limit", "20", *QUICK]
    assert main(words + more) == 0, command


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_named_and_its_command_works(family, capsys):
    file = published(family)
    seen = vl.look(file)
    text = str(seen)
    assert f": {family}, by the names of" in text and len(text.splitlines()) <= 15
    model, card = vl.load_pretrained(file)
    assert card["family"] == family
    for key, value in card["assumed"].items():
        assert f"{key}={value}" in text
    usual = {k: v for k, v in FAMILIES[family][1].items() if k in card["assumed"]}
    assert usual.items() <= card["assumed"].items()
    assert main(["look", str(file)]) == 0
    assert capsys.readouterr().out == f"{text}\n"
    for command in commands_in(text):
        works(command)


@pytest.mark.parametrize("family", ["DINOv3", "SigLIP", "CLIP", "distilled DeiT"])
def test_what_is_saved_for_the_page_is_the_same_model(family, capsys):
    file = published(family)
    assert main(["look", str(file), "--assume", "act=gelu", "--save", "page"]) == 0
    said = capsys.readouterr().out
    theirs, _ = vl.load_pretrained(file, act="gelu")
    ours, card = vl.load_pretrained("page")
    assert ours.cfg == theirs.cfg and card["mean"] == card["std"] == [0.5] * 3
    x = torch.rand(2, 3, *ours.cfg.image_shape) * 2 - 1
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-2, atol=1e-2)
    for command in commands_in(said):
        works(command)


GOOD = b"the real weights"


@pytest.mark.errors
@pytest.mark.parametrize(
    "sign",
    [
        *(b"", b"Entry not found", b"\0\0\x08\x03\xff", b"\x80\4", *OTHERS),
        *(b"\0" * at + sign for at, sign in LATER),
    ],
)
def test_what_holds_no_weights_is_named_with_what_helps(sign, capsys):
    Path("x.safetensors").write_bytes(sign + b"\xff" * 40 * bool(sign in OTHERS))
    assert main(["look", "x.safetensors"]) == 2
    error = capsys.readouterr().err
    assert "x.safetensors is " in error and "; " in error
    # what helps: the file itself
    save_file(vl.VisionTransformer(vl.ViTConfig(**SIZES)).state_dict(), "x.safetensors")
    assert main(["look", "x.safetensors"]) == 0


@pytest.mark.errors
def test_a_part_that_is_none_here_ends_in_a_command_that_lists_what_is(capsys):
    state = vl.VisionTransformer(vl.ViTConfig(**SIZES)).state_dict()
    save_file(state | {"blocks.0.attn.rel_pos_h": torch.zeros(3)}, "sam.safetensors")
    assert main(["look", "sam.safetensors"]) == 2
    error = capsys.readouterr().err
    assert "relative positions of another kind (BEiT, SAM)" in error
    (command,) = re.findall(r"(python -m vitlib look) lists what is read", error)
    works(command)
    said = capsys.readouterr().out
    assert all(family in said for family in FAMILIES)


@pytest.mark.errors
@pytest.mark.parametrize("thing", ["nothing-here", "text.txt", "empty", "broken.png"])
def test_what_is_nothing_of_these(thing, capsys):
    Path("text.txt").write_text("hello")
    Path("empty").mkdir()
    Path("broken.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    assert main(["look", thing]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and thing in error


def test_a_missing_card_leads_to_a_command_that_works(capsys):
    Path("mine").mkdir()
    save_file(
        vl.VisionTransformer(vl.ViTConfig(**SIZES)).state_dict(), "mine/a.safetensors"
    )
    with pytest.raises(
        ValueError, match="has no card a.json beside it; python"
    ) as told:
        vl.load_pretrained("a", "mine")
    (command,) = re.findall(r"; (python .*) takes it", str(told.value))
    works(command)


def test_a_folder_of_that_name_does_not_hide_a_model_of_the_book():
    Path("cifar10-plain").mkdir()
    save_file(plain(), "cifar10-plain/model.safetensors")
    assert "library" not in vl.load_pretrained("cifar10-plain")[1]
    assert "library" in vl.load_pretrained("./cifar10-plain")[1]


def test_a_model_of_the_book_and_a_run_are_told_by_their_cards(capsys):
    for thing in ("cifar10-photo", "mine"):
        if thing == "mine":
            model = vl.VisionTransformer(vl.ViTConfig(**SIZES))
            vl.save_pretrained(model, {"name": "best"}, "mine")
        seen = vl.look(thing)
        assert "VisionTransformer of this book's kind" in str(seen)
        works(seen.command)
    Path("half").mkdir()
    log = {"epochs": [{}], "recipe": {"epochs": 3}, "command": "python -m vitlib data"}
    Path("half/log.json").write_text(json.dumps(log))
    state = vl.VisionTransformer(vl.ViTConfig(**SIZES)).state_dict()
    torch.save({"identity": {"recipe": {}}, "model": state}, "half/checkpoint.pt")
    with pytest.raises(ValueError, match="a run writes it when it has finished"):
        vl.load_pretrained("half")
    seen = vl.look("half")
    assert "has not finished, 1 of 3 epochs" in str(seen)
    works(seen.command)


def picture(file: Path, shade: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((20, 30, 3), shade, np.uint8)
    pixels[:10] = 255 - shade
    cv2.imwrite(str(file), pixels)


def test_a_picture_and_a_folder_of_pictures(capsys):
    picture(Path("one.png"), 7)
    seen = vl.look("one.png")
    assert seen.lines == ["one.png: a picture, PNG, 30 x 20 pixels"]
    works(seen.command)
    for i in range(3):
        picture(Path(f"loose/{i}.png"), i)
    Path("loose/empty").mkdir()
    seen = vl.look("loose")
    assert seen.lines == ["loose: 3 pictures, in no class's folder"]
    works(seen.command)


def test_a_folder_of_classes_is_looked_at_before_training(capsys):
    for i in range(12):
        picture(Path(f"pets/cat/{i}.png"), 3 * i)
        picture(Path(f"pets/dog/{i}.png"), 3 * i + 1)
    picture(Path("pets/dog/copy.png"), 0)
    seen = vl.look("pets")
    assert "cat " in seen.lines[0] and "held" not in seen.command
    assert "1 picture stands under two labels" in seen.lines[1]
    works(seen.command)
    few = Path("few")
    for i in range(3):
        picture(few / f"a/{i}.png", i)
        picture(few / f"b/{i}.png", 90 + i)
    seen = vl.look(few)
    assert "not to train on yet: expected 10 images or more" in seen.lines[-1]
    works(seen.command)


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_what_was_handed_in_is_told_by_its_tasks(kind):
    text = json.dumps({"cells": [{"source": "# task 2.1\n"}], "nbformat": 4})
    if kind == "folder":
        Path("in").mkdir()
        for name in ("ada", "alan"):
            Path(f"in/{name}.ipynb").write_text(text)
    else:
        with zipfile.ZipFile("in", "w") as packed:
            for name in ("ada", "alan", ".ipynb_checkpoints/alan", "__MACOSX/._ada"):
                packed.writestr(f"{name}_1_2_homework.ipynb", text)
    seen = vl.look("in")
    assert seen.lines == ["in: 2 of 2 notebooks are of homework 2"]
    assert seen.command == "python -m classroom grade --homework 2 in"


@pytest.mark.errors
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cifar10-photo", "--assume", "act=gelu"], "is no file of others' weights"),
        (["cifar10-photo", "--save", "out"], "--save is for others' weights"),
        (["--save", "out"], "--save is for others' weights"),
        (["cat.png", "--save", "out"], "--save is for others' weights, cat.png is"),
        (["timm/vit_base"], "is not there, and nothing is downloaded: fetch"),
    ],
)
def test_options_that_are_for_others_weights(words, message, capsys):
    picture(Path("cat.png"), 1)
    assert main(["look", *words]) == 2
    assert message in capsys.readouterr().err


def plain(**fields) -> dict[str, torch.Tensor]:
    return vl.VisionTransformer(vl.ViTConfig(**SIZES | fields)).state_dict()


@pytest.mark.errors
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"blocks.0.mlp.fc1.SCB": torch.zeros(4)}, "rounded to 8 or 4 bits"),
        (
            {"blocks.0.mlp.fc1.weight.absmax": torch.zeros(4)},
            "rounded to 8 or 4 bits",
        ),
        ({"blocks.0.0.bn1.bias": torch.zeros(4)}, "embeds no patches"),
        ({"blocks.0.norm1.bias": None}, "norms without a bias"),
        ({"blocks.0.adaLN_modulation.1.bias": torch.zeros(4)}, "steer .DiT"),
        ({"to_patch_embedding.1.bias": torch.zeros(4)}, "vit-pytorch"),
        ({"patch_embedding.position_embeddings": torch.zeros(4)}, "MONAI cuts them"),
        ({"pos_embed": torch.zeros(1, 9, 64)}, ""),
    ],
)
def test_weights_that_are_another_models_are_named_by_what_they_have(more, message):
    state = plain() | more
    if message == "embeds no patches":
        state = {"blocks.0.0.bn1.bias": torch.zeros(4), **more}
        state |= {"blocks.0.1.bn1.bias": torch.zeros(4)}
    state = {key: value for key, value in state.items() if value is not None}
    save_file(state, "x.safetensors")
    if message:
        with pytest.raises(ValueError, match=message):
            vl.look("x.safetensors")
    else:  # 9 places: of 3 x 3 patches, or CLS and 2 x 4
        assert "img_size=24" in str(vl.look("x.safetensors"))


def test_a_rectangle_is_read_where_json_beside_it_tells(capsys):
    Path("wide").mkdir()
    save_file(plain(img_size=(16, 32)), "wide/model.safetensors")
    told = {"pretrained_cfg": {"input_size": [3, 16, 32]}, "num_features": 64}
    Path("wide/config.json").write_text(json.dumps(told))
    model, card = vl.load_pretrained("wide")
    assert model.cfg.img_size == (16, 32) and "img_size" not in card["assumed"]
    works(vl.look("wide").command)
    Path("wide/config.json").unlink()
    with pytest.raises(ValueError, match="tell its size, --assume img_size=HEIGHT,W"):
        save_file(plain(img_size=(16, 40)), "x.safetensors")
        vl.look("x.safetensors")
    assert main(["look", "wide", "--assume", "img_size=16,32"]) == 0
    said = capsys.readouterr().out
    assert "16 x 32 pixels" in said and "wide --assume img_size=16,32\n" in said
    works(commands_in(said)[-1])


def deeper(kind: str) -> str:
    """A folder that holds something two folders down, and what is said of it."""
    if kind == "pictures":
        picture(Path("deep/data/train/cat/1.png"), 1)
        picture(Path("deep/.cache/train/cat/1.png"), 1)
        Path("deep/data/other.bin").write_bytes(b"\xff" * 99)  # no weights
        return "deep: pictures in data"
    if kind == "runs":
        for name in ("a", "b"):
            model = vl.VisionTransformer(vl.ViTConfig(**SIZES))
            vl.save_pretrained(model, {"name": name}, f"deep/{name}")
        return "deep: weights in a/a.safetensors, b/b.safetensors"
    if kind == "a run":
        Path("deep/a/b").mkdir(parents=True)
        log = {"epochs": [], "recipe": {}, "command": "python -m vitlib data"}
        Path("deep/a/b/log.json").write_text(json.dumps(log))
        return "deep: a run in a/b"
    Path("deep/version_0").mkdir(parents=True)
    torch.save(plain(), "deep/version_0/last.pth.tar")
    return "deep: weights in version_0/last.pth.tar"


@pytest.mark.parametrize("kind", ["pictures", "runs", "a run", "a trainer's"])
def test_what_lies_further_down_is_named(kind):
    said = deeper(kind)
    seen = vl.look("deep")
    assert seen.lines == [said]
    if kind != "pictures":  # one picture is none to train on
        works(seen.command)


@pytest.mark.errors
def test_a_card_whose_weights_are_elsewhere():
    model = vl.VisionTransformer(vl.ViTConfig(**SIZES))
    weights = vl.save_pretrained(model, {"name": "best"}, "mine")
    assert "of this book's kind" in str(vl.look("mine/best.json"))
    weights.unlink()
    Path("mine/coco.json").write_text("[1]")
    for thing in ("mine", "mine/best.json"):
        with pytest.raises(ValueError, match="without its weights; put best.safet"):
            vl.look(thing)


@pytest.mark.errors
def test_zips_in_a_zip_one_notebook_and_a_password():
    text = json.dumps({"cells": [{"source": "# task 2.1\n"}], "nbformat": 4})
    Path("in").mkdir()
    with zipfile.ZipFile("out.zip", "w") as platform:
        for name in ("ada", "alan"):
            with zipfile.ZipFile(f"in/{name}.zip", "w") as packed:
                packed.writestr("homework.ipynb", text)
            platform.write(f"in/{name}.zip", f"{name}/hw.zip")
    for thing in ("in", "out.zip"):
        assert vl.look(thing).lines == [
            f"{thing}: 2 of 2 notebooks are of homework 2",
        ]
    Path("one").mkdir()
    Path("one/ada.ipynb").write_text(text)
    seen = vl.look("one/ada.ipynb")
    assert seen.lines[0].startswith("ada.ipynb: a notebook of homework 2")
    assert seen.command == "python -m classroom grade --homework 2 one/ada.ipynb"
    raw = Path("in/ada.zip").read_bytes()
    at = raw.index(b"PK\1\2") + 8  # the flags: bit 0 means a password
    Path("in/ada.zip").write_bytes(raw[:at] + b"\1" + raw[at + 1 :])
    for thing in ("in", "in/ada.zip"):
        with pytest.raises(ValueError, match="has a password; unpack it first"):
            vl.look(thing)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("inside", "message"),
    [("model.weights.h5", "Keras's"), ("x/models/model.json", "torch.export's")],
)
def test_archives_of_other_programs_are_named(inside, message):
    with zipfile.ZipFile("x", "w") as packed:
        packed.writestr(inside, "")
    with pytest.raises(ValueError, match=f"x is {message}"):
        vl.look("x")


@pytest.mark.errors
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", ["test", "test_set"])
def test_folders_to_train_and_test_by_under_other_names(part):
    for i in range(3):
        picture(Path(f"pets/training_set/cat/{i}.png"), i)
        picture(Path(f"pets/training_set/dog/{i}.png"), 50 + i)
        picture(Path(f"pets/{part}/{i}.png"), 90 + i)
    if part == "test":
        reason = "not read: test, as test has no folder for each class"
        assert reason in str(vl.look("pets"))
        return
    for name in ("cat", "dog"):
        picture(Path(f"pets/{part}/{name}/1.png"), 90)
    assert "2 pictures, all of test_set" in str(vl.look("pets"))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (lambda: {"teacher_model": plain(), "student_model": plain()}, "not student_"),
        (lambda: {"ema": plain()} | plain(), "taken: ema, not the rest"),
        (lambda: plain(), None),
    ],
)
def test_which_of_several_models_is_taken_is_said(state, said):
    torch.save(state(), "x.pt")
    text = str(vl.look("x.pt"))
    assert said in text if said else "taken" not in text


def test_of_several_models_a_head_beside_them_is_not_taken():
    state = {}
    for place in ("backbone", "momentum_backbone"):
        state |= {f"{place}.{key}": v for key, v in plain(num_classes=0).items()}
    state["classifier.weight"] = torch.zeros(5, 64)
    torch.save(state, "x.ckpt")
    text = str(vl.look("x.ckpt"))
    assert ": MoCo, BYOL, by" in text and "no head" in text
    assert "taken: momentum_backbone, not backbone" in text


def test_a_projection_beside_open_clips_trunk_names_no_classes():
    state = {f"visual.trunk.{key}": v for key, v in plain(num_classes=0).items()}
    state["visual.head.proj.weight"] = torch.zeros(5, 64)
    torch.save(state, "x.pt")
    assert "5 numbers shared with words" in str(vl.look("x.pt"))


def test_the_json_of_open_clip_tells_heads_and_activation():
    published("CLIP").rename("open_clip_model.safetensors")
    tower = {"width": 64, "head_width": 32}
    for made, heads, act in (
        ({"vision_cfg": tower, "quick_gelu": True}, 2, "quick_gelu"),
        ({"vision_cfg": {"width": 64}}, 1, "gelu"),
        ({"vision_cfg": {"timm_model_name": "vit"}}, 1, None),
    ):
        Path("open_clip_config.json").write_text(json.dumps({"model_cfg": made}))
        model, card = vl.load_pretrained(".")
        assert model.cfg.num_heads == heads
        assert card["assumed"].get("act", model.cfg.act) == act or act is None
        assert ("act" in card["assumed"]) == (act is None)


def test_other_channels_and_an_archive_and_a_folder_of_folders(capsys):
    save_file(plain(in_chans=4), "x.safetensors")
    assert main(["look", "x.safetensors", "--save", "saved"]) == 0
    for thing in ("x.safetensors", "saved"):
        seen = vl.look(thing)
        assert "torch.zeros(1, 4, 32, 32)" in seen.command
        works(seen.command)
    with zipfile.ZipFile("x.zip", "w") as packed:
        packed.write("x.safetensors")
    with pytest.raises(ValueError, match="an archive .zip. of other files; unpack"):
        vl.look("x.zip")
    Path("trainer/checkpoint-5").mkdir(parents=True)
    save_file(plain(), "trainer/checkpoint-5/model.safetensors")
    seen = vl.look("trainer")
    assert seen.lines == ["trainer: weights in checkpoint-5"]
    works(seen.command)
    assert "by the names of timm" in capsys.readouterr().out


@pytest.mark.errors
def test_classes_that_differ_between_the_sides_are_what_is_told():
    for i in range(12):
        picture(Path(f"pets/train/Cat/{i}.png"), i)
        picture(Path(f"pets/train/dog/{i}.png"), 50 + i)
        picture(Path(f"pets/val/cat/{i}.png"), 90 + i)
        picture(Path(f"pets/val/dog/{i}.png"), 130 + i)
    seen = vl.look("pets")
    assert "got only in train: Cat; only in val: cat; rename them" in seen.lines[-1]
    works(seen.command)
    Path("pets/val").rename("val")  # the other remedy
    assert vl.look("pets").command.endswith("finetune cifar10-photo --data pets")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("pictures", "beside", "said", "command"),
    [
        (
            "images/train/1.png images/val/2.png",
            "labels/train/1.txt",
            "YOLO's\\) .*: labels/train/1.txt\n.*: images, labels are no classes",
            "look it/images",
        ),
        (
            "train/images/1.png",
            "train/labels/1.txt",
            "YOLO's.*\n.* images, labels are no classes",
            "look it/train",
        ),
        (
            "train2017/1.png val2017/2.png",
            "annotations/instances_train2017.json",
            "COCO's.*\n.*: no folders of classes in train2017 and val2017",
            "predict cifar10-photo it",
        ),
        (
            "val2017/1.png",
            "annotations/instances_val2017.json",
            "COCO's.*\n.*: no folders of classes in val2017; .* rename val2017, if",
            "predict cifar10-photo it",
        ),
        (
            "leftImg8bit/1.png",
            "groundTruth/1.mat",
            "groundTruth, leftImg8bit are no classes",
            "predict cifar10-photo it",
        ),
        ("cat/1.png dog/1.png test/1.png", "notes.txt", "in test; .* rename test", ""),
        (
            "patient_1/1.png patient_2/1.png",
            "notes.txt",
            "2 pictures\nare patient_1, patient_2 classes. .* on one side\nnot",
            "predict cifar10-photo it",
        ),
        (
            " ".join(f"{i:04}/1.png" for i in range(10)),
            "notes.txt",
            "are 0000, 0001, 0002, 0003 and 6 more classes",
            "",
        ),
        (
            "JPEGImages/1.png",
            "Annotations/1.xml",
            "VOC's.*\n.*Annotations, JPEGImages are no",
            "predict cifar10-photo it",
        ),
        ("1.png 2.png", "1.txt", "no class's folder\nboxes .as YOLO's", ""),
        (
            "images/1.png masks/1.png",
            "notes.txt",
            "2 pictures\nnot .* images, masks are no classes",
            "predict cifar10-photo it",
        ),
        ("train/1.png test/2.png", "train.csv", "a table beside them, not", ""),
        (
            "fold1/cat/1.png fold2/cat/2.png",
            "notes.txt",
            "if cat are classes",
            "look it/fold1",
        ),
    ],
)
def test_pictures_whose_folders_are_no_classes(pictures, beside, said, command):
    for i, name in enumerate(pictures.split()):
        picture(Path("it", name), i)
    file = Path("it", beside)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    seen = vl.look("it")
    assert re.search(said, str(seen)) and seen.command.endswith(command)
    works(seen.command)


def test_a_runs_weights_whose_card_is_missing_say_that_they_may_be_one():
    model = vl.VisionTransformer(vl.ViTConfig(**SIZES))
    vl.save_pretrained(model, {"name": "best"}, "run").with_suffix(".json").unlink()
    assert "perhaps (its card best.json, which tells more, is missing)" in str(
        vl.look("run")
    )
    model = vl.VisionTransformer(vl.ViTConfig(**SIZES, norm_order="post"))
    vl.save_pretrained(model, {"name": "post"}, "o").with_suffix(".json").unlink()
    with pytest.raises(ValueError, match="missing: norm.* card post.json, which"):
        vl.look("o")


@pytest.mark.errors
@pytest.mark.filterwarnings("ignore")
def test_a_program_a_checkpoint_and_a_pipe(capsys):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    torch.jit.save(torch.jit.script(model), "x.pt")
    with pytest.raises(ValueError, match="is a program .TorchScript.; torch.save"):
        vl.look("x.pt")
    os.mkfifo("pipe")
    with pytest.raises(ValueError, match="pipe is no file and no folder"):
        vl.look("pipe")
    Path("run").mkdir()
    Path("run/log.json").write_text(json.dumps({"epochs": [], "recipe": {}}))
    torch.save({"identity": {"recipe": {}}}, "run/checkpoint.pt")
    for name in ("checkpoint.pt", "log.json"):
        assert "has not finished" in str(vl.look(f"run/{name}"))
    # another trainer's have the same names
    torch.save({"model": plain()}, "run/checkpoint.pt")
    Path("run/log.json").write_text(json.dumps({"loss": [1]}))
    for thing in ("run", "run/checkpoint.pt"):
        assert "5 classes" in str(vl.look(thing))
    Path("run/checkpoint.pt").unlink()
    with pytest.raises(ValueError, match="run holds no weights"):
        vl.look("run")


@pytest.mark.errors
def test_a_name_of_timms_for_another_kind_is_believed():
    Path("rpn").mkdir()
    save_file(plain(), "rpn/model.safetensors")
    told = {"architecture": "vit_base_patch16_rpn_224", "num_features": 64}
    Path("rpn/config.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match="calls it vit_base_patch16_rpn_224: 'rpn' is"):
        vl.look("rpn")


@pytest.mark.errors
def test_a_projection_of_blips_that_is_normalised_twice():
    state = {
        **load_file(published("BLIP")),
        "visual_projection.weight": torch.zeros(5, 64),
    }
    save_file(state, "x.safetensors")
    with pytest.raises(ValueError, match="normalised twice .BlipModel"):
        vl.look("x.safetensors")


def linear(count: int, *names: str) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": torch.ones(count, 64) for name in names}


@pytest.mark.parametrize(
    ("more", "classes", "ignored"),
    [
        (linear(3, "head_age", "head_sex"), 0, "head_age.weight, head_sex.weight"),
        (linear(3, "heads.0", "heads.1"), 0, "heads.0.weight, heads.1.weight"),
        (linear(3, "head", "aux_head"), 3, "aux_head.weight"),
        (linear(64, "pre_logits.fc"), 0, "pre_logits.weight"),
    ],
)
def test_of_several_heads_one_or_none_is_taken_and_the_others_are_named(
    more, classes, ignored
):
    torch.save(plain(num_classes=0) | more, "x.pt")
    model, card = vl.load_pretrained("x.pt")
    assert model.cfg.num_classes == classes and card["ignored"] == ignored
    assert f"ignored: {ignored}" in str(vl.look("x.pt"))


def test_two_encoders_that_share_numbers_with_words_and_json_that_names_them(capsys):
    family = "ViT (transformers)"
    state = {
        f"vision_model.{key}": v for key, v in load_file(published(family)).items()
    }
    state = {
        key: v for key, v in state.items() if not key.startswith("vision_model.head")
    }
    state |= {"vision_model.vit.pooler.dense.weight": torch.rand(64, 64)}
    state |= {"vision_model.vit.pooler.dense.bias": torch.rand(64)}
    state |= {"visual_projection.weight": torch.rand(5, 64)}
    Path("two").mkdir()
    save_file(state, "two/model.safetensors")
    told = {"model_type": "dual", "image_config": {"num_attention_heads": 2}}
    Path("two/config.json").write_text(json.dumps(told))
    seen = str(vl.look("two"))
    assert "two: ViT (transformers), by the names of transformers, called dual" in seen
    assert "2 heads" in seen and "5 numbers shared with words" in seen
    Path("two/config.json").write_text(json.dumps(told | {"hidden_size": 32}))
    assert "dual" not in str(vl.look("two"))  # it is another model's


@pytest.mark.errors
def test_a_pickle_is_made_weights_by_what_is_printed():
    arrays = {key: value.numpy() for key, value in plain().items()}
    Path("x.pkl").write_bytes(pickle.dumps(arrays))
    with pytest.raises(ValueError, match="x.pkl is a pickle, which can run") as told:
        vl.look("x.pkl")
    (fix,) = re.findall(r"you trust it, (.*) makes weights", str(told.value))
    exec(fix, {"torch": torch, "pickle": pickle, "FILE": "x.pkl", "NEW": "x.pt"})
    assert "5 classes" in str(vl.look("x.pt"))


@pytest.mark.errors
def test_an_optimizer_alone_and_beside_weights():
    model = vl.VisionTransformer(vl.ViTConfig(**SIZES))
    model(torch.zeros(1, 3, 32, 32)).sum().backward()
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.step()
    Path("run/step10").mkdir(parents=True)
    torch.save(optimizer.state_dict(), "run/step10/z_optim_states.pt")
    torch.save(model.state_dict(), "run/step10/model_states.pt")
    assert vl.look("run").lines == ["run: weights in step10/model_states.pt"]
    with pytest.raises(ValueError, match="moments of an optimizer .its state alone"):
        vl.look("run/step10/z_optim_states.pt")


@pytest.mark.errors
def test_a_folder_of_what_is_not_read_says_what_it_is():
    Path("set/data").mkdir(parents=True)
    Path("set/README.md").write_text("a data set")
    Path("set/data/0.parquet").write_bytes(b"PAR1\0\xff")
    with pytest.raises(ValueError, match="homework: data/0.parquet is a table"):
        vl.look("set")


@pytest.mark.errors
def test_cifar10_is_known_by_its_folder(capsys):
    Path("data/cifar-10-batches-bin").mkdir(parents=True)
    Path("data/cifar-10-batches-bin/test_batch.bin").write_bytes(b"\3" * 9)
    for thing in ("data", "data/cifar-10-batches-bin"):
        seen = vl.look(thing)
        assert "CIFAR-10; with VITLIB_DATA=data the commands find it" in str(seen)
        assert seen.command == "python -m vitlib data verify --root data"
    Path("other/cifar-10-batches-py").mkdir(parents=True)
    with pytest.raises(ValueError, match="as pickles; `python -m vitlib data cifar10`"):
        vl.look("other")
    Path("other/cifar-10-batches-py").rename("other/mine")
    Path("other/mine/batches.meta").touch()
    with pytest.raises(ValueError, match="as pickles"):
        vl.look("other/mine")


@pytest.mark.errors
def test_a_link_that_leads_nowhere_and_a_notebook_of_no_homework():
    Path("linked.pth").symlink_to("gone/model.pth")
    with pytest.raises(ValueError, match="gone/model.pth, where the link leads"):
        vl.look("linked.pth")
    Path("in").mkdir()
    Path("in/hw (2).ipynb").write_text('{"cells": []}')
    with pytest.raises(ValueError, match="hw .2..ipynb names no task of a homework"):
        vl.look("in")


def test_notebooks_of_two_homeworks_are_counted():
    Path("in").mkdir()
    for name, number in (("ada", 2), ("alan", 2), ("grace", 3)):
        cells = [{"source": f"# task {number}.1\n"}]
        text = json.dumps({"cells": cells, "nbformat": 4})
        Path(f"in/{name}.ipynb").write_text(text)
    assert "2 of 3 notebooks are of homework 2, 1 of homework 3" in str(vl.look("in"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["averaged", "masked", "resnet"])
def test_a_runs_checkpoint_is_told_by_its_own_recipe_wherever_it_lies(kind, capsys):
    fields = SIZES | {"num_heads": 4, "global_pool": "avg", "act": "relu"}
    cfg = vl.ViTConfig(**fields)
    more: dict = {"ema_decay": 0.5} if kind == "averaged" else {}
    if kind == "masked":
        cfg = vl.ViTConfig(**fields | {"num_classes": 0, "mask_token": True})
        more = {"objective": "masked-mean"}
    if kind == "resnet":
        cfg = vl.ResNetConfig(num_classes=5, widths=(16, 32), depths=(1, 1))
    recipe = vl.Recipe("mine", cfg, epochs=1, batch_size=8, **more)
    images = torch.randint(0, 255, (16, 3, 32, 32), dtype=torch.uint8)
    data = vl.Dataset(images, torch.arange(16) % 5, tuple("abcde"), "d", "folder")
    made = vl.train_model(recipe, data, out="run", device="cpu")["model"]
    for file in Path("run").glob("*.safetensors"):
        file.unlink()
    gone = vl.look("run")
    assert "a finished run; its file of weights is gone" in str(gone)
    if kind != "masked":
        works(gone.command)
    Path("run/checkpoint.pt").rename("best.pth")
    opened, card = vl.load_pretrained("best.pth")
    assert opened.cfg == cfg and "library" not in card
    own = getattr(made, "encoder", made).state_dict()
    assert all(torch.equal(own[key], v) for key, v in opened.state_dict().items())
    seen = vl.look("best.pth")
    assert "of this book's kind" in seen.lines[0] and "1 of 1 epochs" in str(seen)
    if kind == "averaged":  # of a stranger's file the page would guess gelu
        with pytest.raises(ValueError, match="act='gelu', got act='relu'"):
            vl.explore("best.pth", kind="way")
    if kind != "masked":  # whose data would have to be drawn
        works(seen.command)
    Path("alone").mkdir()
    Path("best.pth").rename("alone/last.pt")
    seen = vl.look("alone")
    assert seen.lines == ["alone: weights in last.pt"]
    works(seen.command)


@pytest.mark.errors
def test_a_runs_checkpoint_that_is_damaged_or_is_to_be_assumed_of():
    state = {"identity": {"recipe": {}}, "log": {"config": {}}, "model": {}}
    torch.save(state, "x.pt")
    with pytest.raises(ValueError, match="x.pt in . is damaged or incomplete .'ema'"):
        vl.look("x.pt")
    with pytest.raises(ValueError, match="expected no act"):
        vl.look("x.pt", act="relu")


@pytest.mark.errors
@pytest.mark.filterwarnings("ignore")
def test_checkpoints_in_parts_are_named_and_made_one_by_what_is_printed():
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    dcp.save({"model": plain()}, checkpoint_id="run/step 5", no_dist=True)
    for thing in ("run", "run/step 5", "run/step 5/__0_0.distcp"):
        with pytest.raises(ValueError, match="torch.distributed.checkpoint") as told:
            vl.look(thing)
    (command,) = re.findall(r"; (python -m .*) makes one", str(told.value))
    words = shlex.split(command)
    assert words[2:4] == [dcp_to_torch_save.__module__, "dcp_to_torch"]
    dcp_to_torch_save(*words[4:])
    assert "5 classes" in str(vl.look("NEW.pt"))


@pytest.mark.errors
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zero_pp_rank_0_mp_rank_00_model_states.pt", "DeepSpeed, ZeRO 3"),
        ("saved_model.pb", "TensorFlow's program"),
        ("ckpt.data-00000-of-00001", "TensorFlow's checkpoint"),
        ("manifest.ocdbt", "Orbax"),
        ("group1-shard1of2.bin", "TensorFlow.js"),
    ],
)
def test_folders_of_other_programs_are_named(name, said):
    file = Path("run/step", name)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xff" * 9)
    for thing in ("run", "run/step", file):
        with pytest.raises(ValueError, match=said):
            vl.look(thing)


@pytest.mark.errors
def test_numbers_that_lie_in_other_files():
    torch.save({key: torch.zeros(0) for key in plain()}, "x.pt")
    with pytest.raises(ValueError, match="sparse or empty; .* gathered from where"):
        vl.look("x.pt")


def test_a_model_in_the_cache_of_hugging_face_is_called_as_there():
    for folder in ("blobs", "snapshots/0f1"):
        Path("models--facebook--dinov2-small", folder).mkdir(parents=True)
    save_file(plain(), "models--facebook--dinov2-small/blobs/abc")
    place = Path("models--facebook--dinov2-small/snapshots/0f1")
    (place / "model.safetensors").symlink_to("../../blobs/abc")
    assert vl.look(place).lines[0].startswith("dinov2-small: ViT, by")


def test_a_distillation_token_is_called_so():
    said = str(vl.look(published("distilled DeiT")))
    assert "a distillation token" in said and "regist" not in said


@pytest.mark.errors
def test_text_that_is_no_servers_answer_tells_of_no_token():
    for text in ("import torch", "Mäuse " * 20):
        Path("x.py").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="x.py is text .*; python -m vitlib look"):
            vl.look("x.py")


def test_one_homework_among_other_things_is_graded_alone():
    Path("in").mkdir()
    Path("in/data.csv").write_text("1")
    for name, number in (("mine", 2), ("a", ""), ("b", "")):
        cells = [{"source": f"# task {number}.1\n"}]
        text = json.dumps({"cells": cells, "nbformat": 4})
        Path(f"in/{name}.ipynb").write_text(text)
    seen = vl.look("in")
    assert seen.lines == ["in: 1 of 3 notebooks are of homework 2"]
    assert seen.command == "python -m classroom grade --homework 2 in/mine.ipynb"
    Path("in/yours.ipynb").write_text(Path("in/mine.ipynb").read_text())
    seen = vl.look("in")
    assert seen.lines[1] == "grade takes the others in, too; move them away"
    save_file(plain(), "in/model.safetensors")
    for name in ("mine", "yours"):
        Path(f"in/{name}.ipynb").unlink()
    assert "5 classes" in str(vl.look("in"))  # notebooks of no homework
    with pytest.raises(ValueError, match="no notebook of 1 in in/a.ipynb names a task"):
        vl.look("in/a.ipynb")


@pytest.mark.errors
def test_a_folder_whose_pictures_are_of_no_kind_that_is_read():
    Path("in").mkdir()
    for i in range(2):
        Path(f"in/{i}.heic").write_bytes(b"\0\0\0\x18ftypheic" + b"\1" * 50)
    with pytest.raises(ValueError, match="in/0.heic is HEIC, AVIF or a film"):
        vl.look("in")
    picture(Path("in/2.png"), 1)
    works(vl.look("in").command)
