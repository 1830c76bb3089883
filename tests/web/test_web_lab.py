"""The lab by mouse, keyboard and link, in headless Chromium; what it shows is what `vl.intervene` says."""

from __future__ import annotations

import base64
import json

import pytest
import torch
from browsing import needs_browser
from web_pages import explorer, page, tiny_model

import vitlib as vl

pytestmark = needs_browser
MODEL, CARD = tiny_model("tiny")
PICTURE = vl.normalize(vl.sample_image("cat", 32)[None])


@pytest.fixture
def lab(browser, tmp_path):
    with explorer(
        browser, page(tmp_path, '<vit-lab model="tiny" picture="cat"></vit-lab>', ["tiny"]), "vit-lab"
    ) as tab:
        yield tab


def told(tab) -> str:
    """What the lab says has changed."""
    return tab.locator("vit-lab .verdict + p").inner_text()


def shares(tab) -> list[float]:
    """The probabilities that the lab has computed last."""
    return tab.evaluate("[...document.querySelector('vit-lab').result.probs]")


def expected(**what) -> list[float]:
    return vl.intervene(MODEL.half().float(), PICTURE, **what).softmax(-1)[0].tolist()


def test_rubbing_out_is_removing(lab):
    """By pointer and by keyboard; a second press brings the patch back; undo and reset."""
    cells = lab.locator("vit-lab .grid > button")
    assert shares(lab) == pytest.approx(expected(), abs=1e-4)
    cells.nth(3).click()
    cells.nth(3).press("ArrowDown")
    lab.keyboard.press("Enter")
    assert shares(lab) == pytest.approx(expected(remove=[3, 11]), abs=1e-4)
    assert told(lab).startswith("2 of 64 patches rubbed out")
    assert "rubbed out" in cells.nth(11).get_attribute("aria-label")
    lab.get_by_role("button", name="Undo").click()
    assert shares(lab) == pytest.approx(expected(remove=[3]), abs=1e-4)
    cells.nth(3).click()
    assert shares(lab) == pytest.approx(expected(), abs=1e-4)


def test_rubbing_over_many_is_one_step(lab):
    cells = lab.locator("vit-lab .grid > button")
    first, last = cells.nth(16).bounding_box(), cells.nth(20).bounding_box()
    lab.mouse.move(first["x"] + 5, first["y"] + 5)
    lab.mouse.down()
    lab.mouse.move(last["x"] + 5, last["y"] + 5, steps=20)
    lab.mouse.up()
    assert lab.evaluate("document.querySelector('vit-lab').state.removed.sort((a, b) => a - b)") == [
        16,
        17,
        18,
        19,
        20,
    ]
    lab.get_by_role("button", name="Undo").click()
    assert lab.evaluate("document.querySelector('vit-lab').state.removed") == []


def test_fast_strokes_leave_no_gaps_and_the_right_button_rubs_nothing(lab):
    cells, state = lab.locator("vit-lab .grid > button"), "document.querySelector('vit-lab').state.removed"
    first, last = cells.nth(24).bounding_box(), cells.nth(31).bounding_box()
    for button, removed in (("right", []), ("left", list(range(24, 32)))):
        lab.mouse.move(first["x"] + 5, first["y"] + 5)
        lab.mouse.down(button=button)
        lab.mouse.move(last["x"] + 5, last["y"] + 5)  # one event
        lab.mouse.up(button=button)
        assert lab.evaluate(f"{state}.toSorted((a, b) => a - b)") == removed


def test_what_was_done_to_a_patch_moves_with_it(lab):
    cells = lab.locator("vit-lab .grid > button")
    cells.nth(0).click()
    lab.get_by_role("button", name="Mirror").click()
    assert lab.evaluate("document.querySelector('vit-lab').state.removed") == [7]
    order = torch.arange(64).view(8, 8).flip(1).flatten().tolist()
    assert shares(lab) == pytest.approx(expected(order=order, remove=[7]), abs=1e-4)
    lab.get_by_role("button", name="Swap two").click()
    for press in (7, 7, 7, 8):  # the second takes the first back
        cells.nth(press).click()
    assert lab.evaluate("document.querySelector('vit-lab').state.removed") == [8]


def test_the_slider_follows_undo_and_is_one_step(lab):
    lab.get_by_text("Rub out by a ranking").click()
    lab.locator("vit-lab .grid > button").nth(0).click()
    lab.get_by_label("Ranked by").select_option("random")
    assert lab.evaluate("document.querySelector('vit-lab').state.removed") == [0], (
        "the slider was not touched"
    )
    slider = lab.get_by_label("How many patches")
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    assert lab.evaluate("document.querySelector('vit-lab').state.removed.length") == 3
    lab.get_by_role("button", name="Undo").click()
    assert lab.evaluate("document.querySelector('vit-lab').state.removed") == [0]
    assert slider.input_value() == "0"


