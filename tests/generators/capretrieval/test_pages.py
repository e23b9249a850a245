"""What the card, the report page and the terminal say of a set over own documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen import run
from tests.conftest import Gen
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


def test_the_example_shows_a_query_beside_what_it_rests_on(finished: Path, gen: Gen) -> None:
    example = json.loads((finished / "manifest.json").read_text())["example"]
    assert (example["title"], example["changed"]) == ("The queries of d0", False)
    shown = (finished / "report.html").read_text()
    part = shown[shown.index("<h2>A record</h2>") : shown.index("<h2>Examples</h2>")]
    assert "<mark>" not in part
    assert "<del>" not in part
    text = text_of(part)
    for _, query, rests_on in example["rows"]:
        assert query in text
        assert " ".join(rests_on.split()) in text
    done = gen("preview", finished.parent / "kb.yaml")
    assert done.returncode == 0, done.stderr
    kind, query, rests_on = example["rows"][0]
    assert f"\n{kind}\n  query: {query}\n  evidence (begins): {rests_on}\n" in done.stdout
