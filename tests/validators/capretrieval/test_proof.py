"""The proof of own documents: whatever is altered in a finished set is found and named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen import run, validate
from retgen.write import dump_json, file_info
from tests.conftest import read_jsonl
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows

Row = dict[str, Any]
CORPUS, QUERIES = "dataset/corpus.jsonl", "dataset/queries.jsonl"
KW, SM = "training/kw.parquet", "training/sm.parquet"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six documents for training, one each for dev and test."""
    folder = tmp_path_factory.mktemp("proof")
    source = write_rows(folder / "kb.jsonl", TEXTS, ["Windmills to visit"])
    return run(write_recipe(folder / "kb.yaml", source), out=folder / "kb").path


def altered(
    finished: Path, folder: Path, name: str, change: Callable[[list[Row]], list[Row] | None]
) -> Path:
    """A copy of the run with one table changed, and a manifest that agrees with it."""
    copy = folder / "altered"
    shutil.copytree(finished, copy)
    file = copy / name
    if file.suffix == ".parquet":
        table = pq.read_table(file)
        rows = table.to_pylist()
        pq.write_table(pa.Table.from_pylist(change(rows) or rows, table.schema), file)
    else:
        rows = read_jsonl(file)
        rows = change(rows) or rows
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"][name] = file_info(file)._asdict()
    (copy / "manifest.json").write_text(dump_json(manifest))
    return copy


def findings(path: Path) -> list[tuple[list[str], str]]:
    return [(one.ids, one.message) for one in validate(path).findings
            if one.rule == "own-documents"]  # fmt: skip


def split_of(path: Path) -> dict[str, str]:
    return {row["_id"]: row["metadata"]["split"] for row in read_jsonl(path / CORPUS)}


def text_of(path: Path, query_id: str) -> str:
    return str(next(row["text"] for row in read_jsonl(path / QUERIES) if row["_id"] == query_id))


def one_of(path: Path, split: str) -> str:
    return next(name for name, held in split_of(path).items() if held == split)


def keyword_of(path: Path, document: str) -> Row:
    return next(
        row for row in read_jsonl(path / QUERIES)
        if row["metadata"]["source"] == document and row["metadata"]["set"] == "KW"
    )  # fmt: skip


def test_a_finished_set_is_proven(finished: Path) -> None:
    assert findings(finished) == []
    assert validate(finished).ok


