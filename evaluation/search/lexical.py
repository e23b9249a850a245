"""Lexical retrievers: BM25 in two implementations, and the token TF-IDF that is LIMIT's oracle.

All cut texts as their scripts ask for (`retgen.tokenizer`), and say so in the details. A document
that shares no term with a query is not ranked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.evaluation.collection import Collection
from retgen.evaluation.search.base import Ranked
from retgen.evaluation.search.rankings import Rankings, best
from retgen.progress import Progress
from retgen.tokenizer import named_scripts, stems, tokens, unspaced, words_only

_BLOCK = 8192
_QUERIES = 50  # between two reports of progress


class BM25:
    """bm25s with its defaults (Lucene's formula, k1 1.5, b 0.75), Snowball stemmer, stopwords."""

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        scripts = _Scripts(collection)

        def blocks() -> Iterator[list[str]]:
            for first, texts in collection.blocks(_BLOCK):
                scripts.see(texts)
                yield texts
                progress("bm25: documents", first + len(texts), collection.documents)

        index = BM25Index(blocks())
        queries = index.terms([query.text for query in collection.queries])
        ranked = _rank(collection, depth, queries, index.scores, "bm25", progress)
        details = scripts.described("bm25s' English list", "Snowball, English")
        yield Ranked("bm25", None, ranked, details)


class BM25Index:
    """The documents of `BM25`, which come in blocks of texts."""

    def __init__(self, blocks: Iterable[list[str]]) -> None:
        import bm25s

        self._vocabulary: dict[str, int] = {}
        documents: list[list[int]] = []
        number = self._vocabulary
        for texts in blocks:
            for terms in stemmed(texts):
                documents.append([number.setdefault(t, len(number)) for t in terms])
        self._index: Any = bm25s.BM25()
        if number:  # else no query has a term, and bm25s would divide by a mean length of 0
            self._index.index((documents, number), show_progress=False)

    def terms(self, queries: list[str]) -> list[NDArray[np.int32]]:
        """The terms of queries that stand in some document, as numbers."""
        known = self._vocabulary
        return [
            np.array([known[t] for t in row if t in known], np.int32) for row in stemmed(queries)
        ]

    def scores(self, query: NDArray[np.int32]) -> NDArray[np.float32]:
        """(documents,) of a query's terms, of which there must be some."""
        result: NDArray[np.float32] = self._index.get_scores_from_ids(query)
        return result


def stemmed(texts: list[str]) -> list[list[str]]:
    """The terms of texts as `BM25` has them: stemmed, without stopwords.

    Where words are all there is to a text, they are bm25s' own: of two letters and more.
    """
    import bm25s
    import Stemmer

    result: list[list[str]] = bm25s.tokenize(
        texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), return_ids=False,
        show_progress=False,
    )  # fmt: skip
    for row, text in enumerate(texts):
        if not words_only(text):
            result[row] = _stemmed_by_script(text)
    return result


def _stemmed_by_script(text: str) -> list[str]:
    from bm25s.stopwords import STOPWORDS_EN

    return stems([t for t in tokens(text) if unspaced(t) or (len(t) > 1 and t not in STOPWORDS_EN)])


class RankBM25:
    """BM25Okapi of rank-bm25 with its defaults over plain tokens."""

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        from rank_bm25 import BM25Okapi

        documents: list[list[str]] = []
        scripts = _Scripts(collection)
        for first, texts in collection.blocks(_BLOCK):
            scripts.see(texts)
            documents += map(tokens, texts)
            progress("rank-bm25: documents", first + len(texts), collection.documents)
        # rank-bm25 cannot index a corpus without a token, and no query finds anything there
        score = BM25Okapi(documents).get_scores if any(documents) else None
        queries = [tokens(query.text) for query in collection.queries]
        ranked = _rank(collection, depth, queries, score, "rank-bm25", progress)
        yield Ranked("rank-bm25", None, ranked, scripts.described())


_LIST = re.compile(", (?:and )?| and ")
_ITEM = 4  # words of a listed item, on average, at most


