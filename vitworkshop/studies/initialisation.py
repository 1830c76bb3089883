"""How large should a block's matrices start? Head start and finish are two questions (chapter 08).

Which initial deviation of the blocks' matrices gives a head start, and which the best finish?

- at width 96, 0.1 is ahead of 0.02 after the first epoch: open, +1.3 ± 1.1 points (standard error, n = 3);
  about 57 seeds would decide.
- at width 96, 0.1 is ahead of 0.02 after the last: open, -0.2 ± 0.7 points (standard error, n = 3); about
  21 seeds would decide.
- at width 96, 0.5 is ahead of 0.02 after the first epoch: differs, -4.6 ± 0.6 points (standard error, n =
  3).
- at width 96, 0.5 is ahead of 0.02 after the last: differs, -12.4 ± 0.3 points (standard error, n = 3).
- at width 192, 0.0722 is ahead of 0.02 after the first epoch: open, +1.3 ± 1.2 points (standard error, n =
  3); about 73 seeds would decide.
- at width 192, 0.0722 is ahead of 0.02 after the last: differs, -1.7 ± 0.3 points (standard error, n = 3).
- at width 192, 0.1 is ahead of 0.02 after the first epoch: open, +0.6 ± 1.2 points (standard error, n = 3);
  about 66 seeds would decide.
- at width 192, 0.1 is ahead of 0.02 after the last: open, -1.6 ± 0.7 points (standard error, n = 3); about
  22 seeds would decide.
- at width 192, 0.5 is ahead of 0.02 after the first epoch: differs, -5.9 ± 0.9 points (standard error, n =
  3).
- at width 192, 0.5 is ahead of 0.02 after the last: differs, -12.2 ± 1.1 points (standard error, n = 3).

21 runs on CIFAR-10 (JPEG q75) with 3 seeds took 111 minutes: `python -m vitlib study run initialisation
--data cifar10 --threads 1`
"""

from __future__ import annotations

from vitlib.train.recipe import recipe
from vitworkshop.studies.study import QUICK, Claim, Study

_WIDTHS = {96: (0.02, 0.1, 0.5), 192: (0.02, 192**-0.5, 0.1, 0.5)}  # 96**-0.5 is 0.102


def _name(width: int, std: float) -> str:
    return f"{width} wide, {std:.3g}"


STUDY = Study(
    question="Which initial deviation of the blocks' matrices gives a head start, and which the best finish?",
    variants={
        _name(width, std): {"model.embed_dim": width, "model.init_std": std}
        for width, stds in _WIDTHS.items()
        for std in stds
    },
    claims=tuple(
        Claim(
            f"at width {width}, {std:.3g} is ahead of 0.02 after {when}",
            "ours",
            (_name(width, std),),
            (_name(width, 0.02),),
            margin=0.01,
            metric=metric,
        )
        for width, stds in _WIDTHS.items()
        for std in stds[1:]
        for when, metric in (("the first epoch", "first_val_accuracy"), ("the last", "val_accuracy"))
    ),
    base=recipe(QUICK, **{"model.patch_size": 8}),
    n_train=25_000,  # 5,000 of them held out
    source="not in the paper; its code uses Xavier's rule",
)
