"""The exercises of chapter 14, on explanations."""

from __future__ import annotations

import torch

import vitlib as vl
from vitworkshop.exercises.engine import Exercise
from vitworkshop.exercises.language import Said

EXERCISES: dict[str, Exercise] = {}


def vit(img_size, depth=1, **choices):
    """A small model with random weights, also in the norms and the head."""
    model = vl.VisionTransformer(
        vl.ViTConfig(img_size, 4, 3, 5, 16, depth, 2, **choices)
    ).requires_grad_(False)
    for weight in model.parameters():
        weight.normal_(std=0.3)
    return model.eval()


def rollout(maps):
    R = torch.eye(maps.shape[-1])
    for A in maps.mean(1):
        R = (A + torch.eye(len(R))) / 2 @ R
    return R


EXERCISES["14.a"] = Exercise(
    rollout,
    inputs=lambda: [
        ((2 * torch.randn(*shape)).softmax(-1),)
        for shape in ((3, 2, 4, 4), (2, 3, 5, 5), (4, 1, 7, 7))
    ],
    mistakes=[
        (
            "(A + torch.eye(len(R))) / 2 @ R",
            "R @ (A + torch.eye(len(R))) / 2",
            "the first layer stands on the left; the last one should",
        ),
        (
            "(A + torch.eye(len(R))) / 2",
            "A",
            "half of each token stays what it was; here it is all attention",
        ),
        (
            ")) / 2",
            "))",
            "rows should sum to 1: half of what it was, and half of what it took",
        ),
        (
            "(A + torch.eye(len(R))) / 2",
            "(A / 2 + torch.eye(len(R)))",
            "the identity must be halved, too",
        ),
        (
            "/ 2 @ R",
            "/ 2 + R",
            "the layers are added; what flows through two of them is a product",
        ),
        (
            "/ 2 @ R",
            "/ 2 * R",
            "this multiplies entry by entry; a path needs a sum over what lies between: @",
        ),
        (
            "/ 2 @ R",
            "/ 2",
            "only the last layer is left: multiply with what came before",
        ),
        ("maps.mean(1)", "maps.sum(1)", "the heads are added; their mean is asked for"),
        (
            "maps.mean(1)",
            "maps.amax(1)",
            "this is the largest weight of the heads; their mean is asked for",
        ),
        (
            "maps.mean(1)",
            "maps.mean(0)",
            "this takes the mean over layers; over heads it should be",
        ),
        (
            "maps.mean(1)",
            "maps[:, 0]",
            "this is the first head; the mean of all is asked for",
        ),
        (
            "return R",
            "return R.T",
            "transposed: a row belongs to the token that holds, a column to the patch it came from",
        ),
        ("return R", "return R[0]", "this is CLS's row; the whole table is asked for"),
    ],
    hints=[
        "One matrix a layer first: the heads' mean, halved, plus half of the identity.",
        "Start from the identity, and multiply each layer from the left.",
    ],
    others=[
        lambda maps: vl.attention_rollout(maps[:, None])[0].numpy(),
        ("(A + torch.eye(len(R))) / 2 @ R", "R / 2 + A @ R / 2"),
    ],
)


def alive():
    return {"cls_reads": 100, "cls_leaves": 0, "gap_reads": 100, "gap_leaves": 100}


EXERCISES["14.b"] = Exercise(
    alive,
    guess=True,
    mistakes=[
        (
            '"cls_leaves": 0',
            '"cls_leaves": 100',
            "who reads a patch's token after the last attention, if the head reads CLS?",
        ),
        (
            '"cls_reads": 100',
            '"cls_reads": 0',
            "CLS reads the patches in that attention, so the logit depends on them",
        ),
        (
            '"gap_reads": 100',
            '"gap_reads": 0',
            "what goes into the last block does reach the mean",
        ),
        (
            '"gap_leaves": 100',
            '"gap_leaves": 0',
            "the head reads the mean of exactly these tokens",
        ),
    ],
    hints=[
        "Which tokens does the head read, with CLS and with the mean?",
        "And which tokens does CLS read, and where for the last time?",
    ],
    others=[
        {"cls_reads": 100.0, "cls_leaves": 0.0, "gap_reads": 100, "gap_leaves": 100},
        ('"cls_leaves": 0', '"cls_leaves": -0.0'),
    ],
)


