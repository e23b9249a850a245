"""What a long document is about, in a few words, and queries that say it.

    tmux.1, third passage    "cursor colour"  ->  "tmux cursor colour"
    Logging HOWTO            "dotted lookup"  ->  "Logging HOWTO dotted lookup"

A phrase of one passage of a manual means something else in the next manual; people who search add
what the manual is about. That is its title, or the name that it says first and again and again.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.found import folded, title_shown
from retgen.generators.capretrieval.language import words_of
from retgen.generators.capretrieval.offline import RuleQuery, sentences
from retgen.generators.capretrieval.passages import Passage
from retgen.generators.capretrieval.tagging import in_lexicon
from retgen.sources import SourceDocument
from retgen.tokenizer import MARKS

_LONGEST = 5  # words of a title
_MOST = 12  # words of a query
_FIRST = 400  # characters of a document, which say what it is about
_OFTEN, _LETTERS, _SALIENT = 5, 3, 0.4  # a name: times, length, salience
_NAME = re.compile(rf"[^\W\d_][\w{MARKS}.:+-]*[\w{MARKS}+#]")
_LONG = 0.45  # what a query of a long document is worth: other passages may say as much


def topic_of(
    document: SourceDocument, language: str, counts: CorpusCounts, scored: bool = False
) -> str:
    """The title of a document, or its name; "" where neither is known. A name is what an English
    text says first and often; where its queries are `scored`, what its id begins with.
    """
    title = title_shown(document, counts)
    if title and len(title.split()) <= _LONGEST and not counts.is_shared(folded(title)):
        return title
    if scored:
        return _name_in_id(document)
    if language != "en":
        return ""
    often = Counter(map(str.casefold, _NAME.findall(document.text)))
    best, most = "", 0.0
    for name in dict.fromkeys(_NAME.findall(document.text[:_FIRST])):
        times = often[name.casefold()]
        if times < _OFTEN or len(name) < _LETTERS or in_lexicon(name):
            continue
        salience = counts.salience(words_of(name))
        if salience >= _SALIENT and (worth := salience * math.log(times)) > most:
            best, most = name, worth
    return best


def _name_in_id(document: SourceDocument) -> str:
    """The longest name in a text, no ordinary word, that is half of its id's words or more, and the
    first ones; "" where there is none.
    """
    whole = words_of(document.id.rpartition("/")[2] or document.id)
    every = dict.fromkeys(_NAME.findall(document.text))
    names = [
        one
        for one in every
        if (words := words_of(one)) == whole[: len(words)]
        and 2 * len(words) >= len(whole)
        and len(one) >= _LETTERS
        and not (one.casefold() in every and in_lexicon(one))
    ]
    return max(names, key=len, default="")


def with_topic(rules: Sequence[RuleQuery], topic: str, passage: Passage) -> list[RuleQuery]:
    """The queries of a passage with what its document is about. They rest on the sentence of their
    phrase then, as the phrase alone stands elsewhere too. Single words are left out.
    """
    said, places = set(words_of(topic)), sentences(passage.text)
    result = []
    for one in rules:
        own = one._replace(score=round(_LONG * one.score, 4))
        is_long = one.kind == "summary" and len(topic.split()) + len(one.text.split()) > _MOST
        if is_long or said <= set(words_of(one.text)):
            result.append(own)
        elif one.kind != "keyword":
            within = (place for place in places if place[0] <= one.start and one.stop <= place[1])
            start, stop = next(within, (one.start, one.stop))
            text = f"{topic} {one.text}"
            result.append(own._replace(kind="summary", text=text, start=start, stop=stop))
    return result
