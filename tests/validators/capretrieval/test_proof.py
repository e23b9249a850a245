"""The proof of own documents: whatever is altered in a finished set is found and named."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from retgen import run, validate
from tests.conftest import read_jsonl
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.shared import altered

Row = dict[str, Any]
CORPUS, QUERIES, QRELS = (f"dataset/{name}.jsonl" for name in ("corpus", "queries", "qrels"))
KW, SM = "training/kw.parquet", "training/sm.parquet"
TEST = "db6"  # the document whose queries are held out


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six documents for training, one each for dev and test."""
    folder = tmp_path_factory.mktemp("proof")
    source = write_rows(folder / "kb.jsonl", TEXTS, ["Windmills to visit"], "db")
    recipe = write_recipe(folder / "kb.yaml", source, "  queries: {quality: 0}\n")
    return run(recipe, out=folder / "kb").path


def findings(path: Path) -> list[tuple[list[str], str]]:
    return [
        (one.ids, one.message) for one in validate(path).findings if one.rule == "own-documents"
    ]


def split_of(path: Path) -> dict[str, str]:
    return {row["_id"]: row["metadata"]["split"] for row in read_jsonl(path / CORPUS)}


def keyword_of(queries: list[Row], document: str) -> Row:
    return next(
        row
        for row in queries
        if row["metadata"]["source"] == document and row["metadata"]["set"] == "KW"
    )


@pytest.mark.slow
def test_a_finished_set_is_proven(finished: Path) -> None:
    assert findings(finished) == []
    assert [name for name, split in split_of(finished).items() if split == "test"] == [TEST]
    assert validate(finished).ok


def put(**values: Any) -> Callable[[list[Row]], None]:
    """Other values in the first row."""
    return lambda rows: rows[0].update(values)


def negative(place: int, name: str, text: str | None = None) -> Callable[[list[Row]], None]:
    """Another negative in the first row."""

    def change(rows: list[Row]) -> None:
        rows[0]["negatives-id"][place - 1] = name
        rows[0][f"negative_{place}"] = text or rows[0][f"negative_{place}"]

    return change


def keyword(**note: Any) -> Callable[[list[Row]], None]:
    """Other metadata of a keyword of db2."""
    return lambda rows: keyword_of(rows, "db2")["metadata"].update(note)


def moved_keyword(rows: list[Row]) -> None:
    """A test query asks for a keyword of the training documents."""
    keyword_of(rows, TEST)["text"] = keyword_of(rows, "db2")["text"].upper()


