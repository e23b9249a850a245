"""Queries in words, and their qrels.

    {"_id": "q0317465", "text": "Who likes Marzipan?", "metadata": {"attributes": [1544], "row": 3}}

With operators:

    {"_id": "q0317465", "text": "Who likes Marzipan but not Sundials?",
     "metadata": {"attributes": [1544, 97], "row": 3, "operator": "and-not", "answers": 10,
                  "hard_negatives": 10}}

What a query rules out stands last among its attributes. Hard negatives are judged 0; all that is
not judged is not relevant either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retgen.generators.ids import Ids
from retgen.generators.limit.latent import Latent
from retgen.generators.limit.params import Factorial, LimitParams, Operator
from retgen.generators.records import Rows, rows_of
from retgen.streams import Stream

BREAKDOWN = ("operator", "answers")
FEATURES = {"operator": "string", "answers": "int32", "hard_negatives": "int32"}

PHRASINGS: Mapping[Operator, Sequence[str]] = {
    "and": (
        "Who likes {a} and {b}?",
        "Who likes both {a} and {b}?",
        "Which people like {a} as well as {b}?",
        "Who likes {a} and also {b}?",
        "Who likes not only {a} but also {b}?",
    ),
    "or": (
        "Who likes {a} or {b}?",
        "Who likes {a} or {b} or both?",
        "Which people like {a} or {b}?",
        "Who likes at least one of {a} and {b}?",
        "Who likes {a}, {b} or both?",
    ),
    "and-not": (
        "Who likes {a} but not {b}?",
        "Who likes {a} and does not like {b}?",
        "Which people like {a} but do not like {b}?",
        "Who likes {a} without liking {b}?",
        "Who does not like {b} but likes {a}?",
    ),
    "and-and-not": (
        "Who likes both {a} and {b} but not {c}?",
        "Who likes {a} and {b} but does not like {c}?",
        "Which people like {a} as well as {b} but do not like {c}?",
        "Who likes {a} and {b} without liking {c}?",
        "Who does not like {c} but likes both {a} and {b}?",
    ),
}


def sentences(params: LimitParams) -> Sequence[str]:
    """What queries say, with marks in place of attributes."""
    if isinstance(params, Factorial):
        return [one for operator in params.form.operators for one in PHRASINGS[operator]]
    return params.templates.query


def without_marks(template: str) -> str:
    """The words of a template."""
    return re.sub(r"\{\w+\}", " ", template)


def tables(
    templates: Sequence[str],
    seed: int,
    latent: Latent,
    doc_ids: Ids,
    texts: Sequence[str],
    numbers: Sequence[int],
) -> tuple[Rows, Rows]:
    """Queries and qrels, in one shuffled order of the matrix rows.

    `texts` and `numbers`: of the attributes that `latent.asked` names by their places.
    """
    matrix = latent.matrix
    order = Stream(seed, "limit/query order").permutation(matrix.queries)
    query_ids = Ids(seed, "limit/ids", "q", matrix.queries).texts(np.arange(matrix.queries))
    relevant = doc_ids.texts(latent.positions)
    width = latent.negatives.shape[1]
    negatives = doc_ids.texts(latent.negatives.reshape(-1)) if width else []
    dealt = Stream(seed, "limit/query templates").integers(len(templates), matrix.queries)

    def query(i: int) -> Mapping[str, Any]:
        row = int(order[i])
        asked = latent.asked[row].tolist()
        text = templates[dealt[i]].replace("{attributes}", " and ".join(texts[a] for a in asked))
        metadata: dict[str, Any] = {"attributes": [numbers[a] for a in asked], "row": row}
        if width:
            metadata["hard_negatives"] = sorted(negatives[row * width : (row + 1) * width])
        return {"_id": query_ids[i], "text": text, "metadata": metadata}

    ends = np.cumsum(matrix.row_sums[order])

    def qrel(i: int) -> Mapping[str, Any]:
        query_index = int(np.searchsorted(ends, i, side="right"))
        columns = matrix.row(int(order[query_index]))
        before = int(ends[query_index - 1]) if query_index else 0
        return {
            "query-id": query_ids[query_index],
            "corpus-id": relevant[int(columns[i - before])],
            "score": 1,
        }

    return rows_of(query, matrix.queries), rows_of(qrel, matrix.nnz)


def tables_with_operators(
    params: Factorial,
    seed: int,
    latent: Latent,
    doc_ids: Ids,
    texts: Sequence[str],
    numbers: Sequence[int],
) -> tuple[Rows, Rows]:
    """The same of a factorial. Every cell has its phrasings in turn."""
    cells, matrix = list(params.cells()), latent.matrix
    order = Stream(seed, "limit/query order").permutation(len(cells)).tolist()
    query_ids = Ids(seed, "limit/ids", "q", len(cells)).texts(np.arange(len(cells)))
    hard = [row[row >= 0] for row in latent.negatives]

    def query(i: int) -> Mapping[str, Any]:
        row = order[i]
        operator, size = cells[row]
        several = PHRASINGS[operator]
        phrasing = several[row % params.queries_per_cell % len(several)]
        mine = [a for a in latent.asked[row].tolist() if a >= 0]
        words = dict(zip("abc", (texts[a] for a in mine), strict=False))
        return {
            "_id": query_ids[i],
            "text": phrasing.format(**words),
            "metadata": {
                "attributes": [numbers[a] for a in mine],
                "row": row,
                "operator": operator,
                "answers": size,
                "hard_negatives": len(hard[row]),
            },
        }

    def judged() -> Iterator[dict[str, Any]]:
        for row, query_id in zip(order, query_ids, strict=True):
            for score, positions in ((1, latent.positions[matrix.row(row)]), (0, hard[row])):
                for doc_id in doc_ids.texts(positions):
                    yield {"query-id": query_id, "corpus-id": doc_id, "score": score}

    qrels = list(judged())
    return rows_of(query, len(cells)), rows_of(qrels.__getitem__, len(qrels))


def card(params: Factorial) -> list[str]:
    """Paragraphs of the data set card."""
    sizes = [f"{size:,}" for size in params.answer_sizes]
    named = ", ".join(sizes[:-1]) + (" or " if len(sizes) > 1 else "") + sizes[-1]
    return [
        "Every document lists what one person likes; every query joins two or three of these "
        f"things with an operator, and {named} documents answer it, exactly. The operators "
        f"({', '.join(f'`{one}`' for one in params.form.operators)}) and the numbers of answers "
        f"are crossed, with {params.queries_per_cell:,} queries of each, so that neither explains "
        "what the other does. Which documents are relevant was drawn first (after LIMIT, arXiv "
        "2508.21038), and then put into words.",
        "`or` is inclusive. Of what a query asks for, a document holds one thing, or several: each "
        "such combination that is no answer stands in as many documents as there are answers. "
        "`metadata` of a query names its `operator`, its `answers` and its `attributes`, what it "
        "rules out last. Judged 0 are hard negatives: those that miss one condition, or, after "
        "`not`, those that meet all others and hold what is ruled out. How many of these stand "
        "among the first documents says whether a retriever reads the `not`.",
        "The words of a query stand literally in its relevant documents, so that it tests what a "
        "retriever makes of an operator, and not whether it knows other words for something.",
    ]
