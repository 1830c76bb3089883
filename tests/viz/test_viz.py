"""Figures: one card each, in the house style, shown once by a notebook; and refusals."""

import io
import re
import warnings

import numpy as np
import pytest
import torch

import vitlib as vl
from vitlib import viz
from vitlib.viz import style

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import RendererAgg  # noqa: E402
from matplotlib.colors import to_rgb, to_rgba  # noqa: E402

from vitlib.viz.attention import yellowest  # noqa: E402

RUN = {
    "epochs": [
        {
            "epoch": i,
            "train_loss": 2 / i,
            "val_loss": 2.2 / i,
            "val_accuracy": 1 - 1 / i,
        }
        for i in range(1, 4)
    ]
}
NUMBERS = torch.arange(10, 34).reshape(4, 6)
NAMES = ("cat", "dog", "automobile")


def rand(*shape, seed=0) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def maps(*shape) -> torch.Tensor:
    return rand(*shape).softmax(dim=-1)


PROBS = rand(4, 3).softmax(dim=1)
RIGHT = PROBS.argmax(dim=1)
TRUTHS = (RIGHT + rand(4).round().long()) % 3
MANY = torch.arange(90)
NAMED = dict(
    values=".0f",
    rows=["ends aligned"] * 9,
    columns=["24 x 24"] * 6,
    label="accuracy (%)",
)
LONG = ("one", "two", "long " * 6)
SERIES = {"a": [1, 2], "b": ([1, 3], [2, 4])}
FLOW = {
    "images": (1, 3, 224, 224),
    "attention weights": (1, 16, 257, 257),
    "tokens": (1, 257, 1280),
}
FLOW |= {"logits": (1, 1000)}
FIGURES = {  # what draws it, how many axes it has
    "images": (lambda: viz.show_images(rand(5, 3, 8, 8), titles="abcde", cols=3), 5),
    "patches": (lambda: viz.show_patches(rand(3, 32, 48), 16, numbers=True), 1),
    "patches of a sequence": (
        lambda: viz.show_patches(vl.patchify(rand(1, 3, 8, 8), 4)[0], 4),
        1,
    ),
    "tokens": (lambda: viz.show_tokens(rand(3, 32, 32), 4), 1),
    "numbers": (
        lambda: viz.number_grid(NUMBERS, vl.patchify(NUMBERS[None, None], 2)[0], 2),
        1,
    ),
    "heat maps": (
        lambda: viz.heat_maps(rand(3, 8, 8), titles="abc", label="weight"),
        4,
    ),
    "a heat map": (
        lambda: viz.heat_maps(rand(4, 5) - 0.5, values=".1f", limits=(-1, 1)),
        2,
    ),
    "named heat maps": (
        lambda: viz.heat_maps(90 * rand(3, 9, 6), titles="abc", **NAMED),
        4,
    ),
    "heat maps in two rows": (
        lambda: viz.heat_maps(rand(4, 2, 3), cols=2, rows="ab", columns=LONG),
        5,
    ),
    "lines": (
        lambda: viz.plot_lines(
            {"a": ([1, 2, 4], [3, 4, 5], [1, 1, 1]), "b": [3, 4, 5.1]}, "x", "y"
        ),
        1,
    ),
    "panels of curves": (
        lambda: viz.curve_panels({c: SERIES for c in "ABCDE"}, "x", "y"),
        5,
    ),
    "curves": (lambda: viz.learning_curves({"plain": RUN, "modern": RUN}), 2),
    "predictions": (
        lambda: viz.show_predictions(rand(4, 3, 8, 8), PROBS, TRUTHS, NAMES),
        4,
    ),
    "confusion": (
        lambda: viz.confusion_matrix(MANY % 10, MANY % 9, ("automobile",) * 10),
        1,
    ),
    "shapes": (
        lambda: viz.shape_flow(
            {"ViT-H/14": FLOW, "small": FLOW}, ["attention weights", "tokens"]
        ),
        1,
    ),
    "a whole model": (
        lambda: viz.architecture(vl.ViTConfig.preset("vit-h/14"), rand(3, 224, 224)),
        1,
    ),
    "overlay": (
        lambda: viz.attention_overlay(
            rand(3, 32, 32), maps(3, 16), titles="abc", gamma=2.0
        ),
        5,
    ),
    "grid": (lambda: viz.attention_grid(rand(3, 32, 32), maps(6, 3, 17, 17)), 2),
    "from a patch": (
        lambda: viz.show_attention_from_patch(
            rand(3, 16, 24), maps(2, 7, 7), 4, (2, 3)
        ),
        4,
    ),
    "positions": (lambda: viz.similarity_maps(rand(1, 10, 6)), 2),
}


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request):
    """A figure, its number of axes, and the texts that were drawn on it."""
    draw, axes = FIGURES[request.param]
    texts, draw_text = [], RendererAgg.draw_text

    def record(renderer, *args, mtext=None, **kwargs):
        texts.append(mtext)
        return draw_text(renderer, *args, mtext=mtext, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RendererAgg, "draw_text", record)
        fig = draw()
        fig.savefig(io.BytesIO(), format="png")
    return fig, axes, list(dict.fromkeys(texts))


