"""What to do about a ledger that SQLite cannot read: is it damaged, or no ledger at all?"""

from __future__ import annotations

import shlex
from pathlib import Path

from retgen.agents.ledger.sidecar import state_path
from retgen.errors import OutputError, RetgenError, UsageError

# reasons of ours for which a path is no ledger
NO_LEDGER = ("it is a folder", "it is a database of something else")
_NO_DATABASE = "file is not a database"


def failure(path: Path, reason: str) -> RetgenError:
    """The error to raise where SQLite, or a look at the file, says `reason`."""
    # the state file tells that a ledger was here: then its first page is damaged
    if reason in NO_LEDGER or (reason == _NO_DATABASE and not state_path(path).is_file()):
        return UsageError(f"{path} is no ledger ({reason}): name another with --ledger")
    if reason == _NO_DATABASE:
        return OutputError(
            f"{path}: the ledger is damaged ({reason}): its first page is gone, and nothing can be "
            "read without it. Put a whole copy back, or name another with --ledger"
        )
    if "malformed" in reason:
        return OutputError(
            f"{path}: the ledger is damaged ({reason}). `gen ledger check --ledger "
            f"{shlex.quote(str(path))}` says more. Put a whole copy back, or {salvage(path)}"
        )
    return OutputError(
        f"{path}: the ledger cannot be used ({reason}). What it holds is kept: set that right, and "
        "run the command again."
    )


def salvage(path: Path) -> str:
    """How to save what can be read of a damaged ledger, into a new one beside it.

    `.dump` needs no extension of the shell of SQLite, as `.recover` does, and ends with ROLLBACK
    where it met damage.
    """
    old, new = (shlex.quote(str(one)) for one in (path, path.with_name("saved.sqlite")))
    return (
        f"save what can be read: sqlite3 {old} .dump | sed 's/^ROLLBACK;.*/COMMIT;/' | sqlite3 "
        f"{new}, then gen ledger check --accept --ledger {new}"
    )
