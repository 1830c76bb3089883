"""Files of others on the command line: `check-pretrained` answers as timm does, `finetune` goes on; refusals."""

import json
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from test_weights import (
    MEAN,
    STD,
    dinos,
    googles,
    lively,
    torchvisions,
    transformers_names,
)
from torch import nn

import vitlib as vl
from vitlib.data.photos import load_image
from vitlib.files import read_json
from vitworkshop.cli import main, pretrained

cv2 = pytest.importorskip("cv2")
TINY = vl.ViTConfig(
    img_size=20, patch_size=4, embed_dim=24, depth=2, num_heads=3, num_classes=7
)
IMAGENET = (torch.tensor(MEAN), torch.tensor(STD))
# its library, how a file is written, GELU and LayerNorm's epsilon there
FILES = {
    "weights.safetensors": (
        "timm",
        lambda m, path: save_file(m.state_dict(), path),
        "gelu",
        1e-6,
    ),
    "weights.bin": (
        "transformers",
        lambda m, path: torch.save(transformers_names(m), path),
        "gelu",
        1e-12,
    ),
    "weights.npz": (
        "Google",
        lambda m, path: np.savez(path, **googles(m)),
        "gelu_tanh",
        1e-6,
    ),
}


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def quiet(cfg=TINY) -> vl.VisionTransformer:
    """Every weight matters, and so does LayerNorm's epsilon: the tokens are small."""
    model = lively(cfg)
    with torch.no_grad():
        for part in (
            model.cls_token,
            *model.pos_embed.parameters(),
            *model.patch_embed.parameters(),
        ):
            part.mul_(0.01)
    return model


def run(*words) -> dict:
    """What is stored, once the command has run."""
    words = (*words, "--assume", "num_heads=3", "--out", "out")
    assert main(["check-pretrained", *words]) == 0
    return read_json("out/answers.json", "")


def prepared(mean, std) -> torch.Tensor:
    """The cat for a model of 20 pixels, by hand: the middle 300 x 300 as 22 x 22, without the rim. (1, 3, 20, 20)"""
    # it has 300 x 451 pixels
    middle = vl.sample_image("cat").permute(1, 2, 0).numpy()[:, 75:375]
    image = torch.from_numpy(
        cv2.resize(middle, (22, 22), interpolation=cv2.INTER_AREA)[1:21, 1:21]
    )
    return ((image / 255 - mean) / std).permute(2, 0, 1)[None]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "mean_std"),
    list(zip(FILES, ("imagenet", "half", "imagenet"), strict=True)),
)
@torch.no_grad()
def test_the_answers_and_the_map_are_timms(timm, name, mean_std, capsys, monkeypatch):
    library, write, act, eps = FILES[name]
    ours, drawn, draw = quiet(), [], vl.viz.attention_overlay
    write(ours, name)
    monkeypatch.setattr(
        vl.viz,
        "attention_overlay",
        lambda *args, **more: drawn.append((*args, more)) or draw(*args, **more),
    )
    stored = run(name, "--assume", f"mean_std={mean_std}")
    theirs = timm.models.vision_transformer.VisionTransformer(
        **dict(
            img_size=20,
            patch_size=4,
            num_classes=7,
            embed_dim=24,
            depth=2,
            num_heads=3,
            act_layer=act,
        ),
        norm_layer=partial(nn.LayerNorm, eps=eps),
    ).eval()
    theirs.load_state_dict(ours.state_dict())
    x = prepared(*(IMAGENET if mean_std == "imagenet" else (0.5, 0.5)))
    best = theirs(x).softmax(1)[0].topk(5)
    assert [answer["class"] for answer in stored["answers"]] == best.indices.tolist()
    found = [answer["probability"] for answer in stored["answers"]]
    assert found == pytest.approx(best.values.tolist(), rel=2e-5)
    said = capsys.readouterr().out
    shape = "24 wide, 2 deep, 3 heads, patches of 4, 20 x 20 pixels, 7 classes"
    how = f"read at CLS; run with {act}, epsilon {eps:g}, mean"
    assert f", by the names of {library}: {shape}\n{how}" in said
    for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True):
        assert f"{p:8.2%}  class {i}\n" in said

    last = theirs.blocks[1]  # the second of two
    # (1, 26, 24)
    tokens = last.norm1(theirs.blocks[0](theirs._pos_embed(theirs.patch_embed(x))))
    # (26, 3*D) -> (3, h, 26, d)
    q, k, _ = last.attn.qkv(tokens).view(26, 3, 3, 8).permute(1, 2, 0, 3)
    attention = (q @ k.mT / 8**0.5).softmax(2)[:, 0, 1:].mean(0)  # (h, 26, 26) -> (25,)
    ((image, weights, grid, more),) = drawn
    first = f"class {best.indices[0]}, {best.values[0]:.0%}"
    assert more == {"titles": [f"CLS in the last block, {stored['date']}\n{first}"]}
    # a night may pass
    assert date.today() - date.fromisoformat(stored["date"]) <= timedelta(1)
    torch.testing.assert_close(weights, attention, rtol=1e-4, atol=1e-6)
    assert image.shape == (3, 20, 20) and grid == (5, 5)
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "answers.json",
        "attention.png",
    ]
    # colours: no blank
    assert len(load_image("out/attention.png").flatten(1).unique(dim=1).T) > 300


