"""Copies among pictures: what is said of them, that no split parts them, and what they cost to find."""

import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vitlib.data.dataset import Dataset
from vitlib.data.look import also_in, fingerprints, hold_out_apart, look
from vitlib.data.photos import load_folder


def pictures(*names: int, labels: list[int] | None = None) -> Dataset:
    """A picture for each number, the same for the same number."""
    images = [
        torch.randint(256, (3, 4, 4), generator=torch.Generator().manual_seed(name)).to(
            torch.uint8
        )
        for name in names
    ]
    classes = ("ill", "well", "dead")
    return Dataset(
        torch.stack(images), torch.tensor(labels or [0] * len(names)), classes
    )


def draw(path: Path, seed: int) -> Path:
    """A file of random pixels, the same for the same seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (12, 10, 3), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


SAID = {
    "nothing": ((0, 1, 2), [0, 0, 1], (3, 4), [0, 1], []),
    "all leak, twice": (
        (0, 1, 2, 3), [0, 0, 1, 1], (2, 1, 1), [1, 0, 0],
        [
            "3 of 3 test pictures are also in train; keep each on one side",
            "copies within a class: 1 of 7 pictures; keep one of each",
        ],
    ),
    "two labels, on one side and across": (
        (0, 1, 1, 2), [0, 0, 1, 1], (2, 3), [0, 1],
        [
            "1 of 2 test pictures is also in train; keep each on one side",
            "2 pictures stand under two labels; keep each under one",
        ],
    ),
    "one picture": (
        (0, 0, 0, 1, 2), [0, 0, 0, 1, 1], (), [],
        ["class ill is 3 files of one picture; add others"],
    ),

}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_copies(name):
    train, train_labels, test, test_labels, said = SAID[name]
    tested = pictures(*test, labels=test_labels) if test else None
    assert look(pictures(*train, labels=train_labels), tested) == said


def test_a_copy_is_what_has_the_same_pixels_whatever_its_file(tmp_path):
    """Saved as another format, turned and marked so, linked: copies; one pixel changed, or pixels turned: none."""
    first = draw(tmp_path / "pets/cat/0.png", 0)
    with Image.open(first) as picture:
        picture.save(tmp_path / "pets/cat/1.bmp")
        exif = Image.Exif()
        exif[274] = 6
        picture.rotate(90, expand=True).save(tmp_path / "pets/cat/2.png", exif=exif)
        picture.rotate(90, expand=True).save(tmp_path / "pets/cat/4.png")
        picture.putpixel((5, 6), (0, 0, 0))
        picture.save(tmp_path / "pets/cat/5.png")
    (tmp_path / "pets/cat/3.png").symlink_to(first)
    data = load_folder(tmp_path / "pets", 10)
    marks = fingerprints(data)
    assert [mark == marks[0] for mark in marks] == [True] * 4 + [False] * 2
    (said,) = look(data)
    assert said == (
        "copies within a class: 3 of 6 pictures (pets/cat/1.bmp is pets/cat/0.png, pets/cat/2.png is pets/cat/0.png, "
        "pets/cat/3.png is pets/cat/0.png); keep one of each"
    )
    draw(tmp_path / "pets/cat/6.png", 0)
    assert (
        "pets/cat/3.png is pets/cat/0.png, ...)"
        in look(load_folder(tmp_path / "pets", 10))[0]
    )


def test_pictures_of_another_size_are_no_copies():
    """Their bytes alone are equal."""
    white = torch.full((1, 3, 4, 6), 255, dtype=torch.uint8)
    label = torch.zeros(1, dtype=torch.int64)
    wide, tall = (Dataset(x, label, ("a",)) for x in (white, white.mT.contiguous()))
    assert also_in(wide, tall) == 0 and also_in(wide, wide) == 1


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=2, max_size=40),
    st.data(),
)
def test_no_split_parts_copies(drawn, more):
    """Each file is on one side, all copies on the same; neither side is empty."""
    names, labels = ([*each] for each in zip(*drawn, strict=True))
    if len({*names}) == 1:
        return
    data = pictures(*names, labels=labels)
    n = more.draw(st.integers(1, len(data) - 1))
    train, held = hold_out_apart(data, n, fingerprints(data))
    assert also_in(train, held) == 0 and len(train) and len(held)
    assert sorted(fingerprints(train) + fingerprints(held)) == sorted(
        fingerprints(data)
    )


def test_what_systems_leave_is_no_class_and_no_picture(tmp_path):
    """Nor told: nobody put it there."""
    left = (
        "@eaDir", "$RECYCLE.BIN", "$Recycle.Bin", "__MACOSX", "lost+found", "#recycle", "@Recycle",
        "System Volume Information", ".ipynb_checkpoints", ".Trash-1000", "cat/@eaDir",
    )  # fmt: skip
    for i, name in enumerate(("cat", "dog", *left)):
        draw(tmp_path / "pets" / name / "0.png", i)
    for name in ("cat/Thumbs.db", "cat/.DS_Store", "dog/desktop.ini", "Icon\r"):
        (tmp_path / "pets" / name).write_bytes(b"\0")
    data = load_folder(tmp_path / "pets", 8)  # a warning would be an error
    assert data.classes == ("cat", "dog")
    assert data.files == tuple(
        str(tmp_path / "pets" / name / "0.png") for name in ("cat", "dog")
    )


def test_a_name_is_one_class_however_its_accent_is_written(tmp_path):
    for i, form in enumerate(("NFC", "NFD")):
        draw(tmp_path / unicodedata.normalize(form, "café") / f"{i}.png", i)
    if len([*tmp_path.iterdir()]) < 2:
        pytest.skip("this disk writes names in one form")
    draw(tmp_path / "tee" / "0.png", 2)
    data = load_folder(tmp_path, 8)
    assert data.classes == ("café", "tee") and sorted(data.labels.tolist()) == [0, 0, 1]
    shutil.rmtree(tmp_path / "café")
    assert load_folder(tmp_path, 8).classes == ("café", "tee")
