"""The first screen by mouse, finger, keyboard and link, in headless Chromium; what it shows is what vitlib computes."""

import pytest
import torch
from browsing import needs_browser
from web_pages import explorer, page, run, tiny_model

import vitlib as vl
from vitworkshop.web.export import turning_patches

pytestmark = [*needs_browser, pytest.mark.sampled(3, "first")]
MODEL, CARD = tiny_model("tiny", global_pool="avg", depth=3)
MODEL = MODEL.half().float()
CAT = vl.sample_image("cat", 32)
BODY = '<vit-first model="tiny" pictures="cat,dog,coffee,ship"></vit-first>'
GREY = [3, 4, 11]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return page(tmp_path_factory.mktemp("first"), BODY, [(MODEL, CARD)])


@pytest.fixture
def first(browser, address):
    with explorer(browser, address, "vit-first") as tab:
        yield tab


def says(tab) -> str:
    return tab.locator(".says").inner_text()


def press(tab, name: str) -> None:
    tab.get_by_role("button", name=name, exact=True).click()


def greyed(places, picture: str = "cat") -> torch.Tensor:
    """A picture, some patches grey, as the model gets it."""
    image = vl.sample_image(picture, 32)
    for row, column in (divmod(place, 8) for place in places):
        image[:, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 128
    return vl.normalize(image[None])


def test_bars_and_curves_are_the_models(first):
    """Untouched and with grey: the shares of the classes, and the three patches that the followed one reads most."""
    for places in ([], GREY):
        run(first, "e.set({painted: a[0], patch: 20, block: 1})", places)
        trace = vl.trace(MODEL, greyed(places))
        probs = trace["head"].softmax(-1)[0]
        shown = first.locator(".first .value").all_inner_texts()
        assert shown == [f"{100 * p:.0f}\N{NO-BREAK SPACE}%" for p in probs.tolist()]
        reads = trace["blocks.1.attn.weights"][0].mean(0)[21, 1:]
        ends = run(
            first,
            "[...e.querySelectorAll('.curves circle')].map(c => [c.cy, c.cx].map(v => Math.floor(v.baseVal.value)))",
        )
        wanted = [i for i in reads.argsort().tolist() if i != 20][-3:]
        assert [row * 8 + column for row, column in ends[-3:]] == wanted


@pytest.mark.parametrize(
    ("picture", "turns", "others_turned"),
    [
        ("cat", turning_patches(MODEL, CAT), False),
        ("ship", [1, 2, 10, 15, 33, 47, 58, 63], True),
    ],
)
def test_why_an_answer_turned_is_counted_from_the_tokens(
    first, picture, turns, others_turned
):
    """The untouched tokens with the grey ones' rows in them: what the head says then is what the sentence says."""
    press(first, picture)
    run(first, "e.set({painted: a[0]})", turns)
    was, now = (vl.trace(MODEL, greyed(places, picture)) for places in ([], turns))
    mixed = was["blocks.2"][0].clone()
    rows = [1 + place for place in turns]
    mixed[rows] = now["blocks.2"][0, rows]
    alone = MODEL.head(MODEL.norm(mixed)[1:].mean(0)).softmax(-1)
    names = run(first, "e.model.classes")
    before, after = (names[one["head"].argmax()] for one in (was, now))
    text = says(first)
    assert f"it says {after}" in text and before != after
    assert (alone.argmax() == was["head"].argmax()) == others_turned
    if not others_turned:
        assert "Their own votes turn it" in text
        return
    votes = MODEL.head(MODEL.norm(now["blocks.2"][0]))[1:].argmax(-1)
    others = [i for i in range(64) if i not in turns]
    count = sum(names[votes[i]] == after for i in others)
    still = sum(names[votes[i]] == before for i in others)
    assert f"it would say {before}" in text
    assert f"{count} now vote {after}, {still} still {before}" in text


def test_the_search_in_the_page_is_the_packages(first):
    """Where none was made before; it ends when told to; it is nobody's best."""
    press(first, "coffee")
    press(first, "Show me")
    first.wait_for_function(
        "document.querySelector('vit-first').state.painted.length > 1"
    )
    press(first, "Stop")
    now = run(first, "e.state.painted")
    first.wait_for_timeout(800)
    assert run(first, "e.state.painted") == now and run(first, "e.searching") is None
    press(first, "Show me")
    first.wait_for_function("document.querySelector('vit-first').turns")
    wanted = turning_patches(MODEL, vl.sample_image("coffee", 32))
    assert run(first, "e.state.painted") == wanted and run(first, "e.bests") == {}


def test_a_dare_is_won_and_handed_on_and_so_is_a_defeat(first, address):
    """The promised number is enough; a link holds the picture, and the number of whoever has won."""
    n = len(turning_patches(MODEL, CAT))
    press(first, "Paint grey")
    assert f"{n} are enough" in says(first)
    press(first, "Dare a friend")
    first.wait_for_function("location.hash === '#dare=cat'")
    run(first, "e.set({painted: a[0]})", turning_patches(MODEL, CAT))
    assert f"A search needs {n}." in says(first)
    press(first, "Dare a friend")
    first.wait_for_function(f"location.hash === '#dare=cat-{n}'")
    for mark, wanted in (
        ("dog-3", "A friend needed 3"),
        ("dog", "In goes a photograph"),
        ("cat-65", "In goes a photograph"),
    ):
        first.goto("about:blank")
        first.goto(f"{address}#dare={mark}")
        first.wait_for_selector("vit-first[data-ready]")
        assert wanted in says(first), mark
    first.evaluate("location.hash = '#dare=dog-3'")  # on the page already
    first.get_by_text("A friend needed 3").wait_for()
    run(first, "e.set({painted: [1]})")
    first.evaluate("location.hash = '#elsewhere'")
    first.wait_for_timeout(100)
    assert run(first, "e.state.painted") == [1] and run(first, "e.picture") == "dog"


def test_the_film_has_six_stops_in_fifteen_seconds_and_moves_no_button(
    browser, address
):
    places = "[...e.querySelectorAll('button')].map(one => one.getBoundingClientRect()).map(({ x, y }) => [x, y])"
    with explorer(browser, address, "vit-first", calm=False) as tab:
        tab.clock.install()
        before = run(tab, places)
        press(tab, "▶ Play")
        seen = []
        for _ in range(31):
            seen.append(run(tab, "e.stop"))
            assert run(tab, places) == before
            tab.clock.run_for(500)
        assert seen == sorted(seen) and set(seen) == set(range(6))
        assert run(tab, "e.playing") is None
        press(tab, "▶ Play")
        press(tab, "Patches")
        tab.clock.run_for(20_000)
        assert run(tab, "e.stop") == 1
        press(tab, "Show me")
        tab.clock.run_for(20_000)
        assert run(tab, places) == before


def test_the_keyboard_follows_and_paints(first):
    first.locator(".grid > button").first.focus()
    first.keyboard.press("ArrowRight")
    first.keyboard.press("ArrowDown")
    assert run(first, "e.state.patch") == 9
    press(first, "Paint grey")
    first.locator(".grid > button").nth(9).focus()
    first.keyboard.press("Space")
    assert run(first, "e.state.painted") == [9]
