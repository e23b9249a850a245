"""The proof finds every planted defect and names the records."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retgen import run, validate
from tests.conftest import SMALL, read_jsonl
from tests.validators.limit_run import Row, Spoilt, listed, numbered, relist


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "small.yaml").write_text(SMALL)
    return run(folder / "small.yaml", out=folder / "run").path


class Made(Spoilt):
    """The tables of a good run, to be spoilt, and the records that the cases spoil."""

    def __init__(self, good: Path, folder: Path) -> None:
        super().__init__(good, folder)
        self.distractors = [d for d in self.corpus if d["metadata"]["column"] < 0]
        self.d0, self.d1 = self.distractors[:2]
        self.q0, self.q1 = self.queries[:2]
        assert self.qrels[0]["query-id"] == self.q0["_id"]
        relevant = list(dict.fromkeys(row["corpus-id"] for row in self.qrels))
        self.a0 = listed(self.d0)[0]  # an attribute
        self.names = {row["_id"]: f"q{i}" for i, row in enumerate(self.queries)}
        self.names |= {row["_id"]: f"d{i}" for i, row in enumerate(self.distractors)}
        self.names |= {doc_id: f"r{i}" for i, doc_id in enumerate(relevant)}

    def named(self, text: str) -> str:
        """A text with names instead of ids: distractors d0, d1, relevant documents r0, queries q0."""
        return re.sub(r"\b[dq]\d{7}\b", lambda found: self.names[found[0]], text)

    def sentences(self) -> list[str]:
        """What was found: `rule ids: message`, the record not named twice."""
        result = []
        for rule, ids, message in self.found():
            who = " ".join(ids)
            said = message.removeprefix(f"document {who}: ").removeprefix(f"query {who}: ")
            result.append(self.named(f"{rule.removeprefix('limit-proof/')} {who}: {said}"))
        return result


@pytest.fixture
def made(good: Path, tmp_path: Path) -> Made:
    return Made(good, tmp_path)


def asked(query: Row) -> str:
    return str(query["text"].removeprefix("Who likes ").removesuffix("?"))


def change(document: Row, old: str, new: str) -> None:
    document["text"] = document["text"].replace(old, new, 1)


def one_more(made: Made) -> None:
    extra = next(pair for pair in numbered(made.d1) if pair[0] not in listed(made.d0))
    relist(made.d0, [extra, *numbered(made.d0)])


def name_of_an_attribute(made: Made) -> None:
    word = next(attribute for attribute in listed(made.d0) if " " not in attribute)
    change(made.d0, made.d0["text"].partition(" ")[0], word)


CASES: dict[str, tuple[Callable[[Made], Any], list[str]]] = {
    "another word": (
        lambda m: change(m.d0, m.a0, f"{m.a0}x"),
        [
            "document d0: '{0}x' is no attribute of the catalogue's part that the recipe uses",
            "document d0: the attribute ids in its metadata are not those of its words",
        ],
    ),
    "an asked attribute": (
        lambda m: relist(
            m.d0, [(asked(m.q0), m.q0["metadata"]["attributes"][0]), *numbered(m.d0)[1:]]
        ),
        [
            "qrels q0 d0: document d0 holds what query q0 asks for, but qrels does not say that it is"
            " relevant"
        ],
    ),
    "one more": (one_more, ["document d0: it has 21 attributes, not 20"]),
    "ids in another order": (
        lambda m: m.d0["metadata"]["attributes"].reverse(),
        ["document d0: the attribute ids in its metadata are not those of its words"],
    ),
    "a name of an attribute": (
        name_of_an_attribute,
        ["names d0: the first name '{0}' is a word of an attribute too"],
    ),
    "a word in a first name": (
        lambda m: change(m.d0, " ", "-Marzipan "),
        ["names d0: 'Pepita-Marzipan' is no first name"],
    ),
    "a column of a distractor": (
        lambda m: m.d0["metadata"].update(column=3),
        [
            "document d0: its metadata gives matrix column 3, but no query names it: that of a "
            "distractor is -1"
        ],
    ),
    "a document twice": (
        lambda m: m.corpus.append(m.d0),
        [
            "duplicate-id d0 d0: 2 documents have the same _id (rows 1, 401)",
            "counts : 401 documents, the recipe says 400",
            "twins d0 d0: 2 of 401 documents have the attributes of another one, in 1 group; the "
            "largest, of 2, begins with d0 and d0",
            "names d0 d0: 2 documents have the same name, apart from case, (rows 1, 401)",
        ],
    ),
    "a qrel missing": (
        lambda m: m.qrels.pop(0),
        [
            "qrels q0 r0: document r0 holds what query q0 asks for, but qrels does not say that it is",
            "row-sum q0 r1: query q0 has 1 relevant documents, not 2",
        ],
    ),
    "a qrel to another document": (
        lambda m: m.qrels[0].update({"corpus-id": m.d0["_id"]}),
        [
            "qrels q0 r0: document r0 holds what query q0 asks for, but qrels does not say that it is",
            "qrels q0 d0: qrels says that document d0 is relevant to query q0, but its text does not",
            "structure : 16 documents are relevant to some query, the pattern has 15",
        ],
    ),
    "a qrel twice": (
        lambda m: m.qrels.append(dict(m.qrels[0])),
        [
            "duplicate-qrel q0 r0: the pair (q0, r0) is judged more than once",
            "row-sum q0 r0 r1 r0: query q0 has 3 relevant documents, not 2",
        ],
    ),
    "a score of 2": (
        lambda m: m.qrels[0].update(score=2),
        ["relevance q0 r0: the relevance of (q0, r0) is 2; in this family it is 0 or 1"],
    ),
    "a query for something else": (
        lambda m: m.q0.update(text="Who likes Unicorns of Mars?"),
        [
            "query q0: 'Unicorns of Mars' is no attribute of the catalogue's part that the recipe "
            "uses"
        ],
    ),
    "two queries for the same": (
        lambda m: m.q1.update(text=m.q0["text"], metadata=m.q0["metadata"]),
        [
            "duplicate-query q0 q1: 2 queries have the same text (rows 1, 2)",
            "query q0 q1: queries q0 and q1 ask for the same",
            "qrels q1 r1: document r1 holds what query q1 asks for, but qrels does not say that it is",
            "qrels q1 r0: document r0 holds what query q1 asks for, but qrels does not say that it is",
            "qrels q1 r2: qrels says that document r2 is relevant to query q1, but its text does not",
            "qrels q1 r3: qrels says that document r3 is relevant to query q1, but its text does not",
            "twin-queries q0 q1: queries q0 and q1 have the same relevant documents",
        ],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_whatever_is_spoilt_is_found(made: Made, case: str) -> None:
    """All of it, in order: `rule ids: message`, or how that begins; `limit-proof/` left out."""
    spoil, expected = CASES[case]
    expected = [one.format(made.a0) for one in expected]
    spoil(made)
    found = made.sentences()
    assert [one[: len(e)] for one, e in zip(found, expected, strict=False)] == expected
    assert len(found) == len(expected), found


def test_the_good_set_is_good(good: Path) -> None:
    validation = validate(good)
    assert (validation.ok, validation.proven, validation.findings) == (True, 200, [])


def test_distractors_that_are_equal_but_for_the_name(made: Made) -> None:
    pairs = numbered(made.d0)
    for i, document in enumerate(made.distractors):
        relist(document, pairs[i % 20 :] + pairs[: i % 20])  # in another order each
    [(rule, ids, message)] = made.found()
    assert (rule, ids) == ("limit-proof/twins", [one["_id"] for one in made.distractors])
    assert made.named(message) == (
        "385 of 400 documents have the attributes of another one, in 1 group; the largest, of 385, "
        "begins with d0 and d1"
    )


@pytest.mark.parametrize(("first", "where"), [(True, "in front of"), (False, "behind")])
def test_asked_attributes_at_one_end(made: Made, first: bool, where: str) -> None:
    wanted = {asked(query) for query in made.queries}
    holders = [one for one in made.corpus if wanted & {*listed(one)}]
    for document in holders:
        relist(document, sorted(numbered(document), key=lambda one: (one[0] in wanted) != first))
    [(rule, ids, message)] = made.found()
    assert (rule, ids) == ("limit-proof/places", [one["_id"] for one in holders])
    assert message.startswith(
        f"attributes that queries ask for stand {where} the others of their document (p = "
    )


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
