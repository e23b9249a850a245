"""From what agents have written to queries: checked, placed, merged, labelled, split."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from retgen import data
from retgen.agents.agent import Rejection
from retgen.agents.rejections import Rejections
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
            record = one.model_dump() | {"passage": passage.id}
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
    general: Mapping[int, str],
    least: float,
    documents: int,
    rejected: Rejections,
) -> tuple[list[PassageQuery], bool]:
    """The queries less the `general` ones, by number, the rules' queries that score below `least`,
    and what people wrote that scores nothing; and whether that left so few, none or less than one
    for `FEW` of so many documents, that the best of the others stay.
    """
    poor = {
        i: ("query/quality", reason) for i, one in enumerate(queries)
        if (reason := _low_quality(one, least))
    } | {i: ("query/general", reason) for i, reason in general.items()}  # fmt: skip
    lacking = max(0, max(1, documents // FEW) - (len(queries) - len(poor)))
    gone = set(sorted(poor, key=lambda i: (i in general, -queries[i].score))[lacking:])
    for i in sorted(gone):
        rejected.append(dropped_query(*poor[i], queries[i], passages[queries[i].passage]))
    return [one for i, one in enumerate(queries) if i not in gone], len(gone) < len(poor)


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
) -> list[PassageQuery]:
    """The queries that are kept, with positives and split; found ones first.

    `split`: of each passage. A text is one query, whoever it was written for first. Positives are
    the passages of the same split that `labels` calls relevant. Dropped are: keywords of too many
    passages, other texts of too many documents; queries of a held-out split whose text was written
    for a document of another one, or whose keyword stands there, since documents of two splits
    would share a query.
    """
    most = max(1, min(counts.relevant, int(counts.common * len(passages))))
    most_documents = max(1, int(counts.common * len({one.source for one in passages})))
    kept: list[PassageQuery] = []
    taken: Counter[tuple[int, str]] = Counter()
    room = {FOUND: counts.found, "KW": counts.keywords, "SM": counts.summaries}
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
        taken[one.passage, one.set] += 1
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
    kept: list[PassageQuery],
    passages: Sequence[Passage],
    share: float,
    rejected: Rejections,
) -> list[PassageQuery]:
    """The queries less those that one document has too many of for its split: the lowest scores, of
    rules first, what people wrote last.

    A document may give `share` of the queries that are left in its split; twice an equal part where
    documents are few, and `FROM_ONE` in any case.
    """
    order = ("rules", "model", FOUND)
    ranked: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i in sorted(range(len(kept)), key=lambda i: (order.index(kept[i].evidence), kept[i].score)):
        ranked[kept[i].split, whole_id(passages[kept[i].passage].source)].append(i)
    gone: dict[int, str] = {}
    for split in sorted({one.split for one in kept}):
        own = [numbers for (name, _), numbers in ranked.items() if name == split]
        part, most, before = max(share, 2 / len(own)), len(kept), 0
        while most != before:  # fewer queries, of which the share is less
            before = most
            total = sum(min(len(numbers), most) for numbers in own)
            most = min(most, max(FROM_ONE, int(part * total)))
        reason = f"its document has more than {most:,} of the {total:,} that split {split} keeps"
        gone |= dict.fromkeys((i for one in own for i in one[: max(0, len(one) - most)]), reason)
    for i, reason in sorted(gone.items()):
        rejected.append(dropped_query("query/document", reason, kept[i], passages[kept[i].passage]))
    return [one for i, one in enumerate(kept) if i not in gone]


def _is_full(
    taken: Mapping[tuple[int, str], int], one: PassageQuery, room: Mapping[str, int]
) -> bool:
    """Whether a passage has as many queries of a set as it may. What is found takes the place of
    others, of keywords first.
    """
    own, found = taken[one.passage, one.set], taken[one.passage, FOUND]
    if one.evidence == FOUND:
        return own >= room[FOUND]
    more = max(0, found - room["KW"]) if one.set == "SM" else found
    return own >= room[one.set] - more


def mark_sides(
    queries: Sequence[PassageQuery], passages: Sequence[Passage], stems: Sequence[Codes]
) -> None:
    """Say of each query whether a passage that answers it has any of its content words.

    `stems`: of each passage, and its words, sorted. A query of function words alone is lexical. In
    other languages than English every word counts, since who checks it knows no function words.
    """
    for one in queries:
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
    kept: list[PassageQuery], passages: Sequence[Passage], rejected: Rejections
) -> list[PassageQuery]:
    """The queries less held-out ones that say nearly the same as one of another split."""
    for own, other in (("test", "dev"), ("test", "train"), ("dev", "train")):
        near = [0]
        while near:  # fewer queries weigh their words differently
            sides = [
                [i for i, one in enumerate(kept) if one.split == name] for name in (own, other)
            ]
            asked = [data.Query(str(i), kept[i].text, None) for side in sides for i in side]
            pairs, _ = matches(query_sets(asked), len(sides[0]))
            near = [sides[0][place] for place, _ in pairs.tolist()]
            for i, (_, like) in zip(near, pairs.tolist(), strict=True):
                reason = f"it says nearly the same as {asked[like].text!r} of split {other}"
                rejected.append(
                    dropped_query("query/split", reason, kept[i], passages[kept[i].passage])
                )
            gone = set(near)
            kept = [one for i, one in enumerate(kept) if i not in gone]
    return kept


def dropped_query(rule: str, reason: str, one: PassageQuery, passage: Passage) -> Rejection:
    """The rejection of a query, by a rule."""
    return Rejection(rule, reason, {"passage": passage.id, "kind": one.kind, "text": one.text})
