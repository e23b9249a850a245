"""The album: captions of scenes that were drawn as facts, and queries graded on every one of them.

    scene     subject=dog number=1 colour=white place=beach action=sleeping passing=bicycle
    English   "A white dog is sleeping on a beach, with a red bike in the background."
    Chinese   "照片里，一只白色的狗正在海滩上睡觉，背景中有一辆红色的自行车。"
    queries   dog 2; white dog sleeping 2; animal 1; bicycle 1; red dog 0

Paper: CapRetrieval (Dense Retrievers Can Fail on Simple Queries), section 2 and Appendix B: short
queries of eight types over captions, every pair graded 0, 1 or 2.
Where we deviate: captions are composed and not of photographs; grade 1 is what holds by hypernym or
in passing, so "seafood" has oysters at 1 in the qrels, where the paper's annotators give 2 to all
that is certain. Grades beside them (`qrels_graded`) are the paper's: 2 certain, 1 likely (a garden
has flowers), by a table and not by judgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from retgen.errors import RecipeError
from retgen.facts.captions import CAPTIONS_FILE, Speaker, load_captions
from retgen.facts.facts import Selection, World
from retgen.facts.table import EntityTable
from retgen.generators.album.params import AlbumParams
from retgen.generators.album.queries import (
    GRANULARITY,
    AlbumQuery,
    QuerySampler,
    Scenes,
    expression,
)
from retgen.generators.album.training import training_tables
from retgen.generators.family import Family, Plan
from retgen.generators.params import Job
from retgen.generators.records import OWN_LICENCE, Records, Rows, rows_of
from retgen.generators.tables import Ids
from retgen.streams import Stream
from retgen.validators import album as proof
from retgen.validators.rule import CorpusRule, Judgements

__all__ = ["Album"]

_DRAWS = 16  # choices of a caption's words
_BELOW = 2**16
_MOST = 1_000_000  # scenes that are drawn, equal ones among them


class _Tables(NamedTuple):
    scenes: Scenes
    captions: list[str]
    queries: list[AlbumQuery]
    doc_ids: list[str]
    query_ids: list[str]


class Album(Family[AlbumParams]):
    name = "album"
    summary = "captions of typed scenes in English or Chinese, every query graded on every caption"
    paper = (
        "Dense Retrievers Can Fail on Simple Queries: Revealing The Granularity Dilemma of "
        "Embeddings (arXiv 2506.08592)"
    )
    params = AlbumParams
    covers = proof.COVERS
    proofs = proof.RULES
    why_no_limit = (
        "queries are drawn from the captions; set their numbers instead, for example "
        "--set params.captions=500 --set params.queries=100"
    )
    proof = "captions and queries are read back into facts, and every pair is graded anew"

    def plan(self, job: Job[AlbumParams]) -> Plan:
        tables = _tables(job.params, job.seed)
        judged = _qrels(tables, 1)
        written = (_corpus(tables), _queries(tables), judged, _qrels(tables, 2))
        sample = 400  # rows say how long the others are
        size = 0
        for rows in written:
            shown = min(sample, rows.count)
            size += len(rows.jsonl(0, shown)) * rows.count // max(1, shown)
        return Plan(
            documents=len(tables.captions),
            queries=len(tables.queries),
            qrels=judged.count,
            bytes=size,
        )

    def generate(self, job: Job[AlbumParams]) -> Records:
        tables = _tables(job.params, job.seed)
        training = _training(job.params, job.seed) if job.params.training else {}
        strong = sum(g == 2 for query in tables.queries for g in query.grades.values())
        weak = sum(len(query.grades) for query in tables.queries) - strong
        return Records(
            corpus=_corpus(tables),
            queries=_queries(tables),
            qrels={"test": _qrels(tables, 1)},
            graded={"test": _qrels(tables, 2)},
            training=training,
            features={
                "corpus": {"facts": ["string"]},
                "queries": {
                    "type": "string",
                    "granularity": "string",
                    "level": "string",
                    "expression": "string",
                },
            },
            complete=True,
            word_lists={"album": load_captions().digest()},
            card=[*_CARD, *([_TRAINING] if training else [])],
            languages=["zho-Hans" if job.params.language == "zh" else "eng-Latn"],
            licences={"captions and queries": OWN_LICENCE},
            facts={
                "pairs graded": f"{len(tables.captions) * len(tables.queries):,}",
                "graded 2": f"{strong:,}",
                "graded 1": f"{weak:,}",
                "likely": f"{sum(len(query.likely) for query in tables.queries):,}",
                "queries without an answer": f"{sum(not q.grades for q in tables.queries):,}",
            },
        )

    def checks(self, job: Job[AlbumParams], judgements: Judgements) -> Sequence[CorpusRule]:
        params = job.params
        spec = proof.AlbumSpec(
            CAPTIONS_FILE,
            params.language,
            params.captions,
            params.queries,
            round(params.queries * params.unanswerable),
            bool(params.training),
        )
        return proof.proof_rules(spec, judgements)


_CARD = [
    "Captions are composed from scenes that were drawn as facts (`facts` in the metadata): who or "
    "what, how many, of which colour, doing what to whom, where, when, and what is seen in "
    "passing. Queries are short phrases of the eight types of CapRetrieval (arXiv 2506.08592); "
    "`expression` says what each asks for, `granularity` whether it asks for one thing (fine), two "
    "facts (middle) or a whole scene (coarse), `level` whether by name or by a hypernym.",
    "Every query is graded on every caption: 2 where the caption has what is asked for, in those "
    "terms and as a salient part of the scene, 1 where it has it by a hypernym or in passing, 0 "
    "elsewhere. So the qrels hold what is certain, and nDCG counts both grades.",
    "`qrels_graded` has the scale of the paper: 2 where the caption says or entails what is asked "
    "for, 1 where it does not but a viewer would expect it (flowers in a garden), 0 else. Pairs "
    "that are likely only have a row of 0 in the qrels: do not train on them as negatives.",
    "Some queries have no relevant caption, nor a likely one. They have rows of 0 for captions "
    "that meet all but one part, and no measure of a ranking counts them, as in the paper.",
]

_TRAINING = (
    "`training/kw.parquet` and `training/sm.parquet` hold pairs of captions that are not in the "
    "corpus: keywords, which name anything that a caption holds, and summaries of its whole scene. "
    "The negative of each shares a fact with the positive and has the grade 0. No query of the "
    "test set is among them; names of things are the same ones."
)


@lru_cache(maxsize=2)
def _tables(params: AlbumParams, seed: int) -> _Tables:
    scenes, captions = _captions(params, 0, params.captions, seed)
    speaker = Speaker(load_captions(), params.language)
    queries = QuerySampler(scenes, seed, speaker.query).draw(params.queries, params.unanswerable)
    doc_ids = Ids(seed, "album/ids", "d", params.captions).texts(np.arange(params.captions))
    query_ids = Ids(seed, "album/ids", "q", len(queries)).texts(np.arange(len(queries)))
    return _Tables(scenes, captions, queries, doc_ids, query_ids)


@lru_cache(maxsize=2)
def _training(params: AlbumParams, seed: int) -> Mapping[str, Rows]:
    """Pairs of captions that follow those of the corpus."""
    scenes, captions = _captions(params, params.captions, params.training, seed)
    kept_out = frozenset(expression(query.asked) for query in _tables(params, seed).queries)
    say = Speaker(load_captions(), params.language).query
    return training_tables(scenes, captions, seed, say, kept_out)


def _captions(params: AlbumParams, first: int, count: int, seed: int) -> tuple[Scenes, list[str]]:
    """Scenes first..first+count-1 of a seed, all different, and their captions."""
    known = load_captions()
    kept = _distinct(seed, first + count)[first:]
    scenes = Scenes(known, EntityTable(Selection(known.domain, seed, _MOST, kept)))
    speaker = Speaker(known, params.language)
    words = Stream(seed, f"album/words/{params.language}")
    bounds = np.full(_DRAWS, _BELOW, np.uint64)
    draws = words.draws(first, first + count, bounds).tolist()

    def caption(facts: Mapping[str, str], row: list[int]) -> str:
        left = iter(row)
        return speaker.caption(facts, lambda bound: next(left) * bound // _BELOW)

    return scenes, [caption(*both) for both in zip(scenes.facts, draws, strict=True)]


def _distinct(seed: int, count: int) -> list[int]:
    """The numbers of the first scenes that differ from all before."""
    world = World(load_captions().domain, seed, _MOST)
    seen: dict[bytes, int] = {}
    start = 0
    while len(seen) < count:
        if start >= _MOST:
            raise RecipeError(
                f"params.captions: {count:,} captions are more than the {len(seen):,} different "
                f"ones among {_MOST:,} scenes; ask for fewer"
            )
        stop = min(start + max(1000, 2 * (count - len(seen))), _MOST)
        rows = np.stack([*world.columns(start, stop).values()], axis=1)
        for i, row in enumerate(rows, start):
            seen.setdefault(row.tobytes(), i)
        start = stop
    return [*seen.values()][:count]


def _corpus(tables: _Tables) -> Rows:
    def row(i: int) -> Mapping[str, Any]:
        return {
            "_id": tables.doc_ids[i],
            "title": "",
            "text": tables.captions[i],
            "metadata": {"facts": [f"{k}={v}" for k, v in tables.scenes.facts[i].items()]},
        }

    return rows_of(row, len(tables.captions))


def _queries(tables: _Tables) -> Rows:
    def row(i: int) -> Mapping[str, Any]:
        query = tables.queries[i]
        return {
            "_id": tables.query_ids[i],
            "text": query.text,
            "metadata": {
                "type": query.type,
                "granularity": GRANULARITY[query.type],
                "level": query.level,
                "expression": expression(query.asked),
            },
        }

    return rows_of(row, len(tables.queries))


def _qrels(tables: _Tables, column: int) -> Rows:
    """Judged pairs with the score of the qrels (`column` 1) or their grade beside them (2)."""
    judged = [
        (query, document, score, certain)
        for query, drawn in enumerate(tables.queries)
        for document, score, certain in (
            *((i, grade, 2) for i, grade in drawn.grades.items()),
            *((i, 0, 1) for i in drawn.likely),
            *((i, 0, 0) for i in drawn.near),
        )
    ]

    def row(i: int) -> Mapping[str, Any]:
        query, document, *scores = judged[i]
        return {
            "query-id": tables.query_ids[query],
            "corpus-id": tables.doc_ids[document],
            "score": scores[column - 1],
        }

    return rows_of(row, len(judged))
