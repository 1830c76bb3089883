"""The doctor's checks: each yields findings, or none.

Of the model and one batch: Section 3.1, Equations 1-8. How the model is put together is `structure`'s, the run is
`run`'s.
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

from vitworkshop.doctor import structure
from vitworkshop.doctor.case import (
    NUM_FIT,
    Case,
    Finding,
    output_of,
    record_calls,
    relative_change,
    with_larger_head,
    without_dropout,
)

# Numbers that differ by less than this share of the largest are the same: rounding is up to 4e-7 in float32, and wrong
# formulas of attention are 5e-3 and more from a layer's output.
SAME = 1e-5
PER_IMAGE = (
    "keep the images apart; a position embedding has the shape (1, T, D), not (B, T, D)"
)
HEADS = ("num_heads", "heads", "n_heads", "n_head", "nhead", "h")
FIXES = {
    "attention axis": "softmax(dim=-1), over the keys",
    "attention scale": "multiply the scores by d**-0.5, d = D / h",
    "attention heads": "(B, T, D) -> (B, T, h, d) -> (B, h, T, d), and back in the same way",
}
FORMULAS: list[tuple[tuple[str, str], int, Callable[[int, int], float], str]] = [
    # what it is, the softmax's axis of (B, h, T, T), the factor of the scores, what else is otherwise
    (("", ""), -1, lambda d, D: d**-0.5, ""),
    (("attention axis", "softmax over the queries"), -2, lambda d, D: d**-0.5, ""),
    (("attention axis", "softmax over the heads"), 1, lambda d, D: d**-0.5, ""),
    (("attention axis", "softmax over the batch"), 0, lambda d, D: d**-0.5, ""),
    (("attention scale", "scores not divided by sqrt(d)"), -1, lambda d, D: 1.0, ""),
    (("attention scale", "scores divided by sqrt(D)"), -1, lambda d, D: D**-0.5, ""),
    (("attention scale", "scores multiplied by sqrt(d)"), -1, lambda d, D: d**0.5, ""),
    (
        ("attention heads", "merged by a reshape of (B, h, T, d)"),
        -1,
        lambda d, D: d**-0.5,
        "merged",
    ),
    (
        ("attention heads", "split by a reshape to (B, h, T, d)"),
        -1,
        lambda d, D: d**-0.5,
        "split",
    ),
    (
        ("attention heads", "split and merged by a reshape"),
        -1,
        lambda d, D: d**-0.5,
        "split, merged",
    ),
]


def batch_size(model: nn.Module, images: Tensor) -> Iterator[Finding]:
    """The last batch of an epoch is smaller than the others, and a single photograph is smaller still."""
    try:
        output_of(model, images[:NUM_FIT])
    except Exception as error:  # whatever the model raises
        reason = str(error).splitlines()[0]
        says = (
            f"the model fails with {NUM_FIT} images, not with {len(images)} ({reason})"
        )
        yield Finding("batch size", says, PER_IMAGE)


def first_loss(case: Case) -> Iterator[Finding]:
    """Logits with a standard deviation of s that know nothing lose log K + s^2 / 2.

    s is 0.2 in the book's new models, 0.6 in ViT-B, 0.58 with PyTorch's own start of a head on features of variance 1.
    The limit is s = 1. A model that has learned something is below log K, so this holds for old models, too. A cosine
    head, at 1 / 0.07 say, is another matter: its logits are bounded.
    """
    # batch norms need train mode
    logits = output_of(without_dropout(copy.deepcopy(case.model)), case.images)
    loss, guess = F.cross_entropy(logits, case.labels).item(), math.log(logits.shape[1])
    if not loss < guess + 0.5 and not _is_cosine(case, logits.shape[1]):
        says = f"{loss:.2f}, where a guess has log {logits.shape[1]} = {guess:.2f}"
        fix = "start the head smaller (std 0.02); or are the labels of other images?"
        yield Finding("first loss", says, fix)


def _is_cosine(case: Case, K: int) -> bool:
    """Whether the head's vectors may be of any length."""
    model, x = with_larger_head(case.model, K, 2), case.images[:2]
    if model is None:
        return False
    return relative_change(output_of(model, x), output_of(case.model, x)) < 1e-3


