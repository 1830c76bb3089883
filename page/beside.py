"""The paper beside ours: each of its figures next to its small twin, computed when the book is built.

    ```{beside} positions
    claims: {having positions: positions before none}
    paper: {none: table_8/none, 1-D: table_8/1d/stem}
    of: 5-shot accuracy on ImageNet, %
    ours: {none: none, 1-D: learned}
    ridge: [positions, "*"]
    ```

shows the study `positions`: its claims, by how they begin and what they are called here; the paper's numbers, by their
place in `vitlib/results/paper.json`; our variants, by patterns of which the best one counts; a ridge regression on the
pixels, as a variant's name or a place in `vitlib/results/ridge.json`; folded, all runs. With nothing in it `{beside}
parts` is the chart of the study `parts`, and `{beside} glance` lists all rows. Words follow from numbers by
`vitworkshop.studies.claim.word`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from statistics import fmean

import yaml
from docutils import nodes
from docutils.nodes import make_id
from sphinx.util.docutils import SphinxDirective

import vitlib as vl
from page.address import ROOT, chapters
from page.numbers import hardware, markdown, note_results, time_taken
from page.typography import NARROW
from page.values import at
from page.words import t
from vitworkshop.studies.claim import (
    NOT_HERE,
    OPEN,
    SAME,
    SEEDS,
    WITHIN,
    bracketed,
    rate_of,
    rates_of,
    scores_of,
    way_of,
)
from vitworkshop.studies.parts import BASE, ORDER, costs, equal_deviations
from vitworkshop.studies.registry import CHAPTERS, STUDIES
from vitworkshop.studies.report import difference, judged, summary
from vitworkshop.studies.rows import read_study

TRACK = 150  # width of a chart, in pixels
NEAR = 5  # points
NOT_YET = "not learned yet"
EXPECTED = {SAME: "as expected", NOT_HERE: "not as expected"}
#: change of the study `parts` -> the chapter that builds what is changed
CHAPTER_OF = {
    "no positions": "03",
    "CLS for the mean": "07",
    "AdamW": "10",
    "sines and cosines": "03",
    "patches of 8": "12",
    "no crops and mirrors": "10",
    "a tenth of the pictures, as many steps": "11",
    "half of the patches dropped": "10",
    "two blocks": "12",
    "post-norm": "06",
    "RoPE": "03",
    "relative positions": "03",
    "eight blocks": "12",
}
#: a variant of the study, or a study and a pattern of ridge.json; several by their labels
Ridge = str | list[str] | dict[str, str | list[str]]
#: a row of the page: its heading, and the first directive below it
FIRST = re.compile(
    r"^### ([^\n]+)\n(?:(?!#|```)[^\n]*\n)*```\{beside\} (\S+)\n(.*?)^```", re.M | re.S
)
# label, value, reach to both sides, whether the dot is hollow
Point = tuple[str, float, float, bool]


@cache
def book(name: str) -> dict:
    """The book's own runs of a study, read and checked once in a build."""
    return read_study(name)


def chart(unit: str, points: list[Point], span: float = 0, zero: bool = False) -> str:
    """Labels, dots on one scale of at least this span, numbers; a hollow dot has learned next to nothing."""
    low, high = ends(points, zero)
    room = max(0, span - (high - low)) / 2
    low, high = low - room, high + room
    pad = 0.06 * (high - low) or 1.0
    scale = TRACK / (high - low + 2 * pad)

    def place(x: float) -> float:
        return (x - low + pad) * scale

    rows = []
    for label, x, reach, hollow in points:
        line = f'<path class="zero" d="M{place(0):.1f} 0V16"/>' if zero else ""
        bar = f'<path class="reach" d="M{place(x - reach):.1f} 8H{place(x + reach):.1f}"/>'
        dot = f'<circle{" class=hollow" * hollow} cx="{place(x):.1f}" cy="8" r="4.5"/>'
        number = f"{x:{'+' * zero}.1f}"
        rows.append([t(label), track(line + bar * (reach > 0) + dot), number])
    return vl.viz.table([unit, "", ""], rows)


def ends(points: list[Point], zero: bool = False) -> tuple[float, float]:
    """From where to where a chart reaches."""
    found = [end for _, x, r, _ in points for end in (x - r, x + r)]
    found += [0] * zero
    return min(found), max(found)


def track(inside: str) -> str:
    """One line of a chart; its number stands beside it as text."""
    size = f'viewBox="0 0 {TRACK} 16" width="{TRACK}" height="16"'
    return f'<svg class="track" aria-hidden="true" {size}>{inside}</svg>'


