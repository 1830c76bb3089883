"""Explorers in the built book: alive, well behaved in light and dark, and a picture where no script runs."""

import base64
import json
import re
from pathlib import Path

import pytest
import torch
from browsing import built, needs_browser, opened, sampled_pages, show, unscripted

from page.address import ROOT
from page.browser import HTML
from tools.build import toc_pages

pytestmark = needs_browser
LAB = "book/lab"


EXPLORED = {  # in the order of the text
    "book/intro": ["vit-first"],
    "book/way": ["vit-way"],
    "book/microscope": ["vit-microscope"],
    LAB: ["vit-lab", "vit-lab"],
    "book/learns": ["vit-learn"],
    "book/01-patchify": ["vit-patches"],
    "book/03-position": ["vit-learn", "vit-positions"],
    "book/04-resolution": ["vit-positions"],
    "book/05-attention": ["vit-learn", "vit-triangle"],
    "book/06-encoder": ["vit-learn"],
    "book/08-whole-vit": ["vit-shapes"],
    "book/13-attention-maps": ["vit-attention"],
    "book/15-what-a-vit-learns": ["vit-lab"],
}


def wake(tab) -> None:
    """Scrolls to each explorer, waits until it is ready, and opens what is folded in it."""
    for name in set(
        tab.evaluate(
            "[...document.querySelectorAll('.bd-article *')].map(e => e.localName)"
        )
    ):
        if name.startswith("vit-"):
            for one in tab.locator(name).all():
                one.scroll_into_view_if_needed()
                tab.wait_for_function(
                    "one => one.dataset.ready", arg=one.element_handle()
                )
                assert one.get_attribute("data-ready") == "yes"
                one.evaluate(
                    "one => one.shadowRoot.querySelectorAll('details').forEach(e => e.open = true)"
                )


@pytest.fixture(
    scope="module",
    params=[
        *sampled_pages(4, EXPLORED),
        *sampled_pages(16, [f"zh/{page}" for page in EXPLORED]),
    ],
)
def woken(request, browser):
    """A page with all its explorers at work, opened from the disk."""
    with opened(browser, (HTML / built(request.param)).as_uri()) as (tab, wrong):
        wake(tab)
        yield tab, wrong, EXPLORED[request.param.removeprefix("zh/")]


def test_the_book_has_them_where_they_belong():
    texts = {
        page: (HTML / built(page)).read_text(encoding="utf-8") for page in toc_pages()
    }
    found = {page: re.findall(r"<(vit-\w+)[ >]", text) for page, text in texts.items()}
    assert {page: tags for page, tags in found.items() if tags} == EXPLORED


def test_nothing_goes_wrong_and_nothing_is_asked_for(woken):
    """From the disk, without a server; a console error or a request elsewhere is in `wrong`."""
    tab, wrong, names = woken
    assert tab.locator(",".join(set(names))).count() == len(names)
    assert wrong == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, True)])
def test_axe_finds_nothing_serious_in_them_and_they_stay_inside_the_page(
    woken, axe, width, dark
):
    """With colours, folded parts open."""
    tab, _, names = woken
    show(tab, dark=dark, width=width)
    # where the bar above the text covers none of their buttons
    tab.evaluate("scrollTo(0, 0)")
    tab.evaluate(axe)
    found = tab.evaluate(
        """async names => (await axe.run({include: names.map(name => [name])}, {resultTypes: ['violations'],
                rules: {'target-size': {enabled: true}}})).violations
            .filter(each => ['serious', 'critical'].includes(each.impact))
            .flatMap(each => each.nodes.map(node => `${each.id}: ${node.html.slice(0, 99)} ${node.failureSummary}`))""",
        sorted(set(names)),
    )
    assert found == []
    for one in tab.locator(",".join(set(names))).all():
        view = one.locator(".view, .first").first
        assert view.evaluate(
            "view => view.scrollWidth <= innerWidth - view.getBoundingClientRect().left"
        )


def test_the_picture_that_is_shown_is_marked_and_no_other(woken):
    tab, _, names = woken
    for one in tab.locator(",".join(set(names))).all():
        marked = one.locator(".samples button[aria-pressed=true]")
        assert marked.count() == min(1, one.locator(".samples").count())


def test_canvases_follow_the_theme(woken):
    """What is drawn in the page's colours is drawn anew in its others."""
    tab, _, names = woken
    pictures = """() => [...document.querySelectorAll('vit-lab, vit-attention, vit-triangle')].map(
        one => [...one.shadowRoot.querySelectorAll('canvas[role=img], svg')].map(
            e => e.toDataURL?.() ?? getComputedStyle(e.querySelector('text')).fill).join())"""
    show(tab, dark=False)
    light = tab.evaluate(pictures)
    show(tab, dark=True)
    dark = tab.evaluate(pictures)
    assert len(light) == len(
        [name for name in names if name in ("vit-lab", "vit-attention", "vit-triangle")]
    )
    assert all(one != other for one, other in zip(light, dark, strict=True))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("page", [page for page in EXPLORED if page != "book/intro"])
