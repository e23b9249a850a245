"""Sentences and queries of people who had seen neither phrases nor wordings.

Nobody who writes phrases looks at unseen.jsonl and edits_unseen.jsonl. Those of edits.jsonl change a
fact or keep it; they are the half of what two people wrote that phrases were mended with.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import retgen.world
from retgen.validators.world.queries import UnreadableQuery, domain_readers

from .measure_edits import judge_edits

HERE = Path(__file__).parent
DOMAINS = Path(retgen.world.__file__).parent / "domains"


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("edits", 80), ("edits_unseen", 42)])
def test_edits(name: str, least: int) -> None:
    """Every change is found; what keeps its meaning is accepted or refused, never misread."""
    count = Counter(one.outcome for one in judge_edits(rows_of(f"{name}.jsonl")))
    assert set(count) == {"found", "accepted", "refused"}
    assert (count["found"], count["accepted"] + count["refused"]) == (150, 100)
    assert count["accepted"] >= least


@pytest.mark.parametrize(("name", "least"), [("unseen", 85), ("seen", 60)])
def test_nothing_is_misread(name: str, least: int) -> None:
    """What is read at all says what it says; at least so many of 200 are read."""
    outcomes: Counter[str] = Counter()
    for row in rows_of(f"{name}.jsonl"):
        _, documents, queries = domain_readers(DOMAINS / f"{row['domain']}.yaml")
        if row["kind"] == "query":
            try:
                right = queries.query(row["text"]) == row["expression"]
            except UnreadableQuery:
                outcomes["refused"] += 1
                continue
        else:
            facts, problems = documents.document(row["title"], row["text"])
            if any("does not name" not in one for one in problems):
                outcomes["refused"] += 1
                continue
            right = [str(fact) for fact in facts] == row["facts"]
        outcomes["read" if right else "misread"] += 1
    assert outcomes.total() == 200
    assert outcomes["misread"] == 0
    assert outcomes["read"] >= least
