"""Transfer: a new head, training that begins with another model's weights, ridge regression on frozen features."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import vitlib as vl
from vitlib.train.transfer import RIDGES

TINY = vl.ViTConfig(
    img_size=8, num_classes=4, embed_dim=12, depth=2, num_heads=2, mlp_ratio=2.0
)
SHORT = vl.Recipe(
    "short",
    TINY,
    epochs=2,
    batch_size=8,
    lr=3e-3,
    crop=1,
    ema_decay=0.9,
    precision="fp32",
)


@pytest.fixture(autouse=True)
def own_random_numbers(one_thread):
    with torch.random.fork_rng(devices=[]):
        yield


def toy(n: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(
        0, 256, (n, 3, 8, 8), dtype=torch.uint8, generator=generator
    ), torch.arange(n) % 4


def model(cfg: vl.ViTConfig = TINY, seed: int = 0) -> vl.VisionTransformer:
    torch.manual_seed(seed)
    return vl.VisionTransformer(cfg)


def run(start=None, one=SHORT, **options) -> dict:
    return vl.train_model(
        one, toy(), toy(12), start=start, progress=False, device="cpu", **options
    )


def equal(a, b) -> bool:
    a, b = a.state_dict(), b.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# --------------------------------------------------------------------------------------------------- a new head


@pytest.mark.parametrize("pool", ["token", "avg"])
@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_a_new_head_is_zero_and_the_rest_is_kept(pool, head):
    old = model(
        replace(
            TINY, global_pool=pool, head=head, pos_embed="sincos2d", patch_drop_rate=0.5
        )
    ).eval()
    before = {name: value.clone() for name, value in old.state_dict().items()}
    state = torch.random.get_rng_state()
    new = vl.replace_head(old, 7)
    assert torch.equal(state, torch.random.get_rng_state())  # nothing was drawn
    assert (
        new.cfg == replace(old.cfg, num_classes=7, head="linear", patch_drop_rate=0.0)
        and not new.training
    )
    assert new.patch_drop.rate == 0 and old.patch_drop.rate == 0.5
    x = torch.randn(2, 3, 8, 8)
    assert new(x).shape == (2, 7) and not new(x).any()
    assert torch.equal(new.forward_features(x), old.forward_features(x))
    assert vl.VisionTransformer(new.cfg).load_state_dict(new.state_dict())
    new.patch_embed.proj.weight.data.zero_()  # a copy: the old model is left as it was
    assert all(
        torch.equal(value, before[name]) for name, value in old.state_dict().items()
    )


def test_a_head_can_be_dropped_and_takes_the_models_dtype():
    old = model().double()
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    assert torch.equal(vl.replace_head(old, 0)(x), old.pool(old.forward_features(x)))
    assert vl.replace_head(old, 3).head.weight.dtype == torch.float64


# ------------------------------------------------------------------------------------------ beginning elsewhere


def test_a_run_begins_with_the_given_weights_and_leaves_them_alone():
    start = model(replace(TINY, drop_rate=0.1), seed=5).double()  # any dtype, any rate
    before = model(seed=5)
    still = run(start, replace(SHORT, lr=1e-12, weight_decay=0.0))["model"]
    for name, value in still.state_dict().items():
        torch.testing.assert_close(value, before.state_dict()[name], atol=1e-6, rtol=0)
    assert equal(start, before.double()) and not equal(run(start)["model"], before)


@pytest.mark.errors
def test_another_start_is_another_run(tmp_path):
    assert not run(model(seed=1), out=tmp_path, budget_minutes=0.0)["finished"]
    for other, message in (
        (model(seed=2), r"start was \d+, now \d+"),
        (None, r"start was \d+, now None"),
    ):
        with pytest.raises(ValueError, match=message):
            run(other, out=tmp_path)
    # goes on to the bit
    assert equal(run(model(seed=1), out=tmp_path)["model"], run(model(seed=1))["model"])
    run(out=tmp_path, resume=False, budget_minutes=0.0)
    with pytest.raises(ValueError, match=r"start was None, now \d+"):
        run(model(seed=1), out=tmp_path)


@pytest.mark.errors
def test_a_start_of_another_shape_is_refused_by_name():
    with pytest.raises(
        ValueError,
        match="got num_classes 7 instead of 4, depth 1 instead of 2; take model=",
    ):
        run(model(replace(TINY, depth=1, num_classes=7)))
    start = model()
    start.head.bias = None
    with pytest.raises(
        ValueError,
        match="expected start to have recipe.model's weights, got others; .*bias",
    ):
        run(start)


# ---------------------------------------------------------------------------------------------- ridge regression


def problem(n: int, D: int, K: int, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """Features with a large mean and different scales, that say something about the label."""
    generator = torch.Generator().manual_seed(seed)
    labels = [torch.arange(m) % K for m in (n, 30)]
    means = 2 * torch.randn(K, D, generator=generator)
    scale, shift = torch.logspace(-2, 2, D), 100 * torch.randn(D, generator=generator)
    x = [
        (means[y] + torch.randn(len(y), D, generator=generator)) * scale + shift
        for y in labels
    ]
    return x[0], labels[0], x[1], labels[1]


def by_least_squares(x, y, z, ridge: float, scaled_by=None) -> np.ndarray:
    """Scores (m, K) by NumPy's lstsq on the system with rows for the penalty, the intercept being a column."""
    base = x if scaled_by is None else scaled_by
    mean, std = base.mean(0), base.std(0)
    x, z = (x - mean) / std, (z - mean) / std
    targets = np.where(y[:, None] == np.arange(y.max() + 1), 1.0, -1.0)
    D = x.shape[1]
    # none for the last column, the intercept
    penalty = np.sqrt(ridge) * np.eye(D + 1)[:D]
    rows = np.concatenate([np.concatenate([x, np.ones((len(x), 1))], 1), penalty])
    W = np.linalg.lstsq(
        rows, np.concatenate([targets, np.zeros((D, targets.shape[1]))]), rcond=None
    )[0]
    return np.concatenate([z, np.ones((len(z), 1))], 1) @ W


