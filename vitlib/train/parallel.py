"""One model trained by several processes, each with its share of every batch: `torchrun … -m vitlib train`."""

from __future__ import annotations

import atexit
import os
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch import distributed as dist

from vitlib.device import derive_seed


@dataclass(frozen=True)
class Ranks:
    """The processes of one run and this one's place among them; one process alone shares with nobody.

    Every process draws the whole batch, with the same random numbers, and trains on its share of it. So a step is that
    of one process, up to the order in which floats are added, and a checkpoint does not know how many there were.

    Source: Li et al. 2020, "PyTorch Distributed" (arXiv 2006.15704); not in the paper.
    """

    rank: int = 0  # this process
    size: int = 1  # how many there are

    @classmethod
    def here(cls) -> Ranks:
        """As `torchrun` has set the environment."""
        return cls(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))

    def join(self, device: torch.device) -> torch.device:
        """Wait for the others, and return this process's own device of this kind."""
        if self.size == 1:
            return device
        if device.type == "mps":
            raise ValueError(
                "several processes cannot share an MPS device; use --device cpu, or one process"
            )
        if device.type == "cuda":
            local, count = (
                int(os.environ.get("LOCAL_RANK", 0)),
                torch.cuda.device_count(),
            )
            if local >= count:
                got = f"{count} for at least {local + 1}"
                raise ValueError(
                    f"expected a GPU for each process, got {got}; use --nproc-per-node={count}"
                )
            device = torch.device("cuda", local)
            torch.cuda.set_device(device)
        if not dist.is_initialized():
            dist.init_process_group(
                "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
            )
            atexit.register(dist.destroy_process_group)
        return device

    def check(self, batch_size: int) -> None:
        """Refuse a batch that cannot be divided evenly."""
        if batch_size % self.size:
            fix = f"try {max(1, round(batch_size / self.size)) * self.size}"
            raise ValueError(
                f"batch_size {batch_size} cannot be divided among {self.size} processes; {fix}"
            )

    def wrap(self, model: nn.Module) -> nn.Module:
        """The same model, whose gradients are averaged over the processes in every backward pass."""
        if self.size == 1:
            return model
        # a static graph may leave parameters out, as training without masks does the mask token
        return nn.parallel.DistributedDataParallel(model, static_graph=True)

    def share(self, batch: Tensor) -> Tensor:
        """This process's part of a batch: (B, …) -> (B / size, …)."""
        return batch.chunk(self.size)[self.rank]

    def seed(self, seed: int) -> int:
        """The seed of what each process draws for its own share (dropout); the first one's is that of a run alone."""
        return derive_seed(seed, self.rank) if self.rank else seed

    def sum(self, values: Tensor) -> Tensor:
        """The sum over the processes, in place."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Which flags are up in any process, so that all stop after the same step."""
        if self.size == 1:
            return flags
        up = torch.tensor(flags, dtype=torch.int32)
        dist.all_reduce(up, dist.ReduceOp.MAX)
        return tuple(map(bool, up.tolist()))


def launcher() -> str:
    """The first words of the command that started this process."""
    size = Ranks.here().size
    return (
        "python"
        if size == 1
        else f"torchrun --nproc-per-node={os.environ['LOCAL_WORLD_SIZE']}"
    )
