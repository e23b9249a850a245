"""Whatever is changed at random in a finished data set, the proof names the record."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from retgen.generators.world import World

from .mutations import KINDS, change_documents, change_qrel, change_query
from .sets import DOMAINS, Set, documents, world_job


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
        right = Set(World(), world_job(domain, 1000), documents(domain, 1000), [], [], [])
        for seed in range(3):
            one = right.copy()
            done = change_documents(one.domain, one.corpus, seed)
            found = one.findings(tmp_path / f"{domain}{seed}")
            named = {i for f in found if f.rule == "world-proof/document" for i in f.ids}
            text = {row["_id"]: f"{row['title']}: {row['text']}" for row in one.corpus}
            missed = [(kind, text[i]) for kind, ids in done.items() for i in ids if i not in named]
            assert missed == []
            total += Counter({kind: len(ids) for kind, ids in done.items()})
    assert total.total() >= 10_000
    assert min(total[kind] for kind in KINDS) > 100, total
