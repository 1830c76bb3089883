"""The doctor's checks: each yields findings, or none.

Of the model and one batch: Section 3.1, Equations 1-8. Of the recipe, evaluation, augmentation and resampling: Sections
3.2 and 4.1.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from vitlib.train.optim import build_optimizer, lr_at
from vitworkshop.doctor.case import (
    NUM_FIT,
    Case,
    Finding,
    output_of,
    record_calls,
    relative_change,
    without_dropout,
)
from vitworkshop.doctor.structure import (
    answers,
    attention_reach,
    dropout,
    in_place,
    last_norm,
    nonlinear,
    norms,
    reach,
    registration,
    residuals,
)

# Numbers that differ by less than this share of the largest are the same: rounding is up to 4e-7 in float32, and wrong
# formulas of attention are 5e-3 and more from a layer's output.
SAME = 1e-5
PER_IMAGE = "keep the images apart; a position embedding has the shape (1, T, D), not (B, T, D)"
HEADS = ("num_heads", "heads", "n_heads", "n_head", "nhead", "num_attention_heads", "h")
FIXES = {
    "attention heads": "split (B, T, h, d) and transpose(1, 2), both ways: 'b t (h d) -> b h t d'",
    "attention mask": "leave it out: patches have no order in time",
    "attention axis": "softmax(dim=-1), over the keys",
    "attention scale": "multiply the scores by d**-0.5, d = D / h",
}
STEPS, WARMUP = 24, 8  # of a recipe on one batch, and of its warm-up
# Nats that the loss of one batch may go up, summed over the steps. A ResNet's and eight ViTs' shapes, three seeds,
# with warm-up and without: 0 to 0.8 at AdamW's rates up to 3e-3 and SGD's 0.03 (138 runs); ViTs at 1e-2 and 2e-2, and
# SGD's 0.3, go above 1 in 105 of 114 runs.
MAX_CLIMB = 1.0
MIN_FALL = 0.05  # share of the first loss that these steps take away at a rate that is not too low


def batch_size(model: nn.Module, images: Tensor) -> Iterator[Finding]:
    """The last batch of an epoch is smaller than the others, and a single photograph is smaller still."""
    try:
        output_of(model, images[:NUM_FIT])
    except Exception as error:  # whatever the model raises
        reason = str(error).splitlines()[0]
        says = f"the model fails with {NUM_FIT} images, not with {len(images)} ({reason})"
        yield Finding("batch size", says, PER_IMAGE)


def first_loss(case: Case) -> Iterator[Finding]:
    """Logits with a standard deviation of s that know nothing lose log K + s^2 / 2.

    s is 0.2 in the book's new models, 0.6 in ViT-B, 0.58 with PyTorch's own start of a head on features of variance 1.
    The limit is s = 1. A model that has learned something is below log K, so this holds for old models, too. A cosine
    head, at 1 / 0.07 say, is another matter: its logits are bounded.
    """
    logits = output_of(without_dropout(copy.deepcopy(case.model)), case.images)  # batch norms need train mode
    loss, guess = F.cross_entropy(logits, case.labels).item(), math.log(logits.shape[1])
    if not loss < guess + 0.5 and not _is_cosine(case, logits.shape[1]):
        says = f"{loss:.2f}, where a guess has log {logits.shape[1]} = {guess:.2f}"
        fix = "start the head smaller (std 0.02); or are the labels of other images?"
        yield Finding("first loss", says, fix)


def _is_cosine(case: Case, K: int) -> bool:
    """Whether the head's vectors may be of any length."""
    model, before = copy.deepcopy(case.model), output_of(case.model, case.images[:2])
    for p in (heads := [p for p in model.parameters() if p.ndim == 2 and K in p.shape]):
        p.data *= 2
    return bool(heads) and relative_change(output_of(model, case.images[:2]), before) < 1e-3


