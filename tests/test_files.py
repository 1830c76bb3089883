"""Files that are whole or absent."""

import os
import stat

import pytest
from killed import killed_at

from vitlib import files


def test_write_atomic_makes_folders_and_replaces(tmp_path):
    path = tmp_path / "a" / "b.bin"
    assert files.write_atomic(path, b"one") == path
    files.write_atomic(str(path), lambda partial: partial.write_bytes(b"two"))
    assert path.read_bytes() == b"two" and os.listdir(path.parent) == ["b.bin"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_write_atomic_honours_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        mode = files.write_atomic(tmp_path / "file", b"").stat().st_mode
    finally:
        os.umask(old)
    assert stat.S_IMODE(mode) == 0o640


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt, OSError],
)
@pytest.mark.parametrize("when", ["before", "during", "after"])
def test_write_atomic_keeps_the_old_file_on_any_failure(
    tmp_path, monkeypatch, error, when
):
    path = files.write_atomic(tmp_path / "file", b"old")

    def fail(_):
        raise error("stop")

    def writer(partial):
        if when != "before":
            partial.write_bytes(b"ne")
        if when != "after":
            fail(partial)

    if when == "after":  # as where the disk is full
        monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        files.write_atomic(path, writer)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("content", [b"new", lambda part: part.write_bytes(b"new")])
def test_write_atomic_killed_at_the_last_moment_leaves_the_old_file(
    tmp_path, call, content
):
    path = files.write_atomic(tmp_path / "file", b"old")
    killed_at(call, 1, lambda: files.write_atomic(path, content))
    assert path.read_bytes() == b"old" and sorted(os.listdir(tmp_path)) == [
        "file",
        "file.part",
    ]
    assert (tmp_path / "file.part").read_bytes() == b"new", (
        "beside it, on the same disk"
    )
    files.write_atomic(path, content)
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["file"]


@pytest.mark.errors
@pytest.mark.parametrize(
    ("old", "new"),
    [("0.25", "0.35"), ('"a"', '"b"'), ('"final"', '"finall"'), ("[", "[0.5, ")],
)
def test_a_number_typed_by_hand_is_refused(tmp_path, old, new):
    path = files.write_json(
        tmp_path / "run.json", {"name": "a", "final": [0.25, None], 3: (1,)}
    )
    assert files.read_json(path, "") == {"name": "a", "final": [0.25, None], "3": [1]}
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(
        ValueError,
        match="run.json is damaged, or was changed by hand: its checksum .*; do it",
    ):
        files.read_json(path, "do it")


def test_what_a_person_writes_has_no_checksum_and_is_read(tmp_path):
    (tmp_path / "x.json").write_text('{"a": 1}')
    assert files.read_json(tmp_path / "x.json", "") == {"a": 1}
    files.write_json(tmp_path / "x.json", {"checksum": "of something older", "a": 1})
    assert files.read_json(tmp_path / "x.json", "") == {"a": 1}


@pytest.mark.errors
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"3", b"null", b'{"a": '])
def test_what_is_no_dictionary_is_damaged(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ValueError, match="x.json is damaged .*; do it"):
        files.read_json(tmp_path / "x.json", "do it")