def test_a_file_of_the_real_size_with_imagenets_names(timm, tmp_path, capsys):
    model = lively(vl.ViTConfig.preset("vit-ti/16"))
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    photo = vl.sample_image("rocket").permute(1, 2, 0).numpy()
    cv2.imwrite("rocket.png", photo[:, :, ::-1])
    out = Path("runs", f"check-{tmp_path.name}")  # the usual folder
    words = ["model.safetensors", "--image", "rocket.png"]
    assert main(["check-pretrained", *words]) == 0
    stored = read_json(out / "answers.json", "")
    # 224 / 0.9, as timm has it
    image = load_image("rocket.png", 248)[:, 12:236, 12:236]
    best = vl.predict(model, image[None])[0].topk(5)
    called = timm.data.ImageNetInfo().index_to_description
    told = [(answer["class"], answer["name"]) for answer in stored["answers"]]
    assert told == [(i, called(i)) for i in best.indices.tolist()]
    assert [a["probability"] for a in stored["answers"]] == pytest.approx(
        best.values.tolist(), rel=1e-4
    )
    header = {"library": "timm", "family": "ViT", "dataset": "rocket.png"}
    header |= {"mean": 0.5, "std": 0.5}
    usual = {"num_heads": 3, "act": "gelu", "norm_eps": 1e-6}
    assert stored["assumed"] == usual | dict(
        global_pool="token", mean_std="half", img_size=224
    )
    assert vl.ViTConfig(**stored["config"]) == model.cfg
    assert stored.items() >= header.items() and stored["command"].startswith(
        "python -m vitlib check-pretr"
    )
    said = capsys.readouterr().out
    words = "num_heads=3 act=gelu norm_eps=1e-06 mean_std=half global_pool=token img_size=224"
    assert f"assumed, as nothing tells it: {words} (--assume" in said
    assert "\nrocket.png:\n" in said
    assert f"class {told[0][0]}  {told[0][1]}\n" in said
    assert all(str(out / one) in said for one in ("attention.png", "answers.json"))


def test_names_of_the_reader_and_no_names(monkeypatch, capsys):
    save_file(lively(TINY).state_dict(), "weights.safetensors")
    names = [f"kind of {i}" for i in range(7)]
    Path("names.txt").write_text("\n".join(names) + "\n")
    for answer in run("weights.safetensors", "--classes", "names.txt")["answers"]:
        assert answer["name"] == names[answer["class"]]
    assert "kind of" in capsys.readouterr().out
    assert {answer["name"] for answer in run("weights.safetensors")["answers"]} == {""}
    for spec in (
        None,
        pretrained.find_spec("vitlib"),
    ):  # without timm, and with one that has no such lists
        monkeypatch.setattr(pretrained, "find_spec", lambda name, spec=spec: spec)
        assert pretrained._class_names(None, None, 1000) == [""] * 1000


