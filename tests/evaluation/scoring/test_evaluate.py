"""`gen eval`: scores, baselines, intervals, what is written, and what bad input says."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import retgen
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.collection import load
from retgen.evaluation.retrievers import Options, retriever
from retgen.evaluation.scoring.baselines import baselines
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.measures import Measures, default_names
from retgen.evaluation.scoring.mteb_files import task_name
from retgen.evaluation.scoring.page import text as text_of
from retgen.evaluation.scoring.significance import compare, units_of
from retgen.evaluation.search.base import slug
from retgen.progress import no_progress
from retgen.studies.run import evaluate_seeds
from tests.pages import Read, rendered

CORPUS = {"a": "red apples grow", "b": "green pears", "c": "red bikes", "d": "nothing at all"}
QUERIES = {"q1": "red apples", "q2": "pears", "q3": "who cares"}
QRELS = [("q1", "a", 2), ("q1", "c", 1), ("q2", "b", 1), ("q3", "d", 0)]


def test_bm25_and_baselines_by_hand(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    result = evaluate(
        dataset(CORPUS, QUERIES, QRELS), metrics=["recall@1", "nDCG@2", "MRR", "success@1"],
        out=tmp_path / "out",
    ).to_json()  # fmt: skip
    assert list(result["results"][0]["metrics"]) == ["recall@1", "nDCG@2", "MRR", "success@1"]
    assert result["results"][0]["model"] == "bm25"
    assert result["results"][0]["dim"] is None
    # q1 ranks a (2) before c (1): ideal; q2 finds b; recall@1 of q1 is 1/2
    assert result["results"][0]["metrics"] == {
        "recall@1": 0.75, "nDCG@2": 1.0, "MRR": 1.0, "success@1": 1.0,
    }  # fmt: skip
    assert result["results"][0]["judged"] == {"Judged@1": 1.0, "Judged@2": 1.0}
    assert result["notes"] == ["1 of 3 queries have no relevant document and are left out"]
    random = result["floors"]["random"]
    assert random["recall@1"] == 0.25
    assert random["success@1"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    # by enumeration of all 24 orders
    gains = [{"a": 2, "c": 1}, {"b": 1}]
    expected_ndcg, expected_mrr = [], []
    for order in itertools.permutations("abcd"):
        for gain in gains:
            ideal = sum(
                g / math.log2(i + 2) for i, g in enumerate(sorted(gain.values(), reverse=True)[:2])
            )
            dcg = sum(gain.get(doc, 0) / math.log2(i + 2) for i, doc in enumerate(order[:2]))
            expected_ndcg.append(dcg / ideal)
            expected_mrr.append(1 / (1 + min(i for i, doc in enumerate(order) if doc in gain)))
    assert random["nDCG@2"] == pytest.approx(np.mean(expected_ndcg))
    assert random["MRR"] == pytest.approx(np.mean(expected_mrr))
    # longest first: a (15 characters), d, b, c
    assert result["floors"]["rankings"]["longest first"]["recall@1"] == 0.25


def test_the_best_reachable_stands_beside_the_scores(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, [*QRELS, ("q2", "lost", 1), ("q2", "a", 0)])
    names = ["recall@1", "nDCG@2", "P@2", "MRR", "MAP", "Judged@4", "NumRet"]
    result = evaluate(path, metrics=names, out=tmp_path / "out")
    # q1 has two relevant documents; q2 has two as well, of which the corpus holds one
    lost = 1 / (1 + 1 / math.log2(3))
    expected = {
        "recall@1": 0.5, "nDCG@2": (1 + lost) / 2, "P@2": (1 + 0.5) / 2, "MRR": 1.0,
        "MAP": (1 + 0.5) / 2, "Judged@4": 0.5, "NumRet": None, "Judged@1": 1.0, "Judged@2": 1.0,
    }  # fmt: skip
    ceiling = result.to_json()["ceiling"]
    assert list(ceiling) == list(expected)
    assert ceiling == {k: v if v is None else pytest.approx(v) for k, v in expected.items()}
    (row,) = [line for line in text_of(result).splitlines() if line.startswith("best reachable")]
    assert row.split()[2:9] == ["0.5000", "0.8066", "0.7500", "1.0000", "0.7500", "0.5000", "–"]
    assert "best reachable" in (tmp_path / "out" / "eval.md").read_text()
    assert "best reachable" in (tmp_path / "out" / "eval.html").read_text()


def test_grades_beside_binary_qrels(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, [("q1", "a", 1), ("q1", "c", 0), ("q2", "b", 1)])
    rows = [("q1", "a", 2), ("q1", "c", 1), ("q2", "b", 1)]
    (path / "qrels_graded.jsonl").write_text(
        "".join(json.dumps({"query-id": q, "corpus-id": d, "score": s}) + "\n" for q, d, s in rows)
    )
    run = tmp_path / "run.trec"
    run.write_text("q1 0 c 1 2 x\nq1 0 a 2 1 x\nq2 0 b 1 1 x\n")
    result = evaluate(path, runs=[run], out=tmp_path / "out").to_json()
    assert list(result["results"][0]["metrics"])[-3:] == ["nDCG@2", "MRR@2", "graded nDCG@2"]
    second = 1 / math.log2(3)
    assert result["results"][0]["metrics"] == pytest.approx({
        "recall@1": 0.5, "recall@2": 1.0, "nDCG@2": (second + 1) / 2, "MRR@2": 0.75,
        "graded nDCG@2": ((1 + 2 * second) / (2 + second) + 1) / 2,
    })  # fmt: skip
    assert result["ceiling"].pop("Judged@2") == 0.75  # of q2 one document is judged
    assert set(result["ceiling"].values()) == {1.0}
    # by the mean over orders: each document stands on each rank with probability 1/4
    gain = (1 + second) / 4
    assert result["floors"]["random"]["graded nDCG@2"] == pytest.approx(
        (3 * gain / (2 + second) + gain) / 2
    )


def test_grades_that_are_not_there_or_broken(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, [("q1", "a", 1)])
    with pytest.raises(UsageError) as error:
        evaluate(path, metrics=["MRR", "graded nDCG@2"], out=tmp_path / "out")
    assert str(error.value) == (
        f"--metric graded nDCG@2: {path} has no grades beside its qrels (qrels_graded). Ask for "
        "nDCG@2"
    )
    (path / "qrels_graded.jsonl").write_text('{"query-id": "q1", "corpus-id": "a"}\n')
    with pytest.raises(DatasetError) as broken:
        load(path)
    assert str(broken.value) == (
        f"{path}/qrels_graded.jsonl, line 1: has no score; `gen validate {path}` lists all such rows"
    )


def test_the_measure_without_closed_form_has_no_random_baseline(dataset) -> None:  # type: ignore[no-untyped-def]
    collection = load(dataset(CORPUS, QUERIES, QRELS))
    result = baselines(collection, Measures(["MAP"]))
    assert result["random"] == {"MAP": None}


@pytest.fixture(scope="module")
def swept(limit_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bm25, minilm at three dimensions, and what is built on them, all scored once."""
    out = tmp_path_factory.mktemp("swept")
    models = ["bm25", "attribute-oracle", "minilm", "static:minilm", "late:minilm",
              "hybrid:bm25+minilm"]  # fmt: skip
    evaluate(limit_run, models=models, dims=[32, 384], out=out)
    return out


