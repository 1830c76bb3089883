"""The exercises of chapter 08, on the whole model."""

from __future__ import annotations

import copy

import torch
from torch import nn

from vitlib.model import one_page
from vitworkshop.exercises.engine import Exercise
from vitworkshop.exercises.language import Said

EXERCISES: dict[str, Exercise] = {}


def forward(vit, images):
    x = vit.patch_embed(images)
    cls = vit.cls_token.expand(len(x), -1, -1)
    x = torch.cat([cls, x], dim=1) + vit.pos_embed
    x = vit.norm(vit.blocks(x))
    return vit.head(x[:, 0])


def vits():
    made = []
    for side, D, depth, B in ((8, 16, 2, 2), (12, 24, 1, 3)):
        vit = one_page.ViT(
            img_size=side,
            patch_size=4,
            embed_dim=D,
            depth=depth,
            num_heads=4,
            num_classes=5,
        ).requires_grad_(False)
        for p in vit.parameters():
            p.add_(0.5 * torch.randn(p.shape))
        made.append((vit, torch.randn(B, 3, side, side)))
    return made


CAT, READ = (
    "torch.cat([cls, x], dim=1) + vit.pos_embed",
    "\n    x = vit.norm(vit.blocks(x))\n    return vit.head(x[:, 0])",
)
EXERCISES["08.a"] = Exercise(
    forward,
    inputs=vits,
    mistakes=[
        (
            CAT + READ,
            CAT.replace("cls, x", "x, cls") + READ.replace("0", "-1"),
            "this is the colleague's: whose position is row 0 of the table, and who gets it?",
        ),
        ("[cls, x]", "[x, cls]", "CLS stands last, and a patch is read in its place"),
        ("x[:, 0]", "x[:, -1]", "the last patch is read; Equation 4 reads CLS"),
        (
            "x[:, 0]",
            "x.mean(1)",
            "the mean of all tokens is read; Equation 4 reads CLS",
        ),
        (
            "x[:, 0]",
            "x[:, 1:].mean(1)",
            "the mean of the patches is read; Equation 4 reads CLS",
        ),
        (" + vit.pos_embed", "", "the positions are missing"),
        (
            CAT,
            "torch.cat([cls, x + vit.pos_embed[:, 1:]], dim=1)",
            "CLS has a position, too: Equation 1 adds them behind the concatenation",
        ),
        (
            CAT,
            "torch.cat([cls, x + vit.pos_embed[:, :-1]], dim=1)",
            "row 0 of the table is CLS's, so that each patch has its neighbour's",
        ),
        ("vit.norm(vit.blocks(x))", "vit.blocks(x)", "the last norm is missing"),
        (
            "vit.norm(vit.blocks(x))",
            "vit.blocks(vit.norm(x))",
            "the norm comes before the blocks; Equation 4 has it behind them",
        ),
        (
            "vit.norm(vit.blocks(x))",
            "vit.norm(x + vit.blocks(x))",
            "the residuals are inside the blocks already",
        ),
        (
            "vit.head(x[:, 0])",
            "vit.head(x)",
            "logits for every token; one of them is read",
        ),
        (
            "vit.head(x[:, 0])",
            "x[:, 0]",
            "this is the vector that is read; the head is missing",
        ),
    ],
    hints=[
        "Go through Equations 1 to 4 and the four lines together.",
        "Which token has which row of the table of positions?",
        "Two places of the code must change, and they belong together.",
    ],
    others=[
        ("x[:, 0]", "x.unbind(1)[0]"),
        (
            "vit.blocks(x))\n    return vit.head(x[:, 0])",
            "vit.blocks(x)[:, 0])\n    return vit.head(x).numpy()",
        ),
    ],
)


def resized():
    small, large = (
        one_page.ViT(
            img_size=side, patch_size=4, embed_dim=8, depth=1, num_heads=2
        ).state_dict()
        for side in (8, 16)
    )
    names = {name for name in small if small[name].shape != large[name].shape}
    return names


