"""Whose names are these? The names by which other libraries know a ViT's parts, and timm's, which are vitlib's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from os.path import commonprefix
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from vitlib.weights.files import LISTS
from vitlib.weights.joined import joined

# whose names they are: one that no other library has, behind any prefix
LIBRARIES = {
    "torchvision": r"conv_proj\.",
    "transformers": r"embeddings\.patch_embeddings?\.",
    "OpenAI": r"transformer\.resblocks\.0\.",  # CLIP's, and open_clip's
    "Google": r"embedding\.kernel$",  # the paper's own files, and big_vision's
    "timm": r"blocks\.0\.",  # DINO (1 to 3), DeiT, MAE and vitlib itself, too
}
# what they call the parts, and we: replaced in this order. The page has the same table: patterns and texts alone
NAMES = {
    r"(?<=\.)(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.": "",
    r"^(class_token|cls|(embeddings\.)?(cls_token|class_embedding))$": "cls_token",
    r"^(embeddings\.)?(register_tokens|storage_tokens)$": "reg_token",
    r"^embeddings\.distillation_token$": "dist_token",
    r"^embeddings\.mask_token$": "mask_token",
    r"^(encoder\.|embeddings\.|Transformer\.|posembed_input\.)*(pos_embedding|position_embeddings)$": "pos_embed",
    r"^(embeddings\.position_embedding(\.weight)?|positional_embedding)$": "pos_embed",
    r"^(conv_proj|conv1|embeddings\.patch_embeddings\.projection|embedding)\.": "patch_embed.proj.",
    r"^embeddings\.patch_embeddings?\.(?=weight$|bias$)": "patch_embed.proj.",
    r"^(encoder\.layers\.encoder_layer_|encoder\.layers?\.|(model\.)?layers?\.)(\d+)\.": r"blocks.\3.",
    r"^(transformer\.resblocks\.|Transformer\.encoderblock_)(\d+)\.": r"blocks.\2.",
    r"^blocks\.\d+\.(\d+)\.": r"blocks.\1.",  # DINOv2's chunks
    r"\.(ln_1|layernorm_before|layer_norm1|LayerNorm_0)\.": ".norm1.",
    r"\.(ln_2|layernorm_after|layer_norm2|LayerNorm_[12])\.": ".norm2.",
    r"^head\.probe$": "attn_pool.latent",
    r"^head\.(attention\.in_proj_)": "attn_pool.qkv.",
    r"^head\.attention\.out_proj\.": "attn_pool.proj.",
    r"^head\.layernorm\.": "attn_pool.norm.",
    r"^head\.mlp\.(?=fc[12]\.)": "attn_pool.mlp.",
    r"\.MultiHeadDotProductAttention_\d\.": ".attention.",
    r"\.(self_attention\.in_proj_|attn\.in_proj_|self_attn\.qkv\.)": ".attn.qkv.",
    r"\.(attention\.(attention\.)?|self_attn\.|attn\.)([qkv])(uery|ey|alue|_proj)\.": r".attn.\3.",
    r"\.attn\.([qkv])_bias$": r".attn.\1.bias",
    r"\.(self_attention\.out_proj|attention\.(output\.dense|o_proj|out)|(self_attn|attn)\.out_proj)\.": ".attn.proj.",
    r"\.self_attn\.projection\.": ".attn.proj.",
    r"\.(mlp\.(0|linear_1|c_fc|w12|weights_in)|intermediate\.dense|MlpBlock_\d\.Dense_0)\.": ".mlp.fc1.",
    r"\.(mlp\.(3|linear_2|c_proj|w3|weights_out|down_proj)|output\.dense|MlpBlock_\d\.Dense_1)\.": ".mlp.fc2.",
    r"\.mlp\.(w1|gate_proj)\.": ".mlp.fc1_g.",
    r"\.mlp\.(w2|up_proj)\.": ".mlp.fc1_x.",
    r"\.(layer_scale(\d)\.lambda1|gamma_(\d))$": r".ls\2\3.gamma",
    r"^(ln_pre|pre_layrnorm|pre_layernorm)\.": "norm_pre.",
    r"^(encoder\.ln|layernorm|ln_post|post_layernorm|Transformer\.encoder_norm)\.": "norm.",
    r"^(heads\.pre_logits|pooler\.dense|pre_logits\.fc)\.": "pre_logits.",
    r"^(cls_classifier|visual_projection)\.": "head.",
    r"^distillation_classifier\.": "head_dist.",
    r"\.(kernel|scale)$": ".weight",
}
# parts that a `VisionTransformer` has not, by a pattern of their names
ABSENT = {
    r"\b(shared_)?rel(ative)?_pos": "relative positions of another kind (BEiT, SAM)",
    r"\b(rotary|freqs_(cos|sin))": "rotary positions of another kind (EVA-02)",
    r"\b((attn|mlp)\.|[qk]_)norm\.": "norms inside attention or MLP (qk-norm; BEiT-3, EVA-02)",
    r"^(patch_embed\.norm|norm_patches)\.": "a norm behind the patches (AIMv2)",
    r"\b(patch_embed\.backbone|conv_root)\b": "a ResNet before the patches (hybrid)",
    r"\blambda_[qk]\d": "attention that subtracts (differential attention)",
    r"\b(gating_param|pos_proj)\b": "places that gate attention (ConViT)",
    r"\b(attns|ffns)\.\d|^blocks\.\d+\.in_proj\.": "parts side by side in a block (parallel blocks)",
    r"\bpatch_embedding\.(patch|position)_embeddings\b": "patches as MONAI cuts them, of volumes, too",
    r"\bto_patch_embedding\b": "patches between two norms (vit-pytorch)",
    r"\badaLN_modulation\b": "norms that time and class steer (DiT)",
    r"^(exp_avg(_sq)?|momentum_buffer)$": "moments of an optimizer (its state alone)",
    r"^embeds\.": "patches of any size and number (NaFlexViT)",
    r"\btext_embeddings\b": "words among the patches (ViLT)",
    r"\bdetection_tokens\b": "tokens that find boxes (YOLOS)",
    r"\bmessage_(token|fc|ln|attn)\b": "messages between the pictures of a film (X-CLIP)",
    r"\bMAPHead_0\b": "pooling by attention under Flax's names (big_vision's SigLIP)",
    r"\b(pooler\.layernorm)\.": "a norm behind the pooling under BEiT's names",
    r"\.(SCB|absmax|quant_map|qweight|qzeros|_packed_params|weight_scale(_inv)?|scale_weight)\b|\.quant_state\.": (
        "weights rounded to 8 or 4 bits (take those that they were made of)"
    ),
    r"\.weight_(orig|mask)\b|(?<!last_layer\.)parametrizations\b": (
        "weights that are cut or made anew as they are read (torch.nn.utils.prune.remove, "
        "parametrize.remove_parametrizations first)"
    ),
    r"\b(lora_[AB]|base_layer)\b": "low-rank additions (LoRA: merge them first)",
    r"\b(layers|stages)\.\d+\.(blocks|downsample)\.": "stages of several widths (Swin, ConvNeXt)",
}
# the same, by a pattern of all names together: of the first block and of what lies in none, with a space around each
ODD = {
    r"^(?=.* blocks\.0\.(gamma_1|attn\.q_bias) )(?!(?!.* pos_embed )(?=.* reg_token ))": (
        "scales or biases as BEiT, EVA and RoPE-ViTs name them, which differ in more"
    ),
    r"^(?!.* pos_embed )(?=.* reg_token )(?!.* cls_token )": (
        "rotary positions that its file does not hold (RoPE-ViT)"
    ),
    r"^(?=.* library:Google )(?!.* pos_embed )": (
        "positions that are computed and not in its file (big_vision's sincos2d)"
    ),
    r"^(?=.* library:transformers )(?=.* attn_pool\.latent )(?=.* classifier\.weight )": (
        "a classifier of the mean beside a question (SiglipForImageClassification)"
    ),
    r"^(?=.* head\.weight )(?=.* encoder\.layers\.0\.self_attn\.qkv\.weight )": (
        "a projection of CLS that is normalised twice (BlipModel)"
    ),
    r"^(?=.* norm_pre\.weight )(?=.* attn_pool\.latent )": (
        "a question behind CLIP's norms (PE)"
    ),
    r"^(?=.* library:timm )(?=.* fc_norm\.weight )(?!.* (cls_token|blocks\.0\.attn\.qkv\.bias|reg_token) )": (
        "norms behind attention and MLP, most likely (timm's rpn)"
    ),
    r"^(?=.* blocks\.0\.norm1\.weight )(?!.* blocks\.0\.norm1\.bias )": (
        "norms without a bias (RMSNorm: AIMv2)"
    ),
}
NO_SUCH = "a VisionTransformer here has none and would give other answers; " + LISTS
TWICE = "expected one {}, got two under different names; keep one of them"
# what a file may hold that answers do not rest on: a decoder, a head of pre-training or of a task with a name of its
# own, what is computed anew here
UNUSED = re.compile(
    r"^(mask_token$|decoder|rope|local_cls_norm)|\bposition_ids$|^head\.(mlp|last_layer)\."
    r"|^(\w+_(head|classifier)|(heads?|classifier)_(?!dist)\w+)\."
)
# of several models in a file (a teacher and its student; CLIP's two) this one is taken
CHOSEN = re.compile(r"(?<![a-z])(teacher|ema|momentum|target|visual)(?![a-z])")
# what embeds no pictures: a decoder, words, an optimizer's moments
PASSED = re.compile(r"decoder|(?<![a-z])(text(ual)?|opt)(?![a-z])")
OURS = re.compile(
    r"^((cls|reg|dist|mask)_token|pos_embed|patch_embed|norm(_pre)?|fc_norm|attn_pool|pre_logits|head_dist|proj$)\b"
)
HEAD = re.compile(r"^(heads?|classifier|fc|linear)\.")


class Weights(NamedTuple):
    """A ViT found in a file or a checkpoint."""

    state: dict[str, Tensor]  # under timm's and vitlib's names
    library: str
    place: str  # what stands before its names there
    beside: dict[str, str]  # what is no part of it: its names here, and in the file
    over: list[str]  # where others lie, of which this one was taken
    num_heads: int | None  # if Google's axes tell
    text: str  # all names, theirs and ours, for patterns


def find_vit(state: Any) -> Weights:
    """The one ViT in a state dict or a checkpoint, wherever it lies there."""
    if not isinstance(state, Mapping):
        kind, module = type(state).__name__, type(state).__module__.partition(".")[0]
        is_plain = isinstance(state, Tensor | np.ndarray) or module in (
            "builtins",
            "argparse",
        )
        fix = (
            "that is no model; save the model's state_dict()"
            if is_plain
            else "take its state_dict(), if it is a model"
        )
        raise ValueError(f"expected names and tensors, got a {kind} of {module}; {fix}")
    arrays = list(_arrays(state))
    library, (place, prefix), over = _find_place(arrays, state)
    inside, outside, twice = {}, [], []
    for where, key, value in arrays:
        if where != place:
            continue
        name = key[commonprefix([key, prefix]).rfind(".") + 1 :]
        for pattern, new in NAMES.items():
            name = re.sub(pattern, new, name)
        if not key.startswith(prefix):
            outside.append((key, name, value))
        elif name in inside:
            twice.append(name)
        else:
            inside[name] = key.removeprefix(prefix), value
    if "patch_embed.proj.weight" not in inside:
        check_parts(names := [name for _, name, _ in arrays], library)
        raise ValueError(
            f"expected a ViT, got the weights of a model that embeds no patches ({some(names)}); {LISTS}"
        )
    if twice:
        raise ValueError(TWICE.format(twice[0]))
    beside = {}
    for key, name, value in outside:  # a head, say, or what is no part of the model
        # of several models, a head beside them is another's
        belongs = OURS.match(name) or HEAD.match(name) and not over
        is_another = name in inside and CHOSEN.search(place + prefix)
        if is_another or not belongs:
            beside[name] = key
        elif name in inside:
            raise ValueError(TWICE.format(name))
        else:
            inside[name] = key, value
    beside |= {name: inside[name][0] for name in inside if UNUSED.search(name)}
    kept = {name: inside[name] for name in inside if not UNUSED.search(name)}
    mask = {"mask_token": inside["mask_token"]} if "mask_token" in inside else {}
    text = _text(library, place + prefix, inside, beside)
    _check_odd(text, library)
    google, num_heads = library == "Google", None
    if google:
        queries = (v for name, (_, v) in kept.items() if name.endswith("attn.q.weight"))
        num_heads = next((q.shape[1] for q in queries if q.ndim == 3), None)
    arranged = {
        name: _from_flax(name, value) if google else value
        for name, (_, value) in (kept | mask).items()
    }
    ours = joined(_name_head(arranged))
    return Weights(ours, library, place + prefix, beside, over, num_heads, text)


def _find_place(arrays: list, state: Mapping) -> tuple[str, tuple[str, str], list[str]]:
    """Whose names these are, and where: the entries that hold them, and what stands before them; where others lie."""
    rows = [
        (library, (where, name[: found.start()]))
        for library, own in LIBRARIES.items()
        for where, name, _ in arrays
        if (found := re.search(rf"(?<![^.]){own}", name))
    ]
    rows = [row for row in rows if not PASSED.search("".join(row[1]))] or rows
    library = rows[0][0] if rows else ""
    whole = {place for of, place in rows if of == library}
    places = {place for place in whole if CHOSEN.search("".join(place))} or whole
    if len(places) != 1:
        check_parts(names := [name for _, name, _ in arrays])
        wanted = f"the weights of one ViT under the names of {', '.join(LIBRARIES)}"
        if places:
            where = some(repr("".join(place)) for place in places)
            raise ValueError(
                f"expected {wanted}, got {len(places)} rows of blocks, behind {where}; give one model's state_dict(), "
                f"if it is not a model of several branches or stages; {LISTS}"
            )
        got = some(names) or f"no tensors ({some(state)})"
        raise ValueError(
            f"expected {wanted}, got {got}; rename the parts if it is a plain ViT; {LISTS}"
        )
    others = ["".join(other) for other in whole - places]
    return library, places.pop(), others


def _text(
    library: str,
    place: str,
    inside: Mapping[str, tuple[str, Tensor]],
    beside: Iterable[str],
) -> str:
    """Library, place and names in one line, with facts that shapes tell: what the patterns of families look at."""
    facts = {f"library:{library}", f"place:{place or '-'}"}
    facts |= {f"beside:{name.partition('.')[0]}" for name in beside}
    for name, (theirs, _) in inside.items():
        if not re.match(r"blocks\.[1-9]", name):
            facts |= {name, theirs}
    patch = inside.get("patch_embed.proj.weight")
    if patch and patch[1].ndim == 4:
        facts.add(f"patch:{min(patch[1].shape[0], patch[1].shape[-1])}")
        facts.add(f"width:{patch[1].shape[-1 if library == 'Google' else 0]}")
    if "cls_token" in inside and "pos_embed" in inside:
        count = inside["pos_embed"][1][..., 0].numel()
        if round(count**0.5) ** 2 == count:
            facts.add("cls:unplaced")
    return f" {' '.join(sorted(facts))} "


def _arrays(state: Mapping, where: str = "") -> Iterator[tuple[str, str, Tensor]]:
    """Every array but of single numbers: the entries that hold it, its name with dots, its values."""
    for key, value in state.items():
        key = str(key).replace("/", ".")
        if isinstance(value, Mapping) and where.count(".") < 3:
            yield from _arrays(value, f"{where}{key}.")
        is_array = (
            isinstance(value, Tensor)
            or isinstance(value, np.ndarray)
            and value.dtype.kind in "fiu"
        )
        value = torch.as_tensor(value) if is_array else torch.tensor(0)
        if value.layout != torch.strided or not value.numel():
            fix = "save it again behind .to_dense(), or gathered from where its numbers lie (DeepSpeed, FSDP)"
            raise ValueError(
                f"expected numbers in rows, {key} is sparse or empty; {fix}"
            )
        if (
            ".encoderblock." in key
        ):  # big_vision can keep all blocks in one array, layers first
            yield from (
                (where, key.replace("block.", f"block_{i}."), layer)
                for i, layer in enumerate(value)
            )
        elif value.ndim:
            yield where, key, value


def _name_head(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """One linear layer, whatever its name, is the head; with a hidden layer before it, an MLP head's last."""
    layers = {key.rpartition(".")[0] for key in state if HEAD.match(key)}
    hidden = any(key.startswith("pre_logits.") for key in state)
    new = (
        dict.fromkeys(layers, "head.2" if hidden else "head")
        if len(layers) == 1
        else {}
    )
    new |= {"pre_logits": "head.0"} if layers else {}
    moved = {key: key.rpartition(".") for key in state}
    return {
        f"{new[at]}.{last}" if at in new else key: state[key]
        for key, (at, _, last) in moved.items()
    }


