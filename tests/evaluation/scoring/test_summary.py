"""The summary of an evaluation, and the order of its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen.evaluation.retrievers import Options
from retgen.evaluation.scoring.evaluate import evaluate
from retgen.evaluation.scoring.page import scores_panel
from retgen.evaluation.scoring.page import text as text_of
from retgen.evaluation.scoring.summary import sentences
from tests.pages import Read

NAMES = [f"{i:02}" for i in range(30)]
QRELS = [(f"q{name}", f"d{name}", 1) for name in NAMES]


@pytest.fixture
def one_each(dataset):  # type: ignore[no-untyped-def]
    """30 queries, each with a document of its own."""
    corpus = {f"d{name}": f"text {'x' * i}" for i, name in enumerate(NAMES)}
    return dataset(corpus, {f"q{name}": f"ask {name}" for name in NAMES}, QRELS)


def run_of(folder: Path, name: str, right: int) -> Path:
    """A TREC run that finds the documents of the first `right` queries."""
    path = folder / f"{name}.trec"
    path.write_text(
        "".join(
            f"q{q} Q0 d{q if i < right else NAMES[i - 1]} 1 1.0 x\n" for i, q in enumerate(NAMES)
        )
    )
    return path


def test_who_leads_against_what_and_what_is_missing(one_each: Path, tmp_path: Path) -> None:
    runs = [run_of(tmp_path, "fair", 15), run_of(tmp_path, "good", 30), run_of(tmp_path, "none", 0)]
    result = evaluate(one_each, runs=runs, metrics=["recall@1", "MRR@2"], out=tmp_path / "out")
    leader, against, missing = sentences(result)
    assert leader == (
        "good has the highest recall@1: 1.0000 (95% interval 0.878 to 1.000), 0.5000 more than "
        "fair, the next; the lead holds after Holm's correction (p < 0.001)."
    )
    assert against == (
        "good is 0.9667 above the query-blind baseline (summed IDF, 0.0333) and at the best that "
        "any ranking can reach (1.0000); not clearly above the baseline: none."
    )
    assert missing == "Labels are incomplete."
    rows = [line.split()[0] for line in text_of(result).splitlines()[2:6]]
    assert rows == ["good", "fair", "none", "best"]
    html = (tmp_path / "out" / "eval.html").read_text()
    page = Read(html)
    assert html.count('<strong title="best of its column">1.0000</strong>') == 2
    assert page.tags.count("small") == 3 * 2  # an interval below each score
    assert leader in page.text
    md = (tmp_path / "out" / "eval.md").read_text()
    assert md.startswith(f"# {one_each.name}\n\n30 documents")
    assert "\n\ngood has the highest recall@1" in md
    assert "| good |  | 1.0000 (0.878–1.000) |" in md


def test_leads_that_do_not_hold_and_ties(one_each: Path, tmp_path: Path) -> None:
    runs = [run_of(tmp_path, "a", 15), run_of(tmp_path, "b", 16)]
    result = evaluate(one_each, runs=runs, metrics=["recall@1"], out=tmp_path / "1")
    leader = sentences(result)[0]
    assert leader.startswith("b has the highest recall@1: 0.5333 (95% interval 0.3")
    assert "0.0333 more than a, the next; the lead does not hold after Holm's" in leader
    runs = [run_of(tmp_path, "c", 15), run_of(tmp_path, "d", 15)]
    result = evaluate(one_each, runs=runs, metrics=["recall@1"], out=tmp_path / "2")
    assert sentences(result)[0].startswith("c and d share the highest recall@1, 0.5000 (95% ")
    result = evaluate(one_each, runs=runs[:1], metrics=["recall@1"], out=tmp_path / "3")
    assert sentences(result)[0].startswith("c reaches recall@1 0.5000 (95% interval 0.3")
    # of one system none is best
    assert scores_panel(result.datasets[0]).table().best == set()


def test_nothing_is_missing_where_labels_are_complete(limit_run: Path, tmp_path: Path) -> None:
    result = evaluate(
        limit_run, models=["static:minilm", "bm25"], dims=[32, 384], out=tmp_path / "out"
    )
    assert sentences(result)[-1] == (
        "Every pair is labelled, no text was cut and every system was scored."
    )
    view = scores_panel(result.datasets[0]).table()
    assert [row[:2] for row in view.rows[:3]] == [
        ["bm25", ""],
        ["static:minilm", "384"],
        ["static:minilm", "32"],
    ]
    assert not any("Judged" in name or "cut" in name for name in view.head)
    assert [row[0] for row in view.rows[3:]][::2] == ["best reachable", "random order"]
    assert view.rows[4][0].startswith("query-blind: ")


@pytest.mark.slow
def test_what_was_cut_or_failed_is_in_the_summary(limit_run: Path, tmp_path: Path) -> None:
    result = evaluate(
        limit_run,
        models=["minilm", "no/such-model"],
        options=Options(max_length=16),
        out=tmp_path / "out",
    )
    assert sentences(result)[-1] == (
        "minilm reads 16 tokens: 15 documents and 0 queries are cut. Not scored: no/such-model."
    )
    assert scores_panel(result.datasets[0]).table().head[-2:] == ["docs cut", "queries cut"]


@pytest.mark.slow
def test_several_data_sets(limit_run: Path, one_each: Path, tmp_path: Path) -> None:
    result = evaluate(
        [limit_run, one_each], models=["bm25", "tfidf"], metrics=["recall@1"], out=tmp_path / "out"
    )
    leaders, missing = sentences(result)
    assert leaders == "The highest recall@1 of a data set: bm25 on 2 of 2."
    assert missing == f"Labels are incomplete in {one_each.name}."
