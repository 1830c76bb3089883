"""The lab under a finger, by real touch events at 390 px: strokes rub, swipes beside scroll, and nothing moves."""

import pytest
from browsing import needs_browser
from web_pages import explorer, page, run

pytestmark = [*needs_browser, pytest.mark.sampled(3, "touch")]
PHONE = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    body = '<p style="height: 60vh"></p><vit-lab model="tiny"></vit-lab><p style="height: 3000px"></p>'
    return page(tmp_path_factory.mktemp("touch"), body, ["tiny"])


class Finger:
    """A finger on the lab's picture; places are (row, column), fractions and places outside as well."""

    def __init__(self, tab) -> None:
        self.tab, self.wire = tab, tab.context.new_cdp_session(tab)
        tab.locator("vit-lab .grid").evaluate(
            "grid => scrollBy(0, grid.getBoundingClientRect().top - 250)"
        )

    def at(self, row, column):
        box = self.tab.locator("vit-lab .grid").bounding_box()
        side = box["width"] / 8
        return {
            "x": box["x"] + (column + 0.5) * side,
            "y": box["y"] + (row + 0.5) * side,
        }

    def stroke(self, *way) -> tuple[list[int], float]:
        """From place to place; gives what is grey and how far the page has scrolled."""
        points, top = [self.at(*place) for place in way], self.tab.evaluate("scrollY")
        steps = [
            {k: a[k] + (b[k] - a[k]) * i / 12 for k in a}
            for a, b in zip(points, points[1:], strict=False)
            for i in range(1, 13)
        ]
        for kind, point in [
            ("touchStart", points[0]),
            *(("touchMove", step) for step in steps),
        ]:
            self.wire.send(
                "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]}
            )
            self.tab.wait_for_timeout(16)
        self.wire.send(
            "Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []}
        )
        self.tab.wait_for_timeout(200)
        return sorted(run(self.tab, "e.state.painted")), self.tab.evaluate(
            "scrollY"
        ) - top


@pytest.fixture
def finger(browser, address):
    with explorer(browser, address, "vit-lab", 390, **PHONE) as tab:
        run(tab, "(e.tool = 'paint', e.draw())")
        yield Finger(tab)


@pytest.mark.parametrize(
    ("way", "rubbed"),
    [
        (((2, 0), (2, 4), (5, 4)), [16, 17, 18, 19, 20, 28, 36, 44]),
        (((1, 3), (4, 3)), [11, 19, 27, 35]),
        (((6, 6), (4, 4)), [36, 45, 54]),
    ],
)
def test_a_stroke_on_the_picture_rubs_in_any_direction_and_is_one_step(
    finger, way, rubbed
):
    assert finger.stroke(*way) == (rubbed, 0)
    finger.tab.get_by_role("button", name="Undo").tap()
    assert run(finger.tab, "e.state.painted") == []


def test_a_swipe_beside_the_picture_scrolls_and_rubs_nothing(finger):
    """At a phone's edge, 16 px from the glass's; and over the picture it may end."""
    edge = (finger.at(0, 0)["x"] - 16) / (finger.at(0, 1)["x"] - finger.at(0, 0)["x"])
    for column in (-edge, 7 + edge):
        removed, scrolled = finger.stroke((6, column), (1, column))
        assert removed == [] and scrolled > 100, column


@pytest.mark.sampled(3)
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_moves_whatever_is_done(browser, tmp_path, width):
    """Picture, bars and panels stay where they are: longer lines and other answers have their room."""
    address = page(tmp_path, '<vit-lab model="tiny"></vit-lab>', ["tiny"])
    tops = "e.shadowRoot.querySelectorAll('.grid, .bars, dt:nth-of-type(5), .samples, .layers, .says, .part, .row')"
    tops = f"[...{tops}].map(one => [one.offsetTop, one.offsetHeight, one.nextElementSibling?.offsetLeft])"
    with explorer(browser, address, "vit-lab", min(width, 790)) as tab:
        before = run(tab, tops)
        for state in (
            "removed: [1, 2, 3]",
            "painted: [...Array(64).keys()]",
            "removed: [...Array(64).keys()], painted: [9], heads: [[0, 0], [1, 0]], positions: 'none'",
            "order: e.state.order.toReversed(), removed: [4], heads: [[1, 1]], positions: e.state.order",
        ):
            run(tab, f"e.set({{...e.fresh(), {state}}})")
            assert run(tab, tops) == before, state
        for tool in range(run(tab, "e.tools?.size ?? 0")):
            run(tab, f"[...e.tools.values()][{tool}].click()")
            assert run(tab, tops) == before, tool
        assert run(tab, "(e.before = Array(10).fill(0).with(1, 1), e.draw())") is None
        assert run(tab, tops) == before
