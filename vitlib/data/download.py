"""Downloads that go on where they stopped, and archives unpacked with suspicion: whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import http.client
import os
import shutil
import ssl
import tarfile
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

_CHUNK = 1 << 16


class DiskError(OSError):
    """The disk is full or may not be written; the message says what to do."""


def download(
    urls: Sequence[str], path: str | Path, size: int, md5: str, progress: bool = True
) -> Path:
    """One file, from the first address that has it; bytes are only ever appended, so that the same call goes on."""
    path = Path(path)
    for url in urls:
        if not url.startswith(("https://", "http://", "file:")):
            raise ValueError(
                f"expected an address that starts with https://, http:// or file:, got {url!r}"
            )
    reasons, wrong = [], None
    for url in urls:
        for _ in range(2):
            from_nothing = not path.exists()
            try:
                _fill(url, path, size, progress)
            except DiskError:
                raise
            except (OSError, http.client.HTTPException) as error:
                reasons.append(_reason(url, error))
                break
            with open(path, "rb") as file:
                got = hashlib.file_digest(
                    file, lambda: hashlib.md5(usedforsecurity=False)
                ).hexdigest()
            if got == md5:
                return path
            path.unlink()
            wrong = f"{url} gave a wrong file: expected MD5 {md5}, got {got}; try another mirror"
            if from_nothing:  # else the beginning came from elsewhere: once more
                break
    if wrong and not reasons:
        raise ValueError(wrong)
    reasons += [wrong] if wrong else []
    if path.exists():
        reasons.append(
            f"{path.stat().st_size:,} of {size:,} bytes are kept, the same command goes on there"
        )
    name = path.name.removesuffix(".part")
    raise ConnectionError(f"could not download {name}: {'; '.join(reasons)}")


def _reason(url: str, error: Exception) -> str:
    """Why not all came from an address, and what to ask oneself."""
    reason, ask = getattr(error, "reason", None) or error, ""
    if isinstance(reason, ssl.SSLError):
        ask = " (no secure connection: is the clock right, is a log-in page or a proxy in the way? for the proxy's "
        ask += (
            "certificates set SSL_CERT_FILE; on a Mac run Install Certificates.command)"
        )
    elif type(error) in (urllib.error.URLError, TimeoutError) and not url.startswith(
        "file:"
    ):
        ask = " (is there a network?)"
    return f"{url}: {str(reason) or type(error).__name__}{ask}"


def unpack(
    archive: str | Path, target: str | Path, check: Callable, limit: int = 1 << 30
) -> Path:
    """Unpacks a .tar.gz of one folder, whole and with no word from `check` against it, or leaves what was there.

    Only plain files below a folder of the target's name are taken: one member that is a link or a device, or lies
    elsewhere, condemns the whole archive. (tarfile's own filter for data came with Python 3.11.4.)
    """
    archive, target = Path(archive), Path(target)
    # fixed: the next run clears what a kill leaves
    staging = target.with_name(f".{target.name}.unpacking")
    fresh = staging / target.name

    try:
        shutil.rmtree(staging, ignore_errors=True)
        with _writing(target):
            fresh.mkdir(parents=True)
            with tarfile.open(archive, "r:gz") as tar:
                for member in tar:
                    limit -= member.size
                    if limit < 0:
                        raise ValueError(
                            f"refused {archive}: more is in it than expected; download it again"
                        )
                    _take(tar, member, staging, target.name)
            check(fresh)
            if target.exists():
                os.replace(target, staging / "old")
            os.replace(fresh, target)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{archive} is damaged ({error}); delete it and download it again"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _take(
    tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, name: str
) -> None:
    """Writes one member below `folder`, if it is a plain file or a folder and lies in the folder `name`."""
    parts = PurePosixPath(member.name).parts
    # on Windows a path may leave by a backslash or a drive
    inside = parts[:1] == (name,) and not {*"\\:\0"} & {*member.name}
    if ".." in parts or not inside or not (member.isfile() or member.isdir()):
        got = f"others ({member.name!r}); it is not the official one, download it again"
        raise ValueError(
            f"refused the archive: expected plain files in {name}/, got {got}"
        )
    path = folder.joinpath(*parts)
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    source: Any = tar.extractfile(member)  # None only of what is no file
    with open(path, "wb") as out:
        shutil.copyfileobj(source, out)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Errors while `path` is written, in a student's words where they are about the disk."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fix = "make room, or choose another folder with --root"
            raise DiskError(f"no space left for {path}; {fix}") from error
        if error.errno in (
            errno.EACCES,
            errno.EPERM,
            errno.EROFS,
            errno.ENOTDIR,
            errno.EEXIST,
        ):
            fix = "choose a folder of your own with --root or VITLIB_DATA"
            raise DiskError(f"cannot write {path} ({error.strerror}); {fix}") from error
        raise


def _fill(url: str, path: Path, size: int, progress: bool) -> None:
    """Appends to `path` until it holds `size` bytes; a connection that breaks is taken up again."""
    from tqdm import tqdm

    have = path.stat().st_size if path.exists() else 0
    name = path.name.removesuffix(".part")
    with tqdm(
        total=size,
        initial=have,
        desc=name,
        unit="B",
        unit_scale=True,
        disable=not progress,
    ) as bar:
        while have != size:
            broken = None
            try:
                _stream(url, path, have, size, bar)
            except (ConnectionError, TimeoutError, http.client.HTTPException) as error:
                broken = error
            before, have = have, path.stat().st_size if path.exists() else 0
            if have < size and have <= before:
                raise broken or ConnectionError(
                    f"the connection closed after {have:,} of {size:,} bytes"
                )
            if have < size:
                time.sleep(1)


def _stream(url: str, path: Path, have: int, size: int, bar) -> None:
    """One request: appends to the bytes at hand, or starts again where the server knows no ranges."""
    if have > size:
        path.unlink()
        have = 0
    request = urllib.request.Request(
        url, headers={"User-Agent": "vitlib", "Accept-Encoding": "identity"}
    )
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=60) as response:
        appended = have and (response.headers.get("Content-Range") or "").startswith(
            f"bytes {have}-"
        )
        have, length = (
            have if appended else 0,
            response.headers.get("Content-Length", ""),
        )
        total = have + int(length) if length.isdigit() else None
        page = response.headers.get_content_type() == "text/html"
        if total != size and (page or total is not None):
            got = (
                "a web page: does this network want you to log in?"
                if page
                else f"one of {total:,}"
            )
            raise OSError(f"expected a file of {size:,} bytes, got {got}")
        bar.n = have
        bar.refresh()
        # without a length it may be anything: kept only if it is whole
        target = path if appended or total else path.with_name(f"{path.name}.whole")
        try:
            with _writing(
                path
            ):  # closing, too: it tries once more to write what is in the buffer
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(target, "ab" if appended else "wb") as file:
                    while chunk := response.read(min(_CHUNK, size - have + 1)):
                        have += len(chunk)
                        if have > size:
                            raise OSError(
                                f"expected a file of {size:,} bytes, got more"
                            )
                        file.write(chunk)
                        file.flush()
                        bar.update(len(chunk))
            if target != path and have == size:
                os.replace(target, path)
        finally:
            if target != path:
                target.unlink(missing_ok=True)
