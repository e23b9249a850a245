"""Choices: a query, the document that answers it, and others that do not.

    query  Find every film that is set in Leipzig, except for any that came to cinemas in 1952.
    right  The Amber Harbor is set in Leipzig and came to cinemas in 1987. ...
    wrong  The Amber Harbor is set in Leipzig and came to cinemas in 1952. ...

Each function reads the choices of one ability from finished runs. At the level `CONTROL` everything
is as at the others, except what the ability is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from retgen.diagnosis.noise import NOISES
from retgen.evaluation.tasks.multiconir.ladders import load_ladders
from retgen.evaluation.tasks.niah.haystacks import (
    QUESTION,
    HaystackText,
    QuestionTexts,
    load_haystacks,
)
from retgen.search.collection import Collection

CONTROL = "control"
_OTHERS = 5  # wrong captions of a right one
_RIGHT = 3  # right ones of each grade
_PAIRED = 44  # wrong documents of a LIMIT query: all that its corpus of 46 has


class Choice(NamedTuple):
    """`unit`: what varies by itself, of which intervals are; `group`: a further breakdown."""

    level: str
    unit: str
    query: str
    right: str
    wrong: tuple[str, ...]
    group: str = ""


Reader = Callable[..., Iterator[Choice]]  # of one collection for each data set of an ability


def _text(title: str, text: str) -> str:
    return f"{title} {text}".strip()


# --- twins: one fact apart ------------------------------------------------------------------------


class _Triple(NamedTuple):
    base: str
    twin: str
    queries: Mapping[tuple[str, str], str]  # by wording and contrast
    slot_type: str


def _triples(collection: Collection) -> dict[str, _Triple]:
    """By id, in the order of the queries."""
    queries: dict[str, dict[tuple[str, str], str]] = {}
    types: dict[str, str] = {}
    for query in collection.queries:
        note = _metadata(query)
        of = queries.setdefault(note["triple"], {})
        of[note["wording"], note.get("contrast", "")] = query.text
        types[note["triple"]] = note["slot_type"]
    texts: dict[tuple[str, str], str] = {}
    for document in collection.dataset.documents(strict=collection.path):
        note = _metadata(document)
        texts[note["triple"], note["role"]] = _text(document.title, document.text)
    return {
        name: _Triple(texts[name, "base"], texts[name, "twin"], of, types[name])
        for name, of in queries.items()
    }


def _metadata(record: Any) -> Mapping[str, Any]:
    return record.metadata if isinstance(record.metadata, dict) else {}


def exclusions(collection: Collection) -> Iterator[Choice]:
    """The twin's value is excluded; the control asks for it."""
    for name, one in _triples(collection).items():
        yield Choice("but not", name, one.queries["literal", "exclude"], one.base, (one.twin,))
        yield Choice(CONTROL, name, one.queries["literal", "include"], one.twin, (one.base,))


def _against_literal(
    collection: Collection, levels: Mapping[tuple[str, str], str]
) -> Iterator[Choice]:
    """Other queries for the base of a triple; the control is its literal query."""
    for name, one in _triples(collection).items():
        for key, level in levels.items():
            if key in one.queries:
                yield Choice(level, name, one.queries[key], one.base, (one.twin,), one.slot_type)
        if one.queries.keys() & levels.keys():
            query = one.queries["literal", ""]
            yield Choice(CONTROL, name, query, one.base, (one.twin,), one.slot_type)


def ranges(collection: Collection) -> Iterator[Choice]:
    """ "After 1970" and "more than 100 minutes"; the control names the number."""
    return _against_literal(collection, {("literal", "compare"): "ranges"})


def superlatives(collection: Collection) -> Iterator[Choice]:
    """ "The latest release"; the control names the number."""
    return _against_literal(collection, {("literal", "superlative"): "superlatives"})


def other_words(collection: Collection) -> Iterator[Choice]:
    """Paraphrases; the control has the document's words."""
    return _against_literal(collection, {("paraphrase", ""): "other words"})


def one_step_up(collection: Collection) -> Iterator[Choice]:
    """A country for a city, a decade for a year; the control has the document's value."""
    return _against_literal(collection, {("entailed", ""): "one step up"})


_NAMES = frozenset({"category", "place", "person", "relation"})


def changed_names(collection: Collection) -> Iterator[Choice]:
    """Wrong is the document with one name changed; in the control one about something else."""
    return (one for one in _changed(collection) if one.group in _NAMES)


def changed_numbers(collection: Collection) -> Iterator[Choice]:
    """Wrong is the document with one number, year or day changed; in the control another one."""
    return (one for one in _changed(collection) if one.group not in _NAMES)


def _changed(collection: Collection) -> Iterator[Choice]:
    triples = _triples(collection)
    others = [*triples.values()]
    for at, (name, one) in enumerate(triples.items()):
        query, other = one.queries["literal", ""], others[at - 1].base
        yield Choice("one fact", name, query, one.base, (one.twin,), one.slot_type)
        yield Choice(CONTROL, name, query, one.base, (other,), one.slot_type)


def noise(collection: Collection) -> Iterator[Choice]:
    """Queries with typos and the like; the control is the query as it was."""
    for name, one in _triples(collection).items():
        if one.slot_type in _NAMES:  # what is spelled
            query = one.queries["literal", ""]
            for level, change in NOISES.items():
                yield Choice(level, name, change(query), one.base, (one.twin,))
            yield Choice(CONTROL, name, query, one.base, (one.twin,))


