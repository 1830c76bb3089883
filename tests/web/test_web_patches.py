"""<vit-patches>: the cut and the pixel in its four places, as vitlib has them."""

import base64

import pytest
import torch
from browsing import needs_browser
from web_pages import opened_once, photos, run

import vitlib as vl
from vitworkshop.web.export import PHOTOS

pytestmark = [*needs_browser, pytest.mark.sampled(3, "patches explorer")]
NAME = "vit-patches"
BODY = f"<{NAME}><p>The figure</p></{NAME}>"
tab = opened_once(BODY)  # each test says from where it starts


def pixels(tab) -> torch.Tensor:
    """The explorer's picture, uint8 (3, 224, 224)."""
    text = run(
        tab, "btoa([...e.bytes].map((one) => String.fromCharCode(one)).join(''))"
    )
    return torch.frombuffer(
        bytearray(base64.b64decode(text)), dtype=torch.uint8
    ).reshape(3, 224, 224)


def address_of(tab) -> dict:
    texts = tab.locator(f"{NAME} .address > *").all_text_contents()
    return dict(zip(texts[::2], texts[1::2], strict=True))


def begin(tab, P=16, row=100, col=120, c=0):
    run(tab, "(e.cut(a[0]), e.look(...a.slice(1)), null)", P, row, col, c)


def test_the_photographs_are_the_package_s_and_the_chapter_s_keeps_every_bit(tab):
    assert len(photos()) < 400_000
    for name in PHOTOS:
        tab.get_by_role("button", name=name, exact=True).click()
        seen, photo = pixels(tab), vl.sample_image(name, 224)
        assert torch.equal(seen, photo) == (name == "astronaut")
        assert (seen.float() - photo.float()).abs().mean() < 4
    tab.get_by_role("button", name="astronaut", exact=True).click()


@pytest.mark.parametrize("P", [1, 4, 16, 56, 224])
def test_a_number_stands_where_patchify_puts_it(tab, P):
    begin(tab, P)
    numbered = torch.arange(3 * 224 * 224).reshape(1, 3, 224, 224)
    places, tokens = (
        vl.patchify(x, P)[0]
        for x in (numbered, vl.sample_image("astronaut", 224)[None])
    )
    picks = torch.randint(
        224, (20, 2), generator=torch.Generator().manual_seed(P)
    ).tolist()
    asked = [
        [row, col, c] for row, col in [*picks, [0, 0], [223, 223]] for c in range(3)
    ]
    found = run(
        tab, "a.map((one) => (e.look(...one), [e.token, e.k, e.value(e.k)]))", *asked
    )
    for (row, col, c), (n, k, value) in zip(asked, found, strict=True):
        assert places[n, k] == (c * 224 + row) * 224 + col
        assert value == tokens[n, k]


def test_what_is_written_about_a_pixel(tab):
    begin(tab, 16, 100, 120)
    red, green, blue = vl.sample_image("astronaut", 224)[:, 100, 120].tolist()
    assert address_of(tab) == {
        "pixel": "row 100, column 120",
        "patch": "i = 6, j = 7",
        "token": "n = 6 · 14 + 7 = 91",
        "in the patch": "p₁ = 4, p₂ = 8",
        "places": "k = (4 · 16 + 8) · 3 + c = 216 to 218",
        "numbers": f"red {red}, green {green}, blue {blue}",
    }
    assert tab.locator(f"{NAME} .numbers .now").inner_text().split() == [
        "216",
        str(red),
    ]


def test_mouse(tab):
    begin(tab)
    for where, x, y, fact, text in (
        (".picture", 30.5 / 224, 50.5 / 224, "pixel", "row 50, column 30"),
        (
            ".patch",
            13.5 / 16,
            15.5 / 16,
            "pixel",
            "row 63, column 29",
        ),  # of P = 16: one more to the left
        (".line >> nth=0", 0.001, 0.5, "token", "n = 0 · 14 + 0 = 0"),
        (".line >> nth=1", 0.001, 0.5, "pixel", "row 0, column 0"),
    ):
        seen = tab.locator(f"{NAME} {where}")
        seen.scroll_into_view_if_needed()
        box = seen.bounding_box()
        tab.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y)
        assert address_of(tab)[fact] == text


def test_keyboard(tab):
    begin(tab)
    for key in ("ArrowRight", "ArrowUp", "Shift+ArrowDown"):
        tab.locator(f"{NAME} .picture").press(key)
    assert address_of(tab)["pixel"] == "row 115, column 121"
    for name, key, now, text in (
        ("Token", "End", "195", "token 195 of 196"),
        ("Token", "ArrowRight", "195", "token 195 of 196"),
        ("Place in the token", "Home", "0", "place 0 of 768: red "),
        ("Place in the token", "ArrowRight", "1", "place 1 of 768: green "),
    ):
        slider = tab.get_by_role("slider", name=name, exact=True)
        slider.press(key)
        assert slider.get_attribute("aria-valuenow") == now
        assert slider.get_attribute("aria-valuetext").startswith(text)
    side = tab.get_by_role("slider", name="Patch size")
    side.press("ArrowRight")
    assert side.get_attribute("aria-valuetext") == "28 pixels"
    assert tab.locator(f"{NAME} .verdict").inner_text() == "64 tokens of 2,352 numbers."
