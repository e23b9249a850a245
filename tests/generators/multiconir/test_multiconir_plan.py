"""A plan over documents of one's own, and over a data set of the Hub that it does not know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retgen import plan
from retgen.recipe import load_recipe
from tests.generators.multiconir.ships import recipe
from tests.generators.multiconir.stories import stories

ONCE = "calibrate_judge is asked once for each model and prompt: the ledger answers later runs"


def test_a_plan_counts_the_documents_that_can_be_used(tmp_path: Path) -> None:
    rows = [{"nr": i, "story": row["text"]} for i, row in enumerate(stories(4))]
    rows += [{"nr": "short", "story": "Too short."}, rows[0], {"nr": "none", "story": ""}]
    (tmp_path / "ships.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = plan(recipe(tmp_path, "ships.jsonl"))
    assert (result.documents, result.queries, result.qrels) == (80, 80, 1600)


def test_a_plan_says_that_it_does_not_know_a_data_set_of_the_hub(tmp_path: Path, gen: Any) -> None:
    path = recipe(tmp_path, "hf:nobody/nothing")
    why = "hf:nobody/nothing is not looked up for a plan: "
    fewer = "documents that give no ladder are rejected, so there may be fewer"
    notes = [f"{why}how many ladders it gives is not known", fewer, ONCE]
    nothing = {"low": None, "high": None}
    result = json.loads(gen("plan", path, "--json").stdout)
    assert result["notes"][:3] == notes
    for name in ("documents", "queries", "qrels", "bytes"):
        assert result[name] is None
    assert (result["usd"], result["seconds"]) == (nothing, nothing)
    assert set(result["calls"].values()) == set(result["tokens"].values()) == {None}
    assert "write_query" in result["calls"]
    assert "   not known  documents" in gen("plan", path).stdout.splitlines()
    for change, ladders in (
        ({"params.ladders": 30}, 30),
        ({"params.source.limit": 20}, 20),
        ({"limit": 2}, 2),
        ({"params.ladders": 30, "limit": 2}, 2),
    ):
        known = plan(path, change)
        assert (known.documents, known.unknown) == (20 * ladders, False)
        assert known.notes[0] == f"{why}whether it gives {ladders} ladders is not known"


def test_after_a_pilot_the_data_set_of_the_hub_is_known(tmp_path: Path) -> None:
    from retgen.agents.models import ModelOptions
    from retgen.agents.report import CallReport, Stage
    from retgen.plan import plan_from

    made = load_recipe(recipe(tmp_path, "hf:nobody/nothing"))
    result = plan_from(made, CallReport(stages=[Stage("ladders", 7)]), ModelOptions())
    assert (result.documents, result.unknown) == (140, False)
