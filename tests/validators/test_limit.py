"""The proof finds every planted defect and names the records."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retgen import run, validate
from tests.conftest import SMALL, read_jsonl

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "small.yaml").write_text(SMALL)
    return run(folder / "small.yaml", out=folder / "run").path


@pytest.fixture
def tables(good: Path, tmp_path: Path) -> Iterator[Tables]:
    """The tables of a good run, to be spoilt; `check` writes them back and validates."""
    shutil.copytree(good, tmp_path / "run")
    data = tmp_path / "run" / "dataset"
    return {name: read_jsonl(data / f"{name}.jsonl") for name in ("corpus", "queries", "qrels")}


def check(folder: Path, tables: Tables) -> list[tuple[str, list[str], str]]:
    """Errors of rules that know the tables only: (rule, ids, message).

    Beside them every change is seen by the hashes and by the recipe, which makes other rows.
    """
    for name, rows in tables.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / "run" / "dataset" / f"{name}.jsonl").write_text(text)
    validation = validate(folder / "run")
    return [
        (f.rule, f.ids, f.message)
        for f in validation.findings
        if f.severity == "error" and f.rule not in ("manifest", "regenerated")
    ]


def distractor(tables: Tables, n: int = 0) -> dict[str, Any]:
    return [d for d in tables["corpus"] if d["metadata"]["column"] < 0][n]


def relevant(tables: Tables) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first query, and the first document relevant to it."""
    query, doc_id = tables["queries"][0], tables["qrels"][0]["corpus-id"]
    assert tables["qrels"][0]["query-id"] == query["_id"]
    return query, next(d for d in tables["corpus"] if d["_id"] == doc_id)


def asked(query: dict[str, Any]) -> str:
    return str(query["text"].removeprefix("Who likes ").removesuffix("?"))


def listed(document: dict[str, Any]) -> list[str]:
    text = document["text"].removesuffix(".").partition(" likes ")[2]
    return text.replace(" and ", ", ").split(", ")


def of_document(document: dict[str, Any], what: str) -> tuple[str, list[str], str]:
    return ("limit-proof/document", [document["_id"]], f"document {document['_id']}: {what}")


def test_the_good_set_is_good(good: Path, tables: Tables, tmp_path: Path) -> None:
    validation = validate(good)
    assert (validation.ok, validation.proven, validation.findings) == (True, 200, [])
    assert check(tmp_path, tables) == []
    assert len(tables["corpus"]) == 400
    assert len(tables["queries"]) == 100
    assert len(tables["qrels"]) == 200


# --- documents ----------------------------------------------------------------------------------


