"""task.py, a module that MTEB runs as it stands, and eval.yaml, which leaderboards read."""

from __future__ import annotations

import json
from typing import Any

from retgen.export.mteb.metadata import Task
from retgen.yaml_text import to_yaml


def module(task: Task, up: int) -> str:
    """The source of task.py. `up`: how many folders below the tables it stands."""
    score = str(task.fields["main_score"])
    return _MODULE.format(
        name=task.name,
        dataset=_dataset(task, up),
        fields="".join(_field(task, key) for key in task.fields),
        depth=score.rpartition("_at_")[2],
        measure=score.replace("_at_", "@").replace("ndcg", "nDCG"),
    )


def _dataset(task: Task, up: int) -> str:
    here = (
        "Path(__file__).resolve().parent" if not up else f"Path(__file__).resolve().parents[{up}]"
    )
    lines = [f"HERE = {here}", 'DATASET = {"path": str(HERE), "revision": "local"}']
    if task.repository:
        lines += [
            'if not (HERE / "qrels").is_dir():  # this file without its tables: the Hub has them',
            f'    DATASET = {{"path": {_literal(task.repository)}, "revision": "main"}}'
            "  # MTEB itself wants a commit",
        ]
    return "\n".join(lines)


def _field(task: Task, key: str) -> str:
    value = task.fields[key]
    yours = f"  # for you to state: {task.yours[key]}" if key in task.yours else ""
    return f"        {key}={_literal(value)},{yours}\n"


def _literal(value: Any) -> str:
    """A value in Python's words; texts in double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    return repr(value)


def eval_yaml(task: Task) -> str:
    """eval.yaml of a benchmark on the Hub, with the ids under which MTEB reports its scores.

    The keys are those of the Hub (docs/hub/eval-results) and of MTEB's `HFEvalMeta`.
    """
    name = task.name
    tasks: list[dict[str, str]] = [{"id": name}]  # over all splits
    tasks += [{"id": f"{name}_default_{s}", "config": "default", "split": s} for s in task.splits]
    tree = {
        "name": name, "description": task.fields["description"],
        "evaluation_framework": "mteb", "tasks": tasks,
    }  # fmt: skip
    return to_yaml(tree, width=None)


_MODULE = '''"""The MTEB task of this data set: python task.py MODEL"""

import sys
from pathlib import Path

import mteb
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer

{dataset}


class {name}(AbsTaskRetrieval):
    metadata = TaskMetadata(
        dataset=DATASET,
{fields}    )
    k_values = tuple(sorted({{*AbsTaskRetrieval.k_values, {depth}}}))

    def load_data(self, *args, **kwargs):
        super().load_data(*args, **kwargs)
        for splits in self.dataset.values():
            for split in splits.values():
                for table in ("corpus", "queries"):
                    # a batch of lists of several lengths cannot be stacked, and no model reads them
                    if "metadata" in split[table].column_names:
                        split[table] = split[table].remove_columns("metadata")


if __name__ == "__main__":
    name = sys.argv[1]  # of MTEB's models, or a folder that sentence-transformers loads
    model = SentenceTransformer(name) if Path(name).is_dir() else mteb.get_model(name)
    for result in mteb.evaluate(model, {name}(), cache=None).task_results:
        print(f"{{result.task_name}} {measure}: {{result.get_score():.4f}}")
'''
