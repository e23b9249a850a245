from __future__ import annotations

import pytest

from retgen.generators.multiconir.judge.lists import lexicon
from retgen.generators.multiconir.judge.stems import stem


@pytest.mark.parametrize(
    ("special", "general"),
    [
        ("porto", "portugal"),
        ("porto", "portuguese"),
        ("lisbon", "europe"),
        ("cardiologist", "physician"),
        ("amoxicillin", "antibiotic"),
        ("violinist", "musician"),
    ],
)
def test_a_kind_or_a_part_implies_the_whole_but_not_the_other_way(
    special: str, general: str
) -> None:
    known = lexicon()
    special, general = stem(special), stem(general)

    def ids(key: str) -> frozenset[str]:
        return frozenset((key,)) | known.same.get(key, frozenset())

    assert ids(general) & known.above[special]
    assert not ids(special) & known.above.get(general, frozenset())


def test_no_word_is_its_own_opposite_or_implies_it() -> None:
    known = lexicon()
    wrong = {
        key
        for key, opposite in known.opposite.items()
        if opposite & (frozenset((key,)) | known.above.get(key, frozenset()))
    }
    assert wrong == set()
