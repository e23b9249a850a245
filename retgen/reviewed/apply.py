"""The records of a recipe with the labels that people settled, and what follows from these.

A positive that people rejected becomes a 0 and stands in rejected.jsonl. A missed positive is
added, and so is a pair that people called not relevant, unless the set is complete. A query
without a relevant document is taken out. Training rows about a changed pair are dropped, and the
family's own tables, which show the labels as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from retgen.agents.report import Rejection
from retgen.generators.records import Records, Row, Rows
from retgen.reviewed.decisions import Decisions, PairDecision
from retgen.reviewed.labels import (
    Pair,
    SplitLabels,
    check_label,
    labels_of,
    qrels_of,
    read_rows,
    table_of,
)

RULE = "review"
HUMAN, JUDGED = "human", "judged"  # tables/human.jsonl: every label that is people's; a model's
_CHANGES = {  # what the manifest counts, and how the terminal says it
    "confirmed": "labels confirmed",
    "rejected": "positives rejected",
    "missed": "relevant pairs added",
    "regraded": "grades changed",
    "not relevant": "pairs added as not relevant",
    "queries": "queries left out, which have no relevant document now",
    "training rows": "training rows of changed labels left out",
    "outside": "decisions on pairs outside the candidate sets not used",
}


@dataclass
class ReviewedRecords:
    """Records after one review or several, and whose the labels are.

    `human`: by split and pair the row of tables/human.jsonl; `judged`: that of tables/judged.jsonl.
    `against`: pairs whose label was turned round. `lineage`: one entry of the manifest for each
    review.
    """

    records: Records
    human: dict[str, dict[Pair, dict[str, Any]]] = field(default_factory=dict)
    judged: dict[str, dict[Pair, dict[str, Any]]] = field(default_factory=dict)
    against: list[Pair] = field(default_factory=list)
    lineage: list[dict[str, Any]] = field(default_factory=list)


def apply_decisions(
    records: Records, reviews: Sequence[tuple[str, Decisions]], candidate_sets: bool
) -> ReviewedRecords:
    """The records after all reviews, one upon the other. Each: (what errors call it, decisions).

    `candidate_sets`: the judged pairs of a query are its candidates, so none is added. Raises
    `RecipeError` for decisions on other labels than the records have.
    """
    result = ReviewedRecords(records)
    for name, decisions in reviews:
        _apply(result, name, decisions, candidate_sets)
    tables = {HUMAN: result.human, JUDGED: result.judged}
    rows = {
        name: [r for pairs in of.values() for r in pairs.values()] for name, of in tables.items()
    }
    result.records = replace(
        result.records,
        tables={name: table_of(of) for name, of in rows.items() if of},
        card=[*result.records.card, *map(_paragraph, result.lineage)],
        notes={**result.records.notes, "review": _note(result.lineage[-1])},
    )
    return result


def _apply(result: ReviewedRecords, name: str, decisions: Decisions, candidate_sets: bool) -> None:
    records = result.records
    counts = dict.fromkeys(_CHANGES, 0)
    labels = {s: labels_of(rows, records.graded.get(s)) for s, rows in records.qrels.items()}
    had = _with_positives(labels.values())
    changed: dict[Pair, PairDecision] = {}
    rejected: list[Rejection] = []
    settled: list[PairDecision] = []
    for one in decisions.rows:
        check_label(one, labels, name)
        if one.label is None and candidate_sets:
            counts["outside"] += 1
            continue
        if one.label is None and not one.relevance and records.complete:
            counts["confirmed"] += 1  # a complete set says so without a row
            continue
        kind = _kind(one.label, labels[one.split].score(one, decisions.graded))
        counts[kind] += 1
        if kind in ("rejected", "missed"):
            changed[one.pair] = one
        if kind == "rejected":
            rejected.append(_rejection(one))
        for split, table in labels.items():
            if split == one.split or table.judges(one.pair):
                table.decide(one, decisions.graded)
        settled.append(one)
    result.against = list(dict.fromkeys([*result.against, *changed]))
    # a candidate set whose query lost its positive stays, and is warned of
    empty = set() if candidate_sets else had - _with_positives(labels.values())
    counts["queries"] = len(empty)
    queries = records.queries
    if empty:
        rejected += _without_positives(queries, empty, changed)
        queries = table_of([row for row in read_rows(queries) if row["_id"] not in empty])
    for table in labels.values():
        table.remove(empty)
    _attribute(result, settled, labels, empty, decisions.sha256)
    training, counts["training rows"] = _training(records.training, changed, empty)
    result.records = replace(
        records,
        queries=queries,
        qrels={split: qrels_of(table.scores) for split, table in labels.items()},
        graded={split: qrels_of(labels[split].grades) for split in records.graded},
        training=training,
        rejected=[*records.rejected, *rejected],
    )
    result.lineage.append(
        {
            **decisions.head["parent"],
            "review": {
                "sha256": decisions.sha256,
                "decisions": len(decisions.rows),
                "annotators": sorted(
                    {n for row in decisions.rows if not row.by_model for n in row.by}
                ),
                "models": sorted({n for row in decisions.rows if row.by_model for n in row.by}),
                "left": dict(decisions.head.get("left", {})),
                **({"judges": known} if (known := decisions.head.get("judges")) else {}),
            },
            "changes": counts,
        }
    )


def _with_positives(tables: Iterable[SplitLabels]) -> set[str]:
    return {query_id for table in tables for query_id in table.with_positives()}


def _kind(before: float | None, after: int) -> str:
    if (before or 0) > 0:
        return "rejected" if not after else "confirmed" if before == after else "regraded"
    if after:
        return "missed"
    return "not relevant" if before is None else "confirmed"


def _rejection(one: PairDecision) -> Rejection:
    reasons = list(dict.fromkeys(str(v["reason"]) for v in one.verdicts if v.get("reason")))
    why = f": {'; '.join(reasons)}" if reasons else ""
    record = {
        "query-id": one.query_id,
        "corpus-id": one.doc_id,
        "split": one.split,
        "score": int(one.label or 0),
        "by": one.by,
        "comments": [str(v["comment"]) for v in one.verdicts if v.get("comment")],
    }
    return Rejection(RULE, f"people say it is not relevant{why}", record)


def _without_positives(
    queries: Rows, empty: set[str], changed: Mapping[Pair, PairDecision]
) -> Iterator[Rejection]:
    reason = "no relevant document is left: people rejected what it had"
    for row in read_rows(queries):
        if row["_id"] in empty:
            by = {name for pair, one in changed.items() if pair[0] == row["_id"] for name in one.by}
            record = {"_id": row["_id"], "text": row["text"], "by": sorted(by)}
            yield Rejection(RULE, reason, record)


def _attribute(
    result: ReviewedRecords,
    settled: Sequence[PairDecision],
    labels: Mapping[str, SplitLabels],
    empty: set[str],
    sha256: str,
) -> None:
    """Note which labels are people's now."""
    for pairs in (*result.human.values(), *result.judged.values()):
        for pair in [pair for pair in pairs if pair[0] in empty]:
            del pairs[pair]
    for one in settled:
        for split, table in labels.items():
            if one.pair in table.scores and (split == one.split or table.judges(one.pair)):
                own, other = result.human, result.judged
                if one.by_model:
                    own, other = other, own
                other.get(split, {}).pop(one.pair, None)
                own.setdefault(split, {})[one.pair] = {
                    "query-id": one.query_id,
                    "corpus-id": one.doc_id,
                    "split": split,
                    "score": table.scores[one.pair],
                    "before": None if one.label is None else int(one.label),
                    "by": one.by,
                    "adjudicated": any(v.get("settles") for v in one.verdicts),
                    "review": sha256,
                }


