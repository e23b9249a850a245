"""The table of needles: sentences around one hidden fact, and the people they are about."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from pydantic import AfterValidator, Field, ValidationError

from retgen.errors import RecipeError
from retgen.generators.niah.params import Needle, NiahParams, Order
from retgen.generators.params import Params
from retgen.streams import Stream

DATA = Path(__file__).parent / "data"
SLOT = "{name}"


def _one_line(text: str) -> str:
    if text != " ".join(text.split()):
        raise ValueError("must be one line, without blanks around it or two in a row")
    if not text.endswith((".", "!", "?")):
        raise ValueError("must end as a sentence does")
    return text


def _with_slot(text: str) -> str:
    if text.count(SLOT) != 1:
        raise ValueError(f"must hold {SLOT} exactly once")
    return _one_line(text)


def _without_slot(text: str) -> str:
    if SLOT in text:
        raise ValueError(f"must not hold {SLOT}")
    return _one_line(text)


Sentence = Annotated[str, AfterValidator(_with_slot)]
Plain = Annotated[str, AfterValidator(_without_slot)]


class Group(Params):
    """A question, the needles that answer it, and near-answers that do not."""

    id: str = Field(pattern=r"^[\w.-]+$", max_length=100)
    category: str = Field(min_length=1, max_length=100)
    set: Literal["test", "train"] = "test"
    question: Plain
    literal: Sentence
    literal_inverted: Sentence
    one_hop: Sentence
    one_hop_inverted: Sentence
    fact: Plain
    source: str = Field(min_length=1, description="where the fact can be looked up")
    near: tuple[Sentence, ...] = ()

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


def read_groups(params: NiahParams) -> list[Group]:
    """The rows of the table that the recipe asks for, checked one by one."""
    path = params.table or DATA / "needles.yaml"
    rows = _yaml(path)
    if not isinstance(rows, list) or not rows:
        raise RecipeError(f"params.table: {path} must be a list of groups, a row each")
    result: list[Group] = []
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        called = row.get("id", number) if isinstance(row, dict) else number
        try:
            group = Group.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            what = first["msg"].removeprefix("Value error, ")
            raise RecipeError(f"params.table: {path}, group {called}: {where}: {what}") from error
        if group.id in seen:
            raise RecipeError(f"params.table: {path}: the id {group.id} stands there twice")
        seen.add(group.id)
        result.append(group)
    chosen = [group for group in result if params.groups in ("all", group.set)]
    if not chosen:
        raise RecipeError(
            f"params.groups: {path} has no group of set {params.groups}; all of its "
            f"{len(result):,} groups are of the other"
        )
    most = max(params.distractors) + int(params.training)
    for group in chosen:
        if len(group.near) < most:
            what = "params.distractors" if max(params.distractors) else "params.training"
            raise RecipeError(
                f"{what}: {most:,} near-answers are needed; group {group.id} of "
                f"{params.table or 'the bundled table'} has "
                f"{len(group.near):,}"
            )
    return chosen


class People(NamedTuple):
    """Given names, and sentences about somebody that answer no question."""

    names: tuple[str, ...]
    neutral: tuple[str, ...]


@cache
def people() -> People:
    """The bundled ones."""
    rows = _yaml(DATA / "people.yaml")
    return People(tuple(rows["names"]), tuple(rows["neutral"]))


class Cast(NamedTuple):
    """Who is who: the name of each group, and those that are free for anybody else."""

    of_group: tuple[str, ...]
    free: tuple[str, ...]


def cast(groups: Sequence[Group], available: Sequence[str], seed: int, others: int) -> Cast:
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
    order = _shuffled(available, seed)
    first, last = iter(order), iter(reversed(order))
    names = tuple(next(first if group.set == "test" else last) for group in groups)
    return cast_of(names, available, seed)


def cast_of(names: tuple[str, ...], available: Sequence[str], seed: int) -> Cast:
    """The cast in which groups have some names."""
    return Cast(names, tuple(name for name in _shuffled(available, seed) if name not in names))


def _shuffled(names: Sequence[str], seed: int) -> list[str]:
    return [names[i] for i in Stream(seed, "niah/names").permutation(len(names))]


def expansions() -> dict[str, list[str]]:
    """Terms that a search system might add to the question of a bundled group, best first."""
    result: dict[str, list[str]] = orjson.loads((DATA / "expansions.json").read_bytes())
    return result


def _yaml(path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe").load(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RecipeError(f"params.table: {path} is not UTF-8; convert it") from error
    except (YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise RecipeError(f"params.table: {path} is no YAML: {reason}") from error
