"""The lab by mouse, keyboard and link, in headless Chromium; what it shows is what `vl.intervene` says."""

import base64
import json

import pytest
import torch
from browsing import needs_browser
from web_pages import explorer, page, run, tiny_model

import vitlib as vl
from vitworkshop.web.export import sample_pictures

pytestmark = [*needs_browser, pytest.mark.sampled(3, "lab")]
MODEL = tiny_model("tiny")[0].half().float()
PICTURE = vl.normalize(vl.sample_image("cat", 32)[None])


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return page(
        tmp_path_factory.mktemp("lab"),
        '<vit-lab model="tiny" picture="cat"></vit-lab>',
        ["tiny"],
    )


@pytest.fixture
def lab(browser, address):
    with explorer(browser, address, "vit-lab") as tab:
        yield tab


def removed(tab) -> list[int]:
    return sorted(run(tab, "e.state.removed"))


def told(tab) -> str:
    """What the lab says has changed."""
    return tab.locator(".verdict + p").inner_text()


def shares(tab) -> list[float]:
    """The probabilities that the lab has computed last."""
    return run(tab, "e.result.probs")


def check(tab, **what) -> None:
    """The lab's answer is that of `vl.intervene`."""
    wanted = vl.intervene(MODEL, PICTURE, **what).softmax(-1)[0].tolist()
    assert shares(tab) == pytest.approx(wanted, abs=1e-4)


def press(tab, name: str) -> None:
    tab.get_by_role("button", name=name).click()


def test_rubbing_out_is_removing(lab):
    """By pointer and by keyboard; a second press brings the patch back; undo and reset."""
    cells = lab.locator("vit-lab .grid > button")
    check(lab)
    cells.nth(3).click()
    cells.nth(3).press("ArrowDown")
    lab.keyboard.press("Enter")
    assert lab.locator("vit-lab .grid > button[tabindex='0']").count() == 1
    check(lab, remove=[3, 11])
    assert told(lab).startswith("2 of 64 patches rubbed out")
    assert "rubbed out" in cells.nth(11).get_attribute("aria-label")
    press(lab, "Undo")
    check(lab, remove=[3])
    cells.nth(3).click()
    check(lab)


def stroke(tab, first: int, last: int, steps: int, button: str = "left") -> None:
    """Rubs from one place to another, with so many events on the way."""
    cells = tab.locator("vit-lab .grid > button")
    ends = [cells.nth(i).bounding_box() for i in (first, last)]
    tab.mouse.move(ends[0]["x"] + 5, ends[0]["y"] + 5)
    tab.mouse.down(button=button)
    tab.mouse.move(ends[1]["x"] + 5, ends[1]["y"] + 5, steps=steps)
    tab.mouse.up(button=button)


def test_what_the_page_says_of_early_blocks_is_true_of_all_its_pictures():
    """Up to block 2 no class gets a quarter, by the head's reading of the mean."""
    model, _ = vl.load_pretrained("cifar10-photo")
    pictures = [one for name, one in sample_pictures().items() if "drawn" not in name]
    trace = vl.trace(model, vl.normalize(torch.stack(pictures)))

    def most(name: str) -> torch.Tensor:
        mean = model.norm(trace[name])[:, 1:].mean(1)
        return model.head(mean).softmax(-1).amax(-1)

    assert len(pictures) == 15 and most("blocks.5").min() > 0.25
    for name in ("embed", "blocks.0", "blocks.1", "blocks.2"):
        assert most(name).max() < 0.25, name


@pytest.mark.parametrize("steps", [1, 20])
def test_a_stroke_leaves_no_gaps_and_is_one_step(lab, steps):
    """However fast; the right button rubs nothing."""
    stroke(lab, 24, 31, steps, "right")
    assert removed(lab) == []
    stroke(lab, 24, 31, steps)
    assert removed(lab) == list(range(24, 32))
    press(lab, "Undo")
    assert removed(lab) == []


