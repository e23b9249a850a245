"""What submitters get: do ids or order tell the labels?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from retgen import make_sealed
from tests.conftest import read_jsonl

SETS: dict[str, tuple[str, dict[str, Any]]] = {
    "limit": ("limit_small", {"params.docs": 46, "params.queries": 1000}),
    "album": (
        "capretrieval_album",
        {"params.captions": 600, "params.queries": 80, "params.training": 0},
    ),
    "twins": ("world_twins", {"params.triples_per_cell": 4}),
}


@pytest.fixture(scope="module", params=SETS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe, overrides = SETS[request.param]
    out = tmp_path_factory.mktemp("public")
    return Path(make_sealed(recipe, out=out, overrides=overrides).path)


def test_ids_and_texts_alone_sorted_by_id(sealed_once: Path) -> None:
    public, run = sealed_once / "public", sealed_once / "private" / "run" / "tiny" / "dataset"
    assert sorted(path.name for path in public.iterdir()) == ["corpus.jsonl", "queries.jsonl"]
    for name, keys in (("corpus", ("_id", "title", "text")), ("queries", ("_id", "text"))):
        rows = read_jsonl(public / f"{name}.jsonl")
        wanted = [{key: row[key] for key in keys} for row in read_jsonl(run / f"{name}.jsonl")]
        assert rows == sorted(wanted, key=lambda row: str(row["_id"]))
        assert {tuple(row) for row in rows} == {keys}


@pytest.mark.slow
def test_ids_do_not_tell_the_labels(made: Path) -> None:
    """Whoever ranks by ids alone ranks at random: near the query's, near one another, in order.

    Beside 1,000 sets whose ids are dealt anew; both sides at a level of 1e-5.
    """
    run = next((made / "private").glob("run/*/dataset"))
    doc_ids = [row["_id"] for row in read_jsonl(made / "public" / "corpus.jsonl")]
    query_ids = [row["_id"] for row in read_jsonl(made / "public" / "queries.jsonl")]
    place = {name: at for ids in (doc_ids, query_ids) for at, name in enumerate(ids)}
    positives = np.array(
        [
            (place[row["query-id"]], place[row["corpus-id"]])
            for row in map(json.loads, (run / "qrels.jsonl").read_text().splitlines())
            if row["score"] > 0
        ]
    )
    positives = positives[np.argsort(positives[:, 0], kind="stable")]
    queries, docs = positives.T
    same = queries[1:] == queries[:-1]

    def statistics(of_query: NDArray[Any], of_doc: NDArray[Any]) -> list[float]:
        apart = of_query[queries] / len(query_ids) - of_doc[docs] / len(doc_ids)
        beside = (of_doc[docs[1:]] - of_doc[docs[:-1]])[same]
        return [
            float(x) for x in (np.abs(apart).mean(), np.abs(beside).mean(), of_doc[docs].mean())
        ]

    rng = np.random.default_rng(0)
    n, m = len(query_ids), len(doc_ids)
    dealt = np.array([statistics(rng.permutation(n), rng.permutation(m)) for _ in range(1000)])
    z = (statistics(np.arange(n), np.arange(m)) - dealt.mean(axis=0)) / dealt.std(axis=0)
    assert (np.abs(z) < 4.4).all(), z
