"""A reader's own pictures on the command line: those to train on and those to test by, and those to name."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from vitlib.data.dataset import Dataset
from vitlib.data.look import fingerprints, hold_out_apart
from vitlib.data.photos import (
    class_folders,
    is_left,
    load_folder,
    load_image,
    read_pictures,
)

_TEST = ("test", "val", "valid", "validation")  # the first that is there
_IMAGES = re.compile(
    r"(jpeg)?im(age|g)s?|annotations?|labels?|masks?|xmls?|bboxes|ground_?truth",
    re.IGNORECASE,
)


def load_split(
    path: str | Path, img_size: tuple[int, int]
) -> tuple[Dataset, Dataset, str]:
    """A folder's pictures to train on, those to test by, and what these are: of test/ or val/, else a tenth of all."""
    path = Path(path).expanduser()
    folders = {_side(p.name): p for p in class_folders(path)}
    # "train" may be a class
    parts = {name: p for name, p in folders.items() if class_folders(p)}
    alone = (
        {}
        if "train" in parts
        else {s: p.name for s, p in folders.items() if s not in parts}
    )
    _check_classes(alone, class_folders(parts.get("train", path)))
    train = replace(
        load_folder(parts.get("train", path), img_size), label=path.resolve().name
    )
    if len(train.classes) < 2:
        found = train.classes[0]
        raise ValueError(
            f"expected two classes or more, got only {found}; give each a folder of its own"
        )
    part = next(
        (parts[name] for name in _TEST if name in parts and "train" in parts), None
    )
    left = [
        p.name
        for p in class_folders(path)
        if "train" in parts and p not in (parts["train"], part)
    ]
    rest = f"; not read: {', '.join(left)}" if left else ""
    flat = [folders[name].name for name in folders.keys() - parts if name in _TEST]
    if flat and left:
        rest += f", as {flat[0]} has no folder for each class"
    if part is None:
        n = len(train)
        try:
            train, test = split_folder(train)
        except ValueError as error:
            raise ValueError(f"{error}{rest}") from None
        return (
            train,
            test,
            f"{len(test)} of {n:,} pictures, a tenth of each class by seed 0{rest}",
        )
    test = load_folder(part, img_size)
    if test.classes != train.classes:
        one, two = {*train.classes}, {*test.classes}
        apart = {"train": sorted(one - two), part.name: sorted(two - one)}
        alone = [
            f"only in {of}: {', '.join(them)}" for of, them in apart.items() if them
        ]
        raise ValueError(
            f"expected the same classes in train and {part.name}, got {'; '.join(alone)}; rename them, or move "
            f"{part.name} away, and a tenth of train is held out"
        )
    return train, test, f"{len(test):,} pictures, all of {part.name}{rest}"


def _check_classes(flat: dict[str, str], folders: Sequence[Path]) -> None:
    """Refuse folders that are no classes: the sides of a split, and pictures beside what tells where something is."""
    sides = [flat[name] for name in ("train", *_TEST) if name in flat]
    if any(name in flat for name in _TEST):
        raise ValueError(
            f"no folders of classes in {' and '.join(sides)}; put each picture into one, as in train/cat/1.jpg, or "
            f"rename {sides[-1]}, if it is a class"
        )
    names = [folder.name for folder in folders]
    if len(names) > 1 and any(map(_IMAGES.fullmatch, names)):
        raise ValueError(
            f"{', '.join(names)} are no classes but pictures and their boxes, masks or labels; put each picture, or "
            "what you cut out of it, into a folder of its class, as in cat/1.jpg"
        )


def _side(name: str) -> str:
    """A folder's name as it is looked for: "train" for "training_set" and "train2017"."""
    return re.sub(r"(ing)?([ _-]?set)?\d*$", "", name.lower())


def split_folder(data: Dataset) -> tuple[Dataset, Dataset]:
    """The images of a folder to train on, and a tenth of each class to test by, the same in every run.

    All copies of a picture are on one side.
    """
    labels, marks = data.labels.tolist(), fingerprints(data)
    counts = Counter(label for label, _ in {*zip(labels, marks, strict=True)})
    few = [label for label in range(len(data.classes)) if counts[label] < 10]
    if few:
        files = labels.count(few[0])
        copied = f" in {files} files" * (files > counts[few[0]])
        got = f"{counts[few[0]]} of {data.classes[few[0]]}{copied}"
        got += "".join(f", {counts[k]} of {data.classes[k]}" for k in few[1:4])
        raise ValueError(
            f"expected 10 images or more of each class, as one in ten is held out to test by, got {got}; "
            "add some, or leave that folder out"
        )
    return hold_out_apart(data, len(data) // 10, marks)


def named_pictures(
    words: Sequence[str], size: tuple[int, int]
) -> tuple[list[tuple[str, Tensor]], list[str]]:
    """The pictures that are named, or lie in folders that are, and why the others of the words have none."""
    pictures, errors = [], []
    for word in words:
        path = Path(word).expanduser()
        try:
            if not word or not path.is_dir():
                pictures.append((word, load_image(word, size)))
                continue
            there = (
                p
                for p in sorted(path.rglob("*"))
                if not any(map(is_left, p.relative_to(path).parts))
            )
            found, skipped = read_pictures(path, filter(Path.is_file, there), size)
            if not found:
                raise ValueError(
                    f"expected pictures in {path}, got none; {skipped or 'it is empty'}"
                )
            pictures += [(str(file), image) for file, image in found.items()]
            if skipped:
                warnings.warn(skipped, stacklevel=1)
        except (OSError, ValueError) as error:
            errors.append(str(error))
    return pictures, errors
