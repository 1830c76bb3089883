"""Stopping and going on: checkpoints that are whole and of this run, and signals that wait for the end of a step."""

from __future__ import annotations

import io
import signal
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from vitlib.data.dataset import Dataset
from vitlib.files import write_atomic, write_json

_STOPPING = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM during training, after the run's state was saved; its text tells how to go on."""


def save_checkpoint(path: Path, state: dict) -> None:
    """Write a run's `state` to `path`, whole or not at all, and its log beside it as `log.json`."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    try:
        write_atomic(path, content)
        write_json(path.with_name("log.json"), state["log"])
    except OSError as error:
        said = f"cannot write {path}, {len(content) / 1e6:.0f} MB ({error.strerror or error})"
        fix = "mend that and repeat the command or call: it goes on from the last checkpoint"
        raise OSError(f"{said}; {fix}") from error


def load_checkpoint(
    path: Path, identity: dict, device: torch.device, defaults: dict | None = None
) -> dict:
    """The state of the run that has this `identity`; a file that is damaged or of another run is refused."""
    anew = "delete it, or start anew with resume=False (--no-resume)"
    try:
        with zipfile.ZipFile(
            path
        ) as archive:  # torch.load does not look at its checksums
            if broken := archive.testzip():
                raise ValueError(broken)
        state = torch.load(path, map_location=device, weights_only=True)
        theirs = dict(state["identity"])
    except Exception as error:  # a damaged file makes its readers raise anything
        raise ValueError(
            f"{path} is not a whole checkpoint ({type(error).__name__}); {anew}"
        ) from error
    if differs := list(differences(theirs, identity, defaults)):
        raise ValueError(
            f"{path} is of another run ({'; '.join(differs)}); take another folder, or {anew}"
        )
    return state


def checksum(data: Dataset) -> int:
    """CRC-32 of images and labels."""
    images, labels = (
        data.images.cpu().contiguous(),
        data.labels.to("cpu", torch.int64).contiguous(),
    )
    return zlib.crc32(labels.numpy().data, zlib.crc32(images.numpy().data))


def differences(
    theirs: dict, ours: dict, defaults: dict | None = None, path: str = ""
) -> Iterator[str]:
    """In words, where two nested dictionaries differ; what one of them lacks is as in `default_fields`."""
    defaults = defaults or {}
    for key in sorted(theirs.keys() | ours.keys()):
        a, b = theirs.get(key, defaults.get(key)), ours.get(key, defaults.get(key))
        if isinstance(a, dict) and isinstance(b, dict):
            yield from differences(a, b, defaults.get(key), f"{path}{key}.")
        elif a != b:
            yield f"{path}{key} was {a!r}, now {b!r}"


@contextmanager
def polite_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C, or SIGTERM (`kill`, a machine that is taken back), into a flag to look at between steps.

    The second interrupts at once.
    """
    hits = []

    def note(signum: int, frame: object) -> None:
        hits.append(signum)
        if len(hits) > 1:
            raise KeyboardInterrupt
        print(
            "\nstopping after this step (Ctrl-C again: at once)",
            file=sys.stderr,
            flush=True,
        )

    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only there can signals be handled
        yield lambda: False
        return
    old = {number: signal.signal(number, note) for number in _STOPPING}
    try:
        yield lambda: bool(hits)
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
