"""Whatever is changed at random in a finished data set, the proof names the record."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from retgen.facts.domain import load_domain

from .mutations import change_documents, change_qrel, change_query
from .sets import DOMAINS, Set, documents


def _uncaught(one: Set, folder: Path, seed: int) -> tuple[Counter[str], list[tuple[str, str]]]:
    """How many documents were changed in each way, and those that no finding names."""
    done = change_documents(one, seed)
    named = {
        found
        for finding in one.findings(folder)
        if finding.rule == "world-proof/document"
        for found in finding.ids
    }
    missed = [(kind, text) for kind, rows in done.items() for i, text in rows if i not in named]
    return Counter({kind: len(rows) for kind, rows in done.items()}), missed


@pytest.mark.slow
def test_documents(films: Set, tmp_path: Path) -> None:
    changed, missed = _uncaught(films.copy(), tmp_path, seed=1)
    assert missed == []
    assert changed.total() > 300
    assert min(changed.values()) > 10, changed  # of each of the twelve kinds


@pytest.mark.parametrize("words", [True, False], ids=["query word", "qrel"])
def test_queries_and_qrels(films: Set, tmp_path: Path, words: bool) -> None:
    one, chance = films.copy(), random.Random(2)
    changed = set()
    for query in one.queries:
        if change_query(one, query, chance) if words else change_qrel(one, query["_id"], chance):
            changed.add(query["_id"])
    named = {i for finding in one.findings(tmp_path) for i in finding.ids}
    assert len(changed) >= 40
    assert changed - named == set(), [q["text"] for q in one.queries if q["_id"] in changed - named]


@pytest.mark.slow
def test_ten_thousand(tmp_path: Path) -> None:
    """At least 2,000 a domain, and every one is caught."""
    total: Counter[str] = Counter()
    for domain in DOMAINS:
        one = Set(load_domain(domain), documents(domain, 1000), [], [], [])
        for seed in range(3):
            changed, missed = _uncaught(one.copy(), tmp_path / f"{domain}{seed}", seed)
            assert missed == []
            total += changed
    assert total.total() >= 10_000
    assert len(total) == 12
