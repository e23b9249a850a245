"""Documents that stand more than once: by id, by text, or by text as a reader takes it."""

from __future__ import annotations

from retgen.validators.duplicates import Duplicates, contents, normalised_contents


class DuplicateIds(Duplicates):
    """Ids."""

    name = "duplicate-id"
    severity = "error"
    finds = "an id that stands more than once"
    order = 10

    def __init__(self) -> None:
        super().__init__(self.name, self.severity, "_id", lambda batch: batch.ids)


class DuplicateTexts(Duplicates):
    """Texts, with their titles."""

    name = "duplicate-text"
    severity = "error"
    finds = "the same title and text"
    order = 20

    def __init__(self) -> None:
        super().__init__(self.name, self.severity, "title and text", contents)


class NormalisedDuplicates(Duplicates):
    """Texts that differ only in case, punctuation or white space."""

    name = "normalised-duplicate"
    severity = "warning"
    finds = (
        "texts that differ only in case, punctuation or white space (signs that tell names apart "
        "stay: `C++`, `C#`, `$5`, `5%`)"
    )
    order = 30

    def __init__(self) -> None:
        super().__init__(
            self.name,
            self.severity,
            "title and text apart from case, punctuation and white space",
            normalised_contents,
            unless_same=contents,
        )
