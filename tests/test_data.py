"""Any data set that others wrote: layouts, and what the rules say about them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retgen.data import lookup_caution, open_dataset
from retgen.errors import DatasetError
from retgen.validation.validate import validate
from tests.conftest import Gen

DOCUMENTS = [
    {"_id": f"d{i}", "title": f"Title {i}", "text": f"Some words about topic{i} here."}
    for i in range(30)
]
QUERIES = [{"_id": f"q{i}", "text": f"what about topic{i}"} for i in range(5)]
# scattered, so that no rule on order has anything to say
QRELS = [(f"q{i}", f"d{(i * 13 + 5) % 30}", 1) for i in range(5)]
for query, (_, doc_id, _) in zip(QUERIES, QRELS, strict=True):
    query["text"] = f"what about topic{doc_id[1:]}"

Write = Callable[
    [Path, list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, str, int]]], None
]


def jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def qrel_rows(qrels: list[tuple[str, str, int]]) -> list[dict[str, Any]]:
    return [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in qrels]


def mteb(folder: Path, documents: Any, queries: Any, qrels: Any) -> None:
    jsonl(folder / "corpus.jsonl", documents)
    jsonl(folder / "queries.jsonl", queries)
    jsonl(folder / "qrels.jsonl", qrel_rows(qrels))


def beir(folder: Path, documents: Any, queries: Any, qrels: Any) -> None:
    jsonl(folder / "corpus.jsonl", documents)
    jsonl(folder / "queries.jsonl", queries)
    (folder / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")


def hub(folder: Path, documents: Any, queries: Any, qrels: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, rows in (("corpus", documents), ("queries", queries), ("data", qrel_rows(qrels))):
        (folder / name).mkdir(parents=True, exist_ok=True)
        stem = "test" if name == "data" else name
        path = folder / name / f"{stem}-00000-of-00001.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)


def declared(folder: Path, documents: Any, queries: Any, qrels: Any) -> None:
    jsonl(folder / "a" / "docs.jsonl", documents)
    jsonl(folder / "b" / "asks.jsonl", queries)
    jsonl(folder / "qrels.jsonl", qrel_rows(qrels))
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: corpus\n  data_files: a/*.jsonl\n- config_name: queries\n"
        "  data_files:\n  - {split: queries, path: b/asks.jsonl}\n---\n# x\n"
    )


def with_positives(queries: Any, qrels: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": query["_id"],
            "query": query["text"],
            "positives": [{"id": d, "score": s} for q, d, s in qrels if q == query["_id"]],
        }
        for query in queries
    ]


def capretrieval(folder: Path, documents: Any, queries: Any, qrels: Any) -> None:
    """As it is published with its code."""
    rows = [{"id": row["_id"], "title": row["title"], "text": row["text"]} for row in documents]
    jsonl(folder / "candidates.jsonl", rows)
    jsonl(folder / "queries.jsonl", with_positives(queries, qrels))
    (folder / "types.json").write_text('{"place": ["a", "b"]}')


def capretrieval_hub(folder: Path, documents: Any, queries: Any, qrels: Any) -> None:
    rows = [{"id": row["_id"], "title": row["title"], "text": row["text"]} for row in documents]
    jsonl(folder / "passages" / "test.jsonl", rows)
    jsonl(folder / "queries" / "test.jsonl", with_positives(queries, qrels))
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: passages\n  data_files:\n  - {split: test, path: passages/test*}\n"
        "- config_name: queries\n  data_files:\n  - {split: test, path: queries/test*}\n---\n# x\n"
    )


@pytest.mark.parametrize("write", [mteb, beir, hub, declared, capretrieval, capretrieval_hub])
def test_layouts(write: Write, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    write(tmp_path / "x", DOCUMENTS, QUERIES, QRELS)
    dataset = open_dataset(tmp_path / "x")
    documents = list(dataset.documents())
    assert len(documents) == 30
    assert documents[0][:3] == ("d0", "Title 0", "Some words about topic0 here.")
    assert documents[-1].doc_id == "d29"
    assert list(dataset.qrels) == ["test"]
    assert dataset.queries.read() == ([(q["_id"], q["text"], None) for q in QUERIES], [])
    assert dataset.qrels["test"].read() == (QRELS, [])
    validation = validate(tmp_path / "x")
    assert (validation.ok, validation.findings) == (True, [])
    assert validation.statistics["documents"] == 30
    assert validation.proven == 0


Change = Callable[[list[dict[str, Any]], list[dict[str, Any]], list[tuple[str, str, int]]], None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda d, q, r: d.append(dict(d[3])),
            [
                ("duplicate-id", ["d3", "d3"], "2 documents have the same _id (rows 4, 31)"),
                (
                    "duplicate-text",
                    ["d3", "d3"],
                    "2 documents have the same title and text (rows 4, 31)",
                ),
            ],
        ),
        (
            lambda d, q, r: d[2].update(text="  "),
            [("empty-text", ["d2"], "document d2 has no text")],
        ),
        (
            lambda d, q, r: d[2].update(text="a caf\u00c3\u00a9"),
            [
                (
                    "encoding",
                    ["d2"],
                    "document d2 holds '\u00c3\u00a9', UTF-8 that was read as Windows-1252",
                )
            ],
        ),
        (
            lambda d, q, r: d[2].pop("text"),
            [("schema", ["corpus.jsonl:3"], "corpus.jsonl, line 3: has no text")],
        ),
        (
            lambda d, q, r: q[2].update(_id="q\0a"),
            [
                (
                    "schema",
                    ["queries.jsonl:3"],
                    "queries.jsonl, line 3: an id holds a NUL character: give it another one",
                ),
                (
                    "dangling-qrel",
                    ["q2", "d1"],
                    "the qrel (q2, d1) names query q2, which does not exist",
                ),
            ],
        ),
        (
            lambda d, q, r: q.append({"_id": "q5", "text": "anything"}),
            [
                (
                    "query-without-qrels",
                    ["q5"],
                    "query q5 has no relevant document, so most metrics leave it out",
                )
            ],
        ),
        (
            lambda d, q, r: q.append({"_id": "q4", "text": "another"}),
            [
                (
                    "duplicate-query-id",
                    ["q4", "q4"],
                    "2 queries have the same _id (rows 5, 6)",
                )
            ],
        ),
        (
            lambda d, q, r: r.append(r[0]),
            [("duplicate-qrel", ["q0", "d5"], "the pair (q0, d5) is judged more than once")],
        ),
        (
            lambda d, q, r: r.append(("q0", "d1", 0.5)),
            [
                (
                    "score-range",
                    ["q0", "d1"],
                    "the score of (q0, d1) is 0.5; relevance is a whole number from 0 to 1,000",
                )
            ],
        ),
        (
            lambda d, q, r: r.append(("q0", "d1", 1e20)),
            [
                (
                    "score-range",
                    ["q0", "d1"],
                    "the score of (q0, d1) is 1e+20; relevance is a whole number from 0 to 1,000",
                )
            ],
        ),
    ],
)
def test_rules(tmp_path: Path, change: Change, expected: list[tuple[str, list[str], str]]) -> None:
    documents = [dict(row) for row in DOCUMENTS]
    queries = [dict(row) for row in QUERIES]
    qrels = list(QRELS)
    change(documents, queries, qrels)
    mteb(tmp_path, documents, queries, qrels)
    findings = [(f.rule, f.ids, f.message) for f in validate(tmp_path).findings]
    assert [row for row in findings if row[0] != "lexical-ambiguity"] == expected


def test_ambiguous_query(tmp_path: Path) -> None:
    documents = [dict(row) for row in DOCUMENTS]
    documents[0]["text"] = "Nothing but topic5, again."
    mteb(tmp_path, documents, QUERIES, QRELS)
    findings = validate(tmp_path).findings
    assert [(f.rule, f.severity, f.ids, f.message) for f in findings] == [
        (
            "lexical-ambiguity",
            "warning",
            ["q0"],
            "all content words of 1 of 5 queries stand in some document that is not relevant "
            "(query q0 in d0, for one; function words and words of all queries "
            "aside): look whether it is relevant too",
        )
    ]


def test_order_leak(tmp_path: Path) -> None:
    documents = [{"_id": f"d{i:04}", "text": f"word{i}"} for i in range(2000)]
    queries = [{"_id": f"q{i}", "text": f"word{i}?"} for i in range(40)]
    qrels = [(f"q{i}", f"d{i:04}", 1) for i in range(40)]
    mteb(tmp_path, documents, queries, qrels)
    findings = validate(tmp_path).findings
    assert [(f.rule, f.severity, len(f.ids)) for f in findings] == [
        ("order-leak", "warning", 40),
        ("order-leak", "warning", 40),
        ("answer-leak", "warning", 80),
    ]
    assert findings[0].message.startswith(
        "the 40 relevant documents do not stand where chance would put them among 2000 (median at "
    )
    assert "Spearman 1.00 over 40 queries" in findings[1].message


def test_baselines_of_a_set_that_position_and_length_give_away(tmp_path: Path) -> None:
    documents = [{"_id": f"d{i:03}", "text": "same words"} for i in range(200)]
    for i in range(3):
        documents[i * 50 + 7]["text"] = f"rare{i} " * 40
    queries = [{"_id": f"q{i}", "text": f"rare{i}"} for i in range(3)]
    qrels = [(f"q{i}", f"d{i * 50 + 7:03}", 1) for i in range(3)]
    mteb(tmp_path, documents, queries, qrels)
    baselines = validate(tmp_path).baselines
    assert baselines["random"] == {
        "recall@2": 0.01,
        "recall@3": 0.015,
        "recall@10": 0.05,
        "recall@20": 0.1,
        "recall@100": 0.5,
    }
    assert baselines["rankings"]["longest first"]["recall@3"] == 1.0
    assert baselines["rankings"]["summed IDF"]["recall@2"] == pytest.approx(2 / 3, abs=1e-6)
    assert baselines["rankings"]["shortest first"]["recall@100"] == 0.0


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: None, "{p}/x does not exist. Give the folder of a run or of a data set."),
        (
            lambda p: (p / "x").write_text(""),
            "{p}/x is a file. Give the folder of a run or of a data set.",
        ),
        (
            lambda p: (p / "x").mkdir(),
            "{p}/x holds no corpus table. A data set is corpus.jsonl, "
            "queries.jsonl and qrels.jsonl (a run, MTEB), corpus.jsonl, queries.jsonl and qrels/test.tsv "
            "(BEIR), corpus/, queries/ and data/ or qrels/ with Parquet or JSON Lines (the Hub), or "
            "candidates.jsonl, or passages/, and queries whose rows list their positives (CapRetrieval).",
        ),
    ],
)
def test_no_data_set(tmp_path: Path, make: Callable[[Path], None], expected: str) -> None:
    make(tmp_path)
    with pytest.raises(DatasetError) as error:
        validate(tmp_path / "x")
    assert str(error.value) == expected.format(p=tmp_path)


@pytest.mark.parametrize("name", ["manifest.json", "report.json", "dataset/README.md"])
@pytest.mark.parametrize("target", [None, "/dev/zero"])
def test_a_run_of_pipes_and_devices(
    limit_run: Path, tmp_path: Path, name: str, target: str | None
) -> None:
    run = tmp_path / "run"
    shutil.copytree(limit_run, run)
    path = run / name
    path.unlink()
    if target is None:
        os.mkfifo(path)
    else:
        path.symlink_to(target)
    for read in (validate, open_dataset):
        with pytest.raises(DatasetError) as error:
            read(run)
        assert str(error.value) == f"{path} is no file but a pipe or a device"
    if name.startswith("dataset/"):
        assert len(open_dataset(run / "dataset").queries.read()[0]) == 100  # the card is left out


def test_positives_that_are_none(tmp_path: Path) -> None:
    jsonl(
        tmp_path / "candidates.jsonl",
        [{"id": "a", "text": "图书馆"}, {"id": "b", "text": "火车站"}],
    )
    jsonl(
        tmp_path / "queries.jsonl",
        [
            {"id": "q1", "query": "书", "positives": [{"id": "a", "score": 2}, "b"]},
            {"id": "q2", "query": "车", "positives": [{"id": "b"}]},
            {"id": "q3", "query": "馆"},
            {"id": "q4", "query": "站", "positives": []},
            {"id": 5, "query": "站", "positives": [{"id": "b", "score": 1}]},
        ],
    )
    dataset = open_dataset(tmp_path)
    assert dataset.qrels["test"].read() == (
        [("q1", "a", 2)],
        [
            (2, "is no judgement: the positives of query q1 hold 'b'"),
            (3, "has no score"),
            (4, "is no judgement: the positives of query q3 hold None"),
        ],
    )
    queries, problems = dataset.queries.read()
    assert [query.text for query in queries] == ["书", "车", "馆", "站"]
    assert problems == [(5, "_id is not a string")]


def test_no_qrels(tmp_path: Path) -> None:
    mteb(tmp_path, DOCUMENTS, QUERIES, QRELS)
    (tmp_path / "qrels.jsonl").unlink()
    with pytest.raises(DatasetError, match=r"holds no qrels: no qrels\.jsonl, no qrels\.tsv"):
        validate(tmp_path)


def test_unknown_split(tmp_path: Path) -> None:
    beir(tmp_path, DOCUMENTS, QUERIES, QRELS)
    with pytest.raises(DatasetError) as error:
        validate(tmp_path, split="dev")
    assert str(error.value) == f"{tmp_path} has no qrels of split 'dev'. Splits: test"


def test_a_card_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"_id": "s", "text": "secret"}\n')
    folder = tmp_path / "x"
    folder.mkdir()
    declared(folder, DOCUMENTS, QUERIES, QRELS)
    card = folder / "README.md"
    card.write_text(card.read_text().replace("a/*.jsonl", "../secret.jsonl"))
    with pytest.raises(DatasetError, match="holds no corpus table"):
        open_dataset(folder)


def test_queries_that_no_rule_took_from_a_document_have_no_caution() -> None:
    others = [{}, {"evidence": "model"}, {"evidence": "found", "side": "nonlexical"}]
    assert lookup_caution(others) == ""
    assert lookup_caution([*others, {"evidence": "rules", "side": "lexical"}]).startswith(
        "1 of 4 queries are taken from the documents by rules and repeat their words: "
    )


@pytest.mark.parametrize(
    "words",
    ["eval {} --model bm25", "export {} --to beir", "diff {} {}", "train {}"],
)
@pytest.mark.parametrize("name", ["corpus", "qrels"])
def test_whatever_reads_a_run_refuses_a_table_that_was_changed(
    limit_run: Path, gen: Gen, tmp_path: Path, name: str, words: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(limit_run, run)
    path = run / "dataset" / f"{name}.jsonl"
    path.write_bytes(path.read_bytes()[:-200])
    done = gen(*words.format(run, run).split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"gen: {path} is not the file that {run}/manifest.json describes: put it back, or make "
        f"the run again with --fresh. To use the tables as they are, copy {run}/dataset to another "
        "folder\n"
    )


@pytest.mark.parametrize(
    ("key", "value"), [("counts", "x"), ("evidence", None), ("checks", []), ("languages", "eng")]
)
def test_a_damaged_manifest_is_refused_by_whoever_reads_the_run(
    limit_run: Path, tmp_path: Path, key: str, value: Any
) -> None:
    shutil.copytree(limit_run, run := tmp_path / "run")
    path = run / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(DatasetError) as error:
        open_dataset(run)
    assert str(error.value) == f"{path} is damaged; make the run again with --fresh"
