"""Training: recipes, optimisers, augmentation, the objective, the loop, its checkpoints, evaluation.

Public names are in `vitlib` itself; their homes are the files here: `vitlib.train.loop.train_model`, for example.
"""

from __future__ import annotations