def test_a_text_that_was_changed(finished: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        rows[2]["text"] = rows[2]["text"].replace("lemon", "lime")

    assert findings(altered(finished, tmp_path, CORPUS, change)) == [
        (["d2"], "d2: is not the text of its source any more")
    ]


def test_a_title_that_was_changed(finished: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        rows[0]["title"] = "Windmills"

    assert findings(altered(finished, tmp_path, CORPUS, change)) == [
        (["d0"], "d0: is not the text of its source any more")
    ]


def test_a_document_that_is_missing(finished: Path, tmp_path: Path) -> None:
    path = altered(finished, tmp_path, CORPUS, lambda rows: rows[:5] + rows[6:])
    assert findings(path) == [
        (["d5"], "the corpus is not the source's passages in their order: 1 are missing, 0 are not "
                 "the source's"),
    ]  # fmt: skip


def test_a_document_that_is_not_the_sources(finished: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> list[Row]:
        return [*rows, rows[0] | {"_id": "d9", "text": "of somebody else"}]

    assert findings(altered(finished, tmp_path, CORPUS, change)) == [
        (["d9"], "the corpus is not the source's passages in their order: 0 are missing, 1 are not "
                 "the source's"),
    ]  # fmt: skip


def test_another_order(finished: Path, tmp_path: Path) -> None:
    path = altered(finished, tmp_path, CORPUS, lambda rows: rows[::-1])
    assert findings(path) == [([], "the corpus is not the source's passages in their order")]


@pytest.mark.parametrize("span", [[3, 8], [0, 1]])
def test_a_span_that_was_moved(finished: Path, tmp_path: Path, span: list[int]) -> None:
    query = keyword_of(finished, "d2")

    def change(rows: list[Row]) -> None:
        next(row for row in rows if row["_id"] == query["_id"])["metadata"]["span"] = span

    held = TEXTS[2][slice(*span)].casefold().strip()
    assert findings(altered(finished, tmp_path, QUERIES, change)) == [
        ([query["_id"]], f"{query['_id']}: its span holds {held!r}, not {query['text']!r}")
    ]


@pytest.mark.parametrize(
    "note",
    [{"span": [5, 5]}, {"span": [0, 99_999]}, {"span": [-1, 4]}, {"source": "d99"}],
)
def test_a_query_that_rests_on_nothing(finished: Path, tmp_path: Path, note: Row) -> None:
    query = keyword_of(finished, "d2")

    def change(rows: list[Row]) -> None:
        next(row for row in rows if row["_id"] == query["_id"])["metadata"] |= note

    assert findings(altered(finished, tmp_path, QUERIES, change)) == [
        ([query["_id"]], f"{query['_id']}: rests on no characters of a document")
    ]


@pytest.mark.parametrize("span", [None, [], [3], ["a", "b"], "3-8"])
def test_a_span_that_is_none(finished: Path, tmp_path: Path, span: Any) -> None:
    query = keyword_of(finished, "d2")

    def change(rows: list[Row]) -> None:
        next(row for row in rows if row["_id"] == query["_id"])["metadata"]["span"] = span

    assert findings(altered(finished, tmp_path, QUERIES, change)) == [
        ([query["_id"]], f"{query['_id']}: rests on no characters of a document")
    ]


def test_a_qrel_across_splits(finished: Path, tmp_path: Path) -> None:
    other = one_of(finished, "train")

    def change(rows: list[Row]) -> None:
        rows[0]["corpus-id"] = other

    (query, *_) = read_jsonl(finished / "dataset" / "qrels.jsonl")
    name, text = query["query-id"], text_of(finished, query["query-id"])
    assert findings(altered(finished, tmp_path, "dataset/qrels.jsonl", change)) == [
        ([name, other], f"{name}: a query of test finds {other} of train"),
        ([name, other], f"{name}: {other} is relevant there, and lacks {text!r}"),
    ]


def test_a_query_text_of_two_splits(finished: Path, tmp_path: Path) -> None:
    test, train = (keyword_of(finished, one_of(finished, split)) for split in ("test", "train"))

    def change(rows: list[Row]) -> None:
        for row in rows:
            if row["_id"] == test["_id"]:
                row["text"] = train["text"].upper()

    names = [message for _, message in findings(altered(finished, tmp_path, QUERIES, change))]
    held = TEXTS[int(test["metadata"]["source"][1:])][slice(*test["metadata"]["span"])].casefold()
    assert f"{test['_id']}: its span holds {held!r}, not {train['text'].upper()!r}" in names
    both = {f"{one}: its text is a query of split {split} too"
            for one, split in ((test["_id"], "train"), (train["_id"], "test"))}  # fmt: skip
    assert len(both & set(names)) == 1
    document = test["metadata"]["source"]
    lacks = f"{document} is relevant there, and lacks {train['text'].upper()!r}"
    assert (len(names), names[-1]) == (3, f"{test['_id']}: {lacks}")


def negative_of(finished: Path, file: str) -> tuple[int, Row]:
    return 0, pq.read_table(finished / file).to_pylist()[0]


def test_a_negative_that_is_a_positive(finished: Path, tmp_path: Path) -> None:
    _, row = negative_of(finished, SM)
    document = next(
        one for one in read_jsonl(finished / CORPUS) if one["_id"] == row["positive-id"]
    )
    text = f"{document['title']} {document['text']}".strip()

    def change(rows: list[Row]) -> None:
        rows[0]["negatives-id"][0], rows[0]["negative_1"] = row["positive-id"], text

    assert findings(altered(finished, tmp_path, SM, change)) == [
        ([row["query-id"], row["positive-id"]],
         f"sm.parquet: {row['positive-id']} is a positive of {row['query-id']}"),
    ]  # fmt: skip


def test_a_negative_that_holds_the_keyword(finished: Path, tmp_path: Path) -> None:
    _, row = negative_of(finished, KW)
    negative = row["negatives-id"][1]
    word = next(word for word in row["negative_2"].split() if word.isalpha() and len(word) > 5)

    def change(rows: list[Row]) -> None:
        rows[0]["anchor"] = word.upper()

    path = altered(finished, tmp_path, KW, change)
    assert (
        [row["query-id"], negative], f"kw.parquet: negative {negative} holds all words of {word.upper()!r}"
    ) in findings(path)  # fmt: skip


def test_a_foreign_text_as_negative(finished: Path, tmp_path: Path) -> None:
    _, row = negative_of(finished, KW)

    def change(rows: list[Row]) -> None:
        rows[0]["negative_3"] = "of somebody else"

    name = row["negatives-id"][2]
    assert findings(altered(finished, tmp_path, KW, change)) == [
        ([row["query-id"], name], f"kw.parquet: the text of negative {name} is not its passage's")
    ]


@pytest.mark.parametrize("name", ["test", "nobody"])
def test_a_negative_of_another_split(finished: Path, tmp_path: Path, name: str) -> None:
    _, row = negative_of(finished, KW)
    name = one_of(finished, name) if name != "nobody" else "d99"

    def change(rows: list[Row]) -> None:
        rows[0]["negatives-id"][3] = name

    assert findings(altered(finished, tmp_path, KW, change)) == [
        ([row["query-id"], name], f"kw.parquet: negative {name} is no passage of split train")
    ]


def test_a_pair_that_no_qrel_knows(finished: Path, tmp_path: Path) -> None:
    _, row = negative_of(finished, KW)
    others = [one for one, split in split_of(finished).items()
              if split == "train" and one != row["positive-id"]]  # fmt: skip
    other = next(one for one in others if one not in row["negatives-id"])

    def change(rows: list[Row]) -> None:
        rows[0]["positive-id"] = other

    names = findings(altered(finished, tmp_path, KW, change))
    assert names[0] == (
        [row["query-id"], other],
        f"kw.parquet: {row['query-id']} is trained on what no qrel calls relevant",
    )


def test_a_positive_text_that_is_not_the_passage(finished: Path, tmp_path: Path) -> None:
    _, row = negative_of(finished, KW)

    def change(rows: list[Row]) -> None:
        rows[0]["positive"] = "of somebody else"

    assert findings(altered(finished, tmp_path, KW, change)) == [
        ([row["query-id"], row["positive-id"]],
         f"kw.parquet: the positive of {row['query-id']} is not of {row['positive-id']}"),
    ]  # fmt: skip


def test_an_anchor_that_is_not_the_query(finished: Path, tmp_path: Path) -> None:
    _, row = negative_of(finished, SM)

    def change(rows: list[Row]) -> None:
        rows[0]["anchor"] = "of somebody else"

    assert findings(altered(finished, tmp_path, SM, change)) == [
        ([row["query-id"]], f"sm.parquet: the anchor is not the text of {row['query-id']}")
    ]


def test_a_query_of_two_splits(finished: Path, tmp_path: Path) -> None:
    (query, *_) = read_jsonl(finished / "dataset" / "qrels.jsonl")
    name, other = query["query-id"], one_of(finished, "train")
    text = text_of(finished, name)

    def change(rows: list[Row]) -> list[Row]:
        return [*rows, {"query-id": name, "corpus-id": other, "score": 1}]

    assert findings(altered(finished, tmp_path, "dataset/qrels.train.jsonl", change)) == [
        ([name], f"{name}: is a query of test and of train"),
        ([name, other], f"{name}: {other} is relevant there, and lacks {text!r}"),
    ]


def test_a_near_duplicate_as_negative_and_across_splits(tmp_path: Path) -> None:
    texts = [*TEXTS, TEXTS[2].replace("sour sauces", "jam")]
    source = write_rows(tmp_path / "kb.jsonl", texts)
    recipe = write_recipe(tmp_path / "kb.yaml", source, "  queries: {quality: 0, common: 1}\n")
    path = run(recipe, out=tmp_path / "kb").path
    split = split_of(path)
    assert split["d2"] == split["d8"] == "train"
    both = {row["query-id"] for row in read_jsonl(path / "dataset/qrels.train.jsonl")
            if row["corpus-id"] == "d8"}  # fmt: skip
    held = [
        (row, n) for row in pq.read_table(path / SM).to_pylist()
        for n in range(1, 5) if row["positive-id"] == "d2" and row["query-id"] not in both
    ]  # fmt: skip
    assert held
    assert all("d8" not in row["negatives-id"] for row, _ in held)

    def negative(rows: list[Row]) -> None:
        row = next(row for row in rows if row["query-id"] == query)
        row["negatives-id"][0], row["negative_1"] = "d8", texts[8]

    query = held[0][0]["query-id"]
    assert findings(altered(path, tmp_path, SM, negative)) == [
        ([query, "d8"],
         f"sm.parquet: negative d8 is a near-duplicate of a positive of {query}"),
    ]  # fmt: skip

    def moved(rows: list[Row]) -> None:
        rows[8]["split"] = "dev"

    shutil.rmtree(tmp_path / "altered")
    names = findings(altered(path, tmp_path, "sources/passages.jsonl", moved))
    assert (["d8", "d2"], "d8 of dev is a near-duplicate of d2 of train") in names


def test_pairs_that_lack_a_column(finished: Path, tmp_path: Path) -> None:
    path = altered(finished, tmp_path, KW, lambda rows: rows)
    pq.write_table(pq.read_table(path / KW).drop_columns(["negatives-id"]), path / KW)
    assert findings(path) == [([], "kw.parquet: lacks the columns negatives-id")]


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
    params = "  splits: {test: 0.1, dev: 0}\n  queries: {common: 1}\n  mine: {negatives: 1}\n"
    return run(write_recipe(folder / "kb.yaml", folder / "kb", params), out=folder / "out").path


def found_of(path: Path, text: str) -> Row:
    return next(row for row in read_jsonl(path / QUERIES) if row["text"] == text)


def test_what_people_wrote_is_found_where_it_says(pages: Path) -> None:
    assert findings(pages) == []
    found = {row["text"]: row["metadata"] for row in read_jsonl(pages / QUERIES)
             if row["metadata"]["evidence"] == "found"}  # fmt: skip
    kinds = {text: (one["kind"], one["source"], one["found_in"]) for text, one in found.items()}
    assert (
        kinds.items()
        >= {
            "Where flour is ground on Sundays": ("description", "windmill", "windmill"),
            "the mill by the river": ("link", "windmill", "storms"),
            "sunrise checks": ("link", "tram", "copper"),
            "Nesting boxes": ("heading", "windmill", "windmill"),
            "Chess evenings": ("title", "chess", "chess"),
        }.items()
    )
    whole = next(row for row in read_jsonl(pages / CORPUS) if row["_id"] == "tram")["text"]
    assert whole[slice(*found["sunrise checks"]["span"])] == TEXTS[4]


@pytest.mark.parametrize(
    ("text", "change", "message"),
    [
        ("Nesting boxes", {"found_at": [[1, 6]]}, "its words are not at [[1, 6]]"),
        ("Nesting boxes", {"found_at": []}, "its words are not at []"),
        ("Nesting boxes", {"found_at": [[0, 9999]]}, "was found at no characters of windmill"),
        ("Nesting boxes", {"span": [0, 30]}, "rests on another section than its own"),
        ("Nesting boxes", {"found_in": "nobody"}, "was found in 'nobody', which is no document"),
        ("Nesting boxes", {"found_in": "storms", "found_at": [[0, 5]]},
         "was found in storms, and rests on windmill"),
        ("the mill by the river", {"found_in": "copper", "found_at": [[0, 5]]},
         "its words are not at"),
        ("the mill by the river", {"source": "tram", "span": [0, 40]}, "no link to tram"),
        ("sunrise checks", {"span": [0, 30]}, "no link to tram, or to what it rests on there"),
        ("Where flour is ground on Sundays", {"kind": "subject"}, "its words are not at []"),
        ("Where flour is ground on Sundays", {"span": [0, 30]}, "rests on other characters than"),
    ],
)  # fmt: skip
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
        row["links"] = [[start, stop, "chess.md"] for start, stop, _ in row["links"]]

    found = findings(altered(pages, tmp_path, "sources/documents.jsonl", forge))
    assert any(ids == [name] and "no link to windmill" in said for ids, said in found)


def test_a_positive_that_kept_the_words_of_its_query(pages: Path, tmp_path: Path) -> None:
    table = pq.read_table(pages / "training/found.parquet").to_pylist()
    row = next(row for row in table if row["anchor"] in ("Nesting boxes", "Brakes"))
    assert row["anchor"] not in row["positive"]

    def forge(rows: list[Row]) -> None:
        one = next(one for one in rows if one["query-id"] == row["query-id"])
        one["positive"] = f"{row['anchor']} {row['positive']}"

    assert findings(altered(pages, tmp_path, "training/found.parquet", forge)) == [
        ([row["query-id"], row["positive-id"]],
         f"found.parquet: the positive of {row['query-id']} is not of {row['positive-id']}"),
    ]  # fmt: skip


def test_a_side_that_is_not_so(pages: Path, tmp_path: Path) -> None:
    name = found_of(pages, "Nesting boxes")["_id"]

    def forge(rows: list[Row]) -> None:
        next(row for row in rows if row["_id"] == name)["metadata"]["side"] = "nonlexical"

    found = findings(altered(pages, tmp_path, QUERIES, forge))
    assert any(f"{name}: is nonlexical, and windmill has" in said for _, said in found)
