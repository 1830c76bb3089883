"""Data sets and photographs: what is read, what is refused."""

import importlib
import io
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vitlib.data import cifar10, dataset, photos
from vitlib.data.cifar10 import CIFAR10_CLASSES
from vitlib.data.drawn10 import DRAWN10_CLASSES
from vitworkshop.cli import main

FOLDER = "cifar-10-batches-bin"
FILES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
BATCH = 20  # records in a file of the tests' small CIFAR-10
LABELS = np.arange(BATCH) % 10


def records(seed: int = 0) -> np.ndarray:
    """uint8 (20, 3073): a label byte, then the pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (BATCH, 3072))
    return np.concatenate([LABELS[:, None], pixels], 1).astype(np.uint8)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Files of 20 records instead of 10,000, no data in the environment, an empty cache folder."""
    monkeypatch.setattr(cifar10, "_BATCH", BATCH)
    for name in ("VITLIB_DATA", "VITLIB_MIRRORS", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))


@pytest.fixture
def cifar(small, tmp_path):
    """A folder that holds a small CIFAR-10."""
    folder = tmp_path / "disk" / FOLDER
    folder.mkdir(parents=True)
    for seed, name in enumerate(FILES):
        records(seed).tofile(folder / name)
    return folder


def pack(
    members: dict[str, bytes] | list[tarfile.TarInfo], extra: list[tarfile.TarInfo] = ()
) -> bytes:
    """A .tar.gz with these files, then these bare members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for info in extra:
            tar.addfile(info)
    return buffer.getvalue()


# ------------------------------------------------------------------------------------------ reading CIFAR-10


def test_cifar10_is_read_in_the_files_order(cifar):
    images, labels = cifar10.load_cifar10("train", cifar.parent)
    assert images.shape == (100, 3, 32, 32) and images.dtype == torch.uint8
    assert labels.dtype == torch.int64 and labels[:20].tolist() == LABELS.tolist()
    # red plane first, then green and blue, rows from the top: record 0 of the second file
    assert torch.equal(images[20].flatten(), torch.from_numpy(records(1)[0, 1:]))
    assert cifar10.load_cifar10("test", str(cifar.parent))[0].shape == (20, 3, 32, 32)


def test_places_are_searched_in_order(cifar, monkeypatch, tmp_path):
    assert cifar10.find_cifar10() is None
    cache = cifar10._cache_folder() / FOLDER
    cache.mkdir(parents=True)
    assert cifar10.find_cifar10() == cache
    monkeypatch.setenv("VITLIB_DATA", str(cifar.parent))
    assert cifar10.find_cifar10() == cifar
    monkeypatch.setenv("VITLIB_DATA", str(tmp_path / "nowhere"))
    assert cifar10.find_cifar10() == cache
    assert cifar10.find_cifar10(tmp_path / "nowhere") is None, (
        "a root that is given is the only place"
    )


def test_auto_takes_cifar10_where_it_is(cifar, monkeypatch):
    drawn = dataset.load_dataset("auto", "test", n=10)
    assert (drawn.name, drawn.label, drawn.classes) == (
        "drawn10",
        "Drawn-10",
        DRAWN10_CLASSES,
    )
    assert len(drawn) == 10
    monkeypatch.setenv("VITLIB_DATA", str(cifar.parent))
    found = dataset.load_dataset("auto", "train", n=7)
    assert (found.name, found.classes, len(found)) == ("cifar10", CIFAR10_CLASSES, 7)
    assert torch.equal(found.images, cifar10.load_cifar10("train")[0][:7])
    assert dataset.load_dataset("drawn10", "test", n=3).name == "drawn10"


@pytest.mark.errors
def test_missing_cifar10_says_what_to_do(small, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"python -m vitlib data cifar10.*VITLIB_DATA.*drawn10"
    ):
        cifar10.load_cifar10("train", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"\.cache"):
        dataset.load_dataset("cifar10")


@pytest.mark.errors
@pytest.mark.parametrize(
    "damage, message",
    [
        (
            lambda file: file.write_bytes(file.read_bytes()[:-1]),
            "61460 bytes, got 61459; delete .* and run",
        ),
        (
            lambda file: file.write_bytes(b"\x0a" + file.read_bytes()[1:]),
            "expected labels 0 to 9, got 10",
        ),
    ],
)
def test_damaged_files_are_refused(cifar, damage, message):
    damage(cifar / "data_batch_3.bin")
    with pytest.raises(ValueError, match=message):
        cifar10.load_cifar10("train", cifar.parent)
    cifar10.load_cifar10("test", cifar.parent)


# ------------------------------------------------------------------------------------ validation, normalisation


GOLDEN_SPLIT = [2, 8, 12, 25, 36, 46, 53, 69]


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.data())
def test_validation_split_is_a_partition_in_proportion(labels, more):
    labels = torch.tensor(labels)
    n = more.draw(st.integers(1, len(labels) - 1))
    images = torch.arange(len(labels))[:, None]
    (train, train_labels), (val, val_labels) = dataset.split_validation(
        images, labels, n
    )
    assert (
        len(val) == len(val_labels) == n
        and len(train) == len(train_labels) == len(labels) - n
    )
    assert (
        sorted(torch.cat([train, val]).flatten().tolist()) == images.flatten().tolist()
    )
    assert torch.equal(labels[val[:, 0]], val_labels) and torch.equal(
        labels[train[:, 0]], train_labels
    )
    share = torch.bincount(labels, minlength=5) * n / len(labels)
    assert (torch.bincount(val_labels, minlength=5) - share).abs().max() <= 1


def test_validation_split_depends_on_the_seed_alone():
    labels = torch.arange(1000) % 10
    images = torch.arange(1000)
    first = dataset.split_validation(images, labels, 100)[1][0]
    assert torch.equal(first, dataset.split_validation(images, labels, 100)[1][0])
    assert not torch.equal(
        first, dataset.split_validation(images, labels, 100, seed=1)[1][0]
    )
    assert first[:8].tolist() == GOLDEN_SPLIT
    assert torch.bincount(labels[first]).tolist() == [10] * 10


def test_normalize_by_hand():
    images = torch.tensor([0, 51, 255], dtype=torch.uint8).reshape(1, 3, 1, 1)
    assert torch.allclose(
        dataset.normalize(images).flatten(), torch.tensor([-1, -0.6, 1])
    )
    out = dataset.normalize(images, mean=[0.0, 0.2, 0.5], std=[1.0, 1.0, 0.25])
    assert torch.allclose(out.flatten(), torch.tensor([0.0, 0.0, 2.0]), atol=1e-7)
    assert torch.equal(dataset.normalize(images[0]), dataset.normalize(images)[0])


@given(
    st.integers(0, 10**6), st.sampled_from([torch.uint8, torch.float32, torch.float64])
)
def test_denormalize_undoes_normalize(seed, dtype):
    images = torch.randint(
        0,
        256,
        (2, 3, 4, 5),
        generator=torch.Generator().manual_seed(seed),
        dtype=torch.uint8,
    )
    wanted = images.double() / 255
    given_images = images if dtype == torch.uint8 else wanted.to(dtype)
    scale = {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]}
    out = dataset.denormalize(dataset.normalize(given_images, **scale), **scale)
    assert torch.allclose(out.double(), wanted, atol=1e-6)


UINT8 = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)


@pytest.mark.errors
@pytest.mark.parametrize(
    "images, more, message",
    [
        (UINT8.long(), {}, "got torch.int64"),
        (UINT8.float() - 1, {}, "do not normalise twice"),
        (
            UINT8,
            {"mean": [0.5, 0.5]},
            r"expected one mean, or 3 \(one a channel\), got 2",
        ),
    ],
)
def test_normalize_refuses_a_students_mistakes(images, more, message):
    with pytest.raises(ValueError, match=message):
        dataset.normalize(images, **more)


# ------------------------------------------------------------------------------------------------ photographs


def write_image(path: Path, pixels: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def test_load_image_cuts_the_middle_then_averages_areas(tmp_path):
    pixels = np.zeros((8, 12, 3), np.uint8)
    pixels[:, :2] = pixels[:, 10:] = 255  # what the cut leaves out
    pixels[2, 4] = (40, 80, 120)
    image = photos.load_image(write_image(tmp_path / "wide.png", pixels), 4)
    assert (
        image.shape == (3, 4, 4)
        and image[:, 1, 1].tolist() == [10, 20, 30]
        and image.sum() == 60
    )
    assert photos.load_image(tmp_path / "wide.png", (4, 6)).shape == (3, 4, 6)
    assert photos.load_image(tmp_path / "wide.png", (16, 48)).shape == (3, 16, 48)


@pytest.mark.parametrize("name", photos.SAMPLES)
def test_sample_photographs_come_with_the_packages(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)  # nothing may be downloaded
    image, file = photos.sample_image(name, 64), photos.PICTURES / photos.SAMPLES[name]
    assert (
        image.shape == (3, 64, 64)
        and image.dtype == torch.uint8
        and image.float().std() > 5
    )
    assert f'"{name}"' in photos.sample_image.__doc__ and not (
        file.is_file() and file.stat().st_size > 25e3
    )


def test_load_folder_numbers_classes_by_name(tmp_path):
    pets = tmp_path / "pets"
    for i, name in enumerate(
        ("dog/1.png", "dog/2.JPG", "cat/1.png", ".hidden/1.png", "cat/.2.png"), 1
    ):
        write_image(pets / name, np.full((9, 9, 3), i * 20, np.uint8))
    (pets / "cat" / "notes.txt").write_text("not an image")
    with pytest.warns(
        UserWarning,
        match=r"skipped 1 of 4 files in .*: cat/notes.txt \(of no kind that is read\)",
    ):
        found = photos.load_folder(pets, 6)
    assert found.classes == ("cat", "dog") and (found.label, found.name) == (
        "pets",
        "folder",
    )
    assert found.images.shape == (3, 3, 6, 6) and found.labels.tolist() == [0, 1, 1]
    assert found.images[:, 0, 0, 0].tolist() == [60, 20, 40]


@pytest.mark.errors
def test_load_image_refuses_a_students_mistakes(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    good = write_image(tmp_path / "holiday.png", pixels)
    with pytest.raises(FileNotFoundError, match="did you mean holiday.png"):
        photos.load_image(tmp_path / "hoilday.png")
    with pytest.raises(FileNotFoundError, match="the current folder is"):
        photos.load_image(tmp_path / "nowhere" / "x.png")
    with pytest.raises(ValueError, match="got the folder .* load_folder"):
        photos.load_image(tmp_path)
    for size in (0, -4, 2.5, True, "224", (3, 4, 5), (8, 0)):
        with pytest.raises(
            ValueError, match="img_size must be a positive integer or .* try 224"
        ):
            photos.load_image(good, size)
    with pytest.raises(
        ValueError,
        match="sample image must be .* got 'astronautt'; did you mean 'astronaut'",
    ):
        photos.sample_image("astronautt")


@pytest.mark.errors
def test_load_folder_refuses_a_students_mistakes(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        photos.load_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="expected one folder for each class"):
        photos.load_folder(tmp_path)
    (tmp_path / "cat").mkdir()
    with pytest.raises(ValueError, match="expected pictures in .*cat, got none; put"):
        photos.load_folder(tmp_path)
    (tmp_path / "cat" / "1.jpg").write_bytes(b"\xff\xd8 cut off")
    with pytest.raises(
        ValueError,
        match=r"expected pictures in .*cat, got none; .* cat/1.jpg \(of no kind",
    ):
        photos.load_folder(tmp_path)
    with pytest.raises(
        ValueError, match="img_size must be a positive integer or .*got None; try 224"
    ):
        photos.load_folder(tmp_path, None)


@pytest.mark.errors
def test_missing_libraries_are_explained(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "skimage" else real(name),
    )
    with pytest.raises(
        ImportError, match=r"'astronaut' is from scikit-image: pip install .*samples"
    ):
        photos.sample_image()
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match="libGL.*libgl1.*opencv-python-headless"):
        photos.load_image(np.zeros((4, 4), np.uint8), 2)


# --------------------------------------------------------------------------------------------- the command line


def command(*words: str) -> int:
    return main(["data", *words])


def test_command_line_says_what_is_here(cifar, capsys, tmp_path):
    assert command("verify", "--root", str(cifar.parent)) == 0
    out = capsys.readouterr().out
    assert (
        "Drawn-10: 10,000 training" in out
        and "all files whole" in out
        and str(cifar) in out
    )
    assert command("--root", str(tmp_path)) == 0
    assert "CIFAR-10: not in" in capsys.readouterr().out
