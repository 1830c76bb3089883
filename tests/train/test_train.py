"""The training loop: it learns, resumes to the bit after any death, stops cleanly, and refuses what does not fit."""

import errno
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import vitlib as vl
from vitlib.files import read_json
from vitlib.train import loop, objective, precision
from vitlib.train.checkpoint import Stopped, polite_interrupt
from vitlib.train.evaluate import beside
from vitlib.train.precision import pick_precision

# everything random is on: dropout, DropPath, PatchDrop, crops, flips, RandAugment, Mixup, CutMix
SHAPE = {
    "img_size": 8,
    "num_classes": 4,
    "embed_dim": 12,
    "depth": 2,
    "num_heads": 2,
    "mlp_ratio": 2.0,
}
DROPS = {"drop_rate": 0.1, "drop_path_rate": 0.2, "patch_drop_rate": 0.5}
TINY = vl.ViTConfig(**SHAPE, **DROPS, global_pool="avg")
STEPS = dict(
    epochs=3, batch_size=16, optimizer="muon", lr=3e-3, ema_decay=0.9, precision="fp32"
)
MIXED = {
    "mixup": 0.8,
    "cutmix": 1.0,
    "mix_off": 0.3,
    "label_smoothing": 0.1,
    "patch_drop_off": 0.3,
}
RANDOM = vl.Recipe("random", TINY, **STEPS, **MIXED, crop=2, randaugment=1)

pytestmark = pytest.mark.usefixtures("one_thread")


def toy(n: int = 72) -> tuple[torch.Tensor, torch.Tensor]:
    """Images whose brightest quarter is their class."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 120, (n, 3, 8, 8), dtype=torch.uint8, generator=generator)
    labels = torch.arange(n) % 4
    for image, label in zip(images, labels.tolist(), strict=True):
        row, col = divmod(label, 2)
        image[:, 4 * row : 4 * row + 4, 4 * col : 4 * col + 4] += 100
    return images, labels


def run(recipe=RANDOM, label="", brighter=0, **options) -> dict:
    images, labels = toy()
    images[0, 0, 0, 0] += brighter
    return vl.train_model(
        recipe, vl.Dataset(images, labels, label=label), progress=False, **options
    )


def weights(result: dict) -> dict:
    return {name: value.clone() for name, value in result["model"].state_dict().items()}


def assert_equal_weights(a: dict, b: dict) -> None:
    assert a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def curves(result: dict) -> list[dict]:
    times = ("seconds", "images_per_s")
    return [
        {k: v for k, v in row.items() if k not in times} for row in result["epochs"]
    ]


def test_the_seed_decides_everything_and_the_callers_random_state_is_kept():
    torch.manual_seed(5)
    first = weights(run())
    drawn = torch.rand(1)
    torch.manual_seed(99)
    assert_equal_weights(first, weights(run()))
    other = weights(run(replace(RANDOM, seed=1)))
    assert not torch.equal(first["head.weight"], other["head.weight"])
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(1))


def test_progress_prints_the_precision_picked_and_a_line_per_epoch(capsys, tmp_path):
    vl.train_model(replace(RANDOM, precision="auto"), toy(), toy(), out=tmp_path)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "in fp32"
    assert (
        len(lines) == 3
        and re.match(r"epoch   1/3  loss [\d.]+  training accuracy ", lines[0])
        and "held out" in lines[0]
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.1, []), (10.0, ["an epoch takes 90 s here; 3 epochs till 00:12"])],
)
def test_the_end_of_a_long_run_is_told_early(capsys, monkeypatch, seconds, said):
    """By the steps after the first, which is slow; what ends within a minute is not told."""
    clock, step = [0.0], loop.Trainer.train_step

    def timed(self, index):
        clock[0] += seconds if self.step else 500.0
        step(self, index)

    fake = SimpleNamespace(
        monotonic=lambda: clock[0],
        time=lambda: clock[0],
        localtime=time.gmtime,
        strftime=time.strftime,
    )
    monkeypatch.setattr(loop, "time", fake)
    monkeypatch.setattr(loop.Trainer, "train_step", timed)
    monkeypatch.setattr(loop, "TIMED", 2)
    vl.train_model(replace(RANDOM, batch_size=8, epochs=3), toy())
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "here" in line] == said


# ----------------------------------------------------------------------------------------- stopping and going on

KILLED = """
import sys
sys.path[:0] = sys.argv[1:3]
import torch
from killed import killed_at
from test_train import loop, run
torch.set_num_threads(1)
loop.CHECKPOINT_SECONDS = 0.0  # a checkpoint, then its log, after each step
for number in (2, 5, 7, 10):  # a fork may not train once its parent has, so all this is a process of its own
    killed_at("replace", number, lambda: run(out=sys.argv[3]))
