"""Explorers in the pages: custom elements around a ViT that runs in the reader's browser (`vitworkshop/web`).

A page has one by writing its tag, with a picture in it for readers without scripts and for paper
(`python -m page.stills` takes them):

    <vit-attention picture="cat">

    ![What is to be seen.](_static/figures/explorers/attention.webp)

    </vit-attention>

Every page gets `boot.js`, which is small and loads the rest when an explorer comes near the window. The models are
written from `vitlib/results` when the book is built.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from PIL import Image

from vitlib.evidence import load_results
from vitlib.weights.pretrained import load_pretrained
from vitworkshop.web import export

STILLS = Path(__file__).resolve().parents[1] / "book" / "_static" / "figures" / "explorers"
MODELS = ("cifar10-modern", "cifar10-plain", "drawn10-token")
FOLDER = "vit"


def write_scripts(app, error) -> None:
    """Puts scripts, models and sample pictures beside the pages."""
    if error or app.builder.name != "html":
        return
    folder = Path(app.outdir) / "_static" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for script in export.SCRIPTS.glob("*.js"):
        shutil.copy(script, folder)
    pictures = export.sample_pictures()
    for name in MODELS:
        model, card = load_pretrained(name)
        export.export_web(model, card, folder / f"{name}.js")
        scores = export.scores_script(name, model, pictures)
        (folder / f"scores-{name}.js").write_text(scores, encoding="utf-8")
    (folder / "samples.js").write_text(export.samples_script(pictures), encoding="utf-8")
    (folder / "photos.js").write_text(export.photos_script(), encoding="utf-8")
    lab = json.dumps({"models": load_results("lab")["models"]})
    (folder / "lab-results.js").write_text(f"window.vitLab = {lab};\n", encoding="utf-8")


def size_stills(app, pagename, templatename, context, doctree) -> None:
    """Gives the explorers' pictures their sizes, so that nothing moves when they come."""

    def sized(image: re.Match) -> str:
        with Image.open(STILLS / image["name"]) as still:
            sizes = f'width="{still.width}" height="{still.height}"'
            return f'{image[0]} {sizes} style="height: auto; max-width: 100%"'

    names = "|".join(path.name for path in STILLS.glob("*.webp"))
    if context.get("body"):
        context["body"] = re.sub(rf'<img (?=[^>]*_images/(?P<name>{names})")', sized, context["body"])


def setup(app) -> None:
    """Registers the scripts with Sphinx."""
    names = " ".join(sorted(script.stem for script in export.SCRIPTS.glob("vit-*.js")))
    known = {"data-models": " ".join(MODELS), "data-explorers": names}
    app.add_js_file(f"{FOLDER}/boot.js", defer="defer", **known)
    app.connect("html-page-context", size_stills)
    app.connect("build-finished", write_scripts)
