"""Files of others' weights, told apart by what they begin with and read without running code; what lies beside them."""

from __future__ import annotations

import textwrap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from vitlib.files import read_json

# what a file begins with that holds no weights
OTHERS = {
    b"version https://git-lfs": "a pointer of Git LFS; git lfs pull fetches the weights",
    b"<": "a web page; fetch the file itself",
    b"{": "JSON; take the weights that it speaks of, in one file",
}


class Inert:
    """In place of an object that a checkpoint holds beside its weights: made of anything, does nothing."""

    def __new__(cls, *_args: object, **_more: object) -> Inert:
        return super().__new__(cls)

    def __setstate__(self, _state: object) -> None:
        pass


def read_weights(path: str | Path) -> Any:
    """What is in a file, under the names of the library that wrote it; objects in it become empty ones."""
    path = Path(path).expanduser()
    if not path.is_file():
        raise ValueError(f"expected a file of weights, got {path}, which is not there")
    with open(path, "rb") as file:
        start = file.read(64)
    is_safe = start[8:9] == b"{"  # behind the length of the header
    if other := next(
        (
            what
            for sign, what in OTHERS.items()
            if start.startswith(sign) and not is_safe
        ),
        None,
    ):
        raise ValueError(f"{path} is {other}")
    try:
        if is_safe:
            return load_file(path)
        objects: list[Any] = []
        if start.startswith(b"PK"):
            if any(name.endswith(".npy") for name in zipfile.ZipFile(path).namelist()):
                return dict(np.load(path, allow_pickle=False))
            names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
            objects = [
                (type(name.rpartition(".")[2], (Inert,), {}), name) for name in names
            ]
        with torch.serialization.safe_globals(objects):
            return torch.load(path, map_location="cpu", weights_only=True)
    except (
        Exception
    ) as error:  # bytes that are changed or missing make the readers raise anything
        said = (
            f"{path} cannot be read without running code that it holds, or is damaged"
        )
        why = textwrap.shorten(repr(error), 200)
        raise ValueError(
            f"{said} ({why}); fetch it again, or as .safetensors"
        ) from error


def beside(path: str | Path, embed_dim: int | None) -> dict[str, Any]:
    """Hugging Face's config.json and preprocessor_config.json beside a file; {} if of a model of another width."""
    told: dict[str, Any] = {}
    for name in ("preprocessor_config.json", "config.json"):
        if (file := Path(path).expanduser().with_name(name)).is_file():
            told |= read_json(file, "fetch it again, or move it away")
    return (
        told
        if told.get("hidden_size", told.get("num_features", embed_dim)) == embed_dim
        else {}
    )
