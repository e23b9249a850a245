"""`own-documents`: the corpus, the queries, the splits and the pairs are what they claim to be.

What people wrote is looked up again: a found query's words stand where it says, in order; a link's
words lie in a link to that document; other words are a title or a short form that the run keeps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, starmap, zip_longest
from operator import attrgetter, itemgetter, ne
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from retgen.data import Query
from retgen.on_disk import BlockList, DiskList, JSONLines, Keyed, MappedList
from retgen.validators.baselines import pack_ids, unpack_ids
from retgen.validators.capretrieval.evidence import (
    found_fault,
    two_documents_findings,
)
from retgen.validators.capretrieval.judged import JudgingFiles, judged_findings
from retgen.validators.capretrieval.wording import ALIKE, Wording, wording
from retgen.validators.capretrieval.words import (
    bare,
    content_words,
    holds,
    plain,
    same_script,
    single_words,
    stand_in,
)
from retgen.validators.duplicates import repeated
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState

_Row = Mapping[str, Any]
_Rows = Mapping[str, _Row]  # by their ids


class OwnDocumentsSpec(NamedTuple):
    """Files of the run: the documents as they were read, the passages' places, what was written for
    them, by what documents count as alike, and the pairs; or the readings of a judge of given
    queries.
    """

    documents: Path
    passages: Path
    queries: Path
    mined: Path
    training: Path
    readings: JudgingFiles | None = None


@dataclass
class _Read(RuleState):
    """What the corpus holds, in order: packed ids, and a hash of each text and title."""

    batches: list[tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint64]]] = field(
        default_factory=list
    )

    def rows(self) -> Iterator[tuple[str, int]]:
        """Each id with its hash."""
        for ids, ends, hashes in self.batches:
            yield from zip(unpack_ids(ids, ends), hashes.tolist(), strict=True)


class OwnDocuments(CorpusRule):
    """The corpus is the source's, queries rest on it, splits and negatives are clean."""

    name = "own-documents"
    severity = "error"
    finds = "a corpus that is not the source's documents, or a split or negative that is not clean"
    state: _Read

    def __init__(self, spec: OwnDocumentsSpec, judgements: Judgements) -> None:
        self._spec, self._judgements = spec, judgements
        super().__init__()

    def start(self) -> None:
        self.state = _Read()

    def scan(self, batch: Batch) -> None:
        hashes = np.fromiter(map(_digest, batch.titles, batch.texts), np.uint64, len(batch))
        self.state.batches.append((*pack_ids(batch.ids), hashes))

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
        texts: DiskList[_Row] = DiskList()
        yield from self._corpus(documents, passages, texts)
        if self._spec.readings is not None:
            yield from judged_findings(self.name, self._spec.readings, self._judgements, passages)
            return
        yield from self._queries(documents)
        passages = Keyed(texts, itemgetter("id"))  # whatever document they are of, it is not read
        number = {name: i for i, name in enumerate(documents)}
        shared = self._wording(documents, list(number))
        yield from self._documents_of_splits(passages, number, shared)
        yield from self._queries_of_splits(passages)
        yield from self._labels(passages)
        for ids, message in two_documents_findings(
            self._judgements, documents, passages, JSONLines(self._spec.queries)
        ):
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

    def _corpus(
        self, documents: _Rows, passages: _Rows, texts: DiskList[_Row]
    ) -> Iterator[Finding]:
        """Every passage stands in the corpus as in its document, and passages leave nothing out.

        `texts`: takes the passages with what is read of their document, no title without one.
        """
        rows = BlockList(self.state.rows())
        written = Keyed(rows, itemgetter(0))
        names = map(itemgetter(0), rows)
        if any(starmap(ne, zip_longest(names, passages, fillvalue=object()))):
            missing = sorted(passages.keys() - written.keys())
            more = sorted(written.keys() - passages.keys())
            message = "the corpus is not the source's passages in their order"
            if missing or more:
                message += f": {len(missing):,} are missing, {len(more):,} are not the source's"
            yield self._finding((missing + more)[:1000], message)
        ends: dict[str, int] = {}
        for name, row in passages.items():
            source = documents.get(row["source"])
            if source is None:
                texts.append({**row, "title": None})
                yield self._finding([name], f"{name}: its document {row['source']} was not read")
                continue
            text = source["text"][row["start"] : row["stop"]]
            of_source = {"title": source.get("title"), "length": len(source["text"])}
            texts.append({**row, **of_source, "text": text})
            if (there := written.get(name)) and there[1] != _digest(source["title"], text):
                yield self._finding([name], f"{name}: is not the text of its source any more")
            begun = ends.get(row["source"], 0)
            if source["text"][begun : row["start"]].strip():
                yield self._finding([name], f"{name}: text before it stands in no passage")
            ends[row["source"]] = max(begun, row["stop"])
        for name, source in documents.items():
            if source["text"][ends.get(name, 0) :].strip():
                yield self._finding([name], f"{name}: its end stands in no passage")

    def _queries(self, documents: _Rows) -> Iterator[Finding]:
        """A span lies in its document; a keyword stands in it, found words stand where it says."""
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
                    same := content_words(query.text, _note(query))
                    & {*single_words(_shown(row, {})[0])}
                ):
                    message = f"{query_id}: is nonlexical, and {doc_id} has {min(same)!r}"
                    yield self._finding([query_id, doc_id], message)
                if any(
                    row["source"] == source and _rests(row, start, stop, of_source[source])
                    for source, start, stop in rests_on.get(query.text, ((), ()))[1]
                ):
                    continue
                if row["title"] is None:
                    raise KeyError(row["source"])
                by_words = _note(query).get("kind") in ("keyword", "phrase")
                if not by_words or not holds(f"{row['title']} {row['text']}", query.text):
                    message = f"{query_id}: {doc_id} is relevant there, and lacks {query.text!r}"
                    yield self._finding([query_id, doc_id], message)

    def _pairs(
        self, passages: _Rows, near: Callable[[str, Iterable[str]], bool]
    ) -> Iterator[Finding]:
        """Pairs are made of queries and passages; negatives are of split train, no positives."""
        import pyarrow.parquet as pq

        qrels = Keyed(self._judgements.others.get("train", ()), itemgetter(0))
        queries = Keyed(self._judgements.queries, attrgetter("query_id"))

        def wrong(row: _Row) -> Iterator[tuple[list[str], str]]:
            query_id, positive = row["query-id"], row["positive-id"]
            query = queries.get(query_id)
            known = [doc_id for _, doc_id, relevance in qrels.all(query_id) if relevance > 0]
            note = _note(query) if query is not None else {}
            if query is None or query.text != row["anchor"]:
                yield [query_id], f"the anchor is not the text of {query_id}"
            if positive not in known:
                yield [query_id, positive], f"{query_id} is trained on what no qrel calls relevant"
            elif not _is_shown(row["positive"], passages.get(positive), note):
                yield [query_id, positive], f"the positive of {query_id} is not of {positive}"
            relevant = [one["source"] for one in map(passages.get, known) if one is not None]
            asked_words = content_words(row["anchor"], note)
            for n, doc_id in enumerate(row["negatives-id"], 1):
                place = passages.get(doc_id)
                if place is None or place["split"] != "train":
                    message = f"negative {doc_id} is no passage of split train"
                elif row[f"negative_{n}"] != (text := _shown(place, {})[0]):
                    message = f"the text of negative {doc_id} is not its passage's"
                elif doc_id in known:
                    message = f"{doc_id} is a positive of {query_id}"
                elif near(place["source"], relevant):
                    message = f"negative {doc_id} is a near-duplicate of a positive of {query_id}"
                elif asked_words and stand_in(asked_words, text):
                    message = f"negative {doc_id} holds all words of {row['anchor']!r}"
                else:
                    continue
                yield [query_id, doc_id], message

        for file in sorted(self._spec.training.glob("*.parquet")):
            with pq.ParquetFile(file, pre_buffer=False) as table:  # else all of it
                missing = [one for one in _PAIR if one not in table.schema_arrow.names]
                if missing:
                    message = f"{file.name}: lacks the columns {', '.join(missing)}"
                    yield self._finding([], message)
                    continue
                for batch in table.iter_batches(_ROWS, use_threads=False):
                    for row in batch.to_pylist():
                        for ids, message in wrong(row):
                            yield self._finding(ids, f"{file.name}: {message}")


