"""The exercises of chapter 17, on masked patches."""

from __future__ import annotations

import torch

import vitlib as vl
from vitlib.train.masked import guess_patches
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def enter(x, mask, source, token, pos):
    shown = torch.where(mask[:, None], token, x[source])
    return shown + pos


def places(N, D):
    """Embeddings, a mask, what each place shows, the mask token, positions."""
    source = torch.arange(N)
    source[[1, 4]] = torch.tensor([3, 2])
    mask = torch.arange(N) % 3 == 2
    return torch.randn(N, D), mask, source, torch.randn(D), torch.randn(N, D)


EXERCISES["17.a"] = Exercise(
    enter,
    inputs=lambda: [places(7, 4), places(9, 5), places(6, 8)],
    mistakes=[
        (
            "x[source])\n    return shown + pos",
            "(x + pos)[source])\n    return shown",
            "the positions are overwritten by the mask token, and they move with a swapped patch",
        ),
        (
            "x[source])\n    return shown + pos",
            "x[source] + pos)\n    return shown",
            "the mask token still has no position: it cannot be told which patch is asked about",
        ),
        (
            "x[source])\n    return shown + pos",
            "(x + pos)[source])\n    return torch.where(mask[:, None], shown + pos, shown)",
            "a swapped patch brings its position along; the position belongs to the place",
        ),
        (
            "x[source])",
            "(x + pos)[source])",
            "shown patches have two positions now: their own, and the place's",
        ),
        (
            "shown + pos",
            "shown + pos[source]",
            "a swapped patch brings its position along; the position belongs to the place",
        ),
        ("shown + pos", "shown", "the positions are missing"),
        ("x[source]", "x", "nothing is swapped: place i shows patch s_i"),
        (
            "token, x[source])",
            "token, x)[source]",
            "the swap comes after the mask: a swapped place may show a mask token",
        ),
        (
            "token, x[source]",
            "x[source], token",
            "mask token and patches are exchanged",
        ),
        (
            "x[source]",
            "x[source.argsort()]",
            "patch i is put at place s_i; place i shows patch s_i",
        ),
        (
            "token, x[source]",
            "0 * token, x[source]",
            "zeros stand for the masked patches; the mask token should",
        ),
    ],
    hints=[
        "In the equation, which of its parts do not depend on m and s?",
        "Swap, then mask, then add what belongs to the place.",
    ],
    others=[
        (
            "torch.where(mask[:, None], token, x[source])",
            "x[source] * ~mask[:, None] + token * mask[:, None]",
        )
    ],
)


def least():
    return {"squared": 0.25, "absolute": 0.0}


EXERCISES["17.b"] = Exercise(
    least,
    guess=True,
    mistakes=[
        (
            '"squared": 0.25',
            '"squared": 0.0',
            "then one time in four the error is 1; a little brighter costs less than it saves",
        ),
        ('"squared": 0.25', '"squared": 0.5', "so if both were equally likely"),
        ('"squared": 0.25', '"squared": 0.75', "the bright one is the rarer one"),
        (
            '"absolute": 0.0',
            '"absolute": 0.25',
            "a little darker: worse one time in four, and better three times, by as much",
        ),
        (
            '"absolute": 0.0',
            '"absolute": 0.5',
            "a little darker: worse one time in four, and better three times, by as much",
        ),
        ('"absolute": 0.0', '"absolute": 1.0', "the bright one is the rarer one"),
    ],
    hints=[
        "Move the answer a little: by how much do the errors grow and shrink?",
        "One of the two is least at the mean, the other at the median.",
    ],
    others=[{"squared": 1 / 4, "absolute": 0}, ('"absolute": 0.0', '"absolute": -0.0')],
)


def cheaper():
    def macs(T, D, M, blocks):
        return blocks * (T * (4 * D**2 + 2 * D * M) + 2 * T**2 * D)

    full, quarter = macs(197, 1024, 4096, 24), macs(50, 1024, 4096, 24)
    decoder = macs(197, 512, 2048, 8)
    return full / (quarter + decoder)