# file, what is changed there, and what is found: names of records, and a message
CASES: dict[str, tuple[str, Callable[[list[Row]], Any], list[str]]] = {
    "a span moved": (QUERIES, keyword(span=[3, 8]), ["Q: its span holds 'per p', not 'KEYWORD'"]),
    "a span of one letter": (
        QUERIES,
        keyword(span=[0, 1]),
        ["Q: its span holds 'c', not 'KEYWORD'"],
    ),
    "a qrel across splits": (
        QRELS,
        put(**{"corpus-id": "db2"}),
        ["Q: a query of test finds db2 of train", "Q: db2 is relevant there, and lacks 'TESTED'"],
    ),
    "a query text of two splits": (
        QUERIES,
        moved_keyword,
        [
            "Q: its span holds 'TESTED', not 'KEYWORD'",
            "Q: its text is a query of split train too",
            "Q: db6 is relevant there, and lacks 'KEYWORD'",
        ],
    ),
    "a negative that is a positive": (
        SM,
        lambda rows: rows[0]["negatives-id"].append(rows[0]["positive-id"]),
        ["sm.parquet: POSITIVE is a positive of Q"],
    ),
    "a negative that holds the keyword": (
        KW,
        put(anchor="NESTING"),
        [
            "kw.parquet: the anchor is not the text of Q",
            "kw.parquet: negative db3 holds all words of 'NESTING'",
        ],
    ),
    "a negative of another split": (
        KW,
        negative(4, TEST),
        ["kw.parquet: negative db6 is no passage of split train"],
    ),
    "a negative that nobody knows": (
        KW,
        negative(4, "db99"),
        ["kw.parquet: negative db99 is no passage of split train"],
    ),
    "a pair that no qrel knows": (
        KW,
        put(**{"positive-id": "db2"}),
        ["kw.parquet: Q is trained on what no qrel calls relevant"],
    ),
    "an anchor that is not the query": (
        SM,
        put(anchor="of somebody else"),
        ["sm.parquet: the anchor is not the text of Q"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_whatever_is_altered_is_found(finished: Path, tmp_path: Path, case: str) -> None:
    name, change, expected = CASES[case]
    path = altered(finished, tmp_path, name, change)
    queries = read_jsonl(finished / QUERIES)
    asked = read_jsonl(finished / QRELS)[0]["query-id"]
    names = {
        keyword_of(queries, "db2")["text"]: "KEYWORD",
        next(row["text"] for row in queries if row["_id"] == asked): "TESTED",
        keyword_of(queries, TEST)["text"]: "TESTED",
    }
    found = [re.sub(r"q\d{7}", "Q", message) for _, message in findings(path)]
    for text, word in names.items():
        found = [re.sub(f"'{re.escape(text)}'", f"'{word}'", one, flags=re.I) for one in found]
    found = [re.sub(r"db\d is a positive", "POSITIVE is a positive", message) for message in found]
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "note",
    [
        {"source": "db99"},
        *({"span": one} for one in ([5, 5], [0, 99_999], [-1, 4], None, ["a", "b"])),
    ],
)
def test_a_query_that_rests_on_nothing(finished: Path, tmp_path: Path, note: Row) -> None:
    name = keyword_of(read_jsonl(finished / QUERIES), "db2")["_id"]
    assert findings(altered(finished, tmp_path, QUERIES, keyword(**note))) == [
        ([name], f"{name}: rests on no characters of a document")
    ]


@pytest.mark.slow
def test_a_near_duplicate_as_negative_and_across_splits(tmp_path: Path) -> None:
    texts = [*TEXTS, TEXTS[2].replace("sour sauces", "jam")]
    source = write_rows(tmp_path / "kb.jsonl", texts, name="db")
    recipe = write_recipe(tmp_path / "kb.yaml", source, "  queries: {quality: 0}\n")
    path = run(recipe, out=tmp_path / "kb").path
    split = split_of(path)
    assert split["db2"] == split["db8"] == "train"
    both = {
        row["query-id"]
        for row in read_jsonl(path / "dataset/qrels.train.jsonl")
        if row["corpus-id"] == "db8"
    }
    held = [
        (row, n)
        for row in pq.read_table(path / SM).to_pylist()
        for n in range(1, 5)
        if row["positive-id"] == "db2" and row["query-id"] not in both
    ]
    assert held
    assert all("db8" not in row["negatives-id"] for row, _ in held)

    def negative(rows: list[Row]) -> None:
        row = next(row for row in rows if row["query-id"] == query)
        row["negatives-id"][0], row["negative_1"] = "db8", texts[8]

    query = held[0][0]["query-id"]
    assert findings(altered(path, tmp_path, SM, negative)) == [
        ([query, "db8"], f"sm.parquet: negative db8 is a near-duplicate of a positive of {query}")
    ]

    def moved(rows: list[Row]) -> None:
        rows[8]["split"] = "dev"

    shutil.rmtree(tmp_path / "altered")
    names = findings(altered(path, tmp_path, "sources/passages.jsonl", moved))
    assert (["db8", "db2"], "db8 of dev is a near-duplicate of db2 of train") in names


NESTING = "The restored mill Nesting boxes"
PAGES = {
    "windmill.md": "---\ndescription: Where flour is ground on Sundays\n---\n# The restored mill\n\n"
    f"{TEXTS[0]}\n\n## Nesting boxes\n\n{TEXTS[3]}\n",
    "storms.md": f"# Weather at sea\n\n{TEXTS[1]} Ask in [the mill by the river](windmill.md).\n",
    "copper.md": f"# Copper pans\n\n{TEXTS[2]} Read of [sunrise checks](tram.md#brakes) too.\n",
    "tram.md": f"# Tram depot\n\n{TEXTS[5]}\n\n## Brakes\n\n{TEXTS[4]}\n",
    "glass.md": f"# Glass blowing\n\n{TEXTS[6]}\n",
    "chess.md": f"# Chess evenings\n\n{TEXTS[7]}\n",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of Markdown that point to one another."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "kb").mkdir()
    for name, text in PAGES.items():
        (folder / "kb" / name).write_text(text)
    params = "  splits: {test: 0.1, dev: 0}\n  mine: {negatives: 1}\n"
    return run(write_recipe(folder / "kb.yaml", folder / "kb", params), out=folder / "out").path


def found_of(path: Path, text: str) -> Row:
    return next(row for row in read_jsonl(path / QUERIES) if row["text"] == text)


def test_what_people_wrote_is_found_where_it_says(pages: Path) -> None:
    assert findings(pages) == []
    found = {
        row["text"]: row["metadata"]
        for row in read_jsonl(pages / QUERIES)
        if row["metadata"]["evidence"] == "found"
    }
    kinds = {text: (one["kind"], one["source"], one["found_in"]) for text, one in found.items()}
    assert (
        kinds.items()
        >= {
            "Where flour is ground on Sundays": ("description", "windmill", ""),
            "the mill by the river": ("link", "windmill", "storms"),
            "sunrise checks": ("link", "tram", "copper"),
            NESTING: ("heading", "windmill", ""),
            "Chess evenings": ("title", "chess", ""),
        }.items()
    )
    whole = next(row for row in read_jsonl(pages / CORPUS) if row["_id"] == "tram")["text"]
    assert whole[slice(*found["sunrise checks"]["span"])] == TEXTS[4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "change", "message"),
    [
        (NESTING, {"span": [0, 30]}, "rests on another section than its own"),
        ("sunrise checks", {"found_in": "nobody"}, "was found in 'nobody', which is no document"),
        ("the mill by the river", {"found_in": "copper"}, "copper has no such link to windmill"),
        (
            "the mill by the river",
            {"source": "tram", "span": [0, 40]},
            "storms has no such link to tram",
        ),
        ("sunrise checks", {"span": [0, 30]}, "copper has no such link to tram, or to what it"),
        ("Where flour is ground on Sundays", {"span": [9, 30]}, "rests on other characters than"),
    ],
)
def test_a_forged_place_of_found_words(
    pages: Path, tmp_path: Path, text: str, change: Row, message: str
) -> None:
    name = found_of(pages, text)["_id"]

    def forge(rows: list[Row]) -> None:
        next(row for row in rows if row["_id"] == name)["metadata"].update(change)

    found = findings(altered(pages, tmp_path, QUERIES, forge))
    assert any(ids == [name] and said.startswith(f"{name}: {message}") for ids, said in found)


def test_a_link_to_another_document_than_it_says(pages: Path, tmp_path: Path) -> None:
    name = found_of(pages, "the mill by the river")["_id"]

    def forge(rows: list[Row]) -> None:
        row = next(row for row in rows if row["id"] == "storms")
        row["links"] = [[words, "chess.md"] for words, _ in row["links"]]

    found = findings(altered(pages, tmp_path, "sources/documents.jsonl", forge))
    assert any(ids == [name] and "no such link to windmill" in said for ids, said in found)


def test_a_side_that_is_not_so(pages: Path, tmp_path: Path) -> None:
    name = found_of(pages, NESTING)["_id"]

    def forge(rows: list[Row]) -> None:
        next(row for row in rows if row["_id"] == name)["metadata"]["side"] = "nonlexical"

    found = findings(altered(pages, tmp_path, QUERIES, forge))
    assert any(f"{name}: is nonlexical, and windmill has" in said for _, said in found)
