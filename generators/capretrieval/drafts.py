"""All documents counted, then drafted: document by document, in as many processes as pay.

`survey` counts what documents have in common. `draft` finds the queries that people wrote, makes
those that rules make, and cuts the passages into words and stems, as numbers, for all comparing.
Both are functions of their documents, and of the counts, alone: the same in any process.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from retgen.generators.capretrieval.agents import WRITE_QUERIES
from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.found import (
    Incoming,
    folded,
    forms_of,
    found_queries,
    words_shown,
)
from retgen.generators.capretrieval.language import CHINESE, stems_of, words_of
from retgen.generators.capretrieval.offline import rule_queries
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import (
    Codes,
    Corpus,
    Passage,
    PassageQuery,
    shown_text,
    term_codes,
)
from retgen.on_disk import DiskList, MappedList, disk_arrays, mapped_arrays
from retgen.sources import Block, SourceDocument
from retgen.tokenizer import FULL_STOPS, sequence
from retgen.validators.capretrieval.wording import Wording

if TYPE_CHECKING:
    from retgen.agents.context import Context

_FEW = 8  # words of a paragraph that may be no sentence, as of a synopsis
_ENDS = tuple(f".!?:;)\"'”’。！？{FULL_STOPS}")
_TARGETS = 2  # documents that the words of a link may point to
_EVEN = 0.12  # worth of a query that is as likely good as not, a score of 0.5
_BY_THE_WAY = 0.05  # worth of content words of a sentence, which nobody types, beside a phrase
_LINKS = 100  # to a document, that are read


# a document, its passages, and the links that point to it
DraftTask = tuple[SourceDocument, Sequence[Passage], Sequence[Incoming]]
# its queries, by the number of the passage in it; the words and the stems of each passage
Drafts = tuple[list[PassageQuery], list[Codes], list[Codes]]


def survey(documents: Sequence[SourceDocument]) -> CorpusCounts:
    """The counts of some documents."""
    words, occurrences, forms = Counter[str](), Counter[str](), Counter[str]()
    for one in documents:
        held = words_of(f"{one.title} {one.text}")
        occurrences.update(held)
        words.update(set(held))
        forms.update(forms_of(one))
    return CorpusCounts(len(documents), words, occurrences, forms)


def draft(task: DraftTask, counts: CorpusCounts, most: tuple[int, int]) -> Drafts:
    """The queries of a document. `most`: keywords and summaries that a passage gets by rules, none
    where a model writes.
    """
    document, passages, incoming = task
    language = passages[0].language
    prose = [
        one
        for one in document.blocks or (Block("paragraph", 0, len(document.text)),)
        if one.kind == "item"
        or (one.kind == "paragraph" and _is_told(document.text[one.start : one.stop]))
    ]
    queries = found_queries(document, language, counts, incoming)
    # Chinese words count by their characters, which more documents have
    even = 2 / 3 * _EVEN if language == CHINESE else _EVEN
    for number, (_, _, begin, end, _, text, _) in enumerate(passages):
        held = [
            (max(one.start, begin) - begin, min(one.stop, end) - begin)
            for one in prose
            if one.start < end and begin < one.stop
        ]
        for query in rule_queries(text, language, most, counts, held):
            worth = query.score * (_BY_THE_WAY if query.kind == "summary" else 1)
            query.score = round(worth / (worth + even), 4)
            query.passage, query.span = number, (begin + query.span[0], begin + query.span[1])
            queries.append(query)
    texts = [shown_text(one) for one in passages]
    words = [term_codes(words_of(text)) for text in texts]
    stems = [np.unique(term_codes(stems_of(text, language) + sequence(text))) for text in texts]
    return queries, words, stems


def _is_told(paragraph: str) -> bool:
    """Whether a paragraph is long enough to be prose, or ends as a sentence does."""
    return len(paragraph.split()) >= _FEW or paragraph.rstrip().endswith(_ENDS)


# --- links ----------------------------------------------------------------------------------------


def incoming_links(documents: Sequence[SourceDocument]) -> Sequence[tuple[Incoming, ...]]:
    """The links to each document from others whose words point to few documents; of equal words to
    one place the first.
    """
    owners: dict[str, int] = {}
    for number, one in enumerate(documents):
        for name in places_of(one.place):
            owners.setdefault(name, number)
    links: dict[int, dict[tuple[str, str], Incoming]] = defaultdict(dict)
    targets: dict[str, set[int]] = defaultdict(set)
    for number, one in enumerate(documents):
        for words, place in one.links:
            name, _, anchor = place.partition("#")
            target, text = owners.get(name, number), words_shown(words)
            own = links[target]
            if target != number and text and len(own) < _LINKS:
                own.setdefault((folded(text), anchor), Incoming(text, anchor, one.id))
                targets[folded(text)].add(target)

    def incoming(number: int) -> tuple[Incoming, ...]:
        every = links.get(number, {}).items()
        return tuple(one for (words, _), one in every if len(targets[words]) <= _TARGETS)

    return MappedList(incoming, range(len(documents)))


def places_of(place: str) -> list[str]:
    """How links name a document: its place, also without suffix, and the folder of an index."""
    if not place:
        return []
    path = PurePosixPath(place)
    bare = str(path.with_suffix(""))
    result = [place, bare, f"{bare}/"]
    if path.stem in ("index", "README"):
        folder = str(path.parent)
        result += ["", "."] if folder == "." else [folder, f"{folder}/"]
    return result


BATCH = 300_000  # characters of documents that a process works on at a time
_EACH = 500  # what a document takes besides its text, in characters


async def draft_in_processes(
    documents: Sequence[SourceDocument],
    passages: Sequence[Passage],
    document_of: Sequence[int],
    splits: Sequence[str],
    wording: Wording,
    params: CapRetrievalParams,
    context: Context,
) -> tuple[DiskList[PassageQuery], Corpus]:
    """Count, find and write by rules, in several processes where that is worth their start."""
    batches = list(_batches(len(one.text) for one in documents))
    counts = CorpusCounts()
    by_batch = ((str(one.start), documents[one]) for one in batches)
    surveyed = context.engine.map(_survey, None, by_batch)
    async for part in _steps(surveyed, "documents counted", batches, context):
        counts.merge(part)
    counts = counts.without_rare_words()
    wanted = params.queries
    both = (wanted.keywords, wanted.summaries) if context.offline(WRITE_QUERIES) else (0, 0)
    first = np.searchsorted(document_of, np.arange(len(documents) + 1)).tolist()
    incoming = incoming_links(documents)

    def task(part: slice) -> list[DraftTask]:
        return [
            (one, passages[first[i] : first[i + 1]], incoming[i])
            for i, one in enumerate(documents[part], part.start)
        ]

    queries, words, stems = DiskList[PassageQuery](), disk_arrays(), disk_arrays()
    tasks = ((str(one.start), task(one)) for one in batches)
    drafted = context.engine.map(_draft, (counts, both), tasks)
    async for drafts in _steps(drafted, "documents", batches, context):
        for made, own_words, own_stems in drafts:
            for query in made:
                query.passage += len(words)
                queries.append(query)
            words.extend(own_words)
            stems.extend(own_stems)
    held = words, mapped_arrays(stems), wording, counts
    return queries, Corpus(passages, document_of, splits, *held)


def _survey(_: None, documents: Sequence[SourceDocument]) -> bytes:
    return pickle.dumps(survey(documents), protocol=5)


def _draft(settings: tuple[CorpusCounts, tuple[int, int]], tasks: Sequence[DraftTask]) -> bytes:
    return pickle.dumps([draft(one, *settings) for one in tasks], protocol=5)


async def _steps(
    made: Generator[tuple[str, bytes]], name: str, batches: Sequence[slice], context: Context
) -> AsyncIterator[Any]:
    """What is made, while others may stop this work and progress is shown."""
    with closing(made):
        for (_, part), batch in zip(made, batches, strict=True):
            yield pickle.loads(part)
            context.progress(name, batch.stop, batches[-1].stop)
            await asyncio.sleep(0)


def _batches(lengths: Iterable[int]) -> Iterator[slice]:
    """Documents side by side, each batch of about as many characters."""
    begin, held, number = 0, 0, 0
    for number, length in enumerate(lengths, 1):
        held += length + _EACH
        if held >= BATCH:
            yield slice(begin, number)
            begin, held = number, 0
    if begin < number:
        yield slice(begin, number)
