"""Worlds whose documents a model has written: what such a job is, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from retgen.errors import RecipeError
from retgen.generators.ids import Ids
from retgen.generators.params import Job
from retgen.generators.records import Rows, rows_of
from retgen.generators.world.agents import AGENTS, CALIBRATE, READ_FACTS, WRITE_DOCUMENT
from retgen.generators.world.calibration import CALIBRATION, in_words
from retgen.generators.world.params import WorldParams
from retgen.generators.world.questions import Questions, cells
from retgen.generators.world.writing import Documents, read_documents

LABEL_SOURCE = (
    "that a document states all of its facts and no others rests on a model (read_facts) that read "
    "it without knowing them; sources/documents.jsonl has what it read"
)
STRUCTURE = (
    "that the reader's facts are those of the metadata, that their values stand in the text, and "
    "that the qrels are what each query, read back from its words, asks of these facts"
)
LICENCE = "as the terms of the model that wrote them say"


def written(job: Job[WorldParams]) -> bool:
    """Whether a model writes the documents. Raises `RecipeError` where no model reads them."""
    if WRITE_DOCUMENT.name not in job.live:
        return False
    unread = sorted({READ_FACTS.name, CALIBRATE.name} - job.live)
    if unread:
        raise RecipeError(
            f"models: a model writes the documents, so one has to read them: name one for "
            f"{' and '.join(unread)} (models.judge), or leave {WRITE_DOCUMENT.name} offline"
        )
    return True


def required(job: Job[WorldParams]) -> frozenset[str]:
    """The agents that are asked: all, or none."""
    return frozenset(agent.name for agent in AGENTS) if written(job) else frozenset()


def sources_of(job: Job[WorldParams]) -> Path:
    """Where the documents are that the model wrote."""
    if job.sources is None:
        raise ValueError("the agents of this job have not been asked")
    return job.sources


def documents_of(job: Job[WorldParams]) -> Documents | None:
    """The documents that a model wrote; None where they are composed."""
    return read_documents(sources_of(job)) if written(job) else None


def judges(job: Job[WorldParams]) -> Mapping[str, Mapping[str, Any]]:
    """How good the reader was found to be."""
    if not written(job):
        return {}
    result = orjson.loads((sources_of(job) / CALIBRATION).read_bytes())
    return {READ_FACTS.name: {**result, "measured": in_words(result)}}


def corpus(documents: Documents, seed: int) -> Rows:
    """Row i: the document that was accepted as number i."""
    count = len(documents.rows)
    ids = Ids(seed, "world/ids", "d", count).texts(np.arange(count))

    def row(i: int) -> Mapping[str, Any]:
        one = documents.rows[i]
        note = {"facts": one["facts"]}
        return {"_id": ids[i], "title": one["title"], "text": one["text"], "metadata": note}

    return rows_of(row, count)


def notes(params: WorldParams, asked: Questions) -> dict[str, str]:
    """How many queries the accepted documents do not give, if any."""
    wanted = len(cells(params)) * params.queries_per_cell
    if len(asked.all) == wanted:
        return {}
    lacking = wanted - len(asked.all)
    text = f"{lacking:,} of {wanted:,} could not be had from the documents that were accepted"
    return {"queries": text}


def card(params: WorldParams, documents: Documents, asked: Questions) -> list[str]:
    """What the card says beside what it says of composed documents."""
    replaced = sum(one >= params.documents for one in documents.kept)
    text = (
        "A model put the facts of each document into prose, and another model, which did not know "
        "them, read the facts from the prose. A document was accepted where both agree in full: no "
        "fact missing, none changed, none added. The writer was told what differed, and wrote "
        "again; what still differed was rejected (`rejected.jsonl` of the run), and another entity "
        "took its place."
    )
    if replaced:
        text += (
            f" So {replaced:,} of {len(documents.kept):,} documents are of such others. A document "
            "may name an entity that was rejected; no query asks for it."
        )
    text += (
        " A literal query asks in words of composed documents, which need not be the model's. The "
        "texts are free, so no pattern reads them: that the qrels follow from the facts is "
        "proven, that the texts state the facts is the reader's word."
    )
    return [text, *(f"Queries: {one}." for one in notes(params, asked).values())]
