"""LIMIT's oracle: documents that list attributes, and queries that name them."""

from __future__ import annotations

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from retgen.errors import UsageError
from retgen.progress import Progress
from retgen.search.base import Retriever, RetrieverType, SystemRanks
from retgen.search.collection import Collection
from retgen.search.embedders.options import Options
from retgen.search.lexical import BLOCK, rank_all

_LIST = re.compile(", (?:and )?| and ")
_ITEM = 4  # words of a listed item, on average, at most


class AttributeOracle(RetrieverType):
    names: ClassVar[Mapping[str, str]] = {
        "attribute-oracle": "LIMIT's oracle: each listed attribute is a token (footnote 9)"
    }

    def load(self, name: str, options: Options) -> Retriever:
        return _Oracle()


class _Oracle:
    """Every listed item is one token (LIMIT, footnote 9); the score is the sum of their IDF.

    Items are what stands between the commas and around the last "and" of a list. Where the first
    one begins ("Jon Dow likes Tea") is told by the items that stand whole somewhere.
    """

    def rank(self, collection: Collection, depth: int, progress: Progress) -> Iterator[SystemRanks]:
        if not _lists(collection):
            raise UsageError(
                "--model attribute-oracle: reads documents that list attributes, and those of "
                f"{collection.path} do not. Name tfidf or bm25 instead"
            )
        listed: set[str] = set()
        for _, texts in collection.blocks(BLOCK):
            listed.update(item for text in texts for item in _items(text, set())[1:])
        postings: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        for first, texts in collection.blocks(BLOCK):
            for number, text in enumerate(texts, start=first):
                for item in set(_items(text, listed)):
                    postings[item].append(number)
            progress("attribute-oracle: documents", first + len(texts), collection.documents)
        named = [{i for i in _named(q.text, listed) if i in postings} for q in collection.queries]

        def score(items: Set[str]) -> NDArray[np.float32]:
            total = np.zeros(collection.documents, np.float32)
            for item in sorted(items):
                total[postings[item]] += 1 + math.log(collection.documents / len(postings[item]))
            return total

        ranked = rank_all(collection, depth, named, score, "attribute-oracle", progress)
        yield SystemRanks("attribute-oracle", None, ranked, {"tokenizer": "listed items"})


def _lists(collection: Collection) -> bool:
    """Whether most documents hold a list, judged by the first ones."""
    _, texts = next(iter(collection.blocks(200)))
    return 2 * sum(map(_is_list, texts)) > len(texts)


def _is_list(text: str) -> bool:
    """Whether a text names things one by one: sentences have longer parts between their commas."""
    if ", " not in text or " and " not in text:
        return False
    items = [len(item.split()) for item in _LIST.split(text)[1:]]
    return sum(items) <= _ITEM * len(items)


def _items(text: str, listed: set[str]) -> list[str]:
    """The items of a list, the first one first; an item that holds an "and" in all readings."""
    text = text.strip()
    *begin, last = (text[:-1] if text[-1:] in ".?!" else text).split(", ")
    joints = list(re.finditer(" and ", last))
    ends = [last[joint.end() :] for joint in joints]
    if begin:
        ends += [last, *(last[: joint.start()] for joint in joints)]
        return [_ending(begin[0], listed), *begin[1:], *ends]
    heads = [last[: joint.start()] for joint in joints] or [last]
    return [*(_ending(head, listed) for head in (*heads, last)), *ends]


def _named(text: str, listed: set[str]) -> list[str]:
    """The items of a query; where "Fish and Chips" is an item, its parts were not asked for."""
    items = _items(text, listed)
    joined = [item for item in items if " and " in item and item in listed]
    parts = {part for item in joined for part in item.split(" and ")}
    return [item for item in items if item not in parts]


def _ending(opening: str, listed: set[str]) -> str:
    """The longest ending that is an item, else the last word."""
    endings = [opening[space.end() :] for space in re.finditer(" ", opening)]
    return next((e for e in endings if e in listed), endings[-1] if endings else opening)
