"""`own-documents`: labels rest on their evidence, splits and negatives are clean.

That the texts of corpus, queries and pairs are the source's is shown by hashes and by making the
tables again (`gen validate`). What is looked at here is what they claim: what a query rests on,
which passages are relevant to it, what splits share, and which passages are no answer. Of given
queries: that their texts and labels are those that were given.

That a question cannot be answered from one of two documents alone is a judge's word, and whether a
grade is right is its annotator's, which nothing here proves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import orjson

from retgen.data import Query
from retgen.on_disk import DiskList, JSONLines, Keyed, MappedList
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
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState
from retgen.validators.similar import repeated

_Row = Mapping[str, Any]
_Rows = Mapping[str, _Row]  # by their ids
_Fault = tuple[list[str], str]  # ids of the records, and what is wrong with them

_HEADINGS = ("title", "heading")
_NO_POSITIVES = "no_positives"  # the split of given queries without a relevant passage
_PAIR = ("anchor", "query-id", "positive-id", "negatives-id")
_ROWS = 100  # of training pairs that are read at once


class OwnDocuments(CorpusRule):
    """Queries rest on the source's documents, splits and negatives are clean."""

    name = "own-documents"
    severity = "error"
    finds = "a label without evidence, or a split or negative that is not clean"
    state: RuleState

    def __init__(self, sources: Path, judgements: Judgements, are_given: bool) -> None:
        """`sources`: the run's folder of what it read and wrote; `are_given`: the queries were."""
        self._sources, self._judgements, self._are_given = sources, judgements, are_given
        super().__init__()

    def start(self) -> None:
        self.state = RuleState()

    def scan(self, batch: Batch) -> None:
        """Read nothing: the files of the run say it all."""

    def findings(self) -> Iterable[Finding]:
        try:
            for ids, message in self._faults():
                yield Finding(self.name, "error", ids, message)
        except OSError as error:
            message = f"{error.filename}: {error.strerror}, so nothing is proven"
            yield Finding(self.name, "error", [], message)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"a file of sources/ or training/ cannot be read: {error!r}"
            yield Finding(self.name, "error", [], message)

    def _faults(self) -> Iterator[_Fault]:
        documents = Keyed(JSONLines(self._sources / "documents.jsonl"), itemgetter("id"))
        passages: _Rows = Keyed(JSONLines(self._sources / "passages.jsonl"), itemgetter("id"))
        judgements = self._judgements
        if self._are_given:
            yield from _given_queries(self._sources, judgements, passages)
            return
        yield from _evidence(judgements, documents)
        passages = Keyed(DiskList(_shown(passages.values(), documents)), itemgetter("id"))
        stated = orjson.loads((self._sources / "mined.json").read_bytes()).get("alike", ALIKE)
        alike = _Alike(documents, stated)
        yield from _documents_of_splits(passages, alike)
        yield from _queries_of_splits(judgements, passages)
        rows = JSONLines(self._sources / "queries.jsonl")
        rests_on = Keyed(MappedList(itemgetter("text", "rests_on"), rows), itemgetter(0))
        yield from _labels(judgements, passages, rests_on)
        yield from _two_documents(judgements, documents, passages)
        yield from _pairs(self._sources.parent / "training", judgements, passages, alike)


class _Alike:
    """Which documents share their wording, by the share of words that the run states."""

    def __init__(self, documents: _Rows, share: float) -> None:
        self._number = {name: i for i, name in enumerate(documents)}
        rows = MappedList(documents.__getitem__, list(self._number))
        texts = MappedList(lambda one: f"{one['title']} {one['text']}", rows)
        self._wording: Wording = wording(texts, (share,))

    def group(self, name: str) -> int | None:
        """The number that a document's near-duplicates share; None for one that is not there."""
        number = self._number.get(name)
        return None if number is None else int(self._wording.groups[number])

    def near(self, name: str, others: Iterable[str]) -> bool:
        """Whether a document is a near-duplicate of one of some others."""
        own, known = self._number.get(name), [self._number[o] for o in others if o in self._number]
        return own is not None and self._wording.near(own, known)


# --- evidence -------------------------------------------------------------------------------------


def _evidence(judgements: Judgements, documents: _Rows) -> Iterator[_Fault]:
    """A span lies in its document; a keyword stands there, what was found names it."""
    for query in judgements.queries:
        name, note = query.query_id, _note(query)
        source = documents.get(str(note.get("source", "")))
        span = _span(note, "span", source)
        if source is None or span is None:
            yield [name], f"{name}: rests on no characters of a document"
        elif note.get("evidence") == "found":
            if why := _found_fault(query.text, note, source, documents):
                yield [name], f"{name}: {why}"
        elif note.get("kind") in ("keyword", "phrase"):
            held = plain(source["text"][slice(*span)])
            if plain(query.text) != held and not same_script(query.text, held):
                yield [name], f"{name}: its span holds {held!r}, not {query.text!r}"


