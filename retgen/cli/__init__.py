"""The command line, `gen`. Every command is a function of the package as well (`retgen.run`, ...).

Results go to stdout, progress (only on a terminal) and errors to stderr. Exit codes: 0 done; 1 the
data failed its checks; 2 usage, recipe or input error; 3 stopped at the budget; 4 the model did not
answer; 130 interrupted. The last three are resumable.
"""

from __future__ import annotations

from retgen.cli import (
    check,
    diagnose,
    evaluate,
    ledger,
    recipes,
    review,
    run,
    sealed,
    share,
    train,
)
from retgen.cli.base import app

__all__ = ["app", "main"]

# each says its own commands when it is imported
_COMMANDS = (run, recipes, check, review, share, evaluate, diagnose, train, sealed, ledger)


def main() -> None:
    """Entry point of the command `gen`."""
    app()
