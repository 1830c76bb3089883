"""What a trained model looks at, from its attention and from its gradients."""

from __future__ import annotations
