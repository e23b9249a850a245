"""The structural proof of the LIMIT family: the qrels are rebuilt from the finished words.

Nothing of the generator is used: the proof knows the written files, the recipe, and the attribute
catalogue as a list of words. It parses every document back into its name and attributes, finds for
every query the documents that hold what it asks for, and compares that with qrels.jsonl.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from retgen.validators.corpus import Duplicates
from retgen.validators.floors import Terms, TermSpool
from retgen.validators.order import OrderLeak
from retgen.validators.rule import Batch, CorpusRule, Finding, Judgements, State
from retgen.validators.words import content_stems, stems, tokens

__all__ = ["COVERS", "LimitProof", "Spec", "proof_rules", "read_attributes", "split_half"]

# generic rules that the proof replaces by a stronger statement
# (names that differ by more than case make texts that differ by more than case and punctuation)
COVERS = frozenset(
    {"lexical-ambiguity", "terms", "order-leak", "duplicate-text", "normalised-duplicate"}
)


class Template(NamedTuple):
    """A document template cut at its placeholders: head {name} middle {attributes} tail."""

    head: str
    middle: str
    tail: str


@dataclass(frozen=True)
class Spec:
    """What the recipe promises, as far as it can be read from the files.

    `attributes`: every allowed attribute and its id. `row_sums`: the relevant documents of a
    query, as (least, most). `asks`: attributes a query asks for.
    """

    documents: int
    queries: int
    attributes_per_doc: int
    attributes: dict[str, int]
    document_templates: tuple[str, ...]
    query_templates: tuple[str, ...]
    row_sums: tuple[int, int]
    asks: int = 1
    hard_negatives: int = 0
    balanced: bool = False
    common_documents: int | None = None  # what any two queries share exactly, if fixed
    matrix_file: Path | None = None  # the user's own qrels TSV
    surname_half: tuple[int, str] | None = None  # (seed, "test" | "train")


def read_attributes(files: Sequence[Path]) -> list[str]:
    """The attributes of catalogue files in order, without blank lines, [headings], #comments."""
    lines = [line.strip() for path in files for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if line and line[0] not in "[#"]


def split_half(attributes: Sequence[str], seed: int, split: str) -> set[str]:
    """One half: ordered by SHA-256 of (seed, attribute), the first half is test."""
    if split == "all":
        return set(attributes)
    order = sorted(attributes, key=lambda a: hashlib.sha256(f"{seed}\n{a}".encode()).digest())
    middle = (len(order) + 1) // 2
    return set(order[:middle] if split == "test" else order[middle:])


@dataclass
class _ProofState(TermSpool):
    """What the documents were found to say."""

    broken: list[tuple[str, str]] = field(default_factory=list)  # (document, what is wrong)
    # documents with a queried attribute -> (those attributes, column in the metadata)
    holders: dict[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)
    name_words: set[str] = field(default_factory=set)
    distractors: int = 0  # documents without any queried attribute

    def merge(self, later: Self, offset: int) -> None:
        super().merge(later, offset)
        self.broken += later.broken
        self.holders |= later.holders
        self.name_words |= later.name_words
        self.distractors += later.distractors


