"""Which sentences stand in a haystack, in a control, and in a run of one book."""

from __future__ import annotations

from itertools import groupby, pairwise
from pathlib import Path

import pytest

from retgen import run
from tests.conftest import read_jsonl
from tests.generators.niah.rows import Row, corpus, table, without, write_books


@pytest.mark.slow
def test_a_control_holds_the_filler_of_the_first_needle_and_a_sentence_in_its_stead(
    small: Path,
) -> None:
    held = {
        (one["metadata"]["group"], one["metadata"]["length"]): one
        for one in corpus(small)
        if (one["metadata"]["order"], one["metadata"]["place"]) == ("default", 9)
    }
    whole = {row["text"] for row in read_jsonl(small / "sources" / "sentences.jsonl")}
    controls = [one for one in corpus(small) if one["metadata"]["needle"] == "none"]
    assert len(controls) == 44
    for one in controls:
        same = held[one["metadata"]["group"], one["metadata"]["length"]]
        assert one["text"].startswith(f"{without(same)} ")
        stead = one["text"][len(without(same)) + 1 :]
        assert stead in whole or any(
            stead == f"{a} {stead[len(a) + 1 :]}" and stead[len(a) + 1 :] in whole for a in whole
        )


def in_book(run_path: Path, row: Row) -> list[tuple[str, int, bool]]:
    """Book, number and whether it stays, of each sentence of a haystack's filler in order."""
    sources = read_jsonl(run_path / "sources" / "sentences.jsonl")
    place = {one["text"]: (one["book"], i) for i, one in enumerate(sources)}
    longest = max(map(len, place))
    rest, found = without(row), []
    while rest:
        stop = max(i for i in range(1, min(len(rest), longest) + 1) if rest[:i] in place)
        found.append(place[rest[:stop]])
        rest = rest[stop + 1 :]
    return [(book, i, not sources[i]["fault"]) for book, i in found]


@pytest.mark.slow
def test_coherent_filler_is_a_run_of_one_book(tmp_path: Path) -> None:
    told = {
        "params.lengths": [512],
        "params.places": 3,
        "params.filler": ["coherent"],
        "params.orders": ["default"],
    }
    made = run("niah", overrides=told, out=tmp_path / "run")
    sources = read_jsonl(made.path / "sources" / "sentences.jsonl")
    rows = [one for one in corpus(made.path) if one["metadata"]["place"] == 0]
    left_out, one_book = 0, 0
    for row in rows:
        found = in_book(made.path, row)
        body = found[:-2]
        assert len({book for book, *_ in body}) == 1
        for (_, i, _), (_, j, _) in pairwise(body):
            assert i < j
            assert all(sources[k]["fault"] for k in range(i + 1, j))  # nothing else is left out
            left_out += j - i - 1
        one_book += len({book for book, *_ in found}) == 1
    assert (len(rows), one_book) == (22, 21)
    assert 20 < left_out <= 32  # some tails are one sentence


@pytest.mark.slow
def test_coherent_filler_goes_on_with_the_next_book(tmp_path: Path) -> None:
    books = write_books(tmp_path / "books", "map_room", "boatyard")
    told = table(tmp_path / "own.yaml") | {
        "params.lengths": [8192],
        "params.places": 2,
        "params.filler": ["coherent"],
        "params.orders": ["default"],
        "params.books": str(books),
    }
    made = run("niah", overrides=told, out=tmp_path / "run")
    row = next(one for one in corpus(made.path) if one["metadata"]["place"] == 0)
    found = in_book(made.path, row)[:-2]
    (first, begun), (second, next_one) = (
        (book, [i for _, i, _ in some]) for book, some in groupby(found, key=lambda one: one[0])
    )
    assert {first, second} == {"map_room", "boatyard"}
    sources = read_jsonl(made.path / "sources" / "sentences.jsonl")
    kept = [i for i, one in enumerate(sources) if one["book"] == second and not one["fault"]]
    assert next_one == kept[: len(next_one)]
    kept = [i for i, one in enumerate(sources) if one["book"] == first and not one["fault"]]
    assert begun == kept[-len(begun) :]
