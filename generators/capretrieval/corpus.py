"""What holds for all passages together: who holds a phrase, who repeats whom, who is held out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgen.generators.capretrieval.language import stems_of, words_of
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
        return cls(tuple(words_of(text)), tuple(stems_of(text, language)))


class Held(NamedTuple):
    """The passages (their numbers, ascending) that hold a phrase side by side.

    `words`: word for word; `stems`: these, and those whose words have its stems. A stem is no
    evidence of relevance ("business" and "busy" share theirs), but it is one of doubt.
    """

    words: list[int]
    stems: list[int]


def holders(passages: Sequence[Passage], phrases: Iterable[Phrase]) -> dict[Phrase, Held]:
    """Which passages hold each phrase, title and text."""
    every = set(phrases)
    of_words: dict[Terms, list[int]] = {phrase.words: [] for phrase in every}
    of_stems: dict[Terms, list[int]] = {phrase.stems: [] for phrase in every}
    sizes = [sorted({len(one) for one in phrases}) for phrases in (of_words, of_stems)]
    for number, passage in enumerate(passages):
        text = f"{passage.title} {passage.text}"
        _note(words_of(text), of_words, sizes[0], number)
        _note(stems_of(text, passage.language), of_stems, sizes[1], number)
    return {
        one: Held(of_words[one.words], sorted({*of_words[one.words], *of_stems[one.stems]}))
        for one in every
    }


def _note(
    held: Sequence[str], phrases: dict[Terms, list[int]], sizes: Sequence[int], number: int
) -> None:
    """Add a passage to all phrases that its terms hold."""
    for size in sizes:
        for at in range(len(held) - size + 1):
            known = phrases.get(tuple(held[at : at + size]))
            if known is not None and (not known or known[-1] != number):
                known.append(number)


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
