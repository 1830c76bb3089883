"""The doctor: each bug of the book's list is found by its name, a healthy model has none, and nothing is changed."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

import vitlib as vl
from tools.measure import doctor as measure
from tools.measure.cases import known, unseen
from vitlib.data.cifar10 import find_cifar10
from vitworkshop.doctor.case import Case, Finding
from vitworkshop.doctor.run import evaluation

TINY = vl.ViTConfig(
    img_size=8,
    patch_size=2,
    num_classes=4,
    embed_dim=16,
    depth=2,
    num_heads=2,
    mlp_ratio=2.0,
)
LABELS = torch.arange(64) % 4


def pictures(seed: int = 0) -> torch.Tensor:
    """(64, 3, 8, 8) in [0, 1]: a pattern for each class, under noise."""
    generator = torch.Generator().manual_seed(seed)
    patterns, noise = (torch.rand(n, 3, 8, 8, generator=generator) for n in (4, 64))
    return 0.4 * patterns[LABELS] + 0.6 * noise


RAW = pictures()
IMAGES = vl.normalize(RAW)


def vit(seed: int = 0, **changes) -> vl.VisionTransformer:
    torch.manual_seed(seed)
    return vl.VisionTransformer(replace(TINY, **changes))


def preset(name: str, seed: int = 0) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A preset's new model and a batch."""
    images, labels = vl.load_drawn10("train", 32, seed)
    torch.manual_seed(seed)
    return vl.build_model(vl.RECIPES[name].model), vl.normalize(images), labels


def names(findings: list[Finding]) -> set[str]:
    return {finding.check for finding in findings}


pytestmark = pytest.mark.usefixtures("one_thread")


# --- bugs of a model ----------------------------------------------------------------------------------------------


class Written(vl.Attention):
    """Attention written out, as tutorials have it; right as it stands."""

    axis, scale = -1, 8**-0.5

    def forward(self, x, bias=None):
        q, k, v = self.project(x)  # (B, h, T, d) each
        weights = (q @ k.mT * self.scale).softmax(self.axis)
        # (B, T, h, d) -> (B, T, D)
        return self.proj((weights @ v).transpose(1, 2).flatten(2))


class Transposed(vl.LinearPatchEmbed):
    """Counts the patches down the columns."""

    def forward(self, images):
        return self.proj(
            rearrange(images, "b c (h p) (w q) -> b (w h) (p q c)", p=2, q=2)
        )


def with_pool(change, **changes) -> nn.Module:
    """A model whose pooled features are `change(model, features)`."""

    class Changed(vl.VisionTransformer):
        def pool(self, tokens):
            return change(self, super().pool(tokens))

    torch.manual_seed(0)
    return Changed(replace(TINY, **changes))


def drops_in_eval() -> nn.Module:
    return with_pool(lambda model, x: F.dropout(x, 0.1))


def with_attention(kind: type[vl.Attention] = Written, **bug) -> nn.Module:
    model = vit()
    for block in model.blocks:
        block.attn.__class__ = type("Attention", (kind,), bug)
    return model


def with_part(name: str, part: nn.Module, **changes) -> nn.Module:
    model = vit(**changes)
    setattr(model, name, part)
    return model


def transposed(pos_embed: str = "sincos2d") -> nn.Module:
    return with_part("patch_embed", Transposed(2, 3, 16), pos_embed=pos_embed)


def giving(what) -> nn.Module:
    """A model that gives `what(logits)`."""
    model = vit()
    forward = type(model).forward
    parts = {"forward": lambda self, images: what(forward(self, images))}
    model.__class__ = type("Giving", (type(model),), parts)
    return model


# --- bugs of a run ------------------------------------------------------------------------------------------------


def flip_all_or_none(images):
    return images.flip(-1) if torch.rand(()) < 0.5 else images


def evaluate_with(**normalisation):
    return lambda model: model.eval()(vl.normalize(pictures(1), **normalisation))


def accuracy_along(axis: int, model: nn.Module) -> float:
    """The share of right answers in batches of as many images as there are classes."""
    model.eval()
    order = torch.randperm(64, generator=torch.Generator().manual_seed(0))
    hits = [
        (model(x).argmax(axis) == y).float().mean()
        for x, y in zip(
            vl.normalize(pictures(1))[order].split(4),
            LABELS[order].split(4),
            strict=True,
        )
    ]
    return float(torch.stack(hits).mean())


