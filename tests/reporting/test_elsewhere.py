"""What is said of a set whose score is no ranking of the whole corpus: needles in haystacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen import run
from retgen.generators.niah.groups import DATA
from retgen.recipe import load_recipe


@pytest.mark.parametrize(
    ("needles", "said"),
    [
        (["one_hop"], "needles that share no word with their question,"),
        (["literal"], "needles that repeat words of their question,"),
        (["one_hop", "literal"], "needles that share no word with their question, and literal "
         "ones that do,"),
    ],
)  # fmt: skip
def test_what_the_set_is_follows_its_needles(needles: list[str], said: str) -> None:
    recipe = load_recipe("niah", {"params.needles": needles})
    assert recipe.family.about(recipe.job) == f"{said} in haystacks of exact lengths"
    assert recipe.family.from_user(recipe.job) == "nothing"


def test_card_and_report_say_what_a_score_is_of(tmp_path: Path) -> None:
    """Over books of the user's own, which are not synthetic."""
    books = tmp_path / "books"
    books.mkdir()
    for name in ("map_room", "boatyard"):
        (books / f"{name}.txt").write_text((DATA / "prose" / f"{name}.txt").read_text())
    overrides = {"params.lengths": [128], "params.places": 2, "params.books": str(books)}
    made = run("niah", overrides=overrides, out=tmp_path / "run").path
    card = (made / "dataset" / "README.md").read_text()
    assert card.count("## What a score is of\n\nHow far texts that answer a question score") == 1
    assert "put together from a source's own sentences: needles that share" in card
    page = (made / "report.html").read_text()
    assert "<b>What a score is of.</b> How far texts that answer a question" in page
    assert "but the texts are put together from them and the queries are synthetic" in page
    for text in (card, page):
        for absent in ("Query-blind baselines", "dimensions needed", "How hard for a single",
                       "Certificate", "The texts are synthetic", "recall@"):  # fmt: skip
            assert absent not in text
    # they are measured all the same
    report = json.loads((made / "report.json").read_text())
    assert report["certificate"]["upper"] == 2
    assert "recall@10" in report["floors"]["random"]
