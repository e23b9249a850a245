"""What an embedder behind an API is to us: texts as messages in, an answer of vectors out.

Its `ChatModel` gives the whole answer as text, so the ledger keeps it as it came; the backend reads
the vectors out of that.
"""

from __future__ import annotations

import contextlib
import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from retgen.agents.chat import Backend, Response, Usage, error_of, parse_object, status_of
from retgen.agents.http_model import HttpModel
from retgen.agents.prompt import Request
from retgen.version import __version__

Kind = Literal["query", "document"]
Row = list[float] | str  # numbers, or base64 of float32 in little-endian order
# what reading vectors out of a tree of another form raises
_OTHER_FORM = (AttributeError, LookupError, TypeError, ValueError)


class EmbeddingBackend(Backend):
    """A provider's protocol of embeddings, in a module under `retgen.agents.embedders`.

    `about`: whose models, for help and docs. `texts`, `size`: texts and bytes of a request, at
    most. `input_types`: what the provider calls queries and documents; none where it does not tell
    them apart. `shorten`: parameters with which the server itself cuts a text that is too long;
    none: it can only be sent in half.
    """

    about: ClassVar[str]
    texts: ClassVar[int]
    size: ClassVar[int] = 200_000
    input_types: ClassVar[Mapping[Kind, str]] = {}
    shorten: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def parameters(self, kind: Kind, *, prompted: bool, own_server: bool) -> dict[str, Any]:
        """What is sent beside model and texts. `prompted`: a prompt of the user's stands before the
        texts, in place of the provider's; `own_server`: it is none of the provider's.
        """

    @abstractmethod
    def body(self, request: Request) -> dict[str, Any]:
        """A request as it is sent."""

    @abstractmethod
    def rows(self, tree: dict[str, Any]) -> list[Row]:
        """The vectors of an answer, in the order of its texts; raises for another form."""

    @abstractmethod
    def tokens(self, tree: dict[str, Any]) -> int | None:
        """How many tokens an answer states; None where it does not."""


class Embeddings:
    """What a `ChatModel` of embeddings sends and reads, as its backend says; a mixin."""

    def __init__(self, backend: EmbeddingBackend, **options: Any) -> None:
        super().__init__(**options)
        self.backend = backend

    def body(self, request: Request, room: int) -> dict[str, Any]:
        """What is sent."""
        return self.backend.body(request)

    def read(self, raw: bytes) -> Response:
        """An answer of vectors, or what stands in its place."""
        tree = parse_answer(raw)
        try:
            answered = bool(self.backend.rows(tree))
        except _OTHER_FORM:
            answered = False
        if not answered:
            error = error_of(tree, raw if not tree else b"")
            return Response(raw, status_of(tree), error, begun=True)
        usage = Usage(self.backend.tokens(tree), 0)
        return Response(raw, 200, "", "stop", raw.decode("utf-8", "replace"), usage)


class HttpEmbeddings(Embeddings, HttpModel):
    """An embedder of a provider without an SDK here: its key goes with each request."""

    def __init__(
        self, backend: EmbeddingBackend, url: str, *, api_key: str | None, **options: Any
    ) -> None:
        super().__init__(backend, **options)
        headers = {"authorization": f"Bearer {api_key}", "content-type": "application/json"}
        self.post_to(url, headers | {"user-agent": f"retgen/{__version__}"}, [api_key])


def parse_answer(raw: bytes) -> dict[str, Any]:
    """The JSON object of an answer, with NaN, which JSON lacks: such an answer would come again."""
    tree = parse_object(raw)
    if not tree and b"NaN" in raw:
        with contextlib.suppress(TypeError, ValueError):
            tree = dict(json.loads(raw))
    return tree


def texts_of(request: Request) -> list[str]:
    """The texts of a request."""
    return [message.content for message in request.messages]
