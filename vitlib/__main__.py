"""`python -m vitlib`: the command line; see `vitlib.cli`."""

from __future__ import annotations

import sys

from vitlib.cli import main

if __name__ == "__main__":
    sys.exit(main())
