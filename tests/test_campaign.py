"""Thousands of examples, kills and damaged files. Only by `pytest -m campaign` (`make campaign`): it takes minutes.

What hypothesis tries: 5,000 examples a property (see `conftest.py`). What is broken on purpose: 50 runs by kill -9 at
any moment, on a slow disk; 100 runs whose disk is full; 500 files cut off and 500 with one bit turned, of each kind. A
damaged file is refused in words, or gives what was in it.
"""

import os
import random
import resource
import signal
import subprocess
import sys
import time

import pytest
import torch
from test_augment_pins import test_augmented_images_stay_images_and_targets_whole  # noqa: F401 - properties that
from test_checks import CFG
from test_corrupt import test_each_image_has_exactly_as_many_corrupted_patches  # noqa: F401 - other files have, too,
from test_patches import test_patchify_is_its_definition_and_unpatchify_its_inverse  # noqa: F401 - here with more examples

import vitlib as vl
from vitlib.files import write_json
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.runner import begun

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]

COUNT = 500


# ---------------------------------------------------------------------------------------------------- properties


# -------------------------------------------------------------------------------------------------------- kills

RUN = """
import sys, time, torch, vitlib as vl
def slow(event, told):
    if event in ("open", "os.rename") and str(told[0]).startswith(sys.argv[1]):
        time.sleep(0.02)
sys.addaudithook(slow)
torch.set_num_threads(1)
g = torch.Generator().manual_seed(0)
images = torch.randint(0, 256, (96, 3, 16, 16), dtype=torch.uint8, generator=g)
labels = torch.randint(0, 4, (96,), generator=g)
recipe = vl.recipe("modern", "full", epochs=8, batch_size=16, **{"model.img_size": 16, "model.num_classes": 4,
    "model.embed_dim": 24, "model.depth": 2, "model.num_heads": 2, "model.drop_rate": 0.1})
import vitlib.train.loop as loop
loop.CHECKPOINT_SECONDS = 0.05
result = vl.train_model(recipe, (images[16:], labels[16:]), (images[:16], labels[:16]), out=sys.argv[1],
    device="cpu", progress=False)
torch.save({"model": result["model"].state_dict(), "epochs": [{k: v for k, v in row.items() if "s" != k[-1:]}
    for row in result["epochs"]]}, sys.argv[2])
"""


def start(folder, end) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), str(end)], env=environment
    )


def assert_same(one, other) -> None:
    assert (
        one["epochs"] == other["epochs"]
        and one["model"].keys() == other["model"].keys()
    )
    assert all(
        torch.equal(one["model"][key], other["model"][key]) for key in one["model"]
    )


def test_killed_at_any_moment_it_goes_on_to_the_same_weights(tmp_path):
    began = time.monotonic()
    assert start(tmp_path / "whole", tmp_path / "whole.pt").wait() == 0
    took, whole, dice = (
        time.monotonic() - began,
        torch.load(tmp_path / "whole.pt"),
        random.Random(0),
    )
    kills = runs = 0
    while kills < 50:
        folder, end = tmp_path / f"run{runs}", tmp_path / f"run{runs}.pt"
        process = start(folder, end)
        try:
            process.wait(timeout=dice.uniform(0.2, 1.0) * took)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        if process.returncode == 0:  # whole at last
            assert_same(torch.load(end), whole)
            runs += 1
    assert start(folder, end).wait() == 0
    assert_same(torch.load(end), whole)


# -------------------------------------------------------------------------------------------------------- disks

TINY = vl.Recipe(
    "t",
    CFG,
    epochs=4,
    batch_size=8,
    ema_decay=0.9,
    crop=2,
)


def train(folder, minutes=None) -> dict:
    """The weights of a run of 8 steps, with a checkpoint after each epoch."""
    g = torch.Generator().manual_seed(0)
    data = (
        torch.randint(0, 256, (16, 3, 8, 8), dtype=torch.uint8, generator=g),
        torch.arange(16) % 4,
    )
    options = dict(out=folder, device="cpu", progress=False, budget_minutes=minutes)
    return vl.train_model(TINY, data, **options)["model"].state_dict()


