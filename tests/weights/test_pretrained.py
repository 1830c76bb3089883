"""The book's models on disk: saved whole, damage reported; the committed ones give what their cards state."""

import hashlib
import json
import os
from dataclasses import asdict, replace

import pytest
import torch
from safetensors.torch import load, save

import vitlib as vl
from vitlib.data.cifar10 import find_cifar10
from vitlib.files import read_json
from vitlib.model.costs import count_parameters

TINY = vl.ViTConfig(img_size=8, patch_size=4, embed_dim=8, depth=2, num_heads=2)
CARD_OF_TINY = {"name": "tiny", "final": {"test_accuracy": 0.5}}


def saved(folder, cfg=TINY, seed=0) -> vl.VisionTransformer:
    torch.manual_seed(seed)
    model = vl.VisionTransformer(cfg)
    vl.save_pretrained(model, CARD_OF_TINY, folder)
    return model


@pytest.mark.parametrize(
    "cfg",
    [
        TINY,
        replace(TINY, img_size=(8, 16), pos_embed="relative", layer_scale=0.1),
    ],
)
def test_round_trip(tmp_path, cfg):
    model = saved(tmp_path / "new folder", cfg=cfg).eval()
    loaded, card = vl.load_pretrained("tiny", tmp_path / "new folder")
    raw = (tmp_path / "new folder/tiny.safetensors").read_bytes()
    assert card.pop("sha256") == hashlib.sha256(raw).hexdigest()
    assert loaded.cfg == cfg and not loaded.training
    assert card == CARD_OF_TINY | {"config": json.loads(json.dumps(asdict(cfg)))}
    expected = vl.VisionTransformer(cfg).eval()  # what float16 leaves
    expected.load_state_dict(
        {k: v.half().float() for k, v in model.state_dict().items()}
    )
    assert all(
        torch.equal(loaded.state_dict()[k], v) for k, v in expected.state_dict().items()
    )
    x = torch.randn(2, 3, *cfg.image_shape)
    assert torch.equal(loaded(x), expected(x))
    assert (
        vl.list_pretrained(tmp_path / "new folder") == ["tiny"]
        and vl.list_pretrained(tmp_path) == []
    )


def test_a_resnets_card_tells_what_it_is(tmp_path):
    cfg = vl.ResNetConfig(img_size=8, widths=(32, 64), depths=(1, 1))
    torch.manual_seed(0)
    model = vl.ResNet(cfg)
    vl.save_pretrained(model, {"name": "tiny"}, tmp_path)
    loaded, card = vl.load_pretrained("tiny", tmp_path)
    assert type(loaded) is vl.ResNet and loaded.cfg == cfg and not loaded.training
    assert len(card.pop("sha256")) == 64
    assert card == {
        "name": "tiny",
        "kind": "resnet",
        "config": json.loads(json.dumps(asdict(cfg))),
    }
    assert torch.equal(loaded.stem.conv.weight, model.stem.conv.weight.half().float())


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_failed_save_leaves_the_old_model(tmp_path, monkeypatch, error):
    saved(tmp_path, seed=0)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def half_way(file):
        raise error("stop")

    monkeypatch.setattr("vitlib.files.os.fsync", half_way)
    with pytest.raises(error):
        saved(tmp_path, seed=1)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.errors
def test_an_unknown_name_lists_the_known(tmp_path):
    with pytest.raises(ValueError, match="no model called 'vit'; there are: none yet"):
        vl.load_pretrained("vit", tmp_path)
    saved(tmp_path)
    with pytest.raises(ValueError, match="no model called '../tiny'; there are: tiny$"):
        vl.load_pretrained("../tiny", tmp_path)
    with pytest.raises(ValueError, match="called 'model.safetensors'; there are"):
        vl.load_pretrained("model.safetensors")


@pytest.mark.errors
@pytest.mark.parametrize("value", [1e5, float("nan")])
def test_a_diverged_model_is_not_saved(tmp_path, value):
    model = vl.VisionTransformer(TINY)
    torch.nn.init.constant_(model.head.bias, value)
    with pytest.raises(
        ValueError,
        match="head.bias holds numbers beyond float16's 65504, or NaN.*; the model has",
    ):
        vl.save_pretrained(model, {"name": "tiny"}, tmp_path)
    assert not os.listdir(tmp_path)


