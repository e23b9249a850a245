"""The heart of the proof: documents are parsed back, and the qrels are rebuilt from their words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.tokenizer import STOPWORDS, stems, tokens
from retgen.validators.baselines import TermRule, TermSpool
from retgen.validators.limit.questions import (
    OperatorQuestion,
    answers_of,
    check_factorial,
    read_questions,
)
from retgen.validators.limit.spec import (
    LimitSpec,
    Speller,
    cut_template,
    error,
    parse_queries,
    stems_by_attribute,
)
from retgen.validators.limit.structure import (
    AttributeLists,
    EqualLists,
    attribute_hashes,
    check_matrix,
)
from retgen.validators.rule import Batch, Finding, Judgements


@dataclass
class _ProofState(TermSpool):
    """What the documents were found to say."""

    broken: list[tuple[str, str]] = field(default_factory=list)  # (document, what is wrong)
    # documents with a queried attribute -> (those attributes, column in the metadata)
    holders: dict[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)
    lists: AttributeLists = field(default_factory=AttributeLists)


class _Reading(NamedTuple):
    """What the texts of a batch say."""

    names: list[str]
    terms: NDArray[np.int64]  # (sum of counts,), -1 for what is no attribute
    counts: NDArray[np.uint32]  # (documents,) attributes of each
    rows: list[list[str]] | None  # the attributes; None where they are what the metadata spells
    lengths: NDArray[np.int64] | None = None  # (documents,) characters and words of each,
    words: NDArray[np.int64] | None = None  # where they are known


class LimitProof(TermRule):
    """Rebuilds the qrels of a LIMIT data set from its words and compares."""

    name = "limit-proof"
    state: _ProofState

    def __init__(self, spec: LimitSpec, judgements: Judgements) -> None:
        self.spec = spec
        self.judgements = judgements
        self.vocabulary = max(spec.attributes.values(), default=0) + 1
        self.templates = [cut_template(template) for template in spec.document_templates]
        self.questions: dict[str, OperatorQuestion] = {}
        if spec.factorial is None:
            self.asked, self.query_errors = parse_queries(spec, judgements)
        else:
            self.questions, self.query_errors = read_questions(spec, judgements)
            self.asked = {one: question.attributes for one, question in self.questions.items()}
        # the last place is that of -1, which is no attribute
        self.queried = np.zeros(self.vocabulary + 1, bool)
        for terms in self.asked.values():
            self.queried[list(terms)] = True
        self.listed = {
            query.query_id: query.facts.get("hard_negatives") for query in judgements.queries
        }
        self.stemmed = stems_by_attribute(spec.attributes)
        self.spread: list[tuple[str, str]] = []
        self.mixed = attribute_hashes(self.vocabulary)
        self.twins = EqualLists(spec, self.queried, self.mixed)
        # (query, attributes, their words)
        self._risky: list[tuple[str, set[str], frozenset[str]]] = []
        self._speller = (
            Speller(self.templates[0], spec.attributes, spec.attributes_per_doc)
            if len(self.templates) == 1
            else None
        )
        self._read: tuple[Batch, _Reading] | None = None
        self.start()

    def start(self) -> None:
        self.state = _ProofState(self.vocabulary)

    # --- reading documents back -------------------------------------------------------------

    def parse(self, text: str) -> tuple[str, list[str]] | None:
        """The name and the attributes that a text states; None where no template fits.

        Where several templates fit, the reading whose attributes are all known is taken.
        """
        reading = None
        for head, middle, tail in self.templates:
            if text.startswith(head) and text.endswith(tail):
                name, result, listed = text[len(head) : len(text) - len(tail)].partition(middle)
                if result and name:
                    start, both, last = listed.rpartition(" and ")
                    reading = name, [*start.split(", "), last] if both else [last]
                    if len(self.templates) == 1 or all(
                        attribute in self.spec.attributes for attribute in reading[1]
                    ):
                        break
        return reading

    def parse_batch(self, batch: Batch) -> list[tuple[str, list[str]]]:
        """Name and attributes of every document; empty where no template fits."""
        return [self.parse(text) or ("", []) for text in batch.texts]

    def names(self, batch: Batch) -> list[str]:
        """The name in every document; empty where no template fits."""
        return self._reading(batch).names

    def _reading(self, batch: Batch) -> _Reading:
        if self._read is None or self._read[0] is not batch:  # several rules ask for it
            self._read = batch, self._read_anew(batch)
        return self._read[1]

    def _read_anew(self, batch: Batch) -> _Reading:
        spelled = self._speller.read(batch) if self._speller is not None else None
        if spelled is not None:
            counts = np.full(len(batch), spelled.terms.shape[1], np.uint32)
            terms = spelled.terms.ravel()
            return _Reading(spelled.names, terms, counts, None, spelled.lengths, spelled.words)
        both = self.parse_batch(batch)
        rows = [listed for _, listed in both]
        flat = map(self.spec.attributes.get, chain.from_iterable(rows), repeat(-1))
        terms = np.array(list(flat), np.int64)
        counts = np.fromiter(map(len, rows), np.uint32, len(rows))
        return _Reading([name for name, _ in both], terms, counts, rows)

    def scan(self, batch: Batch) -> None:
        spec, state = self.spec, self.state
        names, terms, counts, rows, lengths, words = self._reading(batch)
        if not all(names):
            state.broken += [
                (doc_id, "its text follows none of the document templates")
                for doc_id, name in zip(batch.ids, names, strict=True)
                if not name
            ]
        if not _all_numbered(batch.ids):
            strange = [i for i in batch.ids if i[:1] != "d" or not i[1:].isdigit()]
            state.broken += [
                (i, "its id is not 'd' and digits, so it may reveal something") for i in strange
            ]
        ends = np.cumsum(counts, dtype=np.int64)
        valid = terms >= 0
        suspects = np.flatnonzero(counts != spec.attributes_per_doc).tolist()
        if not valid.all():
            unknown = np.searchsorted(ends, np.flatnonzero(~valid), "right")
            suspects += np.unique(unknown).tolist()
        if not suspects:
            matrix = np.sort(terms.reshape(len(batch), -1), axis=1)
            suspects += np.flatnonzero((matrix[:, 1:] == matrix[:, :-1]).any(axis=1)).tolist()
        if suspects:
            listed = rows if rows is not None else [row for _, row in self.parse_batch(batch)]
            for index in sorted(set(suspects)):
                if listed[index]:
                    self._explain(batch.ids[index], listed[index])
        self._metadata(batch, None if rows is None else terms.tolist(), counts)
        if any(batch.titles):
            for doc_id, title in zip(batch.ids, batch.titles, strict=True):
                if title:
                    state.broken.append((doc_id, f"its title is {title!r}, not empty"))
        hit = self.queried[terms] & valid
        state.lists.add(self.mixed[terms], counts.astype(np.int64), hit)
        result: dict[int, list[int]] = defaultdict(list)
        places = np.flatnonzero(hit)
        owners = np.searchsorted(ends, places, "right")
        for owner, term in zip(owners.tolist(), terms[places].tolist(), strict=True):
            result[owner].append(term)
        columns = _columns(batch.metadata)
        for owner, held in result.items():
            state.holders[batch.ids[owner]] = (tuple(held), columns[owner])
        if columns.count(-1) != len(columns):
            for doc_id, column in zip(batch.ids, columns, strict=True):
                if column != -1 and doc_id not in self.judgements.relevant_documents:
                    state.broken.append(
                        (
                            doc_id,
                            f"its metadata gives matrix column {column}, but no query "
                            "names it: that of a distractor is -1",
                        )
                    )
        if suspects:
            kept = np.concatenate([[0], np.cumsum(valid)])
            counts = np.diff(kept[np.append(0, ends)]).astype(np.uint32)
            terms = terms[valid]
        self.spool(
            batch,
            counts,
            terms.astype(np.uint32),
            distinct=not suspects,
            lengths=lengths,
            words=words,
        )

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

    def _metadata(self, batch: Batch, flat: list[int] | None, counts: NDArray[np.uint32]) -> None:
        """The attribute ids in the metadata are those of the words, in the same order.

        `flat`: those of the words; None where the texts were read by comparing the two.
        """
        if flat is not None or max(map(len, batch.metadata)) > 2:
            self.state.broken += [
                (doc_id, "its metadata holds more than attributes and column")
                for doc_id, metadata in zip(batch.ids, batch.metadata, strict=True)
                if isinstance(metadata, dict) and len(metadata) > 2
            ]
        if flat is None:
            return
        noted = [m.get("attributes") if isinstance(m, dict) else None for m in batch.metadata]
        try:
            stated = list(chain.from_iterable(noted))  # type: ignore[arg-type]
            lengths = list(map(len, noted))  # type: ignore[arg-type]
            if stated == flat and lengths == counts.tolist() and set(map(type, stated)) <= {int}:
                return
        except TypeError:
            pass
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        for index, doc_id in enumerate(batch.ids):
            right = flat[starts[index] : starts[index + 1]]
            here = noted[index]
            if here != right or set(map(type, here)) != {int}:
                self.state.broken.append(
                    (doc_id, "the attribute ids in its metadata are not those of its words")
                )

    # --- words spread over several attributes -----------------------------------------------

    def suspicious(self) -> bool:
        """Where an asked attribute's words all stand in other attributes too, or sets are equal."""
        words = {
            attribute: frozenset(stem for word, stem in parts if word not in STOPWORDS)
            for attribute, parts in self.stemmed.items()
        }
        owners: dict[str, set[str]] = defaultdict(set)
        for attribute, parts in words.items():
            for part in parts:
                owners[part].add(attribute)
        by_id = {i: a for a, i in self.spec.attributes.items()}
        self._risky = []
        for query_id, terms in self.asked.items():
            asked = {by_id[t] for t in terms}
            risky = [a for a in asked if all(owners[part] - {a} for part in words[a])]
            if query_id in self.questions:  # any single attribute may decide there
                self._risky += [(query_id, {a}, words[a]) for a in risky if words[a]]
            elif risky:
                needed = frozenset().union(*(words[a] for a in asked))
                self._risky += [(query_id, asked, needed)] if needed else []
        self.twins.repeated = self.state.lists.repeated_hashes()
        return bool(self._risky or self.twins.repeated)

    def confirm(self, batch: Batch) -> None:
        both = self.parse_batch(batch)
        self.twins.look(batch, both)
        if not self._risky:
            return
        for doc_id, (_, listed) in zip(batch.ids, both, strict=True):
            here = frozenset(stems([word for a in listed for word in tokens(a)]))
            for query_id, attributes, needed in self._risky:
                if needed <= here and not attributes.issubset(listed):
                    self.spread.append((query_id, doc_id))

    # --- the verdict ------------------------------------------------------------------------

    def query_terms(self) -> list[NDArray[np.int64]]:
        return [np.array(terms, np.int64) for terms in self.asked.values()]

    def findings(self) -> Iterator[Finding]:
        state, spec = self.state, self.spec
        yield from self.query_errors
        for doc_id, reason in state.broken:
            yield error("document", [doc_id], f"document {doc_id}: {reason}")
        yield from self._sizes()
        yield from self._labels()
        for query_id, doc_id in self.spread:
            yield error(
                "spread-words",
                [query_id, doc_id],
                f"document {doc_id} holds all words of "
                + ("an attribute of " if query_id in self.questions else "")
                + f"query {query_id} spread over several attributes but "
                + ("not that one: drop" if query_id in self.questions else "is not relevant: drop")
                + " one of those attributes from the list",
            )
        yield from self.twins.findings(state.documents)
        yield from state.lists.check_order(list(state.holders))
        if spec.balanced:
            yield from self._balance()

    def _sizes(self) -> Iterator[Finding]:
        spec = self.spec
        if self.state.documents != spec.documents:
            yield error(
                "counts", [], f"{self.state.documents} documents, the recipe says {spec.documents}"
            )
        if len(self.judgements.queries) != spec.queries:
            yield error(
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
            result = set.intersection(*(by_attribute[term] for term in terms))
            if query_id in self.questions:
                result = answers_of(self.questions[query_id], by_attribute)
            rebuilt[query_id] = frozenset(result)
            stated = judgements.positives.get(query_id, [])
            for doc_id in sorted(result.difference(stated)):
                yield error(
                    "qrels",
                    [query_id, doc_id],
                    f"document {doc_id} holds what query {query_id} asks for, but qrels does not "
                    "say that it is relevant",
                )
            for doc_id in sorted(set(stated) - result):
                yield error(
                    "qrels",
                    [query_id, doc_id],
                    f"qrels says that document {doc_id} is relevant to query {query_id}, but its "
                    "text does not hold what the query asks for",
                )
            if not least <= len(stated) <= most:
                bound = str(least) if least == most else f"{least} to {most}"
                yield error(
                    "row-sum",
                    [query_id, *stated],
                    f"query {query_id} has {len(stated)} relevant documents, not {bound}",
                )
            if spec.hard_negatives:
                yield from self._hard_negatives(query_id, terms, by_attribute)
        for qrel in judgements.qrels:
            if qrel.relevance not in (0, 1):
                yield error(
                    "relevance",
                    [qrel.query_id, qrel.doc_id],
                    f"the relevance of ({qrel.query_id}, {qrel.doc_id}) is {qrel.relevance:g}; "
                    "in this family it is 0 or 1",
                )
        yield from check_factorial(spec, judgements, self.questions, by_attribute)
        columns = {doc_id: column for doc_id, (_, column) in holders.items()}
        yield from check_matrix(spec, judgements, rebuilt, columns)

    def _hard_negatives(
        self, query_id: str, terms: tuple[int, ...], by_attribute: dict[int, set[str]]
    ) -> Iterator[Finding]:
        """Each condition is met alone in so many documents, which the metadata lists."""
        union: set[str] = set()
        for term in terms:
            alone = by_attribute[term].difference(*[by_attribute[t] for t in terms if t != term])
            if len(alone) < self.spec.hard_negatives:
                yield error(
                    "hard-negatives",
                    [query_id, *sorted(alone)],
                    f"query {query_id} has {len(alone)} documents with only attribute {term}, "
                    f"not {self.spec.hard_negatives}",
                )
            union |= alone
        listed = self.listed.get(query_id)
        if listed != sorted(union):
            yield error(
                "hard-negatives",
                [query_id, *(listed or [])],
                f"the hard negatives in the metadata of query {query_id} are not the documents "
                "that hold exactly one of its attributes",
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


def _all_numbered(ids: Sequence[str]) -> bool:
    """Whether all ids are 'd' and digits, seen of all of them at once."""
    joined = "".join(ids)
    return (
        min(map(len, ids)) > 1
        and all(map(str.startswith, ids, repeat("d")))
        and joined.count("d") == len(ids)  # nowhere but in front
        and joined.replace("d", "").isdigit()
    )


def _columns(metadata: Sequence[Any]) -> list[int]:
    """The matrix columns that metadata give: -1 where one gives none, -2 where it is no number."""
    try:
        columns = [one.get("column", -1) for one in metadata]
    except AttributeError:
        columns = [one.get("column", -1) if isinstance(one, dict) else -1 for one in metadata]
    if set(map(type, columns)) <= {int}:
        return columns
    return [column if type(column) is int else -2 for column in columns]
