"""`python -m vitlib look THING`: what a file or folder is, what is ignored or assumed of it, and the next command."""

from __future__ import annotations

import argparse
import fnmatch
import io
import os
import re
import shlex
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from vitlib.checks import checked
from vitlib.config import ResNetConfig, ViTConfig
from vitlib.data.cifar10 import FETCH, find_cifar10
from vitlib.data.look import look as look_at
from vitlib.data.photos import (
    PICTURES,
    class_folders,
    is_left,
    load_image,
    visible,
)
from vitlib.data.pixels import FORMATS
from vitlib.files import printable, read_json
from vitlib.weights.families import FAMILIES
from vitlib.weights.files import (
    IN_FOLDERS,
    LISTS,
    READ,
    beside,
    find_weights,
    not_weights,
    shards_of,
)
from vitlib.weights.names import ABSENT, LIBRARIES, ODD, some
from vitlib.weights.pretrained import (
    is_checkpoint,
    is_others,
    list_pretrained,
    load_pretrained,
    save_pretrained,
)
from vitworkshop.cli.pictures import load_split
from vitworkshop.cli.weights import add_assume, assumed, assuming, described

__all__ = ["Look", "look"]

_RUN = "python -m vitlib"
_SIDE = (32, 32)  # of the pictures that are compared
_MANY = 5_000  # files and folders that are looked at further down
_HANDED_IN = (".ipynb", ".zip")
_LARGE = 20_000_000  # bytes of a notebook
# what trainers keep beside weights
_BESIDE = re.compile(
    r"optim|sched|scaler|rng_state|training_args|random_states|zero_pp_rank"
)
_TASK = re.compile(r"\b(?:task|Answer) (\d)\.\d")
_PICTURE = re.compile(
    r"\.(jpe?g|png|webp|bmp|gif|tiff?|ppm|hei[cf]|avif)$", re.IGNORECASE
)

# what tells in a file beside a picture of its name, or in one for all, what or where something is in pictures
_TOLD = {
    ".txt": "boxes (as YOLO's)",
    ".xml": "boxes (as Pascal VOC's)",
    ".json": "boxes or outlines (as COCO's or LabelMe's)",
    ".csv": "a table",
}
_LABELS = re.compile(r"(annot|instances|coco).*\.json$|\.csv$", re.IGNORECASE)
# what lies in a folder that other programs made: what it is
_PLACES = {
    "*.distcp": "a checkpoint in parts (torch.distributed.checkpoint); "
    "python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER NEW.pt makes one file of it",
    "*zero_pp_rank_*_model_states.pt": "a checkpoint in parts (DeepSpeed, ZeRO 3); "
    "python zero_to_fp32.py . NEW, in the folder above, writes all of it",
    "saved_model.pb": "TensorFlow's program; take the weights that PyTorch or safetensors wrote",
    "*.data-?????-of-?????": "TensorFlow's checkpoint; take the weights that PyTorch or safetensors wrote",
    "manifest.ocdbt": "a checkpoint of JAX (Orbax); restore it and write its arrays by np.savez",
    "group1-shard*": "TensorFlow.js's; take the weights that it was made of",
}
# of whom or when pictures are: folders of such names are seldom classes
_WHOSE = re.compile(
    r"(pat(ient)?|case|sub(j(ect)?)?|person|user|study|scan|visit|session|video|clip)s?[ _-]?\w?\d+",
    re.IGNORECASE,
)


class Look(NamedTuple):
    """What `look` found; printed, it is its lines and the next command."""

    lines: list[str]
    command: str

    def __str__(self) -> str:
        return "\n".join([*self.lines, f"next: {self.command}"])


def configure(commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "look",
        help="say what a file or folder is, and the next command",
        description="Say what a file or folder is: a ViT's weights, a picture, a folder of pictures, a run, what\n"
        "students handed in; what of it is ignored, missing, repeated or assumed; and the next command. Without\n"
        "THING, list what is read.",
        epilog="example: python -m vitlib look dinov2.safetensors",
    )
    p.add_argument("thing", nargs="?", metavar="THING", help="a file or a folder")
    add_assume(p)
    text = "write others' weights as one file and a card, which the book's page, too, reads"
    p.add_argument("--save", type=Path, metavar="FOLDER", help=text)
    p.set_defaults(run=_look)


def _look(args: argparse.Namespace) -> None:
    if args.save is not None:
        print("\n".join(_save(args)))
    elif args.thing is not None:
        print(look(args.thing, **assumed(args)))
    else:
        print("\n".join(_readable()))


