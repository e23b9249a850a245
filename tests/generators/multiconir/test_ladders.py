"""Orders and documents of ladders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retgen.generators.multiconir.ladders import (
    FILLER,
    LADDER_DOCUMENTS,
    Ladder,
    draw_order,
    filler,
    padded_text,
    stored_ladders,
)

TEN = list(range(10))
LADDER = Ladder("a", "Title", *([f"{letter}{i}." for i in TEN] for letter in "ScqR"), *[[]] * 5)


def test_documents_of_a_ladder() -> None:
    rungs = [set(range(n)) for n in range(11)]
    assert list(LADDER_DOCUMENTS) == [*rungs, *({c} for c in range(1, 10))]


def test_a_document() -> None:
    order = [3, 0, 1, 2, 4, 5, 6, 7, 9, 8]
    assert LADDER.text(order) == "S3. S0. S1. S2. S4. S5. S6. S7. S9. S8."
    assert LADDER.text(order, frozenset({0, 8})) == "S3. R0. S1. S2. S4. S5. S6. S7. S9. R8."


def test_orders_depend_on_the_seed_and_the_purpose_alone() -> None:
    assert sorted(draw_order(1, "a")) == TEN
    assert draw_order(1, "a") == draw_order(1, "a")
    assert len({tuple(draw_order(seed, purpose)) for seed in (1, 2) for purpose in "ab"}) == 4


def test_ladders_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "ladders.jsonl"
    path.write_bytes(b"".join(LADDER._replace(id=f"l{i}").line() for i in range(5)))
    result = stored_ladders(path)
    assert len(result) == 5
    assert [result[i].id for i in (3, 0, 4)] == ["l3", "l0", "l4"]
    assert [one.id for one in result] == ["l0", "l1", "l2", "l3", "l4"]
    assert result[2] == LADDER._replace(id="l2")


SENTENCES = [f"Sentence number {n} stands here." for n in range(10)]


@pytest.mark.parametrize("words", [1, 2, 5])
def test_what_no_filler_sentences_make_up(words: int) -> None:
    assert filler(words) == []


@pytest.mark.parametrize("words", [512, 1024])
def test_a_padded_document(words: int) -> None:
    text = padded_text(SENTENCES, words)
    assert len(text.split()) == words
    begin, *gaps, end = re.split("|".join(SENTENCES), text)
    assert (begin, end) == ("", "")
    lengths = [len(gap.split()) for gap in gaps]
    assert len(lengths) == 9
    assert max(lengths) - min(lengths) <= 8


def test_the_paper_s_filler_comes_in_its_order() -> None:
    text = padded_text(["One sentence.", "Another sentence."], 4 + 2 * 19)
    assert text == f"One sentence. {' '.join(FILLER)} {' '.join(FILLER)} Another sentence."
