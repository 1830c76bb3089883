"""The doctor's checks: each yields findings, or none.

Of the model and one batch: Section 3.1, Equations 1-8. Of the recipe, evaluation, augmentation and resampling: Sections
3.2 and 4.1.
"""

from __future__ import annotations

import copy
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

# Numbers that differ by less than this share of the largest are the same: rounding is up to 4e-7 in float32, and wrong
# formulas of attention are 5e-3 and more from a layer's output.
SAME = 1e-5
PER_IMAGE = "keep the images apart; a position embedding has the shape (1, T, D), not (B, T, D)"
FIXES = {
    "attention axis": "softmax(dim=-1), over the keys",
    "attention scale": "multiply the scores by d**-0.5, d = D / h",
}
STEPS, WARMUP = 24, 8  # of a recipe on one batch, and of its warm-up
# Nats that the loss of one batch may go up, summed over the steps. A ResNet's and eight ViTs' shapes, three seeds,
# with warm-up and without: 0 to 0.8 at AdamW's rates up to 3e-3 and SGD's 0.03 (138 runs); ViTs at 1e-2 and 2e-2, and
# SGD's 0.3, go above 1 in 105 of 114 runs.
MAX_CLIMB = 1.0


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
    The limit is s = 1. A model that has learned something is below log K, so this holds for old models, too.
    """
    logits = output_of(without_dropout(copy.deepcopy(case.model)), case.images)  # batch norms need train mode
    loss, guess = F.cross_entropy(logits, case.labels).item(), math.log(logits.shape[1])
    if not loss < guess + 0.5:
        says = f"{loss:.2f}, where a guess has log {logits.shape[1]} = {guess:.2f}"
        fix = "start the head smaller (std 0.02); or are the labels of other images?"
        yield Finding("first loss", says, fix)


def standardised(case: Case) -> Iterator[Finding]:
    """(x - mean) / std of x in [0, 1] has both signs, and lies in [-2.5, 3] for a mean and std of any usual data."""
    x = case.images
    mean, std = x.mean((0, 2, 3)), x.std((0, 2, 3))
    if not (x.min() < 0 and mean.abs().max() <= 1 and 0.1 <= std.min() and std.max() <= 3):
        says = f"values from {x.min():.3g} to {x.max():.3g}, mean {mean.mean():.3g}, std {std.mean():.3g}"
        yield Finding("images", says, "standardise them, and once only: vl.normalize(images)")


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
    try:
        model, x, same = copy.deepcopy(case.fitted).double(), case.images[:NUM_FIT].double(), 1e-10
        logits = output_of(model, x)
    except (RuntimeError, TypeError):  # not this model, or not on this device
        model, x, same = case.fitted, case.images[:NUM_FIT], 1e-6
        logits = output_of(model, x)
    if relative_change(logits.flip(0), logits) < same:
        yield Finding("input", "the logits are the same for all images", "use the images in forward")
    elif any(shifts) and relative_change(output_of(model, x.roll(shifts, (2, 3))), logits) < same:
        says = "the logits do not change when the patches change places"
        yield Finding("positions", says, "add position embeddings to the tokens")


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
    layers: dict[str, Any] = {name: m for name, m in case.fitted.named_modules() if _is_attention(m)}
    found: dict[tuple[str, str], list[str]] = {}
    for name, (args, out) in record_calls(case.fitted, layers, case.images[:NUM_FIT]).items():
        D, d = layers[name].proj.in_features, layers[name].proj.in_features // layers[name].num_heads
        formulas = [  # the softmax's axis of (B, h, T, T), the factor of the scores, what is wrong
            (-1, d**-0.5, None),
            (-2, d**-0.5, ("attention axis", "softmax over the queries")),
            (1, d**-0.5, ("attention axis", "softmax over the heads")),
            (0, d**-0.5, ("attention axis", "softmax over the batch")),
            (-1, 1.0, ("attention scale", "scores not divided by sqrt(d)")),
            (-1, D**-0.5, ("attention scale", "scores divided by sqrt(D)")),
            (-1, d**0.5, ("attention scale", "scores multiplied by sqrt(d)")),
        ]
        for axis, scale, bug in formulas:
            if relative_change(_attend(layers[name], args, axis, scale), out) <= SAME:
                if bug:
                    found.setdefault(bug, []).append(name)
                break
    for (check, wrong), names in found.items():
        where = names[0] + f" and {len(names) - 1} more" * (len(names) > 1)
        yield Finding(check, f"{wrong}, in {where}", FIXES[check])


def _is_attention(layer: Any) -> bool:
    """Whether it has timm's names for the parts of a multi-head attention."""
    qkv, proj, heads = (getattr(layer, name, None) for name in ("qkv", "proj", "num_heads"))
    linear = isinstance(qkv, nn.Linear) and isinstance(proj, nn.Linear)
    return linear and isinstance(heads, int) and qkv.out_features == 3 * proj.in_features