@pytest.mark.sampled(4)
def test_card(drawn):
    fig, axes, _ = drawn
    assert isinstance(fig, matplotlib.figure.Figure)
    assert sum(ax.get_visible() for ax in fig.axes) == axes
    width, height = fig.get_size_inches()
    assert width == style.WIDTH and 0.5 < height < 9
    assert fig.get_facecolor() == to_rgba(style.CARD)  # opaque and light


def test_letters_are_large_dark_inside_and_apart(drawn):
    fig, _, texts = drawn
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    for text, (name, box) in zip(texts, boxes, strict=True):
        assert text.get_fontsize() >= 10
        assert (
            text.axes is None or text.axes.images or contrast(text.get_color()) > 4.5
        ), name
        assert (
            box.x0 >= -1
            and box.y0 >= -1
            and box.x1 <= fig.bbox.x1 + 1
            and box.y1 <= fig.bbox.y1 + 1
        ), name
    boxes = [boxes[i] for i, text in enumerate(texts) if text.get_rotation() in (0, 90)]
    for i, (first, a) in enumerate(boxes):
        for second, b in boxes[:i]:
            over = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert min(over) < 2, f"{first!r} lies over {second!r}"


def contrast(colour) -> float:
    """With the card, as WCAG 2 defines it."""

    def luminance(name):
        rgb = np.array(to_rgb(name))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ (0.2126, 0.7152, 0.0722)

    return (luminance(style.CARD) + 0.05) / (luminance(colour) + 0.05)


def test_letters_colours_can_be_read():
    assert all(contrast(colour) > 4.5 for colour in style.TEXT)
    assert all(contrast(colour) > 2 for colour in viz.PALETTE)


# How figures are shown


CELLS = [
    "import torch, vitlib as vl\nfrom vitlib import viz",
    "viz.show_images(torch.rand(3, 8, 8))",
    "import matplotlib.pyplot as plt\nviz.use_style()",
    "fig = viz.plot_lines({'a': [1, 2]}, 'x', 'y')\nfig",
    "fig = viz.show_images(torch.rand(3, 8, 8))",
    "plt.subplots(); None",
]


@pytest.mark.sampled(3)
def test_a_notebook_shows_each_figure_once():
    nbformat, nbclient = (
        pytest.importorskip("nbformat"),
        pytest.importorskip("nbclient"),
    )
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS]
    )
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    images = [
        [
            output
            for output in cell.outputs
            if {"image/png", "image/svg+xml"} & output.get("data", {}).keys()
        ]
        for cell in notebook.cells
    ]
    assert [len(outputs) for outputs in images] == [0, 1, 0, 1, 0, 1]
    for (output,) in (images[1], images[3]):
        # in one format, and the whole card: nothing is cropped
        assert set(output["data"]) == {"text/plain", "image/svg+xml"}
        width = re.search(
            r'<svg .*?width="([\d.]+)pt"', output["data"]["image/svg+xml"]
        )
        assert float(width[1]) == pytest.approx(72 * style.WIDTH)


def test_style_is_given_and_not_leaked():
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        viz.show_images(rand(3, 8, 8))
        assert (
            matplotlib.rcParams["font.size"] == matplotlib.rcParamsDefault["font.size"]
        )
        viz.use_style()
        assert matplotlib.rcParams["figure.facecolor"] == style.CARD


# What the figures say


def test_titles_tell_right_from_wrong_and_the_truth():
    probs = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6]])
    fig = viz.show_predictions(rand(2, 3, 8, 8), probs, torch.tensor([0, 1]), NAMES)
    assert [ax.get_title() for ax in fig.axes] == ["✓ cat 90 %", "✗ automobile 60 %"]
    assert [ax.get_xlabel() for ax in fig.axes] == ["", "is dog"]
    frames = [to_rgb(ax.spines["top"].get_edgecolor()) for ax in fig.axes]
    assert frames == [to_rgb(viz.PALETTE[2]), to_rgb(viz.PALETTE[1])]


