"""Seeds, devices, the paper's counts, and files that are whole or absent."""

from __future__ import annotations

import os
import random
import stat
import sys

import numpy as np
import pytest
import torch
from torch import nn

import vitlib as vl
from vitlib import evidence

# parameters at 1000 classes, without the head, and GMACs per image with the attention products
COUNTS = {
    "vit-ti/16": (5_717_416, 5_524_416, 1.2537),
    "vit-s/16": (22_050_664, 21_665_664, 4.5989),
    "vit-s/32": (22_878_952, 22_493_952, 1.1429),
    "vit-b/16": (86_567_656, 85_798_656, 17.5638),
    "vit-b/32": (88_224_232, 87_455_232, 4.4092),
    "vit-l/16": (304_326_632, 303_301_632, 61.5547),
    "vit-l/32": (306_535_400, 305_510_400, 15.3775),
    "vit-h/14": (632_045_800, 630_764_800, 167.2951),
}


def on_meta(cfg: vl.ViTConfig) -> vl.VisionTransformer:
    with torch.device("meta"):
        return vl.VisionTransformer(cfg)


def test_every_preset_has_its_counts():
    assert set(COUNTS) == set(vl.PRESETS)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_the_paper_sizes(name):
    with_head, without, gmacs = COUNTS[name]
    assert vl.count_parameters(on_meta(vl.ViTConfig.preset(name))) == with_head
    assert vl.count_parameters(on_meta(vl.ViTConfig.preset(name, num_classes=0))) == without
    assert round(vl.count_macs(vl.ViTConfig.preset(name)) / 1e9, 4) == gmacs


def test_counts_at_higher_resolution():
    cfg = vl.ViTConfig.preset("vit-b/16", img_size=384)
    assert vl.count_parameters(on_meta(cfg)) == 86_859_496


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        (dict(embed_dim=192, depth=6, mlp_ratio=2.0), 1_806_538),
        (dict(embed_dim=192, depth=6, mlp_ratio=4.0), 2_693_578),
        (dict(embed_dim=96, depth=4, mlp_ratio=2.0), 311_338),
        (dict(embed_dim=192, depth=12, mlp_ratio=4.0), 5_362_762),
    ],
)
def test_counts_of_the_small_models(fields, count):
    assert vl.count_parameters(on_meta(vl.ViTConfig(**fields))) == count


def test_macs_agree_with_a_profiler():
    cfg = vl.ViTConfig(depth=2, img_size=(16, 32))
    model = vl.VisionTransformer(cfg).eval()
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, 3, 16, 32))
    assert counter.get_total_flops() in (
        2 * vl.count_macs(cfg),
        2 * vl.count_macs(cfg) - _attention_flops(cfg),
    )


def _attention_flops(cfg: vl.ViTConfig) -> int:
    """What a profiler misses that does not know the CPU's fused attention."""
    return 2 * cfg.depth * 2 * (cfg.num_patches + 1) ** 2 * cfg.embed_dim


def test_one_seed_decides_all_random_numbers():
    def draw():
        vl.seed_everything(7)
        return random.random(), np.random.rand(), torch.rand(2).tolist()  # noqa: NPY002 - the global state is the point

    assert draw() == draw()


@pytest.mark.errors
@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "0"])
def test_bad_seed(seed):
    with pytest.raises(ValueError, match=r"seed must be an integer in \[0, 2\*\*32\), got"):
        vl.seed_everything(seed)


def test_pick_device():
    assert vl.pick_device("cpu") == torch.device("cpu")
    best = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert vl.pick_device().type == best


@pytest.mark.errors
def test_pick_device_names_the_choices(monkeypatch):
    with pytest.raises(ValueError, match="unknown device 'gpu'; choose auto, cpu, cuda or mps"):
        vl.pick_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device 'cuda:1' is not available on this machine; use auto or cpu"):
        vl.pick_device("cuda:1")


def test_count_parameters_counts_shared_ones_once():
    layer = nn.Linear(2, 3)
    assert vl.count_parameters(nn.Sequential(layer, layer)) == 9


def test_write_atomic_makes_folders_and_replaces(tmp_path):
    path = tmp_path / "a" / "b.bin"
    assert evidence.write_atomic(path, b"one") == path
    evidence.write_atomic(str(path), lambda partial: partial.write_bytes(b"two"))
    assert path.read_bytes() == b"two" and os.listdir(path.parent) == ["b.bin"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_write_atomic_honours_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        mode = evidence.write_atomic(tmp_path / "file", b"").stat().st_mode
    finally:
        os.umask(old)
    assert stat.S_IMODE(mode) == 0o640


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError, SystemExit])
@pytest.mark.parametrize("when", ["before", "during"])
def test_write_atomic_keeps_the_old_file_on_any_failure(tmp_path, error, when):
    path = evidence.write_atomic(tmp_path / "file", b"old")

    def writer(partial):
        if when == "during":
            partial.write_bytes(b"ne")
        raise error("stop")

    with pytest.raises(error):
        evidence.write_atomic(path, writer)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_write_atomic_when_the_disk_is_full(tmp_path, monkeypatch):
    path = evidence.write_atomic(tmp_path / "file", b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        evidence.write_atomic(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_write_atomic_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError):
        evidence.write_atomic(tmp_path / "file" / "below", b"new")  # its folder is a file
    if os.name != "nt" and os.geteuid() != 0:
        tmp_path.chmod(0o500)
        try:
            with pytest.raises(PermissionError):
                evidence.write_atomic(tmp_path / "new", b"new")
        finally:
            tmp_path.chmod(0o700)
    assert os.listdir(tmp_path) == ["file"]


def test_write_json_refuses_half_way_and_keeps_the_old(tmp_path):
    path = evidence.write_json(tmp_path / "a.json", {"one": [1, 2.5, None, "ü"]})
    with pytest.raises(TypeError):
        evidence.write_json(path, {"bad": object()})
    assert path.read_text(encoding="utf-8").endswith("\n")
    assert os.listdir(tmp_path) == ["a.json"]


def test_load_results(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    evidence.write_json(tmp_path / "run.json", {"final": 1})
    assert vl.load_results("run") == {"final": 1}


@pytest.mark.errors
def test_load_results_lists_what_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match="no results called 'x'; there are: none yet"):
        vl.load_results("x")
    evidence.write_json(tmp_path / "run.json", {})
    with pytest.raises(ValueError, match="no results called 'x'; there are: run"):
        vl.load_results("x")
    (tmp_path / "cut.json").write_text('{"final": ')
    with pytest.raises(ValueError, match="cut.json"):
        vl.load_results("cut")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_write_atomic_survives_a_real_ctrl_c(tmp_path):
    import signal

    path = evidence.write_atomic(tmp_path / "file", b"old")

    def writer(partial):
        partial.write_bytes(b"half")
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        evidence.write_atomic(path, writer)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]