def shares(model, image, target, steps):
    total = torch.zeros_like(image)
    for i in range(steps):
        point = (image * (i + 0.5) / steps).requires_grad_()
        (grad,) = torch.autograd.grad(model(point)[0, target], point)
        total = total + grad
    return image * total / steps


def add_up(arguments, got, want):
    if abs(got.sum() - want.sum()) < 0.01 * abs(want.sum()):
        return Said("the shares do add up; it is single ones that are wrong")


EXERCISES["14.c"] = Exercise(
    shares,
    inputs=lambda: [
        (vit((8, 12)), torch.randn(1, 3, 8, 12), 3, 3),
        (vit((4, 8)), torch.randn(1, 3, 4, 8), 1, 2),
    ],
    mistakes=[
        (
            "total + grad\n    return image *",
            "total + grad * point.detach()\n    return",
            "each gradient is still multiplied by its point on the way: by which number in the equation?",
        ),
        (
            "return image * total",
            "return total",
            "these are mean gradients; the picture's own numbers are missing",
        ),
        (
            " / steps\n",
            "\n",
            "the sum is not divided: the integral is a mean over the steps",
        ),
        (
            "(i + 0.5)",
            "i",
            "the points are the beginnings of the pieces; take their middles",
        ),
        (
            "(i + 0.5)",
            "(i + 1)",
            "the points are the ends of the pieces; take their middles",
        ),
        (
            "(i + 0.5) / steps)",
            "1)",
            "every gradient is taken at the picture itself; walk from grey to it",
        ),
        (
            "[0, target]",
            "[0].sum()",
            "the gradient of all logits; the one of the class is asked for",
        ),
        (
            "[0, target]",
            "[0].softmax(0)[target]",
            "the gradient of the probability; that of the logit is asked for",
        ),
        (
            "return image * total / steps",
            "return (image * total / steps).abs()",
            "shares may be negative: without their sign they do not add up",
        ),
        (
            "return image * total / steps",
            "return (image * total / steps).sum(1)",
            "a share for each number, colours apart",
        ),
    ],
    probes=[add_up],
    hints=[
        "Which factor of the equation stands outside the integral?",
        "Add up gradients alone, and multiply once, after the loop.",
    ],
    others=[
        lambda model, image, target, steps: vl.integrated_gradients(
            model, image, target, steps
        ).numpy(),
        (
            "total = total + grad\n    return image * total / steps",
            "total = total + grad * image / steps\n    return total",
        ),
    ],
)


def paper():
    A = torch.full((3, 3), 0.25) + torch.eye(3) / 4
    step = (A + torch.eye(3)) / 2
    R = step @ step
    weights = [(step[0, j] * step[j, 1]).item() for j in range(3)]
    return {"holds": R[0], "paths": sorted(weights, reverse=True), "third": True}


EXERCISES["14.1"] = Exercise(
    paper,
    tol=2e-3,
    mistakes=[
        (
            "(A + torch.eye(3)) / 2",
            "A",
            "this multiplies A itself; half of each token stays what it was",
        ),
        ("step @ step", "step", "this is after one layer"),
        ("step @ step", "step @ step @ step", "this is after three layers"),
        (
            "step @ step",
            "step * step",
            "entry times entry; CLS has it also by way of the patches",
        ),
        ("torch.eye(3) / 4", "0 * torch.eye(3)", "a token takes half from itself"),
        ("range(3)", "range(2)", "one path goes through the other patch"),
        ("[0, j] * step", "[0, j] + step", "the steps of a path are multiplied"),
        (
            "step[j, 1]).item()",
            "step[j, 1]).item() ** 0",
            "each path has a weight, the product of its steps",
        ),
        (
            '"third": True',
            '"third": False',
            "who took from it in layer 1, and who reads them in layer 2?",
        ),
    ],
    hints=[
        "(b) Row CLS times each column of the same matrix.",
        "(c) After the first layer the path is at CLS, at patch 1 or at patch 2.",
        "(d) Where could its content be after the first layer?",
    ],
    others=[
        {
            "holds": [0.594, 0.203, 0.203],
            "paths": [3 / 32, 3 / 32, 1 / 64],
            "third": True,
        },
        ("R[0]", "R[0].tolist()"),
    ],
)


