"""Scores by a column of the queries, and against BM25 query by query."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen.errors import UsageError
from retgen.evaluation.scoring.analyses import Analyses
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import text as text_of
from tests.pages import Read

BOATS = Path(__file__).parents[2] / "facts"
CORPUS = {"a": "ash", "b": "birch", "c": "cedar", "d": "date", "e": "elm", "f": "fir"}
WORDS = {"q1": "ash", "q2": "birch", "q3": "cedar", "q4": "date", "q5": "elm", "q6": "fir"}
QRELS = [(f"q{i}", doc, 1) for i, doc in enumerate(CORPUS, start=1)]
# bm25 finds all of them but q6, whose word is another one
QUERIES: dict[str, dict[str, Any]] = {
    "q1": {"text": "ash", "metadata": {"kind": "keyword"}},
    "q2": {"text": "birch", "metadata": {"kind": "keyword"}},
    "q3": {"text": "cedar", "metadata": {"kind": "keyword"}},
    "q4": {"text": "date", "metadata": {"kind": "question"}},
    "q5": {"text": "elm", "metadata": {"kind": "question"}},
    "q6": {"text": "oak", "metadata": {}},
}
SECOND = 1 / math.log2(3)


def analysed(path: Path, tmp_path: Path, *by: str, **given: Any) -> Any:
    return evaluate(path, out=tmp_path / "out", analyses=Analyses(by=by), **given)


def test_scores_by_value_and_shares_against_bm25(with_columns, trec, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = with_columns(CORPUS, QUERIES, QRELS)
    run = trec("mine", {"q1": "a", "q2": "a b", "q3": "c", "q4": "d", "q5": "a", "q6": "f"})
    result = analysed(path, tmp_path, "kind", models=["bm25"], runs=[run], metrics=["nDCG@2"])
    by = result.to_json()["by"]["kind"]
    assert (by["measure"], by["reference"], by["tolerance"]) == ("nDCG@2", "bm25", 0.01)
    rows = {(row["value"], row["model"]): row for row in by["results"]}
    assert [(value, rows[value, "mine"]["queries"]) for value, _ in rows if _ == "mine"] == [
        ("keyword", 3),
        ("question", 2),
        ("(none)", 1),
        ("all queries", 6),
    ]
    scores = {key: row["metrics"]["nDCG@2"] for key, row in rows.items()}
    assert scores == pytest.approx(
        {
            ("keyword", "mine"): (2 + SECOND) / 3,
            ("keyword", "bm25"): 1.0,
            ("question", "mine"): 0.5,
            ("question", "bm25"): 1.0,
            ("(none)", "mine"): 1.0,
            ("(none)", "bm25"): 0.0,
            ("all queries", "mine"): (4 + SECOND) / 6,
            ("all queries", "bm25"): 5 / 6,
        }
    )
    shares = {
        value: [rows[value, "mine"][name] for name in ("better", "worse", "equal")]
        for value in ("keyword", "question", "(none)", "all queries")
    }
    assert shares == {
        "keyword": [0.0, 1 / 3, 2 / 3],
        "question": [0.0, 0.5, 0.5],
        "(none)": [1.0, 0.0, 0.0],
        "all queries": [1 / 6, 2 / 6, 3 / 6],
    }
    assert not any("better" in row for key, row in rows.items() if key[1] == "bm25")
    # six queries are too few for intervals
    assert {row["intervals"] for row in rows.values()} == {None}
    lines = text_of(result).splitlines()
    begin = lines.index("Scores by kind") + 1
    assert [line.split() for line in lines[begin : begin + 3]] == [
        ["kind", "system", "queries", "nDCG@2"],
        ["keyword", "bm25", "3", "1.0000"],
        ["keyword", "mine", "3", "0.8770"],
    ]
    assert "all queries  mine          6            17%  33%              50%" in lines
    assert next(line for line in lines if "nDCG@2 > bm25" in line).endswith("<  = (within 0.01)")
    for page in (
        Read((tmp_path / "out" / "eval.html").read_text()).text,
        (tmp_path / "out" / "eval.md").read_text(),
    ):
        assert "Scores by kind" in page
        assert "Equal means less than 0.01 apart." in page
    # a group of bars a value; an interval where there is one
    picture = (tmp_path / "out" / "figures" / f"{path.name}_by_kind.svg").read_text()
    for word in ("keyword", "question", "(none)", f"nDCG@2 by kind: {path.name}", "mine", "bm25"):
        assert f">{word}</text>" in picture
    assert (tmp_path / "out" / "figures" / f"{path.name}_by_kind.svg").is_file()
    assert json.loads((tmp_path / "out" / "eval.json").read_text())["by"]["kind"] == by
    # pictures of an earlier call go, those of this one stay
    (tmp_path / "out" / "figures" / "old.svg").write_text("")
    analysed(path, tmp_path, "kind", models=["bm25"])
    drawn = sorted(one.name for one in (tmp_path / "out" / "figures").glob("*.svg"))
    assert drawn == [f"{path.name}_by_kind.svg", f"{path.name}_recall-1.svg"]


def test_intervals_of_a_value_are_of_its_queries(with_columns, trec, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """40 queries that share nothing: of `all` every one is found, of `half` every second."""
    names = [f"{i:02}" for i in range(40)]
    path = with_columns(
        {f"d{i}": f"word{i}" for i in names},
        {f"q{i}": {"text": i, "side": "all" if i < "20" else "half"} for i in names},
        [(f"q{i}", f"d{i}", 1) for i in names],
    )
    ranked = {f"q{i}": f"d{i}" for i in names if i < "20" or int(i) % 2} | {"q20": "d00"}
    result = analysed(path, tmp_path, "side", runs=[trec("r", ranked)], metrics=["recall@1"])
    by = result.to_json()["by"]["side"]
    assert by["reference"] is None
    first, second, whole = (row["intervals"]["recall@1"] for row in by["results"])
    assert first == (pytest.approx(0.820, abs=1e-3), 1.0)  # 20 hits of 20
    assert second[0] == pytest.approx(0.26, abs=0.01)  # 0.5 +- 2.09 * 0.115
    assert second[1] == pytest.approx(0.74, abs=0.01)
    assert whole[0] == pytest.approx(0.59, abs=0.01)
    results = result.to_json()["results"]
    assert whole == results[0]["intervals"]["recall@1"]


def test_keywords_and_summaries_are_shown_without_asking(with_columns, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    sets = {"q1": "KW", "q2": "KW", "q3": "SM"}
    queries = {q: {"text": WORDS[q], "metadata": {"set": s}} for q, s in sets.items()}
    path = with_columns(CORPUS, queries, QRELS[:3])
    result = analysed(path, tmp_path, metrics=["recall@1"])
    rows = result.to_json()["by"]["set"]["results"]
    assert [(r["value"], r["queries"]) for r in rows] == [("KW", 2), ("SM", 1), ("all queries", 3)]
    assert "Scores by set" in text_of(result)
    # other sets, or one of the two alone, are not
    for name, other in (("one", "KW"), ("else", "dev")):
        path = with_columns(
            CORPUS,
            queries | {"q3": {"text": "cedar", "metadata": {"set": other}}},
            QRELS[:3],
            name,
        )
        assert "by" not in analysed(path, tmp_path, metrics=["recall@1"]).to_json()


def test_a_column_that_tells_every_query_apart_is_refused(with_columns, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    names = [f"{i:02}" for i in range(51)]
    path = with_columns(
        CORPUS, {f"q{i}": {"text": i, "row": i} for i in names}, [(f"q{i}", "a", 1) for i in names]
    )
    with pytest.raises(UsageError) as error:
        analysed(path, tmp_path, "row")
    assert str(error.value) == (
        "--by row: the 51 queries have 51 different values there; a breakdown takes up to 50"
    )


RECIPE = """
name: boats
family: world
params:
  domain: {folder}/boats.yaml
  documents: 400
  operators: [eq, and-not]
  answer_sizes: [1, 10]
  wordings: [literal, entailed]
  queries_per_cell: 2
"""


@pytest.mark.slow
def test_a_data_set_says_what_scores_are_broken_down_by(tmp_path: Path) -> None:
    recipe = tmp_path / "boats.yaml"
    recipe.write_text(RECIPE.format(folder=BOATS))
    run = retgen.run(recipe, out=tmp_path / "run").path
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["breakdown"] == ["operator", "answers", "wording"]
    result = evaluate(run, models=["bm25"], metrics=["nDCG@10"], out=tmp_path / "eval")
    by = result.to_json()["by"]
    assert {column: [row["value"] for row in of["results"]] for column, of in by.items()} == {
        "operator": ["and-not", "eq", "all queries"],
        "answers": ["1", "10", "all queries"],
        "wording": ["entailed", "literal", "all queries"],
    }
