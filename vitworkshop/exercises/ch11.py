"""The exercises of chapter 11, on inductive bias."""

from __future__ import annotations

import torch
from torch import nn

import vitlib as vl
from vitworkshop.exercises.answers import plain
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
    inputs=lambda: [([(3, 1), (5, 1)],), ([(7, 2), (3, 1), (3, 3), (5, 2)],), ([(3, 2)] * 3,), ([],)],
    mistakes=[
        ("        jump *= stride\n", "", "the strides are left out"),
        ("side += (kernel - 1) * jump\n        jump *= stride", "jump *= stride\n        side += (kernel - 1) * jump", "a stride counts for the layers after it, not for its own"),
        ("jump *= stride", "jump = stride", "only the stride of the layer before; all strides before are multiplied"),
        ("jump *= stride", "jump += stride", "strides are added; one stride after another multiplies"),
        ("kernel - 1", "kernel", "a kernel of k adds k − 1 places to the one that is there"),
        ("kernel - 1", "kernel // 2", "a kernel reaches out to both sides"),
        ("side, jump = 1, 1", "side, jump = 0, 1", "without any layer a place sees itself: it begins with 1"),
        ("in layers", "in layers[::-1]", "the layers are taken from the last to the first"),
    ],
    hints=["Keep two numbers from layer to layer: the side so far, and the product of the strides so far.", "Which of the two changes first, in a layer?"],
    others=[lambda layers: 1 + sum((k - 1) * torch.tensor([1] + [s for _, s in layers[:i]]).prod().item() for i, (k, _) in enumerate(layers)),
            ("return side", "return float(side)")],
)

def equivariant():
    return {"at_1": {"around"}, "at_8": {"around", "patches"}}
EXERCISES["11.b"] = Exercise(
    equivariant,
    guess=True,
    mistakes=[
        ('"at_1": {"around"}', '"at_1": {"around", "zeros"}', "zeros at the border stay where they are when the picture moves on"),
        ('"at_1": {"around"}', '"at_1": {"around", "patches"}', "after one pixel every patch holds other pixels"),
        ('"at_1": {"around"}', '"at_1": set()', "which layer has neither a border nor a stride?"),
        ('"at_8": {"around", "patches"}', '"at_8": {"around"}', "eight pixels are one whole patch"),
        ('"at_8": {"around", "patches"}', '"at_8": {"patches"}', "what holds for one pixel holds for eight shifts by one"),
        ('"at_8": {"around", "patches"}', '"at_8": {"around", "patches", "zeros"}', "the border is still padded with zeros"),
    ],
    hints=["What does a layer see at the edge, when the picture goes around it?", "How far must a picture move so that the patches hold the same pixels as before?"],
    others=[{"at_1": "around", "at_8": "patches, around"}, {"at_1": ["AROUND"], "at_8": ("around", "patches")}],
)

def shuffled_pixels(images, seed=0):
    g = torch.Generator().manual_seed(seed)
    order = torch.randperm(images[0, 0].numel(), generator=g)
    return images.flatten(2)[..., order].view_as(images)

