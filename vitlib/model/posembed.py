"""Position embeddings, learned or fixed (Section 3.1, Appendix D.4), and for images of another size (Section 3.2)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.checks import Count, Grid, Natural, check_below, check_quarters, checked

__all__ = [
    "POS_EMBEDS",
    "Learned2dPosEmbed",
    "LearnedPosEmbed",
    "NoPosEmbed",
    "PosEmbed",
    "RelativePosEmbed",
    "SinCos2dPosEmbed",
    "resample_grid",
    "resample_pos_embed",
    "sincos_2d",
]

STD = 0.02  # of the initial embeddings, as in the paper's code


def learned(*shape: int) -> nn.Parameter:
    """A parameter that starts as small random numbers."""
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(shape), std=STD))


@checked
def sincos_2d(
    grid: Grid, embed_dim: Count, extent: Grid | None = None
) -> Float[Tensor, "N D"]:
    """Fixed sines and cosines: half the channels tell the row, half the column.

    Args:
        grid: Rows and columns.
        embed_dim: Width D, a multiple of 4.
        extent: Rows and columns that span the same picture where places are whole numbers; by default `grid`.
            Place i of n then is (i + 1/2) extent / n - 1/2: the patches' centres stay where they are in the picture.

    Returns:
        (N, D): [sin(row w), cos(row w), sin(column w), cos(column w)] with D/4 frequencies w from
        1 down to nearly 1/10000.

    Raises:
        ValueError: If D is no multiple of 4.

    Source: Vaswani et al. 2017, Section 3.5, in two dimensions; "2-D" in Appendix D.4 is learned; chapter 03.
    """
    check_quarters("sincos_2d", embed_dim)
    frequencies = 10000 ** -(torch.arange(embed_dim // 4) / (embed_dim // 4))  # (D/4,)
    centres = [
        (torch.arange(n) + 0.5) * old / n - 0.5
        for n, old in zip(grid, extent or grid, strict=True)
    ]
    rows, cols = torch.meshgrid(*centres, indexing="ij")
    # two of (N, D/4)
    angles = [position.flatten()[:, None] * frequencies for position in (rows, cols)]
    return torch.cat(
        [wave for angle in angles for wave in (angle.sin(), angle.cos())], dim=1
    )


@checked
def resample_pos_embed(
    pos_embed: Float[Tensor, "1 T D"],
    new_grid: Grid,
    old_grid: Grid | None = None,
    num_prefix_tokens: int = 1,
) -> Float[Tensor, "1 S D"]:
    """Read position embeddings learned on one grid of patches at the positions of another.

    The patch positions are laid out in 2-D and interpolated (bicubic, antialiased); prefix tokens
    such as CLS have no position in the image and stay as they are.

    Args:
        pos_embed: (1, prefix + N, D).
        new_grid: Rows and columns wanted.
        old_grid: Rows and columns given; without it N must be a square number.
        num_prefix_tokens: Tokens before the patches; 1 for CLS.

    Returns:
        (1, prefix + N', D), in the dtype given; unchanged if the grids are equal.

    Raises:
        ValueError: If the shapes and grids do not fit each other.

    Source: Section 3.2 ("we therefore perform 2D interpolation"); chapter 04.
    """
    check_below("num_prefix_tokens", num_prefix_tokens, pos_embed.shape[1])
    tokens = pos_embed.shape[1] - num_prefix_tokens
    if old_grid is None:
        side = math.isqrt(tokens)
        if side**2 != tokens:
            fix = f"give old_grid=(rows, columns), or check num_prefix_tokens={num_prefix_tokens}"
            raise ValueError(f"{tokens} patch positions are not a square grid; {fix}")
        old_grid = side, side
    if (places := math.prod(old_grid)) != tokens:
        got = f"{places} places, but pos_embed has {tokens} patch positions"
        raise ValueError(f"old_grid {tuple(old_grid)} has {got}")
    prefix, patches = pos_embed[:, :num_prefix_tokens], pos_embed[:, num_prefix_tokens:]
    # (1, N, D) -> (1, D, rows, columns)
    patches = patches.unflatten(1, tuple(old_grid)).permute(0, 3, 1, 2)
    # (1, D, rows', columns') -> (1, N', D)
    patches = resample_grid(patches, new_grid).flatten(2).mT
    return torch.cat([prefix, patches], dim=1)


def resample_grid(
    grid: Float[Tensor, "B D H W"], size: tuple[int, int]
) -> Float[Tensor, "B D H2 W2"]:
    """Bicubic, antialiased interpolation in float32: (B, D, rows, columns) -> (B, D, *size).

    Source: Section 3.2.
    """
    if tuple(grid.shape[-2:]) == tuple(size):
        return grid
    if (
        size[1] == 1 < size[0]
    ):  # torch's antialiased kernel repeats the first row; for one row it is right
        return resample_grid(grid.mT, (1, size[0])).mT
    return F.interpolate(
        grid.float(), size=tuple(size), mode="bicubic", antialias=True
    ).to(grid.dtype)


class PosEmbed(nn.Module):
    """What a model asks of every kind of positions: a table to add, a bias on the scores, another grid.

    Args:
        grid: Rows and columns of patches.
        embed_dim: Width D.
        num_heads: Heads h (relative and rotary positions need it).
        before: Tokens before the patches: 1 is CLS.
        behind: Tokens behind them, registers, which have no place.

    Shape: (B, T, D) -> (B, T, D), without the registers.

    Source: Equation 1; Appendix D.4; chapter 03.
    """

    def __init__(
        self,
        grid: Grid,
        embed_dim: Count,
        num_heads: Count,
        before: Natural = 1,
        behind: Natural = 0,
    ) -> None:
        super().__init__()
        self.grid, self.embed_dim = tuple(grid), embed_dim
        self.before, self.behind = before, behind

    def table(self) -> Float[Tensor, "1 T D"]:
        """What is added to the tokens: (1, 1+N, D), CLS first; zeros if nothing is."""
        raise NotImplementedError

    def attention_bias(self) -> Float[Tensor, "1 h T T"] | None:
        """What is added to every block's attention scores: (1, h, 1+N, 1+N), or None."""
        return None

    def resample(self, grid: Grid) -> None:
        """Change in place to another grid of patches."""
        self.grid = tuple(grid)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return x + self.table()


class NoPosEmbed(PosEmbed):
    """No positions: the model sees a bag of patches; arguments as for `PosEmbed`.

    Source: Table 8, "No Pos. Emb."; chapter 03.
    """

    def table(self) -> Float[Tensor, "1 T D"]:
        return torch.zeros(1, self.before + math.prod(self.grid), self.embed_dim)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return x


class LearnedPosEmbed(PosEmbed):
    """One learned vector for each token, CLS included: the paper's choice ("1-D"); arguments as for `PosEmbed`.

    Source: Equation 1, E_pos.
    """

    def __init__(
        self, grid: Grid, embed_dim: Count, num_heads: Count, *others: int
    ) -> None:
        super().__init__(grid, embed_dim, num_heads, *others)
        self.weight = learned(1, self.before + math.prod(grid), embed_dim)

    def table(self) -> Float[Tensor, "1 T D"]:
        return self.weight

    def resample(self, grid: Grid) -> None:
        self.weight = nn.Parameter(
            resample_pos_embed(self.weight.detach(), grid, self.grid, self.before)
        )
        super().resample(grid)


class Learned2dPosEmbed(PosEmbed):
    """Half the channels learned for each row, half for each column, a vector for CLS; arguments as for `PosEmbed`.

    Source: Appendix D.4, "2-D positional embeddings".
    """

    def __init__(
        self, grid: Grid, embed_dim: Count, num_heads: Count, *others: int
    ) -> None:
        super().__init__(grid, embed_dim, num_heads, *others)
        self.cls = learned(1, 1, embed_dim)
        self.rows = learned(grid[0], embed_dim // 2)
        self.cols = learned(grid[1], embed_dim // 2)

    def table(self) -> Float[Tensor, "1 T D"]:
        rows = self.rows[:, None].expand(-1, self.grid[1], -1)  # (rows, columns, D/2)
        cols = self.cols[None].expand(self.grid[0], -1, -1)  # (rows, columns, D/2)
        patches = torch.cat([rows, cols], dim=-1).flatten(0, 1)[None]  # (1, N, D)
        return torch.cat([self.cls, patches], dim=1)

    def resample(self, grid: Grid) -> None:
        for name, size in (("rows", grid[0]), ("cols", grid[1])):
            # (length, D/2) -> (1, D/2, 1, length)
            line = getattr(self, name).detach().T[None, :, None]
            setattr(
                self,
                name,
                nn.Parameter(resample_grid(line, (1, size))[0, :, 0].T.contiguous()),
            )
        super().resample(grid)


class SinCos2dPosEmbed(PosEmbed):
    """Fixed sines and cosines of row and column, nothing at CLS; arguments as for `PosEmbed`.

    On another grid, places are fractions: they span what they spanned in training, the `extent`, which is saved then.

    Source: `sincos_2d`; chapter 04.
    """

    def __init__(
        self, grid: Grid, embed_dim: Count, num_heads: Count, *others: int
    ) -> None:
        super().__init__(grid, embed_dim, num_heads, *others)
        self.register_buffer("waves", None, persistent=False)
        self.extent = self.grid
        self.register_state_dict_post_hook(_save_extent)
        self.register_load_state_dict_pre_hook(_load_extent)
        self.resample(grid)

    def table(self) -> Float[Tensor, "1 T D"]:
        return self.waves

    def resample(self, grid: Grid) -> None:
        waves = sincos_2d(grid, self.embed_dim, self.extent)
        waves = F.pad(waves, (0, 0, self.before, 0))[None]  # (N, D) -> (1, 1+N, D)
        self.waves = waves if self.waves is None else waves.to(self.waves.device)
        super().resample(grid)


def _save_extent(
    pos: SinCos2dPosEmbed, state: dict, prefix: str, _metadata: dict
) -> None:
    if pos.extent != pos.grid:
        state[f"{prefix}extent"] = torch.tensor(pos.extent, dtype=torch.float32)


def _load_extent(pos: SinCos2dPosEmbed, state: dict, prefix: str, *_rest) -> None:
    trained_on_this_grid = torch.tensor(pos.grid)
    rows, cols = state.pop(f"{prefix}extent", trained_on_this_grid).tolist()
    pos.extent = int(rows), int(cols)
    pos.resample(pos.grid)


class RelativePosEmbed(NoPosEmbed):
    """A learned bias on the attention scores for each head and offset; arguments as for `PosEmbed`.

    The bias is the form that later models kept: one number for each head and two-dimensional offset, whatever the
    tokens hold. The paper's relative variant differs: an embedding for each 1-D offset of query and key serves as a
    key only (the values stay as they are), and its logits are added to the content's before the softmax. Three more
    biases serve CLS to patch, patch to CLS, CLS to CLS. One table is shared by all blocks.

    Source: Appendix D.4, "Relative positional embeddings"; Liu et al. 2021 (arXiv 2103.14030).
    """

    def __init__(
        self, grid: Grid, embed_dim: Count, num_heads: Count, *others: int
    ) -> None:
        super().__init__(grid, embed_dim, num_heads, *others)
        self.bias = learned(num_heads, 2 * grid[0] - 1, 2 * grid[1] - 1)
        self.cls_bias = nn.Parameter(torch.zeros(num_heads, 3))

    def attention_bias(self) -> Float[Tensor, "1 h T T"]:
        ranges = [torch.arange(size, device=self.bias.device) for size in self.grid]
        rows, cols = torch.cartesian_prod(
            *ranges
        ).T  # (N,) each, the row and the column of each patch
        # (N, N), the query's offset from the key, from 0
        down = rows[:, None] - rows + self.grid[0] - 1
        right = cols[:, None] - cols + self.grid[1] - 1
        patches = self.bias[:, down, right]  # (h, N, N)
        # three of (h, 1, 1)
        to_patch, to_cls, to_self = self.cls_bias[:, :, None, None].unbind(1)
        n = len(rows)
        top = torch.cat([to_self, to_patch.expand(-1, 1, n)], dim=2)  # (h, 1, 1+N)
        rest = torch.cat([to_cls.expand(-1, n, 1), patches], dim=2)  # (h, N, 1+N)
        return torch.cat([top, rest], dim=1)[None]

    def resample(self, grid: Grid) -> None:
        size = 2 * grid[0] - 1, 2 * grid[1] - 1
        self.bias = nn.Parameter(resample_grid(self.bias.detach()[None], size)[0])
        super().resample(grid)


class RotaryPosEmbed(NoPosEmbed):
    """Queries and keys turned by angles that grow with row and column, in every block; arguments as for `PosEmbed`.

    The numbers of a head go in pairs: half of the pairs turn with the row, half with the column, each at a frequency of
    its own, from 1 down to nearly 1/100. So q k^T depends on places by their offsets alone. CLS and registers do not
    turn. On another grid, rows and columns are counted as before.

    Source: Su et al. 2021 (arXiv 2104.09864), in two dimensions Heo et al. 2024 (arXiv 2403.13298); chapter 03.
    """

    def __init__(
        self, grid: Grid, embed_dim: Count, num_heads: Count, *others: int
    ) -> None:
        super().__init__(grid, embed_dim, num_heads, *others)
        self.head_dim = embed_dim // num_heads
        self.register_buffer("cos", torch.empty(0), persistent=False)
        self.register_buffer("sin", torch.empty(0), persistent=False)
        self.resample(grid)

    # how a head's numbers are split, and along which axis a pair lies: neighbours
    pairs: tuple[tuple[int, int], int] = (-1, 2), -1

    def line(self, size: int) -> Float[Tensor, " n"]:
        """Where the places of a row, or of a column, lie: 0, 1, 2, ..."""
        return torch.arange(size, dtype=torch.float32)

    def turn(self, x: Float[Tensor, "B h T d"]) -> Float[Tensor, "B h T d"]:
        """Queries or keys, each pair of numbers turned by its token's angles."""
        sizes, axis = self.pairs
        left, right = x.unflatten(-1, sizes).unbind(axis)  # (B, h, T, d/2) each
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)  # (T, d/2) each
        return torch.stack(
            [left * cos - right * sin, left * sin + right * cos], dim=axis
        ).flatten(-2)

    def resample(self, grid: Grid) -> None:
        # (d/4,)
        frequencies = 100 ** -torch.linspace(0, 1, self.head_dim // 4 + 1)[:-1]
        places = torch.cartesian_prod(*map(self.line, grid))  # (N, 2)
        angles = (places[:, :, None] * frequencies).flatten(1)  # (N, d/2)
        angles = F.pad(angles, (0, 0, self.before, self.behind))  # (T, d/2)
        self.cos, self.sin = (
            angles.cos().to(self.cos.device),
            angles.sin().to(self.cos.device),
        )
        super().resample(grid)


class UnitRotaryPosEmbed(RotaryPosEmbed):
    """Rotary positions for which every picture is as large: each side spans -2 pi to 2 pi; arguments as for `PosEmbed`.

    On another grid the places lie closer, or farther apart: nothing is resampled. The numbers of a pair lie half a
    head apart.

    Source: Simeoni et al. 2025, DINOv3 (arXiv 2508.10104), without its jitter in training.
    """

    pairs: tuple[tuple[int, int], int] = (2, -1), -2

    def line(self, size: int) -> Float[Tensor, " n"]:
        """Where the centres of a row's, or of a column's, patches lie, between -2 pi and 2 pi."""
        return 2 * math.pi * ((torch.arange(size) + 0.5) / size * 2 - 1)


POS_EMBEDS = {
    "none": NoPosEmbed,
    "learned": LearnedPosEmbed,
    "learned2d": Learned2dPosEmbed,
    "sincos2d": SinCos2dPosEmbed,
    "relative": RelativePosEmbed,
    "rope": RotaryPosEmbed,
    "rope_unit": UnitRotaryPosEmbed,
}


def name_as_timm(model: nn.Module) -> None:
    """Have the weight of `model.pos_embed` saved and loaded as "pos_embed", its name in timm."""
    model.register_state_dict_post_hook(_rename_saved)
    model.register_load_state_dict_pre_hook(_rename_loaded)
    model.register_load_state_dict_post_hook(_rename_missing)


def _rename_saved(_model: nn.Module, state: dict, prefix: str, _metadata: dict) -> None:
    if f"{prefix}pos_embed.weight" in state:
        state[f"{prefix}pos_embed"] = state.pop(f"{prefix}pos_embed.weight")


def _rename_loaded(_model: nn.Module, state: dict, prefix: str, *_rest) -> None:
    if f"{prefix}pos_embed" in state:
        state[f"{prefix}pos_embed.weight"] = state.pop(f"{prefix}pos_embed")


def _rename_missing(_model: nn.Module, keys) -> None:
    keys.missing_keys[:] = [
        key.replace("pos_embed.weight", "pos_embed") for key in keys.missing_keys
    ]
