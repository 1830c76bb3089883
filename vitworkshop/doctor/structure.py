"""The doctor's checks of how a model is put together: who reads whom, asked of gradients (Equations 1-4)."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vitworkshop.doctor.case import (
    Case,
    Finding,
    drops,
    output_of,
    record_calls,
    with_larger_head,
)

USUAL = frozenset(vars(nn.Module()))  # what every module has


def sharing(case: Case) -> Iterator[Finding]:
    """`[block] * depth` is one block, depth times. A second name alone does no harm, nor does a second call."""
    names: dict[nn.Module, list[str]] = {}
    for name, module in case.model.named_modules(remove_duplicate=False):
        names.setdefault(module, []).append(name)
    calls: Counter[nn.Module] = Counter()
    handles = [
        module.register_forward_pre_hook(lambda module, _: calls.update([module]))
        for module, own in names.items()
        if len(own) > 1 and any(True for _ in module.parameters())
    ]
    output_of(case.model, case.images[:2])
    for handle in handles:
        handle.remove()
    # what holds another comes before it
    if shared := [names[module] for module in names if calls[module] > 1]:
        first, second, *more = shared[0]
        says = (
            f"{second} is {first} once more"
            + f", and so are {len(more)} others" * bool(more)
        )
        fix = "make each anew: ModuleList(Block() for _ in range(depth))"
        yield Finding("shared blocks", says, fix)


def registration(case: Case) -> Iterator[Finding]:
    """What is in a plain list is not among the parameters.

    Nor is a plain tensor. One that was computed (sines, a mask) does no harm; one of random numbers, or of tokens that
    are all one number, was to be learned.
    """
    owned = {*case.model.modules(), *case.model.parameters()}
    modules, tensors = [], {}
    for name, module in case.model.named_modules():
        unsaved = {
            key: module._buffers[key] for key in module._non_persistent_buffers_set
        }
        plain = {key: value for key, value in vars(module).items() if key not in USUAL}
        for key, part in (
            (key, part)
            for key, value in (plain | unsaved).items()
            for part in _inside(value)
        ):
            if isinstance(part, nn.Module) and part not in owned:
                modules.append(part)
            elif (
                isinstance(part, Tensor)
                and part not in owned
                and (part.requires_grad or _to_learn(part))
            ):
                tensors[part] = f"{name}.{key}".strip(".")
    # a teacher's do not
    extra = [p for module in modules for p in module.parameters() if p.requires_grad]
    fixed = [tensor.requires_grad_() for tensor in tensors if not tensor.requires_grad]
    loss = (
        case.model(case.images[:2]).square().sum()
        if extra or tensors
        else torch.zeros(())
    )
    grads = [_gradient(loss, p) for p in (*extra, *tensors)]
    for tensor in fixed:
        tensor.requires_grad_(False)
    if used := [p for p, g in zip((*extra, *tensors), grads, strict=True) if g.any()]:
        where = "".join(
            f" ({name})" for name in [tensors[p] for p in used if p in tensors][:1]
        )
        says = f"{len(used)} tensors are used that are not among the model's parameters{where}"
        fix = "modules belong in an nn.ModuleList, tensors in an nn.Parameter or in register_buffer"
        yield Finding("unregistered", says, fix)


def _inside(value: Any) -> Iterator[Any]:
    """What a list, a tuple or a dict holds, however deep; or the value itself."""
    if isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _inside(part)
    else:
        yield value


def _to_learn(tensor: Tensor) -> bool:
    """Whether its numbers are noise, unlike their neighbours along either axis, or one number for tokens (1, n, D)."""
    if not tensor.is_floating_point() or tensor.ndim < 2 or tensor.numel() < 32:
        return False
    x = tensor.detach().flatten(0, -2).double()  # (n, D)
    if tensor.ndim == 3 and len(tensor) == 1 and (x == x[0, 0]).all():
        return True
    x = (x - x.mean()) / x.std().clamp_min(1e-12)
    if len(x.abs().mul(1e5).round().unique()) < 0.5 * x.numel():
        return False
    likeness = [
        (x[n:, m:] * x[: len(x) - n, : x.shape[1] - m]).mean()
        for n, m in ((1, 0), (0, 1))
    ]
    return all(abs(r.nan_to_num().item()) < 4 / x.numel() ** 0.5 for r in likeness)


def starts(case: Case) -> Iterator[Finding]:
    """A matrix of equal rows computes one thing; but 0 is a start, too, and so are equal rows over tokens."""
    K, flat = case.traced[""][1].shape[1], []
    # (D, T)
    turned = case.traced[case.blocks[0]][1].mT.shape[1:] if case.blocks else None
    for name, module in case.model.named_modules():
        over = name in case.traced and case.traced[name][0][0].shape[1:] == turned
        dense = (
            isinstance(module, (nn.Linear, nn.Conv2d, nn.MultiheadAttention))
            and not over
        )
        for p in (
            module.parameters(recurse=False)
            if dense and getattr(module, "groups", 1) == 1
            else ()
        ):
            if (
                p.ndim > 1
                and p.requires_grad
                and len(p) not in (1, 2, 3, K)
                and p.any()
                and (p == p[:1]).all()
            ):
                flat.append(name)
    if flat:
        says = f"all rows are equal in {len(flat)} matrices ({', '.join(flat[:3])})"
        yield Finding(
            "start", says, "draw them: nn.init.trunc_normal_(weight, std=0.02)"
        )


def activations(case: Case) -> Iterator[Finding]:
    """Two matrices with nothing between them are one; if they are narrow between, as LoRA's, they are meant so."""
    maps = {
        name: case.fitted.get_submodule(name)
        for name in case.traced
        if in_blocks(case, name)
    }
    maps = {
        name: m.weight
        for name, m in maps.items()
        if isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d))
    }
    found = []
    for (first, a), (then, b) in itertools.pairwise(
        maps.items()
    ):  # (h, in, ...), (out, h, ...)
        # each pixel, each token
        alone = len(a) == b.shape[1] and a[0, 0].numel() == b[0, 0].numel() == 1
        wide = len(a) * (a.shape[1] + len(b)) > a.shape[1] * len(b)
        if (
            alone
            and wide
            and torch.equal(case.traced[first][1], case.traced[then][0][0])
        ):
            found.append(f"{first} and {then}")
    if found:
        says = f"nothing is between {found[0]}" + f", nor in {len(found) - 1} more" * (
            len(found) > 1
        )
        yield Finding("activation", says, "an MLP is fc2(gelu(fc1(x))) (Section 3.1)")


