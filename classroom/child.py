"""The process in which students' code runs: `python -m classroom.child`, started by the sandbox and by nothing else.

It knows cells, a name and arguments, never what is expected. One process that has run nobody's code waits, with PyTorch
loaded, and forks a confined one for each task; what that sends back is data, which the judge does not trust.
"""

import json
import linecache
import os
import signal
import socket
import sys
import time
import types
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

import vitlib as vl
from classroom.cells import Failure, run
from classroom.confine import PATIENCE, confine
from classroom.wire import pack, unpack
from vitworkshop.exercises.answers import outcome

LAZY = (
    "matplotlib.pyplot",
    "vitlib.viz",
    "einops.layers.torch",
    "torch._dynamo",
    "torch.utils.checkpoint",
)
MEMORY, DISK, FILES = 1_500_000_000, 16_000_000, 500  # bytes, bytes, a number


def serve(judge: socket.socket) -> None:
    """Wait for tasks; fork a process for each, watch it and tell how it ended."""
    while True:
        raw, streams, *_ = socket.recv_fds(judge, 65536, 2)
        if not raw:
            return
        job = json.loads(raw)
        told, tells = os.pipe()
        if (pid := os.fork()) == 0:
            try:
                os.setsid()
                open_still = _enter(job["folder"], job["seconds"])
                os.write(tells, json.dumps(open_still).encode())
                asked, results = streams
                os.dup2(asked, 0)
                os.dup2(results, 3)
                os.closerange(4, 65536)
                work(3)
            finally:
                os._exit(1)
        for file in (*streams, tells):
            os.close(file)
        open_still = os.read(told, 65536) or b'["anything: the confinement fails"]'
        os.close(told)
        judge.send(
            json.dumps(
                _watch(pid, job["seconds"]) | {"open": json.loads(open_still)}
            ).encode()
        )


def _enter(folder: str, seconds: int) -> list[str]:
    """Confine this process to a folder; what the system cannot forbid."""
    names = ("HOME", "TMPDIR", "MPLCONFIGDIR", "TORCHINDUCTOR_CACHE_DIR")
    os.environ |= dict.fromkeys(names, folder)
    open_still = confine(
        Path(folder), Path(vl.__file__).parent, seconds + 1, MEMORY, DISK, FILES
    )
    os.chdir(folder)
    return open_still


def _watch(pid: int, seconds: int) -> dict[str, Any]:
    """Wait for the process; kill it when its time by the clock is used up."""
    start, slept = time.monotonic(), False
    while not slept and not (ended := os.wait4(pid, os.WNOHANG))[0]:
        time.sleep(0.01)
        slept = time.monotonic() - start > PATIENCE * seconds
    if slept:
        os.killpg(pid, signal.SIGKILL)
        ended = os.wait4(pid, 0)
    _, code, used = ended
    late = used.ru_utime + used.ru_stime > seconds
    return {"late": late, "slept": slept, "code": os.waitstatus_to_exitcode(code)}


def work(answers: int) -> None:
    """Run the cells, then the function on each case; write what happens as it happens."""
    with os.fdopen(0, "rb") as file:
        cells, name, cases, seconds = next(unpack(file.read(), models=True))
    torch.set_num_threads(1)
    vl.seed_everything(0)
    room = sys.modules["__main__"] = types.ModuleType("__main__")
    end, until = time.process_time() + seconds, time.monotonic() + PATIENCE * seconds
    failed: list[tuple[int, *Failure]] = []
    _furnish(failed)
    for number, code in cells:
        where = f"<cell {number}>"
        linecache.cache[where] = (
            len(code),
            None,
            code.splitlines(keepends=True),
            where,
        )
        said = run(code, where, vars(room), end, until)
        failed += [(number, *failure) for failure in said]
    os.write(answers, pack({"failed": failed, "there": callable(vars(room).get(name))}))
    for case in cases:
        os.write(answers, pack(vars(outcome(None, vars(room).get(name), tuple(case)))))
    os._exit(0)  # without what was registered for the end


def _furnish(failed: list[tuple[int, *Failure]]) -> None:
    """What ordinary lines of a notebook find here: a book that says nothing, a device that is there."""
    for name, home in vl._LATE.items():
        if home.startswith("vitworkshop"):  # where answers lie
            setattr(vl, name, lambda given=None, *_, **__: given)

    def compiled(model: Any = None, **_: Any) -> Any:
        says = "refused here; what it is given runs as it is, without it"
        failed.append((0, 0, "torch.compile", says))
        return (lambda function: function) if model is None else model

    def on(device: Any) -> None:
        if device is not None and torch.device(device).type != "cpu":
            raise RuntimeError(f"there is no {device} here: all runs on the CPU")

    torch.compile, torch.set_default_device = compiled, on


def _warm() -> None:
    """Load what PyTorch would load when it is first used, where files can still be written."""
    for name in LAZY:
        import_module(name)
    weight = torch.zeros(2, requires_grad=True)
    torch.func.grad(torch.sum)(weight)
    torch.optim.AdamW([weight]).step()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _warm()  # once, and not in each fork
        serve(socket.socket(fileno=int(sys.argv[1])))
    else:  # one process for one task, where there is no good fork
        answers = os.dup(1)
        os.dup2(2, 1)
        _warm()
        Path("ready").touch()  # PyTorch is loaded: from now on the time counts
        _enter(os.getcwd(), 60)
        work(answers)
