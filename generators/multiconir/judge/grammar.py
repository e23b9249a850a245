"""The closed classes of English words that clauses are cut by, and how a verb is told."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.generators.multiconir.judge.lists import lexicon
from retgen.generators.multiconir.judge.stems import is_irregular
from retgen.generators.multiconir.judge.tokens import Unit

HARD = frozenset([";", "—", "–", "--", "(", ")"])
CONTRAST = frozenset("but while whereas although though however yet unlike albeit".split())
SUBORDINATE = frozenset("because after before when until since as if that where once which".split())
RELATIVE = frozenset(["who", "which", "whose", "whom"])
JOIN = frozenset([",", "and", "or", "nor", "then", "&", ":"])
PRONOUNS = frozenset("he she it they i we you this these who which there".split())
AUX = frozenset(
    """am is are was were be been being have has had having do does did will would can could may
    might must shall should""".split()
)
DETERMINERS = frozenset(
    """a an the his her its their my our your this that these those some any no each every another
    both 's such #""".split()
)
ROLES = {
    **{p: p for p in "of from with without for since until before after against between under over "
       "about as than despite beyond".split()},
    **dict.fromkeys("in at on within inside near during throughout around across".split(), "in"),
    **dict.fromkeys("to into onto toward towards".split(), "to"),
    "by": "s", "through": "by", "via": "by", "upon": "in", "among": "in", "above": "over",
       "below": "under", "behind": "in", "along": "in", "outside": "beyond",
}  # fmt: skip
NOT = frozenset(["not", "never", "cannot", "nor", "hardly"])
NO = frozenset(
    """no without none neither except excluding lacking lack absence instead rather unlike denied
    denies deny denying""".split()
)
REFUSING = frozenset(
    """fail failed fails failing refuse refused refuses refusing decline declined declines
    declining neglect neglected avoid avoided avoids forbidden prohibited unable""".split()
)
MERELY = frozenset(
    """hoped hopes planned plans wanted wants intended intends considered considers might could
    would may rumoured rumored allegedly supposedly reportedly almost nearly attempted tried
    dreamed longed expected threatened offered proposed""".split()
)
ASPECT = frozenset("stop start begin continu ceas keep quit".split())
OBJECTS = frozenset(["him", "her", "it", "them"])
FINITE = frozenset("is are was were had has will would could should".split())
POSSESSIVE = frozenset("his her its their my our your whose".split())
BE = frozenset("am is are was were be been being".split())
ADVERBS = frozenset(
    """also then later first still already soon once ever again often usually always
    sometimes""".split()
)
PAST_AS_BASE = frozenset(
    "set cut put hit let shut read misread left cost hurt cast spread quit".split()
)


def is_verb(units: Sequence[Unit], i: int, group: bool) -> bool:
    """Whether the word at `i` is the verb of a clause. `group`: it stands after "has been".

    Told by its form and the word before: "she works", but not "her works".
    """
    unit = units[i]
    concept = unit.concept
    low = unit.low
    if low.startswith("den") and low in NO:
        return i > 0
    if concept is None or concept.kind == "value" or unit.hyphen:
        return False
    if concept.kind == "name":
        return False
    stem_ = concept.key
    known = stem_ in lexicon().verbs
    if " " in stem_ and not known:  # "lost her sight", but not "hearing loss"
        noun = low.endswith("ing") or stem_ in lexicon().sets
        known = not noun and stem_.split()[0] in lexicon().verbs
        if not known:
            return False
    ed = low.endswith("ed") and len(low) > 4
    past = ed or low in PAST_AS_BASE or (known and is_irregular(low))
    if not known and not past:
        return False
    k = i - 1
    while k >= 0 and (
        units[k].low in ADVERBS or units[k].low in NOT or units[k].low.endswith(("ly", "n't"))
    ):
        k -= 1
    before = units[k] if k >= 0 else None
    following = units[i + 1] if i + 1 < len(units) else None
    if group or stem_.startswith("be "):
        return True
    if low == "left" and following is not None and following.concept is not None:
        body = lexicon().sets["heart"] | lexicon().sets["arm"]
        if not following.concept.sets.isdisjoint(body):
            return False
    if before is None or before.low in JOIN or before.low in HARD or before.low in CONTRAST:
        if past or low.endswith("ing"):
            return True
        return known and low.endswith("s") and following is not None
    if before.low == "to":
        return (known and not past) or low in PAST_AS_BASE
    if before.low in PRONOUNS or before.low in RELATIVE:
        return True
    if before.concept is not None and before.concept.verb:
        return low.endswith("ing") and known
    if before.concept is not None and before.concept.value is not None:
        return past and before.concept.value.unit == "date"
    if before.low == "that" and k > 0 and (past or low.endswith("s")):
        return known or past
    if before.low in DETERMINERS:  # "a neighbour of his worked"
        return past and before.low == "his" and k > 0 and units[k - 1].low == "of"
    if before.low in SUBORDINATE and (past or low.endswith("ing")):
        return True
    if before.low == "without" and (following is None or following.concept is None):
        return known and following is not None and following.low in DETERMINERS | PRONOUNS
    if before.low in ROLES:
        return low.endswith("ing") and known
    if past:
        return True
    loose = following is not None and (
        following.low in DETERMINERS
        or following.low in ROLES
        or following.low in PRONOUNS
        or following.low in OBJECTS
        or following.concept is not None
    )
    if low.endswith("ing"):
        return known and loose
    if known and loose and before.concept is not None and before.low.endswith("s"):
        return following is not None and following.concept is None  # "brothers search for"
    if low.endswith("s") and not low.endswith("ss"):
        return known and loose and before.concept is not None
    return False
