"""The offline judge: whether a text satisfies a condition, contradicts it or leaves it open.

    judge("She studied painting in Vienna, though her brother studied sculpture in Prague.",
          "Studied sculpture in Prague")
    -> Judged("violated", "She studied painting in Vienna")

Rules and word lists only, no model, and nothing shared with what writes or alters documents:

    lists, stems    what words mean: synonyms, opposites, kinds, places
    values          numbers, dates, ages, durations, money as intervals
    tokens          a sentence as concepts with their place in the text
    grammar         closed classes of words; how a verb is told
    reader          a row of words cut into clauses, one a verb
    clauses         a text as sentences of clauses, and whom each clause is about
    relate          how two concepts stand to each other: implied, excluded, unrelated
    slots           what stands in a clause where the condition has something else
    align           a clause of a condition laid against a clause of a sentence
    alignment       what comes of it: satisfied, violated, neither
    verdict         `judge` and `survey`

It is wrong at times, by design: how often is measured on planted cases.
"""

from retgen.generators.multiconir.judge.verdict import Judged, Noticed, Verdict, judge, survey

__all__ = ["Judged", "Noticed", "Verdict", "judge", "survey"]
