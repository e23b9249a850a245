"""`own-documents`: labels rest on their evidence, splits and negatives are clean.

That the texts of corpus, queries and pairs are the source's is shown by hashes and by making the
tables again (`gen validate`). What is looked at here is what they claim: what a query rests on,
which passages are relevant to it, what splits share, and which passages are no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.data import Query
from retgen.on_disk import DiskList, JSONLines, Keyed, MappedList
from retgen.validators.capretrieval.evidence import (
    found_fault,
    two_documents_findings,
)
from retgen.validators.capretrieval.given import GivenFiles, given_findings
from retgen.validators.capretrieval.wording import ALIKE, Wording, wording
from retgen.validators.capretrieval.words import (
    content_words,
    holds,
    plain,
    same_script,
    single_words,
    stand_in,
)
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState
from retgen.validators.similar import repeated

_Row = Mapping[str, Any]
_Rows = Mapping[str, _Row]  # by their ids


class OwnDocumentsSpec(NamedTuple):
    """Files of the run: the documents as they were read, the passages' places, what was written for
    them, by what documents count as alike, and the pairs; or given queries and what is
    known of them.
    """

    documents: Path
    passages: Path
    queries: Path
    mined: Path
    training: Path
    given: GivenFiles | None = None


class OwnDocuments(CorpusRule):
    """Queries rest on the source's documents, splits and negatives are clean."""

    name = "own-documents"
    severity = "error"
    finds = "a label without evidence, or a split or negative that is not clean"
    state: RuleState

    def __init__(self, spec: OwnDocumentsSpec, judgements: Judgements) -> None:
        self._spec, self._judgements = spec, judgements
        super().__init__()

    def start(self) -> None:
        self.state = RuleState()

    def scan(self, batch: Batch) -> None:
        """Read nothing: the files of the run say it all."""

    def findings(self) -> Iterable[Finding]:
        try:
            yield from self._findings()
        except OSError as error:
            yield self._finding([], f"{error.filename}: {error.strerror}, so nothing is proven")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            yield self._finding([], f"a file of sources/ or training/ cannot be read: {error!r}")

    def _findings(self) -> Iterable[Finding]:
        documents = Keyed(JSONLines(self._spec.documents), itemgetter("id"))
        passages: _Rows = Keyed(JSONLines(self._spec.passages), itemgetter("id"))
        if self._spec.given is not None:
            yield from given_findings(self.name, self._spec.given, self._judgements, passages)
            return
        yield from self._queries(documents)
        passages = Keyed(DiskList(_shown(passages.values(), documents)), itemgetter("id"))
        number = {name: i for i, name in enumerate(documents)}
        shared = self._wording(documents, list(number))
        yield from self._documents_of_splits(passages, number, shared)
        yield from self._queries_of_splits(passages)
        yield from self._labels(passages)
        for ids, message in two_documents_findings(self._judgements, documents, passages):
            yield self._finding(ids, message)

        def near(name: str, others: Iterable[str]) -> bool:
            own, known = number.get(name), [number[one] for one in others if one in number]
            if own is None:
                return False
            same = any(shared.groups[own] == shared.groups[one] for one in known)
            return same or shared.directly(own, known)

        yield from self._pairs(passages, near)

    def _wording(self, documents: _Rows, names: Sequence[str]) -> Wording:
        """What documents share, by the share of words that the run states."""
        stated = orjson.loads(self._spec.mined.read_bytes()).get("alike", ALIKE)
        rows = MappedList(documents.__getitem__, names)
        return wording(MappedList(lambda one: f"{one['title']} {one['text']}", rows), stated)

    def _finding(self, ids: list[str], message: str) -> Finding:
        return Finding(self.name, "error", ids, message)

    def _queries(self, documents: _Rows) -> Iterator[Finding]:
        """A span lies in its document; a keyword stands there, what was found names it."""
        for query in self._judgements.queries:
            note = _note(query)
            source = documents.get(str(note.get("source", "")))
            span = _span(note, len(source["text"])) if source is not None else None
            if source is None or span is None:
                message = f"{query.query_id}: rests on no characters of a document"
                yield self._finding([query.query_id], message)
            elif note.get("evidence") == "found":
                if why := found_fault(query.text, note, source, documents):
                    yield self._finding([query.query_id], f"{query.query_id}: {why}")
            elif note.get("kind") in ("keyword", "phrase"):
                held = plain(source["text"][slice(*span)])
                if plain(query.text) != held and not same_script(query.text, held):
                    message = f"{query.query_id}: its span holds {held!r}, not {query.text!r}"
                    yield self._finding([query.query_id], message)

    def _documents_of_splits(
        self, passages: _Rows, number: Mapping[str, int], shared: Wording
    ) -> Iterator[Finding]:
        """No document, near-duplicates of it among them, is of two splits."""
        split_of: dict[str, str] = {}
        for row in passages.values():
            if split_of.setdefault(row["source"], row["split"]) != row["split"]:
                yield self._finding([row["source"]], f"{row['source']}: is of two splits")
        first: dict[int, str] = {}  # a wording -> the document that has it
        for name, split in split_of.items():
            group = int(shared.groups[number[name]]) if name in number else -1
            other = first.setdefault(group, name)
            if name in number and split_of[other] != split:
                message = f"{name} of {split} is a near-duplicate of {other} of {split_of[other]}"
                yield self._finding([name, other], message)

    def _queries_of_splits(self, passages: _Rows) -> Iterator[Finding]:
        """No query, and no query text, is of two splits, or finds a document of another one."""
        every = {self._judgements.split: self._judgements.qrels, **self._judgements.others}
        asked: dict[str, str] = {}
        both: set[tuple[str, str]] = set()
        for split, qrels in every.items():
            for query_id, doc_id, _ in qrels:
                row = passages.get(doc_id)
                if row is not None and row["split"] != split:
                    message = f"{query_id}: a query of {split} finds {doc_id} of {row['split']}"
                    yield self._finding([query_id, doc_id], message)
                if asked.setdefault(query_id, split) != split and (query_id, split) not in both:
                    both.add((query_id, split))
                    message = f"{query_id}: is a query of {asked[query_id]} and of {split}"
                    yield self._finding([query_id], message)
        texts: dict[str, str] = {}
        plain_texts = (plain(query.text) for query in self._judgements.queries)
        for query in compress(self._judgements.queries, repeated(plain_texts)):
            key, own = plain(query.text), asked.get(query.query_id)
            if own is not None and texts.setdefault(key, own) != own:
                message = f"{query.query_id}: its text is a query of split {texts[key]} too"
                yield self._finding([query.query_id], message)

    def _labels(self, passages: _Rows) -> Iterator[Finding]:
        """A relevant passage holds characters that the query rests on, or it holds the keyword."""
        rows = JSONLines(self._spec.queries)
        rests_on = Keyed(MappedList(itemgetter("text", "rests_on"), rows), itemgetter(0))
        asked = Keyed(self._judgements.queries, attrgetter("query_id"))
        of_source: dict[str, list[tuple[int, int]]] = {}
        for one in passages.values():
            of_source.setdefault(one["source"], []).append((one["start"], one["stop"]))
        for _, qrels in self._judgements.splits():
            for query_id, doc_id, _ in qrels:
                query = asked.get(query_id)
                row = passages.get(doc_id)
                if query is None or row is None:
                    continue
                if _note(query).get("side") == "nonlexical" and (
                    same := content_words(query.text, _note(query)) & {*single_words(row["shown"])}
                ):
                    message = f"{query_id}: is nonlexical, and {doc_id} has {min(same)!r}"
                    yield self._finding([query_id, doc_id], message)
                if any(
                    row["source"] == source and _rests(row, start, stop, of_source[source])
                    for source, start, stop in rests_on.get(query.text, ((), ()))[1]
                ):
                    continue
                by_words = _note(query).get("kind") in ("keyword", "phrase")
                if not by_words or not holds(row["shown"], query.text):
                    message = f"{query_id}: {doc_id} is relevant there, and lacks {query.text!r}"
                    yield self._finding([query_id, doc_id], message)

    def _pairs(
        self,
        passages: _Rows,
        near: Callable[[str, Iterable[str]], bool],
    ) -> Iterator[Finding]:
        """A pair's positive is relevant to its query; negatives are of split train, no answers."""
        import pyarrow.parquet as pq

        qrels = Keyed(self._judgements.others.get("train", ()), itemgetter(0))
        queries = Keyed(self._judgements.queries, attrgetter("query_id"))

        def wrong(row: _Row) -> Iterator[tuple[list[str], str]]:
            query_id, positive = row["query-id"], row["positive-id"]
            query = queries.get(query_id)
            known = [doc_id for _, doc_id, relevance in qrels.all(query_id) if relevance > 0]
            if query is None or query.text != row["anchor"]:
                yield [query_id], f"the anchor is not the text of {query_id}"
            if positive not in known:
                yield [query_id, positive], f"{query_id} is trained on what no qrel calls relevant"
            relevant = [one["source"] for one in map(passages.get, known) if one is not None]
            asked = content_words(row["anchor"], _note(query) if query is not None else {})
            for doc_id in row["negatives-id"]:
                place = passages.get(doc_id)
                if place is None or place["split"] != "train":
                    message = f"negative {doc_id} is no passage of split train"
                elif doc_id in known:
                    message = f"{doc_id} is a positive of {query_id}"
                elif near(place["source"], relevant):
                    message = f"negative {doc_id} is a near-duplicate of a positive of {query_id}"
                elif asked and stand_in(asked, place["shown"]):
                    message = f"negative {doc_id} holds all words of {row['anchor']!r}"
                else:
                    continue
                yield [query_id, doc_id], message

        for file in sorted(self._spec.training.glob("*.parquet")):
            with pq.ParquetFile(file, pre_buffer=False) as table:  # else all of it
                for batch in table.iter_batches(_ROWS, columns=[*_PAIR], use_threads=False):
                    for row in batch.to_pylist():
                        for ids, message in wrong(row):
                            yield self._finding(ids, f"{file.name}: {message}")