def test_one_changed_word_of_a_distractor(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    first = listed(document)[0]
    document["text"] = document["text"].replace(first, first + "x", 1)
    assert check(tmp_path, tables) == [
        of_document(
            document, f"'{first}x' is no attribute of the catalogue's part that the recipe uses"
        ),
        of_document(document, "the attribute ids in its metadata are not those of its words"),
    ]


def test_one_changed_word_of_a_relevant_document(tables: Tables, tmp_path: Path) -> None:
    query, document = relevant(tables)
    document["text"] = document["text"].replace(asked(query), "Nothing", 1)
    errors = check(tmp_path, tables)
    assert (
        "limit-proof/qrels",
        [query["_id"], document["_id"]],
        f"qrels says that document {document['_id']} is relevant to query {query['_id']}, but its "
        "text does not hold what the query asks for",
    ) in errors
    assert len(errors) == 3


def test_an_asked_attribute_in_another_document(tables: Tables, tmp_path: Path) -> None:
    query, document = tables["queries"][0], distractor(tables)
    first = listed(document)[0]
    document["text"] = document["text"].replace(first, asked(query), 1)
    document["metadata"]["attributes"][0] = query["metadata"]["attributes"][0]
    assert check(tmp_path, tables) == [
        (
            "limit-proof/qrels",
            [query["_id"], document["_id"]],
            f"document {document['_id']} holds what query {query['_id']} asks for, but qrels does "
            "not say that it is relevant",
        )
    ]


def test_one_attribute_too_many(tables: Tables, tmp_path: Path) -> None:
    document, other = distractor(tables), distractor(tables, 1)
    extra = next(a for a in listed(other) if a not in listed(document))
    number = other["metadata"]["attributes"][listed(other).index(extra)]
    document["text"] = document["text"].replace(" likes ", f" likes {extra}, ")
    document["metadata"]["attributes"].insert(0, number)
    assert check(tmp_path, tables) == [of_document(document, "it has 21 attributes, not 20")]


def test_one_attribute_missing(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    document["text"] = document["text"].replace(f"{listed(document)[0]}, ", "")
    document["metadata"]["attributes"].pop(0)
    assert check(tmp_path, tables) == [of_document(document, "it has 19 attributes, not 20")]


def test_an_attribute_twice(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    first, second, *_ = listed(document)
    document["text"] = document["text"].replace(f"{first}, {second}", f"{first}, {first}")
    document["metadata"]["attributes"][1] = document["metadata"]["attributes"][0]
    assert check(tmp_path, tables) == [of_document(document, f"'{first}' stands 2 times")]


def test_another_template(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    document["text"] = document["text"].replace(" likes ", " loves ")
    assert [(rule, ids) for rule, ids, _ in check(tmp_path, tables)] == [
        ("limit-proof/document", [document["_id"]]),
        ("limit-proof/document", [document["_id"]]),
    ]


def test_metadata_of_other_attributes(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    document["metadata"]["attributes"].reverse()
    assert [(rule, ids) for rule, ids, _ in check(tmp_path, tables)] == [
        ("limit-proof/document", [document["_id"]])
    ]


def test_a_title(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    document["title"] = "Hello"
    assert check(tmp_path, tables) == [of_document(document, "its title is 'Hello', not empty")]


def test_no_text(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    document["text"] = ""
    assert ("empty-text", [document["_id"]], f"document {document['_id']} has no text") in check(
        tmp_path, tables
    )


def test_two_documents_of_one_name(tables: Tables, tmp_path: Path) -> None:
    one, other = distractor(tables), distractor(tables, 1)
    name = one["text"].partition(" likes ")[0]
    other["text"] = f"{name} likes {other['text'].partition(' likes ')[2]}"
    rows = [tables["corpus"].index(d) + 1 for d in (one, other)]
    assert check(tmp_path, tables) == [
        (
            "limit-proof/names",
            [one["_id"], other["_id"]],
            f"2 documents have the same name, apart from case, (rows {rows[0]}, {rows[1]})",
        )
    ]


def test_a_name_that_is_an_attribute(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    word = next(a for a in listed(document) if " " not in a)
    surname = document["text"].partition(" likes ")[0].rpartition(" ")[2]
    document["text"] = f"{word} {surname} likes {document['text'].partition(' likes ')[2]}"
    assert check(tmp_path, tables) == [
        (
            "limit-proof/names",
            [document["_id"]],
            f"document {document['_id']}: the first name {word!r} is a word of an attribute too",
        )
    ]


@pytest.mark.parametrize("after", ["x ", "-Marzipan ", " Maria ", ', fond of "Marzipan", '])
def test_a_changed_name(tables: Tables, tmp_path: Path, after: str) -> None:
    document = distractor(tables)
    document["text"] = document["text"].replace(" ", after, 1)
    assert [(rule, ids) for rule, ids, _ in check(tmp_path, tables)] == [
        ("limit-proof/names", [document["_id"]])
    ]


def test_attribute_ids_of_the_neighbour(tables: Tables, tmp_path: Path) -> None:
    one, other = tables["corpus"][:2]
    other["metadata"]["attributes"].insert(0, one["metadata"]["attributes"].pop())
    assert check(tmp_path, tables) == [
        (
            "limit-proof/document",
            [one["_id"], other["_id"]],
            f"document {one['_id']}: the attribute ids in its metadata are not those of its words "
            f"(1 more of this kind: {other['_id']})",
        )
    ]


def test_a_distractor_with_a_column(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    document["metadata"]["column"] = 3
    assert check(tmp_path, tables) == [
        of_document(
            document,
            "its metadata gives matrix column 3, but no query names it: that of a distractor is -1",
        )
    ]


def test_rows_that_are_all_the_same(tables: Tables, tmp_path: Path) -> None:
    for query in tables["queries"]:
        query["metadata"]["row"] = 0
    errors = check(tmp_path, tables)
    assert [rule for rule, _, _ in errors] == ["limit-proof/coordinates"]
    assert len(errors[0][1]) == 100  # the first has the row to itself, in pairs with 99 others
    assert "(98 more of this kind: " in errors[0][2]


def test_metadata_of_other_types(tables: Tables, tmp_path: Path) -> None:
    _, document = relevant(tables)
    document["metadata"]["column"] = "x"
    tables["queries"][0]["metadata"]["row"] = [1]
    errors = {(rule, *ids) for rule, ids, _ in check(tmp_path, tables)}
    assert ("limit-proof/coordinates", document["_id"]) in errors
    assert ("limit-proof/coordinates", tables["queries"][0]["_id"]) in errors


def test_an_id_that_tells(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    document["_id"] = "no1"
    assert check(tmp_path, tables) == [
        (
            "limit-proof/document",
            ["no1"],
            "document no1: its id is not 'd' and digits, so it may reveal something",
        )
    ]


def test_a_file_that_the_manifest_does_not_know(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "run")
    (tmp_path / "run" / "dataset" / "qrels.dev.jsonl").write_text("")
    assert [(f.rule, f.ids) for f in validate(tmp_path / "run").findings] == [
        ("manifest", ["dataset/qrels.dev.jsonl"])
    ]


def test_a_document_twice(tables: Tables, tmp_path: Path) -> None:
    document = distractor(tables)
    tables["corpus"].append(document)
    row = tables["corpus"].index(document) + 1
    rules = [(rule, ids) for rule, ids, _ in check(tmp_path, tables)]
    assert ("duplicate-id", [document["_id"]] * 2) in rules
    assert ("limit-proof/names", [document["_id"]] * 2) in rules
    assert ("limit-proof/counts", []) in rules
    assert row < 401


def test_a_document_missing(tables: Tables, tmp_path: Path) -> None:
    tables["corpus"].remove(distractor(tables))
    assert check(tmp_path, tables) == [
        ("limit-proof/counts", [], "399 documents, the recipe says 400")
    ]


def test_positives_in_front(tables: Tables, tmp_path: Path) -> None:
    tables["corpus"].sort(key=lambda d: d["metadata"]["column"] < 0)
    errors = check(tmp_path, tables)
    assert [rule for rule, _, _ in errors] == ["order-leak"]
    assert sorted(errors[0][1]) == sorted({q["corpus-id"] for q in tables["qrels"]})


def test_columns_swapped_for_a_distractor(tables: Tables, tmp_path: Path) -> None:
    _, document = relevant(tables)
    document["metadata"]["column"] = -1
    assert check(tmp_path, tables) == [
        (
            "limit-proof/coordinates",
            [document["_id"]],
            f"the metadata of document {document['_id']} gives matrix column -1 to a relevant "
            "document",
        )
    ]


# --- queries and qrels --------------------------------------------------------------------------


def test_a_qrel_missing(tables: Tables, tmp_path: Path) -> None:
    lost = tables["qrels"].pop(0)
    query_id, doc_id = lost["query-id"], lost["corpus-id"]
    kept = tables["qrels"][0]["corpus-id"]
    assert check(tmp_path, tables) == [
        (
            "limit-proof/qrels",
            [query_id, doc_id],
            f"document {doc_id} holds what query {query_id} asks for, but qrels does not say that "
            "it is relevant",
        ),
        (
            "limit-proof/row-sum",
            [query_id, kept],
            f"query {query_id} has 1 relevant documents, not 2",
        ),
    ]


def test_a_qrel_to_another_document(tables: Tables, tmp_path: Path) -> None:
    row, other = tables["qrels"][0], distractor(tables)["_id"]
    was, row["corpus-id"] = row["corpus-id"], other
    results = [(rule, ids) for rule, ids, _ in check(tmp_path, tables)]
    assert results == [
        ("limit-proof/qrels", [row["query-id"], was]),
        ("limit-proof/qrels", [row["query-id"], other]),
        ("limit-proof/structure", []),
    ]


def test_a_qrel_twice(tables: Tables, tmp_path: Path) -> None:
    row = tables["qrels"][0]
    tables["qrels"].append(dict(row))
    rules = [(rule, ids) for rule, ids, _ in check(tmp_path, tables)]
    assert ("duplicate-qrel", [row["query-id"], row["corpus-id"]]) in rules


def test_a_qrel_to_nowhere(tables: Tables, tmp_path: Path) -> None:
    query_id = tables["queries"][0]["_id"]
    tables["qrels"].append({"query-id": query_id, "corpus-id": "gone", "score": 1})
    assert (
        "dangling-qrel",
        [query_id, "gone"],
        f"the qrel ({query_id}, gone) names document gone, which does not exist",
    ) in check(tmp_path, tables)


@pytest.mark.parametrize(("score", "rule"), [(2, "limit-proof/relevance"), (-1, "score-range")])
def test_a_wrong_score(tables: Tables, tmp_path: Path, score: int, rule: str) -> None:
    row = tables["qrels"][0]
    row["score"] = score
    assert (rule, [row["query-id"], row["corpus-id"]]) in [
        (result, ids) for result, ids, _ in check(tmp_path, tables)
    ]


def test_a_query_missing(tables: Tables, tmp_path: Path) -> None:
    lost = tables["queries"].pop(0)
    errors = check(tmp_path, tables)
    assert ("limit-proof/counts", [], "99 queries, the recipe says 100") in errors
    documents = [q["corpus-id"] for q in tables["qrels"] if q["query-id"] == lost["_id"]]
    assert ("dangling-qrel", [lost["_id"], *documents]) in [(rule, ids) for rule, ids, _ in errors]


def test_a_query_for_something_else(tables: Tables, tmp_path: Path) -> None:
    query = tables["queries"][0]
    query["text"] = "Who likes Unicorns of Mars?"
    errors = check(tmp_path, tables)
    assert errors[0] == (
        "limit-proof/query",
        [query["_id"]],
        f"query {query['_id']}: 'Unicorns of Mars' is no attribute of the catalogue's part that "
        "the recipe uses",
    )


def test_two_queries_for_the_same(tables: Tables, tmp_path: Path) -> None:
    first, second = tables["queries"][:2]
    second["text"], second["metadata"] = first["text"], first["metadata"]
    errors = check(tmp_path, tables)
    assert (
        "limit-proof/query",
        [first["_id"], second["_id"]],
        f"queries {first['_id']} and {second['_id']} ask for the same",
    ) in errors
    assert ("duplicate-query", [first["_id"], second["_id"]]) in [e[:2] for e in errors]


def test_a_line_that_is_not_json(good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "run")
    path = tmp_path / "run" / "dataset" / "corpus.jsonl"
    lines = path.read_text().splitlines()
    lines[6] = lines[6][:-5]
    path.write_text("\n".join(lines) + "\n")
    findings = validate(tmp_path / "run").findings
    assert ("schema", ["corpus.jsonl:7"], "corpus.jsonl, line 7: is not JSON") in [
        (f.rule, f.ids, f.message) for f in findings
    ]


def test_every_change_is_seen_by_the_manifest(
    good: Path, tmp_path: Path, gen: Callable[..., Any]
) -> None:
    shutil.copytree(good, tmp_path / "run")
    path = tmp_path / "run" / "dataset" / "README.md"
    path.write_text(path.read_text() + "\n")
    validation = validate(tmp_path / "run")
    assert [(f.rule, f.ids, f.message) for f in validation.findings] == [
        (
            "manifest",
            ["dataset/README.md"],
            "dataset/README.md is not the file that the manifest describes",
        ),
        ("derived", ["dataset/README.md"], "dataset/README.md: line 104 must not be there"),
    ]
    assert gen("validate", "run").returncode == 1


# --- lists of attributes as a whole -------------------------------------------------------------


def relist(document: dict[str, Any], attributes: list[str], numbers: list[int]) -> None:
    name = document["text"].partition(" likes ")[0]
    *most, last = attributes
    document["text"] = f"{name} likes {', '.join(most)} and {last}."
    document["metadata"]["attributes"] = numbers


def test_distractors_that_are_equal_but_for_the_name(tables: Tables, tmp_path: Path) -> None:
    model = distractor(tables)
    pairs = list(zip(listed(model), model["metadata"]["attributes"], strict=True))
    clones = [d for d in tables["corpus"] if d["metadata"]["column"] < 0]
    for i, document in enumerate(clones):
        turned = pairs[i % 20 :] + pairs[: i % 20]  # in another order each
        relist(document, [a for a, _ in turned], [n for _, n in turned])
    assert check(tmp_path, tables) == [
        (
            "limit-proof/twins",
            [document["_id"] for document in clones],
            "385 of 400 documents have the attributes of another one, in 1 group; the largest, of "
            f"385, begins with {clones[0]['_id']} and {clones[1]['_id']}",
        )
    ]


def test_few_attributes_agree_by_chance(tmp_path: Path) -> None:
    """2,000 documents of one attribute each, of which the catalogue has too few."""
    (tmp_path / "one.yaml").write_text(
        "name: one\nfamily: limit\n"
        "params: {pattern: disjoint, docs: 2000, queries: 5, k: 1, attributes_per_doc: 1}\n"
    )
    path = run(tmp_path / "one.yaml", out=tmp_path / "run").path
    assert validate(path).findings == []
    held = [row["metadata"]["attributes"][0] for row in read_jsonl(path / "dataset/corpus.jsonl")]
    assert len(set(held)) == 1340


@pytest.mark.parametrize(("first", "where"), [(True, "in front of"), (False, "behind")])
def test_asked_attributes_at_one_end(
    tables: Tables, tmp_path: Path, first: bool, where: str
) -> None:
    wanted = {asked(query) for query in tables["queries"]}
    holders = []
    for document in tables["corpus"]:
        pairs = list(zip(listed(document), document["metadata"]["attributes"], strict=True))
        if any(a in wanted for a, _ in pairs):
            holders.append(document["_id"])
            pairs.sort(key=lambda pair: (pair[0] in wanted) is not first)
            relist(document, [a for a, _ in pairs], [n for _, n in pairs])
    [(rule, ids, message)] = check(tmp_path, tables)
    assert (rule, ids) == ("limit-proof/places", holders)
    assert message.startswith(
        f"attributes that queries ask for stand {where} the others of their document (p = "
    )


def test_metadata_that_holds_more(tables: Tables, tmp_path: Path) -> None:
    query, document = relevant(tables)
    document["metadata"]["of"] = query["_id"]
    assert check(tmp_path, tables) == [
        of_document(document, "its metadata holds more than attributes and column")
    ]


def test_a_column_that_names_the_query(tables: Tables, tmp_path: Path) -> None:
    documents = {document["_id"]: document for document in tables["corpus"]}
    named = {qrel["corpus-id"]: qrel["query-id"] for qrel in tables["qrels"]}
    for doc_id, query_id in named.items():
        documents[doc_id]["note"] = query_id
    [(rule, ids, message)] = check(tmp_path, tables)
    assert (rule, set(ids)) == ("answer-leak", named.keys() | set(named.values()))
    count = len(set(named.values()))
    assert message.startswith(
        f"the column note of the documents tells what is relevant to {count} of 100 queries "
    )
