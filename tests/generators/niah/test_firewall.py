"""Which words are related to a question, and which sentences stay out of the filler."""

from __future__ import annotations

import pytest

from retgen.generators.niah.firewall import Firewall, Related
from retgen.generators.niah.groups import read_groups
from retgen.generators.niah.params import NiahParams


@pytest.mark.parametrize(
    ("question", "related", "unrelated"),
    [
        ("Which character speaks Welsh?", "speak spoke spoken speaker welshman", "spear which"),
        ("Which character cannot eat wheat bread?", "ate eaten eater bread breads", "beat eaves"),
        ("Which character cannot distinguish red from green?", "reddish redden greenhouse",
         "redoubt read from"),
        ("Which character is a mathematician?", "math mathematics mathematical", "mat matter"),
        ("Which character studies beetles?", "study stud beetle beet", "sturdy steel"),
    ],
)  # fmt: skip
def test_related_words(question: str, related: str, unrelated: str) -> None:
    words = Related([question])
    found = [word for word in f"{related} {unrelated}".split() if words.to(word) is not None]
    assert found == related.split()


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("The girl ate an apple on the wall.", "word"),
        ("They came in August to mend it.", "term"),
        ("The hive was full.", None),  # of the hop "Langstroth hives" the half
        ("He had a weevil in the flour.", "key"),
        ("The stone was cold.", None),
    ],
)
def test_faults(sentence: str, fault: str | None) -> None:
    assert Firewall(read_groups(NiahParams())).fault(sentence) == fault
