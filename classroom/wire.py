"""Values that cross between the judge and a student's process: JSON and the bytes of tensors, never a pickle."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from vitlib import VisionTransformer, ViTConfig

# of a student's value at most: bytes of JSON; parts; in a set or dict
TEXT, PARTS, MEMBERS = 1_000_000, 20_000, 1_000
DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128")
_SIZES = struct.Struct("<QQ")  # of the text, of the tensors


def pack(value: Any) -> bytes:
    """A value as bytes; what is none of the known kinds leaves only its type's name."""
    blobs: list[bytes] = []
    text = json.dumps(_encode(value, blobs)).encode()
    data = b"".join(blobs)
    return _SIZES.pack(len(text), len(data)) + text + data


def unpack(raw: bytes, models: bool = False) -> Iterator[Any]:
    """The values in bytes that a student may have written: ends with the first that is damaged.

    With `models`, a ViT may be among them, and long text; a student's process sends none.
    """
    at = 0
    while at + _SIZES.size <= len(raw):
        text, data = _SIZES.unpack_from(raw, at)
        start, at = at + _SIZES.size, at + _SIZES.size + text + data
        if text > TEXT and not models or at > len(raw):
            return
        try:
            blob = memoryview(raw)[start + text : at]
            yield _decode(json.loads(raw[start : start + text]), _Reader(blob, models), models)
        except Exception:  # whatever it is: bytes from outside, and nothing is lost but their writer's answer
            return


def _encode(x: Any, blobs: list[bytes]) -> Any:
    if x is None or type(x) in (bool, int, float, str):
        return x
    if isinstance(x, VisionTransformer):
        return {"kind": "vit", "config": asdict(x.cfg), "state": _encode(dict(x.state_dict()), blobs)}
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biufc":
        x = torch.as_tensor(x)
    if isinstance(x, torch.Tensor):
        x = x.detach().cpu()
        x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        dtype = str(x.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            x, dtype = x.long(), "int64"
        blobs.append(x.contiguous().numpy().tobytes())
        return {"kind": "tensor", "dtype": dtype, "shape": list(x.shape)}
    if isinstance(x, dict):
        return {"kind": "dict", "items": [[_encode(k, blobs), _encode(v, blobs)] for k, v in x.items()]}
    for kind in (list, tuple, set):
        if isinstance(x, kind):
            return {"kind": kind.__name__, "items": [_encode(each, blobs) for each in x]}
    return {"kind": "other", "name": type(x).__name__[:40]}


class _Reader:
    """The tensors' bytes, one after the other; and how many parts there may still be."""

    def __init__(self, blob: memoryview, models: bool) -> None:
        self.blob, self.at, self.left = blob, 0, math.inf if models else PARTS

    def tensor(self, dtype: str, shape: list[int]) -> torch.Tensor:
        if dtype not in DTYPES or len(shape) > 8 or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"no tensor is {dtype!r:.20}, {shape!r:.80}")
        size = math.prod(shape) * np.dtype(dtype).itemsize
        part, self.at = self.blob[self.at : self.at + size], self.at + size
        if len(part) != size:
            raise ValueError(f"expected {size} bytes, got {len(part)}")
        return torch.from_numpy(np.frombuffer(part, dtype).reshape(shape).copy())


def _decode(x: Any, reader: _Reader, models: bool) -> Any:
    reader.left -= 1
    if reader.left < 0 or isinstance(x, int) and x.bit_length() > 64:
        raise ValueError("too many parts, or a whole number that is too long")
    if not isinstance(x, dict):
        if isinstance(x, list):
            raise ValueError("a list must say its kind")
        return x
    kind = x["kind"]
    if kind in ("set", "dict") and len(x["items"]) > MEMBERS:  # whose hashes may all be the same
        raise ValueError(f"expected at most {MEMBERS:,} members")
    if kind == "tensor":
        return reader.tensor(x["dtype"], x["shape"])
    if kind == "vit" and models:
        model = VisionTransformer(ViTConfig(**x["config"]))
        model.load_state_dict(_decode(x["state"], reader, models))
        return model.eval()
    if kind == "other":
        return type(str(x["name"])[:40], (), {})()
    if kind == "dict":
        return {_decode(k, reader, models): _decode(v, reader, models) for k, v in x["items"]}
    items = [_decode(each, reader, models) for each in x["items"]]
    return {"list": list, "tuple": tuple, "set": set}[kind](items)
