"""The figures of a report, counted again from the SQLite file alone, and what it says of them."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from scipy import stats

from retgen.review import Review, open_review
from retgen.review.report import (
    as_percent,
    findings,
    forecast,
    next_steps,
    report,
    report_page,
    upper_bound,
)
from tests.conftest import Gen, Write

PEOPLE = ("anna", "ben")


def judge(review: Review, annotator: str, number: int) -> None:
    """Judge as a person would who errs in 1 of 12 pairs, where 1 of 20 labels is wrong."""
    for item in review.left(annotator)[:number]:
        drawn = random.Random(f"{annotator} {item.item_id}").random()
        truth = int(item.positive != (random.Random(item.item_id).random() < 0.05))
        unclear = random.Random(f"? {item.item_id}").random() < 0.03
        relevance = None if unclear else 1 - truth if drawn < 1 / 12 else truth
        review.record(annotator, item.item_id, relevance, shown=item.shown, seconds=10 * drawn)


@pytest.fixture(scope="module")
def judged(
    limit_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Review, dict[str, Any]]:
    """A review by two people, 220 and 150 items; one of them settles half of the open ones."""
    out = tmp_path_factory.mktemp("review")
    review = open_review(limit_run, annotators=PEOPLE, size=180, out=out)
    judge(review, "anna", 220)
    judge(review, "ben", 150)
    for item in review.open_items()[::2]:
        review.record("anna", item.item_id, 1, shown=item.shown, settles=True)
    judge(review, "ben", 1)
    review.undo("ben")
    return review, report(review)


Judged = tuple[Review, dict[str, Any]]


def stored(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(items, standing verdicts), read with SQL and nothing of ours."""
    with closing(sqlite3.connect(path)) as base:
        items = [json.loads(text) for (text,) in base.execute("SELECT item FROM items")]
        rows = base.execute("SELECT verdict FROM verdicts ORDER BY number").fetchall()
    stands: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in (json.loads(text) for (text,) in rows):
        stands[row["item_id"], row["annotator"], row["settles"]] = row
    return {i["item_id"]: i for i in items}, [r for r in stands.values() if not r["withdrawn"]]


def test_the_figures_are_those_of_the_file(judged: Judged) -> None:
    from sklearn.metrics import cohen_kappa_score

    result = judged[1]
    items, verdicts = stored(judged[0].store.path)
    first = {(v["item_id"], v["annotator"]): v["relevance"] for v in verdicts if not v["settles"]}
    final = {v["item_id"]: v["relevance"] for v in verdicts if v["settles"]}
    settled: dict[str, int | None] = dict(final)
    disputed = waiting = 0
    for name, item in items.items():
        given = {first[name, who] for who in PEOPLE if (name, who) in first}
        number = sum((name, who) in first for who in PEOPLE)
        if name not in final and len(given) == 1 and number == 2:
            settled[name] = given.pop()
        elif name not in final and len(given) == 2:
            disputed += 1
        elif item["part"] == "labels":
            waiting += number == 1
    of = {n: r for n, r in settled.items() if items[n]["part"] == "labels"}
    wrong = sum(relevance == 0 for relevance in of.values())
    unsure = sum(relevance is None for relevance in of.values())
    (one,) = result["labels"]
    assert one == {
        "label": "1",
        "population": 200,
        "size": 180,
        "settled": len(of),
        "wrong": wrong,
        "unsure": unsure,
        "open": disputed,
        "waiting": waiting,
        "rate": pytest.approx(wrong / (len(of) - unsure)),
        "at_most": pytest.approx(
            stats.beta.ppf(0.95, wrong + unsure + disputed + 1, len(of) - wrong - unsure)
        ),
    }
    assert min(wrong, unsure, disputed, waiting) > 0
    assert result["missing"]["size"] == 90
    assert result["next"]["adjudicate"] == disputed
    assert result["next"]["left"] == {"anna": 50, "ben": 120}
    for name in PEOPLE:
        mine = [v for v in verdicts if v["annotator"] == name]
        about = result["annotators"][name]
        assert about["judged"] == sum(not v["settles"] for v in mine)
        assert about["seconds"] == median(v["seconds"] for v in mine if v["seconds"] is not None)
    both = [
        (first[n, "anna"], first[n, "ben"])
        for n in items
        if first.get((n, "anna")) is not None and first.get((n, "ben")) is not None
    ]
    assert result["agreement"]["items"] == len(both) > 50
    same = sum(a == b for a, b in both)
    assert result["agreement"]["raw"]["value"] == pytest.approx(same / len(both))
    kappa = cohen_kappa_score(*zip(*both, strict=True))
    assert result["agreement"]["kappa"]["value"] == pytest.approx(kappa)


