"""`python -m vitlib train` and `finetune`: one model, from its recipe to its card."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from filelock import Timeout
from torch import nn

from vitlib.checks import check_choice, check_name
from vitlib.data.dataset import Dataset, load_dataset
from vitlib.data.look import also_in, fingerprints, hold_out_apart, look
from vitlib.device import pick_device
from vitlib.evidence import load_results
from vitlib.files import lock, printable
from vitlib.model.resnet import ResNet
from vitlib.model.vit import VisionTransformer
from vitlib.train.evaluate import beside, evaluate
from vitlib.train.loop import train_model
from vitlib.train.objective import OBJECTIVES
from vitlib.train.recipe import Recipe, recipe
from vitlib.train.transfer import replace_head
from vitlib.weights.pretrained import class_names, load_pretrained, save_pretrained
from vitworkshop.cli.options import SETS, add_runs, prepare, settings
from vitworkshop.cli.pictures import load_split
from vitworkshop.cli.predict import MODEL
from vitworkshop.cli.weights import add_assume, assumed, described

_STEPS = 500  # at least, on a folder, by default: the paper's on its smallest data sets (Table 4)
_PASSES = 100  # at most for that, where a trained model goes on
_FEW = 100  # test pictures: the standard error of an accuracy is up to 5 points
_MANY, _WORST = 12, 5  # beyond so many classes, the recalls of the worst are shown
_OF_THE_PRESET = {
    "epochs": (
        int,
        "passes over the training images; on a folder, 500 steps or more (finetune: or 100 passes)",
    ),
    "batch-size": (
        int,
        "images per step; on a folder at most so many, in batches alike",
    ),
    "seed": (int, "seed of everything random"),
}


def configure(commands) -> None:
    """Add the commands to the parser."""
    p = commands.add_parser(
        "train",
        help="train a model by one of the book's recipes",
        description="Train a model by one of the book's recipes, on CIFAR-10, Drawn-10 or your own pictures. Stopped\n"
        "or killed, the same command goes on where it was. At the end the run's folder holds log.json,\n"
        "checkpoint.pt, and the model in float16 with its card (<name>.safetensors, <name>.json).",
        epilog="presets: chapter 10 tells what their ingredients are worth; laptop takes some ten minutes on\n"
        "two cores; drawn10 takes two minutes and needs no download.\n"
        "your own pictures: python -m vitlib train --data pets --img-size 96 --set model.patch_size=8",
    )
    presets = "plain, paper, modern, laptop or drawn10"
    p.add_argument("--preset", default="laptop", metavar="NAME", help=presets)
    text = "go on from the weights of a model of the recipe's shape, from the first step (with its --holdout, if any): "
    p.add_argument("--start", metavar="MODEL", help=text + MODEL)
    _add_training(p, "the preset's", "<data>-<preset>")
    p.set_defaults(run=_train)
    p = commands.add_parser(
        "finetune",
        help="go on with a trained model, on other classes",
        description="Go on with a trained model on other classes: a new head that starts at zero, and the recipe of\n"
        "the paper's fine-tuning (SGD with momentum, cosine, no weight decay). Stopped or killed, the same\n"
        "command goes on where it was; its folder then holds what `train` leaves.",
        epilog="example: python -m vitlib finetune cifar10-photo --data pets --img-size 48",
    )
    text = "; or the file of a ViT that others published (python -m vitlib look lists which)"
    p.add_argument("model", metavar="NAME", help=MODEL + text)
    add_assume(p)
    _add_training(p, "auto", "<data>-from-<model>")
    p.set_defaults(run=_finetune)


def _add_training(p: argparse.ArgumentParser, data: str, name: str) -> None:
    """The options of both."""
    text = "cifar10, drawn10, auto (CIFAR-10 if it is there), or a folder with a folder of pictures for each class"
    p.add_argument("--data", metavar="DATA", help=f"{text} (default: {data})")
    text = "side of the images in pixels, a multiple of the model's patch size (default: the model's)"
    p.add_argument("--img-size", type=int, metavar="N", help=text)
    add_runs(p, out="runs/<name>")
    p.add_argument(
        "--scale",
        default="quick",
        choices=("quick", "full"),
        help="quick: a laptop; full: a GPU",
    )
    for field, (kind, what) in _OF_THE_PRESET.items():
        p.add_argument(
            f"--{field}", type=kind, metavar="N", help=f"{what} (default: the preset's)"
        )
    p.add_argument("--name", help=f"the run's name (default: {name})")
    text = "hold out a tenth of the training images to choose by, and leave the test set unread"
    p.add_argument("--validate", action="store_true", help=text)
    text = "hold out N training images for the curve (default: a tenth; 0: none); the test set is still read once"
    p.add_argument("--holdout", type=int, metavar="N", help=text)
    p.add_argument(
        "--no-resume",
        action="store_true",
        help="start anew, overwrite the folder's checkpoint",
    )


def _train(args: argparse.Namespace) -> None:
    changes = _changes(args)
    if args.img_size is not None:
        changes["model.img_size"] = args.img_size
    todo = recipe(args.preset, args.scale, **changes)
    _check_holdout(args, todo)
    data = todo.data if args.data is None else args.data
    train, load_test, card = load_task(data, todo.model.image_shape, args.limit)
    if train.name == "folder":
        model = dataclasses.replace(todo.model, num_classes=len(train.classes))
        todo = dataclasses.replace(todo, model=model)
    start, name = None, _name_of(train)
    if args.start is not None:
        start, its = load_pretrained(args.start)
        if class_names(its) != card["classes"]:
            raise ValueError(
                f"--start needs a model of the same classes, {its['name']} has others; see finetune"
            )
        card["start"] = its["name"]
    name = name if args.preset == name else f"{name}-{args.preset}"
    _run(args, dataclasses.replace(todo, name=name), train, load_test, card, start)


def _finetune(args: argparse.Namespace) -> None:
    changes = _changes(args)
    if kept := [key for key in changes if key.split(".")[0] in ("model", "objective")]:
        raise ValueError(
            f"finetune keeps the shape and the task of a model, got {kept[0]}; see --img-size"
        )
    todo = recipe("finetune", args.scale, **changes)
    _check_holdout(args, todo)
    model, name, said = _start_of(args)
    if args.img_size is not None:
        model = model.with_img_size(args.img_size)
    data = "auto" if args.data is None else args.data
    train, load_test, card = load_task(data, model.cfg.image_shape, args.limit)
    start = replace_head(model, len(train.classes))
    card["start"] = name
    todo = dataclasses.replace(
        todo, model=start.cfg, name=f"{_name_of(train)}-from-{name}"
    )
    print(said, end="\n" * bool(said))
    _run(args, todo, train, load_test, card, start)


def _start_of(args: argparse.Namespace) -> tuple[VisionTransformer | ResNet, str, str]:
    """A model, its name, and what is to be said of it; a file that has no card holds others' weights."""
    model, card = load_pretrained(args.model, **assumed(args))
    return model, card["name"], "\n".join(described(card) if "library" in card else [])


