"""The command line: `python -m vitlib data | train | study`, each with --help."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch

from vitlib import __version__
from vitlib.checks import check_count
from vitlib.data import cifar10
from vitlib.data.dataset import load_dataset
from vitlib.data.drawn10 import DRAWN10_SIZES
from vitlib.device import pick_device
from vitlib.evidence import COMMAND, load_results
from vitlib.studies.runner import STUDIES, board, find, folders, make_plans, report, run_plans
from vitlib.train.evaluate import evaluate
from vitlib.train.loop import train_model
from vitlib.train.recipe import Recipe, recipe
from vitlib.weights.pretrained import load_pretrained, save_pretrained

DEVICES = ("auto", "cpu", "cuda", "mps")
_OF_THE_PRESET = {
    "epochs": (int, "passes over the training images"),
    "lr": (float, "peak learning rate"),
    "batch-size": (int, "images per step"),
    "seed": (int, "seed of everything random"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The words after `python -m vitlib`; None takes them from the command line.

    Returns:
        The exit code: 0, 2 after an error the user can mend (one line on stderr), 130 after Ctrl-C.
    """
    argv = sys.argv[1:] if argv is None else argv
    args = _parser().parse_args(argv)
    token = COMMAND.set(f"python -m vitlib {shlex.join(argv)}")
    try:
        return args.run(args) or 0
    except KeyboardInterrupt as stop:
        print(f"\n{stop}" if str(stop) else "\ninterrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, FloatingPointError) as error:
        print(f"error: {_one_line(error)}", file=sys.stderr)
        return 2
    finally:
        COMMAND.reset(token)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return " ".join(str(error).split())


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    def _get_help_string(self, action: argparse.Action) -> str | None:
        return super()._get_help_string(action) if action.default else action.help  # no "(default: False)"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vitlib",
        description="Patch by Patch: Vision Transformers you can run.",
        epilog="example: python -m vitlib train --preset laptop",
    )
    parser.add_argument("--version", action="version", version=f"vitlib {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    _configure_train(commands)
    _configure_study(commands)
    _configure_data(commands)
    return parser


def _configure_train(commands) -> None:
    p = commands.add_parser(
        "train",
        help="train a model by one of the book's recipes",
        formatter_class=_Formatter,
        description="Train a model by one of the book's recipes. Stopped or killed, the same command goes on\n"
        "where it was. At the end the run's folder holds log.json, checkpoint.pt, and the model in\n"
        "float16 with its card (<name>.safetensors, <name>.json).",
        epilog="presets: plain, paper and modern are compared in chapter 9; laptop takes ten minutes on\n"
        "two cores; drawn10 takes two minutes and needs no download.",
    )
    presets = "plain, paper, modern, laptop or drawn10"
    p.add_argument("--preset", default="laptop", metavar="NAME", help=presets)
    _configure_runs(p, data="the preset's", out="runs/<name>")
    for name, (kind, what) in _OF_THE_PRESET.items():
        p.add_argument(f"--{name}", type=kind, metavar="N", help=f"{what} (default: the preset's)")
    p.add_argument("--name", help="the run's name (default: <data>-<preset>)")
    text = "hold out a tenth of the training images to choose by, and leave the test set unread"
    p.add_argument("--validate", action="store_true", help=text)
    text = "hold out N training images for the curves; the test set is still read once, at the end"
    p.add_argument("--holdout", type=int, default=0, metavar="N", help=text)
    p.add_argument("--no-resume", action="store_true", help="start anew, overwrite the folder's checkpoint")
    p.add_argument("--compile", action="store_true", help="use torch.compile: slow to start, then faster")
    p.set_defaults(run=_train)


def _configure_runs(p: argparse.ArgumentParser, data: str, out: str) -> None:
    """What every command that trains can be told."""
    sets = ("auto", "cifar10", "drawn10")
    text = f"the data set; auto takes CIFAR-10 if it is there (default: {data})"
    p.add_argument("--data", choices=sets, help=text)
    p.add_argument("--out", type=Path, help=f"the folder (default: {out})")
    p.add_argument("--scale", default="quick", choices=("quick", "full"), help="quick: a laptop; full: a GPU")
    text = "change other fields of the recipe or, as model.FIELD, of the model: --set mixup=0 model.depth=8"
    p.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", help=text)
    p.add_argument("--limit", type=int, metavar="N", help="use the first N training images")
    text = "stop cleanly after M minutes; the same command goes on"
    p.add_argument("--budget-minutes", type=float, metavar="M", help=text)
    p.add_argument("--device", default="auto", choices=DEVICES, help="where to compute")
    p.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")


def _train(args: argparse.Namespace) -> int:
    _use_threads(args.threads)
    todo = _recipe(args)
    data = load_dataset(todo.data, "train", n=args.limit)
    usual = data.name if args.preset == data.name else f"{data.name}-{args.preset}"
    name = usual if args.name is None else args.name
    if not name or Path(name).name != name:
        raise ValueError(f"--name must be a file name without folders, got {name!r}; give folders with --out")
    todo = dataclasses.replace(todo, name=name)
    out = args.out or Path("runs") / todo.name
    held_out = args.holdout or (max(1, len(data) // 10) if args.validate else 0)
    train, val = data.hold_out(held_out) if held_out else (data, None)
    print(
        f"{todo.name}: {todo.model.embed_dim} wide, {todo.model.depth} deep, {todo.epochs} epochs of "
        f"{len(train):,} images of {data.label}, in {out}",
        flush=True,
    )
    resume, minutes = not args.no_resume, args.budget_minutes
    result = train_model(todo, train, val, out=out, device=args.device, resume=resume, budget_minutes=minutes)
    model, done = result.pop("model"), len(result["epochs"])
    if not result["finished"]:
        print(f"the budget is used up after {done} of {todo.epochs} epochs; the same command goes on")
        return 0
    before = _read_before(out / f"{todo.name}.json", result) if resume and not args.validate else None
    if before is not None:
        print(f"finished before, with a test accuracy of {before:.2%}; the test set is not read again")
        return 0
    took = f"after {result['seconds']:.0f} s"
    if args.validate:
        final = {key: result["epochs"][-1][key] for key in ("val_accuracy", "val_loss")} | {"n_val": held_out}
        print(f"held-out accuracy {final['val_accuracy']:.2%} {took}; the test set was not read")
    else:
        weights = save_pretrained(model, {**result, "final": {}}, out)  # float16: the number belongs to them
        final = _test(weights, data.name, args.device, todo.model.num_classes)
        print(f"test accuracy {final['test_accuracy']:.2%} on {data.label} {took} of training")
    print(f"wrote {save_pretrained(model, {**result, 'final': final}, out)}")
    return 0


def _read_before(card: Path, log: dict) -> float | None:
    """The test accuracy of this very run, if its card has one."""
    told = load_results(card.stem, card.parent) if card.is_file() else {}
    same = [told.get(key) for key in ("recipe", "epochs")] == [log["recipe"], log["epochs"]]
    return told["final"].get("test_accuracy") if same else None


def _test(weights: Path, data: str, device: str, num_classes: int) -> dict:
    """Read the test set once, with the weights as they are on disk."""
    test = load_dataset(data, "test")
    model, _ = load_pretrained(weights.stem, weights.parent)
    scores = evaluate(model.to(pick_device(device)), test.images, test.labels)
    cells = torch.bincount(test.labels * num_classes + scores["predictions"], minlength=num_classes**2)
    return {
        "test_accuracy": scores["accuracy"],
        "test_loss": scores["loss"],
        "n_test": len(test),
        "confusion": cells.unflatten(0, (num_classes, -1)).tolist(),  # rows are the labels
    }


def _configure_study(commands) -> None:
    p = commands.add_parser(
        "study",
        help="run the book's experiments",
        formatter_class=_Formatter,
        description="Run the book's experiments. Each asks one question, runs every variant with several seeds and\n"
        "judges them, most on held-out training images. Stopped or killed, the same command goes on\n"
        "where it was and skips what is finished.",
        epilog="example: python -m vitlib study run positions --budget-minutes 30",
    )
    text = "report prints what one study found; board every claim, and what we got"
    p.add_argument("action", choices=("list", "run", "report", "board"), help=text)
    p.add_argument("name", nargs="?", help="the study")
    p.add_argument("--all", action="store_true", help="run all: first every variant's first seed")
    _configure_runs(p, data="the study's", out="runs/study-<name>; of --all and board, runs")
    p.add_argument("--seeds", type=int, nargs="+", metavar="N", help="seeds (default: the study's)")
    p.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at once, also on one GPU")
    text = "count what is finished in FOLDER/<name>.json; results means the book's own"
    p.add_argument("--from", dest="start_from", metavar="FOLDER", help=text)
    p.set_defaults(run=_study)


def _study(args: argparse.Namespace) -> int:
    if args.action == "list":
        for name, study in STUDIES.items():
            print(f"{name:15s} {study.question} ({study.source}; {len(study.variants)} variants)")
    elif args.action == "board":
        print("\n".join(board(args.out)))
    elif args.action == "report":
        find(args.name)
        print(report(args.name, args.out))
    elif args.all == (args.name is not None):
        raise ValueError("name one study, or give --all; python -m vitlib study list shows them")
    else:
        _use_threads(args.threads)
        changes, seeds = _settings(args.set), args.seeds and tuple(args.seeds)
        how = {"scale": args.scale, "seeds": seeds, "device": args.device, "changes": changes}
        load = partial(load_dataset, split="train", n=args.limit)
        where, minutes = folders(args.name, args.out), args.budget_minutes
        plans = make_plans(where, load if args.data is None else lambda _: load(args.data), **how)
        results = run_plans(plans, jobs=args.jobs, budget_minutes=minutes, start_from=args.start_from)
        print("\n".join(board(args.out or "runs")) if args.all else report(args.name, args.out))
        if not all(result["finished"] for result in results.values()):
            print("the budget is used up; the same command goes on")
    return 0


def _configure_data(commands) -> None:
    text = "Fetch and verify data sets."
    parser = commands.add_parser("data", help=text, description=text, formatter_class=_Formatter)
    text = "verify: say which data are here and whole; cifar10: download CIFAR-10"
    parser.add_argument("action", nargs="?", default="verify", choices=("verify", "cifar10"), help=text)
    parser.add_argument("--root", help="the folder for data, instead of $VITLIB_DATA or the cache folder")
    text = "an address of cifar-10-binary.tar.gz to try first; may be given again"
    parser.add_argument("--mirror", action="append", default=[], metavar="URL", help=text)
    parser.set_defaults(run=_data)


def _data(args: argparse.Namespace) -> int:
    if args.action == "cifar10":
        try:
            cifar10.fetch_cifar10(args.root, [*args.mirror, *cifar10.mirrors()])
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; what came is kept, the same command goes on there") from None
    print("Drawn-10: {train:,} training and {test:,} test images, drawn by code".format(**DRAWN10_SIZES))
    folder = cifar10.find_cifar10(args.root)
    if folder is None:
        folders = " or ".join(map(str, cifar10.data_folders(args.root)))
        print(f"CIFAR-10: not in {folders}; download it with {cifar10.FETCH}")
        return 0
    cifar10.check_cifar10(folder)
    print(
        f"{cifar10.cifar10_label(folder)}: 50,000 training and 10,000 test images, all files whole, in {folder}"
    )
    return 0


def _use_threads(count: int | None) -> None:
    if count is not None:
        check_count("--threads", count)
        torch.set_num_threads(count)


def _recipe(args: argparse.Namespace) -> Recipe:
    """The preset with what the command line changes."""
    named = ("data", "epochs", "lr", "batch_size", "seed")
    changes = {key: value for key in named if (value := getattr(args, key)) is not None}
    return recipe(args.preset, args.scale, **{"compile": args.compile, **changes, **_settings(args.set)})


def _settings(words: list[str]) -> dict[str, Any]:
    """FIELD=VALUE words as a dictionary."""
    changes: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise ValueError(f"--set takes FIELD=VALUE, got {word!r}; for instance mixup=0")
        if key in ("base", "scale", "name", "out"):
            raise ValueError(f"--set changes fields of the recipe, not {key!r}; use --{key}")
        changes[key] = _value(text)
    return changes


def _value(text: str) -> object:
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
