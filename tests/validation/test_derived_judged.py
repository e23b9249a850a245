"""Figures of a judge and what it said cannot be altered either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen import validate
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import serving
from tests.command import in_process
from tests.generators.multiconir.stories import stories
from tests.validation.changes import (
    CARD,
    Change,
    both,
    findings,
    forged,
    gone,
    jsonl,
    manifest,
    stating,
    text,
)
from tests.with_agents.conftest import environment


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ladders written and judged through the protocol of a model's server."""
    folder = tmp_path_factory.mktemp("judged")
    (folder / "ships.jsonl").write_text("".join(json.dumps(d) + "\n" for d in stories(2)))
    (folder / "ships.yaml").write_text(
        "name: ships\nfamily: multiconir\nparams: {domain: legal, source: {path: ships.jsonl}}\n"
    )
    with serving(ladder_mind) as server:
        model = ("--model", "openai:gpt-5-mini", "--max-usd", "5")
        done = in_process(
            "run", "ships.yaml", *model, "--out", "run", cwd=folder, env=environment(server)
        )
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_a_judged_run_is_silent(judged: Path) -> None:
    validation = validate(judged)
    assert findings(validation) == []
    assert (validation.proven, validation.judged) == (0, 800)


JUDGED: list[tuple[Change, str]] = [
    (stating("evidence", {"structural": 800, "judged": 0, "human": 0}),
     "evidence.structural is 800, must be 0; evidence.judged is 0, must be 800"),
    (stating("judges.verify_conditions.accuracy", 1.0),
     "judges.verify_conditions.accuracy is 1.0, must be 0.3625"),
    (stating("judged", "everything"), 'judged is "everything", must be "that a sentence meets'),
    (stating("models.verify_conditions.model", "openai:gpt-5"),
     'models.verify_conditions.model is "openai:gpt-5", must be "openai:gpt-5-mini"'),
    (manifest(lambda m: m["prompts"].update({"multiconir/verify_conditions": "00"})),
     'prompts.multiconir/verify_conditions is "00", must be "'),
    (manifest(lambda m: m["licences"].update({"queries and rewrites": "CC0"})),
     'licences.queries and rewrites is "CC0", must be "as the terms of the model'),
    (stating("calls", -1), "calls is -1"),
    (stating("usd", -0.5), "usd is -0.5"),
]  # fmt: skip


def test_altered_figures_of_a_judge_are_named(judged: Path, tmp_path: Path) -> None:
    copy = forged(judged, tmp_path, both(*(change for change, _ in JUDGED)))
    messages = [one.message for one in validate(copy).findings if one.rule == "manifest"]
    for _, message in JUDGED:
        assert [one for one in messages if one.startswith(f"manifest.json: {message}")], message
    assert len(messages) == len(JUDGED)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (text(CARD, "wrong in 153 of 240", "wrong in 3 of 240"), f"{CARD}: line "),
        (jsonl("tables/verdicts.jsonl", lambda rows: rows[0].update(model="openai:gpt-5")),
         "tables/verdicts.jsonl is not what the recipe makes: row 1 model is "
         '"openai:gpt-5", must be "openai:gpt-5-mini"'),
        (gone("sources/calibration.json"),
         "sources/calibration.json cannot be read: No such file or directory; without it "),
    ],
    ids=["card", "verdict", "calibration"],
)  # fmt: skip
def test_what_a_judge_said_cannot_be_altered(
    judged: Path, change: Change, message: str, tmp_path: Path
) -> None:
    found = [one.message for one in validate(forged(judged, tmp_path, change)).findings]
    assert [one for one in found if one.startswith(message)], found