EXERCISES["08.b"] = Exercise(
    resized,
    guess=True,
    mistakes=[
        (
            "return",
            "names.add('patch_embed.proj.weight')\n    return",
            "the patch projection sees one patch at a time, of the same side",
        ),
        (
            "return",
            "names.add('cls_token')\n    return",
            "CLS is one token, however many patches there are",
        ),
        (
            "return",
            "names.add('blocks.0.attn.qkv.weight')\n    return",
            "queries, keys and values are made of one token at a time",
        ),
        (
            "return",
            "names.add('head.weight')\n    return",
            "the head reads one vector of D numbers",
        ),
        (
            "return",
            "names |= {*small}\n    return",
            "most of these fit any number of patches: which have an axis that counts them?",
        ),
        ("return", "names.clear()\n    return", "a table has one row for each place"),
    ],
    hints=[
        "Which tensors have an axis that counts tokens?",
        "Go down the list of names and shapes above: where does 65 stand?",
    ],
    others=[["POS_EMBED"], "pos_embed "],
)


def count():
    D, N = 128, (64 // 8) ** 2
    block = 4 * D**2 + 4 * D + (2 * 2 * D**2 + 3 * D) + 2 * 2 * D
    whole = (8 * 8 * 3 + 1) * D + (1 + N) * D + D + 4 * block + 2 * D + (D + 1) * 20
    return {"a": block, "b": whole, "c": 0 * block}


EXERCISES["08.1"] = Exercise(
    count,
    mistakes=[
        ("(2 * 2 * D**2 + 3 * D)", "(8 * D**2 + 5 * D)", "this is for a ratio of 4"),
        (
            "(2 * 2 * D**2 + 3 * D)",
            "(2 * D**2 + 3 * D)",
            "an MLP has two matrices, up and down",
        ),
        ("(2 * 2 * D**2 + 3 * D)", "2 * 2 * D**2", "the MLP's biases are missing"),
        (
            "(2 * 2 * D**2 + 3 * D)",
            "(2 * 2 * D**2 + 4 * D)",
            "the MLP's second bias is as long as what comes out, D",
        ),
        (
            "4 * D**2 + 4 * D",
            "3 * D**2 + 3 * D",
            "attention's output projection is missing",
        ),
        ("4 * D**2 + 4 * D", "4 * D**2", "attention's biases are missing"),
        (" + 2 * 2 * D", "", "the block's norms are missing"),
        (
            " + 2 * 2 * D",
            " + 2 * D",
            "there are two norms in a block, each with factors and offsets",
        ),
        ("8 * 8 * 3 + 1", "8 * 8 * 3", "the patch embedding has a bias"),
        ("8 * 8 * 3 + 1", "8 * 8 + 1", "a colour patch has three numbers a pixel"),
        ("(1 + N) * D + D", "N * D + D", "CLS has a position, too"),
        ("(1 + N) * D + D", "(1 + N) * D", "the CLS token is missing, or its position"),
        ("(1 + N) * D + D", "D", "the positions are missing"),
        ("4 * block", "block", "the model is 4 blocks deep"),
        ("4 * block + 2 * D", "4 * block", "the last norm is missing"),
        ("(D + 1) * 20", "D * 20", "the head has a bias"),
        (
            '"c": 0 * block',
            '"c": 4 * (4 * D**2 + 4 * D)',
            "twice as many heads are each half as wide",
        ),
        (
            '"c": 0 * block',
            '"c": whole',
            "by how much does it change, not: how many has it then",
        ),
    ],
    hints=[
        "The MLP goes from 128 to 256 and back: two matrices, two biases.",
        "(b) Go down the table of parts, with N = 8 × 8.",
        "(c) Which matrix knows the number of heads?",
    ],
    others=[("0 * block", "0 * 1.0"), ("2 * 2 * D**2 + 3 * D", "4.0 * D**2 + 3 * D")],
)


def board():
    B, N, D, h, K = 5, (256 // 32) * (192 // 32), 384, 6, 1000
    T = N + 1
    return {
        "patch embedding": (B, N, D),
        "CLS, positions": (B, T, D),
        "q, k, v in one": (B, T, 3 * D),
        "attention weights": (B, h, T, T),
        "MLP, hidden": (B, T, 4 * D),
        "logits": (B, K),
    }


EXERCISES["08.2"] = Exercise(
    board,
    mistakes=[
        (
            "(192 // 32)",
            "(256 // 32)",
            "the image is no square: count the patches along each side",
        ),
        ("T = N + 1", "T = N", "CLS is a token, too"),
        ("(B, N, D)", "(B, N + 1, D)", "CLS comes one box later"),
        ("(B, N, D)", "(B, D, N)", "tokens come before width"),
        (
            "(B, N, D)",
            "(B, D, 256 // 32, 192 // 32)",
            "the two axes of the grid become one",
        ),
        ("(B, ", "(", "the batch is the first axis"),
        ("(B, T, 3 * D)", "(B, T, D)", "queries, keys and values together"),
        ("(B, T, 3 * D)", "(B, T, 3, D)", "all in one axis: it is one linear layer"),
        ("(B, h, T, T)", "(B, T, T)", "each head has a table of its own"),
        ("(B, h, T, T)", "(B, T, T, h)", "heads come before the two axes of tokens"),
        (
            "(B, h, T, T)",
            "(B, h, T, D // h)",
            "this is a query by head; a weight is for each pair of tokens",
        ),
        ("(B, h, T, T)", "(B, h, N, N)", "CLS reads and is read, too"),
        ("(B, T, 4 * D)", "(B, T, D)", "inside, the MLP is wider"),
        ("(B, K)", "(B, T, K)", "the head sees one token only"),
        ("(B, K)", "(B, D)", "this is what the head reads; what does it give?"),
    ],
    hints=[
        "How many patches lie along 256 pixels, and along 192?",
        "Each box but the first and the last has T = 1 + N somewhere.",
        "Which box has two axes of tokens, and one of heads?",
    ],
    others=[("(B, N, D)", "[B, N, D]"), ("(B, K)", "torch.Size((B, K))")],
)


def fuse(q, k, v):
    fused = nn.Linear(q.in_features, 3 * q.out_features).requires_grad_(False)
    fused.weight.copy_(torch.cat([q.weight, k.weight, v.weight]))
    fused.bias.copy_(torch.cat([q.bias, k.bias, v.bias]))
    return fused


def fuse_again(q, k, v):
    fused = copy.deepcopy(q)
    fused.out_features, all_three = 3 * q.out_features, (q, k, v)
    fused.weight = nn.Parameter(torch.vstack([one.weight for one in all_three]))
    fused.bias = nn.Parameter(torch.hstack([one.bias for one in all_three]))
    return fused


def applied(answer, q, k, v, x):
    """What the one layer gives."""
    if (fused := answer(q, k, v)) is None or isinstance(fused, nn.Linear):
        return fused and fused(x)
    name = type(fused).__name__
    raise TypeError(Said("one nn.Linear is asked for, got {name}", name=name))


EXERCISES["08.3"] = Exercise(
    fuse,
    inputs=lambda: [
        (*(nn.Linear(D, D).requires_grad_(False) for _ in "qkv"), torch.randn(B, 5, D))
        for B, D in ((2, 24), (3, 10))
    ],
    run=applied,
    mistakes=[
        (
            "[q.weight, k.weight",
            "[k.weight, q.weight",
            "the weights of queries and keys are exchanged",
        ),
        (
            "[q.bias, k.bias",
            "[k.bias, q.bias",
            "the biases of queries and keys are exchanged",
        ),
        (
            "    fused.bias.copy_(torch.cat([q.bias, k.bias, v.bias]))\n",
            "",
            "the biases are not copied: they are still the new layer's own",
        ),
        (
            "fused.bias.copy_(torch.cat([q.bias, k.bias, v.bias]))",
            "fused.bias.zero_()",
            "the biases are set to zero",
        ),
        (
            "    fused.weight.copy_(torch.cat([q.weight, k.weight, v.weight]))\n",
            "",
            "the weights are not copied: they are still the new layer's own",
        ),
        (
            "torch.cat([q.weight, k.weight, v.weight])",
            "torch.cat([q.weight.T, k.weight.T, v.weight.T])",
            "the weights are transposed: a linear layer's weight is (out, in) already",
        ),
        (
            "torch.cat([q.weight, k.weight, v.weight])",
            "torch.stack([q.weight, k.weight, v.weight], 1).flatten(0, 1)",
            "rows of q, k and v take turns; all rows of q come first",
        ),
        (
            "torch.cat([q.weight, k.weight, v.weight])",
            "torch.cat([q.weight, k.weight, v.weight], dim=1)",
            "a weight is (out, in): more outputs are more rows, dim=0",
        ),
        (
            "torch.cat([q.weight, k.weight, v.weight])",
            "q.weight.repeat(3, 1)",
            "the queries' weights stand there three times",
        ),
    ],
    hints=[
        "Which axis of a linear layer's weight counts its outputs?",
        "Make a new `nn.Linear(D, 3 * D)` and copy into it, under `torch.no_grad()`.",
        "The biases are stacked in the same order.",
    ],
    others=[
        fuse_again,
        (
            "torch.cat([q.bias, k.bias, v.bias])",
            "torch.stack([q.bias, k.bias, v.bias]).flatten()",
        ),
    ],
)
