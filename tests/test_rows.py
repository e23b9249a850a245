"""A refused row is named by its file and line; a file that cannot be read at all says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from retgen.data import TableFiles, open_dataset
from retgen.errors import DatasetError
from retgen.rows import Problem, holds_times, json_rows, places
from retgen.search.collection import load
from retgen.validation.validate import validate
from tests.conftest import Gen

HEADER = "query-id\tcorpus-id\tscore\n"


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


CORPUS = [{"_id": f"d{i}", "title": "", "text": f"café number {i}, apple{i}"} for i in range(6)]
QUERIES = [{"_id": f"q{i}", "text": f"who has apple{i}"} for i in range(3)]
QRELS = HEADER + "".join(f"q{i}\td{i}\t1\n" for i in range(3))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set in BEIR's layout, without a fault."""
    (tmp_path / "x" / "qrels").mkdir(parents=True)
    (tmp_path / "x" / "corpus.jsonl").write_text(lines(CORPUS))
    (tmp_path / "x" / "queries.jsonl").write_text(lines(QUERIES))
    (tmp_path / "x" / "qrels" / "test.tsv").write_text(QRELS)
    assert validate(tmp_path / "x").findings == []
    return tmp_path / "x"


def append(name: str, text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text((folder / name).read_text() + text)


def recode(name: str, encoding: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_text().encode(encoding))


def renamed(name: str, other: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).rename(folder / other)


def written(name: str, text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text(text)


LATIN = "is not UTF-8: convert the file (from Latin-1: iconv -f LATIN1 -t UTF-8)"


def not_json(text: str) -> str:
    """What the reader of JSON says of it."""
    with pytest.raises(orjson.JSONDecodeError) as error:
        orjson.loads(text)
    return f"is not JSON: {error.value.msg}"


@pytest.mark.parametrize(
    ("change", "ids", "reason"),
    [
        (append("qrels/test.tsv", "q1\td2\n"), "qrels/test.tsv:5", "has 2 columns, the header 3"),
        (append("qrels/test.tsv", "q1\td2\tx\n"), "qrels/test.tsv:5", "score 'x' is not a number"),
        (append("queries.jsonl", "{oops\n"), "queries.jsonl:4", not_json("{oops")),
        (
            append("corpus.jsonl", '{"_id": "x", "text": "a", "weight": NaN}'),
            "corpus.jsonl:7",
            not_json("NaN"),
        ),
        (
            lambda p: (p / "queries.jsonl").write_bytes(
                lines(QUERIES).encode() + b'{"_id": "x", "text": "caf\xe9"}'
            ),
            "queries.jsonl:4",
            LATIN,
        ),
    ],
)
def test_one_row_that_is_none(
    folder: Path, change: Callable[[Path], Any], ids: str, reason: str
) -> None:
    change(folder)
    name, _, number = ids.rpartition(":")
    findings = validate(folder).findings
    assert [(f.rule, f.ids, f.message) for f in findings] == [
        ("schema", [ids], f"{name}, line {number}: {reason}")
    ]
    with pytest.raises(DatasetError) as error:
        load(folder)
    assert str(error.value) == (
        f"{folder}/{name}, line {number}: {reason}; `gen validate {folder}` lists all such rows"
    )


def test_a_corpus_in_latin_1(folder: Path) -> None:
    recode("corpus.jsonl", "latin-1")(folder)
    findings = validate(folder).findings
    assert (findings[0].rule, findings[0].message) == (
        "schema",
        f"corpus.jsonl, line 1: {LATIN} (5 more of this kind: corpus.jsonl:2, corpus.jsonl:3, "
        "corpus.jsonl:4, corpus.jsonl:5, corpus.jsonl:6)",
    )
    with pytest.raises(DatasetError) as error:
        load(folder)
    assert str(error.value) == (
        f"{folder}/corpus.jsonl, line 1: {LATIN}; `gen validate {folder}` lists all such rows"
    )


COLUMNS = (
    "the header must name query-id, corpus-id and score, with tabs between. TREC's qrels have none: "
    "write that line, then of each line the first, third and fourth value"
)


def refusals(folder: Path) -> Iterator[str]:
    """What is said by all that read a data set."""
    for read in (validate, load):
        with pytest.raises(DatasetError) as error:
            read(folder)
        yield str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            recode("corpus.jsonl", "utf-16"),
            "{}/corpus.jsonl is UTF-16, and tables are UTF-8: convert it (iconv -f UTF-16 -t UTF-8)",
        ),
        (
            written("qrels/test.tsv", "q0 0 d0 1\nq1 0 d1 1\n"),
            f"{{}}/qrels/test.tsv, line 1 is 'q0 0 d0 1': {COLUMNS}",
        ),
        (
            written("qrels/test.tsv", "query_id\tcorpus_id\tscore\nq0\td0\t1\n"),
            f"{{}}/qrels/test.tsv, line 1 is 'query_id\\tcorpus_id\\tscore': {COLUMNS}",
        ),
    ],
)
def test_files_that_cannot_be_read(
    folder: Path, change: Callable[[Path], Any], message: str
) -> None:
    change(folder)
    for error in refusals(folder):
        assert error == message.replace("{}", str(folder))