def assert_it_goes_on(folder, whole: dict) -> None:
    found = train(folder)
    assert all(torch.equal(found[key], whole[key]) for key in whole)
    assert sorted(os.listdir(folder)) == ["checkpoint.pt", "log.json"]


@pytest.fixture
def whole(tmp_path, monkeypatch):
    # one after each step
    monkeypatch.setattr("vitlib.train.loop.CHECKPOINT_SECONDS", 0.0)
    return train(tmp_path / "whole")


def test_a_full_disk_is_told_and_the_run_goes_on(tmp_path, whole):
    size = (tmp_path / "whole/checkpoint.pt").stat().st_size
    hard, dice, refused = (
        resource.getrlimit(resource.RLIMIT_FSIZE)[1],
        random.Random(0),
        0,
    )
    for i in range(100):
        if i % 2:
            train(tmp_path / f"{i}", minutes=0)  # there is a checkpoint already
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (dice.randrange(size + size // 10), hard)
        )
        try:
            train(tmp_path / f"{i}")
        except OSError as error:
            assert "cannot write" in str(
                error
            ) and "goes on from the last checkpoint" in str(error)
            refused += 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert_it_goes_on(tmp_path / f"{i}", whole)
    assert 50 < refused < 100


# ------------------------------------------------------------------------------------------------- damaged files


def damaged(raw: bytes, seed: str):
    """COUNT files cut off, COUNT with a bit turned; the first bytes, where headers are, more often."""
    dice = random.Random(seed)
    for i in range(COUNT):
        yield raw[: dice.randrange(len(raw))]
        place = (
            dice.randrange(min(len(raw), 2000))
            if i % 4 == 0
            else dice.randrange(len(raw))
        )
        yield (
            raw[:place]
            + bytes([raw[place] ^ 1 << dice.randrange(8)])
            + raw[place + 1 :]
        )


def refused_or_equal(path, raw: bytes, read, whole) -> int:
    """How many of the damaged files were refused in words; the others gave what was in the whole one."""
    refused = 0
    for content in damaged(raw, path.name):
        path.write_bytes(content)
        try:
            found = read()
        except (ValueError, OSError) as error:
            assert len(str(error)) > 20
            refused += 1
        else:
            assert whole(found)
    path.write_bytes(raw)
    return refused


def test_damaged_checkpoints(tmp_path):
    weights = train(tmp_path)
    path = tmp_path / "checkpoint.pt"
    same = lambda found: all(torch.equal(found[key], weights[key]) for key in weights)
    assert (
        refused_or_equal(path, path.read_bytes(), lambda: train(tmp_path), same)
        > 1.7 * COUNT
    )


def test_damaged_weights_and_cards(tmp_path):
    model = vl.VisionTransformer(CFG)
    path = vl.save_pretrained(
        model, {"name": "tiny", "final": {"test_accuracy": 0.5}}, tmp_path
    )
    weights, card = vl.load_pretrained("tiny", tmp_path)
    weights = weights.state_dict()

    def same(found):
        unharmed = all(
            torch.equal(found[0].state_dict()[key], weights[key]) for key in weights
        )
        return unharmed and card.items() <= found[1].items()

    read = lambda: vl.load_pretrained("tiny", tmp_path)
    assert refused_or_equal(path, path.read_bytes(), read, same) == 2 * COUNT
    path = tmp_path / "tiny.json"
    assert refused_or_equal(path, path.read_bytes(), read, same) > 1.9 * COUNT


def test_damaged_files_of_a_study_that_goes_on(tmp_path):
    result = vl.load_results("norm-order")
    study = STUDIES["norm-order"]
    result["runs"] = result["runs"][:9]
    path = write_json(tmp_path / "norm-order.json", result)
    read = lambda: begun(study, result, path)
    same = lambda found: found == result["runs"]
    assert refused_or_equal(path, path.read_bytes(), read, same) > 1.9 * COUNT
