"""A trained model as one script that a page can load, also from a disk."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from vitlib.checks import checked
from vitlib.config import ViTConfig
from vitlib.data.dataset import normalize
from vitlib.data.drawn10 import DRAWN10_CLASSES, load_drawn10
from vitlib.data.photos import SAMPLES, _import_cv2, sample_image
from vitlib.explain.scores import GRADIENTS, patch_scores
from vitlib.files import write_atomic
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_finite
from vitlib.weights import families, names
from vitlib.weights.files import beside, read_weights
from vitlib.weights.pretrained import card_of, class_names
from vitworkshop import words

__all__ = ["SCRIPTS", "export_web"]

SCRIPTS = Path(__file__).parent  # where the JavaScript lies
LIMIT = 1_600_000  # characters; about 600,000 weights
LARGEST = 100_000_000  # weights that a notebook's frame may hold
PHOTOS = {
    name: 85
    for name in SAMPLES
    if name not in ("brick", "camera", "galaxies", "grass", "gravel")
}
PHOTOS["astronaut"] = 101  # WebP's quality; 101 loses nothing

# fields that a model in a page may set; of the others it has the default
FREE = {
    *("img_size", "patch_size", "num_classes", "embed_dim", "depth", "num_heads"),
    *("mlp_ratio", "qkv_bias", "global_pool", "init_std"),
    *("drop_rate", "drop_path_rate", "patch_drop_rate"),
}


def check_runs_in_a_page(model: object) -> VisionTransformer:
    """The model, if it is one that `vit.js` may know."""
    if not isinstance(model, VisionTransformer):
        raise ValueError(
            f"expected a VisionTransformer, got {type(model).__name__}; only these run in a page"
        )
    return model


@checked
def export_web(model: nn.Module, card: dict, path: str | Path) -> Path:
    """Write a model as a script for `vit.js`, atomically.

    Args:
        model: A `VisionTransformer` as the book's recipes make them, of at most some 600,000 parameters.
        card: As `load_pretrained` gives it: its name, data set and final accuracy go along, the last only where its
            "sha256" is that of these weights.
        path: The script to write.

    Returns:
        The path.

    Raises:
        ValueError: If `vit.js` cannot compute the model, the card is of another number of classes, a weight does not
            fit into float16, or the script would be larger than 1.6 MB.

    Source: chapter 09.
    """
    text = web_script(model, card)
    return write_atomic(
        Path(path), lambda place: place.write_text(text, encoding="utf-8")
    )


def _check_plain(cfg: ViTConfig) -> None:
    """Refuse a config that `vit.js` does not compute."""
    wanted = {part.name: part.default for part in fields(cfg) if part.name not in FREE}
    if cfg.global_pool not in ("token", "avg"):
        wanted["global_pool"] = "token"
    got = {key: getattr(cfg, key) for key in wanted if getattr(cfg, key) != wanted[key]}
    if got:
        right, wrong = (
            ", ".join(f"{key}={of[key]!r}" for key in got) for of in (wanted, got)
        )
        raise ValueError(
            f"expected a model with {right}, got {wrong}; train one of the book's presets"
        )


def web_script(model: nn.Module, card: dict) -> str:
    """The script that `export_web` writes: `window.vitModels[name] = {config, classes, card, shapes, data}`."""
    model = check_runs_in_a_page(model)
    _check_card(card)
    config = asdict(model.cfg)
    _check_plain(model.cfg)
    if not isinstance(model.cfg.img_size, int):
        raise ValueError(
            f"expected square images, got {model.cfg.image_shape}; use model.with_img_size(32)"
        )
    card, raw = card_of(model, card)
    halves = load(raw)
    state = {name: halves[name] for name in model.state_dict()}  # in the model's order
    weights = (
        torch.cat([value.flatten() for value in state.values()])
        .numpy()
        .astype("<f2")
        .tobytes()
    )
    made = {
        "config": config,
        "classes": class_names({**card, "config": config}),
        "card": {
            "name": card["name"],
            "dataset": card.get("dataset"),
            "parameters": sum(value.numel() for value in state.values()),
            "test_accuracy": card.get("final", {}).get("test_accuracy"),
        },
        "shapes": [[name, list(value.shape)] for name, value in state.items()],
        "data": base64.b64encode(weights).decode(),
    }
    script = f"(window.vitModels ??= {{}})[{json.dumps(card['name'])}] = {json.dumps(made)};\n"
    script = script.replace("</", "<\\/")  # it may stand inside a page
    if len(script) > LIMIT:
        raise ValueError(
            f"expected a script of at most {LIMIT / 1e6} MB, got {len(script) / 1e6:.1f}; take a smaller model"
        )
    return script


def _check_card(card: dict) -> None:
    """Refuse a card without a name, or with what a script does not hold."""
    final = card.get("final", {})
    kinds = {
        "name": str,
        "dataset": str | None,
        "recipe": dict,
        "final": dict,
        "classes": list | tuple,
    }
    wrong = [
        key
        for key, kind in kinds.items()
        if key in card and not isinstance(card[key], kind)
    ]
    if (
        wrong
        or not card.get("name")
        or not isinstance(final.get("test_accuracy", 0), int | float)
    ):
        what = wrong[0] if wrong else "final" if card.get("name") else "name"
        raise ValueError(
            f"expected a card as load_pretrained gives it, got {what} {card.get(what)!r:.60}; mend that"
        )
    names = card.get("classes", ())
    if not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"expected {len(names)} names of classes, got {len(names)}: {list(names)!r:.60}; name every class"
        )


def photographs(size: int) -> dict[str, Tensor]:
    """The book's photographs, by their names."""
    return {name: sample_image(name, size) for name in PHOTOS}


