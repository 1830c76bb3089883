"""CIFAR-10 fetched and unpacked: whole or absent, gone on with after any stop, nothing hostile let out."""

import argparse
import errno
import hashlib
import http.server
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path
from unittest.mock import Mock
from urllib.error import URLError

import pytest
import torch
from killed import killed_at
from test_data import BATCH, FILES, FOLDER, cifar, pack, records, small  # noqa: F401 - two are fixtures

from vitlib.data import cifar10, download

PART = "cifar-10-binary.tar.gz.part"
NOBODY = "http://127.0.0.1:9/nobody-listens"


@pytest.fixture(scope="module")
def archive() -> bytes:
    return pack(
        {f"{FOLDER}/{name}": records(seed).tobytes() for seed, name in enumerate(FILES)}
    )


class Server:
    """A web server on this machine that gives one file, and can be told to misbehave."""

    def __init__(self, content: bytes):
        self.content, self.ranges, self.status = content, True, 200
        self.headers = {}  # of each answer; without a Content-Length of None, its own is said
        self.breaks = []  # after how many bytes each of the next answers ends
        self.delay, self.asked = 0.0, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                wanted, whole = self.headers.get("Range"), len(outer.content)
                outer.asked.append(wanted)
                start = int(wanted[6:-1]) if wanted and outer.ranges else 0
                if outer.status != 200:
                    return self.send_error(outer.status)
                self.send_response(206 if start else 200)
                if start:
                    self.send_header(
                        "Content-Range", f"bytes {start}-{whole - 1}/{whole}"
                    )
                body = outer.content[start:]
                for name, value in {
                    "Content-Length": str(len(body)),
                    **outer.headers,
                }.items():
                    if value:
                        self.send_header(name, value)
                self.end_headers()
                if outer.breaks:
                    body = body[: outer.breaks.pop(0)]
                for at in range(0, len(body), 1 << 14):
                    self.wfile.write(body[at : at + (1 << 14)])
                    time.sleep(outer.delay)

            def log_message(self, *_):
                pass

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.httpd.daemon_threads = True
        # a client that hangs up is what is being tested
        self.httpd.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self.httpd.server_port}/cifar-10-binary.tar.gz"
        threading.Thread(
            target=self.httpd.serve_forever, args=(0.02,), daemon=True
        ).start()


@pytest.fixture
def server(archive, small):  # noqa: F811
    server = Server(archive)
    yield server
    server.httpd.shutdown()
    server.httpd.server_close()


@pytest.fixture
def get(small, archive, tmp_path, monkeypatch):  # noqa: F811
    """fetch_cifar10, to the test's folder unless told otherwise, where the official file has this content."""

    def fetch(
        *urls: str, root: Path | None = tmp_path, content: bytes = archive
    ) -> Path:
        monkeypatch.setattr(cifar10, "CIFAR10_MD5", hashlib.md5(content).hexdigest())
        monkeypatch.setattr(cifar10, "CIFAR10_BYTES", len(content))
        return cifar10.fetch_cifar10(root, urls or None, progress=False)

    return fetch


def left_in(root: Path) -> list[str]:
    return sorted(p.name for p in root.iterdir()) if root.exists() else []


# The download


HTML, NO_LENGTH = {"Content-Type": "text/html; charset=utf-8"}, {"Content-Length": None}


@pytest.mark.parametrize("headers", [{}, HTML, NO_LENGTH])
def test_fetch_makes_a_data_set_that_loads(server, get, tmp_path, headers):
    server.headers = headers
    root = tmp_path / "new"
    assert get(server.url, root=root) == root / FOLDER and left_in(root) == [FOLDER]
    found = cifar10.load_cifar10("test", root)[0].flatten(1)
    assert torch.equal(found, torch.from_numpy(records(5)[:, 1:]))
    get(server.url, root=root)
    assert len(server.asked) == 1, "what is whole is not downloaded again"


def test_fetch_goes_on_where_it_stopped(server, get, archive, tmp_path):
    (tmp_path / PART).write_bytes(archive[:1000])
    get(server.url)
    assert server.asked == ["bytes=1000-"] and left_in(tmp_path) == [FOLDER]


def test_fetch_takes_up_a_broken_connection(server, get):
    server.breaks = [50_000, 70_000]
    get(server.url)
    assert server.asked == [None, "bytes=50000-", "bytes=120000-"]


@pytest.mark.parametrize(
    "old, ranges",
    [(b"y" * 1000, True), (b"y" * 1000, False)],
    ids=["wrong", "no ranges"],
)
def test_fetch_throws_away_a_wrong_beginning(server, get, tmp_path, old, ranges):
    server.ranges = ranges
    (tmp_path / PART).write_bytes(old)
    get(server.url)
    assert left_in(tmp_path) == [FOLDER]


