"""Studies: claims are judged by their rules, what is committed follows from its runs, and every variant can be run."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest
import torch

from vitlib.data.dataset import load_dataset
from vitlib.evidence import RESULTS, load_results
from vitlib.files import read_json
from vitworkshop.studies import clinic, norm_order, residuals, transfer
from vitworkshop.studies import study as studies
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import judged, report
from vitworkshop.studies.rows import read_study
from vitworkshop.studies.study import Job, draw_images

TRAINED = [name for name, study in STUDIES.items() if study.base]
COMMITTED = [name for name in STUDIES if (RESULTS / f"{name}.json").exists()]


@pytest.mark.parametrize("name", COMMITTED)
def test_each_side_of_a_claim_was_run(name):
    found = judged(name)
    assert all("interval" in one and one["margin"] > 0 for one in found.values())
    for claim in STUDIES[name].claims:
        sides = (found[claim.says]["first"], found[claim.says]["second"])
        assert claim.kind in ("ahead", "equal") and sides[0] != sides[1]
    assert len(found) == len(STUDIES[name].claims)


HEADER = (
    "name",
    "command",
    "vitlib_version",
    "torch_version",
    "dataset",
    "hardware",
    "precision",
)
# which holds others' numbers
OWN = [path for path in sorted(RESULTS.glob("*.json")) if path.stem != "paper"]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_every_result_has_the_one_header(path):
    result = read_json(path, "")  # which compares the checksum
    assert '"checksum"' in path.read_text(encoding="utf-8"), (
        "no number is typed by hand: write_json writes it"
    )
    wrong = [
        key for key in HEADER if not (isinstance(result.get(key), str) and result[key])
    ]
    assert not wrong and result["name"] == path.stem


@pytest.mark.parametrize("name", COMMITTED)
def test_what_a_committed_study_says_follows_from_its_runs(name):
    study, result = STUDIES[name], load_results(name)
    assert (result["question"], result["metric"]) == (study.question, study.metric)
    assert read_study(name) == result  # every row is of this study
    scores: dict[str, dict[int, float]] = {}
    for run in result["runs"]:
        assert run["seed"] not in scores.setdefault(run["variant"], {}), (
            "a run stands there twice"
        )
        scores[run["variant"]][run["seed"]] = run["final"][study.metric]
        assert {claim.metric for claim in study.claims} <= run["final"].keys()
        assert isinstance(run.get("epochs"), list) == (run["variant"] in study.curves)
    for of in scores.values():  # the seeds that chose a rate do not judge it
        of.pop(study.choosing, None)
    scores = {variant: of for variant, of in scores.items() if of}
    assert result["summary"].keys() == scores.keys()
    for variant, summary in result["summary"].items():
        values = torch.tensor([*scores[variant].values()], dtype=torch.float64)
        assert summary["n"] == len(values) and summary["mean"] == pytest.approx(
            values.mean().item(), abs=6e-5
        )
        if len(values) > 1:
            assert summary["sd"] == pytest.approx(values.std().item(), abs=6e-5)
    assert report(name).count("\n| ") == len(result["summary"]) + 1


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_says_what_it_asks_and_what_it_cost(name):
    said = " ".join(
        importlib.import_module(
            f"vitworkshop.studies.{name.replace('-', '_')}"
        ).__doc__.split()
    )
    assert STUDIES[name].question in said
    if name in COMMITTED:
        result = load_results(name)
        assert (
            f" {len(result['runs'])} runs took {result['seconds'] / 60:.0f} minutes"
            in said
        )


class Asked(Exception):
    """Instead of a training."""


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", TRAINED)
def test_every_variant_asks_for_a_model_of_its_own(data, name, monkeypatch, tmp_path):
    """As the study's own code asks for it, up to its first training, in a folder of its own."""
    study, asked, folders = STUDIES[name], [], set()

    def train(recipe, data, val, *, out, start, **_):
        pictures = data.label, str(data.images[0, 0, :2]), str(data.labels[:40])
        asked.append(str((replace(recipe, name=""), pictures)))
        folders.add(str(out.relative_to(tmp_path)).lower())
        raise Asked

    monkeypatch.setattr(studies, "train_model", train)
    few = lambda data, n, seed: replace(data, label=str(n))
    monkeypatch.setattr(studies, "draw_images", few)
    monkeypatch.setattr(transfer, "PICTURES", 9)
    monkeypatch.setattr(transfer, "probe", lambda *_: [])
    job = Job(study.base, data, data, tmp_path)
    trained = [one for one in study.variants if not one.startswith("pixels")]
    for variant in trained:
        with pytest.raises(Asked):
            study.run(study, variant, 0, job)
    assert len(trained) == len(asked) == len(set(asked)) == len(folders) > 1
    assert not any("/" in folder for folder in folders)


@pytest.mark.parametrize("n", [1, 7, 39, 40])
def test_fewer_images_are_drawn_by_the_seed_and_repeated(data, n):
    some = replace(data, images=data.images[:40], labels=torch.arange(40), classes=())
    drawn = draw_images(some, n, seed=3)
    assert len(drawn) == 40 and torch.equal(drawn.images, some.images[drawn.labels])
    counts = torch.bincount(drawn.labels, minlength=40)
    assert (counts > 0).sum() == n and counts.max() - counts[counts > 0].min() <= 1
    more, other = (
        draw_images(some, min(n + 5, 40), seed=3),
        draw_images(some, n, seed=4),
    )
    assert set(drawn.labels.tolist()) <= set(more.labels.tolist())
    assert not torch.equal(drawn.labels, other.labels)
    assert draw_images(some, None, seed=3) is some


def test_blocks_without_residuals_run_and_replace_the_stream(run, monkeypatch):
    shape = replace(norm_order.SHAPE, depth=1, embed_dim=16)
    monkeypatch.setattr(norm_order, "SHAPE", shape)
    monkeypatch.setattr(residuals, "LENGTHS", (20, 21, 22))
    study = replace(residuals.STUDY, claims=(), metric="train_loss_22")
    monkeypatch.setitem(STUDIES, "residuals", study)
    rows = run("residuals")["runs"]
    assert [row["variant"] for row in rows] == list(study.variants)
    assert rows[0]["final"] != rows[1]["final"]  # with, without
    block = residuals.NoResidualBlock(16, 2, 32)
    torch.nn.init.zeros_(block.mlp.fc2.weight)
    torch.nn.init.zeros_(block.mlp.fc2.bias)
    assert not block(torch.randn(1, 5, 16)).any()


def test_each_bug_of_the_clinic_replaces_one_part_and_its_run_is_read_on_the_last_quarter(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(clinic, "STEPS", 2)
    healthy = vars(clinic.HEALTHY)
    for case in clinic.BUGS.values():
        # and the name
        assert sum(value != healthy[part] for part, value in vars(case).items()) == 2
    job = Job(None, load_dataset("drawn10", n=200), None, tmp_path)
    images, labels = clinic.of_four_kinds(job.data.images, job.data.labels)
    assert len(labels) == 80 and labels.max() == 3 and labels.min() == 0
    for case in (clinic.HEALTHY, *clinic.BUGS.values()):
        (row,) = clinic.STUDY.run(clinic.STUDY, case.name, 0, job)
        seen = []
        watch = lambda step, model, seen=seen: seen.append(step)
        model, losses = case.train(images[:60], labels[:60], 2, watch=watch)
        right = case.answers(model, images[60:]) == labels[60:]
        assert row["final"] == {"val_accuracy": round(right.double().mean().item(), 4)}
        assert seen == [0, 1] and len(losses) == 2
