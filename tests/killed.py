"""A process that dies by kill -9 at one moment."""

import os
import signal
from collections.abc import Callable

import pytest


def killed_at(name: str, number: int, work: Callable[[], object]) -> None:
    """Does `work` in a copy of this process that is killed as it calls `os.NAME` for the `number`-th time."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    real, calls = getattr(os, name), []

    def deadly(*args, **options):
        calls.append(args)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)

    child = os.fork()
    if child == 0:
        try:
            setattr(os, name, deadly)
            work()
        finally:
            os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL, (
        f"os.{name} was not called {number} times"
    )
