"""What all tests share: the reference library timm (with or without torchvision) and the run that enforces shapes.

Two environment variables change a run:

- ``VITLIB_TYPECHECK=1`` checks every annotated shape in ``vitlib`` with jaxtyping and beartype. Tests marked
  ``errors`` are left out, because the checker would raise before the code under test can.
- ``VITLIB_DATA`` names the folder that holds ``cifar-10-batches-bin/``, as everywhere in the book.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types
import warnings

import pytest
from hypothesis import settings

TYPECHECK = os.environ.get("VITLIB_TYPECHECK") == "1"

if TYPECHECK:
    from jaxtyping import install_import_hook

    install_import_hook("vitlib", "beartype.beartype")

# The same examples in every run, and no deadline: a shared machine is slow now and then.
settings.register_profile("book", deadline=None, derandomize=True, max_examples=15 if TYPECHECK else 50)
settings.load_profile("book")


def pytest_collection_modifyitems(config, items):
    """Leaves tests marked ``errors`` out of the run that enforces shapes."""
    if not TYPECHECK:
        return
    left_out = [item for item in items if item.get_closest_marker("errors")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("errors")]


class _Placeholder(type):
    """A class whose every attribute exists, as a string that names it."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves an empty torchvision, so that timm's models can be imported where torchvision cannot."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = _attribute
        return module

    def exec_module(self, module):
        pass


def _attribute(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Placeholder(name, (), {})


@pytest.fixture(scope="session")
def timm():
    """The module timm, the reference for weights and logits.

    timm imports torchvision for its data pipeline, which the comparisons do not touch. torchvision's version
    must match torch's exactly and it does not import beside every build of torch, so the project does without:
    where it is missing or broken, an empty module stands in for it while timm is imported.
    """
    if importlib.util.find_spec("timm") is None:
        pytest.skip("timm is not installed: pip install --no-deps timm")
    try:
        import torchvision  # noqa: F401
    except Exception:  # a missing package, or one built for another torch
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        stand_in = _StandIn()
        sys.meta_path.insert(0, stand_in)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return importlib.import_module("timm")
        finally:
            sys.meta_path.remove(stand_in)
    return importlib.import_module("timm")