def test_an_odd_grid_keeps_every_patch(browser, tmp_path):
    model, card = tiny_model("odd", img_size=28)
    address = page(
        tmp_path, '<vit-lab model="odd" picture="picture" pictures="picture"></vit-lab>', [(model, card)]
    )
    (tmp_path / "samples.js").write_text(
        f"window.vitSamples = {{picture: '{base64.b64encode(bytes(range(256)) * 10)[:3136].decode()}'}};"
    )
    with explorer(browser, address, "vit-lab") as tab:
        for name in ("Swap quadrants", "Swap halves", "Mirror", "Shuffle all"):
            tab.get_by_role("button", name=name).click()
            order = tab.evaluate("document.querySelector('vit-lab').state.order")
            assert sorted(order) == list(range(49)), name


def test_by_touch_each_tap_is_a_patch(browser, tmp_path):
    """A finger's drag belongs to the page's scrolling."""
    address = page(tmp_path, '<vit-lab model="tiny" picture="cat"></vit-lab>', ["tiny"])
    context = browser.new_context(viewport={"width": 360, "height": 800}, has_touch=True)
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_selector("vit-lab[data-ready=yes]")
    cells = tab.locator("vit-lab .grid > button")
    cells.nth(5).tap()
    cells.nth(6).tap()
    assert shares(tab) == pytest.approx(expected(remove=[5, 6]), abs=1e-4)
    tab.get_by_role("button", name="Swap two").tap()
    cells.nth(0).tap()
    cells.nth(63).tap()
    order = [63, *range(1, 63), 0]
    assert shares(tab) == pytest.approx(expected(remove=[5, 6], order=order), abs=1e-4)
    assert (
        tab.evaluate("getComputedStyle(document.querySelector('vit-lab').grid.node).touchAction") == "pan-y"
    )
    context.close()


def test_attention_of_each_block_is_that_of_the_model(lab):
    """What the map shows: heads averaged, what CLS gives to each patch."""
    layer = "window.vitRankings.received(document.querySelector('vit-lab'), 2)"
    model = MODEL.half().float()
    maps = model.attention_maps(PICTURE)
    wanted = maps[1][0].mean(0)[0, 1:]
    assert lab.evaluate(f"[...{layer}]") == pytest.approx(wanted.tolist(), abs=1e-5)
    note = lab.locator("vit-lab p.note", has_text="Attention in block 1").inner_text()
    ranked, k = wanted.sort(descending=True).values.cumsum(0), 0
    while ranked[k] < ranked[-1] / 2:
        k += 1
    assert note == f"Attention in block 1: half of what CLS reads of patches comes from {k + 1} of 64."


def test_moves_positions_and_heads_are_vitlibs(lab):
    lab.get_by_role("button", name="Swap quadrants").click()
    places = torch.arange(64).view(8, 8)
    quadrants = places.roll((4, 4), (0, 1)).flatten().tolist()
    assert shares(lab) == pytest.approx(expected(order=quadrants), abs=1e-4)
    lab.get_by_text("Inside the model").click()
    lab.get_by_label("Position embeddings").select_option("set to zero")
    lab.get_by_role("button", name="layer 1, head 0").click()
    wanted = expected(order=quadrants, positions="none", heads=[(1, 0)])
    assert shares(lab) == pytest.approx(wanted, abs=1e-4)
    assert told(lab).startswith("64 moved, positions set to zero, 1 head off")
    lab.get_by_role("button", name="Start again").click()
    assert shares(lab) == pytest.approx(expected(), abs=1e-4)


def test_grey_is_painted_into_the_picture(lab):
    lab.get_by_role("button", name="Paint grey").click()
    lab.locator("vit-lab .grid > button").nth(9).click()
    grey = vl.sample_image("cat", 32)
    grey[:, 4:8, 4:8] = 128
    wanted = MODEL.half().float()(vl.normalize(grey[None])).softmax(-1)[0].tolist()
    assert shares(lab) == pytest.approx(wanted, abs=1e-4)


def test_a_ranking_removes_its_first(lab):
    lab.get_by_text("Rub out by a ranking").click()
    lab.get_by_label("Ranked by").select_option("centre")
    slider = lab.get_by_label("How many patches")
    slider.focus()
    for _ in range(4):
        slider.press("ArrowRight")
    assert lab.evaluate("document.querySelector('vit-lab').state.removed.sort((a, b) => a - b)") == [
        27,
        28,
        35,
        36,
    ]
    lab.get_by_label("Remove or keep").select_option("keep only the first")
    assert lab.evaluate("document.querySelector('vit-lab').state.removed.length") == 60