def papers(points: dict[str, str]) -> list[Point]:
    """The paper's numbers."""
    known = vl.load_results("paper")
    return [
        (label, 100 * at(known, way, "paper"), 0, False)
        for label, way in points.items()
    ]


def ours(name: str, points: dict[str, str]) -> list[Point]:
    """Our variants with their deviation over seeds."""
    found = book(name)["summary"]
    shown = {label: best(found, pattern) for label, pattern in points.items()}
    return [
        (label, 100 * one["mean"], 100 * (one["sd"] or 0), False)
        for label, one in shown.items()
    ]


def pictures(name: str, patterns: list[str]) -> str:
    """The data set of these variants, which a run tells where a study has several."""
    result = book(name)
    found = {
        run.get("dataset", result["dataset"])
        for run in result["runs"]
        if any(fnmatchcase(run["variant"], pattern) for pattern in patterns)
    }
    return ", ".join(sorted(one.rpartition("; ")[2] for one in found))


def rivals(name: str, ridge: Ridge) -> list[Point]:
    """Ridge regressions on the pixels."""
    rows = []
    places = ridge if isinstance(ridge, dict) else {"ridge on pixels": ridge}
    for label, place in places.items():
        if isinstance(place, str):
            below = book(name)["summary"][place]["mean"]
        else:
            study, pattern = place
            below = vl.load_results("ridge")["accuracy"][study][pattern]
        rows.append((label, 100 * below, 0, True))
    return rows


def hardly(name: str, what: dict) -> list[str]:
    """Which of a row's models are less than NEAR points above a ridge regression on the same pictures, or below it.

    None where the ridge is itself what they are compared with.
    """
    if "ours" not in what or "own" in what:
        return []
    ridges = rivals(name, what["ridge"])
    below = {part_of(label): x for label, x, *_ in ridges}
    return [
        label
        for label, x, *_ in ours(name, what["ours"])
        if x - below.get(part_of(label), ridges[0][1]) < NEAR
    ]


def part_of(label: str) -> str:
    """Of "500, ViT" and "pattern, 200: ViT" what stands before the model."""
    return re.split(r"[:,] (?=[^:,]*$)", label)[0]


def best(found: dict[str, dict], pattern: str) -> dict:
    """The summary of the best of the variants that a pattern names."""
    names = [name for name in found if fnmatchcase(name, pattern)]
    return found[max(names, key=lambda name: found[name]["mean"])]


def told(name: str, what: dict) -> str:
    """The word of a row, and for each of its claims the numbers that it follows from."""
    found = claims_of(name, what)
    words = words_of(name, what)
    lines = [
        t(
            "- {called}: *{word}*, {numbers}",
            called=t(called),
            word=words[called],
            numbers=unbreakable(difference(one)),
        )
        for called, one in found.items()
    ]
    word = [] if "list" in what else [f"**{headword(name, what)}**", ""]
    return "\n".join([*word, *lines, "", facts(name, found, what.get("rates"))])


def claims_of(name: str, what: dict) -> dict[str, dict]:
    """A row's claims by what they are called there, and what the runs say of each."""
    return {called: find(name, begins) for begins, called in what["claims"].items()}


def words_of(name: str, what: dict) -> dict[str, str]:
    """The word of each claim of a row; another one where the side that should be ahead has hardly learned."""
    patterns = [what["ours"][label] for label in hardly(name, what)]
    words = {}
    for called, one in claims_of(name, what).items():
        learned = not any(fnmatchcase(one["first"], each) for each in patterns)
        own = "list" in what or "own" in what
        nothing = one["word"] == NOT_HERE and not learned and not own
        words[called] = t(NOT_YET) if nothing else plain(one, own)
    return words


def headword(name: str, what: dict) -> str:
    """The word of the first claim, or what a later one takes from it."""
    first, *others = (one["word"] for one in claims_of(name, what).values())
    if first in (SAME, WITHIN) and {NOT_HERE, OPEN} & {*others}:
        return t("Yes, but …")
    said = next(iter(words_of(name, what).values()))
    return f"{said[0].upper()}{said[1:]}"


def find(name: str, begins: str) -> dict:
    """What the runs say of the claim that begins so."""
    (one,) = (one for says, one in judged(name).items() if says.startswith(begins))
    return one


def plain(found: dict, own: bool = False) -> str:
    """The word as a reader is told it: a margin by its number; of what only we expected, that we did."""
    if own and found["word"] in EXPECTED:
        return t(EXPECTED[found["word"]])
    points = f"{100 * found['margin']:g}"
    one = t("within 1 point")
    within = one if points == "1" else t("within {points} points", points=points)
    return within if found["word"] == WITHIN else t(found["word"])


