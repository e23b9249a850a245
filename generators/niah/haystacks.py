"""Haystacks: what stands at which place of which filler, put together to exactly its length.

    haystack number = filler number * variants + variant
    filler          = (length, group, number, kind of filler, filtered or not, near-answers)
    variant         = (needle, order, place), then the controls

Texts are joined from sentences whose tokens were counted once. Every finished text is encoded again
all the same: where tokenizers count a text otherwise than its sentences, its tail is changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, product
from typing import get_args

import numpy as np

from retgen.errors import RecipeError
from retgen.generators.niah.books import Sentence
from retgen.generators.niah.counting import TokenCounter
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
from retgen.generators.niah.groups import Cast, NeedleGroup, people, with_name
from retgen.generators.niah.leaks import RelatedWords
from retgen.generators.niah.params import Needle, NiahParams, Order
from retgen.streams import Stream
from retgen.tokenizer import length as words_of

_NEEDLES = get_args(Needle), get_args(Order)
_REFRAIN = 2  # words of a sentence that may stand twice, as in any prose: "It was."
_KEPT = 512  # fillers in memory
_MENDS = 12
_BLOCK = 2 << 20  # characters of texts in memory at once


class HaystackBuilder:
    """All haystacks of a run by their numbers. `sentences`: of the books, in order."""

    def __init__(
        self,
        params: NiahParams,
        seed: int,
        groups: Sequence[NeedleGroup],
        cast: Cast,
        sentences: Sequence[Sentence],
        counter: TokenCounter,
    ) -> None:
        self.params, self.groups, self.cast, self.counter = params, groups, cast, counter
        self._seed = seed
        self._texts = [one.text for one in sentences]
        sizes = counter.sizes(self._texts)
        words = np.array([words_of(text) for text in self._texts], np.int64)
        self.tokens = int(sizes.sum())
        books, texts = (
            np.unique(some, return_inverse=True)[1]
            for some in (
                [one.book for one in sentences],
                [
                    text if len(text.split()) > _REFRAIN else f"{i}"
                    for i, text in enumerate(self._texts)
                ],
            )
        )
        self._pools: dict[bool, tuple[SentencePool, list[int]]] = {}
        for filtered in params.filtered:
            kept = np.array(
                [i for i, one in enumerate(sentences) if not (filtered and one.fault)], np.int64
            )
            # coherent filler begins elsewhere where it is not filtered: without a sentence to leave
            # out the two would be one text
            pool = SentencePool(
                sizes[kept], words[kept], books[kept], texts[kept], kept % 2 == int(not filtered)
            )
            self._pools[filtered] = pool, kept.tolist()
        self.variants = [*self._needles(), *self._controls()]
        self.with_needle = len(params.needles) * len(params.orders) * params.places
        self.fillers = (
            len(params.lengths)
            * len(groups)
            * params.fillers
            * len(params.filler)
            * len(params.filtered)
            * len(params.distractors)
        )
        self.count = self.fillers * len(self.variants)
        self._sized: dict[str, Size] = {}
        self._count_sentences()
        self.filler = lru_cache(_KEPT)(self._filler)

    def _needles(self) -> Iterator[Variant]:
        for needle in self.params.needles:
            for order in self.params.orders:
                yield from (Variant(needle, order, j) for j in range(self.params.places))

    def _controls(self) -> Iterator[Variant]:
        if "nothing" in self.params.controls:
            yield Variant("none")
        if "neutral" in self.params.controls:
            yield from (Variant("neutral", "", j) for j in range(self.params.places))

    # --- people and sentences ---------------------------------------------------------------

    def _count_sentences(self) -> None:
        """Count the sentences of the table with all names that they may have, in one go."""
        related = RelatedWords(group.question for group in self.groups)
        neutral = [one for one in people().neutral if related.first(with_name(one, " ")) is None]
        texts = [
            with_name(sentence, name)
            for group, own in zip(self.groups, self.cast.of_group, strict=True)
            for key, sentence in group.sentences().items()
            for name in ((own,) if not key.startswith("near") else self.cast.free)
        ]
        texts += [with_name(one, name) for one in neutral for name in self.cast.free]
        sizes = map(Size, self.counter.sizes(texts).tolist(), map(words_of, texts))
        self._sized = dict(zip(texts, sizes, strict=True))
        self._neutral = neutral

    def _piece(self, sentence: str, name: str) -> SizedSentence:
        text = with_name(sentence, name)
        return SizedSentence(text, self._sized[text])

    def needle(self, group: int, kind: Needle, order: Order) -> SizedSentence:
        """A needle of a group, with its name."""
        return self._piece(self.groups[group].needle(kind, order), self.cast.of_group[group])

    def others(self, key: FillerKey) -> list[str]:
        """Names for whoever else there is in a filler, in an order of its own."""
        stream = Stream(self._seed, f"niah/others/{self.groups[key.group].id}/{key.number}")
        return [self.cast.free[i] for i in stream.permutation(len(self.cast.free))]

    def neutral(self, key: FillerKey) -> SizedSentence:
        """A sentence about somebody else that answers no question, as long as the default needle.

        The same at all lengths; where none has as many tokens, one of the nearest.
        """
        wanted = self.needle(key.group, "one_hop", "default").size
        name = self.others(key)[-1]
        stream = Stream(self._seed, f"niah/neutral/{self.groups[key.group].id}/{key.number}")
        pieces = [
            self._piece(self._neutral[i], name) for i in stream.permutation(len(self._neutral))
        ]
        return min(
            pieces,
            key=lambda one: (
                abs(one.size.tokens - wanted.tokens),
                abs(one.size.words - wanted.words),
            ),
        )

    def near_answers(self, key: FillerKey, count: int) -> list[SizedSentence]:
        """Near-answers of a group, each about somebody else."""
        group = self.groups[key.group]
        stream = Stream(self._seed, f"niah/near/{group.id}/{key.number}")
        order = stream.permutation(len(group.near)).tolist()[:count]
        return [
            self._piece(group.near[i], name)
            for i, name in zip(order, self.others(key), strict=False)
        ]

    # --- fillers ----------------------------------------------------------------------------

    def key(self, filler: int) -> FillerKey:
        """What a filler is, by its number."""
        params = self.params
        filler, distractors = divmod(filler, len(params.distractors))
        filler, filtered = divmod(filler, len(params.filtered))
        filler, kind = divmod(filler, len(params.filler))
        filler, number = divmod(filler, params.fillers)
        length, group = divmod(filler, len(self.groups))
        return FillerKey(
            params.lengths[length],
            group,
            number,
            params.filler[kind],
            params.filtered[filtered],
            params.distractors[distractors],
        )

    def _filler(self, number: int) -> FillerText:
        key = self.key(number)
        pieces = self._pieces(key)
        # without one number of words where the books cannot give it: the proof says so
        for sizes in (pieces, tuple(Size(one.tokens) for one in pieces)):
            try:
                return self._filler_for(key, sizes)
            except NoFit as error:
                why = error
        raise RecipeError(self._no_fit(key, why))

    def _filler_for(self, key: FillerKey, pieces: Pieces) -> FillerText:
        """A filler in which each of some pieces can stand. Raises `NoFit`."""
        pool, numbers = self._pools[key.filtered]
        group, places = self.groups[key.group], self.params.places
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
            offset = int(stream.integers(1 << 62, 1)[0]) << 2
            drawn = (offset + (key.group + len(self.groups) * key.number) * GOLDEN) % 2**64
            fillers = len(self.groups) * self.params.fillers
            chosen = pool.coherent_body(tokens, least, pieces, room, drawn, fillers)
            at = chosen[-1] + 1
        parts = [SizedSentence(self._texts[numbers[i]], pool.size(i)) for i in chosen]
        for piece, place in zip(near, stream.integers(1 << 30, len(near)).tolist(), strict=True):
            parts.insert(place % (len(parts) + 1), piece)
        offsets = list(accumulate((piece.size.tokens for piece in parts), initial=0))
        needle = self.needle(key.group, "one_hop", "default").size.tokens
        made = FillerText(
            tuple(piece.text for piece in parts),
            _boundaries(offsets, places, whole - needle),
            tuple(offsets),
            chosen[-1],
            at,
            frozenset(pool.texts[i] for i in chosen),
        )
        own = {pool.books[chosen[-1]]} if key.filler == "coherent" else pool.every_book
        best: tuple[int, FillerText] | None = None  # how many tails are of another book
        left = whole - offsets[-1]
        for words in pool.word_counts(pieces, left):
            with contextlib.suppress(NoFit):
                tails = [
                    self.tail(key, made, Size(left, words).less(size), bare=not size.tokens)
                    for size in pieces
                ]
                foreign = sum(any(pool.books[i] not in own for i in tail) for tail in tails)
                if best is None or foreign < best[0]:
                    best = foreign, made._replace(words=words)
                if not foreign:
                    break
        if best is None:
            raise NoFit(
                "its last one or two sentences do not make up for the tokens of all needles; "
                f"{MORE}"
            )
        return best[1]

    def _pieces(self, key: FillerKey) -> Pieces:
        """The sizes of what may stand in a filler, whichever of them the recipe asks for."""
        variants = [
            Variant("none"),
            Variant("neutral"),
            *(Variant(kind, order) for kind, order in product(*_NEEDLES)),
            *([Variant("near")] if self.params.training else []),
        ]
        pieces = (self.piece(key, variant) for variant in variants)
        return tuple(sorted({piece.size if piece else Size(0) for piece in pieces}))

    def _no_fit(self, key: FillerKey, error: NoFit) -> str:
        pool = self._pools[key.filtered][0]
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

    def at(self, numbers: Iterable[int]) -> Iterator[Haystack]:
        """Haystacks by their numbers."""
        return self.exact(
            (filler, self.variants[variant])
            for filler, variant in (divmod(number, len(self.variants)) for number in numbers)
        )

    def places(self, numbers: Iterable[int]) -> Iterator[Haystack]:
        """The same where nobody reads the texts: not encoded if their tokens are certain."""
        if not self.counter.by_words:
            yield from self.at(numbers)
            return
        for number in numbers:
            filler, variant = divmod(number, len(self.variants))
            yield self._put_together(filler, self.variants[variant])

    def exact(self, wanted: Iterable[tuple[int, Variant]]) -> Iterator[Haystack]:
        """Haystacks by filler and variant, each encoded again to see that it has its length.

        Variants may be others than those of the corpus.
        """
        batch: list[Haystack] = []
        size = 0
        for filler, variant in wanted:
            batch.append(self._put_together(filler, variant))
            size += len(batch[-1].text)
            if size >= _BLOCK:
                yield from self._check_lengths(batch)
                batch, size = [], 0
        yield from self._check_lengths(batch)

    def _check_lengths(self, batch: Sequence[Haystack]) -> Iterator[Haystack]:
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

    def piece(self, key: FillerKey, variant: Variant) -> SizedSentence | None:
        """What a variant puts into a filler."""
        if variant.needle == "none":
            return None
        if variant.needle == "neutral":
            return self.neutral(key)
        if variant.needle == "near":
            return self.near_answers(key, key.distractors + 1)[-1]
        return self.needle(key.group, variant.needle, variant.order or "default")

    def _left(self, key: FillerKey, made: FillerText, piece: SizedSentence | None) -> Size:
        """The size of the tail behind a filler that holds a piece."""
        left = Size(key.length - self.counter.special - made.offsets[-1], made.words)
        return left.less(piece.size) if piece else left

    def tail(self, key: FillerKey, made: FillerText, size: Size, bare: bool = False) -> list[int]:
        """The sentences behind a body, of such a size. Raises `NoFit`.

        `bare`: of a haystack without anything in its filler: where the books have such, as many of
        those of the first needle's haystacks as can be, and one or two behind them.
        """
        pool = self._pools[key.filtered][0]
        own = made.last if key.filler == "coherent" else None
        at = made.at
        if bare:
            needle = self.needle(key.group, self.params.needles[0], self.params.orders[0])
            first: list[int] = []
            with contextlib.suppress(NoFit):
                first = pool.fit(size.less(needle.size), made.used, at, beside=own)
            for shared in (first, first[:1], first[1:]):
                left, used = size, made.used.union(pool.texts[i] for i in shared)
                for i in shared:
                    left = left.less(pool.size(i))
                with contextlib.suppress(NoFit):
                    return shared + pool.fit(left, used, at, beside=own)
        return pool.fit(size, made.used, at, beside=own)

    def _put_together(self, filler: int, variant: Variant, more: int = 0) -> Haystack:
        """A haystack; `more`: tokens that its tail has beyond what its sentences' counts say."""
        made, key = self.filler(filler), self.key(filler)
        numbers = self._pools[key.filtered][1]
        piece = self.piece(key, variant)
        whole = key.length - self.counter.special - (piece.size.tokens if piece else 0)
        left = self._left(key, made, piece)
        size = left._replace(tokens=left.tokens + more)
        try:
            try:
                tail = self.tail(key, made, size, bare=piece is None)
            except NoFit:  # of a tokenizer that counts texts otherwise than their sentences
                tail = self.tail(key, made, Size(size.tokens), bare=piece is None)
        except NoFit as error:
            raise RecipeError(self._no_fit(key, error)) from None
        parts = [*made.parts, *(self._texts[numbers[i]] for i in tail)]
        if piece is None:
            return Haystack(filler, key, variant, " ".join(parts), (0, 0), -1.0)
        if variant.place == self.params.places - 1:
            boundary, before = len(parts), made.offsets[-1] + left.tokens
        else:
            boundary = made.boundaries[variant.place]
            before = made.offsets[boundary]
        start = sum(map(len, parts[:boundary])) + boundary
        parts.insert(boundary, piece.text)
        depth = round(before / whole, 4)
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
