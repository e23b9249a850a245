"""`gen train`: what is scored when, what is said of it, and that nothing is mixed up."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retgen
from retgen.errors import UsageError
from retgen.evaluation.training.page import text as text_of
from retgen.evaluation.training.result import Training
from retgen.search.mteb_tasks import dataset_folder, write_task
from tests.conftest import Gen, read_jsonl

pytestmark = pytest.mark.usefixtures("one_torch_thread")

# word vectors need larger steps than a transformer
FAST = {"learning_rate": 0.05, "epochs": 2, "batch_size": "full"}


@pytest.fixture(scope="module")
def memorised(
    limit_run: Path, other: Path, short: str, tmp_path_factory: pytest.TempPathFactory
) -> Training:
    """Word vectors trained on the pairs that they are scored on, with an outside data set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        return retgen.train(
            limit_run,
            short,
            outside=other,
            settings=FAST,
            metrics=["recall@2", "nDCG@10"],
            out=tmp_path_factory.mktemp("trained") / "out",
        )


def test_scores_before_and_after(memorised: Training, limit_run: Path, short: str) -> None:
    result = memorised.to_json()
    assert (result["base"], result["pairs"], result["pairs_of_the_test_view"]) == (
        short,
        200,
        200,
    )
    before, after = result["test"]["before"], result["test"]["after"]
    assert list(before) == list(after) == ["recall@2", "nDCG@10"]
    assert before["recall@2"] + 0.2 < after["recall@2"] > 0.85
    # the same as gen eval says of both models
    scored = retgen.evaluate(
        limit_run,
        models=[short, result["model"]],
        metrics=["recall@2", "nDCG@10"],
        out=memorised.folder.parent / "eval",
        cache=False,
    ).to_json()
    assert [row["metrics"] for row in scored["results"]] == [before, after]
    assert result["test"]["floors"] == scored["floors"]
    assert list(result["outside"]["animals"]["after"]) == ["recall@2", "nDCG@10"]
    assert result["outside"]["animals"]["before"]["recall@2"] == 1.0


def test_differences_are_of_the_stored_values(memorised: Training) -> None:
    stored = {
        when: np.load(memorised.folder / "scores" / f"test_{when}.npy")
        for when in ("before", "after")
    }
    assert stored["after"].shape == (100, 2)
    first, *_ = (one for one in memorised.scored_sets[0].comparisons if one.second == "before")
    assert (first.first, first.second, first.measure) == ("after", "before", "recall@2")
    assert first.difference == pytest.approx(
        (stored["after"] - stored["before"])[:, 0].mean(), abs=1e-12
    )
    assert 0 < first.low < first.difference < first.high


def test_what_is_said(memorised: Training, short: str) -> None:
    lines = text_of(memorised).splitlines()
    assert lines[0].startswith(f"{short}: trained on 200 pairs, ")
    assert lines[1] == (
        "from the model as it is; no hard negatives (the pairs have none); no prompts; tokens read "
        "per text: all in training and all as saved and scored; weights float32, products "
        "float32"
    )
    head = lines.index("Before and after") + 1
    assert lines[3 : head - 2] == memorised.findings()
    assert lines[head].split() == ["test:", "limit", "recall@2", "nDCG@10"]
    assert [line.split("  ")[0] for line in lines[head + 1 : head + 11]] == [
        "untrained",
        "idf alone",
        "trained",
        "BM25",
        "BM25 + untrained",
        "BM25 + idf alone",
        "BM25 + trained",
        "best reachable",
        lines[head + 9].split("  ")[0],
        "random order",
    ]
    assert memorised.to_json()["test"]["ceiling"] == {"recall@2": 1.0, "nDCG@10": 1.0}
    assert (
        "note: 200 of the 200 training pairs are pairs of the test set limit: its scores measure "
        "memory, not retrieval"
    ) in lines
    assert ["outside:", "animals", "recall@2", "nDCG@10"] in [line.split() for line in lines]
    page = (memorised.folder / "train.html").read_text()
    assert page.count("<svg") == 1
    assert "trained − untrained" in page
    assert "trained − idf alone" in page
    assert (memorised.folder / "train.md").read_text().count("| idf alone |") == 2
    card = (memorised.folder / "model" / "README.md").read_text()
    assert "| test recall@2 |" in card
    assert "| outside animals nDCG@10 |" in card


