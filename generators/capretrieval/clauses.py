"""Main clauses of English sentences, as people type them: what a sentence says, without articles.

    "This package provides a library that reads archives."  ->  library that reads archives
    "The control file contains an unknown field."           ->  control file contains unknown field

A clause is whole: it begins where its sentence does, or behind a subject and a verb that tell
nothing in this corpus, and it ends where the clause does. Where that is not certain, where it is
long, or only says what a word means, there is no query: a passage has other sentences.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from retgen.generators.capretrieval.language import stopwords
from retgen.generators.capretrieval.tagging import (
    NOUNS,
    Word,
    gerund,
    in_lexicon,
    runs,
    tags_in_context,
    word_classes,
)

_MOST, _FEWEST = 16, 3  # words of a query, and of these with content
_TELLING = 2  # of which the corpus does not have in many documents
_FINITE = frozenset({"VBZ", "VBP", "VBD", "MD"})
_BE = frozenset({"is", "are", "was", "were", "be"})
_DETERMINERS = frozenset("a an the these this".split())
_POINTING = frozenset({"these", "this"})
_QUANTIFIERS = frozenset({"all", "both", "no"})
# before a noun: it was named before
_REFERS = frozenset("described given listed mentioned named said specified".split())
_PRONOUNS = frozenset("he here it let she that there what where who".split())  # what's, let's
_BEFORE_VERBS = frozenset(
    "to not do does did will would can could may might must shall should".split()
)
# a sentence that begins so depends on another one, or has its subject behind the verb
_OPENS = frozenset(
    {"DT", "JJ", "JJS", "NN", "NNP", "NNPS", "NNS", "PRP", "PRP$", "VB", "VBG", "VBN"}
)
_INTRODUCES = frozenset({"CC", "IN", "TO", "WRB"})  # the clause behind a comma
_ENDS = frozenset({"JJ", "RB", "VB", "VBD", "VBG", "VBN"})  # besides nouns, of a whole sentence
_RELATIVES = frozenset({"that", "which", "who", "whose"})
# words that point to another place of the text
_POINTS = frozenset(
    "above below certain example examples following former latter many next one other previous "
    "same several some such there various".split()
)
_MARKS = re.compile(
    r"</?[A-Za-z][^<>]{0,200}>|`+|[\"“”‘*]|(?<!\w)['’]|['’](?!\w)|\s*\([^()]*\)|\s*\[\d+\]|[\[\]]"
)
_CLOSED = re.compile(r"[.!?;]\W*$")
_OPEN = re.compile(r"(?:\b[A-Z]\.|:)\W*$")  # what the sentence says follows: U.S., of the form:
# a word or an identifier, but no code with other marks
_TYPED = re.compile(r"[/.~-]{0,2}\w+(?:[-'./+:&]\w+)*[+#]{0,2}/?")


def main_clause(sentence: str, is_common: Callable[[str], bool]) -> str:
    """What the first clause of an English sentence says, "" where that is not certain. `is_common`:
    whether a word tells nothing in this corpus.
    """
    every = list(runs(" ".join(html.unescape(_MARKS.sub("", sentence)).split())))
    if len(every) > 1 and tags_in_context(every[0])[0] in _INTRODUCES:
        every = every[1:]
    if not every or len(run := every[0]) < _FEWEST or _OPEN.search(sentence):
        return ""
    folded = [word.text.casefold() for word in run]
    if not _CLOSED.search(sentence) and stopwords("en").isdisjoint(folded):  # a synopsis, a list
        return ""
    tags = _tags(run, folded)
    tells = [not (word in stopwords("en") or is_common(word)) for word in folded]
    if tags[0] not in _OPENS or (
        tags[0].startswith("VB") and not (tells[0] or folded[1] == "that")
    ):
        return ""
    if tags[0] == "JJ" and tags[1] in ("IN", "TO"):  # due to
        return ""
    if any(word.removesuffix("'s") in _PRONOUNS for word in folded if word.endswith("'s")):
        return ""
    # of two verbs, who does what both say stays
    begin = 0 if "but" in folded else _beginning(run, folded, tags, tells)
    while folded[begin + 1 : begin + 2] == ["of"] and not tells[begin]:  # a part of
        begin += 2
    kept = [
        i
        for i in range(begin, len(run))
        if folded[i] not in _DETERMINERS
        and tags[i] != "PRP$"
        and not (folded[i] in _REFERS and tags[i + 1 : i + 2] and tags[i + 1] in {*NOUNS, "JJ"})
    ]
    if not kept or len(kept) > _MOST or folded[kept[0]] in _BE:
        return ""
    verb = next((i for i in range(1, len(run)) if tags[i] in _FINITE), 0)
    defines = folded[verb] in _BE and tags[verb + 1 : verb + 2] == ["DT"]  # a valve is a part
    if not begin and (folded[0] in _POINTING or defines):
        return ""
    if not _is_complete(kept, run, folded, tags, len(every) == 1):
        return ""
    content = [i for i in kept if folded[i] not in stopwords("en")]
    if len(every) > 1 and _goes_on(every[1]):
        return ""
    if len(content) < _FEWEST or sum(tells[i] for i in content) < _TELLING:
        return ""
    words = [run[i].text for i in kept]
    if begin and tags[begin] in ("VB", "VBZ", "VBP"):
        words[0] = gerund(words[0])
    elif kept[0] == 0 and in_lexicon(words[0]) and words[1].islower() and words[0].istitle():
        words[0] = folded[kept[0]]
    return " ".join(words)


def _tags(run: Sequence[Word], folded: Sequence[str]) -> list[str]:
    """The tags of a run: identifiers are nouns, and so are verbs without what stands before one."""
    result = tags_in_context(run)
    for i, (word, tag) in enumerate(zip(run, result, strict=True)):
        typed = _TYPED.fullmatch(word.text) and not word.text.isdigit()
        bare = tag == "VB" and i and folded[i - 1] not in _BEFORE_VERBS and result[i - 1] != "RB"
        if tag == "VB" and folded[i].endswith("s") and "VERB" in word_classes(folded[i]):
            result[i] = "VBZ"
        elif (tag == "X" and typed) or (bare and result[i - 1] not in ("CC", "PRP")):
            result[i] = "NN"
    return result


def _beginning(
    run: Sequence[Word], folded: Sequence[str], tags: Sequence[str], tells: Sequence[bool]
) -> int:
    """Where a query begins: behind a subject that tells nothing (this package), or that is a name
    which the rest explains, and behind a verb that tells nothing (provides).
    """
    if tags[0] == "VB" and folded[1] == "that":  # note that
        return 2
    verb = next((i for i in range(1, len(run)) if tags[i] in _FINITE), 0)
    subject = range(verb)
    names = [i for i in subject if folded[i] not in stopwords("en")]
    explained = folded[verb] in {*_BE, "stands"} and all(
        not (run[i].text.islower() and in_lexicon(run[i].text)) for i in names
    )
    points = folded[0] in _POINTING  # this driver: of the document, but no name of it
    if any(tells[i] for i in subject) and not (explained or points):
        return 0
    if not verb or any(folded[i] in _RELATIVES for i in subject[1:]):
        return 0
    if folded[verb : verb + 2] == ["stands", "for"]:
        return verb + 2
    at = verb
    while at < len(run) and (
        tags[at] in ("MD", "RB", "TO")
        or folded[at] in _BE
        or (tags[at].startswith("VB") and not tells[at])
    ):
        if folded[at] == "not":
            return 0
        at += 1
    if folded[at : at + 1] == ["no"]:
        return 0
    tag, following = (*tags[at:], "", "")[:2]
    noun = tag in ("DT", "PRP$") or tag in NOUNS or (tag == "JJ" and following in {*NOUNS, "JJ"})
    noun = noun or (tag == "VBN" and following in NOUNS and folded[at - 1] not in _BE)
    verbal = tag in ("VB", "VBG") if at > verb else tag in ("VBZ", "VBP")
    if verbal and folded[at + 1 : at + 2] == ["that"]:  # indicates that
        return at + 2
    if noun or (verbal and not names):
        return at
    return 0 if names else len(run)


def _goes_on(run: Sequence[Word]) -> bool:
    """Whether what follows a comma belongs to what stands before it: but ..., or ..., an item of an
    enumeration.
    """
    tags = tags_in_context(run)
    item = tags[0] in {*NOUNS, "JJ", "DT", "CD", "X"} and _FINITE.isdisjoint(tags)
    return not run[0].opens and (tags[0] == "CC" or item)


def _is_complete(
    kept: Sequence[int],
    run: Sequence[Word],
    folded: Sequence[str],
    tags: Sequence[str],
    whole: bool,
) -> bool:
    """Whether nothing that the words say stands elsewhere, and each of them can be typed."""
    last = kept[-1]
    relative = next((i for i in kept if folded[i] in _RELATIVES), last)
    if relative < last and not any(tags[i] in _FINITE for i in range(relative, last)):
        return False
    ends = tags[last] in NOUNS or (whole and tags[last] in _ENDS)
    if not ends or folded[last] in stopwords("en"):
        return False
    return all(
        _TYPED.fullmatch(run[i].text)
        and folded[i] not in _POINTS
        and tags[i] != "PRP"
        and (
            tags[i] != "DT"
            or folded[i] in _QUANTIFIERS
            or (i > kept[0] and folded[i] in _RELATIVES)
        )
        for i in kept
    )
