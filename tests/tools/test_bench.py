"""The benchmark: it runs on what is installed, says what it left out, and refuses what it cannot measure."""

import itertools

import pytest
import torch

import vitlib as vl
from tools import libraries
from tools.measure import bench
from vitlib.files import read_json

TINY = vl.ViTConfig(
    img_size=8, patch_size=4, embed_dim=12, depth=1, num_heads=3, mlp_ratio=2.0
)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """The other libraries are not asked, importing them takes long; and turns are short."""
    monkeypatch.setattr(bench, "LIBRARIES", {"vitlib": vl.VisionTransformer})
    monkeypatch.setattr(bench, "TURN", 0.0)
    monkeypatch.setattr(bench, "CONFIG", TINY)
    monkeypatch.setattr(bench, "BATCH", 2)
    monkeypatch.setattr(bench, "measure_memory", lambda *order: None)


def test_the_command(capsys, tmp_path, timm):
    bench.LIBRARIES["timm"] = libraries.timm
    bench.main(["--rounds", "2", "--json", str(tmp_path / "speed.json")])
    out = capsys.readouterr().out
    assert "12 wide, 1 deep, 3 heads, MLP x 2, patch 4, 8 px, batch 2, AdamW" in out
    assert (
        "vitlib fp32" in out
        and "timm fp32" in out
        and "ratio: speed over timm fp32's" in out
    )
    result = read_json(tmp_path / "speed.json", "")
    ours, theirs = result["rows"]["vitlib fp32"], result["rows"]["timm fp32"]
    assert (
        ours["parameters"] == theirs["parameters"]
        and result["name"] == "bench"
        and result["command"]
    )
    for row in (ours, theirs):
        assert all(
            len(row[kind]) == 2 and min(row[kind]) > 0
            for kind in ("train", "inference")
        )


def test_ratios_are_taken_round_by_round():
    slow, fast = [4.0, 1.0, 2.0], [1.0, 1.0, 1.0]
    rows = {
        name: {
            "train": seconds,
            "inference": fast,
            "parameters": 1000,
            "peak_memory": memory,
        }
        for name, seconds, memory in (
            ("timm fp32", slow, 2e9),
            ("vitlib bf16", fast, None),
        )
    }
    result = {
        "config": vars(TINY),
        "batch_size": 2,
        "base": "timm fp32",
        "rows": rows,
        "clock": "cpu",
    }
    result |= {"hardware": "a Xeon", "torch_version": "2", "skipped": {}}
    lines = bench.models_table(result).splitlines()
    assert lines[1] == "a Xeon, torch 2, cpu time"
    assert (
        lines[5]
        == "| timm fp32 | 1 images/s | 1.00 | 2 images/s | 1.00 | 2,000 MB | 1,000 |"
    )
    assert (
        lines[6]
        == "| vitlib bf16 | 2 images/s | 2.00 | 2 images/s | 1.00 | - | 1,000 |"
    )


def test_all_have_a_turn_in_a_round_and_another_begins(monkeypatch):
    turns, said = [], itertools.count()
    steps = {name: lambda name=name: turns.append(name) for name in "abc"}
    found = bench.take_turns(steps, 4, lambda: float(next(said)))
    assert [name for name, _ in itertools.groupby(turns)] == [
        *"abc",
        *"bca",
        *"cab",
        *"abc",
    ]
    assert {name: len(seconds) for name, seconds in found.items()} == dict.fromkeys(
        "abc", 4
    )


@pytest.mark.errors
def test_a_clock_that_would_not_see_everything_is_refused(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    with pytest.raises(
        SystemExit, match="--clock cpu adds up all threads .*; use --threads 1"
    ):
        bench.main(["--clock", "cpu"])