class LimitProof(Terms):
    """Rebuilds the qrels of a LIMIT data set from its words and compares."""

    name = "limit-proof"
    state: _ProofState

    def __init__(self, spec: Spec, judgements: Judgements) -> None:
        self.spec = spec
        self.judgements = judgements
        self.vocabulary = max(spec.attributes.values(), default=0) + 1
        self.templates = [_cut(template) for template in spec.document_templates]
        self.asked, self.query_errors = _parse_queries(spec, judgements)
        self.queried = np.zeros(self.vocabulary, bool)
        for terms in self.asked.values():
            self.queried[list(terms)] = True
        self.spread: list[tuple[str, str]] = []
        self._risky: dict[str, frozenset[str]] | None = None
        self._parsed: tuple[Batch | None, list[tuple[str, list[str]]]] = None, []
        self.start()

    def start(self) -> None:
        self.state = _ProofState(self.vocabulary)

    # --- reading documents back -------------------------------------------------------------

    def parse(self, text: str) -> tuple[str, list[str]] | None:
        """The name and the attributes that a text states; None where no template fits."""
        for head, middle, tail in self.templates:
            if text.startswith(head) and text.endswith(tail):
                name, found, listed = text[len(head) : len(text) - len(tail)].partition(middle)
                if found and name:
                    start, both, last = listed.rpartition(" and ")
                    return name, [*start.split(", "), last] if both else [last]
        return None

    def parsed(self, batch: Batch) -> list[tuple[str, list[str]]]:
        """Name and attributes of every document; empty where no template fits."""
        if self._parsed[0] is not batch:  # the rules on names look at the same batch again
            self._parsed = batch, [self.parse(text) or ("", []) for text in batch.texts]
        return self._parsed[1]

    def scan(self, batch: Batch) -> None:
        spec, state = self.spec, self.state
        rows: list[list[str]] = []
        for doc_id, (name, listed) in zip(batch.ids, self.parsed(batch), strict=True):
            if not name:
                state.broken.append((doc_id, "its text follows none of the document templates"))
            state.name_words.update(name.split())
            rows.append(listed)
        counts = np.array([len(row) for row in rows], np.uint32)
        flat = list(map(spec.attributes.get, chain.from_iterable(rows), repeat(-1)))
        terms = np.array(flat, np.int64)
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        suspects = np.flatnonzero(counts != spec.attributes_per_doc).tolist()
        if len(terms) and terms.min() < 0:
            owners = np.repeat(np.arange(len(rows)), counts)
            suspects += np.unique(owners[terms < 0]).tolist()
        if not suspects:
            matrix = np.sort(terms.reshape(len(rows), -1), axis=1)
            suspects += np.flatnonzero((matrix[:, 1:] == matrix[:, :-1]).any(axis=1)).tolist()
        for index in sorted(set(suspects)):
            if rows[index]:
                self._explain(batch.ids[index], rows[index])
        self._metadata(batch, flat, starts)
        if any(batch.titles):
            for doc_id, title in zip(batch.ids, batch.titles, strict=True):
                if title:
                    state.broken.append((doc_id, f"its title is {title!r}, not empty"))
        known = np.maximum(terms, 0)
        hit = self.queried[known] & (terms >= 0)
        owners = np.repeat(np.arange(len(rows)), counts)[hit]
        found: dict[int, list[int]] = defaultdict(list)
        for owner, term in zip(owners.tolist(), terms[hit].tolist(), strict=True):
            found[owner].append(term)
        for owner, held in found.items():
            metadata = batch.metadata[owner]
            column = metadata.get("column", -1) if isinstance(metadata, dict) else -1
            state.holders[batch.ids[owner]] = (tuple(held), column)
        state.distractors += len(batch) - len(found)
        valid = terms >= 0
        if suspects:
            counts = np.bincount(
                np.repeat(np.arange(len(rows)), counts)[valid], minlength=len(rows)
            ).astype(np.uint32)
        self.spool(batch, counts, terms[valid].astype(np.uint32), distinct=not suspects)

    def _explain(self, doc_id: str, attributes: list[str]) -> None:
        spec = self.spec
        reasons = [
            f"{attribute!r} is no attribute of the catalogue's part that the recipe uses"
            for attribute in attributes
            if attribute not in spec.attributes
        ]
        reasons += [f"{a!r} stands {n} times" for a, n in Counter(attributes).items() if n > 1]
        if len(attributes) != spec.attributes_per_doc:
            reasons.append(f"it has {len(attributes)} attributes, not {spec.attributes_per_doc}")
        self.state.broken += [(doc_id, reason) for reason in reasons]

    def _metadata(self, batch: Batch, flat: list[int], starts: NDArray[np.int64]) -> None:
        """The attribute ids in the metadata are those of the words, in the same order."""
        noted = [m.get("attributes") if isinstance(m, dict) else None for m in batch.metadata]
        try:
            if list(chain.from_iterable(noted)) == flat:  # type: ignore[arg-type]
                return
        except TypeError:
            pass
        for index, doc_id in enumerate(batch.ids):
            if noted[index] != flat[starts[index] : starts[index + 1]]:
                self.state.broken.append(
                    (doc_id, "the attribute ids in its metadata are not those of its words")
                )

    # --- words spread over several attributes -----------------------------------------------

    def suspicious(self) -> bool:
        """Only where an asked attribute's words all stand in other attributes too."""
        words = {a: content_stems(a) for a in self.spec.attributes}
        owners: dict[str, set[str]] = defaultdict(set)
        for attribute, parts in words.items():
            for part in parts:
                owners[part].add(attribute)
        by_id = {i: a for a, i in self.spec.attributes.items()}
        self._risky = {}
        for query_id, terms in self.asked.items():
            asked = {by_id[t] for t in terms}
            needed = frozenset().union(*(words[a] for a in asked))
            if needed and any(
                all(owners[part] - {attribute} for part in words[attribute]) for attribute in asked
            ):
                self._risky[query_id] = needed
        return bool(self._risky)

    def confirm(self, batch: Batch) -> None:
        relevant = {q: set(self.judgements.positives.get(q, ())) for q in self._risky or {}}
        for doc_id, (_, listed) in zip(batch.ids, self.parsed(batch), strict=True):
            here = frozenset(stems([word for a in listed for word in tokens(a)]))
            for query_id, needed in (self._risky or {}).items():
                if needed <= here and doc_id not in relevant[query_id]:
                    self.spread.append((query_id, doc_id))

    # --- the verdict ------------------------------------------------------------------------

    def query_terms(self) -> list[NDArray[np.int64]]:
        return [np.array(terms, np.int64) for terms in self.asked.values()]

    def findings(self) -> Iterator[Finding]:
        state, spec = self.state, self.spec
        yield from self.query_errors
        for doc_id, reason in state.broken:
            yield _error("document", [doc_id], f"document {doc_id}: {reason}")
        yield from self._sizes()
        yield from self._labels()
        yield from self._names()
        for query_id, doc_id in self.spread:
            yield _error(
                "spread-words",
                [query_id, doc_id],
                f"document {doc_id} holds all words of query {query_id} spread over several "
                "attributes but is not relevant: drop one of those attributes from the list",
            )
        if spec.balanced:
            yield from self._balance()

    def _sizes(self) -> Iterator[Finding]:
        spec = self.spec
        if self.state.documents != spec.documents:
            yield _error(
                "counts", [], f"{self.state.documents} documents, the recipe says {spec.documents}"
            )
        if len(self.judgements.queries) != spec.queries:
            yield _error(
                "counts",
                [],
                f"{len(self.judgements.queries)} queries, the recipe says {spec.queries}",
            )

    def _labels(self) -> Iterator[Finding]:
        """The heart: documents that hold all a query asks for are exactly its relevant ones."""
        spec, judgements, holders = self.spec, self.judgements, self.state.holders
        by_attribute: dict[int, set[str]] = defaultdict(set)
        for doc_id, (terms, _) in holders.items():
            for term in terms:
                by_attribute[term].add(doc_id)
        least, most = spec.row_sums
        rebuilt: dict[str, frozenset[str]] = {}
        for query_id, terms in self.asked.items():
            found = set.intersection(*(by_attribute[term] for term in terms))
            rebuilt[query_id] = frozenset(found)
            stated = judgements.positives.get(query_id, [])
            for doc_id in sorted(found.difference(stated)):
                yield _error(
                    "qrels",
                    [query_id, doc_id],
                    f"document {doc_id} holds what query {query_id} asks for, but qrels does not "
                    "say that it is relevant",
                )
            for doc_id in sorted(set(stated) - found):
                yield _error(
                    "qrels",
                    [query_id, doc_id],
                    f"qrels says that document {doc_id} is relevant to query {query_id}, but its "
                    "text does not hold what the query asks for",
                )
            if not least <= len(stated) <= most:
                bound = str(least) if least == most else f"{least} to {most}"
                yield _error(
                    "row-sum",
                    [query_id, *stated],
                    f"query {query_id} has {len(stated)} relevant documents, not {bound}",
                )
            if spec.hard_negatives:
                yield from self._hard_negatives(query_id, terms, by_attribute)
        for qrel in judgements.qrels:
            if qrel.relevance not in (0, 1):
                yield _error(
                    "relevance",
                    [qrel.query_id, qrel.doc_id],
                    f"the relevance of ({qrel.query_id}, {qrel.doc_id}) is {qrel.relevance:g}; "
                    "in this family it is 0 or 1",
                )
        yield from self._matrix(rebuilt)

    def _hard_negatives(
        self, query_id: str, terms: tuple[int, ...], by_attribute: dict[int, set[str]]
    ) -> Iterator[Finding]:
        """Every condition of a query is met alone in at least so many documents."""
        for term in terms:
            alone = by_attribute[term].difference(*[by_attribute[t] for t in terms if t != term])
            if len(alone) < self.spec.hard_negatives:
                yield _error(
                    "hard-negatives",
                    [query_id, *sorted(alone)],
                    f"query {query_id} has {len(alone)} documents with only attribute {term}, "
                    f"not {self.spec.hard_negatives}",
                )

    def _matrix(self, rebuilt: dict[str, frozenset[str]]) -> Iterator[Finding]:
        """The rebuilt matrix is the one that the recipe and the metadata describe."""
        spec, columns = self.spec, {d: c for d, (_, c) in self.state.holders.items()}
        relevant = self.judgements.relevant_documents
        owner: dict[int, str] = {}
        for doc_id in sorted(relevant & columns.keys()):
            column = columns[doc_id]
            if column < 0 or column in owner:
                also = [owner[column]] if column in owner else []
                yield _error(
                    "coordinates",
                    [doc_id, *also],
                    f"the metadata of document {doc_id} gives matrix column {column}"
                    + (f", which is that of {also[0]} too" if also else " to a relevant document"),
                )
            owner.setdefault(column, doc_id)
        twins: dict[frozenset[str], str] = {}
        for query_id, docs in rebuilt.items():
            # power_law may draw the same single document for several queries
            if docs and docs in twins and spec.row_sums[0] == spec.row_sums[1]:
                yield _error(
                    "twin-queries",
                    [twins[docs], query_id],
                    f"queries {twins[docs]} and {query_id} have the same relevant documents",
                )
            twins.setdefault(docs, query_id)
        if spec.common_documents is not None:
            yield from _shared(rebuilt, spec.common_documents)
        if spec.matrix_file is not None:
            yield from self._own_matrix(rebuilt, owner)

    def _own_matrix(
        self, rebuilt: dict[str, frozenset[str]], owner: dict[int, str]
    ) -> Iterator[Finding]:
        """A user's own matrix: row and column coordinates lead back to the lines of the file."""
        assert self.spec.matrix_file is not None
        rows: dict[str, set[str]] = {}
        columns: dict[str, int] = {}
        for line in self.spec.matrix_file.read_text("utf-8").splitlines()[1:]:
            if not line.strip():
                continue
            asking, document, score = line.split("\t")[:3]
            if float(score) > 0:
                rows.setdefault(asking, set()).add(document)
                columns.setdefault(document, len(columns))
        wanted = [
            {owner.get(columns[document]) for document in documents} for documents in rows.values()
        ]
        for query in self.judgements.queries:
            row = query.metadata.get("row", -1) if isinstance(query.metadata, dict) else -1
            if not 0 <= row < len(wanted) or rebuilt.get(query.query_id, set()) != wanted[row]:
                yield _error(
                    "matrix-file",
                    [query.query_id],
                    f"the relevant documents of query {query.query_id} are not those of row {row} "
                    f"of {self.spec.matrix_file.name}",
                )

    def _names(self) -> Iterator[Finding]:
        words = sorted(self.state.name_words)
        of_attributes = {s for a in self.spec.attributes for s in stems(tokens(a))}
        clashing = [w for w, stem in zip(words, stems([w.casefold() for w in words]), strict=True)
                    if stem in of_attributes]  # fmt: skip
        if clashing:
            yield _error(
                "names", [], f"name parts that are words of attributes too: {', '.join(clashing)}"
            )

    def _balance(self) -> Iterator[Finding]:
        """Attributes stand in equally many documents, documents are relevant equally often."""
        used = self.state.frequencies[self.state.frequencies > 0]
        if len(used) and used.min() != used.max():
            yield _error(
                "balance",
                [],
                f"attributes stand in {used.min()} to {used.max()} documents; in a balanced set "
                "all stand in the same number",
            )
        per_document = Counter(d for docs in self.judgements.positives.values() for d in docs)
        degrees = set(per_document.values())
        if len(per_document) != self.state.documents or len(degrees) != 1:
            least = min(degrees) if len(per_document) == self.state.documents else 0
            yield _error(
                "balance",
                [],
                f"documents are relevant to {least} to {max(degrees, default=0)} queries; in a "
                "balanced set all are relevant to the same number",
            )