def test_every_system_is_scored_and_written(swept: Path, limit_run: Path) -> None:
    content = json.loads((swept / "eval.json").read_text())
    assert [(r["model"], r["dim"]) for r in content["results"]] == [
        ("bm25", None), ("attribute-oracle", None), ("minilm", 32), ("minilm", 384),
        ("static:minilm", 32), ("static:minilm", 384), ("late:minilm", None), ("hybrid:bm25+minilm", None),
    ]  # fmt: skip
    assert content["dataset"] == str(limit_run)
    assert (content["documents"], content["queries"], content["complete"]) == (15, 100, True)
    assert all("judged" not in row for row in content["results"])
    scores = {(r["model"], r["dim"]): r["metrics"] for r in content["results"]}
    assert scores["attribute-oracle", None]["recall@2"] == 1.0
    assert scores["bm25", None]["recall@2"] == 1.0
    assert 0.1 < scores["minilm", 384]["recall@2"] < 0.6
    assert scores["minilm", 32]["recall@2"] < scores["late:minilm", None]["recall@2"]
    details = {(r["model"], r["dim"]): r["details"] for r in content["results"]}
    assert details["minilm", 32]["truncated"] == {"documents": 0, "queries": 0}
    assert details["minilm", 32]["trained_for_truncation"] is False
    assert details["late:minilm", None]["trained_for_late_interaction"] is False
    # 105 pairs of documents, 100 asked for; every document is in 13 or 14 of them
    assert content["densities"]["document_graph_density"] == 100 / 105
    for name in ("bm25", "minilm-32", "late--minilm", "hybrid--bm25--minilm"):
        assert len((swept / "per_query" / f"{name}.jsonl").read_text().splitlines()) == 100
        assert len((swept / "runs" / f"{name}.trec").read_text().splitlines()) >= 100
    figures = sorted(p.name for p in (swept / "figures").iterdir())
    assert figures == [f"{limit_run.name}_recall-{k}_by_dimension.svg" for k in (10, 2)]
    page = (swept / "eval.html").read_text()
    assert page.count("<svg") == 2
    assert ">random order</th>" in page
    assert "minilm was not trained to be cut to fewer dimensions" in page
    table = (swept / "eval.md").read_text()
    assert "| attribute-oracle |  | 0.5000 | 1.0000 |" in table