def sample_pictures() -> dict[str, Tensor]:
    """The sample photographs, and one drawing of each class of Drawn-10, called "drawn boat" and so on."""
    images, labels = load_drawn10("test", n=200)
    drawn = {
        f"drawn {name}": images[(labels == k).nonzero()[0, 0]]
        for k, name in enumerate(DRAWN10_CLASSES)
    }
    return photographs(32) | drawn


def samples_script(pictures: dict[str, Tensor]) -> str:
    """Pictures to try, as a script: `window.vitSamples[name]`, the bytes (3, H, W) in base64."""
    coded = {
        name: base64.b64encode(image.numpy().tobytes()).decode()
        for name, image in pictures.items()
    }
    return f"window.vitSamples = {json.dumps(coded)};\n"


def scores_script(
    name: str, model: VisionTransformer, pictures: dict[str, Tensor]
) -> str:
    """`window.vitScores[name][picture][explanation]`, a number a patch: what needs gradients, which a page has not."""
    images = normalize(torch.stack(list(pictures.values())))
    found: dict[str, dict[str, list[float]]] = {picture: {} for picture in pictures}
    for explanation in GRADIENTS:
        for picture, scores in zip(
            pictures, patch_scores(explanation, model, images), strict=True
        ):
            found[picture][explanation] = [
                float(f"{score:.3g}") for score in scores.tolist()
            ]
    return f"(window.vitScores ??= {{}})[{json.dumps(name)}] = {json.dumps(found)};\n".replace(
        "</", "<\\/"
    )


@torch.no_grad()
def turning_patches(model: VisionTransformer, image: Tensor) -> list[int]:
    """Places to paint grey until the answer changes, each time the one that lowers its share most; none if it stays."""
    N, stays, painted = model.cfg.num_patches, torch.eye(model.cfg.num_patches) == 0, []
    stays = stays.unflatten(1, model.cfg.grid)  # (N, rows, cols)
    for side in (1, 2):
        stays = stays.repeat_interleave(model.cfg.patch_size, dim=side)
    answer = model(normalize(image[None])).argmax()
    while len(painted) < N:
        tried = image.where(stays[:, None], 128)  # (N, 3, H, W)
        logits = model(normalize(tried))
        shares = logits.softmax(-1)[:, answer]
        shares[painted] = 2
        painted.append(int(shares.argmin()))
        if logits[painted[-1]].argmax() != answer:
            return painted
        image = tried[painted[-1]]
    return []


def turns_script(
    name: str, model: VisionTransformer, pictures: dict[str, Tensor]
) -> str:
    """`window.vitTurns[name][picture]`: the patches that change a picture's answer, for the dare."""
    found = {
        picture: places
        for picture, image in pictures.items()
        if (places := turning_patches(model, image))
    }
    return f"(window.vitTurns ??= {{}})[{json.dumps(name)}] = {json.dumps(found)};\n"


