"""What queries rest on: found ones stand where they say, those of two documents rest on both.

That a question cannot be answered from either alone is a judge's word, which nothing here proves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from retgen.validators.capretrieval.words import plain, single_words
from retgen.validators.rule import Judgements

_ANSWER = 12  # words of a paragraph that can answer who names its document


def found_fault(
    text: str,
    note: Mapping[str, Any],
    source: Mapping[str, Any],
    documents: Mapping[str, Any],
) -> str | None:
    """Why a found query was not found as it says; None where it was."""
    home, kind = documents.get(note["found_in"]), note["kind"]
    if home is None:
        return f"was found in {note['found_in']!r}, which is no document"
    places, length = note["found_at"], len(home["text"])
    if not all(0 <= start < stop <= length for start, stop in places):
        return f"was found at no characters of {home['id']}"
    words = single_words(text)
    there = single_words(" ".join(home["text"][start:stop] for start, stop in places))
    if kind == "link":
        return _no_link(words, there, note, home, source)
    if home["id"] != source["id"]:
        return f"was found in {home['id']}, and rests on {source['id']}"
    short = any(name == kind and plain(text) == plain(form) for name, form in home["short_forms"])
    if (short or kind == "title") and note["span"] != _lead(source):
        return "rests on other characters than those that its document begins with"
    if short:
        return None if not places or words == there else f"its words are not at {places}"
    if not _in_order(words, [*single_words(home["title"]), *there]):
        return f"its words are not at {places}, and not in the title"
    if kind == "title":
        return None
    wanted = ("caption",) if kind == "caption" else ("title", "heading")
    blocks = [one for one in home["blocks"] if one[0] in wanted]
    own = [_block_of(place, blocks) for place in places]
    if not own or own[-1] is None:  # before it may stand the name of the document
        return f"no {wanted[-1]} stands at {places}"
    above = [one for one in home["blocks"] if one[0] in ("title", "heading")]
    heading = [one for one in above if one[1] <= note["span"][0]][-1:]
    if kind != "caption" and heading != [own[-1]]:
        return "rests on another section than its own"
    return None


def _lead(source: Mapping[str, Any]) -> list[int]:
    """The characters that answer who names a document: up to the end of its first paragraph that
    is long enough, or all.
    """
    paragraphs = (one for one in source["blocks"] if one[0] == "paragraph")
    ends = (one[2] for one in paragraphs if len(source["text"][one[1] : one[2]].split()) >= _ANSWER)
    return [0, next(ends, len(source["text"]))]


def _no_link(
    words: list[str],
    there: list[str],
    note: Mapping[str, Any],
    home: Mapping[str, Any],
    source: Mapping[str, Any],
) -> str | None:
    """Why words are no link of a document to another one, or to the section that they rest on."""
    if len(note["found_at"]) != 1 or not _in_order(words, there):
        return f"its words are not at {note['found_at']}"
    (start, stop), span = note["found_at"][0], note["span"]
    for low, high, target in home["links"]:
        place, _, anchor = target.partition("#")
        if low <= start and stop <= high and place in link_names(source["place"]):
            heads = [one for one in source["blocks"] if one[0] in ("title", "heading")]
            section = [one for one in heads if one[1] <= span[0]][-1:]
            if span == _lead(source) or (section and section[0][4] == anchor):
                return None
    return f"no link to {source['id']}, or to what it rests on there, stands at {start} to {stop}"


def _block_of(place: list[int], blocks: Iterable[list[Any]]) -> list[Any] | None:
    """The block that characters lie in."""
    return next((one for one in blocks if one[1] <= place[0] and place[1] <= one[2]), None)


def _in_order(words: Iterable[str], pool: Iterable[str]) -> bool:
    """Whether words stand in others, in their order."""
    left = iter(pool)
    return all(word in left for word in words)


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
    judgements: Judgements,
    documents: Mapping[str, Any],
    passages: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[list[str], str]]:
    """What is wrong, with the ids. `rows`: of sources/queries.jsonl."""
    evidence = {row["text"]: row["rests_on"] for row in rows if row["kind"] == "two_documents"}
    notes: dict[str, dict[str, Any]] = {}
    for query in judgements.queries:
        notes.pop(query.query_id, None)  # of one id the last note counts
        if isinstance(query.metadata, dict) and query.metadata.get("kind") == "two_documents":
            notes[query.query_id] = query.metadata
    if not notes:
        return
    relevant: dict[str, set[str]] = {}
    for _, qrels in judgements.splits():
        for query_id, doc_id, relevance in qrels:
            if relevance > 0 and query_id in notes and doc_id in passages:
                relevant.setdefault(query_id, set()).add(passages[doc_id]["source"])
    for query in judgements.queries:
        if (note := notes.get(query.query_id)) is None:
            continue
        stated = [
            [note.get("source"), *(note.get("span") or (0, 0))],
            [note.get("other_source"), *(note.get("other_span") or (0, 0))],
        ]
        if None in (stated[0][0], stated[1][0]):
            message = f"{query.query_id}: names no two documents that it rests on"
            yield [query.query_id], message
            continue
        for source, start, stop in stated:
            if source not in documents or not 0 <= start < stop <= len(documents[source]["text"]):
                yield [query.query_id], f"{query.query_id}: rests on no characters of {source}"
            elif source not in relevant.get(query.query_id, ()):
                yield (
                    [query.query_id],
                    f"{query.query_id}: rests on {source}, which is not relevant",
                )
        if stated[0][0] == stated[1][0]:
            yield [query.query_id], f"{query.query_id}: rests on one document, not on two"
        if evidence.get(query.text, [])[:2] != stated:
            message = f"{query.query_id}: rests on other characters than the run's sources say"
            yield [query.query_id], message
