"""What a run of the NIAH family promises: its groups and settings, as its files hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import orjson

KINDS = {"one_hop": "one-hop", "literal": "literal", "neutral": "neutral", "none": "no"}


class Spec(NamedTuple):
    """What the proof reads: sources/groups.jsonl, the tokenizer's name or path, the parameters."""

    groups: Path
    tokenizer: str
    settings: Mapping[str, Any]


class Group(NamedTuple):
    """A group with its name filled in: (needle, order) -> sentence, and the near-answers' slots."""

    name: str
    category: str
    question: str
    needles: Mapping[tuple[str, str], str]
    near: tuple[str, ...]  # {name} is another one in each


class Key(NamedTuple):
    """What shares one filler."""

    group: str
    length: int
    filler: str
    filtered: bool
    distractors: int
    number: int

    def __str__(self) -> str:
        more = "" if self.filtered else ", unfiltered"
        if self.distractors:
            more += f", near-answers: {self.distractors}"
        return f"{self.length:,} tokens, {self.filler} filler {self.number}{more}"


class Place(NamedTuple):
    """What stands where in a filler."""

    needle: str  # one of `KINDS`
    order: str
    place: int  # -1 for no needle

    def __str__(self) -> str:
        if self.needle == "none":
            return "the control with no needle"
        what = f"{KINDS[self.needle]} needle {self.order}".rstrip()
        return f"the {what} at place {self.place}"


def read_groups(path: Path) -> dict[str, Group]:
    """The groups of a run by their ids."""
    result = {}
    with open(path, "rb") as file:
        for row in map(orjson.loads, file):
            name = row["name"]
            needles = {
                (kind, order): row[kind + suffix].replace("{name}", name)
                for kind in ("one_hop", "literal")
                for order, suffix in (("default", ""), ("inverted", "_inverted"))
            }
            near = tuple(row["near"])
            result[row["group"]] = Group(name, row["category"], row["question"], needles, near)
    return result


def keys(spec: Spec, groups: Mapping[str, Group]) -> Iterator[Key]:
    """The fillers that the settings ask for."""
    asked = spec.settings
    yield from (
        Key(*one)
        for one in product(
            groups, asked["lengths"], asked["filler"], asked["filtered"], asked["distractors"],
            range(asked["fillers"]),
        )
    )  # fmt: skip


def places(spec: Spec) -> Iterator[Place]:
    """What the settings ask for in each filler."""
    asked = spec.settings
    for kind, order, place in product(asked["needles"], asked["orders"], range(asked["places"])):
        yield Place(kind, order, place)
    if "nothing" in asked["controls"]:
        yield Place("none", "", -1)
    if "neutral" in asked["controls"]:
        yield from (Place("neutral", "", place) for place in range(asked["places"]))