def test_fetch_takes_the_next_mirror(server, get, archive, tmp_path, monkeypatch):
    other = tmp_path / "stick" / "cifar-10-binary.tar.gz"
    other.parent.mkdir()
    other.write_bytes(archive)
    server.status = 404
    get(server.url, other.as_uri(), root=tmp_path / "a")
    monkeypatch.setenv("VITLIB_MIRRORS", f"{server.url} {other.as_uri()}")
    assert cifar10.mirrors() == [server.url, other.as_uri(), cifar10.CIFAR10_URL]
    monkeypatch.setenv("VITLIB_DATA", str(tmp_path / "b"))
    get(root=None)
    assert cifar10.find_cifar10() == tmp_path / "b" / FOLDER


@pytest.mark.errors
def test_fetch_refuses_a_wrong_file(server, get, archive, tmp_path):
    server.content = archive[:-1] + b"?"
    with pytest.raises(
        ValueError, match="wrong file: expected MD5 .* got .* try another mirror"
    ):
        get(server.url)
    assert left_in(tmp_path) == []


@pytest.mark.errors
@pytest.mark.parametrize("kept", [0, 1000])
@pytest.mark.parametrize(
    ("headers", "times", "said"),
    [
        (HTML, 1, "got a web page: does this network want you to log in"),
        (NO_LENGTH, 1, "the connection closed after"),
    ],
)
def test_a_log_in_page_is_no_part_of_the_archive(
    server, get, archive, tmp_path, kept, headers, times, said
):
    if kept:
        (tmp_path / PART).write_bytes(archive[:kept])
    server.content, server.headers, server.ranges = (
        b"<html>please log in</html>" * times,
        headers,
        False,
    )
    with pytest.raises(ConnectionError, match=said) as caught:
        get(server.url)
    assert "network?" not in str(caught.value)
    assert left_in(tmp_path) == [PART] * (kept > 0)
    server.content, server.headers, server.ranges = archive, {}, True
    get(server.url)
    assert server.asked[-1] == (f"bytes={kept}-" if kept else None) and left_in(
        tmp_path
    ) == [FOLDER]


@pytest.mark.errors
@pytest.mark.parametrize("kind", [ssl.SSLCertVerificationError, ssl.SSLError])
def test_a_certificate_is_no_missing_network(get, monkeypatch, kind):
    monkeypatch.setattr(
        download.urllib.request,
        "urlopen",
        Mock(side_effect=URLError(kind(1, "self-signed"))),
    )
    with pytest.raises(
        ConnectionError, match=r"self-signed.* \(no secure connection: .*certificates"
    ) as caught:
        get("https://host/x")
    assert "network?" not in str(caught.value)


@pytest.mark.errors
def test_fetch_without_a_network(get, archive, tmp_path):
    root = tmp_path / "new"
    with pytest.raises(
        ConnectionError, match=r"127.0.0.1:9/.*refused \(is there a network\?"
    ):
        get(NOBODY, root=root)
    assert not root.exists()
    root.mkdir()
    (root / PART).write_bytes(archive[:1234])
    with pytest.raises(
        ConnectionError,
        match=r"1,234 of [\d,]+ bytes are kept, the same command goes on",
    ):
        get(NOBODY, root=root)
    with pytest.raises(
        ValueError,
        match="expected an address that starts with https://.* got 'ftp://host/x'",
    ):
        get("ftp://host/x", root=root)


@pytest.mark.errors
def test_fetch_looks_for_room_first(server, get, monkeypatch):
    monkeypatch.setattr(
        cifar10.shutil, "disk_usage", lambda place: argparse.Namespace(free=10**5)
    )
    with pytest.raises(
        OSError, match=r"no space left: expected 1 MB free in .*, got 0; make room"
    ):
        get(server.url)
    assert server.asked == []


# The archive