def unbreakable(text: str) -> str:
    """Numbers, signs and units stay on a line."""
    return text.replace(" points", f"{NARROW}{t('points')}").replace(
        ", margin ", f"{t(', margin')}{NARROW}"
    )


def facts(name: str, found: dict[str, dict], tried: str | None) -> str:
    """Seeds and rates, and the chapter."""
    counts = map(str, sorted({one["n"] for one in found.values()}))
    seeds = t(" and ").join(counts)
    tried = t(tried) if tried else rates(name, found.values())
    chapter = next(
        number for number, names in CHAPTERS.items() if name in names.split()
    )
    link = f"{{doc}}`{chapter} <{page_of(chapter)}>`"
    return t(
        "{seeds} seeds, {tried}. Chapter {link}.", seeds=seeds, tried=tried, link=link
    )


def rates(name: str, found: Iterable[dict]) -> str:
    """How many learning rates each side had, and whether a best one is the last on its side."""
    study, runs = STUDIES[name], book(name)["runs"]
    if study.n_train == 0:
        return t("nothing is trained")
    sides = {one[side]: one["metric"] for one in found for side in ("first", "second")}
    tried = [
        rates_of(side, runs, metric, study.choosing) or inside(side, runs, metric)
        for side, metric in sides.items()
    ]
    tried = [one for one in tried if len(one) > 1]
    if not tried:
        return t("one learning rate")
    numbers = sorted({len(one) for one in tried})
    if numbers == [2]:
        return t("2 learning rates a side, so that none lies between others")
    edge = "" if all(map(bracketed, tried)) else t(", a best one at the edge")
    n = t(" to ").join(map(str, {numbers[0]: 0, numbers[-1]: 0}))
    return t("{n} learning rates a side", n=n) + edge


def inside(side: str, runs: list[dict], metric: str) -> dict[float, float]:
    """Of a variant whose runs try several learning rates themselves, the mean score at each."""
    finals = [run["final"] for run in runs if run["variant"] == side]
    keys = [key for key in finals[0] if key.startswith(f"{metric} lr=")]
    return {rate_of(key): fmean(final[key] for final in finals) for key in keys}


def folded(name: str) -> str:
    """How the runs of a study were made, every variant, the log; folded."""
    result = book(name)
    head, *rows = summary(result)
    rows = [[*cells, t(spread), n] for *cells, spread, n in rows]
    runs, file = len(result["runs"]), f"../vitlib/results/{name}.json"
    made = t(
        "*{dataset}, {n} runs in {time} on {where}.* Log: {log}",
        dataset=t(result["dataset"]),
        n=runs,
        time=time_taken(result),
        where=f"{hardware(result['hardware'])}, {result['precision']}",
        log=f"{{download}}`{name}.json <{file}>`",
    )
    again = t(
        "`{command}`: {minutes} minutes of one core.",
        command=f"python -m vitlib study run {name}",
        minutes=f"{result['seconds'] / 60:.0f}",
    ).replace(" minutes of", f"{NARROW}minutes of")
    what = t("Table, log and command of `{name}`", name=name)
    question, measure = t(STUDIES[name].question), t(result["measure"])
    measured = t("{question} Judged by {measure}.", question=question, measure=measure)
    table = "{.runs}\n" + vl.viz.table([*map(t, head)], rows)
    text = "\n\n".join([measured, *map(t, described(name)), table, made, again])
    return f":::{{dropdown}} {what}\n{text}\n:::"


def described(name: str) -> list[str]:
    """How the runs of a study were made: the paragraphs of its module after the first line."""
    module = import_module(f"vitworkshop.studies.{name.replace('-', '_')}")
    text = (inspect.getdoc(module) or "").partition("\n")[2].strip()
    return text.split("\n\n") if text else []


