"""A source of filled-in templates: what is held out resembles what is trained on, and it is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen import run, validate
from tests.conftest import read_jsonl
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows

WORDS = [word.strip(".,").lower() for text in TEXTS for word in text.split() if len(word) > 5]
SPLIT = {"test": 7, "dev": 2, "train": 39}


def form(n: int) -> str:
    goods = " and ".join(WORDS[(7 * n + 3 * i) % len(WORDS)] for i in range(4))
    return (
        f"Thank you for your order of {goods}. We deliver within five working days. Please pay "
        "to the account below. Goods remain our property until they are paid in full."
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty forms that differ in four of 35 words, and eight other documents."""
    folder = tmp_path_factory.mktemp("templates")
    source = write_rows(folder / "forms.jsonl", [*map(form, range(40)), *TEXTS])
    recipe = write_recipe(folder / "forms.yaml", source, "  queries: {quality: 0}\n")
    return run(recipe, out=folder / "forms").path


@pytest.mark.slow
def test_the_lowest_share_is_taken_that_leaves_enough_to_hold_out(finished: Path) -> None:
    assert json.loads((finished / "sources" / "mined.json").read_text())["alike"] == 0.8
    corpus = read_jsonl(finished / "dataset" / "corpus.jsonl")
    splits = [row["metadata"]["split"] for row in corpus]
    assert {name: splits.count(name) for name in SPLIT} == SPLIT
    assert validate(finished).ok
