"""Exercises that say what went wrong: a file of entries for each chapter, and the engine that judges answers."""

from __future__ import annotations
