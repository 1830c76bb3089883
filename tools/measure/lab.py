"""Measures what the ViT lab's tour tells: how many answers change when something is done to all pictures alike.

    python -m tools.measure.lab            # some minutes on two cores; CIFAR-10 where it is at hand

Writes vitlib/results/lab.json: for each model with a lab, over 1,000 pictures that it was not trained on, the share
of answers that each intervention changes and the accuracy it leaves; where chance is in it, the mean of three draws.
The pictures are held-out ones of CIFAR-10's training set, and drawings made anew; no test image is read.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from page.explorers import LABS
from vitlib.data.cifar10 import find_cifar10
from vitlib.data.dataset import Dataset, load_dataset, normalize
from vitlib.data.drawn10 import DRAWN10_CLASSES, load_drawn10
from vitlib.evidence import RESULTS, load_results, provenance, summarize
from vitlib.explain.erasing import intervene
from vitlib.explain.lens import logit_lens
from vitlib.files import write_json
from vitlib.weights.pretrained import load_pretrained

IMAGES = 1000
SEEDS = 3
P, GRID = 4, 8
PLACES = torch.arange(GRID**2).view(GRID, GRID)


def interventions(draw: torch.Generator, heads: int, layers: int) -> dict[str, dict]:
    """Every intervention of the tour, as arguments of `intervene`; "paint" stands for places that become grey."""
    shuffled = torch.randperm(GRID**2, generator=draw).tolist()
    half = shuffled[:32]
    swapped = list(range(GRID**2))
    swapped[half[0]], swapped[half[1]] = half[1], half[0]
    border = [n for n in range(GRID**2) if n // GRID in (0, 7) or n % GRID in (0, 7)]
    # of each row, in a random order
    columns = torch.rand(GRID, GRID, generator=draw).argsort(1)
    upside = PLACES.roll(4, 0)
    blocks = torch.randperm(GRID**2 // 4, generator=draw).view(GRID // 2, GRID // 2)
    # where a block of 2 x 2 begins
    corners = blocks // (GRID // 2) * 2 * GRID + blocks % (GRID // 2) * 2
    inside = torch.tensor([[0, 1], [GRID, GRID + 1]])
    whole = (corners[:, None, :, None] + inside[None, :, None, :]).reshape(GRID, GRID)
    return {
        "remove 32 at random": {"remove": half},
        "paint 32 at random": {"paint": half},
        "remove the border": {"remove": border},
        "keep only the border": {"remove": sorted(set(range(GRID**2)) - set(border))},
        "swap two at random": {"order": swapped},
        "shuffle all": {"order": shuffled},
        "swap quadrants": {"order": PLACES.roll((4, 4), (0, 1)).flatten().tolist()},
        "move 2 x 2 blocks at random": {"order": whole.flatten().tolist()},
        "swap left and right": {"order": PLACES.roll(4, 1).flatten().tolist()},
        "swap top and bottom": {"order": upside.flatten().tolist()},
        "swap top and bottom, shuffle inside rows": {
            "order": upside.gather(1, columns).flatten().tolist()
        },
        "mirror": {"order": PLACES.flip(1).flatten().tolist()},
        "positions to zero": {"positions": "none"},
        "shuffle all, positions to zero": {"order": shuffled, "positions": "none"},
        **{
            f"head {head} of layer {layer} off": {"heads": [(layer, head)]}
            for layer in range(layers)
            for head in range(heads)
        },
    }


def answers(
    model, images: torch.Tensor, paint: list[int] | tuple = (), **what
) -> torch.Tensor:
    """The predicted classes (n,) of uint8 images (n, 3, H, W)."""
    if paint:
        images = images.clone()
        for n in paint:
            row, col = n // GRID * P, n % GRID * P
            images[:, :, row : row + P, col : col + P] = 128
    return torch.cat(
        [
            intervene(model, normalize(batch), **what).argmax(1)
            for batch in images.split(250)
        ]
    )


def unseen(name: str) -> Dataset:
    """Pictures that the model was not trained on."""
    if name.startswith("cifar10"):
        held = load_dataset("cifar10").hold_out(2500)[1]
        return replace(held, images=held.images[:IMAGES], labels=held.labels[:IMAGES])
    return Dataset(
        *load_drawn10("test", n=IMAGES, seed=1), DRAWN10_CLASSES, "Drawn-10", "drawn10"
    )


def measure(name: str) -> dict:
    """All interventions on one model."""
    model, card = load_pretrained(name)
    data = unseen(name)
    plain, found = answers(model, data.images), {}
    for seed in range(SEEDS):
        draw = torch.Generator().manual_seed(seed)
        for what, arguments in interventions(
            draw, model.cfg.num_heads, model.cfg.depth
        ).items():
            got = answers(model, data.images, **arguments)
            entry = found.setdefault(what, {"changed": [], "accuracy": []})
            entry["changed"].append((got != plain).double().mean().item())
            entry["accuracy"].append((got == data.labels).double().mean().item())
    rows = {
        what: {key: summarize(values) for key, values in entry.items()}
        for what, entry in found.items()
    }
    accuracy = (plain == data.labels).double().mean().item()
    return {
        "dataset": data.label,
        "n": len(data),
        "accuracy": accuracy,
        "interventions": rows,
        "lens": lens(model, data.images),
    }


def lens(model, images: torch.Tensor) -> list[float]:
    """The share of images whose answer, read after 0, 1, ... blocks, is the last one."""
    read = (
        (lambda x: x[:, :, 0])
        if model.cfg.global_pool == "token"
        else (lambda x: x[:, :, 1:].mean(2))
    )
    # (L + 1, B, K) each
    logits = [read(logit_lens(model, normalize(batch))) for batch in images.split(250)]
    steps = torch.cat(logits, dim=1).argmax(-1)
    return (steps == steps[-1]).double().mean(1).tolist()


def main() -> None:
    """Measures every model whose data are here; others keep what was measured before."""
    path = RESULTS / "lab.json"
    models = load_results("lab")["models"] if path.is_file() else {}
    for name in LABS:
        if name.startswith("cifar10") and find_cifar10() is None:
            print(f"{name}: CIFAR-10 is not here; what was measured before stays")
            continue
        models[name] = measure(name)
    datasets = " and ".join(
        dict.fromkeys(entry["dataset"] for entry in models.values())
    )
    header = provenance(datasets, torch.device("cpu"), "fp32")
    record = {"name": "lab", **header, "command": "python -m tools.measure.lab"}
    record["models"] = {name: models[name] for name in LABS if name in models}
    write_json(path, record)


if __name__ == "__main__":
    main()
