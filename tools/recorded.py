"""A pytest plugin: nbval judges what the build saw, so that no chapter runs twice.

    pytest -p tools.recorded --nbval-lax book/*.ipynb

A chapter's kernel is replaced by a recording: the outputs that `tools.build` keeps in `_build/.jupyter_cache` and that
the pages show. Without the plugin nbval runs the chapters itself. All comparing is nbval's, in either case.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from nbval.plugin import IPyNbFile

from tools.build import CACHE


class Recording:
    """Answers as nbval's kernel does, out of the run of a notebook that the cache holds."""

    def __init__(self, path: Path) -> None:
        _, run = get_cache(str(CACHE)).merge_match_into_notebook(nbformat.read(path, 4))
        self.cells = (cell for cell in run.cells if cell.cell_type == "code")
        self.messages: list[dict] = []

    def execute_cell_input(self, source: str, allow_stdin: bool) -> str:
        cell = next(cell for cell in self.cells if cell.source == source)
        self.messages = [
            {"msg_type": out.output_type, "content": out} for out in cell.outputs
        ]
        self.messages.append(
            {"msg_type": "status", "content": {"execution_state": "idle"}}
        )
        return ""

    def get_message(self, stream: str, timeout: float) -> dict:
        return {**self.messages.pop(0), "parent_header": {"msg_id": ""}}

    def is_alive(self) -> bool:
        return True

    def await_reply(self, *where, **when) -> None:
        """It has come."""

    await_idle = stop = await_reply


def setup(self: IPyNbFile) -> None:
    """In place of nbval's, which starts a kernel."""
    try:
        self.kernel = Recording(Path(self.path))
    except KeyError as error:
        raise LookupError(
            f"the build has not run {self.path.name} as it is now: python -m tools.build"
        ) from error
    self.setup_sanitize_files()


def pytest_configure() -> None:
    IPyNbFile.setup = setup
