"""Both packages as a whole: their rooms, the public names, docstrings, what importing costs."""

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

ROOT = Path(vl.__file__).parent.parent
BASE = ("tensors", "checks", "config", "device", "files", "evidence")
MODEL = (*BASE, "data", "model", "weights", "explain", "train")
# what each room may import, besides itself: arrows run down only
ARROWS = {
    "tensors": (),
    "checks": ("tensors",),
    "config": ("checks",),
    "device": ("checks", "config"),
    "files": (),
    "evidence": ("checks", "device", "files"),
    "data": BASE,
    "model": BASE,
    "weights": (*BASE, "data", "model"),
    "explain": (*BASE, "model"),
    "train": (*BASE, "data", "model"),
    "viz": (*BASE, "data", "model", "explain"),
    # the workshop
    "studies": MODEL,
    "doctor": (*BASE, "data", "model", "train"),
    "exercises": MODEL,
    "web": (*BASE, "data", "model", "weights", "explain"),
    "cli": (*BASE, "data", "model", "weights", "train", "viz", "studies", "web"),
    "__main__": ("cli",),  # of vitlib: `python -m vitlib`
    # and what stands around them, a room each
    "page": (*MODEL, "viz", "studies", "exercises", "web"),
    "tools": (*MODEL, "viz", "studies", "exercises", "web", "cli", "page"),
    "classroom": (*MODEL, "viz", "exercises", "cli", "page", "tools"),
}
WORKSHOP = ("studies", "doctor", "exercises", "web", "cli")
AROUND = ("page", "tools", "classroom")
ALL = {
    path.relative_to(ROOT)
    .with_suffix("")
    .as_posix()
    .removesuffix("/__init__")
    .replace("/", "."): path
    for package in ("vitlib", "vitworkshop", *AROUND)
    for path in sorted((ROOT / package).rglob("*.py"))
    if path.parent != ROOT / package or path.stem != "__init__"
}  # "vitlib.config", "vitlib.model", "vitlib.model.vit"
OURS = ("vitlib.", "vitworkshop.", *(f"{package}." for package in AROUND))
FILES = {name: path for name, path in ALL.items() if name.startswith("vit")}
MODULES = list(FILES)
LATE = (
    "vitworkshop",
    "matplotlib",
    "cv2",
    "skimage",
    "scipy",
    "sklearn",
    "timm",
    "torchvision",
)
# modules that hold ideas from papers: everything public in them says which
PAPER = tuple(
    f"vitlib.{name}" for name in ("model", "explain", "train.augment", "train.optim")
)


def room_of(module: str) -> str:
    """The room that a module stands in; what stands around the two packages is one each."""
    package, _, rest = module.partition(".")
    return package if package in AROUND else rest.split(".")[0]


