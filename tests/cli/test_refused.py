"""Wrong command lines: one line on stderr, exit code 2, nothing loaded, nothing written."""

import json
import shutil

import numpy as np
import pytest
import torch

import vitlib as vl
from vitlib.files import read_json
from vitworkshop.cli import main

pytestmark = pytest.mark.errors

TRAIN = "train --preset drawn10 --limit 60 --set model.depth=1 model.embed_dim=12 model.num_heads=2"
FINETUNE = "finetune run --data pets --limit 60"
STUDY = "study run stems"
# a word of each kind; every wrong value of every field is in test_checks.py
FIELDS = """
flip=maybe flip=3 crop=1.5 crop=100000 lr=true lr=nan lr=inf lr=none lr=abc lr= seed=-1 epochs=0 model=3 model=none
model=cnn objective=x model.depth=0 model.depth=true model.img_size=33 model.num_heads=5 model.act=gel model.=3
data=cifar10 name=x out=x scale=full limits=3 x =3 x= base=plain
""".split()
OF_RUNS = """
--limit 0 | --limit -1 | --limit abc | --limit 1.5 | --threads 100000 | --threads 0 | --threads -1 |
--threads abc | --budget-minutes nan | --budget-minutes -1 | --budget-minutes inf | --budget-minutes abc |
--device gpu | --device cuda:9 | --scale huge | --out file | --unknown | extra | --set x --set lr=1
"""
OF_TRAINING = r"""
--img-size 0 | --img-size -4 | --img-size 33 | --img-size abc | --holdout -1 | --holdout 60 | --holdout abc
| --epochs 0 | --epochs -1 | --epochs 1.5 | --batch-size 0 |
--batch-size -3 | --seed -1 | --seed 1.5 | --data nothere | --data cifra10 | --name a/b | --name .. |
--name . | --name a\b | --validate --limit 9 | --holdout 5 --limit 5 | --data '' | --name ''
"""
MODELS = "nope ../../x empty file no-name no-object bad-name two run/nope ''"
PICTURES = "nope.jpg file text.jpg empty.png empty ''"
STUDIES = """
--threads 100000 | --threads 0 | --threads -1 | --threads abc | --budget-minutes 1 |
--device gpu | --device cuda:9 | --out file | --unknown | extra |
--seeds 0 | --limit 5 | --data x | --set lr=1
"""
WHOLE = """
trian | --nope | train --help=3 | train --preset | train --preset lapto | train --preset '' |
train --preset laptop --scale full | finetune | predict | predict run | export-web |
export-web run --out empty | export-web run x | data nope | data verify --root file |
data cifar10 --root file | data --mirror | data verify extra | study | study walk | study run |
study run nope | study run '' | study run ../x | study report | study report nope | study report stems --out nothere |
study report stems --out file | study report stems --out empty | study report stems --out damaged |
study report stems --out listed | study report stems --out other | study list stems | study board |
finetune run --data pets --set model.depth=3 |
finetune run --data pets --set model=resnet | finetune run --data pets --set objective=masked-mean |
predict run pets/cat.png --device gpu | check-pretrained | check-pretrained vit-b/16 |
check-pretrained vit-c/16 run/tiny.safetensors | check-pretrained vit-b/16 nope.npz |
check-pretrained vit-b/16 file | check-pretrained vit-b/16 empty
"""
FOREIGN = "| --mean-std 0.5 | --out file | --image nope.jpg | --device cpu | extra"


def joined(command: str, texts: str) -> list[str]:
    """The command with each of the texts between bars."""
    return [f"{command} {text.strip()}" for text in texts.split("|")]


