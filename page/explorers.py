"""Explorers in the pages: custom elements around a ViT that runs in the reader's browser (`vitworkshop/web`).

A page has one by writing its tag, with a picture in it for readers without scripts and for paper
(`python -m page.stills` takes them):

    <vit-attention picture="cat">

    ![What is to be seen.](_static/figures/explorers/attention.webp)

    </vit-attention>

A link to the lab, or to the ViT that learns, in a state of theirs, the rest as they begin:

    {live}`four patches rubbed out <lab {"removed": [27, 28, 35, 36]}>`

Every page gets `boot.js`, which is small, has scripts say their sentences in the page's language (in Chinese by the
table of `words.js`, before it), and loads the rest when an explorer comes near the window. The models are written from
`vitlib/results` when the book is built.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from PIL import Image

from page.address import MODEL, PICTURE, state_address
from vitlib.evidence import load_results
from vitlib.weights.pretrained import load_pretrained
from vitworkshop.web import export
from vitworkshop.words import CHOSEN

STILLS = (
    Path(__file__).resolve().parents[1] / "book" / "_static" / "figures" / "explorers"
)
# of each picture's explorer: its widths, and how high it is then; in pixels
ROOMS = STILLS / "rooms.json"
LABS = (MODEL, "drawn10-token")
MODELS = (*LABS, "cifar10-plain")
FOLDER = "vit"
ROOM = """<style>@media screen and (scripting: enabled) {{
{one} {{ container-type: inline-size; display: block; margin: 1.5rem 0; overflow: clip; position: relative; }}
{one} > * {{ margin: 0; position: absolute; width: 100%; }}
{one} > p + p {{ display: none; }}
{one}::before {{ content: ""; display: block; }}
{steps} }}</style>"""


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
        if name == MODEL:
            photographs = {
                key: one
                for key, one in pictures.items()
                if not key.startswith("drawn ")
            }
            turns = export.turns_script(name, model, photographs)
            (folder / f"turns-{name}.js").write_text(turns, encoding="utf-8")
    if CHOSEN["language"] != "en":
        words = export.words_script(CHOSEN["language"])
        (folder / "words.js").write_text(words, encoding="utf-8")
    (folder / "samples.js").write_text(
        export.samples_script(pictures), encoding="utf-8"
    )
    (folder / "photos.js").write_text(export.photos_script(), encoding="utf-8")
    (folder / "dialect.js").write_text(export.dialect_script(), encoding="utf-8")
    (folder / "imagenet.js").write_text(export.imagenet_script(), encoding="utf-8")
    lab = json.dumps({"models": load_results("lab")["models"]})
    (folder / "lab-results.js").write_text(
        f"window.vitLab = {lab};\n", encoding="utf-8"
    )


def with_room(tag: re.Match) -> str:
    """An explorer's tag with style that keeps its place until it stands there, as high as it will be at any width."""
    name = tag["still"]
    # none before its first still
    points = json.loads(ROOMS.read_text(encoding="utf-8")).get(name, [])
    steps, one = [], f'[data-room="{name}"]:not([data-ready])'
    for k, (width, height) in enumerate(points):
        # straight lines between them
        a, b = points[k : k + 2] if k + 1 < len(points) else points[-2:]
        slope = (b[1] - a[1]) / (b[0] - a[0])
        line = f"{one}::before {{ padding-top: calc({height - slope * width:.0f}px + {100 * slope:.1f}%); }}"
        steps.append(f"@container (min-width: {width if k else 0}px) {{ {line} }}")
    style = ROOM.format(one=one, steps="\n".join(steps))
    return f'{style}{tag[0]} data-room="{name}"'


def size_stills(app, pagename, templatename, context, doctree) -> None:
    """Gives the explorers and their pictures their sizes, so that nothing moves when they come."""

    def sized(image: re.Match) -> str:
        with Image.open(STILLS / image["name"]) as still:
            sizes = f'width="{still.width}" height="{still.height}"'
            return f'{image[0]} {sizes} style="height: auto; max-width: 100%"'

    names = "|".join(path.name for path in STILLS.glob("*.webp"))
    if context.get("body"):
        context["body"] = re.sub(
            rf'<img (?=[^>]*_images/(?P<name>{names})")', sized, context["body"]
        )
        tags = r"<vit-\w+(?=[^>]*>[^<]*<p><img [^>]*_images/(?P<still>[\w-]+)\.webp)"
        context["body"] = re.sub(tags, with_room, context["body"])


def first_screen(language: str) -> Path:
    """What the title page shows before scripts run, as `python -m page.stills` keeps it."""
    return STILLS.parent / f"first-{language}.html"


def show_first(app, pagename, templatename, context, doctree) -> None:
    """Puts the first screen into its page as it stands when nothing was touched."""
    kept = first_screen(CHOSEN["language"])
    if "<vit-first" in context.get("body", "") and kept.exists():
        text = kept.read_text(encoding="utf-8")
        context["body"] = re.sub(
            r"(<vit-first[^>]*>).*?(?=</vit-first>)",
            lambda tag: tag[1] + text,
            context["body"],
            flags=re.S,
        )


def is_state(anchor: str) -> bool:
    """Whether an anchor is an explorer's state, not a place on a page: base64 of an object begins with eyJ."""
    return re.match(r"(lab|learn|way)[=-]eyJ", anchor) is not None


def live(name, rawtext, text, lineno, inliner, options=None, content=()):
    """The role: a link to an explorer in a state."""
    from docutils import nodes  # tests of pages run where it is not, too

    try:
        words, place = state_address(text)
    except ValueError as error:
        return [], [inliner.reporter.error(f"{rawtext}: {error}", line=lineno)]
    return [nodes.reference(rawtext, words, internal=True, refuri=place)], []


def setup(app) -> None:
    """Registers the scripts and the role with Sphinx."""
    app.add_role("live", live)
    names = " ".join(sorted(script.stem for script in export.SCRIPTS.glob("vit-*.js")))
    first = {"data-model": MODEL, "data-picture": PICTURE}
    known = {"data-models": " ".join(MODELS), "data-explorers": names, **first}
    if CHOSEN["language"] != "en":
        app.add_js_file(f"{FOLDER}/words.js", priority=300, defer="defer")
    app.add_js_file(f"{FOLDER}/boot.js", defer="defer", **known)
    app.connect("html-page-context", size_stills)
    app.connect("html-page-context", show_first)
    app.connect("build-finished", write_scripts)
