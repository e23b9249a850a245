"""`gen eval` on twins: what is scored, what is measured and what is shown."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from retgen.errors import DatasetError
from retgen.evaluation.tasks.twins.triples import OTHERS, load_triples
from retgen.search.collection import load
from tests.generators.world_twins.made import Row, rows, write


@pytest.fixture(scope="module")
def made() -> dict[str, list[Row]]:
    return rows(slot_types=("place", "person"), triples_per_cell=8)


@pytest.fixture(scope="module")
def folder(made: dict[str, list[Row]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("twins") / "made", made)


def test_every_query_has_its_triple_and_others(made: dict[str, list[Row]], folder: Path) -> None:
    texts = {f"{row['title']} {row['text']}": row["metadata"] for row in made["corpus"]}
    asked = load_triples(load(folder))
    assert [one.query_id for one in asked] == [row["_id"] for row in made["queries"]]
    for one, row in zip(asked, made["queries"], strict=True):
        notes = [texts[text] for text in one.texts]
        assert [note["role"] for note in notes] == ["base", "twin", "control", *["base"] * OTHERS]
        assert [note["triple"] == one.triple for note in notes] == [True] * 3 + [False] * OTHERS
        assert {len(note["facts"]) for note in notes} == {row["metadata"]["length"]}


def test_a_triple_that_is_cut(made: dict[str, list[Row]], tmp_path: Path) -> None:
    cut = copy.deepcopy(made)
    triple = cut["queries"][0]["metadata"]["triple"]
    cut["corpus"] = [
        row
        for row in cut["corpus"]
        if (row["metadata"]["triple"], row["metadata"]["role"]) != (triple, "twin")
    ]
    left = {row["_id"] for row in cut["corpus"]}
    cut["qrels"] = [row for row in cut["qrels"] if row["corpus-id"] in left]
    cut["qrels_graded"] = [row for row in cut["qrels_graded"] if row["corpus-id"] in left]
    path = write(tmp_path / "cut", cut)
    with pytest.raises(DatasetError) as error:
        load_triples(load(path))
    assert str(error.value) == (
        f"{path}: query {cut['queries'][0]['_id']} is about triple {triple}, of which the corpus "
        "has no twin; `gen validate` says what belongs there"
    )


def test_a_triple_of_each_length_is_too_few(tmp_path: Path) -> None:
    path = write(tmp_path / "few", rows(slot_types=("place",), triples_per_cell=1))
    with pytest.raises(DatasetError, match=r"too few triples of a length: .*triples_per_cell"):
        load_triples(load(path))
