"""What all tests share: the reference library timm (with or without torchvision) and the run that enforces shapes.

Two environment variables change a run:

- ``VITLIB_TYPECHECK=1`` checks every annotated shape in both packages with jaxtyping and beartype. Tests marked
  ``errors`` are left out, because the checker would raise before the code under test can.
- ``VITLIB_DATA`` names the folder that holds ``cifar-10-batches-bin/``, as everywhere in the book.
"""

import importlib.util
import os
import signal
import sys

import pytest
from browsing import address, axe, browser, visited  # noqa: F401 - fixtures
from hypothesis import HealthCheck, settings

# A shell that runs the tests in the background ignores Ctrl-C, and so would they and the processes that they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

TYPECHECK = os.environ.get("VITLIB_TYPECHECK") == "1"

if TYPECHECK:
    from jaxtyping import install_import_hook

    early = {"vitlib", "vitworkshop"} & sys.modules.keys()
    assert not early, (
        f"{early} is imported before the hook, and what it holds would not be checked"
    )
    install_import_hook(["vitlib", "vitworkshop"], "typechecker.check")

# The same examples in every run, and no deadline: a shared machine is slow now and then.
settings.register_profile("book", deadline=None, derandomize=True, max_examples=50)
settings.register_profile(
    "campaign",
    settings.get_profile("book"),
    max_examples=5000,
    suppress_health_check=list(HealthCheck),
)


def pytest_configure(config):
    settings.load_profile(
        "campaign" if "campaign" in config.option.markexpr else "book"
    )


def pytest_collection_modifyitems(config, items):
    """Leaves tests marked ``errors`` out of the run that enforces shapes, and others where they are not asked for."""
    asked = config.option.markexpr
    without = ["errors"] * TYPECHECK + [
        name for name in ("weekly", "network", "campaign") if name not in asked
    ]
    left_out = [item for item in items if any(map(item.get_closest_marker, without))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def timm():
    """The module timm, the reference for weights and logits; where torchvision is missing, without it."""
    if importlib.util.find_spec("timm") is None:
        pytest.skip("timm is not installed: pip install --no-deps timm")
    from tools.libraries import import_library

    return import_library("timm")


@pytest.fixture
def one_thread():
    """One CPU thread, as a machine that runs several tests at once has for each."""
    import torch  # after the import hook of the run that enforces shapes

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
