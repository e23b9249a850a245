"""What holds for all passages together: who holds a phrase, who repeats whom, who is held out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.generators.capretrieval.language import terms
from retgen.generators.capretrieval.params import Splits
from retgen.generators.capretrieval.passages import Passage
from retgen.streams import Stream

Terms = tuple[str, ...]


class Phrase(NamedTuple):
    """A phrase for comparing: its words folded, and their stems in its language."""

    words: Terms
    stems: Terms

    @classmethod
    def of(cls, text: str, language: str) -> Phrase:
        """The phrase that a text is."""
        return cls(tuple(terms(text, "")), tuple(terms(text, language)))


def holders(passages: Sequence[Passage], phrases: Iterable[Phrase]) -> dict[Phrase, list[int]]:
    """The passages (their numbers, ascending) that hold each phrase side by side.

    Stems do, so that "HTML pages" stands in "an HTML page" as well; of a passage in another
    language, whose stems are others, the words.
    """
    every = set(phrases)
    found: dict[Terms, list[int]] = {}
    for phrase in every:
        found[phrase.words], found[phrase.stems] = [], []
    lengths = sorted({len(one) for one in found})
    for number, passage in enumerate(passages):
        text = f"{passage.title} {passage.text}"
        words, stems = terms(text, ""), terms(text, passage.language)
        seen: set[Terms] = set()
        for held in (words, stems) if words != stems else (words,):
            for size in lengths:
                for at in range(len(held) - size + 1):
                    phrase_terms = tuple(held[at : at + size])
                    if phrase_terms in found and phrase_terms not in seen:
                        seen.add(phrase_terms)
                        found[phrase_terms].append(number)
    return {one: sorted({*found[one.words], *found[one.stems]}) for one in every}


def sides(seed: int, repeats: NDArray[np.int64], splits: Splits) -> list[str]:
    """The split of each document: "train", "dev" or "test"; near-duplicates on one side.

    `repeats`: a number of each document that near-duplicates share (`alike`). A group of these
    goes to a held-out split where it fits into its share; where none does, the smallest one goes
    there. All are "train" where all are alike; two groups are train and test.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for document, group in enumerate(repeats.tolist()):
        members[group].append(document)
    every = list(members.values())
    left = {
        name: max(1, round(share * len(repeats)))
        for name, share in (("test", splits.test), ("dev", splits.dev))
        if share
    }
    while left and len(left) >= len(every):
        left.popitem()
    order = Stream(seed, "capretrieval/splits").permutation(len(every)).tolist()
    split_of = dict.fromkeys(order, "train")
    trained = len(repeats)
    for group in order:
        size = len(every[group])
        for name in left:
            if size <= left[name] and trained > size:
                left[name] -= size
                trained -= size
                split_of[group] = name
                break
    for name in left:
        trained_groups = [group for group in order if split_of[group] == "train"]
        if name not in split_of.values() and len(trained_groups) > 1:
            split_of[min(trained_groups, key=lambda group: len(every[group]))] = name
    result = ["train"] * len(repeats)
    for group, name in split_of.items():
        for document in every[group]:
            result[document] = name
    return result
