"""The abilities of `gen diagnose`, each one factor, and the data sets that they are tested on.

An ability is a function that reads choices from finished runs: a query, the document that answers
it, and others that do not. At the level `CONTROL` everything is as at the others, except what the
ability is about.

    query  Find every film that is set in Leipzig, except for any that came to cinemas in 1952.
    right  The Amber Harbor is set in Leipzig and came to cinemas in 1987. ...
    wrong  The Amber Harbor is set in Leipzig and came to cinemas in 1952. ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from retgen.evaluation.tasks.multiconir.ladders import load_ladders
from retgen.evaluation.tasks.niah.haystacks import (
    QUESTION,
    HaystackText,
    QuestionTexts,
    load_haystacks,
)
from retgen.search.collection import Collection
from retgen.streams import Stream

CONTROL = "control"
_OTHERS = 5  # wrong captions of a right one
_RIGHT = 3  # right ones of each grade
_PAIRED = 44  # wrong documents of a LIMIT query: all that its corpus of 46 has
SHORT, MIDDLE, LONG = 128, 192, 1024  # tokens of minilm


class Choice(NamedTuple):
    """`unit`: what varies by itself, of which intervals are; `group`: a further breakdown."""

    level: str
    unit: str
    query: str
    right: str
    wrong: tuple[str, ...]
    group: str = ""


Reader = Callable[..., Iterator[Choice]]  # of one collection for each data set of an ability


@dataclass(frozen=True)
class TestData:
    """A recipe and what is changed of it; `quick`: further changes, for a smaller set."""

    recipe: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)


DATA: Mapping[str, TestData] = {
    "facts": TestData(
        "world_twins",
        {
            "params.lengths": [8],
            "params.triples_per_cell": 90,
            "params.contrasts": ["include", "exclude"],
        },
        {"params.triples_per_cell": 20},
    ),
    "numbers": TestData(
        "world_twins",
        {
            "params.lengths": [8],
            "params.slot_types": ["year", "number", "date"],
            "params.triples_per_cell": 400,
            "params.wordings": ["literal"],
            "params.contrasts": ["compare", "superlative"],
        },
        {"params.triples_per_cell": 70},
    ),
    "conditions": TestData(
        "multiconir_movies",
        {
            "params.ladders": 300,
            "params.wordings": ["literal"],
            "params.negatives.strategy": "modify",
        },
        {"params.ladders": 80},
    ),
    "all_pairs": TestData("limit_small", {"params.queries": 400}, {"params.queries": 200}),
    "no_pairs": TestData(
        "limit_disjoint",
        {"params.docs": 600, "params.queries": 300},
        {"params.queries": 100, "params.docs": 200},
    ),
    "album": TestData(
        "capretrieval_album",
        {"params.training": 0, "params.queries": 900},
        {"params.queries": 150},
    ),
    "album_zh": TestData(
        "capretrieval_album_zh",
        {"params.training": 0, "params.queries": 900},
        {"params.queries": 150},
    ),
    "needles": TestData(
        "niah",
        {
            "params.lengths": [SHORT, MIDDLE, LONG],
            "params.needles": ["literal"],
            "params.groups": "all",
            "params.orders": ["default"],
        },
        {"params.places": 5},
    ),
}

# training data: the negatives are twins; exclusions, ranges and superlatives are not learnt from it
TWINS = (
    "world_twins --set params.domain=books "
    "--set 'params.contrasts=[include, exclude, compare, superlative]'"
)


@dataclass(frozen=True)
class Ability:
    """One factor. `test`, `control`: what is asked, each to be read after "where".

    `data`: names of `DATA`, in the order of `read`'s arguments. `train`: a recipe whose data train
    this, with what is changed of it; "" for none.
    """

    name: str
    title: str
    data: tuple[str, ...]
    test: str
    control: str
    read: Reader
    train: str = ""


ABILITIES: list[Ability] = []  # in the order of this file


def ability(
    title: str, data: str, test: str, control: str, train: str = ""
) -> Callable[[Reader], Reader]:
    """Make a function an ability of its name. `data`: names with blanks between."""

    def add(read: Reader) -> Reader:
        names = tuple(data.split())
        ABILITIES.append(Ability(read.__name__, title, names, test, control, read, train))
        return read

    return add


# --- twins: one fact apart ------------------------------------------------------------------------


def _text(title: str, text: str) -> str:
    return f"{title} {text}".strip()


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


_NAMES = frozenset({"category", "place", "person", "relation"})


def _changed(collection: Collection) -> Iterator[Choice]:
    triples = _triples(collection)
    others = [*triples.values()]
    for at, (name, one) in enumerate(triples.items()):
        query, other = one.queries["literal", ""], others[at - 1].base
        yield Choice("one fact", name, query, one.base, (one.twin,), one.slot_type)
        yield Choice(CONTROL, name, query, one.base, (other,), one.slot_type)


@ability(
    "Exclusion",
    "facts",
    'a value is excluded ("... but not one that was released in 1952")',
    'the same value is asked for ("... and that was released in 1952")',
)
def exclusions(collection: Collection) -> Iterator[Choice]:
    """The twin's value is excluded; the control asks for it."""
    for name, one in _triples(collection).items():
        yield Choice("but not", name, one.queries["literal", "exclude"], one.base, (one.twin,))
        yield Choice(CONTROL, name, one.queries["literal", "include"], one.twin, (one.base,))


