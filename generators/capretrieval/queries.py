"""From what agents have written to queries: checked, placed, merged, labelled, split."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from retgen import data
from retgen.agents.report import Rejection, Rejections
from retgen.generators.capretrieval.agents import SETS, Keyword, Kind, Queries, Summary, fault
from retgen.generators.capretrieval.language import fold_text, stems_of, stopwords, words_of
from retgen.generators.capretrieval.params import QueryCounts
from retgen.generators.capretrieval.passages import (
    Codes,
    Passage,
    PassageLabels,
    Span,
    Terms,
    term_codes,
)
from retgen.on_disk import DiskList, MappedList
from retgen.sources import whole_id
from retgen.tokenizer import STOPWORDS, sequence
from retgen.validators.similar import matches
from retgen.validators.wordsets import query_sets

FOUND = "found"  # the evidence of what people wrote, and its set
TWO: Kind = "two_documents"  # the kind of a question that needs two documents, and its set
FEW = 10  # documents that have one query at least, if a poor one
FROM_ONE = 20  # queries that a document may give, however few others there are


@dataclass(slots=True)
class PassageQuery:
    """A query, as sources/queries.jsonl has it.

    `passage`: number of the one it was written for. `span`: characters of the source document that
    it rests on. `evidence`: "found" where people wrote it, "rules" or "model". `score`: how much it
    tells of its passage, 0 to 1. `found_in`, `found_at`: the document that has its words, and
    characters of it; none where a title or a short form has them. `rests_on`: (document, start,
    stop) of all queries of this text, its own first; both of a question that needs two documents.
    `positives`: numbers of passages; `negatives`: mined ones. `side`: "nonlexical" where no
    positive has a content word of it, else "lexical".
    """

    text: str
    kind: str
    passage: int
    span: tuple[int, int]
    evidence: str = "model"
    score: float = 0.0
    found_in: str = ""
    found_at: Sequence[tuple[int, int]] = ()
    split: str = "train"
    side: str = "lexical"
    rests_on: Sequence[Span] = ()
    positives: Sequence[int] = ()
    negatives: Sequence[int] = ()

    @property
    def set(self) -> str:
        """The set that it belongs to: found, KW, SM or two_documents."""
        return FOUND if self.evidence == FOUND else SETS[cast(Kind, self.kind)]

    def phrase(self) -> Terms | None:
        """What a passage has to hold to be relevant, where that is enough."""
        is_phrase = self.kind in ("keyword", "phrase") and self.evidence != FOUND
        return tuple(words_of(self.text)) if is_phrase else None

    def to_json(self) -> dict[str, Any]:
        """A row of sources/queries.jsonl."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> PassageQuery:
        """The query of a row of sources/queries.jsonl."""
        spans = {
            "span": tuple(row["span"]),
            "found_at": [tuple(place) for place in row["found_at"]],
            "rests_on": [tuple(span) for span in row["rests_on"]],
        }
        return cls(**{**row, **spans})


Changeable = DiskList[PassageQuery] | list[PassageQuery]


def usable_queries(
    number: int,
    passage: Passage,
    answer: Queries,
    rejected: Rejections,
) -> Iterator[PassageQuery]:
    """The queries that a model wrote for a passage and that can be used, without repetitions."""
    seen: set[str] = set()
    whole = passage.start, passage.stop
    every: list[Keyword | Summary] = [*answer.keywords, *answer.summaries]
    for one in every:
        text = " ".join(one.text.split())
        reason = fault(one.kind, text, one.rests_on, passage.text, passage.language)
        if reason is None:
            key = fold_text(text, passage.language)
            if key in seen:
                continue
            seen.add(key)
            place = placed(passage, one.rests_on)
            yield PassageQuery(text, one.kind, number, place or whole)
        else:
            record = one.model_dump() | {"passage": passage.id, "set": SETS[one.kind]}
            rejected.append(Rejection("query/fault", reason, record))


def placed(passage: Passage, words: str) -> tuple[int, int] | None:
    """Where words stand, in characters of the source document."""
    if not words.strip():
        return None
    at = passage.text.find(words)
    if at < 0:
        pattern = r"\s+".join(map(re.escape, words.split()))
        match = re.search(pattern, passage.text, re.IGNORECASE)
        if match is None:  # the same but for width or script
            return None
        at, end = match.span()
    else:
        end = at + len(words)
    return passage.start + at, passage.start + end


