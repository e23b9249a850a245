"""From what agents have written to queries: checked, placed, filtered, merged, labelled, split."""

from __future__ import annotations

import numpy as np

from retgen.agents.report import Rejection
from retgen.generators.capretrieval.agents import Keyword, Queries, Summary, usable_queries
from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.language import stems_of, words_of
from retgen.generators.capretrieval.params import QueryCounts
from retgen.generators.capretrieval.passages import (
    Corpus,
    Kind,
    Passage,
    PassageLabels,
    PassageQuery,
    term_codes,
)
from retgen.generators.capretrieval.queries import crowded, mark_sides, poor_queries, select_queries
from retgen.tokenizer import sequence
from retgen.validators.capretrieval.wording import wording

TEXT = "  A red kite flies over the  stone bridge.\nKites are light, bridges are heavy."
PASSAGE = Passage("d#2", "d", 100, 100 + len(TEXT), "Kites", TEXT, "en")


def keyword(text: str, rests_on: str | None = None, kind: Kind = "keyword") -> Keyword:
    return Keyword.model_validate({"kind": kind, "text": text, "rests_on": rests_on or text})


def test_a_query_rests_on_characters_of_the_document() -> None:
    rejected: list[Rejection] = []
    answer = Queries(
        keywords=[
            keyword("stone bridge", kind="phrase"),
            keyword("toy", "kite", "hypernym"),
            keyword("KITE", "kite"),
            keyword("kite"),  # the same
            keyword("tower"),
        ],
        summaries=[
            Summary(kind="summary", text="toy in the air", rests_on="A red kite flies over the"),
            Summary(kind="topics", text="kite bridge", rests_on=""),
            Summary(kind="question", text="What\n is light?", rests_on="Kites are light"),
        ],
    )
    queries = list(usable_queries(4, PASSAGE, answer, rejected))
    assert [(one.kind, one.text, one.span) for one in queries] == [
        ("phrase", "stone bridge", (129, 141)),
        ("hypernym", "toy", (108, 112)),
        ("keyword", "KITE", (108, 112)),
        ("summary", "toy in the air", (102, 127)),
        ("topics", "kite bridge", (100, 100 + len(TEXT))),
        ("question", "What is light?", (143, 158)),
    ]
    record = {"kind": "keyword", "text": "tower", "rests_on": "tower"}
    reason = "the passage does not hold 'tower'"
    assert rejected == [Rejection("query/fault", reason, record | {"passage": "d#2", "set": "KW"})]


def corpus_of(texts: list[str], split: list[str], sources: list[str] | None = None) -> Corpus:
    """Each text is a passage, and of a document by itself where `sources` name none."""
    names = sources or [f"d{number}" for number in range(len(texts))]
    passages = [
        Passage(f"{name}#{n}", name, 0, len(text), "", text, "en")
        for n, (name, text) in enumerate(zip(names, texts, strict=True))
    ]
    owners = [list(dict.fromkeys(names)).index(name) for name in names]
    words = [term_codes(words_of(text)) for text in texts]
    stems = [np.unique(term_codes(stems_of(text, "en") + sequence(text))) for text in texts]
    counts = CorpusCounts(len(texts))
    return Corpus(passages, owners, split, words, stems, wording(texts), counts)


def query(
    text: str, passage: int, kind: str = "keyword", evidence: str = "rules", score: float = 0.5
) -> PassageQuery:
    return PassageQuery(text, kind, passage, (0, 1), evidence, score)


def kept(
    queries: list[PassageQuery],
    texts: list[str],
    split: list[str],
    counts: QueryCounts | None = None,
    more: int = 40,
) -> tuple[list[tuple[str, str, list[int]]], list[tuple[str, str]]]:
    """Queries that stay, and what the others are rejected for. `more`: other passages."""
    rejected: list[Rejection] = []
    corpus = corpus_of([*texts, *(more * ["blue"])], [*split, *(more * ["train"])])
    phrases = {phrase for phrase in (one.phrase() for one in queries) if phrase}
    labels = PassageLabels(corpus.passages, corpus.words, phrases)
    result = select_queries(queries, corpus, counts or QueryCounts(), labels, rejected)
    return (
        [(one.text, one.split, one.positives) for one in result],
        [(one.rule, one.reason) for one in rejected],
    )


