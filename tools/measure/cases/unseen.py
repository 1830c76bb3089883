"""Sixty cases that nobody tuned a check on: thirty bugs that people write, thirty unusual ways that are right.

`BUGS` and `HEALTHY` hold them. A case's `build(seed)` is a dict of what one trains with:

    model                         float images (B, 3, 32, 32) -> logits (B, 10)
    images, labels                uint8 (n, 3, 32, 32) and int64 (n,)
    recipe                        a `vl.Recipe`; only its optimiser, learning rate and their like count
    augment                       uint8 images, labels -> images (uint8, or float in [0, 1]), labels or targets (B, 10)
    preprocess, test_preprocess   images, augmented or not -> the model's input; `vl.normalize` where they are missing

Bugs also have `build(seed, wrong=False)`, the same without the bug and, where it has the same parameters, with the same
weights.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn import functional as F

import vitlib as vl

D, HEADS, DEPTH, P, N = 64, 4, 3, 8, 16  # width, heads, layers, patch side, patches
CONFIG = vl.ViTConfig(
    patch_size=P, embed_dim=D, depth=DEPTH, num_heads=HEADS, mlp_ratio=2.0, init_std=0.1
)
RECIPE = vl.recipe("drawn10", lr=2e-3, model=CONFIG)


@dataclass(frozen=True)
class Case:
    name: str
    build: Callable[..., dict[str, Any]]


BUGS: list[Case] = []
HEALTHY: list[Case] = []


def enter(cases: list[Case], name: str) -> Callable:
    """Enters a function, which gives what a case has besides the usual."""

    def decorate(make: Callable[..., dict[str, Any]]) -> Callable:
        cases.append(Case(name, partial(usual, make)))
        return make

    return decorate


def usual(
    make: Callable[..., dict[str, Any]], seed: int, **wrong: bool
) -> dict[str, Any]:
    """What `make` gives, its weights drawn from `seed`, and pictures, labels and a model where it gives none."""
    images, labels = pictures()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        case = {"images": images, "labels": labels, **make(**wrong)}
        return (
            case if "model" in case else {"model": vl.VisionTransformer(CONFIG), **case}
        )


bug, healthy = partial(enter, BUGS), partial(enter, HEALTHY)


@cache
def pictures() -> tuple[Tensor, Tensor]:
    return vl.load_drawn10("train", 1000)


# ------------------------------------------------------------------------------------- a ViT as tutorials write it


class Heads(nn.Module):
    """Multi-head attention."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = (D // HEADS) ** -0.5
        self.qkv = nn.Linear(D, 3 * D)
        self.out = nn.Linear(D, D)

    def split(self, x: Tensor) -> Tensor:
        B, T, _ = x.shape
        return x.reshape(B, T, HEADS, D // HEADS).transpose(1, 2)  # (B, h, T, d)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.mT * self.scale  # (B, h, T, T)

    def weights(self, q: Tensor, k: Tensor) -> Tensor:
        return self.scores(q, k).softmax(dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = self.weights(q, k) @ v
        return self.out(mixed.transpose(1, 2).flatten(2))


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))


class Layer(nn.Module):
    """Pre-norm block."""

    def __init__(self, attention=Heads, norm=nn.LayerNorm, mlp=mlp) -> None:
        super().__init__()
        self.norm1, self.attn = norm(D), attention()
        self.norm2, self.mlp = norm(D), mlp()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Plain(nn.Module):
    """Patches, CLS, learned positions, layers, a head."""

    def __init__(self, layer=Layer, keep=nn.ModuleList, depth=DEPTH) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, D, P, stride=P)
        self.cls = nn.Parameter(torch.zeros(1, 1, D))
        self.pos = small(1, 1 + N, D)
        self.layers = keep(layer() for _ in range(depth))
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, 10)

    def tokens(self, images: Tensor) -> Tensor:
        # (B, D, 4, 4) -> (B, N, D)
        return self.patch(images).flatten(2).transpose(1, 2)

    def embed(self, images: Tensor) -> Tensor:
        x = self.tokens(images)
        return torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos

    def encode(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)

    def read(self, x: Tensor) -> Tensor:
        return self.head(x[:, 0])

    def forward(self, images: Tensor) -> Tensor:
        return self.read(self.encode(self.embed(images)))


