"""How bad input is refused: once for each kind, with what was expected, what came and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def check_multiple(name: str, size: int, patch_size: int) -> None:
    """Raise a `ValueError` that names the nearest sizes when `patch_size` does not divide `size`."""
    if size % patch_size:
        below, above = size // patch_size * patch_size, -(-size // patch_size) * patch_size
        near = f"{below} or {above}" if below else f"{above}"
        raise ValueError(f"{name} {size} is not a multiple of patch_size {patch_size}; try {near}")


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def check_choice(what: str, name: object, known: Collection[str]) -> None:
    """Refuses an unknown name, proposing the nearest known one."""
    if name not in known:
        near = difflib.get_close_matches(str(name), list(known), 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown {what} {name!r}: expected one of {', '.join(known)}{hint}")
