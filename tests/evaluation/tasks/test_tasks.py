"""A task with a measure of its own touches no existing file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.data import open_dataset
from retgen.evaluation.tasks import task_of, tasks
from retgen.write import make_folder, write_rows
from tests.project import Project

TASK = '''
"""Choices: the share of queries whose right document scores higher than the wrong one."""

from retgen.data import query_of
from retgen.search.base import CandidateSet
from retgen.evaluation.tasks.task import Task, TaskData
from retgen.results.measurements import Measure, Measurement
from retgen.results.page import Section
from retgen.results.panel import Column, Panel


class ChoiceData(TaskData):
    notes, domains = ["two candidates a query"], ["colours"]

    def __init__(self, sets):
        self.sets, self.described = sets, f"{len(sets)} choices"

    def first(self, limit, *, paid=False):
        return ChoiceData(self.sets[:limit])

    def measure(self, scores, system):
        noise = system.scorer.noise
        won = [float(one[0] - one[1] > noise * abs(one[0])) for one in scores]
        rows = [{"query": s.query, "won": w} for s, w in zip(self.sets, won)]
        return {"colours": sum(won) / len(won)}, rows


class Choices(Task):
    name, item, models = "choices", "choice", ("bm25", "bm25-paper")

    def holds(self, dataset):
        chunk = next(iter(dataset.queries.chunks(1 << 16)))
        query = query_of(next(iter(dataset.queries.rows(chunk))))
        return "choice" in (getattr(query, "metadata", None) or {})

    def read(self, collection):
        texts = {d.doc_id: d.text for d in collection.dataset.documents()}
        return ChoiceData(
            [
                CandidateSet(q.text, tuple(texts[i] for i in q.metadata["choice"]))
                for q in collection.queries
            ]
        )

    def summary(self, result):
        return {"accuracy": sum(result.domains.values()) / len(result.domains)}

    def sections(self, results):
        rows = [
            Measurement(one.label, "accuracy", {}, self.summary(one)["accuracy"]) for one in results
        ]
        accuracy = Column("accuracy", Measure("accuracy", digits=2, chance=0.5))
        panel = Panel("Accuracy of a choice of two", rows, [accuracy], chance="chance")
        yield Section("Choices", ["Which of two?"], [panel])
'''


@pytest.mark.slow
def test_a_task_with_a_measure_and_a_page_is_one_new_folder(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "evaluation/tasks/choices/__init__.py": TASK,
        },
    )
    colours = ("red", "green", "blue", "grey", "pink", "white")
    texts = {f"d{i}": f"Ball number {i} is {colour}." for i, colour in enumerate(colours)}
    texts |= {f"e{i}": f"Ball number {i} is of any colour but it." for i in range(6)}
    make_folder(tmp_path / "balls")
    write_rows(
        tmp_path / "balls" / "corpus.jsonl", ({"_id": i, "text": t} for i, t in texts.items())
    )
    queries = (
        {"_id": f"q{i}", "text": f"Ball is {one}", "metadata": {"choice": [f"d{i}", f"e{i}"]}}
        for i, one in enumerate(colours)
    )
    write_rows(tmp_path / "balls" / "queries.jsonl", queries)
    qrels = ({"query-id": f"q{i}", "corpus-id": f"d{i}", "score": 1} for i in range(6))
    write_rows(tmp_path / "balls" / "qrels.jsonl", qrels)
    (result,) = project.gen(("eval", "balls", "--metric", "recall@1"))
    assert (result.returncode, result.stderr) == (0, "")
    assert "Accuracy of a choice of two\nsystem      accuracy\n" in result.stdout
    assert "note: two candidates a query" in result.stdout
    assert "chance          0.50" in result.stdout
    folder = tmp_path / "outputs" / "eval_balls"
    content = json.loads((folder / "eval.json").read_text())
    assert [(row["model"], sorted(row["choices"])) for row in content["results"]] == [
        ("bm25", ["accuracy"]),
        ("bm25-paper", ["accuracy"]),
    ]
    assert content["results"][0]["choices"]["accuracy"] == 1.0  # the shorter document
    assert len((folder / "per_choice" / "bm25.jsonl").read_text().splitlines()) == 6
    assert (
        "## Choices\n\nWhich of two?\n\n### Accuracy of a choice of two"
        in (folder / "eval.md").read_text()
    )
    assert "Which of two?" in (folder / "eval.html").read_text()


def test_bundled_tasks_and_who_has_one(limit_run: Path) -> None:
    bundled = ["ladders", "haystacks", "twins"]
    assert [task.name for task in tasks() if task.name in bundled] == bundled
    assert task_of(open_dataset(limit_run)) is None
