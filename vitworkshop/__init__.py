"""The workshop of Patch by Patch: the machinery around `vitlib`, which reaches it only where it is asked for.

studies    the experiments: questions, variants, the rules that judge them, and what runs them
doctor     what is tried on a model before a long run: `vl.doctor`
exercises  what judges answers, and the entries of each chapter: `vl.check`, `vl.hint`, `vl.language`
web        a ViT in a page, and its explorers: `vl.explore`, `vl.export_web`
cli        the command line: `python -m vitlib`
"""

from __future__ import annotations