def _readable() -> list[str]:
    """What is read, and what is refused by name."""
    lacks = [*ABSENT.values(), *ODD.values()]
    return [
        f"weights, of a ViT, as {', '.join(READ)} or in several files:",
        f"  under the names of {', '.join(LIBRARIES)}",
        f"  of the families {', '.join(FAMILIES)}",
        f"  not: {'; '.join(lacks)}",
        "a picture, a folder of pictures, one with a folder for each class, or with train/ and test/",
        "the folder of a run; a folder, or a platform's zip, of notebooks that were handed in",
    ]


@checked
def look(thing: str | Path, **assume: object) -> Look:
    """What a file or a folder is, in a few lines, and the next command, which works.

    Args:
        thing: A file of weights, or their folder; a picture; a folder of pictures, with a folder for each class or with
            train/ and test/, too; the folder of a run; notebooks that were handed in, as a folder or a platform's
            zip; the name of a model of the book.
        **assume: What no file tells of others' weights; see `load_pretrained`.

    Returns:
        Lines, what is ignored, missing, repeated or assumed among them, and the command.

    Raises:
        ValueError: If it is none of these, or damaged; the message says what it is and what helps.

    Source: chapter 16.
    """
    path = Path(thing).expanduser()
    is_runs = (
        path.name == "log.json" or path.name == "checkpoint.pt" and is_checkpoint(path)
    )
    if is_runs and (path.parent / "log.json").is_file() and not is_others(path.parent):
        path = path.parent
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{thing} is no file and no folder; {LISTS}")
    if not path.exists() and str(thing) not in list_pretrained():
        fix = "nothing is downloaded: fetch the file, then look at it"
        if path.is_symlink():
            fix = f"{printable(os.readlink(path))}, where the link leads, neither"
        raise ValueError(f"{thing} is not there, and {fix}; {LISTS}")
    if path.suffix == ".json" and path.with_suffix(".safetensors").is_file():
        path = path.with_suffix(".safetensors")
    if found := _cifar10(path):
        return found
    if found := _handed_in(path):
        return found
    if not any((path / name).is_file() for name in IN_FOLDERS):
        _check_place(path)
    if path.exists() and is_others(path) and not _is_picture(path):
        return _weights(path, assume)
    if assume:
        raise ValueError(
            f"expected no {', '.join(assume)}: {thing} is no file of others' weights"
        )
    kinds: list[Callable[[Path], Look | None]] = [
        _model,
        _unfinished,
        _picture,
        _pictures,
        _further_down,
        _places,
        _card_alone,
    ]
    for kind in kinds:
        if found := kind(path):
            return found
    raise ValueError(
        f"{thing} holds no weights, pictures, run or homework{_other(path)}; {LISTS}"
    )


def _cifar10(path: Path) -> Look | None:
    """The data set of the book, as its official files."""
    for place in (path, path.parent):
        if (found := find_cifar10(place)) and path in (place, found):
            line = f"{printable(path.name)}: CIFAR-10; with VITLIB_DATA={_quoted(place)} the commands find it"
            return Look([line], f"{_RUN} data verify --root {_quoted(place)}")
    around = (path, path.parent, *class_folders(path))
    if any(
        re.match(r"cifar-10-(batches-py|python\.)", place.name)
        or (place / "batches.meta").is_file()
        for place in around
    ):
        raise ValueError(f"{path} is CIFAR-10 as pickles; {FETCH} fetches what is read")
    return None


def _places(path: Path) -> None:
    """Refuse what other programs left in a folder's folders."""
    for folder in sorted({file.parent for file in _inside(path)}):
        _check_place(folder)


def _check_place(path: Path) -> None:
    """Refuse a folder, or a file in it, that another program made, by the names of files."""
    folder, name = (path.parent, path.name) if path.is_file() else (path, "*")
    names = [file.name for file in folder.glob(name)]
    for sign, what in _PLACES.items():
        if fnmatch.filter(names, sign):
            said = what.replace("FOLDER", shlex.quote(str(folder)))
            raise ValueError(f"{path} is {said}")


def _other(path: Path) -> str:
    """What a file in a folder is of which nothing is read, if its first bytes tell."""
    for file in _inside(path):
        if file.suffix == ".ipynb":
            return f", and {printable(file.name)} names no task of a homework"
        what = _not_weights(file) if file.is_file() else ""
        if what and not what.startswith(("text", "empty", "of no kind", "a pickle")):
            return f": {printable(file.relative_to(path).as_posix())} is {what}"
    return ""


