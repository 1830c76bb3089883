"""What the tests of studies share: pictures, and one way to run a study on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vitlib.data.dataset import Dataset, load_dataset
from vitlib.train.recipe import recipe
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.runner import run_study


@pytest.fixture(scope="session")
def data() -> Dataset:
    """Sixty pictures of Drawn-10."""
    return load_dataset("drawn10", n=60)


@pytest.fixture
def run(data, tmp_path, monkeypatch):
    """Runs a study on these pictures, six of them held out, with these seeds and changes of its base."""

    def run(name: str, seeds=(0,), out=tmp_path, **changes) -> dict:
        study = STUDIES[name]
        base = study.base and recipe(study.base, **changes)
        monkeypatch.setitem(STUDIES, name, replace(study, seeds=seeds, base=base))
        return run_study(name, lambda _: data, out, device="cpu", progress=False)

    return run