@pytest.mark.errors
def test_a_full_disk_while_unpacking_leaves_nothing(
    get, archive, tmp_path, monkeypatch
):
    (tmp_path / PART).write_bytes(archive)
    copies = []

    def fail_on_the_third(source, file, *_):
        copies.append(file.write(source.read(1000)))
        if len(copies) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", fail_on_the_third)
    with pytest.raises(OSError, match="no space left for .*make room"):
        get(NOBODY)
    assert left_in(tmp_path) == [PART], "the download is kept, nothing half unpacked"


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.errors
@pytest.mark.parametrize(
    "member",
    [
        tarfile.TarInfo(f"{FOLDER}/../../evil.bin"),
        tarfile.TarInfo("/tmp/evil.bin"),
        link(f"{FOLDER}/evil.bin", "/etc/passwd", tarfile.SYMTYPE),
    ],
    ids=lambda member: f"{member.type.decode()} {member.name}",
)
def test_archives_that_reach_outside_are_refused(get, tmp_path, member):
    root = tmp_path / "deep" / "root"
    root.mkdir(parents=True)
    bad = pack({f"{FOLDER}/data_batch_1.bin": records().tobytes()}, [member])
    (root / PART).write_bytes(bad)
    refused = "refused the archive: expected plain files in cifar-10-batches-bin/, got others .*evil.bin"
    with pytest.raises(ValueError, match=refused):
        get(NOBODY, root=root, content=bad)
    assert left_in(root) == [PART] and left_in(tmp_path / "deep") == ["root"]
    assert "evil.bin" not in left_in(tmp_path)


@pytest.mark.errors
@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda a: a[: len(a) // 2], "is damaged"),
        (
            lambda a: pack({f"{FOLDER}/data_batch_1.bin": b"short"}),
            "is damaged: expected 61460 bytes, got 5",
        ),
    ],
)
def test_damaged_archives_leave_nothing(get, archive, tmp_path, spoil, message):
    bad = spoil(archive)
    (tmp_path / PART).write_bytes(bad)
    with pytest.raises(ValueError, match=message):
        get(NOBODY, content=bad)
    assert left_in(tmp_path) == [PART]


@pytest.mark.errors
def test_an_archive_that_swells_is_refused(tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(pack({f"{FOLDER}/zeros": bytes(10**6)}))
    with pytest.raises(ValueError, match="more is in it than expected"):
        download.unpack(
            tmp_path / "a.tar.gz", tmp_path / FOLDER, lambda folder: None, limit=10**5
        )
    assert left_in(tmp_path) == ["a.tar.gz"]


# Killed


SCRIPT = """
import sys
from vitworkshop.cli import main
from vitlib.data import cifar10
cifar10._BATCH = {batch}
cifar10.CIFAR10_MD5, cifar10.CIFAR10_BYTES = "{md5}", {size}
sys.exit(main(["data", "cifar10", "--root", "{root}", "--mirror", "{url}"]))
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["SIGKILL", "SIGINT"])
def test_killed_while_downloading_it_goes_on(server, get, archive, tmp_path, kind):
    if not hasattr(signal, kind):
        pytest.skip(f"no {kind} on this system")
    server.delay, md5, part = 0.2, hashlib.md5(archive).hexdigest(), tmp_path / PART
    script = SCRIPT.format(
        batch=BATCH, md5=md5, size=len(archive), root=tmp_path, url=server.url
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stderr=subprocess.PIPE, text=True
    )
    while not (part.exists() and part.stat().st_size):
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(getattr(signal, kind))
    stderr = child.communicate()[1]
    assert child.returncode != 0 and left_in(tmp_path) == [PART]
    assert 0 < part.stat().st_size < len(archive) and archive.startswith(
        part.read_bytes()
    )
    if kind == "SIGINT":
        assert "stopped; what came is kept" in stderr and "Traceback" not in stderr
    server.delay = 0
    get(server.url)
    assert server.asked[-1].startswith("bytes=") and left_in(tmp_path) == [FOLDER]


@pytest.fixture
def replaced(tmp_path) -> tuple[Path, Path]:
    """An archive, and an old folder that it is to replace."""
    path, target = tmp_path / "a.tar.gz", tmp_path / FOLDER
    path.write_bytes(pack({f"{FOLDER}/a": b"new", f"{FOLDER}/b": b"new"}))
    target.mkdir()
    (target / "a").write_bytes(b"old")
    return path, target


@pytest.mark.parametrize(("number", "kept"), [(1, [b"old"]), (2, None)])
def test_killed_while_unpacking_a_folder_is_the_old_one_or_none(
    replaced, tmp_path, number, kept
):
    """Never half of the new one; the same call then goes on from the archive."""
    path, target = replaced
    killed_at(
        "replace", number, lambda: download.unpack(path, target, lambda folder: None)
    )
    assert (
        sorted(p.read_bytes() for p in target.iterdir()) if target.exists() else None
    ) == kept
    assert download.unpack(path, target, lambda folder: None) == target
    assert [p.read_bytes() for p in target.iterdir()] == [b"new", b"new"]
    assert left_in(tmp_path) == ["a.tar.gz", FOLDER]
