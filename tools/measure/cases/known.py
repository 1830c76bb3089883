"""Bugs that readers tried on an earlier doctor, which missed them, and unusual models or runs that are right.

As in `unseen`, but the present checks were written by somebody who knew this list. The first twenty bugs are one
reader's, who alarmed that doctor with the first four healthy ones; the last six another's.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

import vitlib as vl
from tools.measure.cases.unseen import (
    CONFIG,
    HEADS,
    RECIPE,
    Case,
    D,
    Heads,
    Layer,
    N,
    Plain,
    attending,
    enter,
    mlp,
    pictures,
    plain,
)
from vitlib.model.encoder import DropPath
from vitlib.train.augment import random_crop

BUGS: list[Case] = []
HEALTHY: list[Case] = []


def vit(blocks=None, attn=None, **parts) -> vl.VisionTransformer:
    """The usual model with other `forward`s, of its blocks and attention, or of its own parts; changes of its shape."""
    shape = {key: parts.pop(key) for key in list(parts) if hasattr(CONFIG, key)}
    model = vl.VisionTransformer(replace(CONFIG, **shape))
    for block in model.blocks:
        if blocks:
            block.__class__ = type("Block", (type(block),), {"forward": blocks})
        if attn:
            block.attn.__class__ = type(
                "Attention", (type(block.attn),), {"forward": attn}
            )
    if parts:
        model.__class__ = type("ViT", (type(model),), parts)
    return model


class OverTokens(nn.Module):
    """A norm over axis 1 of (B, T, D)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(1 + N)

    def forward(self, x):
        return self.norm(x.mT).mT


class Unscaled(DropPath):
    """DropPath that does not divide what is kept."""

    def forward(self, x):
        return super().forward(x) * (1 - self.p) if self.training else x


def overwritten(self, x, bias=None):
    x = self.norm1(x)
    x = x + self.attn(x)
    x = self.norm2(x)
    return x + self.mlp(x)


def no_residual(self, x, bias=None):
    x = x + self.attn(self.norm1(x))
    return self.mlp(self.norm2(x))


def merged(self, x, bias=None):
    mixed = nn.functional.scaled_dot_product_attention(*self.project(x))  # (B, h, T, d)
    return self.proj(mixed.reshape(x.shape))


def causal(self, x, bias=None):
    mixed = nn.functional.scaled_dot_product_attention(*self.project(x), is_causal=True)
    return self.proj(mixed.transpose(1, 2).flatten(2))


def shared(model):
    model.blocks = nn.ModuleList([model.blocks[0]] * len(model.blocks))


def over_tokens(model):
    for block in model.blocks:
        block.norm1, block.norm2 = OverTokens(), OverTokens()


def unscaled(model):
    for block in model.blocks:
        block.drop_path.__class__ = Unscaled


def constant(model):
    for layer in (
        part for part in model.layers.modules() if isinstance(part, nn.Linear)
    ):
        nn.init.constant_(layer.weight, 0.02)


def shifted(images):
    return images.roll(torch.randint(-4, 5, (2,)).tolist(), (2, 3))


def shift(images, generator):
    return random_crop(images, 4, generator)


def anew(images):
    return shift(images, torch.Generator().manual_seed(int(torch.randint(99, ()))))


def changed_by(change, make=Plain) -> dict:
    """A model after `change(model)`."""
    model = make()
    change(model)
    return {"model": model}


def layered(*parts, **named) -> dict:
    """A model whose layers have these parts."""
    return {"model": Plain(lambda: Layer(*parts, **named))}


def mixing(mix) -> dict:
    """A model whose attention mixes by `mix(attention, q, k, v)`, (B, h, T, d) each."""

    def forward(self, x):
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        return self.out(mix(self, q, k, v).transpose(1, 2).flatten(2))

    return attending(forward=forward)


def placed(positions) -> Plain:
    """A model that has these positions, which are no parameter."""
    model = Plain()
    del model.pos
    model.pos = positions
    return model


# how a bug is made of what is right


def with_parts(**bad):
    return lambda wrong=True: {"model": vit(**bad if wrong else {})}


def edited(change, make=vit):
    return lambda wrong=True: changed_by(change if wrong else lambda model: None, make)


