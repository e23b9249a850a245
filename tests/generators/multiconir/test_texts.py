"""The bundled documents and the calibration set are what they are said to be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from retgen import generators
from retgen.generators.multiconir.agents import Judged, Verdicts, cases, sheets
from retgen.generators.multiconir.checks import split, usable
from tests.conftest import read_jsonl

FOLDER = Path(generators.__path__[0]) / "multiconir"
DOMAINS = ("people", "books", "movies", "medical", "legal")


def documents(domain: str) -> list[dict[str, str]]:
    return read_jsonl(FOLDER / "documents" / f"{domain}.jsonl")


@pytest.mark.parametrize("domain", DOMAINS)
def test_documents_of_a_domain(domain: str) -> None:
    result = documents(domain)
    assert [one["_id"] for one in result] == [f"{domain}-{n:02}" for n in range(1, 25)]
    assert len({one["title"] for one in result}) == 24
    for one in result:
        assert one["licence"] == "CC0-1.0"
        sentences = split(one["text"])
        assert 12 <= len(sentences) <= 20, one["_id"]
        assert 180 <= len(one["text"].split()) <= 320, one["_id"]
        assert all(map(usable, sentences)), one["_id"]


def test_calibration_set() -> None:
    every = cases()
    assert len(every) == 240
    assert set(Counter(one.label for one in every).values()) == {80}
    assert min(Counter((one.label, one.kind) for one in every).values()) >= 15
    assert len({(one.text, one.condition) for one in every}) == 240


def test_a_sheet_has_ten_cases_of_five_domains() -> None:
    """Every case once; neither its place among the texts nor the conditions tells the other."""
    assert len(sheets()) == 24
    for number, sheet in enumerate(sheets()):
        question, shown = sheet.question, cases()[number::24]
        assert [(one.label, one.kind) for one in sheet.cases] == [
            (one.label, f"{one.label}/{one.kind}") for one in shown
        ]
        assert sorted(question.texts) == sorted(case.text for case in shown)
        assert question.texts != tuple(case.text for case in shown)
        of_text = [next(c.condition for c in shown if c.text == t) for t in question.texts]
        assert sorted(of_text) == sorted(question.conditions)
        assert tuple(of_text) != question.conditions


def test_a_sheet_reads_the_verdict_on_each_of_its_cases() -> None:
    """Wrong about the first case, and without a quote for the second; the others are right."""
    sheet, shown = sheets()[0], cases()[0::24]
    judged = []
    for number, case in enumerate(shown):
        place = sheet.question.texts.index(case.text) + 1
        verdict = case.label if number else "violated"
        judged.append(
            Judged(
                condition=sheet.question.conditions.index(case.condition) + 1,
                text=0 if verdict == "cannot_tell" else place,
                verdict=verdict,
                quote="" if number == 1 or verdict == "cannot_tell" else case.text,
            )
        )
    labels = [case.label for case in shown]
    assert (labels[0], labels[1] != "cannot_tell") == ("satisfied", True)
    assert sheet.verdicts(Verdicts(verdicts=judged)) == ["violated", None, *labels[2:]]


def test_no_sentence_stands_in_two_documents_or_cases() -> None:
    every = Counter(s for d in DOMAINS for one in documents(d) for s in split(one["text"]))
    assert set(every.values()) == {1}
    assert not {s for one in cases() for s in split(one.text)} & every.keys()