class SurnameHalf(CorpusRule):
    """Test and train sets of one seed share no surname: SHA-256 of (seed, surname) decides."""

    name = "limit-names"

    def __init__(self, proof: LimitProof, seed: int, split: str) -> None:
        self.proof = proof
        self.seed = seed
        self.split = split
        self.start()

    def start(self) -> None:
        self.state: _Wrong = _Wrong()
        self._known: dict[str, bool] = {}

    def scan(self, batch: Batch) -> None:
        known = self._known
        for doc_id, (name, _) in zip(batch.ids, self.proof.parsed(batch), strict=True):
            surname = name.rpartition(" ")[2]
            right = known.get(surname)
            if right is None:
                digest = hashlib.sha256(f"{self.seed}\n{surname}".encode()).digest()
                right = known[surname] = ("test", "train")[digest[0] & 1] == self.split
            if not right and surname:
                self.state.broken.append((doc_id, surname))

    def findings(self) -> Iterator[Finding]:
        for doc_id, surname in self.state.broken:
            yield _error(
                "names",
                [doc_id],
                f"document {doc_id}: the surname {surname} is not of the {self.split} half",
            )


@dataclass
class _Wrong(State):
    broken: list[tuple[str, str]] = field(default_factory=list)

    def merge(self, later: Self, offset: int) -> None:
        self.broken += later.broken


