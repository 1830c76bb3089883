"""The package as a whole: its levels, its public names, its docstrings, what importing it costs."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vitlib as vl

ROOT = Path(vl.__file__).parent
LEVELS = [
    {"config", "utils"},
    {"patches", "posembed", "attention", "layers"},
    {"encoder"},
    {"vit", "cnn", "drawn10"},
    {"weights", "probe", "data", "fetch", "augment", "optim"},
    {"train", "pretrain", "viz"},
    {"studies", "exercises", "bench", "__main__"},
]
LEVEL = {module: level for level, modules in enumerate(LEVELS) for module in modules}
FILES = {
    path.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/__init__").replace("/", "."): path
    for path in sorted(ROOT.rglob("*.py"))
    if path != ROOT / "__init__.py"
}  # "vit", "studies.resolution"
MODULES = list(FILES)
LATE = ("matplotlib", "cv2", "skimage", "tqdm", "sklearn", "timm", "torchvision", "einops", "safetensors")
# modules that hold ideas from papers: everything public in them says which
PAPER = ("patches", "posembed", "attention", "layers", "encoder", "vit", "probe", "augment", "optim")
# same-level imports that the order of the modules within a level allows
SIDEWAYS = {
    ("utils", "config"),
    ("data", "fetch"),
    ("data", "drawn10"),
    ("__main__", "bench"),
    ("__main__", "studies"),
}


def imports(module: str) -> list[tuple[str, int]]:
    """The modules of the package that `module` imports, anywhere, with the line."""
    found = []
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "vitlib"):
            inner = (node.module or "").removeprefix("vitlib").strip(".")
            names = [inner.split(".")[0]] if inner else [alias.name for alias in node.names]
            found += [(name, node.lineno) for name in names if not name.startswith("__version")]
        elif isinstance(node, ast.Import):
            found += [
                (alias.name.split(".")[1], node.lineno)
                for alias in node.names
                if alias.name.startswith("vitlib.")
            ]
    return found


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module):
    home = module.split(".")[0]
    assert home in LEVEL, f"{module}.py has no level; add it to LEVELS and to the book's design"
    wrong = [
        f"{module}.py:{line} imports {other}"
        for other, line in imports(module)
        if LEVEL[other] >= LEVEL[home] and other != home and (home, other) not in SIDEWAYS
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("module", MODULES)
def test_modules_begin_by_saying_what_they_hold(module):
    text = FILES[module].read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    assert first.endswith(".") and len(first) > 20
    assert "from __future__ import annotations" in text


def test_the_model_stays_readable_in_an_hour(record_property):
    lines = {
        m: len(FILES[m].read_text(encoding="utf-8").splitlines()) for m in MODULES if LEVEL.get(m, 6) < 6
    }
    record_property("lines of levels 0 to 5", sum(lines.values()))
    assert sum(lines[m] for m in ("config", *PAPER[:6])) < 1_250, lines


# --- public names -----------------------------------------------------------------------------------------------

NAMES = [(module, name) for module, names in vl.PUBLIC.items() for name in names]


def test_public_names_are_unique_and_shadow_no_module():
    names = [name for _, name in NAMES]
    assert len(names) == len(set(names))
    assert set(vl.PUBLIC) <= set(MODULES) and not set(names) & set(vl.PUBLIC)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_is_there(module, name):
    home = importlib.import_module(f"vitlib.{module}")
    assert getattr(vl, name) is getattr(home, name)
    assert name in home.__all__ and name in dir(vl)


@pytest.mark.errors
def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'vitlib' has no attribute 'Vit'"):
        _ = vl.Vit


def test_star_import_and_submodules():
    assert set(vl.__all__) >= {"VisionTransformer", "patches", "__version__"}
    assert vl.patches.patchify is vl.patchify


# --- docstrings -------------------------------------------------------------------------------------------------


def objects() -> list:
    """Every public function, class and method that a module of levels 0 to 5 defines."""
    found = []
    for module in MODULES:
        if LEVEL.get(module, 6) > 5:
            continue
        home = importlib.import_module(f"vitlib.{module}")
        for name in sorted({*getattr(home, "__all__", ()), *vl.PUBLIC.get(module, ())}):
            thing = getattr(home, name)
            if getattr(thing, "__module__", None) != home.__name__ or not callable(thing):
                continue
            found.append(pytest.param(module, thing, id=f"{module}.{name}"))
            if inspect.isclass(thing):
                methods = [
                    (n, getattr(m, "__func__", m)) for n, m in vars(thing).items() if not n.startswith("_")
                ]
                found += [
                    pytest.param(module, m, id=f"{module}.{name}.{n}") for n, m in methods if callable(m)
                ]
    return found


def parameters(thing) -> list[str]:
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return []
    found = list(inspect.signature(thing).parameters.items())
    found = found[1:] if found and found[0][0] in ("self", "cls") else found
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(p.kind, "") + name for name, p in found]


def sections(doc: str) -> dict[str, str]:
    """A Google-style docstring's sections: {"Args": text, ...}."""
    parts = re.split(
        r"^(Args|Returns|Yields|Raises|Shape|Source|Example|Examples|Note):", doc, flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def arguments(section: str) -> list[str]:
    return re.findall(r"^    (\*{0,2}\w+):", section, flags=re.MULTILINE)


def raised(thing) -> set[str]:
    """Errors that the body itself raises by name."""
    body = thing
    if inspect.isclass(thing):
        body = vars(thing).get("__post_init__" if dataclasses.is_dataclass(thing) else "__init__")
    if not inspect.isfunction(body):
        return set()
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(body)))
    calls = [
        node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    ]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def inherits_its_docstring(thing) -> bool:
    """A method that fills in an interface: `forward` of a module, or what a base class documents."""
    name = thing.__qualname__.split(".")
    if len(name) < 2 or inspect.isclass(thing):
        return False
    owner = getattr(importlib.import_module(thing.__module__), name[0])
    return name[1] == "forward" or any(name[1] in vars(base) for base in owner.__mro__[1:])


