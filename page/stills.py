"""Takes the explorers' pictures for readers without scripts and for paper: book/_static/figures/explorers/*.webp.

Beside them, rooms.json says how high each explorer is at some widths, so that pages keep its place. Of the title page's
first screen the HTML itself is kept, in each language, as `figures/first-en.html`, and as a picture for previews,
`cover-en.png`.

    python -m page.stills

Needs the built book (`make book`) and Chrome or Chromium. Each is what a reader sees who has just come to the page,
without what is there to be pressed; of the ViT that learns, a run that has ended.
"""

from __future__ import annotations

import io
import json

from PIL import Image

from page.browser import HTML, chromium, launched
from page.edition import known, place
from page.explorers import ROOMS, STILLS, first_screen
from page.preview import cover

PAGES = {  # the explorer's picture: its page, and which of the page's explorers it is
    "way": ("way", "vit-way"),
    "microscope": ("microscope", "vit-microscope"),
    "lab": ("lab", "vit-lab >> nth=0"),
    "lab-drawn10": ("lab", "vit-lab >> nth=1"),
    "learns": ("learns", "vit-learn"),
    "learns-positions": ("03-position", "vit-learn"),
    "learns-attention": ("05-attention", "vit-learn"),
    "learns-residual": ("06-encoder", "vit-learn"),
    "patches": ("01-patchify", "vit-patches"),
    "positions": ("03-position", "vit-positions"),
    "resampling": ("04-resolution", "vit-positions"),
    "triangle": ("05-attention", "vit-triangle"),
    "shapes": ("08-whole-vit", "vit-shapes"),
    "attention": ("09-training", "vit-attention"),
}
# between 567 and 569, two columns become one
WIDTHS = (
    286,
    320,
    358,
    460,
    567,
    569,
    640,
    688,
    790,
)
CONTROLS = """.row, .samples, .knobs, .tools + .note, .verdict + .keeps, [role=status], details:not([open]) {
    display: none; } summary { list-style: none; }"""
HEIGHTS = """async (one, widths) => {
    const found = [];
    for (const width of widths) {
        one.style.width = `${width}px`;
        await new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame));
        found.push([width, Math.round(one.getBoundingClientRect().height)]);
    }
    one.style.width = "";
    return found;
}"""

# The first screen as HTML: canvases become pictures, and what scripts make anew is left out
KEEP = """one => {
    const kept = one.querySelector(".first").cloneNode(true), canvases = one.querySelectorAll("canvas");
    kept.querySelectorAll("canvas").forEach((canvas, k) => {
        const picture = document.createElement("img");
        const src = canvases[k].toDataURL("image/webp", 0.8);
        Object.assign(picture, { alt: "", ariaHidden: "true", className: canvas.className, src });
        canvas.replaceWith(picture);
    });
    kept.querySelector(".grid").replaceChildren();
    kept.querySelectorAll("input, .silent").forEach((hidden) => hidden.remove());
    return kept.outerHTML;
}"""
# What a link's preview shows: the title and the still, 1200 x 630
COVER = """
    .bd-header-article, .bd-sidebar-primary, .bd-sidebar-secondary, .headerlink,
    .first :is(.scrub, .says, .hands, .told),
    .bd-article > section > :not(h1, h1 + p, vit-first) { display: none !important; }
    .bd-article-container, .bd-content, .bd-main, .bd-article {
        max-width: none !important; padding: 0 !important; width: 100%; }
    .bd-article > section { padding: 14px 60px; zoom: 1.1; }
    .first { --side: 316px !important; }"""


def keep_first(browser) -> None:
    """The first screen as it stands when nothing was touched, and the picture for previews, of each built language."""
    for language in known():
        page = HTML / place(language) / "book" / "intro.html"
        if not page.exists():
            continue
        tab = browser.new_page(
            viewport={"width": 1200, "height": 630}, color_scheme="light"
        )
        tab.goto(page.as_uri())
        tab.locator("vit-first[data-ready=yes]").wait_for()
        tab.wait_for_timeout(1000)  # bars grow
        kept = tab.locator("vit-first").evaluate(KEEP)
        first_screen(language).write_text(f"{kept}\n", encoding="utf-8")
        tab.add_style_tag(content=COVER)
        picture = Image.open(io.BytesIO(tab.screenshot())).quantize(256)
        picture.save(cover(language), optimize=True)


def main() -> None:
    """Writes one picture an explorer."""
    if chromium() is None or not (HTML / "book" / "lab.html").exists():
        raise SystemExit(
            "expected Chromium and the built book; install it and run make book"
        )
    STILLS.mkdir(parents=True, exist_ok=True)
    rooms = {}
    look = {"color_scheme": "light", "reduced_motion": "reduce"}
    with launched() as browser:
        keep_first(browser)
        tab = browser.new_page(viewport={"width": 1280, "height": 2400}, **look)
        for name, (page, explorer) in PAGES.items():
            tab.goto((HTML / "book" / f"{page}.html").as_uri())
            shown = tab.locator(explorer)
            shown.scroll_into_view_if_needed()
            tab.wait_for_function(
                "one => one.dataset.ready === 'yes'", arg=shown.element_handle()
            )
            if "learn" in explorer:  # a run that has ended
                shown.get_by_role("button", name="Start", exact=True).click()
                shown.get_by_role("button", name="Done").wait_for(timeout=300_000)
            rooms[name] = shown.evaluate(HEIGHTS, list(WIDTHS))
            if name == "way":
                # in one of the last blocks
                shown.evaluate("way => way.step(way.stages.length - 4)")
            shown.evaluate(
                "(one, css) => one.shadowRoot.querySelector('style').append(css)",
                CONTROLS,
            )
            tab.wait_for_timeout(500)  # bars grow
            picture = Image.open(io.BytesIO(shown.screenshot()))
            picture.save(STILLS / f"{name}.webp", quality=65, method=6)
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(points)}" for name, points in rooms.items()
    )
    ROOMS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
