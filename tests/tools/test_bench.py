"""The benchmark: it runs on what is installed, says what it left out, and refuses what it cannot measure."""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import time

import pytest
import torch

import vitlib as vl
from tools import bench, bench_paths, bench_study
from vitlib.evidence import read_json
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.study import train_variant

TINY = vl.ViTConfig(img_size=8, patch_size=4, embed_dim=12, depth=1, num_heads=3, mlp_ratio=2.0)
CPU = torch.device("cpu")
WORDS = "--img-size 8 --embed-dim 12 --depth 1 --batch-size 2 --rounds 2 --device cpu".split()


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    bench.configure_parser(parser)
    return parser.parse_args(list(words))


def test_the_defaults_are_the_books_model():
    args = parse()
    assert (args.embed_dim, args.depth, args.heads, args.mlp_ratio) == (192, 6, 3, 2.0)
    assert (args.patch_size, args.img_size, args.batch_size) == (4, 32, 128)


@pytest.fixture
def vitlib_and_timm(monkeypatch):
    """The other libraries are not asked: importing them takes long."""
    kept = {name: bench.LIBRARIES[name] for name in ("vitlib", "timm")}
    monkeypatch.setattr(bench, "LIBRARIES", kept)


def test_the_command(capsys, tmp_path, timm, vitlib_and_timm):
    assert bench.run(parse(*WORDS, "--no-memory", "--json", str(tmp_path / "speed.json"))) == 0
    out = capsys.readouterr().out
    assert "12 wide, 1 deep, 3 heads, MLP x 2, patch 4, 8 px, batch 2, AdamW" in out
    assert "vitlib fp32" in out and "timm fp32" in out and "ratio: speed over timm fp32's" in out
    result = read_json(tmp_path / "speed.json", "")
    rows = result["rows"]
    assert rows["vitlib fp32"]["parameters"] == rows["timm fp32"]["parameters"]
    assert all(
        len(row[kind]) == 2 and min(row[kind]) > 0 for row in rows.values() for kind in ("train", "inference")
    )


def test_without_timm_the_ratio_is_to_vitlib(capsys, monkeypatch):
    monkeypatch.setattr(
        bench, "LIBRARIES", {"vitlib": vl.VisionTransformer, "gone": _missing, "broken": _broken}
    )
    bench.run(parse(*WORDS, "--no-memory"))
    out = capsys.readouterr().out
    assert "ratio: speed over vitlib fp32's" in out
    assert "left out: gone: gone_pkg is not installed; pip install gone_pkg" in out
    assert "left out: broken: it does not import here (RuntimeError: built for another torch)" in out


def _missing(cfg):
    raise ModuleNotFoundError("No module named 'gone_pkg.sub'", name="gone_pkg.sub")


def _broken(cfg):
    raise RuntimeError("built for\nanother torch")


def test_the_default_precision_runs_beside_fp32(monkeypatch):
    monkeypatch.setattr(bench, "LIBRARIES", {"vitlib": vl.VisionTransformer})
    monkeypatch.setattr(bench, "pick_precision", lambda device, cfg: "bf16")
    models, _ = bench.build_models(TINY, CPU)
    assert [(name, precision) for name, (_, precision) in models.items()] == [
        ("vitlib bf16", "bf16"),
        ("vitlib fp32", "fp32"),
    ]
    speed = bench.measure_speed(models, TINY, 2, 3, CPU, progress=False)
    assert {name: len(kinds["train"]) for name, kinds in speed.items()} == {
        "vitlib bf16": 3,
        "vitlib fp32": 3,
    }


def test_a_train_step_trains():
    torch.manual_seed(0)
    one = bench.Bench(vl.VisionTransformer(TINY), "fp32", 4, TINY, CPU)
    before = [p.clone() for p in one.model.parameters()]
    one.train()
    assert all(not torch.equal(a, b) for a, b in zip(before, one.model.parameters(), strict=True))
    other = bench.Bench(vl.VisionTransformer(TINY), "fp32", 4, TINY, CPU)
    assert torch.equal(one.images, other.images) and torch.equal(one.labels, other.labels)


@pytest.mark.slow
def test_memory_is_measured_in_a_process_of_its_own():
    peak = bench.measure_memory("vitlib", "fp32", TINY, 2, CPU)
    assert peak is None if sys.platform == "win32" else 50e6 < peak < 5e9
    assert bench.measure_memory("no such library", "fp32", TINY, 2, CPU) is None


def test_timm_is_imported_and_no_empty_torchvision_stays(timm):
    assert hasattr(bench.import_library("timm").models.vision_transformer, "VisionTransformer")
    try:
        importlib.import_module("torchvision")
    except Exception:
        assert "torchvision" not in sys.modules


@pytest.mark.errors
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threads", "0"], "--threads must be at least 1, got 0"),
        (
            ["--device", "cpu", "--embed-dim", "100"],
            "embed_dim 100 is not a multiple of num_heads 3; try embed_dim 102",
        ),
        (
            ["--device", "cpu", "--img-size", "30"],
            "img_size 30 is not a multiple of patch_size 4; try 28 or 32",
        ),
        ([*WORDS, "--rounds", "0"], "batch_size and rounds must be at least 1, got 2 and 0"),
        ([*WORDS, "--batch-size", "0"], "batch_size and rounds must be at least 1, got 0 and 2"),
    ],
)
def test_bad_options(words, message, monkeypatch):
    monkeypatch.setattr(bench, "LIBRARIES", {"vitlib": vl.VisionTransformer})
    with pytest.raises(ValueError, match=message):
        bench.run(parse(*words))


