"""Small data sets that evaluation tests share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import retgen

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def one_thread_and_own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Embeddings of tests stay in the test's folder; a small model is faster on one thread."""
    monkeypatch.setenv("RETGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def limit_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 15 documents and 100 queries over their pairs."""
    out = tmp_path_factory.mktemp("runs") / "limit"
    overrides = {
        "params.docs": 15,
        "params.queries": 100,
        "params.attributes_per_doc": 16,
    }
    return retgen.run("limit_small", out=out, overrides=overrides).path


@pytest.fixture
def dataset(tmp_path: Path) -> Write:
    """Write a data set in MTEB layout: texts by document id, texts by query id, qrels."""

    def write(
        corpus: Mapping[str, str],
        queries: Mapping[str, str],
        qrels: Sequence[tuple[str, str, float]],
        name: str = "made",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        rows = {
            "corpus": [{"_id": i, "title": "", "text": t} for i, t in corpus.items()],
            "queries": [{"_id": i, "text": t} for i, t in queries.items()],
            "qrels": [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in qrels],
        }
        for table, found in rows.items():
            (folder / f"{table}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
        return folder

    return write