def test_a_finished_training_is_shown_again(
    memorised: Training, limit_run: Path, other: Path, short: str
) -> None:
    again = retgen.train(
        limit_run,
        short,
        outside=other,
        settings=FAST,
        metrics=["recall@2", "nDCG@10"],
        out=memorised.folder,
    )
    assert again.trained.repeated
    assert again.to_json() == memorised.to_json()
    assert "finished before: nothing to do" in text_of(again)
    with pytest.raises(UsageError) as error:
        retgen.train(limit_run, short, settings=FAST, out=memorised.folder)
    assert str(error.value) == (
        f"{memorised.folder} holds a training that is scored on something else (views.json). "
        "Choose another --out, or start it anew with --fresh."
    )


def test_other_pairs_share_none(other: Path, limit_run: Path, tmp_path: Path, short: str) -> None:
    result = retgen.train(
        other,
        short,
        test=limit_run,
        settings={**FAST, "learning_rate": 0.001},
        out=tmp_path / "out",
    )
    assert result.shared == 0
    assert result.notes() == [
        "no training pair is a pair of the test set limit",
        "outside: not measured (--outside PATH or mteb:NAME measures it)",
    ]
    assert result.to_json()["outside"] == {}
    assert result.scored_sets[0].scores(result.trained, "after")["recall@2"] < 0.95