def _changes(args: argparse.Namespace) -> dict:
    """What the command line changes in the preset, once what cannot be is refused."""
    prepare(args)
    if args.name is not None:
        check_name("--name", args.name, "give folders with --out")
    given = {key: getattr(args, key) for key in ("epochs", "batch_size", "seed")}
    changes = {key: value for key, value in given.items() if value is not None}
    if args.data in SETS:
        changes["data"] = args.data
    return changes | settings(args.set, ("scale", "name", "out", "data"), ("base",))


def _check_holdout(args: argparse.Namespace, todo: Recipe) -> None:
    """Refuse to hold out more than --limit leaves."""
    # the test set is for naming images
    args.validate |= todo.objective != "classification"
    n = args.holdout or 0
    limit, needed = args.limit or math.inf, n + 1 if n else 10 * args.validate
    if n < 0 or limit < needed:
        what = "--holdout must be 0 or more, --limit above it, and 10 or more for --validate"
        raise ValueError(f"{what}; got {args.holdout} and {args.limit}")


def load_task(
    data: str, img_size: tuple[int, int], limit: int | None
) -> tuple[Dataset, Callable[[], Dataset], dict]:
    """Images of one of `SETS` or of a folder to train on, what loads those to test on, and what a card says of them.

    Of a folder see `load_split`; `limit` takes each class in proportion.
    """
    if data in SETS:
        train = load_dataset(data, "train", n=limit)
        card = {"classes": list(train.classes)}
        return (
            train.resize(img_size),
            lambda: load_dataset(train.name, "test").resize(img_size),
            card,
        )
    if not data or not Path(data).expanduser().exists():
        check_choice("--data", data, (*SETS, "a folder of pictures"))
    train, test, held_out = load_split(data, img_size)
    counts = zip(
        train.classes,
        torch.cat([train.labels, test.labels]).bincount().tolist(),
        strict=True,
    )
    counted = ", ".join(f"{name} {n:,}" for name, n in counts)
    print(printable(f"{train.label}: {counted}; held out to test: {held_out}"))
    for said in look(train, test):
        print(printable(f"{train.label}: {said}"))
    if limit is not None and limit < len(train):
        train = train.hold_out(limit)[1]
    return train, lambda: test, {"classes": list(train.classes), "test_split": held_out}


