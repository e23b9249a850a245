from __future__ import annotations

import pytest

from .sets import Set, made


@pytest.fixture(scope="session")
def films() -> Set:
    """A data set that is right, to be copied before it is altered."""
    return made("films")
