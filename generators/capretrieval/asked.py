"""Queries that users asked, as a sample: which lengths they have, and how many are questions.

They label nothing and are never queries of the data set. Of the queries that rules write those are
kept that give all queries together the forms of the sample; a model is shown some of them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median

from retgen.agents.agent import Rejection
from retgen.dataset_files import file_format
from retgen.errors import DatasetError, RecipeError
from retgen.generators.capretrieval.language import fold_text
from retgen.generators.capretrieval.passages import Passage
from retgen.generators.capretrieval.queries import PassageQuery, dropped_query
from retgen.sources import Columns, RefusedRow, SourceNotes, read_sources
from retgen.sources.formats import TABLE_KINDS, ColumnsNotFound, table
from retgen.sources.records import ReadOptions
from retgen.streams import Stream
from retgen.tokenizer import length

Form = tuple[int, bool]  # words; whether it is a question

_KEY = "params.queries.like"
_COLUMNS = ("query", "question", "text", None)  # of a table, the first that is there; None: guessed
_SHOWN = 8  # to a model
_NEAR = math.log(1.5)  # lengths that may stand for each other: 2 and 3 words, 4 and 6
_ASKING = frozenset(
    "how what why when where who whom whose which can could do does did is are should will would "
    "may".split()
)


@lru_cache(maxsize=2)
def asked_queries(path: Path) -> tuple[str, ...]:
    """The queries of a file in their order, repeated ones too.

    Raises `RecipeError` for a file that is of another kind, cannot be read, or holds none.
    """
    kinds = (*TABLE_KINDS, ".txt")
    if file_format(path) not in kinds:
        raise RecipeError(
            f"{_KEY}: {path} is none of {', '.join(kinds)}: give a row, or a line of .txt, a query"
        )
    try:
        every = _rows(path) if file_format(path) in TABLE_KINDS else _lines(path)
        texts = tuple(text for one in every if (text := " ".join(one.split())))
    except ColumnsNotFound as error:
        raise RecipeError(
            f"{_KEY}: {path} has no column of texts: call it query, question or text"
        ) from error
    except DatasetError as error:
        raise RecipeError(f"{_KEY}: {error}") from error
    if not texts:
        raise RecipeError(f"{_KEY}: {path} holds no query: give a row, or a line of .txt, a query")
    return texts


def _rows(path: Path) -> Iterator[str]:
    for column in _COLUMNS:
        options = ReadOptions(Columns(column), "train", None, SourceNotes({}, {}))
        try:
            # not `read_sources`: an id or a text may stand there more than once
            records = [record.it for record in table(path, path.name, options)]
        except ColumnsNotFound:
            if column is None:
                raise
            continue
        return (one.text for one in records if not isinstance(one, RefusedRow))
    raise AssertionError


def _lines(path: Path) -> Iterator[str]:
    for one in read_sources(path, Columns(), longest=None):
        if isinstance(one, RefusedRow):
            raise DatasetError(f"{path}: {one.reason}")
        yield from one.text.splitlines()


def form(text: str) -> Form:
    """The length of a query in words, and whether it is a question."""
    first = text.split(None, 1)[0].casefold()
    return length(text), text.endswith(("?", "\uff1f", "\u061f")) or first in _ASKING


def like_note(path: Path) -> str:
    """What the sample looks like, for plan and run."""
    return f"queries follow {path.name}: {describe_forms(asked_queries(path))}"


def describe_forms(texts: Iterable[str]) -> str:
    """The forms of some queries, in words."""
    forms = list(map(form, texts))
    questions = sum(question for _, question in forms) / max(1, len(forms))
    middle = median(words for words, _ in forms) if forms else 0
    return f"{len(forms):,} queries, median {middle:g} words, {questions:.0%} questions"


def examples(path: Path, seed: int) -> tuple[str, ...]:
    """Asked queries that a model is shown, drawn once for all passages."""
    texts = list(dict.fromkeys(asked_queries(path)))
    order = Stream(seed, "capretrieval/like").permutation(len(texts)).tolist()
    return tuple(texts[i] for i in sorted(order[:_SHOWN]))


def without_asked(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    asked: Iterable[str],
    rejected: list[Rejection],
) -> list[PassageQuery]:
    """The queries less those that a user asked in the same words: what is asked may be private."""
    texts = list(asked)
    folded = {
        language: {fold_text(text, language) for text in texts}
        for language in {one.language for one in passages}
    }
    kept = []
    for one in queries:
        passage = passages[one.passage]
        if fold_text(one.text, passage.language) in folded[passage.language]:
            rejected.append(dropped_query("query/asked", "the sample has it", one, passage))
        else:
            kept.append(one)
    return kept


def like_asked(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    asked: Iterable[str],
    share: float,
    rejected: list[Rejection],
) -> list[PassageQuery]:
    """The queries less at least that share of the rules' queries, such that all have the forms of
    `asked` in its ratio; of one form the best of each document first.

    A form that rules write too seldom is filled up with the nearest lengths, and where there is
    none, fewer queries are kept.
    """
    drafts: dict[Form, list[int]] = defaultdict(list)
    others = Counter[Form]()
    turn = Counter[tuple[str, Form]]()
    rank: dict[int, tuple[int, float]] = {}
    rules = [i for i, one in enumerate(queries) if one.evidence == "rules"]
    others.update(form(one.text) for one in queries if one.evidence != "rules")
    for i in sorted(rules, key=lambda i: -queries[i].score):
        one = queries[i]
        own = form(one.text)
        rank[i] = turn[passages[one.passage].source, own], -one.score
        turn[passages[one.passage].source, own] += 1
        drafts[own].append(i)
    most = len(rules) - int(share * len(rules))
    wanted = _wanted(Counter(map(form, asked)), others, most)
    taken = _taken(wanted, {own: len(numbers) for own, numbers in drafts.items()})
    kept = {
        i for own, count in taken.items() for i in sorted(drafts[own], key=rank.__getitem__)[:count]
    }
    result = []
    for i, one in enumerate(queries):
        if one.evidence != "rules" or i in kept:
            result.append(one)
        else:
            reason = f"users ask less often in {form(one.text)[0]} words, or better ones do"
            rejected.append(dropped_query("query/like", reason, one, passages[one.passage]))
    return result


def _wanted(asked: Counter[Form], others: Counter[Form], most: int) -> dict[Form, int]:
    """How many of rules' queries of each form, `most` in all, bring all queries to its share."""
    every = most + others.total()
    lacking = {
        own: max(0.0, every * count / asked.total() - others[own]) for own, count in asked.items()
    }
    scale = most / (sum(lacking.values()) or 1.0)
    return {own: round(scale * count) for own, count in lacking.items()}


def _taken(wanted: Mapping[Form, int], held: Mapping[Form, int]) -> Counter[Form]:
    """How many of each form are taken for what is wanted, nearest forms first."""
    pairs = sorted(
        (abs(math.log(own[0] / other[0])), own, other)
        for own in wanted for other in held
        if own[1] == other[1] and own[0] and other[0]
    )  # fmt: skip
    missing, left, taken = Counter(wanted), Counter(held), Counter[Form]()
    for distance, own, other in pairs:
        if distance <= _NEAR + 1e-9:
            count = min(missing[own], left[other])
            missing[own] -= count
            left[other] -= count
            taken[other] += count
    return taken
