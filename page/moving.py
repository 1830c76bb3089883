"""Takes the moving picture that README opens with, from the built title page: book/_static/figures/way.webp.

    python -m page.moving

Needs the built book (`make book`) and Chrome or Chromium. The picture is the title page's <vit-way>, stage after stage;
what moves is drawn in four steps.
"""

from __future__ import annotations

import io

from PIL import Image

from page.browser import HTML, chromium, launched
from page.explorers import STILLS

PICTURE = STILLS.parent / "way.webp"
WIDTH = 720  # pixels
# shares of a motion; milliseconds of a stage, of a share
MOVED, PAUSE, STEP = ((0.25, 0.5, 0.75, 1.0), 3000, 80)
SHOW = """(way, [stage, moved]) => {
    way.state = { ...way.state, stage };
    way.moved = moved;
    way.draw();
    way.shadowRoot.querySelector('.view').lastElementChild.hidden = true;  // the choice of pictures
}"""


def main() -> None:
    """Writes the picture."""
    if chromium() is None or not (HTML / "book" / "intro.html").exists():
        raise SystemExit(
            "expected Chromium and the built book; install it and run make book"
        )
    frames, times = [], []
    with launched() as browser:
        tab = browser.new_page(
            viewport={"width": WIDTH, "height": 1400}, color_scheme="light"
        )
        tab.goto((HTML / "book" / "intro.html").as_uri())
        way = tab.locator("vit-way[data-ready=yes]")
        way.wait_for()
        tab.wait_for_timeout(1000)  # the crisp picture comes
        for stage in range(way.evaluate("way => way.stages.length")):
            for moved in MOVED:
                way.evaluate(SHOW, [stage, moved])
                frames.append(Image.open(io.BytesIO(way.screenshot())).convert("RGB"))
                times.append(PAUSE if moved == 1 else STEP)
    high = max(frame.height for frame in frames)
    whole = [Image.new("RGB", (frame.width, high), "white") for frame in frames]
    for place, frame in zip(whole, frames, strict=True):
        place.paste(frame)
    whole[0].save(
        PICTURE,
        save_all=True,
        append_images=whole[1:],
        duration=times,
        loop=0,
        quality=60,
        method=6,
    )


if __name__ == "__main__":
    main()
