"""What makes a run the same run: nested dictionaries compared; files whole, damaged and old."""

import os
import shutil
from pathlib import Path

import pytest
import torch
from killed import killed_at

from vitlib.config import ViTConfig
from vitlib.data.dataset import Dataset
from vitlib.files import read_json
from vitlib.train.checkpoint import differences, load_checkpoint, save_checkpoint
from vitlib.train.loop import train_model
from vitlib.train.recipe import Recipe, recipe
from vitlib.weights.pretrained import load_pretrained


def test_differences_are_told_by_their_way():
    theirs = {"lr": 0.1, "model": {"depth": 4, "act": "gelu"}, "gone": 1}
    ours = {"lr": 0.1, "model": {"depth": 6, "act": "gelu"}, "new": False}
    assert list(differences(theirs, ours)) == [
        "gone was 1, now None",
        "model.depth was 4, now 6",
        "new was None, now False",
    ]
    assert not list(differences(ours, ours))


def test_what_a_file_lacks_was_as_usual():
    old, usual = (
        {"lr": 0.1, "model": {"depth": 4}},
        {"flip": False, "model": {"act": "gelu"}},
    )
    same = {"lr": 0.1, "flip": False, "model": {"depth": 4, "act": "gelu"}}
    assert not list(differences(old, same, usual)) and not list(
        differences(same, old, usual)
    )
    assert list(differences(old, same | {"flip": True}, usual)) == [
        "flip was False, now True"
    ]
    other = same | {"model": {"depth": 4, "act": "relu"}}
    assert list(differences(old, other, usual)) == ["model.act was 'gelu', now 'relu'"]
    assert list(differences(old, same)) == [
        "flip was None, now False",
        "model.act was None, now 'gelu'",
    ]


SMALL = recipe(
    "drawn10",
    epochs=2,
    batch_size=5,
    **{"model.embed_dim": 12, "model.depth": 1, "model.patch_size": 16},
)
DATA = Dataset(torch.zeros(10, 3, 32, 32, dtype=torch.uint8), torch.arange(10))


def test_a_checkpoint_from_before_a_field_existed_is_continued(tmp_path):
    """Unless the field now has another value than its default."""
    train_model(SMALL, DATA, out=tmp_path, budget_minutes=1e-9, progress=False)
    path = tmp_path / "checkpoint.pt"
    state = torch.load(path, weights_only=True)
    assert state["step"] == 1
    del (
        state["identity"]["recipe"]["mixup"],
        state["identity"]["recipe"]["model"]["mask_token"],
    )
    state["identity"]["recipe"]["erasing"] = 0.0  # a field that is gone
    torch.save(state, path)
    whole = train_model(SMALL, DATA, progress=False)
    went_on = train_model(SMALL, DATA, out=tmp_path, progress=False)
    for name, value in whole["model"].state_dict().items():
        assert torch.equal(value, went_on["model"].state_dict()[name])


@pytest.mark.parametrize(("number", "step", "logged"), [(1, 1, 1), (2, 2, 1)])
def test_killed_while_saving_the_checkpoint_is_whole_and_its_log_not_ahead_of_it(
    tmp_path, number, step, logged
):
    """A log that is ahead of its checkpoint would tell of steps that are lost."""
    path = tmp_path / "checkpoint.pt"

    def save(step):
        save_checkpoint(
            path, STATE | {"identity": {}, "step": step, "log": {"step": step}}
        )

    save(1)
    killed_at("replace", number, lambda: save(2))
    assert load_checkpoint(path, {}, torch.device("cpu"))["step"] == step
    assert read_json(tmp_path / "log.json", "") == {"step": logged}
    save(3)
    assert load_checkpoint(path, {}, torch.device("cpu"))["step"] == 3
    assert sorted(os.listdir(tmp_path)) == ["checkpoint.pt", "log.json"]


STATE = {
    "step": 1,
    "log": {},
    "model": {},
    "optimizer": {},
    "ema": None,
    "sums": torch.zeros(2),
}


