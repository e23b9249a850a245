"""What queries rest on: a found query on what its heading or link points to, one of two documents
on both.

That a question cannot be answered from either alone is a judge's word, which nothing here proves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from retgen.validators.capretrieval.words import bare
from retgen.validators.rule import Judgements

_Row = Mapping[str, Any]
_HEADINGS = ("title", "heading")


def found_fault(text: str, note: _Row, source: _Row, documents: Mapping[str, Any]) -> str | None:
    """Why a found query does not rest on what its words name; None where it does.

    The words of a link name the document or section that it points to, those of a heading its
    section, all others the document, from its beginning.
    """
    kind, (start, _) = note["kind"], note["span"]
    section = _section(source, start)
    if kind == "link":
        home = documents.get(note["found_in"])
        if home is None:
            return f"was found in {note['found_in']!r}, which is no document"
        heads = [one for one in source["blocks"] if one[0] in _HEADINGS]
        for words, target in home["links"]:
            place, _, anchor = target.partition("#")
            whole = not anchor or (heads and heads[0][4] == anchor)
            named = start == 0 if whole else section is not None and section[4] == anchor
            if bare(text) in bare(words) and place in link_names(source["place"]) and named:
                return None
        return f"{home['id']} has no such link to {source['id']}, or to what it rests on there"
    if kind in ("heading", "question"):
        heading = source["text"][slice(*section[1:3])] if section else ""
        if bare(text.split()[-1]) in bare(heading):  # which stands behind the title of its page
            return None
        return "rests on another section than its own"
    return None if start == 0 else "rests on other characters than its document begins with"


def _section(source: _Row, start: int) -> list[Any] | None:
    """The heading that a place of a document stands under."""
    heads = [one for one in source["blocks"] if one[0] in _HEADINGS and one[1] < start]
    return heads[-1] if heads else None


def link_names(place: str) -> set[str]:
    """How links may name a document: by its place, without its suffix, as the page of a folder."""
    folder, _, name = place.rpartition("/")
    stem = name.rpartition(".")[0] or name
    page = f"{folder}/{stem}" if folder else stem
    result = {place, page, f"{page}/"} if place else set()
    if stem in ("index", "README"):
        result |= {folder, f"{folder}/", *(("", ".") if not folder else ())}
    return result


def two_documents_findings(
    judgements: Judgements, documents: Mapping[str, Any], passages: Mapping[str, Any]
) -> Iterator[tuple[list[str], str]]:
    """What is wrong with questions that need two documents, with the ids: both are relevant."""
    relevant: dict[str, set[str]] = {}
    for _, qrels in judgements.splits():
        for query_id, doc_id, relevance in qrels:
            if relevance > 0 and doc_id in passages:
                relevant.setdefault(query_id, set()).add(passages[doc_id]["source"])
    for query in judgements.queries:
        note = query.metadata if isinstance(query.metadata, dict) else {}
        if note.get("kind") != "two_documents":
            continue
        sources = [str(note.get(key)) for key in ("source", "other_source")]
        spans = [note.get(key) or (0, 0) for key in ("span", "other_span")]
        if sources[0] == sources[1]:
            yield [query.query_id], f"{query.query_id}: rests on one document, not on two"
        for source, (start, stop) in zip(sources, spans, strict=True):
            if source not in documents or not 0 <= start < stop <= len(documents[source]["text"]):
                yield [query.query_id], f"{query.query_id}: rests on no characters of {source}"
            elif source not in relevant.get(query.query_id, ()):
                message = f"{query.query_id}: rests on {source}, which is not relevant"
                yield [query.query_id], message