def test_empty_tables(folder: Path) -> None:
    (folder / "queries.jsonl").write_text("")
    first = validate(folder).findings[0]
    assert first[:4] == (
        "schema",
        "error",
        ["queries.jsonl"],
        "queries.jsonl is empty: there are no queries",
    )
    with pytest.raises(DatasetError) as error:
        load(folder)
    assert str(error.value) == f"{folder}/queries.jsonl is empty: there are no queries"
    (folder / "queries.jsonl").write_text(lines(QUERIES))
    (folder / "corpus.jsonl").write_text("")
    first = validate(folder).findings[0]
    assert first.message == "corpus.jsonl is empty: there are no documents"


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (
            renamed("corpus.jsonl", "corpus.jsonl.gz"),
            "no corpus table. corpus.jsonl.gz is not read: unpack it, or write it as JSON Lines or "
            "Parquet. A data set is",
        ),
        (
            renamed("qrels/test.tsv", "qrels.txt"),
            "qrels.txt is not read: unpack it, or write it as JSON Lines or Parquet.",
        ),
    ],
)
def test_a_file_that_may_be_the_missing_table(
    folder: Path, change: Callable[[Path], Any], hint: str
) -> None:
    change(folder)
    for error in refusals(folder):
        assert hint in error


def test_places_over_several_files(folder: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    one, two, three = (tmp_path / f"{name}.jsonl" for name in ("one", "two", "three"))
    one.write_text("a\nb")  # no line end at its end
    two.write_text("")
    three.write_text("a\nb\nc\n")
    result = places([one, two, three], [1, 2, 3, 5])
    assert [place.name() for place in result] == [
        f"{one}:1",
        f"{one}:2",
        f"{three}:1",
        f"{three}:3",
    ]
    tables = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    for path in tables:
        path.write_text(QRELS)
    named = [str(place) for place in TableFiles("qrels", tuple(tables)).places([3, 4])]
    assert named == [f"{tables[0]}, line 4", f"{tables[1]}, line 2"]
    parquet = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in parquet:
        pq.write_table(pa.table({"_id": ["a", "b"]}), path)
    assert [str(place) for place in places(parquet, [3])] == [f"{parquet[1]}, row 1"]


def test_rows_of_several_files_that_are_none(folder: Path) -> None:
    (folder / "corpus.jsonl").rename(folder / "corpus-0.jsonl")
    (folder / "corpus-1.jsonl").write_text('{"_id": "x"}\n')
    append("corpus-0.jsonl", '{"_id": "y"}\n')(folder)
    findings = validate(folder).findings
    assert [(f.ids, f.message) for f in findings] == [
        (
            ["corpus-0.jsonl:7", "corpus-1.jsonl:1"],
            "corpus-0.jsonl, line 7: has no text (1 more of this kind: corpus-1.jsonl:1)",
        ),
    ]
    with pytest.raises(DatasetError, match=r"corpus-0\.jsonl, line 7: has no text"):
        list(open_dataset(folder).documents(strict=folder))


DEEP = "is nested more than 200 levels deep"


@pytest.mark.parametrize("levels", [201, 260, 990])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_deep_rows(levels: int, pair: str) -> None:
    opening = "[" if pair == "[]" else '{"a":'
    nested = opening * (levels - 1) + "1" + pair[1] * (levels - 1)
    lines = [b'{"text": "[[[[ not deep ]]]]"}', b'{"_id": "\\u0061", "m": %s}' % nested.encode()]
    assert json_rows(lines) == [{"text": "[[[[ not deep ]]]]"}, Problem(2, DEEP)]


TIMES = (
    "2023-01-01 0001-01-01 2023-01-01T10 2023-01-01T10:00 2023-01-01T10:00:00 2023-01-01T10:00:00Z "
    "2023-01-01T10:00:00+01:00 2023-01-01T10+0100"
).split()
NO_TIMES = ["", "2023", "12:30", "2023-1-1", "20230101", "2023-01", "2023-01-01.md", " 2023-01-01"]


def test_what_arrow_takes_for_a_time() -> None:
    import io

    import pyarrow as pa
    import pyarrow.json as pj

    for text in [*TIMES, "2023-01-01 10:00", *NO_TIMES]:
        line = json.dumps({"a": text}).encode()
        guessed = pa.types.is_timestamp(pj.read_json(io.BytesIO(line)).schema.field("a").type)
        assert (text, holds_times(line)) == (text, guessed)


def test_commands_name_rows_that_are_too_deep(gen: Gen, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    deep = "[" * 300 + "]" * 300
    (folder / "corpus.jsonl").write_text('{"_id": "d", "text": "A text."}\n')
    (folder / "queries.jsonl").write_text(f'{{"_id": "q", "text": "Which?", "metadata": {deep}}}\n')
    (folder / "qrels.jsonl").write_text('{"query-id": "q", "corpus-id": "d", "score": 1}\n')
    for command in (("eval", folder), ("export", folder, "--to", "beir", "--out", tmp_path / "b")):
        done = gen(*command)
        assert done.returncode == 2
        assert f"queries.jsonl, line 1: {DEEP}" in done.stderr
    checked = gen("validate", folder)
    assert checked.returncode == 1
    assert DEEP in checked.stdout