def changed(base: type, **methods) -> type:
    """The class `base` with these methods in place of its own."""
    return type(base.__name__, (base,), methods)


def attending(**methods) -> dict[str, Any]:
    """A model whose attention has these methods."""
    return {"model": Plain(lambda: Layer(changed(Heads, **methods)))}


def plain(**methods) -> dict[str, Any]:
    """A `Plain` model with these methods."""
    return {"model": changed(Plain, **methods)()}


def spread(token: Tensor, x: Tensor) -> Tensor:
    """A token (1, n, D) for every picture of `x`."""
    return token.expand(len(x), -1, -1)


def small(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(shape) * 0.02)


def rope(x: Tensor) -> Tensor:
    """Turns queries or keys (B, h, 1+N, d) by the row (first half) and the column (second half); CLS stays."""
    rows, cols = (
        torch.arange(N, device=x.device) // 4,
        torch.arange(N, device=x.device) % 4,
    )
    speed = 10.0 ** -torch.linspace(0, 1, D // HEADS // 4, device=x.device)
    angle = torch.cat([rows[:, None] * speed, cols[:, None] * speed], dim=1)  # (N, d/2)
    angle = F.pad(angle, (0, 0, 1, 0))
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    turned = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return torch.stack(turned, dim=-1).flatten(-2)


# ------------------------------------------------------------------------------------------------- bugs in the model


@bug("softmax over queries")
def softmax_over_queries(wrong=True):
    """The softmax runs along the queries, so no token's weights sum to one."""
    return attending(
        weights=lambda self, q, k: self.scores(q, k).softmax(dim=-2 if wrong else -1)
    )


@bug("heads split by reshape")
def heads_split_by_reshape(wrong=True):
    """(B, T, D) is reshaped to (B, h, T, d) without a transpose: heads mix tokens."""

    def split(self, x):
        return (
            x.reshape(len(x), HEADS, -1, D // HEADS) if wrong else Heads.split(self, x)
        )

    return attending(split=split)


@bug("feature map reshaped to tokens")
def feature_map_reshaped(wrong=True):
    """(B, D, 4, 4) is reshaped to (B, N, D): a token is four whole channels."""
    return plain(
        tokens=lambda self, x: (
            self.patch(x).reshape(-1, N, D) if wrong else Plain.tokens(self, x)
        )
    )


@bug("einops (p1 h) for (h p1)")
def einops_axes_swapped(wrong=True):
    """A patch holds every fourth pixel of the picture in place of neighbours."""
    pattern = "b c (p1 h) (p2 w)" if wrong else "b c (h p1) (w p2)"

    def forward(self, images):
        return self.proj(
            rearrange(images, f"{pattern} -> b (h w) (p1 p2 c)", p1=P, p2=P)
        )

    model = vl.VisionTransformer(CONFIG)
    model.patch_embed = changed(vl.LinearPatchEmbed, forward=forward)(P, 3, D)
    return {"model": model}


@bug("TransformerEncoder without batch_first")
def without_batch_first(wrong=True):
    """PyTorch's layer takes (T, B, D): pictures attend to one another."""
    layer = nn.TransformerEncoderLayer(
        D, HEADS, 2 * D, 0.0, "gelu", batch_first=not wrong
    )
    case = plain(
        encode=lambda self, x: self.norm(self.layers(x)),
        read=lambda self, x: self.head(x.mean(1)),
    )
    case["model"].layers = nn.TransformerEncoder(
        layer, DEPTH, enable_nested_tensor=False
    )
    return case


@bug("CLS appended, first token read")
def cls_appended(wrong=True):
    """CLS is put behind the patches and the head reads token 0, a corner's patch."""

    def add_positions(self, patches):
        return self.pos_embed(
            torch.cat([patches, spread(self.cls_token, patches)], dim=1)
        )

    def pool(self, tokens):
        return tokens[:, 0 if wrong else -1]

    return {
        "model": changed(vl.VisionTransformer, add_positions=add_positions, pool=pool)(
            CONFIG
        )
    }


@bug("2-D sines of the column twice")
def column_twice(wrong=True):
    """Both halves of the fixed positions tell the column: rows look alike."""
    rows, cols = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
    speed = 100.0 ** -torch.linspace(0, 1, D // 4)
    angles = [place.reshape(-1, 1) * speed for place in (cols if wrong else rows, cols)]
    table = torch.cat(
        [wave for angle in angles for wave in (angle.sin(), angle.cos())], dim=1
    )
    model = Plain()
    del model.pos
    model.register_buffer("pos", F.pad(table, (0, 0, 1, 0))[None])  # nothing at CLS
    return {"model": model}


@bug("residual added twice")
def residual_twice(wrong=True):
    """The attention adds its input itself, and the block adds it again."""

    def forward(self, x, bias=None):
        mixed = vl.Attention.forward(self, x, bias)
        return x + mixed if wrong else mixed

    attention = changed(vl.Attention, forward=forward)
    model = vl.VisionTransformer(CONFIG)
    model.blocks = nn.ModuleList(
        vl.Block(D, HEADS, 2 * D, attention=attention) for _ in range(DEPTH)
    )
    return {"model": model}


@bug("every block reads the embeddings")
def every_block_reads_embeddings(wrong=True):
    """The loop writes to `out` and reads `x`: only the last block has an effect."""

    def encode(self, x):
        for block in self.blocks:
            out = block(x)
            x = x if wrong else out
        return self.norm(out)

    return {"model": changed(vl.VisionTransformer, encode=encode)(CONFIG)}


@bug("F.dropout in evaluation")
def dropout_in_evaluation(wrong=True):
    """F.dropout without `training=self.training` drops units in evaluation, too."""

    def forward(self, x):
        x = x + F.dropout(
            self.attn(self.norm1(x)), 0.1, training=wrong or self.training
        )
        return x + self.mlp(self.norm2(x))

    return {"model": Plain(changed(Layer, forward=forward))}


@bug("softmax before cross-entropy")
def softmax_before_cross_entropy(wrong=True):
    """The model returns probabilities; the loss takes the softmax of them again."""
    return plain(
        read=lambda self, x: (
            Plain.read(self, x).softmax(dim=1) if wrong else Plain.read(self, x)
        )
    )


@bug("no_grad left around the backbone")
def no_grad_left(wrong=True):
    """Features are computed under no_grad, so only the head ever learns."""

    def forward(self, images):
        with torch.no_grad() if wrong else nullcontext():
            features = self.forward_features(images)
        return self.head(self.pool(features))

    return {"model": changed(vl.VisionTransformer, forward=forward)(CONFIG)}


@bug("layers in a Python list")
def layers_in_a_list(wrong=True):
    """They are in no ModuleList, so no optimiser trains them and no file keeps them."""
    return {"model": Plain(keep=list if wrong else nn.ModuleList)}


@bug("ModuleList([layer] * depth)")
def layer_times_depth(wrong=True):
    """The list holds one layer three times: a third of the intended parameters."""
    return {
        "model": Plain(
            keep=lambda made: nn.ModuleList([next(made)] * DEPTH if wrong else made)
        )
    }


@bug("two zeros in a row")
def two_zeros(wrong=True):
    """LayerScale and each branch's last matrix start at 0: neither ever gets a gradient."""
    model = vl.VisionTransformer(replace(CONFIG, layer_scale=0.0 if wrong else 1.0))
    for block in model.blocks:
        nn.init.zeros_(block.attn.proj.weight)
        nn.init.zeros_(block.mlp.fc2.weight)
    return {"model": model}


@bug("causal mask left over")
def causal_mask(wrong=True):
    """A GPT's is_causal=True is still there: CLS, the first token, sees itself alone."""

    def forward(self, x):
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=wrong)
        return self.out(mixed.transpose(1, 2).flatten(2))

    return attending(forward=forward)


@bug("scale d ** 0.5")
def scale_without_minus(wrong=True):
    """The minus of d ** -0.5 is lost: scores are multiplied by sqrt(d), not divided."""
    scale = (D // HEADS) ** (0.5 if wrong else -0.5)
    return attending(scores=lambda self, q, k: q @ k.mT * scale)


@bug("padding mask inverted")
def padding_mask_inverted(wrong=True):
    """True means 'ignore' to nn.MultiheadAttention and was given for the real tokens."""

    def forward(self, x):
        # as many tokens as the kernel likes
        padded = F.pad(x, (0, 0, 0, -x.shape[1] % 8))
        real = torch.arange(padded.shape[1], device=x.device) < x.shape[1]
        ignored = (real if wrong else ~real).expand(len(x), -1)
        mixed, _ = nn.MultiheadAttention.forward(
            self, padded, padded, padded, ignored, need_weights=False
        )
        return mixed[:, : x.shape[1]]

    attention = changed(nn.MultiheadAttention, forward=forward)
    return {
        "model": Plain(lambda: Layer(lambda: attention(D, HEADS, batch_first=True)))
    }


@bug("RoPE on queries only")
def rope_on_queries(wrong=True):
    """The keys are not turned: scores depend on the query's place, not on the offset."""
    return attending(
        scores=lambda self, q, k: Heads.scores(self, rope(q), k if wrong else rope(k))
    )


@bug("home-made LayerNorm over everything")
def norm_over_everything(wrong=True):
    """Mean and deviation are the whole batch's, not a token's."""

    def forward(self, x):
        mean, std = (
            (x.mean(), x.std())
            if wrong
            else (x.mean(-1, keepdim=True), x.std(-1, keepdim=True))
        )
        return (x - mean) / (std + 1e-6) * self.weight + self.bias

    norm = changed(nn.LayerNorm, forward=forward)
    return {"model": Plain(lambda: Layer(norm=norm))}


# ------------------------------------------------------------------------- bugs in labels, pictures and recipes


@bug("Mixup with two permutations")
def mixup_two_permutations(wrong=True):
    """Pictures and targets are mixed with partners that were drawn apart."""

    def augment(images, labels):
        images, targets = images.float() / 255, F.one_hot(labels, 10).float()
        lam = torch.distributions.Beta(0.8, 0.8).sample()
        order = torch.randperm(len(images))
        other = torch.randperm(len(images)) if wrong else order
        return torch.lerp(images[order], images, lam), torch.lerp(
            targets[other], targets, lam
        )

    return {"augment": augment}


@bug("CutMix with the share inverted")
def cutmix_share_inverted(wrong=True):
    """The pasted box's label gets the share of what was kept."""

    def augment(images, labels):
        images, targets, order = (
            images.clone(),
            F.one_hot(labels, 10).float(),
            torch.randperm(len(images)),
        )
        side = int(torch.randint(4, 20, ()))
        top, left = torch.randint(0, 33 - side, (2,)).tolist()
        box = slice(top, top + side), slice(left, left + side)
        images[:, :, *box] = images[order][:, :, *box]
        kept = side**2 / 32**2 if wrong else 1 - side**2 / 32**2
        return images, kept * targets + (1 - kept) * targets[order]

    return {"augment": augment}


@bug("(H, W, C) reshaped to (C, H, W)")
def channels_reshaped(wrong=True):
    """Arrays from disk are reshaped, not permuted: rows and colours scrambled."""
    # as PIL, OpenCV and NumPy files have them
    array = pictures()[0].permute(0, 2, 3, 1).contiguous()
    return {
        "images": array.reshape(-1, 3, 32, 32)
        if wrong
        else array.permute(0, 3, 1, 2).contiguous()
    }


@bug("BGR at test only")
def bgr_at_test(wrong=True):
    """The test pictures were read with OpenCV and have their channels in reverse."""

    def test_preprocess(images):
        return vl.normalize(images.flip(1) if wrong else images)

    return {"preprocess": vl.normalize, "test_preprocess": test_preprocess}


@bug("divided by 255 twice")
def divided_twice(wrong=True):
    """ToTensor has divided already: every picture is almost evenly black."""

    def preprocess(images):
        images = images / 255 if images.dtype == torch.uint8 else images
        return vl.normalize(images / 255 if wrong else images)

    return {"preprocess": preprocess, "test_preprocess": preprocess}


@bug("brightness wraps around")
def brightness_wraps(wrong=True):
    """An amount is added to uint8 pixels, and bright ones start again from black."""

    def augment(images, labels):
        more = torch.randint(20, 120, (len(images), 1, 1, 1), dtype=torch.uint8)
        return images + more if wrong else (images.int() + more).clamp(max=255).to(
            torch.uint8
        ), labels

    return {"augment": augment}


@bug("labels off by one row")
def labels_off_by_one(wrong=True):
    """The label file's first line was taken for a header: each picture has the next one's."""
    _, labels = pictures()
    return {"labels": labels.roll(-1) if wrong else labels}


@bug("labels 1 to 10, clamped")
def labels_clamped(wrong=True):
    """The file counts from 1; clamping to 9 hushed the error and merged two classes."""
    _, labels = pictures()
    from_one = labels + 1
    return {"labels": from_one.clamp(max=9) if wrong else from_one - 1}


@bug("AdamW's weight decay given to Adam")
def decay_in_adam(wrong=True):
    """Adam adds 0.1 w to the gradient and rescales it: decay drowns the loss."""
    return {
        "recipe": replace(
            RECIPE, optimizer="adam" if wrong else "adamw", weight_decay=0.1
        )
    }


@bug("SGD's learning rate given to AdamW")
def sgd_rate_in_adamw(wrong=True):
    """0.1 suits SGD; AdamW's steps then change every weight by 0.1."""
    return {"recipe": replace(RECIPE, optimizer="adamw" if wrong else "sgd", lr=0.1)}


# --------------------------------------------------------------------------------------- unusual ways that are right


@healthy("cosine head")
def cosine_head():
    """Logits are cosines times a learned temperature, so weights and features need no size."""

    def read(self, x):
        cosines = F.linear(
            F.normalize(x[:, 0], dim=-1), F.normalize(self.head.weight, dim=-1)
        )
        return self.temperature * cosines

    case = plain(read=read)
    case["model"].temperature = nn.Parameter(torch.tensor(10.0))
    case["model"].head = nn.Linear(D, 10, bias=False)
    return case


@healthy("patches in another order")
def permuted_patches():
    """A fixed order of the patches is as good as any: positions are learned with it."""
    case = plain(tokens=lambda self, images: Plain.tokens(self, images)[:, self.order])
    case["model"].register_buffer("order", torch.randperm(N))
    return case


@healthy("registers")
def registers():
    """Four learned tokens stand behind the patches and are not read (arXiv 2309.16588)."""
    case = plain(
        embed=lambda self, x: torch.cat(
            [Plain.embed(self, x), spread(self.registers, x)], dim=1
        )
    )
    case["model"].registers = small(1, 4, D)
    return case


@healthy("ReZero")
def rezero():
    """No norms in the layers; a number that starts at 0 stands before each branch (arXiv 2003.04887)."""

    def forward(self, x):
        x = x + self.alpha * self.attn(x)
        return x + self.alpha * self.mlp(x)

    model = Plain(
        lambda: changed(Layer, forward=forward)(norm=lambda dim: nn.Identity())
    )
    for layer in model.layers:
        layer.alpha = nn.Parameter(torch.zeros(()))
    return {"model": model}


@healthy("parallel branches")
def parallel_branches():
    """Attention and MLP read norms of the same tokens and are added at once (arXiv 2203.09795)."""

    def forward(self, x):
        return x + self.attn(self.norm1(x)) + self.mlp(self.norm2(x))

    return {"model": Plain(changed(Layer, forward=forward))}


@healthy("RMSNorm and SwiGLU")
def rmsnorm_swiglu():
    """LLaMA's layer: no mean is subtracted, and one half of the MLP gates the other."""

    class SwiGLU(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = (
                nn.Linear(D, 4 * D, bias=False),
                nn.Linear(2 * D, D, bias=False),
            )

        def forward(self, x):
            gate, value = self.up(x).chunk(2, dim=-1)
            return self.down(F.silu(gate) * value)

    return {"model": Plain(lambda: Layer(norm=nn.RMSNorm, mlp=SwiGLU))}


@healthy("2-D RoPE")
def rope_2d():
    """Queries and keys are turned by row and column, CLS is not, and nothing is added to tokens."""
    case = attending(scores=lambda self, q, k: Heads.scores(self, rope(q), rope(k)))
    del case["model"].pos
    case["model"].pos = 0.0
    return case


@healthy("sigmoid attention")
def sigmoid_attention():
    """Weights are sigmoids with a bias of -log T and need not sum to one (arXiv 2409.04431)."""
    return attending(
        weights=lambda self, q, k: (self.scores(q, k) - math.log(1 + N)).sigmoid()
    )


@healthy("QK-norm")
def qk_norm():
    """Queries and keys are normalised; a learned factor, 10 at first, takes the place of 1/sqrt(d)."""

    def scores(self, q, k):
        return Heads.scores(self, F.normalize(q, dim=-1), F.normalize(k, dim=-1))

    case = attending(scores=scores)
    for layer in case["model"].layers:
        del layer.attn.scale
        layer.attn.scale = nn.Parameter(torch.full((HEADS, 1, 1), 10.0))
    return case


@healthy("convolutional stem with BatchNorm")
def conv_stem():
    """In training a picture's tokens depend on its batch; in evaluation not."""
    stem = nn.Sequential()
    for before, after in ((3, 16), (16, 32), (32, D)):
        stem.extend(
            [
                nn.Conv2d(before, after, 3, 2, 1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(),
            ]
        )
    model = Plain()
    model.patch = stem.append(nn.Conv2d(D, D, 1))
    return {"model": model}


@healthy("talking heads")
def talking_heads():
    """A learned matrix mixes the heads' scores, another their weights (arXiv 2003.02436)."""
    case = attending(
        weights=lambda self, q, k: self.after(
            self.before(self.scores(q, k)).softmax(dim=-1)
        )
    )
    for layer in case["model"].layers:
        layer.attn.before, layer.attn.after = (
            nn.Conv2d(HEADS, HEADS, 1, bias=False) for _ in range(2)
        )
        nn.init.dirac_(layer.attn.before.weight)
        nn.init.dirac_(layer.attn.after.weight)
    return case


@healthy("ALBERT")
def albert():
    """One layer is applied three times, on purpose and in the open (arXiv 1909.11942)."""

    def encode(self, x):
        for _ in range(DEPTH):
            x = self.layers[0](x)
        return self.norm(x)

    return {"model": changed(Plain, encode=encode)(depth=1)}


@healthy("bfloat16 inside")
def bfloat16():
    """The forward pass runs under autocast in bfloat16; logits come back as float32."""

    def forward(self, images):
        with torch.autocast(images.device.type, torch.bfloat16):
            return vl.VisionTransformer.forward(self, images).float()

    return {"model": changed(vl.VisionTransformer, forward=forward)(CONFIG)}


@healthy("zero head")
def zero_head():
    """The head starts at 0, as in the paper's code: the first gradient reaches it alone."""
    model = vl.VisionTransformer(CONFIG)
    nn.init.zeros_(model.head.weight)
    return {"model": model}


@healthy("max-pooling without CLS")
def max_pooling():
    """The head reads each channel's largest value among the patches."""
    case = plain(
        embed=lambda self, x: self.tokens(x) + self.pos,
        read=lambda self, x: self.head(x.amax(1)),
    )
    del case["model"].cls
    case["model"].pos = small(1, N, D)
    return case


@healthy("windows and grids")
def windows_and_grids():
    """Tokens attend within 2 x 2 windows, then to every second row and column (MaxViT)."""

    def windows(pattern):
        there, back = (
            f"{pattern} d -> (b h w) (i j) d",
            f"(b h w) (i j) d -> {pattern} d",
        )
        sizes = {"h": 2, "w": 2, "i": 2, "j": 2}

        def forward(self, x):
            return rearrange(
                Heads.forward(self, rearrange(x, there, **sizes)), back, **sizes
            )

        return Layer(changed(Heads, forward=forward))

    case = max_pooling()
    case["model"].layers = nn.ModuleList(
        map(windows, ["b (h i w j)", "b (i h j w)"] * 2)
    )
    return case


@healthy("distillation token")
def distillation_token():
    """A second token has its own head; both heads' logits are averaged (DeiT)."""
    case = plain(
        embed=lambda self, x: torch.cat(
            [Plain.embed(self, x), spread(self.dist, x)], dim=1
        ),
        read=lambda self, x: (self.head(x[:, 0]) + self.head_dist(x[:, -1])) / 2,
    )
    case["model"].dist, case["model"].head_dist = small(1, 1, D), nn.Linear(D, 10)
    return case


@healthy("log-probabilities as logits")
def log_probabilities():
    """log_softmax changes nothing for cross-entropy, which takes it again."""
    return plain(read=lambda self, x: Plain.read(self, x).log_softmax(dim=-1))


@healthy("linear probe")
def linear_probe():
    """All but the head is frozen, and requires_grad says so; the head alone takes ten times the rate."""
    model = vl.VisionTransformer(CONFIG).requires_grad_(False)
    model.head.requires_grad_(True)
    return {"model": model, "recipe": replace(RECIPE, lr=2e-2)}


@healthy("relative positions alone")
def relative_positions():
    """No position is added to tokens; a learned bias of each offset is, to scores."""
    return {"model": vl.VisionTransformer(replace(CONFIG, pos_embed="relative"))}


@healthy("CLS and mean together")
def cls_and_mean():
    """The head reads CLS and the patches' mean side by side, as in DINOv2's probes."""
    case = plain(
        read=lambda self, x: self.head(
            torch.cat([x[:, 0], x[:, 1:].mean(dim=1)], dim=-1)
        )
    )
    case["model"].head = nn.Linear(2 * D, 10)
    return case


@healthy("multi-crop")
def multi_crop():
    """Logits are the mean over the picture and four enlarged corners."""

    def forward(self, images):
        corners = [images[..., y : y + 24, x : x + 24] for y in (0, 8) for x in (0, 8)]
        views = [F.interpolate(corner, size=32, mode="bilinear") for corner in corners]
        return torch.stack(
            [Plain.forward(self, view) for view in (images, *views)]
        ).mean(dim=0)

    return plain(forward=forward)


@healthy("class attention")
def class_attention():
    """CLS joins for the last layer, where the patches only serve as keys and values (CaiT)."""

    def encode(self, x):
        cls, x = x[:, :1], x[:, 1:]
        for layer in self.layers[:-1]:
            x = layer(x)
        return self.norm(self.layers[-1](torch.cat([cls, x], dim=1))[:, :1])

    return plain(encode=encode)


@healthy("causal, with CLS last")
def causal_cls_last():
    """Each token sees those before it; CLS stands at the end, sees all and is read."""

    def scores(self, q, k):
        later = torch.ones(1 + N, 1 + N, dtype=torch.bool, device=q.device).triu(1)
        return Heads.scores(self, q, k).masked_fill(later, -torch.inf)

    def embed(self, images):
        return (
            torch.cat([self.tokens(images), spread(self.cls, images)], dim=1) + self.pos
        )

    model = changed(Plain, embed=embed, read=lambda self, x: self.head(x[:, -1]))
    return {"model": model(lambda: Layer(changed(Heads, scores=scores)))}


@healthy("sequence first")
def sequence_first():
    """Tokens are turned to (T, B, D) for PyTorch's encoder, which wants them so, and back."""
    layer = nn.TransformerEncoderLayer(D, HEADS, 2 * D, 0.0, "gelu", norm_first=True)
    case = plain(
        encode=lambda self, x: self.norm(self.layers(x.transpose(0, 1)).transpose(0, 1))
    )
    case["model"].layers = nn.TransformerEncoder(
        layer, DEPTH, enable_nested_tensor=False
    )
    return case


@healthy("post-norm")
def post_norm():
    """Norms stand after the sums, as in 2017; a long warm-up goes with it."""
    cfg = replace(CONFIG, norm_order="post")
    return {
        "model": vl.VisionTransformer(cfg),
        "recipe": replace(RECIPE, model=cfg, lr=1e-3, warmup=0.3),
    }


@healthy("LayerScale and stochastic depth")
def layer_scale():
    """Branches start at 1e-4 and are dropped for up to three pictures of ten."""
    return {
        "model": vl.VisionTransformer(
            replace(CONFIG, layer_scale=1e-4, drop_path_rate=0.3)
        )
    }


@healthy("ImageNet statistics")
def imagenet_statistics():
    """Each channel has its own mean and deviation, the same in training and test."""
    preprocess = partial(
        vl.normalize, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)
    )
    return {"preprocess": preprocess, "test_preprocess": preprocess}


@healthy("BGR throughout")
def bgr_throughout():
    """Channels are reversed in training and test alike, as in Caffe's models."""

    def preprocess(images):
        return vl.normalize(images.flip(1))

    return {"preprocess": preprocess, "test_preprocess": preprocess}


@healthy("Mixup with the batch reversed")
def mixup_by_hand():
    """Each picture is mixed with one at the batch's other end, smoothed targets alike."""

    def augment(images, labels):
        images, targets = images.float() / 255, 0.9 * F.one_hot(labels, 10) + 0.01
        lam = torch.distributions.Beta(0.4, 0.4).sample((len(images), 1))
        mixed = torch.lerp(images.flip(0), images, lam[..., None, None])
        return mixed, torch.lerp(targets.flip(0), targets, lam)

    return {"augment": augment}
