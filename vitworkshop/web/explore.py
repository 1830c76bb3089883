"""The explorers of the book's pages, in a notebook, with a reader's own model."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence

from jaxtyping import UInt8
from torch import Tensor, nn

from vitlib.checks import check_choice, checked
from vitlib.tensors import check_dtype, check_images
from vitworkshop.web.export import SCRIPTS, check_runs_in_a_page, samples_script, scores_script, web_script

__all__ = ["EXPLORERS", "Explorer", "explore"]

EXPLORERS = {
    "lab": ["rankings.js", "lab-panels.js", "lab-tour.js"],
    "attention": ["rankings.js"],
    "positions": [],
    "way": ["rankings.js", "vit-lab.js", "lens.js", "way-steps.js", "way-drawing.js", "way-inside.js"],
}


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
    model: nn.Module,
    images: UInt8[Tensor, "n 3 H W"],
    classes: Sequence[str] | None = None,
    kind: str = "lab",
) -> Explorer:
    """The ViT lab, or another explorer, in a notebook: the reader's own model, run by the browser.

    Works in JupyterLab, VS Code and Colab, without a network and without other packages.

    Args:
        model: A `VisionTransformer` as the book's recipes make them, of at most some 600,000 parameters.
        images: uint8 (n, 3, H, W) of the model's size, to choose from; the first 24 are taken.
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
    model = check_runs_in_a_page(model)
    card = {"name": "your model", "config": {"num_classes": model.cfg.num_classes}}
    script = web_script(model, card if classes is None else {**card, "classes": list(classes)})
    size = model.cfg.image_shape[0]
    check_images(images, f"n 3 {size} {size}", "load them with vl.load_image(path, size)")
    check_dtype(images, "uint8", "do not normalise them")
    if not len(images):
        raise ValueError("expected at least one image to choose from, got none")
    pictures = {f"picture {i}": image for i, image in enumerate(images[:24])}
    files = [
        "boot.js",
        "vit.js",
        "kernel.js",
        "pictures.js",
        "explorer.js",
        *EXPLORERS[kind],
        f"vit-{kind}.js",
    ]
    here = json.dumps([*files, "samples.js", "photos.js", "lab-results.js", "scores-your model.js"])
    head = f"window.vitHere = {here}; window.vitLab = {{ models: {{}} }};"
    scores = scores_script("your model", model, pictures) if "rankings.js" in EXPLORERS[kind] else ""
    texts = [(SCRIPTS / file).read_text(encoding="utf-8") for file in files]
    parts = [head, samples_script(pictures), script, scores, *texts]
    scripts = "\n".join(f"<script>{part}</script>" for part in parts)
    tag = f'<vit-{kind} model="your model" picture="picture 0" pictures="{",".join(pictures)}"></vit-{kind}>'
    return Explorer(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light">'
        f"<style>body {{ background: #fff; margin: 0 }} vit-{kind} {{ margin: 0 }}</style></head>"
        f"<body>{tag}\n{scripts}</body></html>"
    )