def _name_of(data: Dataset) -> str:
    return data.label if data.name == "folder" and data.label else data.name


def _run(
    args: argparse.Namespace,
    todo: Recipe,
    train: Dataset,
    load_test: Callable[[], Dataset],
    card: dict,
    start: nn.Module | None,
) -> None:
    """Train, test once, and write the card."""
    if args.name is not None:
        todo = dataclasses.replace(todo, name=args.name)
    held_out, val = args.holdout, None
    if held_out is None or (held_out == 0 and args.validate):
        held_out = len(train) // 10 or args.validate
    if held_out:
        train, val = hold_out_apart(train, held_out, fingerprints(train))
    if train.name == "folder":
        batch = _alike(len(train), todo.batch_size)
        todo = dataclasses.replace(todo, data="folder", batch_size=batch)
        epochs = _enough(args, todo, len(train), start)
        todo = dataclasses.replace(todo, epochs=epochs)
    out = args.out or Path("runs") / todo.name
    label = printable(train.label)
    shape = f"{todo.model.embed_dim} wide, {todo.model.depth} deep"
    images = f"{len(train):,} images of {label}"
    print(
        f"{todo.name}: {shape}, {todo.epochs} epochs of {images}, in {out}", flush=True
    )
    how = {
        "device": args.device,
        "resume": not args.no_resume,
        "budget_minutes": args.budget_minutes,
    }
    with _alone(out):
        result = train_model(todo, train, val, out=out, start=start, **how)
    model = result.pop("model")
    if not result["finished"]:
        done = f"{len(result['epochs'])} of {todo.epochs} epochs"
        print(f"the budget is used up after {done}; the same command goes on")
        return
    if not (args.no_resume or args.validate):
        final = _final_before(out / f"{todo.name}.json", result)
        if "test_accuracy" in final:
            said = (
                f"finished before, with a test accuracy of {final['test_accuracy']:.2%}"
            )
            return _tell(
                f"{said}; the test set is not read again", final, train.classes
            )
    took, card = f"after {result['seconds']:.0f} s", {**result, **card}
    if todo.objective != "classification":
        final = {
            k: v for k, v in result["epochs"][-1].items() if k.startswith("val_")
        } | {"n_val": held_out}
        metric = OBJECTIVES[todo.objective].metric
        said = f"held-out {metric} {final[f'val_{metric}']:.2%} {took}; the test set was not read; the best constant "
        said += f"answer has {final['val_constant']:.2%}, the neighbours' {final['val_neighbours']:.2%}"
    elif args.validate and val is not None:
        final = _score(model, val, "val")
        said = f"held-out accuracy {final['val_accuracy']:.2%} {took}; the test set was not read"
    else:
        # float16: the number belongs to them
        weights = save_pretrained(model, {**card, "final": {}}, out)
        test = load_test()
        final = read_test(weights, test, args.device)
        if again := also_in(train, test):
            final["trained_on"] = again
        said = (
            f"test accuracy {final['test_accuracy']:.2%} on {label} {took} of training"
        )
    _tell(said, final, train.classes)
    print(f"wrote {save_pretrained(model, {**card, 'final': final}, out)}")
    print(f"in Python: model, card = vl.load_pretrained({str(out)!r})")


