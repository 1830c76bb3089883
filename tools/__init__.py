"""The tools around the book; each is run from the project's folder: `python -m tools.build`."""
