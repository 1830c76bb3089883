"""Checks of a model and one batch: each gives a finding, or nothing (Section 3.1, Equations 1-8)."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from vitworkshop.doctor.case import FIT, Case, Finding, apart, calls, output_of, quiet

# Numbers that differ by less than this share of the largest are the same: rounding is up to 4e-7 in float32, and wrong
# formulas of attention are 5e-3 and more from a layer's output.
SAME = 1e-5
PER_IMAGE = "keep the images apart; a position embedding has the shape (1, T, D), not (B, T, D)"
FIXES = {
    "attention axis": "softmax(dim=-1), over the keys",
    "attention scale": "multiply the scores by d**-0.5, d = D / h",
}


def batch_size(model: nn.Module, images: Tensor) -> Iterator[Finding]:
    """The last batch of an epoch is smaller than the others, and a single photograph is smaller still."""
    try:
        output_of(model, images[:FIT])
    except Exception as error:  # whatever the model raises
        says = f"the model fails with {FIT} images, not with {len(images)} ({str(error).splitlines()[0]})"
        yield Finding("batch size", says, PER_IMAGE)


def first_loss(case: Case) -> Iterator[Finding]:
    """Logits with a standard deviation of s that know nothing lose log K + s^2 / 2.

    s is 0.2 in the book's new models, 0.6 in ViT-B, 0.58 with PyTorch's own start of a head on features of variance 1.
    The limit is s = 1. It asks not whether the model is new: one that has learned something is below log K.
    """
    logits = output_of(quiet(copy.deepcopy(case.model)), case.images)  # a new batch norm needs train mode
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
    """Who cannot learn eight images by heart will not learn fifty thousand; but for a head on a frozen model."""
    if not case.learned and all(p.requires_grad for p in case.model.parameters()):
        says = f"after {len(case.losses)} steps on {FIT} images the loss is {min(case.losses):.2f}"
        blind = f"the same answer for all of them gives {case.entropy:.2f}"
        yield Finding("one batch", f"{says}; {blind}", "find out why it cannot learn them by heart")


def gradients(case: Case) -> Iterator[Finding]:
    """With one label for all, for what knows the images may have a gradient of 0. A mask token is for another task."""
    model = quiet(copy.deepcopy(case.taught))
    trained = {
        name: p for name, p in model.named_parameters() if p.requires_grad and "mask_token" not in name
    }
    loss = F.cross_entropy(model(case.images[:FIT]), case.labels[:1].expand(FIT))
    grads = torch.autograd.grad(loss, list(trained.values()), allow_unused=True) if loss.requires_grad else ()
    if dead := [name for name, g in itertools.zip_longest(trained, grads) if g is None or not g.any()]:
        says = f"{len(dead)} of {len(trained)} parameters never have one ({', '.join(dead[:3])})"
        yield Finding("gradients", says, "use them in forward, without detach() or no_grad()")


def input_and_positions(case: Case) -> Iterator[Finding]:
    """Rolling an image by whole patches permutes its patches, which a model without positions cannot see.

    Where the model computes in float64, rounding changes its logits by 1e-15; relative positions, just begun, change
    them by 5e-6 and more, which is still above float32's rounding.
    """
    side, (H, W) = case.side or 1, case.images.shape[-2:]
    shifts = [size // 2 // side * side for size in (H, W)]  # 0 if there is one patch only
    try:
        model, x, same = copy.deepcopy(case.taught).double(), case.images[:FIT].double(), 1e-10
        logits = output_of(model, x)
    except (RuntimeError, TypeError):  # not this model, or not on this device
        model, x, same = case.taught, case.images[:FIT], 1e-6
        logits = output_of(model, x)
    if apart(logits.flip(0), logits) < same:
        yield Finding("input", "the logits are the same for all images", "use the images in forward")
    elif any(shifts) and apart(output_of(model, x.roll(shifts, (2, 3))), logits) < same:
        says = "the logits do not change when the patches change places"
        yield Finding("positions", says, "add position embeddings to the tokens")


def independence(case: Case) -> Iterator[Finding]:
    """The same images among seven others, and at other places among all. One random in eval mode is not asked."""
    x = case.images
    alone, again = output_of(case.taught, x[:FIT]), output_of(case.taught, x[:FIT])
    among = output_of(case.taught, x.flip(0)).flip(0)[:FIT]
    if apart(again, alone) <= SAME < (change := apart(among, alone)):
        says = f"an image's logits change by {change:.1%} with the other images and its place among them"
        yield Finding("batch independence", says, PER_IMAGE)


def eval_mode(case: Case) -> Iterator[Finding]:
    """With every dropout off, a model is the same in training and evaluation, unless it has batch norms."""
    x, model = case.images[:FIT], copy.deepcopy(case.taught)
    logits, again = output_of(model, x), output_of(model, x)
    normed = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules())
    off, off_again = (output_of(quiet(model), x) for _ in range(2))
    if (change := apart(again, logits)) > SAME:
        says = f"two passes in eval mode differ by {change:.1%}"
        yield Finding("eval mode", says, "F.dropout(x, p, self.training), or a module nn.Dropout(p)")
    elif not normed and apart(off_again, off) <= SAME < (change := apart(off, logits)):
        says = f"train and eval mode differ by {change:.1%} with every dropout off"
        yield Finding("eval mode", says, "let nothing but dropout and DropPath ask for self.training")


def attention(case: Case) -> Iterator[Finding]:
    """Equations 5-8 with a layer's own weights, right and wrong: the first that gives its output is what it does.

    Layers that compute none of them (another kind of attention) are not judged.
    """
    layers: dict[str, Any] = {name: m for name, m in case.taught.named_modules() if _is_attention(m)}
    found: dict[tuple[str, str], list[str]] = {}
    for name, (args, out) in calls(case.taught, layers, case.images[:FIT]).items():
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
        fits = (bug for dim, by, bug in formulas if apart(_attend(layers[name], args, dim, by), out) <= SAME)
        if bug := next(fits, None):
            found.setdefault(bug, []).append(name)
    for (check, wrong), names in found.items():
        where = names[0] + f" and {len(names) - 1} more" * (len(names) > 1)
        yield Finding(check, f"{wrong}, in {where}", FIXES[check])


def _is_attention(layer: Any) -> bool:
    """Whether it has timm's names for the parts of a multi-head attention."""
    qkv, proj, heads = (getattr(layer, name, None) for name in ("qkv", "proj", "num_heads"))
    linear = isinstance(qkv, nn.Linear) and isinstance(proj, nn.Linear)
    return linear and isinstance(heads, int) and qkv.out_features == 3 * proj.in_features


