"""The reference page, book/api.md: written from the docstrings, whole, and each name with its chapter."""

import re
from collections import Counter

import pytest
from pages import ROOT, prose

import vitlib
from page import api

PAGE = prose(ROOT / "book/api.md")
NAMES = [
    name for name in vitlib.__all__ if name not in ("__version__", "controls", "viz")
]
ENTRY = re.compile(
    r"^\.\. (?:auto|py:)(?:function|class|data):: vitlib\.([\w.]+)$(.*?)^```$",
    re.M | re.S,
)


def test_the_page_is_what_the_docstrings_say():
    assert api.page() == PAGE, "run python -m page.api"


def test_every_public_name_is_described_exactly_once():
    described = Counter(path for path, _ in ENTRY.findall(PAGE))
    assert described == Counter(
        [
            *NAMES,
            *(f"viz.{name}" for name in vitlib.viz.__all__),
            *(f"controls.{name}" for name in vitlib.controls.__all__),
        ]
    )


@pytest.mark.parametrize(
    "body", [pytest.param(body, id=path) for path, body in ENTRY.findall(PAGE)]
)
def test_an_entry_names_a_chapter(body):
    assert re.search(r"^   (Taught|Used|Its idea is) in .*chapter \d\d", body, re.M)
    for chapter in re.findall(r":doc:`[^<`]*<([^>]+)>`", body):
        assert (ROOT / "book" / f"{chapter}.ipynb").exists()


@pytest.mark.errors
def test_a_docstring_without_a_chapter_is_refused(monkeypatch):
    monkeypatch.setattr(api, "source_of", lambda module, name: "No source.")
    with pytest.raises(
        ValueError,
        match=r"vitlib.config.ViTConfig names no chapter; end it with Source",
    ):
        api.entry("config", "ViTConfig", {})