def test_every_passage_of_the_split_that_holds_a_keyword_is_a_positive() -> None:
    texts = ["a red kite", "one kite, two kites", "a red kite again", "many kites"]
    result = kept([query("kite", 0)], texts, ["train", "train", "test", "train"], more=60)
    assert result == ([("kite", "train", [0, 1])], [])


def test_a_held_out_query_of_two_splits_is_dropped() -> None:
    texts = ["a red kite", "one kite", "reds"]
    result = kept([query("kite", 0), query("red", 0)], texts, ["test", "train", "dev"])
    assert result == (
        [("red", "test", [0])],
        [("query/split", "it belongs to documents of train too")],
    )


def test_a_text_that_two_splits_share_is_one_query() -> None:
    # whoever was first: a training query stays one, without the held-out document
    same = [query("bird toys", 0, "summary"), query("Bird  Toys", 1, "summary")]
    texts = ["a red kite", "paper swans"]
    assert kept(same, texts, ["train", "test"]) == ([("bird toys", "train", [0])], [])
    same = [query("bird toys", 0, "summary"), query("Bird  Toys", 1, "summary")]
    assert kept(same, texts, ["test", "train"]) == (
        [],
        [("query/split", "it belongs to documents of train too")],
    )
    same = [query("bird toys", 0, "summary"), query("Bird  Toys", 1, "summary")]
    assert kept(same, texts, ["test", "test"]) == ([("bird toys", "test", [0, 1])], [])


def test_a_query_of_too_many_passages_is_dropped() -> None:
    texts, split = [f"kite {n}" for n in range(3)], 3 * ["train"]
    common = [("query/common", "3 passages hold it, more than 2")]
    assert kept([query("kite", 0)], texts, split) == ([], common)
    assert kept([query("kite", 0)], texts, split, more=57)[0] == [("kite", "train", [0, 1, 2])]
    many, none = (
        [f"kite {n}" for n in range(11)],
        [("query/common", "11 passages hold it, more than 10")],
    )
    assert kept([query("kite", 0)], many, 11 * ["train"], more=400) == ([], none)
    # a query that only its own passage holds is none too many, however few there are
    assert kept([query("kite", 0)], texts[:1], split[:1], more=0)[1] == []


def test_what_people_wrote_comes_first_and_takes_the_place_of_keywords() -> None:
    queries = [
        query("red", 0),
        query("kite", 0),
        query("blue toy", 0, "summary"),
        query("flying", 0, "heading", "found"),
    ]
    for keywords, summaries, left in (
        (3, 2, ["flying", "red", "kite", "blue toy"]),
        (2, 1, ["flying", "red", "blue toy"]),
        (1, 1, ["flying", "blue toy"]),
    ):
        counts = QueryCounts(keywords=keywords, summaries=summaries)
        assert [one[0] for one in kept(queries, ["a red kite"], ["train"], counts)[0]] == left


def left_of(of_each: list[int], sources: list[str] | None = None) -> tuple[list[int], set[str]]:
    """How many queries each document keeps, and why the others go; scores fall with the number."""
    corpus = corpus_of(len(of_each) * [""], len(of_each) * ["train"], sources)
    queries = [
        query(f"{n}", document, evidence="found" if n == 0 else "rules", score=1 / (n + 1))
        for document, count in enumerate(of_each)
        for n in range(count)
    ]
    faults = crowded(queries, corpus)
    left = [one for number, one in enumerate(queries) if number not in faults]
    by_document = [[one.text for one in left if one.passage == i] for i in range(len(of_each))]
    if sources is None:  # the best ones stay
        assert all(texts == [f"{n}" for n in range(len(texts))] for texts in by_document)
    return [len(texts) for texts in by_document], {reason for _, reason in faults.values()}


