"""Images and labels: CIFAR-10, Drawn-10, a reader's own photographs."""

from __future__ import annotations
