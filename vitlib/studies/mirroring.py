"""What a model learns of left and right when no picture is ever mirrored (chapters 03 and 04).

What changes when no training picture is mirrored?

Not run yet: `python -m vitlib study run mirroring`
"""

from __future__ import annotations

from vitlib.studies.study import Claim, Study

STUDY = Study(
    question="What changes when no training picture is mirrored?",
    variants={"mirrored": {"flip": True}, "as they are": {"flip": False}},
    claims=(Claim("mirroring is ahead", "ours", ("mirrored",), ("as they are",), margin=0.01),),
    source="not in the paper",
)
