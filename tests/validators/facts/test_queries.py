"""Queries to expressions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import retgen.facts
from retgen.generators.world.params import WorldParams
from retgen.generators.world.tables import job_queries
from retgen.validators.facts.queries import QueryReader, UnreadableQuery, domain_readers

from .sets import DOMAINS


def reader(domain: str) -> QueryReader:
    return domain_readers(Path(retgen.facts.__file__).parent / "domains" / f"{domain}.yaml").queries


LEIPZIG = ["is", "setting", "Leipzig"]
GERMANY = ["within", "setting", "Germany"]
IN_1957 = ["is", "release", 1957]


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("Find every film that is set in Leipzig.", LEIPZIG),
        ("Is there a film whose story unfolds in Germany?", GERMANY),
        ("I need every film whose tale is situated in Muenchen.", ["is", "setting", "Munich"]),
        ("Name each film that hit the theatres in the 1950s.", ["between", "release", 1950, 1959]),
        ("Is there a film that came out before 1950?", ["between", "release", None, 1949]),
        ("Is there a film that came out later than 1950?", ["between", "release", 1951, None]),
        ("Is there a film that came out from 1950 to 1960?", ["between", "release", 1950, 1960]),
        ("Show me every film whose shoot began on 3 May 1957.", ["is", "shooting", "1957-05-03"]),
        (
            "Show me every film whose shoot began in February 1956.",
            ["between", "shooting", "1956-02-01", "1956-02-29"],
        ),
        (
            "Show me every film whose shoot began after 1957.",
            ["between", "shooting", "1958-01-01", None],
        ),
        ("What I want is a film that lasts 113 minutes.", ["is", "runtime", 113]),
        ("Do you know of a film that lasts over 120 minutes?", ["between", "runtime", 121, None]),
        (
            "Do you know of a film that lasts between 90 and 100 minutes?",
            ["between", "runtime", 90, 100],
        ),
        (
            "Find every film that is set in Leipzig, that came out in 1957 and that lasts two minutes.",
            ["and", LEIPZIG, IN_1957, ["is", "runtime", 2]],
        ),
        (
            "Find every film that is set in Leipzig or that came out in 1957.",
            ["or", LEIPZIG, IN_1957],
        ),
        (
            "I am looking for either a film that is set in Leipzig and that came out in 1957 or one that "
            "is set in Germany.",
            ["or", ["and", LEIPZIG, IN_1957], GERMANY],
        ),
        (
            "Find every film that is set in Germany, leaving out any that came out in 1957.",
            ["and not", GERMANY, IN_1957],
        ),
        (
            "Is there a film that is set in Germany, but not one that came out in 1957?",
            ["and not", GERMANY, IN_1957],
        ),
        (
            "At least two of these three descriptions must fit the film: one that is set in Leipzig; one "
            "that came out in 1957; one that lasts 113 minutes.",
            ["at least", 2, LEIPZIG, IN_1957, ["is", "runtime", 113]],
        ),
        (
            "Consider each film that is set in Germany. Which 10 have the latest release?",
            ["most", 10, "release", GERMANY],
        ),
        (
            "Take every film that is set in Germany, and name the one with the lowest outlay.",
            ["least", 1, "budget", GERMANY],
        ),
        (
            "Find every film that carries on the tale of a film that is set in Leipzig.",
            ["via", "predecessor", LEIPZIG],
        ),
    ],
)
def test_films(text: str, expression: list[Any]) -> None:
    assert reader("films").query(text) == expression


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Find every film.", "no frame of queries holds it"),
        ("films that are set in Leipzig", "no frame of queries holds it"),
        (
            "Find every film that is nearly set in Leipzig.",
            "no wording says 'that is nearly set in",
        ),
        ("Find every film that is set in 1957.", "no wording says 'that is set in 1957'"),
        ("Find every film that came out in Leipzig.", "no wording says 'that came out in Leipzig'"),
        ("Show me every film whose shoot began on 31 February 1990.", "no wording says 'whose"),
        (
            "At least two of these four descriptions must fit the film: one that is set in Leipzig; one "
            "that came out in 1957.",
            "it names 2 conditions, not four",
        ),
        (
            "Find every film that is set in Leipzig and that came out in 1957 or that lasts 90 minutes.",
            "its conditions are joined in no one way",
        ),
        (
            "Consider each film that is set in Germany. Which 10 have the longest title?",
            "no slot is ranked by 'the longest title'",
        ),
    ],
)
def test_problems(text: str, problem: str) -> None:
    with pytest.raises(UnreadableQuery) as error:
        reader("films").query(text)
    assert str(error.value).startswith(problem)


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_all_queries_of_a_world(domain: str) -> None:
    asked = job_queries(
        WorldParams(domain=domain, documents=1500, answer_sizes=(1, 10), queries_per_cell=1), 3
    )
    for i in range(len(asked.queries)):
        row = asked.query(i)
        assert reader(domain).query(row["text"]) == json.loads(row["metadata"]["expression"])