def in_blocks(case: Case, name: str) -> bool:
    """Whether a block has a part of this name."""
    return any(name.startswith(f"{block}.") for block in case.blocks)


def residuals(case: Case) -> Iterator[Finding]:
    """With every matrix at zero, a block is its residual stream: x, or norm(x) where norms come last.

    What it gives is a x + b norm(x), then, and a = 1, b = 0; or it is normalised in any case.
    """
    model, plain = (
        copy.deepcopy(case.fitted),
        record_calls(case.fitted, case.blocks, case.images[:3]),
    )
    for module in (
        part for name in case.blocks for part in model.get_submodule(name).modules()
    ):
        for name, p in module.named_parameters(recurse=False):
            if p.ndim > 1 or isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d)):
                nn.init.zeros_(p)
            elif _is_norm(module):
                nn.init.constant_(p, float(name != "bias"))
    found: dict[str, list[str]] = {}
    for name, (args, out) in record_calls(model, case.blocks, case.images[:3]).items():
        x, size = args[0], plain[name][1].std(-1)  # (B, T, D), (B, T)
        if not out.isfinite().all():  # a weight is divided by its norm
            continue
        # (BTD, 2)
        ways = torch.stack([x.flatten(), F.layer_norm(x, x.shape[-1:]).flatten()], 1)
        a, b = (
            torch.linalg.lstsq(ways.double(), out.flatten().double()[:, None])
            .solution[:, 0]
            .tolist()
        )
        if (out - out[:1, :1]).abs().max() < 1e-4 * x.abs().max():
            found.setdefault("nothing", []).append(name)
        elif a > 1.5:
            found.setdefault(f"{a:.3g} times what they read", []).append(name)
        elif (
            b > 0.5 and size.std() > 0.02 * size.mean()
        ):  # and the norm is not the last thing
            found.setdefault("what they read, normalised,", []).append(name)
    for what, names in found.items():
        where = names[0] + f" and {len(names) - 1} more" * (len(names) > 1)
        fix = "x = x + attn(norm1(x)), then x = x + mlp(norm2(x))"
        yield Finding(
            "residual", f"without their branches blocks pass {what} on ({where})", fix
        )


