"""The offline judge: whether a text satisfies a condition, contradicts it or leaves it open.

    judge("She studied painting in Vienna, though her brother studied sculpture in Prague.",
          "Studied sculpture in Prague")
    -> Judged("violated", "She studied painting in Vienna")

Rules and word lists only, no model, and nothing shared with what writes or alters documents:

    lists, stems   what words mean: synonyms, opposites, kinds, places
    values         numbers, dates, ages, durations, money as intervals
    tokens         a sentence as concepts with their place in the text
    clauses        one clause a verb, with its subject, negation and the role of each concept
    relate         how two concepts stand to each other: implied, excluded, unrelated
    align          a condition laid against a sentence, clause by clause
    verdict        `judge` and `survey`

It is wrong at times, by design: how often is measured on planted cases.
"""

from retgen.generators.multiconir.judge.verdict import Judged, Noticed, Verdict, judge, survey

__all__ = ["Judged", "Noticed", "Verdict", "judge", "survey"]
