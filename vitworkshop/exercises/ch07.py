"""The exercises of chapter 07, on the CLS token and the mean of the patches."""

from __future__ import annotations

import math

import torch

import vitlib as vl
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def entropy(weights):
    terms = torch.special.xlogy(weights, weights)
    return -terms.sum(-1) / math.log(2)


def rows():
    some = torch.randn(4, 5).softmax(-1)
    some[0] = torch.tensor([0, 1, 0, 0, 0.0])
    return [
        ((2 * torch.randn(2, 3, 7)).softmax(-1),),
        (some,),
        (torch.randn(1, 3, 2, 6).softmax(-1),),
    ]


EXERCISES["07.a"] = Exercise(
    entropy,
    inputs=rows,
    mistakes=[
        (
            " / math.log(2)",
            "",
            "these are natural logarithms; bits want the logarithm to base 2",
        ),
        (
            "math.log(2)",
            "math.log(10)",
            "the logarithm is to base 10; bits want base 2",
        ),
        (
            "math.log(2)",
            "math.log(weights.shape[-1])",
            "a share of the largest possible; it is asked for in bits",
        ),
        ("-terms", "terms", "the minus is missing: logarithms of shares are negative"),
        (".sum(-1)", ".mean(-1)", "the mean of the terms; the formula has their sum"),
        (
            ".sum(-1)",
            ".sum()",
            "one number for all rows; each row has an entropy of its own",
        ),
        (".sum(-1)", ".sum(0)", "the first axis is summed; the keys are the last one"),
        ("-terms.sum(-1)", "-terms", "the sum over the keys is missing"),
        (
            "torch.special.xlogy(weights, weights)",
            "weights.clamp(min=1e-9).log()",
            "each logarithm must be weighted with its A",
        ),
        (
            "-terms.sum(-1) / math.log(2)",
            "(-terms.sum(-1)).exp()",
            "this is how many tokens it reads in effect; its logarithm is asked for",
        ),
        (
            "xlogy(weights, weights)",
            "xlogy(weights.log_softmax(-1).exp(), weights.softmax(-1))",
            "the rows are weights already: no further softmax",
        ),
    ],
    hints=[
        "One term for each key: its weight times a logarithm.",
        "Sum over the last axis. Which base has the logarithm?",
        "A weight of exactly 0 should add 0: what does 0 · log 0 give?",
    ],
    others=[
        lambda a: -(a * a.clamp(min=1e-30).log2()).sum(-1),
        lambda a: torch.special.entr(a.double()).sum(-1).numpy() / math.log(2),
    ],
)


def judged():
    N = 64
    return {"cls_out": 0, "cls_in": N, "gap_out": N, "gap_in": N}


EXERCISES["07.b"] = Exercise(
    judged,
    guess=True,
    mistakes=[
        (
            '"cls_out": 0',
            '"cls_out": N',
            "what comes after the last block's output? Only the norm, token by token, and the head",
        ),
        ('"cls_out": 0', '"cls_out": 1', "token 0 gets one, and that is no patch"),
        (
            '"cls_in": N',
            '"cls_in": 0',
            "in the last block CLS still reads keys and values, made of the patches",
        ),
        ('"cls_in": N', '"cls_in": 1', "CLS takes from all tokens, not from one"),
        (
            '"gap_out": N',
            '"gap_out": 0',
            "the head reads the mean of these very tokens",
        ),
        (
            '"gap_out": N',
            '"gap_out": N + 1',
            "this counts token 0 as well; patches are asked for",
        ),
        (
            '"gap_in": N',
            '"gap_in": 0',
            "each patch has a stream of its own through the block",
        ),
    ],
    hints=[
        "What does the head read, and what comes between it and the last block's output?",
        "By which way can a patch at the block's input reach CLS?",
    ],
    others=[
        ("N = 64", "N = 64.0"),
        {"cls_out": torch.tensor(0), "cls_in": 64, "gap_out": 64, "gap_in": 64},
    ],
)


def paper():
    values, weights = (
        torch.tensor([[4, 0], [0, 4], [2, 2.0]]),
        torch.tensor([0.5, 0.25, 0.25]),
    )
    cls, gap = weights @ values, values.mean(0)
    votes = values[:, 0] - values[:, 1]
    scores = [cls[0] - cls[1], gap[0] - gap[1]]
    return {
        "cls": cls,
        "gap": gap,
        "votes": votes,
        "scores": scores,
        "reach": [votes.min(), votes.max()],
    }


