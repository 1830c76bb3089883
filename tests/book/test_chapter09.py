"""Chapter 09: its cell for the classroom runs. (Its solutions: test_solutions.)"""

from __future__ import annotations

from pages import ROOT, python_blocks, read, source


def test_classroom_cell_runs():
    cells = [source(cell) for cell in read(ROOT / "book" / "09-training.ipynb")["cells"]]
    (text,) = [cell for cell in cells if "## In the classroom" in cell]
    (code,) = python_blocks(text)
    code = code.replace("n=4500", "n=120").replace("n=500", "n=20").replace("epochs=12", "epochs=1")
    exec(compile(code, "classroom", "exec"), {"__name__": "classroom"})
