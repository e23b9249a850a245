"""`gen validate` and `gen report`: exit codes, JSON, and rules that a recipe changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Gen


def test_validate_exit_codes_and_json(gen: Gen, small: Path, tmp_path: Path) -> None:
    gen("run", small)
    good = gen("validate", "outputs/small")
    assert good.returncode == 0
    assert good.stdout == (
        "outputs/small: 400 documents, 100 queries, 200 qrels\n"
        "  proven: 200 qrels, rebuilt from the words of the documents\n"
        "ok: 0 errors, 0 warnings\n"
    )
    qrels = tmp_path / "outputs" / "small" / "dataset" / "qrels.jsonl"
    lines = qrels.read_text().splitlines()
    qrels.write_text("\n".join(lines[1:]) + "\n")
    bad = gen("validate", "outputs/small", "--json")
    assert bad.returncode == 1
    content = json.loads(bad.stdout)
    assert (content["ok"], content["errors"], content["warnings"]) == (False, 4, 0)
    assert sorted(content["findings"][0]) == ["ids", "message", "rule", "severity"]
    rules = [finding["rule"] for finding in content["findings"]]
    assert rules == [
        "limit-proof/qrels",
        "limit-proof/row-sum",
        "manifest",
        "regenerated",
    ]
    lost = json.loads(lines[0])
    assert content["findings"][0]["ids"] == [lost["query-id"], lost["corpus-id"]]


@pytest.mark.slow
def test_rules_of_a_recipe_that_are_switched_off(gen: Gen, small: Path, tmp_path: Path) -> None:
    asked = "{off: {order-leak: trying something}}"
    small.write_text(small.read_text() + f"validate: {asked}\n")
    content = json.loads(gen("run", small, "--json").stdout)
    assert content["checks"]["switched_off"] == {"order-leak": "trying something"}
    shown = gen("validate", "outputs/small").stdout
    assert "  off     order-leak: trying something\n" in shown
    page = (tmp_path / "outputs" / "small" / "report.html").read_text()
    assert "Switched off by the recipe" in page


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "off: {order-leek: no reason}",
            "validate.off: there is no rule 'order-leek'; did you mean order-leak? Rules: answer-leak, ",
        ),
        (
            "off: {limit-proof: trying something}",
            "validate.off: limit-proof vouches for this data set, so it cannot be switched off. "
            "That holds for limit-proof, manifest, ",
        ),
    ],
)
def test_rules_that_a_recipe_cannot_change(gen: Gen, small: Path, asked: str, message: str) -> None:
    small.write_text(small.read_text() + f"validate: {{{asked}}}\n")
    result = gen("run", small)
    assert result.returncode == 2
    assert result.stderr.startswith(f"gen: {message}")


def test_report_again(gen: Gen, small: Path, tmp_path: Path) -> None:
    gen("run", small)
    page = tmp_path / "outputs" / "small" / "report.html"
    before = page.read_text()
    page.unlink()
    assert gen("report", "outputs/small").stdout == "outputs/small/report.html\n"
    assert page.read_text() == before
    wrong = gen("report", ".")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "gen: . holds no readable report.json; `gen validate .` checks it anew\n",
    )