def _found_fault(text: str, note: _Row, source: _Row, documents: _Rows) -> str | None:
    """Why a found query does not rest on what its words name; None where it does.

    The words of a link name the document or section that it points to, those of a heading its
    section, all others the document, from its beginning.
    """
    kind, (start, _) = note["kind"], note["span"]
    heads = [one for one in source["blocks"] if one[0] in _HEADINGS]
    section = next((one for one in reversed(heads) if one[1] < start), None)  # that it stands under
    if kind == "link":
        home = documents.get(note["found_in"])
        if home is None:
            return f"was found in {note['found_in']!r}, which is no document"
        for words, target in home["links"]:
            place, _, anchor = target.partition("#")
            whole = not anchor or (heads and heads[0][4] == anchor)
            named = start == 0 if whole else section is not None and section[4] == anchor
            if bare(text) in bare(words) and place in _link_names(source["place"]) and named:
                return None
        return f"{home['id']} has no such link to {source['id']}, or to what it rests on there"
    if kind in ("heading", "question"):
        heading = source["text"][slice(*section[1:3])] if section else ""
        if bare(text.split()[-1]) in bare(heading):  # which stands behind the title of its page
            return None
        return "rests on another section than its own"
    return None if start == 0 else "rests on other characters than its document begins with"


def _link_names(place: str) -> set[str]:
    """How links may name a document: by its place, without its suffix, as the page of a folder."""
    folder, _, name = place.rpartition("/")
    stem = name.rpartition(".")[0] or name
    page = f"{folder}/{stem}" if folder else stem
    result = {place, page, f"{page}/"} if place else set()
    if stem in ("index", "README"):
        result |= {folder, f"{folder}/", *(("", ".") if not folder else ())}
    return result


def _labels(
    judgements: Judgements, passages: _Rows, rests_on: Mapping[str, tuple[str, list[Any]]]
) -> Iterator[_Fault]:
    """A relevant passage holds characters that the query rests on, or it holds the keyword."""
    asked = Keyed(judgements.queries, attrgetter("query_id"))
    of_source: dict[str, list[tuple[int, int]]] = {}
    for one in passages.values():
        of_source.setdefault(one["source"], []).append((one["start"], one["stop"]))
    for _, qrels in judgements.splits():
        for query_id, doc_id, _ in qrels:
            query, row = asked.get(query_id), passages.get(doc_id)
            if query is None or row is None:
                continue
            note = _note(query)
            if note.get("side") == "nonlexical" and (
                same := content_words(query.text, note) & {*single_words(row["shown"])}
            ):
                message = f"{query_id}: is nonlexical, and {doc_id} has {min(same)!r}"
                yield [query_id, doc_id], message
            if any(
                row["source"] == source and _rests(row, start, stop, of_source[source])
                for source, start, stop in rests_on.get(query.text, ("", []))[1]
            ):
                continue
            if note.get("kind") not in ("keyword", "phrase") or not holds(row["shown"], query.text):
                message = f"{query_id}: {doc_id} is relevant there, and lacks {query.text!r}"
                yield [query_id, doc_id], message


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


def _two_documents(judgements: Judgements, documents: _Rows, passages: _Rows) -> Iterator[_Fault]:
    """A question that needs two documents rests on both, and both are relevant."""
    relevant: dict[str, set[str]] = {}
    for _, qrels in judgements.splits():
        for query_id, doc_id, relevance in qrels:
            if relevance > 0 and doc_id in passages:
                relevant.setdefault(query_id, set()).add(passages[doc_id]["source"])
    for query in judgements.queries:
        name, note = query.query_id, _note(query)
        if note.get("kind") != "two_documents":
            continue
        sources = [str(note.get(key)) for key in ("source", "other_source")]
        if sources[0] == sources[1]:
            yield [name], f"{name}: rests on one document, not on two"
        for source, key in zip(sources, ("span", "other_span"), strict=True):
            if _span(note, key, documents.get(source)) is None:
                yield [name], f"{name}: rests on no characters of {source}"
            elif source not in relevant.get(name, ()):
                yield [name], f"{name}: rests on {source}, which is not relevant"


# --- splits ---------------------------------------------------------------------------------------


def _documents_of_splits(passages: _Rows, alike: _Alike) -> Iterator[_Fault]:
    """No document, near-duplicates of it among them, is of two splits."""
    split_of: dict[str, str] = {}
    for row in passages.values():
        if split_of.setdefault(row["source"], row["split"]) != row["split"]:
            yield [row["source"]], f"{row['source']}: is of two splits"
    first: dict[int, str] = {}  # a wording -> the document that has it
    for name, split in split_of.items():
        group = alike.group(name)
        other = name if group is None else first.setdefault(group, name)
        if split_of[other] != split:
            message = f"{name} of {split} is a near-duplicate of {other} of {split_of[other]}"
            yield [name, other], message


