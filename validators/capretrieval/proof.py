"""`own-documents`: the corpus, the queries, the splits and the pairs are what they claim to be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.data import Query
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, State


class Spec(NamedTuple):
    """Files of the run: the documents as they were read, the passages' places, what was written for
    them, and the pairs.
    """

    documents: Path
    passages: Path
    queries: Path
    training: Path


@dataclass
class _Read(State):
    """What the corpus holds: by id, a hash of the text and title, in order; and what is wrong."""

    rows: list[tuple[str, int]] = field(default_factory=list)

    def merge(self, later: _Read, offset: int) -> None:
        self.rows += later.rows


class OwnDocuments(CorpusRule):
    """The corpus is the source's, queries rest on it, splits and negatives are clean."""

    name = "own-documents"
    severity = "error"
    finds = "a corpus that is not the source's documents, or a split or negative that is not clean"
    state: _Read

    def __init__(self, spec: Spec, judgements: Judgements) -> None:
        self._spec, self._judgements = spec, judgements
        super().__init__()

    def start(self) -> None:
        self.state = _Read()

    def scan(self, batch: Batch) -> None:
        for name, title, text in zip(batch.ids, batch.titles, batch.texts, strict=True):
            self.state.rows.append((name, _digest(title, text)))

    def findings(self) -> Iterable[Finding]:
        documents = {row["id"]: row for row in _lines(self._spec.documents)}
        passages = {row["id"]: row for row in _lines(self._spec.passages)}
        yield from self._corpus(documents, passages)
        yield from self._queries(documents, passages)
        yield from self._splits(passages)
        yield from self._labels(documents, passages)
        yield from self._pairs(documents, passages)

    def _finding(self, ids: list[str], message: str) -> Finding:
        return Finding(self.name, "error", ids, message)

    def _corpus(
        self, documents: Mapping[str, Any], passages: Mapping[str, Any]
    ) -> Iterator[Finding]:
        """Every passage stands in the corpus as in its document, and passages leave nothing out."""
        written = dict(self.state.rows)
        if [name for name, _ in self.state.rows] != list(passages):
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
                yield self._finding([name], f"{name}: its document {row['source']} was not read")
                continue
            text = source["text"][row["start"] : row["stop"]]
            if name in written and written[name] != _digest(source["title"], text):
                yield self._finding([name], f"{name}: is not the text of its source any more")
            begun = ends.get(row["source"], 0)
            if source["text"][begun : row["start"]].strip():
                yield self._finding([name], f"{name}: text before it stands in no passage")
            ends[row["source"]] = max(begun, row["stop"])
        for name, source in documents.items():
            if source["text"][ends.get(name, 0) :].strip():
                yield self._finding([name], f"{name}: its end stands in no passage")

    def _queries(
        self, documents: Mapping[str, Any], passages: Mapping[str, Any]
    ) -> Iterator[Finding]:
        """A query's span lies in its document, and a keyword stands in its span."""
        for query in self._judgements.queries:
            note = _note(query)
            source = documents.get(str(note.get("source", "")))
            span = note.get("span") or [0, 0]
            if source is None or not 0 <= span[0] < span[1] <= len(source["text"]):
                message = f"{query.query_id}: rests on no characters of a document"
                yield self._finding([query.query_id], message)
            elif note.get("kind") in ("keyword", "phrase"):
                held = _plain(source["text"][span[0] : span[1]])
                if _plain(query.text) != held and not _same_script(query.text, held):
                    message = f"{query.query_id}: its span holds {held!r}, not {query.text!r}"
                    yield self._finding([query.query_id], message)

    def _splits(self, passages: Mapping[str, Any]) -> Iterator[Finding]:
        """No document and no query text is of two splits."""
        split_of: dict[str, str] = {}
        for row in passages.values():
            if split_of.setdefault(row["source"], row["split"]) != row["split"]:
                yield self._finding([row["source"]], f"{row['source']}: is of two splits")
        every = {self._judgements.split: self._judgements.qrels, **self._judgements.others}
        asked: dict[str, str] = {}
        for split, qrels in every.items():
            for query_id, doc_id, _ in qrels:
                row = passages.get(doc_id)
                if row is not None and row["split"] != split:
                    message = f"{query_id}: a query of {split} finds {doc_id} of {row['split']}"
                    yield self._finding([query_id, doc_id], message)
                asked.setdefault(query_id, split)
        texts: dict[str, str] = {}
        for query in self._judgements.queries:
            key, own = _plain(query.text), asked.get(query.query_id)
            if own is not None and texts.setdefault(key, own) != own:
                message = f"{query.query_id}: its text is a query of split {texts[key]} too"
                yield self._finding([query.query_id], message)

    def _labels(
        self, documents: Mapping[str, Any], passages: Mapping[str, Any]
    ) -> Iterator[Finding]:
        """A relevant passage holds characters that the query rests on, or it holds the keyword."""
        rests_on = {row["text"]: row["rests_on"] for row in _lines(self._spec.queries)}
        asked = {query.query_id: query for query in self._judgements.queries}
        for _, qrels in self._judgements.splits():
            for query_id, doc_id, _ in qrels:
                query = asked.get(query_id)
                if query is None or doc_id not in passages:
                    continue
                row = passages[doc_id]
                if any(
                    row["source"] == source and row["start"] <= start and stop <= row["stop"]
                    for source, start, stop in rests_on.get(query.text, ())
                ):
                    continue
                source = documents[row["source"]]
                text = f"{source['title']} {source['text'][row['start'] : row['stop']]}"
                if _note(query).get("kind") not in ("keyword", "phrase") or not _holds(
                    text, query.text
                ):
                    message = f"{query_id}: {doc_id} is relevant there, and lacks {query.text!r}"
                    yield self._finding([query_id, doc_id], message)

    def _pairs(
        self, documents: Mapping[str, Any], passages: Mapping[str, Any]
    ) -> Iterator[Finding]:
        """Negatives of training pairs are passages of the training split, and no positives."""
        import pyarrow.parquet as pq

        positives: dict[str, set[str]] = {}
        for query_id, doc_id, relevance in self._judgements.others.get("train", ()):
            if relevance > 0:
                positives.setdefault(query_id, set()).add(doc_id)
        kinds = {query.query_id: _note(query).get("kind") for query in self._judgements.queries}

        def text_of(doc_id: str) -> str:
            row = passages[doc_id]
            source = documents[row["source"]]
            return f"{source['title']} {source['text'][row['start'] : row['stop']]}"

        for file in sorted(self._spec.training.glob("*.parquet")):
            for row in pq.read_table(file).to_pylist():
                query_id = row["query-id"]
                known = positives.get(query_id, set())
                if row["positive-id"] not in known:
                    message = f"{file.name}: {query_id} is trained on what no qrel calls relevant"
                    yield self._finding([query_id, row["positive-id"]], message)
                for n, doc_id in enumerate(row["negatives-id"], 1):
                    if doc_id not in passages or passages[doc_id]["split"] != "train":
                        message = f"{file.name}: negative {doc_id} is no passage of split train"
                    elif row[f"negative_{n}"] != text_of(doc_id).strip():
                        message = f"{file.name}: the text of negative {doc_id} is not its passage's"
                    elif doc_id in known:
                        message = f"{file.name}: {doc_id} is a positive of {query_id}"
                    elif kinds.get(query_id) in ("keyword", "phrase") and _holds(
                        text_of(doc_id), row["anchor"]
                    ):
                        message = f"{file.name}: negative {doc_id} holds {row['anchor']!r}"
                    else:
                        continue
                    yield self._finding([query_id, doc_id], message)


def _note(query: Query) -> dict[str, Any]:
    return query.metadata if isinstance(query.metadata, dict) else {}


def _digest(title: str, text: str) -> int:
    import xxhash

    return xxhash.xxh3_64_intdigest(f"{title}\0{text}".encode())


def _plain(text: str) -> str:
    """Without differences of case, width and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _same_script(one: str, other: str) -> bool:
    """Whether two texts differ in simplified and traditional characters at most."""
    if one.isascii() or other.isascii():
        return False
    import opencc

    convert = opencc.OpenCC("t2s").convert
    return bool(convert(_plain(one)) == convert(_plain(other)))


def _holds(text: str, phrase: str) -> bool:
    """Whether the words of a phrase stand in a text side by side, whatever is between them."""
    words = re.findall(r"\w+", _plain(phrase))
    edge = r"(?<!\w){}(?!\w)" if phrase.isascii() else "{}"
    return bool(words) and bool(
        re.search(edge.format(r"\W+".join(map(re.escape, words))), _plain(text))
    )


def _lines(path: Path) -> Iterator[Any]:
    with open(path, "rb") as file:
        for line in file:
            yield orjson.loads(line)
