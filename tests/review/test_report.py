"""The figures of a report, counted again from the SQLite file alone."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from scipy import stats

from retgen.review import Review, open_review
from retgen.review.assign import chance
from retgen.review.certificates import in_words
from retgen.review.report import forecast, report
from retgen.review.report_page import write_page
from retgen.statistics import rates, sequences
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import serving
from tests.command import in_process
from tests.conftest import Gen
from tests.review.counted import PEOPLE, Counted
from tests.with_agents.conftest import environment
from tests.with_agents.families import ships

LOOKS = 120


def judge(review: Review, annotator: str, number: int) -> None:
    """Judge as a person would who errs in 1 of 12 pairs, and cannot tell in 1 of 40."""
    for _ in range(number):
        look = review.next_item(annotator)
        assert look is not None
        item = look.item
        truth = int((item.label or 0) > 0) if item.planted is None else item.planted
        drawn = chance(7, "error", annotator, item.item_id, look.part)
        decision = "unsure" if drawn > 0.975 else str(1 - truth if drawn < 1 / 12 else truth)
        review.record(
            annotator, item.item_id, look.part, decision, shown=item.shown, seconds=10 * drawn
        )


@pytest.fixture(scope="module", params=["proven", "foreign"])
def judged(
    request: pytest.FixtureRequest, limit_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Review, dict[str, Any]]:
    """Two annotators at 120 looks each, and one of them settles half of what is open.

    Of labels that rest on a proof, drawn uniformly; and of a data set that says nothing of them.
    """
    path = limit_run if request.param == "proven" else limit_run / "dataset"
    review = open_review(
        path,
        annotators=PEOPLE,
        overlap=0.6,
        plants=0.2,
        second=0.15,
        out=tmp_path_factory.mktemp("review"),
    )
    for annotator in PEOPLE:
        judge(review, annotator, LOOKS)
    for item in review.open_items()[::2]:
        review.record("anna", item.item_id, "adjudication", "1", shown=item.shown)
    judge(review, "ben", 1)
    review.undo("ben")
    return review, report(review)


Judged = tuple[Review, dict[str, Any]]


def test_counts_and_annotators(judged: Judged) -> None:
    result, counted = judged[1], Counted(judged[0].store.path)
    for population in ("positives", "others"):
        bounds, settled, disputed, waiting = counted.values(population)
        one = result["populations"][population]
        assert one["size"] == len(counted.weights[population])
        assert (one["looked_at"], one["open"], one["waiting"]) == (settled, disputed, waiting)
        assert one["wrong"] == (bounds.sum(1) == 2).sum()
    assert result["next"]["adjudicate"] == sum(
        result["populations"][name]["open"] for name in result["populations"]
    )
    for name in PEOPLE:
        mine = [r for r in counted.verdicts if r["annotator"] == name]
        one = result["annotators"][name]
        first = [r for r in mine if r["part"] == "first"]
        assert one["judged"] == len(first)
        assert one["judged"] + one["second"] == LOOKS
        assert one["unsure"] == sum(r["relevance"] is None for r in first)
        assert one["seconds"] == median(r["seconds"] for r in mine if r["seconds"] is not None)
        for known, key in ((0, "wrong"), (1, "missed")):
            shown = [r["relevance"] for r in first if r["planted"] == known]
            told = [said for said in shown if said is not None]
            assert one[key]["planted"] == len(told)
            if not told:  # in foreign data nothing is known to be relevant
                assert (judged[0].settings.family, known) == ("", 1)
                assert one[key]["sensitivity"] is None
                continue
            assert len(told) > 5
            assert one[key]["caught"] == told.count(known)
            interval = stats.binomtest(told.count(known), len(told)).proportion_ci()
            assert (one[key]["low"], one[key]["high"]) == pytest.approx(tuple(interval), abs=1e-6)


def test_agreement(judged: Judged) -> None:
    from sklearn.metrics import cohen_kappa_score

    result, counted = judged[1]["agreement"], Counted(judged[0].store.path)
    said: dict[str, dict[str, int]] = defaultdict(dict)
    for row in counted.verdicts:
        if row["planted"] is None and row["part"] == "first" and row["relevance"] is not None:
            said[row["item_id"]][row["annotator"]] = row["relevance"]
    both = [(one["anna"], one["ben"]) for one in said.values() if len(one) == 2]
    assert result["items"] == len(both) > 50
    same = sum(a == b for a, b in both)
    assert result["raw"]["value"] == pytest.approx(same / len(both))
    yes = sum(a == b == 1 for a, b in both)
    one_of_them = sum(a + b for a, b in both)
    assert result["positive"]["value"] == pytest.approx(2 * yes / one_of_them)
    a, b = zip(*both, strict=True)
    assert result["cohen"]["value"] == pytest.approx(cohen_kappa_score(a, b))


def test_a_single_item_that_two_judged(limit_run: Path, tmp_path: Path) -> None:
    """Its agreement has no interval, in the report and on the page."""
    review = open_review(
        limit_run, annotators=PEOPLE, overlap=1.0, plants=0, second=0, out=tmp_path / "review"
    )
    for annotator, number in (("anna", 2), ("ben", 1)):
        judge(review, annotator, number)
    result = report(review)
    assert result["agreement"]["items"] == 1
    raw = {"value": 1.0, "low": None, "high": None, "reason": "too few items for an interval"}
    assert result["agreement"]["raw"] == raw
    page = write_page(review.folder, "run", result).read_text()
    assert "<td>1.000</td><td>too few items for an interval</td>" in re.sub(
        r"<td[^>]*>", "<td>", page
    )


@pytest.mark.parametrize("population", ["positives", "others"])
def test_rates(judged: Judged, population: str) -> None:
    result, counted = judged[1]["rates"][population], Counted(judged[0].store.path)
    bounds, *_ = counted.values(population)
    weights = counted.weights[population]
    # Des Raj's estimate, over that of the share that can be told (Hajek)
    total = weights.sum() - np.r_[0, np.cumsum(weights)][:-1]
    chances = (weights / total)[: len(bounds)]
    told = bounds[:, 0] == bounds[:, 1]
    errors = np.where(told, bounds[:, 0], 0)

    def raj(values: np.ndarray[Any, Any]) -> float:
        before = np.cumsum(values) - values
        return float(((before + values / chances) / len(weights)).mean())

    estimate = raj(errors) / (1 - raj((~told).astype(float)))
    if judged[0].settings.family == "limit":  # a simple random sample
        estimate = errors.sum() / told.sum()
    assert result["low"] <= result["estimate"] <= result["high"]
    assert result["estimate"] == pytest.approx(
        min(max(estimate, result["low"]), result["high"]), rel=1e-9
    )
    assert result["errors"] == errors.sum()
    draws = sequences.draws(np.arange(len(weights)), weights)
    expected = sequences.interval(bounds, draws.first(len(bounds)), 0.95)
    assert (result["low"], result["high"]) == (expected.low, expected.high)


def test_certificates(judged: Judged) -> None:
    wrong, missed = judged[1]["certificates"]
    counted = Counted(judged[0].store.path)
    one = {name: counted.values(name)[0] for name in ("positives", "others")}
    draws = {
        name: sequences.draws(np.arange(len(weights)), weights)
        for name, weights in counted.weights.items()
    }

    def upper(name: str, level: float) -> float:
        return sequences.upper(one[name], draws[name].first(len(one[name])), level).high

    assert wrong["upper"] == upper("positives", 0.95)
    n1, n0 = len(counted.weights["positives"]), len(counted.weights["others"])
    w, m = upper("positives", 0.975), upper("others", 0.975)
    assert missed["upper"] == pytest.approx(n0 * m / (n0 * m + n1 * (1 - w)))
    outcomes = [
        float(row["relevance"] == 1)
        for row in counted.verdicts
        if row["planted"] == 0 and row["part"] == "first"
    ]
    positives = one["positives"]
    assert len(outcomes) > 10
    assert wrong["corrected"] == rates.certified_upper(
        positives, draws["positives"].first(len(positives)), outcomes, 0.95
    )
    assert wrong["corrected"] > wrong["upper"] > wrong["lower"] > 0
    assert wrong["by"] == {
        name: len(
            {
                row["item_id"]
                for row in counted.verdicts
                if row["annotator"] == name
                and row["population"] == "positives"
                and row["planted"] is None
                and row["part"] != "second"
            }
        )
        for name in PEOPLE
    }


@pytest.mark.slow
def test_all_looked_at_is_the_rate_itself(limit_run: Path, tmp_path: Path) -> None:
    review = open_review(limit_run, goals=["wrong <= 2%"], plants=0, out=tmp_path / "out")
    before = report(review)["certificates"][0]
    assert (before["holds"], before["reason"]) == (None, "no verdicts yet")
    needed = before["more"]["positives"]
    # without an error as many looks as the hypergeometric distribution asks for at 95% or 97.5%
    at = [
        next(n for n in range(200) if stats.hypergeom.pmf(0, 200, 4, n) <= a) for a in (0.05, 0.025)
    ]
    assert at[0] <= needed <= at[1] + 1
    for number in range(200):
        look = review.next_item("me")
        assert look is not None
        decision = "1" if number else "0"
        review.record("me", look.item.item_id, "first", decision, shown=look.item.shown)
    after = report(review)["certificates"][0]
    assert (after["upper"], after["lower"]) == pytest.approx((0.005, 0.005))
    assert (after["holds"], after["more"]) == (True, {"positives": 0})
    assert after["corrected"] is None


def test_what_a_review_asks_of_people_and_would_show(dataset: Any, tmp_path: Path) -> None:
    path = dataset(
        {f"d{i}": f"fig{i} number{i}" for i in range(400)},
        {f"q{i}": f"fig{i}" for i in range(400)},
        [(f"q{i}", f"d{i}", 1) for i in range(400)],
    )

    def expected(**options: Any) -> str:
        given = {"goals": ["wrong <= 2%"], "plants": 0, "annotators": ["anna", "ben"], **options}
        return str(forecast(open_review(path, out=tmp_path / "review", **given)))

    assert expected() == (
        "anna, ben: 200 looks each, about 67 min. If no error is found, that shows at most 1.24% "
        "of the positives are not relevant (wanted: at most 2%)."
    )
    assert expected(looks=4) == (
        "anna, ben: 4 looks each, about 80 s. If no error is found, that shows at most 56.96% of "
        "the positives are not relevant (wanted: at most 2%). All that is wanted takes about 139 "
        "looks of each person."
    )


@pytest.mark.slow
def test_who_overlooks_planted_errors_gets_no_certificate(dataset: Any, tmp_path: Path) -> None:
    corpus = {f"d{i}": f"fig{i} number{i}" for i in range(600)}
    path = dataset(
        corpus,
        {f"q{i}": f"fig{i}" for i in range(300)},
        [(f"q{i}", f"d{i}", 1) for i in range(300)],
    )

    def certified(name: str, seen: int, plants: float = 0.15) -> tuple[dict[str, Any], int]:
        """Of labels that are all right, by somebody who sees the first `seen` planted errors."""
        review = open_review(
            path, goals=["wrong <= 2%"], plants=plants, looks=0, out=tmp_path / name
        )
        planted = 0
        for look in review.ahead("me", 400):
            planted += look.item.planted == 0
            decision = "0" if look.item.planted == 0 and planted <= seen else "1"
            review.record("me", look.item.item_id, "first", decision, shown=look.item.shown)
        return report(review)["certificates"][0], planted

    good, planted = certified("good", 45)
    assert planted == 45
    assert good["wrong"] == {"positives": 0}
    assert (good["holds"], good["more"], good["upper"]) == (True, {"positives": 0}, 0.0)
    assert 0 < good["corrected"] <= 0.02
    assert in_words(good).startswith("wrong <= 2% at 95%: HOLDS. ")
    bad, _ = certified("bad", 0)
    assert (bad["holds"], bad["more"], bad["upper"], bad["corrected"]) == (None, None, 0.0, 1.0)
    assert in_words(bad) == (
        "wrong <= 2% at 95%: no certificate, annotators caught 0 of 45 control errors and may "
        "overlook others: the rate may be 100%. Judge more control items, or have annotators who "
        "catch them."
    )
    unmeasured, planted = certified("unmeasured", 0, plants=0)
    assert (planted, unmeasured["holds"], unmeasured["corrected"]) == (0, True, None)
    assert in_words(unmeasured).endswith(" by me (300). Nothing measures what they overlook.")


def test_labels_that_say_nothing_is_relevant_miss_everything(dataset: Any, tmp_path: Path) -> None:
    corpus = {f"d{i}": f"fig number{i}" for i in range(9)}
    path = dataset(corpus, {"q": "fig"}, [("q", f"d{i}", 0) for i in range(9)])
    review = open_review(path, out=tmp_path / "out")
    for number in range(9):
        look = review.next_item("me")
        assert look is not None
        review.record(
            "me", look.item.item_id, "first", "1" if number == 4 else "0", shown=look.item.shown
        )
    (missed,) = report(review)["certificates"]
    assert (missed["lower"], missed["upper"], missed["holds"]) == (1.0, 1.0, False)


def test_no_certificate_of_a_set_that_changed(limit_run: Path, tmp_path: Path) -> None:
    import shutil

    run = tmp_path / "run"
    shutil.copytree(limit_run, run)
    review = open_review(run)
    judge(review, "me", 5)
    qrels = run / "dataset" / "qrels.jsonl"
    qrels.write_text(qrels.read_text().replace('"score":1', '"score":0'))
    result = report(review)
    assert [one["holds"] for one in result["certificates"]] == [None, None]
    assert "was changed since this review began" in result["certificates"][0]["reason"]
    assert {one["reason"] for one in result["stale"]} == {"the label was changed"}


@pytest.mark.slow
def test_the_command_prints_it(judged: Judged, gen: Gen) -> None:
    review, result = judged
    given = "review", review.path, "--out", review.folder, "--report"
    done = gen(*given, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps(result))
    done = gen(*given)
    assert done.returncode == 0
    assert in_words(result["certificates"][0]) == done.stdout.splitlines()[0]
    assert f"page: {review.folder / 'review.html'}" in done.stdout
    planted = [sum(i.planted == value for i in review.items) for value in (1, 0)]
    assert result["planted"] == {"not_relevant": planted[1], "relevant": planted[0]}
    said = (
        f"Control items that measure annotators, in neither population: {planted[0]:,} pairs "
        f"known to be relevant, {planted[1]:,} known not to be."
    )
    assert (said in done.stdout) == (sum(planted) > 0)
    page = (review.folder / "review.html").read_text()
    assert (said in page) == (sum(planted) > 0)
    for part in ("What to look at next", "Acceptance plans", "What certificates assume", "anna"):
        assert part in page
    assert "<script" not in page


def test_a_certificate_in_words() -> None:
    given: dict[str, Any] = {
        "goal": "wrong <= 2% at 95%",
        "question": "wrong",
        "rate": 0.02,
        "level": 0.95,
        "size": {"positives": 1200},
        "looked_at": {"positives": 147},
        "wrong": {"positives": 1},
        "unsure": {"positives": 0},
        "lower": 0.0212,
        "upper": 0.031201,
        "holds": None,
        "corrected": 0.04,
        "more": {"positives": 31},
        "by": {"anna": 147},
        "assumes": [],
        "reason": "",
    }
    looked = "Settled: 147 of 1,200 positives, 1 label found wrong; judged by anna (147)."
    assert in_words(given) == (
        "wrong <= 2% at 95%: OPEN. At most 3.13% of the positives are not relevant, at 95% "
        f"confidence; 31 positives more without an error will show it. {looked} Corrected for "
        "overlooked errors, as measured on control items: at most 4%."
    )
    assert in_words(given | {"holds": False, "corrected": None, "more": None}) == (
        "wrong <= 2% at 95%: DOES NOT HOLD. At least 2.12% of the positives are not relevant, at "
        f"95% confidence. {looked}"
    )
    assert in_words(given | {"reason": "no verdicts yet"}) == (
        "wrong <= 2% at 95%: no certificate, no verdicts yet."
    )


def test_the_command_refuses(limit_run: Path, gen: Gen) -> None:
    out = "--out", "review"
    done = gen("review", limit_run, *out, "--goal", "wong <= 2%")
    assert (done.returncode, done.stdout) == (2, "")
    assert "gen: --goal 'wong <= 2%': 'wong' is no question; did you mean wrong?" in done.stderr
    done = gen("review", limit_run, *out, "--report", "--export", "csv")
    assert done.returncode == 2
    assert "gen: --report and --export: do one after the other" in done.stderr
    done = gen("review", limit_run, *out, "--to", "x.csv")
    assert "gen: --to is about --export" in done.stderr
    done = gen("review", "nowhere")
    assert done.returncode == 2
    assert "nowhere does not exist" in done.stderr


@pytest.mark.slow
def test_a_judge_against_people(tmp_path: Path) -> None:
    import shutil

    with serving(ladder_mind) as server:
        done = in_process(
            "run",
            ships(tmp_path, count=1),
            "--model",
            "openai:gpt-5-mini",
            "--out",
            "run",
            "--set",
            "params.singles=false",
            cwd=tmp_path,
            env=environment(server),
        )
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run"
    shutil.rmtree(run / "tables")
    review = open_review(run, plants=0)
    assert report(review)["judge"] is None  # nobody has looked
    for _ in range(80):  # who errs in 1 of 5 pairs
        look = review.next_item("me")
        assert look is not None
        truth = int((look.item.label or 0) > 0)
        said = 1 - truth if chance(1, "error", look.item.item_id) < 0.2 else truth
        review.record("me", look.item.item_id, "first", str(said), shown=look.item.shown)
    result = report(review)
    one, found = result["judge"], result["rates"]
    assert one["judges"] == ["verify_conditions"]
    size = {name: part["size"] for name, part in result["populations"].items()}
    assert size == {"positives": 20, "others": 200}
    wrong = sum(found[name]["estimate"] * size[name] for name in size) / 220
    assert one["accuracy"] == pytest.approx(1 - wrong)
    assert one["low"] < one["accuracy"] < one["high"]
    assert one["precision"] == pytest.approx(1 - found["positives"]["estimate"])
    others = one["prediction_powered"]["others"]
    assert others["low"] < others["value"] < others["high"]
    # by stratum every number of the family's own fields stands, and sums up
    strata = result["strata"]["others"]
    assert {"document broken", "query style", "query conditions", "rank", "grade"} <= set(strata)
    for values in strata.values():
        assert sum(rate["population"] for rate in values.values()) == 200
        assert sum(rate["errors"] for rate in values.values()) == found["others"]["errors"]
    assert list(strata["document broken"])[:2] == ["1 listed", "2 listed"]
