"""The study `crossover` in a second setting: cells half a patch aside, so that each glyph lies across four patches."""

from __future__ import annotations

from vitworkshop.studies.crossover import PATCH, SHIFTED, study

STUDY = study(PATCH // 2, SHIFTED, "")