def imports(module: str) -> list[tuple[str, int]]:
    """The modules of the packages that `module` imports, anywhere, with the line."""
    found = []
    for node in ast.walk(ast.parse(ALL[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            whole = "." in (node.module or "")
            names = [
                node.module if whole else f"{node.module}.{each.name}"
                for each in node.names
            ]
        else:
            names = (
                [each.name for each in node.names]
                if isinstance(node, ast.Import)
                else []
            )
        found += [(name, node.lineno) for name in names if name.startswith(OURS)]
    # what stands around may go in by the front door
    public = {
        f"vitlib.{name}"
        for name in vl.__all__
        if name == "__version__" or room_of(module) in AROUND
    }
    return [(name, line) for name, line in found if name not in public - {"vitlib.viz"}]


@pytest.mark.parametrize("module", ALL)
def test_arrows_run_down(module):
    room = room_of(module)
    assert room in ARROWS, f"{module} has no room; add it to ARROWS and to CONTRIBUTING"
    assert module.startswith("vitworkshop.") == (room in WORKSHOP)
    allowed = {*ARROWS[room], room}
    wrong = [
        f"line {line}: {name}"
        for name, line in imports(module)
        if room_of(name) not in allowed
    ]
    assert not wrong, wrong


def test_the_arrows_have_no_circle():
    seen: set[str] = set()
    for room, below in ARROWS.items():
        assert seen.issuperset(below), f"{room} stands before what it imports"
        seen.add(room)


def test_no_two_files_import_each_other():
    graph = {module: {name for name, _ in imports(module)} for module in ALL}
    assert not [
        (a, b) for a in graph for b in graph[a] if a != b and a in graph.get(b, ())
    ]


@pytest.mark.parametrize("module", MODULES)
def test_modules_begin_by_saying_what_they_hold(module):
    text = FILES[module].read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    assert first.endswith(".") and len(first) > 20
    assert "from __future__ import annotations" in text


def test_files_and_modules_that_are_named_exist():
    """In the packages, the chapters and CONTRIBUTING; a path may begin at the project, a package or the book."""
    inside = [
        path
        for top in ("vitlib", "vitworkshop", *AROUND, "book")
        for path in (ROOT / top).rglob("*")
    ]
    kinds = (".py", ".md", ".js", ".css", ".ipynb")
    below = [
        ROOT / top for top in ("", "vitlib", "vitworkshop", "book", "book/_static")
    ]
    places = "|".join(("vitlib", "vitworkshop", *ARROWS, "tests", "book", "results"))
    gone = []
    for path in [
        ROOT / "CONTRIBUTING.md",
        *(path for path in inside if path.suffix in kinds),
    ]:
        text = path.read_text(encoding="utf-8")
        named = re.findall(
            rf"(?<![\w/.{{-])((?:{places})/[\w/.-]+\.(?:py|js|css|json|toml|yaml|md))\b",
            text,
        )
        modules = re.findall(r"python -m ((?:tools|page|classroom)(?:\.\w+)+)", text)
        named += [f"{name.replace('.', '/')}.py" for name in modules]
        gone += [
            f"{path.name}: {name}"
            for name in named
            if not any((top / name).exists() for top in below)
        ]
    assert not gone


# --- public names -----------------------------------------------------------------------------------------------

NAMES = [name for name in vl.__all__ if name not in ("__version__", "viz")]


def home(name: str) -> str:
    """The module that defines a public name."""
    homes = [
        m
        for m in MODULES
        if re.search(rf'"{name}"', FILES[m].read_text()) and name in exported(m)
    ]
    assert len(homes) == 1, f"{name} is exported by {homes}"
    return homes[0]


def exported(module: str) -> list[str]:
    return getattr(importlib.import_module(module), "__all__", [])


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_once(name):
    assert getattr(vl, name) is getattr(importlib.import_module(home(name)), name)
    rooms = {room_of(module) for module in MODULES if module.startswith("vitlib.")}
    assert name not in rooms, "a name must not hide a room"


@pytest.mark.errors
def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'vitlib' has no attribute 'Vit'"):
        _ = vl.Vit


def test_figures_are_loaded_when_first_used():
    assert vl.viz.show_images.__module__ == "vitlib.viz.pictures"


# --- docstrings -------------------------------------------------------------------------------------------------


def objects() -> list:
    """Every public function, class and method."""
    found = []
    for module in MODULES:
        if module == "vitlib.__main__":
            continue
        home = importlib.import_module(module)
        for name in sorted(getattr(home, "__all__", ())):
            thing = getattr(home, name)
            if getattr(thing, "__module__", None) != home.__name__ or not callable(
                thing
            ):
                continue
            found.append(pytest.param(module, thing, id=f"{module}.{name}"))
            if inspect.isclass(thing):
                methods = {
                    n: getattr(m, "__func__", m)
                    for n, m in vars(thing).items()
                    if n[0] != "_"
                }
                ids = {
                    n: f"{module}.{name}.{n}" for n, m in methods.items() if callable(m)
                }
                found += [
                    pytest.param(module, methods[n], id=each) for n, each in ids.items()
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
        r"^(Args|Returns|Yields|Raises|Shape|Source|Examples?|Note):", doc, flags=re.M
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def arguments(section: str) -> list[str]:
    return re.findall(r"^    (\*{0,2}\w+):", section, flags=re.MULTILINE)


def raised(thing) -> set[str]:
    """Errors that the body itself raises by name."""
    body = thing
    if inspect.isclass(thing):
        body = vars(thing).get(
            "__post_init__" if dataclasses.is_dataclass(thing) else "__init__"
        )
    if not inspect.isfunction(body):
        return set()
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(body)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {
        call.func.id
        for call in calls
        if isinstance(getattr(call, "func", None), ast.Name)
    }


def inherits_its_docstring(thing) -> bool:
    """A method that fills in an interface: `forward` of a module, or what a base class documents."""
    name = thing.__qualname__.split(".")
    if len(name) < 2 or inspect.isclass(thing):
        return False
    owner = getattr(importlib.import_module(thing.__module__), name[0])
    return name[1] == "forward" or any(
        name[1] in vars(base) for base in owner.__mro__[1:]
    )


@pytest.mark.parametrize(("module", "thing"), objects())
def test_docstrings_agree_with_signatures(module, thing):
    doc = (
        inspect.getdoc(thing)
        if inspect.isclass(thing)
        else inspect.cleandoc(thing.__doc__ or "")
    )
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
        public = thing.__name__ in (*vl.__all__, *vl.viz.__all__)
        long = public and len(wanted) > 1 and not inherits_its_docstring(thing)
        assert (
            not long
            or "arguments as for" in doc
            or all(name.strip("*") in doc for name in wanted)
        ), wanted
    missing = {error for error in raised(thing) if error not in found.get("Raises", "")}
    assert not missing, f"Raises leaves out {missing}"
    if module.startswith(PAPER) and "." not in thing.__qualname__:
        assert "Source" in found, (
            "no Source line (a paper's section or equation; or 'not in the paper')"
        )


@pytest.mark.parametrize("module", MODULES)
def test_doctests(module):
    if module == "vitlib.__main__":
        return
    result = doctest.testmod(importlib.import_module(module))
    assert result.failed == 0


# --- the cost of an import --------------------------------------------------------------------------------------


def test_importing_vitlib_imports_little():
    code = f"import sys, vitlib; print(*[m for m in {LATE!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert run.stdout.split() == []