@pytest.mark.parametrize(("module", "thing"), objects())
def test_docstrings_agree_with_signatures(module, thing):
    doc = inspect.getdoc(thing) if inspect.isclass(thing) else inspect.cleandoc(thing.__doc__ or "")
    if not doc and inherits_its_docstring(thing):
        return
    assert doc, "no docstring"
    first, rest = doc.split("\n")[0], doc.split("\n")[1:2]
    assert not first[0].isspace() and first.endswith((".", ":")) and not any(rest), (
        f"not one whole first line: {first!r}"
    )
    found, wanted = sections(doc), parameters(thing)
    if "Args" in found:
        assert arguments(found["Args"]) == wanted
    else:  # short functions may name their parameters in prose; a subclass may share its base's
        long = len(wanted) > 1 and not inherits_its_docstring(thing)
        assert not long or "arguments as for" in doc or all(name.strip("*") in doc for name in wanted), wanted
    missing = {error for error in raised(thing) if error not in found.get("Raises", "")}
    assert not missing, f"Raises leaves out {missing}"
    if module in PAPER and "." not in thing.__qualname__:
        assert "Source" in found, "no Source line (a paper's section or equation; or 'not in the paper')"


@pytest.mark.parametrize("module", MODULES)
def test_doctests(module):
    if module == "__main__":
        return
    result = doctest.testmod(importlib.import_module(f"vitlib.{module}"))
    assert result.failed == 0


# --- the cost of an import --------------------------------------------------------------------------------------


def test_importing_vitlib_imports_little():
    code = f"import sys, vitlib; print(*[m for m in {LATE!r} + ('torch',) if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent
    )
    assert run.stdout.split() == []


def test_building_a_model_needs_no_figures():
    code = (
        "import sys, torch, vitlib as vl; vl.VisionTransformer(vl.ViTConfig(depth=1)); vl.RECIPES; vl.load_drawn10;"
        "print(*[m for m in ('matplotlib', 'cv2', 'skimage', 'timm', 'torchvision') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent
    )
    assert run.stdout.split() == []