def standardised(case: Case) -> Iterator[Finding]:
    """(x - mean) / std of x in [0, 1] has both signs, and lies in [-2.5, 3] for a mean and std of any usual data.

    Bright drawings have a mean above 1 by ImageNet's numbers: then 0 must be a usual mean's place in the range.

    Neighbours are alike, in pictures: more than pixels three columns apart, which a reshape of (H, W, 3) makes alike.
    """
    x = case.images
    mean, std = x.mean((0, 2, 3)), x.std((0, 2, 3))
    near = mean.abs().max() <= 1 or 0.3 <= (-x.min() / (x.max() - x.min())).item() <= 0.6
    if not (x.min() < 0 and near and 0.1 <= std.min() and std.max() <= 3):
        says = f"values from {x.min():.3g} to {x.max():.3g}, mean {mean.mean():.3g}, std {std.mean():.3g}"
        yield Finding("images", says, "standardise them, and once only: vl.normalize(images)")
    z = (x - x.mean((2, 3), keepdim=True)) / x.std((2, 3), keepdim=True).clamp_min(1e-6)
    one, three = ((z[..., n:] * z[..., :-n]).mean().item() if z.shape[-1] > 3 else 0.0 for n in (1, 3))
    if three > one + 0.2:
        says = f"pixels correlate by {three:.2f} with the third beside them, by {one:.2f} with the next"
        yield Finding("images", says, "x.permute(0, 3, 1, 2) makes channels of (B, H, W, C), not reshape")


def labels(case: Case) -> Iterator[Finding]:
    """Ridge on 8 x 8 pixels, leave-one-out, says something of any usual labels: 2 to 3 times chance with 256 images.

    With fewer it may not (64 drawings: 9 to 19 % of 10 classes), and a model that knows them needs no such proof.
    """
    if case.many is None or len(case.many[1]) < 256 or case.losses_on(case.images)[1]:
        return
    x, y = case.many[0][:1024], case.many[1][:1024]
    n, Y = len(y), F.one_hot(y).double()
    f = F.adaptive_avg_pool2d(x, 8).flatten(1).double()
    kernel = (f - f.mean(0)) @ (f - f.mean(0)).T
    kernel /= kernel.diagonal().mean()
    hat = kernel @ torch.linalg.inv(kernel + torch.eye(n).to(kernel))
    left_out = (hat @ (Y - Y.mean(0)) - hat.diagonal()[:, None] * (Y - Y.mean(0))) / (
        1 - hat.diagonal()[:, None]
    )
    hits, chance = (left_out.argmax(1) == y).double().mean().item(), Y.mean(0).max().item()
    if hits < chance + 3 * math.sqrt(chance * (1 - chance) / n):
        says = f"a linear probe of the pixels has {hits:.0%} right of {n}, the commonest label {chance:.0%}"
        yield Finding("labels", says, "are they those of these images? shuffle both by one permutation")


def one_batch(case: Case) -> Iterator[Finding]:
    """What cannot learn eight images by heart will not learn fifty thousand; but for a head on a frozen model."""
    if not case.learned and all(p.requires_grad for p in case.model.parameters()):
        says = f"after {len(case.losses)} steps on {NUM_FIT} images the loss is {min(case.losses):.2f}"
        blind = f"the same answer for all of them gives {case.entropy:.2f}"
        yield Finding("one batch", f"{says}; {blind}", "find out why it cannot learn them by heart")


def gradients(case: Case) -> Iterator[Finding]:
    """Every parameter gets one, with one label for all: a model that knows the right ones may have a gradient of 0."""
    model = without_dropout(copy.deepcopy(case.fitted))
    params = {name: p for name, p in model.named_parameters() if p.requires_grad}
    params = {name: p for name, p in params.items() if "mask_token" not in name}  # is for another task
    loss = F.cross_entropy(model(case.images[:NUM_FIT]), case.labels[:1].expand(NUM_FIT))
    grads = torch.autograd.grad(loss, list(params.values()), allow_unused=True) if loss.requires_grad else ()
    if dead := [name for name, g in itertools.zip_longest(params, grads) if g is None or not g.any()]:
        says = f"{len(dead)} of {len(params)} parameters never have one ({', '.join(dead[:3])})"
        yield Finding("gradients", says, "use them in forward, without detach() or no_grad()")


