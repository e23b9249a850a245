"""The main verb, and the negation of a sentence."""

from __future__ import annotations

import pytest

from retgen.generators.multiconir.alter.clauses import finite_verb
from retgen.generators.multiconir.alter.negation import negations
from retgen.generators.multiconir.alter.words import Words

VERBS = [
    ("She was born in Lisbon.", "was"),
    ("The widow, who had lived in Turin, sold the mill.", "sold"),
    ("Wolves kill nineteen sheep.", "kill"),
    ("The bridge that he built collapsed in a storm.", "collapsed"),
    ("In 1968 she led a party to the summit.", "led"),
    ("Mercury levels downstream proved high.", "proved"),
    ("Steroid drops were reduced.", "were"),
    ("His mother taught mathematics.", "taught"),
    ("The newly published novel failed.", "failed"),
    ("A quiet room.", None),
]

NEGATED = [
    ("She was born in Lisbon.", "She was not born in Lisbon."),
    ("He published the letters.", "He did not publish the letters."),
    ("She owns a boat.", "She does not own a boat."),
    ("They have two sons.", "They do not have two sons."),
    ("He had to leave.", "He did not have to leave."),
    ("He did not publish the letters.", "He published the letters."),
    ("She never learned to dive.", "She learned to dive."),
    ("It was not sold.", "It was sold."),
    ("No doctor was called.", "One doctor was called."),
    ("None of the poems rhyme.", "Some of the poems rhyme."),
]


@pytest.mark.parametrize(("sentence", "verb"), VERBS)
def test_finite_verb(sentence: str, verb: str | None) -> None:
    words = Words(sentence)
    at = finite_verb(words)
    assert (None if at is None else words.words[at]) == verb


@pytest.mark.parametrize(("sentence", "negated"), NEGATED)
def test_negations(sentence: str, negated: str) -> None:
    words = Words(sentence)
    first = negations(words, finite_verb(words))[0]
    assert sentence[: first.start] + first.new + sentence[first.end :] == negated
