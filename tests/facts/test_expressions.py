from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgen.facts.domain import load_domain
from retgen.facts.expressions import (
    Extreme,
    dumps,
    execute,
    grades,
    missing,
    slots,
    to_json,
)
from retgen.facts.facts import World
from retgen.facts.table import EntityTable

from .written import from_json

BOATS = Path(__file__).parent / "boats.yaml"
COUNT = 600


@pytest.fixture(scope="module")
def table() -> EntityTable:
    return EntityTable(World(load_domain(BOATS), 7, COUNT))


EXPRESSIONS: list[list[Any]] = [
    ["is", "home", "Oslo"],
    ["is", "refit", 1991],
    ["is", "launch", "1975-06-30"],
    ["within", "home", "Spain"],
    ["between", "length", 40, 50],
    ["between", "launch", None, "1974-12-31"],
    ["between", "refit", 1990, None],
    ["and", ["within", "home", "Norway"], ["is", "hull", "teak"]],
    ["or", ["is", "home", "Ribe"], ["and", ["is", "hull", "oak"], ["between", "length", 60, None]]],
    ["and not", ["within", "hull", "a timber"], ["within", "home", "Norway"]],
    [
        "at least",
        2,
        ["within", "home", "Portugal"],
        ["is", "hull", "elm"],
        ["between", "length", None, 45],
    ],
    ["via", "model", ["within", "home", "Denmark"]],
    ["via", "model", ["and", ["within", "home", "Norway"], ["between", "length", None, 40]]],
]


@pytest.mark.parametrize("value", EXPRESSIONS, ids=str)
def test_as_json(value: list[Any]) -> None:
    assert to_json(from_json(value)) == value
    assert " " not in dumps(from_json(["is", "home", "Oslo"]))


def facts_of(table: EntityTable) -> list[dict[str, Any]]:
    """Facts as names, entity by entity: another way to read the same world."""
    rows: list[dict[str, Any]] = [{} for _ in range(COUNT)]
    for name, slot in table.domain.slots.items():
        codes = table.columns[name].tolist()
        for row, value in zip(rows, table.world.value_names(slot, codes), strict=True):
            if value:
                row[name] = int(value) if slot.type in ("year", "number") else value
    names = table.world.names(np.arange(COUNT))
    for row in rows:
        if "model" in row:
            row["model"] = names.index(row["model"])
    return rows


def met(
    value: list[Any], row: dict[str, Any], rows: list[dict[str, Any]], table: EntityTable
) -> bool:
    """The same algebra, one entity at a time, over names."""
    match value:
        case ["is", slot, wanted]:
            return bool(row.get(slot) == wanted)
        case ["within", slot, parent]:
            values = {one.name: one.parents for one in table.domain.slots[slot].values}
            return slot in row and parent in values[row[slot]]
        case ["between", slot, low, high]:
            there = row.get(slot)
            return there is not None and (low or there) <= there <= (high or there)
        case ["and", *parts]:
            return all(met(part, row, rows, table) for part in parts)
        case ["or", *parts]:
            return any(met(part, row, rows, table) for part in parts)
        case ["and not", kept, dropped]:
            return met(kept, row, rows, table) and not met(dropped, row, rows, table)
        case ["at least", k, *parts]:
            return bool(sum(met(part, row, rows, table) for part in parts) >= k)
        case ["via", slot, of]:
            return slot in row and bool(met(of, rows[row[slot]], rows, table))
    raise AssertionError(value)


def test_execution_agrees_with_one_entity_at_a_time(table: EntityTable) -> None:
    rows = facts_of(table)
    for value in EXPRESSIONS:
        expected = [met(value, row, rows, table) for row in rows]
        assert execute(from_json(value), table).tolist() == expected, value
        assert any(expected) or value[0] == "is", value


def test_superlatives(table: EntityTable) -> None:
    rows = facts_of(table)
    oslo = [i for i, row in enumerate(rows) if row["home"] == "Oslo"]
    by_day = sorted(oslo, key=lambda i: rows[i]["launch"])
    latest = execute(from_json(["most", 3, "launch", ["is", "home", "Oslo"]]), table)
    assert np.flatnonzero(latest).tolist() == sorted(by_day[-3:])
    earliest = execute(from_json(["least", 2, "launch", ["is", "home", "Oslo"]]), table)
    assert np.flatnonzero(earliest).tolist() == sorted(by_day[:2])


