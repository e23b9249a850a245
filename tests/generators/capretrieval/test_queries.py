"""From what agents have written to queries: checked, placed, merged, labelled, split."""

from __future__ import annotations

from retgen.agents.agent import Rejection
from retgen.generators.capretrieval.agents import Keyword, Kind, Summary
from retgen.generators.capretrieval.params import QueryCounts
from retgen.generators.capretrieval.passages import Passage
from retgen.generators.capretrieval.queries import PassageQuery, select_queries, usable_queries

TEXT = "  A red kite flies over the  stone bridge.\nKites are light, bridges are heavy."
PASSAGE = Passage("d#2", "d", 100, 100 + len(TEXT), "Kites", TEXT, "en")
EVERY = QueryCounts(common=1)


def keyword(text: str, rests_on: str | None = None, kind: Kind = "keyword") -> Keyword:
    return Keyword.model_validate({"kind": kind, "text": text, "rests_on": rests_on or text})


def test_a_query_rests_on_characters_of_the_document() -> None:
    rejected: list[Rejection] = []
    queries = list(
        usable_queries(
            4,
            PASSAGE,
            [keyword("kite"), keyword("stone bridge", kind="phrase"),
             keyword("toy", "kite", "hypernym"), keyword("KITE", "kite"), keyword("tower")],
            [Summary(kind="summary", text="toy in the air", rests_on="A red kite flies over the"),
             Summary(kind="topics", text="kite bridge", rests_on=""),
             Summary(kind="question", text="What\n is light?", rests_on="Kites are light")],
            rejected,
        )
    )  # fmt: skip
    assert [(one.kind, one.text) for one in queries] == [
        ("title", "Kites"), ("keyword", "kite"), ("phrase", "stone bridge"), ("hypernym", "toy"),
        ("summary", "toy in the air"), ("topics", "kite bridge"), ("question", "What is light?"),
    ]  # fmt: skip
    whole = (100, 100 + len(TEXT))
    assert [one.span for one in queries] == [
        whole, (108, 112), (129, 141), (108, 112), (102, 127), whole, (143, 158),
    ]  # fmt: skip
    assert {one.passage for one in queries} == {4}
    assert rejected == [
        Rejection(
            "query/fault", "the passage does not hold 'tower'",
            {"passage": "d#2", "kind": "keyword", "text": "tower", "rests_on": "tower"},
        )
    ]  # fmt: skip


def test_words_apart_by_other_white_space_are_found() -> None:
    (one,) = usable_queries(
        0, PASSAGE._replace(title=""), [keyword("the stone", kind="phrase")], [], []
    )
    assert TEXT[slice(one.span[0] - 100, one.span[1] - 100)] == "the  stone"


def test_a_title_that_is_no_query_is_left_out_silently() -> None:
    rejected: list[Rejection] = []
    assert list(usable_queries(0, PASSAGE._replace(title="2024"), [], [], rejected)) == []
    assert rejected == []


def one_word(number: int, text: str, language: str = "en") -> Passage:
    return Passage(f"d{number}", f"d{number}", 0, len(text), "", text, language)


def query(text: str, passage: int, kind: Kind = "keyword") -> PassageQuery:
    return PassageQuery(text, kind, passage, (0, 1))


def kept(
    queries: list[PassageQuery], texts: list[str], split: list[str], counts: QueryCounts = EVERY
) -> tuple[list[tuple[str, str, list[int]]], list[tuple[str, str]]]:
    rejected: list[Rejection] = []
    passages = [one_word(number, text) for number, text in enumerate(texts)]
    result, _ = select_queries(queries, passages, split, counts, rejected)
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
        [], [("query/split", "it belongs to documents of train too")],
    )  # fmt: skip
    same = [query("bird toys", 0, "summary"), query("Bird  Toys", 1, "summary")]
    assert kept(same, texts, ["test", "test"]) == ([("bird toys", "test", [0, 1])], [])


def test_a_keyword_of_too_many_passages_is_dropped() -> None:
    texts = [f"kite {n}" for n in range(3)] + 37 * ["blue"]
    split = 40 * ["train"]
    counts = QueryCounts(common=0.05)  # 2 of 40
    assert kept([query("kite", 0)], texts, split, counts) == (
        [], [("query/common", "3 passages hold it, more than 2")],
    )  # fmt: skip
    assert kept([query("kite", 0)], texts, split, QueryCounts(common=0.08)) == (
        [("kite", "train", [0, 1, 2])], [],
    )  # fmt: skip
    # a query that only its own passage holds is none too many, however few there are
    assert kept([query("kite", 0)], texts[:1], split[:1], counts)[1] == []


def test_no_more_than_asked_for_of_a_set() -> None:
    queries = [query("red", 0), query("kite", 0), query("blue toy", 0, "summary")]
    counts = QueryCounts(keywords=1, summaries=0, common=1)
    assert kept(queries, ["a red kite"], ["train"], counts) == ([("red", "train", [0])], [])
