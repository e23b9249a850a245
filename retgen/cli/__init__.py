"""The command line, `gen`. Every command is a function of the package as well (`retgen.run`, ...).

Results go to stdout, progress (only on a terminal) and errors to stderr. Exit codes: 0 done; 1 the
data failed its checks; 2 usage, recipe or input error; 3 stopped at the budget; 4 the model did not
answer; 130 interrupted. The last three are resumable.
"""

from __future__ import annotations

import sys
from typing import Any

from retgen.cli.interruption import interruptible


def main() -> None:
    """Entry point of the command `gen`."""
    try:
        interruptible()
        from retgen.cli.commands import app

        app()
    except KeyboardInterrupt:  # while modules are imported: nothing was begun
        print("gen: interrupted before anything was done", file=sys.stderr)
        sys.exit(130)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    from retgen.cli.commands import app

    return app
