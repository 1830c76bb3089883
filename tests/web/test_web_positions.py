"""The position explorer in a page: its tables, similarities and resampled grids are vitlib's."""

import random

import pytest
import torch
import torch.nn.functional as F
from browsing import needs_browser
from web_pages import opened_once, run

import vitlib as vl

pytestmark = [*needs_browser, pytest.mark.sampled(3, "positions in a page")]

MODELS = ("cifar10-plain", "drawn10-token")
METHODS = {
    "bicubic, antialiased": {"mode": "bicubic", "antialias": True},
    "bicubic": {"mode": "bicubic"},
    "bilinear": {"mode": "bilinear"},
    "nearest": {"mode": "nearest-exact"},
}
BODY = '<vit-positions model="cifar10-plain" resample="6x10"><p>A figure</p></vit-positions>'
positions = opened_once(BODY, lambda: map(vl.load_pretrained, MODELS))
# chapter 04
TRAPS = {
    "one line": "6.2",
    "(columns, rows), swapped": "6.1",
    "the first N, then again": "6.3",
}


def get(tab, what):
    return torch.tensor(
        run(tab, f"Array.from(e.{what}, one => one.length ? Array.from(one) : one)")
    )


def kind(tab, name, centred=False):
    tab.get_by_label("Positions", exact=True).select_option(name)
    tab.get_by_label("minus the mean").set_checked(centred)
    done = "e.model.name === a[0]" if name in MODELS else "e.kind.value === a[0]"
    while not run(tab, done, name):
        tab.wait_for_timeout(10)


def size(
    tab,
    rows,
    cols,
    method="bicubic, antialiased",
    layout="rows and columns",
):
    for label, value in (("rows", rows), ("columns", cols)):
        tab.get_by_role("slider", name=label).fill(str(value))
    tab.get_by_label("Method").select_option(method)
    tab.get_by_label("The table is taken as").select_option(layout)


def cosines(table, centred=False):
    unit = F.normalize(table - table.mean(dim=0) if centred else table, dim=1)
    return unit @ unit.T


def learned(name):
    return vl.load_pretrained(name)[0].pos_embed.table().detach()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("centred", [False, True])
def test_learned(positions, name, centred):
    kind(positions, name, centred)
    table = learned(name)[0, 1:]
    assert torch.equal(get(positions, "table").reshape(64, 96), table)
    assert torch.allclose(get(positions, "alike"), cosines(table, centred), atol=1e-6)


def test_sines_and_cosines(positions):
    """Also on grids that no model at hand has."""
    kind(positions, "sincos2d")
    assert (
        get(positions, "table").reshape(64, 96) - vl.sincos_2d((8, 8), 96)
    ).abs().max() < 1e-6
    for grid, width in [((3, 4), 8), ((14, 14), 384), ((5, 16), 12), ((24, 7), 768)]:
        got = run(positions, "e.constructor.sincos2d(...a)", grid, width)
        assert (
            torch.tensor(got).reshape(-1, width) - vl.sincos_2d(grid, width)
        ).abs().max() < 2e-6


@pytest.mark.parametrize("method", METHODS)
def test_resampled_as_in_torch(positions, method):
    """To the sides of the element, and the antialiased one is vitlib's, for many pairs of sizes and tables."""
    kind(positions, "drawn10-token")
    table, draw = learned("drawn10-token"), random.Random(0)
    sides = [(6, 10), (12, 12), (8, 8), (1, 1), (16, 1), (1, 16), (3, 16), (4, 4)]
    for rows, cols in sides if method == "bicubic, antialiased" else sides[:3]:
        size(positions, rows, cols, method)
        got = get(positions, "resampled").reshape(-1, 96)
        if method == "bicubic, antialiased":
            expected = vl.resample_pos_embed(table, (rows, cols), (8, 8))[0, 1:]
        else:
            grid = table[:, 1:].mT.unflatten(2, (8, 8))
            expected = (
                F.interpolate(grid, size=(rows, cols), **METHODS[method])
                .flatten(2)
                .mT[0]
            )
        assert (got - expected).abs().max() < 1e-5
        assert torch.allclose(get(positions, "alike2"), cosines(got), atol=1e-5)
    pairs = [(draw.randint(1, 20), draw.randint(1, 24)) for _ in range(60)]
    weights = "a[1].map(([old, now]) => e.constructor.METHODS[a[0]](old, now).map(row => [...row]))"
    lines = run(positions, weights, method, pairs)
    for (old, now), line in zip(pairs, lines, strict=True):
        ones = torch.eye(old)[None, :, None]  # (1, old, 1, old)
        expected = F.interpolate(ones, size=(1, now), **METHODS[method])[0, :, 0].T
        assert (
            torch.tensor(line, dtype=torch.float32) - expected
        ).abs().max() < 1e-5, (old, now)


def test_the_table_as_one_line(positions):
    """Chapter 04's ways to get it wrong are as far off as they are there, and so says the page."""
    kind(positions, "cifar10-plain")
    size(positions, 6, 10)
    said = positions.locator("vit-positions details > p").first
    assert "Every new place is taken for where it is" in said.text_content()
    for layout, off in TRAPS.items():
        size(positions, 6, 10, layout=layout)
        assert f"up to {off} patches away" in said.text_content()
    size(positions, 6, 10)
