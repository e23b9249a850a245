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

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from pydantic import Field

from retgen.facts.captions import CAPTIONS_FILE, load_captions
from retgen.generators.album.queries import (
    GRANULARITY,
    UNANSWERED,
    AlbumQuery,
    QuerySampler,
    expression,
)
from retgen.generators.album.scenes import Scenes
from retgen.generators.album.training import FILES, training_pairs
from retgen.generators.family import Family, Plan
from retgen.generators.params import Job, Params
from retgen.generators.records import OWN_LICENCE, Records, Row, Rows, rows_of
from retgen.generators.tables import Ids
from retgen.validators import album as proof
from retgen.validators.rule import CorpusRule, Judgements

__all__ = ["Album"]


class AlbumParams(Params):
    """How much of an album is written, and in which language; the scenes are the same in both."""

    language: Literal["en", "zh"] = "en"
    captions: int = Field(3024, ge=100)
    queries: int = Field(404, ge=8)
    training: int = Field(
        0, ge=0, description="captions more, to train on: keywords and summaries ask for them"
    )


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
        return Plan(
            documents=tables["corpus"].count,
            queries=tables["queries"].count,
            qrels=tables["qrels"].count,
            bytes=sum(len(rows.jsonl(0, rows.count)) for rows in tables.values()),
        )

    def generate(self, job: Job[AlbumParams]) -> Records:
        params = job.params
        tables = _tables(params, job.seed)
        training = _training(params, job.seed) if params.training else {}
        queries = _queries(params, job.seed)
        pairs = Counter((score, grade) for one in queries for _, score, grade in one.judged)
        answered = sum(any(score for _, score, _ in one.judged) for one in queries)
        return Records(
            corpus=tables["corpus"],
            queries=tables["queries"],
            qrels={"test": tables["qrels"]},
            graded={"test": tables["graded"]},
            training=training,
            features={
                "corpus": {"facts": ["string"]},
                "queries": dict.fromkeys(("type", "granularity", "level", "expression"), "string"),
            },
            complete=True,
            word_lists={"album": load_captions().digest()},
            card=[*_CARD, *([_TRAINING] if training else [])],
            languages=["zho-Hans" if params.language == "zh" else "eng-Latn"],
            licences={"captions and queries": OWN_LICENCE},
            facts={
                "pairs graded": f"{params.captions * params.queries:,}",
                "graded 2": f"{pairs[2, 2]:,}",
                "graded 1": f"{pairs[1, 2]:,}",
                "likely": f"{pairs[0, 1]:,}",
                "queries without an answer": f"{len(queries) - answered:,}",
            },
        )

    def checks(self, job: Job[AlbumParams], judgements: Judgements) -> Sequence[CorpusRule]:
        params = job.params
        spec = proof.AlbumSpec(
            CAPTIONS_FILE,
            params.language,
            params.captions,
            params.queries,
            round(params.queries * UNANSWERED),
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
def _scenes(params: AlbumParams, seed: int) -> Scenes:
    return Scenes(seed, 0, params.captions, params.language)


@lru_cache(maxsize=2)
def _queries(params: AlbumParams, seed: int) -> list[AlbumQuery]:
    return QuerySampler(_scenes(params, seed), seed).draw(params.queries)


@lru_cache(maxsize=2)
def _training(params: AlbumParams, seed: int) -> Mapping[str, Rows]:
    """Pairs of captions that follow those of the corpus."""
    scenes = Scenes(seed, params.captions, params.training, params.language)
    kept_out = {expression(query.asked) for query in _queries(params, seed)}
    return {name: _rows(training_pairs(name, scenes, seed, kept_out)) for name in FILES}


def _tables(params: AlbumParams, seed: int) -> dict[str, Rows]:
    scenes, queries = _scenes(params, seed), _queries(params, seed)
    doc_ids, query_ids = (
        Ids(seed, "album/ids", letter, count).texts(np.arange(count))
        for letter, count in (("d", params.captions), ("q", len(queries)))
    )
    corpus: list[Row] = [
        {
            "_id": doc_id,
            "title": "",
            "text": text,
            "metadata": {"facts": [f"{slot}={value}" for slot, value in facts.items()]},
        }
        for doc_id, text, facts in zip(doc_ids, scenes.captions, scenes.facts, strict=True)
    ]
    asked: list[Row] = [
        {
            "_id": query_id,
            "text": query.text,
            "metadata": {
                "type": query.type,
                "granularity": GRANULARITY[query.type],
                "level": query.level,
                "expression": expression(query.asked),
            },
        }
        for query_id, query in zip(query_ids, queries, strict=True)
    ]
    qrels, graded = (
        [
            {"query-id": query_id, "corpus-id": doc_ids[both[0]], "score": both[column]}
            for query_id, query in zip(query_ids, queries, strict=True)
            for both in query.judged
        ]
        for column in (1, 2)
    )
    named: dict[str, Sequence[Row]] = {
        "corpus": corpus,
        "queries": asked,
        "qrels": qrels,
        "graded": graded,
    }
    return {name: _rows(rows) for name, rows in named.items()}


def _rows(rows: Sequence[Row]) -> Rows:
    return rows_of(rows.__getitem__, len(rows))
