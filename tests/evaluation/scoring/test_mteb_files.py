"""Results as MTEB reads and caches them, beside its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.measures import Measures
from retgen.evaluation.scoring.mteb_files import task_name
from retgen.progress import no_progress
from retgen.search.collection import load
from tests.evaluation.scoring.fruit import CORPUS, QRELS, QUERIES


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # inside mteb
def test_mteb_reads_our_results_and_gives_the_same_scores(swept: Path, limit_run: Path) -> None:
    import mteb
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from sentence_transformers import SentenceTransformer

    from retgen.search.embedders.loading import load_model

    name = "sentence-transformers__all-MiniLM-L6-v2"
    path = swept / "mteb" / "results" / name / "no_revision_available" / "LimitRetrieval.json"
    ours = mteb.TaskResult.from_disk(path).scores["test"][0]

    class Task(AbsTaskRetrieval):
        k_values = (1, 2, 10)
        metadata = mteb.get_task("SciFact").metadata.model_copy(
            update={
                "name": "LimitLocal",
                "dataset": {"path": str(limit_run / "dataset"), "revision": "local"},
            }
        )

    model = load_model("minilm")
    assert isinstance(model, SentenceTransformer)
    theirs = mteb.evaluate(model, Task(), cache=None, show_progress_bar=False)
    scores = theirs.task_results[0].scores["test"][0]
    for name in ("recall_at_1", "recall_at_2", "recall_at_10", "ndcg_at_10", "mrr_at_10"):
        assert ours[name] == pytest.approx(scores[name], abs=1e-5), name


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # inside mteb
def test_mtebs_cache_loads_what_was_scored(swept: Path) -> None:
    import mteb

    cache = mteb.ResultCache(swept / "mteb")
    result = cache.load_results(include_remote=False)
    scores = {one.model_name: one.task_results[0].scores["test"][0] for one in result.model_results}
    assert sorted(scores) == [
        "retgen/attribute-oracle",
        "retgen/bm25",
        "retgen/hybrid--bm25--minilm",
        "retgen/late--minilm",
        "retgen/static--minilm",
        "sentence-transformers/all-MiniLM-L6-v2",
    ]
    (task,) = {one.task_results[0].task_name for one in result.model_results}
    assert task == "LimitRetrieval"
    rows = json.loads((swept / "eval.json").read_text())["results"]
    full = {r["model"]: r["metrics"]["recall@2"] for r in rows if r["dim"] in (None, 384)}
    assert scores["retgen/bm25"]["main_score"] == full["bm25"]
    minilm = scores["sentence-transformers/all-MiniLM-L6-v2"]
    assert minilm["main_score"] == minilm["recall_at_2"] == full["minilm"]
    assert minilm["languages"] == ["eng-Latn"]
    every = cache.load_results(include_remote=False, load_experiments="match_name")
    cut = [one for one in every.model_results if one.experiment_name]
    assert sorted((one.model_name, one.experiment_name) for one in cut) == [
        ("retgen/static--minilm", "embed_dim_32"),
        ("sentence-transformers/all-MiniLM-L6-v2", "embed_dim_32"),
    ]
    for path in (swept / "mteb").rglob("model_meta.json"):
        assert mteb.models.ModelMeta.model_validate_json_resolved(path.read_text()).name


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # inside mteb
def test_results_stand_beside_mtebs_own(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A task of MTEB's registry keeps its name, revision, languages and main score."""
    import mteb

    folder = dataset(CORPUS, QUERIES, QRELS).rename(tmp_path / "NFCorpus")
    task = mteb.get_task("NFCorpus").metadata
    described = {
        "name": task.name,
        "revision": task.revision,
        "subset": "default",
        "languages": task.eval_langs,
        "main_score": task.main_score,
    }
    (folder / "task.json").write_text(json.dumps(described))
    result = evaluate(folder, metrics=["recall@1"], out=tmp_path / "out")
    cache = mteb.ResultCache(tmp_path / "out" / "mteb")
    theirs = mteb.TaskResult.from_task_results(
        mteb.get_task("NFCorpus"),
        {"test": {"default": {"main_score": 0.25, "ndcg_at_10": 0.25}}},
        evaluation_time=1.0,
    )
    other = mteb.get_model_meta("mteb/baseline-bm25s")
    cache.save_to_cache(theirs, other)
    loaded = cache.load_results(tasks=["NFCorpus"], include_remote=False).join_revisions()
    scores = {one.model_name: one.task_results[0].get_score() for one in loaded.model_results}
    expected = Measures(["nDCG@10"])
    ranked = [retriever("bm25", Options()).rank(load(folder), 10, no_progress)]
    (best,) = ranked[0]
    ndcg = float(expected.per_query(load(folder), best.rankings).mean())
    assert scores == {"mteb/baseline-bm25s": 0.25, "retgen/bm25": round(ndcg, 5)}
    assert result.to_json()["results"][0]["metrics"].keys() == {"recall@1"}


@pytest.mark.parametrize(
    ("folder", "task"),
    [
        ("limit_small", "LimitSmallRetrieval"),
        ("LIMITSmallRetrieval", "LIMITSmallRetrieval"),
        ("fever-2018", "Fever2018Retrieval"),
        ("2wiki", "Set2wikiRetrieval"),
        ("...", "SetRetrieval"),
    ],
)
def test_names_of_tasks(folder: str, task: str) -> None:
    assert task_name(folder) == task