@pytest.mark.parametrize("pool", ["token", "avg"])
def test_rankings_are_the_packages_explanations(browser, tmp_path, pool):
    """The scores that the slider follows are those of `vl.patch_scores`, for every name but chance."""
    model, card = tiny_model("tiny", global_pool=pool)
    address = page(tmp_path, '<vit-lab model="tiny" picture="cat"></vit-lab>', [(model, card)])
    ask = """name => Promise.resolve(window.vitRankings.RANKINGS[name](document.querySelector('vit-lab'), () => {}))
        .then(scores => [...scores])"""
    with explorer(browser, address, "vit-lab") as tab:
        assert tab.evaluate("Object.keys(window.vitRankings.RANKINGS).sort()") == sorted(vl.EXPLANATIONS)
        for name in sorted(set(vl.EXPLANATIONS) - {"random"}):
            wanted = vl.patch_scores(name, model.half().float(), PICTURE)[0]
            found = torch.tensor(tab.evaluate(ask, name))
            if name == "variance":  # of bytes there, of standardised numbers here
                found = found / 127.5**2
            torch.testing.assert_close(found, wanted, rtol=0.02, atol=2e-3 * wanted.abs().max().item())
        options = tab.locator("vit-lab select[aria-label='Ranked by'] option")
        assert not any(option.is_disabled() for option in options.all())
        tab.get_by_role("button", name="Mirror").click()
        off = [option.text_content() for option in options.all() if option.is_disabled()]
        assert off == ["relevance", "grad-cam", "integrated gradients"], "they are of the untouched picture"


def test_occlusion_follows_when_it_has_asked_for_each_patch(lab):
    lab.get_by_text("Rub out by a ranking").click()
    lab.get_by_label("Ranked by").select_option("occlusion")
    lab.get_by_label("How many patches").fill("3")
    lab.wait_for_function("document.querySelector('vit-lab').state.removed.length === 3")
    scores = vl.occlusion(MODEL.half().float(), PICTURE)[0]
    best = scores.argsort(descending=True)[:3].tolist()
    assert sorted(lab.evaluate("document.querySelector('vit-lab').state.removed")) == sorted(best)


def test_the_lens_ends_with_the_answer(lab):
    """After the last block the lens says what the model says; before it, what the head makes of those tokens."""
    steps = lab.evaluate("[0, 1, 2].map(layer => document.querySelector('vit-lab').answers(layer).whole)")
    model = MODEL.half().float()
    with torch.no_grad():
        x = model.embed(PICTURE)
        wanted = [x, x := model.blocks[0](x), model.blocks[1](x)]
        wanted = [model.head(model.pool(model.norm(each))).softmax(-1)[0].tolist() for each in wanted]
    for got, right in zip(steps, wanted, strict=True):
        assert got == pytest.approx(right, abs=1e-4)
    assert steps[-1] == pytest.approx(shares(lab), abs=1e-5)


def state_link(state) -> str:
    return "#lab=" + base64.b64encode(json.dumps(state).encode()).decode()


def test_a_link_brings_the_state_back(browser, tmp_path):
    address = page(tmp_path, '<vit-lab model="tiny" picture="cat"></vit-lab>', ["tiny"])
    state = {"model": "tiny", "picture": "coffee", "removed": [1, 2], "heads": [[0, 1]], "positions": "none"}
    with explorer(browser, address + state_link(state), "vit-lab") as tab:
        coffee = vl.normalize(vl.sample_image("coffee", 32)[None])
        wanted = vl.intervene(MODEL.half().float(), coffee, remove=[1, 2], heads=[(0, 1)], positions="none")
        assert shares(tab) == pytest.approx(wanted.softmax(-1)[0].tolist(), abs=1e-4)
        tab.get_by_role("button", name="Link to this").click()
        tab.wait_for_function("location.hash.length > 10")
        again = json.loads(base64.b64decode(tab.evaluate("location.hash").removeprefix("#lab=")))
        assert {key: again[key] for key in state} == state


@pytest.mark.parametrize(
    "state",
    [
        {"model": "tiny", "removed": [64, -1, "x", 1.5], "order": [0] * 64},
        {"model": "tiny", "heads": [[9, 9], [0], "x"], "positions": [1]},
        {"model": "tiny", "picture": "<img src=x onerror=alert(1)>", "removed": {"length": 9}},
        {"model": "tiny", "picture": "__proto__", "heads": [[0, 1e99]]},
        {"model": "another", "removed": [1]},
        [],
        None,
    ],
)  # fmt: skip
def test_a_hostile_link_does_nothing(browser, tmp_path, state):
    address = page(tmp_path, '<vit-lab model="tiny" picture="cat"></vit-lab>', ["tiny"])
    with explorer(browser, address + state_link(state), "vit-lab") as tab:
        assert shares(tab) == pytest.approx(expected(), abs=1e-4)
        assert told(tab) == "Rub out patches until it changes its mind."
