"""The command line: `python -m vitlib data | train | study`, each with --help."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from pathlib import Path

import torch

from vitlib import __version__
from vitlib.data.cifar10 import (
    FETCH,
    check_cifar10,
    cifar10_label,
    data_folders,
    fetch_cifar10,
    find_cifar10,
    mirrors,
)
from vitlib.data.dataset import load_dataset, split_validation
from vitlib.data.drawn10 import DRAWN10_SIZES
from vitlib.device import pick_device
from vitlib.evidence import write_json
from vitlib.studies import resolution
from vitlib.studies.runner import STUDIES, report, run_study
from vitlib.train.evaluate import evaluate
from vitlib.train.loop import train_model
from vitlib.train.recipe import recipe
from vitlib.weights.pretrained import load_pretrained, save_pretrained

DEVICES = ("auto", "cpu", "cuda", "mps")


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The words after `python -m vitlib`; None takes them from the command line.

    Returns:
        The exit code: 0, 2 after an error the user can mend (one line on stderr), 130 after Ctrl-C.
    """
    argv = sys.argv[1:] if argv is None else argv
    args = _parser().parse_args(argv)
    args.command_line = f"python -m vitlib {shlex.join(argv)}"
    try:
        return args.run(args) or 0
    except KeyboardInterrupt as stop:
        print(f"\n{stop}" if str(stop) else "\ninterrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, FloatingPointError) as error:
        print(f"error: {_one_line(error)}", file=sys.stderr)
        return 2


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
    unset = argparse.SUPPRESS
    p.add_argument(
        "--preset", default="laptop", metavar="NAME", help="plain, paper, modern, laptop or drawn10"
    )
    p.add_argument(
        "--data",
        choices=("auto", "cifar10", "drawn10"),
        default=unset,
        help="the data set; auto takes CIFAR-10 if it is there (default: the preset's)",
    )
    for name, kind, what in (
        ("epochs", int, "passes over the training images"),
        ("lr", float, "peak learning rate"),
        ("batch-size", int, "images per step"),
        ("seed", int, "seed of everything random"),
    ):
        p.add_argument(
            f"--{name}", type=kind, default=unset, metavar="N", help=f"{what} (default: the preset's)"
        )
    p.add_argument("--out", type=Path, default=unset, help="the run's folder (default: runs/<name>)")
    p.add_argument("--name", default=unset, help="the run's name (default: <data>-<preset>)")
    p.add_argument(
        "--validate",
        action="store_true",
        help="hold out a tenth of the training images to choose by, and leave the test set unread",
    )
    p.add_argument(
        "--holdout",
        type=int,
        default=0,
        metavar="N",
        help="hold out N training images for the curves; the test set is still read once, at the end",
    )
    p.add_argument(
        "--no-resume", action="store_true", help="start anew and overwrite the folder's checkpoint"
    )
    p.add_argument("--compile", action="store_true", help="use torch.compile: slow to start, then faster")
    _configure_runs(p)
    p.set_defaults(run=_train)


def _configure_runs(p: argparse.ArgumentParser) -> None:
    """What every command that trains can be told."""
    p.add_argument("--scale", default="quick", choices=("quick", "full"), help="quick: a laptop; full: a GPU")
    p.add_argument(
        "--set",
        nargs="*",
        default=[],
        metavar="FIELD=VALUE",
        help="change other fields of the recipe or, as model.FIELD, of the model: "
        "--set mixup=0 model.depth=8",
    )
    p.add_argument("--limit", type=int, metavar="N", help="use the first N training images")
    p.add_argument(
        "--budget-minutes",
        type=float,
        metavar="M",
        help="stop cleanly after M minutes; the same command goes on",
    )
    p.add_argument("--device", default="auto", choices=DEVICES, help="where to compute")
    p.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")


def _train(args: argparse.Namespace) -> int:

    _use_threads(args.threads)
    recipe = _recipe(args)
    data = load_dataset(recipe.data, "train", n=args.limit)
    usual = data.name if args.preset == data.name else f"{data.name}-{args.preset}"
    recipe = _named(recipe, getattr(args, "name", usual))
    out = getattr(args, "out", Path("runs") / recipe.name)
    images, labels, val = data.images, data.labels, None
    if held_out := args.holdout or (len(images) // 10 if args.validate else 0):
        (images, labels), val = split_validation(images, labels, held_out)
    shape = recipe.model
    print(
        f"{recipe.name}: {shape.embed_dim} wide, {shape.depth} deep, {recipe.epochs} epochs of "
        f"{len(images):,} images of {data.label}, in {out}",
        flush=True,
    )
    result = train_model(
        recipe,
        images,
        labels,
        val=val,
        out=out,
        label=data.label,
        device=args.device,
        resume=not args.no_resume,
        budget_minutes=args.budget_minutes,
        compile=args.compile,
        command=args.command_line,
    )
    model = result.pop("model")
    if not result["finished"]:
        print(
            f"the budget is used up after {len(result['epochs'])} of {recipe.epochs} epochs; "
            "the same command goes on"
        )
        return 0
    if args.validate:
        last = result["epochs"][-1]
        print(
            f"held-out accuracy {last['val_accuracy']:.2%} after {result['seconds']:.0f} s; "
            "the test set was not read"
        )
        final = {"val_accuracy": last["val_accuracy"], "val_loss": last["val_loss"], "n_val": len(val[0])}
    else:
        test = load_dataset(data.name, "test")
        weights = save_pretrained(
            model, {**result, "final": {}}, out
        )  # the number belongs to the float16 weights
        scores = evaluate(_reload(weights, args.device), test.images, test.labels)
        print(
            f"test accuracy {scores['accuracy']:.2%} on {data.label} after {result['seconds']:.0f} s of training"
        )
        k = recipe.model.num_classes
        counts = torch.bincount(test.labels * k + scores["predictions"], minlength=k * k).view(k, k)
        final = {
            "test_accuracy": scores["accuracy"],
            "test_loss": scores["loss"],
            "n_test": len(test.images),
            "confusion": counts.tolist(),
        }  # rows are the labels, columns the predictions
    print(f"wrote {save_pretrained(model, {**result, 'final': final}, out)}")
    return 0


def _configure_study(commands) -> None:
    p = commands.add_parser(
        "study",
        help="run the book's experiments",
        formatter_class=_Formatter,
        description="Run the book's experiments. Each asks one question, trains every variant with several seeds and\n"
        "judges them on held-out training images; the test set is not read. Stopped or killed, the same\n"
        "command goes on where it was and skips what is finished.",
        epilog="example: python -m vitlib study run positions --budget-minutes 30",
    )
    p.add_argument(
        "action", choices=("list", "run", "report"), help="report prints what was found, as a table"
    )
    p.add_argument("name", nargs="?", help="the study")
    p.add_argument(
        "--data",
        default="auto",
        choices=("auto", "cifar10", "drawn10"),
        help="the data set; auto takes CIFAR-10 if it is there",
    )
    p.add_argument("--seeds", type=int, nargs="+", metavar="N", help="seeds (default: the study's)")
    p.add_argument("--out", type=Path, help="the folder of its runs (default: runs/study-<name>)")
    _configure_runs(p)
    p.set_defaults(run=_study)


def _study(args: argparse.Namespace) -> int:

    if args.action == "list":
        for name, study in STUDIES.items():
            print(f"{name:12s} {study.question} ({study.source}; {len(study.variants)} variants)")
        print(f"{'resolution':12s} {resolution.QUESTION} (Section 3.2; reads trained models)")
        return 0
    if args.name not in (*STUDIES, "resolution"):
        raise ValueError(f"unknown study {args.name!r}; choose one of {', '.join(STUDIES)}, resolution")
    if args.action == "report":
        print(report(args.name, args.out))
        return 0
    _use_threads(args.threads)
    if args.name == "resolution":
        result = resolution.run(args.scale, args.device, command=args.command_line)
        print(f"wrote {write_json((args.out or Path('runs/study-resolution')) / 'resolution.json', result)}")
        return 0
    data = load_dataset(args.data, "train", n=args.limit)
    result = run_study(
        args.name,
        data,
        scale=args.scale,
        seeds=args.seeds and tuple(args.seeds),
        out=args.out,
        n_val=min(5000, len(data.images) // 10),
        device=args.device,
        budget_minutes=args.budget_minutes,
        command=args.command_line,
        **_settings(args.set),
    )
    print(report(args.name, args.out))
    if not result["finished"]:
        print("the budget is used up; the same command goes on")
    return 0


def _configure_data(commands) -> None:
    parser = commands.add_parser(
        "data",
        help="fetch and verify data sets",
        description="Fetch and verify data sets.",
        formatter_class=_Formatter,
    )
    parser.add_argument(
        "action",
        nargs="?",
        default="verify",
        choices=("verify", "cifar10"),
        help="verify: say which data are here and whole; cifar10: download CIFAR-10",
    )
    parser.add_argument("--root", help="the folder for data, instead of $VITLIB_DATA or the cache folder")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="URL",
        help="an address of cifar-10-binary.tar.gz to try first; may be given again",
    )
    parser.set_defaults(run=_data)


def _data(args: argparse.Namespace) -> int:
    if args.action == "cifar10":
        try:
            fetch_cifar10(args.root, [*args.mirror, *mirrors()])
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; what came is kept, the same command goes on there") from None
    print("Drawn-10: {train:,} training and {test:,} test images, drawn by code".format(**DRAWN10_SIZES))
    folder = find_cifar10(args.root)
    if folder is None:
        print(f"CIFAR-10: not in {' or '.join(map(str, data_folders(args.root)))}; download it with {FETCH}")
        return 0
    check_cifar10(folder)
    print(f"{cifar10_label(folder)}: 50,000 training and 10,000 test images, all files whole, in {folder}")
    return 0


def _use_threads(count: int | None) -> None:

    if count is not None:
        if count < 1:
            raise ValueError(f"--threads must be at least 1, got {count}")
        torch.set_num_threads(count)


def _reload(weights: Path, device: str):

    return load_pretrained(weights.stem, weights.parent)[0].to(pick_device(device))


def _named(recipe, name: str):

    if not name or Path(name).name != name:
        raise ValueError(f"--name must be a file name without folders, got {name!r}; give folders with --out")
    return dataclasses.replace(recipe, name=name)


def _recipe(args: argparse.Namespace):
    """The preset with what the command line changes."""

    changes = {
        k: getattr(args, k) for k in ("data", "epochs", "lr", "batch_size", "seed") if hasattr(args, k)
    }
    return recipe(args.preset, args.scale, **{**changes, **_settings(args.set)})


def _settings(words: list[str]) -> dict[str, object]:
    """FIELD=VALUE words as a dictionary."""
    changes = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise ValueError(f"--set takes FIELD=VALUE, got {word!r}; for instance mixup=0")
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