def _training(
    tables: Mapping[str, Rows], changed: Mapping[Pair, PairDecision], empty: set[str]
) -> tuple[dict[str, Rows], int]:
    """(the training tables without rows about changed pairs, how many rows those were).

    A table without any row left is dropped.
    """
    if not (changed or empty):
        return dict(tables), 0
    texts: dict[str, set[str]] = {}  # by query, of documents whose label was turned round
    for (query_id, _), one in changed.items():
        if one.texts:
            texts.setdefault(query_id, set()).add(one.texts["text"])
    result: dict[str, Rows] = {}
    dropped = 0
    for name, table in tables.items():
        kept: list[Row] = []
        for row in read_rows(table):
            query_id = row.get("query-id", "")
            if query_id in empty or _holds(row, texts.get(query_id, ())):
                dropped += 1
            else:
                kept.append(row)
        if kept:
            result[name] = table_of(kept)
    return result, dropped


def _holds(row: Row, texts: Iterable[str]) -> bool:
    """Whether a row holds one of the texts, by itself, behind its title, or in a list."""
    cells = [one for cell in row.values() for one in (cell if isinstance(cell, list) else [cell])]
    return any(isinstance(cell, str) and cell.endswith(text) for cell in cells for text in texts)


# --- in words -----------------------------------------------------------------------------------


def _note(one: Mapping[str, Any]) -> str:
    """The changes of a review, for the terminal."""
    listed = [f"{n:,} {_CHANGES[what]}" for what, n in one["changes"].items() if n]
    people, models = len(one["review"]["annotators"]), one["review"]["models"]
    who = [f"{people} {'person' if people == 1 else 'people'}"] if people or not models else []
    return f"{' and '.join([*who, *models])}: {', '.join(listed) or 'no change'}"


def _paragraph(one: Mapping[str, Any]) -> str:
    return (
        f"This version follows a review of {one['name']} by {_note(one)}. Figures and example that "
        "the family states are of the data before it, and training rows for added labels are not "
        "made."
    )
