"""What MTEB asks of a data set before it takes it: one verdict each.

The limits on texts, duplicates and positives are those of MTEB's own test of tasks
(tests/test_tasks/test_task_quality.py); metadata are complete where `TaskMetadata.is_filled()`
says so; scores that are neither trivial nor random are of its list for contributors: those that
`gen eval` measured of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from retgen.export.mteb.survey import SHORT, SplitSurvey, Survey, TextStatistics
from retgen.export.mteb.task import MtebTask

REPEATED = 0.01  # the share of texts that may stand twice
TRIVIAL = 0.95  # minilm: near perfect
_SHOWN = 5  # ids in a message
_LISTED = 100  # ids in gates.json
_MODEL = "minilm"

Status = Literal["passed", "failed", "not run"]
_Splits = Sequence[tuple[str, SplitSurvey]]


@dataclass(frozen=True)
class MtebGate:
    """A verdict. `ids`: of records at fault, the first hundred."""

    name: str
    status: Status
    message: str
    ids: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As gates.json has it."""
        return {
            "gate": self.name,
            "status": self.status,
            "message": self.message,
            "ids": list(self.ids),
        }

    @property
    def line(self) -> str:
        """In one line."""
        return f"{self.name}: {self.status}: {self.message}"


def mteb_gates(task: MtebTask, found: Survey, measured: Mapping[str, Any] | None) -> list[MtebGate]:
    """All gates, in the order in which MTEB asks. `measured`: eval.json of the data set."""
    splits = [(name, found.splits[name]) for name in task.splits]
    return [
        _metadata(task),
        _short(found, splits),
        _duplicates(found, splits),
        _positives(splits),
        _leaks(splits),
        _scores(task, measured),
    ]


def _metadata(task: MtebTask) -> MtebGate:
    faults = [f"unknown: {', '.join(task.yours)}; write them in mteb.yaml in the run"]
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
        "short texts",
        faults,
        ids,
        f"the shortest document has {found.documents.shortest:,} characters, the shortest query "
        f"{queries:,}",
    )


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
        "positives",
        faults,
        ids,
        f"each of {_count_text(queries, 'query')} has a relevant document, {each:.4g} on average",
    )


def _leaks(splits: _Splits) -> MtebGate:
    faults, ids = [], []
    for name, one in splits:
        for pairs, what in (
            (one.as_document, "the text of a document"),
            (one.in_train, "a query of train as well"),
        ):
            if pairs:
                count = len({pair.query_id for pair in pairs})
                few = _sample_text([f"{a} = {b}" for a, b in pairs])
                of = f"{_count_text(count, 'query')} {'is' if count == 1 else 'are'}"
                faults.append(f"{name}: {of} {what} ({few})")
                ids += [one for pair in pairs for one in pair]
    passed = "no query is the text of a document or a query of train"
    return _gate("leaks", faults, ids, passed)


def _scores(task: MtebTask, measured: Mapping[str, Any] | None) -> MtebGate:
    """Trivial where minilm is near perfect, noise where its interval reaches a random ranking."""
    measure = task.measure
    try:
        of = measured or {}
        row = next(one for one in of["results"] if one["model"] == _MODEL)
        chance, score = of["floors"]["random"][measure], row["metrics"][measure]
        low, high = row["intervals"][measure] or (score, score)
        known = task.splits == [of["split"]]
    except (LookupError, StopIteration, TypeError):
        known = False
    if not known:
        how = f"`gen eval RUN --model {_MODEL} --metric {measure}` does"
        return MtebGate("scores", "not run", f"{_MODEL} was not scored: {how}")
    if score >= TRIVIAL:
        words = "trivial: a small model is near perfect, so good ones cannot be told apart"
    elif low <= chance:
        words = "noise to a small model: it is not surely above random"
    else:
        words = "neither trivial nor noise"
    return MtebGate(
        "scores",
        "passed" if words.startswith("neither") else "failed",
        f"{task.splits[0]}: {measure} {chance:.4f} of a random ranking, {score:.4f} ({low:.4f} to "
        f"{high:.4f}) of {_MODEL}: {words}",
    )


def _count_text(count: int, what: str) -> str:
    many = "queries" if what == "query" else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"


def _sample_text(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + ", ..." * (len(ids) > _SHOWN)
