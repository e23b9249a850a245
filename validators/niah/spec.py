"""What a run of the NIAH family promises (groups and settings), and its documents as read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import orjson

KINDS = {"one_hop": "one-hop", "literal": "literal", "neutral": "neutral", "none": "no"}


class NIAHSpec(NamedTuple):
    """What the proof reads: sources/groups.jsonl, the tokenizer's name or path, the parameters."""

    groups: Path
    tokenizer: str
    settings: Mapping[str, Any]


class NeedleGroup(NamedTuple):
    """A group with its name filled in: (needle, order) -> sentence, and the near-answers' slots."""

    name: str
    category: str
    question: str
    needles: Mapping[tuple[str, str], str]
    near: tuple[str, ...]  # {name} is another one in each


class FillerKey(NamedTuple):
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


class NeedlePlace(NamedTuple):
    """What stands where in a filler."""

    needle: str  # one of `KINDS`
    order: str
    place: int  # -1 for no needle

    def __str__(self) -> str:
        if self.needle == "none":
            return "the control with no needle"
        what = f"{KINDS[self.needle]} needle {self.order}".rstrip()
        return f"the {what} at place {self.place}"


def read_groups(path: Path) -> dict[str, NeedleGroup]:
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
            result[row["group"]] = NeedleGroup(
                name, row["category"], row["question"], needles, near
            )
    return result


def filler_keys(spec: NIAHSpec, groups: Mapping[str, NeedleGroup]) -> Iterator[FillerKey]:
    """The fillers that the settings ask for."""
    asked = spec.settings
    yield from (
        FillerKey(*one)
        for one in product(
            groups,
            asked["lengths"],
            asked["filler"],
            asked["filtered"],
            asked["distractors"],
            range(asked["fillers"]),
        )
    )


def needle_places(spec: NIAHSpec) -> Iterator[NeedlePlace]:
    """What the settings ask for in each filler."""
    asked = spec.settings
    for kind, order, place in product(asked["needles"], asked["orders"], range(asked["places"])):
        yield NeedlePlace(kind, order, place)
    if "nothing" in asked["controls"]:
        yield NeedlePlace("none", "", -1)
    if "neutral" in asked["controls"]:
        yield from (NeedlePlace("neutral", "", place) for place in range(asked["places"]))


HOLDS = ("one_hop", "literal")  # needles that answer a question


class HaystackRecord(NamedTuple):
    """What the tables refer to: a document's filler and needle, and a digest of its text."""

    key: FillerKey
    at: NeedlePlace
    depth: float
    digest: int

    def controls(self, other: HaystackRecord) -> bool:
        """Whether this is a control of the other one."""
        alike = self.at.needle == "none" or (
            self.at.needle == "neutral" and self.at.place == other.at.place
        )
        return alike and self.key == other.key
