"""Filler between sentences, to the word."""

from __future__ import annotations

import pytest

from retgen.generators.multiconir.ladders import FILLER, filler, padded_text
from tests.loops import for_each

SENTENCES = [f"Sentence number {n} stands here." for n in range(10)]


@for_each("words", [0, 3, 4, 6, 7, *range(8, 200)])
def test_filler_has_exactly_so_many_words(words: int) -> None:
    result = filler(words)
    assert sum(len(one.split()) for one in result) == words
    assert set(result) <= set(FILLER)


@pytest.mark.parametrize("words", [1, 2, 5])
def test_what_no_filler_sentences_make_up(words: int) -> None:
    assert filler(words) == []


@pytest.mark.parametrize("words", [512, 1024])
def test_a_padded_document(words: int) -> None:
    text = padded_text(SENTENCES, words)
    assert len(text.split()) == words
    ends = [text.index(one) for one in SENTENCES]
    assert ends == sorted(ends)
    assert text.startswith(SENTENCES[0])
    assert text.endswith(SENTENCES[-1])
    rest = text
    for one in SENTENCES:
        rest = rest.replace(one, "|")
    gaps = [gap.split() for gap in rest.split("|")[1:-1]]
    assert len(gaps) == 9
    assert max(map(len, gaps)) - min(map(len, gaps)) <= 8


def test_the_paper_s_filler_comes_in_its_order() -> None:
    text = padded_text(["One sentence.", "Another sentence."], 4 + 2 * 19)
    assert text == f"One sentence. {' '.join(FILLER)} {' '.join(FILLER)} Another sentence."


def test_a_long_document_stays_as_it_is() -> None:
    assert padded_text(SENTENCES, 50) == padded_text(SENTENCES, 20) == " ".join(SENTENCES)
