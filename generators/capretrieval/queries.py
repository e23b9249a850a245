"""Queries are filtered, merged, labelled, split and given negatives of the same corpus.

A filter says what goes, by which rule and why.

What is scored (test, dev) has to be found by its words alone, as far as words can tell: no
retriever that may be scored decides which queries stay.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgen import data
from retgen.agents.report import Rejection, Rejections
from retgen.generators.capretrieval.language import fold_text, stems_of, stopwords
from retgen.generators.capretrieval.params import CapRetrievalParams, QueryCounts
from retgen.generators.capretrieval.passages import (
    FOUND,
    Codes,
    Corpus,
    PassageLabels,
    PassageQuery,
    WordIndex,
    shown_text,
    term_codes,
)
from retgen.generators.params import Job
from retgen.on_disk import DiskList, MappedList
from retgen.streams import Stream
from retgen.tokenizer import STOPWORDS, sequence
from retgen.validators.similar import matches, query_sets

if TYPE_CHECKING:
    from retgen.agents.context import Context

FEW = 10  # documents that have one query at least, if a poor one
FROM_ONE = 20  # queries that a document may give, however few others there are
COMMON = 0.05  # of the passages; a query of more finds a list and no passage
_COUNTS = ("queries", "negatives", "drawn", "left_out")
_QUERIES = 1024  # that negatives are drawn for at a time
PER_DOCUMENT = 0.1  # of a split's queries that one document may give

Faults = dict[int, tuple[str, str]]  # by a query's place: the rule that drops it, and why
Changeable = DiskList[PassageQuery] | list[PassageQuery]


def without(
    queries: Sequence[PassageQuery], faults: Faults, corpus: Corpus, rejected: Rejections
) -> Sequence[PassageQuery]:
    """The queries less those with a fault, which are rejected."""
    for number in sorted(faults):
        one = queries[number]
        record = {"passage": corpus.passages[one.passage].id, "set": one.set, "kind": one.kind}
        rejected.append(Rejection(*faults[number], record | {"text": one.text}))
    return chosen(queries, (i for i in range(len(queries)) if i not in faults))


def chosen(queries: Sequence[PassageQuery], numbers: Iterable[int]) -> Sequence[PassageQuery]:
    """The queries of some numbers."""
    return MappedList(queries.__getitem__, array("q", numbers))


# --- what is scored -------------------------------------------------------------------------------


def poor_queries(
    queries: Sequence[PassageQuery], corpus: Corpus, wanted: QueryCounts
) -> tuple[Faults, bool]:
    """Queries of test and dev that other documents answer, as far as words can tell, that score
    below `wanted.quality`, or that say nothing; and whether a split has so few others, none or less
    than one for `FEW` documents, that the best of these stay.
    """
    scored = [i for i, one in enumerate(queries) if corpus.splits[one.passage] != "train"]
    ambiguous = _ambiguous(chosen(queries, scored), corpus, wanted.relevant)
    faults = {scored[place]: ("query/ambiguous", why) for place, why in ambiguous.items()}
    for i in scored:
        if i not in faults and (low := _low_quality(queries[i], wanted.quality)):
            faults[i] = "query/quality", low
    is_scarce = False
    for split in ("test", "dev"):
        own = [i for i in scored if corpus.splits[queries[i].passage] == split]
        poor = [i for i in own if i in faults]
        both = zip(corpus.document_of, corpus.splits, strict=True)
        documents = len({document for document, its in both if its == split})
        lacking = max(0, max(1, documents // FEW) - (len(own) - len(poor)))
        poor.sort(key=lambda i: (faults[i][0] == "query/ambiguous", -queries[i].score))
        for i in poor[:lacking]:
            del faults[i]
            is_scarce = True
    return faults, is_scarce


def _low_quality(one: PassageQuery, least: float) -> str:
    """Why a query is not good enough for a score of at least so much, "" where it is."""
    if one.evidence == "rules" and one.score < least:
        return f"its score is below {least:g}"
    if one.evidence == FOUND and not one.score:
        return "it does not say what it is about"
    return ""


def _ambiguous(queries: Sequence[PassageQuery], corpus: Corpus, most: int) -> dict[int, str]:
    """The queries by rules and people whose words other documents hold all: any for a query by
    rules, more than `most` for words that people wrote, since a title or a heading says what its
    document is about. A text that several queries share is ambiguous only if all of them are.
    """
    owners, passages = np.array(corpus.document_of), corpus.passages
    languages = [passages[one.passage].language for one in queries]
    words = [content_codes(one.text, its) for one, its in zip(queries, languages, strict=True)]
    index, faults, by_text = (
        WordIndex(corpus.stems, words),
        dict[int, str](),
        dict[str, list[int]](),
    )
    for number, one in enumerate(queries):
        by_text.setdefault(fold_text(one.text, languages[number]), []).append(number)
        if one.evidence == "model":
            continue
        holding = owners[index.holding(words[number])].tolist()
        others = {*holding} - {int(owners[one.passage])}
        if len(others) > (most if one.evidence == FOUND else 0):
            what = "another document" if len(others) == 1 else f"{len(others):,} other documents"
            faults[number] = f"its words stand in {what}"
    shared = [same for same in by_text.values() if all(number in faults for number in same)]
    return {number: faults[number] for same in shared for number in same}


# --- labels, splits, counts -----------------------------------------------------------------------


def select_queries(
    queries: Sequence[PassageQuery],
    corpus: Corpus,
    counts: QueryCounts,
    labels: PassageLabels,
    rejected: Rejections,
) -> DiskList[PassageQuery]:
    """The queries that are kept, with positives and split; found ones first.

    A text is one query, whoever it was written for first. Positives are the passages of the same
    split that `labels` calls relevant. Dropped are texts of too many passages or documents; queries
    of a held-out split whose text was written for a document of another one, or whose keyword
    stands there, since documents of two splits would share a query; and what is more than a passage
    may have.
    """
    passages, split = corpus.passages, corpus.splits
    most = max(1, min(counts.relevant, int(COMMON * len(passages))))
    kept, faults = DiskList[PassageQuery](), Faults()
    room = {FOUND: counts.found, "KW": counts.keywords, "SM": counts.summaries}
    taken = {name: array("q", bytes(8 * len(passages))) for name in room}  # of passages

    def has_room(one: PassageQuery) -> bool:
        """What people wrote takes the place of keywords."""
        found = taken[FOUND][one.passage] if one.set == "KW" else 0
        return taken[one.set][one.passage] + found < room[one.set]

    for same in _by_text(queries, corpus):
        one = queries[same[0]]
        spans = ((passages[queries[j].passage].source, *queries[j].span) for j in same)
        one.rests_on = list(dict.fromkeys(spans))
        if one.evidence == FOUND:
            one.passage = labels.holding(one.rests_on[0])[0]
        everyone = labels.relevant(one.phrase(), one.rests_on)
        one.split = split[one.passage]
        elsewhere = {split[j] for j in everyone} - {one.split}
        if len(everyone) > most:
            reason = f"{len(everyone):,} passages hold it, more than {most:,}"
            faults[same[0]] = "query/common", reason
        elif elsewhere and one.split != "train":
            reason = f"it belongs to documents of {', '.join(sorted(elsewhere))} too"
            faults[same[0]] = "query/split", reason
        elif has_room(one):
            taken[one.set][one.passage] += 1
            one.positives = sorted(j for j in everyone if split[j] == one.split)
            kept.append(one)
    without(queries, faults, corpus, rejected)
    return kept


def _by_text(queries: Sequence[PassageQuery], corpus: Corpus) -> Iterator[list[int]]:
    """The numbers of the queries of each folded text, ascending; found ones first."""
    if not queries:
        return
    languages = (corpus.passages[one.passage].language for one in queries)
    texts = (fold_text(one.text, its) for one, its in zip(queries, languages, strict=True))
    codes = term_codes(texts)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, codes[order][1:] != codes[order][:-1]))
    firsts = order[starts]
    found = np.array([queries[i].evidence == FOUND for i in firsts.tolist()])
    ends = np.append(starts[1:], len(order))
    for group in np.lexsort((firsts, ~found)).tolist():
        yield order[starts[group] : ends[group]].tolist()


def crowded(kept: Sequence[PassageQuery], corpus: Corpus) -> Faults:
    """The queries that one document has too many of for its split: the lowest scores, of rules
    first, what people wrote last.

    A document may give `PER_DOCUMENT` of the queries that are left in its split; twice an equal
    part where documents are few, and `FROM_ONE` in any case.
    """
    order = ("rules", "model", FOUND)
    splits = np.array([one.split for one in kept], np.str_)
    rank = np.array([order.index(one.evidence) for one in kept])
    score = np.array([one.score for one in kept])
    documents = term_codes(corpus.passages[one.passage].source for one in kept)
    faults = Faults()
    for split in sorted(set(splits.tolist())):
        own = np.flatnonzero(splits == split)
        _, document, sizes = np.unique(documents[own], return_inverse=True, return_counts=True)
        part, most, before = max(PER_DOCUMENT, 2 / len(sizes)), len(kept), 0
        while most != before:  # fewer queries, of which the share is less
            before = most
            total = int(np.minimum(sizes, most).sum())
            most = min(most, max(FROM_ONE, int(part * total)))
        reason = f"its document has more than {most:,} of the {total:,} that split {split} keeps"
        ranked = np.lexsort((score[own], rank[own], document))
        place = np.arange(len(own)) - (np.cumsum(sizes) - sizes)[document[ranked]]
        worst = own[ranked[place < sizes[document[ranked]] - most]]
        faults |= dict.fromkeys(worst.tolist(), ("query/document", reason))
    return faults


def near_duplicates(kept: Sequence[PassageQuery]) -> Faults:
    """Held-out queries that say nearly the same as one of another split."""
    splits = np.array([one.split for one in kept], np.str_)
    faults = Faults()
    for own, other in (("test", "dev"), ("test", "train"), ("dev", "train")):
        near = True
        while near:  # fewer queries weigh their words differently
            left = np.array([i not in faults for i in range(len(kept))], bool)
            sides = [np.flatnonzero(left & (splits == name)) for name in (own, other)]
            both = np.concatenate(sides).tolist()
            asked = (data.Query(str(i), kept[i].text, None) for i in both)
            pairs, _ = matches(query_sets(asked), len(sides[0]))
            for i, like in ((both[place], both[its]) for place, its in pairs.tolist()):
                reason = f"it says nearly the same as {kept[like].text!r} of split {other}"
                faults[i] = "query/split", reason
            near = len(pairs) > 0
    return faults


# --- words ----------------------------------------------------------------------------------------


def mark_sides(queries: Changeable, corpus: Corpus) -> None:
    """Say of each query whether a passage that answers it has any of its content words.

    A query of function words alone is lexical. In other languages than English every word counts,
    since who checks it knows no function words.
    """
    for number, one in enumerate(queries):
        if one.evidence == "rules":
            continue  # its words stand in its passage
        language = corpus.passages[one.passage].language
        content = content_codes(one.text, language).ravel()
        if language != "en":
            every = sequence(unicodedata.normalize("NFKC", one.text))
            content = np.concatenate([content, term_codes(every)])
        held = (corpus.stems[j] for j in one.positives)
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


def holds_all(asked: Codes, held: Codes) -> bool:
    """Whether a passage has all content words of a query, by their stems or as they are."""
    if not len(held):
        return not asked.size
    place = np.minimum(np.searchsorted(held, asked), len(held) - 1)
    return bool((held[place] == asked).any(axis=0).all())


# --- hard negatives -------------------------------------------------------------------------------


def mine_negatives(
    queries: Changeable, corpus: Corpus, job: Job[CapRetrievalParams], context: Context
) -> dict[str, Any]:
    """Give the training queries their negatives, drawn at random where mining gives too few.

    Left out are near-duplicates of a positive and passages that hold all content words of the
    query. Each query gets the same number, such that hardly one has fewer: these get none, and are
    not trained on. The figures are those of the queries that are trained on; `left_out`: negatives
    that a miner without looking would take.
    """
    settings = job.params.mine
    wanted, passages, document_of = settings.negatives, corpus.passages, corpus.document_of
    numbers = array("q", (i for i, one in enumerate(queries) if one.split == "train"))
    if not wanted or not numbers:
        return {"by": settings.by, **dict.fromkeys(_COUNTS, 0)}
    trained = chosen(queries, numbers)
    own = array("q", (number for number, split in enumerate(corpus.splits) if split == "train"))
    left_out = np.zeros(len(trained), np.int64)

    @lru_cache(1)  # a query's documents come one after the other
    def of_query(query: int) -> tuple[Codes, list[int]]:
        """Its content words, and the documents that answer it."""
        one = trained[query]
        content = content_codes(one.text, passages[one.passage].language)
        return content, [document_of[j] for j in one.positives]

    def is_excluded(query: int, document: int) -> bool:
        content, answering = of_query(query)
        number = document_of[own[document]]
        is_answer = holds_all(content, corpus.stems[own[document]])
        wrong = is_answer or corpus.wording.near(number, answering)
        left_out[query] += wrong
        return wrong

    from retgen.search.mining import mine

    positives = MappedList(lambda one: np.searchsorted(own, one.positives).tolist(), trained)
    mined = mine(
        MappedList(lambda i: shown_text(passages[i]), own),
        MappedList(lambda one: one.text, trained),
        positives,
        by=settings.by,
        count=wanted,
        depth=max(wanted, settings.depth),
        margin=settings.margin,
        excluded=is_excluded,
        engine=context.engine,
        progress=context.progress,
    )
    found = np.full((len(trained), wanted), -1)  # negatives, those that are mined first
    by_rank = np.zeros(len(trained), np.int64)
    drawn = _drawn(len(own), 4 * wanted, job.seed)
    for query, (best, more) in enumerate(zip(mined, drawn, strict=False)):
        by_rank[query] = len(best)
        known = {*best, *positives[query]}
        for document in more:
            if len(best) < wanted and document not in known and not is_excluded(query, document):
                best.append(document)
                known.add(document)
        found[query, : len(best)] = best
    counts = (found >= 0).sum(axis=1)
    each = int(np.sort(counts)[len(counts) // 10])
    used = np.flatnonzero(counts >= each)
    for i in used.tolist():
        one = trained[i]
        one.negatives = [own[j] for j in found[i, :each].tolist()]
        queries[numbers[i]] = one
    return {
        "by": settings.by,
        "queries": len(used),
        "negatives": each * len(used),
        "drawn": int(np.maximum(0, each - by_rank[used]).sum()),
        "left_out": int(left_out[used].sum()),
    }


def _drawn(documents: int, count: int, seed: int) -> Iterator[list[int]]:
    """So many documents at random for each query; `count` is a multiple of 4."""
    stream = Stream(seed, "capretrieval/negatives")
    while True:
        yield from stream.integers(documents, _QUERIES * count).reshape(_QUERIES, count).tolist()
