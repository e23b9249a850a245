"""What `gen diff` counts and shows, between data sets in any layout and between runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen import diff, export, run
from retgen.changes import excerpts, printable
from retgen.changes.records import HashedTable
from retgen.data import open_dataset
from retgen.errors import DatasetError
from retgen.highlights import Segment
from retgen.progress import no_progress
from tests.conftest import Gen, Write, read_jsonl, restate

CORPUS = {
    "d1": "Jon likes quokkas.",
    "d2": "Ada likes apples.",
    "d3": "Eve likes figs.",
    "d4": "Bob likes kites.",
}
QUERIES = {"q1": "Who likes quokkas?", "q2": "Who likes apples?"}
QRELS = [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d2", 1), ("q2", "d4", 0)]
NONE = {"same": 0, "changed": 0, "added": 0, "removed": 0}
ALL_QRELS = {**NONE, "same": 4, "reordered": False}


def counts(result: dict[str, Any]) -> dict[str, int]:
    return {key: result[key] for key in NONE if key in result}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def a(dataset: Write) -> Path:
    return dataset(CORPUS, QUERIES, QRELS, "a")


@pytest.fixture
def b(a: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(a, tmp_path / "b"))


def test_every_kind_of_change_is_counted(a: Path, dataset: Write) -> None:
    corpus = {
        "d1": "Jon likes wombats.",
        "d2": CORPUS["d2"],
        "d3": CORPUS["d3"],
        "d5": "Zoe likes tea.",
    }
    queries = {**QUERIES, "q3": "Who likes tea?"}
    qrels = [("q1", "d1", 1), ("q1", "d2", 1), ("q2", "d2", 1), ("q3", "d5", 1)]
    result = diff(a, dataset(corpus, queries, qrels, "other")).to_json()
    documents = result["documents"]
    assert documents == {"same": 2, "changed": 1, "added": 1, "removed": 1, "reordered": False}
    assert counts(result["queries"]) == {**NONE, "same": 2, "added": 1}
    assert counts(result["qrels"]["test"]) == {"same": 2, "changed": 1, "added": 1, "removed": 1}
    assert result["labels"] == {"0->1": 1, "0->none": 1, "none->1": 1}
    assert result["differ"] is True
    changed, added, *_ = examples = result["examples"]
    assert changed == {
        "table": "documents",
        "what": "changed",
        "id": "d1",
        "before": {"text": "Jon likes quokkas."},
        "after": {"text": "Jon likes wombats."},
    }
    assert added["after"] == {"text": "Zoe likes tea."}
    assert [(one["table"], one["what"], one.get("id")) for one in examples[1:4]] == [
        ("documents", "added", "d5"),
        ("documents", "removed", "d4"),
        ("queries", "added", "q3"),
    ]
    assert examples[4] == {
        "table": "qrels",
        "what": "changed",
        "split": "test",
        "query-id": "q1",
        "corpus-id": "d2",
        "before": 0,
        "after": 1,
        "query": "Who likes quokkas?",
        "document": "Ada likes apples.",
    }
    labels = [(one["what"], one.get("before"), one.get("after")) for one in examples[5:]]
    assert labels == [("added", None, 1), ("removed", 0, None)]
    assert examples[6]["document"] == "Bob likes kites."  # which B lacks


def test_another_order_is_told_apart_from_other_records(a: Path, dataset: Write) -> None:
    corpus = dict(sorted(CORPUS.items(), reverse=True))
    result = diff(a, dataset(corpus, QUERIES, QRELS, "other"))
    assert counts(result.tables["documents"].to_json()) == {**NONE, "same": 4}
    assert (result.tables["documents"].reordered, result.tables["queries"].reordered) == (
        True,
        False,
    )
    assert (result.same_records, result.differ) == (False, True)


def test_parquet_tsv_and_json_lines_are_the_same_data(a: Path, tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    for table in ("corpus", "queries", "qrels"):
        (hub / table).mkdir(parents=True)
    for table in ("corpus", "queries"):
        rows = pa.Table.from_pylist(read_jsonl(a / f"{table}.jsonl"))
        pq.write_table(rows, hub / table / "test.parquet", row_group_size=2)
    lines = ["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{s}" for q, d, s in QRELS)]
    (hub / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    result = diff(a, hub)
    assert counts(result.tables["documents"].to_json()) == {**NONE, "same": 4}
    assert (result.same_records, result.differ) == (True, False)


def test_splits_and_grades(a: Path, b: Path) -> None:
    rows = read_jsonl(a / "qrels.jsonl")
    write(b / "qrels.train.jsonl", rows[:1])
    for folder, grade in ((a, 2), (b, 1)):
        write(folder / "qrels_graded.jsonl", [{**rows[0], "score": grade}])
    result = diff(a, b).to_json()
    added = {**NONE, "added": 1, "reordered": False}
    assert result["qrels"] == {"test": ALL_QRELS, "train": added}
    assert (result["labels"], result["grades"]) == ({"none->1": 1}, {"2->1": 1})
    assert result["graded"] == {"test": {**NONE, "changed": 1, "reordered": False}}


def test_an_id_that_stands_twice(a: Path, b: Path) -> None:
    rows = read_jsonl(a / "corpus.jsonl")
    write(b / "corpus.jsonl", [*rows, rows[0]])
    with pytest.raises(DatasetError, match=r"b: d1 stands twice in corpus; `gen validate` lists"):
        diff(a, b)


def test_runs_and_their_exports(limit_run: Path, tmp_path: Path) -> None:
    for to in ("beir", "mteb"):
        folder = export(limit_run, to, tmp_path / to)
        result = diff(limit_run, folder)
        assert (result.same_records, result.differ, result.recipe) == (True, False, None)
        assert result.notes == [f"{folder} is no run: recipes are not compared"]
    sizes = {"params.docs": 15, "params.queries": 100, "params.attributes_per_doc": 16}
    other = run("limit_small", out=tmp_path / "other", overrides={**sizes, "seed": 7}).path
    result = diff(limit_run, other)
    assert result.to_json()["recipe"] == {"seed": [42, 7]}
    assert result.tables["documents"].to_json()["same"] == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.json", "[", "manifest.json is damaged; make the run again with --fresh"),
        ("recipe.yaml", ": [", "recipe.yaml, line 1: is not YAML: "),
        (
            "dataset/corpus.jsonl",
            '{"_id": 3}\n',
            "corpus.jsonl, line 1: _id is not a string, has no text; ",
        ),
        ("dataset/qrels.jsonl", "{}\n", "qrels.jsonl, line 1: has no query-id, has no corpus-id, "),
    ],
)
def test_what_cannot_be_read_is_named(
    limit_run: Path, tmp_path: Path, name: str, content: str, message: str
) -> None:
    shutil.copytree(limit_run, tmp_path / "copy")
    (tmp_path / "copy" / name).write_text(content)
    if name.startswith("dataset/"):
        restate(tmp_path / "copy", name)
    with pytest.raises(DatasetError, match=message.replace("[", r"\[")):
        diff(limit_run, tmp_path / "copy")


def test_a_file_that_is_cut_short_while_it_is_read(a: Path) -> None:
    held, last = HashedTable(open_dataset(a).corpus, a, no_progress), 3
    assert held.record(last).text == CORPUS["d4"]
    write(a / "corpus.jsonl", read_jsonl(a / "corpus.jsonl")[:2])
    with pytest.raises(DatasetError, match="changed while it was read; run the command again"):
        held.record(last)


def test_command(a: Path, dataset: Write, gen: Gen) -> None:
    hostile = "Jon likes <b>\x1b[31mwombats</b>\u202e."
    dataset({**CORPUS, "d1": hostile}, QUERIES, QRELS, "b")
    done = gen("diff", "a", "b")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n\n") == [
        "A  a\nB  b",
        "            same  changed  added  removed\n"
        "documents      3        1      0        0\n"
        "queries        2        0      0        0\n"
        "qrels test     4        0      0        0",
        "document changed: d1\n  - Jon likes [-quokkas.-]\n"
        "  + Jon likes [+<b>\\x1b[31mwombats</b>\\u202e.+]",
        "The records differ.\n",
    ]
    assert gen("diff", "a", "b", "--exit-code", "-q").returncode == 1
    same = gen("diff", "a", "a", "--exit-code")
    assert (same.returncode, same.stdout.splitlines()[-1]) == (
        0,
        "No difference: the same records in the same order.",
    )
    assert json.loads(gen("diff", "a", "b", "--json", "--examples", 0).stdout)["examples"] == []


def test_a_long_text_is_shown_around_its_change() -> None:
    words = [f"w{i}" for i in range(8000)]
    a, b = " ".join(words), " ".join([*words[:4000], "new", *words[4001:]])
    before, after = excerpts(a, b)
    around = [" ".join(words[3988:4000]), " ".join(words[4001:4013])]
    assert "".join(piece.text for piece in before) == f"… {around[0]} w4000 {around[1]} …"
    assert [[piece.text for piece in side if piece.kind] for side in (before, after)] == [
        ["w4000"],
        ["new"],
    ]
    # a change of everything is cut
    a, b = (" ".join(f"{name}{i}" for i in range(8000)) for name in "ab")
    before, _ = excerpts(a, b)
    assert [piece.text for piece in before if piece.kind] == [" ".join(f"a{i}" for i in range(80))]
    assert before[-1] == Segment(" …")


def test_no_more_than_ten_records_of_a_table_are_shown(a: Path, b: Path) -> None:
    rows = read_jsonl(a / "corpus.jsonl")
    write(b / "corpus.jsonl", [*rows, *({**rows[0], "_id": f"n{i}"} for i in range(30))])
    assert len(diff(a, b).examples) == 10
    assert len(diff(a, b, examples=2).examples) == 2


def test_a_terminal_obeys_nothing() -> None:
    assert printable("plain é 柜") == "plain é 柜"
    assert printable("a\tb\x1b[0m\u202e") == "a\\tb\\x1b[0m\\u202e"
