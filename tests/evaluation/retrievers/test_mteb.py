"""Models of MTEB's registry that cannot be had: each reason by its name."""

from __future__ import annotations

import pytest

from retgen.errors import UsageError
from retgen.evaluation.retrievers import check_name

REFUSED = {
    "mteb:mteb/baseline-bm25": (
        "--model mteb:mteb/baseline-bm25: MTEB's registry has no 'mteb/baseline-bm25'; did you "
        "mean mteb/baseline-bm25s?"
    ),
    "mtbe:owner/name": (
        "--model mtbe:owner/name: there is no kind of model mtbe:; did you mean mteb? Known: "
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_the_reason_is_named(name: str) -> None:
    with pytest.raises(UsageError) as error:
        check_name(name)
    assert str(error.value).startswith(REFUSED[name])
