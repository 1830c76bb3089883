"""The Vision Transformer, one concept a file: patches, positions, attention, layers, encoder, the whole."""

from __future__ import annotations
