from __future__ import annotations

import math

import pytest

from retgen.generators.multiconir.judge.dates import Value
from retgen.generators.multiconir.judge.tokens import units_of

INF = math.inf


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("three hundred and fifty", Value("count", 350, 350)),
        ("twenty-three", Value("count", 23, 23)),
        ("two million", Value("count", 2e6, 2e6)),
        ("a dozen", Value("count", 12, 12)),
        ("$25 million", Value("money $", 25e6, 25e6)),
        ("5,000 euros", Value("money €", 5000, 5000)),
        ("two weeks", Value("time", 14, 14)),
        ("2.5 kg", Value("mass", 2500, 2500)),
        ("40 percent", Value("share", 40, 40)),
        ("150/90", Value("ratio", 150090, 150090)),
        ("54-year-old", Value("age", 54, 54)),
        ("aged 54", Value("age", 54, 54)),
        ("a man of sixty-three", Value("age", 63, 63)),
        ("She was nineteen when she left", Value("age", 19, 19)),
        ("in her late thirties", Value("age", 36, 39)),
        ("the sixties", Value("date", 1960, 1969)),
        ("for a week", Value("time", 7, 7)),
        ("a pair of gloves", Value("count", 2, 2)),
        ("third", Value("ordinal", 3, 3)),
        ("twenty-first", Value("ordinal", 21, 21)),
        ("1974", Value("date", 1974, 1974)),
        ("the 1980s", Value("date", 1980, 1989)),
        ("19th century", Value("date", 1801, 1900)),
        ("14 May 1987", Value("date", 1987, 1987, month=5, day=14)),
        ("May 14, 1987", Value("date", 1987, 1987, month=5, day=14)),
        ("1987-05-14", Value("date", 1987, 1987, month=5, day=14)),
        ("March 1974", Value("date", 1974, 1974, month=3)),
        ("3 November", Value("date", -INF, INF, month=11, day=3)),
        ("more than 40 pages", Value("pages", 40, INF)),
        ("fewer than 40 pages", Value("pages", -INF, 40)),
    ],
)
def test_values(text: str, expected: Value) -> None:
    concepts = [unit.concept for unit in units_of(text, 0, len(text)) if unit.concept]
    assert [concept.value for concept in concepts if concept.value] == [expected]


@pytest.mark.parametrize("text", ["one of them", "he may march", "no more"])
def test_what_is_no_value(text: str) -> None:
    units = units_of(text, 0, len(text))
    assert [unit.concept.value for unit in units if unit.concept and unit.concept.value] == []
