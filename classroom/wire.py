"""Values that cross between the judge and a student's process: JSON, a line each, never a pickle."""

import io
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from typing import Any

import numpy as np
import torch

from vitlib import VisionTransformer, ViTConfig

# of a student's value at most: letters of a text; signs that JSON is built of; parts; in a set or dict
TEXT, SIGNS, PARTS, MEMBERS = 1_000_000, 200_000, 20_000, 1_000
DTYPES = (
    "bool",
    "uint8",
    "int32",
    "int64",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def pack(value: Any) -> bytes:
    """A value as a line of bytes; what is none of the known kinds leaves only its type's name."""
    return json.dumps(_encode(value)).encode() + b"\n"


def unpack(raw: bytes, models: bool = False) -> Iterator[Any]:
    """The values in bytes that a student may have written: ends with the first that is damaged.

    With `models`, a ViT may be among them, and whatever is long; a student's process sends none.
    """
    for line in io.BytesIO(raw):
        signs = sum(map(line.count, (b"[", b"{", b",")))
        if not line.endswith(b"\n") or signs > SIGNS and not models:
            return
        try:
            yield _decode(json.loads(line), count(), models)
        except Exception:  # whatever it is: bytes from outside, and nothing is lost but their writer's answer
            return


def _encode(x: Any) -> Any:
    if x is None or type(x) in (bool, int, float, str):
        return x
    if isinstance(x, VisionTransformer):
        return {
            "kind": "vit",
            "config": asdict(x.cfg),
            "state": _encode(dict(x.state_dict())),
        }
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biufc":
        x = torch.as_tensor(x)
    if isinstance(x, torch.Tensor):
        x = x.detach().cpu()
        x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        x = x if str(x.dtype)[6:] in DTYPES else x.long()
        data = b64encode(x.contiguous().numpy().tobytes()).decode()
        return {
            "kind": "tensor",
            "dtype": str(x.dtype)[6:],  # without "torch."
            "shape": [*x.shape],
            "data": data,
        }
    if isinstance(x, dict):
        return {
            "kind": "dict",
            "items": [[_encode(k), _encode(v)] for k, v in x.items()],
        }
    for kind in (list, tuple, set):
        if isinstance(x, kind):
            return {"kind": kind.__name__, "items": [*map(_encode, x)]}
    return {"kind": "other", "name": type(x).__name__}


def _decode(x: Any, parts: Iterator[int], models: bool) -> Any:
    long = next(parts) >= PARTS or isinstance(x, str) and len(x) > TEXT
    if long and not models or isinstance(x, int) and x.bit_length() > 64:
        raise ValueError("too many parts, or one that is too long")
    if not isinstance(x, dict):
        if isinstance(x, list):
            raise ValueError("a list must say its kind")
        return x
    kind = x["kind"]
    if (
        kind in ("set", "dict") and len(x["items"]) > MEMBERS
    ):  # whose hashes may all be the same
        raise ValueError(f"expected at most {MEMBERS:,} members")
    if kind == "tensor":
        if x["dtype"] not in DTYPES or len(x["shape"]) > 8:
            raise ValueError("expected a tensor, got none that is known here")
        return torch.from_numpy(
            np.frombuffer(b64decode(x["data"]), x["dtype"]).reshape(x["shape"]).copy()
        )
    if kind == "vit" and models:
        model = VisionTransformer(ViTConfig(**x["config"]))
        model.load_state_dict(_decode(x["state"], parts, models))
        return model.eval()
    if kind == "other":
        return type(str(x["name"])[:40], (), {})()
    if kind == "dict":
        return {
            _decode(k, parts, models): _decode(v, parts, models) for k, v in x["items"]
        }
    items = [_decode(each, parts, models) for each in x["items"]]
    return {"list": list, "tuple": tuple, "set": set}[kind](items)
