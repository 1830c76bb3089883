"""Files of others' weights, told apart by what they begin with and read without running code; what lies beside them."""

from __future__ import annotations

import re
import textwrap
import warnings
import zipfile
from codecs import getincrementaldecoder
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from vitlib.files import printable, read_json

# what a file may begin with that holds no weights, and what helps
OTHERS = {
    b"version https://git-lfs": "a pointer of Git LFS; git lfs pull fetches the weights",
    b"<svg": "a drawing (SVG); save it as PNG",
    b"<?xml": "XML, or a drawing (SVG); save that as PNG",
    b"<": "a web page; fetch the file itself",
    b"{": "JSON; take the weights that it speaks of, or the folder of its pictures",
    b"\x89HDF": "Keras's (HDF5); take the weights that PyTorch or safetensors wrote",
    b"GGUF": "llama.cpp's (GGUF), rounded; take the weights that it was made of",
    b"\x08": "ONNX or TensorFlow's, a graph; take the weights that it was made of",
    b"\0\0\x08": "pictures or labels as MNIST's (IDX); write the pictures as PNG",
    b"\x93NUMPY": "an array (.npy); np.savez writes weights, vl.load_image(np.load(FILE)) reads a picture",
    b"\x1f\x8b": "an archive (gzip); unpack it first",
    b"7z\xbc\xaf": "an archive (7z); unpack it first",
    b"Rar!": "an archive (RAR); unpack it first",
    b"\xfd7zXZ": "an archive (xz); unpack it first",
    b"%PDF": "a document (PDF); save its pictures as JPEG or PNG",
    b"8BPS": "Photoshop's (PSD); save it as JPEG or PNG",
    b"PAR1": "a table (Parquet); write its pictures as files",
}
# the same, where other bytes come before
LATER = {
    (257, b"ustar"): "an archive (tar); unpack it first",
    (4, b"ftyp"): "HEIC, AVIF or a film; save a picture as JPEG or PNG",
    (4, b"TFL3"): "TensorFlow Lite's; take the weights that it was made of",
    (128, b"DICM"): "a scan (DICOM); save its picture as PNG",
}
LEGACY = (
    b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19"  # a number that PyTorch's old files begin with
)
LISTS = "python -m vitlib look lists what is read"
# what libraries call the weights in a folder, and the list of the files that they are spread over
IN_FOLDERS = ("model.safetensors", "pytorch_model.bin", "open_clip_model.safetensors")
INDEX = ".index.json"
INDEXES = [f"{name}{INDEX}" for name in IN_FOLDERS]
# by a name in an archive: what it is
ARCHIVES = {
    "model.weights.h5": "Keras's; take the weights that PyTorch or safetensors wrote",
    "models/model.json": "torch.export's program; "
    "torch.save(torch.export.load(FILE).state_dict, NEW) takes its weights",
}
# what a server says in place of a file
REFUSED = re.compile(
    r"access|credential|unauthori[sz]ed|denied|not found|forbidden|rate limit|error",
    re.IGNORECASE,
)
SHARD = re.compile(r"-(\d+)-of-(\d+)(?=\.\w+$)")
READ = (".safetensors", ".bin", ".pt", ".pth", ".npz", ".ckpt")


class Inert:
    """In place of an object that a checkpoint holds beside its weights: made of anything, does nothing."""

    def __new__(cls, *_args: object, **_more: object) -> Inert:
        return super().__new__(cls)

    def __setstate__(self, _state: object) -> None:
        pass


def read_weights(path: str | Path) -> Any:
    """What is in a file, or in all files that weights are spread over, under the names of the library that wrote them.

    Objects in it become empty ones.

    Raises:
        ValueError: If there are no weights, with what is there instead.
    """
    files = shards_of(find_weights(path))
    if len(files) == 1:
        return _read(files[0])
    whole: dict[str, Any] = {}
    for file in files:
        whole |= _read(file)
    return whole


def find_weights(path: str | Path) -> Path:
    """The file of weights, or their index, at `path`: itself, or the one in a folder of a library's."""
    path = Path(path).expanduser()
    if path.is_file():
        return path
    if not path.is_dir():
        raise ValueError(f"expected a file of weights, got {path}, which is not there")
    usual = [path / name for name in (*IN_FOLDERS, *INDEXES)]
    if found := next(filter(Path.is_file, usual), None):
        return found
    files = sorted(file for file in path.iterdir() if file.suffix in READ)
    whole = {SHARD.sub("", file.name) for file in files}
    if len(whole) != 1:
        names = printable(", ".join(sorted(whole)[:4])) or "none"
        raise ValueError(
            f"expected one file of weights in {path}, got {names}; give its path"
        )
    return files[0]


def shards_of(path: Path) -> list[Path]:
    """The files that the weights at `path` are spread over, by their index or their names; most often itself alone."""
    if path.name.endswith(INDEX):
        names = read_json(path, "fetch it again").get("weight_map")
        if not isinstance(names, dict) or not all(map(_is_name, names.values())):
            raise ValueError(f"{path} lists no files of weights; fetch it again")
        files = [path.with_name(name) for name in sorted(set(names.values()))]
    elif numbers := SHARD.search(path.name):
        count, width = int(numbers[2]), len(numbers[1])
        if not 1 <= count <= 999:
            raise ValueError(f"expected 1 to 999 files, got {count} by {path.name}")
        files = [
            path.with_name(SHARD.sub(f"-{i:0{width}}-of-{numbers[2]}", path.name))
            for i in range(1, count + 1)
        ]
    else:
        return [path]
    if missing := [file.name for file in files if not file.is_file()]:
        raise ValueError(
            f"the weights lie in {len(files)} files, {', '.join(missing[:4])} of them not in {path.parent}; "
            "fetch them, too"
        )
    return files


