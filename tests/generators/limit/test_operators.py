"""Queries with operators: a full factorial, with as much in the way of every answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from retgen import plan
from retgen.errors import RecipeError
from retgen.generators.limit.documents import Deck
from retgen.streams import Stream

RECIPE = """\
name: r
family: limit
params:
  pattern: factorial
  docs: 400
  attributes_per_doc: 20
  answer_sizes: [1, 2, 7]
  queries_per_cell: 5
"""


def test_a_deck_deals_nobody_twice_to_one_query() -> None:
    deck = Deck(Stream(1, "test"), 10)
    hands = [deck.deal(7) for _ in range(10)]
    assert all(len(set(hand)) == 7 for hand in hands)
    assert Counter(d for hand in hands for d in hand) == dict.fromkeys(range(10), 7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"params.answer_sizes": [60]},
            "params.answer_sizes: a query of 'and-and-not' with 60 answers needs 420 documents: 60 "
            "for each of the 7 combinations of its attributes; docs is 400",
        ),
        (
            {"params.docs": 30, "params.answer_sizes": [4], "params.queries_per_cell": 10},
            "params.docs: 30 documents of 20 attributes have 600 places; the queries' attributes "
            "stand in 850. Ask for more than 43 documents, for fewer queries_per_cell, or for "
            "smaller answer_sizes",
        ),
        (
            {"params.queries_per_cell": 200},
            "params: 2,400 queries ask for 5,400 attributes; the catalogue gives 2,292 (split "
            "test): use fewer queries, or catalogue.split all",
        ),
        (
            {"params.catalogue.split": "train"},
            "params.catalogue.split: queries with operators make no training pairs; use split test "
            "or all, or train on another pattern",
        ),
        (
            {"params.answer_sizes": [1, 10, 1]},
            "--set params.answer_sizes: a value stands there twice",
        ),
    ],
)
def test_what_cannot_be_is_said_at_plan_time(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    (tmp_path / "r.yaml").write_text(RECIPE)
    with pytest.raises(RecipeError) as error:
        plan(tmp_path / "r.yaml", overrides=change)
    assert str(error.value) == message


def test_operators_and_the_factorial_belong_together(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(RECIPE + "  form: {type: single}\n")
    with pytest.raises(RecipeError, match="must be 'operators', not 'single'"):
        plan(tmp_path / "r.yaml")
    with pytest.raises(RecipeError, match="there is no type 'operators'"):
        plan("limit_small", overrides={"params.form": {"type": "operators"}})
