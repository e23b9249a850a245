"""MTEB's own evaluator, with sentence-transformers' classes, scores each kind of model as we do."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.export import export
from retgen.progress import no_progress
from retgen.search.collection import load

pytestmark = [
    pytest.mark.slow,  # mteb as a whole
    pytest.mark.usefixtures("one_torch_thread"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
# ours, and what MTEB calls it
METRICS = {
    "nDCG@10": "ndcg_at_10",
    "recall@10": "recall_at_10",
    "recall@100": "recall_at_100",
    "MAP@100": "map_at_100",
    "MRR@10": "mrr_at_10",
    "P@5": "precision_at_5",
}
RECIPES: dict[str, tuple[str, dict[str, Any], int | None]] = {
    # two relevant documents a query; ten of a ladder; grades 1 and 2, own documents
    "limit": ("limit_small", {"params.docs": 200, "params.queries": 60}, None),
    "ladders": ("multiconir_people", {}, 10),
    "album": (
        "capretrieval_album",
        {"params.captions": 200, "params.queries": 60, "params.training": 40},
        None,
    ),
}


@pytest.fixture(scope="module", params=RECIPES)
def task(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A data set as MTEB's task, which `gen export` wrote."""
    home = tmp_path_factory.mktemp("runs")
    recipe, overrides, limit = RECIPES[request.param]
    run = retgen.run(recipe, out=home / "run", overrides=overrides, limit=limit).path
    names = runpy.run_path(str(export(run, "mteb", home / "mteb") / "task.py"))
    (kind,) = (
        one for name, one in names.items() if name.endswith("Retrieval") and name[:3] != "Abs"
    )
    return kind


def ours(task: Any, model: str, out: Path) -> dict[str, float]:
    folder = Path(task.metadata.dataset["path"])
    (result,) = evaluate(
        folder, models=[model], metrics=list(METRICS), out=out, cache=False
    ).datasets
    return dict(zip(result.measures.names, result.scores[0].values.mean(axis=0), strict=True))


def theirs(task: Any, model: Any) -> dict[str, float]:
    import mteb

    result = mteb.evaluate(model, task, cache=None, show_progress_bar=False).task_results[0]
    (scores,) = result.scores["test"]
    return {name: scores[their_name] for name, their_name in METRICS.items()}


@pytest.fixture(scope="module")
def spread(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The random models with larger weights.

    With their own all scores are so near to one another that the digits of float32 decide the order
    of many documents, and these depend on what else is in a batch.
    """
    result = {}
    for kind in ("dense", "sparse", "late", "cross"):
        model = loaded(kind, models[kind])
        for name, weights in model.named_parameters():
            if "encoder.layer" in name and weights.ndim == 2:
                weights.data.mul_(20)
        result[kind] = tmp_path_factory.mktemp("spread") / kind
        model.save_pretrained(str(result[kind]))
    return result


def loaded(kind: str, folder: Path) -> Any:
    import sentence_transformers as st

    names = {
        "dense": "SentenceTransformer",
        "sparse": "SparseEncoder",
        "late": "MultiVectorEncoder",
        "cross": "CrossEncoder",
    }
    return getattr(st, names[kind])(str(folder), device="cpu")


@pytest.mark.parametrize("kind", ["dense", "sparse", "late"])
def test_a_model_that_ranks_a_corpus(
    kind: str, task: Any, spread: dict[str, Path], tmp_path: Path
) -> None:
    prefix = "" if kind == "dense" else f"{kind}:"
    mine = ours(task, f"{prefix}{spread[kind]}", tmp_path)
    assert mine == pytest.approx(theirs(task(), loaded(kind, spread[kind])), abs=1e-4)


def test_a_cross_encoder_reranks_the_same_candidates(
    task: Any, spread: dict[str, Path], tmp_path: Path
) -> None:
    """MTEB has none rank a corpus: it is given BM25's best hundred, as ours takes them."""
    mine = ours(task, f"rerank:bm25+{spread['cross']}", tmp_path)
    collection = load(Path(task.metadata.dataset["path"]))
    (first,) = retriever("bm25", Options()).rank(collection, 100, no_progress)
    their_task = task()
    their_task.load_data()
    (splits,) = their_task.dataset.values()
    splits["test"]["top_ranked"] = {
        query.query_id: [collection.doc_ids[i].decode() for i in row if i >= 0]
        for query, row in zip(collection.queries, first.rankings.documents, strict=True)
    }
    assert mine == pytest.approx(theirs(their_task, loaded("cross", spread["cross"])), abs=1e-4)