def standardised(case: Case) -> Iterator[Finding]:
    """(x - mean) / std of x in [0, 1] has both signs, and lies in [-2.5, 3] for a mean and std of any usual data.

    Bright drawings have a mean above 1 by ImageNet's numbers: then 0 must be a usual mean's place in the range.

    Neighbours are alike, in pictures: more than pixels three columns apart, which a reshape of (H, W, 3) makes alike.
    """
    x = case.images
    mean, std = x.mean((0, 2, 3)), x.std((0, 2, 3))
    near = (
        mean.abs().max() <= 1 or 0.3 <= (-x.min() / (x.max() - x.min())).item() <= 0.6
    )
    if not (x.min() < 0 and near and 0.1 <= std.min() and std.max() <= 3):
        says = f"values from {x.min():.3g} to {x.max():.3g}, mean {mean.mean():.3g}, std {std.mean():.3g}"
        yield Finding(
            "images", says, "standardise them, and once only: vl.normalize(images)"
        )
    z = (x - x.mean((2, 3), keepdim=True)) / x.std((2, 3), keepdim=True).clamp_min(1e-6)
    one, three = (
        (z[..., n:] * z[..., :-n]).mean().item() if z.shape[-1] > 3 else 0.0
        for n in (1, 3)
    )
    if three > one + 0.2:
        says = f"pixels correlate by {three:.2f} with the third beside them, by {one:.2f} with the next"
        yield Finding(
            "images",
            says,
            "x.permute(0, 3, 1, 2) makes channels of (B, H, W, C), not reshape",
        )


def labels(case: Case) -> Iterator[Finding]:
    """Ridge on 8 x 8 pixels, leave-one-out, knows usual labels better than the same ones shuffled (3 deviations).

    With fewer than 500 images it may not: of 40 parts of Drawn-10 and of CIFAR-10 it knew all, and none once shuffled;
    of 256 drawings in five classes, one with six tenths, it missed 12 of 40. A model that knows them needs no proof.
    """
    x, y = (part[:1024] for part in case.given)
    if (n := len(y)) < 500 or case.losses_on(case.images)[1]:
        return
    pixels, targets = (
        F.adaptive_avg_pool2d(x, 8).flatten(1).double(),
        F.one_hot(y).double(),
    )
    pixels, targets = pixels - pixels.mean(0), targets - targets.mean(0)
    kernel = pixels @ pixels.T
    hat = kernel @ torch.linalg.inv(
        kernel + kernel.diagonal().mean().clamp_min(1e-9) * torch.eye(n).to(kernel)
    )
    # without the image itself
    hat = (hat - hat.diagonal().diag()) / (1 - hat.diagonal()[:, None])
    right, *shuffled = [
        (hat @ t * t).sum()
        for t in (targets, *(targets[torch.randperm(n)] for _ in range(40)))
    ]
    if right < torch.stack(shuffled).mean() + 3 * torch.stack(shuffled).std():
        says = f"a linear probe of {n} images knows them no better than shuffled"
        yield Finding(
            "labels",
            says,
            "are they those of these images? shuffle both by one permutation",
        )


def one_batch(case: Case) -> Iterator[Finding]:
    """What cannot learn eight images by heart will not learn fifty thousand; but for a head on a frozen model."""
    if not case.learned and all(p.requires_grad for p in case.model.parameters()):
        says = f"after {len(case.losses)} steps on {NUM_FIT} images the loss is {min(case.losses):.2f}"
        blind = f"the same answer for all of them gives {case.entropy:.2f}"
        yield Finding(
            "one batch",
            f"{says}; {blind}",
            "find out why it cannot learn them by heart",
        )


def gradients(case: Case) -> Iterator[Finding]:
    """Every parameter gets one, with one label for all: a model that knows the right ones may have a gradient of 0.

    So does each half and each third of a block's matrix, which holds two or three maps perhaps, of q, k and v say.
    """
    model = without_dropout(copy.deepcopy(case.fitted))
    params = {name: p for name, p in model.named_parameters() if p.requires_grad}
    # is for another task
    params = {name: p for name, p in params.items() if "mask_token" not in name}
    loss = F.cross_entropy(
        model(case.images[:NUM_FIT]), case.labels[:1].expand(NUM_FIT)
    )
    grads = (
        torch.autograd.grad(loss, list(params.values()), allow_unused=True)
        if loss.requires_grad
        else ()
    )
    if dead := [
        name
        for name, g in itertools.zip_longest(params, grads)
        if g is None or not g.any()
    ]:
        says = f"{len(dead)} of {len(params)} parameters never have one ({', '.join(dead[:3])})"
        yield Finding(
            "gradients", says, "use them in forward, without detach() or no_grad()"
        )
    idle = [
        f"{'half' if n == 2 else 'a third'} of {name}'s outputs"
        for (name, p), g in zip(params.items(), grads, strict=bool(grads))
        for n in (2, 3)
        if p.ndim == 2
        and structure.in_blocks(case, name)
        and name.endswith("weight")
        and not len(p) % n
        if not isinstance(
            model.get_submodule(name.rpartition(".")[0]), nn.Embedding
        )  # has places in store
        if g is not None and g.any() and not all(part.any() for part in g.chunk(n))
    ]
    if idle:
        where = idle[0] + f", and so in {len(idle) - 1} more" * (len(idle) > 1)
        fix = "queries, keys and values have a part each in softmax(q k^T) v"
        yield Finding("gradients", f"{where}, never get one", fix)