def faults(answer, *shape):
    """What is wrong with how an answer shuffles two sets of pictures."""
    names = torch.arange(shape[-1] * shape[-2]).view(shape[-2:])  # each pixel is its number, and 1000 a channel
    images = (1000 * torch.arange(shape[1]).view(-1, 1, 1) + names).repeat(shape[0], 1, 1, 1)
    if (out := answer(images)) is None or (more := answer(images[:1] + 0)) is None:
        return None
    if (out := torch.as_tensor(out)).shape != images.shape:
        raise ValueError(f"expected shape {tuple(images.shape)} out, got {tuple(out.shape)}")
    orders = out.flatten(2) % 1000
    if not (orders.sort(-1)[0] == names.flatten()).all() or not (out.flatten(2) // 1000 == torch.arange(shape[1])[:, None]).all():
        return frozenset({"pixels that are lost, or in another channel"})
    tests = {"an order for each picture": (orders != orders[:1]).any(), "an order for each channel": (orders != orders[:, :1]).any(),
             "another order in the second call": (torch.as_tensor(more).flatten(2) % 1000 != orders[:1]).any(),
             "the order that it had": torch.equal(orders[0, 0], names.flatten()), "neighbours that are still neighbours": (orders[0, 0].diff().abs() == 1).float().mean() > 0.5}
    return frozenset(fault for fault, there in tests.items() if there)
EXERCISES["11.c"] = Exercise(
    shuffled_pixels,
    inputs=lambda: [(3, 2, 4, 6), (2, 3, 7, 5)],
    run=faults,
    mistakes=[
        ("[..., order]", "[..., torch.arange(len(order))]", "the pixels are where they were: the order is drawn, and not used"),
        ("images.flatten(2)[..., order]", "torch.stack([p.flatten(1)[:, torch.randperm(len(order), generator=g)] for p in images])", "an order for each picture: nothing is left but the set of its pixels"),
        ("    g = torch.Generator().manual_seed(seed)\n    order = torch.randperm(images[0, 0].numel(), generator=g)", "    order = torch.randperm(images[0, 0].numel())",
         "each call draws another order: what is learned on one set cannot be tested on the next"),
        ("images.flatten(2)[..., order]", "torch.stack([c.flatten(1)[:, torch.randperm(len(order), generator=g)] for c in images.unbind(1)], 1)", "each channel has an order of its own: the colours of a pixel are torn apart"),
        ("images.flatten(2)[..., order]", "images.flatten(1)[..., torch.randperm(images[0].numel(), generator=g)]", "numbers change their channel: shuffle places, with all their channels"),
    ],
    hints=["When is `randperm` called, and how often?", "Draw one order before any picture is touched.", "Let the generator start from `seed`, so that a second call uses the same order."],
    others=[lambda images, seed=3: images.flatten(2)[:, :, torch.randperm(images.shape[2] * images.shape[3], generator=torch.Generator().manual_seed(seed))].reshape(images.shape),
            ("torch.randperm(images[0, 0].numel(), generator=g)", "torch.randperm(images[0, 0].numel(), generator=g).flip(0)")],
)

def sides():
    def field(layers):
        side, jump = 1, 1
        for kernel, stride in layers:
            side += (kernel - 1) * jump
            jump *= stride
        return side
    return {"a": field([(3, 1)] * 5), "b": field([(7, 2)] + [(3, 1)] * 4), "c": field([(3, 2)] * 4), "d": 224}
EXERCISES["11.1"] = Exercise(
    sides,
    mistakes=[
        ("jump *= stride", "jump = 1", "the strides are left out"),
        ("side += (kernel - 1) * jump\n            jump *= stride", "jump *= stride\n            side += (kernel - 1) * jump", "a stride counts for the layers after it, not for its own"),
        ("jump *= stride", "jump = stride", "all strides before a layer are multiplied, not only the last"),
        ("kernel - 1", "kernel", "a kernel of k adds k − 1"),
        ("kernel - 1", "kernel // 2", "a kernel reaches out to both sides"),
        ("side, jump = 1, 1", "side, jump = 0, 1", "the formula begins with 1"),
        ("[(3, 1)] * 4)", "[(3, 2)] * 4)", "in (b) only the first has a stride of 2"),
        ("[(3, 1)] * 5", "[(3, 1)] * 4", "there are five of them"),
        ('"d": 224', '"d": 16', "this is one patch; does attention stay inside it?"),
        ('"d": 224', '"d": 3 * 16', "this is a patch and its neighbours; which tokens can attention read?"),
    ],
    hints=["(a) A 3 × 3 convolution adds one pixel on each side.", "(b) What is the product of the strides before each of the four?", "(c) The products are 1, 2, 4 and 8."],
    others=[('"d": 224', '"d": 224.0'), ("    return side", "    return torch.tensor(side)")],
)

def counts():
    side, P, stride = 32, 4, 2
    return {"patches": (side // P) ** 2, "stem": (side // (stride * 2)) ** 2}
EXERCISES["11.2"] = Exercise(
    counts,
    mistakes=[
        ('(side // P) ** 2, "', 'side // P, "', "to the right and down: each number of one goes with each of the other"),
        ('(side // P) ** 2, "', 'side**2, "', "a shift by one pixel gives every patch other pixels"),
        ('(side // P) ** 2, "', 'P**2, "', "these are the pixels of a patch; how many whole patches can the picture move?"),
        ('(side // P) ** 2, "', '1, "', "a shift by whole patches only renames tokens"),
        ("(side // (stride * 2)) ** 2", "side // (stride * 2)", "to the right and down: each number of one goes with each of the other"),
        ("(side // (stride * 2)) ** 2", "(side // stride) ** 2", "behind the stem come patches of 2 on its map: a stride as well"),
        ("(side // (stride * 2)) ** 2", "(side // (stride * P)) ** 2", "the patches are 2 wide on the stem's map, not 4"),
        ("(side // (stride * 2)) ** 2", "side**2", "the convolution has a stride of 2"),
        ("(side // (stride * 2)) ** 2", "(side // (stride * 3)) ** 2", "it is the stride that counts, not the kernel"),
    ],
    hints=["By how many pixels must a picture move so that the patches hold the same pixels?", "Strides one after another multiply."],
    others=[("(side // P) ** 2", "(side / P) ** 2"), ("(side // (stride * 2)) ** 2", "(side // stride // 2) ** 2")],
)

def weights():
    places, C = 32 * 32, 16
    return {"conv": 9 * C**2, "own": 9 * C**2 * places, "full": (places * C) ** 2}
EXERCISES["11.3"] = Exercise(
    weights,
    mistakes=[
        ('9 * C**2, "own"', '9 * C, "own"', "each channel that comes out has nine weights for each that goes in"),
        ('9 * C**2, "own"', '9, "own"', "and the channels?"),
        ('9 * C**2, "own"', '9 * C**2 + C, "own"', "biases are left aside"),
        ('9 * C**2, "own"', '3 * C**2, "own"', "a kernel is 3 × 3"),
        ("9 * C**2 * places", "9 * C**2 * 32", "there are 32 × 32 places"),
        ("9 * C**2 * places", "9 * places", "and the channels?"),
        ("9 * C**2 * places", "9 * C**2", "the kernel is not shared any more: one for each place"),
        ("(places * C) ** 2", "places**2 * C", "every number of a place with every number of another: channels with channels, too"),
        ("(places * C) ** 2", "places * C", "these are the numbers that go in; each goes to every one that comes out"),
        ("(places * C) ** 2", "places**2", "and the channels?"),
        ("(places * C) ** 2", "(32 * C) ** 2", "there are 32 × 32 places"),
    ],
    hints=["(a) From 16 channels to 16, at nine places.", "(b) How many places have a kernel of their own now?", "(c) How many numbers go in, and how many come out?"],
    others=[("(places * C) ** 2", "float(places * C) ** 2"), ("9 * C**2 * places", "places * 9 * C * C")],
)

def changes(net, images, by):
    with torch.no_grad():
        here, there = (net(x).mean((2, 3)) for x in (images, images.roll(by, -1)))
    return (here - there).abs().max().item()

def nets():
    made = []
    for stride, (B, H, W), by in ((3, (2, 6, 9), 1), (3, (3, 9, 6), 2), (2, (1, 6, 10), 3)):
        first, second = (nn.Conv2d(C, 8, 3, stride=s, padding=1, padding_mode="circular") for C, s in ((3, 1), (8, stride)))
        net = nn.Sequential(first, nn.ReLU(), second).requires_grad_(False)
        made.append((net, torch.randn(B, 3, H, W), by))
    return made
EXERCISES["11.4"] = Exercise(
    changes,
    inputs=nets,
    tol=1e-3,
    mistakes=[
        ("net(x).mean((2, 3))", "net(x)", "these are maps, whose places move along; compare their means over all places"),
        ("net(x).mean((2, 3))", "net(x).sum((2, 3))", "the sum over all places; the mean is asked for"),
        ("net(x).mean((2, 3))", "net(x).amax((2, 3))", "the largest over all places; the mean is asked for"),
        ("net(x).mean((2, 3))", "net(x).mean(1)", "the mean over channels; places are the last two axes"),
        ("net(x).mean((2, 3))", "net(x).mean(3)", "the mean over columns only; the rows are places, too"),
        ("images.roll(by, -1)", "images.roll(by, -2)", "shifted down; `roll` of the page shifts to the right"),
        ("images.roll(by, -1)", "images.roll(-by, -1)", "shifted to the left; `roll` of the page shifts to the right"),
        ("images.roll(by, -1)", "images.roll(1, -1)", "it shifts by one, whatever is asked for"),
        (".abs().max()", ".max()", "a difference may be negative: the largest in size is asked for"),
        (".abs().max()", ".abs().mean()", "the mean difference; the largest is asked for"),
        (".abs().max()", ".norm()", "the length of all differences; the largest one is asked for"),
        ("(here - there).abs().max()", "((here - there).abs().max() / here.abs().max())", "in parts of the features; the plain difference is asked for"),
    ],
    hints=["Shift the pictures before the network, not its map after it.", "The mean over axes 2 and 3 leaves (B, channels).", "The difference of the two means, without its sign, at its largest."],
    others=[("net(x).mean((2, 3))", "net(x).flatten(2).mean(-1)"), (".item()", "")],
)

def kept(order):
    """Whether a list is an order of 16, another one than it was, and keeps the distances of all positions; else as it is."""
    if not isinstance(order := plain(order), torch.Tensor) or order.ndim != 1:
        return order
    waves = vl.sincos_2d((4, 4), 48)
    apart, order = torch.cdist(waves, waves), order.long()
    if sorted(order.tolist()) != [*range(16)]:
        return [False, False, False]
    stays = torch.allclose(apart, apart[order][:, order], atol=1e-3)
    return [True, order.tolist() != [*range(16)], stays]

def squares():
    grid = torch.arange(16).view(4, 4)
    turned, random = grid.rot90().flatten(), grid.flatten()[[1, 0, *range(2, 16)]]
    images = {tuple(g.rot90(k).flatten().tolist()) for g in (grid, grid.flip(1)) for k in range(4)}
    return {"kept": turned, "changed": random, "count": len(images)}
EXERCISES["11.5"] = Exercise(
    squares,
    run=kept,
    mistakes=[
        ("grid.rot90().flatten(),", "grid.flatten(),", "this is the order as it was; shuffle them"),
        ("grid.rot90().flatten(),", "grid.roll(1, 1).flatten(),", "some distances change: do neighbours stay neighbours, and corners corners?"),
        ("grid.rot90().flatten(),", "0 * grid.flatten(),", "each patch, from 0 to 15, should stand there once"),
        ("grid.flatten()[[1, 0, *range(2, 16)]]", "grid.flip(0).flatten()", "this one keeps all distances"),
        ("grid.flatten()[[1, 0, *range(2, 16)]]", "grid.flatten()", "this is the order as it was; shuffle them"),
        ("grid.flatten()[[1, 0, *range(2, 16)]]", "0 * grid.flatten()", "each patch, from 0 to 15, should stand there once"),
        ("(grid, grid.flip(1))", "(grid,)", "there are mirrorings and turns: a square has both"),
        ("len(images)", "len(images) - 1", "the order as it was keeps all distances, too"),
        ("for k in range(4)", "for k in (0, 2)", "mirrored at a diagonal, rows become columns: does the table mind?"),
        ("len(images)", "1", "mirror the grid: which distances change?"),
        ("len(images)", "2 * len(images)", "some are counted twice: a turn by 180° is two mirrorings"),
    ],
    hints=["`torch.arange(16).view(4, 4)` is the grid; mirror or turn it, then flatten it.", "Exchange two patches of the order as it was: whose neighbours change?",
           "What can one do to a square that brings it onto itself?"],
    others=[("grid.rot90()", "grid.T"), ("grid.flatten()[[1, 0, *range(2, 16)]]", "grid.flatten()[[*range(8), *range(15, 7, -1)]].tolist()")],
)
