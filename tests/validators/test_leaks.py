"""What tells the relevant documents beside their texts: ids and their order, columns, places of words."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from retgen.data import Qrel, Query
from retgen.validation.validate import validate
from retgen.validators.rule import Batch, Judgements
from retgen.validators.rules.leaks import AnswerLeak

Rows = list[dict[str, Any]]
RULES = ("order-leak", "answer-leak")


class Tables:
    """400 documents, 40 queries with one relevant document each, and nothing that tells them."""

    def __init__(self) -> None:
        draw = random.Random(5)
        numbers = draw.sample(range(10_000_000, 99_999_999), 440)
        words = [f"word{i}" for i in range(200)]
        self.documents: Rows = [
            {"_id": f"d{n}", "title": "", "text": " ".join(draw.sample(words, 20))}
            for n in numbers[:400]
        ]
        self.relevant = draw.sample(range(400), 40)
        self.queries: Rows = []
        for n, place in zip(numbers[400:], self.relevant, strict=True):
            asked = draw.sample(self.documents[place]["text"].split(), 4)
            self.queries.append({"_id": f"q{n}", "text": " ".join(asked)})

    def findings_in(self, folder: Path) -> list[tuple[str, list[str], str]]:
        qrels = [
            {"query-id": query["_id"], "corpus-id": self.documents[place]["_id"], "score": 1}
            for query, place in zip(self.queries, self.relevant, strict=True)
        ]
        tables = {"corpus": self.documents, "queries": self.queries, "qrels": qrels}
        for name, rows in tables.items():
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{name}.jsonl").write_text(lines)
        return [(f.rule, f.ids, f.message) for f in validate(folder).findings if f.rule in RULES]

    def pairs(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        return [(q, self.documents[i]) for q, i in zip(self.queries, self.relevant, strict=True)]

    def name(self, names: Callable[[int], str]) -> None:
        """Give relevant documents the first numbers, in random order, and then the others."""
        order = random.Random(9).sample(self.relevant, 40)
        order += [i for i in random.Random(8).sample(range(400), 400) if i not in set(order)]
        for number, place in enumerate(order):
            self.documents[place]["_id"] = names(number)


@pytest.fixture
def tables() -> Tables:
    return Tables()


def test_nothing_tells(tables: Tables, tmp_path: Path) -> None:
    assert tables.findings_in(tmp_path) == []


# --- the order of ids ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "median"),
    [
        (lambda i: f"x{999 - i}", "95.0%"),
        (lambda i: f"x{100 + i}", "5.0%"),
        # as strings the numbers 1 to 40 are spread over those up to 400; as numbers they are first
        (lambda i: str(1 + i), "5.0%"),
        (lambda i: f"\u00e9{i:03}", "5.0%"),
        (lambda i: f"{chr(97 + i // 20)}-{chr(97 + i % 20)}", "5.0%"),
    ],
)
def test_ids_in_order(
    tables: Tables, tmp_path: Path, names: Callable[[int], str], median: str
) -> None:
    tables.name(names)
    [(rule, ids, message)] = tables.findings_in(tmp_path)
    assert rule == "order-leak"
    assert set(ids) == {document["_id"] for _, document in tables.pairs()}
    assert message.startswith(
        "the 40 relevant documents do not stand where chance would put them among 400 in the order "
        f"of ids (median at {median}, p = "
    )
    assert message.endswith("ties by id finds them; give documents ids at random")


def test_queries_and_documents_run_in_the_order_of_ids(tables: Tables, tmp_path: Path) -> None:
    ordered = sorted(tables.pairs(), key=lambda pair: pair[0]["_id"])
    names = sorted(document["_id"] for document in tables.documents)
    for i, (_, document) in enumerate(ordered):
        other = next(d for d in tables.documents if d["_id"] == names[i * 10])
        other["_id"], document["_id"] = document["_id"], other["_id"]
    [(rule, ids, message)] = tables.findings_in(tmp_path)
    assert (rule, sorted(ids)) == ("order-leak", sorted(q["_id"] for q in tables.queries))
    assert message.startswith(
        "queries in the order of ids have their relevant documents in the order of ids (Spearman "
        "1.00 over 40 queries, p = "
    )


# --- ids and columns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda q, d: q.update(_id=f"{d['_id']}-q"),
        lambda q, d: q.update(_id=f"q{int(d['_id'][1:]):012}"),
        lambda q, d: d.update(_id=f"answers/{q['_id']}/1"),
        lambda q, d: q.update(_id=d["_id"]),
    ],
)
def test_ids_that_hold_the_answer(
    tables: Tables, tmp_path: Path, change: Callable[[Any, Any], None]
) -> None:
    for query, document in tables.pairs()[:15]:
        change(query, document)
    findings = [row for row in tables.findings_in(tmp_path) if row[0] == "answer-leak"]
    query, document = tables.queries[0]["_id"], tables.documents[tables.relevant[0]]["_id"]
    assert [message for _, _, message in findings] == [
        "the ids of 15 of 40 queries have a part in common with that of a relevant document "
        f"({query} and {document}, for one), chance gives 0.4: give queries and documents ids that "
        "say nothing"
    ]
    assert set(findings[0][1]) == {row["_id"] for pair in tables.pairs()[:15] for row in pair}


Change = Callable[[Any, Any, int], None]


@pytest.mark.parametrize(
    ("change", "column", "other"),
    [
        (lambda q, d, n: q.update(metadata={"a": [{"from": d["_id"]}]}), "metadata.a.from", "_id"),
        (lambda q, d, n: q.update(answer=d["text"]), "answer", "text"),
        (lambda q, d, n: q.update(source=f"https://host/{d['_id']}?x"), "source", "_id"),
        (lambda q, d, n: d.update(metadata={"for": q["_id"]}), "_id", "metadata.for"),
        (lambda q, d, n: d.update(question=q["text"]), "text", "question"),
        # keys that both tables have
        (lambda q, d, n: (q.update(at=f"h/{n}.html"), d.update(url=f"h/{n}.html")), "at", "url"),
        (
            lambda q, d, n: (q.update(page=f"Page {n}"), d.update(title=f"Page {n}")),
            "page",
            "title",
        ),
    ],
)
def test_columns_that_hold_the_answer(
    tables: Tables, tmp_path: Path, change: Change, column: str, other: str
) -> None:
    for number, (query, document) in enumerate(tables.pairs()[:10]):
        change(query, document, 7919 * number)
    [(rule, ids, message)] = tables.findings_in(tmp_path)
    assert rule == "answer-leak"
    assert set(ids) == {row["_id"] for pair in tables.pairs()[:10] for row in pair}
    assert message.startswith(
        f"10 of 40 queries share a value of their column {column} with the column {other} of "
        "relevant documents, and with that of 0 others ("
    )
    assert message.endswith("leave both columns out of what a retriever or a model is shown")


def test_columns_that_honest_sets_have(tables: Tables, tmp_path: Path) -> None:
    """Languages, categories, sources: shared by a query with very many documents."""
    for place, document in enumerate(tables.documents):
        document.update(language=("en", "de")[place % 2], category=f"c{place % 20}", source="wiki")
        document["title"] = f"Title of {place}"
    for place, (query, _) in zip(tables.relevant, tables.pairs(), strict=True):
        query.update(language=("en", "de")[place % 2], category=f"c{place % 20}", source="wiki")
    assert tables.findings_in(tmp_path) == []


def test_what_the_query_asks_for_is_no_secret_of_a_column(tables: Tables, tmp_path: Path) -> None:
    for number, (query, document) in enumerate(tables.pairs()):
        query.update(text=f"{query['text']} by Author{number}", author=f"author{number}")
        document["author"] = f"author{number}"
    assert tables.findings_in(tmp_path) == []


@pytest.mark.parametrize(("column", "others"), [("metadata.kind", 0), ("title", 0), ("title", 2)])
def test_a_value_that_marks_relevant_documents(
    tables: Tables, tmp_path: Path, column: str, others: int
) -> None:
    """Other documents have a value each, too many to be counted in one look."""
    plain = [place for place in range(400) if place not in tables.relevant][:others]
    for place, document in enumerate(tables.documents):
        value = "GOLD" if place in [*tables.relevant, *plain] else f"Page {place}"
        document.update({"title": value} if column == "title" else {"metadata": {"kind": value}})
    ids = sorted(tables.documents[place]["_id"] for place in tables.relevant)
    some = f"in {others}" if others else "in no"
    message = (
        f"the column {column} of the documents is 'GOLD' in 40 of 40 relevant documents and {some} "
        "other, of which there are 360: leave it out of what a retriever or a model is shown"
    )
    assert tables.findings_in(tmp_path) == [("answer-leak", ids, message)]


def test_titles_of_very_many_relevant_documents_take_no_longer_each() -> None:
    """Each of 20,000 has a title of its own, and none is forgotten."""
    count = 20_000
    qrels = [Qrel(f"q{i}", f"d{i}", 1) for i in range(count)]
    rule = AnswerLeak(Judgements([Query(f"q{i}", "what") for i in range(count)], qrels))
    ids, titles = [f"d{i}" for i in range(count)], [f"Title {i}" for i in range(count)]
    nothing: list[None] = [None] * count
    started = process_time()
    rule.scan(Batch(0, ids, titles, ["text"] * count, nothing, nothing))
    assert process_time() - started < 10  # looking through all of them for each takes minutes
    assert rule.state.marks["title", "Title", True] == count
