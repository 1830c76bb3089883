"""All explorers alike: on a narrow screen nothing sticks out, and a tap does what a press does."""

import pytest
from browsing import needs_browser
from web_pages import explorer, page

pytestmark = [*needs_browser, pytest.mark.sampled(3, "explorers")]

TAPS = {  # where a finger taps (top left), where something is told then, and what
    "way": (".grid > button >> nth=5", "pre", '["patches"][0, 5]'),
    "microscope": (".grid > button >> nth=5", ".telling", "32 × 32 pixels"),
    "lab": (".grid > button >> nth=5", ".verdict + p", "1 of 64 patches rubbed out"),
    "attention": (
        ".grid > button >> nth=9",
        ".verdict",
        "the patch at row 1, column 1",
    ),
    "patches": (".picture", ".address", "n = 0 · 14 + 0 = 0"),
    "positions": (".grid > button >> nth=9", ".verdict", "Row 1, column 1 is"),
    "shapes": ("[name=qkv_bias]", ".said", "qkv_bias true → false"),
    "learn": (".grid > button >> nth=5", ".verdict", "In which quarter is the shape?"),
    "triangle": (".pad", ".verdict", "1.6\u00a0% of a, 87\u00a0% of b, 12\u00a0% of c"),
}
OUT = """e => {
    const view = e.shadowRoot.querySelector('.view'), { right } = view.getBoundingClientRect();
    e.shadowRoot.querySelectorAll('details').forEach(one => one.open = true);
    return [...view.querySelectorAll('*')].filter(one => !one.closest('.scroll, .silent, thead')
        && one.getBoundingClientRect().right > right + 1).map(one => one.outerHTML);
}"""


@pytest.mark.parametrize("width", [360, 760])
@pytest.mark.parametrize("kind", TAPS)
def test_by_touch_on_a_narrow_screen(browser, tmp_path, kind, width):
    target, told, text = TAPS[kind]
    name = f"vit-{kind}"
    address = page(
        tmp_path, f'<{name} model="tiny"><p>The figure</p></{name}>', ["tiny"]
    )
    with explorer(browser, address, name, width, has_touch=True) as tab:
        if kind == "shapes":
            # long numbers, all of them marked
            tab.locator("select").first.select_option("vit-h/14")
        assert tab.locator(name).evaluate(OUT) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        place = tab.locator(f"{name} {target}").first
        place.tap(position={"x": 5, "y": 5})
        assert text in tab.locator(f"{name} {told}").first.inner_text()
        if (
            kind != "shapes"
        ):  # a finger's drag belongs to the page's scrolling, but for the lab's erasers
            action = place.evaluate(
                "e => getComputedStyle(e.closest('.grid') ?? e).touchAction"
            )
            assert action.startswith("pinch-zoom" if kind == "lab" else "pan-y")