def test_some_shared_pairs_are_counted(limit_run: Path, tmp_path: Path, short: str) -> None:
    part = tmp_path / "part"
    part.mkdir()
    for name in ("corpus", "queries"):
        (part / f"{name}.jsonl").write_bytes((limit_run / f"dataset/{name}.jsonl").read_bytes())
    rows = read_jsonl(limit_run / "dataset/qrels.jsonl")
    (part / "qrels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:30]))
    result = retgen.train(
        limit_run, short, test=part, settings={"max_steps": 1}, out=tmp_path / "out"
    )
    assert (result.shared, result.trained.steps) == (30, 1)


@pytest.mark.slow
def test_data_sets_are_known_by_what_they_hold(limit_run: Path, tmp_path: Path, short: str) -> None:
    """Two data sets of one name and size; a training of one is never shown as of the other."""
    here = {name: tmp_path / name / "ds" for name in "ab"}
    for folder in here.values():
        shutil.copytree(limit_run / "dataset", folder)
    rows = read_jsonl(limit_run / "dataset/qrels.jsonl")
    ids = list(dict.fromkeys(row["query-id"] for row in rows))
    after = dict(zip(ids, [*ids[1:], ids[0]], strict=True))  # what the next one asked for
    rows = [{**row, "query-id": after[row["query-id"]]} for row in rows]
    (here["b"] / "qrels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out, options = tmp_path / "out", {"max_steps": 1}
    first = retgen.train(limit_run, short, test=here["a"], settings=options, out=out)
    with pytest.raises(UsageError, match="is scored on something else"):
        retgen.train(limit_run, short, test=here["b"], settings=options, out=out)
    anew = retgen.train(limit_run, short, test=here["b"], settings=options, out=out, fresh=True)
    assert not anew.trained.repeated
    assert first.scored_sets[0].scores(first.trained, "after") != anew.scored_sets[0].scores(
        anew.trained, "after"
    )


@pytest.mark.slow
def test_a_model_that_is_gone_or_changed_is_trained_anew(
    limit_run: Path, tmp_path: Path, short: str
) -> None:
    out, settings = tmp_path / "out", {"max_steps": 1}
    first = retgen.train(limit_run, short, settings=settings, out=out)
    shutil.rmtree(first.trained.path)
    assert not retgen.train(limit_run, short, settings=settings, out=out).trained.repeated
    assert first.trained.path.is_dir()
    base = tmp_path / "base"
    shutil.copytree(first.trained.path, base)
    after = tmp_path / "after"
    retgen.train(limit_run, str(base), settings=settings, out=after)
    (base / "README.md").write_text("another")
    with pytest.raises(UsageError, match=r"another training; what differs: weights \("):
        retgen.train(limit_run, str(base), settings=settings, out=after)
    (after / "training.json").write_text("")
    (base / "README.md").write_bytes((first.trained.path / "README.md").read_bytes())
    with pytest.raises(UsageError) as error:
        retgen.train(limit_run, str(base), settings=settings, out=after)
    assert str(error.value) == (
        f"{after / 'training.json'} cannot be checked: it was changed since the training wrote it, or "
        "is of an earlier version. Put it back as it was, or train again with --fresh."
    )


@pytest.mark.parametrize("name", ["bm25", "mteb:owner/name", "hybrid:bm25+minilm"])
def test_what_cannot_be_trained(limit_run: Path, name: str) -> None:
    with pytest.raises(UsageError) as error:
        retgen.train(limit_run, name)
    assert str(error.value) == (
        f"--model {name}: cannot be trained. Give minilm, static:minilm, or the folder or Hub id "
        "of a sentence-transformers model; behind sparse:, late: or cross: for another kind"
    )


def test_data_sets_outside_differ_in_name(limit_run: Path, other: Path, tmp_path: Path) -> None:
    out = tmp_path / "none"
    with pytest.raises(UsageError, match="another data set outside is called animals too"):
        retgen.train(limit_run, "static:minilm", outside=[other, other], out=out)
    assert not out.exists()


@pytest.mark.slow
def test_the_command(gen: Gen, limit_run: Path, tmp_path: Path) -> None:
    args = (
        "--model",
        "static:minilm",
        "--set",
        "max_steps=2",
        "--set",
        "batch_size=full",
        "--set",
        "learning_rate=0.01",
        "--query-prompt",
        "find: ",
    )
    results = gen("train", limit_run, *args, "--metric", "recall@2")
    assert (results.returncode, results.stderr) == (0, "")
    lines = results.stdout.splitlines()
    assert lines[0].startswith("static:minilm: trained on 30 of 200 pairs, 2 steps on ")
    assert lines[1].startswith("from idf; no hard negatives (the pairs have none); query prompt")
    model = "outputs/train_limit_static--minilm/model"
    scored = gen(
        "eval", limit_run, "--model", model, "--metric", "recall@2", "--json", "--out", "scored"
    )
    result = json.loads(scored.stdout)["results"][0]
    assert result["details"]["prompts"] == {"query": "find: ", "document": ""}
    shown = json.loads((tmp_path / model).with_name("train.json").read_text())
    assert shown["config"]["learning_rate"] == 0.01
    row = next(line for line in lines if line.startswith("trained  "))
    assert f"{result['metrics']['recall@2']:.4f}" in row
    assert lines[-2:] == [
        "model: outputs/train_limit_static--minilm/model",
        "page: outputs/train_limit_static--minilm/train.html",
    ]
    bad = gen("train", limit_run, "--set", "epoch=2", "--preset", "limit")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith(
        "gen: the training configuration is wrong\n  epoch: unknown key; did you mean epochs?"
    )


# data sets of MTEB's registry


def test_names_of_tasks() -> None:
    with pytest.raises(UsageError) as error:
        dataset_folder("mteb:NFCorpuss")
    assert str(error.value) == (
        "mteb:NFCorpuss: MTEB has no retrieval task 'NFCorpuss'; did you mean NFCorpus?"
    )
    assert dataset_folder("some/folder") == Path("some/folder")


@pytest.mark.slow  # a process: the address of the Hub is read when its package is imported
def test_a_task_that_cannot_be_reached(gen_process: Gen, tmp_path: Path) -> None:
    # a port of this machine where nobody listens stands for a machine without a network
    away = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "RETGEN_CACHE": str(tmp_path)}
    result = gen_process("eval", "mteb:NFCorpus", env=away)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("gen: mteb:NFCorpus: cannot be loaded (")
    assert result.stderr.endswith(
        "Without a network give a folder in MTEB, BEIR or Hub layout instead.\n"
    )


def test_a_loaded_task_is_written_and_read_again(
    limit_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mteb
    from datasets import Dataset
    from mteb.abstasks.retrieval import AbsTaskRetrieval

    class Task(AbsTaskRetrieval):
        metadata = mteb.get_task("SciFact").metadata.model_copy(update={"name": "Local"})

        def load_data(self, *args: object, **kwargs: object) -> None:
            folder = limit_run / "dataset"
            corpus, queries = (read_jsonl(folder / f"{n}.jsonl") for n in ("corpus", "queries"))
            qrels: dict[str, dict[str, int]] = {}
            for row in read_jsonl(folder / "qrels.jsonl"):
                qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = row["score"]
            self.dataset = {
                "default": {
                    "test": {
                        "corpus": Dataset.from_list(
                            [
                                {"id": r["_id"], "title": r["title"], "text": r["text"]}
                                for r in corpus
                            ]
                        ),
                        "queries": Dataset.from_list(
                            [{"id": r["_id"], "text": r["text"]} for r in queries]
                        ),
                        "relevant_docs": qrels,
                        "top_ranked": None,
                    }
                }
            }  # type: ignore[assignment]

    task = Task()
    task.load_data()
    kept = tmp_path / "cache" / "mteb" / "Local"
    write_task(task, kept)
    assert read_jsonl(kept / "qrels.jsonl") == [
        {k: row[k] for k in ("query-id", "corpus-id", "score")}
        for row in read_jsonl(limit_run / "dataset/qrels.jsonl")
    ]
    monkeypatch.setenv("RETGEN_CACHE", str(tmp_path / "cache"))
    assert dataset_folder("mteb:Local") == kept  # there already, so nothing is asked for
    here, there = (
        retgen.evaluate(path, metrics=["recall@2"], out=tmp_path / name).to_json()["results"]
        for path, name in ((limit_run, "here"), ("mteb:Local", "there"))
    )
    assert [row["metrics"] for row in here] == [row["metrics"] for row in there]
    shown = retgen.certify("mteb:Local", minutes=0.001, out=tmp_path / "capacity")
    assert shown.certificate.densities.documents == 15


def write_pairs(folder: Path, pairs: list[tuple[str, str]]) -> Path:
    """A data set of (query, relevant document)."""
    documents = {text: f"d{i}" for i, text in enumerate(dict.fromkeys(d for _, d in pairs))}
    rows: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"_id": i, "title": "", "text": text} for text, i in documents.items()],
        "queries": [{"_id": f"q{i}", "text": query} for i, (query, _) in enumerate(pairs)],
        "qrels": [
            {"query-id": f"q{i}", "corpus-id": documents[document], "score": 1}
            for i, (_, document) in enumerate(pairs)
        ],
    }
    folder.mkdir()
    for name, of in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in of))
    return folder


