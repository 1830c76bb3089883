"""Homework 4, looking inside: references, known mistakes, hidden arguments."""

import torch

import vitlib as vl
from classroom.homework import Task
from classroom.homework.h1 import sizes
from vitworkshop.exercises.engine import Exercise

TITLE, CHAPTERS = "Looking inside", "12 to 14"


def looked_at(maps):
    entropy = -(maps * maps.clamp_min(1e-12).log()).sum(-1)
    return entropy[:, :, 0].exp()


def rolled(maps):
    fused = maps.amax(1)
    fused = fused / fused.sum(-1, keepdim=True)
    T = fused.shape[-1]
    whole = torch.eye(T)
    for layer in fused:
        whole = (0.5 * layer + 0.5 * torch.eye(T)) @ whole
    patches = whole[0, 1:]
    return patches / patches.sum()


def erased(model, image, order, P, fill):
    cols = image.shape[2] // P
    pictures = [image]
    for n in order:
        image = image.clone()
        i, j = n // cols * P, n % cols * P
        image[:, i : i + P, j : j + P] = fill
        pictures.append(image)
    chances = model(torch.stack(pictures)).softmax(1)
    return chances[:, chances[0].argmax()]


def moved_by(model, image, label, P):
    x = image[None].clone().requires_grad_()
    model(x)[0, label].backward()
    product = (x.grad * x.detach())[0]
    C, H, W = product.shape
    return product.reshape(C, H // P, P, W // P, P).sum((0, 2, 4))


def maps(L, h, T):
    return (3 * torch.randn(L, h, T, T)).softmax(-1)


def vit(P):
    size = (2 * P, 3 * P)
    model = vl.VisionTransformer(
        vl.ViTConfig(size, P, num_classes=4, embed_dim=8, depth=1, num_heads=2)
    )
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.4 * torch.randn(p.shape))
    return model.eval().requires_grad_(False), torch.rand(3, *size)


def least_likely(P):
    model, image = vit(P)
    return model, image, int(model(image[None]).argmin()), P


def erased_cases():
    drawn = []
    for P in (2, 4, 4):
        fill = float(torch.rand(()))
        model, image = vit(P)
        while (
            model(torch.stack([image, torch.full_like(image, fill)]))
            .argmax(1)
            .unique()
            .numel()
            < 2
        ):
            model, image = vit(P)  # until the likeliest class does not stay the same
        drawn.append((model, image, torch.randperm(6).tolist(), P, fill))
    return drawn