def reach(case: Case) -> Iterator[Finding]:
    """Each patch has a part in the answer, which is read from all patches' tokens or from none."""
    (images,), logits = case.traced[""]
    answer = (
        logits
        * torch.randn(logits.shape, generator=torch.Generator().manual_seed(1)).to(
            logits
        )
    ).sum()
    pixels = _gradient(answer, images).abs().sum((0, 1))  # (H, W)
    is_large = min(pixels.shape) > 8 and pixels.any()  # and looked at: else see `input`
    if is_large and (share := _seen(pixels)) < 0.75:
        says = (
            f"the answer can change with {share:.0%} of the pixels, or of their means"
        )
        yield Finding(
            "reach", says, "let the model see pictures at the size that they have"
        )
    parts = F.avg_pool2d(
        pixels[None], case.patch_size or max(1, min(pixels.shape) // 8)
    )
    if 0 < (lost := int((parts == 0).sum())) < parts.numel():
        says = f"{lost} of {parts.numel()} patches have no part in the answer"
        yield Finding(
            "reach", says, "let the token that is read attend to all: no mask, no cut"
        )
    if lost or not case.blocks:
        return
    x, out = case.traced[case.blocks[0]][0][0], case.traced[case.blocks[-1]][1]
    read, *others = _gradient(answer, out).abs().sum(2) > 0  # (T,) of each image
    if not all(read.equal(other) for other in others):  # as a maximum does
        return
    way = torch.randn(x.shape[-1], generator=torch.Generator().manual_seed(2)).to(x)
    # (T,)
    patches = torch.stack(
        [_gradient((token * way).sum(), images).any() for token in x.unbind(1)]
    )
    if read.shape == patches.shape and 0 < (part := int((read & patches).sum())) < (
        total := int(patches.sum())
    ):
        says = f"the answer is read from the tokens of {part} of {total} patches"
        yield Finding("reading", says, "read CLS, x[:, 0], or the mean of all patches")


def _seen(pixels: Tensor) -> float:
    """How many numbers make up the pixels' parts in the answer, (H, W), of as many as there could be.

    A picture that is shrunk by choosing pixels leaves others without a part, by averaging it gives neighbours the same.
    """
    alike = [
        (pixels[n:, m:] - pixels[: len(pixels) - n, : pixels.shape[1] - m]).abs()
        <= 1e-5 * pixels.max()
        for n, m in ((1, 0), (0, 1))
    ]
    return min(1 - each.float().mean().item() for each in alike)


def looks(case: Case) -> Iterator[Finding]:
    """A token reads former ones and later ones; but where the last one gives the answer, a causal mask is right."""
    if not case.blocks:
        return
    former, later = map(
        any, zip(*(_readers(*case.traced[name]) for name in case.blocks), strict=True)
    )
    others = _gradient(
        case.traced[""][1].square().sum(), case.traced[case.blocks[-1]][1]
    )[:, :-1]
    if not former and not later or not later and others.any():
        says = "no token reads " + ("a later one" if former else "another one")
        yield Finding(
            "attention",
            says,
            "softmax(q k^T) v over all tokens: no mask, patches have no order in time",
        )


def norms(case: Case) -> Iterator[Finding]:
    """A norm's mean and variance are a token's own."""
    shape = case.traced[case.blocks[0]][1].shape if case.blocks else ()  # (B, T, D)
    mixing = []
    for name, (args, out) in case.traced.items():
        if _is_norm(case.fitted.get_submodule(name)) and sorted(out.shape) == sorted(
            shape
        ):
            mixing += [name] * any(_readers(args, out, turned=out.shape != shape))
    if mixing:
        says = f"{len(mixing)} norms mix the tokens ({', '.join(mixing[:3])})"
        yield Finding(
            "norm", says, "normalise the last axis of (B, T, D): nn.LayerNorm(D)"
        )


def last_norm(case: Case) -> Iterator[Finding]:
    """Blocks with norms before their branches add up to a sum that grows; a norm stands between it and the head."""
    called = list(case.traced)  # in the order in which they end
    normed = [name for name in called if _is_norm(case.fitted.get_submodule(name))]
    if not case.blocks or not any(
        name.startswith(f"{case.blocks[-1]}.") for name in normed
    ):
        return
    # (B, T), all alike where norms come last
    size = case.traced[case.blocks[-1]][1].std(-1)
    if size.std() > 0.02 * size.mean() and not set(
        called[called.index(case.blocks[-1]) :]
    ) & set(normed):
        says = "no norm stands between the last block and the head"
        yield Finding("last norm", says, "add a LayerNorm there (Equation 4)")


def answers(case: Case) -> Iterator[Finding]:
    """Logits may be any numbers: cross-entropy takes the softmax itself."""
    logits = torch.cat(
        [output_of(model, case.images) for model in (case.model, case.fitted)]
    )
    fix = "leave out what is behind the head: F.cross_entropy has its own softmax"
    if not logits.std(0).any():
        return
    zeros, least = (logits == 0).float().mean().item(), _least_loss(case, logits)
    if logits.min() >= 0 and ((logits.sum(1) - 1).abs() < 1e-4).all():
        yield Finding("logits", "they sum to one", fix)
    elif logits.min() >= 0 and (zeros > 0.01 or logits.max() <= 1):
        says = f"{zeros:.0%} of them are 0, none is below, the largest is {logits.max():.2g}"
        yield Finding("logits", says, fix)
    elif least > 0.1:
        says = f"however large the head's weights are, the loss cannot fall below {least:.2f}"
        yield Finding("logits", says, fix)


def _least_loss(case: Case, logits: Tensor) -> float:
    """What is left of the loss of logits that are bounded, by tanh or as cosines; 0 if they are not."""
    K = logits.shape[1]
    if (model := with_larger_head(case.fitted, K, 1e4)) is None:
        return 0.0
    out = output_of(model, case.images)
    return math.log1p((K - 1) * math.exp((out.min() - out.max()).item()))


def dropout(case: Case) -> Iterator[Finding]:
    """In training, dropout of any kind keeps the mean and most of what it is given; of ones, it is easy to tell."""
    names = [name for name, module in case.model.named_modules() if drops(module)]
    for name, (_, out) in record_calls(case.model, names, case.images[:2]).items():
        module = copy.deepcopy(case.model.get_submodule(name)).train()
        passed = output_of(module, torch.ones(2048, *[4] * (out.ndim - 1)).to(out))
        dropped, mean = (passed == 0).float().mean().item(), passed.mean().item()
        if dropped > 0.55 or abs(mean - 1) > max(0.02, 6 * math.sqrt(dropped / 2048)):
            says = (
                f"{name} drops {dropped:.0%} and passes {mean:.2f} on, of a mean of 1"
            )
            yield Finding("dropout", says, "0.1 is usual; divide what is kept by 1 - p")
            return


def _is_norm(module: nn.Module) -> bool:
    """A norm, by its class's name."""
    return not list(module.children()) and any(
        "norm" in c.__name__.lower() for c in type(module).__mro__
    )


def _gradient(of: Tensor, wrt: Tensor) -> Tensor:
    """A sum's gradient; zeros where there is none."""
    if not of.requires_grad or not wrt.requires_grad:
        return torch.zeros_like(wrt)
    (grad,) = torch.autograd.grad(of, [wrt], retain_graph=True, allow_unused=True)
    return torch.zeros_like(wrt) if grad is None else grad


def _readers(args: tuple, out: Tensor, turned: bool = False) -> tuple[bool, bool]:
    """Whether the token in the middle of (B, T, D) depends on a former one, and on a later one; or of (B, D, T)."""
    tokens = out.mT if turned else out
    T, D = tokens.shape[1:]
    grad = _gradient(
        (tokens[:, T // 2] * torch.linspace(-1, 2, D).to(out).sin()).sum(), args[0]
    )
    grad = grad.mT if turned else grad
    return bool(grad[:, : T // 2].any()), bool(grad[:, T // 2 + 1 :].any())