def test_written_runs_score_the_same(swept: Path, limit_run: Path, tmp_path: Path) -> None:
    runs = sorted((swept / "runs").iterdir())
    again = evaluate(limit_run, runs=runs, out=tmp_path / "again").to_json()
    first = json.loads((swept / "eval.json").read_text())
    names = {slug(r["model"], r["dim"]): r["metrics"] for r in first["results"]}
    assert {r["model"]: r["metrics"] for r in again["results"]} == names


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # inside mteb
def test_mteb_reads_our_results_and_gives_the_same_scores(swept: Path, limit_run: Path) -> None:
    import mteb
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from sentence_transformers import SentenceTransformer

    from retgen.evaluation.embedders.loading import load_model
    from retgen.evaluation.search.mteb_model import task_metadata

    name = "sentence-transformers__all-MiniLM-L6-v2"
    path = swept / "mteb" / "results" / name / "no_revision_available" / "LimitRetrieval.json"
    ours = mteb.TaskResult.from_disk(path).scores["test"][0]

    class Task(AbsTaskRetrieval):
        k_values = (1, 2, 10)
        metadata = task_metadata("LimitLocal", str(limit_run / "dataset"))

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
        "retgen/attribute-oracle", "retgen/bm25", "retgen/hybrid--bm25--minilm",
        "retgen/late--minilm", "retgen/static--minilm", "sentence-transformers/all-MiniLM-L6-v2",
    ]  # fmt: skip
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
        "name": task.name, "revision": task.revision, "subset": "default",
        "languages": task.eval_langs, "main_score": task.main_score,
    }  # fmt: skip
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