def test_a_picture_stands_there_without_scripts_and_on_paper(browser, page):
    address = (HTML / built(page)).as_uri()
    with unscripted(browser, address) as tab:
        assert stills(tab) == len(EXPLORED[page])
    with opened(browser, address) as (tab, _):
        wake(tab)
        assert not tab.locator("[data-ready] img").first.is_visible()
        tab.emulate_media(media="print")
        assert stills(tab) == len(EXPLORED[page])
        assert not tab.locator("[data-ready] .view").first.is_visible()


def stills(tab) -> int:
    """How many explorers show their picture, with a description."""
    images = tab.locator(
        ", ".join(f"{name} img:visible" for name in {*sum(EXPLORED.values(), [])})
    ).all()
    for image in images:
        assert len(image.get_attribute("alt")) > 60
        assert image.evaluate(
            # on paper a tall one is as high as a page, and narrow
            "image => image.decode().then(() => Math.max(image.clientWidth, image.clientHeight) > 400)"
        )
    return len(images)


# one is near from the start
AT_THE_TOP = (
    "book/intro",
    "book/way",
    "book/microscope",
    LAB,
    "book/learns",
    "book/06-encoder",
)
FILES = """[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
    .filter(file => /_images|_static.(figures|vit)|_static.\\w+.(css|js)|book.[\\w-]+.html/.test(file.name))
    .map(file => [file.decodedBodySize, file.name.replace(/.*[/]|[?].*/g, '')])"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("page", EXPLORED)
def test_explorers_load_when_they_come_into_view_and_weigh_little(
    browser, address, page
):
    """At most 3.1 MB with all of them; of it nothing but boot.js before one is near."""
    with opened(browser, f"{address}/{built(page)}") as (tab, wrong):
        if page not in AT_THE_TOP:
            tab.wait_for_load_state("networkidle")
            early = [name for _, name in tab.evaluate(FILES)]
            assert (
                "boot.js" in early
                and "explorer.js" not in early
                and "vit.js" not in early
            )
        wake(tab)
        files = tab.evaluate(FILES)
        assert sum(size for size, _ in files) <= 3.1e6, sorted(files, reverse=True)[:9]
        assert any(name == "explorer.js" for _, name in files)
        assert wrong == []


def test_other_pages_load_only_the_small_script(browser, address):
    with opened(browser, f"{address}/{built('book/02-patch-embedding')}") as (tab, _):
        tab.evaluate("scrollTo(0, document.body.scrollHeight)")
        tab.wait_for_load_state("networkidle")
        ours = [
            name
            for _, name in tab.evaluate(FILES)
            if (HTML / "_static" / "vit" / name).is_file()
        ]
        assert ours == ["boot.js"]
        assert (Path(HTML) / "_static" / "vit" / "boot.js").stat().st_size < 4500


def test_the_contract_of_every_page(browser, address):
    """`window.vit` is there at once; models come when they are asked for, and answer in the documented shapes."""
    with opened(browser, f"{address}/{built('book/02-patch-embedding')}") as (tab, _):
        models = tab.evaluate(
            """async () => Promise.all(window.vit.models().map(async name => {
                const model = await window.vit.load(name), {config, classes, card} = model;
                const sizes = Object.entries(model.run(new Float32Array(3 * 32 * 32)))
                    .map(([key, all]) => [key, all.length]);
                return [config, classes.length, card.parameters, Object.fromEntries(sizes)];
            }))"""
        )
        assert len(models) >= 2
        for config, classes, parameters, sizes in models:
            T, L = (
                1 + (config["img_size"] // config["patch_size"]) ** 2,
                config["depth"],
            )
            assert classes == config["num_classes"] == 10 and parameters <= 600_000
            tokens = (L + 1) * T * config["embed_dim"]
            assert sizes == {
                "logits": 10,
                "probs": 10,
                "attention": L * config["num_heads"] * T**2,
                "tokens": tokens,
            }


LABS = json.loads((ROOT / "vitlib/results/lab.json").read_text())["models"]
SEEN = """lab => { // the ringed part, and what may hide it: all in the window
    const [part, sheet] = ['.ringed', '.tour'].map(
        one => lab.shadowRoot.querySelector(one).getBoundingClientRect());
    const header = document.querySelector('.bd-header-article').getBoundingClientRect().bottom;
    return {part: lab.shadowRoot.querySelector('.ringed').outerHTML.slice(0, 90), hidden: part.height < 1
        || part.top < header || part.bottom > sheet.top + part.height / 3 || sheet.bottom > innerHeight};
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("width", "model"), [(1280, 0), (1280, 1), (390, 0), (390, 1)])
def test_the_tour_goes_from_its_first_step_to_its_last(browser, address, width, model):
    """By keyboard alone: each step asks, then says something with a number of the results beside what was guessed, does
    something to the picture, and rings the part that it speaks of, where one sees it."""
    measured = list(LABS.values())[model]["interventions"]
    with opened(browser, f"{address}/{built(LAB)}", width) as (tab, wrong):
        wake(tab)
        lab = tab.locator("vit-lab").nth(model)
        lab.get_by_role("button", name="Take the tour").press("Enter")
        texts, parts = [], []
        for step in range(8):
            untouched = lab.evaluate(
                "lab => JSON.stringify(lab.state) === JSON.stringify(lab.fresh())"
            )
            assert untouched and "?" in lab.locator(".tour p").inner_text()
            tab.keyboard.press("ArrowRight")  # the focus is on the slider
            tab.keyboard.press("Enter")
            texts.append(lab.locator(".tour p").inner_text())
            assert "51\u00a0%" in lab.locator(".tour .bars").inner_text()
            seen = lab.evaluate(SEEN)
            parts.append(seen["part"])
            assert not seen["hidden"], (step, seen)
            tab.keyboard.press("Enter")  # the focus is on Next, at last on Finish
        assert len(set(texts)) == 8 and all("%" in text for text in texts)
        assert (
            f"{100 * measured['shuffle all']['changed']['mean']:.0f}\u00a0%" in texts[3]
        )
        seen = [
            re.search(r"On this picture: (still|it changed its mind)", text)[1]
            for text in texts[1:7]
        ]
        assert seen == ["still", "it changed its mind"] * 2 + [
            "it changed its mind",
            "still",
        ]
        most = max((what for what in measured if what.startswith("head ")),
                   key=lambda what: measured[what]["changed"]["mean"])  # fmt: skip
        assert most.removesuffix(" off") in texts[6] and "layers" in parts[7]
        head, layer = re.findall(r"\d+", most)
        assert (
            f"layer {layer}, head {head}" in parts[6]
            and "Position embeddings" in parts[5]
        )
        assert lab.locator(".tour p, .ringed").count() == 0
        assert lab.get_by_role("button", name="Take the tour").is_visible()
        assert wrong == []


