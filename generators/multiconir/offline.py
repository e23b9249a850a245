"""What stands in for a writing model: sentences chosen, shortened and joined by rules.

The rules for falsifying a sentence are in `alter`. The judge's are in `judge` and share nothing
with these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from retgen.generators.multiconir.alter import alterations
from retgen.generators.multiconir.alter.clauses import finite_verb
from retgen.generators.multiconir.alter.lexicon import swaps, verbs
from retgen.generators.multiconir.alter.words import Words
from retgen.generators.multiconir.checks import check_condition, check_sentence
from retgen.generators.multiconir.domains import Strategy, bundled_domains
from retgen.generators.multiconir.sentences import split, word_count

_WANTED = 10  # words of a condition (paper, Appendix B)
_LEAST = 6  # words that a shortened condition keeps
_ENOUGH = 14  # words up to which nothing is cut
_LONG = 17  # words of a condition that is taken where there is no shorter one

# where a sentence can end earlier and stay true: before a clause that is added to it
_CLAUSE = re.compile(
    r", (?:which|who|whose|where|while|although|though|because|after which|so that|but|and (?:she"
    r"|he|it|they|the|his|her|its|their|a|an)\b|when|before|after|since|as|until|with|leaving"
    r"|making)\b|,? (?:although|because|in order to|so that|even though)\b"
    r"| (?:before|after|when|while|until|although) (?:she|he|it|they|the|his|her|its|their|a|an)\b"
)
# where these stand, what is cut off may be what makes the sentence true
_SCOPE = re.compile(
    r"\b(?:not|never|no|nor|neither|without|only|except|unless|hardly|rarely|none|nobody|nothing|if"
    r"|both|between|either|more|less|fewer|than|too|as)\b|n't\b",
    re.IGNORECASE,
)
# what a sentence cannot end with: "came out two years [before ...]"
_DANGLING = re.compile(
    r"\b(?:years?|months?|weeks?|days?|hours?|minutes?|decades?|time|moment|shortly|soon|long|just"
    r"|abandoned|left|built|made|of|the|a|an|and|or)$"
)
# first words that lose their capital inside a sentence; any other may be a name
_LOWER = frozenset(
    """the a an in on at after before during her his its their she he they it when while from for
    with by under every each both only one two three four five six seven eight nine ten some many
    most several over about nearly until since as no another throughout between among against along
    near although because to of today early late half all none two twice shortly within without
    under above below behind beside beyond despite instead together first""".split()
)
# what a condition begins with whose subject, a pronoun, was left out; and any word in -ed
_VERBS = frozenset(
    """was is were are had has have did does could can would will may might must became began bore
    bought brought built came caught chose drew drove fell felt flew fought found gave got grew held
    kept knew lay led left lent lost made met paid put ran read rose said sang sat saw sent set shot
    showed slept sold spent spoke spread stood stole swam taught told took tore went withdrew woke
    won wore wrote""".split()
)
_ENDINGS = tuple(
    """ing ed ly ic al ac ary tion sion ity ment ness ance ence sis ers ors ars ings als ists ants
    ents""".split()
)
_OWN = re.compile(r", (?:she|he|it|they)\b")  # "Held up by snow, she ...": a subject of its own
_CODE = re.compile(r"[\\<>{}\[\]|@#^~*=`]|://|^[(\"'“‘]|\d[.)] ?[A-Z]|--")
# a sentence that begins with one of these leans on another
_LEANING = frozenset(
    """this these that those such however therefore thus hence also so but and or then otherwise
    instead moreover furthermore nevertheless please note""".split()
)
_ADVERBS = frozenset("also first later never often once soon still then twice always".split())


def extract(
    document: str, count: int, known: Sequence[str], noun: str, subject: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """At most `count` sentences to build on with their conditions, those with the firmest facts
    first; none of the `known` ones."""
    ranked = []
    for place, sentence in enumerate(split(document)):
        words = Words(sentence)
        if not _statement(sentence, words):
            continue
        stated = condition(sentence, subject)
        if check_condition(sentence, stated, ()) is None:
            result = alterations(sentence, stated, "modify", sure=not _listed(noun))
            if result:
                negated = result[0].kind == "negation"  # the last resort, and few of them are taken
                long = word_count(stated) > _LONG
                apart = bool(subject) and words.words[0] not in subject  # of something else, maybe
                kinds = len({one.kind for one in result})
                ranked.append((negated, long, apart, -kinds, place, sentence, stated))
    taken: list[tuple[str, str]] = []
    for *_, sentence, stated in sorted(ranked):
        others = [*known, *(one for one, _ in taken)]
        if len(taken) < count and check_sentence(document, sentence, others) is None:
            taken.append((sentence, stated))
    return taken


def _statement(sentence: str, words: Words) -> bool:
    """Whether a sentence plainly says something that can be understood alone, for all rules can
    tell: no question, order, code, nor what begins with "However" or "This"."""
    first = words.lower[0]
    ordered = verbs().forms.get(first, ("", ""))[1] == "base" and not swaps().get(first)
    return (
        sentence.endswith(".")
        and not _CODE.search(sentence)
        and not ordered
        and first not in _LEANING
        and finite_verb(words) is not None
    )


@cache
def _listed(noun: str) -> bool:
    return any(one.noun == noun for one in bundled_domains().values())


def condition(sentence: str, subject: Sequence[str] = ()) -> str:
    """A sentence as a search condition: shortened where it stays true, without its full stop.

    `subject`: pronouns that mean what is searched for, which are left out.
    """
    text = sentence.rstrip(".!?")
    if word_count(text) > _ENOUGH:
        text = _shortened(text)
    first, _, rest = text.partition(" ")
    if first in subject and rest[:1].islower():
        text = rest
    return text[:1].upper() + text[1:]


def _shortened(text: str) -> str:
    """Without its last clause, where there is one to leave out; as near to ten words as can be."""
    scoped = _SCOPE.search(text)
    ends = [
        result.start()
        for result in _CLAUSE.finditer(text)
        if word_count(text[: result.start()]) >= _LEAST
        and not _DANGLING.search(text[: result.start()])
        and (scoped is None or result.start() <= scoped.start())
    ]
    if not ends:
        return text
    return text[: min(ends, key=lambda end: abs(word_count(text[:end]) - _WANTED))]


def descriptive(
    conditions: Sequence[str], opening: str, who: str, where: str, subject: Sequence[str] = ()
) -> list[str]:
    """Queries in prose: the first for condition 1, the last for all of them.

    `who` begins a clause whose subject `condition` has left out, `where` any other.
    """
    clauses = []
    for text in conditions:
        lower = text[:1].lower() + text[1:]
        # an adverb may stand before the verb
        verb = next((w for w in lower.split() if not w.endswith("ly") and w not in _ADVERBS), "")
        bare = verb in _VERBS or verb.endswith("ed")
        if subject and bare and not _OWN.search(text):
            clauses.append(f"{who} {lower}")
        else:
            clauses.append(f"{where} {lower if _common(text) else text}")
    return [f"{opening} {_joined(clauses[:count])}." for count in range(1, len(clauses) + 1)]


def _common(text: str) -> bool:
    """Whether the first word has its capital from its place alone, as far as can be told."""
    first, _, rest = text.partition(" ")
    word = first.casefold().rstrip(",")
    known = word in _LOWER or word.endswith(_ENDINGS) or word in swaps()
    plural = word.endswith("s") and rest.startswith(("in ", "of ", "with ", "from ", "on "))
    return (known or plural) and not rest[:1].isupper()


def _joined(clauses: Sequence[str]) -> str:
    if len(clauses) < 3:
        return " and ".join(clauses)
    return ", ".join(clauses[:-1]) + ", and " + clauses[-1]


def rewrites(sentence: str, wanted: str, strategy: Strategy, noun: str) -> Iterator[str]:
    """Sentences that no longer meet the condition, the best first.

    `noun`: what the document is about. The lists of trades, instruments, ... are made for texts of
    the bundled domains: elsewhere a table may be no furniture, and a library no house.
    """
    for one in alterations(sentence, wanted, strategy, sure=not _listed(noun)):
        yield one.text