@given(
    n=st.integers(6, 40),
    D=st.integers(1, 30),
    K=st.integers(2, 4),
    ridge=st.sampled_from([1e-3, 1.0, 50.0]),
)
def test_ridge_regression_is_exact(n, D, K, ridge):
    """In every regime: fewer images than features, more of them."""
    x, y, z, t = problem(n, D, K, seed=n * D)
    found = vl.few_shot(x, y, z, t, ridge)
    scores = by_least_squares(x.double().numpy(), y.numpy(), z.double().numpy(), ridge)
    top = np.sort(scores, 1)
    clear = top[:, -1] - top[:, -2] > 1e-6  # elsewhere rounding decides
    assert (found["predictions"].numpy() == scores.argmax(1))[clear].all()
    assert (
        found["accuracy"] == (found["predictions"] == t).double().mean()
        and found["ridge"] == ridge
    )
    # labels that were not trained on are wrong
    assert vl.few_shot(x, y, z, t + K, ridge)["accuracy"] == 0


@pytest.mark.parametrize(("n", "D"), [(12, 30), (40, 6)])
def test_the_ridge_is_chosen_by_leaving_out_one_image_after_the_other(n, D):
    x, y, z, t = problem(n, D, 3)
    x = x + torch.randn(n, D, generator=torch.Generator().manual_seed(1)) * x.std(0)
    a, labels = x.double().numpy(), y.numpy()
    targets = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)

    def error(ridge: float) -> float:
        rests = (np.arange(n) != i for i in range(n))
        scores = [
            by_least_squares(a[rest], labels[rest], a[~rest], ridge, a)
            for rest in rests
        ]
        return ((np.concatenate(scores) - targets) ** 2).sum()

    best = min(RIDGES, key=error)
    assert RIDGES[0] < best < RIDGES[-1]  # the grid holds a minimum
    assert vl.few_shot(x, y, z, t)["ridge"] == best
    other = vl.few_shot(x, y, z.flip(0), (t + 1) % 3)
    assert other["ridge"] == best  # the test images have no say


def test_few_images_of_each_class():
    labels = torch.tensor([2, 0, 1, 1, 0, 2, 2, 0, 1, 1])
    index = vl.sample_shots(labels, 2, seed=1)
    assert labels[index].tolist() == [0, 0, 1, 1, 2, 2] and len(index.unique()) == 6
    assert torch.equal(index, vl.sample_shots(labels, 2, seed=1))
    assert (
        len({tuple(vl.sample_shots(labels, 2, seed=s).tolist()) for s in range(9)}) > 4
    )
    assert sorted(vl.sample_shots(labels[:6], 2).tolist()) == list(range(6))


@pytest.mark.errors
def test_what_cannot_be_sampled_or_solved_is_refused():
    with pytest.raises(
        ValueError, match="expected 2 images of each class, got 1 of class 1"
    ):
        vl.sample_shots(torch.tensor([0, 0, 1]), 2)
    x, y, z, t = problem(12, 4, 2)
    for call, message in (
        ((x / 0, y, z, t), "finite features"),
        ((x, y * 0, z, t), "two classes or more"),
    ):
        with pytest.raises(ValueError, match=message):
            vl.few_shot(*call)
