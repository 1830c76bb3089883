"""`python -m vitlib`: the command line; see `vitworkshop.cli`."""

from __future__ import annotations

import sys

from vitworkshop.cli import main

if __name__ == "__main__":
    sys.exit(main())
