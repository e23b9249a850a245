"""Ties, TREC runs, exact search in blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
import torch

from retgen.errors import DatasetError
from retgen.evaluation.scoring.measures import Measures
from retgen.search.collection import Collection, load
from retgen.search.rankings import Rankings, best, read_run, write_run
from retgen.search.vectors import TopK


@pytest.fixture
def many(dataset) -> Collection:  # type: ignore[no-untyped-def]
    """300 documents whose ids are in no order, 7 queries."""
    order = np.random.default_rng(1).permutation(300)
    corpus = {f"d{i}": f"text {i}" for i in order}
    qrels = [(f"q{q}", f"d{d}", 1) for q in range(7) for d in (q, 3 * q + 1, 200 + q)]
    return load(dataset(corpus, {f"q{q}": "?" for q in range(7)}, qrels))


def brute_force(collection: Collection, scores: np.ndarray, depth: int) -> list[list[str]]:
    """Score descending, then id descending, with Python's sort."""
    ids = [doc.decode() for doc in collection.doc_ids.tolist()]
    rows = []
    for row in scores:
        pairs = sorted(((float(s), doc) for s, doc in zip(row, ids, strict=True)), reverse=True)
        rows.append([doc for _, doc in pairs[:depth]])
    return rows


def named(collection: Collection, rankings: Rankings) -> list[list[str]]:
    return [[collection.doc_ids[i].decode() for i in row] for row in rankings.documents.tolist()]


@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
@pytest.mark.parametrize("block", [7, 64, 300])
def test_search_in_blocks_is_exact_with_ties(many: Collection, levels: int, block: int) -> None:
    scores = np.random.default_rng(levels).integers(-levels, levels, (7, 300)).astype(np.float32)
    top = TopK(many.priority, 7, 10, "cpu")
    for first in range(0, 300, block):
        top.add(first, torch.from_numpy(scores[:, first : first + block]))
    assert named(many, TopK.joined([top])) == brute_force(many, scores, 10)


def test_measures_agree_with_trec_eval_on_ties(many: Collection) -> None:
    """The same scores, with masses of ties, given to trec_eval itself."""
    scores = np.random.default_rng(3).integers(0, 3, (7, 300)).astype(np.float32)
    rows = [best(np.arange(300), row, many.priority, 300) for row in scores]
    rankings = Rankings(np.stack([r[0] for r in rows]), np.stack([r[1] for r in rows]))
    names = ["recall@2", "recall@100", "nDCG@10", "MAP", "MRR", "success@5"]
    ours = Measures(names).per_query(many, rankings)
    ids = [doc.decode() for doc in many.doc_ids.tolist()]
    run = {
        query.query_id: {doc: float(s) for doc, s in zip(ids, row, strict=True)}
        for query, row in zip(many.queries, scores, strict=True)
    }
    trec = ["recall_2", "recall_100", "ndcg_cut_10", "map", "recip_rank", "success_5"]
    evaluator = pytrec_eval.RelevanceEvaluator(
        many.qrels, {"recall.2,100", "ndcg_cut.10", "map", "recip_rank", "success.5"}
    )
    result = evaluator.evaluate(run)
    theirs = [[result[q.query_id][name] for name in trec] for q in many.queries]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert 0 < ours.mean() < 1


def test_a_run_written_and_read_is_the_same(many: Collection, tmp_path: Path) -> None:
    scores = np.random.default_rng(5).normal(size=(7, 300)).astype(np.float32)
    rows = [best(np.arange(300), row, many.priority, 9) for row in scores]
    rankings = Rankings(np.stack([r[0] for r in rows]), np.stack([r[1] for r in rows]))
    write_run(tmp_path / "a.trec", many, rankings, "my model")
    lines = (tmp_path / "a.trec").read_text().splitlines()
    assert len(lines) == 63
    assert lines[0].split()[:4] == [
        "q0",
        "Q0",
        many.doc_ids[rankings.documents[0, 0]].decode(),
        "1",
    ]
    assert lines[0].split()[5] == "my_model"
    again, notes = read_run(tmp_path / "a.trec", many, 9)
    assert notes == []
    np.testing.assert_array_equal(again.documents, rankings.documents)
    np.testing.assert_array_equal(again.scores, rankings.scores)


