"""<vit-triangle>: one query's attention, as PyTorch computes it, by pointer, keyboard and sliders."""

import math

import pytest
import torch
from browsing import needs_browser
from web_pages import opened_once, run

pytestmark = needs_browser
NAME = "vit-triangle"
KEYS = torch.tensor([[2.0, 1, 1, 0], [0, 1, 3, 0], [0, 0, 2, 0]])  # chapter 05's
opened_tab = opened_once(f"<{NAME}><p>The figure</p></{NAME}>")
VALUES = torch.tensor([[10.0, 0], [5, 10], [0, 0]])


@pytest.fixture
def tab(opened_tab):
    opened_tab.get_by_role("button", name="As in the chapter").click()
    return opened_tab


def rows(tab) -> list[list[str]]:
    return [
        row.locator("td").all_text_contents()
        for row in tab.locator(f"{NAME} tbody tr").all()
    ]


def test_it_starts_as_the_chapter_s_example(tab):
    assert rows(tab) == [
        ["4", "2", "7.39", "0.665"],
        ["2", "1", "2.72", "0.245"],
        ["0", "0", "1.00", "0.090"],
    ]
    verdict = tab.locator(f"{NAME} .verdict").inner_text()
    assert (
        verdict
        == "67\u00a0% of a, 24\u00a0% of b, 9.0\u00a0% of c: the output is (7.88, 2.45)."
    )
    assert run(tab, "e.query") == [1, 2, 0, 1]


@pytest.mark.parametrize(
    "query", [[1, 2, 0, 1], [0, 0, 0, 0], [-4, 3.25, -1.5, 2], [4, -4, 4, -4]]
)
@pytest.mark.parametrize("scaled", [True, False])
def test_numbers_are_pytorch_s(tab, query, scaled):
    set_to = {"query": query, "scaled": scaled}
    found = run(tab, "(e.set(a[0]), e.result)", set_to)
    scores = KEYS @ torch.tensor(query, dtype=torch.float32)
    logits = scores / (math.sqrt(4) if scaled else 1)
    weights = logits.softmax(dim=0)
    expected = {
        "scores": scores,
        "logits": logits,
        "weights": weights,
        "output": weights @ VALUES,
    }
    for name, right in expected.items():
        torch.testing.assert_close(
            torch.tensor(found[name], dtype=torch.float32), right, rtol=1e-5, atol=1e-5
        )


def place(tab, q0, q1):
    box = tab.locator(f"{NAME} .pad svg").bounding_box()
    return box["x"] + box["width"] * (q0 + 4.6) / 9.2, box["y"] + box["height"] * (
        4.6 - q1
    ) / 9.2


def test_mouse(tab):
    tab.mouse.move(*place(tab, 1, 2))
    tab.mouse.down()
    tab.mouse.move(*place(tab, -2, 3), steps=4)
    assert run(tab, "e.query") == [-2, 3, 0, 1]
    tab.mouse.move(*place(tab, 9, -9), steps=4)  # out of the plane
    assert run(tab, "e.query") == [4, -4, 0, 1]
    tab.mouse.up()
    tab.mouse.move(*place(tab, 0, 0))
    assert run(tab, "e.query") == [4, -4, 0, 1]


def test_keyboard(tab):
    tab.locator(f"{NAME} .pad").focus()
    for key in ("ArrowRight", "ArrowDown", "Shift+ArrowDown", "Shift+ArrowLeft"):
        tab.keyboard.press(key)
    assert run(tab, "e.query") == [0.25, 0.75, 0, 1]
    slider = tab.get_by_role("slider", name="query, number 2")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert run(tab, "e.query") == [0.25, 0.75, 0.5, 1]
    assert rows(tab)[1][0] == "2.25"
    tab.get_by_role("button", name="Ask nothing").click()
    assert [row[3] for row in rows(tab)] == ["0.333"] * 3
