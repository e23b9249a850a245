"""Small data sets whose queries have columns, runs with the ranks that a test wants, and a data set
that many systems are scored on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from retgen.evaluation.scoring.evaluate import evaluate


@pytest.fixture
def with_columns(dataset: Callable[..., Path]) -> Callable[..., Path]:
    """The data set of the fixture `dataset`, with more in the rows of its queries."""

    def write(
        corpus: Mapping[str, str],
        queries: Mapping[str, Mapping[str, Any]],
        qrels: Sequence[tuple[str, str, float]],
        name: str = "made",
    ) -> Path:
        path = dataset(corpus, {}, qrels, name)
        rows = [json.dumps({"_id": i, **more}) for i, more in queries.items()]
        (path / "queries.jsonl").write_text("\n".join(rows) + "\n")
        return path

    return write


@pytest.fixture
def trec(tmp_path: Path) -> Callable[[str, Mapping[str, str]], Path]:
    """A TREC run NAME.trec: query id -> ids of documents, the best first, between blanks."""

    def write(name: str, ranked: Mapping[str, str]) -> Path:
        path = tmp_path / f"{name}.trec"
        lines = [
            f"{query} Q0 {doc} {rank} {-rank} x\n"
            for query, docs in ranked.items()
            for rank, doc in enumerate(docs.split(), start=1)
        ]
        path.write_text("".join(lines))
        return path

    return write


@pytest.fixture(scope="session")
def swept(limit_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bm25, minilm at three dimensions, and what is built on them, all scored once."""
    out = tmp_path_factory.mktemp("swept")
    models = [
        "bm25",
        "attribute-oracle",
        "minilm",
        "static:minilm",
        "late:minilm",
        "hybrid:bm25+minilm",
    ]
    evaluate(limit_run, models=models, dims=[32, 384], out=out)
    return out