class TFIDF:
    """Every listed item is one token (LIMIT, footnote 9); the score is the sum of their IDF.

    Items are what stands between the commas and around the last "and" of a list. Where the first
    one begins ("Jon Dow likes Tea") is told by the items that stand whole somewhere. Where
    documents hold no list, words are the tokens.
    """

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[Ranked]:
        from scipy import sparse

        listed = _lists(collection)
        scripts = _Scripts(collection)
        whole: set[str] = set()
        if listed:
            for _, texts in collection.blocks(_BLOCK):
                whole.update(item for text in texts for item in _items(text, set())[1:])
        vocabulary: dict[str, int] = {}
        rows: list[NDArray[np.int64]] = []
        columns: list[int] = []
        for first, texts in collection.blocks(_BLOCK):
            scripts.see(texts)
            for text in texts:
                cut = _items(text, whole) if listed else tokens(text)
                terms = [vocabulary.setdefault(t, len(vocabulary)) for t in set(cut)]
                rows.append(np.full(len(terms), len(rows)))
                columns += terms
            progress("tfidf: documents", first + len(texts), collection.documents)
        row = np.concatenate(rows)
        shape = (collection.documents, max(len(vocabulary), 1))
        index = sparse.csc_array((np.ones(len(row), np.float32), (row, columns)), shape=shape)
        frequency = np.maximum(np.diff(index.indptr), 1)
        idf = (1 + np.log(collection.documents / frequency)).astype(np.float32)
        queries = []
        for query in collection.queries:
            cut = _asked(query.text, whole) if listed else tokens(query.text)
            terms = sorted({vocabulary[t] for t in cut if t in vocabulary})
            queries.append(np.array(terms, np.int64))

        def score(query: NDArray[np.int64]) -> NDArray[np.float32]:
            total = np.zeros(collection.documents, np.float32)
            for term in query:
                total[index.indices[index.indptr[term] : index.indptr[term + 1]]] += idf[term]
            return total

        details = {"tokenizer": "listed items"} if listed else scripts.described()
        ranked = _rank(collection, depth, queries, score, "tfidf", progress)
        yield Ranked("tfidf", None, ranked, details)


def _lists(collection: Collection) -> bool:
    """Whether most documents hold a list, judged by the first ones."""
    _, texts = next(iter(collection.blocks(200)))
    return 2 * sum(map(_is_list, texts)) > len(texts)


def _is_list(text: str) -> bool:
    """Whether a text names things one by one: sentences have longer parts between their commas."""
    if ", " not in text or " and " not in text:
        return False
    items = [len(item.split()) for item in _LIST.split(text)[1:]]
    return sum(items) <= _ITEM * len(items)


class _Scripts:
    """Which scripts without spaces stand in the texts, for the details of a ranking."""

    def __init__(self, collection: Collection) -> None:
        self._scripts = set(named_scripts(query.text for query in collection.queries))

    def see(self, texts: Iterable[str]) -> None:
        self._scripts.update(named_scripts(texts))

    def described(self, stopwords: str | None = None, stemmer: str | None = None) -> dict[str, Any]:
        details: dict[str, Any] = {"tokenizer": "words", "stopwords": stopwords, "stemmer": stemmer}
        if self._scripts:
            cut = f"{', '.join(sorted(self._scripts))} cut into characters and pairs of neighbours"
            details["tokenizer"] = f"words; {cut}"
            details["notes"] = [f"{cut}; stopwords and stemmer are English"] if stemmer else [cut]
        return details


def _items(text: str, whole: set[str]) -> list[str]:
    """The items of a list, the first one first; an item that holds an "and" in all readings."""
    text = text.strip()
    *begin, last = (text[:-1] if text[-1:] in ".?!" else text).split(", ")
    joints = list(re.finditer(" and ", last))
    ends = [last[joint.end() :] for joint in joints]
    if begin:
        ends += [last, *(last[: joint.start()] for joint in joints)]
        return [_ending(begin[0], whole), *begin[1:], *ends]
    heads = [last[: joint.start()] for joint in joints] or [last]
    return [*(_ending(head, whole) for head in (*heads, last)), *ends]


def _asked(text: str, whole: set[str]) -> list[str]:
    """The items of a query; where "Fish and Chips" is an item, its parts were not asked for."""
    items = _items(text, whole)
    joined = [item for item in items if " and " in item and item in whole]
    parts = {part for item in joined for part in item.split(" and ")}
    return [item for item in items if item not in parts]


def _ending(opening: str, whole: set[str]) -> str:
    """The longest ending that is an item, else the last word."""
    endings = [opening[space.end() :] for space in re.finditer(" ", opening)]
    return next((e for e in endings if e in whole), endings[-1] if endings else opening)


def _rank(
    collection: Collection,
    depth: int,
    queries: list[Any],
    score: Callable[[Any], NDArray[np.float32]] | None,
    name: str,
    progress: Progress,
) -> Rankings:
    """Rank all documents with a score above 0. `score`: a query -> (documents,); None: nothing is
    found.
    """
    documents = np.full((len(queries), depth), -1, np.int64)
    scores = np.zeros((len(queries), depth), np.float32)
    for row, query in enumerate(queries):
        if score is not None and len(query):
            values = score(query)
            result = np.flatnonzero(values > 0)
            documents[row], scores[row] = best(result, values[result], collection.priority, depth)
        if (row + 1) % _QUERIES == 0:
            progress(f"{name}: queries", row + 1, len(queries))
    return Rankings(documents, scores)
