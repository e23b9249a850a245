from __future__ import annotations

import pytest

from retgen.generators.multiconir.judge import Judged, Noticed, judge, survey


@pytest.mark.parametrize(
    ("text", "condition", "expected"),
    [
        (
            "She studied painting in Vienna, though her brother studied sculpture in Prague.",
            "Studied sculpture in Prague",
            Judged("violated", "though her brother studied sculpture in Prague"),
        ),
        (
            "She studied sculpture in Prague, though her brother studied painting in Vienna.",
            "Studied sculpture in Prague",
            Judged("satisfied", "She studied sculpture in Prague"),
        ),
        (
            "The film opened on 8 March 1974 in Porto. Its sequel was released in May 1976.",
            "Released in Portugal in the 1970s",
            Judged("satisfied", "The film opened on 8 March 1974 in Porto"),
        ),
        (
            "He has never been allergic to penicillin.",
            "Allergic to penicillin",
            Judged("violated", "He has never been allergic to penicillin"),
        ),
        ("He is allergic to penicillin.", "Allergic to penicillin since childhood", Judged("cannot_tell", "")),
        ("The court sat in Porto in 1974.", "Released in Porto in 1974", Judged("cannot_tell", "")),
        (
            "Her appendix was taken out when she was twelve.",
            "Had an appendectomy at the age of 12",
            Judged("satisfied", "Her appendix was taken out when she"),
        ),
        (
            "Bail was denied by the judge.",
            "Judge refused to grant bail",
            Judged("satisfied", "Bail was denied by the judge"),
        ),
        ("His sister is allergic to penicillin.", "Allergic to penicillin", Judged("cannot_tell", "")),
        (
            "He has no allergies, but his sister is allergic to penicillin.",
            "Allergic to penicillin",
            Judged("violated", "but his sister is allergic to penicillin"),
        ),
        ("", "Released in 1974", Judged("cannot_tell", "")),
        ("The film was released in 1974.", "", Judged("cannot_tell", "")),
        ("...", "?", Judged("cannot_tell", "")),
    ],
)  # fmt: skip
def test_judge(text: str, condition: str, expected: Judged) -> None:
    assert judge(text, condition) == expected


def test_survey_names_the_sentence_of_each_condition_and_no_other() -> None:
    sentences = [
        "The patient is a 54-year-old woman who was admitted with chest pain in May 2011.",
        "She has been allergic to penicillin since childhood.",
        "Her father died of a stroke at the age of 59.",
        "An operation on the right knee was performed in May 2009.",
    ]
    conditions = [
        "Allergic to penicillin since childhood",
        "Father died of a heart attack at the age of 59",
        "Smoked for thirty years",
        "54-year-old woman admitted with chest pain",
        "Operation on the left knee in May 2009",
    ]
    assert survey(sentences, conditions) == [
        Noticed(0, 1, "satisfied"),
        Noticed(1, 2, "violated"),
        Noticed(3, 0, "satisfied"),
        Noticed(4, 3, "violated"),
    ]
    assert survey([], conditions) == survey(sentences, []) == []