def test_superlatives_without_an_answer(table: EntityTable) -> None:
    lengths = sorted(table.columns["length"].tolist(), reverse=True)
    k = next(i for i in range(1, COUNT) if lengths[i - 1] == lengths[i])
    with pytest.raises(ValueError, match=rf"^entities {k} and {k + 1} tie$"):
        execute(from_json(["most", k, "length", ["between", "length", 0, None]]), table)
    with pytest.raises(ValueError, match=r"^0 entities, of which 1 are to be taken$"):
        execute(from_json(["most", 1, "launch", ["between", "length", 91, None]]), table)
    # what has no refit has no latest one
    refitted = int((table.columns["refit"] >= 0).sum())
    with pytest.raises(ValueError, match=rf"^{refitted} entities, of which 500 are"):
        execute(from_json(["most", 500, "refit", ["between", "length", 0, None]]), table)


def leaves(value: Any) -> Iterator[list[Any]]:
    if value[0] in ("is", "within", "between"):
        yield value
    else:
        for part in value[1:]:
            if isinstance(part, list):
                yield from leaves(part)


def test_grades_count_conditions(table: EntityTable) -> None:
    rows = facts_of(table)
    for value in EXPRESSIONS:
        if value[0] in ("and not", "via"):
            continue
        expected = [sum(met(leaf, row, rows, table) for leaf in leaves(value)) for row in rows]
        assert grades(from_json(value), table).tolist() == expected, value


def test_grades_of_negation_relation_and_superlative(table: EntityTable) -> None:
    rows = facts_of(table)
    both = from_json(["and not", ["is", "hull", "oak"], ["is", "home", "Oslo"]])
    assert grades(both, table).tolist() == [
        (row["hull"] == "oak") + (row["home"] != "Oslo") for row in rows
    ]
    two_hop = ["and", ["is", "hull", "oak"], ["within", "home", "Norway"]]
    inner = grades(from_json(two_hop), table)
    assert grades(from_json(["via", "model", two_hop]), table).tolist() == [
        int(inner[row["model"]]) if "model" in row else 0 for row in rows
    ]
    most = from_json(["most", 1, "launch", ["is", "home", "Oslo"]])
    assert sorted(set(grades(most, table).tolist())) == [0, 1, 2]
    assert (grades(most, table) == 2).tolist() == execute(most, table).tolist()


@pytest.mark.parametrize("value", EXPRESSIONS, ids=str)
def test_nothing_is_missing_from_answers_alone(table: EntityTable, value: list[Any]) -> None:
    expression = from_json(value)
    short = missing(expression, table)
    assert ((short == 0) == execute(expression, table)).all()
    assert (short >= 0).all()


def test_what_is_missing(table: EntityTable) -> None:
    rows = facts_of(table)
    two = from_json(["and", ["is", "hull", "oak"], ["is", "home", "Oslo"]])
    assert missing(two, table).tolist() == [
        (row["hull"] != "oak") + (row["home"] != "Oslo") for row in rows
    ]
    # an earlier boat in Oslo misses the superlative, a later boat elsewhere misses Oslo
    most = Extreme(1, "launch", from_json(["is", "home", "Oslo"]), True)
    day = max(row["launch"] for row in rows if row["home"] == "Oslo")
    assert missing(most, table).tolist() == [
        (row["home"] != "Oslo") + (row["launch"] < day) for row in rows
    ]


def test_slots_in_order() -> None:
    inner = ["and", ["is", "home", "Oslo"], ["within", "hull", "a metal"]]
    value = ["most", 2, "launch", inner]
    assert slots(from_json(value)) == ["home", "hull", "launch"]
    assert slots(from_json(["via", "model", ["is", "hull", "oak"]])) == ["model", "hull"]


def test_values_have_codes(table: EntityTable) -> None:
    fresh = EntityTable(table.world)  # one that has named no value yet
    chosen = random.Random(3).sample(range(COUNT), 20)
    for slot in table.domain.slots:
        for code in table.columns[slot][chosen].tolist():
            if code >= 0:
                assert fresh.code(slot, table.name(slot, code)) == code
    assert table.name("launch", datetime.date(1975, 6, 30).toordinal()) == "1975-06-30"
    with pytest.raises(KeyError):
        table.code("home", "Atlantis")