def at_test(change):
    return lambda wrong=True: {
        "test_preprocess": lambda x: vl.normalize(change(x) if wrong else x)
    }


def augmenting(change, right=lambda images: images):
    return lambda wrong=True: {
        "augment": lambda x, labels: (change(x) if wrong else right(x), labels)
    }


def recipe(**bad):
    return lambda wrong=True: {"recipe": replace(RECIPE, **bad if wrong else {})}


def no_activation(wrong=True):
    return layered(
        mlp=lambda: nn.Sequential(
            *(part for part in mlp() if not wrong or hasattr(part, "weight"))
        )
    )


for name, make in {
    "residual overwritten": with_parts(blocks=overwritten),
    "no residual round the MLP": with_parts(blocks=no_residual),
    "wrong token read": with_parts(pool=lambda self, tokens: tokens[:, -1]),
    "heads merged without transpose": with_parts(attn=merged),
    "causal mask": with_parts(attn=causal),
    "[block] * depth": edited(shared),
    "ReLU behind the head": lambda wrong=True: {
        "model": nn.Sequential(vit(), nn.ReLU() if wrong else nn.Identity())
    },
    "last norm missing": edited(lambda model: setattr(model, "norm", nn.Identity())),
    "LayerNorm over tokens": edited(over_tokens),
    "DropPath unscaled": edited(unscaled, lambda: vit(drop_path_rate=0.3)),
    "labels of other images": lambda wrong=True: {
        "labels": pictures()[1].roll(100 * wrong)
    },
    "always upside down": augmenting(lambda images: images.flip(2)),
    "random crop at test": at_test(shifted),
    "BGR at test": at_test(lambda images: images.flip(1)),
    "height and width swapped at test": at_test(lambda images: images.mT),
    "decay 5": recipe(weight_decay=5.0),
    "learning rate / 100": recipe(lr=RECIPE.lr / 100),
    "clip 1e-4": recipe(clip_norm=1e-4),
    "smoothing 0.9": recipe(label_smoothing=0.9),
    "dropout 0.9": with_parts(drop_rate=0.9),
    # another reader's, who tried them on the doctor later; it missed them all
    "positions in a plain tensor": lambda wrong=True: {
        "model": placed(0.02 * torch.randn(1, 1 + N, D)) if wrong else Plain()
    },
    "an MLP without its activation": no_activation,
    "constant initial weights": edited(constant, Plain),
    "the keys taken for values": lambda wrong=True: mixing(
        lambda self, q, k, v: self.weights(q, k) @ (k if wrong else v)
    ),
    "an augmentation that seeds itself anew": augmenting(
        lambda x: (torch.manual_seed(0), anew(x))[1], anew
    ),
    "crops of another size": augmenting(lambda images: images[..., 2:30, 2:30]),
}.items():
    enter(BUGS, name)(make)


# ------------------------------------------------ what is unusual and right


