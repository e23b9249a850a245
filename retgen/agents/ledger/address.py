"""Where a ledger is: a file, or a PostgreSQL database, whose password is never shown."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, field
from pathlib import Path

from retgen.errors import UsageError

_SERVER = re.compile(r"postgres(?:ql)?://")
_URL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#]*)(?::[^@/?#]*)?@)?"
    r"(?P<hosts>(?:\[[0-9a-fA-F:.]+\]|[^:@/?#\[\]])*(?::\d+)?)(?:/(?P<database>[^@/?#]*))?(?:\?[^#]*)?"
)
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


@dataclass(frozen=True)
class ServerAddress:
    """A database on a PostgreSQL server. `shown`: its URL without password and options."""

    shown: str
    url: str = field(repr=False)

    def __str__(self) -> str:
        return self.shown


def ledger_address(given: str | Path | ServerAddress) -> Path | ServerAddress:
    """Where the ledger is. Raises `UsageError` for a URL of another kind, and where psycopg lacks.

    No message has the URL: it may hold a password.
    """
    if not isinstance(given, str):
        return given
    if _SERVER.match(given) is None:
        kind, is_url, _ = given.partition("://")
        if is_url and kind.replace("+", "").isalnum():
            raise UsageError(f"--ledger: a ledger is a file, or {_FORM}; not {kind}://")
        return Path(given)
    if _URL.fullmatch(given) is None:
        raise not_a_url()
    if importlib.util.find_spec("psycopg") is None:
        raise UsageError(
            "a ledger on PostgreSQL needs the package psycopg: pip install 'retgen[postgresql]'"
        )
    return ServerAddress(without_password(given), given)


def not_a_url() -> UsageError:
    """The error for a URL that cannot be read."""
    return UsageError(
        f"--ledger: this is no URL of PostgreSQL. Write {_FORM}, and what is special in a password "
        "as %XX (@ is %40, / is %2F)"
    )


def without_password(word: str) -> str:
    """A word of a command line as it may be shown: of a URL of PostgreSQL user, host, database."""
    begins = _SERVER.search(word)
    if begins is None:
        return word
    url = _URL.fullmatch(word, begins.start())
    if url is None:
        return word[: begins.end()] + "..."
    user = f"{url['user']}@" if url["user"] else ""
    database = f"/{url['database']}" if url["database"] else ""
    return f"{word[: begins.start()]}postgresql://{user}{url['hosts']}{database}"