def _is_name(name: object) -> bool:
    return isinstance(name, str) and Path(name).name == name


def _read(path: Path) -> Any:
    with open(path, "rb") as file:
        start = file.read(512)
    if what := not_weights(start):
        raise ValueError(f"{path} is {what}")
    is_safe, is_zip = start[8:9] == b"{", start.startswith(b"PK")
    try:
        if is_safe:  # behind the length of the header
            return load_file(path)
        names = zipfile.ZipFile(path).namelist() if is_zip else []
        is_program = any("/code/" in name for name in names)
        is_pickled = not is_zip or any(name.endswith("data.pkl") for name in names)
        if any(name.endswith(".npy") for name in names):
            return dict(np.load(path, allow_pickle=False))
        if is_pickled and not is_program:
            # an open file: by its path, PyTorch would look at the ending
            with open(path, "rb") as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _read_pickle(file, is_zip)
    except (
        Exception
    ) as error:  # bytes that are changed or missing make the readers raise anything
        kind = "a safetensors file" if is_safe else "a PyTorch file"
        why = textwrap.shorten(repr(error), 200)
        code = (
            "" if is_safe else "cannot be read without running code that it holds, or "
        )
        said = f"{path} begins as {kind} and {code}is damaged"
        raise ValueError(
            f"{said} ({why}); fetch it again, or take the weights that PyTorch or safetensors wrote"
        ) from error
    if is_program:
        fix = "torch.save(torch.jit.load(FILE).state_dict(), NEW) takes its weights"
        raise ValueError(f"{path} is a program (TorchScript); {fix}")
    what = "an archive (zip) of other files; unpack it and look at the folder"
    for sign, of in ARCHIVES.items():
        what = of if any(name.endswith(sign) for name in names) else what
    raise ValueError(f"{path} is {what}")


def _read_pickle(file: Any, is_zip: bool) -> Any:
    """What PyTorch wrote, its tensors alone; only its zip files tell which classes they hold."""
    objects: list[Any] = []
    if is_zip:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(file)
        objects = [
            (type(name.rpartition(".")[2], (Inert,), {"__module__": name}), name)
            for name in names
        ]
        file.seek(0)
    with torch.serialization.safe_globals(objects):
        return torch.load(file, map_location="cpu", weights_only=True)


def not_weights(start: bytes) -> str:
    """What a file is that begins with these bytes, if it can hold no weights; else ""."""
    if not start:
        return "empty; fetch it again"
    if start[8:9] == b"{":
        return ""
    for sign, what in OTHERS.items():
        if start.startswith(sign):
            return what
    for (at, sign), what in LATER.items():
        if start.startswith(sign, at):
            return what
    if start.startswith(b"PK") or LEGACY in start[:32]:  # a zip, or an old file
        return ""
    if start.startswith(b"\x80"):
        fix = "torch.save({k: torch.as_tensor(v) for k, v in pickle.load(open(FILE, 'rb')).items()}, NEW)"
        return f"a pickle, which can run anything as it is read; if you trust it, {fix} makes weights of it"
    try:  # a letter may be cut
        text = getincrementaldecoder("utf-8-sig")().decode(start[:64])
    except UnicodeDecodeError:
        text = "\0"
    if all(letter.isprintable() or letter.isspace() for letter in text):
        words = printable(" ".join(text.split()))[:40]
        fix = "fetch the file itself, where need be with your access token"
        return f"text ({words!r} ...); {fix if REFUSED.search(text) else LISTS}"
    return f"of no kind that is read, it begins with {start[:8]!r}; {LISTS}"


def beside(path: str | Path, embed_dim: int | None = None) -> dict[str, Any]:
    """What Hugging Face's and open_clip's JSON beside a file tells; {} if it is of a model of another width."""
    told: dict[str, Any] = {}
    place = find_weights(path)
    for name in ("preprocessor_config.json", "config.json"):
        if (file := place.with_name(name)).is_file():
            told |= read_json(file, "fetch it again, or move it away")
    if name := told.get("architecture") or told.get("model_type"):
        told["called"] = f"called {printable(str(name))} in config.json"
    # of CLIP or SigLIP, whole; of FLAVA; of an encoder and a decoder
    for tower in ("vision_config", "image_config", "encoder", "backbone_config"):
        if isinstance(told.get(tower), dict):
            told |= told[tower]
    if (file := place.with_name("open_clip_config.json")).is_file():
        whole = read_json(file, "fetch it again, or move it away")
        made, way = whole.get("model_cfg", {}), whole.get("preprocess_cfg", {})
        tower = made.get("vision_cfg", {})
        if width := tower.get("width"):  # else it is a model of timm's
            told["hidden_act"] = "quick_gelu" if made.get("quick_gelu") else "gelu"
            told["num_attention_heads"] = width // tower.get("head_width", 64)
        told |= {"image_mean": way.get("mean"), "image_std": way.get("std")}
    width = told.get("hidden_size", told.get("num_features", embed_dim))
    return told if embed_dim in (None, width) else {}
