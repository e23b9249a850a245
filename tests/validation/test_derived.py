"""What is altered beside the tables of a run is named, although all hashes are made to fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import validate
from tests.shared import sample
from tests.validation.changes import (
    CARD,
    Change,
    both,
    file,
    forged,
    gone,
    manifest,
    report,
    stating,
    text,
)

BESIDE: list[tuple[str, Change, str]] = [
    ("test", stating("name", "other"), 'name is "other", must be "limit_dense"'),
    ("test", stating("family", "multiconir"), 'family is "multiconir", must be "limit"'),
    ("test", stating("seed", 7), "seed is 7, must be 42"),
    ("test", stating("created", "today"), 'created is "today", which is no time'),
    ("test", stating("created", 1999), "created is 1999, which is no time"),
    ("test", stating("created", "1999-01-01T00:00:00"),
     'created is "1999-01-01T00:00:00", which says no time zone'),
    ("test", stating("created", "1999-01-01 00:00:00+00:00"),
     'created is "1999-01-01 00:00:00+00:00", must be written as 1999-01-01T00:00:00+00:00'),
    ("test", stating("versions", {"retgen": "0.1.0"}), 'versions is {"retgen":"0.1.0"}, must name retgen, python, numpy'),
    ("test", stating("counts.documents", 301), "counts.documents is 301, must be 300"),
    ("test", stating("counts.rejected", 3), "counts.rejected is 3, must be 0"),
    ("train", stating("counts.qrels", 121), "counts.qrels is 121, must be 120"),
    ("test", stating("complete", False), "complete is false, must be true"),
    ("ladders", stating("complete", True), "complete is true, must be false"),
    ("test", stating("evidence.structural", 121), "evidence.structural is 121, must be 120"),
    ("test", stating("evidence.human", 120), "evidence.human is 120, must be 0"),
    ("ladders", stating("evidence", {"structural": 0, "judged": 1680, "human": 0}),
     "evidence.structural is 0, must be 1680; evidence.judged is 1680, must be 0"),
    ("ladders", stating("judges", {"x": "never wrong"}), 'judges.x is "never wrong"; must not be'),
    ("ladders", stating("structure", "everything"), 'structure is "everything", must be "which sent'),
    ("ladders", stating("tests", ""), 'tests is "", must be "Whether a retriever orders'),
    ("test", stating("judged", "a judge"), 'judged is "a judge", must be ""'),
    ("ladders", stating("models.verify_conditions.model", "openai:gpt-5"),
     'models.verify_conditions.model is "openai:gpt-5", must be "offline"'),
    ("ladders", stating("prompts", {"x": "y"}), 'prompts.x is "y"; must not be there'),
    ("ladders", stating("calls", 5), "calls is 5, must be 0"),
    ("ladders", stating("usd", 0.01), "usd is 0.01, must be 0.0"),
    ("test", stating("tokens.in", 1), "tokens.in is 1, must be 0"),
    ("test", stating("word_lists", {}), "word_lists.attributes is missing"),
    ("test", stating("word_lists.names (Faker)", "00"), 'word_lists.names (Faker) is "00", must be "'),
    ("test", stating("timings", {}), "timings is {}, must name latent, generate and write, prove "),
    ("test", stating("timings.latent", -1.0), "timings.latent is -1.0, which is no time"),
    ("test", stating("licences.names", "CC0"), 'licences.names is "CC0", must be "MIT (Faker)"'),
    ("test", stating("languages", ["deu-Latn"]), 'languages[0] is "deu-Latn", must be "eng-Latn"'),
    ("test", stating("checks.warnings", 1), "checks.warnings is 1, must be 0"),
    ("test", stating("checks.switched_off", {"order-leak": "no"}),
     'checks.switched_off.order-leak is "no"; must not be there'),
    ("test", stating("card", []), "card is 0 entries, must be 2 entries"),
    ("ladders", stating("facts.Number", "24"), 'facts.Number is "24", must be "3"'),
    ("ladders", manifest(lambda m: m["example"]["rows"].reverse()), "example.rows[0][0] is "),
    ("test", stating("floors.best.ranking", "none"), 'floors.best.ranking is "none", must be "'),
    ("ladders", manifest(lambda m: m["floors"]["random"].update({"win rate, task 1": 0.25})),
     "floors.random.win rate, task 1 is 0.25, must be 0.5"),
    ("test", stating("certificate.lower", 40), "certificate.lower is 40, must be 4"),
    ("train", stating("certificate", {}), "certificate.documents is missing; must be 20"),
    ("ladders", stating("certificate", {"lower": 1}), "certificate.lower is 1; must not be there"),
    ("test", manifest(lambda m: m.update(proven_by="us")), 'proven_by is "us"; must not be there'),
    ("test", manifest(lambda m: m.pop("licences")), "licences is missing; must be "),
]  # fmt: skip

PAGES: list[tuple[str, Change, str]] = [
    ("test", text(CARD, "120 of 120 qrels are proven", "121 of 121 qrels are proven"),
     f'{CARD}: line '),
    ("test", text(CARD, "license: apache-2.0", "license: mit"), f"{CARD}: line "),
    ("test", text(CARD, "| random |", "| random order |"), f"{CARD}: line "),
    ("test", file(CARD, ""), f"{CARD}: line 1 is "),
    ("test", file("report.json", "{}\n"), "report.json: name is missing; must be "),
    ("test", file("report.json", "[]\n"), "report.json: it is [], not an object"),
    ("test", file("report.json", "no\n"), "report.json: it cannot be read: "),
    ("test", gone("report.json"), "report.json: it cannot be read: "),
    ("test", report(lambda r: r["findings"].append({"rule": "x"})),
     "report.json: findings is 1 entries, must be 0 entries"),
    ("ladders", report(lambda r: r["statistics"].update(documents=1)),
     "report.json: statistics.documents is 1, must be "),
    ("ladders", stating("manifest.evidence.judged", 5, "report.json"),
     "report.json: manifest.evidence.judged is 5, must be 0"),
    ("test", report(lambda r: r["picture"].update(shared=[])), "report.json: picture.shared is "),
    ("test", stating("seconds.scan", -1, "report.json"), "report.json: seconds.scan is -1, must be null"),
    ("test", text("report.html", "<title>", "<title>Perfect: "),
     "report.html: it is not the page of report.json; `gen report` makes it again"),
    ("test", gone("report.html"), "report.html: it cannot be read: "),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["test", "train", "ladders"])
def test_many_altered_figures_are_all_named(
    finished: dict[str, Path], name: str, tmp_path: Path
) -> None:
    """A fault in every key of the manifest at once: each has its finding."""
    cases = {message.partition(" ")[0].partition(".")[0]: (change, message)
             for which, change, message in BESIDE if which == name}  # fmt: skip
    copy = forged(finished[name], tmp_path, both(*(change for change, _ in cases.values())))
    messages = [one.message for one in validate(copy).findings if one.rule == "manifest"]
    for _, message in cases.values():
        assert [one for one in messages if one.startswith(f"manifest.json: {message}")], (
            message,
            messages,
        )
    assert len(messages) == len(cases)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change", "message"), BESIDE)
def test_altered_figures_are_named(
    finished: dict[str, Path], name: str, change: Change, message: str, tmp_path: Path
) -> None:
    validation = validate(forged(finished[name], tmp_path, change))
    (named,) = [
        one for one in validation.findings if one.message.startswith(f"manifest.json: {message}")
    ]
    assert (named.rule, named.severity) == ("manifest", "error")
    assert named.ids[0].startswith(f"manifest.json:{message.partition(' ')[0]}"[:20])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change", "message"), sample(PAGES))
def test_altered_pages_are_named(
    finished: dict[str, Path], name: str, change: Change, message: str, tmp_path: Path
) -> None:
    validation = validate(forged(finished[name], tmp_path, change))
    first = next(one for one in validation.findings if one.message.startswith(message))
    assert (first.rule, first.severity) == ("derived", "error")
    assert first.ids[0].partition(":")[0] == message.partition(":")[0]


def test_figures_of_another_version_may_differ(finished: dict[str, Path], tmp_path: Path) -> None:
    change = both(
        stating("versions.retgen", "0.0.9"), stating("certificate.lower", 3),
        stating("counts.queries", 61), report(lambda r: r["manifest"]["versions"].update(retgen="0.0.9")),
    )  # fmt: skip
    validation = validate(forged(finished["test"], tmp_path, change))
    assert [
        (one.severity, one.message) for one in validation.findings if one.rule == "manifest"
    ] == [
        ("error", "manifest.json: counts.queries is 61, must be 60"),
        ("warning", "manifest.json: certificate.lower is 3, must be 4"),
    ]


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
        stating("format_version", stated), manifest(lambda m: m.pop("languages")),
        manifest(lambda m: m["counts"].pop("rejected")), report(lambda r: r.pop("split")),
    )  # fmt: skip
    validation = validate(forged(finished["test"], tmp_path, change))
    assert [(one.rule, one.severity, one.message) for one in validation.findings] == [
        (
            "manifest",
            severity,
            f"manifest.json: the run is in format {stated}, this version of retgen writes format 3: "
            "the tables are not made again, and of what stands beside them only name, seed, counts, "
            f"evidence and hashes are compared{end}",
        )
    ]
    assert validation.proven == (120 if severity == "warning" else 0)


def test_another_format_excuses_no_wrong_count(finished: dict[str, Path], tmp_path: Path) -> None:
    change = both(stating("format_version", 1), stating("evidence.structural", 900))
    validation = validate(forged(finished["test"], tmp_path, change))
    assert not validation.ok
    assert [one.message for one in validation.findings if one.severity == "error"] == [
        "manifest.json: evidence.structural is 900, must be 120"
    ]
