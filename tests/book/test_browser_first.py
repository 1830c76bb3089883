"""The title page's first screen in the built book: in one view, without scripts too, and what it dares."""

import re

import pytest
import torch
from browsing import built, needs_browser, opened, show, unscripted

import vitlib as vl
from page.browser import HTML
from page.stills import KEEP

pytestmark = needs_browser
TITLE = (HTML / built("book/intro")).as_uri()
VIEWS = [(1280, 720), (390, 844)]
# how far down parts of the first screen reach
BOTTOMS = """names => names.map((name) => document.querySelector(`.first ${name}`).getBoundingClientRect().bottom)"""
# of pictures, whose bytes differ between browsers, only that they are there
DATA = re.compile(r'src="data:[^"]*"')


@pytest.fixture
def title(browser):
    with opened(browser, TITLE) as (tab, wrong):
        tab.wait_for_selector("vit-first[data-ready]")
        yield tab
        assert wrong == []


def test_what_stands_in_the_page_is_what_comes_alive(title):
    """Else `python -m page.stills` has to be run again."""
    kept = re.search(
        r"<vit-first[^>]*>(.*?)</vit-first>",
        (HTML / built("book/intro")).read_text(encoding="utf-8"),
        re.S,
    )[1]
    show(title, width=1200)
    alive = title.locator("vit-first").evaluate(KEEP)
    assert DATA.sub("", alive).strip() == DATA.sub("", kept).strip()


@pytest.mark.parametrize(("width", "height"), VIEWS)
def test_all_is_in_one_view(browser, width, height):
    with opened(browser, TITLE, width) as (tab, _):
        tab.set_viewport_size({"width": width, "height": height})
        tab.wait_for_selector("vit-first[data-ready]")
        parts = [".photo", ".answer", ".tokens", ".reads", ".scrub", ".says", ".hands"]
        assert max(tab.evaluate(BOTTOMS, parts)) <= height
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        if width < 600:
            sizes = tab.locator(".first button:not(.grid *)").evaluate_all(
                "all => all.map(one => [one.offsetWidth, one.offsetHeight])"
            )
            assert len(sizes) > 20 and min(map(min, sizes)) >= 44


@pytest.mark.parametrize(("width", "height"), VIEWS)
def test_it_answers_without_scripts(browser, width, height):
    """The same answer as the model's, its bar, the curves and the columns; nothing that would have to be pressed."""
    model, _ = vl.load_pretrained("cifar10-photo")
    probs = model.eval()(vl.normalize(vl.sample_image("cat", 32)[None])).softmax(1)[0]
    with unscripted(browser, TITLE) as tab:
        tab.set_viewport_size({"width": width, "height": height})
        best = vl.CIFAR10_CLASSES[probs.argmax()]
        assert tab.locator(".first .head").inner_text().split() == [
            best,
            f"{100 * probs.max():.0f}",
            "%",
        ]
        bar = tab.locator(".first .best .bar i").bounding_box()["width"]
        track = tab.locator(".first .best .bar").bounding_box()["width"]
        assert bar / track == pytest.approx(probs.max().item(), abs=0.01)
        for part in (".photo img.still", ".curves", ".table", ".map"):
            assert tab.locator(f".first {part}").first.is_visible()
        assert not tab.locator(".first .play").is_visible()
        assert max(tab.evaluate(BOTTOMS, [".photo", ".answer", ".tokens"])) <= height


@pytest.mark.sampled(3)
def test_the_dares_promises_are_kept(browser):
    """Of every picture that it offers: so many patches are enough, and one fewer is not, in the page and in PyTorch."""
    with opened(browser, TITLE) as (tab, _):
        tab.wait_for_selector("vit-first[data-ready]")
        dare = tab.locator("vit-first")
        dare.evaluate("dare => dare.use(true)")
        model = vl.load_pretrained(dare.evaluate("dare => dare.name"))[0].eval()
        for at in range(dare.evaluate("dare => dare.pictures.length")):
            dare.evaluate(
                "(dare, at) => (dare.pictures[at].click(), new Promise((done) => setTimeout(done)))",
                at,
            )
            bytes, turns = dare.evaluate("dare => [[...dare.bytes], dare.turns]")
            assert f" {len(turns)} " in dare.locator(".says").inner_text()
            images = (
                torch.tensor(bytes, dtype=torch.uint8)
                .view(3, 32, 32)
                .repeat(1 + len(turns), 1, 1, 1)
            )
            for k, (row, column) in enumerate(divmod(place, 8) for place in turns):
                images[
                    k + 1 :, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4
                ] = 128
            said = model(vl.normalize(images)).argmax(1).tolist()
            shown = "(dare, turns) => turns.map((_, k) => (dare.set({painted: turns.slice(0, k + 1)}), dare.turned))"
            wanted = [False] * (len(turns) - 1) + [True]
            assert (
                [one != said[0] for one in said[1:]]
                == dare.evaluate(shown, turns)
                == wanted
            )