TASKS = [
    Task(
        "How many tokens CLS looks at",
        """Attention that is spread evenly over n tokens has entropy log n. `looked_at(maps)` says of attention maps `(L, h, T, T)` of one picture
how many tokens that would be for CLS, token 0, in each layer and head: `(L, h)`, exp of the entropy in nats. A weight of exactly 0 counts nothing.""",
        3,
        15,
        Exercise(
            looked_at,
            inputs=lambda: [
                (maps(2, 3, sizes(5)[0] + 2),),
                (maps(3, 2, 4).round(),),
                (maps(1, 4, 9),),
            ],
            mistakes=[
                (".exp()", "", "this is the entropy; exp of it is asked for"),
                (".log()", ".log2()", "the entropy is in bits, and exp wants nats"),
                (
                    "[:, :, 0]",
                    "[:, :, 1:].mean(-1)",
                    "these are the other tokens; CLS's own row is asked for",
                ),
                (
                    "[:, :, 0]",
                    ".mean(-1)",
                    "the mean over all tokens; CLS is asked for",
                ),
                ("-(maps", "(maps", "the sign is the other way round"),
                (
                    ".sum(-1)",
                    ".sum(-2)",
                    "the sum runs over queries; each row, over keys, is one distribution",
                ),
            ],
        ),
        ["torch.full((1, 1, 4, 4), 0.25)"],
        "13 How many tokens does a row read?",
    ),
    Task(
        "Attention, rolled out",
        """`rolled(maps)`, for maps `(L, h, T, T)` of one picture, first layer first: the heads of a layer are fused by their maximum, each row is made to sum to
1 again, and half of it and half of the identity make the layer's matrix; later layers multiply from the left. Return CLS's row of the product without CLS itself, `(T − 1,)`, made to sum to 1.""",
        4,
        25,
        Exercise(
            rolled,
            inputs=lambda: [
                (maps(L, h, sizes(4)[0] + 3),) for L, h in ((2, 3), (3, 2), (4, 4))
            ],
            mistakes=[
                (
                    "maps.amax(1)",
                    "maps.mean(1)",
                    "the heads are fused by their mean; their maximum is asked for",
                ),
                ("@ whole", ".T @ whole", "the maps are transposed: a row is a query"),
                (
                    "    fused = fused / fused.sum(-1, keepdim=True)\n",
                    "",
                    "the rows are not made to sum to 1 after the maximum",
                ),
                (
                    "(0.5 * layer + 0.5 * torch.eye(T))",
                    "layer",
                    "the identity, which stands for the residual, is missing",
                ),
                (
                    "for layer in fused:",
                    "for layer in fused.flip(0):",
                    "later layers multiply from the left; yours from the right",
                ),
                (
                    "whole[0, 1:]",
                    "whole[1:, 0]",
                    "this is CLS's column: who looks at it",
                ),
                (
                    "return patches / patches.sum()",
                    "return patches",
                    "the answer is to sum to 1",
                ),
            ],
        ),
        ["torch.tensor([[[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]])"],
        "14 Along which weights could it have come?",
    ),
    Task(
        "Patch by patch erased",
        """`erased(model, image, order, P, fill)`: `image` `(C, H, W)` loses the patches with the numbers in `order`, one after the other, for good: their pixels
become `fill`. Return the probability of one class, the one that `model` (pictures to logits) finds likeliest for the whole picture: first whole, then after each patch, `(1 + len(order),)`.""",
        4,
        25,
        Exercise(
            erased,
            inputs=erased_cases,
            tol=1e-3,
            mistakes=[
                (
                    "chances[:, chances[0].argmax()]",
                    "chances.amax(1)",
                    "the likeliest class of each picture; follow the one of the whole picture",
                ),
                (
                    "image = image.clone()",
                    "image = pictures[0].clone()",
                    "each picture has lost one patch only; they are to stay lost",
                ),
                ("] = fill", "] = 0", "the pixels are to become `fill`"),
                (
                    "n // cols * P, n % cols * P",
                    "n % cols * P, n // cols * P",
                    "rows and columns of the grid are exchanged",
                ),
                (".softmax(1)", "", "these are logits; probabilities are asked for"),
                (
                    "return chances[:, chances[0].argmax()]",
                    "return chances[1:, chances[0].argmax()]",
                    "the whole picture's probability is missing at the beginning",
                ),
            ],
        ),
        [
            "lambda x: torch.stack([x.sum((1, 2, 3)), -x.sum((1, 2, 3))], 1), torch.ones(1, 2, 2), [0, 3], 1, 0.0"
        ],
        "14 What is lost without a patch?",
    ),
    Task(
        "Gradient times picture",
        """`moved_by(model, image, label, P)`: the gradient of the logit of `label` with respect to `image` `(C, H, W)`, times the picture, summed over each patch and
its channels: `(H/P, W/P)`. The argument `image` stays without a gradient.""",
        4,
        20,
        Exercise(
            moved_by,
            inputs=lambda: [least_likely(P) for P in (2, 3, 4)],
            tol=1e-3,
            mistakes=[
                (
                    "x.grad * x.detach()",
                    "x.grad",
                    "this is the gradient alone; times the picture is asked for",
                ),
                (
                    "[0, label]",
                    ".softmax(1)[0, label]",
                    "the gradient of the probability; of the logit is asked for",
                ),
                (
                    "[0, label]",
                    ".log_softmax(1)[0, label]",
                    "the gradient of the log-probability; of the logit is asked for",
                ),
                (
                    "x.grad * x.detach()",
                    "(x.grad * x.detach()).abs()",
                    "the sign is lost: patches may speak against the label",
                ),
                (
                    ".sum((0, 2, 4))",
                    ".sum(0).mean((1, 3))",
                    "the mean over a patch; the sum is asked for",
                ),
                (
                    "C, H // P, P, W // P, P).sum((0, 2, 4))",
                    "C, P, H // P, P, W // P).sum((0, 1, 3))",
                    "the split is the other way round: H is (H/P, P)",
                ),
                (
                    "[0, label]",
                    "[0].amax()",
                    "the largest logit; that of `label` is asked for",
                ),
            ],
        ),
        [
            "lambda x: torch.stack([(x**2).sum((1, 2, 3)), x.sum((1, 2, 3))], 1), torch.arange(4.).reshape(1, 2, 2), 0, 1"
        ],
        "14 How are shares made to add up?",
    ),
    Task(
        "In words",
        """Somebody shows a heat map of CLS's attention that lies on the dog, and concludes that the model recognises the dog by it. Name two controls that
could refute this, and what each would have to show. At most 150 words.""",
        3,
        15,
        rubric="1: a trivial baseline (the centre of the picture, the variance of patches) that lies as well. "
        "1: erase by these scores and see whether the probability falls faster than by the baseline or by chance. 1: say what would refute; more than one picture.",
        read="14 How does one test an explanation?",
    ),
]
