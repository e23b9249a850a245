"""The command line, `gen`. Every command is a function of the package as well (`retgen.run`, ...).

Results go to stdout, progress (only on a terminal) and errors to stderr. Exit codes: 0 done; 1 the
data failed its checks; 2 usage, recipe or input error; 3 stopped at the budget; 4 the model did not
answer; 130 interrupted. The last three are resumable.
"""

from __future__ import annotations

from retgen.cli import (
    capacity,
    diff,
    doctor,
    evaluate,
    export,
    ledger,
    plan,
    publish,
    recipes,
    review,
    run,
    train,
    validate,
    world,
)
from retgen.cli.base import app

__all__ = ["app", "main"]

# each says its own command when it is imported
_COMMANDS = (
    run, plan, recipes, validate, review, diff, export, publish, evaluate, train,
    capacity, world, ledger, doctor,
)  # fmt: skip


def main() -> None:
    """Entry point of the command `gen`."""
    app()
