"""The given queries, and which passages are judged for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from retgen.dataset_files import corpus_files, file_format
from retgen.errors import RecipeError
from retgen.generators.capretrieval.params import CapRetrievalParams, Judge
from retgen.generators.capretrieval.passages import Passage
from retgen.generators.capretrieval.sourcing import bundled_queries
from retgen.sources import Refused
from retgen.sources.texts import KINDS
from retgen.streams import Stream

PAGE, CHARACTERS = 10, 12_000  # passages, and characters of them, that are judged in one call


class Given(NamedTuple):
    """A query that somebody asked. `type` (one of the paper's eight) and `language`: bundled."""

    id: str
    text: str
    type: str = ""
    language: str = ""


class Sheet(NamedTuple):
    """What is judged in one call. `query` and `passages` are numbers; `turn`: the pass, from 1."""

    query: int
    turn: int
    passages: tuple[int, ...]


def given_queries(params: CapRetrievalParams) -> tuple[list[Given], list[Refused]]:
    """The queries of a recipe in their order, and what is none with its reason."""
    source = params.judge.queries if params.judge is not None else None
    if source is None:
        return [Given(**row) for row in bundled_queries()], []
    _of_rows(source.path)
    queries, refused = list[Given](), list[Refused]()
    for one in source.rows():
        if isinstance(one, Refused):
            refused.append(one)
        else:
            queries.append(Given(one.id, one.text))
    return queries, refused


def _of_rows(path: Path | str) -> None:
    """Raise `RecipeError` for what would be read as documents instead of queries."""
    path = Path(path)  # one of the Hub is neither folder nor file
    if path.is_dir() and corpus_files(path):
        raise RecipeError(
            f"params.judge.queries: {path} is a data set, of which a source is the corpus: give "
            "its file of queries, as in {path: FOLDER/queries.jsonl}"
        )
    if path.is_file() and file_format(path) in KINDS:
        raise RecipeError(
            f"params.judge.queries: {path} is one text, not a row a query: give .csv (a line "
            "'text' first, then a query a line), .jsonl or .parquet"
        )


def candidates(
    queries: Sequence[Given], passages: Sequence[Passage], judge: Judge, seed: int
) -> list[list[int]]:
    """Numbers of the passages that are judged for each query, those ranked high first.

    The rankings of `judge.by` take turns. Where every passage is a candidate, those that no ranking
    has come behind, in drawn order. Of more than `judge.pairs` pairs the lowest-ranked are left
    out, so that every query has as many as any other, as far as there are so many.
    """
    from retgen.evaluation.search.mining import mine

    texts = [f"{one.title} {one.text}".strip() for one in passages]
    depth = len(passages) if judge.depth == "all" else min(judge.depth, len(passages))
    asked = [one.text for one in queries]
    rankings = [
        mine(texts, asked, [()] * len(asked), by=by, count=depth, depth=depth, margin=None)
        for by in judge.by
    ]
    result = []
    for query, ranked in enumerate(zip(*rankings, strict=True)):
        taken = chain.from_iterable(zip_longest(*ranked))
        pool = [i for i in dict.fromkeys(taken) if i is not None]
        if judge.depth == "all":
            drawn = Stream(seed, f"capretrieval/candidates/{query}").permutation(len(passages))
            pool = list(dict.fromkeys([*pool, *drawn.tolist()]))
        if language := queries[query].language:  # bundled labels are known within one
            pool = [i for i in pool if passages[i].language == language]
        result.append(pool)
    return _within(result, judge.pairs)


def _within(pools: list[list[int]], most: int) -> list[list[int]]:
    """The pools without their ends, so that there are `most` pairs in all."""
    level, left = 0, most
    longer = len(pools)
    for size in sorted({len(pool) for pool in pools}):  # all that are longer grow to this
        step = min(size - level, left // longer)
        level, left = level + step, left - step * longer
        if level < size:
            break
        longer -= sum(len(pool) == size for pool in pools)
    result = []
    for pool in pools:
        more = len(pool) > level and left > 0
        left -= more
        result.append(pool[: level + more])
    return result


def sheets(
    queries: Sequence[Given], passages: Sequence[Passage], pools: Sequence[Sequence[int]],
    turns: int, seed: int,
) -> list[Sheet]:  # fmt: skip
    """What is asked: the passages of a query by tens, in the second pass in another order."""
    result = []
    for query, pool in enumerate(pools):
        for turn in range(1, turns + 1):
            order = list(pool)
            if turn > 1:
                drawn = Stream(seed, f"capretrieval/second/{query}").permutation(len(order))
                order = [pool[i] for i in drawn.tolist()]
            result += [
                Sheet(query, turn, part) for part in pages(order, lambda i: passages[i].text)
            ]
    return result


def pages(order: Sequence[int], texts: Callable[[int], str]) -> list[tuple[int, ...]]:
    """Numbers of texts in their order, cut into what is judged in one call."""
    parts: list[tuple[int, ...]] = []
    held: list[int] = []
    size = 0
    for number in order:
        characters = len(texts(number))
        if held and (len(held) == PAGE or size + characters > CHARACTERS):
            parts.append(tuple(held))
            held, size = [], 0
        held.append(number)
        size += characters
    return [*parts, tuple(held)] if held else parts
