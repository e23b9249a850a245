"""Step 3, compare: the rebuilt matrix with qrels.jsonl, and all else that a recipe promises.

A batch in which nothing is wrong is seen at once; where something is, each of its documents is
looked at by itself.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from retgen.data import Query
from retgen.validators.baselines import TermRule, TermSpool
from retgen.validators.limit.matrix import RebuiltMatrix, check_pattern
from retgen.validators.limit.texts import (
    DocumentReader,
    DocumentTerms,
    LimitSpec,
    NameReader,
    check_catalogue,
    error,
    read_document,
    read_queries,
)
from retgen.validators.rows import RowFault, TablesProof
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, RuleState
from retgen.validators.rules.documents import Duplicates
from retgen.validators.similar import hashes_of, repeated_hashes

_P = 1e-6  # below, chance is no explanation


def proof_rules(spec: LimitSpec, judgements: Judgements) -> list[CorpusRule]:
    """All rules of the proof: labels, distinct names, training pairs."""
    proof = LimitProof(spec, judgements)
    return [proof, _DistinctNames(proof), TrainingPairsProof(spec, judgements)]


# --- labels ---------------------------------------------------------------------------------------


def check_qrels(
    spec: LimitSpec, judgements: Judgements, rebuilt: Mapping[str, set[str]]
) -> Iterator[Finding]:
    """The heart: documents that hold all a query asks for are exactly its relevant ones."""
    least, most = spec.row_sums
    for query_id, docs in rebuilt.items():
        stated = judgements.positives.get(query_id, [])
        for doc_id in sorted(docs.difference(stated)):
            yield error(
                "qrels",
                [query_id, doc_id],
                f"document {doc_id} holds what query {query_id} asks for, but qrels does not say "
                "that it is relevant",
            )
        for doc_id in sorted(set(stated) - docs):
            yield error(
                "qrels",
                [query_id, doc_id],
                f"qrels says that document {doc_id} is relevant to query {query_id}, but its text "
                "does not hold what the query asks for",
            )
        if not least <= len(stated) <= most:
            bound = str(least) if least == most else f"{least} to {most}"
            message = f"query {query_id} has {len(stated)} relevant documents, not {bound}"
            yield error("row-sum", [query_id, *stated], message)
    for qrel in judgements.qrels:
        if qrel.relevance not in (0, 1):
            yield error(
                "relevance",
                [qrel.query_id, qrel.doc_id],
                f"the relevance of ({qrel.query_id}, {qrel.doc_id}) is {qrel.relevance:g}; in this "
                "family it is 0 or 1",
            )


def _check_listed_negatives(
    wanted: int, judgements: Judgements, matrix: RebuiltMatrix
) -> Iterator[Finding]:
    """Each of two conditions is met alone in so many documents, which the metadata lists."""
    listed = {one.query_id: one.facts.get("hard_negatives") for one in judgements.queries}
    for query_id, question in matrix.questions.items():
        for held, alone in matrix.combinations[query_id].items():
            if question.nearly_answered_by(held) and len(alone) < wanted:
                yield error(
                    "hard-negatives",
                    [query_id, *sorted(alone)],
                    f"query {query_id} has {len(alone)} documents with only attribute "
                    f"{min(held)}, not {wanted}",
                )
        if listed[query_id] != sorted(matrix.documents(query_id, question.nearly_answered_by)):
            yield error(
                "hard-negatives",
                [query_id, *(listed[query_id] or [])],
                f"the hard negatives in the metadata of query {query_id} are not the documents "
                "that hold exactly one of its attributes",
            )


def _check_judged_negatives(judgements: Judgements, matrix: RebuiltMatrix) -> Iterator[Finding]:
    """Judged 0 are all hard negatives and no other documents, and the metadata count them."""
    judged: dict[str, set[str]] = defaultdict(set)
    for qrel in judgements.qrels:
        if qrel.relevance == 0:
            judged[qrel.query_id].add(qrel.doc_id)
    counted = {one.query_id: one.facts.get("hard_negatives") for one in judgements.queries}
    for query_id, question in matrix.questions.items():
        hard = matrix.documents(query_id, question.nearly_answered_by)
        for doc_id in sorted(hard ^ judged[query_id]):
            why = f"is a hard negative of query {query_id} but is not judged 0"
            if doc_id not in hard:
                why = f"is judged 0 for query {query_id}, but its text makes it no hard negative"
            yield error("hard-negatives", [query_id, doc_id], f"document {doc_id} {why}")
        if (stated := counted[query_id]) != len(hard):
            message = f"{len(hard)} documents are its hard negatives, its metadata says {stated}"
            yield error("hard-negatives", [query_id], f"query {query_id}: {message}")


@dataclass
class _ProofState(TermSpool):
    """What the documents were found to say.

    `held`: documents with a queried attribute -> those attributes.
    `hashes`: of each document's set of attributes, eight bytes a document. `rank`, `variance`: how
    far the places of asked attributes are from the middle, in all, and the variance that chance
    gives that.
    """

    broken: list[tuple[str, str, str]] = field(default_factory=list)  # (kind, document, fault)
    held: dict[str, tuple[int, ...]] = field(default_factory=dict)
    hashes: list[NDArray[np.uint64]] = field(default_factory=list)
    rank: float = 0.0
    variance: float = 0.0


class LimitProof(TermRule):
    """Rebuilds the qrels of a LIMIT data set from its words and compares."""

    name = "limit-proof"
    state: _ProofState

    def __init__(self, spec: LimitSpec, judgements: Judgements) -> None:
        self.spec = spec
        self.judgements = judgements
        self.vocabulary = max(spec.attributes.values(), default=0) + 1
        self.questions, self.query_errors = read_queries(spec, judgements)
        # of both arrays the last place is that of -1, which is no attribute
        self.queried = np.zeros(self.vocabulary + 1, bool)
        for question in self.questions.values():
            self.queried[list(question.attributes)] = True
        self.attribute_hashes = hashes_of(map(str, range(self.vocabulary + 1)))
        self.twins: dict[frozenset[str], list[str]] = defaultdict(list)
        self._repeated = np.empty(0, np.uint64)  # hashes that stand more than once
        self._names = NameReader(spec)
        self._reader = DocumentReader(spec.attributes, spec.attributes_per_doc)
        self._read: tuple[Batch, DocumentTerms] | None = None
        self.start()

    def start(self) -> None:
        self.state = _ProofState(np.zeros(self.vocabulary, np.int64))

    # --- documents --------------------------------------------------------------------------

    def read(self, batch: Batch) -> DocumentTerms:
        """What the texts of a batch say."""
        if self._read is None or self._read[0] is not batch:  # several rules ask for it
            self._read = batch, self._reader.read(batch)
        return self._read[1]

    def scan(self, batch: Batch) -> None:
        broken = self.state.broken
        names, terms, counts, _ = self.read(batch)
        regular = self._is_regular(batch)
        if not regular:
            for row in zip(batch.ids, batch.titles, batch.texts, batch.metadata, strict=True):
                broken += [("document", row[0], fault) for fault in self._faults(*row)]
        for doc_id, name in zip(batch.ids, names, strict=True):
            if name and (fault := self._names.fault(name)):
                broken.append(("names", doc_id, fault))
        owners = np.repeat(np.arange(len(batch)), counts)
        self._look_at_lists(batch, terms, counts.astype(np.int64), owners)
        if not regular:
            known = terms >= 0
            counts = np.bincount(owners[known], minlength=len(batch)).astype(np.uint32)
            terms = terms[known]
        words = [text.count(" ") + 1 for text in batch.texts] if regular else None
        self.spool(batch, counts, terms.astype(np.uint32), distinct=regular, words=words)

    def _is_regular(self, batch: Batch) -> bool:
        """Whether nothing is wrong with any document: `_faults` would find nothing."""
        _, terms, _, spelled = self.read(batch)
        if not spelled or any(batch.titles) or max(map(len, batch.metadata)) > 2:
            return False
        ordered = np.sort(terms.reshape(len(batch), -1), axis=1)
        relevant = self.judgements.relevant_documents
        return not (ordered[:, 1:] == ordered[:, :-1]).any() and all(
            facts.get("column") == -1 or doc_id in relevant
            for doc_id, facts in zip(batch.ids, batch.metadata, strict=True)
        )

    def _faults(self, doc_id: str, title: str, text: str, metadata: Any) -> Iterator[str]:
        """What is wrong with a document."""
        known, size = self.spec.attributes, self.spec.attributes_per_doc
        name, listed = read_document(text)
        if not name:
            yield "its text follows none of the document templates"
        for attribute in listed:
            if attribute not in known:
                yield f"{attribute!r} is no attribute of the catalogue's part that the recipe uses"
        for attribute, count in Counter(listed).items():
            if count > 1:
                yield f"{attribute!r} stands {count} times"
        if listed and len(listed) != size:
            yield f"it has {len(listed)} attributes, not {size}"
        facts = metadata if isinstance(metadata, dict) else {}
        if len(facts) > 2:
            yield "its metadata holds more than attributes and column"
        stated = facts.get("attributes")
        numbers = [known.get(attribute, -1) for attribute in listed]
        if stated != numbers or set(map(type, stated)) != {int}:
            yield "the attribute ids in its metadata are not those of its words"
        if title:
            yield f"its title is {title!r}, not empty"
        column = facts.get("column")
        if column != -1 and doc_id not in self.judgements.relevant_documents:
            yield (
                f"its metadata gives matrix column {column}, but no query names it: that of a "
                "distractor is -1"
            )

    def _look_at_lists(
        self,
        batch: Batch,
        terms: NDArray[np.int64],
        counts: NDArray[np.int64],
        owners: NDArray[np.int64],
    ) -> None:
        """Note who holds what is asked for, where it stands, and a hash of each set.

        `terms` and `owners` (sum of counts,): attributes, and the documents that they stand in.
        """
        state = self.state
        state.hashes.append(np.sort(self._set_hashes(terms, owners, len(batch))))
        asked = np.flatnonzero(self.queried[terms])
        held: dict[int, list[int]] = defaultdict(list)
        for owner, term in zip(owners[asked].tolist(), terms[asked].tolist(), strict=True):
            held[owner].append(term)
        state.held |= {batch.ids[owner]: tuple(some) for owner, some in held.items()}
        places = asked - (np.cumsum(counts) - counts)[owners[asked]]
        number = np.bincount(owners[asked], minlength=len(batch))
        total = np.bincount(owners[asked], weights=places, minlength=len(batch))
        # the sum of ranks of a sample without replacement (Wilcoxon)
        state.rank += float((total - number * (counts - 1) / 2).sum())
        state.variance += float((number * (counts - number) * (counts + 1) / 12).sum())

    def _set_hashes(
        self, terms: NDArray[np.int64], owners: NDArray[np.int64], documents: int
    ) -> NDArray[np.uint64]:
        """(documents,) a hash of each set of attributes: the sum of theirs."""
        sums = np.zeros(documents, np.uint64)
        np.add.at(sums, owners, self.attribute_hashes[terms])
        return sums

    # --- a second look ----------------------------------------------------------------------

    def suspicious(self) -> bool:
        """Where two documents may hold the same attributes."""
        self._repeated = np.array(sorted(repeated_hashes(self.state.hashes)), np.uint64)
        return len(self._repeated) > 0

    def confirm(self, batch: Batch) -> None:
        _, terms, counts, _ = self.read(batch)
        owners = np.repeat(np.arange(len(batch)), counts)
        hashes = self._set_hashes(terms, owners, len(batch))
        for i in np.flatnonzero(np.isin(hashes, self._repeated)).tolist():
            self.twins[frozenset(read_document(batch.texts[i])[1])].append(batch.ids[i])

    # --- the verdict ------------------------------------------------------------------------

    def query_terms(self) -> list[NDArray[np.int64]]:
        return [np.array(one.attributes, np.int64) for one in self.questions.values()]

    def findings(self) -> Iterator[Finding]:
        state, spec, judgements = self.state, self.spec, self.judgements
        yield from check_catalogue(spec.attributes)
        yield from self.query_errors
        for kind, doc_id, fault in state.broken:
            yield error(kind, [doc_id], f"document {doc_id}: {fault}")
        for count, wanted, what in (
            (state.documents, spec.documents, "documents"),
            (len(judgements.queries), spec.queries, "queries"),
        ):
            if count != wanted:
                yield error("counts", [], f"{count} {what}, the recipe says {wanted}")
        matrix = RebuiltMatrix(self.questions, state.held)
        yield from check_qrels(spec, judgements, matrix.relevant)
        if spec.hard_negatives:
            yield from _check_listed_negatives(spec.hard_negatives, judgements, matrix)
        if spec.cells is not None:
            yield from _check_judged_negatives(judgements, matrix)
        yield from check_pattern(spec, judgements, matrix)
        yield from self._equal_lists()
        yield from self._places()
        if spec.balanced:
            yield from self._balance()

    def _equal_lists(self) -> Iterator[Finding]:
        """Documents hold the same attributes no more often than draws would."""
        documents = self.state.documents
        pool = len(self.spec.attributes) - int(self.queried.sum())

        def by_chance(attributes: frozenset[str]) -> float:
            """How many pairs of documents would draw the same fillers, which no query asks for."""
            drawn = sum(not self.queried[self.spec.attributes.get(a, -1)] for a in attributes)
            return documents**2 / 2 / max(math.comb(max(pool, 0), drawn), 1)

        twins = [ids for held, ids in self.twins.items() if len(ids) > 1 and by_chance(held) < _P]
        if twins:
            largest = max(twins, key=len)
            groups = "1 group" if len(twins) == 1 else f"{len(twins):,} groups"
            yield error(
                "twins",
                [doc_id for ids in twins for doc_id in ids],
                f"{sum(map(len, twins)):,} of {documents:,} documents have the attributes of "
                f"another one, in {groups}; the largest, of {len(largest):,}, begins with "
                f"{largest[0]} and {largest[1]}",
            )

    def _places(self) -> Iterator[Finding]:
        """Asked attributes stand at the front no more often than at the back."""
        state = self.state
        z = state.rank / math.sqrt(state.variance) if state.variance else 0.0
        p = math.erfc(abs(z) / math.sqrt(2))
        if p < _P:
            where = "behind" if z > 0 else "in front of"
            yield error(
                "places",
                list(state.held),
                f"attributes that queries ask for stand {where} the others of their document (p = "
                f"{p:.1g}): the first or last attributes give the relevant documents away",
            )

    def _balance(self) -> Iterator[Finding]:
        """Attributes stand in equally many documents, documents are relevant equally often."""
        used = self.state.frequencies[self.state.frequencies > 0]
        if len(used) and used.min() != used.max():
            yield error(
                "balance",
                [],
                f"attributes stand in {used.min()} to {used.max()} documents; in a balanced set "
                "all stand in the same number",
            )
        per_document = Counter(d for docs in self.judgements.positives.values() for d in docs)
        degrees = set(per_document.values())
        if len(per_document) != self.state.documents or len(degrees) != 1:
            least = min(degrees) if len(per_document) == self.state.documents else 0
            yield error(
                "balance",
                [],
                f"documents are relevant to {least} to {max(degrees, default=0)} queries; in a "
                "balanced set all are relevant to the same number",
            )


# --- names and training pairs ---------------------------------------------------------------------


class _DistinctNames(Duplicates):
    """Documents are about people of different names."""

    name = "limit-proof/names"
    severity = "error"
    what = "name, apart from case,"

    def __init__(self, proof: LimitProof) -> None:
        self._proof = proof
        super().__init__()

    def key(self, batch: Batch) -> list[str]:
        names = self._proof.read(batch).names
        return [name.casefold() or text for name, text in zip(names, batch.texts, strict=True)]


@dataclass
class _TextHashes(RuleState):
    """Hashes of texts by the id of their document."""

    hashes: dict[str, int] = field(default_factory=dict)


class TrainingPairsProof(TablesProof):
    """Training pairs are the qrels in words: every text is traced to its record.

    The positive of a pair is relevant to its query, negatives are its hard negatives.
    """

    name = "limit-proof/training"
    state: _TextHashes

    def __init__(self, spec: LimitSpec, judgements: Judgements) -> None:
        self.spec, self.judgements = spec, judgements
        self.queries = {query.query_id: query for query in judgements.queries}
        self.wanted: set[str] = set()
        if spec.training:
            self.wanted |= judgements.relevant_documents
            self.wanted.update(one for query in judgements.queries for one in _negatives(query))
        super().__init__()

    def start(self) -> None:
        self.state = _TextHashes()

    def scan(self, batch: Batch) -> None:
        if not self.wanted.isdisjoint(batch.ids):
            for doc_id, text in zip(batch.ids, batch.texts, strict=True):
                if doc_id in self.wanted:
                    self.state.hashes[doc_id] = _hash(text)

    def tables(self) -> dict[str, Callable[[Any], None]]:
        return {"training/pairs.parquet": self._pair} if self.spec.training else {}

    def _pair(self, row: Mapping[str, Any]) -> None:
        query_id, hashes = row["query-id"], self.state.hashes
        query = self.queries.get(query_id)
        if query is None:
            raise RowFault("query", f"there is no query {query_id}", [str(query_id)])
        if row["anchor"] != query.text:
            raise RowFault("anchor", f"its anchor is not the text of query {query_id}", [query_id])
        texts = [text for key, text in row.items() if key.startswith("negative_")]
        for j, (text, doc_id) in enumerate(zip_longest(texts, _negatives(query)), start=1):
            if _hash(text) != hashes.get(doc_id):
                message = f"its negative_{j} is not the text of {doc_id}, a hard negative of query"
                raise RowFault("negative", f"{message} {query_id}", [query_id, str(doc_id)])
        relevant = {hashes.get(one) for one in self.judgements.positives.get(query_id, [])}
        if _hash(row["positive"]) not in relevant:
            message = f"its positive is no document that is relevant to query {query_id}"
            raise RowFault("positive", message, [query_id])


def _negatives(query: Query) -> list[str]:
    """The hard negatives in a query's metadata; what is no list of ids is another finding's."""
    listed = query.facts.get("hard_negatives")
    if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
        return listed
    return []


def _hash(text: Any) -> int:
    """Of a text; a value that is none has no document's hash."""
    if not isinstance(text, str):
        return -1
    return xxhash.xxh3_128_intdigest(text.encode("utf-8", "surrogatepass"))
