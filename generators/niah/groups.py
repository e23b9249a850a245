"""The table of needles: sentences around one hidden fact, and the people they are about."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import orjson
from pydantic import AfterValidator, Field, ValidationError

from retgen.errors import RecipeError
from retgen.generators.niah.params import Needle, NiahParams, Order
from retgen.generators.params import Params
from retgen.messages import SourceMap, validation_messages
from retgen.streams import Stream
from retgen.yaml_text import read_yaml

DATA = Path(__file__).parent / "data"
SLOT = "{name}"


def _sentence_with(slots: int) -> AfterValidator:
    """What a sentence with so many slots for a name has to be."""

    def check(text: str) -> str:
        if text.count(SLOT) != slots:
            raise ValueError(f"must hold {SLOT} exactly once" if slots else f"must not hold {SLOT}")
        if text != " ".join(text.split()):
            raise ValueError("must be one line, without blanks around it or two in a row")
        if not text.endswith((".", "!", "?")):
            raise ValueError("must end as a sentence does")
        return text

    return AfterValidator(check)


SlottedSentence = Annotated[str, _sentence_with(1)]
Plain = Annotated[str, _sentence_with(0)]


class NeedleGroup(Params):
    """A question, the needles that answer it, and near-answers that do not."""

    id: str = Field(pattern=r"^[\w.-]+$", max_length=100)
    category: str = Field(min_length=1, max_length=100)
    set: Literal["test", "train"] = "test"
    question: Plain
    literal: SlottedSentence
    literal_inverted: SlottedSentence
    one_hop: SlottedSentence
    one_hop_inverted: SlottedSentence
    fact: Plain
    source: str = Field(min_length=1, description="where the fact can be looked up")
    near: tuple[SlottedSentence, ...] = ()

    def needle(self, kind: Needle, order: Order) -> str:
        """The needle of a kind, with the slot."""
        result: str = getattr(self, kind if order == "default" else f"{kind}_inverted")
        return result

    def sentences(self) -> dict[str, str]:
        """All sentences with the slot, by the key that they stand under."""
        names = ("one_hop", "one_hop_inverted", "literal", "literal_inverted")
        near = {f"near[{number}]": text for number, text in enumerate(self.near)}
        return {name: getattr(self, name) for name in names} | near


def with_name(sentence: str, name: str) -> str:
    """A sentence about somebody."""
    return sentence.replace(SLOT, name)


def read_groups(params: NiahParams) -> list[NeedleGroup]:
    """The rows of the table that the recipe asks for, checked one by one."""
    path = params.table or DATA / "needles.yaml"
    rows = read_yaml(path)
    if not isinstance(rows, list) or not rows:
        raise RecipeError(f"params.table: {path} must be a list of groups, a row each")
    result: dict[str, NeedleGroup] = {}
    for number, row in enumerate(rows, start=1):
        try:
            group = NeedleGroup.model_validate(row)
        except ValidationError as error:
            called = row.get("id", number) if isinstance(row, dict) else number
            origin = SourceMap(path, read_yaml(path, lines=True), ())
            schema = NeedleGroup.model_json_schema()
            faults = validation_messages(error, schema, row, origin, (number - 1,))
            plain = "\n".join(one.replace(f", {number - 1}.", ", ", 1) for one in faults)
            raise RecipeError(f"params.table, group {called}:\n{plain}") from error
        if group.id in result:
            where = place_of(group.id, path)
            raise RecipeError(f"params.table: {where}: the id stands there twice; change one")
        result[group.id] = group
    chosen = [group for group in result.values() if params.groups in ("all", group.set)]
    if not chosen:
        other = "train" if params.groups == "test" else "test"
        raise RecipeError(
            f"params.groups: {path} has groups of set {other} alone ({len(result):,}), none of set "
            f"{params.groups}; write `set: {params.groups}` into their rows, or take them: --set "
            f"params.groups={other}"
        )
    needed = {"params.distractors": max(params.distractors), "params.training": params.training}
    least = sum(needed.values())
    for group in chosen:
        if len(group.near) < least:
            why = f" ({least - 1:,} for the filler, 1 as the negative of training)"
            raise RecipeError(
                f"{' and '.join(key for key, count in needed.items() if count)}: a group needs "
                f"{least:,} near-answer{'s' * (least != 1)}{why if all(needed.values()) else ''}; "
                f"{place_of(group.id, params.table)} has {len(group.near):,}: write more, or ask "
                "for fewer"
            )
    return chosen


def place_of(group_id: str, table: Path | None) -> str:
    """Where a group stands (the last one of its id), for messages."""
    if table is None:
        return f"group {group_id} of the bundled table"
    rows = read_yaml(table, lines=True)
    there = [i for i, row in enumerate(rows) if row.get("id") == group_id]
    line = f", line {rows.lc.item(there[-1])[0] + 1}" if there else ""
    return f"{table}{line}, group {group_id}"


class People(NamedTuple):
    """Given names, and sentences about somebody that answer no question."""

    names: tuple[str, ...]
    neutral: tuple[str, ...]


@cache
def people() -> People:
    """The bundled ones."""
    rows = read_yaml(DATA / "people.yaml")
    return People(tuple(rows["names"]), tuple(rows["neutral"]))


class Cast(NamedTuple):
    """Who is who: the name of each group, and those that are free for anybody else."""

    of_group: tuple[str, ...]
    free: tuple[str, ...]


def cast(groups: Sequence[NeedleGroup], available: Sequence[str], seed: int, others: int) -> Cast:
    """A name for each group; `others`: names that a haystack needs besides.

    Groups for testing take names from one end of a shuffled list, those for training from the
    other, so that a training set has other names than the test set of the same seed.
    """
    if len(groups) + others > len(available):
        raise RecipeError(
            f"params.books: {len(groups) + others:,} names are needed and {len(available):,} of "
            f"{len(people().names):,} are left, since the books hold the others; use fewer groups "
            "or other books"
        )
    order = Stream(seed, "niah/names").shuffled(available)
    first, last = iter(order), iter(reversed(order))
    names = tuple(next(first if group.set == "test" else last) for group in groups)
    return cast_of(names, available, seed)


def cast_of(names: tuple[str, ...], available: Sequence[str], seed: int) -> Cast:
    """The cast in which groups have some names."""
    order = Stream(seed, "niah/names").shuffled(available)
    return Cast(names, tuple(name for name in order if name not in names))


def expansions() -> dict[str, list[str]]:
    """Terms that a search system might add to the question of a bundled group, best first."""
    result: dict[str, list[str]] = orjson.loads((DATA / "expansions.json").read_bytes())
    return result
