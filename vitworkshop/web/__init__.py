"""A model inside a web page: its weights as one script (`export`), beside the JavaScript that runs them (`explore`)."""

from __future__ import annotations
