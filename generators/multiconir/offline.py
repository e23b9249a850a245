"""What stands in for a writing model: conditions joined into queries by rules.

What can be altered without a model is in `figures`.
"""

from __future__ import annotations

from collections.abc import Sequence

# first words that lose their capital inside a sentence; any other may be a name
_LOWER = frozenset(
    """the a an in on at after before during her his its their she he they it when while from for
    with by under every each both only one two three four five six seven eight nine ten some many
    most several over about nearly until since as no another throughout between among against along
    near although because to of today early late half all none two twice shortly within without
    under above below behind beside beyond despite instead together first""".split()
)


def descriptive(conditions: Sequence[str], opening: str, where: str) -> list[str]:
    """Queries in prose: the first for condition 1, the last for all of them.

    `where` begins a clause with a subject of its own.
    """
    clauses = [f"{where} {_lowered(text)}" for text in conditions]
    return [f"{opening} {_joined(clauses[:count])}." for count in range(1, len(clauses) + 1)]


def _lowered(text: str) -> str:
    first = text.partition(" ")[0].casefold().rstrip(",")
    return text[:1].lower() + text[1:] if first in _LOWER else text


def _joined(clauses: Sequence[str]) -> str:
    if len(clauses) < 3:
        return " and ".join(clauses)
    return ", ".join(clauses[:-1]) + ", and " + clauses[-1]
