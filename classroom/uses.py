"""What code an answer uses: the statements that give it a value, those that give their names one, and so on.

Nothing is run. A name that nothing gives a value may come from anywhere: then all counts.
"""

import ast
import builtins
import re
import symtable

MAGIC = re.compile(r"^[ \t]*+[%!?].*", re.M)
GIVEN = re.compile(
    r"\b(?:def|class|as|import)[ \t]++(\w++)|\b(\w++)[ \t]*+(?:=|:[^\n=]{0,99}=)"
)
LONG = 50_000  # letters of a cell that is not read as Python
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
Part = tuple[str, str, set[str], set[str]]  # code, without texts; names given, and read


def uses(cells: list[str], name: str) -> tuple[str, str]:
    """The code that a name comes from, however it is spaced and without comments; the same without texts."""
    parts = [part for text in cells for part in _parts(text)]
    wanted, found, more = {name}, set(), {name}
    while more:
        more = {i for i, part in enumerate(parts) if part[2] & wanted} - found
        found |= more
        wanted |= {read for i in more for read in parts[i][3]}
    given = {each for part in parts for each in part[2]}
    if wanted - given - {*dir(builtins), "display", "get_ipython"}:
        found = {*range(len(parts))}
    codes, names = zip(*(parts[i][:2] for i in sorted(found)), strict=True)
    return "\n".join(codes), "\n".join(names)


def _parts(text: str) -> list[Part]:
    """The statements of a cell, or the cell as it stands, where it cannot be read."""
    try:
        if len(text) < LONG:
            return [*map(_part, ast.parse(MAGIC.sub("", text)).body)]
    except UNREADABLE:
        pass
    given = {word for pair in GIVEN.findall(text) for word in pair}
    return [(text, text, given, {*re.findall(r"\w++", text)})]


def _part(node: ast.stmt) -> Part:
    code = ast.unparse(node)
    tables = [symtable.symtable(code, "", "exec")]
    for table in tables:
        tables += table.get_children()
    top, *below = (table.get_symbols() for table in tables)
    names = [*top, *(each for some in below for each in some if each.is_global())]
    reads = {each.get_name() for each in names if each.is_referenced()}
    gives = {each.get_name() for each in names if each.is_assigned()}
    for each in ast.walk(node):
        # a.b[0] = 1 changes a
        if isinstance(getattr(each, "ctx", None), ast.Store | ast.Del):
            while isinstance(each, ast.Attribute | ast.Subscript):
                each = each.value
            gives |= {getattr(each, "id", "")} & reads
        # what has a blank is text, and nothing's name
        elif isinstance(each, ast.Constant) and len(str(each.value).split()) > 1:
            each.value = ""
    return code, ast.unparse(node), gives, reads
