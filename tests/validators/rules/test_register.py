"""A rule is one file: list, help, findings, `--off` need no other edit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen.plugins import classes, installed_plugins
from retgen.validators.rule import CorpusRule, Judgements, QueryRule, Rule
from retgen.validators.rules import GROUP, corpus_rules, listed, query_rules, types
from tests.project import Project
from tests.validators.sets import plain, write_set

SHOUTING = '''
"""Documents in capitals."""

from retgen.validators.rule import CorpusRule, DocumentNotes


class Shouting(CorpusRule):
    name = "shouting"
    severity = "warning"
    finds = "documents in capitals only"

    def start(self):
        self.state = DocumentNotes()

    def scan(self, batch):
        self.state.documents += [
            (one, "") for one, text in zip(batch.ids, batch.texts, strict=True) if text.isupper()
        ]

    def findings(self):
        for doc_id, _ in self.state.documents:
            yield self.finding([doc_id], f"document {doc_id} shouts")
'''
UNASKED = '''
"""Queries that ask nothing."""

from retgen.validators.rule import QueryRule


class Unasked(QueryRule):
    name = "no-question"
    severity = "error"
    finds = "queries without a question mark"

    def findings(self):
        for query in self.judgements.queries:
            if "?" not in query.text:
                yield self.finding([query.query_id], f"query {query.query_id} asks nothing")
'''
TABLE = """
from pathlib import Path
from retgen.validation.findings import table
print(*("|".join(row) for row in table(Path())), sep="\\n")
"""


@pytest.mark.slow
def test_a_rule_is_one_new_file(tmp_path: Path) -> None:
    project = Project(
        tmp_path, {"validators/rules/shouting.py": SHOUTING, "validators/rules/asked.py": UNASKED}
    )
    texts = {f"d{number}": plain(number) for number in range(4)}
    folder = write_set(tmp_path / "set", texts | {"d4": "THE MILL BURNED DOWN IN MAY"})
    validate = "validate", folder, "--json"
    shown, unknown, *results = project.gen(
        ("validate", "--help"),
        ("validate", folder, "--off", "shoutin=as found"),
        validate,
        (*validate, "--off", "no-question=as found"),
        (*validate, "--off", "shouting=as found"),
    )
    rows = project.python(TABLE).splitlines()
    assert "`shouting`|warning|documents in capitals only" in rows
    assert "`no-question`|error|queries without a question mark" in rows
    assert " no-question, shouting." in " ".join(shown.stdout.split())
    assert "there is no rule 'shoutin'; did you mean shouting? Rules: " in unknown.stderr
    assert [one.stderr for one in results] == ["", "", ""]
    findings = [
        [
            list(row.values())
            for row in json.loads(one.stdout)["findings"]
            if row["rule"] in ("shouting", "no-question")
        ]
        for one in results
    ]
    shouts = ["shouting", "warning", ["d4"], "document d4 shouts"]
    asks = ["no-question", "error", ["q0"], "query q0 asks nothing"]
    assert findings == [[asks, shouts], [shouts], [asks]]


def test_names_in_the_order_of_their_findings() -> None:
    known = (
        "duplicate-id duplicate-query-id duplicate-text duplicate-query normalised-duplicate "
        "normalised-duplicate-query near-duplicate-query empty-text empty-query encoding "
        "query-encoding dangling-qrel near-duplicate query-without-qrels duplicate-qrel "
        "score-range split-overlap graded-qrels order-leak answer-leak lexical-ambiguity language "
        "personal-data secrets length-outlier boilerplate origin"
    ).split()
    # others may stand between them
    assert [one.name for one in listed() if one.name in known] == known
    places = [(one.order, one.name) for one in types()]
    assert places == sorted(set(places))
    assert all(issubclass(one, CorpusRule | QueryRule) for one in types())


def test_what_a_proof_covers_is_not_made() -> None:
    nothing = Judgements([], [])
    covered = {"near-duplicate", "near-duplicate-query", "duplicate-query", "terms"}
    made = [{one.name for one in make(nothing)} for make in (corpus_rules, query_rules)]
    left = [{one.name for one in make(nothing, covered)} for make in (corpus_rules, query_rules)]
    assert made[0] - left[0] == {"near-duplicate"}
    assert made[1] - left[1] == {"near-duplicate-query", "duplicate-query"}


def test_an_installed_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules_of_others.py").write_text(SHOUTING)
    about = tmp_path / "rules_of_others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rules-of-others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[retgen.rules]\nshouting = rules_of_others\n")
    assert classes("none", [], Rule, GROUP) == ()
    monkeypatch.syspath_prepend(tmp_path)
    (result,) = classes("none", [], Rule, GROUP)
    assert result.table() == (("shouting", "warning", "documents in capitals only"),)
    assert [(one.name, one.value) for one in installed_plugins(GROUP)] == [
        ("shouting", "rules_of_others")
    ]
