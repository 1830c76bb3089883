"""The benchmark: it runs on what is installed, says what it left out, and refuses what it cannot measure."""

import pytest

import vitlib as vl
from tools import libraries
from tools.measure import bench
from vitlib.files import read_json

SIZE = "--img-size 8 --embed-dim 12 --depth 1 --batch-size 2 --rounds 2 --device cpu"
TINY = vl.ViTConfig(
    img_size=8, patch_size=4, embed_dim=12, depth=1, num_heads=3, mlp_ratio=2.0
)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """The other libraries are not asked, importing them takes long; and turns are short."""
    monkeypatch.setattr(bench, "LIBRARIES", {"vitlib": vl.VisionTransformer})
    monkeypatch.setattr(bench, "TURN", 0.0)


def run(words: str) -> dict:
    return bench.run(bench.parse(words.split()))


def test_the_command(capsys, tmp_path, timm):
    bench.LIBRARIES["timm"] = libraries.timm
    bench.main([*SIZE.split(), "--no-memory", "--json", str(tmp_path / "speed.json")])
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


@pytest.mark.errors
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--threads 0", "--threads must be at least 1, got 0"),
        (
            "paths --device cpu --images 127",
            "--images must be at least 128, a batch; got 127",
        ),
    ],
)
def test_bad_options(words, message, capsys):
    assert bench.main(words.split()) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
