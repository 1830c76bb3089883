"""The exercises of chapter 11, on inductive bias."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def field(layers):
    side, jump = 1, 1
    for kernel, stride in layers:
        side += (kernel - 1) * jump
        jump *= stride
    return side


EXERCISES["11.a"] = Exercise(
    field,
    inputs=lambda: [
        ([(3, 1), (5, 1)],),
        ([(7, 2), (3, 1), (3, 3), (5, 2)],),
        ([(3, 2)] * 3,),
        ([],),
    ],
    mistakes=[
        ("        jump *= stride\n", "", "the strides are left out"),
        (
            "side += (kernel - 1) * jump\n        jump *= stride",
            "jump *= stride\n        side += (kernel - 1) * jump",
            "a stride counts for the layers after it, not for its own",
        ),
        (
            "jump *= stride",
            "jump = stride",
            "only the stride of the layer before; all strides before are multiplied",
        ),
        (
            "jump *= stride",
            "jump += stride",
            "strides are added; one stride after another multiplies",
        ),
        (
            "kernel - 1",
            "kernel",
            "a kernel of k adds k − 1 places to the one that is there",
        ),
        ("kernel - 1", "kernel // 2", "a kernel reaches out to both sides"),
        (
            "side, jump = 1, 1",
            "side, jump = 0, 1",
            "without any layer a place sees itself: it begins with 1",
        ),
        (
            "return side",
            "return sum(kernel for kernel, _ in layers)",
            "these are the kernels added up: each adds k − 1 places, as far apart as the strides before say",
        ),
        (
            "in layers",
            "in layers[::-1]",
            "the layers are taken from the last to the first",
        ),
    ],
    hints=[
        "Keep two numbers from layer to layer: the side so far, and the product of the strides so far.",
        "Which of the two changes first, in a layer?",
    ],
    others=[
        lambda layers: (
            1
            + sum(
                (k - 1) * torch.tensor([1] + [s for _, s in layers[:i]]).prod().item()
                for i, (k, _) in enumerate(layers)
            )
        ),
        ("return side", "return float(side)"),
    ],
)


def equivariant():
    return {"at_1": {"around"}, "at_8": {"around", "patches"}}


EXERCISES["11.b"] = Exercise(
    equivariant,
    guess=True,
    mistakes=[
        (
            '"at_1": {"around"}',
            '"at_1": {"around", "zeros"}',
            "zeros at the border stay where they are when the picture moves on",
        ),
        (
            '"at_1": {"around"}',
            '"at_1": {"around", "patches"}',
            "after one pixel every patch holds other pixels",
        ),
        (
            '"at_1": {"around"}',
            '"at_1": set()',
            "which layer has neither a border nor a stride?",
        ),
        (
            '"at_8": {"around", "patches"}',
            '"at_8": {"around"}',
            "eight pixels are one whole patch",
        ),
        (
            '"at_8": {"around", "patches"}',
            '"at_8": {"patches"}',
            "what holds for one pixel holds for eight shifts by one",
        ),
        (
            '"at_8": {"around", "patches"}',
            '"at_8": {"around", "patches", "zeros"}',
            "the border is still padded with zeros",
        ),
    ],
    hints=[
        "What does a layer see at the edge, when the picture goes around it?",
        "How far must a picture move so that the patches hold the same pixels as before?",
    ],
    others=[
        {"at_1": "around", "at_8": "patches, around"},
        {"at_1": ["AROUND"], "at_8": ("around", "patches")},
    ],
)


def ahead():
    return {"local": "ResNet", "relation": "ViT"}


EXERCISES["11.c"] = Exercise(
    ahead,
    guess=True,
    mistakes=[
        (
            '"local": "ResNet"',
            '"local": "ViT"',
            "the look of one glyph is a matter of near pixels: which model is born with those?",
        ),
        (
            '"relation": "ViT"',
            '"relation": "ResNet"',
            "two distant glyphs are compared: which model reads distant places in its first layer?",
        ),
    ],
    hints=[
        "Which of the two reads near pixels in its first layer, with the same weights everywhere?",
        "And which of them reads distant places at once?",
    ],
    others=[
        {"local": "resnet", "relation": "vit"},
        {"local": "RESNET", "relation": "ViT "},
    ],
)


def sides():
    def field(layers):
        side, jump = 1, 1
        for kernel, stride in layers:
            side += (kernel - 1) * jump
            jump *= stride
        return side

    return {
        "a": field([(3, 1)] * 5),
        "b": field([(7, 2)] + [(3, 1)] * 4),
        "c": field([(3, 2)] * 4),
        "d": 224,
    }


EXERCISES["11.1"] = Exercise(
    sides,
    mistakes=[
        ("jump *= stride", "jump = 1", "the strides are left out"),
        (
            "side += (kernel - 1) * jump\n            jump *= stride",
            "jump *= stride\n            side += (kernel - 1) * jump",
            "a stride counts for the layers after it, not for its own",
        ),
        (
            "jump *= stride",
            "jump = stride",
            "all strides before a layer are multiplied, not only the last",
        ),
        ("kernel - 1", "kernel", "a kernel of k adds k − 1"),
        ("kernel - 1", "kernel // 2", "a kernel reaches out to both sides"),
        ("side, jump = 1, 1", "side, jump = 0, 1", "the formula begins with 1"),
        ("[(3, 1)] * 4)", "[(3, 2)] * 4)", "in (b) only the first has a stride of 2"),
        ("[(3, 1)] * 5", "[(3, 1)] * 4", "there are five of them"),
        ('"d": 224', '"d": 16', "this is one patch; does attention stay inside it?"),
        (
            '"d": 224',
            '"d": 3 * 16',
            "this is a patch and its neighbours; which tokens can attention read?",
        ),
    ],
    hints=[
        "(a) A 3 × 3 convolution adds one pixel on each side.",
        "(b) What is the product of the strides before each of the four?",
        "(c) The products are 1, 2, 4 and 8.",
    ],
    others=[
        ('"d": 224', '"d": 224.0'),
        ("    return side", "    return torch.tensor(side)"),
    ],
)


def counts():
    side, P, stride = 32, 4, 2
    return {"patches": (side // P) ** 2, "stem": (side // (stride * 2)) ** 2}


EXERCISES["11.2"] = Exercise(
    counts,
    mistakes=[
        (
            '(side // P) ** 2, "',
            'side // P, "',
            "to the right and down: each number of one goes with each of the other",
        ),
        (
            '(side // P) ** 2, "',
            'side**2, "',
            "a shift by one pixel gives every patch other pixels",
        ),
        (
            '(side // P) ** 2, "',
            'P**2, "',
            "these are the pixels of a patch; how many whole patches can the picture move?",
        ),
        ('(side // P) ** 2, "', '1, "', "a shift by whole patches only renames tokens"),
        (
            "(side // (stride * 2)) ** 2",
            "side // (stride * 2)",
            "to the right and down: each number of one goes with each of the other",
        ),
        (
            "(side // (stride * 2)) ** 2",
            "(side // stride) ** 2",
            "behind the stem come patches of 2 on its map: a stride as well",
        ),
        (
            "(side // (stride * 2)) ** 2",
            "(side // (stride * P)) ** 2",
            "the patches are 2 wide on the stem's map, not 4",
        ),
        ("(side // (stride * 2)) ** 2", "side**2", "the convolution has a stride of 2"),
        (
            "(side // (stride * 2)) ** 2",
            "(side // (stride * 3)) ** 2",
            "it is the stride that counts, not the kernel",
        ),
    ],
    hints=[
        "By how many pixels must a picture move so that the patches hold the same pixels?",
        "Strides one after another multiply.",
    ],
    others=[
        ("(side // P) ** 2", "(side / P) ** 2"),
        ("(side // (stride * 2)) ** 2", "(side // stride // 2) ** 2"),
    ],
)


def weights():
    places, C = 32 * 32, 16
    return {"conv": 9 * C**2, "own": 9 * C**2 * places, "full": (places * C) ** 2}


EXERCISES["11.3"] = Exercise(
    weights,
    mistakes=[
        (
            '9 * C**2, "own"',
            '9 * C, "own"',
            "each channel that comes out has nine weights for each that goes in",
        ),
        ('9 * C**2, "own"', '9, "own"', "and the channels?"),
        ('9 * C**2, "own"', '9 * C**2 + C, "own"', "biases are left aside"),
        ('9 * C**2, "own"', '3 * C**2, "own"', "a kernel is 3 × 3"),
        ("9 * C**2 * places", "9 * C**2 * 32", "there are 32 × 32 places"),
        ("9 * C**2 * places", "9 * places", "and the channels?"),
        (
            "9 * C**2 * places",
            "9 * C**2",
            "the kernel is not shared any more: one for each place",
        ),
        (
            "(places * C) ** 2",
            "places**2 * C",
            "every number of a place with every number of another: channels with channels, too",
        ),
        (
            "(places * C) ** 2",
            "places * C",
            "these are the numbers that go in; each goes to every one that comes out",
        ),
        ("(places * C) ** 2", "places**2", "and the channels?"),
        ("(places * C) ** 2", "(32 * C) ** 2", "there are 32 × 32 places"),
    ],
    hints=[
        "(a) From 16 channels to 16, at nine places.",
        "(b) How many places have a kernel of their own now?",
        "(c) How many numbers go in, and how many come out?",
    ],
    others=[
        ("(places * C) ** 2", "float(places * C) ** 2"),
        ("9 * C**2 * places", "places * 9 * C * C"),
    ],
)


def changes(net, images, by):
    with torch.no_grad():
        here, there = (net(x).mean((2, 3)) for x in (images, images.roll(by, -1)))
    return (here - there).abs().max().item()


def nets():
    made = []
    for stride, (B, H, W), by in (
        (3, (2, 6, 9), 1),
        (3, (3, 9, 6), 2),
        (2, (1, 6, 10), 3),
    ):
        first, second = (
            nn.Conv2d(C, 8, 3, stride=s, padding=1, padding_mode="circular")
            for C, s in ((3, 1), (8, stride))
        )
        net = nn.Sequential(first, nn.ReLU(), second).requires_grad_(False)
        made.append((net, torch.randn(B, 3, H, W), by))
    return made


EXERCISES["11.4"] = Exercise(
    changes,
    inputs=nets,
    tol=1e-3,
    mistakes=[
        (
            "net(x).mean((2, 3))",
            "net(x)",
            "these are maps, whose places move along; compare their means over all places",
        ),
        (
            "net(x).mean((2, 3))",
            "net(x).sum((2, 3))",
            "the sum over all places; the mean is asked for",
        ),
        (
            "net(x).mean((2, 3))",
            "net(x).amax((2, 3))",
            "the largest over all places; the mean is asked for",
        ),
        (
            "net(x).mean((2, 3))",
            "net(x).mean(1)",
            "the mean over channels; places are the last two axes",
        ),
        (
            "net(x).mean((2, 3))",
            "net(x).mean(3)",
            "the mean over columns only; the rows are places, too",
        ),
        (
            "images.roll(by, -1)",
            "images.roll(by, -2)",
            "shifted down; `roll` of the page shifts to the right",
        ),
        (
            "images.roll(by, -1)",
            "images.roll(-by, -1)",
            "shifted to the left; `roll` of the page shifts to the right",
        ),
        (
            "images.roll(by, -1)",
            "images.roll(1, -1)",
            "it shifts by one, whatever is asked for",
        ),
        (
            ".abs().max()",
            ".max()",
            "a difference may be negative: the largest in size is asked for",
        ),
        (
            ".abs().max()",
            ".abs().mean()",
            "the mean difference; the largest is asked for",
        ),
        (
            ".abs().max()",
            ".norm()",
            "the length of all differences; the largest one is asked for",
        ),
        (
            "(here - there).abs().max()",
            "((here - there).abs().max() / here.abs().max())",
            "in parts of the features; the plain difference is asked for",
        ),
    ],
    hints=[
        "Shift the pictures before the network, not its map after it.",
        "The mean over axes 2 and 3 leaves (B, channels).",
        "The difference of the two means, without its sign, at its largest.",
    ],
    others=[("net(x).mean((2, 3))", "net(x).flatten(2).mean(-1)"), (".item()", "")],
)


def neighbour(rows, cols, down, right):
    places = torch.arange(rows * cols).view(rows, cols)
    target = places.roll((-down, -right), (0, 1)).flatten()
    return F.one_hot(target, rows * cols).float()


EXERCISES["11.5"] = Exercise(
    neighbour,
    inputs=lambda: [(4, 5, -1, 0), (5, 3, 0, 1), (4, 6, 1, -1), (3, 4, 0, 0)],
    mistakes=[
        (
            "(-down, -right)",
            "(down, right)",
            "this head reads the place on the other side",
        ),
        ("(0, 1)", "(1, 0)", "rows and columns are exchanged"),
        ("(-down, -right)", "(-down, 0)", "it moves up and down only"),
        ("(-down, -right)", "(0, -right)", "it moves left and right only"),
        (
            "rows * cols).float()",
            "rows * cols).float() / 9",
            "a row of attention weights sums to one",
        ),
        (
            "places.roll((-down, -right), (0, 1)).flatten()",
            "places.flatten().roll(-down * cols - right)",
            "at the right edge it goes on in the next row",
        ),
    ],
    hints=[
        "Number the places in reading order, as a grid; `roll` goes around the edge.",
        "Which place does place p read? Its row is one there, and zero elsewhere.",
    ],
    others=[
        (
            "F.one_hot(target, rows * cols).float()",
            "torch.eye(rows * cols)[target]",
        ),
        (".float()", ".double()"),
    ],
)