def test_one_document_does_not_give_most_of_the_queries() -> None:
    assert left_of([*(20 * [30]), 2000]) == (
        [*(20 * [30]), 66],
        {"its document has more than 66 of the 666 that split train keeps"},
    )
    # of few documents each may have twice an equal part, and twenty in any case
    assert left_of([1000, 50, 50, 50])[0] == [150, 50, 50, 50]
    assert left_of([1000, 1, 1, 1])[0] == [20, 1, 1, 1]
    # all passages of a document count
    names = ["long", "long", *(f"o{n}" for n in range(8))]
    assert sum(left_of([30, 30, *(8 * [1])], names)[0][:2]) == 20


KETTLES = [
    "The copper kettle boils.",
    "The copper kettle, copper kettle, copper kettle boils water at dawn.",
    "A windmill.",
]


def poor(
    queries: list[PassageQuery],
    texts: list[str],
    split: str = "test",
    sources: list[str] | None = None,
    **counts: float,
) -> tuple[dict[int, str], bool]:
    corpus = corpus_of(texts, len(texts) * [split], sources)
    faults, is_scarce = poor_queries(queries, corpus, QueryCounts.model_validate(counts))
    return {number: reason for number, (_, reason) in faults.items()}, is_scarce


def test_words_that_another_document_holds_make_a_query_by_rules_ambiguous() -> None:
    in_another = "its words stand in another document"
    good = [query("water dawn", 1), query("windmill", 2)]
    asked = [query("copper kettle", 0), query("kettles", 1), *good]  # by their stem
    assert poor(asked, KETTLES) == ({0: in_another, 1: in_another}, False)
    assert poor(asked, KETTLES, "train") == ({}, False)  # training takes every query
    # passages of the own document are no rivals, what people wrote may stand in some others
    assert poor(asked, KETTLES, sources=["a", "a", "b"]) == ({}, False)
    found = [query("copper kettle", 0, "heading", "found"), *good]
    assert poor(found, KETTLES) == ({}, False)
    # a text that one query may be scored by is not ambiguous for others
    assert poor([query("copper kettle", 1), *found], KETTLES) == ({}, False)
    # no ranking decides: BM25 ranks the longer text before the shorter one
    texts = ["Windmills, windmills and windmills.", "A windmill grinds wheat, not barley."]
    assert poor([query("grinds barley", 1), query("windmill wheat", 1)], texts) == ({}, False)


def test_poor_queries_of_rules_are_not_scored() -> None:
    queries = [
        query("a", 0, score=0.9),
        query("b", 0, score=0.2),
        query("e", 1, "summary", "found", score=0.1),
        query("f", 1, "summary", "found", score=0.0),
    ]
    assert poor(queries, ["red", "kite"]) == (
        {1: "its score is below 0.5", 3: "it does not say what it is about"},
        False,
    )
    # where few are good the best of the others stay, one of ten documents
    queries = [query(f"{number}", number, score=number / 100) for number in range(20)]
    faults, is_scarce = poor(queries, [f"kite {number}" for number in range(20)])
    assert (sorted(faults), is_scarce) == ([*range(18)], True)


def test_a_query_without_a_word_of_its_target_is_nonlexical() -> None:
    corpus = corpus_of(["Retries are spaced out.", "The backoff doubles."], 2 * ["test"])
    queries = [
        query("backing off", 0, "summary", "found"),
        query("a retry", 0, "summary", "found"),
        query("the", 1, "summary", "found"),
        query("spacing", 1, "summary", "model"),
    ]
    for one in queries:
        one.positives = [one.passage]
    mark_sides(queries, corpus)
    assert [one.side for one in queries] == ["nonlexical", "lexical", "lexical", "nonlexical"]