DAMAGED = "tiny in .* is damaged or incomplete .*; reinstall vitlib, or train"


def forget_the_sum(folder):
    card = read_json(folder / "tiny.json", "")
    del card["sha256"]
    (folder / "tiny.json").write_text(json.dumps(card))


def without(state, key):
    return {name: value for name, value in state.items() if name != key}


@pytest.mark.errors
@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-10],
        lambda raw: b"\xff" * 20 + raw[20:],
        lambda raw: save(without(load(raw), "head.weight")),
        lambda raw: save(load(raw) | {"head.weight": torch.zeros(3, 3)}),
        lambda raw: save(load(raw) | {"head.bias": torch.full((10,), float("nan"))}),
    ],
)
@pytest.mark.parametrize(
    "known", [True, False], ids=["by its sha256", "by what is in it"]
)
def test_damaged_weights(tmp_path, damage, known):
    saved(tmp_path)
    path = tmp_path / "tiny.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    if not known:
        forget_the_sum(tmp_path)
    with pytest.raises(ValueError, match=DAMAGED):
        vl.load_pretrained("tiny", tmp_path)


@pytest.mark.errors
def test_weights_of_another_run_are_told_by_their_sum(tmp_path):
    saved(tmp_path)
    path = tmp_path / "tiny.safetensors"
    path.write_bytes(
        save({key: value + 1 for key, value in load(path.read_bytes()).items()})
    )
    with pytest.raises(
        ValueError,
        match="the weights are not those that its card knows by their sha256",
    ):
        vl.load_pretrained("tiny", tmp_path)


BROKEN = [
    *("", '{"config": {', "[]", "{}"),
    *(
        {"config": config}
        for config in ({"depth": 0}, {"colour": 1}, 3, {"img_size": "x"}, {"depth": 3})
    ),
    *({"kind": kind} for kind in ("resnet", "cnn", 3)),
]


@pytest.mark.errors
@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_damaged_cards(tmp_path, broken):
    saved(tmp_path)
    path = tmp_path / "tiny.json"
    if isinstance(broken, dict):
        broken = json.dumps(read_json(path, "") | broken)
    path.write_text(broken)
    with pytest.raises(ValueError, match=DAMAGED):
        vl.load_pretrained("tiny", tmp_path)
    path.unlink()
    with pytest.raises(
        ValueError,
        match="has no card tiny.json beside it; python -m vitlib look .*tiny.safetensors takes",
    ):
        vl.load_pretrained("tiny", tmp_path)


@pytest.mark.errors
def test_a_config_larger_than_the_weights_is_refused_before_it_is_built(
    tmp_path, monkeypatch
):
    saved(tmp_path)
    card = read_json(tmp_path / "tiny.json", "")
    monkeypatch.setattr(
        "vitlib.weights.pretrained.build_model", lambda cfg: pytest.fail("built")
    )
    sizes = {"depth": 2000, "embed_dim": 2**20, "mlp_ratio": 1e6, "num_classes": 10**9}
    for name, value in sizes.items():
        told = card | {"config": card["config"] | {name: value}}
        (tmp_path / "tiny.json").write_text(json.dumps(told))
        with pytest.raises(
            ValueError, match=r"its card says \w+ \d+, its weights allow \d+ at most"
        ):
            vl.load_pretrained("tiny", tmp_path)


def test_a_card_keeps_no_accuracy_of_other_weights(tmp_path):
    saved(tmp_path)
    model, card = vl.load_pretrained("tiny", tmp_path)
    vl.save_pretrained(model, card, tmp_path / "same")
    assert vl.load_pretrained("tiny", tmp_path / "same")[1] == card
    model.head.bias.data += 1
    vl.save_pretrained(model, card, tmp_path / "other")
    other = vl.load_pretrained("tiny", tmp_path / "other")[1]
    assert (
        "final" not in other and other["sha256"] != card["sha256"] and "final" in card
    )
    vl.save_pretrained(
        model, {"name": "tiny", "final": {"test_accuracy": 0.6}}, tmp_path / "other"
    )
    assert vl.load_pretrained("tiny", tmp_path / "other")[1]["final"] == {
        "test_accuracy": 0.6
    }