def parts() -> str:
    """What each change costs the recipe, the dearest first; what has not been run with three seeds is open."""
    runs = book("parts")["runs"]
    known = costs(runs)
    links = {
        change: f"{{doc}}`{t(change)} <{page_of(CHAPTER_OF[change])}>`"
        for change in ORDER
    }
    points = [
        (links[change], 100 * cost, 100 * reach, False)
        for change, (cost, reach) in sorted(known.items(), key=lambda one: -one[1][0])
    ]
    still = t("; ").join(links[change] for change in links if change not in known)
    said = t("*Open*: {still}.", still=still) if still else ""
    study = STUDIES["parts"]
    judging = scores_of(runs, study.metric, study.choosing)
    base = [
        score
        for name, of in judging.items()
        if way_of(name) == BASE
        for score in of.values()
    ]
    if len(base) >= SEEDS:
        said += t(
            " The base: {share} of the test pictures right, {n} seeds.",
            share=f"{fmean(base):.1%}",
            n=len(base),
        )
    if (p := equal_deviations(runs)) is not None:
        said += t(
            " All changes share one deviation (Bartlett's test: p = {p}).", p=f"{p:.2f}"
        )
    if not points:
        return said
    drawn = chart(t("change: points that it costs"), points, zero=True)
    how = t(
        "A dot is the mean of what a change costs, its line an interval; all intervals hold together in nineteen "
        "cases of twenty. The stroke is 0."
    )
    return f"::::{{div}} beside parts\n{drawn}\n::::\n\n{how} {said}"


def page_of(chapter: str) -> str:
    """The page of a chapter, by its number."""
    return next(path.stem for path in chapters() if path.stem.startswith(chapter))


class Beside(SphinxDirective):
    """A row of the page, or its first chart."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        note_results(self.env)
        name, what = self.arguments[0], yaml.safe_load("\n".join(self.content))
        if name == "glance":
            return markdown(self, glance())
        return markdown(self, row(name, what) if what else parts())


def glance() -> str:
    """The questions of the page's rows, and the word of each."""
    text = (ROOT / "book" / "beside.md").read_text(encoding="utf-8")
    rows = []
    for title, name, body in FIRST.findall(text.partition("(beside-not)=")[0]):
        what = yaml.safe_load(body)
        words = words_of(name, what)
        ahead = [
            f"{t(called)}{t(': ')}{unbreakable(difference(one).partition(' [')[0])}"
            for called, one in claims_of(name, what).items()
            if words[called] != t(NOT_YET)
        ]
        near = t("; ").join(map(t, hardly(name, what)))
        link = f'<a href="#{make_id(title)}">{t(title)}</a>'
        rows.append([link, "<br>".join(ahead), headword(name, what), near])
    heads = [
        *(t("question"), t("our differences"), t("in a word"), t("hardly learned")),
    ]
    return vl.viz.table(heads, rows)


def said() -> Iterator[str]:
    """What rows and charts take from data."""
    yield from (NOT_YET, *EXPECTED.values(), SAME, WITHIN, NOT_HERE, OPEN)
    yield from (*ORDER, "ridge on pixels")
    text = (ROOT / "book" / "beside.md").read_text(encoding="utf-8")
    yield from (title for title, *_ in FIRST.findall(text))
    names = {}
    for name, body in re.findall(
        r"^```\{beside\} (\S+)\n(?!```)(.+?)^```", text, re.M | re.S
    ):
        what = names[name] = yaml.safe_load(body)
        yield from what["claims"].values()
        yield from (*what.get("paper", ()), *what.get("ours", ()))
        yield from (what.get("of", ""), what.get("rates", ""))
        yield from what["ridge"] if isinstance(what.get("ridge"), dict) else ()
    for name in names:
        head, *_ = summary(book(name))
        yield from (*head, "one seed", STUDIES[name].question, book(name)["measure"])
        yield from (book(name)["dataset"], *described(name))


def row(name: str, what: dict) -> str:
    """A row in Markdown: the paper, ours, the word; folded, the runs."""
    cells, near = [], hardly(name, what)
    if "ours" in what:
        own, ridges = ours(name, what["ours"]), rivals(name, what["ridge"])
        low, high = ends([*own, *ridges])
        if "paper" in what:  # as many points to the inch
            theirs = papers(what["paper"])
            unit = t("the paper: {of}", of=t(what["of"]))
            cells.append(chart(unit, theirs, high - low))
        where = pictures(name, [*what["ours"].values()])
        unit = t("ours: {where}, %", where=t(where))
        cells.append(chart(unit, [*own, *ridges]))
    names = t("; ").join(map(t, near))
    said = t(" Hardly above the ridge, or below it: {names}.", names=names)
    cells.append(told(name, what) + said * ("list" in what and bool(near)))
    text = "\n\n".join(f":::{{div}}\n{cell}\n:::" for cell in cells)
    return f"::::{{div}} beside\n{text}\n::::\n\n{folded(name) if what.get('runs') else ''}"


def setup(app) -> None:
    """Registers the directive with Sphinx."""
    app.add_directive("beside", Beside)