def input_and_positions(case: Case) -> Iterator[Finding]:
    """Rolling an image by whole patches permutes its patches, which a model without positions cannot see.

    Where the model computes in float64, rounding changes its logits by 1e-15; relative positions, just begun, change
    them by 5e-6 and more, which is still above float32's rounding.
    """
    side, (H, W) = case.patch_size or 1, case.images.shape[-2:]
    shifts = [size // 2 // side * side for size in (H, W)]  # 0 if there is one patch only
    ways = {"patches": (shifts, (2, 3)), "rows": (shifts[0], 2), "columns": (shifts[1], 3)}
    try:
        model, x, same = copy.deepcopy(case.fitted).double(), case.images[:NUM_FIT].double(), 1e-10
        logits = output_of(model, x)
    except (RuntimeError, TypeError):  # not this model, or not on this device
        model, x, same = case.fitted, case.images[:NUM_FIT], 1e-6
        logits = output_of(model, x)
    if relative_change(logits.flip(0), logits) < same:
        yield Finding("input", "the logits are the same for all images", "use the images in forward")
        return
    for what, (by, axes) in ways.items():
        rolled = x.roll(by, axes)
        if not torch.equal(rolled, x) and relative_change(output_of(model, rolled), logits) < same:
            says = f"the logits do not change when the {what} change places"
            yield Finding("positions", says, "add position embeddings to the tokens")
            return


def independence(case: Case) -> Iterator[Finding]:
    """The same images among seven others, and at other places among all; not of a model that is random in eval mode."""
    x = case.images
    alone, again = output_of(case.fitted, x[:NUM_FIT]), output_of(case.fitted, x[:NUM_FIT])
    among = output_of(case.fitted, x.flip(0)).flip(0)[:NUM_FIT]
    if relative_change(again, alone) <= SAME < (change := relative_change(among, alone)):
        says = f"an image's logits change by {change:.1%} with the other images and its place among them"
        yield Finding("batch independence", says, PER_IMAGE)


def eval_mode(case: Case) -> Iterator[Finding]:
    """With every dropout off, a model is the same in training and evaluation, unless it has batch norms."""
    x, model = case.images[:NUM_FIT], copy.deepcopy(case.fitted)
    logits, again = output_of(model, x), output_of(model, x)
    normed = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules())
    off, off_again = (output_of(without_dropout(model), x) for _ in range(2))
    if (change := relative_change(again, logits)) > SAME:
        says = f"two passes in eval mode differ by {change:.1%}"
        yield Finding("eval mode", says, "F.dropout(x, p, self.training), or a module nn.Dropout(p)")
    elif not normed and relative_change(off_again, off) <= SAME < (change := relative_change(off, logits)):
        says = f"train and eval mode differ by {change:.1%} with every dropout off"
        yield Finding("eval mode", says, "let nothing but dropout and DropPath ask for self.training")


def attention(case: Case) -> Iterator[Finding]:
    """Equations 5-8 with a layer's own weights, right and wrong: the first that gives its output is what it does.

    Layers that compute none of them (another kind of attention) are not judged.
    """
    layers = {name: parts for name, m in case.fitted.named_modules() if (parts := _attention_parts(m))}
    found: dict[tuple[str, str], list[str]] = {}
    for name, (args, out) in record_calls(case.fitted, layers, case.images[:NUM_FIT]).items():
        D = layers[name][1].in_features
        d = D // layers[name][2]
        formulas = [  # the softmax's axis of (B, h, T, T), the factor of the scores, what is done otherwise
            (-1, d**-0.5, "", None),
            (-2, d**-0.5, "", ("attention axis", "softmax over the queries")),
            (1, d**-0.5, "", ("attention axis", "softmax over the heads")),
            (0, d**-0.5, "", ("attention axis", "softmax over the batch")),
            (-1, 1.0, "", ("attention scale", "scores not divided by sqrt(d)")),
            (-1, D**-0.5, "", ("attention scale", "scores divided by sqrt(D)")),
            (-1, d**0.5, "", ("attention scale", "scores multiplied by sqrt(d)")),
            (-1, 1 / d, "", ("attention scale", "scores divided by d")),
            (-1, d**-0.5, "causal", ("attention mask", "a causal mask: tokens read former ones only")),
            (-1, d**-0.5, "merged", ("attention heads", "heads merged by a reshape of (B, h, T, d)")),
            (-1, d**-0.5, "split", ("attention heads", "heads split by a reshape to (B, h, T, d)")),
            (-1, d**-0.5, "split, merged", ("attention heads", "tokens cut among the heads, by a reshape")),
            (-1, d**-0.5, "linear", ("attention axis", "no softmax")),
        ]
        for axis, scale, way, bug in formulas:
            if relative_change(_attend(layers[name], args, axis, scale, way), out) <= SAME:
                if bug:
                    found.setdefault(bug, []).append(name)
                break
    for (check, wrong), names in found.items():
        where = names[0] + f" and {len(names) - 1} more" * (len(names) > 1)
        yield Finding(check, f"{wrong}, in {where}", FIXES[check])


