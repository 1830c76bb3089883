"""The built book on a file server of its own, for tests and measurements in a browser."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator

from tools.build import HTML


class NoLog(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments) -> None: ...


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The address at which the built book is served, on this machine only."""
    handler = functools.partial(NoLog, directory=HTML)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
