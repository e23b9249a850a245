"""The bundled documents and planted cases are what they are said to be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from retgen import generators
from retgen.generators.multiconir.planted import planted
from retgen.generators.multiconir.sentences import split, usable
from tests.conftest import read_jsonl

FOLDER = Path(generators.__path__[0]) / "multiconir"
DOMAINS = ("people", "books", "movies", "medical", "legal")


def documents(domain: str) -> list[dict[str, str]]:
    return read_jsonl(FOLDER / "documents" / f"{domain}.jsonl")


@pytest.mark.parametrize("domain", DOMAINS)
def test_documents_of_a_domain(domain: str) -> None:
    found = documents(domain)
    assert [one["_id"] for one in found] == [f"{domain}-{n:02}" for n in range(1, 25)]
    assert len({one["title"] for one in found}) == 24
    for one in found:
        assert one["licence"] == "CC0-1.0"
        sentences = split(one["text"])
        assert 12 <= len(sentences) <= 20, one["_id"]
        assert 180 <= len(one["text"].split()) <= 320, one["_id"]
        assert all(map(usable, sentences)), one["_id"]


def test_no_two_documents_share_a_sentence() -> None:
    every = Counter(s for d in DOMAINS for one in documents(d) for s in split(one["text"]))
    assert set(every.values()) == {1}
    assert len(every) > 1_900


def test_planted_cases() -> None:
    cases = planted()
    assert len(cases) == 240
    assert Counter(one.label for one in cases) == {
        "satisfied": 80, "violated": 80, "cannot_tell": 80
    }  # fmt: skip
    kinds = Counter((one.label, one.kind) for one in cases)
    assert kinds == {
        ("satisfied", "literal"): 20, ("satisfied", "paraphrase"): 30,
        ("satisfied", "implied"): 15, ("satisfied", "extra"): 15,
        ("violated", "fact"): 25, ("violated", "antonym"): 20, ("violated", "reassigned"): 20,
        ("violated", "paraphrase"): 15,
        ("cannot_tell", "related"): 40, ("cannot_tell", "partial"): 20,
        ("cannot_tell", "unrelated"): 20,
    }  # fmt: skip
    assert len({(one.text, one.condition) for one in cases}) == 240


def test_planted_cases_are_not_taken_from_the_documents() -> None:
    every = {s for d in DOMAINS for one in documents(d) for s in split(one["text"])}
    assert not {s for one in planted() for s in split(one.text)} & every
