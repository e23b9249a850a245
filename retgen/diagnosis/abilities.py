"""The abilities, and the data sets that they are tested on: each isolates one factor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from retgen.diagnosis import choices
from retgen.diagnosis.choices import LONG, MIDDLE, SHORT, Reader


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
    test: str
    control: str
    data: tuple[str, ...]
    read: Reader
    train: str = ""


ABILITIES = (
    Ability(
        "exclusions",
        "Exclusion",
        'a value is excluded ("... but not one that was released in 1952")',
        'the same value is asked for ("... and that was released in 1952")',
        ("facts",),
        choices.exclusions,
    ),
    Ability(
        "names",
        "Changed name",
        "the wrong document has the same words and one other name",
        "the wrong document is about something else",
        ("facts",),
        choices.changed_names,
        TWINS,
    ),
    Ability(
        "numbers",
        "Changed number",
        "the wrong document has the same words and one other number, year or day",
        "the wrong document is about something else",
        ("numbers",),
        choices.changed_numbers,
        TWINS,
    ),
    Ability(
        "ranges",
        "Ranges",
        'a range is asked for ("after 1970", "more than 100 minutes")',
        "the number itself is asked for",
        ("numbers",),
        choices.ranges,
    ),
    Ability(
        "superlatives",
        "Superlatives",
        'an extreme is asked for ("the 2 with the latest release")',
        "the number itself is asked for",
        ("numbers",),
        choices.superlatives,
    ),
    Ability(
        "conditions",
        "Many conditions",
        "a query has ten conditions, of which the wrong document misses one",
        "that one condition is the whole query",
        ("conditions",),
        choices.conditions,
        "multiconir_movies",
    ),
    Ability(
        "styles",
        "Instructions",
        "conditions are a numbered list after an instruction",
        "the same conditions are one sentence",
        ("conditions",),
        choices.styles,
        "multiconir_movies",
    ),
    Ability(
        "words",
        "Rephrased queries",
        "a query is rephrased, except for the value or its synonym",
        "the query has the document's words",
        ("facts",),
        choices.other_words,
        TWINS,
    ),
    Ability(
        "step",
        "Broader terms",
        "a query has a broader term (a country for a city, a decade for a year)",
        "the query names the document's value",
        ("facts",),
        choices.one_step_up,
        TWINS,
    ),
    Ability(
        "combinations",
        "Combinations",
        "every pair of 46 documents is the answer to some query",
        "no document answers two queries",
        ("all_pairs", "no_pairs"),
        choices.combinations,
        "limit_train",
    ),
    Ability(
        "details",
        "Details, English",
        'what is asked for is mentioned in passing ("with a red bicycle in the background")',
        "it is what the caption is about",
        ("album",),
        choices.details,
        "capretrieval_album",
    ),
    Ability(
        "details_zh",
        "Details, Chinese",
        "what is asked for is mentioned in passing",
        "it is what the caption is about",
        ("album_zh",),
        choices.details,
        "capretrieval_album_zh",
    ),
    Ability(
        "length",
        "Long texts",
        f"the answer is a sentence in a text of {LONG:,} tokens",
        f"the text has {SHORT} tokens",
        ("needles",),
        choices.lengths,
        "niah_train",
    ),
    Ability(
        "place",
        "Place in the text",
        f"the answer stands in the last third of a text of {MIDDLE} tokens",
        "it stands in the first third",
        ("needles",),
        choices.places,
        "niah_train",
    ),
    Ability(
        "noise",
        "Typos and the like",
        "a query has typos, capitals or other endings",
        "the query is as it was",
        ("facts",),
        choices.noise,
    ),
)
