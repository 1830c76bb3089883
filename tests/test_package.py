"""Both packages as a whole: their rooms, the public names, docstrings, what importing costs."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
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
    "controls": (*BASE, "data", "model", "explain", "train"),
    "viz": (*BASE, "data", "model", "explain"),
    "vitlib": (*MODEL, "controls", "viz"),  # its front door, `import vitlib as vl`
    # the workshop
    "vitworkshop": (),
    "words": (),
    "studies": (*MODEL, "controls"),
    "doctor": (*BASE, "data", "model", "train"),
    "exercises": (*MODEL, "vitlib", "words"),  # whose right answers are a reader's code
    "web": (*BASE, "data", "model", "weights", "explain", "words"),
    "cli": (*MODEL, "viz", "studies", "web"),
    "__main__": ("cli",),  # of vitlib: `python -m vitlib`
    # and what stands around them, a room each
    "page": (*MODEL, "viz", "vitlib", "studies", "exercises", "web", "words"),
    "tools": (
        *MODEL,
        "controls",
        "viz",
        "vitlib",
        "studies",
        "exercises",
        "web",
        "cli",
        "page",
    ),
    "classroom": (*MODEL, "viz", "vitlib", "exercises", "cli", "page", "tools"),
}
WORKSHOP = ("vitworkshop", "words", "studies", "doctor", "exercises", "web", "cli")
AROUND = ("page", "tools", "classroom")
# What the front door has of the workshop, loaded when first used; nothing else climbs
LAZY = {
    "doctor": "vitworkshop.doctor.doctor",
    "check": "vitworkshop.exercises.ask",
    "hint": "vitworkshop.exercises.ask",
    "language": "vitworkshop.exercises.language",
    "look": "vitworkshop.cli.look",
    "explore": "vitworkshop.web.explore",
    "export_web": "vitworkshop.web.export",
}
PATHS = [
    path
    for package in ("vitlib", "vitworkshop", *AROUND)
    for path in sorted((ROOT / package).rglob("*.py"))
]
TREE = {  # "vitlib", "vitlib.config", "vitlib.model", "vitlib.model.vit": their sources
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    ): path.read_text(encoding="utf-8")
    for path in PATHS
}
MODULES = [name for name in TREE if name.startswith(("vitlib.", "vitworkshop."))]
TESTS = {"tests", *(path.stem for path in (ROOT / "tests").rglob("*.py"))}
OURS = {"", "vitlib", "vitworkshop", *AROUND, *TESTS}  # "" begins a relative import
NAMED = re.compile(rf"(?:vitlib|vitworkshop|tests|{'|'.join(AROUND)})\.[\w.]*")
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


def room_of(name: str) -> str:
    """The room that a module, or a name in one, stands in; a package's own names are a room."""
    package, _, rest = name.partition(".")
    room = rest.split(".")[0]
    inside = package in ("vitlib", "vitworkshop") and f"{package}.{room}" in TREE
    return room if inside else package