def without_poor(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    ambiguous: Mapping[int, str],
    least: float,
    documents: int,
    rejected: Rejections,
) -> tuple[list[int], bool]:
    """The numbers of the queries less the `ambiguous` ones, the rules' queries that score below
    `least`, and what people wrote that scores nothing; and whether that left so few, none or less
    than one for `FEW` of so many documents, that the best of the others stay.
    """
    poor: dict[int, tuple[bool, float, bool]] = {}
    for i, one in enumerate(queries):
        is_low = bool(_low_quality(one, least))
        if i in ambiguous or is_low:
            poor[i] = i in ambiguous, -one.score, not is_low
    lacking = max(0, max(1, documents // FEW) - (len(queries) - len(poor)))
    gone = set(sorted(poor, key=poor.__getitem__)[lacking:])
    for i in sorted(gone):
        one = queries[i]
        rule, reason = "query/quality", _low_quality(one, least)
        if i in ambiguous:
            rule, reason = "query/ambiguous", ambiguous[i]
        rejected.append(dropped_query(rule, reason, one, passages[one.passage]))
    return [i for i in range(len(queries)) if i not in gone], len(gone) < len(poor)


def _low_quality(one: PassageQuery, least: float) -> str:
    """Why a query is not good enough for a score of at least so much, "" where it is."""
    if one.evidence == "rules" and one.score < least:
        return f"its score is below {least:g}"
    if one.evidence == FOUND and least and not one.score:
        return "it does not say what it is about"
    return ""


def select_queries(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    split: Sequence[str],
    counts: QueryCounts,
    labels: PassageLabels,
    rejected: Rejections,
) -> DiskList[PassageQuery]:
    """The queries that are kept, with positives and split; found ones first.

    `split`: of each passage. A text is one query, whoever it was written for first. Positives are
    the passages of the same split that `labels` calls relevant. Dropped are: keywords of too many
    passages, other texts of too many documents; queries of a held-out split whose text was written
    for a document of another one, or whose keyword stands there, since documents of two splits
    would share a query.
    """
    most = max(1, min(counts.relevant, int(counts.common * len(passages))))
    most_documents = max(1, int(counts.common * labels.documents))
    kept = DiskList[PassageQuery]()
    room = {FOUND: counts.found, "KW": counts.keywords, "SM": counts.summaries}
    taken = {name: array("q", bytes(8 * len(passages))) for name in room}  # of passages
    for same in _by_text(queries, passages):
        one = queries[same[0]]
        one.rests_on = list(dict.fromkeys(_span(queries[j], passages) for j in same))
        if one.evidence == FOUND:
            one.passage = labels.holding(one.rests_on[0])[0]
        passage, phrase = passages[one.passage], one.phrase()
        everyone = labels.relevant(phrase, one.rests_on)
        count, what, limit = len(everyone), "passages hold it", most
        if phrase is None:
            count, what = len({span[0] for span in one.rests_on}), "documents have it"
            limit = most_documents
        if count > limit and count > 1:
            reason = f"{count:,} {what}, more than {limit:,}"
            rejected.append(dropped_query("query/common", reason, one, passage))
            continue
        one.split = split[one.passage]
        if len(everyone) > counts.relevant and one.split != "train":
            reason = f"{len(everyone):,} passages answer it, more than {counts.relevant:,}"
            rejected.append(dropped_query("query/common", reason, one, passage))
            continue
        elsewhere = {split[j] for j in everyone} - {one.split}
        if elsewhere and one.split != "train":
            reason = f"it belongs to documents of {', '.join(sorted(elsewhere))} too"
            rejected.append(dropped_query("query/split", reason, one, passage))
            continue
        if _is_full(taken, one, room):
            continue
        taken[one.set][one.passage] += 1
        one.positives = sorted(j for j in everyone if split[j] == one.split)
        kept.append(one)
    return kept


def _by_text(queries: Sequence[PassageQuery], passages: Sequence[Passage]) -> Iterator[list[int]]:
    """The numbers of the queries of each folded text, ascending; found ones first."""
    if not queries:
        return
    codes = term_codes(fold_text(one.text, passages[one.passage].language) for one in queries)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, codes[order][1:] != codes[order][:-1]))
    firsts = order[starts]
    found = np.array([queries[i].evidence == FOUND for i in firsts.tolist()])
    ends = np.append(starts[1:], len(order))
    for group in np.lexsort((firsts, ~found)).tolist():
        yield order[starts[group] : ends[group]].tolist()


def _span(one: PassageQuery, passages: Sequence[Passage]) -> Span:
    return (passages[one.passage].source, *one.span)


