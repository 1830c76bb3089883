"""Drawings and maps are the same on every machine: with one family of fonts at a time, under fontconfig."""

import html
import re
import sys
from pathlib import Path

import pytest
from browsing import (
    CHROMIUM,
    PAGES,
    STICKS_OUT,
    built,
    check_letters,
    check_map,
    needs_browser,
    opened,
    sampled_pages,
    show,
)
from pages import CHAPTERS

from page.browser import HTML, launch

pytestmark = [
    *needs_browser,
    pytest.mark.skipif(
        sys.platform != "linux", reason="only Linux finds its fonts by fontconfig"
    ),
]
OURS = "Patch by Patch Sans"
FAMILIES = {  # a file of the family, and Debian's package
    "DejaVu Sans": ("DejaVuSans.ttf", "fonts-dejavu-core"),
    "Noto Sans": ("NotoSans-Regular.ttf", "fonts-noto-core"),
    "Noto Sans CJK SC": ("NotoSansCJK-Regular.ttc", "fonts-noto-cjk"),
    "Liberation Sans": ("LiberationSans-Regular.ttf", "fonts-liberation"),
}
FOLDERS = [
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    Path.home() / ".local/share/fonts",
]
SETTING = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{folder}</dir>
  <cachedir>{cache}</cachedir>
  <match><edit name="family" mode="append" binding="weak"><string>{family}</string></edit></match>
</fontconfig>
"""


def drawn_in(tab, selector: str) -> set[str]:
    """The families in which the text of these elements is really drawn, as the browser says."""
    devtools = tab.context.new_cdp_session(tab)
    devtools.send("DOM.enable")
    devtools.send("CSS.enable")
    page = devtools.send("DOM.getDocument")["root"]["nodeId"]
    nodes = devtools.send(
        "DOM.querySelectorAll", {"nodeId": page, "selector": selector}
    )["nodeIds"]
    fonts = [
        devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        for node in nodes
    ]
    devtools.detach()
    return {font["familyName"] for each in fonts for font in each}


@pytest.fixture(scope="module", params=sampled_pages(4, [*FAMILIES]))
def alone(request, browser, tmp_path_factory):
    """A browser that finds one family of fonts on its machine, the family, and what it really draws with."""
    family, (file, package) = request.param, FAMILIES[request.param]
    found = next(
        (path for folder in FOLDERS for path in Path(folder).rglob(file)), None
    )
    if found is None:
        pytest.skip(
            f"{family} is not on this machine; on Debian it is in the package {package}"
        )
    folder = tmp_path_factory.mktemp("fonts")
    setting = folder / "fonts.conf"
    setting.write_text(
        SETTING.format(folder=found.parent, cache=folder / "cache", family=family)
    )
    other = launch(browser.browser_type, FONTCONFIG_FILE=str(setting))
    tab = other.new_page()
    tab.set_content("<p style='font-family:system-ui'>letters")
    used = drawn_in(tab, "p")
    yield other, family, used
    other.close()


def letters(name: str) -> int:
    """How many letters the drawings of a page hold."""
    page = (HTML / built(name)).read_text(encoding="utf-8")
    return len(html.unescape("".join(re.findall(r"<text[^>]*>([^<]*)", page))))


def test_letters_are_the_books_own_and_can_be_read(alone, address):
    """Whatever the text around them is drawn in, letters of drawings and maps are those that were measured."""
    browser, family, used = alone
    if used != {family}:
        pytest.skip(
            f"{CHROMIUM} does not read FONTCONFIG_FILE: its letters are {used}, not {family}"
        )
    chapters = sorted((f"book/{path.stem}" for path in CHAPTERS), key=letters)
    for name in chapters[-4:]:
        with opened(browser, f"{address}/{built(name)}") as (tab, _):
            text, drawn = (
                drawn_in(tab, "h1 + p"),
                drawn_in(tab, ".drawing text, svg.vit-map text"),
            )
            print(
                f"{name}: the text is in {text}, the letters of drawings are in {drawn}"
            )
            assert family in text and drawn == {OURS}
            for width in (390, 1280):
                show(tab, width=width)
                check_map(tab, width)
                assert check_letters(tab, width)


@pytest.mark.parametrize(
    "page",
    ["genindex", *sampled_pages(32, [page for page in PAGES if page != "genindex"])],
)
def test_a_page_fits_a_phone(alone, address, page):
    browser, *_ = alone
    with opened(browser, f"{address}/{built(page)}", width=390) as (tab, _):
        assert tab.evaluate(STICKS_OUT, 390) == []