@pytest.mark.parametrize(
    ("wrong", "judged", "population", "bound"),
    [
        (0, 0, 40, None),
        (0, 40, 40, 0.0),  # whoever judged all labels knows the rate
        (2, 40, 40, 0.05),
        (0, 200, 1800, 1 - 0.05 ** (1 / 200)),
        (3, 200, 1800, stats.beta.ppf(0.95, 4, 197)),
        (5, 5, 9, 1.0),
    ],
)
def test_the_bound_is_clopper_and_pearsons_or_exact(
    wrong: int, judged: int, population: int, bound: float | None
) -> None:
    found = upper_bound(wrong, judged, population)
    assert found == (bound if bound is None else pytest.approx(bound))


@pytest.mark.slow
def test_the_bound_holds_in_19_of_20_samples() -> None:
    rng = random.Random(3)
    for population, wrong, size in ((2000, 40, 200), (400, 30, 200), (300, 3, 200)):
        labels = [1] * wrong + [0] * (population - wrong)
        held = [
            (upper_bound(sum(rng.sample(labels, size)), size, population) or 0)
            >= wrong / population
            for _ in range(500)
        ]
        assert sum(held) / len(held) >= 0.94


def test_all_labels_judged_give_the_exact_rate(dataset: Write, tmp_path: Path) -> None:
    path = dataset(
        {f"d{i}": f"fig{i} number{i}" for i in range(40)},
        {f"q{i}": f"fig{i}" for i in range(40)},
        [(f"q{i}", f"d{i}", 1) for i in range(40)],
    )
    review = open_review(path, out=tmp_path / "review")
    assert forecast(review) == (
        "me: 40 labels, about 13 min.\nThese are all labels of split test: the error rate is exact."
    )
    for number, item in enumerate(review.items):
        review.record("me", item.item_id, int(number > 1), shown=item.shown)
    result = report(review)
    assert findings(result) == ["Label relevant (1): 2 of all 40 labels are wrong (5.0%)."]
    assert next_steps(result) == [
        f"everything is judged and settled: `gen review {path} --export qrels --to FILE` writes "
        "its labels"
    ]


def test_what_a_sample_asks_and_shows(judged: Judged, limit_run: Path, tmp_path: Path) -> None:
    review = open_review(limit_run, size=60, annotators=PEOPLE, out=tmp_path / "review")
    assert forecast(review) == (
        "anna: 60 labels, about 20 min, then 30 that look like missing labels, about 10 min.\n"
        "ben: 60 labels, about 20 min, then 30 that look like missing labels, about 10 min.\n"
        "A random sample of the 200 labels of split test: if none of its 60 positives is wrong, at "
        "most 4.88% of all positives are."
    )
    result = judged[1]
    (one,) = result["labels"]
    said, *rest = findings(result)
    assert said == (
        f"Label relevant (1): {one['wrong']} of {one['settled'] - one['unsure']} judged labels are "
        f"wrong ({one['rate']:.1%}); at most {as_percent(one['at_most'])} of all 200 are, with 95% "
        f"confidence, counting {one['unsure'] + one['open']} without a clear verdict."
    )
    assert rest == []  # nothing of the other part is settled
    steps = next_steps(result)
    assert steps[0] == f"settle {one['open']} items on which annotators disagree"
    assert steps[-1].startswith("items left to judge: anna 50, ben 120 (gen review ")
    page = report_page("run", result).html()
    for part in ("What to do next", "How to read this", "anna", "Krippendorff"):
        assert part in page
    assert "<script" not in page


def test_a_set_that_changed(limit_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(limit_run, run)
    review = open_review(run)
    judge(review, "me", 5)
    qrels = run / "dataset" / "qrels.jsonl"
    qrels.write_text(qrels.read_text().replace('"score":1', '"score":0'))
    result = report(review)
    assert findings(result)[0].startswith(f"Changed: {run} was changed since this review began")
    assert {one["reason"] for one in result["stale"]} == {"the label was changed"}
    assert next_steps(result)[0] == ("5 verdicts no longer count: the text or label was changed")


def test_the_command_prints_it(judged: Judged, gen: Gen) -> None:
    review, result = judged
    given = "review", review.path, "--out", review.folder, "--report"
    done = gen(*given, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps(result))
    done = gen(*given)
    assert done.returncode == 0
    assert findings(result)[0] == done.stdout.splitlines()[0]
    assert f"page: {review.folder / 'review.html'}" in done.stdout


def test_the_command_refuses(limit_run: Path, gen: Gen) -> None:
    out = "--out", "review"
    for words, message in (
        (
            ("--report", "--export", "csv"),
            "gen: --report is an action of its own: leave out --export",
        ),
        (("--to", "x.csv"), "gen: --to is about --export"),
        (("--annotators", "a,a"), "gen: --annotators a,a: a name stands twice"),
    ):
        done = gen("review", limit_run, *out, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
    assert "nowhere does not exist" in gen("review", "nowhere").stderr
