"""The Vision Transformer, one concept a file: patches, positions, attention, layers, encoder, the whole.

Public names are in `vitlib` itself; their homes are the files here: `vitlib.model.vit.VisionTransformer`, for example.
"""

from __future__ import annotations
