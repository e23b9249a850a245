"""The card of a published run: what the Hub reads of it, and what a person does."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import retgen
from retgen import publish
from tests.conftest import Gen, read_jsonl


def published(run: Path, tmp_path: Path) -> tuple[Path, dict[str, Any], str]:
    """The folder, its card's header as the Hub's library reads it, and its text."""
    publish(run, f"file:{tmp_path / 'published'}")
    return read_card(tmp_path / "published")


def read_card(folder: Path) -> tuple[Path, dict[str, Any], str]:
    """The same of a folder that is published."""
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(folder / "README.md")
    return folder, card.data.to_dict(), card.text


def test_the_header_is_one_that_the_hub_knows(kb_tree: Path) -> None:
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCardData

    folder, header, _ = read_card(kb_tree)
    configs = header.pop("configs")
    info = header.pop("dataset_info")
    assert header == {
        "pretty_name": "limit_small",
        "language": ["en"],
        "license": "apache-2.0",
        "task_categories": ["text-retrieval"],
        "tags": ["synthetic", "retgen", "limit"],
    }
    names = ["default", "corpus", "queries", "corpus_metadata", "queries_metadata"]
    found = MetadataConfigs.from_dataset_card_data(DatasetCardData(configs=configs))
    assert list(found) == names
    assert [one["config_name"] for one in info] == names
    for one in configs:
        for entry in one["data_files"]:
            columns = pq.read_schema(folder / entry["path"]).names
            assert set(one.get("columns", columns)) <= set(columns)


def test_what_a_run_has_beside_its_data_set_is_there(ladders: Path, ladders_tree: Path) -> None:
    folder, header, text = read_card(ladders_tree)
    names = [one["config_name"] for one in header["configs"]]
    assert names == [
        "default",
        "corpus",
        "queries",
        "graded",
        "corpus_metadata",
        "queries_metadata",
        "tables_task1",
        "tables_task2_3",
        "tables_task4_1024",
        "tables_task4_512",
        "training_ladders",
        "training_pairs",
        "training_singles",
        "training_triplets",
    ]
    for name in ("ladders", "pairs", "triplets"):
        there, run = (p / "training" / f"{name}.parquet" for p in (folder, ladders))
        assert pq.read_table(there).equals(pq.read_table(run))
        assert pq.read_metadata(there).row_group(0).column(0).has_offset_index
    rows = pq.read_table(folder / "tables" / "task1.parquet").to_pylist()
    assert rows == read_jsonl(ladders / "tables" / "task1.jsonl")
    assert "HN9, HN10 | 6 |" in text


@pytest.mark.slow
def test_queries_without_positives_and_what_was_judged_of_them(tmp_path: Path) -> None:
    run = retgen.run("capretrieval_judged", out=tmp_path / "run").path
    folder, header, text = published(run, tmp_path)
    files = {one["config_name"]: one["data_files"] for one in header["configs"]}
    assert header["language"] == ["en", "zh"]
    (judged,) = files["qrels_without_positives"]
    assert "are in the configuration `qrels_without_positives`" in text
    assert pq.read_metadata(folder / judged["path"]).num_rows == 1000
    queries = pq.read_table(folder / "queries_without_positives" / "queries.parquet")["_id"]
    rows = read_jsonl(run / "dataset" / "qrels.no_positives.jsonl")
    assert set(queries.to_pylist()) == {row["query-id"] for row in rows}
    assert "Files that this card names and that are not here stayed in the run." in text


@pytest.mark.parametrize(
    ("licences", "header"),
    [
        ({"documents": "CC BY 4.0"}, {"license": "cc-by-4.0"}),
        (
            {"documents": "CC0-1.0", "queries": "of the documents whose words they are"},
            {"license": "cc0-1.0"},
        ),
        ({"documents": "Our Own, v2"}, {"license": "other", "license_name": "our-own-v2"}),
        (
            {"documents": "CC BY 4.0", "queries": "Apache-2.0 (retgen)"},
            {"license": "other", "license_name": "one-for-each-part"},
        ),
    ],
)
def test_licences_as_the_hub_names_them(
    kb: Path, tmp_path: Path, licences: dict[str, str], header: dict[str, str]
) -> None:
    manifest = json.loads((kb / "manifest.json").read_text())
    (kb / "manifest.json").write_text(json.dumps({**manifest, "licences": licences}))
    _, found, _ = published(kb, tmp_path)
    assert {name: value for name, value in found.items() if name.startswith("license")} == header


def test_scores_that_stand_beside_the_run(kb: Path, tmp_path: Path, gen: Gen) -> None:
    model = tmp_path / "models" / "mine"
    model.parent.mkdir()
    assert gen("eval", kb, "--model", "bm25").returncode == 0
    page, stated = kb / "eval" / "eval.md", kb / "eval" / "eval.json"
    # as it would stand there of a model of this machine
    model.mkdir()
    for path in (page, stated):
        path.write_text(path.read_text().replace("bm25", str(model)))
    folder, _, text = published(kb, tmp_path)
    recall = json.loads(stated.read_text())["results"][0]["metrics"]["recall@2"]
    assert "## Scores\n\nOf `gen eval`: [scores.md](scores.md).\n" in text
    assert f"mine reaches recall@2 {recall:.4f}" in (folder / "scores.md").read_text()
    assert not [p for p in folder.rglob("*.*") if str(tmp_path).encode() in p.read_bytes()]
    # older than the run, it is of other data
    shutil.rmtree(folder)
    os.utime(stated, (0, 0))
    folder, _, text = published(kb, tmp_path)
    assert "## Scores" not in text
    assert not (folder / "scores.md").exists()
