"""What the tests of studies share: pictures, and one way to run a study on them."""

from __future__ import annotations

import pytest

from vitlib.data.dataset import Dataset, load_dataset
from vitworkshop.studies.runner import run_study


@pytest.fixture(scope="session")
def data() -> Dataset:
    """Sixty pictures of Drawn-10."""
    return load_dataset("drawn10", n=60)


@pytest.fixture
def run(data, tmp_path):
    """Runs a study on these pictures, twenty of them held out, with seed 0."""

    def run(name: str, seeds=(0,), n_val=20, out=tmp_path, **changes) -> dict:
        return run_study(
            name,
            data,
            out,
            seeds=seeds,
            n_val=n_val,
            device="cpu",
            progress=False,
            changes=changes,
        )

    return run