def test_confusion_counts_rows_as_truths():
    labels, preds = torch.tensor([0, 0, 0, 1, 2]), torch.tensor([0, 1, 1, 1, 0])
    counts = [[1, 2, 0], [0, 1, 0], [1, 0, 0]]
    for fig in (
        viz.confusion_matrix(labels, preds, NAMES),
        viz.confusion_matrix(counts, None, NAMES),
    ):
        (ax,) = fig.axes
        digits = [text for text in ax.texts if text.get_text().isdigit()]
        written = {text.get_position()[::-1]: int(text.get_text()) for text in digits}
        assert written == {
            (i, j): counts[i][j] for i in range(3) for j in range(3) if counts[i][j]
        }
        assert ax.get_title() == "40.0 % of 5 right"


def test_attention_is_a_colour_whatever_the_picture_is_like():
    """The same weight has the same colour on black and on white, but for the little that shows through."""
    weights = torch.tensor([1.0, 0.5, 0.0, 1.0])
    picture = torch.zeros(3, 8, 8)
    picture[:, :, 4:] = 1.0  # left black, right white
    floor = 0.2
    fig = viz.attention_overlay(picture, weights, floor=floor)
    shown = np.asarray(fig.axes[1].images[0].get_array())
    colours = matplotlib.colormaps["cividis"]([1.0, 0.5, 0.0])[:, :3]
    dark_top, white_half, dark_none, white_top = (
        shown[0, 0],
        shown[0, -1],
        shown[-1, 0],
        shown[-1, -1],
    )
    assert dark_top == pytest.approx((1 - floor) * colours[0], abs=1e-6)
    assert white_half == pytest.approx((1 - floor) * colours[1] + floor, abs=1e-2)
    assert dark_none == pytest.approx((1 - floor) * colours[2], abs=1e-6)
    assert white_top - dark_top == pytest.approx([floor] * 3, abs=1e-6)
    bright = np.array([0.2126, 0.7152, 0.0722])
    # large weight on black, half of it on white
    assert bright @ dark_top > bright @ white_half
    fig = viz.attention_overlay(picture, weights, floor=0, gamma=2.0)
    quarter = matplotlib.colormaps["cividis"](0.25)[:3]
    assert np.asarray(fig.axes[1].images[0].get_array())[0, -1] == pytest.approx(
        quarter, abs=1e-6
    )


def test_a_whole_model_is_drawn_with_its_shapes():
    cfg = vl.ViTConfig(
        img_size=(8, 16), patch_size=4, embed_dim=24, depth=2, mlp_ratio=2.0
    )
    written = [
        text.get_text() for text in viz.architecture(cfg, rand(3, 8, 16)).axes[0].texts
    ]
    assert "encoder block, 2 times" in written and "2 × 4 patches of 4 × 4" in written
    # positions and two residual connections
    assert written.count("LayerNorm") == written.count("+") == 3
    shapes = [text for text in written if text.startswith("(")]
    assert shapes == ["(3, 8, 16)", "(8, 48)", "(8, 24)", *["(9, 24)"] * 9, "(10)"]
    assert {
        "Linear 48 → 24",
        "Attention, 3 heads",
        "MLP 24 → 48 → 24",
        "Linear 24 → 10",
    } <= set(written)


def test_patch_numbers_follow_reading_order():
    (ax,) = viz.show_patches(rand(3, 8, 12), 4, numbers=True).axes
    assert {text.get_text(): text.get_position() for text in ax.texts}["4"] == (
        1.5,
        1.5,
    )
    (ax,) = viz.show_tokens(rand(3, 32, 32), 4, first=2, last=1).axes
    assert [text.get_text() for text in ax.texts] == ["CLS", "0", "1", "2", "···", "64"]


def test_every_series_has_its_own_marker_and_line():
    fig = viz.plot_lines({str(i): [i, i + 1] for i in range(7)}, "x", "y")
    looks = [
        (line.get_color(), line.get_marker(), str(line._dash_pattern))
        for line in fig.axes[0].lines
    ]
    assert all(len(set(column)) == 7 for column in zip(*looks, strict=True))


IMAGE, BATCH = rand(3, 8, 8), rand(4, 3, 8, 8)


