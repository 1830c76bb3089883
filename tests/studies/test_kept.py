"""What finished runs leave: a file that counts for the same run alone, in a folder that one process holds."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest
from filelock import FileLock

from vitworkshop.studies.kept import Taken, alone, plain, read_rows

ABOUT = {"study": "toy", "scale": "quick", "base": {"lr": 0.1, "size": (4, 8)}, "variant": {}}


def keep(path, about=ABOUT, rows=()):
    path.write_text(json.dumps({"about": about, "rows": list(rows)}))
    return path


def test_rows_are_read_for_the_same_run(tmp_path):
    path = keep(tmp_path / "rows.json", rows=[{"seed": 0}])
    assert read_rows(path, ABOUT, {}) == [{"seed": 0}]
    assert read_rows(tmp_path / "none.json", ABOUT, {}) is None
    newer = ABOUT | {"base": {**ABOUT["base"], "flip": True}}
    assert read_rows(path, newer, {"base": {"flip": True}}) == [{"seed": 0}]


@pytest.mark.errors
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"about": {', "is damaged .*delete it, and the same command goes on"),
        ("[]", "not a mapping"),
        ('{"rows": []}', "no file of a finished run"),
        ('{"about": {}}', "no file of a finished run"),
        (
            json.dumps({"about": plain(ABOUT | {"study": "other"}), "rows": []}),
            "study was 'other', now 'toy'",
        ),
        (
            json.dumps({"about": plain(ABOUT | {"scale": "full"}), "rows": []}),
            r"of another run \(scale was 'full', now 'quick'\); take another folder with --out",
        ),
    ],
)
def test_damaged_and_foreign_files_are_refused(tmp_path, text, message):
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_rows(path, ABOUT, {})
    assert path.read_text() == text


def test_one_process_holds_a_folder(tmp_path):
    folder = tmp_path / "run"
    with alone(folder):
        with pytest.raises(Taken):
            with alone(folder):
                pass
        with alone(tmp_path / "other"):
            pass
    with alone(folder):  # free again
        pass
    with pytest.raises(RuntimeError):
        with alone(folder):
            raise RuntimeError
    with alone(folder):  # also after an error
        pass


def test_who_waits_gets_it_when_it_is_free(tmp_path):
    held, freed = threading.Event(), []

    def hold():
        with FileLock(tmp_path / ".lock"):
            held.set()
            time.sleep(1.3)
            freed.append(True)

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    with alone(tmp_path, wait=True):
        assert freed
    other.join()


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_a_killed_process_frees_its_folder(tmp_path):
    code = (
        "import sys, time; from filelock import FileLock; lock = FileLock(sys.argv[1]); lock.acquire(); "
        "print('held', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / ".lock")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    with pytest.raises(Taken):
        with alone(tmp_path):
            pass
    process.kill()
    process.wait()
    with alone(tmp_path):
        pass


@pytest.mark.errors
def test_a_disk_without_locks_says_so(tmp_path, monkeypatch):
    def fail(self, timeout):
        raise NotImplementedError

    monkeypatch.setattr(FileLock, "acquire", fail)
    with pytest.raises(OSError, match="is on a disk without locks; take a folder on another with --out"):
        with alone(tmp_path):
            pass
