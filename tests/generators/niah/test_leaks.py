"""Which words are related to a question, and which sentences stay out of the filler."""

from __future__ import annotations

from typing import Any

import pytest

from retgen.generators.niah.groups import read_groups
from retgen.generators.niah.leaks import LeakFilter, RelatedWords, fault_of
from retgen.generators.niah.params import NiahParams


@pytest.mark.parametrize(
    ("question", "related", "unrelated"),
    [
        ("Which character speaks Welsh?", "speak spoke spoken speaker welshman", "spear which"),
        (
            "Which character cannot eat wheat bread?",
            "ate eaten eater uneaten bread breads",
            "beat eaves unbeaten",
        ),
        (
            "Which character cannot distinguish red from green?",
            "reddish redden greenhouse",
            "redoubt read from",
        ),
        ("Which character is a mathematician?", "math mathematics mathematical", "mat matter"),
        ("Which character studies beetles?", "study stud beetle beet", "sturdy steel"),
    ],
)
def test_related_words(question: str, related: str, unrelated: str) -> None:
    words = RelatedWords([question])
    found = [word for word in f"{related} {unrelated}".split() if words.to(word) is not None]
    assert found == related.split()


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("The girl ate an apple on the wall.", "word"),
        ("They came in August to mend it.", "term"),
        ("The hive was full.", ""),  # of the hop "Langstroth hives" the half
        ("He had a weevil in the flour.", "key"),
    ],
)
def test_faults(sentence: str, fault: str) -> None:
    assert LeakFilter(read_groups(NiahParams())).fault(sentence) == fault


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"near": ("Outside Wawel Cathedral {name} sells maps.",)},
            "near[0] holds all that the hop goes through (cathedr, wawel), so it answers as the needle "
            "does: 'Outside Wawel Cathedral {name} sells maps.'",
        ),
        (
            {"one_hop_inverted": "Actually, {name} lives next to Wawel Cathedral."},
            "one_hop_inverted is the sentence of one_hop: 'Actually, {name} lives next to Wawel "
            "Cathedral.'",
        ),
    ],
)
def test_a_near_answer_that_answers_and_a_needle_that_is_there_twice(
    changes: dict[str, Any], fault: str
) -> None:
    group = read_groups(NiahParams())[0]
    assert fault_of(group) is None
    assert fault_of(group.model_copy(update=changes)) == fault
