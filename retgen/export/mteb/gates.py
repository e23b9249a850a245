"""What MTEB asks of a data set before it takes it, one verdict each.

The limits on texts, duplicates and positives are those of MTEB's own test of tasks
(tests/test_tasks/test_task_quality.py); metadata are complete where `TaskMetadata.is_filled()`
says so; scores that are neither trivial nor random are of its list for contributors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from retgen.export.mteb.metadata import Task
from retgen.export.mteb.score import MINILM, RANDOM
from retgen.export.mteb.scores import Scores
from retgen.export.mteb.survey import SHORT, Split, Survey

REPEATED = 0.01  # the share of texts that may stand twice
TRIVIAL = 0.95  # minilm: near perfect
_SHOWN = 5  # ids in a message
_LISTED = 100  # ids in gates.json

Status = Literal["passed", "failed", "not run"]


@dataclass(frozen=True)
class Gate:
    """A verdict. `ids`: of records at fault, the first hundred."""

    name: str
    status: Status
    message: str
    ids: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As gates.json has it."""
        return {
            "gate": self.name, "status": self.status, "message": self.message,
            "ids": list(self.ids),
        }  # fmt: skip

    @property
    def line(self) -> str:
        """In one line."""
        return f"{self.name}: {self.status}: {self.message}"


def gates(task: Task, found: Survey, scored: Scores) -> list[Gate]:
    """All gates, in the order in which MTEB asks."""
    splits = [(name, found.splits[name]) for name in task.splits]
    return [
        _metadata(task), _short(found, splits), _duplicates(found, splits), _positives(splits),
        _leaks(splits), _scores(task, scored),
    ]  # fmt: skip


def _metadata(task: Task) -> Gate:
    if not task.yours:
        return Gate("metadata", "passed", "every field of TaskMetadata is filled")
    fields = ", ".join(task.yours)
    return Gate("metadata", "failed", f"nothing says {fields}; mteb.yaml in the run states it")


def _short(found: Survey, splits: Sequence[tuple[str, Split]]) -> Gate:
    faults, ids = [], []
    for what, texts in (("document", found.documents), *(("query", s.queries) for _, s in splits)):
        if texts.short:
            few = _counted(len(texts.short), what)
            faults.append(f"{few} of {SHORT} characters or fewer ({_few(texts.short)})")
            ids += texts.short
    if faults:
        return Gate("short texts", "failed", "; ".join(faults), _listed(ids))
    queries = min((one.queries.shortest for _, one in splits), default=0)
    return Gate(
        "short texts", "passed",
        f"the shortest document has {found.documents.shortest:,} characters, the shortest query "
        f"{queries:,}",
    )  # fmt: skip


def _duplicates(found: Survey, splits: Sequence[tuple[str, Split]]) -> Gate:
    said, ids, failed = [], [], False
    for what, texts in (("document", found.documents), *(("query", s.queries) for _, s in splits)):
        if texts.repeated:
            failed |= len(texts.repeated) > texts.count * REPEATED
            count = len(texts.repeated)
            said.append(
                f"{count:,} of {_counted(texts.count, what)} repeat{'s' * (count == 1)} another "
                f"({_few(texts.repeated)})"
            )
            ids += texts.repeated
    if failed:
        limit = f"MTEB lets {REPEATED:.0%} repeat"
        return Gate("duplicates", "failed", f"{'; '.join(said)}; {limit}", _listed(ids))
    if said:
        return Gate("duplicates", "passed", f"{'; '.join(said)}, within MTEB's {REPEATED:.0%}",
                    _listed(ids))  # fmt: skip
    return Gate("duplicates", "passed", "no document and no query repeats another")


def _positives(splits: Sequence[tuple[str, Split]]) -> Gate:
    faults, ids = [], []
    for name, one in splits:
        for count, what in (
            (one.without, "without a relevant document"),
            (one.missing_queries, "named by qrels and not there"),
        ):
            if count:
                of = _counted(len(count), "query")
                faults.append(f"{name}: {of} {what} ({_few(count)})")
                ids += count
        if one.missing_documents:
            of = _counted(len(one.missing_documents), "document")
            faults.append(f"{name}: {of} named by qrels and not there "
                          f"({_few(one.missing_documents)})")  # fmt: skip
            ids += one.missing_documents
    if faults:
        return Gate("positives", "failed", "; ".join(faults), _listed(ids))
    queries = sum(len(one.positives) for _, one in splits)
    each = sum(sum(one.positives.values()) for _, one in splits) / max(queries, 1)
    return Gate(
        "positives", "passed",
        f"each of {_counted(queries, 'query')} has a relevant document, {each:.4g} on average",
    )  # fmt: skip


def _leaks(splits: Sequence[tuple[str, Split]]) -> Gate:
    faults, ids = [], []
    for name, one in splits:
        for pairs, what in (
            (one.as_document, "the text of a document"), (one.in_train, "a query of train as well"),
        ):  # fmt: skip
            if pairs:
                queries = list(dict.fromkeys(pair.query_id for pair in pairs))
                few = ", ".join(f"{a} = {b}" for a, b in pairs[:_SHOWN])
                of = f"{_counted(len(queries), 'query')} {'is' if len(queries) == 1 else 'are'}"
                faults.append(f"{name}: {of} {what} ({few}{', ...' * (len(pairs) > _SHOWN)})")
                ids += [one for pair in pairs for one in pair]
    if faults:
        return Gate("leaks", "failed", "; ".join(faults), _listed(list(dict.fromkeys(ids))))
    return Gate("leaks", "passed", "no query is the text of a document or a query of train")


def _scores(task: Task, scored: Scores) -> Gate:
    """Trivial where minilm is near perfect, noise where it is within two errors of random."""
    if scored.by_model is None:
        return Gate("scores", "failed" if scored.broken else "not run", scored.why)
    measure = str(task.fields["main_score"]).replace("_at_", "@").replace("ndcg", "nDCG")
    said, failed = [], False
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
        said.append(
            f"{split}: {measure} {chance:.4f} of MTEB's random baseline, {minilm:.4f} of minilm: "
            f"{words}"
        )
    return Gate("scores", "failed" if failed else "passed", "; ".join(said))


def _counted(count: int, what: str) -> str:
    many = "queries" if what == "query" else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"


def _few(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + ", ..." * (len(ids) > _SHOWN)


def _listed(ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(ids[:_LISTED])