def test_batches_with_nothing_to_compare(short: str, tmp_path: Path) -> None:
    """20 questions with one document: whatever the loss, there is no document that is wrong."""
    data = write_pairs(tmp_path / "d", [(f"where is owl {i}", "an owl runs") for i in range(20)])
    settings = {"batch_size": 8, "max_steps": 6}
    result = retgen.train(data, short, settings=settings, out=tmp_path / "out")
    shown = result.to_json()
    assert (shown["pairs"], shown["pairs_seen"]) == (20, 6)
    assert {loss for _, loss in shown["losses"]} == {0.0}
    warning = (
        "every batch held 1 pair, so there was nothing to compare it with or learn from it. Pairs "
        "with the same query or document are no negatives of one another: train on pairs of more "
        "queries and documents, or on hard negatives"
    )
    assert shown["warnings"] == [warning]
    lines = text_of(result).splitlines()
    assert lines[0].startswith(f"{short}: trained on 6 of 20 pairs, 6 steps on ")
    assert f"warning: {warning}." in lines
    page = html.unescape((tmp_path / "out/train.html").read_text())
    assert f"{warning[0].upper()}{warning[1:]}." in page
    assert "\n- pairs: 6 of 20, and 0 held out\n" in (tmp_path / "out/model/README.md").read_text()


@pytest.mark.slow
def test_a_training_that_collapses_says_so(limit_run: Path, layer: Path, tmp_path: Path) -> None:
    settings = {
        "learning_rate": 1.0,
        "batch_size": 16,
        "max_steps": 24,
        "warmup_ratio": 0.0,
        "max_length": 32,
    }
    result = retgen.train(limit_run, str(layer), settings=settings, out=tmp_path / "bad")
    (warning,) = result.warnings()
    assert re.fullmatch(
        r"the training collapsed: over the last \d of 24 steps its loss was \d\.\d\d, and "
        r"guessing among the documents of a batch has 2\.\d\d and it gives \d+ of its texts the "
        r"same scores, whatever the query\. Lower learning_rate \(now 1\); if that does not help, "
        r"raise warmup_ratio or lower temperature",
        warning,
    )
    assert f"warning: {warning}." in text_of(result).splitlines()
    assert f"{warning[0].upper()}{warning[1:]}." in html.unescape(
        (tmp_path / "bad" / "train.html").read_text()
    )
    again = retgen.train(limit_run, str(layer), settings=settings, out=tmp_path / "bad")
    assert again.trained.repeated
    assert again.to_json()["warnings"] == [warning]
    good = settings | {"learning_rate": 1e-4}
    well = retgen.train(limit_run, str(layer), settings=good, out=tmp_path / "g")
    assert well.warnings() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "length", "hard"),
    [
        (None, 60, 0),
        ({"learning_rate": 1e-4}, 60, 0),
        ({"hard_negatives": 2}, 60, 2),
        ({"epochs": 1}, None, "all"),
        ({"max_steps": 3}, 3, "all"),
    ],
)
def test_a_transformer_on_a_processor_is_trained_briefly(
    settings: dict[str, Any] | None,
    length: int | None,
    hard: int | str,
    other: Path,
    layer: Path,
    tmp_path: Path,
) -> None:
    """Unless the user says how long."""
    done = retgen.train(
        other,
        str(layer),
        settings=settings,
        metrics=["recall@1"],
        out=tmp_path / "out",
        device="cpu",
    )
    assert (done.config.max_steps, done.config.hard_negatives) == (length, hard)
    assert done.config.learning_rate == {**(settings or {})}.get("learning_rate", 2e-5)
    told = [one for one in done.notes() if one.startswith("a short training, as this is a CPU")]
    assert len(told) == (length == 60)
