"""The records of a recipe with what people decided: labels, texts, and what follows from both.

Labels: what was settled holds. A positive that people rejected becomes a 0 and stands in
rejected.jsonl; a positive that was missed is added, and so is a pair of which they said that it is
not relevant. Texts: as they were written anew. A query without any relevant document left is taken
out, and so are the training rows that speak of a changed pair or text, and the family's own tables,
which show the labels as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from retgen.agents.report import Rejection
from retgen.generators.records import Records, Rows
from retgen.reviewed.decisions import FIELDS, Decisions, PairDecision
from retgen.reviewed.tables import (
    EditedRows,
    Pair,
    SplitLabels,
    TableLines,
    check_label,
    lines_of,
    qrel_lines,
    queries_with_positives,
    strings,
    without,
)
from retgen.write import json_line

RULE = "review"
HUMAN = "human"  # tables/human.jsonl: every label that is people's
_WHAT_CHANGES = (
    "confirmed",
    "rejected",
    "missed",
    "regraded",
    "not relevant",
    "outside",
    "texts",
    "disputed",
    "queries",
    "training rows",
)


@dataclass
class ReviewedRecords:
    """Records after one review or several, and whose the labels are.

    `human`: by split and pair the row of tables/human.jsonl. `edited`: ids of queries, and of
    documents, whose text was changed. `against`: pairs whose label people turned round.
    `lineage`: what the manifest says, a review each.
    """

    records: Records
    human: dict[str, dict[Pair, dict[str, Any]]] = field(default_factory=dict)
    edited: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    against: list[Pair] = field(default_factory=list)
    lineage: list[dict[str, Any]] = field(default_factory=list)

    def evidence(self, split: str) -> tuple[int, int]:
        """(labels of a split that are people's, other labels of texts that people changed)."""
        human = self.human.get(split, {})
        queries, documents = self.edited
        if not queries and not documents:
            return len(human), 0
        edited = 0
        for row, _ in lines_of(self.records.qrels[split]):
            pair = row["query-id"], row["corpus-id"]
            touched = pair[0] in queries or pair[1] in documents
            edited += touched and pair not in human
        return len(human), edited


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
    rows = [json_line(row) for pairs in result.human.values() for row in pairs.values()]
    result.records = replace(
        result.records,
        tables={HUMAN: TableLines(rows)} if rows else {},
        card=[*result.records.card, *map(_paragraph, result.lineage)],
        notes={**result.records.notes, "review": _note(result.lineage[-1])},
    )
    return result


def _apply(result: ReviewedRecords, name: str, decisions: Decisions, candidate_sets: bool) -> None:
    records = result.records
    counts = dict.fromkeys(_WHAT_CHANGES, 0)
    labels = {split: _labels(records, split) for split in records.qrels}
    had = queries_with_positives([*labels.values()])
    rejected: list[Rejection] = []
    changed: dict[Pair, PairDecision] = {}
    settled: list[PairDecision] = []
    for one in decisions.rows:
        check_label(one, labels, name)
        if one.relevance is None:
            continue
        if one.label is None and candidate_sets:
            counts["outside"] += 1
            continue
        kind = _kind(one, labels[one.split].score(one, decisions.graded))
        counts[kind] += 1
        if kind in ("rejected", "missed"):
            changed[one.pair] = one
        if kind == "rejected":
            rejected.append(_rejection(one))
        for split, table in labels.items():
            if split == one.split or table.judges(one.pair):
                table.decide(one, decisions.graded)
        settled.append(one)
    edits, disputed = _edits(decisions.rows)
    counts["texts"], counts["disputed"] = sum(map(len, edits.values())), disputed
    result.against = list(dict.fromkeys([*result.against, *changed]))
    # the queries of a ladder belong together; one that lost its positive stays, and is warned of
    empty = set() if candidate_sets else had - queries_with_positives([*labels.values()])
    counts["queries"] = len(empty)
    rejected += _without_positives(records, empty, changed)
    for table in labels.values():
        table.remove(empty)
    _whose(result, settled, labels, edits, empty, decisions)
    training, counts["training rows"] = _training(records, changed, edits, empty, decisions.rows)
    result.records = replace(
        records,
        queries=_queries(records, edits, empty),
        corpus=_corpus(records, edits),
        qrels={split: qrel_lines(table.rows()) for split, table in labels.items()},
        graded={split: qrel_lines(labels[split].grade_rows()) for split in records.graded},
        training=training,
        rejected=[*records.rejected, *rejected],
    )
    result.lineage.append(
        {
            **decisions.head["parent"],
            "review": {
                "sha256": decisions.sha256,
                "decisions": len(decisions.rows),
                "annotators": list(decisions.annotators),
                "left": dict(decisions.head.get("left", {})),
            },
            "changes": counts,
        }
    )


# --- labels -------------------------------------------------------------------------------------


def _labels(records: Records, split: str) -> SplitLabels:
    def table(rows: Rows) -> dict[Pair, int]:
        return {(row["query-id"], row["corpus-id"]): row["score"] for row, _ in lines_of(rows)}

    grades = records.graded.get(split)
    return SplitLabels(split, table(records.qrels[split]), table(grades) if grades else None)


def _kind(one: PairDecision, after: int) -> str:
    before = one.label
    if before is None:
        return "missed" if after else "not relevant"
    if (before > 0) != (after > 0):
        return "missed" if after else "rejected"
    return "confirmed" if before == after else "regraded"


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
    records: Records, empty: set[str], changed: Mapping[Pair, PairDecision]
) -> list[Rejection]:
    if not empty:
        return []
    reason = "no relevant document is left: people rejected what it had"
    result = []
    for row, _ in lines_of(records.queries):
        if row["_id"] in empty:
            by = {name for pair, one in changed.items() if pair[0] == row["_id"] for name in one.by}
            result.append(
                Rejection(RULE, reason, {"_id": row["_id"], "text": row["text"], "by": sorted(by)})
            )
    return result


