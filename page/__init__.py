"""What makes the book's pages: its Sphinx extension, a file for each concern, and commands that write what they show.

`_config.yml` names this package, and so puts the project's folder on the path.
"""

import gc
from importlib import import_module

CONCERNS = (
    "words address api map numbers beside exercises guess typography drawings chapters cards search theme explorers "
    "language preview"
)


def setup(app):
    """Registers each concern with Sphinx; what happens to a page in which order is said by their priorities."""
    # Sphinx keeps what it builds: to look through it often took a fifth of its time
    gc.set_threshold(100_000, 50)
    for name in CONCERNS.split():
        import_module(f"page.{name}").setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
