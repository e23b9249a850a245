"""Queries with operators: a full factorial, with as much in the way of every answer."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from retgen import plan, run
from retgen.errors import RecipeError
from retgen.generators.limit.documents import MEANINGS, Deck
from retgen.generators.limit.params import OPERATORS
from retgen.generators.limit.tables import PHRASINGS
from retgen.streams import Stream
from tests.conftest import read_jsonl

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


class Made:
    """A data set, and what its documents hold according to their words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        data = folder / "dataset"
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.corpus, self.queries, self.qrels = (
            read_jsonl(data / f"{name}.jsonl") for name in ("corpus", "queries", "qrels")
        )
        self.holders: dict[str, set[str]] = {}
        for document in self.corpus:
            listed = document["text"].removesuffix(".").partition(" likes ")[2]
            for attribute in listed.replace(" and ", ", ").split(", "):
                self.holders.setdefault(attribute, set()).add(document["_id"])

    def judged(self, query: dict[str, Any], score: int) -> set[str]:
        return {
            row["corpus-id"]
            for row in self.qrels
            if (row["query-id"], row["score"]) == (query["_id"], score)
        }

    def parts(self, query: dict[str, Any]) -> list[set[str]]:
        """The holders of its attributes, in the order of its text."""
        found = [(query["text"].find(one), one) for one in self.holders if one in query["text"]]
        whole = [one for _, one in found if not any(one != o and one in o for _, o in found)]
        return [self.holders[one] for one in sorted(whole, key=query["text"].find)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("operators")
    (folder / "r.yaml").write_text(RECIPE)
    return Made(run(folder / "r.yaml", out=folder / "out").path)


def test_every_operator_has_every_number_of_answers(made: Made) -> None:
    assert (len(made.corpus), len(made.queries), len(made.qrels)) == (400, 60, 400)
    cells = Counter((q["metadata"]["operator"], q["metadata"]["answers"]) for q in made.queries)
    assert cells == {(operator, size): 5 for operator in OPERATORS for size in (1, 2, 7)}
    assert made.manifest["complete"] is True
    assert made.manifest["breakdown"] == ["operator", "answers"]
    assert made.manifest["evidence"]["structural"] == 400


def test_qrels_are_what_the_operator_says(made: Made) -> None:
    for query in made.queries:
        operator, size = query["metadata"]["operator"], query["metadata"]["answers"]
        parts = made.parts(query)
        if query["text"].startswith("Who does not like "):
            parts = parts[1:] + parts[:1]
        relevant = {
            "and": lambda a, b: a & b,
            "or": lambda a, b: a | b,
            "and-not": lambda a, b: a - b,
            "and-and-not": lambda a, b, c: (a & b) - c,
        }[operator](*parts)
        hard = {
            "and": lambda a, b: a ^ b,
            "or": lambda a, b: set(),
            "and-not": lambda a, b: a & b,
            "and-and-not": lambda a, b, c: a & b & c,
        }[operator](*parts)
        assert made.judged(query, 1) == relevant
        assert made.judged(query, 0) == hard
        assert (len(relevant), len(hard)) == (size, query["metadata"]["hard_negatives"])
        assert len(hard) == size * {"and": 2, "or": 0, "and-not": 1, "and-and-not": 1}[operator]


def test_as_much_is_in_the_way_of_every_number_of_answers(made: Made) -> None:
    for query in made.queries:
        operator, size = query["metadata"]["operator"], query["metadata"]["answers"]
        parts = made.parts(query)
        held = Counter(d for part in parts for d in part)
        if operator == "or":
            assert sorted(map(len, parts)) == {1: [1, 1], 2: [1, 1], 7: [4, 5]}[size]
            assert Counter(held.values()) == {1: {2: 1}, 2: {1: 2}, 7: {1: 5, 2: 2}}[size]
        elif operator == "and-and-not":
            assert Counter(held.values()) == {1: 3 * size, 2: 3 * size, 3: size}
        else:
            assert Counter(held.values()) == {1: 2 * size, 2: size}


def test_a_cell_has_its_phrasings_in_turn(made: Made) -> None:
    for operator in OPERATORS:
        assert len(PHRASINGS[operator]) == 5
        for size in (1, 2, 7):
            rows = sorted(
                (q["metadata"]["row"], q["text"])
                for q in made.queries
                if (q["metadata"]["operator"], q["metadata"]["answers"]) == (operator, size)
            )
            assert all(b[0] - a[0] == 1 for a, b in pairwise(rows))
            for (_, text), phrasing in zip(rows, PHRASINGS[operator], strict=True):
                start, end = phrasing.partition("{")[0], phrasing.rpartition("}")[2]
                assert text.startswith(start)
                assert text.endswith(end)


def test_first_query_is_literal(made: Made) -> None:
    assert made.queries[0] == FIRST_QUERY


FIRST_QUERY = {
    "_id": "q3694367",
    "text": "Which people like Bobsleigh as well as Gnomes but do not like Microbiomes?",
    "metadata": {
        "attributes": [4125, 4422, 3356],
        "row": 52,
        "operator": "and-and-not",
        "answers": 2,
        "hard_negatives": 2,
    },
}


def test_the_card_says_what_was_crossed(made: Made) -> None:
    card = (made.folder / "dataset" / "README.md").read_text()
    assert (
        "one person likes; every query joins two or three of these things with an operator, and 1, "
        "2 or 7 documents answer it, exactly. The operators (`and`, `or`, `and-not`, `and-and-not`) "
        "and the numbers of answers are crossed, with 5 queries of each, so that neither explains "
        "what the other does."
    ) in card
    assert "after `not`, those that meet all others and hold what is ruled out." in card


def test_asked_attributes_stand_evenly_over_the_corpus(made: Made) -> None:
    """400 documents are dealt in turn, answers and what is in their way alike."""
    totals = {
        operator: sum(
            size * (1 + len(MEANINGS[operator].others())) for size in (1, 2, 7) for _ in range(5)
        )
        for operator in OPERATORS
    }
    assert totals == {"and": 150, "or": 50, "and-not": 150, "and-and-not": 350}
    dealt: Counter[str] = Counter()
    for query in made.queries:
        dealt.update(set().union(*made.parts(query)))
    assert sum(dealt.values()) == 700
    assert Counter(dealt.values()) == {1: 100, 2: 300}


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
            {"params.answer_sizes": [401], "params.form.operators": ["or"]},
            "params.answer_sizes: a query of 'or' with 401 answers needs 401 documents; docs is 400",
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
        (
            {"params.answer_sizes": [0]},
            "--set params.answer_sizes.0: must be greater than or equal to 1, not 0",
        ),
        (
            {"params.form.operators": ["and", "xor"]},
            "--set params.form.operators.1: must be 'and', 'or', 'and-not' or 'and-and-not', not "
            "'xor'; did you mean or?",
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