LINES = [
    "",
    *(f"{TRAIN} {field}" for field in FIELDS),
    *(
        f"{STUDY} {field}"
        for field in (
            "crop=abc",
            "lr=none",
            "model=3",
            "epochs=0",
            "model.depth=abc",
            "x",
        )
    ),
    *(
        line
        for command in (TRAIN, FINETUNE)
        for line in joined(command, OF_RUNS + "|" + OF_TRAINING)
    ),
    *(f"{command} --name {'x' * 300}" for command in (TRAIN, FINETUNE)),
    *joined(STUDY, STUDIES),
    *(f"finetune {name} --data pets" for name in MODELS.split()),
    *(f"export-web {name}" for name in MODELS.split()),
    *(f"predict {name} pets/cat.png" for name in MODELS.split()),
    *(f"predict run {path}" for path in PICTURES.split()),
    *joined("", WHOLE),
    *joined("check-pretrained vit-b/16 run/tiny.safetensors", FOREIGN),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a picture, a model, and what is none."""
    cv2 = pytest.importorskip("cv2")
    root = tmp_path_factory.mktemp("place")
    for name in ("pets", "empty"):
        (root / name).mkdir()
    cv2.imwrite(str(root / "pets/cat.png"), np.zeros((8, 8, 3), np.uint8))
    for name, text in (
        ("file", "hello"),
        ("text.jpg", "no picture"),
        ("empty.png", ""),
    ):
        (root / name).write_text(text)
    model = vl.VisionTransformer(
        vl.ViTConfig(img_size=8, embed_dim=8, depth=1, num_heads=2)
    )
    vl.save_pretrained(model, {"name": "tiny"}, root / "run")
    vl.save_pretrained(model, {"name": "tiny"}, root / "two")
    vl.save_pretrained(model, {"name": "small"}, root / "two")
    card = read_json(root / "run/tiny.json", "")
    cards = {
        "no-name": {"config": card["config"]},
        "no-object": [],
        "bad-name": card | {"name": "../../x"},
    }
    for name, other in cards.items():
        shutil.copytree(root / "run", root / name)
        (root / name / "tiny.json").write_text(json.dumps(other))
    for name, text in (
        ("damaged", "{bad"),
        ("listed", "[]"),
        ("other", '{"name": "stems"}'),
    ):
        (root / name).mkdir()
        (root / name / "stems.json").write_text(text)
    return root


def everything_in(folder) -> dict:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("line", LINES)
def test_a_wrong_word_is_told_in_one_line_before_any_work(
    line, place, monkeypatch, capsys
):
    def load(*args, **options):
        raise AssertionError("something was loaded")

    for name in ("train.load_dataset", "train.load_split", "study.run_study"):
        monkeypatch.setattr(f"vitworkshop.cli.{name}", load)
    monkeypatch.chdir(place)
    monkeypatch.setenv("VITLIB_DATA", str(place / "empty"))
    before, threads = everything_in(place), torch.get_num_threads()
    words = [word.strip("'") for word in line.split(" ") if word]
    try:
        code, parsed = main(words), True
    except SystemExit as stop:
        code, parsed = stop.code, False
    said = capsys.readouterr()
    assert parsed or "--help tells more" in said.err
    assert code == 2 and said.out == "" and everything_in(place) == before
    assert said.err.startswith("error: ") and said.err.count("\n") == 1
    assert torch.get_num_threads() == threads


def test_a_folder_that_is_not_there_yet_is_no_mistake(place, tmp_path):
    script = tmp_path / "new/tiny.js"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["predict", "run", "pets/cat.png", "--device", "cpu"]) == 0
        assert main(["export-web", "run", "--out", str(script)]) == 0
    assert script.is_file()


def test_what_is_held_out_is_less_than_there_is(tmp_path, capsys):
    """Without --limit it is known only when the images are there."""
    words = [
        "train",
        "--preset",
        "drawn10",
        "--holdout",
        "10000",
        "--out",
        str(tmp_path / "run"),
    ]
    assert (
        main(words) == 2
        and "expected n from 1 to 9999, got 10000" in capsys.readouterr().err
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("line", ["--holdout 59 --limit 60", "--validate --limit 10"])
def test_one_image_to_learn_from_is_enough(line, monkeypatch):
    monkeypatch.setattr("vitworkshop.cli.train.load_task", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["train", "--preset", "drawn10", *line.split()])


def test_too_little_memory_is_told_in_one_line(tmp_path, monkeypatch, capsys):
    def ask(*args, **options):
        raise RuntimeError(
            "DefaultCPUAllocator: can't allocate memory:\nyou tried to allocate 18 bytes"
        )

    words = ["train", "--preset", "drawn10", "--out", str(tmp_path / "run")]
    monkeypatch.setattr("vitworkshop.cli.train.load_task", ask)
    assert main(words) == 2
    assert capsys.readouterr().err == (
        "error: DefaultCPUAllocator: can't allocate memory: you tried to allocate 18 bytes\n"
    )

    def break_down(*args, **options):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("vitworkshop.cli.train.load_task", break_down)
    with pytest.raises(RuntimeError, match="of ours"):
        main(words)


def test_fields_set_twice_are_all_heard(monkeypatch, capsys):
    told = {}
    monkeypatch.setattr(
        "vitworkshop.cli.train.recipe",
        lambda *args, **changes: told.update(changes) or 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        main(
            [
                "train",
                "--set",
                "lr=1e-3",
                "--set",
                "flip=False",
                "mixup=1",
                "name_=None",
                "data_=Ab",
            ]
        )
    assert told == {
        "lr": 1e-3,
        "flip": False,
        "mixup": 1,
        "name_": None,
        "data_": "Ab",
    }
