"""From what agents have written to queries: checked, placed, merged, labelled, split."""

from __future__ import annotations

import numpy as np

from retgen.agents.report import Rejection
from retgen.generators.capretrieval.agents import Keyword, Kind, Queries, Summary
from retgen.generators.capretrieval.language import stems_of, words_of
from retgen.generators.capretrieval.params import QueryCounts
from retgen.generators.capretrieval.passages import (
    Holders,
    Passage,
    PassageLabels,
    term_codes,
)
from retgen.generators.capretrieval.queries import (
    FOUND,
    PassageQuery,
    mark_sides,
    select_queries,
    spread_queries,
    usable_queries,
    without_poor,
)

TEXT = "  A red kite flies over the  stone bridge.\nKites are light, bridges are heavy."
PASSAGE = Passage("d#2", "d", 100, 100 + len(TEXT), "Kites", TEXT, "en")
EVERY = QueryCounts(common=1)


def keyword(text: str, rests_on: str | None = None, kind: Kind = "keyword") -> Keyword:
    return Keyword.model_validate({"kind": kind, "text": text, "rests_on": rests_on or text})


def test_a_query_rests_on_characters_of_the_document() -> None:
    rejected: list[Rejection] = []
    answer = Queries(
        keywords=[
            keyword("kite"),
            keyword("stone bridge", kind="phrase"),
            keyword("toy", "kite", "hypernym"),
            keyword("KITE", "kite"),
            keyword("tower"),
        ],
        summaries=[
            Summary(kind="summary", text="toy in the air", rests_on="A red kite flies over the"),
            Summary(kind="topics", text="kite bridge", rests_on=""),
            Summary(kind="question", text="What\n is light?", rests_on="Kites are light"),
        ],
    )
    queries = list(usable_queries(4, PASSAGE, answer, rejected))
    assert [(one.kind, one.text) for one in queries] == [
        ("keyword", "kite"),
        ("phrase", "stone bridge"),
        ("hypernym", "toy"),
        ("summary", "toy in the air"),
        ("topics", "kite bridge"),
        ("question", "What is light?"),
    ]
    whole = (100, 100 + len(TEXT))
    assert [one.span for one in queries] == [
        (108, 112),
        (129, 141),
        (108, 112),
        (102, 127),
        whole,
        (143, 158),
    ]
    assert {one.passage for one in queries} == {4}
    assert rejected == [
        Rejection(
            "query/fault",
            "the passage does not hold 'tower'",
            {
                "passage": "d#2",
                "set": "KW",
                "kind": "keyword",
                "text": "tower",
                "rests_on": "tower",
            },
        )
    ]


def test_words_apart_by_other_white_space_are_found() -> None:
    answer = Queries(keywords=[keyword("the stone", kind="phrase")], summaries=[])
    (one,) = usable_queries(0, PASSAGE._replace(title=""), answer, [])
    assert TEXT[slice(one.span[0] - 100, one.span[1] - 100)] == "the  stone"


def one_word(number: int, text: str, language: str = "en") -> Passage:
    return Passage(f"d{number}", f"d{number}", 0, len(text), "", text, language)


def query(
    text: str, passage: int, kind: Kind = "keyword", evidence: str = "rules", score: float = 0.5
) -> PassageQuery:
    return PassageQuery(text, kind, passage, (0, 1), evidence, score)


def kept(
    queries: list[PassageQuery], texts: list[str], split: list[str], counts: QueryCounts = EVERY
) -> tuple[list[tuple[str, str, list[int]]], list[tuple[str, str]]]:
    rejected: list[Rejection] = []
    passages = [one_word(number, text) for number, text in enumerate(texts)]
    words = [term_codes(words_of(one.text)) for one in passages]
    phrases = {phrase for phrase in (one.phrase() for one in queries) if phrase}
    labels = PassageLabels(passages, Holders(words, phrases))
    result = select_queries(queries, passages, split, counts, labels, rejected)
    return (
        [(one.text, one.split, one.positives) for one in result],
        [(one.rule, one.reason) for one in rejected],
    )


