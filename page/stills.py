"""Takes the explorers' pictures for readers without scripts and for paper: book/_static/figures/explorers/*.webp.

Beside them, rooms.json says how high each explorer is at some widths, so that pages keep its place.

    python -m page.stills

Needs the built book (`make book`) and Chrome or Chromium. Each is what a reader sees who has just come to the page,
without what is there to be pressed; of the ViT that learns, a run that has ended.
"""

from __future__ import annotations

import io
import json

from PIL import Image

from page.browser import HTML, chromium, launched
from page.explorers import ROOMS, STILLS

PAGES = {  # the explorer's picture: its page, and which of the page's explorers it is
    "way": ("way", "vit-way"),
    "way-brief": ("intro", "vit-way"),
    "microscope": ("microscope", "vit-microscope"),
    "dare": ("intro", "vit-dare"),
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
            if name == "way-brief":  # in its place stands the title page's drawing
                continue
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
