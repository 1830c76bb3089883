"""The explorers of the book's pages, in a notebook: with a reader's own model, or with the book's."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxtyping import UInt8
from torch import Tensor, nn
from torch.nn.functional import interpolate as resize

from vitlib.checks import check_choice, checked
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_dtype, check_images
from vitlib.weights.pretrained import is_checkpoint, list_pretrained, load_pretrained
from vitworkshop.web.export import (
    SCRIPTS,
    check_runs_in_a_page,
    dialect_script,
    given_script,
    imagenet_script,
    photographs,
    photos_script,
    samples_script,
    scores_script,
    web_script,
    words_script,
)
from vitworkshop.words import CHOSEN

__all__ = ["EXPLORERS", "Explorer", "explore"]

EXPLORERS = {  # the files of each, beside what all share
    "lab": ["rankings.js", "lab-panels.js", "lab-tour.js"],
    "attention": ["rankings.js", "heads.js"],
    "positions": [],
    "way": [
        "rankings.js",
        "vit-lab.js",
        "lens.js",
        "way-steps.js",
        "way-drawing.js",
        "way-inside.js",
    ],
    "learn": ["learn-tasks.js", "learn.js"],
    "patches": [],
    "shapes": [],
    "triangle": [],
}
MODELLED = ("lab", "attention", "positions", "way")
SETTINGS = {  # what may be set, and the form of its value
    "learn": {
        "brief": "True",
        "task": "where|same|line|odd one|shade|count",
        "without": "positions|attention|MLP|residual|LayerNorm",
        "depth": "1|2|4|6",
    },
    "positions": {"centred": "True", "resample": r"\d+x\d+"},
}
SHARED = ["boot.js", "vit.js", "kernel.js", "pictures.js", "explorer.js"]
LANGUAGES = {"en": "en", "zh": "zh-CN"}  # as a page names them
FAR = [
    "vit-way.js",
    "foreign.js",
    "recipes.js",
    "microscope-work.js",
    "heads.js",
    "microscope-trust.js",
    "way-far.js",
]
# in the frame, which may not reach the notebook; and in the notebook
TELLS = """const explorer = document.body.firstElementChild;
new ResizeObserver(() => {
  const height = Math.ceil(explorer.getBoundingClientRect().height);
  if (height) parent.postMessage({ height }, "*");
}).observe(explorer);"""
FITS = """{
  const frame = document.currentScript.previousElementSibling;
  addEventListener("message", ({ source, data }) => {
    if (source === frame.contentWindow) frame.style.height = `${Number(data.height)}px`;
  });
}"""
FIRST = "cifar10-photo"  # what is shown where no model is given


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
            f"<script>{FITS}</script>"
        )


@checked
def explore(
    model: nn.Module | str | Path | None = None,
    images: UInt8[Tensor, "n 3 H W"] | None = None,
    classes: Sequence[str] | None = None,
    kind: str = "lab",
    **settings: str | bool,
) -> Explorer:
    """The ViT lab, or another explorer, in a notebook: the reader's own model, on raw images, run by the browser.

    Works in JupyterLab, VS Code and Colab, without a network and without other packages. It speaks the language of
    `vl.language`.

    Args:
        model: A `VisionTransformer` as the book's recipes make them, of at most some 600,000 parameters, or its name as
            `load_pretrained` takes it; by default the book's "cifar10-photo". For "way" also a plain ViT of timm or
            transformers, or a file of weights as `load_weights` reads it, up to ViT-B/16: the frame then holds all its
            weights, in float16.
        images: uint8 (n, 3, H, W) of the model's size (of any size for other libraries' models), to choose from; the
            first 24 are taken. By default the book's photographs.
        classes: The names of the model's classes; by default those of its card, else "class 0" and so on.
        kind: "lab", "attention", "positions" or "way"; without a model "learn", "patches", "shapes" or "triangle".
        **settings: What a page sets: of "learn" `task`, `without`, `depth` and `brief=True`; of "positions"
            `centred=True` and `resample="6x10"`.

    Returns:
        What a notebook shows when it is the last line of a cell.

    Raises:
        ValueError: If `vit.js` cannot compute the model or it is too large, the images do not fit it, the number of
            names is not that of its classes, or the explorer has no such setting.

    Source: chapter 09.
    """
    check_choice("explorer", kind, EXPLORERS)
    told = _told(kind, settings)
    if kind not in MODELLED:
        if any(given is not None for given in (model, images, classes)):
            raise ValueError(
                f"expected no model, images or classes for the explorer {kind!r}, got some; leave them out"
            )
        made = {"photos.js": photos_script()} if kind == "patches" else {}
        return _frame(f"vit-{kind}", told, EXPLORERS[kind], made)
    pictures, model = _offered(images), FIRST if model is None else model
    is_own = isinstance(model, VisionTransformer) or model in list_pretrained()
    is_far = not is_own and not (
        isinstance(model, str | Path) and is_checkpoint(Path(model))
    )
    if kind == "way" and is_far:
        return _microscope(model, pictures or photographs(224), classes)
    model, card = _found(model)
    name = card["name"]
    if classes is not None:
        card |= {"classes": list(classes)}
    script = web_script(model, card)
    size = model.cfg.image_shape[0]
    if images is not None:
        check_images(
            images, f"n 3 {size} {size}", "load them with vl.load_image(path, size)"
        )
    pictures = pictures or photographs(size)
    scored = "rankings.js" in EXPLORERS[kind]
    made = {
        f"{name}.js": script,
        f"scores-{name}.js": scores_script(name, model, pictures) if scored else "",
        "samples.js": samples_script(pictures),
        "lab-results.js": "window.vitLab = { models: {} };",
        "photos.js": photos_script() if images is None and kind == "way" else "",
    }
    told |= {"model": name, **_listed(pictures)}
    return _frame(f"vit-{kind}", told, EXPLORERS[kind], made)


def _found(model: nn.Module | str | Path) -> tuple[VisionTransformer, dict[str, Any]]:
    """A model of the book, of a run or of the reader, and its card."""
    if isinstance(model, str | Path):
        model, card = load_pretrained(str(model))
        return check_runs_in_a_page(model), card
    own = check_runs_in_a_page(model)
    return own, {"name": "your model", "config": {"num_classes": own.cfg.num_classes}}


def _told(kind: str, settings: dict[str, str | bool]) -> dict[str, str]:
    """Settings as a page's tag has them."""
    forms = SETTINGS.get(kind, {})
    for name, value in settings.items():
        if name not in forms:
            raise ValueError(
                f"expected of the explorer {kind!r} as settings {', '.join(forms) or 'none'}, got {name}; leave it out"
            )
        if not re.fullmatch(forms[name], str(value)):
            raise ValueError(
                f"expected {name} to be {forms[name].replace('|', ' or ')}, got {value!r}"
            )
    return {name: str(value) for name, value in settings.items()}


