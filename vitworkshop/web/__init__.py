"""A model inside a web page: its weights as one script, beside the JavaScript that runs them.

Public names are in `vitlib` itself; their homes are the files here: `vitworkshop.web.export.export_web`, for example.
"""

from __future__ import annotations
