"""Numbers and tables that pages take from `vitlib`, so that nobody types them.

    {result}`cifar10-modern: final/test_accuracy`            73.6 %
    {model}`vit-b/16 img_size=384 tokens`                    576

What stands before the colon is a file in `vitlib/results`; behind it is the way to the value, key by key. `as` chooses
how it is written: percent, duration, a format such as .2f or .2%, or spread (mean ± standard deviation, for an entry
of a study's summary). The directive ``computed`` puts one of the tables below on the page. A wrong name stops the build
and says which names there are.

What each model of the book reaches stands once, in `our-models`, on the page of data sets and models.
"""

from __future__ import annotations

import json
import re
import statistics
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import torch
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

import vitlib as vl
from page import address, clinic, lengths, today, values
from page.explorers import MODEL
from page.values import duration, unbroken
from page.words import t
from vitlib.config import PRESETS
from vitlib.data.photos import PICTURES
from vitlib.evidence import RESULTS, load_results

ORDER = ("drawn10", "plain", "modern", "muon", "photo")

# Numbers from results


def result(text: str) -> str:
    """What stands on the page for a `result`."""
    return values.result(text, load_results)


# Numbers of a model's shape


def model(text: str) -> str:
    """What stands on the page for a `model`: preset, changes, quantity."""
    name, *changes, quantity = text.split()
    try:
        options = {
            key: json.loads(value)
            for key, value in (change.split("=") for change in changes)
        }
    except ValueError:
        raise ValueError(
            f"expected changes such as img_size=384, got {' '.join(changes)!r}"
        ) from None
    cfg = vl.ViTConfig.preset(name, **options)
    known = {
        "tokens": lambda: f"{cfg.num_patches:,}",
        "parameters": lambda: f"{parameters(cfg):,}",
        "gmacs": lambda: f"{vl.count_macs(cfg) / 1e9:.1f}",
        "grid": lambda: unbroken(f"{cfg.grid[0]} × {cfg.grid[1]}"),
        "embed_dim": lambda: str(cfg.embed_dim),
    }
    if quantity not in known:
        raise ValueError(f"unknown quantity {quantity!r}; there are {', '.join(known)}")
    return known[quantity]()


def parameters(cfg: vl.ViTConfig) -> int:
    """Parameters of a model of this shape, counted on one that takes no memory."""
    with torch.device("meta"):
        return vl.count_parameters(vl.VisionTransformer(cfg))


# Tables


def finished_runs(folder: Path = RESULTS) -> list[dict]:
    """The runs with a test accuracy, the small ones first; NAME-s1, NAME-s2 are other seeds of NAME."""
    groups: dict[str, list[dict]] = {}
    for name in sorted(path.stem for path in folder.glob("*.json")):
        card = load_results(name, folder)
        if "test_accuracy" in card.get("final", {}):
            groups.setdefault(re.sub(r"-s\d+$", "", card["name"]), []).append(card)
    runs = [
        {**cards[0], "accuracies": [card["final"]["test_accuracy"] for card in cards]}
        for cards in groups.values()
    ]
    places = {name: i for i, name in enumerate(ORDER)}
    return sorted(
        runs,
        key=lambda run: next(
            (i for n, i in places.items() if n in run["name"]), len(ORDER)
        ),
    )


def accuracy(run: dict) -> str:
    """A run's test accuracy, with its spread over seeds."""
    scores = run["accuracies"]
    spread = (
        f" ± {100 * statistics.stdev(scores):.1f}{t(' ({n} seeds)', n=len(scores))}"
        if len(scores) > 1
        else ""
    )
    return f"**{100 * statistics.fmean(scores):.1f} %**{spread}"


def hardware(text: str) -> str:
    """The machine without trademark signs."""
    text = (
        re.sub(r"\((R|TM)\)|\bProcessor\b", "", text)
        .replace(" ,", ",")
        .replace("  ", " ")
        .strip()
    )
    return re.sub(
        r", (\d+) of (\d+) cores",
        lambda found: t(", {n} of {m} cores", n=found[1], m=found[2]),
        text,
    )


def lasted(seconds: float) -> str:
    """A duration in the language of the pages."""
    units = {" h": t(" h"), " min": t(" min"), " s": t(" s")}
    return re.sub(r" [a-z]+", lambda unit: units[unit[0]], duration(seconds))


def stages(run: dict) -> list[dict]:
    """What a run was trained in: as a rule itself; else its stages, in their order."""
    return [*run.get("stages", []), run]


def time_taken(study: dict) -> str:
    """How long a study's runs took, all of them together."""
    return unbroken(
        lasted(study.get("seconds") or sum(run["seconds"] for run in study["runs"]))
    )


