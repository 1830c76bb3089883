"""What a good engineer tries before a long run: `vl.doctor` finds the usual bugs (Section 4.1)."""

from __future__ import annotations
