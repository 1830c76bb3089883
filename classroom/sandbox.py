"""Runs one task of one submission in a process of its own, with limits; brings back what it wrote, as data."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from classroom.confine import ALL_OPEN, PATIENCE
from classroom.wire import pack, unpack

ROOT = Path(__file__).parent.parent
SECONDS = 10  # of computing, for the cells and all calls of a task
STOPPED = ", stopped"  # how a verdict on time ends
CHILD = [sys.executable, "-s", "-m", "classroom.child"]
CAN_FORK = sys.platform == "linux"  # elsewhere a process is started for each task


@dataclass
class Ran:
    """What a process left."""

    # first about the cells, then one of each call
    values: list[Any] = field(default_factory=list)
    why: str = ""  # why it ended before its end, in words


class Sandbox:
    """A process that waits with PyTorch loaded, and runs one task after the other in forks of itself."""

    def __init__(self) -> None:
        # what the system cannot forbid, once known
        self.open_still = None if CAN_FORK else ALL_OPEN
        self._line: socket.socket | None = None
        self._stack = contextlib.ExitStack()

    def close(self) -> None:
        """End the process; the next task begins another."""
        self._line = None
        self._stack.close()

    def run(
        self,
        cells: list[tuple[int, str]],
        name: str,
        cases: list[tuple],
        seconds: int = SECONDS,
    ) -> Ran:
        """Run cells, then the function of this name on each case, for some seconds of computing at most.

        An OSError is this machine's, a full disk, say: nothing is known of the answer then, and the next one is run as
        usual.
        """
        with contextlib.ExitStack() as stack:
            asked = stack.enter_context(tempfile.TemporaryFile())
            results = stack.enter_context(tempfile.TemporaryFile())
            folder = tempfile.TemporaryDirectory(
                prefix="task-", ignore_cleanup_errors=True
            )
            asked.write(pack([cells, name, cases, seconds]))
            asked.seek(0)  # and written, down to its last byte
            run = self._forked if CAN_FORK else _started
            why = run([asked, results], stack.enter_context(folder), seconds)
            results.seek(0)
            values = list(
                itertools.islice(unpack(results.read(64_000_000)), 1 + len(cases))
            )
            if not why and len(values) < 1 + len(cases):
                why = "its process ended early, or what it returns is too large to send"
            return Ran(values, why)

    def _forked(self, streams: list[BinaryIO], folder: str, seconds: int) -> str:
        """Let the waiting process fork; why the fork ended too early, in words."""
        if not self._line:
            self._process, self._line = self._stack.enter_context(_waiting())
        job = json.dumps({"folder": folder, "seconds": seconds}).encode()
        try:
            socket.send_fds(self._line, [job], [stream.fileno() for stream in streams])
            self._line.settimeout(
                PATIENCE * seconds + 120
            )  # in which it may begin, too
            end = json.loads(self._line.recv(65536))
        except (OSError, ValueError):  # nobody's code should be able to do that
            self.close()
            raise OSError(
                "the process for students' code was lost; try  python -m classroom.child"
            ) from None
        self.open_still = end["open"]
        return _in_words(end["late"], end["slept"], end["code"], seconds)


@contextlib.contextmanager
def _waiting() -> Iterator[tuple[subprocess.Popen, socket.socket]]:
    """A process that has PyTorch loaded, and the line to it."""
    mine, its = socket.socketpair()
    with (
        mine,
        its,
        tempfile.TemporaryDirectory(
            prefix="class-", ignore_cleanup_errors=True
        ) as home,
    ):
        process = subprocess.Popen(
            [*CHILD, str(its.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=_environment(home),
            pass_fds=[its.fileno()],
            start_new_session=True,
        )
        its.close()
        try:
            yield process, mine
        finally:
            process.kill()
            process.wait()


def _started(streams: list[BinaryIO], folder: str, seconds: int) -> str:
    """One new process for one task, where there is no fork."""
    asked, results = streams
    process = subprocess.Popen(
        CHILD,
        env=_environment(folder) | {"PYTHONPATH": str(ROOT)},
        stdin=asked,
        stdout=results,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    start = time.monotonic()
    while (
        not Path(folder, "ready").exists()
        and process.poll() is None
        and time.monotonic() - start < 120
    ):
        time.sleep(0.05)
    slept = False
    try:
        process.wait(PATIENCE * seconds)
    except subprocess.TimeoutExpired:
        slept = True
        process.kill()
    return _in_words(False, slept, process.wait(), seconds)


def _environment(home: str) -> dict[str, str]:
    """Nothing of the teacher's, but what Windows cannot do without; the same order of sets in every run."""
    own = {"HOME": home, "MPLCONFIGDIR": home, "MPLBACKEND": "Agg", "LANG": "C.UTF-8"}
    own |= {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1", "PYTHONHASHSEED": "0"}
    return own | {"SYSTEMROOT": os.environ.get("SYSTEMROOT", "")}


def _in_words(late: bool, slept: bool, code: int, seconds: int) -> str:
    """Why a process ended too early: its time for computing, or by the clock, or by itself."""
    if slept and not late:
        return f"still running after {PATIENCE * seconds} seconds by the clock{STOPPED}"
    if late and code:
        return f"still running after {seconds} seconds of computing{STOPPED}"
    if code < 0:
        return f"its process crashed ({signal.strsignal(-code)})"
    return f"its process ended early (exit code {code})" if code else ""
