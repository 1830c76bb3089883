"""A look at pictures before a model learns from them: copies, which no split may part, nor an accuracy take for new."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import torch

from vitlib.checks import check_between
from vitlib.data.dataset import Dataset, held_out

_SHOWN = 3  # pairs of copies in a sentence


class Picture(NamedTuple):
    """One of the pictures looked at: whether a model is tested by it, its class, and its file."""

    tested: bool
    label: str
    file: str


def look(train: Dataset, test: Dataset | None = None) -> list[str]:
    """What is odd about the pictures of a folder, or about those to train on and to test by: a sentence each.

    Copies are pictures whose pixels are all the same, at the size they were read at and whatever their files. What is
    only like another is none: at 32 pixels many are.
    """
    groups: dict[bytes, list[Picture]] = defaultdict(list)
    within: dict[tuple, list[Picture]] = defaultdict(list)  # of one side and one class
    for data in (train,) if test is None else (train, test):
        labels = [data.classes[label] for label in data.labels.tolist()]
        files = data.files or [""] * len(data)
        for mark, *said in zip(fingerprints(data), labels, files, strict=True):
            one = Picture(data is test, *said)
            groups[mark].append(one)
            within[mark, one.tested, one.label].append(one)
    total = Counter(one.label for same in groups.values() for one in same)
    different = Counter(
        label for same in groups.values() for label in {one.label for one in same}
    )
    single = [label for label, n in total.items() if different[label] == 1 < n]
    leaked = [
        (one, same[0])
        for same in groups.values()
        for one in same
        if one.tested > same[0].tested
    ]
    doubtful = [
        (same[0], other)
        for same in groups.values()
        for other in [one for one in same if one.label != same[0].label][:1]
    ]
    repeated = [
        (one, same[0])
        for same in within.values()
        for one in same[1:]
        if one.label not in single
    ]
    told = []
    if leaked:
        said = f"{len(leaked):,} of {len(test or ()):,} test pictures {_form(leaked, 'is', 'are')} also in train"
        told.append(f"{said}{_named(leaked)}; keep each on one side")
    if doubtful:
        said = f"{len(doubtful):,} {_form(doubtful, 'picture stands', 'pictures stand')} under two labels"
        told.append(f"{said}{_named(doubtful)}; keep each under one")
    for label in single:
        said = f"class {label} is {total[label]:,} files of one picture"
        told.append(f"{said}; add others")
    if repeated:
        said = f"copies within a class: {len(repeated):,} of {total.total():,} pictures"
        told.append(f"{said}{_named(repeated)}; keep one of each")
    return told


def fingerprints(data: Dataset) -> list[bytes]:
    """A hash of each picture's size and pixels."""
    size = str(tuple(data.images.shape[1:])).encode()
    return [
        blake2b(image.tobytes(), digest_size=16, key=size).digest()
        for image in data.images.cpu().numpy()
    ]


def also_in(train: Dataset, test: Dataset) -> int:
    """How many of the pictures to test by are copies of some to train on."""
    known = {*fingerprints(train)}
    return sum(mark in known for mark in fingerprints(test))


def hold_out_apart(
    data: Dataset, n: int, marks: list[bytes]
) -> tuple[Dataset, Dataset]:
    """As `Dataset.hold_out`, with all copies of a picture on one side: n files where there are none, else about n.

    The marks are the pictures' `fingerprints`.
    """
    check_between("n", n, 1, len(data) - 1)
    first: dict[bytes, int] = {}
    firsts = [first.setdefault(mark, i) for i, mark in enumerate(marks)]
    places = torch.tensor([*first.values()])  # of one copy of each picture
    n = min(max(1, round(n * len(places) / len(data))), len(places) - 1)
    _, chosen = held_out(data.labels[places], n)
    held = torch.isin(torch.tensor(firsts), places[chosen])
    return data.take((~held).nonzero()[:, 0]), data.take(held.nonzero()[:, 0])


def _form(pairs: list, one: str, many: str) -> str:
    return one if len(pairs) == 1 else many


def _named(pairs: list[tuple[Picture, Picture]]) -> str:
    """Some pairs of copies in brackets, by folder, class and file, if they come from files."""
    shown = [
        " is ".join("/".join(Path(one.file).parts[-3:]) for one in pair)
        for pair in pairs[:_SHOWN]
        if all(one.file for one in pair)
    ]
    more = ["..."] * (len(pairs) > _SHOWN)
    return f" ({', '.join(shown + more)})" if shown else ""
