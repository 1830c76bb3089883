"""What the prose says of numbers: verdicts follow from the results, and no measured number is typed by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import vitlib as vl

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
PAGES = [*CHAPTERS, *sorted((ROOT / "book").glob("*.md"))]
KEPT_BY_A_TOOL = {"api.md"}  # `python -m tools.site.api` writes it


def cells(path: Path, kind: str) -> list[dict]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def prose(path: Path) -> str:
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n\n".join("".join(cell["source"]) for cell in cells(path, "markdown"))


# ------------------------------------------------------------------------------- sentences that rest on results


def result(name: str) -> dict:
    return vl.load_results(name)


def verdict(study: str, says: str) -> str:
    return result(study)["verdicts"][says]["verdict"]


def mean(study: str, variant: str) -> float:
    return result(study)["summary"][variant]["mean"]


# page, words that stand there, and what must hold of the results for them to stand
SENTENCES = []


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
    if path.suffix == ".ipynb":
        for cell in cells(path, "code"):
            text = "".join(cell["source"])
            if "nbval-check-output" in cell["metadata"].get("tags", []):
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
