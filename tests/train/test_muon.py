"""Muon: what it does to singular values, to joint matrices, and to everything else."""

from types import SimpleNamespace

import pytest
import torch

import vitlib as vl
from vitlib.train.muon import orthogonalize

RECIPE = SimpleNamespace(optimizer="muon", lr=0.002, muon_lr=0.05, weight_decay=0.3)


def matrix(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def muon(
    *weights: torch.Tensor, parts: int = 1, lr: float = 0.1, weight_decay: float = 0.0
) -> vl.Muon:
    groups = [
        {
            "params": list(weights),
            "parts": parts,
            "weight_decay": weight_decay,
            "lr_scale": 10.0,
        }
    ]
    return vl.Muon(groups, lr=lr / 10)


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (2, 3, 8, 5)])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_polynomial_of_the_singular_values_and_the_vectors_stay(shape, steps):
    matrices = matrix(*shape).double()
    U, S, Vt = torch.linalg.svd(matrices, full_matrices=False)
    S = S / matrices.norm(dim=(-2, -1))[..., None]
    for _ in range(steps):
        S = 3.4445 * S - 4.7750 * S**3 + 2.0315 * S**5
    torch.testing.assert_close(
        orthogonalize(matrices, steps),
        U @ torch.diag_embed(S) @ Vt,
        atol=1e-6,
        rtol=0,
    )


@pytest.mark.skipif(
    not hasattr(torch.optim, "Muon"), reason="torch before 2.9 has no Muon"
)
@pytest.mark.parametrize("shape", [(12, 12), (24, 12), (12, 24)])
def test_as_pytorchs_on_a_single_matrix(shape):
    """PyTorch's works in bfloat16: three steps of about 0.1 agree to a percent or so."""
    start = matrix(*shape)
    ours, theirs = (torch.nn.Parameter(start.clone()) for _ in range(2))
    mine = muon(ours, weight_decay=0.2)
    reference = torch.optim.Muon([theirs], lr=0.1, weight_decay=0.2, momentum=0.95)
    for seed in range(3):
        for weight, optimizer in ((ours, mine), (theirs, reference)):
            weight.grad = matrix(*shape, seed=seed + 1)
            optimizer.step()
    assert (ours - theirs).norm() < 0.02 * (ours - start).norm()


def test_query_key_and_value_are_cut_apart():
    joint = torch.nn.Parameter(matrix(12, 4))
    parts = [torch.nn.Parameter(part.clone()) for part in joint.detach().chunk(3)]
    one, three = muon(joint, parts=3, weight_decay=0.5), muon(*parts, weight_decay=0.5)
    for seed in (1, 2):
        joint.grad = matrix(12, 4, seed=seed)
        for part, grad in zip(parts, matrix(12, 4, seed=seed).chunk(3), strict=True):
            part.grad = grad.clone()
        one.step()
        three.step()
    torch.testing.assert_close(joint.detach(), torch.cat(parts).detach())
    whole = torch.nn.Parameter(matrix(12, 4))
    whole.grad = matrix(12, 4, seed=1)
    muon(whole).step()
    assert not torch.allclose(whole, joint)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("shape", "parts"),
    [((4, 4), 3), ((4,), 1)],
)
def test_groups_that_cannot_be_cut_are_refused(shape, parts):
    with pytest.raises(
        ValueError, match=rf"rows in {parts} equal parts, got \({shape[0]}"
    ):
        muon(torch.nn.Parameter(matrix(*shape)), parts=parts)


@pytest.mark.errors
def test_a_model_without_blocks_of_matrices_is_refused():
    wanted = (
        'expected a ViT, whose blocks have trainable matrices.*take optimizer "adamw"'
    )
    for model in (
        torch.nn.Linear(4, 4),
        vl.ResNet(vl.ResNetConfig(widths=(32,), depths=(1,))),
    ):
        with pytest.raises(ValueError, match=wanted):
            vl.build_optimizer(model, RECIPE)
