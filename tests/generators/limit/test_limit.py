"""What LIMIT recipes make: the paper's facts, variants, baselines, and the same bytes everywhere."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import retgen
from retgen import run, validate
from retgen.errors import RecipeError
from retgen.run import RunResult
from tests.conftest import read_jsonl

# the bytes of limit_small: a change here changes what every recipe makes
PINNED = {
    "corpus.jsonl": "45c357e934830b285a73db21cb9a167aa1a56ac8e2eb2a6fb9400dcca34c7fcb",
    "queries.jsonl": "020bd1285778132835c194f938f945fec18df08865bfa0e799b18017dac66f3a",
    "qrels.jsonl": "6b7c50918a52d63b49d06841669f33cfd830fc805617171af46579561a0e21b5",
}


def make(folder: Path, params: str) -> RunResult:
    """Run a recipe of those params."""
    recipe = folder / "r.yaml"
    recipe.write_text(f"name: r\nfamily: limit\nparams: {params}\n")
    return run(recipe, out=folder / "out")


def attributes(document: dict[str, Any]) -> list[str]:
    text = document["text"].removesuffix(".").partition(" likes ")[2]
    return str(text).replace(" and ", ", ").split(", ")


def test_bytes_are_pinned(tmp_path: Path) -> None:
    run("limit_small", out=tmp_path / "out")
    assert {
        name: hashlib.sha256((tmp_path / "out" / "dataset" / name).read_bytes()).hexdigest()
        for name in PINNED
    } == PINNED


@pytest.mark.slow
def test_baselines_of_limit_are_the_published_ones(tmp_path: Path) -> None:
    """TARGETS: summed IDF gives recall@2/10/20/46/100 = 4.5/22.5/45/100/100 at the paper's size."""
    manifest = make(tmp_path, "{pattern: dense, docs: 20000, queries: 1000, k: 2}").manifest
    baseline = manifest["floors"]["rankings"]["summed IDF"]
    assert round(baseline["recall@2"], 3) == 0.045
    assert baseline["recall@10"] == pytest.approx(0.225, abs=0.001)
    assert baseline["recall@20"] == pytest.approx(0.45, abs=0.01)
    assert (baseline["recall@46"], baseline["recall@100"]) == (1.0, 1.0)
    assert manifest["floors"]["random"]["recall@100"] == 100 / 20000


def test_train_and_test_share_nothing(tmp_path: Path) -> None:
    small = {"params.docs": 300, "params.queries": 200}
    words: dict[str, set[str]] = {}
    surnames: dict[str, set[str]] = {}
    texts: dict[str, set[str]] = {}
    for name in ("limit_dense", "limit_train"):
        run(name, out=tmp_path / name, overrides=small)
        corpus = read_jsonl(tmp_path / name / "dataset" / "corpus.jsonl")
        words[name] = {a for d in corpus for a in attributes(d)}
        people = [d["text"].partition(" likes ")[0] for d in corpus]
        surnames[name] = {person.rpartition(" ")[2] for person in people}
        texts[name] = set(people)
    assert words["limit_dense"].isdisjoint(words["limit_train"])
    assert surnames["limit_dense"].isdisjoint(surnames["limit_train"])
    assert len(texts["limit_dense"]) == len(texts["limit_train"]) == 300


def test_a_train_set_passed_off_as_test_is_caught(tmp_path: Path) -> None:
    small = {"params.docs": 60, "params.queries": 50}
    run("limit_train", out=tmp_path / "out", overrides=small)
    recipe = tmp_path / "out" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("split: train", "split: test"))
    named: dict[str, set[str]] = {}
    for finding in validate(tmp_path / "out").findings:
        named.setdefault(finding.rule, set()).update(finding.ids)
    assert len(named["limit-proof/query"]) == 50
    assert len(named["limit-proof/names"]) == 60


def test_balanced_has_no_shortcut(tmp_path: Path) -> None:
    made = make(
        tmp_path,
        "{pattern: regular, docs: 200, queries: 1000, k: 2, form: {type: balanced, pool: 1000}}",
    )
    random = made.manifest["floors"]["random"]
    for name, scores in made.manifest["floors"]["rankings"].items():
        for cutoff, recall in scores.items():
            # relevance counts are equal, so any fixed order finds exactly its share
            assert recall == pytest.approx(random[cutoff], abs=1e-6), (name, cutoff)
    corpus = read_jsonl(made.path / "dataset" / "corpus.jsonl")
    frequency = Counter(a for d in corpus for a in d["metadata"]["attributes"])
    assert (len(frequency), set(frequency.values())) == (1000, {9})


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (
            "{pattern: dense, docs: 400, queries: 100, form: {type: balanced, pool: 100}}",
            "params.form: in a balanced set every document is relevant to the same number of "
            "queries, or counting asked pairs would find the relevant ones; here 0 to 14 of them: "
            "use pattern regular, cycle, disjoint, hadamard or projective with docs 15",
        ),
        (
            "{pattern: regular, docs: 50, queries: 100, form: {type: balanced, pool: 300}}",
            "params.form.pool: every attribute must stand equally often, so pool must divide 2 x "
            "queries = 200; 300 does not. Possible: 5, 10, 25, 50",
        ),
        (
            "{pattern: regular, docs: 100, queries: 1000, form: {type: conditions, "
            "hard_negatives: 10}}",
            "params.form.hard_negatives: 1,000 queries with 2 x 10 hard negatives need 20,000 "
            "places in documents; 100 documents of 45 attributes have 500, of which half may be "
            "used",
        ),
        (
            "{pattern: dense, docs: 45, queries: 1000}",
            "params.docs: 1,000 dense queries need 46 relevant documents; docs is 45",
        ),
        (
            "{pattern: hadamard, n: 256, docs: 256, catalogue: {split: all}}",
            "params.attributes_per_doc: a document must hold 120 asked attributes; "
            "attributes_per_doc is 45",
        ),
    ],
)
def test_impossible(tmp_path: Path, params: str, expected: str) -> None:
    with pytest.raises(RecipeError) as error:
        make(tmp_path, params)
    assert str(error.value) == expected


@pytest.mark.slow
@pytest.mark.parametrize("negatives", [0, 3])
def test_pairs_are_the_qrels_with_texts(tmp_path: Path, negatives: int) -> None:
    overrides = {"params.docs": 300, "params.queries": 20}
    if negatives:
        overrides["params.form"] = {"type": "conditions", "hard_negatives": negatives}
    run = retgen.run("limit_train", out=tmp_path / "run", overrides=overrides)
    texts = {row["_id"]: row["text"] for row in read_jsonl(run.path / "dataset/corpus.jsonl")}
    queries = {row["_id"]: row for row in read_jsonl(run.path / "dataset/queries.jsonl")}
    columns = [f"negative_{j}" for j in range(1, 2 * negatives + 1)]
    expected = []
    for qrel in read_jsonl(run.path / "dataset/qrels.jsonl"):
        query = queries[qrel["query-id"]]
        others = [texts[doc] for doc in query["metadata"].get("hard_negatives", [])]
        row = {"anchor": query["text"], "positive": texts[qrel["corpus-id"]]}
        row |= dict(zip(columns, others, strict=True))
        expected.append(row | {"query-id": qrel["query-id"]})
    assert pq.read_table(run.path / "training/pairs.parquet").to_pylist() == expected
    assert len(expected) == 40
    assert retgen.validate(run.path).ok
