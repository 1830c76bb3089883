"""One study as it is to be run: which finished trials are its own, what it writes."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace

import pytest
from toys import DATA, row, toy

from vitlib.files import read_json, write_json
from vitworkshop.studies.plan import Plan, make_plans
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.study import QUICK


def make(folder, study=None, name="stems", **more) -> Plan:
    """The plan of a toy that goes by the name of a study."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STUDIES, name, study or toy())
        return make_plans({name: folder}, lambda _: DATA, **{"seeds": (0, 1), **more})[
            0
        ]


def keep(plan: Plan, *trials: tuple[str, int]) -> None:
    """Finish these trials."""
    for variant, seed in trials:
        own = {
            "changes": plan.study.variants[variant],
            "hardware": "A",
            "precision": "fp32",
        }
        about = {"about": plan.identity(variant), "rows": [row(variant, seed) | own]}
        write_json(plan.job.folder(variant, seed) / "rows.json", about)


RECIPED = toy(base=QUICK, variants={"a": {}, "b": {"flip": False, "model.act": "relu"}})


def test_what_is_finished_counts(tmp_path):
    plan = make(tmp_path, RECIPED)
    assert (
        plan.trials == [("a", 0), ("b", 0), ("a", 1), ("b", 1)] and plan.finished == 0
    )
    keep(plan, ("a", 0), ("b", 1))
    again = make(tmp_path, RECIPED)
    assert again.done.keys() == {("a", 0), ("b", 1)} and again.finished == 2


def test_a_run_from_before_a_field_existed_counts_if_the_field_has_its_default(
    tmp_path,
):
    keep(make(tmp_path, RECIPED), ("a", 0))
    path = tmp_path / "a-s0" / "rows.json"
    old = read_json(path, "")
    base = old["about"]["base"]
    del (
        old["about"]["study"],
        base["mixup"],
        base["model"]["mask_token"],
        base["model"]["act"],
    )
    base["erasing"] = 0.0  # and a field that is gone
    path.write_text(json.dumps(old))
    assert make(tmp_path, RECIPED).finished == 1
    with pytest.raises(ValueError, match=r"base.mixup was 0.0, now 0.5"):
        make(tmp_path, RECIPED, changes={"mixup": 0.5})


def test_a_variant_that_names_what_its_base_has_is_as_it_was(tmp_path):
    """A study whose variants list every field of a recipe gets a new one with each new field."""
    keep(make(tmp_path, RECIPED), ("a", 0))
    listed = replace(
        RECIPED, variants={**RECIPED.variants, "a": {"flip": True, "model.act": "gelu"}}
    )
    assert make(tmp_path, listed).finished == 1
    other = replace(RECIPED, variants={**RECIPED.variants, "a": {"flip": False}})
    with pytest.raises(ValueError, match="variant.flip was True, now False"):
        make(tmp_path, other)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"changes": {"lr": 0.5}}, r"base.lr was 0.002, now 0.5"),
        (
            {"n_val": 4, "study": replace(RECIPED, holdout=True)},
            r"data was \['toys', \d+\], now",
        ),
        (
            {"study": replace(RECIPED, variants={"a": {"lr": 1.0}})},
            "variant.lr was 0.002, now 1.0",
        ),
    ],
)
def test_kept_runs_of_another_kind_are_refused_and_stay(tmp_path, change, message):
    keep(make(tmp_path, RECIPED), ("a", 0))
    path = tmp_path / "a-s0" / "rows.json"
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=f"a-s0/rows.json is of another run .*{message}"
    ):
        make(tmp_path, **{"study": RECIPED, **change})
    assert path.read_bytes() == before and not (tmp_path / "stems.json").exists()


@pytest.mark.errors
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"about": {', "is damaged .*delete it, and the same command goes on"),
        ("[]", "not a mapping"),
        ('{"rows": []}', "no file of a finished run"),
        ('{"about": {}}', "no file of a finished run"),
        (
            '{"about": {"study": "pooling"}, "rows": []}',
            "study was 'pooling', now 'stems'",
        ),
    ],
)
def test_damaged_and_foreign_files_are_refused(tmp_path, text, message):
    path = tmp_path / "a-s0" / "rows.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        make(tmp_path)
    assert path.read_text() == text


def test_a_copy_of_a_run_beside_it_is_no_run(tmp_path):
    keep(make(tmp_path), ("a", 0))
    for name in ("a-s0-copy", "a-sold"):
        shutil.copytree(tmp_path / "a-s0", tmp_path / name)
    assert make(tmp_path).done.keys() == {("a", 0)}


@pytest.mark.errors
def test_a_file_of_results_that_is_damaged_or_was_made_otherwise_is_refused(tmp_path):
    plan = make(tmp_path, RECIPED)
    plan.write()
    with pytest.raises(
        ValueError, match=r"stems.json was made otherwise \(base.lr was 0.002, now 0.1"
    ):
        make(tmp_path, RECIPED, changes={"lr": 0.1})
    plan.path.write_text(plan.path.read_text()[:100])
    with pytest.raises(
        ValueError,
        match="stems.json is damaged .*; delete it, and the same command goes on",
    ):
        make(tmp_path, RECIPED)


def test_the_file_holds_all_runs_of_the_folder(tmp_path):
    """Also with seeds that this runner was not asked for; each in its place."""
    keep(make(tmp_path, seeds=(0,)), ("a", 0))
    plan = make(tmp_path, seeds=(2,))
    keep(plan, ("b", 2), ("a", 2))
    result = plan.write()
    assert [(run["variant"], run["seed"]) for run in result["runs"]] == [
        ("a", 2),
        ("b", 2),
        ("a", 0),
    ]
    assert result["finished"] and result["summary"]["a"]["n"] == 2
    assert read_json(plan.path, "") == result
    assert not make(tmp_path, seeds=(0, 2)).write()["finished"]


def test_what_all_runs_share_stands_in_the_header(tmp_path):
    """And rows of other names say whose they are."""
    plan = make(tmp_path)
    plan.done = {
        ("a", 0): [row("a at 24 px", 0) | {"hardware": "B; A"}, row("a at 48 px", 0)],
        ("b", 0): [row("b", 0) | {"hardware": "A; C"}],
    }
    result = plan.result()
    assert result["hardware"] == "A; B; C" and "hardware" not in result["runs"][0]
    assert (
        result["dataset"] == "toys"
        and result["data_checksum"] == plan.header["data_checksum"]
    )
    assert [run.get("run") for run in result["runs"]] == ["a", "a", None]


@pytest.mark.parametrize("name", STUDIES)
def test_every_variant_has_a_folder_of_its_own(name, tmp_path):
    job = make(tmp_path, name="stems").job
    folders = {
        str(job.folder(variant, 0).relative_to(tmp_path)).lower()
        for variant in STUDIES[name].variants
    }
    assert len(folders) == len(STUDIES[name].variants) and not any(
        "/" in folder for folder in folders
    )


@pytest.mark.errors
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": 3}, "unknown recipe field 'layers'"),
        ({"flip": False}, "study 'stems' varies flip itself"),
    ],
)
def test_what_a_caller_cannot_change_is_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        make(tmp_path, RECIPED, changes=changes)


def test_the_header_says_what_the_runs_share(tmp_path):
    header = make(tmp_path, replace(RECIPED, holdout=True, n_train=15), n_val=5).header
    assert (header["n_train"], header["n_val"]) == (10, 5)
    assert header["base"].keys() == asdict(QUICK).keys()
    assert make(tmp_path, toy(n_train=0)).header["n_train"] == 0
