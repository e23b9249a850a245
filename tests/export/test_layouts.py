"""What scorers read, loaded back by the libraries that read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ir_measures
import pyarrow.parquet as pq
import pytest
from ir_datasets.formats import TrecQrels, TsvQueries
from ir_datasets.util import LocalDownload

from retgen import export
from retgen.dataset_files import card_header
from retgen.errors import DatasetError, UsageError
from retgen.export import layouts, write_export
from tests.conftest import Gen, Write, read_jsonl

NAMES = (
    "beir",
    "flagembedding",
    "mteb",
    "parquet",
    "sentence-transformers",
    "tevatron",
    "trec",
)
LEFT_OUT = "1 queries have no positive: they are left out, so that no score counts them; --to parquet has them"


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("to", NAMES)
def test_licence_and_languages_stand_everywhere(judged: Path, tmp_path: Path, to: str) -> None:
    folder = export(judged, to, tmp_path / to)
    header = card_header(folder)
    assert (header["license"], header["language"]) == ("cc-by-4.0", ["de"])
    card = (folder / "README.md").read_text()
    assert "| test | 2 | 4 |\n| train | 1 | 3 |\n" in card
    assert "\n- data set: cc-by-4.0\n- languages: de" in card
    assert not list(tmp_path.glob(".*"))


@pytest.mark.filterwarnings("ignore")  # it leaves its files open
def test_beir_s_own_loader(judged: Path, tmp_path: Path) -> None:
    from beir.datasets.data_loader import GenericDataLoader

    folder, notes = write_export(judged, "beir", tmp_path / "beir")
    assert notes == [LEFT_OUT]
    assert files(folder) == [
        "README.md",
        "corpus.jsonl",
        "qrels/test.tsv",
        "qrels/train.tsv",
        "queries.jsonl",
    ]
    corpus, queries, qrels = GenericDataLoader(str(folder)).load("test")
    assert list(corpus) == ["d1", "d2", "d3", "d4"]
    assert corpus["d2"] == {"text": "two\nlines", "title": ""}
    assert queries == {"q1": "which\tone?", "q2": "two & <b>?"}
    assert qrels == {"q1": {"d1": 1, "d3": 0}, "q2": {"d2": 2, "d1": 1}}
    assert GenericDataLoader(str(folder)).load("train")[2] == {"q3": {"d3": 1, "d1": 0, "d2": 0}}


def test_trec_is_read_by_ir_measures_and_ir_datasets(judged: Path, tmp_path: Path) -> None:
    folder = export(judged, "trec", tmp_path / "trec")
    assert files(folder) == [
        "README.md",
        "corpus.jsonl",
        "qrels.test.txt",
        "qrels.train.txt",
        "topics.test.tsv",
        "topics.train.tsv",
    ]
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.test.txt")))
    assert [tuple(q[:3]) for q in qrels] == [
        ("q1", "d1", 1),
        ("q1", "d3", 0),
        ("q2", "d2", 2),
        ("q2", "d1", 1),
    ]
    run = [ir_measures.ScoredDoc(q, "d1", 1.0) for q in ("q1", "q2")]
    measure = ir_measures.parse_measure("R@1")
    assert ir_measures.calc_aggregate([measure], qrels, run) == {measure: 0.75}

    def local(name: str) -> Any:
        return LocalDownload(folder / name, mkdir=False)

    theirs = list(TrecQrels(local("qrels.train.txt"), {}).qrels_iter())
    assert [(q.query_id, q.doc_id, q.relevance) for q in theirs] == [
        ("q3", "d3", 1),
        ("q3", "d1", 0),
        ("q3", "d2", 0),
    ]
    lines = TsvQueries(local("topics.test.tsv")).queries_iter()
    assert [(t.query_id, t.text) for t in lines] == [("q1", "which one?"), ("q2", "two & <b>?")]
    assert read_jsonl(folder / "corpus.jsonl")[1] == {
        "id": "d2",
        "title": "",
        "contents": "two\nlines",
    }


def load(folder: Path, name: str, tmp_path: Path) -> Any:
    from datasets import load_dataset

    return load_dataset(str(folder), name, cache_dir=str(tmp_path / "cache"))


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
def test_parquet_loads_with_one_line(judged: Path, tmp_path: Path) -> None:
    rows = read_jsonl(judged / "corpus.jsonl")
    rows[0]["metadata"] = {"kind": "a", "tags": ["x"]}
    rows[2]["metadata"] = {"kind": "b", "year": 1999}
    (judged / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = export(judged, "parquet", tmp_path / "parquet")
    corpus = load(folder, "corpus", tmp_path)["corpus"]
    assert corpus["_id"][:] == ["d1", "d2", "d3", "d4"]
    # mteb cannot stack metadata, so it has a configuration of its own, of the same file
    assert corpus.column_names == ["_id", "title", "text"]
    metadata = load(folder, "corpus_metadata", tmp_path)["corpus"]
    assert metadata[0] == {"_id": "d1", "metadata": {"kind": "a", "tags": ["x"], "year": None}}
    assert metadata[1] == {"_id": "d2", "metadata": None}
    columns = pq.read_schema(folder / "corpus/corpus.parquet").names
    assert columns == ["_id", "title", "text", "metadata"]
    qrels = load(folder, "default", tmp_path)
    assert {split: len(table) for split, table in qrels.items()} == {"test": 4, "train": 3}
    assert qrels["test"][2] == {"query-id": "q2", "corpus-id": "d2", "score": 2}
    assert load(folder, "queries", tmp_path)["queries"]["_id"][:] == ["q1", "q2", "q3"]
    apart = load(folder, "queries_without_positives", tmp_path)["queries"]
    assert apart[:] == {"_id": ["q0"], "text": ["none?"]}
    column = pq.read_metadata(folder / "corpus/corpus.parquet").row_group(0).column(2)
    assert (column.has_offset_index, column.has_column_index) == (True, True)
    assert column.compression == "ZSTD"


def test_parquet_has_small_row_groups(dataset: Write, tmp_path: Path) -> None:
    path = dataset({f"d{i}": "x" for i in range(2_500)}, {"q": "?"}, [("q", "d0", 0.5)])
    folder = export(path, "parquet", tmp_path / "parquet")
    found = pq.read_metadata(folder / "corpus/corpus.parquet")
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [1000, 1000, 500]
    assert pq.read_table(folder / "qrels/test.parquet")["score"].to_pylist() == [0.5]


def test_metadata_of_no_one_type_becomes_json(dataset: Write, tmp_path: Path) -> None:
    path = dataset({"d1": "one", "d2": "two"}, {"q": "?"}, [("q", "d1", 1)])
    rows = read_jsonl(path / "corpus.jsonl")
    rows[0]["metadata"], rows[1]["metadata"] = {"of": "text"}, {"of": ["a", "list"]}
    (path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = export(path, "parquet", tmp_path / "parquet")
    table = pq.read_table(folder / "corpus")
    assert table["metadata"].to_pylist() == ['{"of":"text"}', '{"of":["a","list"]}']


def test_mteb_keeps_queries_without_positives_apart(judged: Path, tmp_path: Path) -> None:
    folder = export(judged, "mteb", tmp_path / "mteb")
    assert pq.read_table(folder / "queries")["_id"].to_pylist() == ["q1", "q2", "q3"]
    assert pq.read_table(folder / "qrels/test.parquet").num_rows == 4
    assert pq.read_table(folder / "qrels_without_positives").to_pylist() == [
        {"query-id": "q0", "corpus-id": "d4", "score": 0}
    ]
    assert "main_score='ndcg_at_10'" in (folder / "task.py").read_text()


def test_what_was_judged_in_a_split_without_a_positive_stays(judged: Path, tmp_path: Path) -> None:
    row = '{"query-id": "q0", "corpus-id": "d1", "score": 0}\n'
    (judged / "qrels.dev.jsonl").write_text(row)
    folder = export(judged, "parquet", tmp_path / "parquet")
    file = "qrels_without_positives/dev.parquet"
    assert pq.read_table(folder / file).to_pylist() == [json.loads(row)]
    assert not [path for path in files(folder) if path.startswith(("qrels/dev", "qrels.dev"))]
    assert file not in files(export(judged, "parquet", tmp_path / "one", splits=["test"]))


def test_one_split(judged: Path, tmp_path: Path, gen: Gen) -> None:
    done = gen("export", judged, "--to", "trec", "--split", "train", "--out", "one", "--json")
    assert json.loads(done.stdout)["files"] == [
        "README.md",
        "corpus.jsonl",
        "qrels.train.txt",
        "topics.train.tsv",
    ]
    with pytest.raises(UsageError) as error:
        export(judged, "trec", tmp_path / "no", splits=["trian"])
    assert str(error.value) == (
        f"{judged} has no qrels of split 'trian'; did you mean train? Splits: test, train"
    )


def test_notes_go_to_stderr(judged: Path, gen: Gen) -> None:
    done = gen("export", judged, "--to", "trec", "--out", "there")
    assert (done.returncode, done.stdout) == (0, "there\n")
    assert done.stderr == f"{LEFT_OUT}.\n"


def refused(path: Path, to: str, out: Path, **options: Any) -> str:
    """The message; nothing is left behind."""
    with pytest.raises(DatasetError) as error:
        export(path, to, out, **options)
    assert not out.exists()
    assert not list(out.parent.glob(f".{out.name}*"))
    return str(error.value)


def test_what_cannot_be_exported(
    judged: Path, dataset: Write, tmp_path: Path, limit_run: Path
) -> None:
    def made(name: str, qrels: list[tuple[str, str, float]], doc: str = "d") -> Path:
        return dataset({doc: "text"}, {"q": "?"}, qrels, name)

    out = tmp_path / "out"
    path = made("spaced", [("q", "a b", 1)], "a b")
    assert refused(path, "trec", out) == (
        f"{path}: the id 'a b' cannot stand in TREC's files, where white space ends an id: give it "
        "another id, or choose another layout"
    )
    assert export(path, "beir", tmp_path / "beir").is_dir()
    path = made("tabbed", [("q", "a\tb", 1)], "a\tb")
    assert refused(path, "beir", out) == (
        f"{path}: the id 'a\\tb' cannot stand in BEIR's qrels, which are lines with tabs between: "
        "give it another id, or export --to parquet"
    )
    path = made("half", [("q", "d", 0.5)])
    for to, what in (("beir", "BEIR"), ("mteb", "MTEB"), ("trec", "TREC's qrels")):
        assert refused(path, to, out) == (
            f"{path}: the qrels (test) give d for q the score 0.5, and {what} holds whole numbers: "
            "scale the scores, or export --to parquet"
        )
    path = made("zero", [("q", "d", 0)])
    assert refused(path, "beir", out) == (
        f"{path}: no qrel is above 0, so no query has a document to find and there is nothing to "
        "export"
    )
    (path / "qrels.jsonl").rename(path / "qrels.jsonl.gz")
    assert refused(path, "beir", out) == (
        f"{path}: it has no qrels, so no query has a document to find and there is nothing to "
        "export. qrels.jsonl.gz is not read: unpack it, or write it as JSON Lines or Parquet."
    )
    path = made("gone", [("q", "d", 1), ("q", "lost", 1)])
    for to in ("tevatron", "flagembedding", "sentence-transformers"):
        assert refused(path, to, out) == (
            f"{path}: the qrels name 1 documents that are not in the corpus, such as lost; "
            f"`gen validate {path}` lists them"
        )
    path = made("nobody", [("p", "d", 1)])
    assert refused(path, "beir", out).startswith(
        f"{path}: the qrels of split test name query p, which is not among the queries"
    )
    path = made("twice", [("q", "d", 1), ("q", "d", 0)])
    assert refused(path, "beir", out) == f"{path}: the qrels (test) give d for q both 1 and 0"
    path = made("huge", [("q", "d", 1e308)])
    for to in ("parquet", "trec"):
        assert refused(path, to, out) == (
            f"{path}: the qrels of split test give d for q 1e+308; grades are at most 1,000"
        )
    (judged / "qrels.dev.jsonl").write_text('{"query-id": "q0", "corpus-id": "d1", "score": 0}\n')
    assert refused(judged, "beir", out, splits=["dev"]) == (
        f"{judged}: no qrel of split dev is above 0, so there is nothing to export of it"
    )
    with open(judged / "corpus.jsonl", "a") as file:
        file.write("{}\n")
    assert refused(judged, "beir", out) == (
        f"{judged}/corpus.jsonl, line 5: has no _id, has no text; `gen validate {judged}` lists all "
        "such rows"
    )


def test_an_unfinished_run(limit_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "dataset").symlink_to(limit_run / "dataset")
    (run / "recipe.yaml").write_text("")
    assert refused(run, "parquet", tmp_path / "out") == (
        f"{run} is unfinished: it has no manifest.json, which is written last. "
        f"`gen run {run}/recipe.yaml --out {run}` ends it"
    )


TOY = """
from retgen.export.layouts import Layout, Table