OF_A_RUN = {
    "model.eval() forgotten": (
        {"evaluate": lambda model: model(IMAGES)},
        {"test mode"},
    ),
    "not normalised at test time": (
        {"evaluate": lambda model: model.eval()(RAW)},
        {"test normalisation"},
    ),
    "another std": ({"evaluate": evaluate_with(std=0.25)}, {"test normalisation"}),
    "augmentation drawn once a batch": (
        {"augment": flip_all_or_none},
        {"augmentation"},
    ),
    "pictures changed in place": (
        {"augment": lambda images: images.mul_(0.8)},
        {"augmentation"},
    ),
    "argmax over the images": (
        {"evaluate": lambda model: accuracy_along(0, model)},
        {"evaluation"},
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bug", OF_A_RUN)
def test_a_bug_of_a_run_is_found_by_name(bug):
    given, checks = OF_A_RUN[bug]
    assert names(vl.doctor(vit(), IMAGES, LABELS, **given)) == checks


class ByColour(nn.Module):
    """Has learned red, green and blue: the logits are the image's mean colour."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, images):
        return self.scale * images.mean((2, 3))


def coloured() -> tuple[torch.Tensor, torch.Tensor]:
    labels = torch.arange(63) % 3
    return IMAGES[:63] + 0.5 * F.one_hot(labels, 3)[:, :, None, None], labels


def test_a_trained_model_tells_bgr():
    images, labels = coloured()
    # of which it needs none
    assert names(vl.doctor(ByColour(), images, labels)) == {"positions"}
    found = names(vl.doctor(ByColour(), images.flip(1), labels))
    # its one parameter cannot mend that
    assert found == {
        "positions",
        "channels",
        "first loss",
        "one batch",
    }


@pytest.mark.sampled(3)
def test_a_trained_model_tells_patches_flattened_with_rows_and_columns_exchanged():
    """What happens to weights that were learned on "(p1 p2 c)" in a model that flattens as "(p2 p1 c)"."""
    model = vit(patch_embed="linear", global_pool="avg")
    adam = torch.optim.AdamW(model.parameters(), 5e-3)
    for _ in range(60):
        loss = F.cross_entropy(model(IMAGES), LABELS)
        adam.zero_grad()
        loss.backward()
        adam.step()
    # which is for new models
    assert vl.doctor(model, IMAGES, LABELS, recipe=vl.Recipe(lr=0.05)) == []
    sure = copy.deepcopy(model)
    sure.head.weight.data *= 100  # no image that it knows has a gradient
    assert vl.doctor(sure, IMAGES, LABELS) == []
    weight = rearrange(
        model.patch_embed.proj.weight.data, "d (p q c) -> d (q p c)", p=2, q=2
    )
    model.patch_embed.proj.weight.data = weight.contiguous()
    assert names(vl.doctor(model, IMAGES, LABELS)) == {"patch order", "first loss"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (0, 255)],
    ids=str,
)
def test_images_that_are_not_standardised_are_found(low, high):
    assert "images" in names(vl.doctor(vit(), low + (high - low) * RAW, LABELS))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", ["plain", "drawn10", "finetune"])
def test_a_far_too_high_learning_rate_is_found(name):
    recipe = vl.RECIPES[name]
    (finding,) = vl.doctor(*preset(name), recipe=replace(recipe, lr=100 * recipe.lr))
    assert finding.check == "learning rate"
    assert ("warm-up" in finding.says and "warm-up" in finding.fix) == (
        recipe.warmup == 0
    )


# --- no bugs ------------------------------------------------------------------------------------------------------


def each_its_own(images):
    return torch.where(torch.rand(len(images), 1, 1, 1) < 0.5, images.flip(-1), images)


HEALTHY_RUN = {
    "recipe": vl.Recipe(),
    "evaluate": lambda model: vl.evaluate(model, pictures(1), LABELS),
    "augment": each_its_own,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.weekly) for seed in (1, 2))]
)
@pytest.mark.parametrize("name", vl.RECIPES)
def test_the_presets_are_healthy(name, seed):
    assert vl.doctor(*preset(name, seed), recipe=vl.RECIPES[name]) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", vl.list_pretrained())
def test_the_books_models_are_healthy(name):
    model, card = vl.load_pretrained(name)
    data = card["recipe"]["data"]
    if data == "cifar10" and find_cifar10() is None:
        pytest.skip("no CIFAR-10 here")
    test = vl.load_dataset(data, "test")
    some = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))[:32]
    assert vl.doctor(model, vl.normalize(test.images[some]), test.labels[some]) == []


PARTS = [
    {"patch_embed": "stem", "head": "mlp"},
    {"patch_embed": "hybrid"},
    {"attention": "axial", "pos_embed": "relative"},
    {"img_size": (8, 16), "layer_scale": 0.1, "num_heads": 1},
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "changes", PARTS, ids=lambda changes: ", ".join(map(str, changes.values()))
)
def test_every_part_of_the_model_is_healthy(changes):
    images = IMAGES.repeat(1, 1, 1, 2) if "img_size" in changes else IMAGES
    assert vl.doctor(vit(**changes), images, LABELS) == []


def test_a_healthy_run_has_no_finding():
    for seed in range(3):
        assert vl.doctor(vit(seed), IMAGES, LABELS, **HEALTHY_RUN) == []


def with_zeros() -> nn.Module:
    model = vit()
    for p in (model.head.weight, model.pos_embed.weight):
        nn.init.zeros_(p)
    return model


ALSO_HEALTHY = {
    "what starts at zero": (with_zeros, {}),
    "attention written out": (with_attention, {}),
    "patches down the columns, places learned": (lambda: transposed("learned"), {}),
    "a dict": (
        lambda: giving(lambda logits: {"loss": None, "logits": logits}),
        {"recipe": "plain"},
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ALSO_HEALTHY)
def test_what_is_unusual_and_healthy(name):
    model, given = ALSO_HEALTHY[name]
    assert vl.doctor(model(), IMAGES, LABELS, **given) == []


OTHERS = {
    "a ResNet": lambda: vl.build_model(
        vl.ResNetConfig(8, num_classes=4, widths=(32, 64, 128))
    ),
    "a new head on a frozen model": lambda: vl.replace_head(
        vit().requires_grad_(False), 4, zero=False
    ),
    "batch norm": lambda: nn.Sequential(
        *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Dropout(0.1)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 4)),
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OTHERS)
def test_other_models_are_healthy(name):
    for seed in range(3):
        torch.manual_seed(seed)
        assert vl.doctor(OTHERS[name](), IMAGES, LABELS, **HEALTHY_RUN) == []


def test_timms_model_is_healthy_and_its_hook_is_not(timm):
    torch.manual_seed(0)
    model = timm.models.vision_transformer.VisionTransformer(
        img_size=8,
        patch_size=2,
        num_classes=4,
        embed_dim=16,
        depth=2,
        num_heads=2,
        mlp_ratio=2.0,
    )
    assert vl.doctor(model, IMAGES, LABELS) == []
    model.blocks[1].attn.attn_drop.register_forward_hook(lambda *_: None)
    (finding,) = vl.doctor(model, IMAGES, LABELS)
    assert finding.check == "hooks" and "blocks.1.attn.attn_drop" in finding.says


# --- what it finds of bugs that were not used to write it --------------------------------------------------------


@pytest.mark.parametrize("cases", [unseen, known], ids=["unseen", "known"])
def test_every_case_has_a_row(cases):
    rows = vl.load_results("doctor")[cases.__name__.rpartition(".")[2]]
    assert [*rows] == [case.name for case in (*cases.BUGS, *cases.HEALTHY)]
    assert not any(row["says"] for row in rows.values() if row["kind"] == "healthy")


def one_for_each_check() -> dict[str, tuple[str, str]]:
    """Of the bugs that each check finds, the list and the name of the first."""
    return {
        check: (which, name)
        for which in reversed(measure.LISTS)
        for name, row in reversed(vl.load_results("doctor")[which].items())
        for check in set(row["says"]) - set(row.get("twin", []))
    }


@pytest.mark.sampled(8)
@pytest.mark.slow
@pytest.mark.parametrize(("which", "name"), sorted({*one_for_each_check().values()}))
def test_the_table_is_what_the_doctor_says(which, name):
    found = measure.measure(measure.LISTS[which], name)
    assert found == vl.load_results("doctor")[which][name]


# --- manners ------------------------------------------------------------------------------------------------------


def test_everything_is_left_as_it_was_found():
    model, seen = vit(drop_rate=0.1), []
    model.blocks[0].eval()
    F.cross_entropy(model(IMAGES), LABELS).backward()
    model.blocks[0].register_forward_hook(lambda *_: seen.append(1))
    before, gradients = (
        copy.deepcopy(model),
        [p.grad.clone() for p in model.parameters()],
    )
    state = torch.get_rng_state()
    first = vl.doctor(model, IMAGES, LABELS, **HEALTHY_RUN)
    assert first == vl.doctor(model, IMAGES, LABELS, **HEALTHY_RUN) == []
    assert torch.equal(torch.get_rng_state(), state)
    assert [m.training for m in model.modules()] == [
        m.training for m in before.modules()
    ]
    for p, q, gradient in zip(
        model.parameters(), before.parameters(), gradients, strict=True
    ):
        assert torch.equal(p, q) and torch.equal(p.grad, gradient)
    assert seen == [] and len(model.blocks[0]._forward_hooks) == 1


def test_sorted_labels_and_rare_classes_are_no_matter():
    order = LABELS.repeat(4).argsort(stable=True)  # the first 64 have one label
    assert (
        vl.doctor(vit(), IMAGES.repeat(4, 1, 1, 1)[order], LABELS.repeat(4)[order])
        == []
    )
    # 16 of one class, 1 of two others
    rare = torch.cat([torch.arange(0, 64, 4), torch.tensor([1, 2])])
    assert vl.doctor(vit(), IMAGES[rare], LABELS[rare]) == []


def test_it_says_the_same_twice():
    said = []
    for seed in range(2):
        model = drops_in_eval()
        torch.manual_seed(seed)
        said.append(vl.doctor(model, IMAGES, LABELS))
    assert said[0] == said[1] != []


def test_it_works_where_gradients_are_off():
    with torch.no_grad():
        assert vl.doctor(vit(), IMAGES, LABELS) == []


def test_a_line_is_printed_for_each_finding_and_one_for_what_was_not_given(capsys):
    findings = vl.doctor(vit(pos_embed="none"), IMAGES, LABELS)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        *map(str, findings),
        "findings: 1 (not given: recipe, evaluate, augment)",
    ]
    assert lines[0] == (
        "positions: the logits do not change when the patches change places; add position embeddings to the tokens"
    )
    vl.doctor(vit(), IMAGES, LABELS, **HEALTHY_RUN)
    assert capsys.readouterr().out == "findings: 0\n"


@pytest.mark.errors
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": "vit"}, "model must be a Module, got 'vit'"),
        ({"images": (255 * RAW).to(torch.uint8)}, "use vl.normalize"),
        ({"labels": 0 * LABELS}, "two classes or more, got class 0 only"),
        ({"evaluate": lambda model: None}, "evaluate never called the model"),
        (
            {"augment": lambda images: images[1:]},
            r"expected 8 images \(B, C, H, W\) from augment, got \(7,",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_bad_arguments_are_refused(given, words):
    arguments = {"model": vit(), "images": IMAGES, "labels": LABELS} | given
    with pytest.raises(ValueError, match=words):
        vl.doctor(**arguments)


@pytest.mark.errors
def test_a_model_that_keeps_tensors_is_refused():
    model = vit()
    model.kept = model.head.weight * 2
    with pytest.raises(ValueError, match="cannot be copied.*keep no tensor"):
        vl.doctor(model, IMAGES, LABELS)


@pytest.mark.parametrize(("n", "found"), [(40, True), (5, False)])
def test_another_normalisation_needs_images_enough_to_show(n, found):
    """Images whose means differ among themselves by 0.5, and by 0.8 in the test: a matter of how many there are."""
    g = torch.Generator().manual_seed(0)

    def images(mean):
        return (
            torch.randn(n, 3, 16, 16, generator=g)
            + mean
            + 0.5 * torch.randn(n, 1, 1, 1, generator=g)
        )

    case = Case(
        nn.Identity(), images(0.0), torch.zeros(n), [], (torch.zeros(0), torch.zeros(0))
    )
    test = images(0.8)
    findings = evaluation(case, lambda model: model.eval()(test))
    assert [finding.check for finding in findings] == ["test normalisation"] * found