def proof_rules(spec: Spec, judgements: Judgements) -> list[CorpusRule]:
    """All rules of the proof: labels, unique names, order, halves of the surnames."""
    proof = LimitProof(spec, judgements)

    def names(batch: Batch) -> list[str]:
        both = zip(proof.parsed(batch), batch.texts, strict=True)
        return [name.casefold() or text for (name, _), text in both]

    rules: list[CorpusRule] = [
        proof,
        Duplicates("limit-proof/names", "error", "name, apart from case,", names),
        OrderLeak(judgements, "error"),
    ]
    if spec.surname_half is not None:
        rules.append(SurnameHalf(proof, *spec.surname_half))
    return rules


def _error(kind: str, ids: Iterable[str], message: str) -> Finding:
    return Finding(f"limit-proof/{kind}", "error", list(ids), message)


def _cut(template: str) -> Template:
    head, _, rest = template.partition("{name}")
    middle, _, tail = rest.partition("{attributes}")
    return Template(head, middle, tail)


def _parse_queries(
    spec: Spec, judgements: Judgements
) -> tuple[dict[str, tuple[int, ...]], list[Finding]]:
    """What each query asks for, as attribute ids, and the queries that cannot be read."""
    asked: dict[str, tuple[int, ...]] = {}
    errors: list[Finding] = []
    sought: dict[tuple[int, ...], str] = {}
    for query in judgements.queries:
        words = None
        for template in spec.query_templates:
            head, _, tail = template.partition("{attributes}")
            if query.text.startswith(head) and query.text.endswith(tail):
                words = query.text[len(head) : len(query.text) - len(tail)].split(" and ")
                if all(word in spec.attributes for word in words):
                    break
        where = f"query {query.query_id}"
        if words is None:
            reason = "its text follows none of the query templates"
        elif unknown := [word for word in words if word not in spec.attributes]:
            reason = f"{unknown[0]!r} is no attribute of the catalogue's part that the recipe uses"
        elif len(set(words)) != spec.asks or len(words) != spec.asks:
            reason = f"it asks for {len(words)} attributes, not {spec.asks}"
        else:
            terms = tuple(spec.attributes[word] for word in words)
            noted = query.metadata.get("attributes") if isinstance(query.metadata, dict) else None
            if noted != list(terms):
                message = f"{where}: the attribute ids in its metadata are not those of its words"
                errors.append(_error("query", [query.query_id], message))
            key = tuple(sorted(terms))
            if key in sought:
                message = f"queries {sought[key]} and {query.query_id} ask for the same"
                errors.append(_error("query", [sought[key], query.query_id], message))
            sought.setdefault(key, query.query_id)
            asked[query.query_id] = terms
            continue
        errors.append(_error("query", [query.query_id], f"{where}: {reason}"))
    return asked, errors


def _shared(rebuilt: dict[str, frozenset[str]], common: int) -> Iterator[Finding]:
    """Any two queries share exactly `common` documents, counted through an incidence matrix."""
    ids = list(rebuilt)
    columns = {d: j for j, d in enumerate(sorted({d for docs in rebuilt.values() for d in docs}))}
    incidence = np.zeros((len(ids), len(columns)), np.float32)
    for i, query_id in enumerate(ids):
        incidence[i, [columns[d] for d in rebuilt[query_id]]] = 1
    shared = incidence @ incidence.T
    np.fill_diagonal(shared, common)
    for i, j in np.argwhere(np.triu(shared != common)).tolist():
        yield _error(
            "common-documents",
            [ids[i], ids[j]],
            f"queries {ids[i]} and {ids[j]} share {int(shared[i, j])} documents, not {common}",
        )


def hadamard_common(order: int) -> int:
    """Documents that any two queries of the Hadamard pattern share: (n - 2 sqrt n) / 4."""
    return (order - 2 * math.isqrt(order)) // 4
