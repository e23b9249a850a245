"""What card, page and terminal state alike: query-blind rankings, and what a score is of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retgen import run
from retgen.generators.niah.groups import DATA
from retgen.reporting import evidence
from retgen.validators.baselines import with_best
from tests.conftest import Gen


def baselines(random: dict[str, float], **rankings: tuple[float, ...]) -> dict[str, Any]:
    return with_best(
        random, {name: dict(zip(random, of, strict=True)) for name, of in rankings.items()}
    )


SMALL = {"recall@2": 0.0175, "recall@10": 0.0877, "recall@20": 0.1754, "recall@100": 0.8772}
LARGE = {"recall@2": 0.006, "recall@100": 0.306}


@pytest.mark.parametrize(
    ("stated", "line", "solved"),
    [
        # the best at the printed measure, not at the first one
        (
            baselines(LARGE, short=(0.1, 0.204), whole=(0.05, 0.846)),
            "whole, without reading the query: recall@100 = 0.846 (random 0.306): the set can be "
            "solved that way",
            "whole reaches recall@100 = 0.846",
        ),
        # at 100 of 114 documents a random order is as good
        (
            baselines(SMALL, short=(0.0, 0.1, 0.2, 1.0), whole=(0.1, 0.15, 0.19, 0.9)),
            "short, without reading the query: recall@20 = 0.200 (random 0.175)",
            None,
        ),
        # what is solved is said of the deepest cutoff where it is
        (
            baselines({"recall@2": 0.1, "recall@10": 0.45}, short=(0.55, 0.6)),
            "short, without reading the query: recall@2 = 0.550 (random 0.100): the set can be "
            "solved that way",
            "short reaches recall@2 = 0.550",
        ),
        (baselines({"recall@2": 0.67}, short=(1.0,)), "", None),
        (baselines({}), "", None),
    ],
)
def test_the_best_at_the_printed_measure(
    stated: dict[str, Any], line: str, solved: str | None
) -> None:
    assert evidence.query_blind(stated, candidate_sets=False) == line
    assert evidence.solved_blindly(stated) == solved


def test_terminal_card_page_and_report_agree(gen: Gen, tmp_path: Path) -> None:
    sizes = ("--set", "params.docs=300", "--set", "params.queries=60")
    done = gen("run", "limit_dense", *sizes, "--out", "out")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("  baseline ")]
    assert line.removeprefix("  baseline    ") == evidence.query_blind(
        report["floors"], candidate_sets=False
    )
    solved = report["solved_blindly"]
    assert bool(solved) == ("solved" in line)
    for name in ("dataset/README.md", "report.html"):
        text = (tmp_path / "out" / name).read_text()
        assert ("can be solved without" in text) == bool(solved)


@pytest.mark.slow
def test_card_and_report_say_what_a_score_is_of(tmp_path: Path) -> None:
    """Over books of the user's own, which are not synthetic."""
    books = tmp_path / "books"
    books.mkdir()
    for name in ("map_room", "boatyard"):
        (books / f"{name}.txt").write_text((DATA / "prose" / f"{name}.txt").read_text())
    overrides = {"params.lengths": [128], "params.places": 2, "params.books": str(books)}
    made = run("niah", overrides=overrides, out=tmp_path / "run").path
    card = (made / "dataset" / "README.md").read_text()
    assert card.count("- **What a score is of.** How far texts that answer a question score") == 1
    assert "put together from a source's own sentences: needles that share" in card
    page = (made / "report.html").read_text()
    assert "<b>What a score is of.</b> How far texts that answer a question" in page
    assert "but the texts are put together from them and the queries are synthetic" in page
    for text in (card, page):
        for absent in (
            "Query-blind baselines",
            "dimensions needed",
            "Certificate",
            "The texts are synthetic",
            "recall@",
        ):
            assert absent not in text
    # they are measured all the same
    report = json.loads((made / "report.json").read_text())
    assert report["certificate"]["upper"] == 2
    assert "recall@10" in report["floors"]["random"]


ANSWERS = {
    "write": {"taken": 2, "repaired": 1, "failed": 6, "not JSON": 15, "failed checks": 4},
    "judge": {"taken": 9},
}


def test_unusable_answers_are_named_by_agent() -> None:
    assert evidence.model_answers({"answers": ANSWERS}) == (
        "The texts of write are not good: 19 of 21 answers were unusable. Use a stronger model.",
        [
            "write: 19 of 21 answers unusable (15 not JSON, 4 failed checks); of 8 questions 1 "
            "repaired, 6 failed"
        ],
    )
    half = {"write": {"taken": 5, "not JSON": 5}}
    assert evidence.model_answers({"answers": half})[0] == ""
    assert evidence.model_answers({}) == ("", [])
