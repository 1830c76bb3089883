"""Models on disk: the book's own, and those of other libraries.

Public names are in `vitlib` itself; their homes are the files here,
as in `vitlib.weights.pretrained.load_pretrained`.
"""

from __future__ import annotations