def test_moves_positions_and_heads_are_vitlibs(lab):
    press(lab, "Swap quadrants")
    quadrants = torch.arange(64).view(8, 8).roll((4, 4), (0, 1)).flatten().tolist()
    check(lab, order=quadrants)
    lab.get_by_text("Inside the model").click()
    lab.get_by_label("Position embeddings").select_option("set to zero")
    press(lab, "layer 1, head 0")
    check(lab, order=quadrants, positions="none", heads=[(1, 0)])
    assert told(lab).startswith("64 moved, positions set to zero, 1 head off")
    press(lab, "Start again")
    check(lab)


@pytest.mark.parametrize("name", ["centre", "occlusion"])
def test_a_ranking_removes_its_first(lab, name):
    """One that is at hand, and one that asks once for each patch."""
    lab.get_by_text("Rub out by a ranking").click()
    lab.get_by_label("Ranked by").select_option(name)
    lab.get_by_label("How many patches").fill("4")
    lab.wait_for_function(
        "document.querySelector('vit-lab').state.removed.length === 4"
    )
    dearest = vl.occlusion(MODEL, PICTURE)[0].topk(4).indices.tolist()
    assert removed(lab) == ([27, 28, 35, 36] if name == "centre" else sorted(dearest))
    lab.get_by_label("Remove or keep").select_option("keep only the first")
    assert len(removed(lab)) == 60


@pytest.mark.parametrize("pool", ["token", "avg"])
def test_rankings_are_the_packages_explanations(browser, tmp_path, pool):
    """The scores that the slider follows are those of `vl.patch_scores`, for every name but chance."""
    model, card = tiny_model("tiny", global_pool=pool)
    draw = torch.Generator().manual_seed(0)
    for weight in model.parameters():  # so that the tokens do not all read the same
        torch.nn.init.normal_(weight, std=0.15, generator=draw)
    address = page(
        tmp_path, '<vit-lab model="tiny" picture="cat"></vit-lab>', [(model, card)]
    )
    ask = "Promise.resolve(window.vitRankings.RANKINGS[a[0]](e, () => {})).then(scores => [...scores])"
    with explorer(browser, address, "vit-lab") as tab:
        assert tab.evaluate(
            "Object.keys(window.vitRankings.RANKINGS).sort()"
        ) == sorted(vl.EXPLANATIONS)
        for name in sorted(set(vl.EXPLANATIONS) - {"random"}):
            wanted = vl.patch_scores(name, model.half().float(), PICTURE)[0]
            found = torch.tensor(run(tab, ask, name), dtype=torch.float32)
            if name == "variance":  # of bytes there, of standardised numbers here
                found = found / 127.5**2
            torch.testing.assert_close(
                found, wanted, rtol=0.02, atol=2e-3 * wanted.abs().max().item()
            )
        options = tab.locator("vit-lab select[aria-label='Ranked by'] option")
        assert not any(option.is_disabled() for option in options.all())
        press(tab, "Mirror")
        off = [
            option.text_content() for option in options.all() if option.is_disabled()
        ]
        assert off == ["relevance", "grad-cam", "integrated gradients"], (
            "they are of the untouched picture"
        )


def test_the_lens_ends_with_the_answer(lab):
    """After the last block the lens says what the model says; before it, what the head makes of those tokens."""
    steps = [run(lab, f"e.answers({layer}).whole") for layer in range(3)]
    wanted = vl.logit_lens(MODEL, PICTURE)[:, 0, 0].softmax(-1)  # of CLS
    torch.testing.assert_close(torch.tensor(steps), wanted, rtol=0, atol=1e-4)
    assert steps[-1] == pytest.approx(shares(lab), abs=1e-5)


def state_link(state) -> str:
    return "#lab=" + base64.b64encode(json.dumps(state).encode()).decode()


@pytest.mark.parametrize(
    "state",
    [
        {"model": "tiny", "removed": [64, -1, "x", 1.5], "order": [0] * 64},
        {"model": "tiny", "picture": "<img src=x onerror=alert(1)>", "removed": {"length": 9}},
        None,
    ],
)  # fmt: skip
def test_a_hostile_link_does_nothing(browser, address, state):
    with explorer(browser, address + state_link(state), "vit-lab") as tab:
        check(tab)
        assert (
            told(tab)
            == "It is a cat: this model is wrong here. Rub out patches: how many can it spare?"
        )