EXERCISES["07.1"] = Exercise(
    paper,
    mistakes=[
        (
            "0.5, 0.25, 0.25",
            "0.25, 0.25, 0.5",
            "the weights are for patches 1, 2 and 3, in this order",
        ),
        ("0.5, 0.25, 0.25", "1, 1, 1.0", "the weights are left out: this is a sum"),
        (
            "weights @ values,",
            "values.mean(0),",
            "this is the plain mean; CLS's weights are not all alike",
        ),
        (
            "weights @ values,",
            "(weights[:, None] * values).sum(1),",
            "summed within each patch; sum over the patches",
        ),
        (
            "values.mean(0)\n",
            "values.sum(0)\n",
            "this is the sum; divide it by the number of patches",
        ),
        (
            "values.mean(0)\n",
            "values.mean(1)\n",
            "the mean of each patch's two numbers; take the mean of the patches",
        ),
        (
            "values[:, 0] - values[:, 1]",
            "values[:, 1] - values[:, 0]",
            "the other way round: cat is the first number minus the second",
        ),
        (
            "values[:, 0] - values[:, 1]",
            "values[:, 0] + values[:, 1]",
            "the second number is subtracted, not added",
        ),
        (
            "values[:, 0] - values[:, 1]",
            "weights * (values[:, 0] - values[:, 1])",
            "a vote is the patch's own score, before any weights",
        ),
        (
            "[cls[0] - cls[1], gap[0] - gap[1]]",
            "[gap[0] - gap[1], cls[0] - cls[1]]",
            "CLS's score first, then GAP's",
        ),
        (
            "[cls[0] - cls[1],",
            "[votes[0],",
            "the patch that CLS reads most is not all that it reads",
        ),
        (
            "gap[0] - gap[1]]",
            "gap[0] + gap[1]]",
            "the second number of the mean is subtracted",
        ),
        (
            "[votes.min()",
            "[0 * votes.min()",
            "all weight on the patch that votes for dog: what is the score?",
        ),
        (
            "[votes.min(), votes.max()]",
            "[votes.max(), votes.min()]",
            "the smallest first, then the largest",
        ),
        (
            "[votes.min(), votes.max()]",
            "[-math.inf, math.inf]",
            "weights are not negative and sum to 1: how far can their mean go?",
        ),
    ],
    hints=[
        "Half of the first patch, a quarter of the second, a quarter of the third.",
        "A vote is the head's score of one patch alone.",
        "(d) Put all the weight on one patch. Can a mean of votes lie beyond all of them?",
    ],
    others=[
        ("values.mean(0)\n", "values.sum(0) / 3\n"),
        ("[votes.min(), votes.max()]", "torch.stack([votes.min(), votes.max()])"),
    ],
)


def pooled():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        tokens, query = torch.randn(2, 5, 8), torch.randn(8)
    scores = tokens @ query / len(query) ** 0.5
    weights = scores.softmax(dim=1)
    return {"pooled": (weights[..., None] * tokens).sum(1), "query": 0 * query}


EXERCISES["07.2"] = Exercise(
    pooled,
    mistakes=[
        (" / len(query) ** 0.5", "", "the scores are not divided by √D"),
        (
            "len(query) ** 0.5",
            "len(query)",
            "the scores are divided by D, not by its root",
        ),
        (
            "/ len(query)",
            "/ tokens.shape[1]",
            "the root is of D, a token's width, not of N, how many there are",
        ),
        ("dim=1", "dim=0", "the softmax runs over the images; the tokens are axis 1"),
        (
            "scores.softmax(dim=1)",
            "scores",
            "the softmax is missing: weights are positive and sum to 1",
        ),
        (
            "scores.softmax(dim=1)",
            "scores.flatten().softmax(0).view_as(scores)",
            "the weights of all images together sum to 1; each image's should",
        ),
        (
            "scores.softmax(dim=1)",
            "scores.exp()",
            "the weights are not divided by their sum",
        ),
        (
            "scores.softmax(dim=1)",
            "scores.sigmoid()",
            "a sigmoid weighs each token by itself; a softmax makes weights sum to 1",
        ),
        (".sum(1)", ".mean(1)", "weights that sum to 1 need no further division by N"),
        (
            "(weights[..., None] * tokens).sum(1)",
            "tokens.mean(1)",
            "this is the plain mean, whatever the query",
        ),
        (
            "(weights[..., None] * tokens).sum(1)",
            "tokens[torch.arange(2), weights.argmax(1)]",
            "the token with the largest weight alone; a mean of all is asked for",
        ),
        (
            "(weights[..., None] * tokens).sum(1)",
            "weights",
            "these are the weights; take the mean of the tokens with them",
        ),
        (
            "0 * query",
            "0 * query + 1",
            "with ones each score is a sum of a token's numbers: these differ from token to token",
        ),
        (
            "0 * query",
            "0 * query + 1 / 8",
            "each score is the mean of a token's numbers: these differ from token to token",
        ),
        (
            "0 * query",
            "tokens.mean((0, 1))",
            "it must give the mean whatever the tokens, so it cannot be made of them",
        ),
    ],
    hints=[
        "`tokens @ query` gives a score for each token of each image, (B, N).",
        "Over which axis do the weights of one image sum to 1?",
        "For which scores is the softmax 1/N everywhere? Which query gives them for all tokens?",
    ],
    others=[
        ("scores.softmax(dim=1)", "(scores.exp() / scores.exp().sum(1, keepdim=True))"),
        ('"query": 0 * query', '"query": [0] * 8'),
    ],
)


