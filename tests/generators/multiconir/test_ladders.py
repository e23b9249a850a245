"""Orders and documents of ladders."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from retgen.generators.multiconir.ladders import (
    FILLER,
    Ladder,
    LadderDocuments,
    breaking_orders,
    condition_order,
    filler,
    padded_text,
    places,
    stored_ladders,
)
from tests.loops import for_each

TEN = list(range(10))
LADDER = Ladder(
    "a",
    "Title",
    [f"S{i}." for i in TEN],
    [f"c{i}" for i in TEN],
    [f"q{i}" for i in TEN],
    [f"R{i}." for i in TEN],
    [],
    [],
    [],
    [],
    [],
)


def test_all_ten_breaking_orders_are_balanced() -> None:
    orders = breaking_orders(10)
    assert orders[0] == TEN
    for rung in range(10):
        assert sorted(order[rung] for order in orders) == TEN
    following = Counter(pair for order in orders for pair in pairwise(order))
    assert set(following.values()) == {1}  # each condition follows each other one once
    assert len(following) == 90


@pytest.mark.parametrize("count", range(1, 11))
def test_fewer_breaking_orders(count: int) -> None:
    orders = breaking_orders(count)
    assert len(orders) == count
    assert orders[0] == TEN
    for rung in range(10):
        assert len({order[rung] for order in orders}) == count


def test_one_order_has_eleven_documents() -> None:
    assert [sorted(rung.broken) for rung in LadderDocuments(1).all] == [TEN[:i] for i in range(11)]


def test_several_orders_share_the_positive_and_the_last_rung() -> None:
    result = LadderDocuments(4).all
    assert result[0] == (frozenset(), (0, 1, 2, 3))
    assert result[-1] == (frozenset(TEN), (0, 1, 2, 3))
    assert len({rung.broken for rung in result}) == len(result) <= 2 + 4 * 9


def test_a_document() -> None:
    order = [3, 0, 1, 2, 4, 5, 6, 7, 9, 8]
    assert LADDER.text(order) == "S3. S0. S1. S2. S4. S5. S6. S7. S9. S8."
    assert LADDER.text(order, frozenset({0, 8})) == "S3. R0. S1. S2. S4. S5. S6. S7. S9. R8."


def test_orders_depend_on_the_seed_and_the_ladder_alone() -> None:
    assert sorted(places(1, "a")) == sorted(condition_order(1, "a")) == TEN
    assert places(1, "a") == places(1, "a")
    drawn = {
        tuple(one) for s in (1, 2) for x in "ab" for one in (places(s, x), condition_order(s, x))
    }
    assert len(drawn) == 8


def test_ladders_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "ladders.jsonl"
    path.write_bytes(b"".join(LADDER._replace(id=f"l{i}").line() for i in range(5)))
    result = stored_ladders(path)
    assert len(result) == 5
    assert [result[i].id for i in (3, 0, 4)] == ["l3", "l0", "l4"]
    assert [one.id for one in result] == ["l0", "l1", "l2", "l3", "l4"]
    assert result[2] == LADDER._replace(id="l2")


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
