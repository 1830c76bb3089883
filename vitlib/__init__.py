"""vitlib: the package of Patch by Patch, a book on Vision Transformers."""

__version__ = "0.1.0"