# --- ladders: conditions and styles ---------------------------------------------------------------

_MANY = 10
_STYLED = (3, 5, 8)  # conditions of the queries whose styles are compared


def conditions(collection: Collection) -> Iterator[Choice]:
    """Ten conditions, of which the wrong document misses one; the control asks for that one."""
    for one in load_ladders(collection)[0]:
        wrong = (one.texts[1],)
        queries = one.queries["descriptive"]
        yield Choice(f"{_MANY} conditions", one.ladder_id, queries[-1], one.texts[0], wrong)
        yield Choice(CONTROL, one.ladder_id, queries[0], one.texts[0], wrong)


def styles(collection: Collection) -> Iterator[Choice]:
    """Conditions as a numbered instruction; the control has them as a sentence."""
    for one in load_ladders(collection)[0]:
        wrong = (one.texts[1],)
        for level, style in (("instruction", "instruction"), (CONTROL, "descriptive")):
            for count in _STYLED:
                query = one.queries[style][count - 1]
                yield Choice(level, one.ladder_id, query, one.texts[0], wrong)


# --- LIMIT: pairs of documents --------------------------------------------------------------------


def combinations(dense: Collection, disjoint: Collection) -> Iterator[Choice]:
    """Every pair of 46 documents is asked for; in the control no document is asked for twice."""
    for level, collection in (("all pairs", dense), (CONTROL, disjoint)):
        texts = [text for _, block in collection.blocks(4096) for text in block]
        ids = [one.decode() for one in collection.doc_ids.tolist()]
        place = {doc: i for i, doc in enumerate(ids)}
        answers = {
            query.text: [
                doc for doc, grade in collection.qrels[query.query_id].items() if grade > 0
            ]
            for query in collection.queries
        }
        for query, relevant in sorted(answers.items(), key=lambda one: place[one[1][0]]):
            first = place[relevant[0]] + 1
            around = (i % len(ids) for i in range(first, first + len(ids)))
            wrong = [
                texts[i] for i in islice((i for i in around if ids[i] not in relevant), _PAIRED)
            ]
            for doc in relevant:
                yield Choice(level, doc, query, texts[place[doc]], tuple(wrong))


# --- the album: details and gist ------------------------------------------------------------------


def details(collection: Collection) -> Iterator[Choice]:
    """Captions that mention in passing what is asked for; in the control it is their subject.

    Wrong are the captions of grade 0 that share the most facts with the right one.
    """
    documents = list(collection.dataset.documents(strict=collection.path))
    texts = {one.doc_id: _text(one.title, one.text) for one in documents}
    facts = {one.doc_id: frozenset(_metadata(one)["facts"]) for one in documents}
    for query in collection.queries:
        judged = collection.qrels[query.query_id]
        by_grade = {
            grade: [doc for doc, one in judged.items() if one == grade][:_RIGHT] for grade in (1, 2)
        }
        if _metadata(query).get("level") != "named" or not all(by_grade.values()):
            continue
        # likely ones have no grade here, and are no sure misses
        near = {*judged, *(collection.grades or {}).get(query.query_id, ())}
        others = [doc for doc in texts if doc not in near]
        for grade, level in ((1, "in passing"), (2, CONTROL)):
            for right in by_grade[grade]:
                shared = {doc: len(facts[doc] & facts[right]) for doc in others}
                wrong = sorted(others, key=lambda doc: -shared[doc])[:_OTHERS]
                yield Choice(
                    level, query.query_id, query.text, texts[right], tuple(texts[d] for d in wrong)
                )


# --- haystacks: length and place ------------------------------------------------------------------

SHORT, MIDDLE, LONG = 128, 192, 1024  # tokens of minilm


def lengths(collection: Collection) -> Iterator[Choice]:
    """A sentence with the answer in a long text; in the control in a short one.

    Wrong is the same text without that sentence. `group`: in which quarter it stands.
    """
    for question, text, wrong in _haystacks(collection):
        if text.length != MIDDLE:
            level = CONTROL if text.length == SHORT else f"{LONG:,} tokens"
            quarter = min(3, int(4 * text.depth))
            group = f"{25 * quarter} to {25 * quarter + 25}% into the text"
            yield Choice(level, question.name, _asked(question), text.text, (wrong,), group)


def places(collection: Collection) -> Iterator[Choice]:
    """The sentence with the answer in the last third of a text; in the control in the first."""
    for question, text, wrong in _haystacks(collection):
        if text.length == MIDDLE and not 1 / 3 <= text.depth <= 2 / 3:
            level = "at the end" if text.depth > 0.5 else CONTROL
            yield Choice(level, question.name, _asked(question), text.text, (wrong,))


def _haystacks(collection: Collection) -> Iterator[tuple[QuestionTexts, HaystackText, str]]:
    """Each haystack with its question and the text of its control."""
    sets = load_haystacks(collection)
    for question in sets.groups:
        controls = question.controls[sets.kinds[0]]
        for text, control in zip(question.haystacks, controls, strict=True):
            yield question, text, sets.controls[control].text


def _asked(question: QuestionTexts) -> str:
    return question.queries[QUESTION]
