"""What decides a study is written before its runs: every part of every study's definition, held by its fingerprint.

If one of these tests fails, a variant, a margin or a recipe has changed: what was run before is of another study. Where
that is meant, say so in the study, run it anew, and write the fingerprints: `python tests/studies/test_study_rules.py`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path

import pytest

from vitlib.config import ViTConfig
from vitlib.train.recipe import RECIPES, Recipe, recipe
from vitworkshop.studies.claim import LEARNED, SEEDS, SEEDS_APART
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.study import QUICK

KNOWN = Path(__file__).with_name("study-rules.json")
LARGE = [recipe(name, "full") for name in ("plain", "paper", "modern", "finetune")]
RULE = (SEEDS, SEEDS_APART, LEARNED)
SHARED = {"QUICK": QUICK, "rule": RULE, "presets": RECIPES, "presets, full": LARGE}


def plain(value: object) -> object:
    """A definition as JSON has it; functions by their names."""
    if is_dataclass(value):
        named = {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        return {"is": type(value).__name__, **named}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, partial):
        return [value.func.__qualname__, plain(value.args), plain(value.keywords)]
    return value.__qualname__ if callable(value) else value


def fingerprint(value: object) -> str:
    return hashlib.sha256(json.dumps(plain(value)).encode()).hexdigest()[:12]


def constants(name: str) -> dict[str, object]:
    """What a study's module itself writes in capitals: numbers of pictures, of steps, shapes."""
    module = importlib.import_module(f"vitworkshop.studies.{name.replace('-', '_')}")
    data = (int, float, str, tuple, list, dict, Recipe, ViTConfig)
    body = ast.parse(inspect.getsource(module)).body
    nodes = [
        node
        for part in body
        if isinstance(part, ast.Assign | ast.AnnAssign)
        for node in ast.walk(part)
    ]
    written = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    found = {key: getattr(module, key) for key in sorted(written) if key.isupper()}
    return {key: value for key, value in found.items() if isinstance(value, data)}


def now() -> dict[str, dict[str, str]]:
    """The fingerprints of all studies' parts."""
    parts = {}
    for name, study in STUDIES.items():
        parts[name] = {
            f.name: fingerprint(getattr(study, f.name)) for f in fields(study)
        }
        parts[name]["constants"] = fingerprint(constants(name))
    return {
        "(shared)": {name: fingerprint(value) for name, value in SHARED.items()},
        **parts,
    }


@pytest.mark.parametrize("name", ["(shared)", *STUDIES])
def test_the_rules_of_a_study_stay_as_they_were_written(name):
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    assert now()[name] == known[name], f"{name}: see the top of this file"


if __name__ == "__main__":
    KNOWN.write_text(json.dumps(now(), indent=1) + "\n", encoding="utf-8")
