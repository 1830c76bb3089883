"""A reader's own pictures on the command line: train, finetune, predict; and each mistake in one sentence."""

import io
import os
import shutil
import unicodedata
from pathlib import Path

import cv2
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import vitlib as vl
from vitlib.data.drawn10 import DRAWN10_CLASSES, load_drawn10
from vitlib.data.look import also_in
from vitlib.files import read_json
from vitworkshop.cli import main, train
from vitworkshop.cli.pictures import load_split, split_folder

TINY = "--set model.patch_size=16 model.embed_dim=12 model.depth=1 model.num_heads=2".split()
QUICK = "--device cpu --threads 1".split()
pytestmark = pytest.mark.usefixtures("one_thread")
CLASSES = ("heron", "kingfisher", "wren")


def draw(folder: Path, counts: dict[str, int]) -> Path:
    """Pictures of Drawn-10 as files of several sizes and formats, another of its classes for each name."""
    images, labels = load_drawn10("train", n=200)
    for label, (name, count) in enumerate(counts.items()):
        (folder / name).mkdir(parents=True)
        for i, image in enumerate(images[labels == label][:count]):
            pixels = image.permute(1, 2, 0).numpy()[..., ::-1]
            pixels = cv2.resize(pixels, (32 + i, 40))
            cv2.imwrite(
                str(folder / name / f"{i:02d}.{('png', 'jpg', 'bmp')[i % 3]}"), pixels
            )
    return folder


@pytest.fixture(scope="module")
def birds(tmp_path_factory) -> Path:
    return draw(
        tmp_path_factory.mktemp("pictures") / "birds", dict.fromkeys(CLASSES, 11)
    )


@pytest.fixture(scope="module")
def trained(birds, tmp_path_factory) -> Path:
    """The folder of a model trained on the birds."""
    out = tmp_path_factory.mktemp("runs") / "birds-laptop"
    words = [
        "train",
        "--data",
        str(birds),
        "--img-size",
        "96",
        "--epochs",
        "2",
        "--out",
        str(out),
    ]
    assert main([*words, *TINY, *QUICK]) == 0
    return out


def card_in(folder: Path) -> dict:
    (path,) = [p for p in folder.glob("*.json") if p.name != "log.json"]
    return read_json(path, "")


def test_train_on_a_folder_writes_a_card_with_its_classes_and_its_split(birds, trained):
    card = card_in(trained)
    assert (
        card["classes"] == list(CLASSES)
        and card["dataset"] == "birds"
        and card["name"] == "birds-laptop"
    )
    assert card["test_split"] == "3 of 33 pictures, a tenth of each class by seed 0"
    assert (card["n_train"], card["final"]["n_test"], card["recipe"]["data"]) == (
        27,
        3,
        "folder",
    )
    assert (card["config"]["num_classes"], card["config"]["img_size"]) == (3, 96)
    model, _ = vl.load_pretrained(str(trained))
    _, test = split_folder(vl.load_folder(birds, 96))
    assert sorted(test.labels.tolist()) == [0, 1, 2]
    assert (
        vl.evaluate(model, test.images, test.labels)["accuracy"]
        == card["final"]["test_accuracy"]
    )


def test_a_folder_gets_500_steps_unless_told_otherwise(birds, tmp_path, capsys):
    words = [
        "train",
        "--data",
        str(birds),
        "--img-size",
        "16",
        "--out",
        str(tmp_path),
        *TINY,
        *QUICK,
    ]
    assert main([*words, "--batch-size", "10", "--budget-minutes", "0"]) == 0
    said = capsys.readouterr().out
    assert "167 epochs of 27 images of birds" in said  # of three steps
    assert (
        "birds: heron 11, kingfisher 11, wren 11; held out to test: 3 of 33 pictures"
        in said
    )
    assert (
        main([*words, "--batch-size", "10", "--budget-minutes", "0", "--epochs", "4"])
        == 2
    )
    assert "recipe.epochs was 167, now 4" in capsys.readouterr().err