RUN = {  # what stands in a column of a table of runs
    "Model": lambda run: f"`{run['name']}`",
    "Data": lambda run: t(run["dataset"]),
    "Images": lambda run: f"{run['n_train']:,}",
    "Parameters": lambda run: f"{run['parameters']:,}",
    "Epochs": lambda run: str(sum(len(stage["epochs"]) for stage in stages(run))),
    "Trained on": lambda run: hardware(run["hardware"]),
    "Precision": lambda run: run["precision"],
    "Time": lambda run: lasted(sum(stage["seconds"] for stage in stages(run))),
    "Test accuracy": accuracy,
    "reads": lambda run: {"token": "CLS", "avg": "GAP"}[run["config"]["global_pool"]],
    "$L$": lambda run: run["config"]["depth"],
    "$D$": lambda run: f"{run['config']['embed_dim']:,}",
    "MLP": lambda run: (
        f"{int(run['config']['embed_dim'] * run['config']['mlp_ratio']):,}"
    ),
    "$h$": lambda run: run["config"]["num_heads"],
}


def model_sizes() -> str:
    """Ti, S, B, L and H at 224 pixels and 1,000 classes."""
    rows = []
    for name in PRESETS:
        cfg = vl.ViTConfig.preset(name)
        counts = [
            cfg.depth,
            cfg.embed_dim,
            cfg.hidden_dim,
            cfg.num_heads,
            cfg.num_patches,
        ]
        counts += [parameters(cfg), parameters(replace(cfg, num_classes=0))]
        label = "ViT-" + name.removeprefix("vit-").capitalize()
        rows.append(
            [label, *(f"{n:,}" for n in counts), f"{vl.count_macs(cfg) / 1e9:.2f}"]
        )
    return vl.viz.table(
        [
            *(t("Model"), "$L$", "$D$", "MLP", "$h$", "$N$"),
            *(t("Parameters"), t("headless"), "GMACs"),
        ],
        rows,
    )


def paper_transfer() -> str:
    """What the paper's models reach on CIFAR-10, by what they were pre-trained on (Tables 5 and 6)."""
    five, six = (load_results("paper")[f"table_{number}"] for number in (5, 6))
    rows = []
    small, large = five["cifar10_after_imagenet"], five["cifar10_after_imagenet21k"]
    itself = five["imagenet_top1_after_imagenet"]
    for name in ("B/32", "B/16", "L/32", "L/16", "H/14", "R50x1", "R50+B/32"):
        jft = six.get(name, {})
        shares = [
            small.get(name),
            large.get(name),
            jft.get("cifar10"),
            itself.get(name),
        ]
        cells = [f"{100 * share:.2f}" if share else "" for share in shares]
        label = (
            name if name == "R50x1" else f"ViT-{name}".replace("ViT-R50+", "R50 + ViT-")
        )
        rows.append([label, *cells, f"{jft['exaflops']:,}" if jft else ""])
    return vl.viz.table(
        [
            t("Model"),
            "ImageNet",
            "ImageNet-21k",
            "JFT-300M",
            t("on ImageNet"),
            t("exaFLOPs on JFT"),
        ],
        rows,
    )


def rivals(names: Sequence[str]) -> list[list[str]]:
    """In the same columns, a ridge regression on all training pictures, by the test pictures of each data set."""
    measured = load_results("ridge")["accuracy"]["models"]
    rows = []
    for kind, label in (("drawn10", "Drawn-10"), ("cifar10", "CIFAR-10 (JPEG q75)")):
        known = {
            "Model": f"*{t('ridge on pixels')}*",
            "Data": label,
            "Test accuracy": f"{100 * measured[kind + '*']:.1f} %",
        }
        rows.append([known.get(name, "") for name in names])
    return rows


def runs_table(heads: str) -> str:
    """What is said of the models that come with the book, in these columns of `RUN`."""
    names = heads.split("|")
    rows = [[RUN[name](run) for name in names] for run in finished_runs()]
    rows += rivals(names) if "Test accuracy" in names else []
    return vl.viz.table([*map(t, names)], rows)


def our_studies() -> str:
    """The studies in `vitlib/results`: their question, their data, what they held fixed."""
    rows = []
    for path in sorted(RESULTS.glob("*.json")):
        study = load_results(path.stem)
        if "question" in study and "runs" in study:
            count = len(study["runs"])
            rows.append(
                [
                    f"`{path.stem}`",
                    t(study["question"]),
                    t(study["dataset"]),
                    count,
                    time_taken(study),
                ]
            )
    heads = [t("Study"), t("Question"), t("Data"), t("Runs"), t("Time")]
    return vl.viz.table(heads, rows)


def what_it_learns() -> str:
    """The accuracy of the ViT that learns in a page without each part, in the page's engine and in PyTorch; ridge's."""
    measured = load_results("learns")
    cells = measured["cells"]

    def both(runs: dict[str, list[dict]]) -> str:
        return " · ".join(
            f"{100 * statistics.fmean(run['accuracy'] for run in of):.0f}"
            for of in runs.values()
        )

    rows = [
        [t(part), *(both(of[part]) for of in cells.values())] for part in cells["where"]
    ]
    linear = (f"{100 * measured['ridge'][task]:.0f}" for task in cells)
    rows.append([t("ridge on pixels"), *linear])
    return vl.viz.table([t("page · PyTorch"), *map(t, cells)], rows)


