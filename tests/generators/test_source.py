"""Sources looked at: kinds, columns, languages, lengths, and the block of a recipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from retgen.errors import DatasetError
from retgen.generators.source import DocumentSource, LargestDocument, describe_source
from retgen.scaffold import new_recipe
from retgen.sources import TableColumns

ENGLISH = "The harbour was opened to the ships of the company in the spring of that year."
GERMAN = "Der Hafen wurde im Frühling desselben Jahres für die Schiffe der Gesellschaft geöffnet."


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    folder = tmp_path / "kb"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text(f"# One\n\n{ENGLISH}\n")
    (folder / "deep" / "b.md").write_text(GERMAN, "utf-8")
    (folder / "c.html").write_text(f"<p>{ENGLISH} {ENGLISH}</p>")
    (folder / "empty.txt").write_text("")
    (folder / "copy.txt").write_text(f"# One {ENGLISH}")
    (folder / "faq.csv").write_text(f"Question,Answer\nWhy?,{ENGLISH} Yes.\n")
    (folder / "photo.png").write_bytes(b"x")
    return folder


def test_a_folder_in_words(kb: Path, tmp_path: Path) -> None:
    description = describe_source(kb, tmp_path)
    assert list(description.lines()) == [
        f"source: {kb} (2 .md, 2 .txt, 1 .html, 1 .csv), 4 documents",
        "refused: 1 by source/format, the first at photo.png: a file of this kind is not read, only "
        ".txt, .md, .markdown, .html, .htm, .page, .rst, .adoc, .pdf, .docx, .jsonl, .json, .csv, .tsv, .parquet",
        "refused: 1 by source/duplicate-text, the first at copy.txt: its text is that of 'a'",
        "refused: 1 by source/empty, the first at empty.txt: the file is empty",
        "columns: of faq.csv: text Answer, title Question, id none, rows are numbered",
        "languages: English (en) 75%, German (de) 25%",
        "lengths: 13 to 32 words, median 18",
    ]
    assert description.language == "en"
    assert description.columns == {"faq.csv": TableColumns("Answer", (), "Question", ("Question",))}


def test_one_file_is_described_by_its_chapters(tmp_path: Path) -> None:
    (tmp_path / "manual.md").write_text(f"# Use\n\n{ENGLISH}\n\n# Care\n\n{ENGLISH} Yes.\n")
    first, *_ = describe_source(tmp_path / "manual.md", tmp_path).lines()
    assert first.endswith("manual.md (1 .md), 2 documents: its chapters, as it is one file")
    (tmp_path / "whole.md").write_text(ENGLISH)
    first, *_ = describe_source(tmp_path / "whole.md", tmp_path).lines()
    assert first.endswith("whole.md (1 .md), 1 document")


@pytest.mark.parametrize(
    ("given", "recipe", "path"),
    [
        ("kb", ".", "kb"),
        ("kb", "recipes", "../kb"),
        ("kb/../kb", ".", "kb"),
        (".", ".", "."),
        ("../kb", ".", "."),
    ],
)
def test_a_relative_path_is_relative_to_the_recipe(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, recipe: str, path: str
) -> None:
    (tmp_path / "recipes").mkdir()
    monkeypatch.chdir(kb if given == "../kb" else tmp_path)
    assert describe_source(Path(given), Path(recipe)).path == path


def test_the_block_of_a_recipe_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "my: texts.jsonl"
    row = {"the id": 7, "on": ENGLISH, "name": "T"}
    path.write_text(json.dumps(row))
    description = describe_source(path, tmp_path)
    read = YAML(typ="safe").load(description.block())["source"]
    assert read == {
        "path": str(path),
        "columns": {"text": "on", "title": "name"},
        "licence": "not stated",
    }
    assert DocumentSource.model_validate(read).columns.text == "on"
    assert description.lengths == (16, 16, 16)


def test_no_document_that_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DatasetError) as error:
        describe_source(tmp_path, tmp_path)
    assert str(error.value) == (
        f"{tmp_path} holds no document that can be used. "
        "Refused are 1 by source/empty, the first at a.txt: the file is empty."
    )


def test_passages_are_proposed_where_an_embedder_would_not_read_much(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{ENGLISH} " * 60)
    (tmp_path / "b.txt").write_text(f"Another text. {ENGLISH}")
    description = describe_source(tmp_path, tmp_path)
    said = (
        "79% of the text lies beyond the first 190 words of its document, about what an embedder "
        "reads (256 word pieces)"
    )
    assert list(description.lines())[-1] == f"passages: {said}: the recipe cuts passages of 190"
    assert description.passages_line() == f"  passages: {{tokens: 190, overlap: 23}}     # {said}\n"
    short = describe_source(tmp_path / "b.txt", tmp_path)
    assert (short.passages, short.passages_line()) == (None, "")


def test_the_scaffold_with_passages(tmp_path: Path) -> None:
    source = tmp_path / "kb"
    source.mkdir()
    for number in range(3):
        (source / f"{number}.txt").write_text(f"Text {number}. {ENGLISH} " * 60)
    path = new_recipe("capretrieval", tmp_path / "kb.yaml", source)
    assert YAML(typ="safe").load(path)["params"]["passages"] == {"tokens": 190, "overlap": 23}


def test_a_document_that_is_much_of_a_source_is_named() -> None:
    assert LargestDocument("a", 0.2).note("text", 50) == ""
    assert LargestDocument("a", 0.45).note("text", 9) == ""  # of few documents each is much
    assert LargestDocument("log/a", 0.45).note("text", 50) == (
        "log/a is 45% of the text: if nobody searches in it (a changelog, a table of data), move "
        "it out of the source"
    )