def dialect_script() -> str:
    """`window.vitDialect`: the names by which `load_weights` knows a model's parts, for `foreign.js`."""
    made: dict[str, Any] = {
        name.lower(): getattr(names, name).pattern
        for name in ("CHOSEN", "PASSED", "OURS", "HEAD", "UNUSED")
    }
    made |= {
        "libraries": names.LIBRARIES,
        "names": [
            (pattern, re.sub(r"\\(\d)", r"$\1", new))
            for pattern, new in names.NAMES.items()
        ],
        "absent": list(names.ABSENT.items()),
        "odd": list(names.ODD.items()),
        "no_such": names.NO_SUCH,
        "families": [[name, *rest] for name, rest in families.FAMILIES.items()],
        "heads": families.HEADS,
        "mean_std": families.MEAN_STD,
    }
    return f"window.vitDialect = {json.dumps(made)};\n"


def words_script(language: str) -> str:
    """`window.bookWords`: what the scripts say, from English to another language."""
    table = json.dumps(words.table(f"{language}-scripts"), ensure_ascii=False)
    return f"window.bookWords = {table};\n".replace("</", "<\\/")


def imagenet() -> tuple[list[str], list[str]]:
    """Whose the list is, and the names of ImageNet's thousand classes, as torchvision has them."""
    lines = (SCRIPTS / "imagenet.txt").read_text(encoding="utf-8").splitlines()
    notice, names = (
        [line.lstrip("# ") for line in lines if line.startswith("#") == is_notice]
        for is_notice in (True, False)
    )
    return notice, names


def imagenet_script() -> str:
    """`window.vitImageNet`: the names of ImageNet's classes."""
    notice, names = imagenet()
    return f"/* {' '.join(notice)} */\nwindow.vitImageNet = {json.dumps(names)};\n"


def photos_script(pictures: dict[str, Tensor] | None = None) -> str:
    """Larger pictures to cut, as a script: `window.vitPhotos[name]`, a WebP file in base64."""
    cv2, coded = _import_cv2(), {}
    images = pictures or photographs(224)
    for name, image in images.items():
        bgr = np.ascontiguousarray(image.numpy()[::-1].transpose(1, 2, 0))  # (H, W, C)
        _, data = cv2.imencode(
            ".webp", bgr, [cv2.IMWRITE_WEBP_QUALITY, PHOTOS.get(name, 101)]
        )
        coded[name] = base64.b64encode(data.tobytes()).decode()
    return f"window.vitPhotos = {json.dumps(coded)};\n"


def given_script(source: nn.Module | str | Path, classes: Sequence[str] | None) -> str:
    """`window.vitGiven`: a model of timm or transformers, or a file, in float16, for the microscope."""
    is_model = isinstance(source, nn.Module)
    found = names.find_vit(source.state_dict() if is_model else read_weights(source))
    names.check_parts([*found.state, *found.beside], found.library)
    count = sum(value.numel() for value in found.state.values())
    if count > LARGEST:
        fix = "python -m vitlib check-pretrained FILE draws where it looks"
        raise ValueError(
            f"expected a model up to ViT-B/16, got {count:,} parameters; {fix}"
        )
    # which only a head reads; its names are an MLP head's
    pooler = "head.2.weight" not in found.state
    kept = {
        key: value
        for key, value in found.state.items()
        if not (pooler and key.startswith("head.0."))
    }
    state = {key: value.half().contiguous() for key, value in kept.items()}
    check_finite(
        state, torch.float16, "it holds numbers that float16 has not; scale them"
    )
    told = (
        {}
        if is_model
        else beside(source, families.sizes_of(found.state).get("embed_dim"))
    )
    if is_model:  # what no weights tell, as a config.json does
        config = getattr(source, "config", None)
        told = (
            config.to_dict()
            if hasattr(config, "to_dict")
            else dict(getattr(source, "pretrained_cfg", {}))
        )
        norms = [
            part.eps for part in source.modules() if isinstance(part, nn.LayerNorm)
        ]
        parts = (getattr(part, "num_heads", None) for part in source.modules())
        heads = [number for number in parts if isinstance(number, int)]
        told |= {"layer_norm_eps": norms[0]} | (
            {"num_attention_heads": heads[0]} if heads else {}
        )
        told |= {"global_pool": getattr(source, "global_pool", "token")}
    kinds = ((name, pattern) for name, (pattern, _) in families.FAMILIES.items())
    family = next(name for name, pattern in kinds if re.search(pattern, found.text))
    told |= {"library": found.library, "family": family} | (
        {} if classes is None else {"classes": list(classes)}
    )
    name = type(source).__name__ if is_model else Path(source).name
    given = {"name": name, "told": told, "file": base64.b64encode(save(state)).decode()}
    return f"window.vitGiven = {json.dumps(given, default=str)};\n".replace(
        "</", "<\\/"
    )
