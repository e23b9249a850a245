"""Runs and data sets of one name, and names that files or pages could take for something else."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from retgen.evaluation.scoring.evaluate import evaluate
from tests.evaluation.scoring.fruit import CORPUS, QRELS, QUERIES
from tests.pages import Read, rendered


def test_runs_of_one_name_stand_apart(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset(CORPUS, QUERIES, QRELS)
    files = []
    for folder, doc in (("one", "a"), ("two", "b")):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "bm25.trec")
        files[-1].write_text(f"q1 Q0 {doc} 1 2.0 x\nq2 Q0 {doc} 1 2.0 x\n")
    result = evaluate(path, models=["bm25"], runs=files, metrics=["recall@1"], out=tmp_path / "out")
    assert [s.model for s in result.datasets[0].scores] == ["bm25", *map(str, files)]
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 3
    assert len(result.datasets[0].comparisons) == 3


def test_a_run_of_our_own_is_not_overwritten(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path, out = dataset(CORPUS, QUERIES, QRELS), tmp_path / "out"
    evaluate(path, models=["bm25"], metrics=["recall@4"], out=out)
    mine = out / "runs" / "bm25.trec"
    before = mine.read_bytes()
    evaluate(path, runs=[mine], metrics=["recall@1"], out=out)
    assert mine.read_bytes() == before


def test_white_space_in_ids(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = dataset({"a b": "red apples", "c\td": "pears"}, {"q 1": "apples"}, [("q 1", "a b", 1)])
    result = evaluate(path, models=["bm25"], metrics=["recall@1"], out=tmp_path / "out")
    assert result.datasets[0].notes == ["ids with white space are percent-encoded in runs/*.trec"]
    run = tmp_path / "out" / "runs" / "bm25.trec"
    assert run.read_text().startswith("q%201 Q0 a%20b 1 ")
    again = evaluate(path, runs=[run], metrics=["recall@1"], out=tmp_path / "again")
    assert again.datasets[0].scores[0].metrics == {"recall@1": 1.0}


def test_data_sets_of_one_name_keep_their_pictures(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    paths = []
    for side in ("x", "y"):
        (tmp_path / side).mkdir()
        paths.append(dataset(CORPUS, QUERIES, QRELS, f"{side}/ds"))
    result = evaluate(paths, metrics=["recall@1"], out=tmp_path / "out")
    figures = {path.name for path in (tmp_path / "out" / "figures").glob("ds*.svg")}
    assert figures == {"ds-1_recall-1.svg", "ds-2_recall-1.svg"}
    assert (
        "## ds-2: scores\n\nMeans over the queries of the split test"
        in (tmp_path / "out" / "eval.md").read_text()
    )
    assert result.to_json()["datasets"][0]["intervals"]["note"]


def test_names_are_no_markup(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Neither HTML nor Markdown."""
    evil = r"$\frac{x$ <img src=x> | [a](b) `c`"
    paths = [dataset(CORPUS, QUERIES, QRELS, f"{evil} {i}") for i in range(3)]
    run = tmp_path / f"{evil}.trec"
    run.write_text("q1 Q0 a 1 2.0 mine\n")
    out = tmp_path / "out"
    result = evaluate(paths, models=["bm25"], runs=[run], metrics=["recall@2"], out=out)
    assert [one.name for one in result.datasets] == [f"{evil} {i}" for i in range(3)]
    page = Read((out / "eval.html").read_text())
    assert "img" not in page.tags
    assert page.text.count(f"{evil} 2") > 5
    text = rendered((out / "eval.md").read_text())
    assert {*text.tags} <= {
        "h1",
        "h2",
        "p",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert text.text.count(f"{evil} 2: scores") == 1
    # titles, three tables of each data set, the overview, and in the summary
    assert text.text.count(evil) > 12
    drawn = ElementTree.fromstring((out / "figures" / "density.svg").read_bytes())
    texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert [one for one in texts if one and one.startswith("$\\frac{x$ <img")]
