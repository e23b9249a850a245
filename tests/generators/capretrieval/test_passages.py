"""Documents cut into passages: every place of a document stands in one, cuts fall well."""

from __future__ import annotations

from itertools import pairwise

import pytest
from pydantic import ValidationError

from retgen.generators.capretrieval.params import PassageSize
from retgen.generators.capretrieval.passages import Passage, Whole, cut_passages, spans, word_spans
from tests.generators.capretrieval.texts import CHINESE, TEXTS

SENTENCES = " ".join(f"Sentence number {n} ends here." for n in range(20))


def test_words_are_apart_by_white_space_and_single_in_scripts_without() -> None:
    assert word_spans(" one  two\n") == [(1, 4), (6, 9)]
    assert word_spans("ab 猫犬x y") == [(0, 2), (3, 4), (4, 5), (5, 6), (7, 8)]
    assert word_spans("한국어 책 a😀b") == [(0, 3), (4, 5), (6, 9)]
    assert word_spans(" \n\t ") == []


@pytest.mark.parametrize("count", [1, 15, 16])
def test_a_short_document_stays_whole(count: int) -> None:
    text = "  " + " ".join("word" for _ in range(count)) + "\n"
    assert spans(text, PassageSize(tokens=16, overlap=4)) == [(0, len(text))]
    assert spans(text, None) == [(0, len(text))]
    assert spans("", PassageSize()) == [(0, 0)]


def test_without_sentences_cuts_fall_between_words() -> None:
    text = " ".join(f"w{n}" for n in range(60))
    places = spans(text, PassageSize(tokens=16, overlap=4))
    parts = [text[start:stop].split() for start, stop in places]
    assert [(part[0], part[-1]) for part in parts] == [
        ("w0", "w15"), ("w12", "w27"), ("w24", "w39"), ("w36", "w51"), ("w48", "w59"),
    ]  # fmt: skip
    assert [len(part) for part in parts] == [16, 16, 16, 16, 12]


def test_cuts_fall_at_the_end_of_sentences() -> None:
    places = spans(SENTENCES, PassageSize(tokens=20, overlap=5))
    parts = [SENTENCES[start:stop] for start, stop in places]
    assert len(parts) == 7
    assert [part.count("Sentence") for part in parts] == [4, 4, 4, 4, 4, 4, 2]
    assert all(part.startswith("Sentence") and part.endswith("here.") for part in parts)
    # one sentence of five words is shared by two passages
    shared = [SENTENCES[b:a] for (_, a), (b, _) in pairwise(places)]
    assert shared == [f"Sentence number {n} ends here." for n in (3, 6, 9, 12, 15, 18)]


def test_without_overlap_no_character_stands_in_two() -> None:
    places = spans(SENTENCES, PassageSize(tokens=16, overlap=0))
    assert all(stop <= start for (_, stop), (start, _) in pairwise(places))
    assert "".join(SENTENCES[a:b] for a, b in places).replace(" ", "") == SENTENCES.replace(" ", "")


def test_characters_of_scripts_without_spaces_are_words() -> None:
    text = "猫在桥上。" * 20
    assert spans(text, PassageSize(tokens=32, overlap=8)) == [
        (0, 30), (20, 50), (40, 70), (60, 90), (80, 100),
    ]  # fmt: skip


@pytest.mark.parametrize(("tokens", "overlap"), [(16, 0), (16, 8), (17, 3), (40, 20), (256, 32)])
def test_passages_leave_out_nothing_but_white_space(tokens: int, overlap: int) -> None:
    text = f"\n\t {'  '.join(TEXTS)}\n\n{CHINESE * 5}😀 {SENTENCES}  "
    places = spans(text, PassageSize(tokens=tokens, overlap=overlap))
    assert (places[0][0], places[-1][1]) == (0, len(text))
    between = [text[a:b] for (_, a), (b, _) in pairwise(places) if a < b]
    assert "".join(between).strip() == ""
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(places))
    assert max(len(word_spans(text[a:b])) for a, b in places) <= tokens
    edges = {place for word in word_spans(text) for place in word} | {0, len(text)}
    assert edges.issuperset(place for both in places for place in both)


def test_a_document_that_is_one_passage_keeps_its_id() -> None:
    assert list(cut_passages([Whole("d", "t", " a b ", "en")], None)) == [
        Passage("d", "d", 0, 5, "t", " a b ", "en")
    ]
    parts = list(
        cut_passages([Whole("d", "t", SENTENCES, "en")], PassageSize(tokens=64, overlap=4))
    )
    assert [(one.id, one.source, one.start, one.stop) for one in parts] == [
        ("d#1", "d", 0, 349), ("d#2", "d", 320, 589),
    ]  # fmt: skip
    assert all(one.text == SENTENCES[one.start : one.stop] for one in parts)


def test_a_passage_is_called_as_nobody_else() -> None:
    size = PassageSize(tokens=64, overlap=4)
    ids = ["a#1", "a", "b", "b#", "c#2", "c##1", "c"]
    long = {"a", "b", "b#", "c"}
    wholes = [Whole(one, "", SENTENCES if one in long else "short", "en") for one in ids]
    assert [one.id for one in cut_passages(wholes, size)] == [
        "a#1", "a##1", "a##2", "b#1", "b#2", "b##1", "b##2", "c#2", "c##1", "c###1", "c###2",
    ]  # fmt: skip
    both = [Whole("b#", "", SENTENCES, "en"), Whole("b", "", SENTENCES, "en"),
            Whole("b#1", "", "short", "en")]  # fmt: skip
    assert [one.id for one in cut_passages(both, size)] == ["b##1", "b##2", "b###1", "b###2", "b#1"]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"tokens": 16, "overlap": 9}, "overlap 9 is more than half of tokens 16"),
        ({"tokens": 15}, "greater than or equal to 16"),
        ({"overlap": -1}, "greater than or equal to 0"),
    ],
)
def test_sizes_that_make_no_sense(size: dict[str, int], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PassageSize(**size)
