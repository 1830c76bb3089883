"""The experiments, one a file: each asks one question and leaves one file of results (`python -m vitlib study`)."""

from __future__ import annotations
