"""The bundle: what is in it, and the one command that starts it where nothing else is."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest

from classroom import bundle, editions

# no pip settings of this machine
CLEAN = {
    "PATH": os.environ.get("PATH", ""),
    "HOME": "/nonexistent",
}
NO_NETWORK = """
import fcntl, socket, struct, subprocess, sys  # a network of its own, in which there is only this machine
with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", 0x41))
try:
    socket.create_connection(("192.0.2.1", 80), 2)
except OSError:
    sys.exit(subprocess.call([sys.executable, "start.py", "--run", "01"]))
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A bundle with pip's work left out, and what pip was asked for."""
    asked, top = [], tmp_path_factory.mktemp("packed")
    pages = top / "pages"
    pages.mkdir()
    (pages / "index.html").write_text("<p>The book</p>")

    def run(command, check):
        asked.append([str(part) for part in command])
        if "wheel" in command:
            (top / "bundle/wheels").mkdir()
            (top / "bundle/wheels/vitlib-0-py3-none-any.whl").write_bytes(b"1234567")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "HTML", pages)
        patch.setattr(editions, "CHAPTERS", editions.CHAPTERS[:1])
        patch.setattr(bundle.subprocess, "run", run)
        bundle.write(top / "bundle", ["--extra-index-url", "https://example.org"])
    return top / "bundle", asked


@pytest.fixture
def made(tmp_path, packed):
    """A copy of it, and what pip was asked for."""
    folder, asked = packed
    return shutil.copytree(folder, tmp_path / "bundle"), asked


def start(folder, *arguments, **changes):
    """start.py in a folder, made for another computer if `changes` say so."""
    made_for = json.loads((folder / "made-for.json").read_text()) | changes
    (folder / "made-for.json").write_text(json.dumps(made_for))
    command = [sys.executable, "start.py", *arguments]
    return subprocess.run(
        command, cwd=folder, env=CLEAN, capture_output=True, text=True
    )


def test_what_is_in_it(made, monkeypatch):
    folder, asked = made
    assert {path.name for path in folder.iterdir()} == {
        *("README.txt", "book", "made-for.json", "notebooks", "start.py", "wheels")
    }
    assert (folder / "book/index.html").is_file() and (
        folder / "notebooks/01-patchify.ipynb"
    ).is_file()
    assert "solution-start" not in (folder / "notebooks/01-patchify.ipynb").read_text(
        encoding="utf-8"
    )
    told = (folder / "README.txt").read_text()
    assert f"on {sysconfig.get_platform()}. The first" in told and "{" not in told
    (_, download) = asked
    assert (
        download[-2:] == ["jupyterlab", "nbclient"]
        and "https://example.org" in download
    )
    assert download[download.index("--constraint") + 1].endswith("requirements.txt")
    monkeypatch.setenv("LANGUAGES", "fr")
    with pytest.raises(SystemExit, match="expected some of en, zh; got 'fr'"):
        bundle.main(["--no-index"])


@pytest.mark.parametrize(
    ("arguments", "changes", "says"),
    [
        ((), {"python": "3.4"}, "expected Python 3.4 on "),
        (("--run", "99"), {}, "expected --run and a chapter"),
    ],
)
def test_what_cannot_start_says_why_and_makes_nothing(made, arguments, changes, says):
    folder, _ = made
    ended = start(folder, *arguments, **changes)
    assert (
        ended.returncode == 2 and says in ended.stdout and not (folder / "env").exists()
    )


@pytest.mark.sampled(4)
def test_an_installation_that_broke_off_does_not_count(made):
    """At first no wheel is whole, so that pip fails."""
    folder, _ = made
    ended = start(folder, "--run", "01")
    assert ended.returncode == 1 and not (folder / "env/installed").exists()
    assert (
        ended.stdout.endswith("the same command begins anew.\n")
        and "Traceback" not in ended.stderr
    )
    (folder / "env/left").touch()
    about = "Metadata-Version: 2.1\nVersion: 0\nName: "
    for name in ("vitlib", "jupyterlab", "nbclient"):
        with zipfile.ZipFile(
            folder / f"wheels/{name}-0-py3-none-any.whl", "w"
        ) as wheel:
            wheel.writestr("jupyter.py", "import sys\nprint(sys.argv[1])")
            for file, text in (
                ("METADATA", about + name),
                ("WHEEL", "Wheel-Version: 1.0"),
                ("RECORD", ""),
            ):
                wheel.writestr(f"{name}-0.dist-info/{file}", text)
    first, again = start(folder, "--run", "01"), start(folder)
    assert (
        first.stdout.startswith("Installing")
        and "It ran from top to bottom." in first.stdout
    )
    assert again.stdout == "lab\n" and not (folder / "env/left").exists()


@pytest.mark.weekly
@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_from_zip_to_a_running_chapter_without_a_network(tmp_path):
    """The real one; needs the built book and, once, the package index."""
    bundle.write(tmp_path / "bundle", [])
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        sys.executable,
        "-c",
        NO_NETWORK,
    ]
    ended = subprocess.run(
        command, cwd=tmp_path / "bundle", env=CLEAN, capture_output=True, text=True
    )
    assert ended.returncode == 0 and "It ran from top to bottom." in ended.stdout, (
        ended.stderr
    )
