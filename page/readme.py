"""Writes the table of results into README.md and the title page, from the files in vitlib/results.

    python -m page.readme

What stands between `<!-- results -->` and `<!-- /results -->` is written anew from the JSON files of the runs, so no
number is typed by hand. Running it twice changes nothing; a test holds both pages to the files.
"""

from __future__ import annotations

import re
import statistics
import sys
from pathlib import Path

from vitlib.evidence import load_results

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "vitlib" / "results"
PAGES = (ROOT / "README.md", ROOT / "book" / "intro.md")
BLOCK = re.compile(r"<!-- results -->\n.*?<!-- /results -->", re.S)
ORDER = ("drawn10", "laptop", "plain", "modern")


def cards(folder: Path = RESULTS) -> list[dict]:
    """The finished runs with a test accuracy, the small ones first; NAME-s1, NAME-s2 are other seeds of NAME."""
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stem)
    found = [load_results(path.stem, folder) for path in paths]
    groups: dict[str, list[dict]] = {}
    for card in found:
        if "test_accuracy" in card.get("final", {}):
            groups.setdefault(re.sub(r"-s\d+$", "", card["name"]), []).append(card)
    runs = [
        {**group[0], "accuracies": [card["final"]["test_accuracy"] for card in group]}
        for group in groups.values()
    ]
    place = {name: i for i, name in enumerate(ORDER)}
    return sorted(runs, key=lambda card: next((place[n] for n in ORDER if n in card["name"]), len(ORDER)))


def duration(seconds: float) -> str:
    """Seconds as people say them: "48 s", "9 min", "1 h 32 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def size(parameters: int) -> str:
    """A count as people say it: "311 k", "5.4 M"."""
    return f"{parameters / 1e6:.1f} M" if parameters >= 1e6 else f"{parameters / 1e3:.0f} k"


def hardware(text: str) -> str:
    """The machine without trademark signs."""
    return re.sub(r"\((R|TM)\)|\bProcessor\b", "", text).replace(" ,", ",").replace("  ", " ").strip()


def row(card: dict) -> str:
    """One run as a line of the table."""
    scores = card["accuracies"]
    accuracy = f"**{100 * statistics.fmean(scores):.1f} %**"
    if len(scores) > 1:
        accuracy += f" ± {100 * statistics.stdev(scores):.1f} ({len(scores)} seeds)"
    cells = [
        f"`{card['name']}`",
        card["dataset"],
        size(card["parameters"]),
        str(card["recipe"]["epochs"]),
        hardware(card["hardware"]),
        duration(card["seconds"]),
        accuracy,
    ]
    return "| " + " | ".join(cells) + " |"


def table(runs: list[dict]) -> str:
    """The runs as a Markdown table."""
    if not runs:
        return "*No long run has been stored yet.*"
    head = ["Model", "Data", "Parameters", "Epochs", "Trained on", "Time", "Test accuracy"]
    lines = ["| " + " | ".join(head) + " |", "|---" * 4 + "|---|---|---|"]
    return "\n".join([*lines, *(row(card) for card in runs)])


def fill(text: str, runs: list[dict]) -> str:
    """The page with its table written anew; ValueError if it has no place for one."""
    block = f"<!-- results -->\n{table(runs)}\n<!-- /results -->"
    filled, found = BLOCK.subn(lambda _: block, text)
    if found != 1:
        raise ValueError(f"expected one block from <!-- results --> to <!-- /results -->, found {found}")
    return filled


def main() -> int:
    """Fills both pages and returns the exit status."""
    runs = cards()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        filled = fill(text, runs)
        if filled != text:
            page.write_text(filled, encoding="utf-8", newline="\n")
        print(
            f"{page.relative_to(ROOT)}: {len(runs)} results, {'written' if filled != text else 'as they were'}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
