"""The exercises of chapter 19, on the ViTs of today."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import rearrange

from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def steps():
    old, new = 6, 12
    return {"counted": 2, "measured": 2 * new // old}


EXERCISES["19.a"] = Exercise(
    steps,
    guess=True,
    mistakes=[
        (
            '"counted": 2',
            '"counted": 4',
            "counted places know patches, and not how large a picture is",
        ),
        (
            '"counted": 2',
            '"counted": 1',
            "counted places are whole numbers on each grid: an offset of two stays two",
        ),
        (
            "2 * new // old",
            "2",
            "measured places lie closer on the finer grid: two patches are a smaller step",
        ),
        (
            "2 * new // old",
            "2 * old // new",
            "the other way round: smaller patches, so more of them in the same step",
        ),
    ],
    hints=[
        "What does the head compare: numbers of patches, or shares of the picture?",
        "Two of six patches are a third of the picture. How many of twelve are a third?",
    ],
    others=[{"counted": 2.0, "measured": 4}, ("2 * new // old", "4")],
)


def gated(both):
    gates, values = both.chunk(2, dim=-1)
    return F.silu(gates) * values


EXERCISES["19.b"] = Exercise(
    gated,
    inputs=lambda: [
        (torch.randn(2, 5, 8),),
        (torch.randn(3, 12),),
        (2 * torch.randn(4, 6),),
    ],
    mistakes=[
        (
            "gates, values = both",
            "values, gates = both",
            "the halves are exchanged: gates come first",
        ),
        ("F.silu(gates)", "F.gelu(gates)", "this is GELU; the gate is bent by SiLU"),
        (
            "F.silu(gates)",
            "gates.sigmoid()",
            "SiLU is z times sigmoid(z); this is the sigmoid alone",
        ),
        ("F.silu(gates)", "gates", "the gate is not bent: SiLU is missing"),
        (
            "F.silu(gates) * values",
            "F.silu(gates) * F.silu(values)",
            "only the gate is bent; what it lets through is not",
        ),
        (
            "F.silu(gates) * values",
            "F.silu(gates) + values",
            "a sum; the gate multiplies",
        ),
        (
            "both.chunk(2, dim=-1)",
            "(both[..., ::2], both[..., 1::2])",
            "these are every second number; the first half are gates, the second half values",
        ),
    ],
    hints=[
        "Cut the last axis in two: the first half are the gates.",
        "SiLU of the gates, times the other half.",
    ],
    others=[
        ("F.silu(gates)", "gates * gates.sigmoid()"),
        ("both.chunk(2, dim=-1)", "both.split(both.shape[-1] // 2, dim=-1)"),
    ],
)


def siglip_loss(S, true):
    signs = 2 * true - 1
    return -F.logsigmoid(signs * S).sum() / len(S)


def pairs(B, same):
    """Logits, and which sentences are true of which pictures; some sentences stand twice."""
    said = torch.arange(B) % same
    return 3 * torch.randn(B, B) - 2, (said[:, None] == said).float()


EXERCISES["19.c"] = Exercise(
    siglip_loss,
    inputs=lambda: [pairs(6, 6), pairs(8, 5), pairs(5, 3)],
    mistakes=[
        (
            ".sum() / len(S)",
            ".mean()",
            "this is the mean over all pairs; divide the sum by B, not by B squared",
        ),
        (
            ".sum() / len(S)",
            ".sum()",
            "the sum over all pairs is not yet divided by B",
        ),
        (
            "-F.logsigmoid",
            "F.logsigmoid",
            "the sign: a loss of probabilities is positive",
        ),
        (
            "signs * S",
            "true * S",
            "pairs that do not belong together need z = -1, not 0",
        ),
        (
            "signs = 2 * true - 1",
            "signs = 2 * torch.eye(len(S)) - 1",
            "true is not read: other pairs than the diagonal may be true, too",
        ),
        (
            "F.logsigmoid(signs * S)",
            "torch.sigmoid(signs * S)",
            "the logarithm is missing",
        ),
        (
            "signs * S",
            "-signs * S",
            "the other way round: a true pair must get a large S",
        ),
        (
            "-F.logsigmoid(signs * S).sum() / len(S)",
            "F.cross_entropy(S, true.argmax(1))",
            "this is CLIP's softmax over a row; here each pair is judged by itself",
        ),
    ],
    hints=[
        "Make z of true: 1 stays 1, and 0 becomes -1.",
        "F.logsigmoid of z times S, summed over all pairs, over B, with a minus.",
    ],
    others=[
        (
            "-F.logsigmoid(signs * S).sum() / len(S)",
            'F.binary_cross_entropy_with_logits(S, true, reduction="sum") / len(S)',
        ),
        ("-F.logsigmoid(signs * S)", "F.softplus(-signs * S)"),
    ],
)


def start():
    def at(b):
        b = torch.tensor(float(b))
        return -(F.logsigmoid(b) + 63 * F.logsigmoid(-b)).item()

    best = -torch.tensor(63.0).log().item()
    return {"zero": at(0), "ten": at(-10), "best": best, "least": at(best)}


EXERCISES["19.2"] = Exercise(
    start,
    tol=1e-4,
    mistakes=[
        (
            '"zero": at(0)',
            '"zero": at(0) / 64',
            "this is the loss of one pair; a picture has 64 of them",
        ),
        (
            '"ten": at(-10)',
            '"ten": at(10)',
            "this is for b = +10, which calls every pair true",
        ),
        (
            "-torch.tensor(63.0).log()",
            "torch.tensor(63.0).log()",
            "the sign: most pairs are false, so b must be negative",
        ),
        (
            "-torch.tensor(63.0).log()",
            "-torch.tensor(64.0).log()",
            "close: one of 64 are odds of 1 to 63",
        ),
        (
            '"least": at(best)',
            '"least": at(best) / 64',
            "this is the loss of one pair; a picture has 64 of them",
        ),
    ],
    hints=[
        "All products are 0, so each pair's logit is b: one is true, 63 are not.",
        "The loss is least where sigmoid(b) is the share of true pairs, 1/64.",
    ],
    others=[
        {"zero": 44.361, "ten": 10.003, "best": -4.1431, "least": 5.151},
        ('"zero": at(0)', '"zero": 64 * torch.tensor(2.0).log().item()'),
    ],
)


def tubelets(video, t, P):
    return rearrange(
        video, "B (n t) C (h i) (w j) -> B (n h w) (t i j C)", t=t, i=P, j=P
    )


EXERCISES["19.3"] = Exercise(
    tubelets,
    inputs=lambda: [
        (torch.randn(2, 4, 3, 4, 6), 2, 2),
        (torch.randn(1, 6, 3, 6, 3), 3, 3),
        (torch.randn(2, 3, 3, 4, 8), 1, 4),
    ],
    mistakes=[
        (
            "B (n t)",
            "B (t n)",
            "the frames of a tubelet must follow each other; these lie far apart",
        ),
        (
            "(t i j C)",
            "(C t i j)",
            "colour comes last inside a tubelet, as in vl.patchify",
        ),
        (
            "(t i j C)",
            "(i j t C)",
            "time comes first inside a tubelet",
        ),
        (
            "B (n h w)",
            "B (h w n)",
            "tubelets come first in time, then by rows",
        ),
        (
            "(h i) (w j)",
            "(i h) (j w)",
            "pixels of a patch must be neighbours; these lie far apart",
        ),
        (
            "B (n h w)",
            "B (n w h)",
            "patches of one time come row by row",
        ),
    ],
    hints=[
        "Cut three axes in two each: frames into n and t, rows into h and i, columns into w and j.",
        "What stays apart goes to the front, n h w; what a tubelet holds goes to the back, t i j C.",
    ],
    others=[
        ("t=t, i=P, j=P", "t=t, i=P, j=P, C=video.shape[2]"),
        lambda video, t, P: (
            video.unfold(1, t, t)
            .unfold(3, P, P)
            .unfold(4, P, P)
            .permute(0, 1, 3, 4, 5, 6, 7, 2)
            .flatten(4)
            .flatten(1, 3)
        ),
    ],
)