@pytest.mark.errors
def test_the_cpu_clock_wants_one_thread(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    with pytest.raises(
        ValueError, match="--clock cpu adds up all threads and sees no accelerator; use --device cpu"
    ):
        bench.run(parse("--clock", "cpu", "--device", "cpu"))


def test_the_runner_is_measured_beside_the_bare_loop(capsys, tmp_path, monkeypatch):
    tiny = {**bench_study.SMALL, "model.embed_dim": 12, "model.depth": 1, "batch_size": 8}
    monkeypatch.setattr(bench_study, "N_VAL", 8)
    speeds = bench_study.measure(16, 2, "cpu", time.perf_counter, tiny, progress=False)
    assert speeds.keys() == {"study", "loop"} and all(len(found) == 2 for found in speeds.values())
    assert min(map(min, speeds.values())) > 0
    monkeypatch.setattr(bench_study, "measure", lambda *args: {"study": [99.0, 90.0], "loop": [100.0, 100.0]})
    words = ["study", "--device", "cpu", "--json", str(tmp_path / "speed.json")]
    assert bench.run(parse(*words)) == 0
    assert "ratio      0.945, median of 2 rounds" in capsys.readouterr().out
    result = read_json(tmp_path / "speed.json", "")
    assert result["images_per_s"]["study"] == [99.0, 90.0] and result["command"]


def test_what_happens_outside_of_the_runs_is_the_runners_cost(monkeypatch):
    """By a clock that is looked at in the beginning, around each of three runs, and at the end."""
    monkeypatch.setattr(bench_study, "N_VAL", 8)
    tiny = {**bench_study.SMALL, "model.embed_dim": 12, "model.depth": 1, "batch_size": 8}
    ticks = itertools.count()
    speeds = bench_study.measure(16, 1, "cpu", lambda: float(next(ticks)), tiny, progress=False)
    assert speeds == {"study": [16 * 3 / 7], "loop": [16 * 3 / 3]}
    assert STUDIES[bench_study.STUDY].run is train_variant


@pytest.mark.errors
@pytest.mark.parametrize(("n", "rounds"), [(0, 1), (1, 0)])
def test_a_study_without_images_or_rounds_is_refused(n, rounds):
    with pytest.raises(ValueError, match=f"images and rounds must be at least 1, got {n} and {rounds}"):
        bench_study.measure(n, rounds, "cpu", time.perf_counter)


def test_every_path_of_training_is_measured(capsys, monkeypatch, timm):
    base = vl.recipe(bench_paths.BASE, batch_size=8, **{"model.embed_dim": 12, "model.depth": 1})
    monkeypatch.setattr(bench_paths, "BASE", base)
    losses = {}
    data = bench_study.random_images(32)
    for name, changes in bench_paths.PATHS.items():
        step = bench_paths.our_steps(changes, data, CPU, base)
        trainer = step.__closure__[1].cell_contents
        step()
        losses[name] = float(trainer.sums[0]) / 8
    assert set(losses) == {"ViT", "ViT, axial", "ResNet", "hybrid", "masked"}
    assert losses["masked"] > 3 > losses["ViT"]  # log 512 and log 10: another objective, not the same one
    speeds = bench_paths.measure(32, 2, CPU, time.perf_counter, bench.timm, steps=1, progress=False)
    assert list(speeds) == [*bench_paths.PATHS, bench_paths.BEHIND]
    assert all(len(found) == 2 and min(found) > 0 for found in speeds.values())

    found = {"ViT": [100.0, 100.0, 50.0], "ResNet": [50.0, 40.0, 45.0]}
    monkeypatch.setattr(bench_paths, "measure", lambda *args: found)
    assert bench.run(parse("paths", "--device", "cpu")) == 0
    assert "45 images/s  0.50" in capsys.readouterr().out


def test_behind_the_loader_a_picture_is_only_moved_and_mirrored():
    data = bench_study.random_images(4)
    pictures, (image, label) = bench_paths.Pictures(data), bench_paths.Pictures(data)[2]
    assert len(pictures) == len(data) and label == data.labels[2]
    padded = vl.normalize(torch.nn.functional.pad(data.images[2:3], (4, 4, 4, 4)))[0]
    ways = [padded[:, i : i + 32, j : j + 32] for i in range(9) for j in range(9)]
    assert any(torch.equal(image, turn) for way in ways for turn in (way, way.flip(-1)))


@pytest.mark.errors
@pytest.mark.parametrize(("n", "rounds"), [(127, 1), (128, 0)])
def test_paths_want_a_batch_and_a_round(n, rounds):
    with pytest.raises(
        ValueError, match=f"images must be at least 128, rounds and steps .* got {n}, {rounds} and 8"
    ):
        bench_paths.measure(n, rounds, CPU, time.perf_counter)
