"""Twenty bugs that a reader tried on an earlier doctor, which found none, and nine models or runs that are right.

As in `unseen`, but the present checks were written by somebody who knew this list. The reader alarmed that doctor with
the first four healthy ones; the other five stand for "eight unusual healthy models" of theirs, which are not on record.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import nn

import vitlib as vl
from tests.doctor.unseen import CONFIG, RECIPE, Case, D, N, enter

BUGS: list[Case] = []
HEALTHY: list[Case] = []
bug, healthy = partial(enter, BUGS), partial(enter, HEALTHY)
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def vit(blocks=None, attn=None, **parts) -> vl.VisionTransformer:
    """The usual model with other `forward`s, of its blocks and attention, or of its own parts; changes of its shape."""
    shape = {key: parts.pop(key) for key in list(parts) if hasattr(CONFIG, key)}
    model = vl.VisionTransformer(replace(CONFIG, **shape))
    for block in model.blocks:
        if blocks:
            block.__class__ = type("Block", (type(block),), {"forward": blocks})
        if attn:
            block.attn.__class__ = type("Attention", (type(block.attn),), {"forward": attn})
    if parts:
        model.__class__ = type("ViT", (type(model),), parts)
    return model


@bug("residual overwritten")
def residual_overwritten(wrong=True):
    def forward(self, x, bias=None):
        x = self.norm1(x)
        x = x + self.attn(x)
        x = self.norm2(x)
        return x + self.mlp(x)

    return {"model": vit(forward if wrong else None)}


@bug("no residual round the MLP")
def no_residual(wrong=True):
    def forward(self, x, bias=None):
        x = x + self.attn(self.norm1(x))
        return self.mlp(self.norm2(x))

    return {"model": vit(forward if wrong else None)}


@bug("wrong token read")
def wrong_token(wrong=True):
    return {"model": vit(pool=lambda self, tokens: tokens[:, -1]) if wrong else vit()}


@bug("heads merged without transpose")
def merged(wrong=True):
    def forward(self, x, bias=None):
        q, k, v = self.project(x)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)  # (B, h, T, d)
        return self.proj(mixed.reshape(x.shape))

    return {"model": vit(attn=forward if wrong else None)}


@bug("causal mask")
def causal(wrong=True):
    def forward(self, x, bias=None):
        mixed = nn.functional.scaled_dot_product_attention(*self.project(x), is_causal=True)
        return self.proj(mixed.transpose(1, 2).flatten(2))

    return {"model": vit(attn=forward if wrong else None)}


@bug("[block] * depth")
def shared(wrong=True):
    model = vit()
    if wrong:
        model.blocks = nn.ModuleList([model.blocks[0]] * len(model.blocks))
    return {"model": model}


@bug("ReLU behind the head")
def relu(wrong=True):
    return {"model": nn.Sequential(vit(), nn.ReLU() if wrong else nn.Identity())}


@bug("last norm missing")
def no_last_norm(wrong=True):
    model = vit()
    if wrong:
        model.norm = nn.Identity()
    return {"model": model}


class OverTokens(nn.Module):
    """A norm over axis 1 of (B, T, D)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(1 + N)

    def forward(self, x):
        return self.norm(x.mT).mT


@bug("LayerNorm over tokens")
def over_tokens(wrong=True):
    model = vit()
    for block in model.blocks if wrong else ():
        block.norm1, block.norm2 = OverTokens(), OverTokens()
    return {"model": model}


class Unscaled(vl.DropPath):
    """DropPath that does not divide what is kept."""

    def forward(self, x):
        return super().forward(x) * (1 - self.p) if self.training else x


@bug("DropPath unscaled")
def unscaled(wrong=True):
    model = vit(drop_path_rate=0.3)
    for block in model.blocks if wrong else ():
        block.drop_path.__class__ = Unscaled
    return {"model": model}


@bug("labels of other images")
def other_labels(wrong=True):
    _, labels = vl.load_drawn10("train", 1000)
    return {"labels": labels.roll(100) if wrong else labels}


@bug("always upside down")
def upside_down(wrong=True):
    return {"augment": lambda images, labels: (images.flip(2) if wrong else images, labels)}


def at_test(change):
    return lambda images: vl.normalize(change(images))


def shifted(images):
    return images.roll(torch.randint(-4, 5, (2,)).tolist(), (2, 3))


@bug("random crop at test")
def crop(wrong=True):
    return {"test_preprocess": at_test(shifted if wrong else lambda x: x)}


@bug("BGR at test")
def bgr(wrong=True):
    return {"test_preprocess": at_test(lambda x: x.flip(1) if wrong else x)}


@bug("height and width swapped at test")
def swapped(wrong=True):
    return {"test_preprocess": at_test(lambda x: x.mT if wrong else x)}


def recipe(name, **changes):
    bug(name)(lambda wrong=True: {"recipe": replace(RECIPE, **changes) if wrong else RECIPE})


recipe("decay 5", weight_decay=5.0)
recipe("learning rate / 100", lr=RECIPE.lr / 100)
recipe("clip 1e-4", clip_norm=1e-4)
recipe("smoothing 0.9", label_smoothing=0.9)


@bug("dropout 0.9")
def dropout(wrong=True):
    return {"model": vit(drop_rate=0.9 if wrong else 0.0)}


@healthy("ImageNet's mean and deviation")
def imagenet():
    return {"preprocess": lambda images: vl.normalize(images, MEAN, STD)}


class Cosine(nn.Module):
    """Logits are cosines over a temperature."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.weight, self.temperature = nn.Parameter(torch.randn(10, D)), temperature

    def forward(self, x):
        normal = nn.functional.normalize
        return normal(x, dim=-1) @ normal(self.weight, dim=-1).mT / self.temperature


@healthy("a cosine head at 1 / 0.07")
def cosine():
    model = vit()
    model.head = Cosine(0.07)
    return {"model": model}


@healthy("permuted tokens with learned positions")
def permuted():
    order, model = torch.randperm(N), vit()
    forward = type(model.patch_embed).forward
    parts = {"forward": lambda self, images: forward(self, images)[:, order]}
    model.patch_embed.__class__ = type("Permuted", (type(model.patch_embed),), parts)
    return {"model": model}


@healthy("multi-scale batches")
def multi_scale():
    def augment(images, labels):
        size = (24, 32, 40)[torch.randint(3, ())]
        return nn.functional.interpolate(images / 255, (size, size), mode="bilinear", antialias=True), labels

    pool = nn.AdaptiveAvgPool2d(32)
    return {"model": nn.Sequential(pool, vit()), "augment": augment}


@healthy("positions of rows and columns, pooled")
def pooled():
    return {"model": vit(pos_embed="sincos2d", global_pool="avg")}


@healthy("norms come last")
def post_norm():
    return {"model": vit(norm_order="post")}


@healthy("a ResNet")
def resnet():
    return {"model": vl.build_model(vl.ResNetConfig(widths=(16, 32, 64)))}


@healthy("axial attention, relative positions")
def axial():
    return {"model": vit(attention="axial", pos_embed="relative")}


@healthy("an MLP of the pixels")
def pixels():
    return {"model": nn.Sequential(nn.Flatten(), nn.Linear(3072, D), nn.ReLU(), nn.Linear(D, 10))}
