"""Finished runs, which tests read only."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import run

ARMS = {
    "params.lengths": [256],
    "params.places": 3,
    "params.orders": ["default", "inverted"],
    "params.needles": ["one_hop", "literal"],
    "params.filler": ["shuffled", "coherent"],
    "params.filtered": [True, False],
    "params.distractors": [0, 4],
    "params.controls": ["nothing", "neutral"],
}


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("niah") / "small"
    return run("niah", overrides={"params.lengths": [128, 256]}, out=out).path


@pytest.fixture(scope="session")
def arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run("niah", overrides=ARMS, out=tmp_path_factory.mktemp("niah") / "arms").path
