"""A small set with half of its relevant pairs labelled, two runs of it, and labels of people."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Write

QUERIES, NEAR = 30, 4


@pytest.fixture
def made(dataset: Write) -> Path:
    """Each query has two relevant documents of four about its word; one has no label."""
    documents = {f"d{i}-{j}": f"word{i} text {j}" for i in range(QUERIES) for j in range(NEAR)}
    queries = {f"q{i}": f"word{i}" for i in range(QUERIES)}
    return dataset(documents, queries, [(f"q{i}", f"d{i}-0", 1) for i in range(QUERIES)])


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """One run has the relevant documents first, the other has one of them."""
    result = []
    for name, ranked in (("good", (0, 1, 2)), ("poor", (2, 3, 0))):
        lines = [
            f"q{i} Q0 d{i}-{j} {rank} {9 - rank} x\n"
            for i in range(QUERIES)
            for rank, j in enumerate(ranked)
        ]
        (tmp_path / f"{name}.trec").write_text("".join(lines))
        result += ["--run", str(tmp_path / f"{name}.trec")]
    return result
