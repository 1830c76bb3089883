"""The house style, not from the paper: the file patchbypatch.mplstyle, and colours, markers and measures."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_params_from_file
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.font_manager import fontManager

__all__ = ["PALETTE"]

STYLE = rc_params_from_file(
    Path(__file__).with_name("patchbypatch.mplstyle"), use_default_template=False
)
WIDE = "Noto Sans CJK SC,Noto Sans CJK JP,PingFang SC,Hiragino Sans,Microsoft YaHei,Malgun Gothic".split(
    ","
)
# besides DejaVu
STYLE["font.family"] += [font for font in WIDE if font in fontManager.get_font_names()]
CARD, INK = STYLE["figure.facecolor"], STYLE["text.color"]
DPI, SMALL = STYLE["figure.dpi"], STYLE["legend.fontsize"]  # dots per inch, points
WIDTH, NARROW, MARGIN = 7.2, 4.4, 0.12  # inches; narrow is a phone
INNER_WIDTH = WIDTH - 2 * MARGIN

#: The colours of curves, in order: Okabe and Ito's, without their yellow. Source: chapter 01.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK)
# dark enough for letters
TEXT = (
    "#0068a3",
    "#b34f00",
    "#00775a",
    "#9c4a77",
    "#8a5f00",
    "#20749f",
    INK,
)
BLACK = "#14171c"  # on pictures and their colours, which are the same in the dark; all other ink turns light there
MUTED, BAND, EDGE = "#5b6470", "#eceff3", STYLE["axes.edgecolor"]
MARKERS = "osD^vPX"
LINESTYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 1)))
# where none is, the page
ERRORS = LinearSegmentedColormap.from_list("errors", ["#c04f0000", "#c04f00"])