def test_embeddings_are_computed_once(
    limit_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import SentenceTransformer

    calls: list[int] = []
    encode = SentenceTransformer.encode

    def counted(self, inputs, *args, **kwargs):  # type: ignore[no-untyped-def]
        if not isinstance(inputs, str):  # a text alone tells the dimension
            calls.append(len(inputs))
        return encode(self, inputs, *args, **kwargs)

    monkeypatch.setattr(SentenceTransformer, "encode", counted)
    first = evaluate(limit_run, models=["static:minilm"], out=tmp_path / "1")
    assert sum(calls) == 115
    second = evaluate(limit_run, models=["static:minilm"], dims=[384], out=tmp_path / "2")
    assert sum(calls) == 115
    assert first.to_json()["results"] == second.to_json()["results"]
    evaluate(limit_run, models=["static:minilm"], cache=False, out=tmp_path / "3")
    assert sum(calls) == 230


def test_truncation_is_counted(limit_run: Path, tmp_path: Path) -> None:
    from retgen.evaluation.retrievers import Options

    result = evaluate(
        limit_run, models=["minilm"], options=Options(max_length=16), out=tmp_path / "out"
    )
    assert result.to_json()["results"][0]["details"]["truncated"] == {"documents": 15, "queries": 0}
    assert "15 documents and 0 queries are cut" in (tmp_path / "out" / "eval.html").read_text()


def test_several_data_sets_on_one_page(limit_run: Path, dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    other = dataset(CORPUS, QUERIES, QRELS)
    result = evaluate([limit_run, other], metrics=["recall@2"], out=tmp_path / "out")
    assert [d["dataset"] for d in result.to_json()["datasets"]] == [str(limit_run), str(other)]
    page = (tmp_path / "out" / "eval.html").read_text()
    assert "All data sets" in page
    assert (tmp_path / "out" / "made" / "runs" / "bm25.trec").is_file()


def test_seeds(limit_run: Path, tmp_path: Path) -> None:
    result = evaluate_seeds(limit_run, 3, metrics=["recall@2"], out=tmp_path / "out")
    seeds = [d.collection.path.name for d in result.datasets]
    assert seeds == ["seed-42", "seed-43", "seed-44"]
    assert text_of(result).splitlines()[:3] == [
        "recall@2 and others over 3 seeds",
        "system  dim         recall@2",
        "bm25         1.0000 ± 0.0000",
    ]
    texts = {(d.collection.path / "dataset" / "queries.jsonl").read_text() for d in result.datasets}
    assert len(texts) == 3


# --- intervals ----------------------------------------------------------------------------------


def test_units_of_queries(limit_run: Path, tmp_path: Path) -> None:
    assert units_of(load(limit_run)).name == "15 relevant documents"
    overrides = {"params.queries": 40, "params.docs": 100}
    run = retgen.run("limit_disjoint", out=tmp_path / "disjoint", overrides=overrides)
    units = units_of(load(run.path))
    assert units.name == "40 groups of queries that share relevant documents"
    values = np.random.default_rng(0).random((40, 1))
    low, high = units.interval(values)[0]
    # independent queries: the usual standard error, and t
    error = values.std(ddof=1) / math.sqrt(40)
    assert (high - low) / (2 * 2.023 * error) == pytest.approx(1, abs=0.03)
    assert low < values.mean() < high


def test_too_few_units_have_no_interval_and_the_reason(dataset, trec, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    names = [f"{i:02}" for i in range(11)]
    path = dataset(
        {f"d{i}": "text" for i in names}, {f"q{i}": "ask" for i in names},
        [(f"q{i}", f"d{i}", 1) for i in names],
    )  # fmt: skip
    runs = [trec("mine", {f"q{i}": f"d{i}" for i in names[:6]}), trec("none", {"q00": "d01"})]
    result = evaluate(path, runs=runs, metrics=["recall@1"], out=tmp_path / "out")
    content = json.loads((tmp_path / "out" / "eval.json").read_text())
    why = (
        "no intervals: too few independent units: 11 groups of queries that share relevant "
        "documents, 12 needed"
    )
    assert content["intervals"] == {
        "level": 0.95, "units": "11 groups of queries that share relevant documents", "note": why,
    }  # fmt: skip
    assert [one["intervals"] for one in content["results"]] == [{"recall@1": [None, None]}] * 2
    (one,) = content["comparisons"]
    assert one == {
        "first": "mine", "second": "none", "measure": "recall@1", "difference": 6 / 11,
        "low": None, "high": None, "p": None, "adjusted": None,
    }  # fmt: skip
    assert f"note: {why}" in text_of(result)
    page = Read((tmp_path / "out" / "eval.html").read_text()).text
    assert f"There are {why}." in page
    assert "mine has the highest recall@1: 0.5455 (no interval), 0.5455 more than none" in page


def test_many_systems_are_told_apart(limit_run: Path) -> None:
    units = units_of(load(limit_run))
    rng = np.random.default_rng(0)
    values = {f"system {i}": rng.random((100, 1)) / 20 + i / 40 for i in range(20)}
    values["the same"] = values["system 0"]
    result = compare(units, values, ["m"])
    assert len(result) == 210
    same = next(c for c in result if (c.first, c.second) == ("system 0", "the same"))
    assert same[3:] == (0.0, None, None, 1.0, 1.0)  # no query differs
    others = [c for c in result if c is not same]
    assert max(c.adjusted for c in others if c.adjusted is not None) < 0.05
    assert all(
        c.high is not None and c.difference < c.high < 0 for c in others if c.second != "the same"
    )
    assert compare(units, values, ["m"]) == result


def test_shared_documents_widen_the_interval(limit_run: Path) -> None:
    """Where the score hangs on a document, 100 queries are worth some 15."""
    collection = load(limit_run)
    effect = {doc.decode(): i % 2 for i, doc in enumerate(sorted(collection.doc_ids.tolist()))}
    values = np.array(
        [[np.mean([effect[d] for d in collection.qrels[q.query_id]])] for q in collection.queries]
    )
    low, high = units_of(collection).interval(values)[0]
    naive = 2 * 1.96 * values.std() / math.sqrt(len(values))
    assert 2 < (high - low) / naive < 5


def test_comparisons(limit_run: Path) -> None:
    rng = np.random.default_rng(0)
    base = rng.random((100, 1))
    values = {"one": base, "same": base, "better": base + 0.3 * rng.random((100, 1))}
    result = compare(units_of(load(limit_run)), values, ["m"])
    assert [(c.first, c.second) for c in result] == [
        ("one", "same"),
        ("one", "better"),
        ("same", "better"),
    ]
    assert (result[0].difference, result[0].p, result[0].adjusted) == (0.0, 1.0, 1.0)
    first = result[1]
    assert first.difference == pytest.approx(-0.15, abs=0.02)
    assert first.low is not None
    assert first.high is not None
    assert first.low < first.difference < first.high < -0.1
    assert first.p is not None
    assert first.p < 0.001
    assert first.adjusted == pytest.approx(3 * first.p)


# --- names and bad input ------------------------------------------------------------------------


def test_default_measures() -> None:
    assert default_names(50_000) == [
        "recall@1", "recall@2", "recall@10", "recall@20", "recall@100", "nDCG@10", "MRR@10",
    ]  # fmt: skip
    assert default_names(46)[-3:] == ["recall@20", "nDCG@10", "MRR@10"]
    assert default_names(1) == ["recall@1", "nDCG@1", "MRR@1"]
    assert default_names(46, True)[-2:] == ["MRR@10", "graded nDCG@10"]
    assert default_names(46, main="recall@3")[:3] == ["recall@1", "recall@2", "recall@3"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "minlm",
            "--model minlm: there is no such model; did you mean minilm? Known: attribute-oracle, ",
        ),
        ("hybrid:bm25", "--model hybrid:bm25: write for example hybrid:bm25+minilm"),
        ("rerank:bm25+a/b+c/d", "write for example rerank:bm25+owner/cross-encoder"),
        ("late:", "--model late:: name a model after late:"),
        ("hybrid:bm25+minlm", "--model minlm: there is no such model; did you mean minilm?"),
    ],
)
def test_names_that_mean_nothing(limit_run: Path, model: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        evaluate(limit_run, models=[model])
    assert message in str(error.value)


def test_a_folder_that_is_no_model(limit_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the folder holds no model that can be loaded"):
        evaluate(limit_run, models=[str(tmp_path)], out=tmp_path / "out")


def test_no_network(limit_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's address leads to a port where nothing listens; what was scored before is kept."""
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    result = evaluate(limit_run, models=["bm25", "owner/name"], out=tmp_path / "out")
    assert result.failures == {
        "owner/name": "--model owner/name: it is not on this machine, and the Hub cannot be reached. "
        "`minilm` needs no network."
    }
    assert [s.model for s in result.datasets[0].scores] == ["bm25"]
    assert "the Hub cannot be reached" in (tmp_path / "out" / "eval.html").read_text()


@pytest.mark.parametrize("metric", ["recal@2", "nDCG@x", "R@0", "__import__('os')", "recall"])
def test_measures_that_mean_nothing(metric: str) -> None:
    with pytest.raises(UsageError) as error:
        Measures([metric])
    assert str(error.value) == (
        f"--metric {metric}: is no measure. Examples: recall@10, nDCG@10, MRR@10, MAP@100, "
        "success@1, P@5, Judged@10 (names of ir-measures), graded nDCG@10 (over the grades beside "
        "binary qrels)"
    )


def test_data_sets_that_cannot_be_scored(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    empty = dataset(CORPUS, QUERIES, [], "empty")
    with pytest.raises(DatasetError, match=r"empty/qrels\.jsonl is empty: there are no qrels"):
        evaluate(empty)
    zeros = dataset(CORPUS, QUERIES, [("q1", "a", 0)], "zeros")
    with pytest.raises(DatasetError, match="no query has a relevant document"):
        evaluate(zeros)
    half = dataset(CORPUS, QUERIES, [("q1", "a", 0.5)], "half")
    with pytest.raises(DatasetError, match=r"relevance 0\.5 of q1 and a is not a whole number"):
        evaluate(half)
    with pytest.raises(DatasetError, match="has no qrels of split 'tset'; did you mean test"):
        evaluate(half, split="tset")
    strange = dataset(CORPUS, QUERIES, [("other", "a", 1)], "strange")
    with pytest.raises(DatasetError, match="can be scored; they name other queries than there are"):
        evaluate(strange)
    good = dataset(CORPUS, QUERIES, QRELS, "good")
    (good / "qrels.jsonl").unlink()
    with pytest.raises(DatasetError, match="holds no qrels, so rankings of it cannot be scored"):
        evaluate(good)


@pytest.mark.parametrize(
    ("models", "options", "dims", "message"),
    [
        (["bm25"], Options(), [32], "--dims: for embedders, and bm25 is none. "),
        ([], Options(dtype="bf16", max_length=4), [],
         "--dtype, --max-length: for embedders, and bm25 is none. "),
        (["tfidf", "hybrid:bm25+rank-bm25"], Options(query_prompt="search: "), [],
         "--query-prompt: for embedders, and tfidf, hybrid:bm25+rank-bm25 are none. "),
    ],
)  # fmt: skip
def test_options_that_no_model_takes(
    limit_run: Path,
    tmp_path: Path,
    models: list[str],
    options: Options,
    dims: list[int],
    message: str,
) -> None:
    with pytest.raises(UsageError) as error:
        evaluate(limit_run, models=models, options=options, dims=dims, out=tmp_path / "out")
    assert str(error.value) == f"{message}Name one, as --model minilm, or leave the option out"
    assert not (tmp_path / "out").exists()


def test_options_for_rankings_of_others_and_for_re_rankers(limit_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--dims: for embedders, and a TREC run is none"):
        evaluate(limit_run, runs=[tmp_path / "x.trec"], dims=[8])
    with pytest.raises(UsageError, match="--rerank-depth: for re-rankers, and none is named"):
        evaluate(limit_run, models=["bm25"], options=Options(rerank=5))


def test_dimensions_that_no_model_has(limit_run: Path, tmp_path: Path) -> None:
    result = evaluate(
        limit_run, models=["bm25", "static:minilm"], dims=[1024], out=tmp_path / "out"
    )
    assert result.failures == {
        "static:minilm": "--dims: static:minilm has 384 dimensions, fewer than any of 1024"
    }
    with pytest.raises(UsageError, match="--dims: dimensions are whole numbers from 1"):
        evaluate(limit_run, dims=[0])


def test_queries_without_any_document(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A run that lacks a query, and a query that shares no word: 0, and nothing of it is judged."""
    path = dataset(CORPUS, {"q1": "red apples", "q2": "xylophone"}, QRELS[:3])
    run = tmp_path / "mine.trec"
    run.write_text("q1 Q0 a 1 2.0 mine\nq1 Q0 d 2 1.0 mine\n")
    result = evaluate(
        path, models=["bm25"], runs=[run], metrics=["recall@2"], out=tmp_path / "out"
    ).to_json()
    assert [row["metrics"]["recall@2"] for row in result["results"]] == [0.5, 0.25]
    assert [row["judged"]["Judged@2"] for row in result["results"]] == [0.5, 0.25]
    assert result["notes"] == [
        "bm25: ranks no document for 1 of 2 queries, which count as 0",
        "mine: ranks no document for 1 of 2 queries, which count as 0",
    ]
    assert "bm25: ranks no document for 1 of 2" in (tmp_path / "out" / "eval.html").read_text()


LOST = "qrels name documents that are not in the corpus and cannot be found"
IDLE = "queries have no other relevant document and count as 0"


@pytest.mark.parametrize(
    ("qrels", "notes", "recall"),
    [
        ([("q1", "a", 1), ("q2", "lost", 1)], [f"1 of 2 {LOST}; 1 of 2 {IDLE}"], 0.5),
        ([("q1", "lost", 1), ("q2", "gone", 1)], [f"2 of 2 {LOST}; 2 of 2 {IDLE}"], 0.0),
        ([("q1", "a", 1), ("q1", "lost", 1), ("q2", "b", 1)], [f"1 of 3 {LOST}"], 0.75),
        ([("q1", "a", 1), ("q2", "b", 1), ("q2", "lost", 0)], [f"1 of 3 {LOST}"], 1.0),
        ([("q1", "a", 1), ("q2", "b", 1), ("other", "a", 1), ("other", "b", 0)],
         ["2 of 4 qrels name queries that are not there, and are left out"], 1.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("complete", [False, True])
def test_qrels_of_documents_or_queries_that_are_not_there(  # type: ignore[no-untyped-def]
    dataset, gen: Any, tmp_path: Path, qrels: Any, notes: list[str], recall: float, complete: bool
) -> None:
    """They are scored, as trec_eval scores them, and counted in a note."""
    path = dataset(CORPUS, {"q1": "red apples", "q2": "pears"}, qrels)
    names = ["--metric", "recall@1", "--metric", "nDCG@2", "--metric", "Judged@2"]
    done = gen("eval", path, *names, *["--complete"] * complete, "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [note for note in result["notes"] if "--complete" not in note] == notes
    assert result["results"][0]["metrics"]["recall@1"] == recall
    assert (tmp_path / "out" / "runs" / "bm25.trec").is_file()


def test_a_run_of_documents_that_are_not_there(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    run = tmp_path / "mine.trec"
    run.write_text("q1 Q0 lost 1 2.0 mine\nq2 Q0 gone 1 1.0 mine\n")
    result = evaluate(path, runs=[run], out=tmp_path / "out").to_json()
    assert set(result["results"][0]["metrics"].values()) == {0.0}
    assert result["notes"][1:] == [
        f"{run}: 2 documents of the run are not in the corpus and are ignored, for example gone",
        "mine: ranks no document for 2 of 2 queries, which count as 0",
    ]


def test_baselines_of_absent_documents_and_deep_cutoffs(dataset) -> None:  # type: ignore[no-untyped-def]
    # of two relevant documents one is not in the corpus of four
    path = dataset(CORPUS, {"q": "x"}, [("q", "a", 1), ("q", "gone", 1)])
    random = baselines(load(path), Measures(["recall@2", "P@8", "success@2", "MRR@2"]))["random"]
    assert random == pytest.approx(
        {"recall@2": 0.25, "P@8": 1 / 8, "success@2": 0.5, "MRR@2": 1 / 4 + 1 / 8}
    )


def test_runs_of_one_name_stand_apart(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    files = []
    for folder, doc in (("one", "a"), ("two", "b")):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "bm25.trec")
        files[-1].write_text(f"q1 Q0 {doc} 1 2.0 x\nq2 Q0 {doc} 1 2.0 x\n")
    result = evaluate(path, models=["bm25"], runs=files, metrics=["recall@1"], out=tmp_path / "out")
    assert [s.model for s in result.datasets[0].scores] == ["bm25", *map(str, files)]
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 3
    assert len(result.datasets[0].comparisons) == 3


def test_a_run_of_our_own_is_not_overwritten(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path, out = dataset(CORPUS, QUERIES, QRELS), tmp_path / "out"
    evaluate(path, models=["bm25"], metrics=["recall@4"], out=out)
    mine = out / "runs" / "bm25.trec"
    before = mine.read_bytes()
    evaluate(path, runs=[mine], metrics=["recall@1"], out=out)
    assert mine.read_bytes() == before


def test_white_space_in_ids(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset({"a b": "red apples", "c\td": "pears"}, {"q 1": "apples"}, [("q 1", "a b", 1)])
    result = evaluate(path, models=["bm25"], metrics=["recall@1"], out=tmp_path / "out")
    assert result.datasets[0].notes == [
        "ids with white space stand in runs/*.trec with %20 and %09 in its place"
    ]
    run = tmp_path / "out" / "runs" / "bm25.trec"
    assert run.read_text().startswith("q%201 Q0 a%20b 1 ")
    again = evaluate(path, runs=[run], metrics=["recall@1"], out=tmp_path / "again")
    assert again.datasets[0].scores[0].metrics == {"recall@1": 1.0}


def test_dimensions_beyond_the_model_are_named(limit_run: Path, tmp_path: Path) -> None:
    result = evaluate(limit_run, models=["static:minilm"], dims=[8, 9999], out=tmp_path / "out")
    assert "note: static:minilm: has 384 dimensions, so not 9999" in text_of(result).splitlines()


def test_data_sets_of_one_name_keep_their_pictures(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    paths = []
    for side in ("x", "y"):
        (tmp_path / side).mkdir()
        paths.append(dataset(CORPUS, QUERIES, QRELS, f"{side}/ds"))
    result = evaluate(paths, metrics=["recall@1"], out=tmp_path / "out")
    figures = {path.name for path in (tmp_path / "out" / "figures").glob("ds*.svg")}
    assert figures == {"ds-1_recall-1.svg", "ds-2_recall-1.svg"}
    assert (
        "## ds-2: scores\n\nMeans over the queries of the split test"
        in (tmp_path / "out" / "eval.md").read_text()
    )
    assert result.to_json()["datasets"][0]["intervals"]["note"]


def test_names_are_no_markup(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Neither HTML nor Markdown."""
    evil = r"$\frac{x$ <img src=x> | [a](b) `c`"
    paths = [dataset(CORPUS, QUERIES, QRELS, f"{evil} {i}") for i in range(3)]
    run = tmp_path / f"{evil}.trec"
    run.write_text("q1 Q0 a 1 2.0 mine\n")
    out = tmp_path / "out"
    result = evaluate(paths, models=["bm25"], runs=[run], metrics=["recall@2"], out=out)
    assert [one.name for one in result.datasets] == [f"{evil} {i}" for i in range(3)]
    page = Read((out / "eval.html").read_text())
    assert "img" not in page.tags
    assert page.text.count(f"{evil} 2") > 5
    text = rendered((out / "eval.md").read_text())
    assert {*text.tags} <= {
        "h1",
        "h2",
        "p",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert text.text.count(f"{evil} 2: scores") == 1
    # titles, three tables of each data set, the overview, and in the summary
    assert text.text.count(evil) > 12
    drawn = ElementTree.fromstring((out / "figures" / "density.svg").read_bytes())
    texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert [one for one in texts if one and one.startswith("$\\frac{x$ <img")]


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (("queries", '{"_id": "q1", "text": "again"}\n'), "{}: query q1 stands twice"),
        (
            ("qrels", '{"query-id": "q1", "corpus-id": "a", "score": 0}\n'),
            "{}: the qrels (test) give a for q1 both 2 and 0",
        ),
        (
            ("corpus", '{"_id": "e", "title": ""}\n'),
            "{}/corpus.jsonl, line 5: has no text; `gen validate {}` lists all such rows",
        ),
    ],
)
def test_broken_tables_are_not_scored(
    dataset, tmp_path: Path, break_it: tuple[str, str], message: str
) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    with open(path / f"{break_it[0]}.jsonl", "a") as file:
        file.write(break_it[1])
    with pytest.raises(DatasetError) as error:
        evaluate(path, out=tmp_path / "out")
    assert str(error.value) == message.replace("{}", str(path))
