"""The bundled documents and the calibration set are what they are said to be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from retgen import generators
from retgen.generators.multiconir.calibration import cases, sheets
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


def test_no_two_documents_share_a_sentence() -> None:
    every = Counter(s for d in DOMAINS for one in documents(d) for s in split(one["text"]))
    assert set(every.values()) == {1}
    assert len(every) > 1_900


def test_calibration_set() -> None:
    every = cases()
    assert len(every) == 240
    assert Counter(one.label for one in every) == {
        "satisfied": 80, "violated": 80, "cannot_tell": 80
    }  # fmt: skip
    kinds = Counter((one.label, one.kind) for one in every)
    assert kinds == {
        ("satisfied", "literal"): 20, ("satisfied", "paraphrase"): 30,
        ("satisfied", "implied"): 15, ("satisfied", "extra"): 15,
        ("violated", "fact"): 25, ("violated", "antonym"): 20, ("violated", "reassigned"): 20,
        ("violated", "paraphrase"): 15,
        ("cannot_tell", "related"): 40, ("cannot_tell", "partial"): 20,
        ("cannot_tell", "unrelated"): 20,
    }  # fmt: skip
    assert len({(one.text, one.condition) for one in every}) == 240


def test_a_sheet_has_ten_cases_of_five_domains() -> None:
    """Every case once; neither its place among the texts nor the conditions tells the other."""
    assert len(sheets()) == 24
    assert [case for n in range(24) for case in sheets()[n].cases] == [
        case for n in range(24) for case in cases()[n::24]
    ]
    for sheet in sheets():
        question = sheet.question
        assert sorted(question.texts) == sorted(case.text for case in sheet.cases)
        assert question.asked == tuple(range(1, 11))
        assert question.texts != tuple(case.text for case in sheet.cases)
        of_text = [next(c.condition for c in sheet.cases if c.text == t) for t in question.texts]
        assert sorted(of_text) == sorted(question.conditions)
        assert tuple(of_text) != question.conditions


def test_calibration_cases_are_not_taken_from_the_documents() -> None:
    every = {s for d in DOMAINS for one in documents(d) for s in split(one["text"])}
    assert not {s for one in cases() for s in split(one.text)} & every
