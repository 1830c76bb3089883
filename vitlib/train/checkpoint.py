"""Stopping and going on: checkpoints that are whole and of this run, and a Ctrl-C that waits for the end of a step."""

from __future__ import annotations

import io
import pickle
import signal
import struct
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import NoneType

import torch
from torch import Tensor

from vitlib.data.dataset import Dataset
from vitlib.evidence import write_atomic, write_json

__all__ = ["Stopped", "checksum", "differences", "load_checkpoint", "polite_interrupt", "save_checkpoint"]


# what reading a damaged file was seen to raise
_DAMAGE = (
    *(RuntimeError, OSError, EOFError, LookupError, TypeError, ValueError, AttributeError),
    *(pickle.UnpicklingError, struct.error, zipfile.BadZipFile),
)


_PARTS = {"step": int, "log": dict, "model": dict, "optimizer": dict, "ema": (dict, NoneType), "sums": Tensor}


class Stopped(KeyboardInterrupt):
    """Ctrl-C during training, after the run's state was saved; its text tells how to go on."""


def save_checkpoint(path: Path, state: dict) -> None:
    """Write a run's state, whole or not at all, and its log beside it as `log.json`.

    Args:
        path: The file.
        state: "identity" (what makes it this run), "log", and all that changes from step to step.

    Raises:
        OSError: If it cannot be written; the last checkpoint stays.
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    try:
        write_atomic(path, content)
        write_json(path.with_name("log.json"), state["log"])
    except OSError as error:
        raise OSError(
            f"cannot write {path}, {len(content) / 1e6:.0f} MB ({error.strerror or error}); mend that and "
            "repeat the command or call: it goes on from the last checkpoint"
        ) from error


def load_checkpoint(path: Path, identity: dict, device: torch.device, usual: dict | None = None) -> dict:
    """Read a run's state.

    Args:
        path: The file.
        identity: What makes it this run; it must be the file's.
        device: Where the tensors go.
        usual: What a part of the identity was before it had a name; see `differences`.

    Raises:
        ValueError: If the file is damaged or of another run.
    """
    anew = "delete it, or start anew with resume=False (--no-resume)"
    try:
        with zipfile.ZipFile(path) as archive:  # torch.load does not look at its checksums
            if broken := archive.testzip():
                raise ValueError(broken)
        state = torch.load(path, map_location=device, weights_only=True)
        theirs = dict(state["identity"])
    except _DAMAGE as error:
        raise ValueError(f"{path} is not a whole checkpoint ({type(error).__name__}); {anew}") from error
    if differs := list(differences(theirs, identity, usual)):
        raise ValueError(f"{path} is of another run ({'; '.join(differs)}); take another folder, or {anew}")
    wrong = [key for key, kind in _PARTS.items() if key not in state or not isinstance(state[key], kind)]
    if wrong or state["step"] < 0:
        raise ValueError(f"{path} is not a whole checkpoint (its {(wrong or ['step'])[0]} is none); {anew}")
    return state


def checksum(data: Dataset) -> int:
    """CRC-32 of images and labels."""
    images, labels = data.images.cpu().contiguous(), data.labels.to("cpu", torch.int64).contiguous()
    return zlib.crc32(labels.numpy().data, zlib.crc32(images.numpy().data))


def differences(theirs: dict, ours: dict, usual: dict | None = None, path: str = "") -> Iterator[str]:
    """What two nested dictionaries have otherwise, in words.

    Args:
        theirs: As a file has it, perhaps from before some field existed.
        ours: As it is now.
        usual: The value of a field that one of them lacks; see `usual_fields`.
        path: What stands before each name.
    """
    usual = usual or {}
    for key in sorted(theirs.keys() | ours.keys()):
        a, b = theirs.get(key, usual.get(key)), ours.get(key, usual.get(key))
        if isinstance(a, dict) and isinstance(b, dict):
            yield from differences(a, b, usual.get(key), f"{path}{key}.")
        elif a != b:
            yield f"{path}{key} was {a!r}, now {b!r}"


@contextmanager
def polite_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag to be asked for between steps; the second interrupts as always."""
    hits = []

    def note(signum: int, frame: object) -> None:
        hits.append(signum)
        if len(hits) > 1:
            raise KeyboardInterrupt
        print("\nstopping after this step (Ctrl-C again: at once)", file=sys.stderr, flush=True)

    if threading.current_thread() is not threading.main_thread():  # only there can signals be handled
        yield lambda: False
        return
    old = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(hits)
    finally:
        signal.signal(signal.SIGINT, old)
