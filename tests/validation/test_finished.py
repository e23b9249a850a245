"""Figures of a manifest and what a judge answered, altered under hashes that are made to fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen import validate
from tests.agents.ladder_mind import ladder_mind
from tests.agents.server import serving
from tests.command import in_process
from tests.generators.multiconir.stories import stories
from tests.shared import sample
from tests.validation.changes import (
    CARD,
    Change,
    both,
    file,
    findings,
    forged,
    gone,
    jsonl,
    manifest,
    stating,
)
from tests.with_agents.conftest import environment

VERDICTS = "tables/verdicts.jsonl"
FIGURES: list[tuple[str, Change, str]] = [
    ("test", stating("name", "other"), 'name is "other", must be "limit_dense"'),
    ("test", stating("family", "multiconir"), 'family is "multiconir", must be "limit"'),
    ("test", stating("counts.documents", 301), "counts.documents is 301, must be 300"),
    ("test", manifest(lambda m: m.pop("counts")), "counts is missing; must be {"),
    ("test", stating("complete", False), "complete is false, must be true"),
    ("test", stating("evidence.structural", 121), "evidence.structural is 121, must be 120"),
    ("test", stating("evidence.human", 120), "evidence.human is 120, must be 0"),
    ("ladders", stating("judges", {"x": "never wrong"}), 'judges.x is "never wrong"; must not be'),
    ("ladders", stating("structure", "all"), 'structure is "all", must be "which sentence'),
    ("test", stating("checks.warnings", 1), "checks.warnings is 1, must be 0"),
    ("test", stating("card", []), 'card is [], must be ["'),
    ("ladders", manifest(lambda m: m["example"]["rows"].reverse()), "example.rows[0][0] is "),
    ("test", stating("floors.best.ranking", "none"), 'floors.best.ranking is "none", must be "'),
    ("test", stating("certificate.lower", 40), "certificate.lower is 40, must be 4"),
    ("test", manifest(lambda m: m.update(proven_by="us")), 'proven_by is "us"; must not be there'),
]


@pytest.mark.parametrize(("name", "change", "message"), sample(FIGURES))
def test_altered_figures_are_named(
    finished: dict[str, Path], name: str, change: Change, message: str, tmp_path: Path
) -> None:
    validation = validate(forged(finished[name], tmp_path, change))
    named = next(one for one in validation.findings if one.rule == "manifest")
    assert (named.rule, named.severity) == ("manifest", "error")
    assert named.message.startswith(f"manifest.json: {message}")
    assert named.ids[0] == f"manifest.json:{message.partition(' ')[0].removesuffix(';')}"


def test_a_card_that_was_changed(finished: dict[str, Path], tmp_path: Path) -> None:
    copy = forged(finished["test"], tmp_path, lambda folder: None)
    file(CARD, "license: mit\n")(copy)
    validation = validate(copy)
    assert (validation.ok, validation.proven) == (False, 0)
    message = f"{CARD} is not the file that the manifest describes"
    assert findings(validation) == [("manifest", message)]


@pytest.mark.parametrize(
    ("stated", "severity", "end"),
    [
        (1, "warning", ""),
        (4, "error", "; check it with the version that made it"),
        (None, "error", "; check it with the version that made it"),
    ],
)
def test_of_another_format_it_is_said_once(
    finished: dict[str, Path], tmp_path: Path, stated: int | None, severity: str, end: str
) -> None:
    change = both(
        stating("format_version", stated),
        manifest(lambda m: m.pop("languages")),
        manifest(lambda m: m["counts"].pop("rejected")),
    )
    validation = validate(forged(finished["test"], tmp_path, change))
    assert [(one.rule, one.severity, one.message) for one in validation.findings] == [
        (
            "manifest",
            severity,
            f"manifest.json: the run is in format {stated}, this version of retgen writes format 3: "
            f"the tables are not made again{end}",
        )
    ]
    assert validation.proven == (120 if severity == "warning" else 0)


# --- a run whose labels a model judged ----------------------------------------------------------


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            stating("evidence.structural", 800),
            "manifest.json: evidence.structural is 800, must be 0",
        ),
        (
            stating("judges.verify_conditions.accuracy", 1.0),
            "manifest.json: judges.verify_conditions.accuracy is 1.0, must be 0.3333",
        ),
        (
            jsonl(VERDICTS, lambda rows: rows.pop(0)),
            f"{VERDICTS}, 1 verdicts are missing: no label is without its evidence",
        ),
        (
            jsonl(VERDICTS, lambda rows: rows[5].update(verdict="satisfied")),
            f"{VERDICTS}, row 6: ladder ship-00, condition 3, rewrite: the verdict is 'satisfied', ",
        ),
        (
            jsonl("sources/documents.jsonl", lambda rows: rows.append(rows[0] | {"id": "more"})),
            "document more of the source: it is neither a ladder nor in rejected.jsonl",
        ),
        (
            gone("sources/calibration.json"),
            "recipe.yaml, inputs/ and sources/ do not fit together, so one of them is not the run's: "
            "FileNotFoundError: ",
        ),
    ],
)
def test_what_a_judge_answered_cannot_be_altered(
    judged: Path, change: Change, message: str, tmp_path: Path
) -> None:
    messages = [one.message for one in validate(forged(judged, tmp_path, change)).findings]
    assert [one for one in messages if one.startswith(message)], messages