@pytest.mark.errors
@pytest.mark.parametrize(
    "change, part",
    [
        ({"model": ...}, "its model is none"),
        ({"step": 1.5}, "its step is none"),
        ({"sums": [1]}, "its sums is none"),
        ({"identity": 3}, "TypeError"),
    ],
)
def test_a_checkpoint_without_one_of_its_parts_is_refused(tmp_path, change, part):
    path, cpu = tmp_path / "checkpoint.pt", torch.device("cpu")
    whole = STATE | {"identity": {"a": 1}}
    torch.save(whole, path)
    assert load_checkpoint(path, {"a": 1}, cpu)["step"] == 1
    torch.save(
        {key: value for key, value in (whole | change).items() if value is not ...},
        path,
    )
    with pytest.raises(
        ValueError,
        match=rf"checkpoint.pt is not a whole checkpoint \({part}\); delete it",
    ):
        load_checkpoint(path, {"a": 1}, cpu)


@pytest.mark.errors
@pytest.mark.parametrize("content", [b"", b"no checkpoint"])
def test_what_is_no_checkpoint_at_all_is_refused(tmp_path, content):
    (tmp_path / "checkpoint.pt").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"is not a whole checkpoint .*resume=False \(--no-resume\)"
    ):
        load_checkpoint(tmp_path / "checkpoint.pt", {}, torch.device("cpu"))


@pytest.mark.errors
def test_a_flipped_bit_in_a_weight_is_noticed(tmp_path):
    """`torch.load` reads on and gives other numbers; the file's own checksums tell."""
    path, cpu = tmp_path / "checkpoint.pt", torch.device("cpu")
    weight = torch.arange(1000.0)
    torch.save(STATE | {"identity": {}, "model": {"w": weight}}, path)
    raw = bytearray(path.read_bytes())
    raw[raw.index(weight[500:510].numpy().tobytes()) + 3] ^= 1
    path.write_bytes(raw)
    assert not torch.equal(torch.load(path)["model"]["w"], weight)
    with pytest.raises(
        ValueError, match="is not a whole checkpoint .*start anew with resume=False"
    ):
        load_checkpoint(path, {}, cpu)


# written by the code of November 2026, before Muon: never write it anew
OLD = Path(__file__).with_name("old-run")


def old_run(out=None) -> dict:
    """What made `OLD`: four epochs of two steps, stopped after the third step, and on its own to the end."""
    shape = {
        "img_size": 8,
        "num_classes": 4,
        "embed_dim": 12,
        "depth": 1,
        "num_heads": 2,
        "mlp_ratio": 2.0,
    }
    changes = {
        "epochs": 4,
        "batch_size": 8,
        "lr": 3e-3,
        "crop": 2,
        "ema_decay": 0.9,
        "precision": "fp32",
    }
    images = torch.randint(
        0,
        256,
        (16, 3, 8, 8),
        dtype=torch.uint8,
        generator=torch.Generator().manual_seed(0),
    )
    labels = torch.arange(16) % 4
    one = Recipe("old-run", ViTConfig(**shape, global_pool="avg"), **changes)
    return train_model(
        one, (images, labels), (images, labels), out=out, device="cpu", progress=False
    )


def test_an_old_checkpoint_is_continued_and_an_old_card_read(tmp_path, one_thread):
    """Another processor may round otherwise, so not to the bit; the card's weights are float16."""
    shutil.copy(OLD / "state.pt", tmp_path / "checkpoint.pt")
    continued, (model, card) = old_run(tmp_path), load_pretrained("old-run", OLD)
    assert [row["epoch"] for row in continued["epochs"]] == [1, 2, 3, 4]
    assert (
        continued["epochs"][0]["seconds"]
        == torch.load(OLD / "state.pt")["log"]["epochs"][0]["seconds"]
    )
    assert card["final"]["val_loss"] == pytest.approx(
        continued["epochs"][-1]["val_loss"], abs=1e-3
    )
    for name, value in old_run()["model"].state_dict().items():
        torch.testing.assert_close(
            continued["model"].state_dict()[name], value, atol=1e-4, rtol=0
        )
        torch.testing.assert_close(
            model.state_dict()[name], value, atol=1e-3, rtol=1e-3
        )
