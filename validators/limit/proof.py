"""The proof: documents are read back, the qrels are rebuilt from their words, and compared.

A batch in which nothing is wrong is seen at once; where something is, each of its documents is
looked at by itself.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgen.validators.baselines import TermRule, TermSpool
from retgen.validators.limit.matrix import (
    check_factorial,
    check_hard_negatives,
    check_matrix,
    check_qrels,
    rebuild,
)
from retgen.validators.limit.texts import (
    DocumentReader,
    DocumentTerms,
    LimitSpec,
    check_catalogue,
    error,
    read_document,
    read_queries,
)
from retgen.validators.rule import Batch, Finding, Judgements
from retgen.validators.similar import repeated_hashes

_P = 1e-6  # below, chance is no explanation


@dataclass
class _ProofState(TermSpool):
    """What the documents were found to say.

    `holders`: documents with a queried attribute -> those attributes.
    `hashes`: of each document's set of attributes, eight bytes a document. `rank`, `variance`: how
    far the places of asked attributes are from the middle, in all, and the variance that chance
    gives that.
    """

    broken: list[tuple[str, str]] = field(default_factory=list)  # (document, what is wrong)
    holders: dict[str, tuple[int, ...]] = field(default_factory=dict)
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
        # the last place is that of -1, which is no attribute
        self.queried = np.zeros(self.vocabulary + 1, bool)
        for question in self.questions.values():
            self.queried[list(question.attributes)] = True
        self.mixed = _attribute_hashes(self.vocabulary)
        self.twins: dict[frozenset[str], list[str]] = {}
        self._repeated: frozenset[int] = frozenset()  # hashes that stand more than once
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
        _, terms, counts, _ = self.read(batch)
        regular = self._is_regular(batch)
        if not regular:
            for row in zip(batch.ids, batch.titles, batch.texts, batch.metadata, strict=True):
                self.state.broken += [(row[0], fault) for fault in self._faults(*row)]
        self._look_at_lists(batch, terms, counts.astype(np.int64))
        valid = terms >= 0
        if not regular and not valid.all():
            kept = np.concatenate([[0], np.cumsum(valid)])
            ends = np.cumsum(counts, dtype=np.int64)
            counts = np.diff(kept[np.append(0, ends)]).astype(np.uint32)
            terms = terms[valid]
        words = [text.count(" ") + 1 for text in batch.texts] if regular else None
        self.spool(batch, counts, terms.astype(np.uint32), distinct=regular, words=words)

    def _is_regular(self, batch: Batch) -> bool:
        """Whether nothing is wrong with any document: `_faults` would find nothing."""
        names, terms, counts, spelled = self.read(batch)
        size, relevant = self.spec.attributes_per_doc, self.judgements.relevant_documents
        if any(batch.titles) or not all(names):
            return False
        if (counts != size).any() or (terms < 0).any():
            return False
        ordered = np.sort(terms.reshape(len(batch), -1), axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            return False
        columns = [one.get("column") for one in batch.metadata] if spelled else []
        if not all(n == -1 or i in relevant for i, n in zip(batch.ids, columns, strict=False)):
            return False
        return spelled and max(map(len, batch.metadata)) <= 2

    def _faults(self, doc_id: str, title: str, text: str, metadata: Any) -> Iterator[str]:
        """What is wrong with a document."""
        known, size = self.spec.attributes, self.spec.attributes_per_doc
        name, listed = read_document(text)
        if not name:
            yield "its text follows none of the document templates"
        if listed:
            for attribute in listed:
                if attribute not in known:
                    yield (
                        f"{attribute!r} is no attribute of the catalogue's part that the recipe "
                        "uses"
                    )
            for attribute, count in Counter(listed).items():
                if count > 1:
                    yield f"{attribute!r} stands {count} times"
            if len(listed) != size:
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
        self, batch: Batch, terms: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        """Note who holds what is asked for, where it stands, and a hash of each set."""
        state, starts = self.state, np.cumsum(counts) - counts
        filled = counts > 0
        sums = np.zeros(len(counts), np.uint64)
        if filled.any():
            sums[filled] = np.add.reduceat(self.mixed[terms], starts[filled])
        state.hashes.append(np.sort(sums))
        flat = np.flatnonzero(self.queried[terms] & (terms >= 0))
        owners = np.searchsorted(starts, flat, "right") - 1
        asked: dict[int, list[int]] = defaultdict(list)
        for owner, term in zip(owners.tolist(), terms[flat].tolist(), strict=True):
            asked[owner].append(term)
        for owner, held in asked.items():
            state.holders[batch.ids[owner]] = tuple(held)
        number = np.bincount(owners, minlength=len(counts))
        places = np.bincount(owners, weights=flat - starts[owners], minlength=len(counts))
        # the sum of ranks of a sample without replacement (Wilcoxon)
        state.rank += float((places - number * (counts - 1) / 2).sum())
        state.variance += float((number * (counts - number) * (counts + 1) / 12).sum())

    # --- a second look ----------------------------------------------------------------------

    def suspicious(self) -> bool:
        """Where two documents may hold the same attributes."""
        self._repeated = repeated_hashes(self.state.hashes)
        return bool(self._repeated)

    def confirm(self, batch: Batch) -> None:
        known = self.spec.attributes
        for doc_id, text in zip(batch.ids, batch.texts, strict=True):
            listed = read_document(text)[1]
            terms = np.array([known.get(attribute, -1) for attribute in listed], np.int64)
            if int(self.mixed[terms].sum()) in self._repeated:
                self.twins.setdefault(frozenset(listed), []).append(doc_id)

    # --- the verdict ------------------------------------------------------------------------

    def query_terms(self) -> list[NDArray[np.int64]]:
        return [np.array(one.attributes, np.int64) for one in self.questions.values()]

    def findings(self) -> Iterator[Finding]:
        state, spec, judgements = self.state, self.spec, self.judgements
        yield from check_catalogue(spec.attributes)
        yield from self.query_errors
        for doc_id, reason in state.broken:
            yield error("document", [doc_id], f"document {doc_id}: {reason}")
        for count, wanted, what in (
            (state.documents, spec.documents, "documents"),
            (len(judgements.queries), spec.queries, "queries"),
        ):
            if count != wanted:
                yield error("counts", [], f"{count} {what}, the recipe says {wanted}")
        holders: dict[int, set[str]] = defaultdict(set)
        for doc_id, terms in state.holders.items():
            for term in terms:
                holders[term].add(doc_id)
        rebuilt = rebuild(self.questions, holders)
        yield from check_qrels(spec, judgements, rebuilt)
        if spec.hard_negatives:
            yield from check_hard_negatives(spec, judgements, self.questions, holders)
        yield from check_factorial(spec, judgements, self.questions, holders)
        yield from check_matrix(spec, judgements, rebuilt)
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
            terms = [self.spec.attributes.get(a, -1) for a in attributes]
            drawn = sum(not (term >= 0 and self.queried[term]) for term in terms)
            return documents**2 / 2 / max(math.comb(max(pool, 0), drawn), 1)

        twins = [
            ids
            for attributes, ids in self.twins.items()
            if len(ids) > 1 and by_chance(attributes) < _P
        ]
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
                list(state.holders),
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


def _attribute_hashes(vocabulary: int) -> NDArray[np.uint64]:
    """(vocabulary + 1,) a 64-bit hash of each attribute, the last of what is none.

    The sum over a set is a hash of the set.
    """
    mixed = (np.arange(-1, vocabulary) + 2).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(odd)
    return np.roll(mixed, -1)