def _attention_parts(layer: nn.Module) -> tuple[list[nn.Linear], nn.Linear, int] | None:
    """The linear maps to queries, keys and values, that of the output, and the number of heads."""
    linears = [m for m in layer.modules() if isinstance(m, nn.Linear)]
    heads = next((h for h in (getattr(layer, name, 0) for name in HEADS) if isinstance(h, int) and h > 0), 0)
    if not heads or isinstance(layer, nn.MultiheadAttention) or len(linears) < 2:
        return None
    *inner, proj = linears
    D = inner[0].in_features
    fits = sum(m.out_features for m in inner) == 3 * proj.in_features and {m.in_features for m in inner} == {
        D
    }
    return (inner, proj, heads) if fits and proj.in_features % heads == 0 else None


@torch.no_grad()
def _attend(
    parts: tuple[list[nn.Linear], nn.Linear, int], args: tuple, axis: int, scale: float, way: str
) -> Tensor:
    """The layer's output (B, T, D) with the softmax over this axis of (B, h, T, T), and a bias if it was given one."""
    inner, proj, h = parts
    bias = next((arg for arg in args[1:] if isinstance(arg, Tensor)), 0.0)
    qkv = torch.cat([linear(args[0]) for linear in inner], dim=-1).chunk(3, dim=-1)  # three of (B, T, D)
    B, T, D = qkv[0].shape
    q, k, v = (
        part.reshape(B, h, T, -1) if "split" in way else part.unflatten(-1, (h, -1)).transpose(1, 2)
        for part in qkv
    )  # (B, h, T, d)
    scores = q @ k.mT * scale + bias
    if way == "causal":
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
    mixed = (scores if way == "linear" else scores.softmax(axis)) @ v
    return proj(mixed.reshape(B, T, D) if "merged" in way else mixed.transpose(1, 2).flatten(2))


