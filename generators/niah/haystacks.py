"""Haystacks: what stands at which place of which filler, put together to exactly its length.

    haystack number = filler number * variants + variant
    filler          = (length, group, number, kind of filler, filtered or not, near-answers)
    variant         = (needle, order, place), then the controls

Texts are joined from sentences whose tokens were counted once. Every finished text is encoded again
all the same: where tokenizers count a text otherwise than its sentences, its tail is changed.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, product
from typing import Any, TypeVar, get_args

import numpy as np

from retgen.errors import RecipeError
from retgen.generators.niah.books import Material
from retgen.generators.niah.counting import TokenCounter, batches
from retgen.generators.niah.fillers import (
    GOLDEN,
    MORE,
    FillerKey,
    FillerText,
    Haystack,
    NoFit,
    Pieces,
    SentencePool,
    Size,
    SizedSentence,
    Variant,
)
from retgen.generators.niah.groups import people, with_name
from retgen.generators.niah.leaks import RelatedWords
from retgen.generators.niah.params import Needle, NiahParams, Order
from retgen.streams import Stream
from retgen.tokenizer import length as words_of

_NEEDLES = get_args(Needle), get_args(Order)
_KEPT = 512  # fillers in memory
_MENDS = 12
_BLOCK = 2 << 20  # characters of texts in memory at once
S = TypeVar("S", Pieces, Size)
T = TypeVar("T")


class HaystackBuilder:
    """All haystacks of a run by their numbers."""

    def __init__(
        self, params: NiahParams, seed: int, material: Material, counter: TokenCounter
    ) -> None:
        self.params, self.counter, self._seed = params, counter, seed
        self.groups, self.cast = material.groups, material.cast
        sizes = self._sizes([one.text for one in material.sentences])
        self.tokens = sum(size.tokens for size in sizes)
        self._pools = {
            filtered: SentencePool(material.sentences, sizes, filtered)
            for filtered in params.filtered
        }
        places = range(params.places)
        self.variants = [Variant(*one) for one in product(params.needles, params.orders, places)]
        self.with_needle = len(self.variants)
        if "nothing" in params.controls:
            self.variants.append(Variant("none"))
        if "neutral" in params.controls:
            self.variants += [Variant("neutral", "", place) for place in places]
        # of each field of a `FillerKey` its values
        self._axes: tuple[Sequence[Any], ...] = (
            params.lengths,
            range(len(self.groups)),
            range(params.fillers),
            params.filler,
            params.filtered,
            params.distractors,
        )
        self._shape = tuple(map(len, self._axes))
        self.fillers = math.prod(self._shape)
        self.count = self.fillers * len(self.variants)
        self.needles = self.fillers * self.with_needle
        related = RelatedWords(group.question for group in self.groups)
        self._neutral = [
            one for one in people().neutral if related.first(with_name(one, " ")) is None
        ]
        self._named = cache(self._with_name)
        self.filler = lru_cache(_KEPT)(self._filler)

    # --- people and sentences ---------------------------------------------------------------

    def _sizes(self, texts: Sequence[str]) -> list[Size]:
        return list(map(Size, self.counter.sizes(texts).tolist(), map(words_of, texts)))

    def _with_name(self, sentence: str, name: str) -> SizedSentence:
        text = with_name(sentence, name)
        return SizedSentence(text, *self._sizes([text]))

    def needle(self, group: int, kind: Needle, order: Order) -> SizedSentence:
        """A needle of a group, with its name."""
        return self._named(self.groups[group].needle(kind, order), self.cast.of_group[group])

    def others(self, key: FillerKey) -> list[str]:
        """Names for whoever else there is in a filler, in an order of its own."""
        stream = Stream(self._seed, f"niah/others/{self.groups[key.group].id}/{key.number}")
        return stream.shuffled(self.cast.free)

    def neutral(self, key: FillerKey) -> SizedSentence:
        """A sentence about somebody else that answers no question, as long as the default needle.

        The same at all lengths; where none has as many tokens, one of the nearest.
        """
        wanted = self.needle(key.group, "one_hop", "default").size
        name = self.others(key)[-1]
        stream = Stream(self._seed, f"niah/neutral/{self.groups[key.group].id}/{key.number}")

        def distance(piece: SizedSentence) -> tuple[int, int]:
            tokens, words = piece.size
            return abs(tokens - wanted.tokens), abs(words - wanted.words)

        pieces = (self._named(one, name) for one in stream.shuffled(self._neutral))
        return min(pieces, key=distance)

    def near_answers(self, key: FillerKey, count: int) -> list[SizedSentence]:
        """Near-answers of a group, each about somebody else."""
        group = self.groups[key.group]
        stream = Stream(self._seed, f"niah/near/{group.id}/{key.number}")
        chosen = stream.shuffled(group.near)[:count]
        return list(map(self._named, chosen, self.others(key)))

    # --- fillers ----------------------------------------------------------------------------

    def key(self, filler: int) -> FillerKey:
        """What a filler is, by its number."""
        indices = map(int, np.unravel_index(filler, self._shape))
        return FillerKey(*(axis[i] for axis, i in zip(self._axes, indices, strict=True)))

    def _filler(self, number: int) -> FillerText:
        key = self.key(number)
        pieces = self._pieces(key)
        # without one number of words where the books cannot give it: the proof says so
        without = tuple(Size(one.tokens) for one in pieces)
        return self._first_fit(key, lambda sizes: self._filler_for(key, sizes), pieces, without)

    def _first_fit(self, key: FillerKey, make: Callable[[S], T], *choices: S) -> T:
        """What can be made of the first choice of sizes that fits. Raises `RecipeError`."""
        for sizes in choices:
            try:
                return make(sizes)
            except NoFit as error:
                why = error
        raise RecipeError(self._no_fit(key, why))

    def _filler_for(self, key: FillerKey, pieces: Pieces) -> FillerText:
        """A filler in which each of some pieces can stand. Raises `NoFit`.

        Of the numbers of words that needle and tail may have together, the one with the fewest
        tails of another book.
        """
        pool, made = self._pools[key.filtered], self._body(key, pieces)
        own = None if made.beside is None else pool.books[made.beside]
        choices: list[tuple[int, int]] = []  # words, and how many tails are of another book
        left = key.length - self.counter.special - made.offsets[-1]
        for words in pool.word_counts(pieces, left):
            with contextlib.suppress(NoFit):
                behind = Size(left, words)
                tails = [self.tail(key, made, behind.less(size), size) for size in pieces]
                foreign = sum(any(pool.books[i] != own for i in tail) for tail in tails)
                choices.append((words, foreign))
                if not foreign or own is None:
                    break
        if not choices:
            raise NoFit(
                "its last one or two sentences do not make up for the tokens of all needles; "
                f"{MORE}"
            )
        return made._replace(words=min(choices, key=lambda one: one[1])[0])

    def _body(self, key: FillerKey, pieces: Pieces) -> FillerText:
        """A filler without its tail. Raises `NoFit`."""
        pool, group, places = self._pools[key.filtered], self.groups[key.group], self.params.places
        near = self.near_answers(key, key.distractors)
        room = pool.room(pieces)
        whole = key.length - self.counter.special
        tokens = whole - room - sum(piece.size.tokens for piece in near)
        stream = Stream(self._seed, f"niah/{key.filler}/{group.id}/{key.length}/{key.number}")
        least = max(1, places - 2 - len(near))
        if key.filler == "shuffled":
            chosen, at = pool.shuffled_body(tokens, least, stream)
        else:
            stream = Stream(self._seed, f"niah/coherent/{key.length}")  # of all of them
            offset = stream.below(1 << 62) << 2
            drawn = (offset + (key.group + len(self.groups) * key.number) * GOLDEN) % 2**64
            fillers = len(self.groups) * self.params.fillers
            chosen = pool.coherent_body(tokens, least, pieces, room, drawn, fillers)
            at = chosen[-1] + 1
        parts = [pool.sentences[i] for i in chosen]
        for piece, place in zip(near, stream.integers(1 << 30, len(near)).tolist(), strict=True):
            parts.insert(place % (len(parts) + 1), piece)
        offsets = list(accumulate((piece.size.tokens for piece in parts), initial=0))
        needle = self.needle(key.group, "one_hop", "default").size.tokens
        return FillerText(
            tuple(piece.text for piece in parts),
            _boundaries(offsets, places, whole - needle),
            tuple(offsets),
            chosen[-1] if key.filler == "coherent" else None,
            at,
            frozenset(pool.texts[i] for i in chosen),
        )

    def _pieces(self, key: FillerKey) -> Pieces:
        """The sizes of what may stand in a filler, whichever of them the recipe asks for."""
        variants = [
            Variant("none"),
            Variant("neutral"),
            *(Variant(kind, order) for kind, order in product(*_NEEDLES)),
            *([Variant("near")] if self.params.training else []),
        ]
        return tuple(sorted({self.piece(key, variant).size for variant in variants}))

    def _no_fit(self, key: FillerKey, error: NoFit) -> str:
        pool = self._pools[key.filtered]
        longest = max(piece.tokens for piece in self._pieces(key))
        beside = sum(piece.size.tokens for piece in self.near_answers(key, key.distractors))
        where = f"params.lengths: {key.length:,} tokens"
        group = self.groups[key.group].id
        if key.length - self.counter.special - longest - beside <= 0:
            return (
                f"{where} are too few for group {group}, whose longest sentence has {longest:,}"
                + (f" and whose near-answers have {beside:,}" if beside else "")
                + "; use longer haystacks"
            )
        if pool.tokens < key.length + 2 * longest:
            return (
                f"{where} are more than the books give: their {pool.distinct:,} different "
                f"sentences that can be used have {pool.tokens:,} tokens, and none stands twice in "
                "a haystack; use more books, or shorter haystacks"
            )
        return f"{where} cannot be made for group {group}: {error}"

    def check(self) -> None:
        """Make the filler of each group and length. Raises `RecipeError` where there is none."""
        for number in range(self.fillers):
            if self.key(number).number == 0:
                self._filler(number)

    # --- haystacks --------------------------------------------------------------------------

    def filler_and_variant(self, number: int) -> tuple[int, Variant]:
        """The number of a haystack's filler, and its variant."""
        filler, variant = divmod(number, len(self.variants))
        return filler, self.variants[variant]

    def at(self, numbers: Iterable[int]) -> Iterator[Haystack]:
        """Haystacks by their numbers."""
        return self.exact(map(self.filler_and_variant, numbers))

    def places(self, numbers: Iterable[int]) -> Iterator[Haystack]:
        """The same where nobody reads the texts: not encoded if their tokens are certain."""
        if not self.counter.by_words:
            return self.at(numbers)
        return (self._put_together(*self.filler_and_variant(number)) for number in numbers)

    def exact(self, wanted: Iterable[tuple[int, Variant]]) -> Iterator[Haystack]:
        """Haystacks by filler and variant, each encoded again to see that it has its length.

        Variants may be others than those of the corpus.
        """
        made = (self._put_together(*one) for one in wanted)
        for batch in batches(made, _BLOCK, lambda one: len(one.text)):
            lengths = self.counter.lengths([one.text for one in batch])
            for one, length in zip(batch, lengths, strict=True):
                if length != one.key.length:
                    one = self._mend_length(one, length)
                yield one if self.counter.by_words else self._with_depth(one)

    def _mend_length(self, one: Haystack, length: int) -> Haystack:
        more = 0
        for _ in range(_MENDS):
            more += one.key.length - length
            one = self._put_together(one.filler, one.variant, more)
            (length,) = self.counter.lengths([one.text])
            if length == one.key.length:
                return one
        raise RecipeError(
            f"params.tokenizer: it counts a text otherwise than its sentences, and no haystack of "
            f"exactly {one.key.length:,} tokens was found for group "
            f"{self.groups[one.key.group].id}; use another tokenizer"
        )

    def _with_depth(self, one: Haystack) -> Haystack:
        """With the depth that the needle has in the tokens of the finished text."""
        if one.variant.needle == "none":
            return one
        before, taken = self.counter.place(one.text, one.span)
        filler = one.key.length - self.counter.special - taken
        return one._replace(depth=round((before - self.counter.first) / filler, 4))

    def piece(self, key: FillerKey, variant: Variant) -> SizedSentence:
        """What a variant puts into a filler."""
        match variant.needle:
            case "none":
                return SizedSentence("", Size(0))
            case "neutral":
                return self.neutral(key)
            case "near":
                return self.near_answers(key, key.distractors + 1)[-1]
            case needle:
                return self.needle(key.group, needle, variant.order or "default")

    def tail(self, key: FillerKey, made: FillerText, size: Size, piece: Size) -> list[int]:
        """The sentences behind a body that holds a piece, of such a size. Raises `NoFit`.

        Without a piece: where the books have such, as many of those of the first needle's haystacks
        as can be, and one or two behind them.
        """
        pool = self._pools[key.filtered]
        shared: list[int] = []
        if not piece.tokens:
            needle = self.needle(key.group, self.params.needles[0], self.params.orders[0])
            with contextlib.suppress(NoFit):
                shared = pool.fit(size.less(needle.size), made.used, made.at, beside=made.beside)
            for some in (shared, shared[:1], shared[1:]):
                left, used = size, made.used.union(pool.texts[i] for i in some)
                for i in some:
                    left = left.less(pool.sentences[i].size)
                with contextlib.suppress(NoFit):
                    return some + pool.fit(left, used, made.at, beside=made.beside)
        return pool.fit(size, made.used, made.at, beside=made.beside)

    def _put_together(self, filler: int, variant: Variant, more: int = 0) -> Haystack:
        """A haystack; `more`: tokens that its tail has beyond what its sentences' counts say."""
        made, key = self.filler(filler), self.key(filler)
        piece = self.piece(key, variant)
        whole = key.length - self.counter.special
        left = Size(whole - made.offsets[-1], made.words).less(piece.size)
        size = left._replace(tokens=left.tokens + more)
        # words are left out for a tokenizer that counts texts otherwise than their sentences
        tail = self._first_fit(
            key, lambda one: self.tail(key, made, one, piece.size), size, Size(size.tokens)
        )
        sentences = self._pools[key.filtered].sentences
        parts = [*made.parts, *(sentences[i].text for i in tail)]
        if variant.needle == "none":
            return Haystack(filler, key, variant, " ".join(parts), (0, 0), -1.0)
        if variant.place == self.params.places - 1:
            boundary, before = len(parts), made.offsets[-1] + left.tokens
        else:
            boundary = made.boundaries[variant.place]
            before = made.offsets[boundary]
        start = sum(map(len, parts[:boundary])) + boundary
        parts.insert(boundary, piece.text)
        depth = round(before / (whole - piece.size.tokens), 4)
        span = start, start + len(piece.text)
        return Haystack(filler, key, variant, " ".join(parts), span, depth)


def _boundaries(offsets: Sequence[int], places: int, whole: int) -> tuple[int, ...]:
    """The boundary nearest to each place but the last, each another one, in order."""
    result: list[int] = []
    there = np.array(offsets)
    for j in range(places - 1):
        nearest = int(np.argmin(np.abs(there - j * whole / (places - 1))))
        first = result[-1] + 1 if result else 0
        result.append(min(max(nearest, first), len(offsets) - (places - 1 - j)))
    return tuple(result)