def _alone(out: Path) -> contextlib.AbstractContextManager:
    """Hold a run's folder; refuses one that another process trains in."""
    try:
        return lock(out)
    except Timeout as error:
        raise ValueError(
            f"another run has {out} in hand; wait for its end, or take another folder with --out"
        ) from error


def _alike(n: int, most: int) -> int:
    """The size of as few batches as hold `most` of n images each, all alike: fewer images than batches are left out."""
    return n // math.ceil(n / most)


def _enough(
    args: argparse.Namespace, todo: Recipe, n: int, start: nn.Module | None
) -> int:
    """The epochs that were asked for, or as many as make `_STEPS` of n images; with a start, `_PASSES` at most."""
    asked = args.epochs is not None or any(
        word.startswith("epochs=") for word in args.set
    )
    enough = math.ceil(_STEPS / max(1, n // todo.batch_size))
    return (
        todo.epochs
        if asked
        else max(todo.epochs, min(enough, _PASSES) if start else enough)
    )


def _final_before(card: Path, log: dict) -> dict:
    """The final numbers of this very run, if its card has some."""
    if not card.is_file():
        return {}
    before = load_results(card.stem, card.parent)
    same = all(before.get(key) == log[key] for key in ("recipe", "epochs"))
    return before["final"] if same else {}


def read_test(weights: Path, test: Dataset, device: str) -> dict:
    """Read the test set once, with the weights as they are on disk."""
    model, _ = load_pretrained(weights.stem, weights.parent)
    return _score(model.to(pick_device(device)), test, "test")


def _score(model: nn.Module, data: Dataset, part: str) -> dict:
    """What a card says of a model on these images."""
    scores, many = evaluate(model, data.images, data.labels), len(data.classes)
    cells = torch.bincount(
        data.labels * many + scores["predictions"], minlength=many**2
    ).view(many, many)
    return {
        f"{part}_accuracy": scores["accuracy"],
        f"{part}_loss": scores["loss"],
        f"n_{part}": len(data),
        **beside(cells, scores["loss"], data.classes),
        "confusion": cells.tolist(),  # rows are the labels
    }


def _tell(said: str, final: dict, classes: Sequence[str]) -> None:
    """Print what was `said` of an accuracy and, where the card knows it, what stands beside it."""
    if again := final.get("trained_on"):
        said += f"; {again:,} of {final['n_test']:,} of these pictures were trained on"
    lines = [said]
    if "recall" in final:
        found = dict(zip(classes, final["recall"], strict=True))
        names, title = list(found), "recall"
        if len(names) > _MANY:
            names = sorted(
                (name for name in names if found[name] is not None),
                key=found.__getitem__,
            )[:_WORST]
            title = f"recall, the worst of {len(found)} classes"
        shown = (
            f"{name} {'(no image)' if found[name] is None else f'{found[name]:.0%}'}"
            for name in names
        )
        lines += [
            "always saying {}: {:.2%}".format(*final["commonest"]),
            f"{title}: {', '.join(shown)}",
        ]
        if (n := sum(map(sum, final["confusion"]))) < _FEW:
            lines.append(
                f"of {n} pictures: up to ± {50 / math.sqrt(n):.0f} points (standard error)"
            )
    print(*map(printable, [*lines, *final.get("warnings", ())]), sep="\n")