def patch_size(case: Case) -> Iterator[Finding]:
    """Few patches leave attention little to mix: the book has 4 x 4 and more."""
    side, (H, W) = case.patch_size, case.images.shape[-2:]
    if side and (H // side) * (W // side) < 16:
        says = f"attention sees {H // side} x {W // side} patches of {side} pixels"
        yield Finding("patch size", says, f"try patch_size {max(1, min(H, W) // 8)}")


def patch_order(case: Case) -> Iterator[Finding]:
    """Each patch of a picture of noise is replaced in turn: the token that changes most must be its own, or next to it.

    Next to it, because strided convolutions lean to one side. That holds for 100 % in all of `PATCH_EMBEDS`; where rows
    and columns are exchanged, for 63 % of 4 x 4 patches, and for fewer of more. Another order of whole patches is right
    if each place has a learned vector.
    """
    if not case.patch_size:
        return
    image, *others = torch.randn_like(case.images[:NUM_FIT]).split(1)
    rows, cols = (size // case.patch_size for size in image.shape[-2:])
    which = torch.linspace(0, rows * cols - 1, min(64, rows * cols)).long()
    mask = F.one_hot(which, rows * cols).view(-1, 1, rows, cols)  # (n, N) -> (n, 1, rows, cols)
    mask = F.interpolate(mask.float(), image.shape[-2:]).bool().to(image.device)  # (n, 1, H, W)
    embed: Any = case.model.patch_embed
    tokens = torch.stack([output_of(embed, torch.where(mask, other, image)) for other in others])
    change = (tokens - output_of(embed, image)).square().sum((0, 3))  # (7, n, N, D) -> (n, N)
    most = change.argmax(1).cpu()
    whole = (change.amax(1) > 0.99 * change.sum(1)).all() and len(most.unique()) == len(most)
    N = rows * cols
    tables = [p for n, p in case.model.named_parameters() if p.requires_grad and (p.ndim == 3 or "pos" in n)]
    if whole and any(p.ndim > 1 and N <= p.shape[-2] <= N + 8 for p in tables):
        return  # as p is the table of positions
    beside = torch.maximum((most // cols - which // cols).abs(), (most % cols - which % cols).abs()) <= 1
    if (share := beside.float().mean().item()) < 0.8:
        says = f"{1 - share:.0%} of the patches change a token far from their own most"
        yield Finding("patch order", says, "cut as vl.patchify does: (h p1) (w p2) -> (h w) (p1 p2 c)")


def reading(case: Case) -> Iterator[Finding]:
    """A model that knows the images better when they are read in another way learned them in that way (t > 4)."""
    x, p = case.images, case.patch_size
    ways = []
    if x.shape[1] == 3:
        fix = "give RGB: cv2 reads BGR, image[..., ::-1] turns it"
        ways.append(("channels", "red and blue exchanged", fix, x.flip(1)))
    if p:
        turned = rearrange(x, "b c (h p) (w q) -> b c (h q) (w p)", p=p, q=p)
        fix = "flatten patches as (p1 p2 c), not (p2 p1 c)"
        ways.append(("patch order", "rows and columns of each patch exchanged", fix, turned))
    before, _ = case.losses_on(x)
    for check, way, fix, images in ways:
        after, knows = case.losses_on(images)
        gain = before - after
        if knows and gain.mean() > 4 * gain.std() / len(gain) ** 0.5:
            says = f"the loss falls from {before.mean():.2f} to {after.mean():.2f} with {way}"
            yield Finding(check, says, fix)


def hooks(case: Case) -> Iterator[Finding]:
    """timm's blocks have a module that the weights pass, and fused attention does not call it."""
    called = record_calls(case.fitted, case.hooked, case.images[:NUM_FIT])
    if silent := [name for name in case.hooked if name not in called]:
        of = f"{len(silent)} of {len(case.hooked)} modules with a hook"
        says = f"{of} are never called ({', '.join(silent[:3])})"
        yield Finding("hooks", says, "fused attention passes them by: ask model.attention_maps(images)")


def recipe(case: Case, recipe: Any) -> Iterator[Finding]:
    """Numbers outside what trains; and steps too long, or too short, to lower the loss of the batch they are made on.

    A model that has learned something is not judged by its loss: that can only go up.
    """
    r = recipe
    if r.optimizer == "adam" and r.weight_decay:
        says = f"Adam divides the decay of {r.weight_decay:g} by the gradient's size, as it does the gradient"
        yield Finding("weight decay", says, 'decouple it with optimizer="adamw"')
    elif r.weight_decay > 1 and r.lr * r.weight_decay > 1e-3:
        says = f"at {r.weight_decay:g} a weight remembers {1 / (r.lr * r.weight_decay):.0f} steps"
        yield Finding("weight decay", says, "0.01 to 0.3 is usual")
    if r.label_smoothing > 0.5:
        says = f"{r.label_smoothing:g} of the target is spread over all classes"
        yield Finding("smoothing", says, "0.1 is usual")
    (loss,) = case.train_steps(model := copy.deepcopy(case.model), build_optimizer(model, r), [0.0], clip=0)
    norm = math.sqrt(sum(p.grad.square().sum().item() for p in model.parameters() if p.grad is not None))
    if 0 < r.clip_norm < norm / 100 and not case.losses_on(case.images)[1]:
        yield Finding(
            "clip", f"{r.clip_norm:g} cuts every gradient, of norm {norm:.2g} at first", "1 is usual"
        )
    if case.losses_on(case.images)[1]:
        return
    climb, fall = _climb(case, r, r.lr)
    if climb > MAX_CLIMB:
        if _climb(case, r, r.lr / 10)[0] <= MAX_CLIMB:
            says = f"at {r.lr:g}{'' if r.warmup else ', without a warm-up,'} the loss goes up by {climb:.2f}"
            fix = f"try {r.lr / 10:.2g} to {r.lr / 3:.2g}" + ("" if r.warmup else ", after a warm-up")
            yield Finding("learning rate", f"{says} in all, at a tenth it does not", fix)
        return
    if (
        all(p.requires_grad for p in case.model.parameters())
        and fall < MIN_FALL * loss
        and (more := _climb(case, r, 10 * r.lr))[0] <= MAX_CLIMB
        and more[1] > 4 * max(fall, 0.0)
    ):
        says = f"at {r.lr:g} {STEPS} steps lower the loss by {fall:.3f}, at {10 * r.lr:g} by {more[1]:.3f}"
        yield Finding("learning rate", says, f"try {10 * r.lr:.2g} to {100 * r.lr:.2g}")


def _climb(case: Case, recipe: Any, lr: float) -> tuple[float, float]:
    """All that the loss goes up, from step to step of 24, and its fall; eight warm up, if the recipe does."""
    model, warmup = copy.deepcopy(case.model), WARMUP if recipe.warmup else 0
    rates = [lr_at(step, STEPS, lr, warmup, "constant") for step in range(STEPS)]
    losses = list(case.train_steps(model, build_optimizer(model, recipe), rates, recipe.clip_norm))
    if not all(map(math.isfinite, losses)):
        return math.inf, 0.0
    return sum(max(0.0, after - before) for before, after in itertools.pairwise(losses)), losses[0] - losses[
        -1
    ]


def evaluation(case: Case, evaluate: Callable) -> Iterator[Finding]:
    """What reaches the model in `evaluate`, against the batch: t-tests over images, t > 5, and a size that matters.

    Random parts of CIFAR-10 and of Drawn-10, 16 to 64 training and 16 to 500 test images: none of 2,400 pairs with one
    normalisation had a finding. Of 1,200 with two, as different as [0, 1], [0, 255], 0.5 and the data's own numbers,
    1,190 had one, and all of those with 64 images. CIFAR-10's numbers against ImageNet's are too near.
    """
    modes: list[bool] = []
    seen: list[Tensor] = []
    runs: list[Tensor] = []  # two, (2, n, C) each

    def note(module: nn.Module, args: tuple, kwargs: dict) -> None:
        modes.append(module.training)
        seen.append(_statistics((*args, *kwargs.values())[0].detach().to(case.images)))

    for _ in range(2):
        model = copy.deepcopy(case.model).train()
        model._forward_hooks.clear()  # what it gives goes to `evaluate` as it is
        model.register_forward_pre_hook(note, with_kwargs=True)
        evaluate(model)
        runs.append(torch.cat(seen, dim=1) if seen else torch.empty(0))
        seen.clear()
    if not modes:
        raise ValueError("evaluate never called the model; expected a call of the model that it is given")
    if any(modes):
        says = "evaluate calls the model in train mode: dropout is on, batch norms mix the images"
        yield Finding("test mode", says, "call model.eval() before, and model.train() after")
    if runs[0].shape == runs[1].shape and not torch.equal(*(run[0].sort(0).values for run in runs)):
        says = "evaluate gives the model other pictures the second time"
        yield Finding(
            "test pictures", says, "leave out what is random: crop, flip and erasing are for training"
        )
    then, now = _statistics(case.images), runs[0]  # (2, n, C) each
    change, std = now.mean(1) - then.mean(1), then[1].mean().exp()  # (2, C)
    t = change / (then.var(1) / then.shape[1] + now.var(1) / now.shape[1]).sqrt()  # Welch's
    if ((t.abs() > 5) & (change.abs() > torch.tensor([[0.5 * std], [0.3]]).to(change))).any():
        numbers = [f"mean {s[0].mean():.2f} and std {s[1].mean().exp():.2f}" for s in (then, now)]
        says = f"the images have {numbers[0]}, and {numbers[1]} in evaluate"
        yield Finding("test normalisation", says, "use one vl.normalize for both")


def preparation(case: Case, preprocess: tuple[Callable, Callable]) -> Iterator[Finding]:
    """The same pictures made ready for training and for the test: what one is of the other, by correlation.

    Where training's is random, its mean is taken. A resolution of its own, a crop of the middle or a zoom is usual for
    the test, so only another picture counts: exchanged, turned or with less than a third of it.
    """
    pictures = (255 * _asymmetric(case.images)).round().to(torch.uint8)
    sides = []
    for way, prepare in zip(("train", "test"), preprocess, strict=True):
        outs = [prepare(pictures.clone()) for _ in range(8)]
        outs = [_pictures_of(f"preprocess for {way}", out, len(pictures)).float() for out in outs]
        if way == "test" and any(o.shape != outs[0].shape or not torch.equal(o, outs[0]) for o in outs):
            yield Finding(
                "test pictures", "preprocessing for the test is random", "crop and flip in training only"
            )
        sides.append(torch.stack([o for o in outs if o.shape == outs[0].shape]).mean(0))
    train, test = sides
    if train.shape[1:] != test.shape[1:]:
        test = F.interpolate(test, train.shape[-2:], mode="bilinear", antialias=True)
    likeness = {
        name: _likeness(turn(test), train) for name, turn in TURNS.items() if turn(test).shape == train.shape
    }
    best = max(likeness, key=lambda name: likeness[name])
    if likeness[best] > likeness["as they are"] + 0.2:
        yield Finding(
            "test pictures", f"the test's are like training's with {best}", "prepare both in one way"
        )
    elif likeness["as they are"] < 0.3:
        says = f"the test's correlate by {likeness['as they are']:.2f} with training's"
        yield Finding("test pictures", says, "prepare both in one way")
    else:
        numbers = [(x.mean((0, 2, 3)), x.std((0, 2, 3))) for x in (train, test)]
        (m, s), (n, t) = numbers
        if ((m - n).abs() > 0.3 * s).any() or ((s / t).log().abs() > 0.4).any():
            says = f"mean {m.mean():.2f}, std {s.mean():.2f} in training; {n.mean():.2f}, {t.mean():.2f} in the test"
            yield Finding("test normalisation", says, "use one vl.normalize for both")


TURNS: dict[str, Callable[[Tensor], Tensor]] = {
    "as they are": lambda x: x,
    "red and blue exchanged": lambda x: x.flip(1),
    "rows and columns exchanged": lambda x: x.mT,
    "top and bottom exchanged": lambda x: x.flip(2),
    "left and right exchanged": lambda x: x.flip(3),
    "top and bottom, left and right exchanged": lambda x: x.flip(2, 3),
}


def _asymmetric(like: Tensor) -> Tensor:
    """Sixteen smooth pictures in [0, 1] of this shape, which are like no reflection of themselves."""
    coarse = torch.rand(16, *like.shape[1:2], 5, 5, generator=torch.Generator().manual_seed(0))
    return F.interpolate(coarse, like.shape[-2:], mode="bicubic").clamp(0, 1).to(like.device)


def _likeness(a: Tensor, b: Tensor) -> float:
    """The mean correlation of two (n, C, H, W), channel by channel of each picture."""
    a, b = ((x - x.mean((2, 3), keepdim=True)).flatten(2) for x in (a, b))
    return F.cosine_similarity(a, b, dim=2).mean().item()


def _pictures_of(name: str, out: Any, n: int) -> Tensor:
    """The images that a function gave, alone or first of a tuple."""
    images = out[0] if isinstance(out, (tuple, list)) and out else out
    if not isinstance(images, Tensor) or images.ndim != 4 or len(images) != n:
        got = tuple(images.shape) if isinstance(images, Tensor) else type(images).__name__
        raise ValueError(
            f"expected {n} images (B, C, H, W) from {name}, got {got}; return all that it was given"
        )
    return images


def _statistics(images: Tensor) -> Tensor:
    """Each image's mean and logarithm of the standard deviation, by channel: (2, n, C)."""
    return torch.stack([images.mean((2, 3)), images.std((2, 3)).clamp_min(1e-3).log()])


def augmentation(case: Case, augment: Callable) -> Iterator[Finding]:
    """Four copies of one image, 32 times. Drawn for each, a flip in two leaves all alike with a chance of 8^-32.

    Then sixteen pictures, 32 times: each stays itself and upright on average, and where others show through, their
    labels do, too.
    """
    takes = len(inspect.signature(augment).parameters)
    labels = torch.arange(16, device=case.labels.device) % len(case.labels.unique())

    def tried(images: Tensor) -> Tensor:
        given = (labels[: len(images)],) if takes > 1 else ()
        drawn = [_pictures_of("augment", augment(images.clone(), *given), len(images)) for _ in range(32)]
        sizes = [x.shape for x in drawn]
        most = max(sizes, key=sizes.count)  # where a batch has a size of its own
        return torch.stack([x.float() for x in drawn if x.shape == most])

    image = case.images[:1] - case.images[:1].min()
    image = (image / image.max()).expand(4, -1, -1, -1)
    batches = tried(image)  # (32, 4, C, H, W), or fewer
    if (batches == batches[:, :1]).all() and (batches != batches[0]).any():
        says = "four copies of an image always come out alike, and otherwise the next time"
        yield Finding("augmentation", says, "draw the parameters for each image, not once a batch")
    pictures = _asymmetric(case.images)
    mean = tried(pictures).mean(0)
    mean = mean if mean.shape == pictures.shape else F.interpolate(mean, pictures.shape[-2:], mode="bilinear")
    likeness = {
        name: _likeness(turn(mean), pictures)
        for name, turn in TURNS.items()
        if mean.shape == turn(mean).shape
    }
    best = max(likeness, key=lambda name: likeness[name])
    if likeness[best] > likeness["as they are"] + 0.2:
        yield Finding("augmentation", f"pictures come out with {best}, on average", "leave half as they are")
        return
    changed, shows = pictures.clone(), False
    changed[0] = 1 - changed[0]
    for seed in range(8):
        outs = []
        for images in (pictures, pictures, changed):
            torch.manual_seed(seed)
            outs.append(augment(images.clone(), *((labels,) if takes > 1 else ())))
        x, same, y = (_pictures_of("augment", out, 16).float() for out in outs)
        if x.shape == y.shape and torch.equal(x, same):  # else it has random numbers of its own
            shows |= ((x - y)[1:].abs().mean((1, 2, 3)) > 0.01 * x.std()).any().item()
    target = outs[0][1] if isinstance(outs[0], tuple) and len(outs[0]) > 1 else labels
    if shows and isinstance(target, Tensor) and torch.equal(target, labels):
        says = "another picture of the batch shows in what comes out, with labels as they were"
        yield Finding("augmentation", says, "mix or permute labels as the images")


def resampling(case: Case, resample: Callable) -> Iterator[Finding]:
    """Positions that count rows and columns do so on another grid, whatever the interpolation, if it is in 2-D."""
    counts = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0)).repeat(1, 2)  # (64, 4)
    table = F.pad(counts, (0, 0, 1, 0), value=100.0)[None]  # (1, 1+64, 4), CLS first
    out = resample(table, (12, 10))  # (1, 1+120, 4)
    if not isinstance(out, Tensor):
        raise ValueError(
            f"expected positions (1, 121, 4) from resample, got {type(out).__name__}; return the table"
        )
    kept = 0.0
    if tuple(out.shape) == (1, 121, 4) and torch.allclose(out[0, 0], torch.tensor(100.0)):
        rows, cols = out[0, 1:, :2].unflatten(0, (12, 10)).unbind(-1)  # (120, 2) -> two of (12, 10)
        kept = min((rows.mean(1).var() / rows.var()).item(), (cols.mean(0).var() / cols.var()).item())
    if not kept > 0.9:
        says = f"{kept:.0%} of what tells rows from columns is left on 12 x 10 positions, from 8 x 8 and CLS"
        yield Finding("resampling", says, "interpolate in 2-D, rows and columns apart: vl.resample_pos_embed")


OF_THE_MODEL: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    *(
        first_loss,
        standardised,
        labels,
        answers,
        in_place,
        one_batch,
        gradients,
        input_and_positions,
        independence,
        eval_mode,
        attention,
    ),
    *(patch_size, patch_order, reading, hooks),
    *(registration, residuals, reach, attention_reach, norms, last_norm, dropout, nonlinear),
)
OF_THE_RUN: dict[str, Callable[[Case, Any], Iterator[Finding]]] = {
    "recipe": recipe,
    "preprocess": preparation,
    "evaluate": evaluation,
    "augment": augmentation,
    "resample": resampling,
}
