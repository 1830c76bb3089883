"""The capstone: what is trained gets what it is worth; what is like another waits for a person."""

import itertools
import json
import pickle
import shutil
import zipfile

import pytest
import torch

import vitlib as vl
from classroom import capstone
from classroom.submissions import find, handed_in

pytestmark = pytest.mark.sampled(7, "capstone")  # it trains entries first


def trained(seed: int):
    """A model that somebody has trained, in seconds."""
    shape = vl.ViTConfig(patch_size=8, embed_dim=64, depth=2, num_heads=2)
    plain = {
        "batch_size": 32,
        "lr": 0.001,
        "crop": 0,
        "warmup": 0.0,
        "schedule": "constant",
    }
    train, val = vl.split_validation(*vl.load_drawn10("train", 6000), n=300)
    recipe = vl.Recipe(model=shape, epochs=6, seed=seed, **plain)
    return vl.train_model(recipe, train, val, progress=False)["model"]


def changed(net, change):
    """A copy of a model whose weights are changed, by their names."""
    copied = vl.VisionTransformer(net.cfg)
    copied.load_state_dict(
        {name: change(name, x.clone()) for name, x in net.state_dict().items()}
    )
    return copied.eval()


def noisy(name, x):
    """Noise of a fifth of a weight's spread."""
    dice = torch.Generator().manual_seed(len(name))
    return x + 0.2 * x.std() * torch.randn(x.shape, generator=dice) if x.ndim > 1 else x


def refitted(net):
    """A new head, fitted to 2,000 training pictures in one step."""
    images, labels = vl.load_drawn10("train", 2000)
    read = vl.features(net, images).double()
    read = torch.cat([read, torch.ones(len(read), 1)], 1)
    target = 2.0 * torch.nn.functional.one_hot(labels, 10).double() - 1
    square = read.T @ read + 0.1 * torch.eye(read.shape[1]).double()
    head = torch.linalg.solve(square, read.T @ target).float()
    return changed(
        net,
        lambda name, x: (
            x if "head" not in name else head[:-1].T if x.ndim > 1 else head[-1]
        ),
    )


HIDDEN = {"fc1.weight": 0, "fc1.bias": 0, "fc2.weight": 1}
SAME = {  # the book's model by other weights, or nearly
    "the book's": lambda name, x: x,
    "hidden units moved": lambda name, x: x.roll(1, HIDDEN[end]) if (end := name[-10:].strip(".")) in HIDDEN else x,
    "a new head": None,
    "noise and a new head": noisy,
}  # fmt: skip


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    """Checkpoints, honest and not, evaluated on 1,000 pictures."""
    top = tmp_path_factory.mktemp("capstone")
    book, _ = vl.load_pretrained("drawn10-token-s1")
    torch.manual_seed(0)
    weak = vl.VisionTransformer(vl.ViTConfig(embed_dim=48, depth=1, num_heads=3))
    forged = {
        "name": "mine",
        "final": {"test_accuracy": 0.999},
        "classes": list(vl.DRAWN10_CLASSES),
    }

    def save(name: str, net, **more):
        vl.save_pretrained(net, forged | more, top / name)
        return top / name

    save("honest", trained(0))
    save("twin", second := trained(1))
    save("twin's twin", changed(second, SAME["hidden units moved"]))
    for name, change in SAME.items():
        net = changed(book, change) if change else book
        save(name, refitted(net) if "a new head" in name else net)
    save("forged accuracy", weak)
    turned = changed(book, lambda name, x: x.roll(1, 0) if "head" in name else x)
    save(
        "wrong order",
        turned,
        classes=[*vl.DRAWN10_CLASSES[-1:], *vl.DRAWN10_CLASSES[:-1]],
    )
    parts = ("norm", "attn", "mlp")
    save(
        "infinite",
        changed(
            book, lambda name, x: 6e4 * x**0 if any(p in name for p in parts) else x
        ),
    )
    save("too large", vl.VisionTransformer(vl.ViTConfig(depth=1)))
    save(
        "too slow",
        vl.VisionTransformer(
            vl.ViTConfig(patch_size=1, embed_dim=32, depth=2, num_heads=2)
        ),
    )
    save("diverged", weak)
    shutil.copy(top / "honest/mine.safetensors", save("other weights", weak))
    (save("pickled", weak) / "mine.safetensors").write_bytes(
        pickle.dumps(weak.state_dict())
    )
    noise = bytearray((top / "diverged/mine.safetensors").read_bytes())
    noise[-4:] = b"\x00\x7e\x00\x7c"  # nan, inf
    (top / "diverged/mine.safetensors").write_bytes(noise)
    monster = save("a card like a monster", weak) / "mine.json"
    whole = json.loads(monster.read_text())
    monster.write_text(
        json.dumps(
            whole | {"config": whole["config"] | {"depth": 10**9, "img_size": 10**6}}
        )
    )
    (top / "link").mkdir()
    for end in ("safetensors", "json"):
        (top / "link" / f"mine.{end}").symlink_to(top / "honest" / f"mine.{end}")
    (top / "model.zip").write_bytes(b"")
    with zipfile.ZipFile(top / "zipped.zip", "w") as archive:
        for path in (top / "twin").iterdir():
            archive.write(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capstone, "NONE", 0.2), patch.setattr(capstone, "ALL", 0.9)
        pictures = vl.load_drawn10("test", 1000, seed=99)
        found = capstone._graded(find(handed_in(top), {}), *pictures)
    return {row.key: row for row in found}


def accuracy(row) -> float:
    return float(row.results["capstone"].says.split()[1].rstrip("%,")) / 100


REFUSED = {
    "too large": "out of the budget", "too slow": "out of the budget",
    "diverged": "damaged", "pickled": "task-… is damaged", "other weights": "sha256",
    "a card like a monster": "1024", "link": "got a link", "model.zip": "expected one .safetensors",

}  # fmt: skip


def test_an_honest_checkpoint_gets_what_it_is_worth(entries):
    entry = entries["honest"]
    assert entry.problem == "" and 0.3 < accuracy(entry) < 0.8
    assert abs(entry.points - 10 * (accuracy(entry) - 0.2) / 0.7) < 0.051
    names = ("honest", "twin", "twin's twin")
    assert len({entries[name].results["capstone"].digest for name in names} - {""}) == 3


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_books_model_waits_whatever_its_weights(entries, name):
    entry = entries[name]
    assert entry.points is None and accuracy(entry) > 0.84
    assert "that of the book's drawn10-token-s1 (" in entry.problem
    assert "drawn10-token-s2" not in entry.problem


def test_those_that_are_alike_all_wait(entries):
    """A copy of other weights, and the same files in a zip."""
    names = ("twin", "twin's twin", "zipped.zip")
    for one, other in itertools.permutations(names, 2):
        entry = entries[one]
        assert entry.points is None and accuracy(entry) > 0.25
        assert f"the entry {other} (1.00)" in entry.problem
        points = f"{10 * (accuracy(entry) - 0.2) / 0.7:.1f}".removesuffix(".0")
        assert (
            f" {points} points by that; {entry.problem}"
            in entry.results["capstone"].says
        )


@pytest.mark.parametrize(
    "name",
    ["forged accuracy", "wrong order", "infinite"],
)
def test_what_a_card_says_is_worth_nothing(entries, name):
    assert entries[name].problem == "" and accuracy(entries[name]) < 0.3
    assert entries[name].points == 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_entry_waits_and_why_is_said(entries, name):
    assert entries[name].points is None
    assert REFUSED[name] in entries[name].problem, entries[name]