@pytest.mark.parametrize("kind", ["DINO", "transformers, with a pooler"])
def test_a_file_without_a_head_gives_the_map_alone(kind, capsys):
    model = lively(TINY)
    if kind == "DINO":
        state = {
            "teacher": {f"backbone.{key}": value for key, value in dinos(model).items()}
        }
    else:
        state = {
            k: v
            for k, v in transformers_names(model).items()
            if not k.startswith("classifier")
        }
        state |= {
            "pooler.dense.weight": torch.eye(24),
            "pooler.dense.bias": torch.zeros(24),
        }
    torch.save(state, "weights.pth")
    stored = run("weights.pth")
    assert (
        stored["answers"] == []
        and stored["config"]["num_classes"] == 0
        and Path("out/attention.png").is_file()
    )
    assert "no answers, the file has no head" in capsys.readouterr().out


@torch.no_grad()
def test_one_output_is_a_number_and_no_class(capsys):
    model = lively(replace(TINY, num_classes=1))
    save_file(model.state_dict(), "weights.safetensors")
    assert run("weights.safetensors")["answers"] == []
    said = capsys.readouterr().out
    number = model(prepared(0.5, 0.5)).item()
    assert f": one number, {number:.4g}, a measure or a logit, no class" in said
    assert "20 x 20 pixels, one number\n" in said and "%" not in said
    assert main(["predict", "weights.safetensors", "cat.jpg"]) == 2
    assert "has no head that names classes" in capsys.readouterr().err


@torch.no_grad()
def test_what_lies_beside_a_file_tells_the_rest():
    model = quiet(replace(TINY, act="gelu_tanh"))
    for part in (part for part in model.modules() if isinstance(part, nn.LayerNorm)):
        part.eps = 1e-3
    save_file(transformers_names(model), "model.safetensors")
    config = {
        "num_attention_heads": 3,
        "layer_norm_eps": 1e-3,
        "hidden_act": "gelu_new",
        "hidden_size": 24,
    }
    Path("config.json").write_text(json.dumps(config))
    Path("preprocessor_config.json").write_text(
        json.dumps({"image_mean": MEAN, "image_std": STD})
    )
    assert main(["check-pretrained", ".", "--out", "out"]) == 0
    best = model(prepared(*IMAGENET)).softmax(1)[0].topk(5)
    found = [
        answer["probability"] for answer in read_json("out/answers.json", "")["answers"]
    ]
    assert found == pytest.approx(best.values.tolist(), rel=1e-4)


@pytest.mark.parametrize(
    ("make", "beside", "mean"),
    [
        (lambda m: m.state_dict(), {}, 0.5),
        (
            lambda m: m.state_dict(),
            {"pretrained_cfg": {"mean": [0, 0, 0], "std": [1, 1, 1]}},
            [0, 0, 0],
        ),
        (lambda m: {"teacher": dinos(m)}, {}, MEAN),
        (torchvisions, {}, MEAN),
    ],
)
def test_what_is_known_of_their_pictures(make, beside, mean):
    torch.save(make(lively(replace(TINY, layer_scale=1.0))), "x.pth")
    Path("config.json").write_text(json.dumps(beside))
    card = vl.load_pretrained("x.pth", num_heads=3)[1]
    assert list(np.ravel(card["mean"])) == list(np.ravel(mean))
    assert ("mean_std" in card["assumed"]) == ("pretrained_cfg" not in beside)
    said = vl.load_pretrained("x.pth", num_heads=3, mean_std="half")[1]
    assert said["mean"] == 0.5 and "mean_std" not in said["assumed"]