@ability(
    "Changed name",
    "facts",
    "the wrong document has the same words and one other name",
    "the wrong document is about something else",
    TWINS,
)
def names(collection: Collection) -> Iterator[Choice]:
    """Wrong is the document with one name changed; in the control one about something else."""
    return (one for one in _changed(collection) if one.group in _NAMES)


@ability(
    "Changed number",
    "numbers",
    "the wrong document has the same words and one other number, year or day",
    "the wrong document is about something else",
    TWINS,
)
def numbers(collection: Collection) -> Iterator[Choice]:
    """Wrong is the document with one number, year or day changed; in the control another one."""
    return (one for one in _changed(collection) if one.group not in _NAMES)


@ability(
    "Ranges",
    "numbers",
    'a range is asked for ("after 1970", "more than 100 minutes")',
    "the number itself is asked for",
)
def ranges(collection: Collection) -> Iterator[Choice]:
    """ "After 1970" and "more than 100 minutes"; the control names the number."""
    return _against_literal(collection, {("literal", "compare"): "ranges"})


@ability(
    "Superlatives",
    "numbers",
    'an extreme is asked for ("the 2 with the latest release")',
    "the number itself is asked for",
)
def superlatives(collection: Collection) -> Iterator[Choice]:
    """ "The latest release"; the control names the number."""
    return _against_literal(collection, {("literal", "superlative"): "superlatives"})


# --- ladders: conditions and styles ---------------------------------------------------------------

_MANY = 10
_STYLED = (3, 5, 8)  # conditions of the queries whose styles are compared


@ability(
    "Many conditions",
    "conditions",
    "a query has ten conditions, of which the wrong document misses one",
    "that one condition is the whole query",
    "multiconir_movies",
)
def conditions(collection: Collection) -> Iterator[Choice]:
    """Ten conditions, of which the wrong document misses one; the control asks for that one."""
    for one in load_ladders(collection)[0]:
        wrong = (one.texts[1],)
        queries = one.queries["descriptive"]
        yield Choice(f"{_MANY} conditions", one.ladder_id, queries[-1], one.texts[0], wrong)
        yield Choice(CONTROL, one.ladder_id, queries[0], one.texts[0], wrong)


@ability(
    "Instructions",
    "conditions",
    "conditions are a numbered list after an instruction",
    "the same conditions are one sentence",
    "multiconir_movies",
)
def styles(collection: Collection) -> Iterator[Choice]:
    """Conditions as a numbered instruction; the control has them as a sentence."""
    for one in load_ladders(collection)[0]:
        wrong = (one.texts[1],)
        for level, style in (("instruction", "instruction"), (CONTROL, "descriptive")):
            for count in _STYLED:
                query = one.queries[style][count - 1]
                yield Choice(level, one.ladder_id, query, one.texts[0], wrong)


# --- twins again: other queries for the same two documents ----------------------------------------


@ability(
    "Rephrased queries",
    "facts",
    "a query is rephrased, except for the value or its synonym",
    "the query has the document's words",
    TWINS,
)
def words(collection: Collection) -> Iterator[Choice]:
    """Paraphrases; the control has the document's words."""
    return _against_literal(collection, {("paraphrase", ""): "other words"})


