"""What MTEB says of a run that is published."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path

from retgen import evaluate, publish
from retgen.data import open_dataset
from retgen.export.facts import facts_of
from retgen.export.mteb.survey import survey
from retgen.export.mteb.task import module, task_of
from tests.conftest import Gen

STATUS = ["failed", "passed", "passed", "passed", "passed", "not run"]


def test_gates_are_in_the_tree_the_card_and_the_answer_and_refuse_nothing(
    kb: Path, tmp_path: Path, gen: Gen
) -> None:
    out = tmp_path / "out"
    done = gen("publish", kb, f"file:{out}")
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (
        0,
        [
            f"published: {out}",
            "note: MTEB would ask for more, metadata: failed: unknown: reference; write them in "
            "mteb.yaml in the run",
        ],
    )
    done = gen("publish", kb, f"file:{out}")
    assert done.stdout.splitlines()[-1].endswith("holds all of it already: nothing to do")
    shown = json.loads(gen("publish", kb, f"file:{out}", "--json").stdout)["gates"]
    assert [one["status"] for one in shown] == STATUS
    assert json.loads((out / "mteb" / "gates.json").read_text()) == {
        "task": "LimitSmallRetrieval",
        "gates": shown,
    }
    assert shown[5]["message"] == (
        "minilm was not scored: `gen eval RUN --model minilm --metric recall@2` does"
    )
    card = (out / "README.md").read_text()
    assert "| metadata | failed | unknown: reference; write them in mteb.yaml in the run |" in card
    assert "minilm was not scored: &#96;gen eval RUN" in card  # escaped once
    assert "| leaks | passed | no query is the text of a document or a query of train |" in card


def test_scores_are_those_of_gen_eval(kb: Path, tmp_path: Path) -> None:
    """An evaluation of other data, or of another measure, says nothing."""
    measured = evaluate(kb, models=["bm25"], metrics=["recall@2"]).to_json()
    path = kb / "eval" / "eval.json"

    def gate() -> str:
        return publish(kb, f"file:{tmp_path / 'out'}", dry_run=True).gates[5].line

    assert gate().startswith("scores: not run: minilm was not scored")
    measured["results"][0] |= {
        "model": "minilm",
        "metrics": {"recall@2": 0.4},
        "intervals": {"recall@2": [0.3, 0.5]},
    }
    path.write_text(json.dumps(measured))
    assert gate() == (
        "scores: passed: test: recall@2 0.1333 of a random ranking, 0.4000 (0.3000 to 0.5000) of "
        "minilm: neither trivial nor noise"
    )
    (kb / "mteb.yaml").write_text("main_score: ndcg_at_7\n")
    assert gate().startswith("scores: not run: ")
    (kb / "mteb.yaml").unlink()
    os.utime(path, (0, 0))
    assert gate().startswith("scores: not run: ")


def test_the_module_of_the_hub_names_its_repository(kb: Path, tmp_path: Path) -> None:
    """A copy of the repository is read where it lies; the module alone reads the Hub."""
    dataset = open_dataset(kb)
    task = task_of(survey(dataset, kb), facts_of(dataset, "kb"), kb, "me/kb")
    assert task.fields["reference"] == "https://huggingface.co/datasets/me/kb"
    head = module(task, 1).partition("\n\n\nclass ")[0].partition("HERE")
    found = {}
    for folder in ("alone", "copy"):
        path = tmp_path / folder / "mteb" / "task.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"from pathlib import Path\n{head[1]}{head[2]}\n")
        if folder == "copy":
            (tmp_path / "copy" / "qrels").mkdir()
        found[folder] = runpy.run_path(str(path))["DATASET"]
    assert found == {
        "alone": {"path": "me/kb", "revision": "main"},
        "copy": {"path": str(tmp_path / "copy"), "revision": "local"},
    }
