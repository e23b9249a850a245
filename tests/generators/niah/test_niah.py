"""Whole runs of the family: exact counts, exact lengths, same bytes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from retgen import run
from retgen.generators.niah.books import sentences
from retgen.generators.niah.counting import load_counter
from retgen.recipe import load_recipe
from tests.conftest import read_jsonl
from tests.generators.niah.rows import corpus, without


def test_no_sentence_is_cut_or_stands_twice(small: Path) -> None:
    whole = {row["text"] for row in read_jsonl(small / "sources" / "sentences.jsonl")}
    for row in corpus(small)[:400]:
        filler = without(row)
        found = list(sentences(filler))
        assert " ".join(found) == filler
        assert set(found) <= whole
        assert len(set(found)) == len(found)


def test_queries_carry_needles_and_expansions(small: Path) -> None:
    queries = read_jsonl(small / "dataset" / "queries.jsonl")
    one = next(row for row in queries if row["metadata"]["group"] == "landmark-01")
    told = one["metadata"]
    assert one["text"] == "Which character has been to Krakow?"
    assert told["needle"] == f"Actually, {told['name']} lives next to Wawel Cathedral."
    assert told["expansion_100"].startswith("Which character has been to Krakow? Krakow Cracow ")
    assert len(told["expansion_100"]) < len(told["expansion_150"]) < len(told["expansion_250"])


@pytest.mark.slow
def test_training_has_other_needles_names_and_prose(small: Path, tmp_path: Path) -> None:
    made = run(
        "niah_train",
        overrides={"params.lengths": [128], "params.fillers": 1},
        out=tmp_path / "train",
    )
    rows = pq.read_table(made.path / "training" / "needles.parquet").to_pylist()
    assert len(rows) == 34 * 2 * 10
    texts = {one["_id"]: one for one in corpus(made.path)}
    test = read_jsonl(small / "sources" / "groups.jsonl")
    train = read_jsonl(made.path / "sources" / "groups.jsonl")
    for key in ("group", "name", "fact", "one_hop"):
        assert not {row[key] for row in test} & {row[key] for row in train}
    both = [
        {row["book"] for row in read_jsonl(path / "sources" / "books.jsonl")}
        for path in (small, made.path)
    ]
    assert [len(books) for books in both] == [10, 6]
    assert not both[0] & both[1]
    counted = load_counter("minilm").lengths(
        [row[key] for row in rows for key in ("positive", "negative_1", "negative_2")]
    )
    assert set(counted) == {128}
    places = Counter(texts[row["positive-id"]]["metadata"]["place"] for row in rows)
    assert places == dict.fromkeys(range(10), 68)
    for row in rows:
        assert texts[row["positive-id"]]["text"] == row["positive"]
        name = texts[row["positive-id"]]["metadata"]["name"]
        assert name not in row["negative_1"]
        assert name not in row["negative_2"]


def test_rows_depend_on_nothing_but_their_number(small: Path) -> None:
    recipe = load_recipe("niah", {"params.lengths": [128, 256]}).at(small)
    records = recipe.family.generate(recipe.job)
    lines = (small / "dataset" / "corpus.jsonl").read_bytes().splitlines(keepends=True)
    for first, last in ((500, 503), (7, 8), (920, 924)):
        assert records.corpus.jsonl(first, last) == b"".join(lines[first:last])


@pytest.mark.slow
def test_a_length_more_changes_no_other_haystack(small: Path, tmp_path: Path) -> None:
    more = run("niah", overrides={"params.lengths": [128, 200]}, out=tmp_path / "more").path
    texts = [
        {one["text"] for one in corpus(path) if one["metadata"]["length"] == 128}
        for path in (small, more)
    ]
    assert texts[0] == texts[1]
