"""Exercises that say what went wrong: an entry for each, a file for each chapter, and the engine that judges answers."""

from __future__ import annotations
