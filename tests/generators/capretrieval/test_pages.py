"""What the card, the report page and the terminal say of a set over own documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import run
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.pages import Read


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six documents for training, one each for dev and test."""
    folder = tmp_path_factory.mktemp("pages")
    source = write_rows(folder / "kb.jsonl", TEXTS, ["Windmills to visit"])
    recipe = write_recipe(folder / "kb.yaml", source, "  queries: {quality: 0}\n")
    return run(recipe, out=folder / "kb").path


def card_of(path: Path) -> str:
    return (path / "dataset" / "README.md").read_text()


def text_of(html: str) -> str:
    return " ".join(Read(html).text.split())


def page_of(path: Path) -> str:
    return text_of((path / "report.html").read_text())


def test_documents_and_queries_are_said_to_be_whose_they_are(finished: Path) -> None:
    what = (
        "A retrieval data set of a source's own documents, with queries found in them or written "
        "for them: training and test queries over your own documents"
    )
    assert what in card_of(finished)
    page = page_of(finished)
    assert what in page
    assert (
        "Queries of people. The documents are the source's; the queries are found in them (titles, "
        "headings, links) or generated: no score here is one on queries that people type."
    ) in page
    for text in (card_of(finished), page):
        assert "A synthetic retrieval data set" not in text
        assert "The texts are synthetic" not in text
