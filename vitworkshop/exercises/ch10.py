"""The exercises of chapter 10, on recipes and bugs."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

import vitlib as vl
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def rate(step, total, peak, warmup, end):
    if step < warmup:
        return peak * (step + 1) / warmup
    t = (step - warmup) / (total - warmup)
    return end + (peak - end) * (1 + math.cos(math.pi * t)) / 2


def whole_run(answer, *run):
    """The rates of all steps of a run; None waits."""
    rates = [answer(step, *run) for step in range(run[0])]
    return None if rates[0] is None else rates


EXERCISES["10.a"] = Exercise(
    rate,
    inputs=lambda: [(20, 1.0, 4, 0.0), (11, 0.3, 3, 0.02), (6, 2.0, 0, 0.5)],
    run=whole_run,
    mistakes=[
        (
            "peak * (step + 1) / warmup",
            "peak * step / warmup",
            "the first step has a rate of zero; it should already climb",
        ),
        (
            "    if step < warmup:\n        return peak * (step + 1) / warmup\n",
            "",
            "the warm-up is missing",
        ),
        (
            "(step - warmup) / (total - warmup)",
            "step / total",
            "t is 0 at the end of the warm-up, not at the start of the run",
        ),
        (
            "(step - warmup) / (total - warmup)",
            "(step - warmup) / total",
            "t reaches 1 at the end of the run: divide by the steps after the warm-up",
        ),
        (
            "end + (peak - end)",
            "end + peak",
            "the wave swings between the peak and the end: their difference is missing",
        ),
        ("end + (peak - end)", "peak", "the rate ends at zero; at `end` it should"),
        ("(1 + math.cos(math.pi * t)) / 2", "(1 - t)", "this is a straight line"),
        (
            "math.cos(math.pi * t)",
            "math.cos(2 * math.pi * t)",
            "a whole wave comes back to the peak; half of one is asked for",
        ),
        (
            "(1 + math.cos(math.pi * t)) / 2",
            "(1 + math.cos(math.pi * t))",
            "a half is missing: after the warm-up it jumps to twice the peak",
        ),
        (
            "(1 + math.cos(math.pi * t))",
            "(1 - math.cos(math.pi * t))",
            "it climbs; the cosine has a plus",
        ),
        ("math.cos(math.pi * t)", "math.cos(t)", "the cosine wants π t"),
        (
            "math.cos(math.pi * t)",
            "math.cos(180 * t)",
            "these are degrees; the cosine wants π t",
        ),
        (
            "(step - warmup) / (total - warmup)",
            "(step - warmup) / (total - 1 - warmup)",
            "t is 1 after the last step, not in it: divide by all steps after the warm-up",
        ),
    ],
    hints=[
        "Two cases: before and after the warm-up.",
        "t runs from 0 to 1 over the steps that are left.",
    ],
    others=[
        lambda step, total, peak, warmup, end: vl.lr_at(
            step, total, peak, warmup, "cosine", end
        ),
        ("(1 + math.cos(math.pi * t)) / 2", "math.cos(math.pi * t / 2) ** 2"),
    ],
)


def distances():
    k = 16
    walk, straight = k**0.5, k
    return {"noise": k / walk, "signal": k**0.5 / straight}


EXERCISES["10.b"] = Exercise(
    distances,
    guess=True,
    tol=0.05,
    mistakes=[
        (
            '"noise": k / walk',
            '"noise": 1.0',
            "that would be the square-root rule: noise walks at random",
        ),
        (
            '"noise": k / walk',
            '"noise": 1.0 * k',
            "so if the sixteen small steps did not add up at all",
        ),
        (
            '"noise": k / walk',
            '"noise": walk / k',
            "upside down: the large step is too long",
        ),
        (
            '"signal": k**0.5 / straight',
            '"signal": 1.0',
            "that would be the linear rule: signal adds up",
        ),
        (
            '"signal": k**0.5 / straight',
            '"signal": straight / k**0.5',
            "upside down: the large step is too short",
        ),
        ('"signal": k**0.5 / straight', '"signal": 1 / k', "so at the same rate"),
    ],
    hints=[
        "How far do 16 steps of equal length get, at random, and all the same way?",
        "One large step is as long as its rate. Divide.",
    ],
    others=[{"noise": 4, "signal": 0.25}, {"noise": 4.1, "signal": 1 / 4}],
)


def kept(lam, cy, cx, H, W):
    def inside(centre, side, size):
        return min(centre + side // 2, size) - max(centre - side // 2, 0)

    h, w = round(H * (1 - lam) ** 0.5), round(W * (1 - lam) ** 0.5)
    return 1 - inside(cy, h, H) * inside(cx, w, W) / (H * W)


def kept_by_pixels(lam, cy, cx, H, W):
    h, w = (round(n * math.sqrt(1 - lam)) // 2 for n in (H, W))
    return (
        sum(
            not (cy - h <= y < cy + h and cx - w <= x < cx + w)
            for y in range(H)
            for x in range(W)
        )
        / H
        / W
    )


EXERCISES["10.c"] = Exercise(
    kept,
    inputs=lambda: [
        (0.75, 2, 16, 32, 16),
        (0.36, 20, 30, 20, 30),
        (0.75, 8, 10, 16, 20),
    ],
    mistakes=[
        (
            "min(centre + side // 2, size) - max(centre - side // 2, 0)",
            "side",
            "the box may reach beyond the border; only what is inside was pasted",
        ),
        (
            "max(centre - side // 2, 0)",
            "(centre - side // 2)",
            "the box is not cut off at the top and at the left",
        ),
        (
            "min(centre + side // 2, size)",
            "(centre + side // 2)",
            "the box is not cut off at the bottom and at the right",
        ),
        ("1 - inside", "inside", "this is the other picture's share"),
        ("(1 - lam) ** 0.5", "(1 - lam)", "the sides are the root of the area's share"),
        ("(1 - lam) ** 0.5", "lam**0.5", "the box holds 1 − λ of the picture"),
        (
            "1 - inside(cy, h, H) * inside(cx, w, W)",
            "1 - inside(cx, h, H) * inside(cy, w, W)",
            "rows and columns are exchanged",
        ),
    ],
    hints=[
        "Where do the box's rows begin and end, if some lie outside?",
        "Rows inside times columns inside, of H · W.",
    ],
    others=[
        kept_by_pixels,
        (
            "1 - inside(cy, h, H) * inside(cx, w, W) / (H * W)",
            "(H * W - inside(cy, h, H) * inside(cx, w, W)) / H / W",
        ),
    ],
)


def causes():
    axis, cut, none, coupled, coin = "F", "I", "A", "B", "J"
    twice, scale, mode, rate, strips = "D", "C", "G", "H", "E"
    return axis, cut, none, coupled, coin, twice, scale, mode, rate, strips


EXERCISES["10.d"] = Exercise(
    causes,
    mistakes=[
        (
            'coupled, coin = "F", "I", "A", "B", "J"\n    twice, scale, mode, rate, strips = "D", "C", "G", "H"',
            'coupled, coin = "F", "I", "A", "H", "J"\n    twice, scale, mode, rate, strips = "D", "C", "G", "B"',
            "of the runs that stay near log 4, in which did the attention stay even?",
        ),
        (
            '"D", "C", "G"',
            '"G", "C", "D"',
            "two trained just like the healthy one: which evaluation would cost many answers?",
        ),
        ('"I", "A"', '"A", "I"', "two have a gradient of zero: in which part?"),
        (
            '"J"\n    twice, scale, mode, rate, strips = "D", "C", "G", "H", "E"',
            '"E"\n    twice, scale, mode, rate, strips = "D", "C", "G", "H", "J"',
            "in two no column tells for sure: which of them begins with another loss, as other tokens would make it?",
        ),
        (
            'axis, cut, none, coupled, coin = "F", "I", "A", "B", "J"\n    twice, scale, mode, rate, strips = "D", "C"',
            'axis, cut, none, coupled, coin = "C", "I", "A", "B", "J"\n    twice, scale, mode, rate, strips = "D", "F"',
            "in one of two the rows do not sum to 1: what does a softmax over another axis do?",
        ),
    ],
    hints=[
        "Begin with what is exact: gradients of 0, rows that do not sum to 1.",
        "Which losses are the healthy run's to the last digit? There the training is fine.",
        "Three losses stay near log 4. In which of these runs is the attention even?",
        "Sharper attention has fewer bits.",
    ],
    others=["FIABJDCGHE", "F I A B J D C G H E"],
)


def large_batch():
    table = vl.load_results("paper")["table_3"]
    k = table["batch_size"] / 128
    of_paper = math.log(table["imagenet"]["lr"] / 0.001, k)
    return {
        "linear": 0.001 * k,
        "root": 0.001 * k**0.5,
        "nearer": "linear" if of_paper > 3 / 4 else "root",
    }


EXERCISES["10.1"] = Exercise(
    large_batch,
    tol=1e-2,
    mistakes=[
        (
            'table["batch_size"] / 128',
            '128 / table["batch_size"]',
            "upside down: a larger batch takes a larger rate",
        ),
        (
            '"linear": 0.001 * k,',
            '"linear": 0.001,',
            "this is the rate of the small batch",
        ),
        (
            '"linear": 0.001 * k,',
            '"linear": k,',
            "this is the factor; the rate is asked for",
        ),
        (
            '"root": 0.001 * k**0.5',
            '"root": k**0.5',
            "this is the factor; the rate is asked for",
        ),
        (
            '"root": 0.001 * k**0.5',
            '"root": (0.001 * k) ** 0.5',
            "the root is of k only",
        ),
        ("of_paper > 3 / 4", "of_paper < 3 / 4", "by what factor is each of them off?"),
    ],
    hints=[
        "By which factor is the batch larger?",
        'Table 3\'s rate for ImageNet is in `vl.load_results("paper")["table_3"]`. Compare factors, not differences.',
    ],
    others=[
        {"linear": 0.032, "root": 0.00566, "nearer": "Root"},
        {"linear": 0.032, "root": 0.0057, "nearer": "root"},
    ],
)


def half_life():
    steps = 936 / 20
    d = 2 ** (-1 / steps)
    return {"decay": d, "factor": (1 - d) / (1 + d)}


EXERCISES["10.2"] = Exercise(
    half_life,
    tol=6e-4,
    run=lambda x: (
        torch.logit(x)
        if isinstance(x, torch.Tensor) and ((0 < x) & (x < 1)).all()
        else x
    ),
    mistakes=[
        ("936 / 20", "936", "this is a half-life of the whole run"),
        ("936 / 20", "20", "a twentieth of the run, not twenty steps"),
        (
            "2 ** (-1 / steps)",
            "math.exp(-1 / steps)",
            "after these steps 1/e is left; a half should be",
        ),
        (
            "2 ** (-1 / steps)",
            "1 - 1 / steps",
            "near, but a half-life is not 1/(1 − d)",
        ),
        (
            "2 ** (-1 / steps)",
            "1 - 0.5 / steps",
            "a weight does not fall in a straight line",
        ),
        (
            "(1 - d) / (1 + d)",
            "(1 - d)",
            "divide by 1 + d: squares of the weights add up",
        ),
        (
            "(1 - d) / (1 + d)",
            "(1 - d) ** 2",
            "this is the last step's part; all earlier ones have theirs",
        ),
        (
            "(1 - d) / (1 + d)",
            "((1 - d) / (1 + d)) ** 0.5",
            "this is of the deviation; the variance is asked for",
        ),
        ("(1 - d) / (1 + d)", "(1 + d) / (1 - d)", "upside down: the variance falls"),
    ],
    hints=[
        "After how many steps should d to their power be a half?",
        "The section on averaged weights derives the factor from d.",
    ],
    others=[
        {"decay": 0.9853, "factor": 0.0074},
        {"decay": 0.98530, "factor": 0.007405},
    ],
)


def least_mixed():
    lam = (torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000
    return -2 * (lam * lam.log()).mean().item()


EXERCISES["10.3"] = Exercise(
    least_mixed,
    tol=6e-3,
    mistakes=[
        ("-2 *", "2 *", "the sign: an entropy is not negative"),
        ("-2 *", "-1 *", "both pictures have a part in each target"),
        (
            "-2 * (lam * lam.log()).mean().item()",
            "math.log(2)",
            "this is the entropy of an even mix; λ is uniform",
        ),
        (
            "-2 * (lam * lam.log()).mean().item()",
            "0 * 1.0",
            "a mixed target is never certain, so the loss cannot be zero",
        ),
        (
            "-2 * (lam * lam.log())",
            "-2 * (lam * lam.log2())",
            "in bits; the loss takes the natural logarithm",
        ),
        (
            "-2 * (lam * lam.log())",
            "-2 * lam.log()",
            "the logarithm is weighted by the target",
        ),
    ],
    hints=[
        "What is the least loss for one target, λ and 1 − λ?",
        "Its mean over λ: two integrals that are alike, by parts.",
    ],
    others=[1 / 2, torch.tensor(0.5)],
)


def lengths(model, x, y, clear):
    out, optimizer = [], torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        loss = F.cross_entropy(model(x), y)
        (fresh,) = torch.autograd.grad(loss, model.head.weight, retain_graph=True)
        if clear:
            optimizer.zero_grad()
        loss.backward()
        out.append(model.head.weight.grad.norm() / fresh.norm())
        optimizer.step()
    return torch.stack(out)


def small_vit(seed, B, clear):
    torch.manual_seed(seed)
    model = vl.VisionTransformer(vl.ViTConfig((8, 4), 4, 3, 5, 8, 1, 2)).train()
    return model, torch.randn(B, 3, 8, 4), torch.randint(5, (B,)), clear


def lengths_by_sums(model, x, y, clear):
    total, out, weights = [], [], list(model.parameters())
    for _ in range(5):
        grads = torch.autograd.grad(F.cross_entropy(model(x), y), weights)
        total = (
            list(grads)
            if clear or not out
            else [a + b for a, b in zip(total, grads, strict=True)]
        )
        i = next(i for i, w in enumerate(weights) if w is model.head.weight)
        out.append(float(total[i].norm() / grads[i].norm()))
        with torch.no_grad():
            for w, g in zip(weights, total, strict=True):
                w -= 0.01 * g
    return out


EXERCISES["10.4"] = Exercise(
    lengths,
    inputs=lambda: [(0, 6, False), (2, 4, True)],
    run=lambda answer, *size: answer(*small_vit(*size)),
    mistakes=[
        (
            "if clear:",
            "if not clear:",
            "the other way round: `clear` means that zero_grad is called",
        ),
        (
            "        if clear:\n            optimizer.zero_grad()\n",
            "        optimizer.zero_grad()\n",
            "the gradients are always cleared; only where `clear` says so they should be",
        ),
        (
            "        if clear:\n            optimizer.zero_grad()\n",
            "",
            "the gradients are never cleared; where `clear` says so they should be",
        ),
        (
            "model.head.weight.grad.norm() / fresh.norm()",
            "model.head.weight.grad.norm()",
            "divide by the length of the fresh gradient",
        ),
        (
            "model.head.weight.grad.norm() / fresh.norm()",
            "fresh.norm() / model.head.weight.grad.norm()",
            "upside down: p.grad over the fresh one",
        ),
        (
            "        optimizer.step()\n",
            "",
            "no step is made, so each gradient is the first one again",
        ),
        ("range(5)", "range(4)", "five steps are asked for"),
    ],
    hints=[
        "`torch.autograd.grad(loss, model.head.weight, retain_graph=True)` gives a fresh gradient and adds to nothing.",
        "When is p.grad read, before or after `optimizer.step()`?",
    ],
    others=[lengths_by_sums, ("torch.stack(out)", "[o.item() for o in out]")],
)
