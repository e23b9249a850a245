"""The two populations: the positives of a split, and the other pairs that may be relevant."""

from __future__ import annotations

from typing import NamedTuple

from retgen.review.pool import CandidatePool, PoolRank
from retgen.review.records import Population

# of a pair that was judged, against one that nobody looked at and that ranks the same
_JUDGED = 0.25
_LEAST = 0.25  # of a positive that all retrievers rank first, against one that none finds


class Candidate(NamedTuple):
    """A pair of a population. `row`: of its query. `found`: by the retrievers, if by any.

    `grade`: beside binary labels. `proven`: its label rests on a proof. `suspicion`: how likely
    the label is wrong, in any unit.
    """

    row: int
    doc_id: str
    label: float | None
    suspicion: float
    found: PoolRank | None
    grade: int | None = None
    proven: bool = False


def candidates(pool: CandidatePool, *, proven: bool) -> dict[Population, list[Candidate]]:
    """Both populations, query by query. `proven`: the labels of the data set rest on a proof.

    Suspicious is a positive that retrievers do not find, and of the others what they rank first,
    above all where nobody judged it; and what a grade beside binary labels calls nearly relevant.
    What is proven is as suspicious as all else: no retriever sees where a proof fails. Judged
    documents that the corpus does not hold cannot be shown, and are left out.
    """
    positives: list[Candidate] = []
    others: list[Candidate] = []
    collection = pool.collection
    # of a complete set a pair without a qrel is known not to be relevant
    unjudged = 0.0 if collection.complete else None
    for row, query in enumerate(collection.queries):
        found = pool.found(row)
        grades = (collection.grades or {}).get(query.query_id, {})
        top = max(grades.values(), default=0)
        judged = collection.qrels[query.query_id]
        for doc_id, label in judged.items():
            if doc_id in collection.missing:
                continue
            at, grade = found.get(doc_id), grades.get(doc_id)
            mean = at.mean if at else 0.0
            if label > 0:
                doubt = 1.0 if proven else 1 - (1 - _LEAST) * mean
                one = Candidate(row, doc_id, float(label), doubt, at, grade, proven)
                positives.append(one)
            else:
                near = (grade or 0) / top if top > 0 else 0.0
                suspicion = 1.0 if proven else _JUDGED * max(mean, near)
                others.append(Candidate(row, doc_id, float(label), suspicion, at, grade, proven))
        for doc_id, at in found.items():
            if doc_id not in judged:
                known = proven and unjudged is not None
                suspicion = 1.0 if known else at.mean
                others.append(Candidate(row, doc_id, unjudged, suspicion, at, None, known))
    return {"positives": positives, "others": others}