@ability(
    "Broader terms",
    "facts",
    "a query has a broader term (a country for a city, a decade for a year)",
    "the query names the document's value",
    TWINS,
)
def step(collection: Collection) -> Iterator[Choice]:
    """A country for a city, a decade for a year; the control has the document's value."""
    return _against_literal(collection, {("entailed", ""): "one step up"})


# --- LIMIT: pairs of documents --------------------------------------------------------------------


@ability(
    "Combinations",
    "all_pairs no_pairs",
    "every pair of 46 documents is the answer to some query",
    "no document answers two queries",
    "limit_train",
)
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


# --- the album: what is mentioned in passing ------------------------------------------------------


@ability(
    "Details, English",
    "album",
    'what is asked for is mentioned in passing ("with a red bicycle in the background")',
    "it is what the caption is about",
    "capretrieval_album",
)
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


@ability(
    "Details, Chinese",
    "album_zh",
    "what is asked for is mentioned in passing",
    "it is what the caption is about",
    "capretrieval_album_zh",
)
def details_zh(collection: Collection) -> Iterator[Choice]:
    """The same of captions in Chinese."""
    return details(collection)


# --- haystacks: length and place ------------------------------------------------------------------


@ability(
    "Long texts",
    "needles",
    f"the answer is a sentence in a text of {LONG:,} tokens",
    f"the text has {SHORT} tokens",
    "niah_train",
)
def length(collection: Collection) -> Iterator[Choice]:
    """A sentence with the answer in a long text; in the control in a short one.

    Wrong is the same text without that sentence. `group`: in which quarter it stands.
    """
    for question, text, wrong in _haystacks(collection):
        if text.length != MIDDLE:
            level = CONTROL if text.length == SHORT else f"{LONG:,} tokens"
            quarter = min(3, int(4 * text.depth))
            group = f"{25 * quarter} to {25 * quarter + 25}% into the text"
            yield Choice(level, question.name, _asked(question), text.text, (wrong,), group)


@ability(
    "Place in the text",
    "needles",
    f"the answer stands in the last third of a text of {MIDDLE} tokens",
    "it stands in the first third",
    "niah_train",
)
def place(collection: Collection) -> Iterator[Choice]:
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


# --- small noise in queries: what people type, and what a retriever should not mind ---------------

_WORD = re.compile(r"[^\W\d_]+")
_LONG = 5  # letters of a word in which people miss a key
_TYPOS = 2  # words of a query that have one


def typos(query: str) -> str:
    """Two of the longer words with two neighbouring letters swapped, the first letter kept."""
    draw = Stream(0, f"typos/{query}")
    words = [one for one in _WORD.finditer(query) if len(one[0]) >= _LONG and _swaps(one[0])]
    for one in sorted(draw.shuffled(words)[:_TYPOS], key=lambda word: -word.start()):
        places = _swaps(one[0])
        at = one.start() + places[draw.below(len(places))]
        query = f"{query[:at]}{query[at + 1]}{query[at]}{query[at + 2 :]}"
    return query


def _swaps(word: str) -> list[int]:
    """Where two neighbouring letters differ, from the second letter on."""
    return [i for i in range(1, len(word) - 1) if word[i] != word[i + 1]]


def endings(query: str) -> str:
    """Every longer lower-case word with an -s more, or one less: films, plot turn, takes place."""
    return _WORD.sub(lambda one: _ending(one[0]), query)


def _ending(word: str) -> str:
    if len(word) < _LONG or not word.islower() or word.endswith(("ss", "ing", "ed", "ly")):
        return word
    return word[:-1] if word.endswith("s") else f"{word}s"


NOISES: Mapping[str, Callable[[str], str]] = {
    "typos": typos,
    "UPPER CASE": str.upper,
    "endings": endings,
}


@ability(
    "Typos and the like",
    "facts",
    "a query has typos, capitals or other endings",
    "the query is as it was",
)
def noise(collection: Collection) -> Iterator[Choice]:
    """Queries with typos and the like; the control is the query as it was."""
    for name, one in _triples(collection).items():
        if one.slot_type in _NAMES:  # what is spelled
            query = one.queries["literal", ""]
            for level, change in NOISES.items():
                yield Choice(level, name, change(query), one.base, (one.twin,))
            yield Choice(CONTROL, name, query, one.base, (one.twin,))
