"""The exercises of chapter 06, on the encoder's block."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

import vitlib as vl
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def eight_numbers():
    x = torch.tensor([2, 4, 4, 4, 5, 5, 7, 9.0])
    mean, n = x.mean(), 8
    sd = (((x - mean) ** 2).sum() / n).sqrt()
    return {"mean": mean.item(), "sd": sd.item(), "token": (x - mean) / sd}


EXERCISES["06.a"] = Exercise(
    eight_numbers,
    guess=True,
    tol=5e-3,
    mistakes=[
        (
            "mean, n = x.mean(), 8",
            "mean, n = x.mean(), 7",
            "the squares are divided by D, here 8, not by D − 1",
        ),
        (
            "mean, n = x.mean(), 8",
            "mean, n = x.median(), 8",
            "this is the median; the mean is the sum over the number",
        ),
        (
            ".sum() / n).sqrt()",
            ".sum() / n)",
            "this is the variance; the deviation is its root",
        ),
        (
            "(x - mean) / sd",
            "(x - mean)",
            "the mean is gone; the division is still to come",
        ),
        ("(x - mean) / sd", "x / sd", "the mean is still in it"),
        (
            "(x - mean) / sd",
            "(x - mean) / sd**2",
            "divided by the variance, not by its root",
        ),
    ],
    hints=[
        "The squares of the deviations sum to 32.",
        "Subtract the mean from each number, then divide each by the deviation.",
    ],
    others=[
        {"mean": 5, "sd": 2, "token": [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2]},
        ("(x - mean) / sd", "((x - mean) / sd).tolist()"),
    ],
)


def layer_norm(x, gamma, beta, eps=1e-6):
    mean = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, keepdim=True, unbiased=False)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


EXERCISES["06.b"] = Exercise(
    layer_norm,
    inputs=lambda: (
        [
            (
                3 * torch.randn(*shape) + 1,
                torch.randn(shape[-1]),
                torch.randn(shape[-1]),
            )
            for shape in ((2, 5, 8), (1, 4, 6))
        ]
        + [(1e-3 * torch.randn(2, 3, 5), torch.ones(5), torch.zeros(5))]
    ),
    mistakes=[
        (
            ", unbiased=False",
            "",
            "`var` divides by D − 1 unless it is told not to: unbiased=False",
        ),
        (
            "dim=-1",
            "dim=1",
            "along the tokens: this lets tokens see each other. A token's own numbers are the last axis",
        ),
        (
            "dim=-1",
            "dim=0",
            "along the batch: this lets images see each other. A token's own numbers are the last axis",
        ),
        (
            "dim=-1",
            "dim=(1, 2)",
            "one mean and variance for a whole image; each token has its own",
        ),
        (
            "dim=-1",
            "dim=(0, 1, 2)",
            "one mean and variance for everything; each token has its own",
        ),
        (
            "dim=-1, keepdim=True",
            "dim=-1",
            "the mean has lost its axis: keepdim=True, so that it can be subtracted",
        ),
        ("(x - mean)", "x", "the mean is not subtracted"),
        (
            "(var + eps).sqrt()",
            "(var + eps)",
            "divided by the variance, not by its root",
        ),
        ("(var + eps).sqrt()", "(var.sqrt() + eps)", "ε belongs under the root"),
        (
            "(var + eps)",
            "var",
            "ε is missing: a token of nearly equal numbers shows it",
        ),
        ("eps=1e-6", "eps=1e-5", "ε is 1e-6 here; 1e-5 is PyTorch's default"),
        ("gamma * (", "(", "the scale γ is missing"),
        (" + beta", "", "the shift β is missing"),
        ("x, gamma, beta", "x, beta, gamma", "γ and β are exchanged"),
        (
            "gamma * (x - mean) / (var + eps).sqrt() + beta",
            "gamma * ((x - mean) / (var + eps).sqrt() + beta)",
            "γ scales β as well: shift last",
        ),
    ],
    hints=[
        "The loops again, with `dim=-1` in place of one token at a time.",
        "`x.mean(dim=-1, keepdim=True)` has the shape (B, T, 1).",
        "`x.var` divides by D − 1, unless it is told not to.",
    ],
    others=[
        lambda x, gamma, beta: F.layer_norm(
            x.double(), x.shape[-1:], gamma.double(), beta.double(), 1e-6
        )
    ],
)


def forward(block, x):
    x = x + block.attn(block.norm1(x))
    return x + block.mlp(block.norm2(x))


def a_block(D, heads, hidden):
    block = vl.Block(D, heads, hidden).requires_grad_(False)
    for p in block.parameters():
        p.normal_(std=0.3)
    return block


EXERCISES["06.c"] = Exercise(
    forward,
    inputs=lambda: [
        (a_block(24, 3, 48), torch.randn(2, 7, 24)),
        (a_block(16, 2, 40), torch.randn(1, 5, 16)),
    ],
    mistakes=[
        (
            "    x = x + block.attn(block.norm1(x))\n    return",
            "    x = block.norm1(x)\n    x = x + block.attn(x)\n    x = block.norm2(x)\n    return x + block.mlp(x)\n    return",
            "the bug is still there: print the tokens that the last plus sign starts from",
        ),
        (
            "x = x + block.attn(block.norm1(x))",
            "x = block.norm1(x)\n    x = x + block.attn(x)",
            "the first half still has it: to what does attention add?",
        ),
        (
            "return x + block.mlp(block.norm2(x))",
            "x = block.norm2(x)\n    return x + block.mlp(x)",
            "the second half still has it: to what does the MLP add?",
        ),
        (
            "    x = x + block.attn(block.norm1(x))\n    return x + block.mlp(block.norm2(x))",
            "    x = block.norm1(x + block.attn(x))\n    return block.norm2(x + block.mlp(x))",
            "this is post-norm: the norm sits on the sum",
        ),
        (
            "    x = x + block.attn(block.norm1(x))\n    return x + block.mlp(block.norm2(x))",
            "    h = block.norm1(x)\n    return x + block.attn(h) + block.mlp(block.norm2(h))",
            "the second norm reads the first one's result: it should read the stream, with attention's part in it",
        ),
        (
            "x = x + block.attn(block.norm1(x))\n    return x + block.mlp(block.norm2(x))",
            "return x + block.mlp(block.norm2(block.attn(block.norm1(x))))",
            "the MLP reads attention's branch alone: add it to the stream first",
        ),
        (
            "return x + block.mlp(block.norm2(x))",
            "return block.mlp(block.norm2(x))",
            "the second plus sign is missing",
        ),
        ("x = x + block.attn", "x = block.attn", "the first plus sign is missing"),
        ("block.norm2(x)", "x", "the MLP's branch has lost its norm"),
        ("block.norm1(x)", "x", "attention's branch has lost its norm"),
        (
            "block.mlp(block.norm2(x))",
            "block.mlp(block.norm1(x))",
            "the MLP has a norm of its own, norm2",
        ),
        (
            "    x = x + block.attn(block.norm1(x))\n    return x +",
            "    return x + block.attn(block.norm1(x)) +",
            "the MLP must read what attention has written: one after the other",
        ),
    ],
    hints=[
        "Set attention and MLP to zero, in your mind. What should the block return, and what does this one?",
        "The norm belongs on the branch: into the brackets.",
    ],
    others=[
        lambda block, x: block(x).numpy(),
        (
            "return x + block.mlp(block.norm2(x))",
            "y = block.norm2(x)\n    return block.mlp(y) + x",
        ),
    ],
)


def two_norms():
    pair = torch.tensor([[1, 3, 4, 5, 7], [13, 33, 43, 53, 73.0]])
    n, across = 0, 0
    centred = pair - pair.mean(1, keepdim=True)
    layer = centred / pair.std(1, correction=n, keepdim=True)
    centred = pair - pair.mean(across, keepdim=True)
    batch = centred / pair.std(across, correction=n, keepdim=True)
    return {"a": layer[0], "b": batch, "c": "LayerNorm"}


EXERCISES["06.1"] = Exercise(
    two_norms,
    tol=5e-3,
    mistakes=[
        (
            "n, across = 0, 0",
            "n, across = 1, 0",
            "the squares are divided by how many there are, not by one less",
        ),
        (
            "n, across = 0, 0",
            "n, across = 0, 1",
            "this is LayerNorm on both; BatchNorm takes a channel over the two tokens",
        ),
        (
            "/ pair.std(1, correction=n, keepdim=True)",
            "/ pair.var(1, correction=n, keepdim=True)",
            "divided by the variance, not by its root",
        ),
        (
            "/ pair.std(1, correction=n, keepdim=True)",
            "",
            "the mean is gone; the division is still to come",
        ),
        (
            "/ pair.std(across, correction=n, keepdim=True)",
            "",
            "the mean is gone; the division is still to come",
        ),
        (
            '"b": batch',
            '"b": -batch',
            "the signs: which of the two numbers of a channel is the smaller?",
        ),
        (
            '"b": batch',
            '"b": batch.T',
            "a row for each token, a column for each channel",
        ),
        (
            '"LayerNorm"',
            '"BatchNorm"',
            "only this image's pixels change, and BatchNorm's statistics belong to the batch",
        ),
        (
            '"LayerNorm"',
            '"both"',
            "the other images of the batch stay as they are: does their norm?",
        ),
        (
            '"LayerNorm"',
            '"none"',
            "every token of the image becomes 1.5 times as long: which norm divides that away?",
        ),
    ],
    hints=[
        "(a) Subtract the mean, 4; divide by the root of the mean square.",
        "(b) Each channel has two numbers. Where are they, seen from their mean?",
        "(c) Which of the two looks at one token alone?",
    ],
    others=[
        {"a": [-1.5, -0.5, 0, 0.5, 1.5], "b": [[-1] * 5, [1] * 5], "c": "layernorm"},
        ('"a": layer[0]', '"a": layer[1]'),
    ],
)


@torch.no_grad()
def fold(norm, linear):
    new = nn.Linear(linear.in_features, linear.out_features)
    new.weight.copy_(linear.weight * norm.weight)
    new.bias.copy_(linear.bias + linear.weight @ norm.bias)
    return new


def fold_by_diagonal(norm, linear):
    new = copy.deepcopy(linear).double()
    new.weight.data = linear.weight.double() @ norm.weight.double().diag()
    new.bias.data = linear(norm.bias).double()
    return new


def pair_of_layers(D, out):
    norm, linear = (
        nn.LayerNorm(D).requires_grad_(False),
        nn.Linear(D, out).requires_grad_(False),
    )
    norm.weight.normal_(), norm.bias.normal_()
    return norm, linear


def its_numbers(answer, norm, linear):
    new = answer(norm, linear)
    return (new.weight, new.bias) if isinstance(new, nn.Linear) else new


EXERCISES["06.2"] = Exercise(
    fold,
    inputs=lambda: [pair_of_layers(12, 20), pair_of_layers(7, 5)],
    run=its_numbers,
    mistakes=[
        (
            "linear.weight * norm.weight",
            "linear.weight",
            "γ is missing: it scales the columns of W",
        ),
        (
            "linear.bias + linear.weight @ norm.bias",
            "linear.bias",
            "β is missing: W makes something of it, which the bias must take over",
        ),
        (
            "linear.bias + linear.weight @ norm.bias",
            "linear.weight @ norm.bias",
            "the old bias is lost",
        ),
        (
            "linear.bias + linear.weight @ norm.bias",
            "linear.bias + new.weight @ norm.bias",
            "β is scaled by γ here; it is added after the scaling",
        ),
        (
            "linear.bias + linear.weight @ norm.bias",
            "linear.bias - linear.weight @ norm.bias",
            "β is subtracted; it is added",
        ),
        (
            "linear.weight * norm.weight",
            "linear.weight / norm.weight",
            "γ multiplies; the division by σ stays in the norm",
        ),
        (
            "linear.weight * norm.weight",
            "linear.weight.T * norm.weight",
            "W is (out, in), and γ belongs to what goes in",
        ),
        (
            "linear.weight * norm.weight",
            "linear.weight * norm.weight[:, None]",
            "the sizes do not fit: γ scales the columns of W, and β goes through W before it reaches the bias",
        ),
        (
            "return new",
            "return new.weight",
            "a new nn.Linear is asked for, with weight and bias",
        ),
    ],
    hints=[
        "Write out W(γ ⊙ x̂ + β) + b, and collect what multiplies x̂.",
        "γ scales the columns of W; the rest is a vector that does not depend on x.",
    ],
    others=[
        fold_by_diagonal,
        (
            "linear.weight * norm.weight",
            "torch.einsum('oi,i->oi', linear.weight, norm.weight)",
        ),
    ],
)


def without(model, i):
    shorter = copy.deepcopy(model)
    del shorter.blocks[i]
    return shorter


def a_vit(depth):
    vit = vl.VisionTransformer(
        vl.ViTConfig(img_size=16, patch_size=8, embed_dim=16, depth=depth, num_heads=2)
    ).requires_grad_(False)
    for p in vit.parameters():
        p.normal_(std=0.3)
    return vit


def its_answers(answer, model, i):
    images = torch.randn(2, 3, 16, 16)
    out = answer(model, i)
    if isinstance(out, vl.VisionTransformer):
        return out(images)
    return type(out).__name__ if isinstance(out, nn.Module) else out


EXERCISES["06.3"] = Exercise(
    without,
    inputs=lambda: [(a_vit(4), 1), (a_vit(5), 3), (a_vit(3), 0)],
    run=its_answers,
    mistakes=[
        (
            "    del shorter.blocks[i]\n",
            "",
            "nothing is missing: this is the whole model",
        ),
        (
            "del shorter.blocks[i]",
            "del shorter.blocks[i:]",
            "all blocks from i on are gone; leave out one",
        ),
        (
            "del shorter.blocks[i]",
            "del shorter.blocks[:i]",
            "the blocks before i are gone; leave out block i",
        ),
        (
            "del shorter.blocks[i]",
            "shorter.blocks = shorter.blocks[i:i + 1]",
            "only block i is left; leave it out, and keep the others",
        ),
        (
            "del shorter.blocks[i]",
            "shorter.blocks[i] = nn.Identity()",
            "a block is called with two things, and an Identity takes one: leave the block out",
        ),
        ("shorter.blocks[i]", "shorter.blocks[i - 1]", "blocks are counted from 0"),
        ("shorter.blocks[i]", "shorter.blocks[i + 1]", "this is the block after it"),
        (
            "shorter.blocks[i]",
            "shorter.blocks[-1]",
            "this leaves out the last block, whatever i is",
        ),
        (
            "return shorter",
            "return shorter.blocks",
            "return the whole model, not its blocks alone",
        ),
        (
            "del shorter.blocks[i]",
            "shorter.blocks[i] = copy.deepcopy(shorter.blocks[i - 1])",
            "the block is replaced, by the one before it: leave it out",
        ),
    ],
    hints=[
        "`model.blocks` is a list of modules: what takes one item out of a list?",
        "First a copy, `copy.deepcopy(model)`, or `trained` itself has lost a block afterwards.",
    ],
    others=[
        (
            "del shorter.blocks[i]",
            "shorter.blocks = nn.ModuleList([*shorter.blocks[:i], *shorter.blocks[i + 1:]])",
        )
    ],
)


def shifted(blocks, x):
    x = x + blocks[0].mlp(blocks[0].norm2(x))
    for mixes, thinks in zip(blocks[:-1], blocks[1:], strict=True):
        x = x + mixes.attn(mixes.norm1(x))
        x = x + thinks.mlp(thinks.norm2(x))
    return x + blocks[-1].attn(blocks[-1].norm1(x))


def swapped(blocks, x):
    for b in blocks:
        x = x + b.mlp(b.norm2(x))
        x = x + b.attn(b.norm1(x))
    return x


EXERCISES["06.4"] = Exercise(
    shifted,
    given=swapped,
    inputs=lambda: [
        (nn.ModuleList(a_block(24, 3, 48) for _ in range(4)), torch.randn(2, 7, 24)),
        (nn.ModuleList(a_block(16, 2, 40) for _ in range(4)), torch.randn(1, 5, 16)),
    ],
    mistakes=[
        (
            "thinks.mlp(thinks.norm2(x))",
            "mixes.mlp(mixes.norm2(x))",
            "each ordinary block has attention and MLP of one swapped block here; whose MLP comes after an attention?",
        ),
        (
            "x = x + blocks[0].mlp(blocks[0].norm2(x))",
            "x = x + 0",
            "the MLP at the beginning is missing",
        ),
        (
            "return x + blocks[-1].attn(blocks[-1].norm1(x))",
            "return x",
            "the attention at the end is missing",
        ),
        (
            "x = x + blocks[0].mlp(blocks[0].norm2(x))\n",
            "for b in blocks:\n        x = b(x)\n    return x\n",
            "these are four ordinary blocks: here an MLP comes first, and an attention last",
        ),
        (
            "zip(blocks[:-1], blocks[1:], strict=True)",
            "zip(blocks[1:], blocks[:-1], strict=True)",
            "the other way round: attention is the earlier block's, the MLP the later one's",
        ),
        ("thinks.norm2", "mixes.norm2", "each branch takes its own block's norm"),
        (
            "x = x + mixes",
            "x = mixes",
            "attention's plus sign is missing in the ordinary blocks",
        ),
        (
            "x = x + thinks",
            "x = thinks",
            "the MLP's plus sign is missing in the ordinary blocks",
        ),
        (
            "        x = x + mixes.attn(mixes.norm1(x))\n        x = x + thinks.mlp(thinks.norm2(x))\n",
            "        x = x + thinks.mlp(thinks.norm2(x))\n        x = x + mixes.attn(mixes.norm1(x))\n",
            "an ordinary block does its attention first, then its MLP",
        ),
        ("blocks[-1]", "blocks[0]", "the attention at the end is the last block's"),
    ],
    hints=[
        "Write the eight branches in a row: m0 a0 m1 a1 m2 a2 m3 a3.",
        "Now draw the borders after m0 and before a3. Which attention and which MLP stand together?",
    ],
    others=[
        ("blocks[-1].attn(blocks[-1].norm1(x))", "thinks.attn(thinks.norm1(x))"),
        (
            "zip(blocks[:-1], blocks[1:], strict=True)",
            "((blocks[i], blocks[i + 1]) for i in range(3))",
        ),
    ],
)
