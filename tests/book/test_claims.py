"""What the prose says of numbers: verdicts follow from the results, and no measured number is typed by hand."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pages import CHAPTERS, ROOT, code_cells, prose, source, tags

import vitlib as vl
from vitlib.explain.scores import BASELINES
from vitworkshop.studies import masked, transfer
from vitworkshop.studies.compute import Frontier
from vitworkshop.studies.data_size import SIZES
from vitworkshop.studies.families import BASE, FAMILIES
from vitworkshop.studies.recipe_ladder import INGREDIENTS
from vitworkshop.studies.registry import STUDIES

PAGES = [*CHAPTERS, *sorted((ROOT / "book").glob("*.md"))]
KEPT_BY_A_TOOL = {"api.md"}  # `python -m tools.site.api` writes it


# ------------------------------------------------------------------------------- sentences that rest on results


def result(name: str) -> dict:
    return vl.load_results(name)


def verdict(study: str, says: str) -> str:
    return result(study)["verdicts"][says]["verdict"]


def stems_are_decided() -> bool:
    """Whether a stem is ahead of plain patches, and overlapping ones behind, by the rule."""
    ahead, behind = result("stems")["verdicts"].values()
    return ahead["verdict"] == "agrees" and behind["verdict"] == "differs" and behind["interval"][1] < 0


def mirroring(way: str) -> dict:
    """What chapter 03's study found of the likeness of places and their mirror images, this way."""
    return next(found for claim, found in result("mirroring")["verdicts"].items() if way in claim)


def shape_scores(longer: bool) -> list[float]:
    """Accuracy of each run of chapter 12 with the base trained longer, or with everything else."""
    runs = result("shape")["runs"]
    return [
        one["final"]["val_accuracy"] for one in runs if one["variant"].startswith("base, longer") == longer
    ]


def certainly_below_zero(study: str, says: str) -> bool:
    return result(study)["verdicts"][says]["interval"][1] < 0


def minutes(what: str) -> dict:
    """What chapter 10's study found of an ingredient at equal core-minutes."""
    return next(found for claim, found in result("minutes")["verdicts"].items() if claim.startswith(what))


def seconds_an_epoch(variant: str) -> float:
    """The mean of all epochs of a variant of chapter 10's study."""
    runs = [run for run in result("minutes")["runs"] if run["variant"] == variant]
    return statistics.fmean(row["seconds"] for run in runs for row in run["epochs"])


def mean(study: str, variant: str) -> float:
    return result(study)["summary"][variant]["mean"]


def finals(study: str, variant: str) -> list[dict]:
    """What each run of a variant ended with."""
    return [run["final"] for run in result(study)["runs"] if run["variant"] == variant]


def mac(study: str, variant: str) -> float:
    """Millions of multiply-accumulates of a variant's forward pass."""
    (found,) = {final["million_macs"] for final in finals(study, variant)}
    return found


def vit_b_macs(attention: str, side: int, depth: int = 12) -> int:
    return vl.count_macs(vl.ViTConfig.preset("vit-b/16", img_size=side, attention=attention, depth=depth))


def transfer_best(way: str) -> float:
    """Mean accuracy of a way of chapter 16 at its better learning rate."""
    summary = result("transfer")["summary"]
    return max(one["mean"] for name, one in summary.items() if name.startswith(f"{way}, lr="))


def transfer_epochs(variant: str) -> int:
    """Passes of each run of a variant of chapter 16 over its pictures."""
    (passes,) = {len(run["epochs"]) for run in result("transfer")["runs"] if run["variant"] == variant}
    return passes


def better_rate(family: str, size: int) -> float:
    """Mean accuracy of a family of chapter 11 at the better of its learning rates."""
    summary = result("data-size")["summary"]
    return max(one["mean"] for name, one in summary.items() if name.startswith(f"{family}, {size:,} images"))


def by_seed(variant: str, metric: str = "val_accuracy") -> list[float]:
    """What each seed of a variant of chapter 11 ended with, seed 0 first."""
    runs = sorted(result("data-size")["runs"], key=lambda run: run["seed"])
    return [run["final"][metric] for run in runs if run["variant"] == variant]


def few_shots(variant: str) -> float:
    return statistics.fmean(by_seed(variant, "few_shot_accuracy"))


def open_below_three_seeds(study: str) -> bool:
    """Whether no verdict was passed on fewer than three seeds."""
    return all(one["verdict"] == "open" or one.get("n", 0) >= 3 for one in result(study)["verdicts"].values())


