"""`gen capacity PATH`: what is stored holds, by Python's own integers and the written qrels."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import retgen
from retgen.evaluation.capacity.certify import text as text_of
from tests.conftest import read_jsonl

pytestmark = pytest.mark.usefixtures("one_torch_thread")

DOCS = "abcde"
PAIRS = [(f"q{i}", doc, 1.0) for i, pair in enumerate(combinations(DOCS, 2)) for doc in pair]


@pytest.fixture
def pairs(dataset) -> Path:  # type: ignore[no-untyped-def]
    """All pairs of five documents, in a corpus of eight."""
    corpus = {name: f"text {name}" for name in (*DOCS, "x", "y", "z")}
    queries = {f"q{i}": "who" for i in range(10)}
    return Path(dataset(corpus, queries, PAIRS, "pairs"))


def check(stored: Path, corpus: list[str], qrels: list[dict[str, object]]) -> tuple[int, int]:
    """Every query's relevant documents score above all others; (queries, smallest difference)."""
    result = np.load(stored)
    vector = dict(
        zip(result["document_ids"].tolist(), result["document_vector"].tolist(), strict=True)
    )
    other = int(result["other_vector"])
    documents = [[int(x) for x in row] for row in result["documents"].tolist()]
    queries = [[int(x) for x in row] for row in result["queries"].tolist()]
    relevant: dict[object, set[object]] = {}
    for row in qrels:
        if float(str(row["score"])) > 0:
            relevant.setdefault(row["query-id"], set()).add(row["corpus-id"])
    gaps = []
    for query_id, place in zip(result["query_ids"], result["query_vector"].tolist(), strict=True):
        scores = {
            doc: sum(
                a * b
                for a, b in zip(queries[place], documents[vector.get(doc, other)], strict=True)
            )
            for doc in corpus
        }
        right = relevant[str(query_id)]
        gaps.append(
            min(scores[doc] for doc in right)  # type: ignore[index]
            - max(score for doc, score in scores.items() if doc not in right)
        )
    return len(gaps), min(gaps)


@pytest.mark.slow
def test_all_pairs_of_five_in_a_corpus_of_eight(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = retgen.certify(pairs, seeds=2, minutes=20, out=out)
    assert (result.certificate.lower, result.certificate.upper) == (4, 4)
    assert result.witness is not None
    assert result.witness.dimension == 4
    stored = np.load(out / "embedding.npz")
    assert stored["documents"].shape == (6, 4)  # five, and one vector for the three others
    assert stored["documents"].dtype == np.int64
    queries, gap = check(
        out / "embedding.npz", [*DOCS, "x", "y", "z"], read_jsonl(pairs / "qrels.jsonl")
    )
    assert (queries, gap) == (10, result.witness.gap)
    assert gap > 0
    shown = json.loads((out / "certificate.json").read_text())
    assert shown["embedding"] == {
        "file": str(out / "embedding.npz"),
        "dimension": 4,
        "smallest_gap": gap,
    }
    assert [(one["notion"], one["lower"], one["upper"]) for one in shown["certificate"]["brackets"]]
    page = (out / "certificate.html").read_text()
    assert "From random starts an embedding was found in 4 dimensions" in page
    assert text_of(result).splitlines()[-1] == f"page: {out / 'certificate.html'}"


@pytest.mark.slow
def test_a_run_gets_its_certificate_in_its_own_folder(limit_run: Path, gen) -> None:  # type: ignore[no-untyped-def]
    stdout = gen("capacity", limit_run, "--minutes", "1", "--seeds", "1", "--json")
    assert (stdout.returncode, stdout.stderr) == (0, "")
    content = json.loads(stdout.stdout)
    assert content["notes"] == []
    stored = Path(content["embedding"]["file"])
    assert stored == limit_run / "capacity" / "embedding.npz"
    folder = limit_run / "dataset"
    corpus = [str(row["_id"]) for row in read_jsonl(folder / "corpus.jsonl")]
    queries, gap = check(stored, corpus, read_jsonl(folder / "qrels.jsonl"))
    assert (queries, gap) == (100, content["embedding"]["smallest_gap"])
    # a run with a certificate of its own is still a finished run
    assert retgen.validate(limit_run).ok


@pytest.mark.slow
def test_documents_that_the_corpus_lacks_are_asked_for(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset({"a": "one"}, {f"q{i}": "who" for i in range(10)}, PAIRS)
    result = retgen.certify(path, seeds=1, minutes=20, out=tmp_path / "out")
    assert result.certificate.densities.documents == 5
    assert result.notes[0] == (
        "16 of 20 qrels name documents that are not in the corpus and cannot be found; 6 of 10 "
        "queries have no other relevant document and count as 0"
    )
    # the same matrix where all are there, and the one that nothing asks for
    checked = retgen.validate(path)
    assert not checked.ok
    assert checked.certificate["documents"] == 5
