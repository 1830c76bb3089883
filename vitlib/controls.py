"""Hard controls: what a model, or a map that explains one, must beat before anything is said of it.

None of them looks at what it is held against. How the book decides by them stands in `paired`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer, Shaped
from torch import Tensor, nn

from vitlib.checks import Classes, Count, Images, Natural, checked
from vitlib.data.dataset import normalize
from vitlib.explain.gradients import Target
from vitlib.explain.scores import patch_scores
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_labels
from vitlib.train.transfer import ridge_weights

__all__ = [
    "PixelRidge",
    "border_contrast",
    "borrowed_scores",
    "break_ties",
    "laplace_fill",
    "paired",
    "untrained",
]


class PixelRidge(nn.Module):
    """Ridge regression on the pixels, as a model: what can be told from a picture without any features.

    Its targets are {-1, 1}^K; its decay is the pixels' mean scatter over the directions there are.

    Args:
        images: (n, C, H, W), the raw pictures that its rival is trained on; with `mirrored`, each of them mirrored,
            too, as a rival saw them that was trained with flips.
        labels: (n,) integers from 0.
        num_classes: K.
        mirrored: Whether the pictures are also learned mirrored.

    `vl.evaluate` and `vl.predict` take it as they take a model.

    Raises:
        ValueError: If a label is none of the classes, or labels and images differ in number.

    Source: Section 4.1, Metrics, for the regression; chapter 16.
    """

    @checked
    def __init__(
        self,
        images: Shaped[Tensor, "n C H W"],
        labels: Integer[Tensor, " n"],
        num_classes: Classes,
        mirrored: bool = False,
    ) -> None:
        super().__init__()
        check_labels(labels, num_classes)
        if mirrored:
            images = torch.cat([images, images.flip(-1)])
            labels = labels.repeat(2)
        x = normalize(images).flatten(1)  # (n, D)
        targets = 2 * F.one_hot(labels.long(), num_classes).float() - 1  # (n, K)
        mean, middle = x.mean(dim=0), targets.mean(dim=0)
        x = x - mean
        decay = x.square().sum(dim=0).double().sum() / min(x.shape)
        weight = ridge_weights(x, targets - middle, decay.item()).T  # (K, D)
        self.head = nn.Linear(x.shape[1], num_classes)
        with torch.no_grad():
            self.head.weight.copy_(weight)
            self.head.bias.copy_(middle - weight @ mean)

    def forward(self, images: Tensor) -> Tensor:
        """Normalised images (B, C, H, W) -> one number for each class, (B, K)."""
        return self.head(images.flatten(1))


@checked
def laplace_fill(
    images: Images, hidden: Bool[Tensor, "B 1 H W"], steps: Count = 300
) -> Float[Tensor, "B C H W"]:
    """Hidden pixels become the mean of their four neighbours, again and again, from the mean of all that is shown.

    Args:
        images: (B, C, H, W); what stands under `hidden` is not looked at. Each shows a pixel or more.
        hidden: (B, 1, H, W), true where a pixel is to be filled.
        steps: How often.

    Source: Laplace's equation in the holes, solved by Jacobi's method; chapter 17.
    """
    shown = images.masked_fill(hidden, 0)
    mean = shown.sum((2, 3), keepdim=True) / (~hidden).sum((2, 3), keepdim=True)
    filled = torch.where(hidden, mean, shown)
    for _ in range(steps):
        x = F.pad(filled, (1, 1, 1, 1), mode="replicate")
        sides = x[:, :, :-2, 1:-1] + x[:, :, 2:, 1:-1]
        sides = sides + x[:, :, 1:-1, :-2] + x[:, :, 1:-1, 2:]
        filled = torch.where(hidden, sides / 4, shown)
    return filled


@checked
def border_contrast(images: Images) -> Float[Tensor, "B H W"]:
    """How far each pixel's colour is from the median colour of the picture's border: the sum over the channels.

    Above a threshold it is a colour mask, averaged over patches a blind order of them.

    Source: chapters 14, 16 and 18.
    """
    sides = (images[:, :, 0], images[:, :, -1], images[..., 0], images[..., -1])
    border = torch.cat(sides, dim=2)  # (B, C, 2H+2W)
    middle = border.median(dim=2).values[:, :, None, None]
    return (images - middle).abs().sum(dim=1)


@checked
def untrained(model: nn.Module, seed: Natural = 0) -> nn.Module:
    """A model of the configuration of `model` with weights drawn anew by `seed`, in evaluation mode.

    Source: Adebayo et al. 2018 (arXiv 1810.03292), Section 3; chapters 13 and 15.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return type(model)(model.cfg).eval()


@checked
def borrowed_scores(
    name: str,
    lenders: Sequence[VisionTransformer],
    images: Images,
    target: Target = None,
) -> Float[Tensor, "B N"]:
    """The scores of patches by which *other* models' answers are explained: the mean of their ranks.

    Args:
        name: One of `vl.EXPLANATIONS`.
        lenders: One other model, or several of the same grid.
        images: (B, C, H, W), normalised.
        target: As for `vl.patch_scores`; None takes each lender's own answer.

    Source: chapter 14.
    """
    ranks = [
        break_ties(patch_scores(name, lender, images, target)) for lender in lenders
    ]
    return torch.stack(ranks).mean(dim=0)


@checked
def break_ties(scores: Float[Tensor, "B N"], seed: Natural = 0) -> Float[Tensor, "B N"]:
    """Ranks of scores, 0 for the lowest, N - 1 for the highest; equal ones in an order that `seed` draws.

    Source: chapter 14.

    >>> break_ties(torch.tensor([[0.5, 0.1, 0.9]]))
    tensor([[1., 0., 2.]])
    """
    drawn = torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed))
    shuffled = drawn.argsort(dim=1).to(scores.device)
    order = scores.gather(1, shuffled).argsort(dim=1, stable=True)
    return shuffled.gather(1, order).argsort(dim=1).to(scores.dtype)


@checked
def paired(
    ours: Float[Tensor, " n"], control: Float[Tensor, " n"], higher: bool = True
) -> dict:
    """How two things compare on the same n pictures: the mean of the differences, its standard error, and a verdict.

    "passes" if ours is better by more than two standard errors, "fails" if it is worse by as much, else "open".

    Args:
        ours: (n,), a number for each picture: 1 for a right answer, an area, an error.
        control: (n,), of the same pictures.
        higher: Whether more is better; False for errors and areas of deletion.

    Returns:
        "difference" (ours - control), "se" and "verdict".

    Raises:
        ValueError: If there are fewer than two pictures.

    Source: chapter 14.

    >>> paired(torch.tensor([1.0, 1.0, 0.9, 1.0]), torch.tensor([0.0, 0.1, 0.0, 0.0]))["verdict"]
    'passes'
    """
    differences = (ours - control).double()
    if len(differences) < 2:
        raise ValueError(f"expected two pictures or more, got {len(differences)}")
    mean = differences.mean().item()
    se = differences.std().item() / len(differences) ** 0.5
    gain = mean if higher else -mean
    verdict = "passes" if gain > 2 * se else "fails" if -gain > 2 * se else "open"
    return {"difference": mean, "se": se, "verdict": verdict}
