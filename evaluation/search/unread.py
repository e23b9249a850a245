"""Evidence of queries that a model never reads, as it stands behind the tokens that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retgen.data import Document
from retgen.search.collection import Collection

if TYPE_CHECKING:
    from retgen.search.embedders.chunks import Cutter

MANY = 0.1  # of the queries: from here on it is said


def unread_evidence(collection: Collection, pieces: Cutter) -> tuple[int, int]:
    """How many queries rest on text that is not read, of how many that say what they rest on.

    A query does by `metadata`: its `source`, and the `span` of characters there. So does a passage
    for what it was cut from. `pieces`: cuts texts into what the model reads whole.
    """
    begins: dict[str, tuple[str, int]] = {}  # query id -> source, first character of the evidence
    wanted: set[str] = set()
    for query in collection.queries:
        if (place := _place(query.metadata)) is not None:
            begins[query.query_id] = place[0], place[1][0]
            wanted |= {doc for doc, r in collection.qrels[query.query_id].items() if r > 0}
    if not begins:
        return 0, 0
    documents: dict[str, Document] = {
        one.doc_id: one for one in collection.dataset.documents() if one.doc_id in wanted
    }
    texts = {doc: f"{one.title} {one.text}".strip() for doc, one in documents.items()}
    cut = pieces(list(texts.values()))
    read = {
        doc: len(parts[0]) if len(parts) > 1 else None
        for doc, parts in zip(texts, cut, strict=True)
    }
    unread = known = 0
    for query_id, (source, first) in begins.items():
        for doc in collection.qrels[query_id].keys() & documents.keys():
            of, span = _place(documents[doc].metadata) or ("", (0, 1 << 62))
            if (of or doc) != source or not span[0] <= first < span[1]:
                continue
            known += 1
            at = first - span[0] + len(texts[doc]) - len(documents[doc].text)
            limit = read[doc]
            unread += limit is not None and at >= limit
            break
    return unread, known


def unread_note(name: str, limit: int, collection: Collection, pieces: Cutter) -> str:
    """What to say where many queries rest on text that a model does not read; else ""."""
    unread, known = unread_evidence(collection, pieces)
    if not unread or unread < MANY * known:
        return ""
    return (
        f"{name} reads {limit:,} tokens of a document, and {unread:,} of {known:,} queries rest on "
        "text behind them; cut documents into passages, or take a model that reads more"
    )


def _place(metadata: object) -> tuple[str, tuple[int, int]] | None:
    """Source and span, where a row names them."""
    facts = metadata if isinstance(metadata, dict) else {}
    match facts.get("source"), facts.get("span"):
        case str(source), [int(start), int(stop)]:
            return source, (start, stop)
    return None