def areas():
    N = 64
    k = torch.arange(1, N + 1).double()  # the step at which the patch goes
    found = 0.1 + 0.8 * (k - 0.5) / N
    return {
        "random": found.mean().item(),
        "perfect": found.min().item(),
        "worst": found.max().item(),
    }


EXERCISES["14.2"] = Exercise(
    areas,
    tol=1e-3,
    mistakes=[
        (
            "(k - 0.5)",
            "(k - 1)",
            "on the step where the patch goes the curve falls: by the trapezoid it counts half",
        ),
        (
            "(k - 0.5)",
            "k",
            "on the step where the patch goes the curve falls: by the trapezoid it counts half",
        ),
        ("0.1 + 0.8 *", "0.9 *", "without the patch the probability is not 0"),
        ("0.1 + 0.8 *", "0.8 *", "the 0.1 that stays has an area as well"),
        ("0.1 + 0.8 *", "0.1 + 0.9 *", "it falls from 0.9 to 0.1: by how much?"),
        (
            '"perfect": found.min()',
            '"perfect": found.max()',
            "the perfect order takes the patch first, and then the area is low",
        ),
        (
            '"worst": found.max()',
            '"worst": found.min()',
            "the worst order takes the patch last, and the area is high",
        ),
        (
            "found.mean()",
            "found[:32].mean()",
            "the patch may go at any of the 64 steps, at each as likely",
        ),
    ],
    hints=[
        "If the patch goes at step k, where is the curve high, and where low?",
        "How much area has the one step on which it falls?",
        "A random order: the mean over all k.",
    ],
    others=[
        {"random": 0.5, "perfect": 0.10625, "worst": 0.89375},
        ("found.max().item()", "round(found.max().item(), 3)"),
    ],
)


def everybody(scores):
    total = scores.sum(0, keepdim=True) - scores
    return total / (len(scores) - 1)


EXERCISES["14.3"] = Exercise(
    everybody,
    inputs=lambda: [(torch.randn(3, 5),), (torch.randn(6, 4),), (torch.randn(2, 9),)],
    mistakes=[
        (
            ") - scores",
            ") + 0 * scores",
            "the picture's own scores are still in the sum, but not in the count",
        ),
        (
            ") - scores\n    return total / (len(scores) - 1)",
            ") + 0 * scores\n    return total / len(scores)",
            "the mean of all pictures: leave each one's own out",
        ),
        (
            "(len(scores) - 1)",
            "len(scores)",
            "own scores are left out, so one picture fewer is counted",
        ),
        (
            " / (len(scores) - 1)",
            "",
            "this is the sum of the others; divide by how many they are",
        ),
        (
            "scores.sum(0, keepdim=True)",
            "scores.sum(1, keepdim=True)",
            "the mean runs over patches; over pictures it should",
        ),
        (
            ") - scores\n",
            ") - scores[0]\n",
            "the first picture is left out for all; each should leave out itself",
        ),
        (
            "return total / (len(scores) - 1)",
            "return scores - total / (len(scores) - 1)",
            "what is special about each picture; its complement is asked for",
        ),
    ],
    hints=[
        "Add up the scores of all pictures, patch by patch.",
        "Take each picture's own away again. How many are left?",
    ],
    others=[
        lambda scores: [
            torch.cat([scores[:b], scores[b + 1 :]]).mean(0).tolist()
            for b in range(len(scores))
        ],
        ("(len(scores) - 1)", "(scores.shape[0] - 1)"),
    ],
)
