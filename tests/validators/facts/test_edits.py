"""Sentences of people who had seen no wordings: each says something else than a fact of an entity.

Nobody who writes wordings or reads patterns looks at edits_unseen.jsonl.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import retgen.facts
from retgen.validators.facts.queries import domain_readers

HERE = Path(__file__).parent
DOMAINS = Path(retgen.facts.__file__).parent / "domains"


@pytest.mark.parametrize("name", ["edits", "edits_unseen"])
def test_every_edit_is_found(name: str) -> None:
    """Refused, or read as something else."""
    rows = [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()]
    passed = []
    for row in rows:
        reader = domain_readers(DOMAINS / f"{row['domain']}.yaml").documents
        facts, problems = reader.document(row["entity"], row["sentence"])
        refused = any("does not name" not in one for one in problems)
        if not refused and [str(fact) for fact in facts] == [row["fact"]]:
            passed.append(row["sentence"])
    assert (len(rows), passed) == (150, [])
