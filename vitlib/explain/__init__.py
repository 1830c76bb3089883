"""What a trained model looks at, from its attention and from its gradients.

Public names are in `vitlib` itself; their homes are the files here: `vitlib.explain.gradients.grad_cam`, for example.
"""

from __future__ import annotations