@pytest.mark.parametrize("model", LABS)
def test_what_the_tour_says_holds_for_every_lab(model):
    """Its words for which of two shares is more, by at least five points."""
    share = {
        what: entry["changed"]["mean"]
        for what, entry in LABS[model]["interventions"].items()
    }
    rising = [
        ("remove 32 at random", "paint 32 at random"),
        ("shuffle all", "swap quadrants"),
        ("move 2 x 2 blocks at random", "swap quadrants"),
        ("swap left and right", "swap top and bottom"),
        ("shuffle all", "swap top and bottom, shuffle inside rows"),
    ]
    assert [
        (less, more) for less, more in rising if share[more] - share[less] < 0.05
    ] == []
    assert share["shuffle all, positions to zero"] == share["positions to zero"]


SHIFT = """window.shift = 0;
    new PerformanceObserver(list => list.getEntries().forEach(one => window.shift += one.value))
        .observe({type: 'layout-shift', buffered: true})"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1920])
@pytest.mark.parametrize("page", ["book/intro", LAB])
def test_nothing_moves_when_an_explorer_comes(browser, address, page, width):
    """Its place is kept, as high as it will be."""
    with opened(browser, "about:blank", width) as (tab, _):
        tab.add_init_script(SHIFT)
        tab.goto(f"{address}/{built(page)}")
        tab.wait_for_selector("[data-ready]")
        tab.wait_for_timeout(300)
        assert tab.evaluate("window.shift") <= 0.05


DONE = """{removed: [3, 11], painted: [0, 9], heads: [[1, 0]], order: lab.state.order.toReversed(),
    positions: [...lab.state.order.slice(1), 0]}"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("state", ["{}", DONE, "{positions: 'none', removed: [63]}"])
def test_a_state_has_its_link_and_its_lines_of_python(browser, at, state):
    """The link brings it back; the lines, run as they are, give its answer."""
    with opened(browser, (HTML / built(LAB)).as_uri()) as (tab, wrong):
        wake(tab)
        lab = tab.locator("vit-lab").nth(at)
        shares = lab.evaluate(f"lab => (lab.set({state}), [...lab.result.probs])")
        lines, found = lab.locator("pre").inner_text(), {}
        exec(lines, found)
        torch.testing.assert_close(
            found["logits"].softmax(-1)[0], torch.tensor(shares), rtol=0, atol=1e-3
        )
        lab.get_by_role("button", name="Link to this").click()
        tab.wait_for_function("location.hash")
        tab.reload()
        wake(tab)
        assert lab.evaluate("lab => [...lab.result.probs]") == pytest.approx(
            shares, abs=1e-6
        )
        assert wrong == []


@pytest.mark.sampled(3)
def test_the_guides_links_open_their_states(browser):
    """All that a link of book/teach.md says is what its explorer then shows."""
    text, checked = (HTML / built("book/teach")).read_text(encoding="utf-8"), 0
    for place, kind, state in re.findall(
        r'href="(\w+\.html#(lab|learn)-([\w-]+))"', text
    ):
        with opened(browser, f"{(HTML / 'book').as_uri()}/{place}") as (tab, wrong):
            wake(tab)
            shown = tab.locator(f"vit-{kind}").first.evaluate(
                "one => ({...one.state, model: one.name, picture: one.picture})"
            )
            wanted = json.loads(base64.urlsafe_b64decode(state + "==="))
            assert {key: shown.get(key) for key in wanted} == wanted and wrong == []
            checked += 1
    assert checked >= 10
