"""The exercises of chapter 17, on masked patches."""

from __future__ import annotations

import numpy as np
import torch

import vitlib as vl
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


def colours(images, P):
    means = vl.patchify(images.float(), P).unflatten(2, (P * P, 3)).mean(2)
    digits = (means / 32).long()
    return (digits @ torch.tensor([64, 8, 1])).tolist()


def pictures(n, rows, cols, P):
    """Patches of a colour each, with noise, in [0, 1]."""
    flat = torch.rand(n, 3, rows, cols).repeat_interleave(P, 2).repeat_interleave(P, 3)
    return 0.7 * flat + 0.3 * torch.rand_like(flat)


EXERCISES["17.b"] = Exercise(
    colours,
    inputs=lambda: [
        ((255 * pictures(*size)).byte(), size[3])
        for size in ((2, 2, 3, 4), (3, 4, 1, 2), (1, 3, 5, 8))
    ],
    mistakes=[
        (
            "[64, 8, 1]",
            "[1, 8, 64]",
            "the digits stand the other way round: red comes first",
        ),
        (
            "[64, 8, 1]",
            "[100, 10, 1]",
            "the digits are written to the base of ten; eight it should be",
        ),
        ("[64, 8, 1]", "[1, 1, 1]", "the digits are added up; each has its place"),
        (
            "(means / 32).long()",
            "(means / 32).round().long()",
            "rounded; the highest bits are what is left when the rest is cut off",
        ),
        (
            "(means / 32)",
            "(means / 8)",
            "divided by 8; a channel of 256 values is cut in 8 parts",
        ),
        ("(means / 32).long()", "means.long() % 8", "these are the three lowest bits"),
        (
            "images.float()",
            "(images // 32 * 32).float()",
            "each pixel is cut to three bits before the mean; take the mean first",
        ),
        (
            ".unflatten(2, (P * P, 3)).mean(2)",
            ".unflatten(2, (3, P * P)).mean(3)",
            "a patch's numbers go pixel by pixel, three channels each",
        ),
        (
            ".mean(2)",
            ".amax(2)",
            "this is the brightest of each channel; the mean is asked for",
        ),
        (".mean(2)", "[:, :, 0]", "this is each patch's first pixel"),
    ],
    hints=[
        "Patches first: (B, N, P·P·3). Which axis holds the colours?",
        "Byte 200 is 11001000 in binary: what is it divided by to keep three bits?",
        "Three digits to the base of eight: 64, 8 and 1.",
    ],
    others=[("(means / 32).long()", "means.div(32, rounding_mode='floor').long()")],
)


def least():
    return {"squared": 0.25, "absolute": 0.0}