"""


@pytest.mark.sampled(3)
@pytest.mark.skipif(
    not hasattr(signal, "SIGKILL") or sys.platform == "darwin",
    reason="needs fork and kill -9",
)
@pytest.mark.slow
def test_kill_9_changes_no_bit(tmp_path):
    """Four times, before a checkpoint or its log is put in its place; then the same call goes on to the end."""
    here, folder = Path(__file__).parent, tmp_path / "run"
    command = [sys.executable, "-c", KILLED, here.parent, here, folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert read_json(folder / "log.json", "")["finished"] is False
    survived, undisturbed = run(out=folder), run()
    assert_equal_weights(weights(survived), weights(undisturbed))
    assert curves(survived) == curves(undisturbed)


def interrupt_at(monkeypatch, step: int, number: int = signal.SIGINT) -> None:
    calls, augment = [], objective.augment_batch

    def interrupting(*args, **kwargs):
        calls.append(1)
        if len(calls) == step:
            signal.raise_signal(number)
        return augment(*args, **kwargs)

    monkeypatch.setattr(objective, "augment_batch", interrupting)


# inside an epoch, and its last step (4 steps an epoch)
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("step", "number"),
    [(4, signal.SIGINT), (6, signal.SIGTERM)],
)
def test_a_signal_finishes_the_step_saves_and_goes_on_to_the_bit(
    tmp_path, monkeypatch, step, number, capsys
):
    handler = signal.getsignal(number)
    with monkeypatch.context() as patch:
        interrupt_at(patch, step, number)
        with pytest.raises(
            Stopped, match=f"stopped at step {step} of 12; all is saved"
        ):
            run(out=tmp_path)
    assert "stopping after this step" in capsys.readouterr().err
    assert signal.getsignal(number) is handler
    result = run(out=tmp_path)
    assert_equal_weights(weights(result), weights(run()))
    assert curves(result) == curves(run())


def test_ctrl_c_without_a_folder_says_that_nothing_was_kept(monkeypatch):
    interrupt_at(monkeypatch, 2)
    with pytest.raises(Stopped, match="nothing was kept"):
        run()


def test_a_second_ctrl_c_interrupts_at_once():
    with pytest.raises(KeyboardInterrupt) as caught, polite_interrupt() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked()
        signal.raise_signal(signal.SIGINT)
    assert not isinstance(caught.value, Stopped)


def test_training_in_a_thread_leaves_signals_alone():
    results = []
    thread = threading.Thread(
        target=lambda: results.append(run(replace(RANDOM, epochs=1)))
    )
    thread.start()
    thread.join()
    assert results[0]["finished"]


def test_a_budget_stops_and_goes_on_to_the_bit(tmp_path):
    rounds = 0
    while not (result := run(out=tmp_path, budget_minutes=0.0))["finished"]:
        rounds += 1
        # also inside an epoch
        assert read_json(tmp_path / "log.json", "")["seconds"] > 0
    assert rounds == 11  # one step each
    assert_equal_weights(weights(result), weights(run()))


def test_a_resumed_run_keeps_its_precision(tmp_path, monkeypatch):
    """A run begun where bf16 pays and continued where it does not is still one run."""
    auto = replace(RANDOM, precision="auto")
    monkeypatch.setattr(loop, "pick_precision", lambda device, model: "bf16")
    run(auto, out=tmp_path, budget_minutes=0.0)
    whole = weights(run(auto))
    monkeypatch.setattr(loop, "pick_precision", lambda device, model: "fp32")
    result = run(auto, out=tmp_path)
    assert result["precision"] == "bf16"
    assert_equal_weights(weights(result), whole)


def test_a_finished_run_is_repeated_when_asked_and_leftovers_are_cleared(tmp_path):
    first = run(out=tmp_path)
    (tmp_path / "checkpoint.pt.part").write_bytes(b"half")  # of a killed write
    again = run(out=tmp_path, resume=False)
    assert again["seconds"] != first["seconds"]
    assert_equal_weights(weights(first), weights(again))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint.pt",
        "log.json",
    ]


# ------------------------------------------------------------------------------------------------ other models


@pytest.mark.sampled(4)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize(
    "model",
    [
        vl.ResNetConfig(
            img_size=8, num_classes=4, widths=(16, 32), depths=(1, 1), num_groups=2
        ),
        replace(TINY, patch_embed="hybrid"),
    ],
    ids=["ResNet", "hybrid"],
)
def test_a_resnet_and_a_hybrid_learn_stop_and_go_on(tmp_path, model, precision):
    one = replace(RANDOM, model=model, precision=precision, epochs=2, optimizer="adamw")
    whole = run(one)
    assert not run(one, out=tmp_path, budget_minutes=0.0)["finished"]
    result = run(one, out=tmp_path)
    assert_equal_weights(weights(result), weights(whole))
    assert type(result["model"]) is type(vl.build_model(model))
    assert result["config"] == read_json(tmp_path / "log.json", "")["config"]
    losses = [
        row["train_loss"]
        for row in run(replace(one, epochs=12, mixup=0.0, cutmix=0.0))["epochs"]
    ]
    assert losses[-1] < losses[0]


# --------------------------------------------------------------------------------------------------- refusals


@pytest.mark.errors
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            dict(recipe=replace(RANDOM, model=replace(TINY, depth=1))),
            r"recipe.model.depth was 2, now 1",
        ),
        (dict(brighter=1), r"data.checksum was"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change, message):
    run(out=tmp_path)
    kept = (tmp_path / "checkpoint.pt").read_bytes()
    with pytest.raises(ValueError, match=message):
        run(out=tmp_path, **change)
    assert (tmp_path / "checkpoint.pt").read_bytes() == kept


@pytest.mark.errors
def test_no_space_left_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    run(out=tmp_path, budget_minutes=0.0)
    kept = (tmp_path / "checkpoint.pt").read_bytes()

    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(
            OSError,
            match=r"cannot write .*checkpoint.pt, 0 MB \(No space left on device\)",
        ):
            run(out=tmp_path)
    assert (tmp_path / "checkpoint.pt").read_bytes() == kept and len(
        list(tmp_path.iterdir())
    ) == 2
    assert_equal_weights(weights(run(out=tmp_path)), weights(run()))


@pytest.mark.errors
def test_a_folder_that_cannot_be_made_is_found_before_training(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(loop.Trainer, "train_step", lambda *_: pytest.fail("trained"))
    with pytest.raises(OSError, match="cannot write"):
        run(out=tmp_path / "file" / "run")


@pytest.mark.errors
def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path):
    wild = replace(RANDOM, optimizer="sgd", lr=1e30, clip_norm=0.0, warmup=0.0)
    with pytest.raises(
        FloatingPointError,
        match=r"the loss became (nan|inf) by step \d+ of 12 \(lr 1e\+30, fp32\)",
    ):
        run(wild, out=tmp_path)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (
            toy()[0].float(),
            toy()[1],
            r"expected raw uint8 images \(n, 3, 8, 8\), got torch.float32 .*; give bytes: vl.denormalize\(images\)",
        ),
        (toy()[0], toy()[1] + 1, r"expected labels in \[0, 4\), got 1 to 4"),
    ],
)
def test_data_that_do_not_fit_are_refused(images, labels, message):
    with pytest.raises(ValueError, match=message):
        vl.train_model(RANDOM, (images, labels), progress=False)


# ----------------------------------------------------------------------------------------- recipes and precision


@pytest.mark.parametrize(
    ("width", "flags", "bf16", "expected"),
    [
        (48, "avx512_bf16 amx_bf16", 0.5, "fp32"),  # not measured
        (192, "avx512_bf16", 1.01, "fp32"),
        (192, "avx512_bf16", 0.99, "bf16"),
    ],
)
def test_bf16_only_where_it_was_measured_to_pay(
    monkeypatch, width, flags, bf16, expected
):
    monkeypatch.setattr(precision, "cpuinfo", lambda: flags)
    monkeypatch.setattr(precision, "time_bf16", lambda model, threads: bf16)
    assert (
        pick_precision(torch.device("cpu"), vl.ViTConfig(embed_dim=width)) == expected
    )
    assert pick_precision(torch.device("mps"), vl.ViTConfig(embed_dim=width)) == "fp32"
    # not measured
    assert pick_precision(torch.device("cpu"), vl.ResNetConfig()) == "fp32"


def test_precisions_are_measured_without_a_trace(monkeypatch):
    monkeypatch.setattr(precision, "SECONDS", 0.02)
    torch.manual_seed(0)
    drawn = torch.rand(3)
    torch.manual_seed(0)
    share = precision.time_bf16(replace(TINY, depth=40), 1)
    assert torch.equal(torch.rand(3), drawn) and 0.05 < share < 20
    assert precision.time_bf16(replace(TINY, depth=40), 1) == share  # measured once


# --------------------------------------------------------------------------------------- predict and evaluate


def test_predict_takes_bytes_or_floats_and_keeps_the_mode():
    images, _ = toy(10)
    model = vl.VisionTransformer(TINY).train()
    probs = vl.predict(model, images, batch_size=3)
    torch.testing.assert_close(probs.sum(1), torch.ones(10))
    torch.testing.assert_close(probs, vl.predict(model, images.float() / 255))
    assert model.training


BESIDE = {  # rows of counts, the loss, what is said of them
    "the commonest": ([[190, 0], [10, 0]], 0.2, "no better than always saying a: of 200 .* 0 right .*, 0 the other"),
    "few": ([[5, 0], [0, 5]], 0.2, "perhaps no better than always saying a: of 10 .* 5 right .*, 0 the other way"),
    "loss": ([[6, 0], [0, 6]], 0.694, "the loss, 0.694, is above 0.693,"),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_what_is_said_beside_an_accuracy(name):
    counts, loss, said = BESIDE[name]
    found, rows = beside(torch.tensor(counts), loss, "ab"), [*map(sum, counts)]
    assert re.match(said, "".join(found["warnings"])) and len(found["warnings"]) == (
        said != "$"
    )
    assert found["commonest"] == ["ab"[rows[0] < rows[1]], max(rows) / sum(rows)]
    assert found["recall"] == [
        counts[i][i] / n if n else None for i, n in enumerate(rows)
    ]
