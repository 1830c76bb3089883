"""The doctor's checks of how a model is put together: who reads whom, asked of gradients (Section 3.1, Equations 1-4).

They look at the encoder's `blocks`, wherever a list of alike modules hands tokens (B, T, D) on, one to the next.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from vitworkshop.doctor.case import (
    NUM_FIT,
    Call,
    Case,
    Finding,
    output_of,
    record_calls,
    relative_change,
)

FEW = 12  # tokens that are asked whom they read; a causal mask shows in any two
KEEP = "x = x + attn(norm1(x)), then x = x + mlp(norm2(x))"


def registration(case: Case) -> Iterator[Finding]:
    """`[block] * depth` is one block, depth times; the modules of a plain list are not among the parameters."""
    owned = {id(p) for p in case.model.parameters()}
    for name, module in case.model.named_modules():
        parts = [id(part) for part in module.children() if any(True for _ in part.parameters())]
        members = [id(part) for part in module._modules.values() if part is not None]
        if isinstance(module, (nn.ModuleList, nn.Sequential)) and any(
            members.count(part) > 1 for part in parts
        ):
            says = f"{name} has {len(members)} members, of which {len(set(members))} differ"
            yield Finding("shared blocks", says, "make each anew: ModuleList(Block() for _ in range(depth))")
        for key, value in vars(module).items():
            values = (
                value.values()
                if isinstance(value, dict)
                else value
                if isinstance(value, (list, tuple))
                else ()
            )
            inside = [p for part in values if isinstance(part, nn.Module) for p in part.parameters()]
            if key != "_modules" and any(id(p) not in owned and _is_used(case, p) for p in inside):
                says = f"what is in {name + '.' * bool(name)}{key} is not among the model's parameters"
                yield Finding("unregistered", says, "keep modules in an nn.ModuleList, not in a list")


def _is_used(case: Case, parameter: nn.Parameter) -> bool:
    """Whether the logits depend on it."""
    logits = case.model(case.images[:2])
    (grad,) = torch.autograd.grad(logits.square().sum(), [parameter], allow_unused=True)
    return grad is not None


def residuals(case: Case) -> Iterator[Finding]:
    """With every matrix at zero, a block is its residual stream: the identity, or its norm where norms come last.

    A stream that has gone is a constant then; one that is written over by its norm is normalised, though what the
    block gives is not.
    """
    if not case.blocks:
        return
    model = copy.deepcopy(case.fitted)
    blocks = [model.get_submodule(name) for name in case.blocks]
    for module in (m for block in blocks for m in block.modules()):
        if _is_norm(module):
            for name, p in module.named_parameters(recurse=False):
                nn.init.constant_(p, float(name != "bias"))
    normal = record_calls(model, case.blocks, case.images[:3])
    for block in blocks:
        for module in block.modules():
            for p in module.parameters(recurse=False):
                if p.ndim > 1 or isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d)):
                    nn.init.zeros_(p)
    found: dict[str, list[str]] = {}
    for name, (args, out) in record_calls(model, case.blocks, case.images[:3]).items():
        x, last = args[0], normal[name][1].square().mean(-1).sqrt()  # (B, T, D), (B, T)
        factor = ((out * x).sum() / x.square().sum().clamp_min(1e-12)).item()
        unit = [
            (x - mean) / (x - mean).square().mean(-1, keepdim=True).sqrt() for mean in (0.0, x.mean(-1, True))
        ]
        if (out - out[:1, :1]).abs().max() < 1e-4 * (x - x[:1, :1]).abs().max():
            found.setdefault("nothing", []).append(name)
        elif relative_change(out, factor * x) < 1e-3:
            if factor > 1.5:
                found.setdefault(f"{factor:.3g} times what they read", []).append(name)
        elif min(relative_change(out, u) for u in unit) < 1e-2 and (last - 1).abs().max() > 0.02:
            found.setdefault("what they read, normalised,", []).append(name)
    for what, names in found.items():
        where = names[0] + f" and {len(names) - 1} more" * (len(names) > 1)
        yield Finding("residual", f"without their branches blocks pass on {what} ({where})", f"write {KEEP}")


def reach(case: Case) -> Iterator[Finding]:
    """Each patch has a part in the answer, and where one token alone gives it, this token is not a patch's.

    Of the last block's patch tokens, all are pooled or none.
    """
    if not (seen := case.traced):
        return
    images, logits, calls = seen
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1)).to(logits)
    answer = (logits * weights).sum()
    pixels = _gradient(answer, images).abs().sum((0, 1))  # (H, W)
    side = case.patch_size or max(1, min(pixels.shape) // 8)
    parts = nn.functional.avg_pool2d(pixels[None], side)[0]
    if 0 < (lost := int((parts == 0).sum())) < parts.numel():
        says = f"{lost} of {parts.numel()} patches have no part in the answer"
        yield Finding("reach", says, "let the token that is read attend to all: no mask, no cut")
    if not case.blocks:
        return
    first, last = calls[case.blocks[0]], calls[case.blocks[-1]]
    read = _gradient(answer, last.out).abs().sum((0, 2)) > 0  # (T,)
    if last.out.shape != first.x.shape or not read.any() or lost:
        return
    weights = torch.randn(first.x.shape[-1]).to(first.x)
    of_a_patch = torch.stack(
        [_gradient((first.x[:, i] * weights).sum(), images).any() for i in range(first.x.shape[1])]
    ).to(read.device)
    if (part := int((read & of_a_patch).sum())) and part < (total := int(of_a_patch.sum())):
        says = f"the answer is read from the tokens of {part} of {total} patches"
        yield Finding("reading", says, "read CLS, x[:, 0], or the mean of all patches")


def attention_reach(case: Case) -> Iterator[Finding]:
    """A token of an image may read every other: later ones too, and some other at least.

    A causal mask is right where the answer comes from the last tokens alone.
    """
    if not case.traced or not case.blocks:
        return
    _, logits, calls = case.traced
    past, future = [], []
    for name in case.blocks:
        influence = _influence(calls[name])
        T = influence.shape[1]
        rows = torch.linspace(0, T - 1, len(influence)).long()[:, None]
        cols = torch.arange(T)
        past.append(bool(influence[cols < rows].any()))
        future.append(bool(influence[cols > rows].any()))
    if not any(past + future):
        yield Finding(
            "attention", "no token reads another one", "softmax(q k^T) v over the tokens, (B, h, T, d)"
        )
    elif not any(future) or not any(past):
        read = _gradient(logits.square().sum(), calls[case.blocks[-1]].out).abs().sum((0, 2)).nonzero()[:, 0]
        if any(past) and len(read) == 1 and read[0] == calls[case.blocks[-1]].out.shape[1] - 1:
            return
        says = f"no token reads a {'later' if any(past) else 'former'} one"
        yield Finding("attention", says, "leave out the mask: patches have no order in time")


def norms(case: Case) -> Iterator[Finding]:
    """A norm's mean and variance are a token's own."""
    if not case.traced or not case.blocks:
        return
    calls, wrong = case.traced[2], []
    T, D = calls[case.blocks[0]].x.shape[1:]
    for name, call in calls.items():
        if not _is_norm(case.fitted.get_submodule(name)) or T == D:
            continue
        if call.x.shape[1:] not in ((T, D), (D, T)) or call.out.shape != call.x.shape:
            continue
        if call.x.shape[1:] == (D, T):
            call = Call(call.x, call.out, True)
        influence = _influence(call)
        own = torch.linspace(0, T - 1, len(influence)).long()[:, None] == torch.arange(T)
        if influence[~own].any():
            wrong.append(name)
    if wrong:
        says = f"{len(wrong)} norms mix the tokens ({', '.join(wrong[:3])})"
        yield Finding("norm", says, "normalise the last axis of (B, T, D): nn.LayerNorm(D)")


def last_norm(case: Case) -> Iterator[Finding]:
    """Blocks with norms before their branches add up to a sum that grows; a norm stands between it and the head."""
    if not case.blocks or not any(_is_norm(m) for m in case.fitted.modules()):
        return
    model = copy.deepcopy(case.fitted)
    blocks = [model.get_submodule(name) for name in case.blocks]
    inside = [m for block in blocks for m in block.modules() if _is_norm(m)]
    outside = [
        m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm) and m not in inside
    ]
    x = case.images[:NUM_FIT]
    size = record_calls(model, case.blocks[-1:], x)[case.blocks[-1]][1].square().mean(-1).sqrt()  # (B, T)
    if not inside or outside or size.std() < 0.02 * size.mean():  # or norms that come last
        return
    before = output_of(model, x)
    if relative_change(output_of(model, x), before) > 1e-5:  # it is random
        return
    blocks[-1].register_forward_hook(
        lambda m, args, out: 3.0 * out if isinstance(out, Tensor) else (3.0 * out[0], *out[1:])
    )
    if (change := relative_change(output_of(model, x), before)) > 0.02:
        says = f"the logits change by {change:.0%} when the last block's output is tripled"
        yield Finding("last norm", says, "add a LayerNorm before the head (Equation 4)")


def answers(case: Case) -> Iterator[Finding]:
    """Logits may be any numbers: cross-entropy takes the softmax itself."""
    logits = torch.cat([output_of(model, case.images) for model in (case.model, case.fitted)])
    if (logits == logits[:1]).all():
        return
    zeros = (logits == 0).float().mean()
    if logits.min() >= 0 and ((logits.sum(1) - 1).abs() < 1e-4).all():
        yield Finding("logits", "they sum to one", "leave out the softmax: F.cross_entropy has its own")
    elif logits.min() >= 0 and zeros > 0.01:
        yield Finding(
            "logits", f"{zeros:.0%} of them are 0 and none is below", "leave out what is behind the head"
        )
    elif 0 <= logits.min() and logits.max() <= 1:
        yield Finding(
            "logits", "all lie between 0 and 1", "leave out the sigmoid: F.cross_entropy needs none"
        )


def dropout(case: Case) -> Iterator[Finding]:
    """In training, dropout of any kind keeps the mean and most of what it is given; of ones, it is easy to tell."""
    for name, (args, out) in record_calls(
        case.model, _named(case.model, ("drop", "stochastic")), case.images[:2]
    ).items():
        module = copy.deepcopy(case.model.get_submodule(name)).train()
        if not args or out.shape != args[0].shape:
            continue
        passed = torch.stack(
            [output_of(module, torch.ones(64, *[4] * (out.ndim - 1)).to(out)) for _ in range(32)]
        )
        dropped, mean = (passed == 0).float().mean().item(), passed.mean().item()
        if dropped > 0.5 + 0.05:
            yield Finding("dropout", f"{name} drops {dropped:.0%}", "0.1 is usual, and no dropout too")
            return
        if dropped > 0 and abs(mean - 1) > max(0.02, 5 * math.sqrt(dropped / 2048)):
            says = f"{name} drops {dropped:.0%} and passes {mean:.2f} on, of a mean of 1"
            yield Finding("dropout", says, "divide what is kept by 1 - p")
            return


def nonlinear(case: Case) -> Iterator[Finding]:
    """Two matrices with nothing between them are one."""
    if not case.traced:
        return
    for name, call in case.traced[2].items():
        module = case.fitted.get_submodule(name)
        linears = [m for m in module.modules() if isinstance(m, nn.Linear)]
        if len(linears) != 2 or linears[0].out_features < linears[0].in_features or call.x.ndim != 3:
            continue
        if call.x.shape[-1] != linears[0].in_features:
            continue
        a, b = torch.randn(2, *call.x.shape).to(call.x) * call.x.std()
        try:
            f = [output_of(module, z) for z in (a, b, a + b, 0 * a)]
        except (RuntimeError, TypeError):
            continue
        if relative_change(f[0] + f[1], f[2] + f[3]) < 1e-4 and f[0].std() > 0:
            yield Finding("mlp", f"{name} is linear", "put a GELU between its two layers")
            return


def in_place(case: Case) -> Iterator[Finding]:
    """A model leaves the images that it is given as they are."""
    x = case.images[:NUM_FIT].clone()
    output_of(case.model, x)
    if not torch.equal(x, case.images[:NUM_FIT]):
        yield Finding(
            "in place", "the model changes the images that it is given", "x = x - mean, not x -= mean"
        )


def _is_norm(module: nn.Module) -> bool:
    """A norm, by its class's name, and not what it stands in."""
    return not list(module.children()) and "norm" in type(module).__name__.lower()


def _named(model: nn.Module, words: tuple[str, ...]) -> list[str]:
    """Modules without children, whose class has one of the words in its name."""
    return [
        name
        for name, m in model.named_modules()
        if not list(m.children()) and any(word in type(m).__name__.lower() for word in words)
    ]


def _gradient(of: Tensor, wrt: Tensor) -> Tensor:
    """A sum's gradient; zeros where there is none."""
    if not of.requires_grad:
        return torch.zeros_like(wrt)
    (grad,) = torch.autograd.grad(of, [wrt], retain_graph=True, allow_unused=True)
    return torch.zeros_like(wrt) if grad is None else grad


def _influence(call: Call) -> Tensor:
    """Whether each of a few tokens of what a module gives depends on each of the tokens it reads: (few, T)."""
    out, axis = call.out, 2 if call.turned else 1
    T = out.shape[axis]
    weights = torch.randn(out.shape[3 - axis], generator=torch.Generator().manual_seed(2)).to(out)
    rows = torch.linspace(0, T - 1, min(FEW, T)).long().tolist()
    grads = [_gradient((out.select(axis, i) * weights).sum(), call.x).abs().sum((0, 3 - axis)) for i in rows]
    return (torch.stack(grads) > 0).cpu()
