"""A data set in MTEB's form: its task, its statistics, its gates.

| module | idea |
|---|---|
| `survey` | a data set read once: MTEB's descriptive statistics, and the records at fault |
| `task` | `TaskMetadata`, with what only the user knows; task.py and eval.yaml |
| `gates` | what MTEB asks of a data set, a verdict each |
"""

from __future__ import annotations

import json
from pathlib import Path

from retgen.data import open_dataset
from retgen.export.facts import DatasetFacts, evaluation_of
from retgen.export.mteb.gates import MtebGate, mteb_gates
from retgen.export.mteb.survey import survey
from retgen.export.mteb.task import eval_yaml, module, task_of
from retgen.write import dump_json, make_folder, write_file


def write_mteb(
    root: Path, below: str, facts: DatasetFacts, run: Path | None, *, loaded_as: str = ""
) -> list[MtebGate]:
    """Write task.py, statistics and gates.json `below` the tables at `root`, and eval.yaml there.

    Raises `DatasetError` for invalid rows.
    """
    found = survey(open_dataset(root, checked=False), root)
    task = task_of(found, facts, run, loaded_as)
    folder = root / below if below else root
    # where MTEB's package has them
    statistics = folder / "descriptive_stats" / "Retrieval" / f"{task.name}.json"
    make_folder(statistics.parent)
    write_file(folder / "task.py", module(task, 1 if below else 0))
    write_file(statistics, json.dumps(found.statistics(task.splits), indent=4))
    write_file(root / "eval.yaml", eval_yaml(task))
    result = mteb_gates(task, found, evaluation_of(run) if run is not None else None)
    gates = {"task": task.name, "gates": [one.to_json() for one in result]}
    write_file(folder / "gates.json", dump_json(gates))
    return result
