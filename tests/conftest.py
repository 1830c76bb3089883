"""What all tests share: shapes that are enforced, samples drawn by the date, the reference library timm.

Every annotated shape in both packages is checked by jaxtyping and beartype, but not under tests marked ``errors`` and
``slow``: the checker would raise before the code under test can, and takes its time. Of tests marked ``sampled(n)`` one
in n runs each day, which ones is drawn by the date; ``EVERY=1`` runs all. ``VITLIB_DATA`` names the folder that holds
``cifar-10-batches-bin/``, as everywhere in the book.
"""

import importlib.util
import os
import signal
import sys
from datetime import date

import jaxtyping
import pytest
from browsing import address, axe, browser, visited  # noqa: F401 - fixtures
from hypothesis import HealthCheck, settings
from samples import drawing, is_drawn

# A shell that runs the tests in the background ignores Ctrl-C, and so would they and the processes that they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

early = {"vitlib", "vitworkshop"} & sys.modules.keys()
assert not early, f"{early} is imported before the hook: its shapes go unchecked"
jaxtyping.install_import_hook(["vitlib", "vitworkshop"], "typechecker.check")

# Workers inherit it: all of them draw by one day, also at midnight
os.environ.setdefault("SAMPLE_DAY", str(date.today().toordinal()))
UNCHECKED = ("errors", "slow")
PLAIN = jaxtyping.config.jaxtyping_disable  # by JAXTYPING_DISABLE=1
ASKED_FOR = ("weekly", "network", "campaign")

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


def is_left_out(item: pytest.Item, asked: str) -> bool:
    """Whether a test is not asked for, or not in today's sample."""
    if any(item.get_closest_marker(name) for name in ASKED_FOR if name not in asked):
        return True
    found = drawing(item)
    if found is None or os.environ.get("EVERY") == "1":
        return False
    return not is_drawn(*found, int(os.environ["SAMPLE_DAY"]))


def pytest_collection_modifyitems(config, items):
    left_out = {item for item in items if is_left_out(item, config.option.markexpr)}
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Turns the checking of shapes off under the tests that it would disturb."""
    free = PLAIN or any(map(item.get_closest_marker, UNCHECKED))
    jaxtyping.config.update("jaxtyping_disable", free)
    return (yield)


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
