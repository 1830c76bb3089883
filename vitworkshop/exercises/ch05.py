"""The exercises of chapter 05, on attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import rearrange

import vitlib as vl
from vitworkshop.exercises.engine import Exercise
from vitworkshop.exercises.language import Said

EXERCISES: dict[str, Exercise] = {}


def changed():
    T = 65
    return {"norm1": 1, "mlp": 1, "attn": T}


EXERCISES["05.a"] = Exercise(
    changed,
    guess=True,
    mistakes=[
        (
            '"norm1": 1',
            '"norm1": T',
            "LayerNorm takes the mean over a token's own numbers, not over tokens",
        ),
        (
            '"norm1": 1',
            '"norm1": 0',
            "the new token is other numbers: its norm is other numbers as well",
        ),
        ('"mlp": 1', '"mlp": T', "the MLP is given one token at a time"),
        ('"mlp": 1', '"mlp": 0', "what goes in changed, so what comes out does"),
        ('"attn": T', '"attn": 1', "then no token would ever know of another"),
        (
            '"attn": T',
            '"attn": T - 1',
            "and the token that was replaced? It changes, too",
        ),
    ],
    hints=[
        "Which of the three parts sees more than one token at a time?",
        "The replaced token counts as well.",
    ],
    others=[
        {"norm1": 1.0, "mlp": torch.tensor(1), "attn": 65.0},
        ('"attn": T', '"attn": T * 1.0'),
    ],
)


def attention(q, k, v):
    scores = q @ k.T / q.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ v


def variance(q, k, v):
    return of_variance(q @ k.T, q.shape[1])


def of_variance(scores, d):
    return Said(
        "1/sqrt(d) is missing: the scores' variance is {big}, not {small}",
        big=f"{scores.var():.1f}",
        small=f"{scores.var() / d:.1f}",
    )


EXERCISES["05.b"] = Exercise(
    attention,
    inputs=lambda: [
        tuple(torch.randn(3, 6, 8)),
        tuple(2 * torch.randn(3, 9, 5)),
        tuple(torch.randn(3, 4, 4)),
    ],
    mistakes=[
        (" / q.shape[-1] ** 0.5", "", variance),
        ("** 0.5", "", "the scores are divided by d, not by its root"),
        (
            "q.shape[-1]",
            "q.shape[0]",
            "the root is of d, the width of a query, not of T, how many there are",
        ),
        ("/ q.shape", "* q.shape", "the scores are multiplied by √d; divide"),
        ("dim=-1", "dim=0", "the softmax runs over queries, not keys: dim=-1"),
        (
            "scores.softmax(dim=-1)",
            "scores",
            "the softmax is missing: weights are positive and sum to 1",
        ),
        (
            "scores.softmax(dim=-1)",
            "scores.exp()",
            "the weights are not divided by their sum",
        ),
        (
            "scores.softmax(dim=-1)",
            "scores.flatten().softmax(0).view_as(scores)",
            "the whole table sums to 1; each row should",
        ),
        (
            "scores.softmax(dim=-1)",
            "(scores / scores.sum(-1, keepdim=True))",
            "e to the power of the scores is missing",
        ),
        (
            "q @ k.T",
            "k @ q.T",
            "queries and keys are exchanged: row i belongs to query i",
        ),
        (
            "q @ k.T",
            "q @ q.T",
            "queries are compared with queries; the keys are not used",
        ),
        ("q @ k.T", "q @ v.T", "queries are compared with values, not with keys"),
        ("@ v", "@ k", "the weights take a mean of keys; of values it should be"),
        (
            "scores.softmax(dim=-1)",
            "scores.softmax(dim=-1).T",
            "the weights are transposed: row i belongs to query i",
        ),
        (" @ v", "", "these are the weights; take the mean of the values with them"),
        (
            "scores.softmax(dim=-1) @ v",
            "scores.softmax(dim=-1) @ v * q.shape[-1] ** -0.5",
            "the scores are divided, not the output",
        ),
    ],
    hints=[
        "All dot products of queries with keys are one matrix product.",
        "Divide by √d, then softmax along each row.",
        "The weighted means of the values are another matrix product.",
    ],
    others=[
        lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None])[
            0
        ].tolist(),
        (
            "scores.softmax(dim=-1)",
            "(scores.exp() / scores.exp().sum(1, keepdim=True))",
        ),
    ],
)


def table():
    tokens = torch.tensor([[2, 0, 0, 0], [1, 1, 1, 1], [0, 0, 2, 0.0]])
    scores = tokens @ tokens.T / 2
    return scores.softmax(dim=1)


EXERCISES["05.1"] = Exercise(
    table,
    tol=0.016,
    mistakes=[
        (
            "dim=1",
            "dim=0",
            "columns sum to 1 here; each row is a token that asks, and its weights should",
        ),
        (" / 2", "", "the scores are not divided by 2"),
        (" / 2", " / 4", "the scores are divided by d, not by its root"),
        (
            "scores.softmax(dim=1)",
            "scores",
            "these are the scores; e to their power comes next",
        ),
        (
            "scores.softmax(dim=1)",
            "scores.exp()",
            "each row must still be divided by its sum",
        ),
        (
            "scores.softmax(dim=1)",
            "scores / scores.sum(1, keepdim=True)",
            "the powers of e are missing",
        ),
        (
            "scores.softmax(dim=1)",
            "(scores.softmax(dim=1) * 100)",
            "in percent; weights are shares of 1",
        ),
        (
            "scores.softmax(dim=1)",
            "scores.exp() / scores.exp().sum()",
            "each row has a sum of its own: divide by that",
        ),
    ],
    probes=[
        lambda arguments, got, want: (
            Said("each row should sum to 1")
            if (got.sum(1) - 1).abs().max() > 0.03
            else None
        )
    ],
    hints=[
        "Token a with itself: 2 · 2, halved.",
        "Take e to the power of each score, then divide by the sum of the row.",
    ],
    others=[
        (
            "return scores.softmax(dim=1)",
            "return (scores.softmax(dim=1) * 100).round() / 100",
        ),
        (
            "scores.softmax(dim=1)",
            "[[round(w, 2) for w in row] for row in scores.softmax(dim=1).tolist()]",
        ),
    ],
)


def budget():
    T, D, heads, layers, images = (384 // 16) ** 2 + 1, 768, 12, 12, 64
    one, many = 4 * T**2 / 2**20, 4 * D**2 + 4 * D
    return {
        "a": T,
        "b": heads * one,
        "c": images * layers * heads * one / 2**10,
        "d": [many, many],
        "e": one,
    }


EXERCISES["05.2"] = Exercise(
    budget,
    mistakes=[
        (" + 1", "", "CLS is a token, too"),
        ("(384 // 16) ** 2 + 1", "384 // 16", "this is one side of the grid"),
        (
            "(384 // 16) ** 2 + 1",
            "384**2 + 1",
            "pixels are not tokens: a patch holds 16 × 16 of them",
        ),
        ("384", "224", "this is for 224 pixels"),
        ("(384 // 16) ** 2", "384**2 // 16", "a patch is 16 wide and 16 high"),
        ("images * layers", "images", "for one layer; 12 are asked for"),
        ("heads * one", "one", "each head has a table of its own"),
        ("4 * T**2", "T**2", "float32 takes 4 bytes a number"),
        ("4 * T**2", "2 * T**2", "this is for numbers of 2 bytes; float32 has 4"),
        (
            "T**2 / 2**20",
            "T**2 / 10**6 / 1.0",
            "MB of 10⁶ bytes; MiB of 2²⁰ are asked for",
        ),
        ("T**2", "T", "a table has T rows and T columns"),
        (
            "T**2",
            "T * D",
            "this is the size of the tokens; weights have a row and a column for each token",
        ),
        ("images * layers", "layers", "for one image; 64 are asked for"),
        ("64", "32", "for 32 images; 64 are asked for"),
        ("one / 2**10", "one", "in MiB; GiB are asked for"),
        (
            "one / 2**10",
            "one * 2**20 / 10**9",
            "GB of 10⁹ bytes; GiB of 2³⁰ are asked for",
        ),
        (" + 4 * D", "", "biases count as well: D for each of the four matrices"),
        (" + 4 * D", " + 3 * D", "the output projection has a bias, too"),
        ("4 * D**2 + 4 * D", "3 * D**2 + 3 * D", "the output projection is missing"),
        (
            "4 * D**2 + 4 * D",
            "3 * D**2",
            "the output projection is missing, and biases",
        ),
        (
            "[many, many]",
            "[many, many * 12]",
            "one head of full width has as many columns as 12 of a twelfth",
        ),
        (
            "[many, many]",
            "[many, many // 12]",
            "one head of full width is as wide as the 12 together",
        ),
        (
            "[many, many]",
            "many",
            "one number of two: give a pair, for 12 heads and for one",
        ),
        ('"e": one', '"e": one * heads', "one head has one table"),
    ],
    hints=[
        "(a) Patches along one side: 384 / 16. And one token more.",
        "(b) A table has T × T numbers of 4 bytes, and each head has one.",
        "(d) Queries, keys, values and the output projection: D × D each, however many heads.",
    ],
    others=[
        ("[many, many]", "torch.tensor([many, many])"),
        ("heads * one,", "round(heads * one, 1),"),
    ],
)


def forward(layer, x):
    B, T, D = x.shape
    q, k, v = layer.project(x)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1)
    mixed = (weights @ v).transpose(1, 2)
    return layer.proj(mixed.flatten(2))


def unscaled(layer, x):
    q, k, _ = layer.project(x)
    return of_variance(q @ k.mT, q.shape[-1])


def by_heads(layer, x):
    q, k, v = (rearrange(t, "b h t d -> h b t d") for t in layer.project(x))
    heads = [
        torch.softmax(a @ b.mT * a.shape[-1] ** -0.5, 2) @ c
        for a, b, c in zip(q, k, v, strict=True)
    ]
    return layer.proj(torch.cat(heads, -1)).numpy()


def layers():
    made = [(vl.Attention(24, 3).requires_grad_(False), torch.randn(2, 7, 24))]
    made += [(vl.Attention(16, 4).requires_grad_(False), torch.randn(1, 10, 16))]
    for layer, _ in made:
        layer.qkv.weight *= 3
        layer.proj.weight *= 3
        layer.qkv.bias.normal_()
    return made


def inside(arguments, got, want):
    """What can be said of the means themselves, before the projection."""
    layer, x = arguments
    means = torch.linalg.solve(
        layer.proj.weight.double(), (got - layer.proj.bias).flatten(0, 1).T
    ).T.view(got.shape)
    v = layer.project(x)[2].transpose(1, 2).flatten(2).double()
    if (means - v.mean(1, keepdim=True)).abs().max() < 0.01:
        return Said(
            "every token gets the plain mean of all values: the weights are even"
        )
    if (means - v).abs().max() < 0.01:
        return Said("every token gets its own value: nothing is mixed")
    if (means > v.amax(1, keepdim=True) + 0.01).any() or (
        means < v.amin(1, keepdim=True) - 0.01
    ).any():
        return Said(
            "some outputs lie outside the hull of the values: do rows sum to 1, and is each head joined where it belongs?"
        )


EXERCISES["05.3"] = Exercise(
    forward,
    inputs=layers,
    mistakes=[
        (
            ".transpose(1, 2)\n",
            ".reshape(B, T, D)\n",
            "heads are joined without the transpose: tokens of one head are glued together",
        ),
        ("dim=-1", "dim=-2", "the softmax runs over queries, not keys"),
        ("dim=-1", "dim=1", "the softmax runs over heads, not keys"),
        (" / q.shape[-1] ** 0.5", "", unscaled),
        (
            "q.shape[-1] ** 0.5",
            "q.shape[-1]",
            "the scores are divided by d, not by its root",
        ),
        (
            "q.shape[-1] ** 0.5",
            "D ** 0.5",
            "the root is of a head's width d, not of the whole width D",
        ),
        (
            "/ q.shape[-1] ** 0.5",
            "* q.shape[-1] ** 0.5",
            "the scores are multiplied by √d; divide",
        ),
        (
            "q @ k.tr",
            "k @ q.tr",
            "queries and keys are exchanged: row i belongs to query i",
        ),
        (
            "q @ k.tr",
            "q @ q.tr",
            "queries are compared with queries; the keys are not used",
        ),
        ("weights @ v", "weights @ k", "keys are handed over, not values"),
        (
            "layer.proj(mixed.flatten(2))",
            "mixed.flatten(2)",
            "the output projection is missing",
        ),
        (
            "weights @ v",
            "weights.mT @ v",
            "the weights are transposed: row i belongs to query i",
        ),
        (
            "scores.softmax(dim=-1)",
            "scores",
            "the softmax is missing: weights are positive and sum to 1",
        ),
        (
            "mixed = (weights @ v).transpose(1, 2)",
            "mixed = (weights @ v).permute(0, 2, 3, 1)",
            "heads and numbers of a head are exchanged",
        ),
        (
            "scores.softmax(dim=-1)",
            "scores.sigmoid()",
            "a sigmoid weighs each key by itself; a softmax makes a row sum to 1",
        ),
        (
            "scores.softmax(dim=-1)",
            "scores.flatten(2).softmax(-1).view_as(scores)",
            "the whole table sums to 1; each row should",
        ),
        (
            "scores.softmax(dim=-1)",
            "(scores + torch.ones(T, T).triu(1) * -1e9).softmax(dim=-1)",
            "each token reads only those before it",
        ),
        (
            "return layer",
            "return x + layer",
            "the token is added: that is the block's residual, not attention's",
        ),
    ],
    probes=[inside],
    hints=[
        "Permute the tokens: does the output follow?",
        "Say before each line which axis is heads, tokens, width.",
        "In which order are the axes when heads and their width are joined, and in which should they be?",
    ],
    others=[
        by_heads,
        (
            "weights = scores.softmax(dim=-1)\n    mixed = (weights @ v)",
            "mixed = F.scaled_dot_product_attention(q, k, v)",
        ),
    ],
)


def third():
    def useless(part):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            layer, x = vl.Attention(16, 2).requires_grad_(False), torch.randn(1, 5, 16)
            layer.qkv.bias.normal_()
        before = layer(x)
        layer.qkv.bias.chunk(3)["qkv".index(part)].zero_()
        return torch.allclose(layer(x), before, atol=1e-5)

    (part,) = filter(useless, "qkv")
    return part


EXERCISES["05.4"] = Exercise(
    third,
    spelled={"q": "^quer", "k": "^key", "v": "^value"},
    mistakes=[
        (
            "return part",
            "return 'q'",
            "a bias of the queries adds to each score something that depends on the key",
        ),
        (
            "return part",
            "return 'v'",
            "a bias of the values is added to every mean, and stays there",
        ),
    ],
    hints=[
        "A number added to all scores of a row changes nothing.",
        "Write out (q + β) · k and q · (k + β). Which new term is the same for every key?",
    ],
    others=["K", "key", "the keys'", "Keys."],
)
