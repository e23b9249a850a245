"""Ladders whose rewrites differ in a figure: that they do, and in nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retgen.validators.multiconir.ladders import Ladder

_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty".split()
)
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d]+|[^\w\s]")


def figure_faults(ladder: Ladder) -> Iterator[str]:
    """What is wrong with the conditions of a ladder."""
    parts = zip(ladder.conditions, ladder.sentences, ladder.rewrites, strict=True)
    for number, (condition, sentence, rewrite) in enumerate(parts, 1):
        asked, met, broken = (
            _TOKEN.findall(one.casefold()) for one in (condition, sentence, rewrite)
        )
        changed = [place for place, one in enumerate(met) if broken[place : place + 1] != [one]]
        if len(met) != len(broken) or len(changed) != 1:
            yield f"condition {number}: its rewrite differs in more than a figure"
        elif not all(
            one[0].isdigit() or one in _WORDS for one in (met[changed[0]], broken[changed[0]])
        ):
            yield f"condition {number}: its rewrite differs in what is no figure"
        elif asked != met[: len(asked)] or len(asked) <= changed[0]:
            yield f"condition {number}: it does not ask for the figure of its sentence"