@pytest.mark.errors
def test_a_card_of_another_number_of_classes_is_refused(tmp_path):
    saved(tmp_path)
    model, card = vl.load_pretrained("tiny", tmp_path)
    for write in (vl.save_pretrained, vl.export_web):
        with pytest.raises(
            ValueError,
            match="expected the card of a model with 37 classes, got 10; write a",
        ):
            write(vl.replace_head(model, 37), card, tmp_path / "new")
        with pytest.raises(ValueError, match="expected 37 names of classes, got 2"):
            write(
                vl.replace_head(model, 37),
                {"name": "tiny", "classes": ["cat", "dog"]},
                tmp_path / "new",
            )
    assert not (tmp_path / "new").exists()


def test_a_run_is_loaded_by_its_folder(tmp_path, monkeypatch):
    model = saved(tmp_path / "run1")
    monkeypatch.chdir(tmp_path)
    for name in ("run1", "run1/tiny", "run1/tiny.safetensors"):
        loaded, card = vl.load_pretrained(name)
        assert card["name"] == "tiny"
        assert torch.equal(loaded.head.weight, model.head.weight.half().float())


# --- the committed models ---------------------------------------------------------------------------------------

NAMES = vl.list_pretrained()
EXPECTED = {f"cifar10-{recipe}" for recipe in ("plain", "modern", "photo")}
EXPECTED |= {"drawn10-small", "drawn10-token"}
TOLERANCE = 0.002  # the cards' numbers belong to the float16 weights; other kernels may turn a few near ties
CARD = dict.fromkeys(
    ("name", "command", "vitlib_version", "dataset", "hardware", "precision"), str
)
CARD |= {
    "seed": int,
    "seconds": (int, float),
    "config": dict,
    "recipe": dict,
    "epochs": list,
    "final": dict,
}
every_model = pytest.mark.parametrize("name", sorted(EXPECTED | set(NAMES)))


@every_model
def test_the_card_says_how_it_was_made(name):
    model, card = vl.load_pretrained(name)
    for key, kind in CARD.items():
        assert isinstance(card[key], kind), key
    assert card["name"] == name and card["config"]["num_classes"] == 10
    assert card["command"].startswith("python -m vitlib train")
    assert not any(
        part in card["command"] for part in ("/tmp", "/work", "/home", "/root")
    )
    assert card["dataset"] == "Drawn-10" or card["dataset"].startswith("CIFAR-10")
    assert (
        card["seconds"] > 0
        and card["hardware"]
        and card["precision"] in ("fp32", "bf16")
    )
    assert not model.training and card.get(
        "parameters", count_parameters(model)
    ) == count_parameters(model)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [1000, pytest.param(None, marks=pytest.mark.weekly)])
@every_model
def test_the_accuracy_is_reproduced(name, n):
    """Of a thousand images within three standard errors; of all, once a week, but for near ties."""
    model, card = vl.load_pretrained(name)
    if card["dataset"] == "Drawn-10":
        data = vl.load_dataset("drawn10", "test")
    elif find_cifar10() is None:
        pytest.skip(
            f"{name}: CIFAR-10 is not at hand; python -m vitlib data cifar10 fetches it"
        )
    else:
        data = vl.load_dataset("cifar10", "test")
        if data.label != card["dataset"]:
            pytest.skip(
                f"{name} was measured on {card['dataset']}, here lies {data.label}"
            )
    scores, final = vl.evaluate(model, data.images[:n], data.labels[:n]), card["final"]
    error = (
        3 * (final["test_accuracy"] * (1 - final["test_accuracy"]) / n) ** 0.5
        if n
        else TOLERANCE
    )
    assert scores["accuracy"] == pytest.approx(final["test_accuracy"], abs=error)
    assert scores["loss"] == pytest.approx(final["test_loss"], abs=0.1 if n else 0.01)


@pytest.mark.errors
@pytest.mark.parametrize(
    "name",
    ["../../x", 3],
)
def test_a_name_that_leaves_the_folder(tmp_path, name):
    with pytest.raises(
        ValueError, match='name" must be a file name without folders, got '
    ):
        vl.save_pretrained(vl.VisionTransformer(TINY), {"name": name}, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    saved(tmp_path)
    card = read_json(tmp_path / "tiny.json", "")
    for told in (
        card | {"name": name},
        {key: card[key] for key in card if key != "name"},
        [card],
    ):
        (tmp_path / "tiny.json").write_text(json.dumps(told))
        with pytest.raises(ValueError, match="tiny in .* is damaged or incomplete"):
            vl.load_pretrained("tiny", tmp_path)