_PAIR = ("anchor", "query-id", "positive-id", "negatives-id")
_ROWS = 100  # that are read at once


def _shown(passages: Iterable[_Row], documents: _Rows) -> Iterator[_Row]:
    """Passages with what is searched of them: the title of their document and their text."""
    source: _Row = {}
    for one in passages:
        if one["source"] != source.get("id"):  # several of one document follow each other
            source = documents[one["source"]]
        text = source["text"][one["start"] : one["stop"]]
        yield {**one, "shown": f"{source['title']} {text}".strip()}


def _rests(row: _Row, start: int, stop: int, places: list[tuple[int, int]]) -> bool:
    """Whether a passage holds characters of its document whole; of what no passage holds whole,
    whether it lies in them by more than half of itself, or holds most of them if none does.
    """

    def shared(place: tuple[int, int]) -> int:
        return min(stop, place[1]) - max(start, place[0])

    own = row["start"], row["stop"]
    best = max(map(shared, places))
    if shared(own) == stop - start:
        return True
    if best == stop - start or shared(own) <= 0:
        return False
    inside = [one for one in places if 2 * shared(one) > one[1] - one[0]]
    return own in inside if inside else shared(own) == best


def _span(note: _Row, length: int, name: str = "span") -> tuple[int, int] | None:
    """The characters that a query rests on, None where these are none of a document so long."""
    match note.get(name):
        case [int(start), int(stop)] if 0 <= start < stop <= length:
            return start, stop
    return None


def _note(query: Query) -> dict[str, Any]:
    return query.metadata if isinstance(query.metadata, dict) else {}
