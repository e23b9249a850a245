"""Errors come out of workers as they went in."""

from __future__ import annotations

import pickle

import pytest

from retgen import errors
from retgen.errors import DatasetMissing, RetgenError, SourceRefused, UsageError


@pytest.mark.parametrize(
    "error",
    [
        UsageError("no such thing"),
        DatasetMissing("nothing is there", "outputs/kb"),
        SourceRefused("too few rows", [{"where": "row 3", "rule": "text"}]),
    ],
)
def test_an_error_is_pickled_with_all_it_says(error: RetgenError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again), again.args) == (str(error), vars(error), error.args)


def test_every_error_has_an_exit_code() -> None:
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    found = {kind.exit_code for kind in kinds if issubclass(kind, RetgenError)}
    assert found == {1, 2, 3, 4}
