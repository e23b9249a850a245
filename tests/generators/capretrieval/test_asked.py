"""Queries that users asked: read, and followed by what rules write."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retgen import plan, run
from retgen.agents.report import Rejection
from retgen.errors import RecipeError, RunDirectoryError
from retgen.generators.capretrieval.asked import (
    asked_queries,
    describe_forms,
    form,
    like_asked,
    without_asked,
)
from retgen.generators.capretrieval.passages import Passage
from retgen.generators.capretrieval.queries import PassageQuery
from tests.conftest import read_jsonl
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows

ASKED = ["windmill flour", "How often do boats come?", "windmill flour", "copper pans for sauces"]


def passages(count: int) -> list[Passage]:
    return [Passage(f"d{n}", f"d{n}", 0, 4, "", "text", "en") for n in range(count)]


def query(text: str, passage: int, score: float = 0.5, evidence: str = "rules") -> PassageQuery:
    return PassageQuery(text, "phrase", passage, (0, 4), evidence, score)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("windmill", (1, False)),
        ("red kite", (2, False)),
        ("How are kites made", (4, True)),
        ("kites?", (1, True)),
        ("风筝是什么？", (5, True)),
        ("C++", (1, False)),
        ("howling wind", (2, False)),
    ],
)
def test_a_form_is_the_length_and_whether_it_is_a_question(
    text: str, expected: tuple[int, bool]
) -> None:
    assert form(text) == expected


def test_every_row_is_read_repeated_ones_too(tmp_path: Path) -> None:
    """A table with columns for answers too; ids and texts that come twice."""
    rows = [
        {"id": n // 2, "query": f" {text}\n", "answer": "a text that is longer than any query"}
        for n, text in enumerate(ASKED)
    ]
    files = {
        "a.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "a.csv": ("query,answer\n" + "".join(f"{one},no\n" for one in ASKED)).encode(),
        "a.txt": ("\n\n".join(ASKED) + "\n").encode("utf-16"),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    pq.write_table(pa.table({"text": ASKED, "n": [1, 2, 3, 4]}), tmp_path / "a.parquet")
    for name in (*files, "a.parquet"):
        assert asked_queries(tmp_path / name) == tuple(ASKED), name


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.pdf",
            "x",
            "PATH is none of .jsonl, .json, .csv, .tsv, .parquet, .txt: give one query a "
            "row, or one a line of .txt",
        ),
        (
            "a.jsonl",
            '{"typed": "kite"}\n',
            "PATH has no column query, question or text: call that of the queries so",
        ),
        (
            "a.csv",
            "typed,query\n",
            "PATH holds no query: give one query a row, or one a line of .txt.",
        ),
        ("a.jsonl", "", "PATH holds no query: give one query a row, or one a line of .txt."),
        (
            "a.jsonl",
            '{"text": " "}\n',
            "PATH holds no query: give one query a row, or one a "
            "line of .txt. Refused are 1 by source/empty, the first at "
            "a.jsonl:1: the column 'text' is empty.",
        ),
        (
            "a.txt",
            "\n",
            "PATH holds no query: give one query a row, or one a line of .txt. Refused "
            "are 1 by source/empty, the first at a.txt: the file is empty.",
        ),
    ],
)
def test_a_file_without_queries_is_one_error(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(RecipeError) as caught:
        asked_queries(path)
    assert str(caught.value) == f"params.queries.like: {message.replace('PATH', str(path))}"


def test_a_file_that_is_not_there_is_named_with_its_key(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "kb.jsonl", TEXTS)
    recipe = write_recipe(tmp_path / "kb.yaml", source, "  queries: {like: no.txt}\n")
    with pytest.raises(RecipeError) as caught:
        plan(recipe)
    message = f"params.queries.like: there is no file {tmp_path / 'no.txt'}"
    assert message in str(caught.value)


def test_what_rules_write_has_the_ratio_of_the_sample() -> None:
    """Of 60 drafts of 1 to 3 words half are kept: a third of one word, two thirds of three."""
    drafts = [
        query(" ".join(["word"] * words), passage, score=score / 10)
        for passage in range(10)
        for words in (1, 2, 3)
        for score in (1, 2)
    ]
    asked = ["a", "a b c", "a b c"]
    rejected: list[Rejection] = []
    kept = like_asked(drafts, passages(10), asked, 0.5, rejected)
    # for 20 of three words there are 20; for 10 of one word the best of each document
    assert Counter(form(one.text)[0] for one in kept) == {1: 10, 3: 20}
    assert {one.score for one in kept if one.text == "word"} == {0.2}
    assert Counter((one.rule, one.reason) for one in rejected) == {
        ("query/like", "enough others have its length"): 30
    }


def test_near_lengths_stand_in_and_where_none_is_near_fewer_are_kept() -> None:
    drafts = [query("one two", n) for n in range(4)] + [query("one", n) for n in range(4)]
    assert list(like_asked(drafts, passages(4), ["a b c"], 0.5, [])) == drafts[:4]
    more = [*drafts, query("What are one two three", 0)]
    # no rule writes 20 words: of each document the longest stays, a question less than a phrase
    twenty = [" ".join("abcdefghijklmnopqrst")]
    assert list(like_asked(more, passages(4), twenty, 0.5, [])) == drafts[:4]


def test_what_people_and_models_wrote_stays_and_counts() -> None:
    found = [query("one two", n, evidence="found") for n in range(4)]
    drafts = [query("three four", n) for n in range(4)] + [query("five", n) for n in range(4)]
    kept = like_asked([*found, *drafts], passages(4), ["a b", "a"], 0.5, [])
    # 8 in all: the 4 found ones have their half of two words
    assert list(kept) == [*found, *drafts[4:]]


def test_a_text_of_the_sample_is_no_query() -> None:
    rejected: list[Rejection] = []
    queries = [query("Red  Kite", 0, evidence="found"), query("kite", 0)]
    assert list(without_asked(queries, passages(1), ["red kite"], rejected)) == queries[1:]
    assert rejected == [
        Rejection(
            "query/asked",
            "users asked it: it is of the sample",
            {"passage": "d0", "set": "found", "kind": "phrase", "text": "Red  Kite"},
        )
    ]


def test_a_run_says_what_the_sample_looked_like_and_what_came_out(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "kb.jsonl", TEXTS)
    (tmp_path / "asked.txt").write_text("\n".join(ASKED))
    recipe = write_recipe(tmp_path / "kb.yaml", source, "  queries: {like: asked.txt}\n")
    sample = "queries follow asked.txt: 4 queries, median 3 words, 25% questions"
    assert sample in plan(recipe).notes
    result = run(recipe, out=tmp_path / "run")
    texts = [row["text"] for row in read_jsonl(tmp_path / "run" / "dataset" / "queries.jsonl")]
    assert "windmill flour" not in texts
    assert result.manifest["notes"]["like"] == f"{sample}; written: {describe_forms(texts)}"
    card = (tmp_path / "run" / "dataset" / "README.md").read_text()
    assert sample in card
    assert (tmp_path / "run" / "inputs" / "asked.txt").is_file()
    # another sample is another recipe
    (tmp_path / "asked.txt").write_text("kite\n")
    with pytest.raises(RunDirectoryError) as caught:
        run(recipe, out=tmp_path / "run")
    assert "it differs in inputs/asked.txt." in str(caught.value)
