"""Source documents: every format, every row that is none, every source that is none."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
from pathlib import Path

import pytest

from retgen.errors import DatasetError
from retgen.sources import Columns, Refused, SourceDocument, read_sources, refusals

ROWS = [
    {"key": "a", "name": "First", "body": "One  text.\nTwo lines."},
    {"key": "b", "name": "", "body": "Another text, with a comma."},
]
MAPPED = Columns(text="body", id="key", title="name")
EXPECTED = [
    SourceDocument("a", "First", "One text. Two lines."),
    SourceDocument("b", "", "Another text, with a comma."),
]


def write(path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

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
    unnamed = list(read_sources(path, Columns(text="body")))
    assert [one.id for one in unnamed] == ["row-1", "row-2"]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv", "a.parquet"])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (Columns(text="bodi"), "has no column 'bodi' (source.columns.text); did you mean body?"),
        (Columns(text="body", id="nr"), "has no column 'nr' (source.columns.id)."),
        (Columns(), "has no column 'text' (source.columns.text)"),
    ],
)
def test_a_column_that_is_not_there(
    tmp_path: Path, name: str, columns: Columns, message: str
) -> None:
    with pytest.raises(DatasetError) as error:
        list(read_sources(write(tmp_path / name), columns))
    assert message in str(error.value)
    assert "Its columns: body, key, name" in str(error.value)


def test_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Second text.")
    (tmp_path / "a.txt").write_bytes("\ufeffFirst text.".encode())
    (tmp_path / "c.txt").write_bytes(b"caf\xe9")
    (tmp_path / "d.txt").write_text("  \n")
    (tmp_path / "e.md").write_text("# Third text.")
    (tmp_path / "f.MARKDOWN").write_text("Fourth text.")
    (tmp_path / "g.rst").write_text("Fifth text.")
    (tmp_path / "h.txt.gz").write_bytes(gzip.compress(b"Sixth text."))
    (tmp_path / "i.md.xz").write_bytes(lzma.compress(b"Seventh text.")[:-9])
    read: list[SourceDocument | Refused] = [
        SourceDocument("a", "", "First text."),
        SourceDocument("b", "", "Second text."),
        Refused("c.txt", "source/encoding", "the file is not UTF-8", "c"),
        Refused("d.txt", "source/empty", "the column 'text' is empty", "d"),
        SourceDocument("e", "", "# Third text."),
        SourceDocument("f", "", "Fourth text."),
        SourceDocument("g", "", "Fifth text."),
        SourceDocument("h", "", "Sixth text."),
        Refused(
            "i.md.xz", "source/unreadable",
            "is not a whole .xz file (Compressed file ended before the end-of-stream marker was "
            "reached); compress it again", "i",
        ),
    ]  # fmt: skip
    assert list(read_sources(tmp_path, Columns())) == read
    (tmp_path / "z.docx").write_bytes(b"x")
    (tmp_path / "b.jsonl").write_text("{}")
    (tmp_path / "deep").mkdir()
    kind = "a file of this kind is not read, only .txt, .md, .markdown, .rst"
    unread = [
        Refused("b.jsonl", "source/format", kind),
        Refused("deep/", "source/format", "a folder within a folder is not read"),
        Refused("z.docx", "source/format", kind),
    ]
    assert list(read_sources(tmp_path, Columns())) == unread + read
    assert list(read_sources(tmp_path, Columns(), limit=2)) == unread + read[:2]


def test_files_of_one_name_keep_their_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("First text.")
    (tmp_path / "a.md").write_text("Second text.")
    assert list(read_sources(tmp_path, Columns())) == [
        SourceDocument("a.md", "", "Second text."), SourceDocument("a.txt", "", "First text."),
    ]  # fmt: skip


def packed(name: str, content: bytes) -> bytes:
    if name == ".zst":
        import pyarrow as pa

        return bytes(pa.compress(content, codec="zstd", asbytes=True))
    return {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[name](content)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_a_compressed_table(tmp_path: Path, name: str, suffix: str) -> None:
    content = write(tmp_path / name).read_bytes()
    path = tmp_path / f"{name}{suffix.upper()}"
    path.write_bytes(packed(suffix, content))
    assert list(read_sources(path, MAPPED)) == EXPECTED
    path.write_bytes(packed(suffix, content * 500)[:-7])  # the end is missing
    with pytest.raises(DatasetError) as error:
        list(read_sources(path, MAPPED))
    assert str(error.value).startswith(f"{path}: is not a whole {suffix} file (")
    assert str(error.value).endswith("); compress it again")
    path.write_bytes(b"not compressed")
    with pytest.raises(DatasetError, match=f"is not a whole {suffix} file"):
        list(read_sources(path, MAPPED))


def test_refusals_are_counted_by_rule_with_the_first_of_each() -> None:
    every = [
        Refused("a:1", "source/json", "the line is not JSON"),
        Refused("a:2", "source/encoding", "the line is not UTF-8"),
        Refused("a:3", "source/encoding", "the line is not UTF-8"),
    ]
    assert refusals(every) == (
        "Refused are 2 by source/encoding, the first at a:2: the line is not UTF-8; "
        "1 by source/json, the first at a:1: the line is not JSON; convert the file to UTF-8."
    )
    assert refusals([]) == ""


def test_rows_that_are_no_documents_are_refused_and_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        b'{"_id": "a", "text": "Good."}', b'{"_id": "a", "text": "Twice."}', b'{"_id": 7}', b"[1]",
        b'{"_id": "b", "text": 5}', b'{"_id": "c", "text": "caf\xe9"}', b"{", b"",
        b'{"_id": "d", "text": "\\ud800"}', b'{"_id": 8, "title": "T", "text": "Last."}',
    ]  # fmt: skip
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert list(read_sources(path, Columns())) == [
        SourceDocument("a", "", "Good."),
        Refused("a.jsonl:2", "source/duplicate-id", "the id 'a' stands there twice", "a"),
        Refused("a.jsonl:3", "source/empty", "the column 'text' is empty", "7"),
        Refused("a.jsonl:4", "source/json", "the line is no JSON object"),
        Refused("a.jsonl:5", "source/text", "the column 'text' holds no text but int", "b"),
        Refused("a.jsonl:6", "source/encoding", "the line is not UTF-8"),
        Refused("a.jsonl:7", "source/json", "the line is not JSON"),
        Refused("a.jsonl:9", "source/json", "the line is not JSON"),
        SourceDocument("8", "T", "Last."),
    ]


def test_csv_rows_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbfid,text\n1,"two\nlines"\n2\n3,caf\xe9\n,x\n')
    assert list(read_sources(path, Columns(id="id"))) == [
        SourceDocument("1", "", "two lines"),
        Refused("a.csv:4", "source/cells", "the row has not the 2 cells of the header"),
        Refused("a.csv:5", "source/encoding", "the text is not UTF-8"),
        Refused("a.csv:6", "source/id", "the column 'id' is empty"),
    ]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_what_separates_cells_is_found(tmp_path: Path, sign: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id{sign}text\n1{sign}One text.\n")
    assert list(read_sources(path, Columns())) == [SourceDocument("1", "", "One text.")]


def test_the_same_text_under_another_id(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text\n1,One text.\n2,One  text.\n3,Two texts.\n")
    assert list(read_sources(path, Columns())) == [
        SourceDocument("1", "", "One text."),
        Refused("a.csv:3", "source/duplicate-text", "its text is that of '1'", "2"),
        SourceDocument("3", "", "Two texts."),
    ]


def test_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("id,text\n".encode("utf-16"))
    with pytest.raises(DatasetError, match="is UTF-16; convert it to UTF-8"):
        list(read_sources(path, Columns()))


def test_columns_of_a_table_do_not_matter_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A text.")
    assert list(read_sources(tmp_path, MAPPED)) == [SourceDocument("a", "", "A text.")]


def test_a_data_set_of_the_datasets_library(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl")
    assert list(read_sources(f"hf:{tmp_path}", MAPPED)) == EXPECTED
    with pytest.raises(DatasetError, match="has no column 'text'"):
        list(read_sources(f"hf:{tmp_path}", Columns()))
    with pytest.raises(DatasetError, match=r"source hf:.*, split test: cannot be loaded: "):
        list(read_sources(f"hf:{tmp_path}", MAPPED, split="test"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.jsonl", None, "there is no source"),
        (
            "a.docx",
            b"x",
            r"a source is .jsonl, .csv or .tsv \(also .gz, .bz2, .xz, .zst\), .parquet, a folder of .txt, .md,",
        ),
        ("a.parquet.gz", b"x", "a source is .jsonl, .csv or .tsv"),
        ("a.parquet", b"no", "is not a Parquet file of texts"),
        ("a.csv", b'text\n"open', "is not CSV"),
    ],
)
def test_sources_that_are_none(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        list(read_sources(tmp_path / name, Columns()))


def test_a_folder_without_texts(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no \.txt, \.md, \.markdown or \.rst file"):
        list(read_sources(tmp_path, Columns()))
