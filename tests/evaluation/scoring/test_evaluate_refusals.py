"""Models, options and data sets that cannot be scored: what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.errors import DatasetError, UsageError
from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.evaluate import evaluate
from tests.evaluation.scoring.fruit import CORPUS, QRELS, QUERIES


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "minlm",
            "--model minlm: there is no such model; did you mean minilm? Known: attribute-oracle, ",
        ),
        ("hybrid:bm25", "--model hybrid:bm25: write for example hybrid:bm25+minilm"),
        ("rerank:bm25+a/b+c/d", "write for example rerank:bm25+owner/cross-encoder"),
        ("late:", "--model late:: name a model after late:"),
        ("hybrid:bm25+minlm", "--model minlm: there is no such model; did you mean minilm?"),
    ],
)
def test_names_that_mean_nothing(limit_run: Path, model: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        evaluate(limit_run, models=[model])
    assert message in str(error.value)


def test_no_network(limit_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's address leads to a port where nothing listens; what was scored before is kept."""
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    result = evaluate(limit_run, models=["bm25", "owner/name"], out=tmp_path / "out")
    assert result.failures == {
        "owner/name": "--model owner/name: it is not on this machine, and the Hub cannot be reached. "
        "`minilm` needs no network."
    }
    assert [s.model for s in result.datasets[0].scores] == ["bm25"]
    assert "the Hub cannot be reached" in (tmp_path / "out" / "eval.html").read_text()


def test_data_sets_that_cannot_be_scored(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    empty = dataset(CORPUS, QUERIES, [], "empty")
    with pytest.raises(DatasetError, match=r"empty/qrels\.jsonl is empty: there are no qrels"):
        evaluate(empty)
    zeros = dataset(CORPUS, QUERIES, [("q1", "a", 0)], "zeros")
    with pytest.raises(DatasetError, match="no query has a relevant document"):
        evaluate(zeros)
    for number, grade in enumerate((1001, 2**53, 1e20, 0.5)):
        half = dataset(CORPUS, QUERIES, [("q1", "a", grade)], f"half{number}")
        with pytest.raises(DatasetError) as error:
            evaluate(half)
        assert str(error.value) == (
            f"{half}: relevance {grade:g} of q1 and a is not a grade: measures are defined on 0, 1, "
            "2, ..., at most 1,000"
        )
    with pytest.raises(DatasetError, match="has no qrels of split 'tset'; did you mean test"):
        evaluate(half, split="tset")
    strange = dataset(CORPUS, QUERIES, [("other", "a", 1)], "strange")
    with pytest.raises(DatasetError, match="can be scored; they name other queries than there are"):
        evaluate(strange)
    good = dataset(CORPUS, QUERIES, QRELS, "good")
    (good / "qrels.jsonl").unlink()
    with pytest.raises(DatasetError, match="holds no qrels: no qrels"):
        evaluate(good)


@pytest.mark.parametrize(
    ("models", "options", "dims", "message"),
    [
        (["bm25"], Options(), [32], "--dims: for embedders, and bm25 is none. "),
        (
            [],
            Options(dtype="bf16", max_length=4),
            [],
            "--dtype, --max-length: for embedders, and bm25 is none. ",
        ),
        (
            ["tfidf", "hybrid:bm25+rank-bm25"],
            Options(query_prompt="search: "),
            [],
            "--query-prompt: for embedders, and tfidf, hybrid:bm25+rank-bm25 are none. ",
        ),
    ],
)
def test_options_that_no_model_takes(
    limit_run: Path,
    tmp_path: Path,
    models: list[str],
    options: Options,
    dims: list[int],
    message: str,
) -> None:
    with pytest.raises(UsageError) as error:
        evaluate(limit_run, models=models, options=options, dims=dims, out=tmp_path / "out")
    assert str(error.value) == f"{message}Name one, as --model minilm, or leave the option out"
    assert not (tmp_path / "out").exists()


def test_options_for_rankings_of_others(limit_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--dims: for embedders, and a TREC run is none"):
        evaluate(limit_run, runs=[tmp_path / "x.trec"], dims=[8])


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (("queries", '{"_id": "q1", "text": "again"}\n'), "{}: query q1 stands twice"),
        (
            ("qrels", '{"query-id": "q1", "corpus-id": "a", "score": 0}\n'),
            "{}: the qrels (test) give a for q1 both 2 and 0",
        ),
        (
            ("corpus", '{"_id": "e", "title": ""}\n'),
            "{}/corpus.jsonl, line 5: has no text; `gen validate {}` lists all such rows",
        ),
    ],
)
def test_broken_tables_are_not_scored(
    dataset, tmp_path: Path, break_it: tuple[str, str], message: str
) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    with open(path / f"{break_it[0]}.jsonl", "a") as file:
        file.write(break_it[1])
    with pytest.raises(DatasetError) as error:
        evaluate(path, out=tmp_path / "out")
    assert str(error.value) == message.replace("{}", str(path))