def imports(source: str) -> set[str]:
    """What a source imports, anywhere, of the packages and the tests; modules named in its strings, too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                found |= {each.name for each in node.names}
            case ast.ImportFrom():
                home = "." * node.level + (node.module or "")
                found |= {f"{home}.{each.name}" for each in node.names}
            case ast.Constant(value=str(text)) if NAMED.fullmatch(text):
                found.add(text)
    return {name for name in found if name.split(".")[0] in OURS}


def climbs(tree: dict[str, str]) -> set[str]:
    """The imports that do not run down, and modules without a room of their own, in {module: source}."""
    found = set()
    for module, source in tree.items():
        room = room_of(module)
        if module.startswith("vitworkshop") != (room in WORKSHOP):
            found.add(f"{module} stands in another package's room")
        allowed = {*ARROWS.get(room, ()), room}
        wrong = {name for name in imports(source) if room_of(name) not in allowed}
        found |= {f"{module} imports {name}" for name in wrong}
    return found


def test_arrows_run_down():
    """A new room belongs into ARROWS, and into MAINTAINING."""
    assert {room_of(module) for module in TREE} == set(ARROWS)
    late = {name: home for name, home in vl._LATE.items() if "vitworkshop" in home}
    assert late == LAZY
    known = {*LAZY.values(), *(f"{home}.{name}" for name, home in LAZY.items())}
    assert climbs(TREE) == {f"vitlib imports {name}" for name in known}


def test_the_arrows_have_no_circle():
    seen: set[str] = set()
    for room, below in ARROWS.items():
        assert seen.issuperset(below), f"{room} stands before what it imports"
        seen.add(room)


def test_no_two_files_import_each_other():
    graph = {}
    for module, source in TREE.items():
        names = imports(source)
        graph[module] = {n if n in TREE else n.rpartition(".")[0] for n in names}
    assert not [
        (a, b) for a in graph for b in graph[a] if a != b and a in graph.get(b, ())
    ]


@pytest.mark.parametrize("module", MODULES)
def test_modules_begin_by_saying_what_they_hold(module):
    text = TREE[module]
    first = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    assert first.endswith(".") and len(first) > 20
    assert "from __future__ import annotations" in text


def test_files_and_modules_that_are_named_exist():
    """In the packages, chapters and contributors' pages; a path may begin at the project, a package or the book."""
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
        ROOT / "MAINTAINING.md",
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


