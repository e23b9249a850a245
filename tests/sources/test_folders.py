"""Folders: files of all kinds in all folders below, links, and data sets."""

from __future__ import annotations

import gzip
import json
import lzma
import os
from pathlib import Path
from unicodedata import normalize

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen.errors import DatasetError
from retgen.sources import Columns, RefusedRow, SourceDocument, read_sources

KINDS = ".txt, .md, .markdown, .html, .htm, .page, .rst, .adoc, .pdf, .docx, .jsonl, .json, .csv, .tsv, .parquet"


def ids(path: Path) -> list[str]:
    return [one.id for one in read_sources(path, Columns()) if isinstance(one, SourceDocument)]


def test_what_a_command_wrote_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Text.")
    (tmp_path / "outputs" / "kb").mkdir(parents=True)
    for name in ("recipe.yaml", "run.log", "notes.txt"):
        (tmp_path / "outputs" / "kb" / name).write_text("Text of a run.")
    (tmp_path / "outputs" / "train").mkdir()
    for name in ("train.json", "train.html", "notes.txt"):
        (tmp_path / "outputs" / "train" / name).write_text("Scores.")
    reason = "the folder of a run or of scores, whose data are no documents"
    assert list(read_sources(tmp_path, Columns())) == [
        RefusedRow("outputs/kb/", "source/format", reason),
        RefusedRow("outputs/train/", "source/format", reason),
        SourceDocument("a", "", "Text."),
    ]


def test_decomposed_files_are_read_as_composed_ones(tmp_path: Path) -> None:
    """Text, title, places and targets of links, front matter: as macOS writes them."""
    text = (
        "---\ndescription: Größe und Öl\n---\n# Süße Äpfel\n\nSiehe [die Öfen](öfen.md#große-öfen)"
        " für Gebäck.\n\n## Große Öfen\n\nDort glüht es.\n"
    )
    rows = "title,text\nÄpfel,Süße Öfen\n"
    read = []
    for form in ("NFC", "NFD"):
        folder = tmp_path / form
        folder.mkdir()
        (folder / normalize(form, "äpfel.md")).write_text(normalize(form, text), "utf-8")
        (folder / "apfel.csv").write_text(normalize(form, rows), "utf-8")
        read.append(list(read_sources(folder, Columns(), structure=True)))
    assert read[1] == read[0]
    row, page = (one for one in read[1] if isinstance(one, SourceDocument))
    assert (row.title, row.text) == ("Äpfel", "Süße Öfen")
    (link,) = page.links
    assert link == ("die Öfen", "öfen.md#große-öfen")
    assert page.blocks[-2][3:] == (2, "große-öfen")


def test_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Second text.")
    (tmp_path / "a.txt").write_bytes("\ufeffFirst  text.\n".encode())
    (tmp_path / "e.md").write_text("# Third text.")
    (tmp_path / "f.MARKDOWN").write_text("Fourth text.")
    (tmp_path / "g.rst").write_text("Fifth text.")
    (tmp_path / "h.txt.gz").write_bytes(gzip.compress(b"Sixth text."))
    (tmp_path / "i.md.xz").write_bytes(lzma.compress(b"Seventh text.")[:-9])
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a.txt").write_text("Eighth text.")
    read: list[SourceDocument | RefusedRow] = [
        SourceDocument("a", "", "First  text.\n"),
        SourceDocument("b", "", "Second text."),
        SourceDocument("deep/er/a", "", "Eighth text."),
        SourceDocument("e", "Third text.", "# Third text."),
        SourceDocument("f", "", "Fourth text."),
        SourceDocument("g", "", "Fifth text.\n"),
        SourceDocument("h", "", "Sixth text."),
        RefusedRow(
            "i.md.xz",
            "source/unreadable",
            "is not a whole .xz file (Compressed file ended before the end-of-stream marker was "
            "reached); compress it again",
            "i",
        ),
    ]
    assert list(read_sources(tmp_path, Columns())) == read
    (tmp_path / "z.odt").write_bytes(b"x")
    (tmp_path / "deep" / "LICENSE").write_bytes(b"x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.txt").write_text("Hidden text.")
    (tmp_path / ".hidden.txt").write_text("Hidden text.")
    kind = f"a file of this kind is not read, only {KINDS}"
    unread = [
        RefusedRow("deep/LICENSE", "source/format", kind),
        RefusedRow("z.odt", "source/format", kind),
    ]
    assert list(read_sources(tmp_path, Columns())) == unread + read
    assert list(read_sources(tmp_path, Columns(), limit=2)) == unread + read[:2]


def test_tables_among_texts(tmp_path: Path) -> None:
    """Each with columns of its own; the same id in two files is two documents."""
    (tmp_path / "a.md").write_text("# Title\n\nText.")
    (tmp_path / "faq.csv").write_text(
        "id,question,answer\n1,Why?,Because.\n2,How?,Like this.\n1,No?,Yes.\n"
    )
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts" / "old.jsonl").write_text(
        '{"id": 1, "body": "A post."}\n{"body": "Unnamed."}\nno\n'
    )
    (tmp_path / "prices.tsv").write_text("id\tprice\n1\t\n")
    (tmp_path / "torn.parquet").write_bytes(b"no")
    read = list(read_sources(tmp_path, Columns()))
    assert read[:-1] == [
        SourceDocument("a", "Title", "# Title\n\nText."),
        SourceDocument("1", "Why?", "Because."),
        SourceDocument("2", "How?", "Like this."),
        RefusedRow("faq.csv:4", "source/duplicate-id", "the id '1' stands there twice", "1"),
        SourceDocument("posts/old/1", "", "A post."),
        SourceDocument("posts/old/row-2", "", "Unnamed."),
        RefusedRow("posts/old.jsonl:3", "source/json", "the line is not JSON"),
        RefusedRow(
            "prices.tsv",
            "source/columns",
            "has no column of texts; name one (source.columns.text). Its columns: id, price",
        ),
    ]
    torn = read[-1]
    assert isinstance(torn, RefusedRow)
    assert (torn.where, torn.rule) == ("torn.parquet", "source/unreadable")
    assert torn.reason.startswith("is not a Parquet file of texts: ")
    with pytest.raises(
        DatasetError, match=r"faq\.csv: has no column 'body' \(source.columns.text\)"
    ):
        list(read_sources(tmp_path, Columns(text="body")))


