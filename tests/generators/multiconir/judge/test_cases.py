"""How often the judge is right on labelled pairs, and that it is quick.

cases.jsonl, a pair a line: text, condition, label, kind, domain, round. Round 1 was tuned on from
the start; 2 and 3 were first scored blind (0.88 and 0.87 right), then tuned on too. Round 4 rewords
its conditions freely and was tuned on; its parts, scored blind, had 0.37 to 0.44 of the paraphrases
right. Round 5, of the same author, was never tuned on case by case, though its words were in mind
when the lists were written. So the numbers below flatter: expect of fresh texts the blind scores.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from retgen.generators.multiconir.judge import judge, survey

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("satisfied", {"satisfied": 537, "cannot_tell": 62, "violated": 10}),
        ("violated", {"violated": 642, "cannot_tell": 56, "satisfied": 4}),
        ("cannot_tell", {"cannot_tell": 121, "violated": 1}),
    ],
)
def test_verdicts_by_label(label: str, expected: dict[str, int]) -> None:
    counts = Counter(
        judge(case["text"], case["condition"]).verdict for case in CASES if case["label"] == label
    )
    assert counts == expected


@pytest.mark.parametrize(
    ("kind", "right", "of"),
    [
        ("literal", 84, 86),
        ("paraphrase", 250, 309),
        ("extra", 15, 15),
        ("fact", 153, 157),
        ("reassigned", 80, 85),
        ("negation", 59, 60),
        ("related", 47, 48),
        ("partial", 15, 15),
        ("implied", 30, 32),
        ("antonym", 84, 97),
        ("unrelated", 59, 59),
        ("shortened", 158, 167),
        ("altered", 210, 218),
        ("altered paraphrase", 56, 85),
    ],
)
def test_right_by_kind(kind: str, right: int, of: int) -> None:
    cases = [case for case in CASES if case["kind"] == kind]
    results = [judge(case["text"], case["condition"]).verdict == case["label"] for case in cases]
    assert (sum(results), len(results)) == (right, of)


def test_every_kind_and_domain_is_there() -> None:
    assert {case["domain"] for case in CASES} == {"people", "books", "movies", "medical", "legal"}
    assert {case["kind"] for case in CASES} == {
        *"literal paraphrase implied extra fact antonym negation reassigned related".split(),
        *"partial unrelated shortened altered".split(),
        "altered paraphrase",
    }
    assert len({(case["text"], case["condition"]) for case in CASES}) == len(CASES)


def test_evidence_is_cut_out_of_the_text_and_only_missing_where_it_cannot_tell() -> None:
    for case in CASES:
        verdict, evidence = judge(case["text"], case["condition"])
        assert evidence in case["text"]
        assert (evidence == "") == (verdict == "cannot_tell"), case


def test_three_thousand_pairs_a_second() -> None:
    texts = [case["text"] for case in CASES][:60]
    conditions = [case["condition"] for case in CASES][:60]
    survey(texts[:1], conditions[:1])  # the lists are read once
    start = time.perf_counter()
    survey(texts, conditions)
    assert time.perf_counter() - start < 60 * 60 / 1_000  # a third of it, for a busy machine
