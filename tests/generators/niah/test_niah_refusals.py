"""Parameters that no haystack can be made of, and groups of one's own that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import plan, run
from retgen.errors import RecipeError
from tests.conftest import read_jsonl
from tests.generators.niah.rows import Row, corpus, table


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "message"),
    [
        (
            {"params.lengths": [48]},
            "params.lengths: 48 tokens cannot be made for group landmark-01: its places need 8 sentences between needle and last sentences, where 27 tokens are left, and only 8 of the books' 2,558 sentences are as short as that; use longer haystacks, fewer places, or books with more short sentences",
        ),
        (
            {"params.distractors": [5]},
            "params.distractors: a group needs 5 near-answers; group landmark-01 of the bundled table has 4: write more, or ask for fewer",
        ),
        (
            {"params.distractors": [4], "params.training": True},
            "params.distractors and params.training: a group needs 5 near-answers (4 for the filler, 1 as the negative of training); group landmark-01 of the bundled table has 4",
        ),
        ({"params.lengths": [256, 128]}, "params: lengths must ascend"),
        ({"params.tokenizer": "no/where"}, "params.tokenizer: there is no tokenizer "),
    ],
)
def test_what_cannot_be_made(told: Row, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan("niah", told)
    assert message in str(caught.value)


@pytest.mark.slow
def test_a_table_of_your_own(tmp_path: Path) -> None:
    made = run("niah", overrides=table(tmp_path / "own.yaml"), out=tmp_path / "run")
    (query,) = read_jsonl(made.path / "dataset" / "queries.jsonl")
    assert query["text"] == "Which character has been to Lima?"
    assert not [key for key in query["metadata"] if key.startswith("expansion")]
    assert len(corpus(made.path)) == 21


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"one_hop": "Below a tower of Lima {name} keeps a shop."},
            "group a-1: one_hop holds 'lima', a word of the question 'Which character has been to Lima?' ('lima')",
        ),
        (
            {"fact": "Bananas are yellow."},
            "own.yaml, line 1, group a-1: fact says nothing of what the question asks about (no form of "
            "'lima'), so no needle answers it by this fact: 'Bananas are yellow.'; write the fact that "
            "leads from the needle to the question",
        ),
        (
            {"fact": "The Uffizi is nowhere near Lima."},
            "group a-1: fact says nothing of what one_hop names (no form of 'larco', 'museum', 'keeps', "
            "'shop'), so that needle does not answer the question by it: 'The Uffizi is nowhere near "
            "Lima.'; name in the fact what the needle names: 'Below the Larco Museum {name} keeps a "
            "shop.'",
        ),
        (
            {"sourse": "an atlas"},
            "params.table, group a-1:\n{path}, line 1, sourse: unknown key; did you mean source? "
            "Allowed: id, category, set, ",
        ),
        (
            {"literal": "Long ago {name} left."},
            "group a-1: literal shares no word with the question",
        ),
        ({"near": ["The coast of Lima pleased {name}."]}, "group a-1: near[0] holds 'lima'"),
        (
            {"one_hop": "Nobody is there."},
            "own.yaml, line 1, one_hop: must hold {name} exactly once",
        ),
        (
            {"set": "train"},
            "own.yaml has groups of set train alone (1), none of set test; write `set: test` into their rows, or take them: --set params.groups=train",
        ),
    ],
)
def test_groups_that_are_refused(tmp_path: Path, changed: Row, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan("niah", table(tmp_path / "own.yaml", **changed))
    assert message.replace("{path}", str(tmp_path / "own.yaml")) in str(caught.value)