def test_finetune_a_run_on_another_folder_and_predict(trained, tmp_path, capsys):
    fish = draw(tmp_path / "fish", {"carp": 10, "eel": 10})
    out = tmp_path / "out"
    words = [
        "finetune",
        str(trained),
        "--data",
        str(fish),
        "--img-size",
        "64",
        "--out",
        str(out),
        *QUICK,
    ]
    assert main([*words, "--epochs", "1"]) == 0
    card = card_in(out)
    assert (card["name"], card["start"]) == ("fish-from-birds-laptop", "birds-laptop")
    assert card["classes"] == ["carp", "eel"] and card["recipe"]["optimizer"] == "sgd"
    assert (
        card["config"]["img_size"],
        card["config"]["num_classes"],
        card["config"]["depth"],
    ) == (64, 2, 1)
    assert card["command"].startswith("python -m vitlib finetune ")
    capsys.readouterr()
    assert main([*words, "--epochs", "1"]) == 0
    assert "finished before" in capsys.readouterr().out

    pictures = [str(fish / "carp" / "00.png"), str(fish / "eel" / "01.jpg")]
    assert main(["predict", str(out), *pictures, "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    model, _ = vl.load_pretrained(str(out))
    for path, line in zip(pictures, lines, strict=True):
        p = vl.predict(model, vl.load_image(path, 64)[None])[0]
        order = p.argsort(descending=True).tolist()
        said = ", ".join(f"{('carp', 'eel')[i]} {p[i]:.1%}" for i in order)
        assert line == f"{path}: {said}"


def test_a_model_of_the_book_is_finetuned_on_drawn10_at_a_higher_resolution(
    tmp_path, capsys, monkeypatch
):
    load = train.load_dataset
    short = {"train": 40, "test": 20}
    monkeypatch.setattr(
        "vitworkshop.cli.train.load_dataset",
        lambda name, split, n=None: load(name, split, short[split]),
    )
    words = [
        "finetune",
        "drawn10-small",
        "--data",
        "drawn10",
        "--img-size",
        "40",
        "--out",
        str(tmp_path),
    ]
    assert main([*words, *QUICK, "--epochs", "1", "--set", "model.depth=2"]) == 2
    assert (
        "finetune keeps the shape and the task of a model, got model.depth"
        in capsys.readouterr().err
    )
    assert main([*words, *QUICK, "--epochs", "1", "--validate"]) == 0
    card = card_in(tmp_path)
    assert (
        card["name"] == "drawn10-from-drawn10-small"
        and card["config"]["img_size"] == 40
    )
    assert card["classes"] == list(DRAWN10_CLASSES) and "test_split" not in card
    assert "val_loss" in card["final"] and "n_test" not in card["final"]


def test_bad_files_are_counted_and_named_and_stop_nothing(
    trained, birds, tmp_path, capsys
):
    folder = tmp_path / "birds"
    shutil.copytree(birds, folder)
    for i in range(5):
        (folder / "wren" / f"{i}.gif").write_text("GIF")
    (folder / "wren" / "00.png").write_bytes(
        (folder / "wren" / "00.png").read_bytes()[:-900]
    )
    (folder / "loose.png").write_text("")
    words = [
        "train",
        "--data",
        str(folder),
        "--img-size",
        "16",
        "--epochs",
        "1",
        *TINY,
        *QUICK,
    ]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[0] == (
        f"skipped 7 of 39 files in {folder}: loose.png (in no class's folder); wren/0.gif, wren/1.gif, wren/2.gif, "
        "wren/3.gif, wren/4.gif (of no kind that is read); wren/00.png (not readable, image file is truncated)"
    )
    assert "of 3 pictures: up to ± 29 points (standard error)" in said.out
    assert (
        f"in Python: model, card = vl.load_pretrained({str(tmp_path / 'out')!r})"
        in said.out
    )
    assert vl.load_pretrained(str(tmp_path / "out"))[1]["name"] == "birds-laptop"


def test_predict_answers_for_a_folder_and_for_the_good_ones_of_several(
    trained, birds, tmp_path, capsys
):
    folder = tmp_path / "wren"
    shutil.copytree(birds / "wren", folder)
    (folder / "0.gif").write_text("GIF")
    assert main(["predict", str(trained), str(folder), "--device", "cpu"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 11 and f"{folder / '03.png'}: " in said.out
    assert "skipped 1 of 12 files" in said.err
    (folder / "04.jpg").write_text("no picture")
    some = [
        str(folder / name) for name in ("00.png", "04.jpg", "nothing.png", "05.bmp")
    ]
    assert main(["predict", str(trained), *some, "--device", "cpu"]) == 2
    said = capsys.readouterr()
    assert [line.split(": ")[0] for line in said.out.splitlines()] == [some[0], some[3]]
    assert (
        said.err.count("\n") == 1
        and "error: 2 of 4 pictures have no answer: " in said.err
    )
    assert "04.jpg is of no kind" in said.err and "no file" in said.err


@pytest.mark.errors
def test_train_and_val_below_a_folder_are_taken(birds, tmp_path):
    for part in ("train", "Val"):
        shutil.copytree(birds, tmp_path / "split" / part)
    for path in [
        *(tmp_path / "split/Val").glob("*/0[2-9].*"),
        *(tmp_path / "split/Val").glob("*/10.*"),
    ]:
        path.unlink()
    train, test, said = load_split(tmp_path / "split", (8, 8))
    assert (len(train), len(test), train.label, said) == (
        33,
        6,
        "split",
        "6 pictures, all of Val",
    )
    assert torch.equal(test.images, vl.load_folder(tmp_path / "split/Val", 8).images)
    with pytest.raises(
        ValueError,
        match="split/Val, got none; load it by itself if heron, kingfisher, wren are",
    ):
        vl.load_folder(tmp_path / "split", 8)
    shutil.copytree(birds, tmp_path / "split" / "test")
    # a class may be called so
    (tmp_path / "split/test/wren").rename(tmp_path / "split/test/train")
    with pytest.raises(
        ValueError,
        match="the same classes in train and test, got only in train: wren; only in test: train; rename",
    ):
        load_split(tmp_path / "split", (8, 8))
    assert load_split(tmp_path / "split/test", (8, 8))[0].classes == (
        "heron",
        "kingfisher",
        "train",
    )


def test_pictures_that_were_trained_on_are_told_before_training_and_beside_the_accuracy(
    birds, tmp_path, capsys
):
    """And again where the run had finished before; the card keeps the number. Both sides may write é in another way."""
    for part, form in (("train", "NFC"), ("val", "NFD")):
        shutil.copytree(birds, tmp_path / "leak" / part)
        name = unicodedata.normalize(form, "café")
        (tmp_path / "leak" / part / "wren").rename(tmp_path / "leak" / part / name)
    (tmp_path / "leak/val/heron/00.png").write_bytes(
        (birds / "wren/03.png").read_bytes()
    )
    words = ["train", "--data", str(tmp_path / "leak"), "--img-size", "16"]
    words += ["--holdout", "0", "--epochs", "1"]
    words += ["--out", str(tmp_path / "out"), *TINY, *QUICK]
    for line in ("test accuracy", "finished before, with a test accuracy"):
        assert main(words) == 0
        said = capsys.readouterr().out.splitlines()
        assert said[0] == (
            "leak: café 22, heron 22, kingfisher 22; held out to test: 33 pictures, all of val"
        )
        assert said[1].startswith(
            "leak: 33 of 33 test pictures are also in train (val/"
        )
        assert said[2].startswith("leak: 1 picture stands under two labels (")
        (accuracy,) = [each for each in said if each.startswith(line)]
        assert accuracy.endswith("; 33 of 33 of these pictures were trained on")
    assert card_in(tmp_path / "out")["final"]["trained_on"] == 33


def test_what_is_held_out_to_choose_by_has_no_copy_among_what_is_trained_on(
    birds, tmp_path, capsys, monkeypatch
):
    folder = tmp_path / "birds"
    shutil.copytree(birds, folder)
    for path in [*folder.glob("*/*")]:
        shutil.copy(path, path.with_stem(f"{path.stem} copy"))
    parts, train_model = [], train.train_model
    monkeypatch.setattr(
        "vitworkshop.cli.train.train_model",
        lambda todo, data, val, **how: (
            parts.append((data, val)) or train_model(todo, data, val, **how)
        ),
    )
    words = ["train", "--data", str(folder), "--img-size", "16", "--validate"]
    words += ["--epochs", "1", "--out", str(tmp_path / "out"), *TINY, *QUICK]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "held out to test: 6 of 66 pictures, a tenth of each class by seed 0" in said
    assert "birds: copies within a class: 33 of 66 pictures (" in said
    assert "trained on" not in said
    ((data, val),) = parts
    assert (len(data), len(val)) == (54, 6) and also_in(data, val) == 0


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_name_stops_a_command(birds, tmp_path, monkeypatch, encoding):
    names = ["猫", os.fsdecode(b"caf\xe9"), "a\x1b[2J"]
    for old, new in zip(CLASSES, names, strict=True):
        shutil.copytree(birds / old, tmp_path / "鳥" / new)
    (tmp_path / "鳥/猫/00.png").write_bytes(b"")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in "oe")
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    words = [
        "train",
        "--data",
        str(tmp_path / "鳥"),
        "--img-size",
        "16",
        "--epochs",
        "1",
        *TINY,
        *QUICK,
    ]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    assert (
        main(
            [
                "predict",
                str(tmp_path / "out"),
                str(tmp_path / "鳥/猫"),
                "--device",
                "cpu",
            ]
        )
        == 0
    )
    assert main(["predict", "猫\x1b[2J", "a.png"]) == 2
    for stream in (out, err):
        stream.flush()
        said = stream.buffer.getvalue().decode(encoding)
        assert (
            "猫" if encoding == "utf-8" else r"\u732b"
        ) in said and "\x1b" not in said


@given(st.lists(st.integers(10, 60), min_size=2, max_size=5))
def test_each_class_is_trained_on_and_tested_in_proportion(counts):
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    images = torch.arange(len(labels), dtype=torch.int64)[:, None, None, None].expand(
        -1, 3, 2, 2
    )
    data = vl.Dataset(
        images.to(torch.uint8), labels, tuple(map(str, range(len(counts))))
    )
    train, test = split_folder(data)
    assert len(test) == len(data) // 10 and len(train) + len(test) == len(data)
    for label, count in enumerate(counts):
        assert 1 <= (test.labels == label).sum() <= count / 10 + 1
    assert torch.equal(split_folder(data)[1].images, test.images)


# ------------------------------------------------------------------------------------------------------- mistakes


def refused(words: list[str], capsys) -> str:
    """The one line that a mistake is answered with."""
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    return error


CHOICES = (
    "--data must be one of auto, cifar10, drawn10, a folder of pictures; got 'cifra10'"
)
MISTAKES = {  # what is done to the folder of birds, the words, what is said
    "too few": (
        lambda f: [path.unlink() for path in sorted(f.glob("wren/*"))[3:]],
        "birds",
        "10 images or more of each class, as one in ten is held out to test by, got 3 of wren",
    ),
    "formats": (
        lambda f: [p.write_bytes(b"\0\0\0\x18ftypheic") for p in f.glob("wren/*")],
        "birds",
        "wren, got none; put .jpg or .png files there, or move it away, if it is no class. skipped 11 of 33 files "
        "in birds: wren/00.png, wren/01.jpg, ",
    ),
    "a word": (None, "cifra10", CHOICES),
}


@pytest.mark.errors
@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize(
    "command", ["train", "finetune drawn10-small"], ids=["train", "finetune"]
)
def test_pictures_that_will_not_do(command, name, birds, tmp_path, monkeypatch, capsys):
    shutil.copytree(birds, tmp_path / "birds")
    monkeypatch.chdir(tmp_path)
    change, words, message = MISTAKES[name]
    if change:
        change(tmp_path / "birds")
    assert message in refused(f"{command} --out out --data {words}".split(), capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.errors
def test_models_and_pictures_that_are_not_there(trained, birds, tmp_path, capsys):
    picture = str(birds / "wren" / "00.png")
    said = refused(["predict", "cifar10-laptob", picture], capsys)
    assert "no model called 'cifar10-laptob'; there are: cifar10-modern, " in said
    assert "the folders of your runs" in said
    assert "got none; a run writes it" in refused(
        ["predict", str(birds), picture], capsys
    )
    assert "got none; it is empty" in refused(
        ["predict", "drawn10-small", str(tmp_path)], capsys
    )
    assert "no file" in refused(
        ["predict", "drawn10-small", picture, "nowhere.png"], capsys
    )
    assert "no model called" in refused(
        ["finetune", "nothing", "--data", str(birds)], capsys
    )
    two = tmp_path / "two"
    for name in ("a", "b"):
        vl.save_pretrained(vl.load_pretrained(str(trained))[0], {"name": name}, two)
    assert f"got a, b; take one, as in {two / 'a'}" in refused(
        ["predict", str(two), picture], capsys
    )
    assert main(["predict", str(two / "b"), picture, "--device", "cpu"]) == 0
    assert "class " in capsys.readouterr().out  # its card has no names
    assert (
        main(["predict", str(two / "b.safetensors"), picture, "--device", "cpu"]) == 0
    )
