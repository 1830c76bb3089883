"""The explorers of the book's pages, in a notebook, with a reader's own model."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path

from jaxtyping import UInt8
from torch import Tensor, nn
from torch.nn.functional import interpolate as resize

from vitlib.checks import check_choice, checked
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_dtype, check_images
from vitworkshop.web.export import (
    SCRIPTS,
    check_runs_in_a_page,
    dialect_script,
    given_script,
    imagenet_script,
    photos_script,
    samples_script,
    scores_script,
    web_script,
    words_script,
)
from vitworkshop.words import CHOSEN

__all__ = ["EXPLORERS", "Explorer", "explore"]

EXPLORERS = {
    "lab": ["rankings.js", "lab-panels.js", "lab-tour.js"],
    "attention": ["rankings.js"],
    "positions": [],
    "way": [
        "rankings.js",
        "vit-lab.js",
        "lens.js",
        "way-steps.js",
        "way-drawing.js",
        "way-inside.js",
    ],
}
SHARED = ["boot.js", "vit.js", "kernel.js", "pictures.js", "explorer.js"]
LANGUAGES = {"en": "en", "zh": "zh-CN"}  # as a page names them
FAR = [
    "vit-way.js",
    "foreign.js",
    "recipes.js",
    "microscope-work.js",
    "microscope-trust.js",
    "way-far.js",
]


class Explorer:
    """What `explore` returns: a notebook shows it as a frame that holds everything it needs.

    Source: chapter 09.
    """

    def __init__(self, page: str) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" title="Explorer of a Vision Transformer" '
            'style="border:0;width:100%;height:900px" sandbox="allow-scripts allow-downloads"></iframe>'
        )


@checked
def explore(
    model: nn.Module | str | Path,
    images: UInt8[Tensor, "n 3 H W"],
    classes: Sequence[str] | None = None,
    kind: str = "lab",
) -> Explorer:
    """The ViT lab, or another explorer, in a notebook: the reader's own model, on raw images, run by the browser.

    Works in JupyterLab, VS Code and Colab, without a network and without other packages. It speaks the language of
    `vl.language`.

    Args:
        model: A `VisionTransformer` as the book's recipes make them, of at most some 600,000 parameters. For "way" also
            a plain ViT of timm or transformers, or a file of weights as `load_weights` reads it, up to ViT-B/16: the
            frame then holds all its weights, in float16.
        images: uint8 (n, 3, H, W) of the model's size (of any size for other libraries' models), to choose from; the
            first 24 are taken.
        classes: The names of the model's classes; by default "class 0" and so on.
        kind: "lab", "attention", "positions" or "way".

    Returns:
        What a notebook shows when it is the last line of a cell.

    Raises:
        ValueError: If `vit.js` cannot compute the model or it is too large, the images do not fit it, or the
            number of names is not that of its classes.

    Source: chapter 09.
    """
    check_choice("explorer", kind, EXPLORERS)
    check_dtype(images, "uint8", "do not normalise them")
    if not len(images):
        raise ValueError("expected at least one image to choose from, got none")
    pictures = {f"picture {i}": image for i, image in enumerate(images[:24])}
    if kind == "way" and not isinstance(model, VisionTransformer):
        return _microscope(model, pictures, classes)
    model = check_runs_in_a_page(model)
    card = {"name": "your model", "config": {"num_classes": model.cfg.num_classes}}
    script = web_script(
        model, card if classes is None else {**card, "classes": list(classes)}
    )
    size = model.cfg.image_shape[0]
    check_images(
        images, f"n 3 {size} {size}", "load them with vl.load_image(path, size)"
    )
    files = [*SHARED, *EXPLORERS[kind], f"vit-{kind}.js"]
    scores = (
        scores_script("your model", model, pictures)
        if "rankings.js" in EXPLORERS[kind]
        else ""
    )
    made = ["photos.js", "lab-results.js", "scores-your model.js"]
    data = ["window.vitLab = { models: {} };", samples_script(pictures), script, scores]
    return _frame(f"vit-{kind}", 'model="your model" ', pictures, files, made, data)


def _microscope(
    model: nn.Module | str | Path, pictures: dict[str, Tensor], classes
) -> Explorer:
    """The microscope on another library's model or on a file."""
    small = {
        name: resize(image[None].float(), (32, 32), mode="area")[0].byte()
        for name, image in pictures.items()
    }
    given = given_script(model, classes)
    data = [
        given,
        dialect_script(),
        imagenet_script(),
        samples_script(small),
        photos_script(pictures),
    ]
    files = [*SHARED, *EXPLORERS["way"], *FAR, "vit-microscope.js"]
    return _frame(
        "vit-microscope",
        "",
        pictures,
        files,
        ["photos.js", "dialect.js", "imagenet.js"],
        data,
    )


def _frame(
    tag: str, of: str, pictures, files: list[str], made: list[str], data: list[str]
) -> Explorer:
    """A page with one explorer and all that it loads: the package's files, and scripts that are made here."""
    head = f"window.vitHere = {json.dumps([*files, 'samples.js', *made])};"
    name = CHOSEN["language"]
    parts = [
        *([] if name == "en" else [words_script(name)]),
        head,
        *data,
        *((SCRIPTS / file).read_text(encoding="utf-8") for file in files),
    ]
    scripts = "\n".join(f"<script>{part}</script>" for part in parts)
    return Explorer(
        f'<!DOCTYPE html><html lang="{LANGUAGES[name]}"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light">'
        f"<style>body {{ background: #fff; margin: 0 }} {tag} {{ margin: 0 }}</style></head><body>"
        f'<{tag} {of}picture="picture 0" pictures="{",".join(pictures)}"></{tag}>\n{scripts}</body></html>'
    )
