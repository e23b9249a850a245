"""What the haystacks become: corpus, queries, qrels by length, pairs, prompts, training data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retgen.generators.niah.fillers import Haystack, Variant
from retgen.generators.niah.haystacks import HaystackBuilder
from retgen.generators.niah.params import Needle, Order
from retgen.generators.records import BatchedRows, Row, Rows, rows_of
from retgen.generators.tables import Ids
from retgen.streams import Permutation

EXPANDED = (100, 150, 250)  # terms
PROMPT = "{haystack}\n\n%s Answer with the name alone."

# parts of the keys of a query's metadata, and the needles that these hold
_NEEDLES: tuple[tuple[str, Needle], ...] = (("needle", "one_hop"), ("literal", "literal"))
_ORDERS: tuple[tuple[str, Order], ...] = (("", "default"), ("_inverted", "inverted"))


class HaystackTables:
    """All tables of a run.

    A row of the corpus is a haystack at random; so is a row of the tables of needles, which hold a
    haystack with a needle each. Rows are made together, so that their texts are encoded together.
    `terms`: of the queries, by group.
    """

    def __init__(
        self, haystacks: HaystackBuilder, seed: int, terms: Mapping[str, Sequence[str]]
    ) -> None:
        self._all, self._seed = haystacks, seed
        groups, count = len(haystacks.groups), haystacks.count
        self._ids = Ids(seed, "niah/haystacks", "d", count)
        self._order = Permutation(seed, "niah/corpus", count)
        self._needle_order = Permutation(seed, "niah/needles", haystacks.needles)
        self._query_ids = Ids(seed, "niah/queries", "q", groups).texts(np.arange(groups))
        order = Permutation(seed, "niah/queries", groups)(np.arange(groups)).tolist()
        self._queries = [self._query(number, terms) for number in order]

    def _id(self, haystack: int) -> str:
        return self._ids.texts(np.array([haystack]))[0]

    def corpus(self) -> Rows:
        """Every haystack."""

        def rows(start: int, stop: int) -> Iterator[Row]:
            chosen = self._order(np.arange(start, stop))
            ids = self._ids.texts(chosen)
            yield from map(self._document, ids, self._all.at(chosen.tolist()))

        return BatchedRows(self._all.count, rows)

    def _document(self, doc_id: str, one: Haystack) -> Row:
        key, variant = one.key, one.variant
        group = self._all.groups[key.group]
        named = variant.needle in ("one_hop", "literal")
        return {
            "_id": doc_id,
            "title": "",
            "text": one.text,
            "metadata": {
                "group": group.id,
                "category": group.category,
                "length": key.length,
                "needle": variant.needle,
                "order": variant.order,
                "place": variant.place,
                "depth": one.depth,
                "span": list(one.span),
                "name": self._all.cast.of_group[key.group] if named else "",
                "filler": key.filler,
                "filtered": key.filtered,
                "distractors": key.distractors,
                "number": key.number,
            },
        }

    def queries(self) -> Rows:
        """The question of each group, with its needles and the terms that may expand it."""
        return rows_of(self._queries.__getitem__, len(self._queries))

    def query_columns(self) -> list[str]:
        """The keys of the queries' metadata."""
        return list(dict.fromkeys(key for row in self._queries for key in row["metadata"]))

    def _query(self, number: int, terms: Mapping[str, Sequence[str]]) -> Row:
        group = self._all.groups[number]
        metadata = {"group": group.id, "category": group.category}
        for name, kind in _NEEDLES:
            for suffix, order in _ORDERS:
                metadata[name + suffix] = self._all.needle(number, kind, order).text
        metadata["name"] = self._all.cast.of_group[number]
        for most in EXPANDED if group.id in terms else ():
            metadata[f"expansion_{most}"] = " ".join([group.question, *terms[group.id][:most]])
        return {"_id": self._query_ids[number], "text": group.question, "metadata": metadata}

    def qrels(self) -> dict[str, Rows]:
        """The haystacks with a needle of a query's group: all, and those of each length."""
        lengths = self._all.params.lengths
        each = self._all.needles // len(lengths)
        result = {"test": self._qrels("test", 0, self._all.needles)}
        for place, length in enumerate(lengths):
            result[f"test_{length}"] = self._qrels(f"test_{length}", place * each, each)
        return result

    def _qrels(self, split: str, first: int, count: int) -> Rows:
        order = Permutation(self._seed, f"niah/qrels/{split}", count)

        def row(i: int) -> Row:
            number = self._haystack(first + int(order(np.array([i]))[0]))
            query = self._query_ids[self._key(number).group]
            return {"query-id": query, "corpus-id": self._id(number), "score": 1}

        return rows_of(row, count)

    # --- haystacks with a needle ------------------------------------------------------------

    def _haystack(self, needle: int) -> int:
        """The number of a haystack, by its number among those with a needle."""
        filler, variant = divmod(needle, self._all.with_needle)
        return filler * len(self._all.variants) + variant

    def _key(self, haystack: int) -> Any:
        return self._all.key(haystack // len(self._all.variants))

    def _control(self, haystack: int) -> int:
        """The number of the control of a haystack: without a needle, else with a neutral one."""
        variants = self._all.variants
        filler, variant = divmod(haystack, len(variants))
        there = self._all.with_needle
        if variants[there].needle == "neutral":
            there += variants[variant].place
        return filler * len(variants) + there

    def _needle_rows(self, make: Callable[[list[int]], Iterator[Row]]) -> Rows:
        """A table with a row for each haystack with a needle, at random, made from its number."""

        def rows(start: int, stop: int) -> Iterator[Row]:
            return make(
                [self._haystack(one) for one in self._needle_order(np.arange(start, stop)).tolist()]
            )

        return BatchedRows(self._all.needles, rows)

    def tables(self) -> dict[str, Rows]:
        """Pairs of haystack and control, and prompts for chat models, by ids."""
        return {
            "pairs": self._needle_rows(self._pairs),
            "chat": BatchedRows(self._all.needles, self._prompts),
        }

    def _pairs(self, numbers: list[int]) -> Iterator[Row]:
        for number, one in zip(numbers, self._all.places(numbers), strict=True):
            group, variant = self._all.groups[one.key.group], one.variant
            yield {
                "group": group.id,
                "question": group.question,
                "needle": one.text[slice(*one.span)],
                "haystack": self._id(number),
                "control": self._id(self._control(number)),
                "length": one.key.length,
                "order": variant.order,
                "place": variant.place,
                "depth": one.depth,
            }

    def _prompts(self, start: int, stop: int) -> Iterator[Row]:
        numbers = np.arange(start, stop)
        ids = Ids(self._seed, "niah/prompts", "c", self._all.needles).texts(numbers)
        for prompt_id, drawn in zip(ids, self._needle_order(numbers).tolist(), strict=True):
            number = self._haystack(drawn)
            group = self._key(number).group
            content = PROMPT % self._all.groups[group].question
            yield {
                "id": prompt_id,
                "haystack": self._id(number),
                "messages": [{"role": "user", "content": content}],
                "expected": self._all.cast.of_group[group],
            }

    def training(self) -> dict[str, Rows]:
        """Each haystack with a needle, the same with a near-answer, and its control."""
        if not self._all.params.training:
            return {}
        return {"needles": self._needle_rows(self._triplets)}

    def _triplets(self, numbers: list[int]) -> Iterator[Row]:
        def texts() -> Iterator[tuple[int, Variant]]:
            for number in numbers:
                filler, variant = self._all.filler_and_variant(number)
                yield filler, variant
                yield filler, Variant("near", variant.order, variant.place)
                yield self._all.filler_and_variant(self._control(number))

        made = self._all.exact(texts())
        for number, positive, near, control in zip(numbers, made, made, made, strict=True):
            group = positive.key.group
            yield {
                "anchor": self._all.groups[group].question,
                "positive": positive.text,
                "negative_1": near.text,
                "negative_2": control.text,
                "query-id": self._query_ids[group],
                "positive-id": self._id(number),
            }
