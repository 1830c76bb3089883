"""Makes the small fonts of the built book, of equations, icons and drawings: `book/_static/fonts.css`.

They stand in the style sheet itself: nothing moves when a font arrives late, and a page on the disk may read them.
Letters of drawings and of the map are those that matplotlib measured, DejaVu Sans, on every machine.

    pip install brotli
    python -m page.fonts latinmodern-math.otf fa-solid-900.ttf

The first file is in Debian's package fonts-lmodern (GUST Font License), the second in pydata-sphinx-theme, under
`static/vendor/fontawesome/webfonts` (SIL OFL 1.1), and DejaVu Sans comes with matplotlib. The results are committed:
building the book does not need this.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

from fontTools import subset
from fontTools.pens.boundsPen import BoundsPen
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.pens.transformPen import TransformPen
from fontTools.ttLib import TTFont
from matplotlib import get_data_path

SHEET = Path(__file__).resolve().parents[1] / "book/_static/fonts.css"
HEAD = """/* Made by page/fonts.py. Equations: from Latin Modern Math, GUST Font License (fonts-license.txt),
   changed and renamed. Icons: those of Font Awesome Free 6 that the theme names (icons CC BY 4.0, font SIL OFL 1.1),
   under the name that the theme's style sheet gives them. Drawings: from DejaVu Sans, Bitstream Vera licence
   (fonts-license-dejavu.txt), cut down and renamed. */
"""
FACE = """
@font-face {{
  font-display: block;
  font-family: "{family}";
  font-style: normal;
  font-weight: {weight};
  src: url("data:font/woff2;base64,{data}") format("woff2");
}}
"""

# What equations may hold; page/typography.py refuses the rest.
RANGES = """0020-007e 00a0 00a8 00ac 00af 00b0 00b1 00b4 00b7 00d7 00f7 0131 0237 02c6 02c7 02d8 02d9 02dc 0300-0308
    030c 0332 0338 0391-03a1 03a3-03a9 03b1-03c9 03d1 03d5 03d6 03f0 03f1 03f5 2002-200b 2013 2014 2016 2018-201d
    2020 2021 2026 2032-2034 203e 2061-2064 20d7 210f 2111 2113 211c 2190-2199 21a6 21d0-21d4 2200-220b 220f-2213
    2215-221e 2223
    2225 2227-222e 2234 223c 2243 2245 2248 224d 2250 2254 2260 2261 2264 2265 226a 226b 2272 2273 227a 227b 2282 2283
    2286 2287 2295-2299 22a4 22a5 22c0-22c5 22ee-22f1 2308-230b 23b4 23b5 23dc-23df 25a1 25b3 27e8 27e9 2a00-2a02
    2a7d 2a7e 1d400-1d49b 1d49c-1d4b5 1d538-1d551 1d5a0-1d5d3 1d6a4-1d71b 1d7ce-1d7e1
    210b 210e 2110 2112 211b 212c 2130 2131 2133 2102 210d 2115 2119 211a 211d 2124"""
ICONS = """f00e f010 f00c f00d f002 f019 f010 f042 f03a f04a f05a f057 f058 f062 f06a f071 f0c9 f0eb f0f3 f104 f105 f107
    f040 f064 f14c f15b f08e f185 f186 f1c1 f303 f35d"""
# What drawings and the map may hold; page/drawings.py refuses the rest.
LETTERS = """0020-007e 00a0 00a7 00ac 00b0-00b3 00b5-00b7 00b9 00bc-00be 00c4 00d6 00d7 00dc 00df 00e0 00e4 00e7-00e9
    00ef 00f1 00f6 00f7 00fc 0393 0394 0398 039b 03a0 03a3 03a6 03a8 03a9 03b1-03c9 1d40 2009 2010-2015 2018-201d
    2022 2026 202f 2032 2033 2070 2074-2089 2113 2190-2195 2202 2207 2208 2211 2212 221a 221d 221e 2225 223c 2248
    2260 2264 2265 226a 226b 22c5 22ee 22ef 2713 2717"""


def code_points(text: str) -> set[int]:
    """The code points named by ranges such as 0020-007e."""
    ends = [[int(end, 16) for end in part.split("-")] for part in text.split()]
    return {
        point
        for first, *last in ends
        for point in range(first, (last or [first])[0] + 1)
    }


CHARACTERS, DRAWN = code_points(RANGES), code_points(LETTERS)


def fit_delimiters(font) -> None:
    """Takes the white beside tall brackets away: browsers make each as wide as the widest of its sizes."""
    variants, metrics = font["MATH"].table.MathVariants, font["hmtx"].metrics
    constructions = dict(
        zip(
            variants.VertGlyphCoverage.glyphs,
            variants.VertGlyphConstruction,
            strict=True,
        )
    )
    for (
        name
    ) in "parenleft parenright bracketleft bracketright braceleft braceright".split():
        construction = constructions[name]
        sizes = [
            [record.VariantGlyph] for record in construction.MathGlyphVariantRecord[1:]
        ]
        for group in [
            *sizes,
            sorted({part.glyph for part in construction.GlyphAssembly.PartRecords}),
        ]:
            boxes = [bounds(font, glyph) for glyph in group]
            left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
            for glyph in group:
                redraw(font, glyph, (1, 0, 0, 1, 50 - left, 0))
                metrics[glyph] = (right - left + 100, metrics[glyph][1] + 50 - left)


def fit_roots(font) -> None:
    """Makes tall root signs as narrow as the plain one: browsers leave room for the widest behind every root."""
    variants, metrics = font["MATH"].table.MathVariants, font["hmtx"].metrics
    plain = font.getBestCmap()[0x221A]
    construction = variants.VertGlyphConstruction[
        variants.VertGlyphCoverage.glyphs.index(plain)
    ]
    tall = {record.VariantGlyph for record in construction.MathGlyphVariantRecord} - {
        plain
    }
    for glyph in sorted(
        tall | {part.glyph for part in construction.GlyphAssembly.PartRecords}
    ):
        share = metrics[plain][0] / metrics[glyph][0]
        redraw(font, glyph, (share, 0, 0, 1, 0, 0))
        metrics[glyph] = (metrics[plain][0], round(share * metrics[glyph][1]))


def bounds(font, glyph: str) -> tuple[int, int, int, int]:
    """The box of a glyph's ink."""
    pen = BoundsPen(font.getGlyphSet())
    font.getGlyphSet()[glyph].draw(pen)
    return tuple(round(side) for side in pen.bounds)