class Ids(Layout):
    about = "ids.jsonl"
    readers = "nobody"
    usage = "Ids."
    tables = (Table("ids.jsonl", lambda job: ({"id": one.doc_id} for one in job.documents())),)
"""


def test_a_further_layout_is_one_new_file(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "toy_ids.py").write_text(TOY)
    monkeypatch.setattr(layouts, "__path__", [*layouts.__path__, str(tmp_path / "more")])
    folder = export(judged, "toy-ids", tmp_path / "toy")
    assert files(folder) == ["README.md", "ids.jsonl"]
    assert read_jsonl(folder / "ids.jsonl")[3] == {"id": "d4"}


@pytest.mark.slow  # mteb as a whole
@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
@pytest.mark.parametrize("to", ["mteb", "parquet"])
def test_mteb_s_own_loader(judged: Path, tmp_path: Path, to: str) -> None:
    """And every licence that a task is given is one that it knows."""
    from typing import get_args

    from mteb.abstasks.retrieval_dataset_loaders import RetrievalDatasetLoader
    from mteb.types import Licenses

    from retgen.export.facts import MTEB_LICENCES

    assert set(get_args(Licenses)) >= MTEB_LICENCES
    folder = export(judged, to, tmp_path / to)
    loaded = RetrievalDatasetLoader(
        hf_repo=str(folder), revision=None, trust_remote_code=False, split="test", config=None
    ).load()
    assert loaded["relevant_docs"] == {"q1": {"d1": 1, "d3": 0}, "q2": {"d2": 2, "d1": 1}}
    assert list(loaded["queries"]["id"]) == ["q1", "q2"]
    assert len(loaded["corpus"]) == 4


@pytest.fixture
def dated(dataset: Write) -> Path:
    """Notes by their days, and one that has another id and is no answer."""
    days = {f"2023-01-0{i}": f"note on thing {i}" for i in range(1, 7)}
    queries = {f"q{day}": text for day, text in days.items()}
    qrels = [(f"q{day}", day, 1) for day in days] + [("q2023-01-01", "2023-01-02", 0)]
    return dataset({"readme": "how notes are kept", **days}, queries, qrels, "dated")


DAYS = [f"2023-01-0{i}" for i in range(1, 7)]


@pytest.mark.filterwarnings("ignore")  # what other libraries deprecate is theirs
def test_ids_that_look_like_dates_stay_texts(dated: Path, tmp_path: Path) -> None:
    folder = export(dated, "mteb", tmp_path / "mteb")
    for config, column, values in (
        ("corpus", "_id", ["readme", *DAYS]),
        ("queries", "_id", [f"q{day}" for day in DAYS]),
        ("default", "corpus-id", [*DAYS, DAYS[1]]),
    ):
        (table,) = load(folder, config, tmp_path).values()
        assert table[column][:] == values


@pytest.mark.parametrize(
    ("to", "file", "who"),
    [
        ("flagembedding", "evaluation/corpus.jsonl", "FlagEmbedding"),
        ("tevatron", "corpus.jsonl", "Tevatron"),
    ],
)
def test_ids_that_others_would_read_as_times(
    dated: Path, tmp_path: Path, to: str, file: str, who: str
) -> None:
    with pytest.raises(DatasetError) as error:
        export(dated, to, tmp_path / "out")
    assert str(error.value) == (
        f"{dated}: {file} would hold dates, which {who} reads as times: give other ids or texts, "
        "or export --to parquet"
    )