def _inside(path: Path) -> list[Path]:
    """What lies in a folder and its folders, but for what is hidden or left there by a system."""
    files = islice(path.rglob("*"), _MANY) if path.is_dir() else ()
    return [
        file
        for file in sorted(files)
        if not any(map(is_left, file.relative_to(path).parts))
    ]


def _further_down(path: Path) -> Look | None:
    """What lies in a folder's folders, by its name alone, and where to look."""
    files = _inside(path)
    found = {
        "weights": [file.parent for file in files if file.name in IN_FOLDERS]
        or [file for file in files if _holds_weights(file)],
        "a run": [p.parent for p in files if p.name == "log.json" and p.parent != path],
        "pictures": [  # as in data/train/cat/1.jpg
            file.parents[2]
            for file in files
            if _PICTURE.search(file.name) and path in file.parents[3:]
        ],
    }
    for what, places in found.items():
        if places := sorted({*places}):
            names = some(place.relative_to(path).as_posix() for place in places)
            line = f"{printable(path.name)}: {what} in {printable(names)}"
            return Look([line], f"{_RUN} look {_quoted(places[-1])}")
    return None


def _card_alone(path: Path) -> Look | None:
    """A card whose weights lie elsewhere."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    for file in (file for file in files if file.suffix == ".json"):
        try:
            told = read_json(file, "")
        except ValueError:  # others' lists
            continue
        weights = file.with_suffix(".safetensors")
        if {"name", "config", "sha256"} <= told.keys():
            fix = f"put {weights.name} beside it"
            raise ValueError(f"{file} is a card without its weights; {fix}")
    return None


def _holds_weights(file: Path) -> bool:
    """By its name, as trainers call their checkpoints, and its first bytes."""
    if not (file.name.endswith((*READ, ".pth.tar")) and file.is_file()):
        return False
    return not (_BESIDE.search(file.name) or _not_weights(file))


def _not_weights(file: Path) -> str:
    """What a file is by its first bytes, if no weights."""
    with open(file, "rb") as opened:
        return not_weights(opened.read(512))


def _weights(path: Path, assume: dict) -> Look:
    """A ViT that others trained."""
    model, card = load_pretrained(path, **assume)
    files = shards_of(find_weights(path))
    size = sum(file.stat().st_size for file in files)
    lines = described(card)
    if card["ignored"]:
        lines.append(f"ignored: {card['ignored']}")
    around = [file.name for file in files[0].parent.iterdir() if _holds_weights(file)]
    others = sorted({*around} - {file.name for file in files})
    if path.is_dir() and others:
        lines.append(f"beside it, and not looked at: {printable(some(others))}")
    config = files[0].with_name("config.json")
    if config.is_file() and not beside(path, model.cfg.embed_dim):
        lines.append("config.json beside it is another model's, and is not read")
    told = "".join(f", {key}={value!r}" for key, value in assume.items())
    lines.append(
        f"{size / 1e6:.0f} MB in {len(files)} file{'s' * (len(files) > 1)}; in Python: "
        f"model, card = vl.load_pretrained({str(path)!r}{told})"
    )
    said = f" --assume {assuming(assume)}" if assume else ""
    if files[0].suffix != ".safetensors" or len(files) > 1:
        to = shlex.quote(f"{card['name']}-for-the-page")
        lines.append(
            f"for the book's page: {_RUN} look {_quoted(path)}{said} --save {to}"
        )
    if model.cfg.in_chans != 3:
        return Look(lines, _in_python(path, model.cfg))
    return Look(lines, f"{_RUN} check-pretrained {_quoted(path)}{said}")


def _in_python(path: str | Path, cfg: ViTConfig | ResNetConfig) -> str:
    """A model called, as commands do not that take pictures of three channels."""
    shape = ", ".join(map(str, (1, cfg.in_chans, *cfg.image_shape)))
    opened = (
        f"import torch, vitlib as vl; model, card = vl.load_pretrained({str(path)!r})"
    )
    return f"python -c {shlex.quote(f'{opened}; print(model(torch.zeros({shape})))')}"


def _save(args: argparse.Namespace) -> list[str]:
    """Others' weights as one file in float16, and a card that tells what they were taken for."""
    path = Path(args.thing or "").expanduser()
    if args.thing is None or not is_others(path) or _is_picture(path):
        raise ValueError(f"--save is for others' weights, {args.thing} is none")
    model, card = load_pretrained(args.thing, **assumed(args))
    # they are in the patch embedding now
    card |= {"mean": [0.5] * 3, "std": [0.5] * 3}
    place = save_pretrained(model, card, args.save)
    return [
        *described(card),
        f"wrote {place} and {place.with_suffix('.json')}; the page takes both together",
        f"next: {_RUN} look {_quoted(args.save)}",
    ]


