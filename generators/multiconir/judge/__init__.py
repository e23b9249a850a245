"""The offline judge: whether a text satisfies a condition, contradicts it or leaves it open.

    judge("She studied painting in Vienna, though her brother studied sculpture in Prague.",
          "Studied sculpture in Prague")
    -> Judged("violated", "She studied painting in Vienna")

Rules and word lists only, no model, and nothing shared with what writes or alters documents:

    lists, stems    what words mean: synonyms, opposites, kinds, places, definitions
    values, dates   numbers, dates, ages, durations, money as intervals
    tokens          a sentence as concepts with their place in the text
    grammar         closed classes of words; how a verb is told
    reader          a row of words cut into clauses, one a verb, in one pass:
      state           what it knows midway
      denial          what "not", "no", "refused to" deny
      verbs           which clause a verb opens, and with what subject
    clause, clauses a clause; a text as sentences of clauses
    owners          whom a clause is about, where not the subject of the text
    relate          how two concepts stand to each other: implied, excluded, unrelated
    align           a clause of a condition laid against a clause of a sentence:
      meet            what meets what is asked: a word, a kind of it, its parts
      miss            what is not met: contradicted, open, or not needed ("served as")
      slots           what stands where the condition has something else
      doubts          words that agree, but apart, of another person, the wrong way round
    outcome         what comes of it: satisfied, violated, neither
    verdict         `judge` and `survey`

Word lists: synonyms.txt (nouns, adjectives, phrases), synonym_verbs.txt, derived.txt (nouns of
verbs), defined.txt (a word by others: "appendectomy" is remove, appendix), kinds.txt, places.txt,
sets.txt (of which one excludes another), antonyms.txt, complements.txt, linking.txt (verbs that
say little beside what they link), relations.txt (people who are not the subject).

It knows the words of its lists and no others: of texts that reword a condition freely it decides
about half. It is wrong at times, by design: how often is measured on the calibration set.
"""

from retgen.generators.multiconir.judge.verdict import Judged, Noticed, Verdict, judge, survey

__all__ = ["Judged", "Noticed", "Verdict", "judge", "survey"]
