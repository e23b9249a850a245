"""The wordings of a domain's file as patterns: words around the place of a value.

    "{P} story unfolds in {v}"     <p> story unfolds in <v>     -> setting

In a pattern `<e>` is the entity as subject or object, `<p>` its possessive, `<v>` the value. A
clause is read by looking up its words, so every word of it counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from retgen.validators.facts.definitions import BadDefinition, Definition
from retgen.validators.facts.mentions import SELF, Mention, MentionFinder, tokens_of

OWN, OTHER, OTHERS_OWN = "<p>", "<o>", "<op>"
_HER = "<her>"  # of her, or to her
# what the words of a text are in a pattern
_MARKS = {
    **dict.fromkeys(("it", "he", "she", "him", OTHER), SELF),
    **dict.fromkeys(("its", "his", OTHERS_OWN), OWN),
    "her": _HER,
}
_VALUE = "valuemark"  # in place of a value when a wording is cut into tokens
_BEFORE = {"year": "in", "date": "on"}  # prepositions that {v} brings, and {n} does not
_MARK = re.compile(r"\{([SPOvn])\}")


class Patterns(NamedTuple):
    """What a domain's documents are made of.

    `clauses`: pattern -> the slots that it states. `free`: sentences without a fact. `leads`:
    connectives before a clause; `others`: the words of whoever shares the slots.
    """

    clauses: Mapping[str, tuple[str, ...]]
    free: frozenset[str]
    leads: frozenset[str]
    others: tuple[tuple[str, ...], ...]
    words: frozenset[str]


def pattern(items: Sequence[str | Mention]) -> str:
    """The words of a clause as patterns have them."""
    return " ".join([_MARKS.get(x, x) if isinstance(x, str) else "<v>" for x in items])


def read_patterns(domain: Definition, finder: MentionFinder, path: Path) -> Patterns:
    """The patterns of a domain. Raises `BadDefinition` for a wording that holds a value."""
    clauses: dict[str, dict[str, None]] = {}
    for name, slot in domain.slots.items():
        for wording in slot.document:
            value = f"{_BEFORE.get(slot.type, '')} {_VALUE}"
            said = wording.replace("{v}", value).replace("{n}", _VALUE)
            for form in _forms(said):
                items = [*_items(finder, form)]
                if held := next((one for one in items if isinstance(one, Mention)), None):
                    raise BadDefinition(
                        f"{_where(path, wording)}slots.{name}: {wording!r} holds {held.text!r}, a "
                        f"value of {' and '.join(held.slots)}, which the proof would read as that"
                    )
                key = pattern(items).replace(_VALUE, "<v>")
                clauses.setdefault(key, {})[name] = None
    free = frozenset(
        plain(_items(finder, form)) for wording in domain.free for form in _forms(wording)
    )
    leads = frozenset(plain(_items(finder, lead)) for lead in domain.leads)
    others = sorted(
        (tuple(one.lower() for one in tokens_of(text.partition("}")[2])) for text in domain.others),
        key=len,
        reverse=True,
    )
    words = frozenset(" ".join((*clauses, *free, *leads)).split()).union(*others)
    found = {key: tuple(slots) for key, slots in clauses.items()}
    return Patterns(found, free, leads, tuple(others), words)


def plain(items: Iterable[str | Mention]) -> str:
    """The words of a sentence that states nothing, in which a value is a word like others."""
    return " ".join([_MARKS.get(x, x) if isinstance(x, str) else x.text.lower() for x in items])


def _forms(wording: str) -> Iterator[str]:
    """A wording with each word that its marks may become."""
    marks = _MARK.findall(wording)
    texts = {"S": [SELF], "O": [SELF, _HER], "P": [OWN, _HER]}
    choices = [
        [*texts[mark], *(["the"] if mark == "P" and not i else [])] for i, mark in enumerate(marks)
    ]
    pieces = _MARK.split(wording)[::2]
    for chosen in product(*choices):
        yield "".join(x for both in zip(pieces, (*chosen, ""), strict=True) for x in both)


def _items(finder: MentionFinder, text: str) -> Iterator[str | Mention]:
    """The words and values of a wording whose marks are filled in."""
    tokens = [
        token
        for piece in re.split(r"(<\w+>)", text)
        for token in ([piece] if piece.startswith("<") else tokens_of(piece))
    ]
    for _, _, items in finder.sentences(tokens):
        yield from items


def _where(path: Path, wording: str) -> str:
    """File and line of a wording."""
    lines = path.read_text("utf-8").splitlines()
    number = next((n for n, line in enumerate(lines, 1) if wording in line), 0)
    return f"{path}, line {number}: " if number else f"{path}: "
