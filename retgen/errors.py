"""Every error that retgen raises on purpose, and the exit code it leads to.

    RetgenError                      2
    ├── UsageError                   2   a command was asked for something that does not fit
    ├── RecipeError                  2   a recipe cannot be read, or says what cannot be done
    ├── DatasetError                 2   a data set cannot be read
    │   ├── DatasetMissing           2   there is nothing at its path
    │   └── SourceRefused            2   too few of a source's rows can be used
    ├── OutputError                  2   a file or folder cannot be written (full disk, rights)
    ├── RunDirectoryError            2   a run directory belongs to something else, or is in use
    ├── WorkerLost                   2   the system ended a worker process; resumable
    ├── SealUnchecked                2   a sealed set cannot be checked here, by other code for one
    ├── ChecksFailed                 1   the data was written but did not pass its checks
    ├── SealBroken                   1   a sealed set is not what was committed to
    ├── BudgetReached                3   the next call could pass the cap; resumable
    └── EndpointFailed               4   a model, the Hub or S3 did not answer; resumable

Exceptions of other libraries are turned into one of these where they enter. A message says what
happened, where, and what to do next; the command line prints it without a traceback (`-v` shows
that).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class RetgenError(Exception):
    """The root: an expected failure with a message that a user can act on."""

    exit_code: ClassVar[int] = 2

    def __reduce__(self) -> Any:  # a worker raises some whose __init__ takes more than a message
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[RetgenError], args: Any, state: dict[str, Any]) -> RetgenError:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error


class UsageError(RetgenError):
    """A command or function was asked for something that does not fit together."""


class RecipeError(RetgenError):
    """A recipe cannot be read, or asks for something impossible."""


class DatasetError(RetgenError):
    """A data set cannot be read as one."""


class DatasetMissing(DatasetError):
    """There is nothing at the path that was given for a data set; `name`: as it was given."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class SourceRefused(DatasetError):
    """Too few rows of a source can be used; `refused`: {"where", "rule", "reason", "id"} of each
    of the others.
    """

    def __init__(self, message: str, refused: Sequence[dict[str, Any]]) -> None:
        super().__init__(message)
        self.refused = refused


class OutputError(RetgenError):
    """Something could not be written; what had been written before is kept."""


class RunDirectoryError(RetgenError):
    """A run directory belongs to another recipe, is not a run directory, or is in use."""


class WorkerLost(RetgenError):
    """A worker process ended in the middle of its work; what was finished before is kept."""


class SealUnchecked(RetgenError):
    """A sealed set can be neither confirmed nor refuted here; `name`: why, as `sealed/version`."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class ChecksFailed(RetgenError):
    """The data is there but did not pass its checks; the report names the records."""

    exit_code = 1


class SealBroken(RetgenError):
    """A sealed set is not what was committed to; `name`: what is wrong, as `sealed/hash`."""

    exit_code = 1

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class BudgetReached(RetgenError):
    """Sending the next request could cost more than is allowed; what was answered is kept."""

    exit_code = 3


class EndpointFailed(RetgenError):
    """A model endpoint, or the Hub, refused or stayed silent after all retries; what was answered
    is kept.
    """

    exit_code = 4
