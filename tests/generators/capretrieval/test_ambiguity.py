"""Scored queries whose words do not tell their document from others."""

from __future__ import annotations

import numpy as np

from retgen.generators.capretrieval.ambiguity import ambiguous_queries
from retgen.generators.capretrieval.language import stems_of
from retgen.generators.capretrieval.passages import Passage, term_codes
from retgen.generators.capretrieval.queries import PassageQuery
from retgen.progress import no_progress
from retgen.tokenizer import sequence

KETTLES = [
    "The copper kettle boils.",
    "The copper kettle, copper kettle, copper kettle boils water at dawn.",
    "A windmill.",
]


def faults(
    queries: list[PassageQuery],
    texts: list[str],
    document_of: list[int] | None = None,
    lists: tuple[int, ...] = (),
    most: int = 1,
) -> dict[int, str]:
    """`lists`: passages that are an index; every passage a document where none are named."""
    owners = document_of or list(range(len(texts)))
    passages = [
        Passage(f"d{owner}#{n}", f"d{owner}", 0, len(text), "", text, "en")
        for n, (text, owner) in enumerate(zip(texts, owners, strict=True))
    ]
    stems = [np.unique(term_codes(stems_of(one, "en") + sequence(one))) for one in texts]
    is_list = [number in lists for number in range(len(texts))]
    return ambiguous_queries(queries, passages, owners, stems, is_list, most, no_progress)


def rules(text: str, passage: int, kind: str = "phrase") -> PassageQuery:
    return PassageQuery(text, kind, passage, (0, 3), "rules")


def found(text: str, passage: int) -> PassageQuery:
    return PassageQuery(text, "heading", passage, (0, 3), "found", 0.0, f"d{passage}")


def test_no_ranking_decides_which_queries_are_scored() -> None:
    # BM25 ranks the longer text before the shorter one, which has more of the rarest word
    texts = ["Windmills, windmills and windmills.", "A windmill grinds wheat, not barley."]
    queries = [found("windmill", 1), rules("grinds barley", 1), rules("windmill wheat", 1)]
    assert faults(queries, texts) == {}


def test_words_that_another_document_holds_make_a_query_by_rules_ambiguous() -> None:
    asked = [rules("copper kettle", 0), rules("kettles", 1), rules("water", 1)]
    assert faults(asked, KETTLES) == {
        0: "its words stand in another document",
        1: "its words stand in another document",  # by their stem
    }
    many = ["A windmill grinds wheat.", *(f"A windmill grinds wheat {n}." for n in range(6))]
    assert faults([rules("windmill wheat", 0, "summary")], many) == {
        0: "its words stand in 6 other documents"
    }
    # a model's queries are judged by a model, a query without words by nobody
    assert faults([PassageQuery("kettle", "phrase", 0, (0, 3)), rules("", 0)], KETTLES) == {}


def test_what_people_wrote_may_stand_in_some_other_documents() -> None:
    texts = ["copper kettle"] * 3 + ["the old kettle of the copper smith boils water"]
    assert faults([found("copper kettle", 3)], texts, most=3) == {}
    assert faults([found("copper kettle", 3)], texts, most=2) == {
        0: "its words stand in 3 other documents"
    }
    assert faults([found("kettle lids", 3)], texts, most=0) == {}


def test_a_text_that_one_query_may_be_scored_by_is_not_ambiguous_for_others() -> None:
    assert faults([rules("copper kettle", 0), rules("Copper kettle", 1)], KETTLES) == {
        0: "its words stand in another document",
        1: "its words stand in another document",
    }
    # people wrote it for both, and both are relevant
    assert faults([found("copper kettle", 0), found("Copper kettle", 1)], KETTLES, most=0) == {}
    assert faults([rules("copper kettle", 0), found("copper kettle", 0)], KETTLES) == {}


def test_the_document_that_links_by_these_words_is_no_rival() -> None:
    link = PassageQuery("copper kettle", "link", 0, (0, 3), "found", 0.0, "d1")
    assert faults([link], KETTLES, most=0) == {}
    assert faults([found("copper kettle", 0)], KETTLES, most=0) == {
        0: "its words stand in another document"
    }


def test_an_index_answers_nothing() -> None:
    assert faults([rules("copper kettle", 0)], KETTLES, lists=(1,)) == {}


def test_passages_of_the_own_document_are_no_rivals() -> None:
    assert faults([rules("copper kettle", 0)], KETTLES, [0, 0, 1]) == {}


def test_what_is_answered_by_a_copy_is_no_query() -> None:
    """A chapter, and the manual that it is of."""
    answer = (
        "The copper kettle boils water for the tea of all who sit in the harbour. Fill it to the "
        "mark, light the burner, wait until steam rises, then pour slowly over fresh leaves."
    )
    texts = [f"Brewing tea. {answer}", f"{answer} See above.", "A windmill.", "A copper kettle."]
    asked = [found("Brewing tea", 0), found("windmill", 2), rules("Brewing tea", 0)]
    copied = "what answers it stands in another document, too"
    assert faults(asked, texts) == {0: copied, 2: copied}
    # passages of one document are no copies
    assert faults(asked[:1], texts, [0, 0, 1, 2]) == {}
    # short texts are alike by chance
    assert faults([found("steam", 0)], ["A kettle.", "A kettle."]) == {}


def test_rules_are_not_scored_in_a_language_that_few_documents_have() -> None:
    texts = [*(f"{word} kettle" for word in "abcdefghijklmnopqrst"), "Windmühle"]
    passages = [
        Passage(f"d{n}", f"d{n}", 0, 9, "", text, "en" if n < 20 else "de")
        for n, text in enumerate(texts)
    ]
    stems = [np.unique(term_codes(sequence(one))) for one in texts]
    queries = [rules("Windmühle", 20), rules("g", 6)]
    owners, lists = list(range(21)), [False] * 21
    assert ambiguous_queries(queries, passages, owners, stems, lists, 10, no_progress) == {
        0: "only 1 documents are in its language"
    }
