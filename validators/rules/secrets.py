"""What opens something and should not go out: keys, tokens, passwords."""

from __future__ import annotations

from retgen.validators.sensitive import Leak, Leaks


class Secrets(Leaks):
    """Documents and queries with keys, tokens and passwords."""

    name = "secrets"
    severity = "warning"
    finds = "keys, tokens, private keys and passwords in addresses"
    order = 220

    def marks(self) -> tuple[str, ...]:
        from retgen.validators.keys import MARKS  # many patterns

        return MARKS

    def look(self, text: str) -> list[Leak]:
        from retgen.validators.keys import secrets

        return secrets(text)
