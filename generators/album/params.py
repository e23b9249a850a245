"""Parameters of the album."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retgen.generators.params import Params

Language = Literal["en", "zh"]


class AlbumParams(Params):
    """How much of an album is written, and in which language; the scenes are the same in both."""

    language: Language = "en"
    captions: int = Field(3024, ge=100)
    queries: int = Field(404, ge=8)
    unanswerable: float = Field(
        0.05,
        ge=0,
        le=0.5,
        description="share of queries that no caption answers, though some nearly do",
    )
    training: int = Field(
        0, ge=0, description="captions more, to train on: keywords and summaries ask for them"
    )
