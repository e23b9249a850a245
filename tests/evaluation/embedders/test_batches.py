"""Progress while a model encodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.evaluation.collection import load
from retgen.evaluation.embedders.chunks import each_batch
from retgen.evaluation.retrievers import Options, retriever

Reports = list[tuple[str, int, int]]


@pytest.mark.usefixtures("one_torch_thread")
@pytest.mark.parametrize("name", ["minilm", "static:minilm"])
def test_every_batch_is_reported(limit_run: Path, name: str) -> None:
    """15 documents in batches of 4, and 100 queries in batches of 4."""
    reports: Reports = []

    def progress(stage: str, done: int, total: int, note: str = "", /) -> None:
        reports.append((stage, done, total))

    result = retriever(name, Options(batch_size=4, dims=(32, 384)))
    assert len(list(result.rank(load(limit_run), 5, progress))) == 2
    queries = [(f"{name}: queries", done, 100) for done in range(4, 101, 4)]
    assert reports[: len(queries) + 1] == [*queries, queries[-1]]
    assert reports[len(queries) + 1 :] == [(name, done, 15) for done in (4, 8, 12, 15, 15)]


def test_what_has_no_model_of_its_own_is_silent() -> None:
    reports: list[int] = []
    with each_batch(object(), reports.append):
        pass
    assert reports == []
