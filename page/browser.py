"""A headless Chrome or Chromium, and the built book on a file server: for paper, pictures, tests and measurements."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator

from page.address import ROOT

HTML = ROOT / "_build" / "html"  # the built book
NAMES = [
    *"chromium chromium-browser google-chrome google-chrome-stable chrome msedge".split(),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
]
FLAGS = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync""".split()


def chromium() -> str | None:
    """Where Chrome or Chromium is, None if there is neither."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch(kind, **variables: str):
    """A browser with these environment variables; `kind` is playwright's `chromium`."""
    return kind.launch(
        executable_path=chromium(), args=FLAGS, env=os.environ | variables
    )


@contextlib.contextmanager
def launched() -> Iterator:
    """A browser until the block ends."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, launch(playwright.chromium) as browser:
        yield browser


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
