"""What the run of a chapter depends on, so that a change elsewhere does not run it again.

That is every module of the book's packages that it imports, itself or by way of others, and the studies, results and
exercises it names. `vitlib` and `vitlib.viz` are front doors: of all that they offer, what is named counts.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("vitlib", "vitworkshop")
DOORS = {"vitlib": "vitlib/__init__.py", "vitlib.viz": "vitlib/viz/__init__.py"}
REGISTRY = "vitworkshop/studies/registry.py"  # imports all studies; a chapter depends on those that it names


def code_of(notebook: Path) -> str:
    """A chapter's code, without the lines that only IPython understands."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join(
        "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
    )
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.M)


@cache
def read(code: str) -> tuple[set[str], set[str], set[str]]:
    """What code imports, anywhere in it; its strings; and what its f-strings begin with."""
    imports, strings, begun = set(), set(), set()
    todo: list[ast.AST] = [ast.parse(code)]
    while todo:
        node = todo.pop()
        todo += ast.iter_child_nodes(node)
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):  # is not run
                todo = [each for each in todo if each not in node.body]
            case ast.Import():
                imports |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                # a name may be a module
                imports |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
            case ast.Constant(value=str(text)):
                strings.add(text)
            case ast.JoinedStr(values=[ast.Constant(value=str(start)), _, *_]) if (
                len(start) > 4
            ):
                begun.add(start)
    return imports, strings, begun


def files_of(root: Path, name: str) -> Iterator[Path]:
    """The files under `root` that are run when `name` is imported: its packages' and its own."""
    parts = name.split(".")
    for k in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:k])
        yield from (
            file
            for file in (place / "__init__.py", place.with_suffix(".py"))
            if file.is_file()
        )


@cache
def offered(door: Path) -> dict[str, str]:
    """What a package's front door offers: public name -> the module that it comes from, at once or late (`_LATE`)."""
    text = door.read_text(encoding="utf-8")
    imports = (
        node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)
    )
    names = {alias.name: str(node.module) for node in imports for alias in node.names}
    return names | dict(re.findall(r'^    "(\w+)": "([\w.]+)",$', text, re.M))


def imported(root: Path, code: str) -> set[str]:
    """The modules that code imports, and those behind the names that it says of a front door."""
    imports = read(code)[0]
    # as vl.patchify, or after from vitlib import
    words = {*re.findall(r"\.(\w+)", code), *(n.rpartition(".")[2] for n in imports)}
    todo = [name for name in imports if name.split(".")[0] in PACKAGES]
    found = set(todo)
    while todo:
        if door := DOORS.get(todo.pop()):
            names = offered(root / door).items()
            behind = {home for name, home in names if name in words} - found
            todo += behind
            found |= behind
    return found


def modules(root: Path, code: str) -> set[Path]:
    """The files of the packages under `root` that count when the code runs."""
    shut = {root / each for each in (*DOORS.values(), REGISTRY)}
    found: set[Path] = set()
    todo = [code]
    while todo:
        names = imported(root, todo.pop())
        new = {file for name in names for file in files_of(root, name)} - found
        found |= new
        todo += [file.read_text(encoding="utf-8") for file in new - shut]
    return found


def depends_on(notebook: Path, root: Path) -> list[Path]:
    """The files that a chapter's outputs depend on, besides itself."""
    code = code_of(notebook)
    try:
        _, named, begun = read(code)
    except SyntaxError:  # IPython may read it, and if not, its run names the cell: take the whole package
        return sorted(
            file
            for name in PACKAGES
            for file in root.glob(f"{name}/**/*")
            if file.is_file()
        )
    studies = [
        file.stem
        for file in root.glob("vitworkshop/studies/*.py")
        if file.stem.replace("_", "-") in named
    ]
    also = [f"import vitworkshop.studies.{name}" for name in studies]
    # of exercises
    numbers = {text[:2] for text in named if re.fullmatch(r"\d\d\.\w", text)}
    also += [f"import vitworkshop.exercises.ch{number}" for number in sorted(numbers)]
    if "subprocess" in code:  # it calls the command line
        also.append("import vitlib.__main__")
    found = modules(root, "\n".join([code, *also]))
    for file in found - {root / REGISTRY}:
        named = named | read(file.read_text(encoding="utf-8"))[1]
    for file in root.glob("vitlib/results/*"):
        if (
            file.stem in named
            or file.stem.startswith(tuple(begun))
            or "list_pretrained" in code
        ):
            found.add(file)
    return sorted({*found, *root.glob("vitlib/viz/*.mplstyle")})
