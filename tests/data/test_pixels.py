"""One picture, one answer: whatever it comes as, its pixels are the same, or it is refused for the true reason."""

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

import vitlib as vl
from vitlib.data.photos import as_batch

RGBA = np.random.default_rng(0).integers(0, 256, (16, 24, 4)).astype(np.uint8)
RGB, GREY, PHOTO = (
    RGBA[..., :3].copy(),
    RGBA[..., 0].copy(),
    Image.fromarray(RGBA[..., :3]),
)
COLOUR, ALPHA = RGB.astype(float), RGBA[..., 3:] / 255
MODEL = vl.VisionTransformer(
    vl.ViTConfig(img_size=(16, 24), patch_size=8, embed_dim=8, depth=1, num_heads=2)
)


def saved(picture: Image.Image, kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def coded(kind: str, pixels: np.ndarray) -> bytes:
    """Of grey, RGB or RGBA pixels of 8 or 16 bits."""
    pixels = (
        pixels[..., [2, 1, 0, 3][: pixels.shape[2]]] if pixels.ndim == 3 else pixels
    )
    return cv2.imencode(f".{kind}", pixels)[1].tobytes()


def turned(kind: str, mark: int, picture: Image.Image = PHOTO) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = mark
    return saved(picture, kind, exif=exif, lossless=True)


def deep(pixels: np.ndarray, bits: int) -> np.ndarray:
    """The same picture in the lower `bits` of 16."""
    return pixels.astype(np.uint16) * (257 if bits == 16 else 2 ** (bits - 8))


def chunk(body: bytes) -> bytes:
    """Of a PNG: its length, name and content, and their sum."""
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


ON_WHITE = COLOUR * ALPHA + 255 * (1 - ALPHA)
UP = {
    mark: np.asarray(
        ImageOps.exif_transpose(Image.open(io.BytesIO(turned("PNG", mark))))
    )
    for mark in (2, 3, 6, 8)
}
FILES = {  # its bytes and its pixels
    "png": (saved(PHOTO, "PNG"), RGB),
    "webp": (saved(PHOTO, "WEBP", lossless=True), RGB),
    "cmyk.tif": (saved(PHOTO.convert("CMYK"), "TIFF"), RGB),
    "grey.png": (coded("png", GREY), GREY),
    "grey16.png": (coded("png", deep(GREY, 16)), GREY),
    "rgba16.png": (coded("png", deep(RGBA, 16)), ON_WHITE),
    "rgba.png": (coded("png", RGBA), ON_WHITE),
    "clear-turned.png": (turned("PNG", 6, Image.fromarray(RGBA).rotate(90, expand=True)), ON_WHITE),
    **{f"turned{m}.{k}": (turned(k, m), UP[m]) for m in UP for k in ("PNG", "WEBP", "TIFF")},
    **{f"moving.{k}": (saved(PHOTO, k, save_all=True, append_images=[PHOTO.rotate(180)], lossless=True), RGB)
       for k in ("PNG", "TIFF", "WEBP")},
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_picture_is_the_same_through_every_door(name, tmp_path):
    data, expected = FILES[name]
    # what it holds counts, not its name
    path = tmp_path / name.replace(".png", ".jfif")
    path.write_bytes(data)
    image = vl.load_image(path)
    expected = expected if expected.ndim == 3 else expected[..., None].repeat(3, axis=2)
    assert image.shape == (3, *expected.shape[:2])
    assert np.abs(image.permute(1, 2, 0).numpy() - expected).max() <= 0.51
    opened = Image.open(path)
    doors = [str(path), data, opened, [opened], (data,)]
    assert all(torch.equal(as_batch(door), image[None]) for door in doors)
    assert torch.equal(vl.load_image(data, 16), vl.load_image(Image.open(path), 16))
    if image.shape == (3, 16, 24):
        assert torch.equal(vl.predict(MODEL, path), vl.predict(MODEL, image[None]))


ARRAYS = {
    "rgba": (RGBA, ON_WHITE), "grey": (GREY, GREY), "16 bits": (deep(RGB, 16), RGB),
    "big end": (deep(GREY, 16).astype(">u2"), GREY),
    "float": (RGB / 255, RGB),
    "channels first": (RGB.transpose(2, 0, 1), RGB),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_pictures(name):
    array, expected = ARRAYS[name]
    image = vl.load_image(array)
    expected = expected if expected.ndim == 3 else expected[..., None].repeat(3, axis=2)
    assert np.abs(image.permute(1, 2, 0).numpy() - expected).max() <= 0.51
    tensor = torch.from_numpy(
        np.atleast_3d(array).astype("=u2" if name == "big end" else array.dtype).copy()
    )
    if name != "channels first":
        assert torch.equal(vl.load_image(tensor.permute(2, 0, 1)), image)
    wanted = vl.predict(MODEL, image[None])
    torch.testing.assert_close(
        vl.predict(MODEL, array), wanted, atol=0 if name != "float" else 1e-4, rtol=0
    )
    torch.testing.assert_close(
        vl.predict(MODEL, [array, array])[1:], wanted, atol=1e-4, rtol=0
    )


HEADER = b"\x89PNG\r\n\x1a\n" + chunk(
    b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
)
KINDS, FEWER = (
    ("JPEG", "PNG", "WEBP", "TIFF", "BMP"),
    "16 bits deep: its numbers go from",
)
REFUSED = {
    **{
        f"cut {kind}": (saved(PHOTO.resize((99, 99)), kind)[:-400], "not readable")
        for kind in KINDS
    },
    "12 bits": (
        coded("png", deep(GREY, 12)),
        f"{FEWER} [0-9]+ to about 40.*of fewer bits",
    ),
    "float 255": (
        saved(Image.fromarray(np.float32(GREY)), "TIFF"),
        r"of floats: expected them in \[0, 1\], got ",
    ),
    "nothing": (b"", "empty; fetch it again"),
    "heic": (b"\0\0\0\x18ftypheic\0\0\0\0", "HEIC, AVIF or a film"),
    "bomb": (
        HEADER + chunk(b"IDAT" + zlib.compress(bytes(99))),
        "not readable, Image size .* exceeds limit",
    ),
    "none": (None, "no picture"),
}


@pytest.mark.errors
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_picture_or_may_mean_several_is_refused(name):
    for door in (vl.load_image, as_batch):
        with pytest.raises(ValueError, match=REFUSED[name][1]):
            door(REFUSED[name][0])


@pytest.mark.errors
def test_pictures_of_several_sizes_are_no_batch():
    with pytest.raises(
        ValueError, match=r"of one size, got \[\(3, 9, 9\), \(3, 16, 24\)\]"
    ):
        vl.predict(MODEL, [PHOTO, PHOTO.resize((9, 9))])