def chapters_table() -> str:
    """What each chapter asks of a reader: minutes to read, exercises, their stars and minutes."""
    rows, stars = [], ("★☆☆", "★★☆", "★★★")
    for path in address.chapters():
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells, length = notebook["cells"], lengths.measure(notebook)
        text = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
        asked = lengths.DIFFICULTY.findall(text)
        told = [
            length.reading,
            len(asked),
            *(sum(star == each for each, *_ in asked) for star in stars),
        ]
        told.append(length.exercises)
        told += [
            sum(int(minutes) for _, minutes, how in asked if only in how)
            for only in ("", "in class")
        ]
        number = path.stem[:2]
        rows.append(
            [f"{{ref}}`{number} {t(address.title_of(path))} <teach-{number}>`", *told]
        )
    rows.append([t("all"), *map(sum, zip(*(told for _, *told in rows), strict=True))])
    heads = [
        *(t("Chapter"), t("minutes to read"), t("exercises"), *stars),
        *(t("minutes, core"), t("all"), t("in class")),
    ]
    return vl.viz.table(heads, [[cell or "" for cell in row] for row in rows])


def credits() -> dict[str, dict[str, str]]:
    """Where the sample pictures are from."""
    return tomllib.loads((PICTURES / "credits.toml").read_text(encoding="utf-8"))


def sample_pictures() -> str:
    """The sample pictures of CIFAR-10's classes: what the pages' first model says of each, and its credits."""
    rows, (net, _) = [], vl.load_pretrained(MODEL)
    for name, credit in credits().items():
        share, answer = vl.predict(net, vl.sample_image(name, net.cfg.img_size)[None])[
            0
        ].max(dim=0)
        said = unbroken(f"{vl.CIFAR10_CLASSES[answer]}, {100 * share:.0f} %")
        changes = t("; ") + t(credit["changes"]) if "changes" in credit else ""
        title = f"[{t(credit['title'])}]({credit['source']})"
        author = t(credit["author"])
        what = t("{title}, {author}", title=title, author=author) + changes
        url, licence = credit.get("licence_url"), t(credit["licence"])
        licence = f"[{licence}]({url})" if url else licence
        rows.append([f"`{name}`", said, what, licence])
    return vl.viz.table(
        [
            *(t("Picture"), t("`{model}` says", model=MODEL)),
            *(t("What it is, and whose"), t("Licence")),
        ],
        rows,
    )


def said() -> Iterator[str]:
    """What tables take from data."""
    yield from RUN
    learned = load_results("learns")["cells"]
    yield from (*learned, *learned["where"])
    yield from map(address.title_of, address.chapters())
    for path in sorted(RESULTS.glob("*.json")):
        study = load_results(path.stem)
        if "question" in study and "runs" in study:
            yield from (study["question"], study["dataset"])
    for credit in credits().values():
        yield from map(
            credit.get, ("title", "author", "changes", "licence"), repeat("")
        )


TABLES = {
    "sample-pictures": sample_pictures,
    "model-sizes": model_sizes,
    "paper-transfer": paper_transfer,
    "our-models": lambda: runs_table(
        "Model|Test accuracy|Data|reads|$L$|$D$|MLP|$h$|Parameters"
    ),
    "our-runs": lambda: runs_table("Model|Images|Epochs|Trained on|Precision|Time"),
    "our-studies": our_studies,
    "what-it-learns": what_it_learns,
    "chapters": chapters_table,
    "parts-of-today": today.worth,
    "positions-of-518": today.resampled,
    **clinic.TABLES,
}


def make_table(name: str) -> str:
    """One of the tables, by name, in Markdown."""
    if name not in TABLES:
        raise ValueError(f"no computed table {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name]()


# Sphinx


class Value(SphinxRole):
    """A computed number in a sentence."""

    def __init__(self, compute) -> None:
        super().__init__()
        self.compute = compute

    def run(self):
        note_results(self.env)
        try:
            return [nodes.Text(self.compute(self.text))], []
        except ValueError as error:
            return [], [
                self.inliner.reporter.error(
                    f"{self.rawtext}: {error}", line=self.lineno
                )
            ]


class Computed(SphinxDirective):
    """A computed table."""

    required_arguments = 1
    make = staticmethod(make_table)

    def run(self) -> list[nodes.Node]:
        note_results(self.env)
        for path in address.chapters() if self.arguments[0] == "chapters" else ():
            self.env.note_dependency(str(path))
        try:
            return markdown(self, self.make(self.arguments[0]))
        except ValueError as error:
            raise self.error(str(error)) from None


def note_results(env) -> None:
    """A page with computed numbers is read again when a result changes."""
    for path in sorted(RESULTS.glob("*.json")):
        env.note_dependency(str(path))


def markdown(directive: SphinxDirective, text: str) -> list[nodes.Node]:
    """What a text in Markdown puts on the page where a directive stands."""
    place = nodes.Element()
    lines = StringList(text.splitlines(), source=directive.env.docname)
    directive.state.nested_parse(lines, directive.content_offset, place)
    return place.children


def setup(app) -> None:
    """Registers roles and directive with Sphinx."""
    app.add_role("result", Value(result))
    app.add_role("model", Value(model))
    app.add_directive("computed", Computed)