def test_finetune_goes_on_with_a_file_that_has_no_card(capsys):
    model = lively(replace(TINY, img_size=16, act="gelu_tanh"))
    np.savez("ViT-B_16.npz", **googles(model))  # whose heads and pictures are known
    torch.save({"state_dict": model.state_dict()}, "dino.pth.tar")
    for name in ("cat", "dog"):
        Path("pets", name).mkdir(parents=True)
        for i in range(10):
            shade = 20 * i + 9 * (name == "dog")
            cv2.imwrite(f"pets/{name}/{i}.png", np.full((20, 20, 3), shade, np.uint8))
    words = "--data pets --epochs 1 --set lr=2e-6 ema_decay=0.0 --threads 1 --device cpu".split()
    its = ["--assume", "num_heads=3"]
    assert main(["finetune", "cifar10-plain", *words, *its]) == 2
    expected = "expected no num_heads for cifar10-plain, whose card tells it"
    assert expected in capsys.readouterr().err
    vl.save_pretrained(model, {"name": "mine"}, "runs/mine")
    starts = {
        "ViT-B_16.npz": [],
        "dino.pth.tar": [*its, "mean_std=imagenet"],
        "runs/mine": [],
    }
    for start, told in starts.items():
        assert (
            main(
                [
                    "finetune",
                    start,
                    *words,
                    *told,
                    "--out",
                    "new",
                    "--no-resume",
                    "--name",
                    "pets",
                ]
            )
            == 0
        )
        new, card = vl.load_pretrained("new")
        expected = vl.replace_head(model, 2)
        if told:
            vl.load_weights(
                expected, model.state_dict(), load_head=False, mean=MEAN, std=STD
            )
        assert card["start"] == Path(start).name.partition(".")[0]
        assert (
            new.cfg == expected.cfg or start == "dino.pth.tar" and new.cfg.act == "gelu"
        )
        for key, value in new.state_dict().items():
            torch.testing.assert_close(
                value, expected.state_dict()[key], atol=2e-3, rtol=2e-3
            )
    said = capsys.readouterr().out
    assert "dino: ViT, by the names of timm: 24 wide" in said
    assert "assumed, as nothing tells it: act=gelu" in said


def refused(capsys, *words) -> str:
    """What is said of the file; nothing is written."""
    before = sorted(Path().iterdir())
    assert main(["check-pretrained", *words]) == 2
    error = capsys.readouterr().err
    assert (
        error.startswith("error: ")
        and error.count("\n") == 1
        and sorted(Path().iterdir()) == before
    )
    return error


@pytest.mark.errors
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("cls_token", None, "26 positions are not those of a square grid"),
        (
            "patch_embed.proj.weight",
            torch.zeros(24, 3, 8, 4),
            "expected patches cut by a square kernel (D, C, P, P), got (24, 3, 8, 4)",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused(key, value, message, capsys):
    state = lively(TINY).state_dict() | {key: value}
    save_file(
        {name: weight for name, weight in state.items() if weight is not None},
        "weights.safetensors",
    )
    words = ["--assume", "num_heads=3"]
    assert message in refused(capsys, "weights.safetensors", *words)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "weights --assume num_heads=0",
            "num_heads must be a positive integer, got 0",
        ),
        ("weights --assume heads=3", "--assume takes num_heads=VALUE or act=VALUE"),
        ("cifar10-plain", "cifar10-plain is a model of this book; python -m vitlib"),
        ("weights --image names.txt", "names.txt is of no kind that is read"),
        (
            "weights --classes names.txt",
            "expected 7 names in names.txt, got 2; write one a",
        ),
    ],
)
def test_wrong_words_are_refused(words, message, capsys):
    save_file(lively(TINY).state_dict(), "weights")
    Path("names.txt").write_text("cat\ndog\n")
    assert message in refused(capsys, *words.split())
