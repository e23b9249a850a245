"""Queries that find their document, and those that are too general."""

from __future__ import annotations

import numpy as np

from retgen.generators.capretrieval.language import stems_of
from retgen.generators.capretrieval.passages import Passage, term_codes
from retgen.generators.capretrieval.queries import PassageQuery
from retgen.generators.capretrieval.specificity import general_queries
from retgen.progress import no_progress
from retgen.tokenizer import sequence

TEXTS = [
    "The copper kettle boils water.",
    "The copper kettle, copper kettle, copper kettle boils.",
    "A windmill grinds wheat at dawn.",
    *(f"A windmill grinds wheat {n} and more besides of what it has." for n in range(6)),
]
OWNERS = list(range(len(TEXTS)))


def faults(
    queries: list[PassageQuery],
    texts: list[str],
    document_of: list[int],
    lists: tuple[int, ...] = (),
) -> dict[int, str]:
    """`lists`: passages that are an index."""
    passages = [
        Passage(f"d{owner}#{n}", f"d{owner}", 0, len(text), "", text, "en")
        for n, (text, owner) in enumerate(zip(texts, document_of, strict=True))
    ]
    stems = [np.unique(term_codes(stems_of(one, "en") + sequence(one))) for one in texts]
    is_list = [number in lists for number in range(len(texts))]
    return general_queries(queries, passages, document_of, stems, is_list, no_progress)


def rules(text: str, passage: int, kind: str = "phrase") -> PassageQuery:
    return PassageQuery(text, kind, passage, (0, 3), "rules")


def found(text: str, passage: int) -> PassageQuery:
    return PassageQuery(text, "heading", passage, (0, 3), "found", 0.0, f"d{passage}")


def test_a_phrase_has_to_find_its_document_first() -> None:
    asked = [
        rules("copper kettle", 0), rules("water", 0), rules("copper kettle boils water", 0, "summary"),
    ]  # fmt: skip
    assert faults(asked, TEXTS, OWNERS) == {0: "BM25 ranks another document before its own"}
    assert faults([rules("copper kettle", 0, "summary")], TEXTS, OWNERS) == {
        0: "BM25 ranks another document before its own"
    }
    # which another document is found with: also where both have it of people
    assert faults([found("copper kettle", 0), found("Copper kettle", 1)], TEXTS, OWNERS) == {}


def test_an_index_answers_nobody_who_asks_for_another_document() -> None:
    asked = [rules("copper kettle", 0), found("copper kettle", 0), rules("copper kettle", 1)]
    assert faults(asked, TEXTS, OWNERS, lists=(1,)) == {}
    assert faults(asked[:1], TEXTS, [0, 0, *OWNERS[1:-1]], lists=(1,)) == {}  # its own


def test_a_query_by_rules_is_too_general_where_one_other_document_has_its_words() -> None:
    texts = ["The copper kettle boils.", "The copper kettle boils water at dawn.", "A windmill."]
    asked = [rules("copper kettle", 0), rules("copper kettle", 1), rules("water", 1)]
    assert faults(asked, texts, [0, 1, 2]) == {
        0: "its words stand in another document", 1: "BM25 ranks another document before its own",
    }  # fmt: skip


def test_what_is_answered_by_a_copy_is_no_query() -> None:
    """A chapter, and the manual that it is of."""
    answer = (
        "The copper kettle boils water for the tea of all who sit in the harbour. Fill it to the "
        "mark, light the burner, wait until steam rises, then pour slowly over fresh leaves."
    )
    texts = [f"Brewing tea. {answer}", f"{answer} See above.", "A windmill.", "A copper kettle."]
    asked = [found("Brewing tea", 0), found("windmill", 2), rules("Brewing tea", 0)]
    copied = "what answers it stands in another document, too"
    assert faults(asked, texts, [0, 1, 2, 3]) == {0: copied, 2: copied}
    # the same passages of one document are no copies
    assert faults(asked[:1], texts, [0, 0, 1, 2]) == {}


def test_a_query_whose_words_many_documents_have_is_too_general() -> None:
    assert faults([rules("windmill wheat", 2)], TEXTS, OWNERS) == {
        0: "its words stand in 6 other documents"
    }


def test_a_summary_has_to_find_its_own_passage_in_its_document() -> None:
    assert faults([rules("copper kettle", 0, "summary")], TEXTS[:3], [0, 0, 1]) == {
        0: "BM25 ranks another passage of its document before its own"
    }


def faults_in_parts(asked: list[PassageQuery], texts: list[str]) -> dict[int, str]:
    """`texts`: two passages of a document, one character apart, and a document."""
    at = len(texts[0]) + 1
    passages = [
        Passage("d0#0", "d0", 0, at - 1, "", texts[0], "en"),
        Passage("d0#1", "d0", at, at + len(texts[1]), "", texts[1], "en"),
        Passage("d1", "d1", 0, len(texts[2]), "", texts[2], "en"),
    ]
    stems = [np.unique(term_codes(stems_of(one, "en") + sequence(one))) for one in texts]
    return general_queries(asked, passages, [0, 0, 1], stems, [False] * 3, no_progress)


def test_a_heading_has_to_find_the_passage_that_answers_it() -> None:
    texts = ["A windmill.", "It grinds wheat.", "A windmill grinds wheat."]
    asked = [found("windmill grinds wheat", 0), found("windmill", 0)]
    asked[0].span = 15, 28
    assert faults_in_parts(asked, texts) == {0: "BM25 ranks another document before its own"}


def test_a_word_that_another_passage_says_more_of_is_no_heading_for_its_own() -> None:
    texts = ["gettext gettext, see also gettext.", "Like gettext, in scripts of pages.", "Wheat."]
    asked = [found("gettext", 1), found("gettext scripts", 1)]
    for one in asked:
        one.span = 40, 60
    assert faults_in_parts(asked, texts) == {
        0: "one word, and BM25 ranks another passage of its document before its own"
    }


def test_rules_are_not_scored_in_a_language_that_few_documents_have() -> None:
    texts = [*(f"{word} kettle" for word in "a b c d e f g h i j k l m n o p q r s t".split()),
             "Windmühle"]  # fmt: skip
    passages = [
        Passage(f"d{n}", f"d{n}", 0, 9, "", text, "en" if n < 20 else "de")
        for n, text in enumerate(texts)
    ]
    stems = [np.unique(term_codes(sequence(one))) for one in texts]
    queries = [rules("Windmühle", 20), rules("g", 6)]
    owners, lists = list(range(21)), [False] * 21
    assert general_queries(queries, passages, owners, stems, lists, no_progress) == {
        0: "only 1 documents are in its language"
    }


def test_what_people_wrote_is_judged_by_its_own_words_alone() -> None:
    # three documents rank before its own, which lacks half of its words; and which has them
    same = ["copper kettle"] * 3 + ["the old kettle of the copper smith boils water"]
    model = PassageQuery("kettle", "phrase", 3, (0, 3), "model")
    assert faults([found("kettle lids", 3), model], same, [0, 1, 2, 3]) == {}
    for text in ("kettle", "copper kettle lids"):
        assert faults([found(text, 3)], same, [0, 1, 2, 3]) == {
            0: "BM25 ranks 3 other documents before its own"
        }
    assert faults([found("copper kettle", 1)], TEXTS, OWNERS) == {}
