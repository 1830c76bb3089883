"""What other libraries keep apart, in one: queries, keys, values; gates and values; two tokens and their two heads."""

from __future__ import annotations

import re

import torch
from torch import Tensor


def joined(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state under timm's names, each part in the form in which a `VisionTransformer` has it."""
    state = _join_attention(dict(state))
    _join_gates(state)
    _join_question(state)
    if "pos_embed" in state and state["pos_embed"].ndim == 2:
        state["pos_embed"] = state["pos_embed"][None]  # (T, D) -> (1, T, D)
    if "cls_token" in state and state["cls_token"].ndim == 1:
        state["cls_token"] = state["cls_token"][None, None]  # (D,) -> (1, 1, D)
    if "proj" in state:  # OpenAI's, into what pictures and words share
        state["head.weight"] = state.pop("proj").T
    if "dist_token" in state and "pos_embed" in state:
        _join_distilled(state)
    return state


def _join_attention(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Three (D, D) matrices become one (3D, D), and three (D,) biases one (3D,), of zeros where one is missing."""
    for key in [key for key in state if re.search(r"attn\.[qv]\.bias$", key)]:
        for letter in "qkv":
            other = re.sub(r"attn\.[qv]\.", f"attn.{letter}.", key)
            state.setdefault(other, torch.zeros_like(state[key]))
    found = {}
    for key, value in state.items():
        three = [re.sub(r"attn\.[qkv]\.", f"attn.{letter}.", key) for letter in "qkv"]
        if three[0] != three[1] and all(name in state for name in three):
            key = three[0].replace("attn.q.", "attn.qkv.")
            value = torch.cat([state[name] for name in three])
        found[key] = value
    for key in [key for key in found if key.endswith("qkv.bias_mask")]:
        kept = found.pop(key).nan_to_num() != 0  # DINOv3's keys have no bias
        found[key.removesuffix("_mask")] = found[key.removesuffix("_mask")] * kept
    return found


def _join_gates(state: dict[str, Tensor]) -> None:
    """Gates and values become one layer, the gates first; where there are no gates, values are all there is."""
    for key in [key for key in state if ".fc1_x." in key]:
        value = state.pop(key)
        gates = state.pop(key.replace(".fc1_x.", ".fc1_g."), None)
        joint = value if gates is None else torch.cat([gates, value])
        state[key.replace(".fc1_x.", ".fc1.")] = joint


def _join_question(state: dict[str, Tensor]) -> None:
    """timm's layers for the question's query and for the tokens' keys and values become one."""
    for last in ("weight", "bias"):
        parts = f"attn_pool.q.{last}", f"attn_pool.kv.{last}"
        if all(name in state for name in parts):
            joint = torch.cat([state.pop(name) for name in parts])
            state[f"attn_pool.qkv.{last}"] = joint


def _join_distilled(state: dict[str, Tensor]) -> None:
    """DeiT's second token is a register that has a place; the mean of its two heads is one head of two tokens."""
    positions = state["pos_embed"]
    state["reg_token"] = state.pop("dist_token") + positions[:, 1:2]
    state["pos_embed"] = torch.cat([positions[:, :1], positions[:, 2:]], dim=1)
    if "head_dist.weight" in state and "head.weight" in state:
        both = [state["head.weight"], state.pop("head_dist.weight")]
        state["head.weight"] = torch.cat(both, dim=1) / 2
        state["head.bias"] = (state["head.bias"] + state.pop("head_dist.bias")) / 2
