"""What a retriever ranks first."""

from __future__ import annotations

from typing import Any

from retgen.evaluation.retrievers import Options, retriever
from retgen.progress import no_progress
from retgen.search.collection import Collection


def ranked(name: str, collection: Collection, depth: int = 5, **options: Any) -> list[Any]:
    return list(retriever(name, Options(**options)).rank(collection, depth, no_progress))
