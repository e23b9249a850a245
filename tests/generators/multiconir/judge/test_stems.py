from __future__ import annotations

import pytest

from retgen.generators.multiconir.judge.stems import is_irregular, stem


@pytest.mark.parametrize(
    "forms",
    [
        "study studies studied studying",
        "move moves moved moving",
        "stop stops stopped stopping",
        "write writes wrote written writing",
        "rebuild rebuilt rebuilding",
        "child children",
        "tumor tumour tumours",
        "use uses used using",
        "church churches",
        "diagnosis diagnoses",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


def test_words_apart_stay_apart() -> None:
    words = "left leave need seed found use us news new united uniting"
    assert [stem(word) for word in words.split()] == [
        "left", "leav", "need", "seed", "find", "use", "us", "new", "new", "unit", "unit",
    ]  # fmt: skip


def test_irregular_past_forms_of_verbs_only() -> None:
    words = ["wrote", "rebuilt", "children", "tumour", "writes", "house"]
    assert [is_irregular(word) for word in words] == [True, True, False, False, False, False]