def test_the_wheel_carries_its_types_and_data(tmp_path):
    """Without `py.typed` a type checker takes every name of the package for Any."""
    pytest.importorskip("setuptools", "77")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in ("pyproject.toml", project["project"]["readme"], "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for package in ("vitlib", "vitworkshop"):
        shutil.copytree(
            ROOT / package,
            tmp_path / package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    build = "from setuptools import build_meta; build_meta.build_wheel('out')"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    [wheel] = (tmp_path / "out").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        carried = set(archive.namelist())
    there = {
        path.relative_to(tmp_path).as_posix()
        for package in ("vitlib", "vitworkshop")
        for path in (tmp_path / package).rglob("*")
        if path.is_file()
    }
    assert {"vitlib/py.typed", "vitworkshop/py.typed"} <= carried
    assert there <= carried, sorted(there - carried)


# --- public names -----------------------------------------------------------------------------------------------

NAMES = [name for name in vl.__all__ if name not in ("__version__", "controls", "viz")]


def home(name: str) -> str:
    """The module that defines a public name."""
    homes = [m for m in MODULES if f'"{name}"' in TREE[m] and name in exported(m)]
    assert len(homes) == 1, f"{name} is exported by {homes}"
    return homes[0]


def exported(module: str) -> list[str]:
    return getattr(importlib.import_module(module), "__all__", [])


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_once(name):
    assert getattr(vl, name) is getattr(importlib.import_module(home(name)), name)
    rooms = {room_of(module) for module in MODULES if module.startswith("vitlib.")}
    assert name not in rooms, "a name must not hide a room"


# a name or field that no chapter, page, study or command uses, and why it stays
KEPT = {
    "final_lr": "the rate at which the recipe modern ends",
    "mask_ratio": "the paper's share of hidden patches (Appendix B.1.2), which other papers change",
    "stem_stride": "4 is BiT's ResNet50, which the paper compares with and the tests hold against timm",
    "num_groups": "32 in the same model",
}


def test_what_nobody_uses_is_not_offered():
    patterns = ("book/*.ipynb", "book/*.md", "vitworkshop/**/*.py", "tools/**/*.py")
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    used = "".join(
        path.read_text(encoding="utf-8") for path in paths if path.name != "api.md"
    )
    classes = (vl.ViTConfig, vl.ResNetConfig, vl.Recipe)
    fields = {field.name for kind in classes for field in dataclasses.fields(kind)}
    unused = {name for name in fields if not re.search(rf"\b{name}\b", used)}
    unused |= {name for name in NAMES if not re.search(rf"\bvl\.{name}\b", used)}
    assert unused == set(KEPT)
    assert len(vl.__all__) <= 80


@pytest.mark.errors
def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'vitlib' has no attribute 'Vit'"):
        _ = vl.Vit


def test_a_type_checker_takes_a_script_and_finds_a_misspelt_name(tmp_path):
    pytest.importorskip("pyrefly")
    script = """import vitlib as vl
model = vl.VisionTransformer(vl.ViTConfig(depth=1))
cost: int = vl.count_parameters(model)
vl.viz.show_images(vl.sample_image("cat", 32)[None])
vl.check("05.3", cost)
print(vl.__version__, vl.CIFAR10_CLASSES)
vl.VisionTransfomer
"""
    (tmp_path / "script.py").write_text(script)
    check = [sys.executable, "-m", "pyrefly", "check", "--preset", "strict"]
    where = ["--search-path", ROOT, "--python-interpreter-path", sys.executable]
    short = ["--output-format", "min-text", "script.py"]
    run = subprocess.run(
        [*check, *where, *short], cwd=tmp_path, capture_output=True, text=True
    )
    found = re.findall(r"^ERROR .*", run.stdout, re.M)
    assert len(found) == 1, run.stdout + run.stderr
    assert "script.py:7" in found[0] and "VisionTransfomer" in found[0]


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
        public = thing.__name__ in (*vl.__all__, *vl.viz.__all__, *vl.controls.__all__)
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


def takers() -> list[tuple[str, object]]:
    """What is public and takes images: functions, classes, and the methods of public classes."""
    found = []
    for name in NAMES:
        thing = getattr(vl, name)
        if not callable(thing):
            continue
        inside = vars(thing).items() if inspect.isclass(thing) else ()
        for called, each in ((name, thing), *((f"{name}.{n}", m) for n, m in inside)):
            if called.rpartition(".")[2][0] != "_" and callable(each):
                try:
                    takes = "images" in inspect.signature(each).parameters
                except ValueError:  # a class without a signature takes none
                    takes = False
                if takes and each.__doc__:  # `forward` of a part has none
                    found.append((called, each))
    return found


@pytest.mark.parametrize(
    ("name", "thing"),
    [*takers(), ("VisionTransformer", vl.VisionTransformer), ("ResNet", vl.ResNet)],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_the_first_line_says_whether_images_are_raw_or_normalised(name, thing):
    first = inspect.getdoc(thing).split("\n")[0]
    assert re.search(r"\b([Nn]ormalised|[Rr]aw)\b|of any scale", first), first


README = (ROOT / "vitlib/README.md").read_text(encoding="utf-8")
PASSED = """
import sys, vitlib as vl, torch
found = set()

def watch(frame, event, argument):
    code = frame.f_code
    found.add((code.co_filename, code.co_firstlineno, code.co_name))
    return watch

sys.settrace(watch)
vl.VisionTransformer(vl.ViTConfig()).eval()(torch.zeros(1, 3, 32, 32))
sys.settrace(None)
print(sorted(where for where in found if "vitlib" in where[0]))
"""


def test_the_readme_of_vitlib_names_each_file_behind_those_that_it_imports():
    read = re.findall(r"\(([\w/]+\.py)\)", README)
    files = (ROOT / "vitlib").rglob("[!_]*.py")
    assert {*read} == {path.relative_to(ROOT / "vitlib").as_posix() for path in files}
    read = [name.removesuffix(".py").replace("/", ".") for name in read[1:]]
    for i, name in enumerate(read):
        later = {f"vitlib.{other}" for other in read[i + 1 :]}
        used = {
            module
            for module in later
            for each in imports(TREE[f"vitlib.{name}"])
            if f"{each}.".startswith(f"{module}.")
        }
        assert not used, f"{name} imports {used}, which stands below it"


def test_the_readme_of_vitlib_counts_what_a_reader_passes_from_import_to_logits():
    run = subprocess.run([sys.executable, "-c", PASSED], capture_output=True, text=True)
    lines = 0
    for file, first, name in ast.literal_eval(run.stdout):
        for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                if first in (node.lineno, *(d.lineno for d in node.decorator_list)):
                    text = ast.get_docstring(node) or ""
                    lines += node.end_lineno - node.lineno + 1 - len(text.splitlines())
    assert 400 < lines <= 700
    assert f"through {lines} lines of functions" in README