def test_links(tmp_path: Path) -> None:
    kb, other = tmp_path / "kb", tmp_path / "other"
    (kb / "b").mkdir(parents=True)
    other.mkdir()
    (kb / "b" / "x.txt").write_text("A text.")
    (other / "y.txt").write_text("Another text.")
    os.symlink(kb, kb / "a-loop")
    os.symlink(kb / "b", kb / "c-twice")
    os.symlink(other, kb / "d-other")
    os.symlink(other, other / "self")
    os.symlink(kb, other / "back")
    os.symlink("nowhere", kb / "e.txt")
    os.symlink(other / "y.txt", kb / "f.txt")
    os.mkfifo(kb / "g.txt")
    link = "a link to a folder of the source, which is read where it lies"
    leaves = "a link out of the source's folder (`follow_links: true` of the source reads it)"
    assert list(read_sources(kb, Columns())) == [
        RefusedRow("a-loop/", "source/format", link),
        RefusedRow("c-twice/", "source/format", link),
        RefusedRow("d-other/", "source/format", leaves),
        RefusedRow("e.txt", "source/format", "a link that leads nowhere"),
        RefusedRow("f.txt", "source/format", leaves),
        RefusedRow("g.txt", "source/format", "is no file of bytes"),
        SourceDocument("b/x", "", "A text."),
    ]
    assert list(read_sources(kb, Columns(), follow_links=True)) == [
        RefusedRow("a-loop/", "source/format", link),
        RefusedRow("c-twice/", "source/format", link),
        RefusedRow("d-other/back/", "source/format", link),
        RefusedRow("d-other/self/", "source/format", link),
        RefusedRow("e.txt", "source/format", "a link that leads nowhere"),
        RefusedRow("g.txt", "source/format", "is no file of bytes"),
        SourceDocument("b/x", "", "A text."),
        SourceDocument("d-other/y", "", "Another text."),
        RefusedRow("f.txt", "source/duplicate-text", "its text is that of 'd-other/y'", "f"),
    ]


def test_a_snapshot_of_the_hub_s_cache_is_links_to_its_blobs(tmp_path: Path) -> None:
    snapshot = tmp_path / "datasets--o--n" / "snapshots" / "abc"
    blobs = tmp_path / "datasets--o--n" / "blobs"
    blobs.mkdir(parents=True)
    (snapshot / "docs").mkdir(parents=True)
    (blobs / "1").write_text("A text.")
    (tmp_path / "2").write_text("A secret.")
    os.symlink("../../../blobs/1", snapshot / "docs" / "a.txt")
    os.symlink(tmp_path / "2", snapshot / "docs" / "b.txt")
    for folder, before in ((snapshot, "docs/"), (snapshot / "docs", "")):
        refused, read = read_sources(folder, Columns())
        assert isinstance(refused, RefusedRow)
        assert refused.where == f"{before}b.txt"
        assert read == SourceDocument(f"{before}a", "", "A text.")


def test_a_data_set_whose_corpus_is_a_link_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "c.jsonl").write_text('{"_id": "a", "text": "A text."}\n')
    (tmp_path / "own" / "queries.jsonl").write_text("")
    os.symlink(tmp_path / "c.jsonl", tmp_path / "own" / "corpus.jsonl")
    with pytest.raises(DatasetError) as error:
        list(read_sources(tmp_path / "own", Columns()))
    assert str(error.value) == (
        f"{tmp_path}/own/corpus.jsonl: is a link out of the source's folder (`follow_links: true` "
        "of the source reads it)"
    )
    columns = Columns()
    assert list(read_sources(tmp_path / "own", columns, follow_links=True)) == [
        SourceDocument("a", "", "A text.")
    ]


def test_a_folder_without_files_that_are_read(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    with pytest.raises(DatasetError) as error:
        list(read_sources(tmp_path, Columns()))
    every = KINDS.replace(", .parquet", " or .parquet")
    assert str(error.value) == f"{tmp_path}: holds no {every} file"


CORPUS = [
    {"_id": "d1", "title": "T", "text": "One  text.\n"},
    {"_id": "d2", "title": "", "text": "Another text."},
]
DOCUMENTS = [SourceDocument("d1", "T", "One  text.\n"), SourceDocument("d2", "", "Another text.")]


def lines(rows: list[dict[str, str]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_the_folder_of_an_mteb_data_set_gives_its_corpus(tmp_path: Path) -> None:
    for number, name in enumerate(["corpus/test-0-of-2", "corpus/test-1-of-2", "queries/test-0"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        rows = [CORPUS[number]] if number < 2 else [{"_id": "q", "text": "A query?"}]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: corpus\n  data_files: corpus/test-*\n---\n# A data set\n"
    )
    assert list(read_sources(tmp_path, Columns())) == DOCUMENTS


def test_a_folder_with_a_table_called_corpus_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_bytes(lines(CORPUS))
    (tmp_path / "notes.txt").write_text("Notes.")
    assert ids(tmp_path) == ["d1", "d2", "notes"]
