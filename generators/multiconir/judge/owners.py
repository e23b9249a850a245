"""Whom a clause is about, where that is not the subject of the text: a relative, a rival.

"her brother studied law", "won by her sister", "for his rival it was law", "a neighbour's mother".
"""

from __future__ import annotations

from retgen.generators.multiconir.judge.clause import Clause
from retgen.generators.multiconir.judge.lists import words


def agent(clause: Clause) -> str:
    """A relative by whom it is done, or whose case it is: "won by her sister", "for his rival"."""
    relations = words("relations")
    for concept in clause.concepts:
        if concept.key not in relations or concept in clause.subject:
            continue
        if clause.passive and concept.role == "s":
            return concept.key
    if clause.by_pronoun and not clause.impersonal:
        return ""
    for concept in clause.concepts[:2]:
        if clause.verb is not None and concept.start > clause.verb.start:
            break
        if concept.key in relations and concept.possessed and concept.role in ("for", "in", "of"):
            return concept.key
    return ""


def stranger(clause: Clause, main: bool) -> str:
    """Who else the subject of a clause is: a relative, a rival, another of the kind; "" if none."""
    relations = words("relations")
    first = clause.subject[:1]
    for concept in clause.concepts:
        if concept in first:
            break
        if concept.role == "of" and concept.key in relations:  # "a neighbour's mother"
            return concept.key
    for concept in clause.subject:
        if concept.key in relations and (concept.possessed or not main):
            return concept.key
    return "another" if clause.contrast and clause.own_subject else ""
