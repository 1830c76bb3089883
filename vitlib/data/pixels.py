"""The one place that makes pixels of a picture, whatever it is: upright, on white, 8 bits deep, or refused in words."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

# none of them runs another program
FORMATS = (
    "BMP",
    "GIF",
    "JPEG",
    "PNG",
    "PPM",
    "TIFF",
    "WEBP",
)


def rgb_pixels(picture: Any) -> np.ndarray:
    """RGB (H, W, 3) uint8 of what `load_image` takes; a ValueError's "kind: reason; fix" is read after "it is"."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    if isinstance(picture, str | Path | bytes):
        with (
            io.BytesIO(picture)
            if isinstance(picture, bytes)
            else open(picture, "rb") as file
        ):
            try:
                opened = Image.open(file, formats=FORMATS)
            except UnidentifiedImageError as error:
                file.seek(0)
                head = file.read(40)
                kind = (
                    "HEIC, AVIF or a film"
                    if head[4:8] == b"ftyp"
                    else "of no kind that is read"
                )
                if not head:
                    raise ValueError("empty; fetch it again") from error
                raise ValueError(
                    f"{kind}: it begins with {head!r}; save it as JPEG or PNG"
                ) from error
            except (
                Exception
            ) as error:  # whatever a decoder says of bytes that anybody may have made
                raise ValueError(
                    f"not readable, {error}; save it as JPEG or PNG"
                ) from error
            return rgb_pixels(opened)
    if not isinstance(picture, Image.Image):
        bits = _eight_bits(channels_last(picture))
        picture = Image.fromarray(bits[..., 0] if bits.shape[2] == 1 else bits)
    # gone when it is read
    deep = picture.mode[0] in "IF" or ";16" in str(getattr(picture, "tile", ""))
    # TIFF's mark for white as 0
    inverted = getattr(picture, "tag_v2", {}).get(262) == 0
    try:
        picture = ImageOps.exif_transpose(picture)
        clear = picture.has_transparency_data
        flat = (
            picture
            if picture.mode[0] in "IF"
            else picture.convert("RGBA" if clear else "RGB")
        )
    except Exception as error:
        raise ValueError(f"not readable, {error}; save it as JPEG or PNG") from error
    if deep and (inverted or "transparency" in picture.info):  # which Pillow forgets
        raise ValueError(
            "16 bits deep with a transparent colour, or white as 0: save it with 8 bits"
        )
    if flat.mode[0] in "IF":
        return rgb_pixels(np.asarray(flat))
    if deep:
        _eight_bits(np.asarray(flat).astype(np.uint16) << 8)  # may refuse them
    if clear:
        flat = Image.alpha_composite(
            Image.new("RGBA", flat.size, "white"), flat
        ).convert("RGB")
    return np.asarray(flat)


def channels_last(picture: Any) -> np.ndarray:
    """An array (H, W), (H, W, C) or (C, H, W), or a tensor (C, H, W), as an array (H, W, C)."""
    first, pixels = isinstance(picture, Tensor), picture
    if isinstance(picture, Tensor):
        pixels = (
            (picture.float() if picture.is_floating_point() else picture)
            .detach()
            .cpu()
            .numpy()
        )
    if (
        isinstance(pixels, np.ndarray)
        and pixels.size
        and pixels.dtype.kind in "biuf"
        and 1 < pixels.ndim < 4
    ):
        pixels = np.atleast_3d(np.asarray(pixels))  # (H, W) -> (H, W, 1)
        first &= picture.ndim == 3
        if first or (pixels.shape[0] in (1, 3) and pixels.shape[2] not in (1, 3)):
            pixels = pixels.transpose(1, 2, 0)  # (C, H, W) -> (H, W, C)
        if pixels.shape[2] in (1, 3, 4):
            return pixels
    kinds = "a path, a file's bytes, a PIL picture, an array (H, W), (H, W, C) or (C, H, W), or a tensor"
    got = f"{type(picture).__name__} {tuple(getattr(picture, 'shape', ''))}"
    raise ValueError(f"no picture: expected {kinds}, of 1, 3 or 4 channels, got {got}")


def _eight_bits(values: np.ndarray) -> np.ndarray:
    """Bytes of bytes, of booleans, of floats in [0, 1] or of whole numbers of 16 bits; (H, W, C) each."""
    if values.dtype in (np.uint8, bool):
        return values * np.uint8(255 if values.dtype == bool else 1)
    # of the colours
    low, high = (
        values[..., :3].min().item(),
        values[..., :3].max().item(),
    )
    if values.dtype.kind == "f":
        if not (low >= -0.01 and high <= 1.01):  # written so that NaN fails as well
            raise ValueError(
                f"of floats: expected them in [0, 1], got {low:.4g} to {high:.4g}; scale them"
            )
        return (255 * values.clip(0, 1)).round().astype(np.uint8)
    if low < 0 or not 2**14 <= high < 2**16:  # none of 16 bits, or all but black
        got = f"its numbers go from {low} to about {high}, of 0 to 65535, as if they were of fewer bits or of more"
        raise ValueError(
            f"16 bits deep: {got}; scale them to 0 to 255 and make them uint8"
        )
    return (values >> 8).astype(np.uint8)  # as Pillow does