@pytest.mark.errors
@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: viz.show_images(rand(2, 8, 8)),
            r"\(3, H, W\) or \(n, 3, H, W\), got \(2, 8, 8\)",
        ),
        (lambda: viz.show_images(IMAGE * 255), "divide 0-255"),
        (lambda: viz.show_images(BATCH, titles=["one"]), "expected 4 titles"),
        (
            lambda: viz.show_patches(rand(3, 9, 8), 4),
            "image height 9 is not a multiple of patch_size 4",
        ),
        (
            lambda: viz.heat_maps([]),
            r"expected finite matrices \(R, C\), got shape \(0,\)",
        ),
        (lambda: viz.plot_lines({}, "x", "y"), "expected 1 to 7 curves, got 0"),
        (
            lambda: viz.show_predictions(BATCH, PROBS, RIGHT, ("a", "b")),
            r"\(4, 2\).*got \(4, 3\)",
        ),
        (
            lambda: viz.attention_overlay(IMAGE, maps(17)),
            "expected 4 x 4 = 16 patches, got 17",
        ),
        (lambda: viz.attention_overlay(IMAGE, maps(16) - 1), "0 or more"),
        (
            lambda: viz.show_attention_from_patch(IMAGE, maps(2, 1, 5, 5), 0),
            r"maps\[-1, 0\]",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_table_puts_numbers_on_the_right():
    made = viz.table(
        ["", "share", "words", "as number"],
        [
            ["3 px", "1.5 %", "3 ViTs against 4 ResNets: +1", -1],
            [4, "18 (block 4, head 3)", 7, ""],
        ],
    )
    assert made.splitlines() == [
        "|  | share | words | as number |",
        "| --- | ---: | --- | ---: |",
        "| 3 px | 1.5 % | 3 ViTs against 4 ResNets: +1 | -1 |",
        "| 4 | 18 (block 4, head 3) | 7 |  |",
    ]
    assert made._repr_markdown_() == made and repr(made) == "<table of 2 rows>"
    assert viz.table(["|"], [["a|b"]]).endswith("| a&#124;b |")
    assert viz.table(["a", "b"], []) == "| a | b |\n| --- | ---: |"


def test_the_yellowest_squares_are_read_off_the_drawing():
    """Of an overlay, a table of attention and one of similarity; upside down, they are others."""
    weights = torch.stack([torch.randperm(6) for _ in range(3)]) / 6  # of 2 x 3 patches
    two = weights.topk(2).indices.sort().values.tolist()
    expected = [[divmod(n, 3) for n in row] for row in two]
    picture = rand(3, 8, 12)
    fig = viz.attention_overlay(picture, weights, (2, 3))
    assert yellowest(fig, 2, (2, 3)) == expected
    fig.axes[0].invert_yaxis()
    turned = [sorted((1 - r, c) for r, c in x) for x in expected]
    assert yellowest(fig, 2, (2, 3)) == turned

    looks = torch.zeros(1, 3, 7, 7)
    looks[0, :, 0, 1:] = weights
    fig = viz.attention_grid(picture, looks.expand(2, -1, -1, -1), (2, 3))
    assert yellowest(fig, 2, (2, 3)) == [x for x in expected for _ in range(2)]

    fig = viz.similarity_maps(torch.randn(6, 8), (2, 3))
    assert yellowest(fig, 1, (2, 3)) == [[divmod(n, 3)] for n in range(6)]


def test_rows_of_the_grid_are_heads_and_columns_layers():
    """Layer i's head j looks at one patch of four, another one for each."""
    looks = torch.zeros(2, 3, 5, 5)
    for layer, head in np.ndindex(2, 3):
        looks[layer, head, 0, 1 + (layer + 2 * head + head // 2) % 4] = 1
    table = (
        viz.attention_grid(torch.full((3, 8, 8), 0.5), looks)
        .axes[0]
        .images[0]
        .get_array()
    )
    tall, wide = table.shape[0] // 3, table.shape[1] // 2
    for layer, head in np.ndindex(2, 3):
        tile = np.asarray(table[head * tall :, layer * wide :][:tall, :wide, :3]).sum(
            -1
        )
        quarters = [
            part
            for half in np.array_split(tile, 2)
            for part in np.array_split(half, 2, axis=1)
        ]
        lit = [quarter[20:-20, 20:-20].mean() for quarter in quarters]
        assert int(np.argmax(lit)) == (layer + 2 * head + head // 2) % 4, (layer, head)


def test_names_are_drawn_without_boxes_and_formulas():
    names, labels = ["\ue123", r"$\frac$", "$a$b$"], torch.arange(3)
    with warnings.catch_warnings(
        action="error"
    ):  # matplotlib warns of glyphs that are missing
        figures = [
            viz.confusion_matrix(labels, labels, names),
            viz.plot_lines({name: [1, 2] for name in names}, "x", "y"),
        ]
        figures += [
            viz.show_predictions(rand(3, 3, 8, 8), torch.eye(3), labels, names),
            viz.learning_curves({names[0]: RUN}),
        ]
        assert all(r"\ue123" in figure.svg() for figure in figures)
