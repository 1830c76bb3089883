"""Models on disk: the book's own, and those of other libraries."""

from __future__ import annotations
