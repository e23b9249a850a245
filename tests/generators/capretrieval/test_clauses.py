"""Main clauses: whole ones, as people type them."""

from __future__ import annotations

import pytest

from retgen.generators.capretrieval.clauses import main_clause


def _is_common(word: str) -> bool:
    return word in {"package", "provides", "contains", "file", "program"}


@pytest.mark.parametrize(
    ("sentence", "clause"),
    [
        # whole, without articles, with what denies
        ("The control file contains an unknown field.", "control file contains unknown field"),
        (
            "The debian/rules file does not provide all required targets.",
            "debian/rules file does not provide all required targets",
        ),
        # behind what tells nothing, and behind a name that the rest explains
        (
            "This package provides a library that reads old archives.",
            "library that reads old archives",
        ),
        (
            "StumpWM is a window manager written entirely in Common Lisp.",
            "window manager written entirely in Common Lisp",
        ),
        (
            "It converts the raw octets of decimal numbers.",
            "converting raw octets of decimal numbers",
        ),
        # no command: who does it stays
        (
            "The package converts the raw octets of decimal numbers.",
            "package converts raw octets of decimal numbers",
        ),
        (
            "The package contains a copper kettle but boils no water.",
            "package contains copper kettle but boils no water",
        ),
        # what was named before the sentence
        (
            "The given copper kettle boils the specified blue water.",
            "copper kettle boils blue water",
        ),
        # this: the document, of which the verb tells nothing
        (
            "This copper kettle provides a library that reads old archives.",
            "library that reads old archives",
        ),
        (
            "This package contains restored copper kettles for old miners.",
            "restored copper kettles for old miners",
        ),
        ("XKCD stands for a very blue copper kettle.", "very blue copper kettle"),
        # no denial is lost with its verb
        (
            "The package is not a replacement for the old tape driver.",
            "package is not replacement for old tape driver",
        ),
        # marks are not typed
        (
            'The `tcgetattr` call (see below) reads "terminal attributes" [2].',
            "tcgetattr call reads terminal attributes",
        ),
        # too long
        (
            "The window manager has shown small windows at the edge of the screen since its beginning "
            "in old days of green copper kettles.",
            "",
        ),
        # what only points to its document
        ("This copper kettle contains no blue water.", ""),
        ("This package was derived from the old tape driver.", ""),
        ("This is not the copper kettle of old miners.", ""),
        # what a word means, and what its sentence says besides
        ("A copper kettle is a part of a blue kitchen.", ""),
        ("The copper kettle is used in the blue kitchen.", "copper kettle is used in blue kitchen"),
        ("Fully blue and restored, boiling the green tea of miners.", ""),
        # what another sentence says, or the rest of it
        ("The copper kettle boils the blue water, but no tea is made.", ""),
        ("The copper kettle boils the blue water, milk and juice.", ""),
        ("The copper kettle boils the blue water, as it should.", "copper kettle boils blue water"),
        ("The copper kettle boils blue water found in the U.S.", ""),
        ("The copper kettle boils the blue water of this form:", ""),
        ("If the copper kettle boils, pour water.", ""),
        ("They were placed there by the copper smith.", ""),
        ("The following copper kettles boil water.", ""),
        ("The copper kettle does not hold what's poured into the blue cup.", ""),
        ("Copper kettles.", ""),
        ("copper-kettle -b water target1 target2", ""),
        ("", ""),
    ],
)
def test_a_clause_is_whole_or_there_is_none(sentence: str, clause: str) -> None:
    assert main_clause(sentence, _is_common) == clause