class Cosine(nn.Module):
    """Logits are cosines over a temperature."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.weight, self.temperature = nn.Parameter(torch.randn(10, D)), temperature

    def forward(self, x):
        normal = nn.functional.normalize
        return normal(x, dim=-1) @ normal(self.weight, dim=-1).mT / self.temperature


def permuted():
    order, model = torch.randperm(N), vit()
    forward = type(model.patch_embed).forward
    parts = {"forward": lambda self, images: forward(self, images)[:, order]}
    model.patch_embed.__class__ = type("Permuted", (type(model.patch_embed),), parts)
    return {"model": model}


def multi_scale():
    def augment(images, labels):
        size = (24, 32, 40)[torch.randint(3, ())]
        return nn.functional.interpolate(
            images / 255, (size, size), mode="bilinear", antialias=True
        ), labels

    return {"model": nn.Sequential(nn.AdaptiveAvgPool2d(32), vit()), "augment": augment}


class Adapted(nn.Linear):
    """LoRA: beside a matrix a narrow pair with nothing between, the second 0 at first."""

    def __init__(self, *sizes) -> None:
        super().__init__(*sizes)
        self.down, self.up = (
            nn.Linear(sizes[0], 4, bias=False),
            nn.Linear(4, sizes[1], bias=False),
        )
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return super().forward(x) + self.up(self.down(x))


def along_lines(self, x, bias):
    """Full attention under a mask: a patch reads its row, its column and CLS, which reads all."""
    rows, cols = torch.cartesian_prod(*map(torch.arange, CONFIG.grid)).T
    apart = (rows[:, None] != rows) & (cols[:, None] != cols)  # (N, N)
    mask = torch.zeros(1 + N, 1 + N)
    mask[1:, 1:].masked_fill_(apart, -torch.inf)
    return vl.Attention.forward(self, x, bias + mask)


class Uneven(Heads):
    """Queries of all heads; of keys and values what `widths` says, the same for all heads if they are narrow."""

    widths = (D // HEADS, D // HEADS)

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(D, D + sum(self.widths))

    def forward(self, x):
        q, *kv = (
            part.unflatten(-1, (-1, D // HEADS))
            for part in self.qkv(x).split([D, *self.widths], dim=-1)
        )
        # the values are the keys if there is one
        q, k, v = (part.transpose(1, 2) for part in (q, kv[0], kv[-1]))
        return self.out((self.weights(q, k) @ v).transpose(1, 2).flatten(2))


class Mixer(nn.Module):
    """A matrix over tokens."""

    def __init__(self, start=lambda weight: None) -> None:
        super().__init__()
        self.over = nn.Linear(1 + N, 1 + N)
        start(self.over.weight)

    def forward(self, x):
        return self.over(x.mT).mT


class Gated(nn.Module):
    """A product of two maps, and no other activation (arXiv 2002.05202's "bilinear")."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(2 * D, D)

    def forward(self, x):
        a, b = self.up(x).chunk(2, dim=-1)
        return self.down(a * b)


class Experts(nn.Module):
    """Two MLPs, and a router that weighs them."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.experts = nn.Linear(D, 2), nn.ModuleList([mlp(), mlp()])

    def forward(self, x):
        parts = zip(
            self.router(x).softmax(dim=-1).split(1, dim=-1), self.experts, strict=True
        )
        return sum(weight * expert(x) for weight, expert in parts)


class Sandwich(Layer):
    """Norms before and after each branch."""

    def __init__(self) -> None:
        super().__init__()
        self.norm3, self.norm4 = nn.LayerNorm(D), nn.LayerNorm(D)

    def forward(self, x):
        x = x + self.norm3(self.attn(self.norm1(x)))
        return x + self.norm4(self.mlp(self.norm2(x)))


def lora():
    model = Plain()
    for layer in model.layers:
        layer.attn.qkv, layer.attn.out = Adapted(D, 3 * D), Adapted(D, D)
    return {"model": model}


def sines():
    place, speed = (
        torch.arange(1.0 + N)[:, None],
        100.0 ** -torch.linspace(0, 1, D // 2),
    )
    # (1, 1+N, D)
    return {
        "model": placed(
            torch.cat([(place * speed).sin(), (place * speed).cos()], dim=1)[None]
        )
    }


def distances():
    """Scores fall with the distance, each head's by its slope, and nothing is added to tokens."""
    at = torch.cat(
        [torch.zeros(1, 2), torch.cartesian_prod(torch.arange(4.0), torch.arange(4.0))]
    )
    case = attending(
        scores=lambda self, q, k: Heads.scores(self, q, k) - self.slopes * self.far
    )
    del case["model"].pos
    case["model"].pos = 0.0
    for layer in case["model"].layers:
        layer.attn.far = torch.cdist(at, at + torch.tensor([0.1, 0.3]))
        layer.attn.slopes = 2.0 ** -torch.arange(HEADS)[:, None, None]
    return case


def linear(self, q, k, v):
    q, k = nn.functional.elu(q) + 1, nn.functional.elu(k) + 1
    return q @ (k.mT @ v) / (q @ k.sum(2, keepdim=True).mT)


def one_more(self, q, k, v):
    return nn.functional.pad(self.scores(q, k), (1, 0)).softmax(dim=-1)[..., 1:] @ v


def zero_branches(model):
    for part in (
        part for layer in model.layers for part in (layer.attn.out, layer.mlp[2])
    ):
        nn.init.zeros_(part.weight), nn.init.zeros_(part.bias)


def long_skips():
    """U-ViT: the last layer reads the first one's tokens, too."""

    def encode(self, x):
        first = self.layers[0](x)
        x = self.layers[1](first)
        return self.norm(self.layers[2](self.join(torch.cat([x, first], dim=-1))))

    case = plain(encode=encode)
    case["model"].join = nn.Linear(2 * D, D)
    return case


def teacher():
    """Frozen, and not among the modules on purpose."""
    case = plain(
        read=lambda self, x: Plain.read(self, x) + 0.1 * self.others[0](x[:, 0])
    )
    case["model"].others = (nn.Linear(D, 10).requires_grad_(False),)
    return case


def every_second(images, labels):
    return torch.cat([images[::2].flip(-1), images[1::2]]), torch.cat(
        [labels[::2], labels[1::2]]
    )


def grey(images, labels):
    flip = torch.from_numpy(np.random.rand(len(images)) < 0.5).view(-1, 1, 1, 1)  # noqa: NPY002
    images = images.float().mean(1, keepdim=True).expand(-1, 3, -1, -1).to(images.dtype)
    return torch.where(flip, images.flip(-1), images), labels


def own_generator():
    generator = torch.Generator().manual_seed(0)
    return {"augment": lambda images, labels: (shift(images, generator), labels)}


for name, make in {
    "ImageNet's mean and deviation": lambda: {
        "preprocess": partial(
            vl.normalize, mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]
        )
    },
    "a cosine head at 1 / 0.07": lambda: changed_by(
        lambda model: setattr(model, "head", Cosine(0.07)), vit
    ),
    "permuted tokens with learned positions": permuted,
    "multi-scale batches": multi_scale,
    "positions of rows and columns, pooled": lambda: {
        "model": vit(pos_embed="sincos2d", global_pool="avg")
    },
    "norms come last": lambda: {"model": vit(norm_order="post")},
    "a ResNet": lambda: {"model": vl.build_model(vl.ResNetConfig(widths=(16, 32, 64)))},
    "axial attention, relative positions": lambda: {
        "model": vit(attn=along_lines, pos_embed="relative")
    },
    "an MLP of the pixels": lambda: {
        "model": nn.Sequential(
            nn.Flatten(), nn.Linear(3072, D), nn.ReLU(), nn.Linear(D, 10)
        )
    },
    "LoRA": lora,
    "one head of keys and values": lambda: layered(Uneven),
    "keys that are values, from one matrix": lambda: layered(
        type("Tied", (Uneven,), {"widths": (D,)})
    ),
    "sines in a plain tensor": sines,
    "distances in a plain tensor": distances,
    "tokens mixed by a matrix": lambda: layered(Mixer),
    "tokens mixed by their mean at first": lambda: layered(
        partial(Mixer, lambda weight: nn.init.constant_(weight, 1 / (1 + N)))
    ),
    "Fourier transforms for attention": lambda: layered(
        type(
            "Fourier",
            (nn.Module,),
            {"forward": lambda self, x: torch.fft.fft2(x, norm="ortho").real},
        )
    ),
    "linear attention": lambda: mixing(linear),
    "softmax with one more in the sum": lambda: mixing(one_more),
    "a bilinear gate": lambda: layered(mlp=Gated),
    "two experts": lambda: layered(mlp=Experts),
    "norms before and after each branch": lambda: {"model": Plain(Sandwich)},
    "branches that start at 0": lambda: changed_by(zero_branches),
    "frozen random patches": lambda: changed_by(
        lambda model: model.patch.requires_grad_(False)
    ),
    "a head of two matrices": lambda: changed_by(
        lambda model: setattr(
            model, "head", nn.Sequential(nn.Linear(D, D), nn.Linear(D, 10))
        )
    ),
    "a matrix by its norm": lambda: changed_by(
        lambda model: [weight_norm(one.mlp[0]) for one in model.layers]
    ),
    "long skips": long_skips,
    "a teacher in a tuple": teacher,
    "every second picture mirrored": lambda: {"augment": every_second},
    "a generator of its own": own_generator,
    "grey pictures, and NumPy's numbers": lambda: {"augment": grey},
}.items():
    enter(HEALTHY, name)(make)