@torch.no_grad()
def _attend(layer: Any, args: tuple, axis: int, scale: float) -> Tensor:
    """The layer's output (B, T, D) with the softmax over this axis of (B, h, T, T), and a bias if it was given one."""
    bias = next((arg for arg in args[1:] if isinstance(arg, Tensor)), 0.0)
    parts = layer.qkv(args[0]).chunk(3, dim=-1)  # three of (B, T, D)
    q, k, v = (part.unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for part in parts)  # (B, h, T, d)
    mixed = (q @ k.mT * scale + bias).softmax(axis) @ v
    return layer.proj(mixed.transpose(1, 2).flatten(2))  # (B, h, T, d) -> (B, T, D)


def patch_size(case: Case) -> Iterator[Finding]:
    """Few patches leave attention little to mix: the book has 4 x 4 and more."""
    side, (H, W) = case.patch_size, case.images.shape[-2:]
    if side and (H // side) * (W // side) < 16:
        says = f"attention sees {H // side} x {W // side} patches of {side} pixels"
        yield Finding("patch size", says, f"try patch_size {max(1, min(H, W) // 8)}")


def patch_order(case: Case) -> Iterator[Finding]:
    """Each patch of a picture of noise is replaced in turn: the token that changes most must be its own, or next to it.

    Next to it, because strided convolutions lean to one side. That holds for 100 % in all of `PATCH_EMBEDS`; where rows
    and columns are exchanged, for 63 % of 4 x 4 patches, and for fewer of more.
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
    """Coupled weight decay; and steps too long to lower the loss of the one batch they are made on.

    A model that has learned something is not judged: its loss can only go up.
    """
    r = recipe
    if r.optimizer == "adam" and r.weight_decay:
        says = f"Adam divides the decay of {r.weight_decay:g} by the gradient's size, as it does the gradient"
        yield Finding("weight decay", says, 'decouple it with optimizer="adamw"')
    if case.losses_on(case.images)[1] or (climb := _climb(case, r, r.lr)) <= MAX_CLIMB:
        return
    if _climb(case, r, r.lr / 10) <= MAX_CLIMB:
        says = f"at {r.lr:g}{'' if r.warmup else ', without a warm-up,'} the loss of one batch goes up by {climb:.2f}"
        fix = f"try {r.lr / 10:.2g} to {r.lr / 3:.2g}" + ("" if r.warmup else ", after a warm-up")
        yield Finding("learning rate", f"{says} in all, at a tenth it does not", fix)


def _climb(case: Case, recipe: Any, lr: float) -> float:
    """The sum of all that the loss goes up, from step to step, in 24 of them; eight warm up, if the recipe does."""
    model, warmup = copy.deepcopy(case.model), WARMUP if recipe.warmup else 0
    rates = [lr_at(step, STEPS, lr, warmup, "constant") for step in range(STEPS)]
    losses = list(case.train_steps(model, build_optimizer(model, recipe), rates, recipe.clip_norm))
    if not all(map(math.isfinite, losses)):
        return math.inf
    return sum(max(0.0, after - before) for before, after in itertools.pairwise(losses))


def evaluation(case: Case, evaluate: Callable) -> Iterator[Finding]:
    """What reaches the model in `evaluate`, against the batch: t-tests over images, t > 5, and a size that matters.

    Random parts of CIFAR-10 and of Drawn-10, 16 to 64 training and 16 to 500 test images: none of 2,400 pairs with one
    normalisation had a finding. Of 1,200 with two, as different as [0, 1], [0, 255], 0.5 and the data's own numbers,
    1,190 had one, and all of those with 64 images. CIFAR-10's numbers against ImageNet's are too near.
    """
    modes: list[bool] = []
    seen: list[Tensor] = []

    def note(module: nn.Module, args: tuple, kwargs: dict) -> None:
        modes.append(module.training)
        seen.append(_statistics((*args, *kwargs.values())[0].detach().to(case.images)))

    model = copy.deepcopy(case.model).train()
    model.register_forward_pre_hook(note, with_kwargs=True)
    evaluate(model)
    if not seen:
        raise ValueError("evaluate never called the model; expected a call of the model that it is given")
    if any(modes):
        says = "evaluate calls the model in train mode: dropout is on, batch norms mix the images"
        yield Finding("test mode", says, "call model.eval() before, and model.train() after")
    then, now = _statistics(case.images), torch.cat(seen, dim=1)  # (2, n, C) each
    change, std = now.mean(1) - then.mean(1), then[1].mean().exp()  # (2, C)
    t = change / (then.var(1) / then.shape[1] + now.var(1) / now.shape[1]).sqrt()  # Welch's
    if ((t.abs() > 5) & (change.abs() > torch.tensor([[0.5 * std], [0.3]]).to(change))).any():
        numbers = [f"mean {s[0].mean():.2f} and std {s[1].mean().exp():.2f}" for s in (then, now)]
        says = f"the images have {numbers[0]}, and {numbers[1]} in evaluate"
        yield Finding("test normalisation", says, "use one vl.normalize for both")


def _statistics(images: Tensor) -> Tensor:
    """Each image's mean and logarithm of the standard deviation, by channel: (2, n, C)."""
    return torch.stack([images.mean((2, 3)), images.std((2, 3)).clamp_min(1e-3).log()])


def augmentation(case: Case, augment: Callable) -> Iterator[Finding]:
    """Four copies of one image, 32 times. Drawn for each, a flip in two leaves all alike with a chance of 8^-32."""
    image = case.images[:1] - case.images[:1].min()
    image = (image / image.max()).expand(4, -1, -1, -1)
    outs = [augment(image.clone()) for _ in range(32)]
    batches = torch.stack([out[0] if isinstance(out, tuple) else out for out in outs])  # (32, 4, C, H, W)
    if (batches == batches[:, :1]).all() and (batches != batches[0]).any():
        says = "four copies of an image always come out alike, and otherwise the next time"
        yield Finding("augmentation", says, "draw the parameters for each image, not once a batch")


def resampling(case: Case, resample: Callable) -> Iterator[Finding]:
    """Positions that count rows and columns do so on another grid, whatever the interpolation, if it is in 2-D."""
    counts = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0)).repeat(1, 2)  # (64, 4)
    table = F.pad(counts, (0, 0, 1, 0), value=100.0)[None]  # (1, 1+64, 4), CLS first
    out = resample(table, (12, 10))  # (1, 1+120, 4)
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
        one_batch,
        gradients,
        input_and_positions,
        independence,
        eval_mode,
        attention,
    ),
    *(patch_size, patch_order, reading, hooks),
)
OF_THE_RUN: dict[str, Callable[[Case, Any], Iterator[Finding]]] = {
    "recipe": recipe,
    "evaluate": evaluation,
    "augment": augmentation,
    "resample": resampling,
}