def _model(path: Path) -> Look | None:
    """A model of the book, or of a run that has finished, by its card."""
    inside = list_pretrained(path) if path.is_dir() else []
    is_one = len(inside) == 1 or path.suffix == ".safetensors" or is_checkpoint(path)
    if path.exists() and not is_one:
        return None
    model, card = load_pretrained(str(path))
    sizes = f"{model.cfg.depth} blocks, {model.cfg.image_shape[0]} x {model.cfg.image_shape[1]} pixels"
    count = sum(p.numel() for p in model.parameters())
    lines = [
        f"{printable(card['name'])}: a {type(model).__name__} of this book's kind, {sizes}, {count:,} parameters"
    ]
    if "final" in card:
        said = card["final"]["test_accuracy"]
        lines.append(
            f"{said:.2%} of the test pictures of {card.get('dataset', 'its data')}"
        )
    elif "epochs" in card:
        of = card["recipe"]["epochs"]
        lines.append(
            f"a run's checkpoint, behind {len(card['epochs'])} of {of} epochs, not tested"
        )
    if card.get("command"):
        lines.append(f"made by: {printable(card['command'])}")
    name = _quoted(path if path.exists() else path.name)
    if model.cfg.in_chans != 3:
        return Look(lines, _in_python(path if path.exists() else path.name, model.cfg))
    if model.cfg.num_classes < 2 or card.get("projects"):
        return Look(lines, f"{_RUN} finetune {name} --data drawn10")
    return Look(lines, f"{_RUN} predict {name} {_quoted(PICTURES)}")


def _unfinished(path: Path) -> Look | None:
    """A run that has not finished: its log tells how far it came, and the command."""
    if not (path / "log.json").is_file():
        return None
    log = read_json(path / "log.json", "take the checkpoint's run, or start it anew")
    if "recipe" not in log:  # another trainer's
        return None
    done, recipe = len(log.get("epochs", [])), log["recipe"]
    kept = path / "checkpoint.pt"
    is_whole = done == recipe.get("epochs") and kept.is_file()
    if is_whole and (found := _model(kept)):
        line = f"{printable(path.name)}: a finished run; its file of weights is gone, its checkpoint holds them"
        return Look([line, *found.lines], found.command)
    line = f"{printable(path.name)}: a run that has not finished, {done} of {recipe.get('epochs', '?')} epochs"
    command = log.get("command") or f"{_RUN} train --help"
    return Look([line, "the same command goes on where it was"], printable(command))


def _opens(path: Path) -> bool:
    """Whether a file begins as a picture that is read."""
    with open(path, "rb") as file:
        start = io.BytesIO(file.read(4096))
    try:
        with Image.open(start, formats=FORMATS):
            return True
    except Exception:  # what decoders say of bytes that are no picture
        return False


def _is_picture(path: Path) -> bool:
    return path.is_file() and (bool(_PICTURE.search(path.name)) or _opens(path))


def _picture(path: Path) -> Look | None:
    """One picture."""
    if not _is_picture(path):
        return None
    height, width = load_image(path).shape[1:]
    with Image.open(path) as opened:
        kind, stored = opened.format, opened.size
    turned = ", turned as its EXIF says" * (stored != (width, height))
    line = (
        f"{printable(path.name)}: a picture, {kind}, {width} x {height} pixels{turned}"
    )
    return Look([line], f"{_RUN} predict cifar10-photo {_quoted(path)}")


def _notebooks(path: Path) -> dict[str, str]:
    """The notebooks at a path, or in a folder, in a zip and in zips there, each with its text; no program's copies."""
    files, top = [path], path.parent
    if path.is_dir():
        inside = (file for file in path.rglob("*") if file.suffix in _HANDED_IN)
        files, top = sorted(inside), path
    raw: dict[str, bytes] = {}
    for file in files:
        name = file.relative_to(top).as_posix()
        if not file.is_file() or "/." in f"/{name}":
            continue
        if file.suffix == ".ipynb":
            raw[name] = file.read_bytes()
        elif zipfile.is_zipfile(file):
            raw |= {f"{name}/{inner}": text for inner, text in _unpacked(file)}
    return {name: text.decode(errors="replace") for name, text in raw.items()}