def spread_queries(
    kept: Sequence[PassageQuery],
    passages: Sequence[Passage],
    share: float,
    rejected: Rejections,
) -> Sequence[PassageQuery]:
    """The queries less those that one document has too many of for its split: the lowest scores, of
    rules first, what people wrote last.

    A document may give `share` of the queries that are left in its split; twice an equal part where
    documents are few, and `FROM_ONE` in any case.
    """
    order = ("rules", "model", FOUND)
    splits = np.array([one.split for one in kept], np.str_)
    rank = np.array([order.index(one.evidence) for one in kept])
    score = np.array([one.score for one in kept])
    documents = term_codes(whole_id(passages[one.passage].source) for one in kept)
    gone: dict[int, str] = {}
    for split in sorted(set(splits.tolist())):
        own = np.flatnonzero(splits == split)
        _, document, sizes = np.unique(documents[own], return_inverse=True, return_counts=True)
        part, most, before = max(share, 2 / len(sizes)), len(kept), 0
        while most != before:  # fewer queries, of which the share is less
            before = most
            total = int(np.minimum(sizes, most).sum())
            most = min(most, max(FROM_ONE, int(part * total)))
        reason = f"its document has more than {most:,} of the {total:,} that split {split} keeps"
        ranked = np.lexsort((score[own], rank[own], document))
        place = np.arange(len(own)) - (np.cumsum(sizes) - sizes)[document[ranked]]
        worst = own[ranked[place < sizes[document[ranked]] - most]]
        gone |= dict.fromkeys(worst.tolist(), reason)
    for i, reason in sorted(gone.items()):
        rejected.append(dropped_query("query/document", reason, kept[i], passages[kept[i].passage]))
    return chosen(kept, (i for i in range(len(kept)) if i not in gone))


def chosen(queries: Sequence[PassageQuery], numbers: Iterable[int]) -> Sequence[PassageQuery]:
    """The queries of some numbers."""
    return MappedList(queries.__getitem__, array("q", numbers))


def _is_full(
    taken: Mapping[str, Sequence[int]], one: PassageQuery, room: Mapping[str, int]
) -> bool:
    """Whether a passage has as many queries of a set as it may. What is found takes the place of
    others, of keywords first.
    """
    own, found = taken[one.set][one.passage], taken[FOUND][one.passage]
    if one.evidence == FOUND:
        return own >= room[FOUND]
    more = max(0, found - room["KW"]) if one.set == "SM" else found
    return own >= room[one.set] - more


def mark_sides(queries: Changeable, passages: Sequence[Passage], stems: Sequence[Codes]) -> None:
    """Say of each query whether a passage that answers it has any of its content words.

    `stems`: of each passage, and its words, sorted. A query of function words alone is lexical. In
    other languages than English every word counts, since who checks it knows no function words.
    """
    for number, one in enumerate(queries):
        if one.evidence == "rules":
            continue  # its words stand in its passage
        language = passages[one.passage].language
        content = content_codes(one.text, language).ravel()
        if language != "en":
            every = sequence(unicodedata.normalize("NFKC", one.text))
            content = np.concatenate([content, term_codes(every)])
        held = (stems[j] for j in one.positives)
        if content.size and not any(np.isin(content, terms).any() for terms in held):
            one.side = "nonlexical"
            queries[number] = one


def content_codes(text: str, language: str) -> NDArray[np.uint64]:
    """(2, n) numbers of a query's content words: of their stems, and as they are, since a passage
    of another language has other stems, and a Japanese one the characters that Chinese simplifies.
    Of all words where no word has content.
    """
    stops = STOPWORDS if language == "en" else stopwords(language)
    typed = sequence(unicodedata.normalize("NFKC", text))
    stems = dict(zip(typed, stems_of(text, language), strict=True))
    folded = dict(zip(typed, sequence(fold_text(text, language)), strict=True))
    content = [one for one in stems if folded[one] not in stops] or list(stems)
    return np.stack([term_codes([stems[one] for one in content]), term_codes(content)])


def missing_words(asked: Codes, held: Codes) -> int:
    """How many content words of a query a passage lacks, by their stems or as they are."""
    if not len(held):
        return int(asked.shape[1])
    place = np.minimum(np.searchsorted(held, asked), len(held) - 1)
    return int(np.count_nonzero((held[place] != asked).all(axis=0)))


def drop_near_duplicates(
    kept: Sequence[PassageQuery], passages: Sequence[Passage], rejected: Rejections
) -> Sequence[PassageQuery]:
    """The queries less held-out ones that say nearly the same as one of another split."""
    splits = np.array([one.split for one in kept], np.str_)
    left = np.ones(len(kept), bool)
    for own, other in (("test", "dev"), ("test", "train"), ("dev", "train")):
        near = True
        while near:  # fewer queries weigh their words differently
            sides = [np.flatnonzero(left & (splits == name)) for name in (own, other)]
            both = np.concatenate(sides).tolist()
            asked = (data.Query(str(i), kept[i].text, None) for i in both)
            pairs, _ = matches(query_sets(asked), len(sides[0]))
            for i, like in ((both[place], both[its]) for place, its in pairs.tolist()):
                reason = f"it says nearly the same as {kept[like].text!r} of split {other}"
                rejected.append(
                    dropped_query("query/split", reason, kept[i], passages[kept[i].passage])
                )
                left[i] = False
            near = len(pairs) > 0
    return chosen(kept, np.flatnonzero(left).tolist())


def dropped_query(rule: str, reason: str, one: PassageQuery, passage: Passage) -> Rejection:
    """The rejection of a query, by a rule."""
    record = {"passage": passage.id, "set": one.set, "kind": one.kind, "text": one.text}
    return Rejection(rule, reason, record)
