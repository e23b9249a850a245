"""A domain of one's own, and recipes that cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retgen import run
from retgen.errors import RecipeError, SourceRefused
from retgen.recipe import load_recipe
from tests.agents.server import Server
from tests.conftest import read_jsonl
from tests.generators.multiconir.ships import recipe
from tests.generators.multiconir.stories import stories


@pytest.mark.slow
def test_a_sixth_domain_is_a_block_in_a_recipe(tmp_path: Path, model: Server) -> None:
    """Its documents come from a CSV; what is no document is refused, and the counts add up."""
    texts = [row["text"] for row in stories(3)]
    rows = [
        *enumerate(texts),
        (0, "Twice."),
        (7, ""),
        (8, "Too short. It has two sentences only."),
    ]
    lines = [f'{number},"{story}"\n' for number, story in rows]
    (tmp_path / "ships.csv").write_bytes(
        "".join(["nr,story\n", *lines]).encode() + b'9,"caf\xe9"\n'
    )
    result = run(recipe(tmp_path, "ships.csv"), out=tmp_path / "out")
    rejected = read_jsonl(result.path / "rejected.jsonl")
    assert [(row["rule"], row["reason"]) for row in rejected] == [
        ("source/duplicate-id", "ships.csv:5: the id '0' stands there twice"),
        ("source/empty", "ships.csv:6: the column 'story' is empty"),
        ("source/sentences", "8: it has 1 usable sentences; 10 are needed"),
        ("source/sentences", "9: it has 0 usable sentences; 10 are needed"),
    ]
    assert result.manifest["counts"]["documents"] == 60
    assert result.manifest["licences"]["documents"] == "CC BY 4.0"
    assert "license: other" in (result.path / "dataset" / "README.md").read_text()
    query = read_jsonl(result.path / "dataset" / "queries.jsonl")[0]
    assert query["text"].startswith("Find a ship that meets the following conditions:\n1. ")
    assert query["metadata"]["domain"] == "ships"
    again = run(result.path / "recipe.yaml", out=tmp_path / "again")  # from the copy it kept
    assert read_jsonl(again.path / "dataset" / "qrels.jsonl") == read_jsonl(
        result.path / "dataset" / "qrels.jsonl"
    )


@pytest.mark.slow
def test_exactly_as_many_ladders_as_are_asked_for(tmp_path: Path, model: Server) -> None:
    (tmp_path / "ships.jsonl").write_text(
        "".join(json.dumps({"nr": d["_id"], "story": d["text"]}) + "\n" for d in stories(4))
    )
    path = recipe(tmp_path, "ships.jsonl")
    result = run(path, out=tmp_path / "a", overrides={"params.ladders": 3})
    assert result.manifest["counts"]["documents"] == 60
    limited = run(path, out=tmp_path / "b", limit=2)
    assert limited.manifest["counts"]["documents"] == 40
    message = r"params.ladders: 100 ladders need as many documents; .*ships.jsonl holds 4 that can"
    with pytest.raises(SourceRefused, match=message):
        run(path, out=tmp_path / "c", overrides={"params.ladders": 100})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"params.domain": "moves"},
            "there is no bundled domain 'moves'; did you mean movies? Bundled: people, books, movies, medical, legal; or write a block with name, noun, features, ...",
        ),
        ({"params.source": {"path": "none.jsonl"}}, "there is no source "),
        ({"params.negatives": {"strategy": "negate"}}, "params.negatives.strategy: "),
        ({"params.wordings": ["loud"]}, "params.wordings.0: must be "),
    ],
)
def test_bad_recipes(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError) as error:
        load_recipe("multiconir_books", change)
    assert message in str(error.value)


def test_a_domain_of_ones_own_needs_a_source(tmp_path: Path) -> None:
    path = recipe(tmp_path, "x")
    path.write_text(path.read_text().partition("  source:")[0])
    with pytest.raises(RecipeError, match="a domain of your own needs a source of documents"):
        load_recipe(path)


def test_a_domain_block_with_a_key_missing(tmp_path: Path) -> None:
    path = recipe(tmp_path, "x")
    path.write_text(path.read_text().replace("    noun: ship\n", ""))
    with pytest.raises(RecipeError) as error:
        load_recipe(path)
    assert "params.domain.noun: is missing" in str(error.value)
    assert "must be a valid string" not in str(error.value)
