"""Training: recipes, optimisers, augmentation, the objective, the loop, its checkpoints, evaluation."""

from __future__ import annotations
