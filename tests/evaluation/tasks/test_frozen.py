"""The numbers of eval.json on small data sets stay what they were (tests/goldens/eval_tasks.json).

Written by `RETGEN_GOLDENS=1 pytest tests/evaluation/tasks/test_frozen.py` where they have to change.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from retgen.evaluation.scoring.evaluate import evaluate
from tests.evaluation.tasks.multiconir.made import write_ladders
from tests.evaluation.tasks.niah.made import MANY, write_haystacks
from tests.generators.world_twins.made import rows, write

GOLDEN = Path(__file__).parents[2] / "goldens" / "eval_tasks.json"


def test_numbers_of_the_tasks(tmp_path: Path) -> None:
    haystacks = write_haystacks(
        tmp_path / "haystacks",
        (40, 80),
        groups=tuple(MANY),
        controls=("none", "neutral"),
        expanded=True,
    )
    houses = write_ladders(tmp_path / "houses", 13)
    barns = write_ladders(tmp_path / "barns", 13, domain="barns", first=20)
    twins = write(tmp_path / "twins", rows(slot_types=("place", "year"), triples_per_cell=8))
    found = {}
    for name, paths in (("haystacks", haystacks), ("ladders", [houses, barns]), ("twins", twins)):
        result = evaluate(
            paths, models=["tfidf"], metrics=["recall@10"], out=tmp_path / f"{name}_eval"
        )
        content = result.to_json()
        (found[name],) = content[name] if name == "ladders" else [content["results"][0][name]]
    if "RETGEN_GOLDENS" in os.environ:
        GOLDEN.write_text(json.dumps(_rounded(found), indent=None) + "\n")
    _compare(found, json.loads(GOLDEN.read_text()), "")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 7) if isinstance(value, float) else value


def _compare(found: Any, kept: Any, where: str) -> None:
    """Every kept key is there with its number; further keys may stand beside."""
    if isinstance(kept, dict):
        for key, one in kept.items():
            _compare(found[key], one, f"{where}/{key}")
    elif isinstance(kept, list):
        assert len(found) == len(kept), where
        for i, (one, other) in enumerate(zip(found, kept, strict=True)):
            _compare(one, other, f"{where}/{i}")
    elif isinstance(kept, float):
        assert found == pytest.approx(kept, abs=1e-6), where
    else:
        assert found == kept, where
