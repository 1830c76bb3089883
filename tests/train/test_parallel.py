"""One model, several processes: the curve of one alone, and going on after one was killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import vitlib as vl
from vitlib.files import read_json
from vitlib.train.loop import Trainer
from vitlib.train.objective import Classification
from vitlib.train.parallel import Ranks

SMALL = [
    *("-m", "vitlib", "train", "--preset", "drawn10", "--validate", "--device", "cpu"),
    *("--limit", "320", "--holdout", "64", "--batch-size", "32", "--set"),
    *(
        "model.embed_dim=16",
        "model.num_heads=2",
        "model.depth=1",
        "model.patch_size=8",
        "precision=fp32",
    ),
    # what is drawn for the whole batch, and a parameter without a gradient
    *(
        "mixup=0.8",
        "cutmix=1.0",
        "randaugment=1",
        "ema_decay=0.9",
        "optimizer=muon",
        "model.mask_token=true",
    ),
]


@pytest.mark.errors
@pytest.mark.parametrize(
    ("batch_size", "size", "near"), [(10, 4, 8), (11, 4, 12), (1, 3, 3), (100, 3, 99)]
)
def test_a_batch_that_cannot_be_divided_gets_the_nearest_that_can(
    batch_size, size, near
):
    Ranks(0, size).check(near)
    with pytest.raises(
        ValueError,
        match=f"{batch_size} cannot be divided among {size} processes; try {near}$",
    ):
        Ranks(0, size).check(batch_size)


def test_each_process_draws_its_own_dropout(monkeypatch):
    assert (
        Ranks(0, 2).seed(7) == 7
        and len({Ranks(rank, 4).seed(7) for rank in range(4)}) == 4
    )
    monkeypatch.setattr(Ranks, "seed", lambda self, seed: 5)
    recipe = vl.Recipe(
        "t", vl.ViTConfig(img_size=8, embed_dim=12, depth=1), epochs=1, precision="fp32"
    )
    data = vl.Dataset(torch.zeros(4, 3, 8, 8, dtype=torch.uint8), torch.arange(4))
    with torch.random.fork_rng():
        Trainer(
            vl.VisionTransformer(recipe.model), Classification(recipe), recipe, data
        ).train_step(torch.arange(4))
        assert torch.initial_seed() == 5


def test_all_stop_where_one_does(monkeypatch):
    other = torch.tensor([1, 0, 0], dtype=torch.int32)  # the other process's flags

    def all_reduce(up, how):
        up.copy_(
            (torch.maximum if how == torch.distributed.ReduceOp.MAX else torch.minimum)(
                up, other
            )
        )

    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    assert Ranks(0, 2).any(False, True, False) == (True, True, False)


def start(out: Path, processes: int, epochs: int, *more: str) -> subprocess.Popen:
    many = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={processes}",
    ]
    command = [sys.executable, *(many if processes > 1 else []), *SMALL]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, "--epochs", str(epochs), "--out", str(out), *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def log(out: Path) -> dict:
    return read_json(out / "log.json", "")


def curve(out: Path, *keys: str) -> torch.Tensor:
    return torch.tensor([[row[key] for key in keys] for row in log(out)["epochs"]])


@pytest.mark.sampled(7)
@pytest.mark.slow
def test_two_processes_train_like_one_and_go_on_after_a_kill(tmp_path):
    """The whole way, by torchrun: as one process; then killed in the middle, and the same command again."""
    alone, together = tmp_path / "alone", tmp_path / "together"
    for out, processes in ((alone, 1), (together, 2)):
        said, _ = start(out, processes, epochs=3).communicate()
        assert said.count("wrote ") == 1, said  # the first process alone speaks
    losses = "train_loss", "val_loss"
    torch.testing.assert_close(
        curve(together, *losses), curve(alone, *losses), atol=2e-4, rtol=0
    )
    one, two = (load_file(next(out.glob("*.safetensors"))) for out in (alone, together))
    assert one.keys() == two.keys() and len(one) > 10
    for name in one:
        torch.testing.assert_close(
            two[name].float(), one[name].float(), atol=2e-3, rtol=0, msg=name
        )
    assert log(together)["command"].startswith(
        "torchrun --nproc-per-node=2 -m vitlib train"
    )

    killed = tmp_path / "killed"
    run = start(killed, 2, epochs=100_000)  # not to be finished before it is killed
    kept = killed / "checkpoint.pt", killed / "log.json"
    while not all(path.exists() for path in kept) or not log(killed)["epochs"]:
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)
    worker = [int(pid) for pid in children(run.pid)][-1]
    os.kill(worker, signal.SIGKILL)  # the other cannot go on alone
    run.communicate()
    before = log(killed)
    assert run.returncode != 0 and not before["finished"]
    again = start(killed, 2, 100_000, "--budget-minutes", "0.05")
    said, _ = again.communicate()
    after = log(killed)
    assert again.returncode == 0 and "the same command goes on" in said, said
    assert after["epochs"][: len(before["epochs"])] == before["epochs"]
    assert (
        len(after["epochs"]) > len(before["epochs"])
        and after["seconds"] > before["seconds"]
    )


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
