"""A finished run has no findings; what keeps a folder from being one is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from retgen import validate
from retgen.progress import no_progress
from retgen.recipe import load_recipe
from retgen.validation.validate import prove
from retgen.work import Local
from tests.validation.changes import QUERIES, findings, forged


@pytest.mark.slow
@pytest.mark.parametrize("name", ["test", "train", "ladders"])
def test_a_finished_run_is_silent(finished: dict[str, Path], name: str, tmp_path: Path) -> None:
    assert findings(validate(finished[name])) == []
    untouched = forged(finished[name], tmp_path, lambda folder: None)
    assert findings(validate(untouched)) == []
    files = json.loads((untouched / "manifest.json").read_text())["files"]
    assert "recipe.yaml" in files


def test_a_link_out_of_the_run_is_named(finished: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(finished["test"], tmp_path / "run")
    elsewhere = tmp_path / "elsewhere.jsonl"
    (tmp_path / "run" / QUERIES).rename(elsewhere)
    (tmp_path / "run" / QUERIES).symlink_to(elsewhere)
    (tmp_path / "run" / "report.html").rename(tmp_path / "run" / "page.html")
    (tmp_path / "run" / "report.html").symlink_to("page.html")  # stays inside
    (tmp_path / "link").symlink_to(tmp_path / "run")
    for path in (tmp_path / "run", tmp_path / "link"):
        assert [(one.severity, one.ids, one.message) for one in validate(path).findings] == [
            (
                "warning",
                [QUERIES],
                f"{QUERIES} is a link out of the run directory, to {elsewhere}: put the file itself "
                "here",
            )
        ]


def test_without_a_manifest_a_run_is_not_finished(
    finished: dict[str, Path], tmp_path: Path
) -> None:
    copy = forged(finished["test"], tmp_path, lambda folder: None)
    (copy / "manifest.json").unlink()
    message = (
        f"{copy} is unfinished: it has no manifest.json, which is written last. The run was stopped, "
        f"or did not pass its checks; `gen run {copy}/recipe.yaml --out {copy}` ends it"
    )
    validation = validate(copy)
    assert (validation.ok, validation.proven) == (False, 0)
    assert [(one.rule, one.severity, one.message) for one in validation.findings] == [
        ("manifest", "error", message)
    ]
    assert prove(copy, load_recipe(copy).at(copy), Local(1), no_progress).findings == []


@pytest.mark.parametrize("content", ["{}", "[]", '{"files": {"x": 1}}', '{"files": []}', "no"])
def test_what_is_no_manifest(finished: dict[str, Path], tmp_path: Path, content: str) -> None:
    shutil.copytree(finished["test"], tmp_path / "run")
    (tmp_path / "run" / "manifest.json").write_text(content)
    message = f"{tmp_path / 'run' / 'manifest.json'} is damaged; make the run again with --fresh"
    assert findings(validate(tmp_path / "run")) == [("manifest", message)]