def masked_steps(variant: str) -> set[int]:
    """Steps of each run of a variant of chapter 17, before and in fine-tuning; incomplete batches are left out."""
    study, size = result("masked"), result("masked")["base"]["batch_size"]
    labelled = study["n_train"] // masked.PARTS
    return {
        len(run["before"]) * ((study["n_train"] - labelled) // size) + len(run["epochs"]) * (labelled // size)
        for run in study["runs"]
        if run["variant"] == variant
    }


def waves_lead(study: str) -> list[float]:
    """By epoch: mean lead of sines and cosines over the learned table."""
    curves = {"sincos2d": [], "learned": []}
    for run in result(study)["runs"]:
        if run["variant"] in curves:
            curves[run["variant"]].append([epoch["val_accuracy"] for epoch in run["epochs"]])
    means = [[sum(epoch) / len(epoch) for epoch in zip(*curves[kind], strict=True)] for kind in curves]
    return [first - second for first, second in zip(*means, strict=True)]


def passes(explanation: str, what: str, *erasers: str) -> list[str]:
    """Chapter 14's rule, for each model and eraser, against the best order that knows nothing."""
    found, sign = [], {"deletion": -1, "insertion": 1}[what]
    for kinds in result("faithfulness")["models"].values():
        for eraser in set(erasers) & kinds.keys():
            rows = {name: row[what] for name, row in kinds[eraser]["explanations"].items()}
            best = max((rows[name] for name in BASELINES), key=lambda row: sign * row["mean"])
            mine = rows[explanation]
            gap, error = (
                sign * (mine["mean"] - best["mean"]),
                math.hypot(mine["sd"], best["sd"]) / mine["n"] ** 0.5,
            )
            found.append("passes" if gap > 2 * error else "fails" if gap < -2 * error else "open")
    return found


def families() -> dict[str, Frontier]:
    """Chapter 12's frontiers: family -> its variants that no cheaper one equals."""
    runs, names = result("compute")["runs"], result("compute")["summary"]
    kinds = ("ViT", "ResNet", "hybrid")
    return {k: Frontier(runs, tuple(n for n in names if n.startswith(k)), "val_accuracy") for k in kinds}


def points(family: Frontier) -> tuple[np.ndarray, np.ndarray]:
    """The logarithm of a frontier's computes, and its mean errors."""
    accuracy = [statistics.fmean(family.scores[name].values()) for name in family.names]
    return np.array(family.compute), 1 - np.array(accuracy)


def resnets_lead() -> bool:
    """Whether their curve is above both others at every compute that it shares with them."""
    curves = {kind: points(family) for kind, family in families().items()}
    x, e = curves.pop("ResNet")
    for x2, e2 in curves.values():
        at = np.linspace(max(x[0], x2[0]), min(x[-1], x2[-1]), 200)
        if (np.interp(at, x, e) >= np.interp(at, x2, e2)).any():
            return False
    return True


def floors(family: Frontier) -> list[tuple[float, float]]:
    """Chapter 12's laws with a floor of 0, 0.1, 0.2: misfit, and the logarithm of the compute for 30 % error."""
    x, error = points(family)
    found = []
    for floor in (0.0, 0.1, 0.2):
        slope, start = np.polyfit(x, np.log(error - floor), 1)
        misfit = np.std(np.log(error) - np.log(floor + np.exp(start + slope * x)))
        found.append((float(misfit), float((math.log(0.3 - floor) - start) / slope)))
    return found


def half_is_beyond(family: Frontier) -> bool:
    """Whether half the error costs more than the factor between the cheapest and the dearest point."""
    x, error = points(family)
    return math.log(2) / -np.polyfit(x, np.log(error), 1)[0] > x[-1] - x[0]


# page, words that stand there, and what must hold of the results for them to stand
SHAPES = ("8 deep", "17 deep", "192 wide", "237 wide", "MLP 384", "MLP 1512")  # of chapter 12
POOLING_RATES = ("0.00025", "0.001", "0.004", "0.016")
SENTENCES = [
    (
        "02-patch-embedding",
        "Here the stem is ahead of plain patches, as in {cite:t}`xiao2021`, and the overlapping ones are behind.",
        stems_are_decided,
    ),
    (
        "questions",
        "So the stem is ahead, and the overlapping layer behind.",
        stems_are_decided,
    ),
    (
        "03-position",
        "without one mirrored picture the likeness left to right is as large",
        lambda: max(map(abs, mirroring("left to right")["interval"])) < 0.1,
    ),
    (
        "03-position",
        "(Upside down, where it is small in both, it is a little larger with mirroring.",
        lambda: (
            0 < mirroring("upside down")["interval"][0]
            and all(
                run["final"]["upside_down"] < run["final"]["left_right"] / 3
                for run in result("mirroring")["runs"]
            )
        ),
    ),
    (
        "04-resolution",
        "a model's places are as like their mirror images when it saw no mirrored picture",
        lambda: max(map(abs, mirroring("left to right")["interval"])) < 0.1,
    ),
    (
        "03-position",
        "In the paper the kinds lie within a fraction of a point of each other",
        lambda: (
            max(
                v := [
                    result("paper")["table_8"]["1d"]["stem"],
                    result("paper")["table_8"]["2d"]["stem"],
                    result("paper")["table_8"]["relative"],
                ]
            )
            - min(v)
            < 0.01
        ),
    ),
    (
        "03-position",
        "In the published runs on CIFAR-10 they lead, with rotary ones second",
        lambda: (
            [
                k
                for k, v in sorted(
                    ((k, v) for k, v in result("paper")["cifar10_positions"].items() if k != "source"),
                    key=lambda kv: -kv[1],
                )
            ][:2]
            == ["relative", "rope"]
        ),
    ),
    (
        "03-position",
        "found the three within half a point of each other",
        lambda: (
            max(result("paper")["table_8"]["1d"].values()) - min(result("paper")["table_8"]["1d"].values())
            < 0.005
            and max(result("paper")["table_8"]["2d"].values())
            - min(result("paper")["table_8"]["2d"].values())
            < 0.005
        ),
    ),
    (
        "03-position",
        "in the third block the lead of the first epoch is gone at the end",
        lambda: (
            (lead := waves_lead("positions-longer"))[0] > 0.03
            and lead[-1] < 0
            and result("positions-longer")["n_train"] > 2 * result("positions")["n_train"]
        ),
    ),
    (
        "03-position",
        "sines and cosines are in front, but the longer run of two seeds, above, had the learned table level",
        lambda: (
            max(summary := result("positions")["summary"], key=lambda kind: summary[kind]["mean"])
            == "sincos2d"
            and abs(waves_lead("positions-longer")[-1]) < 0.01
            and result("positions-longer")["summary"]["learned"]["n"] == 2
        ),
    ),
    (
        "04-resolution",
        "at most one point apart**, at every size and in every model",
        lambda: all(
            abs(r["final"]["change"]) < 0.0101
            for r in result("resolution")["runs"]
            if r["method"] == "plain bicubic"
        ),
    ),
    (
        "04-resolution",
        "24 × 24 both bilinear ways are behind bicubic in the Drawn-10 models, and plain bicubic is not.",
        lambda: (
            all(
                mean("resolution", f"drawn10-token: {m} 24x24")
                < mean("resolution", "drawn10-token: bicubic 24x24") - 0.01
                for m in ("bilinear", "ends aligned")
            )
            and abs(
                mean("resolution", "drawn10-token: plain bicubic 24x24")
                - mean("resolution", "drawn10-token: bicubic 24x24")
            )
            < 0.005
        ),
    ),
    (
        "04-resolution",
        "On larger squares all four are about equal.",
        lambda: all(
            abs(mean("resolution", f"{g}: {m} {s}") - mean("resolution", f"{g}: bicubic {s}")) < 0.005
            for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
            for m in ("plain bicubic", "bilinear", "ends aligned")
            for s in ("40x40", "48x48")
        ),
    ),
    (
        "04-resolution",
        "Nearest is behind in the Drawn-10 models at all six sizes.",
        lambda: all(
            mean("resolution", f"drawn10-token: nearest {s}")
            < mean("resolution", f"drawn10-token: bicubic {s}") - 0.01
            for s in ("24x24", "40x40", "48x48", "24x40", "40x32", "48x32")
        ),
    ),
    (
        "04-resolution",
        "One line, swapped and first $N$ cost points on every rectangle**, in all models.",
        lambda: all(
            mean("resolution", f"{g}: {m} {s}") < mean("resolution", f"{g}: bicubic {s}") - 0.02
            for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
            for m in ("one line", "swapped", "first N")
            for s in ("24x40", "40x32", "48x32")
        ),
    ),
    (
        "04-resolution",
        "here and there wrong positions are worse than none",
        lambda: any(
            mean("resolution", f"{g}: {m} {s}") < mean("resolution", f"{g}: mean {s}") - 0.02
            for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
            for m in ("one line", "first N")
            for s in ("24x24", "40x40", "48x48", "24x40")
        ),
    ),
    (
        "04-resolution",
        "at 64 the content costs many points in every model, and the grid nothing, or less than nothing",
        lambda: all(
            mean("resolution", f"{g}: bicubic {s}") < mean("resolution", f"{g}: places alone {s}") - 0.05
            and mean("resolution", f"{g}: places alone {s}") >= mean("resolution", f"{g}: as trained 32x32")
            for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
            for s in ("48x48", "64x64")
        ),
    ),
    (
        "04-resolution",
        "At 28 the grid costs more than the content, in every model.",
        lambda: all(
            mean("resolution", f"{g}: bicubic 28x28") - mean("resolution", f"{g}: content alone 28x28")
            < mean("resolution", f"{g}: content alone 28x28") - mean("resolution", f"{g}: as trained 32x32")
            for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
        ),
    ),
    (
        "04-resolution",
        "At 24 the content costs more in the Drawn-10 models",
        lambda: (
            mean("resolution", "drawn10-token: content alone 24x24")
            - mean("resolution", "drawn10-token: as trained 32x32")
            < mean("resolution", "drawn10-token: bicubic 24x24")
            - mean("resolution", "drawn10-token: content alone 24x24")
            - 0.02
        ),
    ),
    (
        "04-resolution",
        "With resampled positions the models still lose accuracy, more at 24 and at 48 than near 32.",
        lambda: all(
            max(mean("resolution", f"{g}: bicubic {s}") for s in ("24x24", "48x48"))
            < min(mean("resolution", f"{g}: bicubic {s}") for s in ("36x36", "28x28"))
            for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
        ),
    ),
    (
        "04-resolution",
        "cost many points, without an error; which interpolation in two dimensions matters far less.",
        lambda: (
            min(
                mean("resolution", f"{g}: bicubic 24x40") - mean("resolution", f"{g}: {m} 24x40")
                for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
                for m in ("one line", "swapped", "first N")
            )
            > 2
            * max(
                abs(mean("resolution", f"{g}: bicubic 24x40") - mean("resolution", f"{g}: {m} 24x40"))
                for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
                for m in ("plain bicubic", "bilinear", "ends aligned")
            )
        ),
    ),
    (
        "04-resolution",
        "size the models lose to the *scale of the content*, not to the new grid; below it to both.",
        lambda: (
            all(
                mean("resolution", f"{g}: bicubic {s}") < mean("resolution", f"{g}: places alone {s}") - 0.02
                for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
                for s in ("40x40", "48x48", "64x64")
            )
            and all(
                mean("resolution", f"{g}: bicubic 24x24")
                < mean("resolution", f"{g}: content alone 24x24")
                < mean("resolution", f"{g}: as trained 32x32")
                for g in ("drawn10-token", "cifar10-plain", "cifar10-modern")
            )
        ),
    ),
    (
        "06-encoder",
        "with sums learns the drawings, and without them it is still at guessing after a thousand steps.",
        lambda: (
            verdict("residuals", "at 0.002, a model without residuals has more loss left after 1,000 steps")
            == "agrees"
            and mean("residuals", "with lr=0.002") < 0.1
            and mean("residuals", "without lr=0.002") > 2
        ),
    ),
    (
        "06-encoder",
        "lower rate both learn them: without sums it takes longer, and in the end no difference is left.",
        lambda: (
            verdict("residuals", "at 0.0003, a model without residuals has more loss left after 100 steps")
            == "agrees"
            and verdict(
                "residuals", "at 0.0003, a model without residuals has more loss left after 1,000 steps"
            )
            == "differs"
            and mean("residuals", "with lr=0.0003") < 0.1
            and mean("residuals", "without lr=0.0003") < 0.1
        ),
    ),
    (
        "06-encoder",
        "pre-norm learns without a warm-up and post-norm stays at guessing",
        lambda: (
            verdict("norm-order", "post-norm at the highest rate is left with more loss than pre-norm")
            == "agrees"
            and mean("norm-order", "pre lr=0.002 init=xavier") < 0.2
            and mean("norm-order", "post lr=0.002 init=xavier") > 2
        ),
    ),
    (
        "06-encoder",
        "At the lowest rate post-norm learns, too.",
        lambda: mean("norm-order", "post lr=0.0003 init=xavier") < 1,
    ),
    (
        "06-encoder",
        "without it the seeds lie so far apart that the verdict is *open*",
        lambda: (
            verdict("norm-order", "a warm-up takes loss away from post-norm at 0.001") == "open"
            and mean("norm-order", "post lr=0.001 init=xavier warm-up")
            < mean("norm-order", "post lr=0.001 init=xavier")
            and result("norm-order")["summary"]["post lr=0.001 init=xavier"]["sd"] > 0.3
        ),
    ),
    (
        "06-encoder",
        "At 0.002 a warm-up with a decay has less loss left than a decay alone",
        lambda: (
            mean("norm-order", "post lr=0.002 init=xavier warm-up decay")
            < mean("norm-order", "post lr=0.002 init=xavier decay") - 0.5
        ),
    ),
    (
        "06-encoder",
        "both orders learn at the highest rate",
        lambda: (
            max(mean("norm-order", "pre lr=0.002 init=0.02"), mean("norm-order", "post lr=0.002 init=0.02"))
            < 1
        ),
    ),
    (
        "06-encoder",
        "among the three that learn the order does not hold",
        lambda: (
            mean("norm-order", "post lr=0.002 init=0.02") > mean("norm-order", "pre lr=0.002 init=xavier")
        ),
    ),
    (
        "07-cls-or-gap",
        "so the first line is *open*, although the two tops are nearer to each other than two seeds of CLS are.",
        lambda: (
            verdict("pooling", "CLS and GAP do equally well, each at its own learning rate") == "open"
            and abs(mean("pooling", "token lr=0.001") - mean("pooling", "avg lr=0.001"))
            < result("pooling")["summary"]["token lr=0.001"]["sd"]
        ),
    ),
    (
        "07-cls-or-gap",
        "In our runs it is behind CLS at the smallest rate and ahead at the two largest.",
        lambda: (
            all(
                max(POOLING_RATES, key=lambda r: mean("pooling", f"{pool} lr={r}")) == "0.001"
                for pool in ("token", "avg")
            )
            and mean("pooling", "avg lr=0.00025") < mean("pooling", "token lr=0.00025") - 0.02
            and mean("pooling", "avg lr=0.004") > mean("pooling", "token lr=0.004") + 0.01
            and mean("pooling", "avg lr=0.016") > mean("pooling", "token lr=0.016") + 0.05
        ),
    ),
    (
        "07-cls-or-gap",
        "**A hidden layer in the head costs accuracy**, read from CLS. Read from GAP the mean is lower, too, and the "
        "verdict open.",
        lambda: (
            [
                verdict(
                    "pooling", f"read from {pool}, a head with a hidden layer does as well as a linear one"
                )
                for pool in ("CLS", "GAP")
            ]
            == ["differs", "open"]
            and mean("pooling", "token mlp lr=0.001") < mean("pooling", "token lr=0.001")
            and mean("pooling", "avg mlp lr=0.001") < mean("pooling", "avg lr=0.001")
        ),
    ),
    (
        "07-cls-or-gap",
        "the next rate of the grid, in either direction, costs either of them more than the exchange of one pooling "
        "for the other at its best.",
        lambda: (
            min(
                mean("pooling", f"{pool} lr=0.001") - mean("pooling", f"{pool} lr={rate}")
                for pool in ("token", "avg")
                for rate in ("0.00025", "0.004")
            )
            > abs(mean("pooling", "token lr=0.001") - mean("pooling", "avg lr=0.001"))
        ),
    ),
    (
        "03-position",
        "In all four pairs the mean is higher where positions come before every block; with 2-D tables three seeds "
        "decide it.",
        lambda: (
            all(
                mean("position-entry", f"{kind}, {place}") > mean("position-entry", f"{kind}, stem")
                for kind in ("1-D", "2-D")
                for place in ("every", "shared")
            )
            and [v["verdict"] for k, v in result("position-entry")["verdicts"].items() if "2-D table" in k]
            == ["differs", "differs"]
        ),
    ),
    (
        "08-whole-vit",
        "At the end 0.5 is far behind and no deviation is shown to be ahead of 0.02",
        lambda: (
            all(
                v["verdict"] != "agrees" and ("0.5 is" not in says or v["interval"][1] < -0.05)
                for says, v in result("initialisation")["verdicts"].items()
                if says.endswith("after the last")
            )
            and vl.ViTConfig().init_std == 0.02
        ),
    ),
    (
        "09-training",
        "no recipe is shown to be ahead of another at this length",
        lambda: all(v["verdict"] == "open" for v in result("recipes")["verdicts"].values()),
    ),
    (
        "09-training",
        "ends more than ten points behind the same recipe with crop and flip alone",
        lambda: (
            mean("recipes", "modern, strong") < mean("recipes", "modern, no RandAugment") - 0.1
            and result("recipes")["summary"]["modern, strong"]["n"] >= 3
        ),
    ),
    (
        "09-training",
        "The modern preset is not among the runs at all",
        lambda: (
            not any(
                (r["recipe"]["randaugment"], r["recipe"]["magnitude"], r["recipe"]["lr"])
                == (vl.RECIPES["modern"].randaugment, vl.RECIPES["modern"].magnitude, vl.RECIPES["modern"].lr)
                for r in result("recipe-choice")["runs"]
            )
        ),
    ),
    (
        "09-training",
        "and its learning rate was never varied",
        lambda: (
            len(
                {r["recipe"]["lr"] for r in result("recipe-choice")["runs"] if r["name"].startswith("modern")}
            )
            == 1
        ),
    ),
    (
        "09-training",
        "The largest step is the first one",
        lambda: (
            result("paper")["cifar10_from_scratch"]["ViT-Lite-7/4, 300 epochs"]
            - result("cifar10-modern")["final"]["test_accuracy"]
            > result("paper")["table_6"]["B/16"]["cifar10"]
            - result("paper")["cifar10_from_scratch"]["ViT-Lite-7/4, 300 epochs"]
        ),
    ),
    (
        "09-training",
        "Plain and modern differ in their epochs and their read-out as well",
        lambda: (
            len(result("cifar10-plain")["epochs"]) != len(result("cifar10-modern")["epochs"])
            and result("cifar10-plain")["config"]["global_pool"]
            != result("cifar10-modern")["config"]["global_pool"]
        ),
    ),
    (
        "09-training",
        "each of these runs has one, `cifar10-muon` two more",
        lambda: (
            all(
                isinstance(result(n)["seed"], int)
                for n in ("drawn10-small", "cifar10-plain", "cifar10-modern")
            )
            and [result(f"cifar10-muon{s}")["seed"] for s in ("", "-s1", "-s2")] == [0, 1, 2]
        ),
    ),
    (
        "10-recipe",
        "RandAugment is the laptop's, mixing and DropPath are the full scale's",
        lambda: (
            (laptop := vl.RECIPES["modern"]).randaugment == INGREDIENTS["RandAugment"]["randaugment"]
            and laptop.magnitude == INGREDIENTS["RandAugment"]["magnitude"]
            and not laptop.mixup + laptop.cutmix + laptop.model.drop_path_rate
            and (full := vl.recipe("modern", "full")).model.drop_path_rate
            == INGREDIENTS["DropPath"]["model.drop_path_rate"]
            and all(getattr(full, k) == v for k, v in INGREDIENTS["Mixup and CutMix"].items())
        ),
    ),
    (
        "10-recipe",
        "the ladder's 936 steps never get to its 0.995",
        lambda: (
            (steps := (base := result("recipe-ladder")["base"])["epochs"] * (10_000 // base["batch_size"]))
            == 936
            and result("recipe-ladder")["n_train"] == 10_000
            and steps / (9 + steps) < INGREDIENTS["EMA"]["ema_decay"] == 0.995
        ),
    ),
    (
        "10-recipe",
        "the smallest difference that would matter: one point of accuracy",
        lambda: {claim.margin for claim in STUDIES["recipe-ladder"].claims} == {0.01},
    ),
    (
        "10-recipe",
        "all have the plain recipe's, and no clipping",
        lambda: (
            result("recipe-ladder")["base"]["lr"] == vl.RECIPES["plain"].lr
            and result("recipe-ladder")["base"]["clip_norm"] == 0
            and not any(
                {"lr", "clip_norm"} & run["changes"].keys() for run in result("recipe-ladder")["runs"]
            )
        ),
    ),
    (
        "10-recipe",
        "Four rungs were also trained for four times as many epochs.",
        lambda: (
            {
                len(run["epochs"]) / result("recipe-ladder")["base"]["epochs"]
                for run in result("recipe-ladder")["runs"]
                if run["variant"]
                in {
                    f"{rung}, four times as long"
                    for rung in ("plain", "up to crop", "up to Mixup and CutMix", "up to EMA")
                }
            }
            == {4}
        ),
    ),
    (
        "10-recipe",
        "Only 'up to crop' and 'up to Mixup and CutMix' differ in strong augmentation alone.",
        lambda: (
            {
                name
                for run in result("recipe-ladder")["runs"]
                if run["variant"] == "up to Mixup and CutMix"
                for name in run["changes"]
            }
            - {
                name
                for run in result("recipe-ladder")["runs"]
                if run["variant"] == "up to crop"
                for name in run["changes"]
            }
            == {"randaugment", "magnitude", "mixup", "cutmix", "mix_off"}
        ),
    ),
    (
        "10-recipe",
        "Of all rungs one helps, AdamW, and it gives back what coupled decay took.",
        lambda: (
            [n for n in INGREDIENTS if verdict("recipe-ladder", f"adding {n} helps") == "agrees"] == ["AdamW"]
            and abs(mean("recipe-ladder", "up to AdamW") - mean("recipe-ladder", "plain")) < 0.01
            and certainly_below_zero("recipe-ladder", "adding decay helps")
        ),
    ),
    (
        "10-recipe",
        "RandAugment, Mixup and CutMix cost, whether they are added or left in.",
        lambda: all(
            certainly_below_zero("recipe-ladder", says.format(name))
            for name in ("RandAugment", "Mixup and CutMix")
            for says in ("adding {} helps", "leaving out {} alone costs accuracy")
        ),
    ),
    (
        "10-recipe",
        "The former's loss does not turn, so strong augmentation had no turn to prevent, and even at this length it "
        "costs accuracy.",
        lambda: (
            all(
                run["epochs"][-1]["val_loss"] - min(row["val_loss"] for row in run["epochs"]) < 0.01
                for run in result("recipe-ladder")["runs"]
                if run["variant"] == "up to crop, four times as long"
            )
            and certainly_below_zero(
                "recipe-ladder", "RandAugment, Mixup and CutMix together help, four times as long"
            )
        ),
    ),
    (
        "10-recipe",
        "The whole recipe is now ahead of the plain one; 'up to crop' is ahead of both.",
        lambda: (
            verdict("recipe-ladder", "all together are ahead of the plain recipe, four times as long")
            == "agrees"
            and min(
                final["val_accuracy"] for final in finals("recipe-ladder", "up to crop, four times as long")
            )
            > max(
                final["val_accuracy"]
                for rung in ("plain", "up to EMA")
                for final in finals("recipe-ladder", f"{rung}, four times as long")
            )
        ),
    ),
    (
        "10-recipe",
        "Each at its best rate, Muon is far ahead of AdamW, which in these few minutes gets hardly beyond ridge "
        "regression on the pixels.",
        lambda: (
            minutes("Muon is ahead")["interval"][0] > 0.1
            and mean("minutes", minutes("Muon is ahead")["second"])
            < mean("minutes", "pixels, ridge regression") + 0.03
        ),
    ),
    (
        "10-recipe",
        "bfloat16 adds to it on this processor, half of the patches add to both.",
        lambda: all(minutes(what)["verdict"] == "agrees" for what in ("bfloat16", "half of the patches")),
    ),
    (
        "10-recipe",
        "The stem, ahead at equal *epochs* in {doc}`chapter 02 <02-patch-embedding>`, is behind at equal minutes: its "
        "epochs are dearer, and only one rate was tried.",
        lambda: (
            stems_are_decided()
            and minutes("a convolutional stem")["interval"][1] < 0
            and seconds_an_epoch("Muon, stem") > 1.2 * seconds_an_epoch("Muon, lr=0.01")
            and sum("stem" in name for name in result("minutes")["summary"]) == 1
        ),
    ),
    (
        "10-recipe",
        "AdamW and Muon have four rates each, the others the one that was best in a pilot.",
        lambda: all(
            sum(name.startswith(f"{side}, lr=") for name in result("minutes")["summary"]) == 4
            and not minutes("Muon is ahead")[place].endswith(edges)
            for side, place, edges in (
                ("AdamW", "second", ("=0.001", "=0.008")),
                ("Muon", "first", ("=0.005", "=0.04")),
            )
        ),
    ),
    (
        "11-inductive-bias",
        "The curves of all three models turn up again towards eight pixels, and that of the pixels does not.",
        lambda: all(
            (run["final"]["cosine_8"] > run["final"]["cosine_5"]) != run["variant"].startswith("pixels")
            for run in result("inductive-bias")["runs"]
            if "as they are" in run["variant"]
        ),
    ),
    (
        "11-inductive-bias",
        "On shuffled pixels nothing turns up at eight.",
        lambda: all(
            run["final"]["cosine_8"] < run["final"]["cosine_7"] < run["final"]["cosine_5"]
            for run in result("inductive-bias")["runs"]
            if "pixels shuffled" in run["variant"]
        ),
    ),
    (
        "11-inductive-bias",
        'With fewer than three seeds a verdict is always "open".',
        lambda: open_below_three_seeds("inductive-bias") and open_below_three_seeds("data-size"),
    ),
    (
        "11-inductive-bias",
        "at the learning rate that all sizes share. At both ends each model had a second one as well",
        lambda: (
            {run["changes"].get("lr", 0.001) for run in result("data-size")["runs"]} == {0.001, 0.003}
            and {
                run["changes"]["n_train"]
                for run in result("data-size")["runs"]
                if run["changes"].get("lr") == 0.003
            }
            == {500, 45_000}
        ),
    ),
    (
        "11-inductive-bias",
        "With 500 pictures the ResNet is ahead of the ViT, as in the paper. With 45,000 it still is, and by no less.",
        lambda: (
            verdict("data-size", "with 500 images the ResNet is ahead of the ViT") == "agrees"
            and certainly_below_zero("data-size", "with 45,000 images the ViT is ahead of the ResNet")
            and better_rate("ResNet", 45_000) - better_rate("ViT", 45_000)
            > better_rate("ResNet", 500) - better_rate("ViT", 500)
        ),
    ),
    (
        "11-inductive-bias",
        "At 0.001 none of our three networks gains a point on average from 15,000 to 45,000 pictures.",
        lambda: all(
            mean("data-size", f"{family}, 45,000 images, lr=0.001")
            < mean("data-size", f"{family}, 15,000 images, lr=0.001") + 0.01
            for family in FAMILIES
        ),
    ),
    (
        "11-inductive-bias",
        'So it is with 500 pictures, and the few-shot row that "agrees" is worth as little.',
        lambda: (
            verdict("data-size", "in few-shot accuracy, with 500 images the ResNet is ahead of the ViT")
            == "agrees"
            and all(
                few_shots(name) < few_shots("pixels, 500 images")
                for name in result("data-size")["summary"]
                if ", 500 images, lr" in name
            )
        ),
    ),
    (
        "11-inductive-bias",
        "are behind the pixels at every size and at both rates; the ResNet's are ahead with every seed from 15,000",
        lambda: all(
            (few > few_shots("pixels, 500 images")) == (family == "ResNet")
            for name, cell in result("data-size")["variants"].items()
            if (family := name.partition(",")[0]) in FAMILIES
            and (family != "ResNet" or cell["n_train"] >= 15_000)
            for few in by_seed(name, "few_shot_accuracy")
        ),
    ),
    (
        "11-inductive-bias",
        "The table reads each model at the better rate for this measure, and there the ResNet's lead is larger.",
        lambda: (
            -result("data-size")["verdicts"][
                "in few-shot accuracy, with 45,000 images the ViT is ahead of the ResNet"
            ]["difference"]
            > few_shots("ResNet, 45,000 images, lr=0.001") - few_shots("ViT, 45,000 images, lr=0.001")
        ),
    ),
    (
        "11-inductive-bias",
        "The second goal lies where the ViT's curve is nearly flat: with one of the three seeds it never gets there.",
        lambda: (
            sum(
                goal > max(scores)
                for goal, scores in zip(
                    by_seed("ResNet, 1,500 images, lr=0.001"),
                    zip(*(by_seed(f"ViT, {size:,} images, lr=0.001") for size in SIZES), strict=True),
                    strict=True,
                )
            )
            == 1
        ),
    ),
    (
        "11-inductive-bias",
        "hybrid is ahead of the ViT with 500 pictures, at both rates. With 45,000 the rate decides, with every seed",
        lambda: all(
            (hybrid > vit) == (size == "500" or rate == "0.003")
            for size in ("500", "45,000")
            for rate in ("0.001", "0.003")
            for hybrid, vit in zip(
                *(by_seed(f"{family}, {size} images, lr={rate}") for family in ("hybrid", "ViT")), strict=True
            )
        ),
    ),
    (
        "11-inductive-bias",
        "Each at its better rate the hybrid's mean is higher, but by our rule that is open.",
        lambda: (
            verdict("data-size", "with 45,000 images the hybrid is ahead of the ViT") == "open"
            and better_rate("hybrid", 45_000) > better_rate("ViT", 45_000)
        ),
    ),
    (
        "11-inductive-bias",
        "Our ResNet was ahead at every size.",
        lambda: all(
            min(by_seed(f"ResNet, {size:,} images, lr=0.001"))
            > max(*by_seed(f"ViT, {size:,} images, lr=0.001"), *by_seed(f"hybrid, {size:,} images, lr=0.001"))
            for size in SIZES
        ),
    ),
    (
        "11-inductive-bias",
        "the ResNet also computes more for each picture",
        lambda: (
            vl.count_macs(vl.recipe(BASE, **FAMILIES["ResNet"]).model)
            > 1.2 * vl.count_macs(vl.recipe(BASE, **FAMILIES["ViT"]).model)
        ),
    ),
    (
        "11-inductive-bias",
        "If you expected the ResNet on top, so did the rules",
        lambda: (
            all(
                claim.first[0].startswith("ResNet")
                for claim in STUDIES["inductive-bias"].claims
                if claim.says.startswith("the ResNet's features hold better")
            )
            and all(
                min(final[f"cosine_{by}"] for final in finals("inductive-bias", "ViT, as they are, lr=0.001"))
                > max(
                    final[f"cosine_{by}"]
                    for final in finals("inductive-bias", "ResNet, as they are, lr=0.001")
                )
                for by in (1, 4, 8)
            )
        ),
    ),
    (
        "12-scaling",
        "smaller patches are ahead of depth and of width at equal compute",
        lambda: (
            verdict("shape", "half the patch side helps, with no more parameters") == "agrees"
            and verdict("shape", "at equal compute smaller patches help more than width") == "agrees"
            and certainly_below_zero("shape", "at equal compute depth helps more than smaller patches")
        ),
    ),
    (
        "12-scaling",
        "depth brought nothing, width is ahead of depth and of a wider MLP",
        lambda: (
            verdict("shape", "twice the depth helps") == "differs"
            and mean("shape", "17 deep, lr=0.001") < mean("shape", "base, lr=0.001")
            and all(
                certainly_below_zero("shape", f"at equal compute {what}")
                for what in ("depth helps more than width", "a wider MLP helps more than width")
            )
        ),
    ),
    (
        "12-scaling",
        "Depth, width and MLP do better at the lower of our two, patches and the longer run at the higher",
        lambda: all(
            (mean("shape", f"{shape}, lr=0.001") > mean("shape", f"{shape}, lr=0.002")) == lower
            for shapes, lower in ((SHAPES, True), (("patch 4", "base, longer"), False))
            for shape in shapes
        ),
    ),
    (
        "12-scaling",
        "At the higher rate width is behind the base.",
        lambda: all(
            wide["val_accuracy"] < base["val_accuracy"]
            for width in ("192 wide", "237 wide")
            for wide, base in zip(
                finals("shape", f"{width}, lr=0.002"), finals("shape", "base, lr=0.002"), strict=True
            )
        ),
    ),
    (
        "12-scaling",
        "reaches hardly less than the base, and more than the deeper shapes and the wider MLPs",
        lambda: (
            0
            < mean("shape", "base, lr=0.001") - (ridge := mean("data-size", "pixels, 45,000 images"))
            < 0.005
            and all(mean("shape", f"{shape}, lr=0.001") < ridge for shape in SHAPES if "wide" not in shape)
        ),
    ),
    (
        "12-scaling",
        "after one and after three epochs this one is behind the ViT of its own width and patch, too, with every seed",
        lambda: all(
            hybrid["val_accuracy"] < vit["val_accuracy"]
            for epochs in ("1 epoch", "3 epochs")
            for hybrid, vit in zip(
                *(finals("compute", f"{kind} 96 wide, patch 8, {epochs}") for kind in ("hybrid", "ViT")),
                strict=True,
            )
        ),
    ),
    (
        "12-scaling",
        "with 45,000 pictures the ResNet's lead was no smaller than with 500",
        lambda: (
            -(found := result("data-size")["verdicts"])["with 45,000 images the ViT is ahead of the ResNet"][
                "difference"
            ]
            > found["with 500 images the ResNet is ahead of the ViT"]["difference"]
        ),
    ),
    (
        "12-scaling",
        "both are behind the ridge regression printed above the figure",
        lambda: all(
            score < mean("data-size", "pixels, 5,000 images")
            for family in ("ViT", "hybrid")
            for score in families()[family].read(families()["hybrid"].compute[0]).values()
        ),
    ),
    (
        "12-scaling",
        "Ahead of every shape is the base, trained four times as long.",
        lambda: min(shape_scores(longer=True)) > max(shape_scores(longer=False)),
    ),
    (
        "12-scaling",
        "depth brings the most and shows gains up to 64 layers, with diminishing returns after 16",
        lambda: (
            (figure := result("paper")["figure_8"])["depth_gains_up_to"] == 64
            and figure["returns_diminish_after"] == 16
        ),
    ),
    (
        "12-scaling",
        "at least a million times further to the left",
        lambda: (
            max(2 * run["final"]["training_macs"] for run in result("compute")["runs"]) * 1e6
            < min(row["exaflops"] for row in result("paper")["table_6"].values() if isinstance(row, dict))
            * 1e18
        ),
    ),
    (
        "12-scaling",
        "trains three ViTs, three ResNets and two hybrids for one, three and nine epochs on 10,000 photographs",
        lambda: (
            sorted(Counter(name.split()[0] for name in result("compute")["summary"]).items())
            == [("ResNet", 9), ("ViT", 9), ("hybrid", 6)]
            and result("compute")["n_train"] == 10_000
            and result("compute")["dataset"].startswith("CIFAR-10")
        ),
    ),
    (
        "12-scaling",
        "the ResNets are ahead of the ViTs in the middle of the range and at its end",
        lambda: (
            certainly_below_zero("compute", "in the middle of the range the ViTs are ahead of the ResNets")
            and certainly_below_zero("compute", "with much compute the ViTs are ahead of the ResNets")
        ),
    ),
    (
        "12-scaling",
        "their curve lies above the other two wherever they share a compute",
        resnets_lead,
    ),
    (
        "12-scaling",
        "our cheapest hybrid is 96 wide and saw its pictures once, while for as much the ViTs have one half as wide",
        lambda: (
            certainly_below_zero("compute", "with little compute the hybrids are ahead of the ViTs")
            and families()["hybrid"].names[0] == "hybrid 96 wide, patch 8, 1 epoch"
            and dict(zip(families()["ViT"].names, families()["ViT"].compute, strict=True))[
                "ViT 48 wide, patch 8, 3 epochs"
            ]
            < families()["hybrid"].compute[0]
        ),
    ),
    (
        "12-scaling",
        "each of these prices is more than all the compute from a family's first point to its last",
        lambda: all(half_is_beyond(family) for family in families().values()),
    ),
    (
        "12-scaling",
        "The misfits hardly differ; the forecasts do.",
        lambda: (
            (laws := floors(families()["ViT"]))
            and max(law[0] for law in laws) < 1.25 * min(law[0] for law in laws)
            and laws[-1][1] - laws[0][1] > math.log(5)
        ),
    ),
    (
        "13-attention-maps",
        'with fewer than three seeds the verdict is always "open"',
        lambda: open_below_three_seeds("attention-reach"),
    ),
    (
        "13-attention-maps",
        "In every stored run the model before training reads nearly evenly, whatever its patches",
        lambda: (
            min(
                run["final"]["entropy"]
                for run in result("attention-reach")["runs"]
                if "untrained" in run["variant"]
            )
            > 0.99
            > max(
                run["final"]["entropy"]
                for run in result("attention-reach")["runs"]
                if "untrained" not in run["variant"]
            )
        ),
    ),
    (
        "15-what-a-vit-learns",
        "in these runs the heads of its first block look almost equally far",
        lambda: (
            max(final["spread"] for final in finals("attention-reach", "hybrid"))
            < 0.5
            < min(final["spread"] for final in finals("attention-reach", "patch 4"))
        ),
    ),
    (
        "15-what-a-vit-learns",
        "The study `position-patterns` changes one at a time.",
        lambda: all(len(changes) <= 1 for changes in result("position-patterns")["variants"].values()),
    ),
    (
        "15-what-a-vit-learns",
        'with fewer than three seeds each verdict is "open"',
        lambda: open_below_three_seeds("position-patterns"),
    ),
    (
        "15-what-a-vit-learns",
        "The last three are this book's own, the others come from the paper's figure.",
        lambda: (
            [claim.source == "ours" for claim in STUDIES["attention-reach"].claims]
            == [False] * (len(STUDIES["attention-reach"].claims) - 3) + [True] * 3
        ),
    ),
    (
        "15-what-a-vit-learns",
        "models of four blocks, a few short epochs, small pictures",
        lambda: (
            (base := result("attention-reach")["base"])["model"]["depth"] == 4
            and base["model"]["img_size"] == 32
            and base["epochs"] == 2
        ),
    ),
    (
        "14-rollout-and-grad-cam",
        "**Occlusion, gradient × attention and integrated gradients pass on every model.**",
        lambda: all(
            set(passes(name, "deletion", "remove", "grey")) == {"passes"}
            for name in ("occlusion", "relevance", "integrated gradients")
        ),
    ),
    (
        "14-rollout-and-grad-cam",
        "Attention, rollout, Grad-CAM and the lens pass on some and fail on others.",
        lambda: all(
            {"passes", "fails"} <= set(passes(name, "deletion", "remove"))
            for name in ("attention", "rollout", "grad-cam", "logit lens")
        ),
    ),
    (
        "14-rollout-and-grad-cam",
        "The last layer's attention does both among models that differ in nothing but their seed",
        lambda: {"passes", "fails"} <= set(passes("attention", "deletion", "remove")[2:]),
    ),
    (
        "14-rollout-and-grad-cam",
        "occlusion passes every deletion test here and fails an insertion test, on drawings painted grey",
        lambda: (
            set(passes("occlusion", "deletion", "remove", "grey")) == {"passes"}
            and passes("occlusion", "insertion", "grey")[2:] == ["fails"]
        ),
    ),
    (
        "16-transfer",
        "a start from six classes is well ahead of none.",
        lambda: (
            verdict(
                "transfer",
                "pre-training on six other classes is ahead of training from scratch, with the same fine-tuning",
            )
            == "agrees"
            and transfer_best("six classes: zero head") - transfer_best("scratch: 32 px") > 0.05
        ),
    ),
    (
        "16-transfer",
        "From nothing, with as many pictures of the task seen as pre-training and fine-tuning saw together, the model "
        "gets further.",
        lambda: (
            verdict(
                "transfer",
                "pre-training on six other classes is ahead of training from scratch on as many pictures seen in all",
            )
            == "differs"
            and transfer_epochs("scratch: long, lr=0.001") * transfer.PICTURES
            == transfer_epochs("six classes: zero head, lr=0.03") * transfer.PICTURES
            + transfer_epochs("six classes: pre-training") * transfer.SOURCE
        ),
    ),
    (
        "16-transfer",
        "the head makes less than a point of difference** at 32 pixels; at 48 three seeds do not settle it.",
        lambda: (
            [
                (one["verdict"], one["n"])
                for says, one in result("transfer")["verdicts"].items()
                if says.startswith("a head that starts at zero does as well as a random one")
            ]
            == [("agrees", 3), ("open", 3)]
        ),
    ),
    (
        "16-transfer",
        "After pre-training 48 pixels are ahead of 32. Without pre-training the question stays open here.",
        lambda: (
            verdict("transfer", 'fine-tuning at 48 px is ahead of 32 px ("often beneficial")') == "agrees"
            and verdict("transfer", "from scratch, 48 px is ahead of 32 px too") == "open"
        ),
    ),
    (
        "16-transfer",
        "Those of six classes beat both baselines; those of Drawn-10 lose to pixels, although *fine-tuning* from the "
        "same weights is ahead of starting from nothing.",
        lambda: (
            all(
                verdict(
                    "transfer",
                    f"{what}: features learned on {source} are ahead of an untrained model's and of pixels",
                )
                == wanted
                and mean("transfer", f"pixels: {what}") > mean("transfer", f"untrained: {what}")
                for what in ("5-shot", "probe")
                for source, wanted in (("six classes", "agrees"), ("Drawn-10", "differs"))
            )
            and verdict("transfer", "pre-training on Drawn-10 is ahead of training from scratch") == "agrees"
        ),
    ),
    (
        "17-masked-patches",
        "as many steps on the labelled ninth as pre-training and fine-tuning take together.",
        lambda: (
            masked.PARTS == 9
            and masked_steps("from scratch, whole budget")
            == masked_steps("mean colour")
            == masked_steps("pixels")
            == masked_steps("labels")
        ),
    ),
    (
        "17-masked-patches",
        "Four of the paper's findings come back at this size: masked pre-training is ahead of as much fine-tuning from "
        "scratch, labels are ahead of masked pre-training, mean colours ahead of pixels, and 50 % ahead of 15 %.",
        lambda: all(
            verdict("masked", says) == "agrees"
            for says in (
                "masked pre-training is ahead of as much fine-tuning from scratch (the paper: by 2 points)",
                "pre-training with labels is ahead of masked pre-training (the paper: by 4 points)",
                "telling the mean colour is ahead of telling pixels (the paper: slightly)",
                "corrupting 50 % is ahead of corrupting 15 % (the paper: slightly)",
            )
        ),
    ),
    (
        "17-masked-patches",
        "Here it lies ahead of every start without labels.",
        lambda: all(
            max(final["val_accuracy"] for final in finals("masked", start))
            < min(final["val_accuracy"] for final in finals("masked", "from scratch, whole budget"))
            for start in ("mean colour", "4 x 4 colours", "pixels", "mean colour, 15 %")
        ),
    ),
    (
        "17-masked-patches",
        "of two learning rates for fine-tuning the better one is read.",
        lambda: all(
            len(rates := [v for k, v in run["final"].items() if k.startswith("val_accuracy lr=")]) == 2
            and run["final"]["val_accuracy"] == max(rates)
            for run in result("masked")["runs"]
        ),
    ),
    (
        "17-masked-patches",
        "79.9 % on ImageNet after masked pre-training on JFT: 2 points more than from scratch, 4 fewer than after "
        "pre-training with labels.",
        lambda: (
            [
                result("paper")["masked_patches"][key]
                for key in ("imagenet", "over_scratch", "behind_supervised")
            ]
            == [0.799, 0.02, 0.04]
        ),
    ),
    (
        "17-masked-patches",
        "features that lost to pixels were a better start than none.",
        lambda: (
            all(
                mean("transfer", f"pixels: {what}") > mean("transfer", f"Drawn-10: {what}")
                for what in ("5-shot", "probe")
            )
            and verdict("transfer", "pre-training on Drawn-10 is ahead of training from scratch") == "agrees"
        ),
    ),
    (
        "18-axial-and-after",
        "full, axial with as many blocks, axial with as many attentions, and a full model deepened until it costs what "
        "the axial one costs",
        lambda: (
            list(result("axial")["variants"])
            == ["full, 4 deep", "axial, 2 deep", "axial, 4 deep", "full, 7 deep"]
            and abs(mac("axial", "full, 7 deep") / mac("axial", "axial, 4 deep") - 1) < 0.005
        ),
    ),
    (
        "18-axial-and-after",
        "see each picture twice, and their grid is $8 \\times 8$: the products of pairs are a seventh of a full "
        "block's work",
        lambda: (
            (base := result("axial")["base"])["epochs"] == 2
            and (model := base["model"])["img_size"] == 8 * model["patch_size"]
            and (width := model["embed_dim"]) * (4 + 2 * model["mlp_ratio"]) * width == 6 * 2 * 64 * width
        ),
    ),
    (
        "18-axial-and-after",
        "At 224 pixels twelve axial blocks cost nearly twice as much as twelve full ones",
        lambda: 1.8 < vit_b_macs("axial", 224) / vit_b_macs("full", 224) < 2,
    ),
    (
        "18-axial-and-after",
        "and most of the bill at 2,048, where even twelve cost less than full attention.",
        lambda: (
            vit_b_macs("axial", 2048, depth=6) < vit_b_macs("full", 2048) / 2
            and vit_b_macs("axial", 2048) < vit_b_macs("full", 2048)
            and vit_b_macs("axial", 224, depth=6) < vit_b_macs("full", 224)
        ),
    ),
]


@pytest.mark.parametrize(
    ("page", "words", "holds"), SENTENCES, ids=[f"{s[0][:2]}: {s[1][:50]}" for s in SENTENCES]
)
def test_a_sentence_follows_from_its_results(page, words, holds):
    text = " ".join(prose(next(path for path in PAGES if path.stem == page)).split())
    assert " ".join(words.split()) in text, "the sentence has gone: mend it here, or take its line away"
    assert holds(), "the results no longer say this"


# ---------------------------------------------------------------------------------------------- typed numbers

MEASURES = r"%|per cent|points?\b|±|times\b|seconds?\b|ms\b|µs\b|images/s|[GM]B\b"
NUMBER = re.compile(rf"(?<![\w.,/×-])(\d[\d,]*\.\d+|\d[\d,]*)(?=(\s*(?:{MEASURES}))?)")
NOT_PROSE = (
    r"^`{3,}\{(?:code|computed|raw|bibliography).*?^`{3,}$",  # code, and what a page computes
    r"^`{3,}(?:bash|powershell|python|text|bibtex)$.*?^`{3,}$",
    r"^[`:]{3,}[^\n]*$",  # the fences of boxes and exercises
    r"<!-- results -->.*?<!-- /results -->",  # `python -m tools.site.readme` writes it
    r"\$\$.*?\$\$",
    r"\$[^$]+\$",
    r"\{[\w:]+\}`[^`]*`",  # roles, `result` among them
    r"`[^`]*`",
    r"\]\([^)]*\)",
    r"https?://\S+",
    r"^ *:[\w-]+:[^\n]*$",  # options of directives
    r"\*?Difficulty[^\n]*",
    r"\*\*Time\*\*\n[^\n]*",
)
KINDS = (  # numbers that are names, or follow from what is said
    r"(?:[Ss]ections?|Tables?|Figures?|Appendix|[Cc]hapters?|[Ee]quations?|arXiv|Python|version|BY) [\w., and]*$",
    r"≈ $",  # computed from what stands before it
    r"(?:rates?|deviation|[Dd]ecay|[Dd]ropout)\b[^;]{0,60}$",  # settings
    r"(?:chance|[Gg]uess\w*|one in ten)[^.]{0,40}$",  # ten classes: 10 %
)
FACTS = {"2.303", "2.30"}  # log 10, the loss of guessing
FACTS |= {"170", "192"}  # MB of two downloads


def typed_numbers(path: Path) -> list[tuple[str, str]]:
    """Decimals, and numbers with a unit that one measures, in a page's prose, each with what stands before it."""
    text = prose(path)
    for pattern in NOT_PROSE:
        text = re.sub(pattern, " ", text, flags=re.S | re.M)
    found = []
    for match in NUMBER.finditer(text):
        number, unit = match[1], match[2]
        if not (unit or "." in number):
            continue
        before = text[max(0, match.start() - 60) : match.start()]
        if any(re.search(kind, before) for kind in KINDS):
            continue
        found.append((number, " ".join((before + match[0] + (unit or "")).split())))
    return found


def sourced(path: Path) -> set[str]:
    """Numbers that a page may quote: others', from their one file, and what its own cells hold or always print."""

    def numbers(value) -> list[float]:
        if isinstance(value, dict | list):
            return [
                n for each in (value.values() if isinstance(value, dict) else value) for n in numbers(each)
            ]
        return [value] if isinstance(value, int | float) else []

    known = FACTS | set(re.findall(r"\d+\.\d+|\d+", json.dumps(result("paper"))))
    for n in numbers(result("paper")):
        known |= {f"{n:g}", f"{100 * n:.4g}", f"{100 * n:.1f}", f"{100 * n:.2f}", f"{n:,}"}
    for cell in code_cells(path) if path.suffix == ".ipynb" else ():
        text = source(cell)
        if "nbval-check-output" in tags(cell):
            for output in cell["outputs"]:
                text += "".join(output.get("text", "")) + "".join(
                    output.get("data", {}).get("text/plain", "")
                )
        known |= set(re.findall(r"\d[\d,]*(?:\.\d+)?", text))
    return known


@pytest.mark.parametrize(
    "path", [p for p in PAGES if p.name not in KEPT_BY_A_TOOL], ids=lambda path: path.stem
)
def test_no_measured_number_is_typed(path):
    known = sourced(path)
    typed = [words for number, words in typed_numbers(path) if number not in known]
    assert not typed, "take them from a result, a cell or vitlib/results/paper.json:\n" + "\n".join(typed)
