"""What code an answer uses: the statements that give it a value, those that give their names one, and so on.

Nothing is run. A name that nothing gives a value may come from anywhere: then all counts.
"""

import ast
import builtins
import re
import symtable

MAGIC = re.compile(r"^[ \t]*+[%!?].*", re.M)
LONG = 30_000  # letters of what is not read as Python
UNREADABLE = (SyntaxError, RecursionError, MemoryError, ValueError)


def uses(cells: list[str], name: str) -> str:
    """The code that a name comes from, however it is spaced, without comments and docstrings; else all of it."""
    text = "\n".join(cells)
    try:
        parts = [_part(node) for node in ast.parse(MAGIC.sub("", text[:LONG])).body]
    except UNREADABLE:
        return text
    given, wanted, found = set().union(*(gives for _, gives, _ in parts)), {name}, set()
    while more := [each for each in parts if each[0] not in found and each[1] & wanted]:
        found |= {code for code, *_ in more}
        wanted = wanted.union(*(reads for *_, reads in more))
    if wanted - given - {*dir(builtins), "display", "get_ipython"} or text[LONG:]:
        return text
    return "\n".join(code for code, *_ in parts if code in found)


def _part(node: ast.stmt) -> tuple[str, set[str], set[str]]:
    """A statement's code, the names to which it gives a value, and those it reads."""
    changed = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            each.value.value = 0  # a docstring
        # a.b[0] = 1 changes a
        if isinstance(getattr(each, "ctx", None), ast.Store | ast.Del):
            while isinstance(each, ast.Attribute | ast.Subscript):
                each = each.value
            changed.add(getattr(each, "id", ""))
    code = ast.unparse(node)
    tables = [symtable.symtable(code, "", "exec")]
    for table in tables:
        tables += table.get_children()
    names = [s for table in tables for s in table.get_symbols() if s.is_global()]
    reads = {s.get_name() for s in names if s.is_referenced()}
    gives = {s.get_name() for s in names if s.is_assigned() or s.is_imported()}
    return code, gives | changed & reads, reads
