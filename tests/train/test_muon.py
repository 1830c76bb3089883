"""Muon: what it does to singular values, to joint matrices, and to everything else."""

import copy
from types import SimpleNamespace

import pytest
import torch

import vitlib as vl
from vitlib.train.optim import parameter_groups

TINY = vl.ViTConfig(
    img_size=8,
    embed_dim=12,
    depth=2,
    num_heads=2,
    pos_embed="learned",
    global_pool="avg",
)
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


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4), (1, 5), (2, 3, 8, 5)])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_polynomial_of_the_singular_values_and_the_vectors_stay(shape, steps):
    matrices = matrix(*shape).double()
    U, S, Vt = torch.linalg.svd(matrices, full_matrices=False)
    S = S / matrices.norm(dim=(-2, -1))[..., None]
    for _ in range(steps):
        S = 3.4445 * S - 4.7750 * S**3 + 2.0315 * S**5
    torch.testing.assert_close(
        vl.orthogonalize(matrices, steps),
        U @ torch.diag_embed(S) @ Vt,
        atol=1e-6,
        rtol=0,
    )


def test_singular_values_end_near_one_unless_they_were_tiny():
    found = torch.linalg.svdvals(vl.orthogonalize(matrix(96, 96)))
    assert 0.68 < found.sort().values[3:].min() and found.max() < 1.21
    assert vl.orthogonalize(torch.zeros(3, 4)).abs().max() == 0


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


def test_a_step_moves_by_about_the_rate_in_every_direction():
    """A wide and a tall matrix alike: an output of norm 1 stays so, and tall ones have more outputs."""
    for shape, scale in (((8, 32), 1.0), ((32, 8), 2.0)):
        weight = torch.nn.Parameter(matrix(*shape))
        before, weight.grad = weight.detach().clone(), 1e-4 * matrix(*shape, seed=1)
        muon(weight, lr=0.1).step()
        moved = torch.linalg.svdvals(before - weight.detach()) / (0.1 * scale)
        assert 0.65 < moved.min() and moved.max() < 1.2


def test_the_blocks_matrices_are_muons_and_all_else_is_adamws_to_the_bit():
    model = vl.VisionTransformer(TINY)
    model.blocks[0].mlp.fc1.weight.requires_grad_(False)
    twin = copy.deepcopy(model)
    names = {id(p): name for name, p in model.named_parameters()}
    ours = vl.build_optimizer(model, RECIPE)
    adamw = torch.optim.AdamW(parameter_groups(twin, 0.3), lr=0.002, fused=True)
    joint, single = (
        {names[id(p)] for p in group["params"]} for group in ours.param_groups[2:]
    )
    assert joint == {f"blocks.{i}.attn.qkv.weight" for i in (0, 1)}
    kept = {
        f"blocks.{i}.{name}.weight"
        for i in (0, 1)
        for name in ("attn.proj", "mlp.fc1", "mlp.fc2")
    }
    assert single == kept - {"blocks.0.mlp.fc1.weight"}
    assert [group.get("lr_scale", 1.0) for group in ours.param_groups] == [
        1.0,
        1.0,
        25.0,
        25.0,
    ]
    images, labels = matrix(6, 3, 8, 8), torch.arange(6)
    for _ in range(2):
        for net, optimizer in ((model, ours), (twin, adamw)):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(images), labels).backward()
        for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
            theirs.grad = mine.grad  # the same gradients for what both treat alike
        for p in twin.parameters():
            p.grad = None if p.grad is None else p.grad.clone()
        ours.step()
        adamw.step()
        for name, theirs in twin.named_parameters():
            same = torch.equal(model.get_parameter(name), theirs)
            assert same == (name not in joint | single), name


def test_its_state_is_kept_and_a_matrix_without_a_gradient_stays():
    one, two = (torch.nn.Parameter(matrix(4, 4)) for _ in range(2))
    first, second = muon(one), muon(two)
    for seed in (1, 2):
        one.grad = matrix(4, 4, seed=seed)
        first.step()
    two.data.copy_(one.data)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for weight, optimizer in ((one, first), (two, second)):
        weight.grad = matrix(4, 4, seed=3)
        optimizer.step()
    assert torch.equal(one, two)
    first.step()
    assert torch.equal(one, two)


def test_a_closure_makes_the_gradients_of_its_own_step():
    by_closure, by_hand = (torch.nn.Parameter(matrix(4, 4)) for _ in range(2))
    first, second, target = muon(by_closure), muon(by_hand), matrix(4, 4, seed=1)

    def closure():
        first.zero_grad()
        loss = (by_closure - target).square().sum()
        loss.backward()
        return loss

    for _ in range(2):
        loss = (by_hand - target).square().sum()
        second.zero_grad()
        loss.backward()
        second.step()
        assert torch.equal(first.step(closure), loss)
    assert torch.equal(by_closure, by_hand)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("shape", "parts"),
    [
        ((4, 4), 3),
        ((4,), 1),
        ((4, 3, 2, 2), 1),
        ((4, 4), 0),
        ((2, 4), 4),
        ((4, 4), 1.5),
    ],
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
