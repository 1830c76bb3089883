"""The capstone: what is trained gets what it is worth; what only answers as another does gets nothing."""

import json
import pickle
import shutil

import pytest
import torch

import vitlib as vl
from classroom import capstone
from classroom.submissions import find

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


HIDDEN = {"fc1.weight": 0, "fc1.bias": 0, "fc2.weight": 1}
SAME = {  # the same function as the book's model, or nearly, by other weights
    "the book's": lambda name, x: x,
    "hidden units moved": lambda name, x: x.roll(1, HIDDEN[end]) if (end := name[-10:].strip(".")) in HIDDEN else x,
    "q and k scaled": lambda name, x: torch.cat([2 * x[:96], x[96:192] / 2, x[192:]]) if "qkv" in name else x,
    "logits scaled": lambda name, x: 3 * x if "head" in name else x,
    "logits shifted": lambda name, x: x + 5 * x[:1] if "head" in name else x,
    "a step that is none": lambda name, x: x + 0.02 * x.std() * torch.linspace(0, 999, x.numel()).cos().view(x.shape),
    "mirrored": lambda name, x: x.flip(-1) if x.ndim == 4 else x,
}  # fmt: skip


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    """Checkpoints, honest and not, evaluated on 300 pictures."""
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
        save(name, changed(book, change))
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
    (top / "nothing").mkdir()
    shutil.copy(
        top / "honest/mine.safetensors", save("two models", weak) / "other.safetensors"
    )
    (top / "model.zip").write_bytes(b"")
    found = capstone._graded(
        find(top)[0], *vl.load_drawn10("test", 300, seed=99), 0.2, 0.9
    )
    return {row.key: row for row in found}


def accuracy(row) -> float:
    return float(row.results["capstone"].says.split()[1].rstrip("%,")) / 100


REFUSED = {
    "infinite": "finite logits", "too large": "out of the budget", "too slow": "out of the budget",
    "diverged": "damaged", "pickled": "mine is damaged", "other weights": "sha256", "nothing": "expected one",
    "a card like a monster": "1024", "link": "symbolic link", "model.zip": "unpack it",
    "two models": "file, got 2",
}  # fmt: skip


def test_an_honest_checkpoint_gets_what_it_is_worth(entries):
    entry = entries["honest"]
    assert entry.problem == "" and 0.3 < accuracy(entry) < 0.8
    assert abs(entry.total - 10 * (accuracy(entry) - 0.2) / 0.7) < 0.051
    digests = {
        entries[name].results["capstone"].digest
        for name in ("honest", "twin", "twin's twin")
    }
    assert len(digests - {""}) == 3


@pytest.mark.parametrize("name", SAME)
def test_what_answers_as_the_books_model_does_gets_nothing_whatever_its_weights(
    entries, name
):
    entry = entries[name]
    assert entry.total == 0 and accuracy(entry) > 0.85
    assert entry.problem.startswith("it answers as the book's drawn10-token-s1 (")


def test_of_two_that_answer_alike_neither_gets_points(entries):
    for one, other in (("twin", "twin's twin"), ("twin's twin", "twin")):
        assert entries[one].total == 0 and accuracy(entries[one]) > 0.25
        assert entries[one].problem.startswith(
            f"it answers as the entry {other} (1.00) does"
        )


@pytest.mark.parametrize("name", ["forged accuracy", "wrong order"])
def test_what_a_card_says_is_worth_nothing(entries, name):
    assert (
        entries[name].problem == ""
        and accuracy(entries[name]) < 0.3
        and entries[name].total == 0
    )


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_entry_gets_nothing(entries, name):
    assert entries[name].total == 0 and REFUSED[name] in entries[name].problem, entries[
        name
    ]
