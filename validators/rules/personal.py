"""Data of persons: e-mail addresses, phone numbers, bank accounts, cards, national numbers."""

from __future__ import annotations

from retgen.validators.sensitive import Leak, Leaks


class PersonalData(Leaks):
    """Documents and queries with data of persons."""

    name = "personal-data"
    severity = "warning"
    finds = (
        "e-mail addresses, phone numbers, bank accounts, card numbers, national identity numbers"
    )
    order = 210

    def look(self, text: str) -> list[Leak]:
        from retgen.validators.persons import personal_data  # many patterns

        return personal_data(text)