def _queries_of_splits(judgements: Judgements, passages: _Rows) -> Iterator[_Fault]:
    """No query, and no query text, is of two splits, or finds a document of another one."""
    asked: dict[str, str] = {}
    both: set[tuple[str, str]] = set()
    for split, qrels in {judgements.split: judgements.qrels, **judgements.others}.items():
        for query_id, doc_id, _ in qrels:
            row = passages.get(doc_id)
            if row is not None and row["split"] != split:
                message = f"{query_id}: a query of {split} finds {doc_id} of {row['split']}"
                yield [query_id, doc_id], message
            if asked.setdefault(query_id, split) != split and (query_id, split) not in both:
                both.add((query_id, split))
                yield [query_id], f"{query_id}: is a query of {asked[query_id]} and of {split}"
    texts: dict[str, str] = {}
    plain_texts = (plain(query.text) for query in judgements.queries)
    for query in compress(judgements.queries, repeated(plain_texts)):
        key, own = plain(query.text), asked.get(query.query_id)
        if own is not None and texts.setdefault(key, own) != own:
            message = f"{query.query_id}: its text is a query of split {texts[key]} too"
            yield [query.query_id], message


# --- training pairs -------------------------------------------------------------------------------


def _pairs(
    training: Path, judgements: Judgements, passages: _Rows, alike: _Alike
) -> Iterator[_Fault]:
    """A pair's positive is relevant to its query; negatives are of split train, no answers."""
    import pyarrow.parquet as pq

    qrels = Keyed(judgements.others.get("train", ()), itemgetter(0))
    queries = Keyed(judgements.queries, attrgetter("query_id"))

    def wrong(row: _Row) -> Iterator[_Fault]:
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
            elif alike.near(place["source"], relevant):
                message = f"negative {doc_id} is a near-duplicate of a positive of {query_id}"
            elif asked and stand_in(asked, place["shown"]):
                message = f"negative {doc_id} holds all words of {row['anchor']!r}"
            else:
                continue
            yield [query_id, doc_id], message

    for file in sorted(training.glob("*.parquet")):
        with pq.ParquetFile(file, pre_buffer=False) as table:  # else all of it
            for batch in table.iter_batches(_ROWS, columns=[*_PAIR], use_threads=False):
                for row in batch.to_pylist():
                    yield from ((ids, f"{file.name}: {message}") for ids, message in wrong(row))


def _shown(passages: Iterable[_Row], documents: _Rows) -> Iterator[_Row]:
    """Passages with what is searched of them: the title of their document and their text."""
    source: _Row = {}
    for one in passages:
        if one["source"] != source.get("id"):  # several of one document follow each other
            source = documents[one["source"]]
        text = source["text"][one["start"] : one["stop"]]
        yield {**one, "shown": f"{source['title']} {text}".strip()}


def _span(note: _Row, key: str, source: _Row | None) -> tuple[int, int] | None:
    """The characters that a query rests on, None where these are none of its document."""
    match note.get(key):
        case [int(start), int(stop)] if source and 0 <= start < stop <= len(source["text"]):
            return start, stop
    return None


def _note(query: Query) -> dict[str, Any]:
    return query.metadata if isinstance(query.metadata, dict) else {}


# --- given queries --------------------------------------------------------------------------------


def _given_queries(sources: Path, judgements: Judgements, passages: _Rows) -> Iterator[_Fault]:
    """Given queries have the texts that were given, and every known grade is a row of the qrels, in
    the split of its query.
    """
    given = {row["id"]: row["text"] for row in JSONLines(sources / "given.jsonl")}
    written = {query.query_id: query.text for query in judgements.queries}
    for name in sorted(given.keys() ^ written.keys()):
        what = "was given, and is not in the data set" if name in given else "was not given"
        yield [name], f"{name}: {what}"
    for name in sorted(given.keys() & written.keys()):
        if given[name] != written[name]:
            yield [name], f"{name}: is not the text that was given"
    grades: dict[tuple[str, str], int] = {}
    for row in JSONLines(sources / "judgements.jsonl"):
        pair = row["query"], row["passage"]
        if pair in grades:
            yield [*pair], f"{pair[0]}: {pair[1]} is judged twice over"
        grades[pair] = row["relevance"]
        if pair[0] not in given or pair[1] not in passages:
            yield [*pair], f"{pair[0]}: {pair[1]} is no pair of query and passage"
    answered = {query for (query, _), grade in grades.items() if grade > 0}
    rows = 0
    for split, qrels in {judgements.split: judgements.qrels, **judgements.others}.items():
        for query_id, doc_id, relevance in qrels:
            rows += 1
            grade = grades.get((query_id, doc_id))
            if grade is None:
                yield [query_id, doc_id], f"{query_id}: {doc_id} has a qrel and was not judged"
            elif grade != relevance:
                message = f"{query_id}: {doc_id} is judged {grade}, and {relevance} in the qrels"
                yield [query_id, doc_id], message
            wanted = "test" if query_id in answered else _NO_POSITIVES
            if split != wanted:
                yield [query_id], f"{query_id}: belongs to split {wanted}, not to {split}"
    if rows != len(grades):
        yield [], f"{len(grades):,} pairs are judged, and the qrels have {rows:,} rows"
