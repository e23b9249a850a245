"""What a run of the NIAH family promises, and its documents as their metadata describe them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import orjson

HOLDS = ("one_hop", "literal")  # needles that answer a question
KINDS = {"one_hop": "one-hop", "literal": "literal", "neutral": "neutral", "none": "no"}


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
            result[row["group"]] = NeedleGroup(
                name, row["category"], row["question"], needles, tuple(row["near"])
            )
    return result


def wanted_haystacks(
    settings: Mapping[str, Any], groups: Mapping[str, NeedleGroup]
) -> Iterator[tuple[FillerKey, NeedlePlace]]:
    """The haystacks that a recipe's parameters ask for."""
    places = range(settings["places"])
    held = [NeedlePlace(*one) for one in product(settings["needles"], settings["orders"], places)]
    if "nothing" in settings["controls"]:
        held.append(NeedlePlace("none", "", -1))
    if "neutral" in settings["controls"]:
        held += [NeedlePlace("neutral", "", place) for place in places]
    asked = (settings[name] for name in ("lengths", "filler", "filtered", "distractors"))
    for key in product(groups, *asked, range(settings["fillers"])):
        for at in held:
            yield FillerKey(*key), at


class Haystack(NamedTuple):
    """A document as its metadata describes it, and what its text is.

    `filler`: digests of its sentences without the needle; `digest`: of the
    text, which has so many `words`.
    """

    doc_id: str
    key: FillerKey
    at: NeedlePlace
    category: str
    depth: float
    span: tuple[int, int]
    name: str
    filler: bytes = b""
    digest: int = 0
    words: int = 0

    def controls(self, other: Haystack) -> bool:
        """Whether this is a control of the other one."""
        alike = self.at.needle == "none" or (
            self.at.needle == "neutral" and self.at.place == other.at.place
        )
        return alike and self.key == other.key


def haystack_of(doc_id: str, metadata: Any) -> Haystack | None:
    """The haystack that metadata describe; None where a part is missing or of another type."""
    match metadata:
        case {
            "group": str(group),
            "category": str(category),
            "length": int(length),
            "needle": str(needle),
            "order": str(order),
            "place": int(place),
            "depth": int() | float() as depth,
            "span": [int(start), int(stop)],
            "name": str(name),
            "filler": str(filler),
            "filtered": bool(filtered),
            "distractors": int(distractors),
            "number": int(number),
        } if needle in KINDS and (needle not in HOLDS or order in ("default", "inverted")):
            key = FillerKey(group, length, filler, filtered, distractors, number)
            at = NeedlePlace(needle, order, place)
            return Haystack(doc_id, key, at, category, float(depth), (start, stop), name)
    return None