EXERCISES["17.c"] = Exercise(
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


def counts():
    N = (224 // 16) ** 2
    asked = N // 2
    masked, swapped = 0.8 * asked, 0.1 * asked
    return {"a": masked, "b": swapped, "c": N - masked - swapped, "d": asked * 512}


EXERCISES["17.1"] = Exercise(
    counts,
    tol=1e-3,
    mistakes=[
        ("N // 2", "N", "this is of all patches; half of them are asked about"),
        ("** 2", "** 2 + 1", "CLS is no patch: it is neither masked nor asked about"),
        (
            "N - masked - swapped",
            "N - asked",
            "a tenth of those asked about are shown as they are, too",
        ),
        (
            "N - masked - swapped",
            "0.1 * asked",
            "those that are not asked about are shown as well",
        ),
        (
            "N - masked - swapped",
            "N - masked",
            "a swapped place shows another patch, not its own",
        ),
        ('"b": swapped', '"b": 2 * swapped', "only half of these show another patch"),
        (
            '"d": asked * 512',
            '"d": N * 512',
            "numbers are told of the patches that are asked about",
        ),
        (
            '"d": asked * 512',
            '"d": masked * 512',
            "all that are asked about, also those that are shown",
        ),
        ('"d": asked * 512', '"d": 512', "this is one patch's"),
        (
            '"d": asked * 512',
            '"d": asked',
            "one answer a patch, but how many numbers does the layer tell for it?",
        ),
    ],
    hints=[
        "14 patches along a side. How many are asked about?",
        "(c) Two groups: those not asked about, and a tenth of those that are.",
        "(d) A number for each colour class.",
    ],
    others=[
        {"a": 78.4, "b": 9.8, "c": 107.8, "d": 50176.0},
        ("N - masked - swapped", "N - asked + 0.1 * asked"),
    ],
)


def bits():
    red, green, blue = 200, 31, 96
    colour, low = 64 * (red // 32) + 8 * (green // 32) + blue // 32, 32 * (red // 32)
    return {"colour": colour, "reds": [low, low + 31], "classes": [4**3, 16**3]}


EXERCISES["17.3"] = Exercise(
    bits,
    mistakes=[
        (
            "64 * (red // 32) + 8 * (green // 32) + blue // 32",
            "red // 32 + 8 * (green // 32) + 64 * (blue // 32)",
            "the digits stand the other way round: red comes first",
        ),
        (
            "64 * (red // 32) + 8",
            "100 * (red // 32) + 10",
            "these are the digits as one reads them; they are to the base of eight",
        ),
        (
            "8 * (green // 32)",
            "8 * round(green / 32)",
            "31 is rounded up; the lower bits are cut off",
        ),
        (
            "64 * (red // 32) + 8 * (green // 32)",
            "red // 32 + green // 32",
            "the digits are added up; each has its place",
        ),
        ("64 * (red", "8 * (red", "the digit of red counts 8 · 8"),
        ("low + 31", "low + 32", "this byte has the next digit already"),
        ("[low,", "[low + 1,", "one darker has the same digit"),
        ("low + 31", "red", "a brighter one has this digit, too"),
        (
            "[4**3, 16**3]",
            "[2**3, 4**3]",
            "these are the bits, cubed; each bit doubles how many values a channel has",
        ),
        (
            "[4**3, 16**3]",
            "[4 * 3, 16 * 3]",
            "values of three channels multiply: each goes with each",
        ),
        ("[4**3, 16**3]", "[2**2, 2**4]", "this is one channel"),
    ],
    hints=[
        "(a) How often does 32 go into each byte?",
        "(b) The digit is 6: from which byte on, and where does 7 begin?",
        "(c) Two bits have four values; three channels.",
    ],
    others=[
        {"colour": 387.0, "reds": (192, 223), "classes": np.array([64, 4096])},
        ("low + 31]", "low + 31.0]"),
    ],
)


def coin():
    q, sure = (
        np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8]),
        np.array([0.997, 0.001, 0.001, 0.001]),
    )
    of_shares, of_sure = -(q * np.log(q)).sum(), -(q * np.log(sure)).sum()
    return {"shares": float(of_shares), "sure": float(of_sure), "accuracy": q.max()}


EXERCISES["17.4"] = Exercise(
    coin,
    tol=1e-3,
    mistakes=[
        (
            "np.log(q)",
            "np.log2(q)",
            "this is in bits; the natural logarithm is asked for",
        ),
        (
            "np.log(sure)",
            "np.log2(sure)",
            "this is in bits; the natural logarithm is asked for",
        ),
        (
            "(q * np.log(q)).sum()",
            "np.log(1 / 4)",
            "this is without the shares, all four alike",
        ),
        (
            "(q * np.log(q)).sum()",
            "np.log(q).mean()",
            "each logarithm counts with its colour's share, not with a quarter",
        ),
        (
            "(q * np.log(q)).sum()",
            "np.log(q.max())",
            "the commonest only; the others come as well",
        ),
        (
            "(q * np.log(sure)).sum()",
            "(sure * np.log(q)).sum()",
            "shares and answers are exchanged: the truth weighs, the answer stands in the logarithm",
        ),
        (
            "(q * np.log(sure)).sum()",
            "(sure * np.log(sure)).sum()",
            "weighed by its own answer; how often each colour comes is another matter",
        ),
        (
            "(q * np.log(sure)).sum()",
            "np.log(0.997)",
            "this is when the commonest comes; half the time it does not",
        ),
        (
            "(q * np.log(sure)).sum()",
            "np.log(0.001)",
            "this is when the commonest does not come; half the time it does",
        ),
        (
            "q.max()",
            "0.997",
            "this is how sure the model is, not how often it is right",
        ),
        (
            "q.max()",
            "(q**2).sum()",
            "this is for answers drawn by the shares; both name the commonest each time",
        ),
        ("q.max()", "1 / 4", "the commonest is more than one in four"),
    ],
    hints=[
        "Cross-entropy: each colour's share times minus the logarithm of what the model gives it.",
        "(b) Half the time it gives 0.997 to what comes, else 0.001.",
        "(c) Which colour do both name?",
    ],
    others=[
        {"shares": 1.213, "sure": 3.455, "accuracy": 1 / 2},
        ("np.log(sure)", "np.log2(sure) * np.log(2)"),
    ],
)


def cheaper():
    def macs(T, D, M, blocks):
        return blocks * (T * (4 * D**2 + 2 * D * M) + 2 * T**2 * D)

    full, quarter = macs(197, 1024, 4096, 24), macs(50, 1024, 4096, 24)
    decoder = macs(197, 512, 2048, 8)
    return full / (quarter + decoder)


EXERCISES["17.5"] = Exercise(
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
        for each in (vl.guess_patches(images, mask, place, P), images)
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


EXERCISES["17.6"] = Exercise(
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
        "`vl.guess_patches(images, mask, source, P)` guesses; with nothing swapped, source is 0 to N − 1 in each row.",
        "`explained` takes (n, numbers): flatten pictures and patches, or pick with the mask.",
        "The same twice: once with all patches, once with `[mask]`.",
    ],
    others=[
        ("(mask | True, mask)", "(torch.ones_like(mask), mask == 1)"),
        ("return found", "return tuple(map(float, found))"),
    ],
)