EXERCISES["17.2"] = Exercise(
    cheaper,
    tol=0.01,
    mistakes=[
        ("(quarter + decoder)", "quarter", "the decoder is left out"),
        ("(quarter + decoder)", "decoder", "the encoder on its quarter is left out"),
        (
            "(quarter + decoder)",
            "(full + decoder)",
            "the encoder sees a quarter of the patches only",
        ),
        (
            "macs(197, 512",
            "macs(50, 512",
            "the decoder gets a token for every patch, shown or not",
        ),
        ("2048, 8", "2048, 24", "the decoder has 8 blocks"),
        (
            "macs(197, 512, 2048",
            "macs(197, 1024, 4096",
            "the decoder is narrower than the encoder",
        ),
        (" + 2 * D * M", "", "the MLPs are left out"),
        (
            "return full / (quarter + decoder)",
            "return (quarter + decoder) / full",
            "upside down: how many times cheaper is asked for",
        ),
        ("24), macs(50", "12), macs(50", "ViT-L has 24 blocks"),
    ],
    hints=[
        "`encoder_macs(name, share)` counts the two encoders.",
        "The decoder by the same formula: T = 197, D = 512, M = 2,048, 8 blocks.",
        "The whole is the sum of both.",
    ],
    others=[3.0, ("/ (quarter", "/ (1.0 * quarter")],
)


def both(P, mask, images):
    place = torch.arange(mask.shape[1]).expand(len(images), -1)
    guessed, true = (
        vl.patchify(vl.normalize(each), P)
        for each in (guess_patches(images, mask, place, P), images)
    )
    found = []
    for where in (mask | True, mask):
        a, b = guessed[where], true[where]
        found.append(1 - (a - b).square().mean() / b.var(0, correction=0).mean())
    return found


def hidden(n, rows, cols, P, ratio):
    images = torch.nn.functional.interpolate(
        torch.rand(n, 3, 2, 2), (rows * P, cols * P), mode="bilinear"
    )
    return (
        P,
        torch.rand(n, rows * cols) < ratio,
        0.8 * images + 0.2 * torch.rand_like(images),
    )


EXERCISES["17.3"] = Exercise(
    both,
    inputs=lambda: [
        hidden(8, 4, 5, 4, 0.5),
        hidden(6, 3, 6, 2, 0.4),
        hidden(5, 6, 4, 3, 0.7),
    ],
    mistakes=[
        (
            "(mask | True, mask)",
            "(mask, mask | True)",
            "the two numbers are exchanged: all patches come first",
        ),
        (
            "(mask | True, mask)",
            "(mask | True, ~mask)",
            "the second is of the patches that are shown",
        ),
        ("1 - (a", "(a", "this is the share that is not explained; subtract it from 1"),
        (
            "1 - (a - b).square().mean() / b.var(0, correction=0).mean()",
            "(a - b).square().mean()",
            "this is the squared error; divide by the variance, and subtract from 1",
        ),
        (
            "b.var(0, correction=0).mean()",
            "b.var(correction=0)",
            "the variance is about one number for all; the best constant answer is a whole patch",
        ),
        (
            "b.var(0, correction=0).mean()",
            "a.var(0, correction=0).mean()",
            "this is the variance of the guesses; that of the truth is asked for",
        ),
        (
            "b.var(0, correction=0).mean()",
            "true[mask | True].var(0, correction=0).mean()",
            "each number has the variance of its own patches",
        ),
        (
            "(a - b).square().mean()",
            "(a - b).abs().mean()",
            "this is the absolute error; the squared one is asked for",
        ),
        (
            "images, mask, place, P)",
            "images, ~mask, place, P)",
            "the shown patches are guessed here, from the masked ones",
        ),
    ],
    hints=[
        "`guess_patches(images, mask, source, P)` guesses; with nothing swapped, source is 0 to N − 1 in each row.",
        "`explained` takes (n, numbers): flatten pictures and patches, or pick with the mask.",
        "The same twice: once with all patches, once with `[mask]`.",
    ],
    others=[
        ("(mask | True, mask)", "(torch.ones_like(mask), mask == 1)"),
        ("return found", "return tuple(map(float, found))"),
    ],
)