def check_parts(names: Iterable[str], library: str = "names unknown") -> None:
    """Refuse names of parts that no model here has."""
    found = {
        part: [name for name in names if re.search(pattern, name)]
        for pattern, part in ABSENT.items()
    }
    if absent := ", ".join(
        f"{part}: {some(keys)}" for part, keys in found.items() if keys
    ):
        raise ValueError(
            f"the weights ({library}) are of a model with {absent}; {NO_SUCH}"
        )


def _check_odd(text: str, library: str) -> None:
    """Refuse names that, together, are those of a model that none here is."""
    for pattern, part in ODD.items():
        if re.search(pattern, text):
            raise ValueError(
                f"the weights ({library}) are of a model with {part}; {NO_SUCH}"
            )


def _from_flax(key: str, value: Tensor) -> Tensor:
    """Flax keeps inputs before outputs, and heads apart."""
    if key == "patch_embed.proj.weight":
        return value.permute(3, 2, 0, 1)  # (P, P, C, D) -> (D, C, P, P)
    if re.search(r"attn\.[qkv]\.", key):
        # (D, h, d) -> (D, D); (h, d) -> (D,)
        return value.flatten(-2).T if value.ndim == 3 else value.flatten()
    if key.endswith("attn.proj.weight"):
        value = value.flatten(0, 1)  # (h, d, D) -> (D, D)
    return value.T if value.ndim == 2 else value


def some(names: Iterable) -> str:
    """The first four of these names, in alphabetical order, and how many more there are."""
    names = sorted(map(str, names))
    return ", ".join(names[:4]) + (
        f" and {len(names) - 4} more" if len(names) > 4 else ""
    )
