"""Documents, queries, qrels and training pairs of LIMIT.

    {"_id": "q0317465", "text": "Who likes Marzipan?", "metadata": {"attributes": [1544], "row": 3}}

With operators:

    {"_id": "q0317465", "text": "Who likes Marzipan but not Sundials?",
     "metadata": {"attributes": [1544, 97], "row": 3, "operator": "and-not", "answers": 10,
                  "hard_negatives": 10}}

What a query rules out stands last among its attributes. Hard negatives are judged 0; all that is
not judged is not relevant either. Training pairs are the qrels as texts:

    {"anchor": "Who likes Marzipan?", "positive": "Geneva Durben likes Quokkas, ... and Sundials.",
     "query-id": "q0317465"}

A query's hard negatives stand beside them as negative_1, negative_2, ...

Documents are made in blocks without a Python object a document. A block is a matrix of bytes: one
fixed-width field for every piece of every line, padded with NUL, which JSON never holds. Deleting
the NULs leaves the text. So a document costs a few table look-ups in NumPy, and document i depends
on nothing but i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.generators.limit.documents import Latent
from retgen.generators.limit.params import FactorialPattern, LimitParams, Operator
from retgen.generators.limit.words import PeopleNames
from retgen.generators.records import Rows, rows_of
from retgen.generators.tables import Ids
from retgen.streams import Stream

_BLOCK = 1024  # documents; small enough that a block's arrays stay in the processor's cache
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


# --- documents ------------------------------------------------------------------------------------


class DocumentTable:
    """The corpus table (see `Rows`).

    `attributes`: texts that the recipe may use, `numbers`: their ids in the whole list.
    """

    def __init__(
        self,
        params: LimitParams,
        seed: int,
        latent: Latent,
        names: PeopleNames,
        attributes: Sequence[str],
        numbers: Sequence[int],
    ) -> None:
        self.count, self.per_document = params.docs, params.attributes_per_doc
        self.seed, self.latent, self.names = seed, latent, names
        self.ids = Ids(seed, "limit/ids", "d", self.count)
        self._padded = bytearray()
        self._tables = {
            "first": _table([_json(name) + " " for name in names.first]),
            "last": _table([_json(name) + " likes " for name in names.last]),
            # an attribute is followed by a comma, by "and", or by nothing
            "listed": _table([_json(text) + ", " for text in attributes]),
            "before last": _table([_json(text) + " and " for text in attributes]),
            "plain": _table([_json(text) for text in attributes]),
            "id,": _table([f"{number}," for number in numbers]),
            "id": _table([str(number) for number in numbers]),
        }

    def jsonl(self, start: int, stop: int) -> bytes:
        """Documents start..stop-1 as JSON Lines."""
        return b"".join(
            self._block(first, min(first + _BLOCK, stop)) for first in range(start, stop, _BLOCK)
        )

    def _block(self, start: int, stop: int) -> bytearray:
        tables, n = self._tables, stop - start
        index = np.arange(start, stop)
        sets = self.attribute_sets(start, stop)
        first, last = self.names.parts(index)
        listed = [
            tables["listed"][sets[:, :-2]],
            tables["before last"][sets[:, -2:-1]],
            tables["plain"][sets[:, -1:]],
        ]
        numbers = [tables["id,"][sets[:, :-1]], tables["id"][sets[:, -1:]]]
        fields = [
            _constant('{"_id":"', n),
            self.ids.fields(index),
            _constant('","title":"","text":"', n),
            _bytes(tables["first"][first], n),
            _bytes(tables["last"][last], n),
            *(_bytes(column, n) for column in listed if column.size),
            _constant('.","metadata":{"attributes":[', n),
            *(_bytes(column, n) for column in numbers if column.size),
            _constant('],"column":', n),
            _bytes(self.matrix_columns(start, stop), n),
            _constant("}}\n", n),
        ]
        width = sum(field.shape[1] for field in fields)
        if len(self._padded) != n * width:  # the same memory again: fresh pages cost time
            self._padded = bytearray(n * width)
        out = np.frombuffer(self._padded, np.uint8).reshape(n, width)
        np.concatenate(fields, axis=1, out=out)
        return self._padded.translate(None, b"\0")

    def attribute_sets(self, start: int, stop: int) -> NDArray[np.int64]:
        """The attributes of documents start..stop-1 in their order: (n, per_document)."""
        latent, size = self.latent, self.per_document
        sets = np.empty((stop - start, size), np.int64)
        low, high = np.searchsorted(latent.special, [start, stop])
        special = latent.special[low:high] - start
        # a distractor needs `size` fillers; without distractors there may be fewer than that
        drawn = _samples(Stream(self.seed, "limit/fillers"), start, stop, len(latent.fillers), size)
        if drawn.shape[1] == size:
            sets[:] = latent.fillers[drawn]
        degrees = np.diff(latent.starts[low : high + 1])
        for degree in np.unique(degrees):
            rows = special[degrees == degree]
            first = latent.starts[low:high][degrees == degree]
            sets[rows, :degree] = latent.held[first[:, None] + np.arange(degree)]
            sets[rows, degree:] = latent.fillers[drawn[rows, : size - degree]]
        if len(special):
            # what must be held is mixed with the rest, so that its place in the list says nothing
            order = _samples(Stream(self.seed, "limit/order"), start, stop, size, size)[special]
            sets[special] = np.take_along_axis(sets[special], order, axis=1)
        return sets

    def matrix_columns(self, start: int, stop: int) -> NDArray[np.bytes_]:
        """The matrix column of each document as text, -1 for a distractor: (n,)."""
        low, high = np.searchsorted(self.latent.special, [start, stop])
        columns = np.full(stop - start, -1, np.int64)
        columns[self.latent.special[low:high] - start] = self.latent.column[low:high]
        return columns.astype("S20")


def _samples(
    stream: Stream, start: int, stop: int, population: int, size: int
) -> NDArray[np.int64]:
    """Ordered samples without replacement, one a record: (stop - start, min(size, population)).

    The first steps of Fisher and Yates' shuffle, all records of the block at a time.
    """
    n, size = stop - start, min(size, population)
    bounds = np.arange(population, population - size, -1).astype(np.uint64)
    draws = stream.draws(start, stop, bounds)
    # the deck is most of the memory touched, so its numbers are as short as they can be
    short = np.int16 if population < 1 << 15 else np.int32
    deck = np.tile(np.arange(population, dtype=short), (n, 1))
    flat = deck.reshape(-1)
    there = np.ascontiguousarray((draws + np.arange(size)).T) + np.arange(n) * population
    for step in range(size):
        left = deck[:, step].copy()
        deck[:, step] = flat.take(there[step])
        flat[there[step]] = left
    return deck[:, :size].astype(np.int64)


def _json(text: str) -> str:
    """A text as it stands inside a JSON string."""
    return orjson.dumps(text).decode()[1:-1]


def _table(texts: Sequence[str]) -> NDArray[np.bytes_]:
    """Texts as UTF-8 in one fixed-width column, padded with NUL: (n,)."""
    return np.array([text.encode() for text in texts] or [b""])


def _bytes(column: NDArray[np.bytes_], n: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(column).view(np.uint8).reshape(n, -1)


def _constant(text: str, n: int) -> NDArray[np.uint8]:
    return np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (n, len(text)))


# --- queries and qrels ----------------------------------------------------------------------------


def query_tables(
    params: LimitParams,
    seed: int,
    latent: Latent,
    corpus: DocumentTable,
    texts: Sequence[str],
    numbers: Sequence[int],
) -> tuple[Rows, Rows, Rows]:
    """Queries, qrels and training pairs, in one shuffled order of the matrix rows.

    `texts` and `numbers`: of the attributes that `latent.asked` names by their places. With
    operators every cell has its phrasings in turn, and hard negatives are judged 0.
    """
    matrix, doc_ids = latent.matrix, corpus.ids
    order = Stream(seed, "limit/query order").permutation(matrix.queries).tolist()
    query_ids = Ids(seed, "limit/ids", "q", matrix.queries).texts(np.arange(matrix.queries))
    hard = [row[row >= 0] for row in latent.negatives]
    cells = list(params.cells()) if isinstance(params, FactorialPattern) else []

    def query(i: int) -> Mapping[str, Any]:
        row = order[i]
        asked = [a for a in latent.asked[row].tolist() if a >= 0]
        named = [texts[a] for a in asked]
        metadata: dict[str, Any] = {"attributes": [numbers[a] for a in asked], "row": row}
        text = f"Who likes {' and '.join(named)}?"
        if isinstance(params, FactorialPattern):
            operator, size = cells[row]
            several = PHRASINGS[operator]
            phrasing = several[row % params.queries_per_cell % len(several)]
            text = phrasing.format(**dict(zip("abc", named, strict=False)))
            metadata |= {"operator": operator, "answers": size, "hard_negatives": len(hard[row])}
        elif len(hard[row]):
            metadata["hard_negatives"] = sorted(doc_ids.texts(hard[row]))
        return {"_id": query_ids[i], "text": text, "metadata": metadata}

    judged: list[tuple[int, int, int]] = []  # (query, corpus position, score)
    for i, row in enumerate(order):
        judged += [(i, position, 1) for position in latent.positions[matrix.row(row)].tolist()]
        if cells:
            judged += [(i, position, 0) for position in hard[row].tolist()]

    def qrel(i: int) -> Mapping[str, Any]:
        number, position, score = judged[i]
        doc_id = doc_ids.texts(np.array([position]))[0]
        return {"query-id": query_ids[number], "corpus-id": doc_id, "score": score}

    @cache
    def document(position: int) -> Mapping[str, str]:
        row: Mapping[str, str] = orjson.loads(corpus.jsonl(position, position + 1))
        return row

    def pair(i: int) -> Mapping[str, Any]:
        number, position, _ = judged[i]
        result = {"anchor": query(number)["text"], "positive": document(position)["text"]}
        others = map(document, hard[order[number]].tolist())
        for j, one in enumerate(sorted(others, key=lambda one: one["_id"]), start=1):
            result[f"negative_{j}"] = one["text"]
        return result | {"query-id": query_ids[number]}

    count = len(judged)
    return rows_of(query, matrix.queries), rows_of(qrel, count), rows_of(pair, count)


def card(params: FactorialPattern) -> list[str]:
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
