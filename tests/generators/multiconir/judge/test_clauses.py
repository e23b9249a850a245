from __future__ import annotations

import pytest

from retgen.generators.multiconir.judge.clauses import read


def summary(text: str) -> list[tuple[str, str, str]]:
    """(verb, owner, concepts, "-" before what is denied) of each clause."""
    return [
        (
            clause.verb.key if clause.verb else "",
            clause.owner,
            " ".join(("-" if c.negated else "") + c.key for c in clause.concepts),
        )
        for sentence in read(text)
        for clause in sentence.clauses
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "She moved to Vienna, but her cousin never left Graz.",
            [("mov", "", "mov vienna"), ("left", "cousin", "cousin -left -graz")],
        ),
        (
            "The tenant refused to pay because the roof leaked.",
            [("refus", "", "tenant refus"), ("pai", "", "-pai"), ("leak", "", "roof leak")],
        ),
        (
            "Her brother, who studied law, became a judge.",
            [("becom", "brother", "brother becom judg"), ("studi", "brother", "studi law")],
        ),
        (
            "He was a tailor, and a neighbour of his worked as a baker.",
            [("", "", "tailor"), ("work as", "neighbor", "neighbor work as baker")],
        ),
        (
            "The race was won by her sister.",
            [("win", "sister", "rac win sister")],
        ),
        (
            "A neighbour's mother died.",
            [("die", "neighbor", "neighbor mother die")],
        ),
        ("No complications occurred.", [("occur", "", "-complication -occur")]),
        ("Allergic to penicillin", [("", "", "allergic penicillin")]),
    ],
)  # fmt: skip
def test_clauses(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert summary(text) == expected


def test_sentences_end_at_full_stops_but_not_at_abbreviations() -> None:
    text = "Dr. Brandt left. She went to St. Gallen. J. Doe stayed!"
    assert [text[s.start : s.end].strip() for s in read(text)] == [
        "Dr. Brandt left.",
        "She went to St. Gallen.",
        "J. Doe stayed!",
    ]