def test_every_passage_of_the_split_that_holds_a_keyword_is_a_positive() -> None:
    texts = ["a red kite", "one kite, two kites", "a red kite again", "many kites"]
    result = kept([query("kite", 0)], texts, ["train", "train", "test", "train"])
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


def test_a_keyword_of_too_many_passages_is_dropped() -> None:
    texts = [f"kite {n}" for n in range(3)] + 37 * ["blue"]
    split = 40 * ["train"]
    counts = QueryCounts(common=0.05)  # 2 of 40
    assert kept([query("kite", 0)], texts, split, counts) == (
        [],
        [("query/common", "3 passages hold it, more than 2")],
    )
    assert kept([query("kite", 0)], texts, split, QueryCounts(common=0.08)) == (
        [("kite", "train", [0, 1, 2])],
        [],
    )
    # a query that only its own passage holds is none too many, however few there are
    assert kept([query("kite", 0)], texts[:1], split[:1], counts)[1] == []


def test_a_keyword_finds_ten_passages_at_most() -> None:
    texts, split = [*(11 * ["a kite"]), *(10 * ["a swan"])], 21 * ["train"]
    counts = QueryCounts(common=1)
    result = kept([query("kite", 0), query("swan", 11)], texts, split, counts)
    assert result == (
        [("swan", "train", [*range(11, 21)])],
        [("query/common", "11 passages hold it, more than 10")],
    )


def spread(of_each: list[int], share: float = 0.1) -> tuple[list[int], list[str]]:
    """How many queries each document keeps, and why the others go; scores fall with the number."""
    passages = [one_word(number, "") for number in range(len(of_each))]
    queries = [
        query(
            f"{document} {n}", document, evidence="found" if n == 0 else "rules", score=1 / (n + 1)
        )
        for document, count in enumerate(of_each)
        for n in range(count)
    ]
    rejected: list[Rejection] = []
    left = spread_queries(queries, passages, share, rejected)
    assert len(left) + len(rejected) == len(queries)
    by_document = [[one.text for one in left if one.passage == i] for i in range(len(of_each))]
    for document, texts in enumerate(by_document):  # the best ones stay
        assert texts == [f"{document} {n}" for n in range(len(texts))]
    return [len(texts) for texts in by_document], sorted({one.reason for one in rejected})


def test_one_document_does_not_give_most_of_the_queries() -> None:
    assert spread([*(20 * [30]), 2000]) == (
        [*(20 * [30]), 66],
        ["its document has more than 66 of the 666 that split train keeps"],
    )
    assert spread([*(20 * [30]), 60]) == ([*(20 * [30]), 60], [])
    # of few documents each may have twice an equal part, and twenty in any case
    assert spread([100, 50, 10])[0] == [100, 50, 10]
    assert spread([1000, 50, 50, 50])[0] == [150, 50, 50, 50]
    assert spread([1000, 1, 1, 1])[0] == [20, 1, 1, 1]
    assert spread([1000, 1, 1, 1], share=1)[0] == [1000, 1, 1, 1]
    # the parts of a long text are one document
    parts = [one_word(0, "")._replace(source=name) for name in ("long", "long#part-2")]
    queries = [query(str(n), n % 2) for n in range(60)]
    queries += [query(f"o{n}", 2 + n) for n in range(8)]
    others = [one_word(2 + n, "") for n in range(8)]
    left = spread_queries(queries, [*parts, *others], 0.1, [])
    assert sum(one.passage < 2 for one in left) == 20


def test_no_more_than_asked_for_of_a_set() -> None:
    queries = [query("red", 0), query("kite", 0), query("blue toy", 0, "summary")]
    counts = QueryCounts(keywords=1, summaries=0, common=1)
    assert kept(queries, ["a red kite"], ["train"], counts) == ([("red", "train", [0])], [])


