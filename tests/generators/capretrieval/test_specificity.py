"""Queries that find their document, and those that are too general."""

from __future__ import annotations

import numpy as np

from retgen.agents.agent import Rejection
from retgen.generators.capretrieval.language import stems_of, words_of
from retgen.generators.capretrieval.passages import Passage, term_codes
from retgen.generators.capretrieval.queries import PassageQuery
from retgen.generators.capretrieval.specificity import without_general
from retgen.progress import no_progress
from retgen.tokenizer import sequence

TEXTS = [
    "The copper kettle boils water.",
    "The copper kettle, copper kettle, copper kettle boils.",
    "A windmill grinds wheat at dawn.",
    *(f"A windmill grinds wheat {n} and more besides of what it has." for n in range(6)),
]


def kept(
    queries: list[PassageQuery], texts: list[str], document_of: list[int]
) -> tuple[list[str], list[Rejection]]:
    passages = [
        Passage(f"d{owner}#{n}", f"d{owner}", 0, len(text), "", text, "en")
        for n, (text, owner) in enumerate(zip(texts, document_of, strict=True))
    ]
    stems = [np.unique(term_codes(stems_of(one, "en") + sequence(one))) for one in texts]
    assert all(words_of(one) for one in texts)
    rejected: list[Rejection] = []
    result = without_general(queries, passages, document_of, stems, rejected, no_progress)
    return [one.text for one in result], rejected


def rules(text: str, passage: int, kind: str = "phrase") -> PassageQuery:
    return PassageQuery(text, kind, passage, (0, 3), "rules")


def found(text: str, passage: int) -> PassageQuery:
    return PassageQuery(text, "heading", passage, (0, 3), "found", 0.0, f"d{passage}")


def test_a_phrase_has_to_find_its_document_first() -> None:
    owners = list(range(len(TEXTS)))
    texts, rejected = kept(
        [rules("copper kettle", 0), rules("copper kettle", 1), rules("water", 0),
         rules("copper kettle", 0, "summary")], TEXTS, owners,
    )  # fmt: skip
    assert texts == ["copper kettle", "water", "copper kettle"]
    assert rejected == [
        Rejection(
            "query/general", "BM25 ranks 1 other documents before its own",
            {"passage": "d0#0", "kind": "phrase", "text": "copper kettle"},
        )
    ]  # fmt: skip


def test_a_query_whose_words_many_documents_have_is_too_general() -> None:
    texts, (rejection,) = kept([rules("windmill wheat", 2)], TEXTS, list(range(len(TEXTS))))
    assert texts == []
    assert rejection.reason == "6 other documents have its words"


def test_a_summary_has_to_find_its_own_passage_in_its_document() -> None:
    texts, (rejection,) = kept([rules("copper kettle", 0, "summary")], TEXTS[:3], [0, 0, 1])
    assert texts == []
    assert rejection.reason == "BM25 ranks another passage of its document before its own"


def test_what_people_wrote_is_judged_by_its_own_words_alone() -> None:
    owners = list(range(len(TEXTS)))
    # three documents rank before its own, which lacks a word; and which has all of them
    same = ["kettle kettle"] * 3 + ["the old kettle of the copper smith boils water"]
    assert kept([found("kettle lids", 3)], same, [0, 1, 2, 3])[0] == ["kettle lids"]
    assert kept([found("kettle", 3)], same, [0, 1, 2, 3])[0] == []
    assert kept([found("copper kettle", 0)], TEXTS, owners)[0] == ["copper kettle"]
    model = PassageQuery("kettle", "phrase", 3, (0, 3), "model")
    assert kept([model], same, [0, 1, 2, 3])[0] == ["kettle"]
