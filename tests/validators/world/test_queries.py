"""Queries to expressions."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import retgen.world
from retgen.generators.world.params import WorldParams
from retgen.generators.world.tables import job_queries
from retgen.validators.world.definitions import BadDefinition, read_definition
from retgen.validators.world.lexicon import lexicon_template, read_lexicon
from retgen.validators.world.queries import QueryReader, UnreadableQuery, domain_readers

from .sets import DOMAINS

KITES = Path(__file__).parent / "kites.yaml"


@cache
def reader(domain: str) -> QueryReader:
    path = Path(retgen.world.__file__).parent / "domains" / f"{domain}.yaml"
    definition = read_definition(path)
    return QueryReader(definition, read_lexicon(definition, path))


LEIPZIG = ["is", "setting", "Leipzig"]
GERMANY = ["within", "setting", "Germany"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("Find every film that is set in Leipzig.", LEIPZIG),
        ("Which films are set in Germany?", GERMANY),
        ("films whose story unfolds in Muenchen", ["is", "setting", "Munich"]),
        ("Name each film released in 1957.", ["is", "release", 1957]),
        ("films that came out in the 1950s", ["between", "release", 1950, 1959]),
        ("films released before 1950", ["between", "release", None, 1949]),
        ("films released later than 1950", ["between", "release", 1951, None]),
        ("films released between 1950 and 1960", ["between", "release", 1950, 1960]),
        ("films released from 1950 onwards", ["between", "release", 1950, None]),
        ("films whose shooting began on 3 May 1957", ["is", "shooting", "1957-05-03"]),
        (
            "films whose shooting began in February 1956",
            ["between", "shooting", "1956-02-01", "1956-02-29"],
        ),
        ("films whose shooting began after 1957", ["between", "shooting", "1958-01-01", None]),
        ("films that run for 113 minutes", ["is", "runtime", 113]),
        ("films that run for more than 120 minutes", ["between", "runtime", 121, None]),
        ("films that run for at most 90 minutes", ["between", "runtime", None, 90]),
        ("films that run for 90 minutes or less", ["between", "runtime", None, 90]),
        ("films that run for between 90 and 100 minutes", ["between", "runtime", 90, 100]),
        ("a film set in Leipzig", LEIPZIG),
        ("films set in Leipzig and released in 1957", ["and", LEIPZIG, ["is", "release", 1957]]),
        (
            "Films set in Germany with music by Petra Tamm",
            ["and", GERMANY, ["is", "composer", "Petra Tamm"]],
        ),
        (
            "films that are set in Leipzig or that were released in 1957",
            ["or", LEIPZIG, ["is", "release", 1957]],
        ),
        (
            "films set in Germany that were not shot in Germany",
            ["and not", GERMANY, ["within", "location", "Germany"]],
        ),
        (
            "Find every film that is set in Germany, leaving out any that runs for 113 minutes.",
            ["and not", GERMANY, ["is", "runtime", 113]],
        ),
        (
            "films that fit at least two of these three descriptions: set in Leipzig; released in 1957; "
            "running for 113 minutes",
            ["at least", 2, LEIPZIG, ["is", "release", 1957], ["is", "runtime", 113]],
        ),
        (
            "Of the films that are set in Germany, the 10 with the latest release",
            ["most", 10, "release", GERMANY],
        ),
        ("the five longest films set in Germany", ["most", 5, "runtime", GERMANY]),
        (
            "Which film that is set in Germany has the lowest budget?",
            ["least", 1, "budget", GERMANY],
        ),
        (
            "films that continue the story of a film that is set in Leipzig",
            ["via", "predecessor", LEIPZIG],
        ),
        (
            "Which films follow an earlier film directed by Petra Tamm?",
            ["via", "predecessor", ["is", "director", "Petra Tamm"]],
        ),
    ],
)
def test_films(text: str, expression: list[Any]) -> None:
    assert reader("films").query(text) == expression


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Find every film.", "it asks for nothing"),
        ("films that are not set in Leipzig", "it says only what is not asked for"),
        ("films beloved in Leipzig", "no phrase holds 'beloved'"),
        (
            "films whose shooting began before 31 February 1990",
            "it names a day that there is not: day is out of range for month",
        ),
        (
            "films that are set in Leipzig and, heaven forbid, any that were released in 1957",
            "no phrase holds 'heaven'",
        ),
        (
            "films that fit at least two of these four descriptions: set in Leipzig; released in 1957",
            "it names 2 conditions, not 4",
        ),
        (
            "films that borrow from an earlier film directed by Petra Tamm",
            "no phrase goes on with 'from'",
        ),
        (
            "films that do not continue the story of a film that is set in Leipzig",
            "it says only what is not asked for",
        ),
        ("films set in Leipzig with the longest title", "no phrase goes on with 'title'"),
    ],
)
def test_problems(text: str, problem: str) -> None:
    with pytest.raises(UnreadableQuery) as error:
        reader("films").query(text)
    assert str(error.value) == problem


REFUSED = [
    # hedges, and what is not so
    ("films", "a film that was nearly set in Leipzig", "nearly"),
    ("films", "a film that is said to be set in Leipzig", "said"),
    ("films", "a film that might be set in Leipzig", "might"),
    ("films", "a film that would have been set in Leipzig", "would"),
    ("films", "a film that was almost released in 1950", "almost"),
    ("people", "someone who will have been born in Oslo", "will"),
    ("legal", "cases that could be decided in 1950", "could"),
    # what ranks, counts and orders
    ("films", "the narrowest film set in Leipzig", "narrowest"),
    ("films", "Which film set in Leipzig was the cheapest?", "was"),
    ("people", "somebody who was born in Oslo and who was the tallest", "tallest"),
    ("people", "the tallest five people born in Oslo", "five"),
    ("people", "people born in Oslo, sorted by height", "sorted"),
    ("people", "everybody but the tallest person born in Oslo", "everybody"),
    ("people", "Who among those born in Oslo had more children?", "among"),
    ("films", "films that fit two of the following: set in Leipzig; released in 1950", "of"),
    ("films", "exactly two of these: a film set in Leipzig; one released in 1950", "exactly"),
    ("films", "half of the films set in Leipzig", "half"),
    ("films", "the first film set in Leipzig", "set"),
    ("books", "a book whose second edition was published in 1950", "second"),
    ("films", "a film that premiered three years after it was released in 1950", "years"),
    # when and where
    ("films", "a film that was released in the spring of 1950", "spring"),
    ("films", "a film that was released in the first half of 1950", "half"),
    ("films", "a film that was released in early 1950", "early"),
    ("films", "a film that was released at Christmas 1950", "christmas"),
    ("films", "a film that was released around 1950", "around"),
    ("films", "a film that costs twice 10 million dollars", "twice"),
    ("films", "a film that is set near Leipzig", "near"),
    # what joins and compares
    ("films", "a film that is set in Leipzig if it was released in 1950", "if"),
    ("films", "a film that is set in Leipzig xor released in 1950", "xor"),
    ("films", "a film longer than one that was released in 1950", "longer"),
    ("films", "a film set in Leipzig, ideally released in 1950", "ideally"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "text", "word"), REFUSED)
def test_refused(domain: str, text: str, word: str) -> None:
    with pytest.raises(UnreadableQuery) as error:
        reader(domain).query(text)
    assert str(error.value) in (f"no phrase holds {word!r}", f"no phrase goes on with {word!r}")


@pytest.mark.slow
def test_somebody_else() -> None:
    with pytest.raises(UnreadableQuery, match="no phrase holds 'brother'"):
        reader("medical").query("patients whose brother lives in Leipzig")


@pytest.mark.parametrize(
    ("domain", "text", "expression"),
    [
        ("medical", "the five oldest patients from Germany", ["most", 5, "age"]),
        ("people", "Who are the two youngest people born in Germany?", ["most", 2, "birth"]),
        ("people", "Who are the two oldest people born in Germany?", ["least", 2, "birth"]),
        ("legal", "the oldest case with a claimant from Canada", ["least", 1, "decided"]),
        (
            "legal",
            "Of the cases with a claimant from Canada, the 10 with the most recently lodged papers",
            ["most", 10, "filed"],
        ),
    ],
)
def test_what_is_oldest(domain: str, text: str, expression: list[Any]) -> None:
    """A domain's lexicon says which of its slots a word ranks, and which way."""
    assert reader(domain).query(text)[:3] == expression


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_all_queries_of_a_world(domain: str) -> None:
    asked = job_queries(
        WorldParams(domain=domain, documents=1500, answer_sizes=(1, 10), queries_per_cell=1), 3
    )
    for i in range(len(asked.all)):
        row = asked.query(i)
        assert reader(domain).query(row["text"]) == json.loads(row["metadata"]["expression"]), row[
            "text"
        ]


def test_other_files_are_other_readers(tmp_path: Path) -> None:
    path = tmp_path / "kites.yaml"
    shutil.copy(KITES, path)
    lexicon = tmp_path / "kites.lexicon.yaml"
    lexicon.write_text(lexicon_template(read_definition(path)))
    first = domain_readers(path)
    assert first.domain.domain == "kites"
    assert domain_readers(path) is first
    lexicon.write_text(lexicon.read_text() + "others: [copy]\n")
    second = domain_readers(path)
    assert second is not first
    path.write_text(path.read_text().replace("singular: kite", "singular: glider"))
    third = domain_readers(path)
    assert (second.domain.singular, third.domain.singular) == ("kite", "glider")
    path.unlink()
    with pytest.raises(BadDefinition, match=r"kites\.yaml: cannot be read: No such file"):
        domain_readers(path)
