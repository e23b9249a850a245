"""Agreement of two passes."""

from retgen.generators.capretrieval.judging import agreement_text, pass_agreement

_PAIRS = [
    *[(0, 0)] * 90, *[(0, 1)] * 2, (2, 0), *[(1, 1)] * 3, *[(2, 2)] * 3, (1, 2),
]  # fmt: skip


def test_agreement_is_that_of_the_reference() -> None:
    # AC1 of the same pairs by the library irrCAC: 0.96447
    assert pass_agreement(_PAIRS) == {
        "pairs": 100, "counts": [[90, 2, 0], [0, 3, 1], [1, 0, 3]], "raw": 0.96,
        "positive": 0.8235, "ac1": 0.9645,
    }  # fmt: skip


def test_of_nothing_relevant_positive_agreement_is_undefined() -> None:
    result = pass_agreement([(0, 0)] * 5)
    assert (result["raw"], result["positive"], result["ac1"]) == (1.0, None, 1.0)
    assert agreement_text(result) == (
        "two passes gave 100.0% of 5 pairs the same grade (positive agreement undefined, as no "
        "pair is relevant, AC1 1.000)"
    )


def test_of_no_pairs_nothing_is_said() -> None:
    result = pass_agreement([])
    assert (result["raw"], result["positive"], result["ac1"]) == (None, None, None)
    assert agreement_text(result) == "no pair was judged twice"
