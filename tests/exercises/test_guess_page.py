"""Fields on a page: the script answers as `vl.check` does, whatever is typed."""

import json
import re

import numpy as np
import pytest
from browsing import needs_browser
from pages import CHAPTERS, ROOT, cells, prose, source

pytest.importorskip("sphinx_exercise")
from page.exercises import CALL
from page.guess import question
from vitworkshop.exercises.answers import plain, words
from vitworkshop.exercises.data import data_of, has_data, nested, parts_of
from vitworkshop.exercises.engine import find, judge

CODE = [
    source(cell)
    for path in CHAPTERS
    for cell in cells(path)
    if CALL.search(source(cell))
]
CODE += re.findall(
    r"^```\{guess\}\n(.*?)^```", prose(ROOT / "book/clinic.md"), re.M | re.S
)
ASKED = {
    number: parts
    for number, parts, _ in filter(None, map(question, CODE))
    if not find(number).inputs
}
SAY = "([data, all]) => all.map((typed) => Object.fromEntries(bookGuess(data, typed)))"
pytestmark = [*needs_browser, pytest.mark.usefixtures("one_thread")]


def typed(value) -> str:
    """An answer as one would type it."""
    if words(value, value) is None:
        return str(nested(plain(value)))
    return value if isinstance(value, str) else ", ".join(value)


def near(value) -> list:
    """What is nearly an answer, and what is none."""
    if words(value, value) is not None:
        one = (
            [value.upper(), f"the {value}s", "nothing", "q"]
            if isinstance(value, str)
            else []
        )
        return one or [[*value, "nothing"], [*value][:1], [*value][::-1], "q"]
    try:
        x = np.array(nested(plain(value)), float)
    except ValueError:  # lists of unequal lengths
        return [3, [7, 7], "x", True]
    return [
        np.vectorize(lambda v: float(f"{v:.3g}"))(x).tolist(),
        (x * 1.0004).tolist(),
        (x + 1).tolist(),
        "x",
    ]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("number", ASKED)
def test_a_page_judges_as_check_does(number, browser):
    """Known mistakes and some of two, right ones, all parts or one; what is nearly right, or odd."""
    entry = find(number)
    asked = [part for part in ASKED[number] if has_data(entry, part)]
    one, two = (
        [function() for said, function in entry.wrong() if len(said) == n]
        for n in (1, 2)
    )
    given = [
        *one[:9],
        entry.value,
        *two[::40],
        *(each for each in entry.others if not isinstance(each, tuple)),
    ]
    answers = [{part: parts_of(value)[part] for part in asked} for value in given]
    answers += [
        dict([list(answer.items())[i % len(asked)]])
        for i, answer in enumerate(answers[:9])
        if asked
    ]
    columns = [near(parts_of(entry.value)[part]) for part in asked]
    answers += [
        dict(zip(asked, row, strict=True)) for row in zip(*columns, strict=True)
    ]
    texts = [
        {part: typed(value) for part, value in answer.items()} for answer in answers
    ]
    # cannot be typed
    texts = [
        text if all(text.values()) and "inf" not in str(text) else {} for text in texts
    ]
    tab, data = browser.new_page(), json.loads(json.dumps(data_of(entry, asked)))
    for script in ("vitworkshop/web/boot.js", "book/_static/guess/guess.js"):
        tab.add_script_tag(path=ROOT / script)
    sentences = {sentence for sentence, *_ in data["mistakes"] + data["pairs"]}
    for answer, text, here in zip(
        answers, texts, tab.evaluate(SAY, [data, texts]), strict=True
    ):
        there = (
            judge(entry, answer if isinstance(entry.value, dict) else answer[""])
            if asked
            else {}
        )
        for part in text:
            if there[part].kind != "told" or "unknown" in there[part].says:
                assert here[part] == str(there[part]), text
            else:  # the page says less
                assert (
                    here[part].startswith("not yet: ")
                    and here[part][9:] not in sentences
                ), text
    tab.close()