def input_and_positions(case: Case) -> Iterator[Finding]:
    """Rolling an image by whole patches permutes its patches, which a model without positions cannot see.

    Where the model computes in float64, rounding changes its logits by 1e-15; relative positions, just begun, change
    them by 5e-6 and more, which is still above float32's rounding.
    """
    side, (H, W) = case.patch_size or 1, case.images.shape[-2:]
    # 0 if there is one patch only
    shifts = [size // 2 // side * side for size in (H, W)]
    ways = {
        "patches": (shifts, (2, 3)),
        "rows": (shifts[0], 2),
        "columns": (shifts[1], 3),
    }
    try:
        model, x, same = (
            copy.deepcopy(case.fitted).double(),
            case.images[:NUM_FIT].double(),
            1e-10,
        )
        logits = output_of(model, x)
    except (RuntimeError, TypeError):  # not this model, or not on this device
        model, x, same = case.fitted, case.images[:NUM_FIT], 1e-6
        logits = output_of(model, x)
    if relative_change(logits.flip(0), logits) < same:
        yield Finding(
            "input",
            "the logits are the same for all images",
            "use the images in forward",
        )
        return
    for what, (by, axes) in ways.items():
        rolled = x.roll(by, axes)
        if (
            not torch.equal(rolled, x)
            and relative_change(output_of(model, rolled), logits) < same
        ):
            says = f"the logits do not change when the {what} change places"
            yield Finding("positions", says, "add position embeddings to the tokens")
            return


def independence(case: Case) -> Iterator[Finding]:
    """The same images among seven others, and at other places among all; not of a model that is random in eval mode."""
    x = case.images
    alone, again = (
        output_of(case.fitted, x[:NUM_FIT]),
        output_of(case.fitted, x[:NUM_FIT]),
    )
    among = output_of(case.fitted, x.flip(0)).flip(0)[:NUM_FIT]
    if (
        relative_change(again, alone)
        <= SAME
        < (change := relative_change(among, alone))
    ):
        says = f"an image's logits change by {change:.1%} with the other images and its place among them"
        yield Finding("batch independence", says, PER_IMAGE)


def eval_mode(case: Case) -> Iterator[Finding]:
    """With every dropout off, a model is the same in training and evaluation, unless it has batch norms."""
    x, model = case.images[:NUM_FIT], copy.deepcopy(case.fitted)
    logits, again = output_of(model, x), output_of(model, x)
    normed = any(
        isinstance(module, nn.modules.batchnorm._BatchNorm)
        for module in model.modules()
    )
    off, off_again = (output_of(without_dropout(model), x) for _ in range(2))
    if (change := relative_change(again, logits)) > SAME:
        says = f"two passes in eval mode differ by {change:.1%}"
        yield Finding(
            "eval mode",
            says,
            "F.dropout(x, p, self.training), or a module nn.Dropout(p)",
        )
    elif not normed and relative_change(off_again, off) <= SAME < (
        change := relative_change(off, logits)
    ):
        says = f"train and eval mode differ by {change:.1%} with every dropout off"
        yield Finding(
            "eval mode",
            says,
            "let nothing but dropout and DropPath ask for self.training",
        )


def attention(case: Case) -> Iterator[Finding]:
    """Equations 5-8 with a layer's own weights, right and wrong: the first that gives its output is what it does.

    Layers that compute none of them (another kind of attention) are not judged.
    """
    layers = {
        name: parts
        for name, m in case.fitted.named_modules()
        if (parts := _attention_parts(m))
    }
    found: dict[tuple[str, str], list[str]] = {}
    for name, (args, out) in record_calls(
        case.fitted, layers, case.images[:NUM_FIT]
    ).items():
        *linears, numbers = layers[name]
        for (check, wrong), axis, scale, way in FORMULAS:
            outs = (_attend(linears, h, args, axis, scale, way) for h in numbers)
            if any(relative_change(mixed, out) <= SAME for mixed in outs):
                found.setdefault((check, wrong), []).append(name)
                break
    for (check, wrong), names in found.items():
        where = names[0] + f" and {len(names) - 1} more" * (len(names) > 1)
        if check:
            yield Finding(check, f"{wrong}, in {where}", FIXES[check])


def _attention_parts(layer: nn.Module) -> list[Any] | None:
    """The linear maps to queries, keys and values, that to the output, and how many heads there may be."""
    parts = [
        m
        for part in layer.children()
        for m in (part if isinstance(part, nn.Sequential) else [part])
    ]
    linears = [m for m in parts if isinstance(m, nn.Linear)]
    *inner, out = linears or [nn.Linear(1, 1)]
    if sum(m.out_features for m in inner) != 3 * out.in_features:
        return None
    said = [h for name in HEADS if isinstance(h := getattr(layer, name, None), int)]
    return [*linears, said[:1] or [h for h in range(1, 17) if out.in_features % h == 0]]


@torch.no_grad()
def _attend(
    linears: list, h: int, args: tuple, axis: int, scale: Callable, way: str
) -> Tensor:
    """The layer's output (B, T, D) with the softmax over this axis of (B, h, T, T), and a bias if it was given one."""
    *inner, proj = linears
    bias = next((arg for arg in args[1:] if isinstance(arg, Tensor)), 0.0)
    # three of (B, T, D)
    parts = torch.cat([linear(args[0]) for linear in inner], dim=-1).chunk(3, dim=-1)
    B, T, D = parts[0].shape
    cut = [part.reshape(B, h, T, -1) for part in parts]  # as it must not be
    # (B, h, T, d)
    q, k, v = (
        cut
        if "split" in way
        else [p.reshape(B, T, h, -1).transpose(1, 2) for p in parts]
    )
    mixed = (q @ k.mT * scale(D // h, D) + bias).softmax(axis) @ v
    return proj(
        mixed.reshape(B, T, D) if "merged" in way else mixed.transpose(1, 2).flatten(2)
    )


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
    # (n, N) -> (n, 1, rows, cols)
    mask = F.one_hot(which, rows * cols).view(-1, 1, rows, cols)
    # (n, 1, H, W)
    mask = F.interpolate(mask.float(), image.shape[-2:]).bool().to(image.device)
    embed: Any = case.model.patch_embed
    tokens = torch.stack(
        [output_of(embed, torch.where(mask, other, image)) for other in others]
    )
    # (7, n, N, D) -> (n, N)
    change = (tokens - output_of(embed, image)).square().sum((0, 3))
    most = change.argmax(1).cpu()
    whole = (change.amax(1) > 0.99 * change.sum(1)).all() and len(most.unique()) == len(
        most
    )
    N = rows * cols
    tables = [
        p
        for n, p in case.model.named_parameters()
        if p.requires_grad and (p.ndim == 3 or "pos" in n)
    ]
    if whole and any(p.ndim > 1 and N <= p.shape[-2] <= N + 8 for p in tables):
        return  # as p is the table of positions
    beside = (
        torch.maximum(
            (most // cols - which // cols).abs(), (most % cols - which % cols).abs()
        )
        <= 1
    )
    if (share := beside.float().mean().item()) < 0.8:
        says = f"{1 - share:.0%} of the patches change a token far from their own most"
        yield Finding(
            "patch order",
            says,
            "cut as vl.patchify does: (h p1) (w p2) -> (h w) (p1 p2 c)",
        )


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
        ways.append(
            ("patch order", "rows and columns of each patch exchanged", fix, turned)
        )
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
        yield Finding(
            "hooks",
            says,
            "fused attention passes them by: ask model.attention_maps(images)",
        )


OF_THE_MODEL: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    *(
        first_loss,
        standardised,
        labels,
        structure.answers,
        one_batch,
        gradients,
        input_and_positions,
    ),
    *(independence, eval_mode, attention, patch_size, patch_order, reading, hooks),
    *(
        structure.sharing,
        structure.registration,
        structure.starts,
        structure.residuals,
        structure.activations,
        structure.reach,
    ),
    *(structure.looks, structure.norms, structure.last_norm, structure.dropout),
)
