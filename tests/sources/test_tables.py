"""Tables of rows: every format, columns that are guessed, every row that is no document."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen.errors import DatasetError
from retgen.sources import (
    Columns,
    RefusedRow,
    SourceDocument,
    SourceNotes,
    TableColumns,
    read_sources,
)
from retgen.sources.formats import columns_of
from retgen.sources.records import ShortForm

ROWS = [
    {"key": "a", "name": "First", "body": "One  text.\nTwo lines."},
    {"key": "b", "name": "", "body": "Another text, with a comma."},
]
MAPPED = Columns(text="body", id="key", title="name")
EXPECTED = [
    SourceDocument("a", "First", "One  text.\nTwo lines."),
    SourceDocument("b", "", "Another text, with a comma."),
]


def write(path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, ROWS[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(ROWS)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv", "a.parquet"])
def test_a_table_with_mapped_columns(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    assert list(read_sources(path, MAPPED)) == EXPECTED
    assert list(read_sources(path, MAPPED, limit=1)) == EXPECTED[:1]
    assert list(read_sources(path, Columns())) == [  # `body` and `name` are usual names
        one._replace(id=f"row-{number}") for number, one in enumerate(EXPECTED, 1)
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (Columns(text="bodi"), "has no column 'bodi' (source.columns.text); did you mean body?"),
        (Columns(text="body", id="nr"), "has no column 'nr' (source.columns.id)."),
        (Columns(text="text"), "has no column 'text' (source.columns.text)"),
    ],
)
def test_a_column_that_is_not_there(
    tmp_path: Path, name: str, columns: Columns, message: str
) -> None:
    with pytest.raises(DatasetError) as error:
        list(read_sources(write(tmp_path / name), columns))
    assert message in str(error.value)
    assert "Its columns: body, key, name" in str(error.value)


def packed(name: str, content: bytes) -> bytes:
    if name == ".zst":
        return bytes(pa.compress(content, codec="zstd", asbytes=True))
    return {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[name](content)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv", "a.parquet"])
def test_a_compressed_table(tmp_path: Path, name: str, suffix: str) -> None:
    content = write(tmp_path / name).read_bytes()
    path = tmp_path / f"{name}{suffix.upper()}"
    path.write_bytes(packed(suffix, content))
    assert list(read_sources(path, MAPPED)) == EXPECTED
    path.write_bytes(packed(suffix, content * 500)[:-19])  # the end is missing
    with pytest.raises(DatasetError) as error:
        list(read_sources(path, MAPPED))
    assert str(error.value).startswith(f"{path}: is not a whole {suffix} file (")
    assert str(error.value).endswith("); compress it again")
    path.write_bytes(b"not compressed")
    with pytest.raises(DatasetError, match=f"is not a whole {suffix} file"):
        list(read_sources(path, MAPPED))


def test_rows_that_are_no_documents_are_refused_and_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        b'{"_id": "a", "text": "G\xc3\xbct\xc3\xa4."}',
        b'{"_id": "a", "text": "Twice."}',
        b'{"_id": 7}',
        b"[1]",
        b'{"_id": "b", "text": 5}',
        b'{"_id": "c", "text": "caf\xe9"}',
        b"{",
        b"",
        b'{"_id": "d", "text": "\\ud800"}',
        b'{"_id": 8, "title": "T", "text": "Last."}',
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert list(read_sources(path, Columns())) == [
        SourceDocument("a", "", "Gütä."),
        RefusedRow("a.jsonl:2", "source/duplicate-id", "the id 'a' stands there twice", "a"),
        RefusedRow("a.jsonl:3", "source/empty", "the column 'text' is empty", "7"),
        RefusedRow("a.jsonl:4", "source/json", "the line is no JSON object"),
        RefusedRow("a.jsonl:5", "source/text", "the column 'text' holds no text but int", "b"),
        RefusedRow("a.jsonl:6", "source/encoding", "the line is not UTF-8"),
        RefusedRow("a.jsonl:7", "source/json", "the line is not JSON"),
        RefusedRow("a.jsonl:9", "source/json", "the line is not JSON"),
        SourceDocument("8", "T", "Last."),
    ]


def test_csv_rows_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(
        b'\xef\xbb\xbfid,text\n1,"two\nlines"\n2\n3,caf\xe9\n,x\n4,\xe2\x80\x8b\n5,two  lines\n'
    )
    assert list(read_sources(path, Columns(id="id"))) == [
        SourceDocument("1", "", "two\nlines"),
        RefusedRow("a.csv:4", "source/cells", "the row has not the 2 cells of the header"),
        RefusedRow("a.csv:5", "source/encoding", "the text is not UTF-8"),
        RefusedRow("a.csv:6", "source/id", "the column 'id' is empty"),
        RefusedRow("a.csv:7", "source/empty", "the column 'text' is empty", "4"),
        RefusedRow("a.csv:8", "source/duplicate-text", "its text is that of '1'", "5"),
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "cp1252"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_tables_in_other_encodings(tmp_path: Path, name: str, encoding: str) -> None:
    text = "Die Schiffe – groß und schön – öffnen früh die Türen."
    row = json.dumps({"id": "1", "text": text}, ensure_ascii=False)
    content = {"a.csv": f"id,text\r\n1,{text}\r\n", "a.jsonl": f"{row}\n", "a.json": f"[{row}]"}
    path = tmp_path / name
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    path.write_bytes(mark + content[name].encode(encoding))
    notes = SourceNotes({}, {})
    assert list(read_sources(path, Columns(), notes=notes)) == [SourceDocument("1", "", text)]
    assert notes.encodings == {name: encoding.removesuffix("-le")}


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ([{"text": "One."}, 7, {"text": "Two."}], ["One.", "is no JSON object", "Two."]),
        ({"count": 1, "tags": ["a"], "rows": [{"text": "One."}]}, ["One."]),
        (
            [{"doc": {"body": "One.", "id": 9}}, {"doc": None}],
            ["One.", "the column 'doc.body' is empty"],
        ),
    ],
)
def test_json(tmp_path: Path, content: Any, texts: list[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content))
    read = read_sources(tmp_path / "a.json", Columns())
    assert [one.reason if isinstance(one, RefusedRow) else one.text for one in read] == texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": [{"b": 1}], "c": [{"d": 1}]}', "holds 2 lists of objects: a, c; keep one"),
        ('{"text": "One."}', "holds no lists of objects"),
        ("[1, 2]", "holds no list of objects"),
        ("[{]", "is not JSON: "),
        ("[" * 5000, "is not JSON: "),
        ("\0", "holds bytes that are no text"),
    ],
)
def test_json_that_is_no_table(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(DatasetError) as error:
        list(read_sources(path, Columns()))
    assert str(error.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize("name", ["a.json", "a.parquet"])
@pytest.mark.parametrize("columns", [Columns(), Columns(text="doc.body", id="doc.id")])
def test_nested_columns(tmp_path: Path, name: str, columns: Columns) -> None:
    post = {"id": "d0", "title": "T", "body": "Text", "summary": "S"}
    rows = [{"kind": "post", "author": {"id": 1, "name": "A"}, "doc": post}]
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows))
    notes = SourceNotes({}, {})
    (read,) = read_sources(path, columns, notes=notes, structure=True)
    assert isinstance(read, SourceDocument)
    assert read.row() == {"id": "d0", "title": "T", "text": "Text"}
    assert read.short_forms == (ShortForm("summary", "S"),)
    held = TableColumns("doc.body", ("doc.id",), "doc.title", ("doc.summary",))
    assert notes.columns[name] == held


def test_a_data_set_of_the_datasets_library(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl")
    assert list(read_sources(f"hf:{tmp_path}", MAPPED)) == EXPECTED
    with pytest.raises(DatasetError, match="has no column 'text'"):
        list(read_sources(f"hf:{tmp_path}", Columns(text="text")))
    with pytest.raises(DatasetError, match=r"source hf:.*, split test: cannot be loaded: "):
        list(read_sources(f"hf:{tmp_path}", MAPPED, split="test"))


@pytest.mark.parametrize(
    ("rows", "text", "title"),
    [
        ([{"Question": "Which ship sank first?", "Answer": "None."}], "Answer", "Question"),
        ([{"title": "T", "content": "c", "body": "b"}], "body", "title"),
        ([{"text": "", "content": "c"}], "content", None),
        ([{"text": 7, "notes": "n"}], "notes", None),
        ([{"text": 7}], "text", None),
        (
            [{"url": "u" * 40, "s": "x"}, {"url": "u", "s": "xx"}, {"url": "u", "s": "xxx"}],
            "s",
            None,
        ),
        ([{"_id": "an id of great length", "name": "short"}], "name", None),
        ([{"subject": "S", "heading": "H", "story": "A story."}], "story", "heading"),
    ],
)
def test_columns_that_are_left_out_are_guessed(
    rows: list[dict[str, Any]], text: str, title: str | None
) -> None:
    names = list(dict.fromkeys(key for row in rows for key in row))
    held = columns_of("a.jsonl", Columns(), names, rows)
    assert (held.text, held.title) == (text, title)


def test_rows_that_hold_pages(tmp_path: Path) -> None:
    rows = [
        {
            "id": "a",
            "description": "<div><h2>Sails</h2><p>Hello,<br>all.</p><script>x</script></div>",
        },
        {"id": "b", "description": "<p>   </p>"},
        {"id": "c", "description": "a < b, and <p> opens a paragraph"},
        {"id": "d", "description": "<h1>Sails</h1>\n\n## Reefing\n\n`reef`\n\n<p>Up</p>"},
        {"id": "e", "description": "<!-- x --><p>Use:</p>\n<pre><code>x = 1</code></pre>"},
        {"id": "f", "description": "<div>" * 1200 + "deep" + "</div>" * 1200},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    first, refused, last, *others = read_sources(path, Columns(), structure=True)
    assert isinstance(first, SourceDocument)
    assert first.text.split() == ["##", "Sails", "Hello,", "all."]
    assert [one.kind for one in first.blocks] == ["heading", "paragraph"]
    reason = "the column 'description' holds HTML: shows no text"
    assert refused == RefusedRow("a.jsonl:2", "source/empty", reason, "b")
    assert isinstance(last, SourceDocument)
    assert last.text == rows[2]["description"]
    marked, page, deep = others
    assert isinstance(marked, SourceDocument)
    assert marked.text == rows[3]["description"]
    assert isinstance(page, SourceDocument)
    assert page.text.split() == ["Use:", "```", "x", "=", "1", "```"]
    reason = "the column 'description' holds HTML: its elements are nested too deeply to be read"
    assert deep == RefusedRow("a.jsonl:6", "source/unreadable", reason, "f")


def test_columns_that_have_other_names_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Ticket;Betreff;Beschreibung\n1;Segel;Ein Segel ist gerissen.\n", "utf-8")
    [one] = read_sources(path, Columns())
    assert one == SourceDocument("1", "Segel", "Ein Segel ist gerissen.")
