"""What MTEB and the Hub's leaderboards read, written beside the tables of a data set."""

from __future__ import annotations

import json
from pathlib import Path

from retgen.data import open_dataset
from retgen.export.facts import Facts
from retgen.export.mteb.gates import Gate, gates
from retgen.export.mteb.metadata import task_of
from retgen.export.mteb.scores import Scores, kept_scores, scores
from retgen.export.mteb.survey import survey
from retgen.export.mteb.task import eval_yaml, module
from retgen.progress import Progress, silent
from retgen.write import dump_json, make_folder, write_file

NOT_SCORED = "gen publish RUN DEST --dry-run scores it"


def write_mteb(
    root: Path,
    below: str,
    facts: Facts,
    run: Path | None,
    *,
    loaded_as: str = "",
    up_to: int | None = None,
    progress: Progress = silent,
) -> list[Gate]:
    """Write task.py, statistics and gates.json `below` the tables at `root`, and eval.yaml there.

    `up_to`: documents up to which a data set is scored, None: only what is known is told.
    Raises `DatasetError` for rows that are none.
    """
    found = survey(open_dataset(root), root)
    task = task_of(found, facts, run, loaded_as)
    folder = root / below if below else root
    # where MTEB's package has them
    statistics = folder / "descriptive_stats" / "Retrieval" / f"{task.name}.json"
    make_folder(statistics.parent)
    write_file(folder / "task.py", module(task, 1 if below else 0))
    write_file(statistics, json.dumps(found.statistics(task.splits), indent=4))
    write_file(root / "eval.yaml", eval_yaml(task))
    scored = None
    if run is not None and up_to is not None:
        scored = scores(run, task, found, folder / "task.py", up_to, progress)
    elif run is not None:
        scored = kept_scores(run, task, found)
    scored = scored or Scores(None, NOT_SCORED if run else "only a run is scored")
    result = gates(task, found, scored)
    kept = {
        "task": task.name,
        "gates": [one.to_json() for one in result],
        "scores": {"mteb": scored.mteb, "main_score": task.fields["main_score"],
                   "by_model": scored.by_model, "errors": scored.errors}
        if scored.by_model else None,
    }  # fmt: skip
    write_file(folder / "gates.json", dump_json(kept))
    return result