def _whose(
    result: ReviewedRecords,
    settled: Sequence[PairDecision],
    labels: Mapping[str, SplitLabels],
    edits: Mapping[tuple[str, str], Mapping[str, str]],
    empty: set[str],
    decisions: Decisions,
) -> None:
    """Note whose the labels are now. Of a text that changed since they looked, it is nobody's."""
    queries = {name for table, name in edits if table == "queries"}
    documents = {name for table, name in edits if table == "corpus"}
    for pairs in result.human.values():
        for pair in [p for p in pairs if p[0] in queries | empty or p[1] in documents]:
            del pairs[pair]
    result.edited[0].update(queries)
    result.edited[1].update(documents)
    for one in settled:
        now = _of_pair(edits, one.pair)
        if one.query_id in empty or now != dict(one.edits):
            continue
        for split, table in labels.items():
            if one.pair in table.scores and (split == one.split or table.judges(one.pair)):
                result.human.setdefault(split, {})[one.pair] = {
                    "query-id": one.query_id,
                    "corpus-id": one.doc_id,
                    "split": split,
                    "score": table.scores[one.pair],
                    "before": None if one.label is None else int(one.label),
                    "by": one.by,
                    "adjudicated": any(v.get("part") == "adjudication" for v in one.verdicts),
                    "review": decisions.sha256,
                }


# --- texts --------------------------------------------------------------------------------------


def _edits(
    rows: Sequence[PairDecision],
) -> tuple[dict[tuple[str, str], dict[str, str]], int]:
    """(by table and id the new texts by column, how many texts people wrote in different ways)."""
    given: dict[tuple[str, str, str], set[str]] = {}
    torn = set()
    for one in rows:
        for name in FIELDS:
            key = _place(name, one)
            if name in one.edits:
                given.setdefault(key, set()).add(one.edits[name])
            if name in one.disputed:
                torn.add(key)
    torn |= {key for key, texts in given.items() if len(texts) > 1}
    result: dict[tuple[str, str], dict[str, str]] = {}
    for (table, name, column), texts in given.items():
        if (table, name, column) not in torn:
            result.setdefault((table, name), {})[column] = next(iter(texts))
    return result, len(torn)