def test_what_people_wrote_comes_first_and_takes_the_place_of_keywords() -> None:
    queries = [
        query("red", 0),
        query("kite", 0),
        query("blue toy", 0, "summary"),
        query("flying", 0, "summary", "found"),
        query("wind", 0, "summary", "found"),
    ]
    counts = QueryCounts(keywords=2, summaries=1, found=8, common=1)
    assert [one[0] for one in kept(queries, ["a red kite"], ["train"], counts)[0]] == [
        "flying",
        "wind",
        "blue toy",
    ]
    counts = QueryCounts(keywords=1, summaries=1, found=2, common=1)
    assert [one[0] for one in kept(queries, ["a red kite"], ["test"], counts)[0]] == [
        "flying",
        "wind",
    ]
    counts = QueryCounts(keywords=2, summaries=1, found=1, common=1)
    assert [one[0] for one in kept(queries, ["a red kite"], ["test"], counts)[0]] == [
        "flying",
        "red",
        "blue toy",
    ]


def test_poor_queries_of_rules_are_left_out() -> None:
    passages = [one_word(number, "a red kite") for number in range(2)]
    queries = [
        query("a", 0, score=0.9),
        query("b", 0, score=0.2),
        query("c", 0, score=0.5),
        query("d", 1, score=0.1),
        query("e", 1, "summary", "found", score=0.1),
        query("f", 1, "summary", "found", score=0.0),
    ]
    rejected: list[Rejection] = []
    kept, are_few = without_poor(queries, passages, {2: "many"}, 0.5, len(passages), rejected)
    assert ([queries[i].text for i in kept], are_few) == (["a", "e"], False)
    assert [(one.rule, one.reason, one.record["text"]) for one in rejected] == [
        ("query/quality", "its score is below 0.5", "b"),
        ("query/ambiguous", "many", "c"),
        ("query/quality", "its score is below 0.5", "d"),
        ("query/quality", "it does not say what it is about", "f"),
    ]
    every = [*range(6)], False
    assert without_poor(queries, passages, {}, 0.0, len(passages), []) == every


def test_where_few_are_good_the_best_of_the_others_stay() -> None:
    passages = [one_word(number, "a red kite") for number in range(20)]
    queries = [query(str(number), number, score=number / 100) for number in range(20)]
    kept, are_few = without_poor(queries, passages, {19: "many"}, 0.5, len(passages), [])
    assert ([queries[i].text for i in kept], are_few) == (["17", "18"], True)
    every = dict.fromkeys(range(20), "many")
    assert without_poor(queries, passages, every, 0.5, len(passages), [])[0] == [18, 19]


def test_a_query_without_a_word_of_its_target_is_nonlexical() -> None:
    passages = [one_word(0, "Retries are spaced out."), one_word(1, "The backoff doubles.")]
    stems = [np.unique(term_codes(stems_of(one.text, "en"))) for one in passages]
    queries = [
        query("backing off", 0, "summary", "found"),
        query("a retry", 0, "summary", "found"),
        query("the", 1, "summary", "found"),
        query("spacing", 1, "summary", "model"),
    ]
    for one in queries:
        one.positives = [one.passage]
    mark_sides(queries, passages, stems)
    assert [one.side for one in queries] == ["nonlexical", "lexical", "lexical", "nonlexical"]


def test_of_other_languages_every_word_counts() -> None:
    """Whoever checks a side knows no function words of theirs."""
    passage = Passage("d", "d", 0, 9, "", "\u8239\u306e\u5e06", "ja")
    query = PassageQuery("\u6d77\u306e\u6ce2", "heading", 0, (0, 1), FOUND)
    query.positives = [0]
    mark_sides([query], [passage], [np.unique(term_codes(words_of(passage.text)))])
    assert query.side == "lexical"
