"""Embedders behind an API, found by file: a module here, named as its provider, exports one
`EmbeddingBackend`.

A third party adds one by an entry point in the group `retgen.embedders`. Texts go in as messages,
and an answer of vectors comes out. A response's text is the whole answer, so that the ledger keeps
it as it came; the vectors are read from that.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from functools import cache
from typing import Any, ClassVar

from retgen.agents.chat import Response, Usage, count, no_answer, parse_object, part, usage_of
from retgen.agents.http_model import HttpModel
from retgen.agents.prompt import Request
from retgen.plugins import load_all

Row = list[float] | str  # numbers, or base64 of little-endian float32
# raised by a backend that reads vectors from JSON of another form
OTHER_FORM = (AttributeError, LookupError, TypeError, ValueError)
# JSON lacks these, and our parser refuses numbers that a float64 cannot hold
_NOT_FINITE = re.compile(rb"-?\b(?:NaN|Infinity|[0-9.]+[eE]\+?[0-9]{3,})\b")


class EmbeddingBackend(HttpModel):
    """A provider's protocol of embeddings, in a module of `retgen.agents.embedders`.

    `about`: the provider, for help and docs. `texts`: most texts of a request. `input_types`: the
    provider's types of input by kind of text, query or document; {} if it does not tell them apart.
    """

    about: ClassVar[str]
    texts: ClassVar[int]
    input_types: ClassVar[dict[str, str]] = {}

    @abstractmethod
    def parameters(self, kind: str, *, prompted: bool) -> dict[str, Any]:
        """Parameters beside model and texts. `kind`: query or document. `prompted`: the user's own
        prompt precedes the texts, in place of the provider's type of input.
        """

    @abstractmethod
    def rows(self, tree: dict[str, Any]) -> list[Row]:
        """Vectors of an answer, in the order of its texts; raises `OTHER_FORM`."""

    def read(self, raw: bytes) -> Response:
        """Read an answer of vectors, or the error in its place."""
        tree = parse_answer(raw)
        try:
            answered = bool(self.rows(tree))
        except OTHER_FORM:
            answered = False
        if not answered:
            return no_answer(raw, tree, Usage())
        stated = part(tree, "usage") or part(tree, "usageMetadata")
        tokens = usage_of(stated).tokens_in or count(stated.get("total_tokens"))
        text = raw.decode("utf-8", "replace")
        return Response(raw, 200, "", "stop", text, Usage(tokens, 0))


@cache
def embedding_backends() -> dict[str, type[EmbeddingBackend]]:
    """All embedding backends by the names of their providers."""
    return load_all(__name__, __path__, EmbeddingBackend, "retgen.embedders")


def parse_answer(raw: bytes) -> dict[str, Any]:
    """Parse an answer, with null for NaN and Infinity, so that it is kept."""
    return parse_object(raw) or parse_object(_NOT_FINITE.sub(b"null", raw))


def texts_of(request: Request) -> list[str]:
    """Texts of a request."""
    return [message.content for message in request.messages]