def test_unknown_ids_of_a_run_are_counted(many: Collection, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("q0 Q0 nobody 1 3 x\nq0 Q0 d1 2 2 x\nelse Q0 d1 1 1 x\n")
    rankings, notes = read_run(path, many, 3)
    assert notes == [
        "1 queries of the run have no relevant document here and are ignored, for example else",
        "1 documents of the run are not in the corpus and are ignored, for example nobody",
    ]
    assert (rankings.documents[0] >= 0).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q0 Q0 d1 1 2\n",
            "line 1: a line of a TREC run is: query id, Q0, document id, rank, score, tag; this is 'q0 Q0 d1 1 2'",
        ),
        ("q0 Q0 d1 1 x t\n", "this is 'q0 Q0 d1 1 x t'"),
        ("q0 Q0 d1 1 nan t\n", "this is 'q0 Q0 d1 1 nan t'"),
        ("q0 Q0 d1 1 1 t\nq0 Q0 d1 2 1 t\n", "query q0 ranks a document twice"),
        (
            "z Q0 d1 1 1 t\n",
            "that has a relevant document, for example z; is it a run of another data set?",
        ),
        ("", "is it a run of another data set?"),
    ],
)
def test_what_is_no_run(many: Collection, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "run"
    path.write_text(text)
    with pytest.raises(DatasetError) as error:
        read_run(path, many, 3)
    assert message in str(error.value)
    with pytest.raises(DatasetError, match="cannot be read: No such file"):
        read_run(tmp_path / "none", many, 3)


SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace()]


def test_ids_of_every_kind_survive_a_run(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """White space at the begin, within and at the end; what its encoding looks like; no id."""
    ids = [f"{space}a{space}b{space}" for space in SPACES]
    ids += ["a b", "a%20b", "a%20b%", "a b%", "a%2520b", "a b%20c", "", "%", "100%", "%C2%A0a"]
    corpus = load(
        dataset(dict.fromkeys(ids, ""), dict.fromkeys(ids, "?"), [(i, i, 1) for i in ids])
    )
    documents = np.array([np.roll(np.arange(len(ids)), row) for row in range(len(ids))])
    scores = np.broadcast_to(-np.arange(len(ids), dtype=np.float32), documents.shape)
    path = tmp_path / "a.trec"
    assert write_run(path, corpus, Rankings(documents, scores), "x")
    again, notes = read_run(path, corpus, len(ids))
    assert notes == []
    np.testing.assert_array_equal(again.documents, documents)
    cells = [line.split() for line in path.read_text().splitlines()]
    assert {len(row) for row in cells} == {6}
    written = dict(zip(ids, [row[2] for row in cells], strict=False))
    assert [written[i] for i in ("a b", "a b%", "a b%20c", "", "\xa0a\xa0b\xa0")] == [
        "a%20b%%",
        "a%20b%25",
        "a%20b%2520c",
        "%%",
        "%C2%A0a%C2%A0b%C2%A0",
    ]
    plain = ["a%20b", "a%20b%", "a%2520b", "%", "100%", "%C2%A0a"]
    assert [written[i] for i in plain] == plain


def test_ids_of_foreign_runs_are_taken_as_they_stand(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """trec_eval ends a cell at ASCII's white space alone. An id that the set has is that id."""
    corpus = {"a b": "", "a%20b": "", "x y": "", "会　議": ""}
    collection = load(dataset(corpus, {"q\xa0": "?"}, [("q\xa0", "a b", 1)]))
    path = tmp_path / "run"
    path.write_bytes(
        "q\xa0 Q0 会　議 1 3 x\r\nq\xa0\t0\ta%20b 2 2 x\x85\nq%C2%A0 Q0 x%20y 3 1 x".encode()
    )
    rankings, notes = read_run(path, collection, 4)
    assert named(collection, Rankings(rankings.documents[:, :3], rankings.scores)) == [
        ["会　議", "a%20b", "x y"]
    ]
    assert notes == []
    path.write_text("q\xa0 Q0 x%20y 3 1 x\nq%C2%A0 Q0 x%20y 3 1 x")
    with pytest.raises(DatasetError, match="query q\xa0 ranks a document twice"):
        read_run(path, collection, 4)