def _place(name: str, one: PairDecision) -> tuple[str, str, str]:
    if name == "query":
        return "queries", one.query_id, "text"
    return "corpus", one.doc_id, name


def _of_pair(edits: Mapping[tuple[str, str], Mapping[str, str]], pair: Pair) -> dict[str, str]:
    """The new texts of a pair, by field."""
    result = dict(edits.get(("corpus", pair[1]), {}))
    if query := edits.get(("queries", pair[0])):
        result["query"] = query["text"]
    return result


def _corpus(records: Records, edits: Mapping[tuple[str, str], Mapping[str, str]]) -> Rows:
    some = {name: change for (table, name), change in edits.items() if table == "corpus"}
    return EditedRows(records.corpus, some) if some else records.corpus


def _queries(
    records: Records, edits: Mapping[tuple[str, str], Mapping[str, str]], empty: set[str]
) -> Rows:
    some = {name: change for (table, name), change in edits.items() if table == "queries"}
    rows: Rows = EditedRows(records.queries, some) if some else records.queries
    return without(rows, empty) if empty else rows


def _training(
    records: Records,
    changed: Mapping[Pair, PairDecision],
    edits: Mapping[tuple[str, str], Mapping[str, str]],
    empty: set[str],
    rows: Sequence[PairDecision],
) -> tuple[dict[str, Rows], int]:
    """(the training tables without what no longer holds, how many of their rows that was).

    A table without any row left is none.
    """
    if not (changed or edits or empty):
        return dict(records.training), 0
    queries = {name for table, name in edits if table == "queries"} | empty
    old = {one.texts["text"] for one in rows if one.texts and ("corpus", one.doc_id) in edits}
    of_query: dict[str, set[str]] = {}
    for (query_id, _), one in changed.items():
        if one.texts:
            of_query.setdefault(query_id, set()).add(one.texts["text"])
    result: dict[str, Rows] = {}
    dropped = 0
    for name, table in records.training.items():
        kept = []
        for row, line in lines_of(table):
            query_id = row.get("query-id", "")
            no_longer = old | of_query.get(query_id, set())
            if query_id in queries or (no_longer and _speaks_of(row, no_longer)):
                dropped += 1
            else:
                kept.append(line)
        if kept:
            result[name] = TableLines(kept)
    return result, dropped


def _speaks_of(row: Mapping[str, Any], texts: set[str]) -> bool:
    """Whether a row holds one of the texts, by itself or behind its title."""
    return any(
        value in texts or any(value.endswith(text) for text in texts)
        for value in strings(list(row.values()))
    )


# --- in words -----------------------------------------------------------------------------------


def _note(one: Mapping[str, Any]) -> str:
    """What a review changed, for the terminal."""
    counts, review = one["changes"], one["review"]
    said = [
        (counts["confirmed"], "labels confirmed"),
        (counts["rejected"], "positives rejected"),
        (counts["missed"], "missed positives added"),
        (counts["regraded"], "grades changed"),
        (counts["not relevant"], "pairs added as not relevant"),
        (counts["texts"], "texts changed"),
        (counts["queries"], "queries left out, which have no relevant document now"),
        (counts["training rows"], "training rows of changed labels or texts left out"),
        (counts["outside"], "decisions on pairs outside the candidate sets not used"),
        (counts["disputed"], "texts not changed, which people wrote in different ways"),
    ]
    listed = [f"{number:,} {what}" for number, what in said if number]
    people = len(review["annotators"])
    return f"{people} {'person' if people == 1 else 'people'}: {', '.join(listed) or 'no change'}"


def _paragraph(one: Mapping[str, Any]) -> str:
    text = _note(one)
    return (
        f"This version follows a review of {one['name']} by {text}. Figures and example that the "
        "family states are of the data before it, and training rows for what was added are not "
        "made."
    )