def _offered(images: Tensor | None) -> dict[str, Tensor]:
    """The reader's images, each with a name; none where the book's photographs are wanted."""
    if images is None:
        return {}
    check_dtype(images, "uint8", "do not normalise them")
    if not len(images):
        raise ValueError("expected at least one image to choose from, got none")
    return {f"picture {i}": image for i, image in enumerate(images[:24])}


def _listed(pictures: dict[str, Tensor]) -> dict[str, str]:
    """What a tag says of them: which comes first, and of a reader's, which there are."""
    if "cat" in pictures:
        return {"picture": "cat"}
    return {"picture": "picture 0", "pictures": ",".join(pictures)}


def _microscope(
    model: nn.Module | str | Path, pictures: dict[str, Tensor], classes
) -> Explorer:
    """The microscope on another library's model or on a file."""
    small = {
        name: resize(image[None].float(), (32, 32), mode="area")[0].byte()
        for name, image in pictures.items()
    }
    given = given_script(model, classes)
    made = {
        "given.js": given,
        "dialect.js": dialect_script(),
        "imagenet.js": imagenet_script(),
        "samples.js": samples_script(small),
        "photos.js": photos_script(pictures),
    }
    return _frame("vit-microscope", _listed(pictures), [*EXPLORERS["way"], *FAR], made)


def _frame(
    tag: str, told: dict[str, str], files: list[str], made: dict[str, str]
) -> Explorer:
    """A page with one explorer and all that it loads: the package's files, and scripts that are made here."""
    files, language = [*SHARED, *files, f"{tag}.js"], CHOSEN["language"]
    parts = [
        *([] if language == "en" else [words_script(language)]),
        f"window.vitHere = {json.dumps([*files, *made])};",
        *made.values(),
        *((SCRIPTS / file).read_text(encoding="utf-8") for file in files),
        TELLS,
    ]
    scripts = "\n".join(f"<script>{part}</script>" for part in parts)
    attributes = [f'{name}="{html.escape(value)}"' for name, value in told.items()]
    return Explorer(
        f'<!DOCTYPE html><html lang="{LANGUAGES[language]}"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light">'
        f"<style>body {{ background: #fff; margin: 0 }} {tag} {{ margin: 0 }}</style></head><body>"
        f"<{tag} {' '.join(attributes)}></{tag}>\n{scripts}</body></html>"
    )
