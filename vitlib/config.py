"""The shape of a Vision Transformer, or of a ResNet, in one frozen dataclass; the paper's sizes (Table 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from vitlib.checks import (
    Classes,
    Count,
    Natural,
    NonNegative,
    Positive,
    Rate,
    Size,
    as_pair,
    check_choice,
    check_fields,
    check_halvings,
    check_heads,
    check_multiple,
    check_quarters,
    check_stages,
)

__all__ = ["CHOICES", "CONFIGS", "PRESETS", "ResNetConfig", "ViTConfig"]


@dataclass(frozen=True)
class ViTConfig:
    """Everything that decides the shape of a `VisionTransformer`; the defaults suit CIFAR-10.

    The field names are timm's. A variant (a patch embedding, a position embedding, a norm order)
    is one word here and one class in the module of its concept.

    Args:
        img_size: Image side in pixels, or (height, width).
        patch_size: Patch side P in pixels; it must divide both image sides.
        in_chans: Channels C of the image.
        num_classes: Outputs K of the head; 0 leaves the head out and the model returns D features.
        embed_dim: Width D of every token.
        depth: Number of encoder blocks L.
        num_heads: Attention heads h; must divide D.
        mlp_ratio: Hidden width of the MLP over D.
        qkv_bias: Whether the query, key and value projections have a bias.
        drop_rate: Dropout after the embeddings, after the attention projection and in the MLP.
        drop_path_rate: Stochastic depth of the last block; earlier blocks get linearly less.
        patch_drop_rate: Share of the patches that are left out in training; see `PatchDrop`.
        global_pool: "token" reads the CLS token, "avg" the mean of the patch tokens, "map" what one learned question
            reads of them; "token_avg" and "token_reg" two vectors, CLS and the mean, or CLS and the first register.
        patch_embed: "conv", "linear", "overlap", "stem" or "hybrid"; see `vitlib.model.patches`.
        pos_embed: "none", "learned", "learned2d", "sincos2d", "relative", "rope" or "rope_unit"; see
            `vitlib.model.posembed`.
        norm_order: "pre" (the paper) or "post" (the 2017 Transformer); see `vitlib.model.encoder`.
        head: "linear", or "mlp" with one tanh hidden layer (the paper's pre-training head).
        layer_scale: Initial value of LayerScale, or None for no LayerScale.
        act: "gelu" (exact), "gelu_tanh" (Flax's form), "quick_gelu" (CLIP's), "silu" or "relu".
        init_std: Standard deviation of the blocks' matrices before training.
        mask_token: Whether there is a learned token, which `MaskedPatchModel` puts for masked patches.
        class_token: Whether there is a CLS token; without one the head reads the patches.
        reg_tokens: Registers, learned tokens behind the patches that have no place and that, in most models, no head
            reads.
        pre_norm: Whether tokens are normalised once before the first block, as in CLIP.
        fc_norm: Whether the last norm stands behind the pooling in place of before it.
        mlp: "plain", or "gated": every hidden unit times the activation of a gate (SwiGLU).
        norm_eps: Epsilon of every LayerNorm.

    Raises:
        ValueError: If a value is out of range, the sizes do not divide or two choices exclude each other.

    Source: Section 3.1 and Table 1; chapter 08. The last six: DINOv2's registers (arXiv 2309.16588), SigLIP, CLIP,
        MAE and DINOv3, as timm computes them.
    """

    img_size: Size = 32
    patch_size: Count = 4
    in_chans: Count = 3
    num_classes: Classes = 10
    embed_dim: Count = 192
    depth: Count = 6
    num_heads: Count = 3
    mlp_ratio: Positive = 4.0
    qkv_bias: bool = True
    drop_rate: Rate = 0.0
    drop_path_rate: Rate = 0.0
    patch_drop_rate: Rate = 0.0
    global_pool: Literal["token", "avg", "map", "token_avg", "token_reg"] = "token"
    patch_embed: Literal["conv", "linear", "overlap", "stem", "hybrid"] = "conv"
    pos_embed: Literal[
        "none", "learned", "learned2d", "sincos2d", "relative", "rope", "rope_unit"
    ] = "learned"
    norm_order: Literal["pre", "post"] = "pre"
    head: Literal["linear", "mlp"] = "linear"
    layer_scale: float | None = None
    act: Literal["gelu", "gelu_tanh", "quick_gelu", "silu", "relu"] = "gelu"
    init_std: NonNegative = 0.02
    mask_token: bool = False
    class_token: bool = True
    reg_tokens: Natural = 0
    pre_norm: bool = False
    fc_norm: bool = False
    mlp: Literal["plain", "gated"] = "plain"
    norm_eps: Positive = 1e-6

    def __post_init__(self) -> None:
        if isinstance(self.img_size, list):  # a config read back from JSON
            object.__setattr__(self, "img_size", tuple(self.img_size))
        check_fields(self)
        if not 1 <= self.embed_dim * self.mlp_ratio < float("inf"):
            got = f"{self.mlp_ratio!r}; the paper takes 4.0"
            raise ValueError(
                f"mlp_ratio must be a number that gives the MLP hidden units, got {got}"
            )
        for side in self.image_shape:
            check_multiple("img_size", side, self.patch_size)
        check_heads(self.embed_dim, self.num_heads)
        if self.pos_embed in ("learned2d", "sincos2d"):
            check_quarters(f"pos_embed {self.pos_embed!r}", self.embed_dim)
        if self.turns and self.embed_dim // self.num_heads % 4:
            got = f"{self.embed_dim} / {self.num_heads} = {self.embed_dim // self.num_heads}; take other num_heads"
            raise ValueError(
                f"with pos_embed {self.pos_embed!r} a head's width must be a multiple of 4, got {got}"
            )
        if self.patch_embed in ("stem", "hybrid"):
            check_halvings(self.patch_size)
        self._check_tokens()
        if self.patch_drop_rate and not self.adds_positions_once:
            fix = 'take 0, or pos_embed "learned"'
            raise ValueError(
                f"patch_drop_rate {self.patch_drop_rate} needs positions that are added once; {fix}"
            )

    def _check_tokens(self) -> None:
        """Refuse what needs a token that there is not, and parts that are made for CLS and patches alone."""
        if not self.class_token and self.global_pool.startswith("token"):
            got = f'{self.global_pool!r} without one; take "avg" or "map"'
            raise ValueError(f"global_pool must not read a CLS token, got {got}")
        if not self.reg_tokens and self.global_pool == "token_reg":
            raise ValueError(
                'global_pool "token_reg" reads a register, got reg_tokens 0; take 1'
            )
        usual = self.class_token and not self.reg_tokens
        if not usual and self.pos_embed in ("relative", "learned2d"):
            wanted = "positions other than relative or learned2d"
            raise ValueError(
                f"registers, or no CLS token, need {wanted}, got pos_embed {self.pos_embed!r}"
            )

    @property
    def turns(self) -> bool:
        """Whether positions turn queries and keys."""
        return self.pos_embed in ("rope", "rope_unit")

    @property
    def adds_positions_once(self) -> bool:
        """Whether the tokens hold their positions when the blocks begin, so that one can be left out."""
        return not self.turns and self.pos_embed != "relative"

    @property
    def patches(self) -> slice:
        """Where the patches stand among the tokens: behind CLS, before the registers."""
        return slice(int(self.class_token), -self.reg_tokens or None)

    @property
    def num_tokens(self) -> int:
        """Tokens T of a picture: CLS, N patches, registers."""
        return self.class_token + self.num_patches + self.reg_tokens

    @property
    def image_shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return as_pair("img_size", self.img_size)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.image_shape[0] // self.patch_size, self.image_shape[
            1
        ] // self.patch_size

    @property
    def num_patches(self) -> int:
        """Number of patch tokens N = HW / P^2."""
        return self.grid[0] * self.grid[1]

    @property
    def hidden_dim(self) -> int:
        """Width of the MLP's hidden layer."""
        return int(self.embed_dim * self.mlp_ratio)

    @classmethod
    def preset(cls, name: str, **overrides) -> ViTConfig:
        """The paper's models by name ("vit-b/16"), at 224 px and 1000 classes unless overridden.

        Args:
            name: One of `PRESETS`: size (ti, s, b, l, h), a slash, the patch side.
            **overrides: Any field of the config.

        Source: Table 1; Ti and S from DeiT (arXiv 2012.12877).

        >>> ViTConfig.preset("vit-b/16", img_size=384).num_patches
        576
        """
        check_choice("preset", name, PRESETS)
        return replace(PRESETS[name], **overrides)


@dataclass(frozen=True)
class ResNetConfig:
    """Everything that decides the shape of a `ResNet`; the defaults suit CIFAR-10.

    The stem is a 3x3 convolution of stride 2. The paper's R50x1 has widths (256, 512, 1024, 2048), depths (3, 4, 6, 3),
    num_groups 32 and, for large images, another stem: a 7x7 convolution with a max-pool.

    Args:
        img_size: Side in pixels, or (height, width), of the images it is trained on; the model takes any.
        in_chans: Channels C of the image.
        num_classes: Outputs K of the head; 0 leaves the head out and the model returns D features.
        widths: Channels of each stage. Inside a block, and after the stem, there are a quarter as many.
        depths: Blocks of each stage; every stage but the first halves the image.
        num_groups: Groups of channels that are normalised together; of one channel each, they lose its brightness.

    Raises:
        ValueError: If a value is out of range.

    Source: Section 4.1, "ResNet (BiT)"; Kolesnikov et al. 2020 (arXiv 1912.11370); chapter 11.
    """

    img_size: Size = 32
    in_chans: Count = 3
    num_classes: Classes = 10
    widths: tuple[int, ...] | list[int] = (64, 128, 256)
    depths: tuple[int, ...] | list[int] = (1, 1, 3)
    num_groups: Count = 4

    def __post_init__(self) -> None:
        for name in ("img_size", "widths", "depths"):
            if isinstance(getattr(self, name), list):  # a config read back from JSON
                object.__setattr__(self, name, tuple(getattr(self, name)))
        check_fields(self)
        check_stages(self.widths, self.depths)

    @property
    def image_shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return as_pair("img_size", self.img_size)

    @property
    def embed_dim(self) -> int:
        """Width D of the vector that the head reads."""
        return self.widths[-1]

    @property
    def depth(self) -> int:
        """Number of blocks."""
        return sum(self.depths)


# fields that a class had, and the one value that they have in every file
GONE = {
    "ViTConfig": {"pos_at": "stem", "attn_drop_rate": 0.0, "attention": "full"},
    "ResNetConfig": {"stem_stride": 2},
    "Recipe": {"erasing": 0.0, "compile": False},
}
#: The kinds of models by name, "vit" and "resnet", and their configs. Source: chapter 11.
CONFIGS = {"vit": ViTConfig, "resnet": ResNetConfig}
#: The fields of a `ViTConfig` that take one of a few words, and the words.
_HINTS = get_type_hints(ViTConfig)
CHOICES = {
    name: get_args(hint) for name, hint in _HINTS.items() if get_origin(hint) is Literal
}
#: The models of `ViTConfig.preset` by name: the paper's B, L and H, DeiT's Ti and S, and S/32. Source: chapter 08.
PRESETS = {
    f"vit-{size}/{patch}": ViTConfig(
        224,
        patch,
        num_classes=1000,
        embed_dim=embed_dim,
        depth=depth,
        num_heads=num_heads,
    )
    for size, depth, embed_dim, num_heads, patches in (
        ("ti", 12, 192, 3, (16,)),
        ("s", 12, 384, 6, (16, 32)),
        ("b", 12, 768, 12, (16, 32)),
        ("l", 24, 1024, 16, (16, 32)),
        ("h", 32, 1280, 16, (14,)),
    )
    for patch in patches
}


def fields_now(kind: str, told: dict[str, Any]) -> dict[str, Any]:
    """What a file tells of a class, without fields that are gone; one with another value stays, to be refused."""
    gone = GONE[kind].items()
    return {name: value for name, value in told.items() if (name, value) not in gone}
