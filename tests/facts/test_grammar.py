"""Drawn documents, queries and ladders against a grammar checker, and the checker against planted faults.

It is a check of some classes of faults: wrong articles, doubled words, small letters after a full
stop, verbs that do not agree with "it", "he" or "she", wrong participles, singulars after numbers.
It seldom sees a verb that is left out ("Its director Isamu Drozd"), and never a wrong preposition
before a year ("released on 1957"): what it does not find here is not proven right.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from retgen.facts import Composer, World, load_domain
from retgen.facts.table import EntityTable
from retgen.generators.multiconir.facts import LadderSampler
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.world.params import WorldParams
from retgen.generators.world.queries import Search
from retgen.generators.world.tables import asker, cells
from tests.facts.grammar import faults

DOMAINS = ("books", "films", "legal", "medical", "people")
DOCUMENTS = 60  # of each domain
PLANTED = 10  # faults of each kind


def documents(domain: str, stop: int, purpose: str = "") -> list[str]:
    world = World(load_domain(domain), 20, 2000, purpose)
    return [one.text for one in Composer(world).documents(0, stop)]


def replaced(pattern: str, by: str) -> Callable[[str], str]:
    """A text with a fault in the first place that `pattern` finds, or as it was."""
    return lambda text: re.sub(pattern, by, text, count=1)


FAULTS = {
    "article a": replaced(r"\ba (?=[bdgkt])", "an "),
    "article an": replaced(r"\ban (?=[aei])", "a "),
    "doubled word": replaced(r"\b(in|on|the|by|of|was) ", r"\1 \1 "),
    "small letter": replaced(r"(?<=[a-z]\. )(It|He|She|Its|His|Her)\b", "its"),
    "agreement, is": replaced(r"\b(It|He|She) is\b", r"\1 are"),
    "agreement, has": replaced(r"\b(It|He|She) has\b", r"\1 have"),
    "participle": replaced(r"\bwas (written|given|taken|shot)\b", "was wrote"),
}


def planted(fault: Callable[[str], str]) -> list[tuple[str, str]]:
    """Documents in which the fault can be, equally many of each domain where it can be in all."""
    pairs = []
    for domain in DOMAINS:
        texts = documents(domain, 60, "planted")
        changed = [(text, fault(text)) for text in texts if fault(text) != text]
        pairs.append(changed[:PLANTED])
    turns = (pair for turn in range(PLANTED) for some in pairs for pair in some[turn : turn + 1])
    return [pair for pair, _ in zip(turns, range(PLANTED), strict=False)]


def found(fault: Callable[[str], str]) -> int:
    """In how many of them the checker reports what it does not report of the text as it was."""
    return sum(len(list(faults(bad))) > len(list(faults(good))) for good, bad in planted(fault))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_faults_that_are_planted_are_found(kind: str) -> None:
    assert len(planted(FAULTS[kind])) == PLANTED
    assert found(FAULTS[kind]) == PLANTED


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_300_documents_read_as_english(domain: str) -> None:
    texts = documents(domain, DOCUMENTS)
    assert len(texts) == DOCUMENTS
    assert [one for text in texts for one in faults(text)] == []


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_queries_read_as_english(domain: str) -> None:
    table = EntityTable(World(load_domain(domain), 20, 2000))
    search = Search(table, 20)
    texts = [
        asker(table.domain, cell, 20, 0).ask(query)
        for cell in cells(WorldParams(domain=domain, documents=2000, answer_sizes=(1, 10)))
        if (query := search.find(cell, 0)) is not None
    ]
    assert len(texts) >= 40
    assert [one for text in texts for one in faults(text)] == []


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["books", "legal", "medical", "movies", "people"])
def test_ladders_read_as_english(domain: str) -> None:
    params = MultiConIRParams.model_validate({"domain": domain, "ladders": 10})
    ladders = list(LadderSampler(params, 20).ladders())
    assert len(ladders) == 10
    texts = [" ".join(some) for one in ladders for some in (one.sentences, one.rewrites)]
    assert [one for text in texts for one in faults(text)] == []