def redraw(font, glyph: str, transform: tuple) -> None:
    """Moves or scales a glyph's outline."""
    strings = font["CFF "].cff.topDictIndex[0].CharStrings
    old = strings[glyph]
    pen = T2CharStringPen(None, font.getGlyphSet())
    font.getGlyphSet()[glyph].draw(TransformPen(pen, transform))
    new = pen.getCharString(private=old.private, globalSubrs=old.globalSubrs)
    old.bytecode, old.program = None, new.program


def cut(font, points: set[int], family: str, features: tuple[str, ...] = ()) -> str:
    """What the characters need, MATH table and tall variants included, under a name of its own, as base64."""
    options = subset.Options(flavor="woff2", hinting=False, desubroutinize=True)
    options.name_IDs, options.layout_features = [0, 1, 2, 4, 6, 13, 14], list(features)
    options.drop_tables += ["FFTM"]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=points)
    cutter.subset(font)
    for number, name in {1: family, 4: family, 6: family.replace(" ", "")}.items():
        font["name"].setName(name, number, 3, 1, 0x409)
    font.flavor, file = "woff2", io.BytesIO()
    font.save(file)
    print(f"{family}: {len(file.getvalue()) / 1000:.0f} kB")
    return base64.b64encode(file.getvalue()).decode()


def main(math: str, icons: str) -> None:
    """Makes all of them."""
    font = TTFont(math, recalcTimestamp=False)
    fit_delimiters(font)
    fit_roots(font)
    # browsers make it small and raise it, which this glyph is already
    prime = font.getBestCmap()[0x2032]
    low = bounds(font, prime)[1]
    redraw(font, prime, (1.3, 0, 0, 1.3, 0, 90 - 1.3 * low))
    wide, left = font["hmtx"].metrics[prime]
    font["hmtx"].metrics[prime] = (round(1.3 * wide), left)
    constants = font["MATH"].table.MathConstants  # as TeX's own fonts set scripts
    constants.SubscriptShiftDown.Value = 170
    constants.SubscriptBaselineDropMin.Value = -40
    constants.SuperscriptBaselineDropMax.Value = 386
    letters = cut(font, CHARACTERS, "Patch by Patch Math")
    signs = cut(
        TTFont(icons, recalcTimestamp=False), code_points(ICONS), "Patch by Patch Icons"
    )
    sheet = FACE.format(family="Patch by Patch Math", weight="normal", data=letters)
    sheet += FACE.format(family="Font Awesome 6 Free", weight=900, data=signs)
    for weight, file in {
        "normal": "DejaVuSans.ttf",
        "bold": "DejaVuSans-Bold.ttf",
    }.items():
        font = TTFont(Path(get_data_path(), "fonts/ttf", file), recalcTimestamp=False)
        drawn = cut(font, DRAWN, "Patch by Patch Sans", ("kern",))
        sheet += FACE.format(family="Patch by Patch Sans", weight=weight, data=drawn)
    SHEET.write_text(HEAD + sheet, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