def without_cls(model, images):
    z = model.embed(images)[:, 1:]
    for block in model.blocks:
        z = block(z)
    return model.head(model.norm(z).mean(dim=1))


def models():
    made = []
    for img_size, D, depth, ratio, B in (
        (12, 24, 1, 1.5, 2),
        (16, 32, 3, 3, 3),
    ):  # the small one first: every mistake is tried on it
        cfg = vl.ViTConfig(
            img_size=img_size,
            patch_size=4,
            embed_dim=D,
            depth=depth,
            num_heads=4,
            mlp_ratio=ratio,
            num_classes=5,
            global_pool="avg",
        )
        model = vl.VisionTransformer(cfg).eval().requires_grad_(False)
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape))
        made.append((model, 2 * torch.rand(B, 3, img_size, img_size) - 1))
    return made


LOOP = "[:, 1:]\n    for block in model.blocks:\n        z = block(z)"
EXERCISES["07.3"] = Exercise(
    without_cls,
    inputs=models,
    mistakes=[
        (
            LOOP,
            LOOP.replace("[:, 1:]", "") + "[:, 1:]",
            "as the colleague has it, a token goes after each block: which is it after the second?",
        ),
        (
            LOOP,
            LOOP + "[:, 1:]",
            "CLS is gone before the first block; from then on token 0 is a patch",
        ),
        (
            LOOP,
            LOOP.replace("[:, 1:]", "").replace(
                "block(z)", "block(z)[:, block is model.blocks[0]:]"
            ),
            "CLS goes after the first block: what have the others taken from it there?",
        ),
        (
            "(images)[:, 1:]",
            "(images)",
            "CLS takes part in all blocks, and is averaged in",
        ),
        (
            LOOP + "\n    return model.head(model.norm(z)",
            LOOP.replace("[:, 1:]", "")
            + "\n    return model.head(model.norm(z)[:, 1:]",
            "these are the usual logits: CLS is not read, but the other tokens read it in every block",
        ),
        ("[:, 1:]", "[:, :-1]", "the last patch is gone, and CLS is still there"),
        ("model.norm(z)", "z", "the last norm is missing"),
        (
            "model.norm(z).mean(dim=1)",
            "model.norm(z.mean(dim=1))",
            "averaged first, then normalised; the model normalises each token",
        ),
        (
            ".mean(dim=1)",
            "[:, 0]",
            "this reads the first patch alone; GAP reads the mean",
        ),
        (
            ".mean(dim=1)",
            "[:, 1:].mean(dim=1)",
            "without CLS all tokens are patches: the mean is of all of them",
        ),
        (".mean(dim=1)", ".sum(dim=1)", "the sum of the tokens; GAP is their mean"),
        (
            "model.embed(images)[:, 1:]",
            "model.embed_patches(images)",
            "the patches have no positions: remove CLS after `embed`",
        ),
        (
            "model.embed(images)[:, 1:]",
            "model.embed_patches(images) + model.pos_embed.table()[:, :-1]",
            "each patch has its neighbour's position: row 0 of the table is CLS's",
        ),
        ("z = block(z)", "z = z + block(z)", "the residual is in the block already"),
        ("model.head(", "(", "this is the pooled vector; the head is missing"),
    ],
    hints=[
        "Print `z.shape` before and after each block.",
        "How often is a token removed, and which one is token 0 the second time?",
        "When is CLS to go: before the first block, or after it?",
    ],
    others=[
        lambda model, images: model.head(
            model.encode(model.embed(images)[:, 1:]).mean(1)
        ).numpy(),
        (
            "model.norm(z).mean(dim=1)",
            "torch.einsum('bnd->bd', model.norm(z)) / z.shape[1]",
        ),
    ],
)


def warm():
    return {"end": "patch", "cls_top": "middle"}


EXERCISES["07.4"] = Exercise(
    warm,
    spelled={word: word for word in ("patch", "cls", "start", "middle", "end")},
    mistakes=[
        (
            '"patch"',
            '"cls"',
            "compare the ends of the two curves: what was CLS trained to keep?",
        ),
        (
            '"middle"',
            '"start"',
            "before the first block CLS is the same for every picture: chance",
        ),
        (
            '"middle"',
            '"end"',
            "look at its last blocks again: does the curve still rise?",
        ),
    ],
    hints=[
        "`states` and `readout` are all you need, with `warm` in place of the class labels.",
        "Leave out the row of the last norm: one number for 0 to L blocks passed.",
        "Where is CLS's curve highest? And whose is higher at its end?",
    ],
    others=[
        {"end": "patches' mean", "cls_top": "Middle"},
        {"end": ["PATCHES"], "cls_top": "middle"},
    ],
)
