"""A page with explorers for the tests: the package's scripts beside it, opened from the disk without a server."""

import contextlib
import functools
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from browsing import opened

import vitlib as vl
from vitworkshop.web import export

STYLE = Path(__file__).parents[2] / "book" / "_static" / "first.css"
photos = functools.cache(export.photos_script)
samples = functools.cache(lambda: export.samples_script(export.sample_pictures()))


def tiny_model(name: str, **changes) -> tuple[vl.VisionTransformer, dict]:
    """A random model of a few thousand weights, and its card."""
    cfg = vl.ViTConfig(
        **{"embed_dim": 12, "depth": 2, "num_heads": 2, "num_classes": 10, **changes}
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = vl.VisionTransformer(cfg).eval()
    return model, {"name": name, "config": asdict(cfg), "recipe": {"data": "cifar10"}}


def page(tmp_path: Path, body: str, models=()) -> str:
    """Writes a page with this body, the package's scripts and the models beside it, and gives its address.

    `models` are names, each of a `tiny_model` with a CLS token, or pairs (model, card).
    """
    for script in export.SCRIPTS.glob("*.js"):
        shutil.copy(script, tmp_path)
    (tmp_path / "samples.js").write_text(samples(), encoding="utf-8")
    (tmp_path / "photos.js").write_text(photos(), encoding="utf-8")
    (tmp_path / "dialect.js").write_text(export.dialect_script(), encoding="utf-8")
    (tmp_path / "imagenet.js").write_text(export.imagenet_script(), encoding="utf-8")
    (tmp_path / "lab-results.js").write_text(
        "window.vitLab = { models: {} };", encoding="utf-8"
    )
    pairs = [tiny_model(one) if isinstance(one, str) else one for one in models]
    for model, card in pairs:
        export.export_web(model, card, tmp_path / f"{card['name']}.js")
        cat = {"cat": vl.sample_image("cat", model.cfg.img_size)}
        scores = export.scores_script(card["name"], model, cat)
        (tmp_path / f"scores-{card['name']}.js").write_text(scores, encoding="utf-8")
        turns = export.turns_script(card["name"], model, cat)
        (tmp_path / f"turns-{card['name']}.js").write_text(turns, encoding="utf-8")
    shutil.copy(STYLE, tmp_path)
    names = " ".join(card["name"] for _, card in pairs)
    explorers = " ".join(sorted(path.stem for path in export.SCRIPTS.glob("vit-*.js")))
    (tmp_path / "page.html").write_text(
        f"""<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="first.css">
<script defer src="boot.js" data-models="{names}" data-explorers="{explorers}" data-picture="cat"></script>
<body style="margin: 0 auto; max-width: 688px; padding: 0 12px"><h1>A page</h1>{body}</body></html>""",
        encoding="utf-8",
    )
    return (tmp_path / "page.html").as_uri()


@contextlib.contextmanager
def explorer(
    browser, address: str, name: str, width: int = 760, calm: bool = True, **screen
):
    """Opens the page and waits for the explorer; nothing may go wrong on it. `calm`: no motion is wanted."""
    with opened(browser, "about:blank", width, **screen) as (tab, wrong):
        tab.emulate_media(reduced_motion="reduce" if calm else "no-preference")
        tab.goto(address)
        tab.wait_for_selector(f"{name}[data-ready]", state="attached")
        assert tab.get_attribute(name, "data-ready") == "yes", wrong
        yield tab
        assert wrong == []


def opened_once(body: str, load_models=tuple):
    """A fixture: the explorer of a page with this body and these models, for all tests of a file."""
    name = re.match(r"<(vit-\w+)", body)[1]

    @pytest.fixture(scope="module")
    def tab(browser, tmp_path_factory):
        with explorer(
            browser, page(tmp_path_factory.mktemp(name), body, load_models()), name
        ) as tab:
            yield tab

    return tab


def run(tab, code: str, *given):
    """What JavaScript says of the page's explorer, `e`, and of what is given, `a`; typed arrays come as lists."""
    return tab.evaluate(
        f"""a => {{
            const e = document.querySelector('[data-ready]'), found = {code};
            return ArrayBuffer.isView(found) ? [...found] : found;
        }}""",
        given,
    )
