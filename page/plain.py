"""What a reader would read aloud: the text of a page's nodes, without drawings, outputs and the signs of TeX."""

from __future__ import annotations

import re

from docutils import nodes

SIGNS = {
    **{"times": "×", "cdot": "·", "to": "→", "sqrt": "√", "top": "ᵀ", "ell": "ℓ", "dots": "…", "le": "≤", "ge": "≥"},
    **{"approx": "≈", "pm": "±", "in": "∈", "sum": "Σ", "Phi": "Φ", "alpha": "α", "beta": "β", "sigma": "σ"},
    **{"mu": "μ", "lambda": "λ", "epsilon": "ε", "gamma": "γ", "theta": "θ", "eta": "η", "pi": "π", "quad": " "},
}  # fmt: skip
SILENT = (nodes.math_block, nodes.image, nodes.raw, nodes.comment, nodes.target, nodes.system_message)
UNREAD = {"vit_map", "solution_node", "solution_start_node", "onlynode", "toctree", "index", "bibliography"}


def plain_math(tex: str) -> str:
    """A short formula as text, ``P^2 C`` for instance; … for one that text cannot hold."""
    text = re.sub(r"\\(?:math\w+|operatorname|text\w*)\s*\{([^{}]*)\}", r"\1", tex)
    text = re.sub(r"\\([A-Za-z]+)", lambda found: SIGNS.get(found[1], found[1]), text)
    text = re.sub(r"\\.", " ", text).replace("{", "").replace("}", "").replace("^ᵀ", "ᵀ").replace("^2", "²")
    return re.sub(r"\s+", " ", text).strip() if len(text) <= 40 and "&" not in text else "…"


def is_silent(node: nodes.Node) -> bool:
    """Whether a node is no text to read: a drawing, a solution, what a cell printed."""
    return isinstance(node, SILENT) or type(node).__name__ in UNREAD


def text_of(node: nodes.Node, skip: tuple[type, ...] = ()) -> str:
    """The text of a node and all in it, in one line; ``skip`` are kinds of nodes to leave out."""
    parts: list[str] = []

    def walk(each: nodes.Node, shown: bool = True) -> None:
        if isinstance(each, nodes.Text):
            parts.append(each.astext() if shown else "")
        elif isinstance(each, nodes.math):
            parts.append(plain_math(each.astext()) if shown else "")
        elif isinstance(each, nodes.literal_block) or is_silent(each) or isinstance(each, skip):
            return
        else:
            output = isinstance(each, nodes.Element) and "cell_output" in each.get("classes", [])
            for child in each.children:  # of an output, only captions are prose
                walk(child, (shown and not output) or isinstance(each, nodes.caption))
            if not isinstance(each, nodes.Inline):
                parts.append(" ")

    walk(node)
    return re.sub(r"\s+", " ", "".join(parts)).strip()


def shorten(text: str, most: int = 160) -> str:
    """The text, cut between words if it is longer than ``most`` characters."""
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"