@torch.no_grad()
def _attend(layer: Any, args: tuple, dim: int, scale: float) -> Tensor:
    """The layer's output (B, T, D) with the softmax over this axis of (B, h, T, T), and a bias if it was given one."""
    bias = next((arg for arg in args[1:] if isinstance(arg, Tensor)), 0.0)
    parts = layer.qkv(args[0]).chunk(3, dim=-1)  # three of (B, T, D)
    q, k, v = (part.unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for part in parts)  # (B, h, T, d)
    mixed = (q @ k.mT * scale + bias).softmax(dim) @ v
    return layer.proj(mixed.transpose(1, 2).flatten(2))  # (B, h, T, d) -> (B, T, D)


def patch_size(case: Case) -> Iterator[Finding]:
    """Few patches leave attention little to mix: the book has 4 x 4 and more."""
    side, (H, W) = case.side, case.images.shape[-2:]
    if side and (H // side) * (W // side) < 16:
        says = f"attention sees {H // side} x {W // side} patches of {side} pixels"
        yield Finding("patch size", says, f"try patch_size {max(1, min(H, W) // 8)}")


def patch_order(case: Case) -> Iterator[Finding]:
    """Each patch of a picture of noise is replaced in turn: the token that changes most must be its own, or next to it.

    Next to it, because strided convolutions lean to one side. That holds for 100 % in all of `PATCH_EMBEDS`; where rows
    and columns are exchanged, for 63 % of 4 x 4 patches, and for fewer of more.
    """
    if not case.side:
        return
    image, *others = torch.randn_like(case.images[:FIT]).split(1)
    rows, cols = (size // case.side for size in image.shape[-2:])
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
    x, p = case.images, case.side
    ways = {}
    if x.shape[1] == 3:
        fix = "give RGB: cv2 reads BGR, image[..., ::-1] turns it"
        ways["channels", "red and blue exchanged", fix] = x.flip(1)
    if p:
        fix = "flatten patches as (p1 p2 c), not (p2 p1 c)"
        turned = rearrange(x, "b c (h p) (w q) -> b c (h q) (w p)", p=p, q=p)
        ways["patch order", "rows and columns of each patch exchanged", fix] = turned
    before, _ = case.losses_of(x)
    for (check, way, fix), images in ways.items():
        after, knows = case.losses_of(images)
        gain = before - after
        if knows and gain.mean() > 4 * gain.std() / len(gain) ** 0.5:
            yield Finding(
                check, f"the loss falls from {before.mean():.2f} to {after.mean():.2f} with {way}", fix
            )


def hooks(case: Case) -> Iterator[Finding]:
    """timm's blocks have a module that the weights pass, and fused attention does not call it."""
    called = calls(case.taught, case.hooked, case.images[:FIT])
    if silent := [name for name in case.hooked if name not in called]:
        says = f"{len(silent)} of {len(case.hooked)} modules with a hook are never called ({', '.join(silent[:3])})"
        yield Finding("hooks", says, "fused attention passes them by: ask model.attention_maps(images)")