_PAIR = ("anchor", "positive", "query-id", "positive-id", "negatives-id")
_ROWS = 100  # that are read at once


def _shown(place: _Row | None, note: _Row) -> list[str]:
    """What may stand for a passage in a pair: its title and text; for one that was made from a
    sentence, also both without the sentence; for a found one, without where its words were found.
    """
    if place is None or place["title"] is None:
        return []
    title, text = place["title"], place["text"]
    if note.get("evidence") == "found":
        own = note["found_in"] == place["source"]
        rest = _cut(text, place["start"], note["found_at"] if own else [])
        untitled = _without(title, rest)
        return [untitled] if note["kind"] == "title" else [f"{title} {rest}".strip(), untitled]
    result = [f"{title} {text}".strip()]
    other = note.get("other_source") == place["source"]  # of a question that needs two documents
    span = _span(note, place["length"], "other_span" if other else "span")
    sentence = note.get("kind") in ("summary", "question", "two_documents")
    if sentence and span is not None and (other or note.get("source") == place["source"]):
        start, stop = span[0] - place["start"], span[1] - place["start"]
        if 0 <= start < stop <= len(text):
            rest = f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()
            told = bare(text[start:stop]) == bare(title)
            result.append(rest if told else f"{title} {rest}".strip())
    return result


def _is_shown(text: str, place: _Row | None, note: _Row) -> bool:
    """Whether a text may stand for a passage, whatever marks are left where something was cut."""
    shown = _shown(place, note)
    return text in shown or bare(text) in map(bare, shown)


def _cut(text: str, begins: int, places: Iterable[list[int]]) -> str:
    """A text that begins at a character of its document, without some characters of this one."""
    for start, stop in sorted(places, reverse=True):
        before, after = text[: max(0, start - begins)], text[max(0, stop - begins) :]
        if stop > begins and start < begins + len(text):
            text = f"{before} {after}"  # a line before it stays a line
    return text.strip()


def _without(title: str, text: str) -> str:
    """A text less its heading: lines of it, or of a `title:`, and an underline."""
    name = bare(title)
    lines = text.splitlines(keepends=True)
    heads = {i for i, line in enumerate(lines) if bare(line) in (name, f"title{name}")}
    if not name or not heads:
        return text
    heads |= {i + 1 for i in heads if re.fullmatch(r"\s*[=-]+\s*", "".join(lines[i + 1 : i + 2]))}
    return "".join(line for i, line in enumerate(lines) if i not in heads).strip() or text


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


def _digest(title: str, text: str) -> int:
    import xxhash

    return xxhash.xxh3_64_intdigest(f"{title}\0{text}".encode())
