"""The reference page, book/api.md: every public name once, in its module's section, with its chapter beside it."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

import vitlib
from vitlib import PUBLIC

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
PAGE = (BOOK / "api.md").read_text(encoding="utf-8")
NAMES = [(module, name) for module, names in PUBLIC.items() for name in names]
NAMES += [
    ("viz", name) for name in vitlib.viz.__all__ if name not in PUBLIC["viz"]
]  # written vl.viz.show_images
# what stands between two directives belongs to the first of them
DIRECTIVE = re.compile(
    r"^\.\. (?:auto|py:)(function|class|data|module):: (vitlib\.[\w.]+)$(.*?)^```$", re.M | re.S
)
ENTRIES = [(kind, path, body) for kind, path, body in DIRECTIVE.findall(PAGE)]


def test_every_public_name_is_described_exactly_once():
    described = Counter(path.rsplit(".", 1)[1] for _, path, _ in ENTRIES)
    missing = [name for _, name in NAMES if described[name] == 0]
    assert not missing, f"book/api.md lacks {', '.join(missing)}"
    twice = [name for name, count in described.items() if count > 1]
    assert not twice, f"book/api.md describes more than once: {', '.join(twice)}"


@pytest.mark.parametrize(("kind", "path", "body"), ENTRIES, ids=[path for _, path, _ in ENTRIES])
def test_an_entry_exists_is_of_its_kind_and_names_a_chapter(kind, path, body):
    module, name = path.rsplit(".", 1)
    found = getattr(importlib.import_module(module), name)
    if kind != "data":
        assert isinstance(found, type) == (kind == "class")
        assert found.__module__ == module, f"{name} lives in {found.__module__}"
    if hasattr(vitlib, name):
        assert getattr(vitlib, name) is found
    assert re.search(r"^   Taught in .*chapter", body, re.M), f"{path} has no chapter beside it"
    for chapter in re.findall(r":doc:`[^<`]*<([^>]+)>`", body):
        assert chapter in ("01-patchify", "09-training") or (BOOK / f"{chapter}.ipynb").exists()


def test_modules_stand_in_the_order_of_their_levels():
    sections = re.findall(r"^### `vitlib\.(\w+)`$", PAGE, re.M)
    assert sections == [module for module in PUBLIC if module in sections]
    assert not set(PUBLIC) - set(sections), f"no section for {set(PUBLIC) - set(sections)}"


def test_entries_stand_in_the_section_of_their_module():
    for section in re.split(r"^### ", PAGE, flags=re.M)[1:]:
        module = re.match(r"`vitlib\.(\w+)`", section)[1]
        for _, path, _ in DIRECTIVE.findall(section):
            name = path.rsplit(".", 1)[1]
            assert name in PUBLIC[module] or path.startswith(f"vitlib.{module}."), (
                f"{path} stands under {module}"
            )