def _unpacked(source: Path | io.BytesIO) -> Iterator[tuple[str, bytes]]:
    """The notebooks in a zip, and in the zips that it holds, as platforms pack them."""
    with zipfile.ZipFile(source) as packed:
        for info in packed.infolist():
            kind = Path(info.filename).suffix
            if kind not in _HANDED_IN or "/." in f"/{info.filename}":
                continue
            if info.flag_bits & 1:
                raise ValueError(
                    f"{info.filename} in the zip has a password; unpack it first"
                )
            if info.file_size > _LARGE:
                continue
            raw = packed.read(info)
            if kind == ".ipynb":
                yield info.filename, raw
            elif isinstance(source, Path) and zipfile.is_zipfile(io.BytesIO(raw)):
                for name, text in _unpacked(io.BytesIO(raw)):
                    yield f"{info.filename}/{name}", text


def _handed_in(path: Path) -> Look | None:
    """What students handed in, by the tasks and answers that the notebooks name."""
    notebooks = _notebooks(path)
    named = {name: {*_TASK.findall(text)} for name, text in notebooks.items()}
    found = Counter(number for numbers in named.values() for number in numbers)
    if not found and notebooks and path.is_file():
        raise ValueError(
            f"no notebook of {len(notebooks)} in {path} names a task of a homework; {LISTS}"
        )
    if not found:
        return None
    (number, count), *others = found.most_common()
    name, lines = printable(path.name), []
    counted = "".join(f", {count} of homework {other}" for other, count in others)
    line = f"{name}: {count} of {len(notebooks)} notebooks are of homework {number}{counted}"
    alone = [path / name for name in named if number in named[name]]
    if path.suffix == ".ipynb":
        line = f"{name}: a notebook of homework {number}"
    elif path.is_dir() and count == 1 and alone[0].is_file():
        path = alone[0]
    elif count < len(notebooks):
        lines = ["grade takes the others in, too; move them away"]
    command = f"python -m classroom grade --homework {number} {_quoted(path)}"
    return Look([line, *lines], command)


def _pictures(path: Path) -> Look | None:
    """A folder of pictures."""
    classes = class_folders(path) if path.is_dir() else []
    rooms = [path, *classes, *(room for one in classes for room in class_folders(one))]
    files = [file for room in rooms for file in visible(room) if file.is_file()]
    pictures = [
        file
        for file in files
        if _PICTURE.search(file.name) or file.parent == path and _is_picture(file)
    ]
    if not pictures:
        return None
    if not any(map(_opens, pictures)):
        load_image(pictures[0])  # says why not
    name, count = printable(path.name), len(pictures)
    counted = f"{name}: {count:,} picture{'s' * (count > 1)}"
    command = f"{_RUN} predict cifar10-photo {_quoted(path)}"
    told = _labels(path, files, {file.stem for file in pictures})
    names = {file.parent.name for file in pictures if file.parent in classes}
    is_few = len(names) > 9 and count < 3 * len(names)
    if len(names) > 1 and (is_few or all(map(_WHOSE.fullmatch, names))):
        told.append(
            f"are {some(names)} classes? To tell what all of them may have, put pictures into folders of it, as in "
            "train/ill/1.jpg, and all of one patient, or of one film, on one side"
        )
    if all(file.parent == path for file in pictures):
        return Look([f"{counted}, in no class's folder", *told], command)
    try:
        train, test, held_out = load_split(path, _SIDE)
    except ValueError as error:
        inside = {file.parents[1] for file in pictures} & {*classes}
        if inside:  # by itself it may be one to train on
            first = min(inside, key=lambda one: ("train" not in one.name.lower(), one))
            command = f"{_RUN} look {_quoted(first)}"
        return Look([counted, *told, f"not to train on yet: {error}"], command)
    counts = train.labels.bincount(minlength=len(train.classes)).tolist()
    counted = ", ".join(
        f"{c} {n:,}" for c, n in zip(train.classes, counts, strict=True)
    )
    lines = [
        f"{name}: pictures to train on, {printable(counted)}; to test by, {held_out}"
    ]
    command = f"{_RUN} finetune cifar10-photo --data {_quoted(path)}"
    return Look([*lines, *told, *look_at(train, test)], command)


def _labels(path: Path, files: list[Path], stems: set[str]) -> list[str]:
    """What lies beside pictures and tells what or where something is in them, an example of each kind."""
    found: dict[str, Path] = {}
    for file in files:
        is_label = file.stem in stems or _LABELS.search("/".join(file.parts[-2:]))
        if is_label and file.suffix in _TOLD:
            found.setdefault(_TOLD[file.suffix], file)
    return [
        f"{what} beside them, not read: {printable(file.relative_to(path).as_posix())}"
        for what, file in found.items()
    ]


def _quoted(path: str | Path) -> str:
    text = printable(str(path))
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
