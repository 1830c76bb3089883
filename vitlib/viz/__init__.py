"""Figures and tables in one house style, among them the paper's 1, 6 and 7; a notebook shows each exactly once."""

from __future__ import annotations

from vitlib.viz.attention import attention_overlay, show_attention_from_patch
from vitlib.viz.curves import curve_panels, plot_lines
from vitlib.viz.diagrams import architecture, number_grid, shape_flow
from vitlib.viz.matrices import confusion_matrix, heat_maps, similarity_maps
from vitlib.viz.pictures import show_images, show_patches, show_predictions, show_tokens
from vitlib.viz.style import PALETTE
from vitlib.viz.tables import table

__all__ = [
    "PALETTE",
    "architecture",
    "attention_overlay",
    "confusion_matrix",
    "curve_panels",
    "heat_maps",
    "number_grid",
    "plot_lines",
    "shape_flow",
    "show_attention_from_patch",
    "show_images",
    "show_patches",
    "show_predictions",
    "show_tokens",
    "similarity_maps",
    "table",
]
