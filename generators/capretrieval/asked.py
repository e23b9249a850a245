"""Queries that users asked, as a sample: which lengths they have, and how many are questions.

They label nothing and are never queries of the data set. Of the queries that rules write those are
kept that give all queries together the forms of the sample; a model is shown some of them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from retgen.agents.report import Rejections
from retgen.dataset_files import file_format
from retgen.errors import DatasetError, RecipeError
from retgen.generators.capretrieval.language import fold_text
from retgen.generators.capretrieval.passages import Passage
from retgen.generators.capretrieval.queries import PassageQuery, chosen, dropped_query
from retgen.sources import (
    Columns,
    RefusedRow,
    SourceDocument,
    SourceNotes,
    read_sources,
    refusals,
)
from retgen.sources.formats import TABLE_KINDS, ColumnsNotFound, table
from retgen.sources.records import ReadOptions
from retgen.streams import Stream
from retgen.tokenizer import length

Form = tuple[int, bool]  # words; whether it is a question

_KEY = "params.queries.like"
_COLUMNS = ("query", "question", "text")  # of a table, the first that is there
_GIVE = "give one query a row, or one a line of .txt"
_SHOWN = 8  # to a model
_FORM = (
    "People who search this collection typed these queries. Write in their form, of about their "
    "lengths and as many questions; copy none:"
)
_NEAR = math.log(1.5)  # lengths that may stand for each other: 2 and 3 words, 4 and 6
_ASKING = frozenset(
    "how what why when where who whom whose which can could do does did is are should will would "
    "may".split()
)


def asked_queries(path: Path) -> tuple[str, ...]:
    """The queries of a file in their order, repeated ones too.

    Raises `RecipeError` for a file that is of another kind, cannot be read, or holds none.
    """
    kinds = (*TABLE_KINDS, ".txt")
    if (kind := file_format(path)) not in kinds:
        raise RecipeError(f"{_KEY}: {path} is none of {', '.join(kinds)}: {_GIVE}")
    try:
        rows = list(read_sources(path, Columns(), longest=None) if kind == ".txt" else _rows(path))
    except ColumnsNotFound as error:
        raise RecipeError(
            f"{_KEY}: {path} has no column query, question or text: call that of the queries so"
        ) from error
    except DatasetError as error:
        raise RecipeError(f"{_KEY}: {error}") from error
    refused = [row for row in rows if isinstance(row, RefusedRow)]
    read = (row.text for row in rows if not isinstance(row, RefusedRow))
    lines = (line for text in read for line in (text.splitlines() if kind == ".txt" else [text]))
    texts = tuple(text for line in lines if (text := " ".join(line.split())))
    if not texts:
        raise RecipeError(f"{_KEY}: {path} holds no query: {_GIVE}. {refusals(refused)}".rstrip())
    return texts


def _rows(path: Path) -> list[SourceDocument | RefusedRow]:
    """The rows of a table by the first column of `_COLUMNS` that is there."""
    for column in _COLUMNS:
        options = ReadOptions(Columns(column), "train", None, SourceNotes({}, {}))
        try:
            # not `read_sources`: an id or a text may stand there more than once
            return [record.it for record in table(path, path.name, options)]
        except ColumnsNotFound as error:
            missing = error
    raise missing


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


def shown_examples(path: Path, seed: int) -> str:
    """What a prompt says of the sample: some of its queries, drawn once for all passages."""
    texts = list(dict.fromkeys(asked_queries(path)))
    order = Stream(seed, "capretrieval/like").permutation(len(texts)).tolist()
    return f"\n\n{_FORM}\n" + "".join(f"\n- {texts[i]}" for i in sorted(order[:_SHOWN]))


def without_asked(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    asked: Iterable[str],
    rejected: Rejections,
) -> Sequence[PassageQuery]:
    """The queries less those that a user asked in the same words: what is asked may be private."""
    texts = list(asked)
    folded = {
        language: {fold_text(text, language) for text in texts}
        for language in {one.language for one in passages}
    }
    kept = []
    for i, one in enumerate(queries):
        passage = passages[one.passage]
        if fold_text(one.text, passage.language) in folded[passage.language]:
            rejected.append(
                dropped_query("query/asked", "users asked it: it is of the sample", one, passage)
            )
        else:
            kept.append(i)
    return chosen(queries, kept)


def like_asked(
    queries: Sequence[PassageQuery],
    passages: Sequence[Passage],
    asked: Iterable[str],
    share: float,
    rejected: Rejections,
) -> Sequence[PassageQuery]:
    """The queries less at least that share of the rules' queries, such that all have the forms of
    `asked` in its ratio; of each document one stays.

    Of one form the best of each document come first. A form that rules write too seldom is filled
    up with the nearest lengths; where there is none, fewer queries are kept.
    """
    forms = [form(one.text) for one in queries]
    sources = [passages[one.passage].source for one in queries]
    scores = [one.score for one in queries]
    rules = [i for i, one in enumerate(queries) if one.evidence == "rules"]
    rules.sort(key=lambda i: -scores[i])
    kept = {i for i, one in enumerate(queries) if one.evidence != "rules"}
    others = Counter(forms[i] for i in kept)
    drafts: dict[Form, list[tuple[int, int]]] = defaultdict(list)
    turns = Counter[tuple[str, Form]]()
    for place, i in enumerate(rules):
        drafts[forms[i]].append((turns[sources[i], forms[i]], place))
        turns[sources[i], forms[i]] += 1
    ratio, most = Counter(map(form, asked)), len(rules) - int(share * len(rules))
    taken = _taken(_wanted(ratio, others, most), {own: len(its) for own, its in drafts.items()})
    for own, count in taken.items():
        kept.update(rules[place] for _, place in sorted(drafts[own])[:count])
    far = {own: sum(n * _distance(own, other) for other, n in ratio.items()) for own in drafts}
    has = {sources[i] for i in kept}
    best = {sources[i]: i for i in sorted(rules, key=lambda i: -far[forms[i]])}  # the last one
    kept.update(i for source, i in best.items() if source not in has)
    reason = "enough others have its length"
    for i in sorted(set(rules) - kept):
        one = queries[i]
        rejected.append(dropped_query("query/like", reason, one, passages[one.passage]))
    return chosen(queries, sorted(kept))


def _distance(own: Form, other: Form) -> float:
    """How far two forms are from each other: the ratio of their lengths, and far more than that
    where one is a question.
    """
    return abs(math.log(max(1, own[0]) / max(1, other[0]))) + 5 * (own[1] != other[1])


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
    pairs = sorted((_distance(own, other), own, other) for own in wanted for other in held)
    missing, left, taken = Counter(wanted), Counter(held), Counter[Form]()
    for distance, own, other in pairs:
        if distance <= _NEAR + 1e-9:
            count = min(missing[own], left[other])
            missing[own] -= count
            left[other] -= count
            taken[other] += count
    return taken
