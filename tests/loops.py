"""Many cases in one test: collecting hundreds of them costs more than running them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def for_each(name: str, values: Iterable[Any]) -> Callable[[Test], Test]:
    """The test with this argument set to one value after the other; a failure names its value."""

    def looped(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            for value in values:
                try:
                    test(**fixtures, **{name: value})
                except BaseException as error:
                    error.add_note(f"{name} = {value!r}")
                    raise

        before = inspect.signature(test)
        others = [one for one in before.parameters.values() if one.name != name]
        run.__signature__ = before.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return looped
