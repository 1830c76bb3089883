"""Images and labels: CIFAR-10, Drawn-10, a reader's own photographs.

Public names are in `vitlib` itself; their homes are the files here: `vitlib.data.dataset.Dataset`, for example.
"""

from __future__ import annotations
