"""What a run keeps in sources/: its groups, the sentences of its books, and their counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.generators.niah.firewall import Firewall, check_groups
from retgen.generators.niah.groups import (
    Cast,
    Group,
    cast,
    cast_of,
    expansions,
    people,
    read_groups,
)
from retgen.generators.niah.params import NiahParams
from retgen.generators.niah.prose import (
    Sentence,
    by_book,
    names_left,
    read_books,
    sentences,
)
from retgen.sources import RefusedRow
from retgen.write import write_file

GROUPS, BOOKS, SENTENCES = "groups.jsonl", "books.jsonl", "sentences.jsonl"
EXPANSIONS = "expansions.jsonl"
GROUP = {
    "group": str, "name": str, "near": list[str],
    **dict.fromkeys(Group.model_fields.keys() - {"id", "set", "near"}, str),
}  # fmt: skip
BOOK = {"book": str, "sentences": int, "kept": int, "left_out": dict[str, int]}
_SHOWN = 10  # names in a message


class Material(NamedTuple):
    """What haystacks are made from. `sentences`: of the books; `refused`: what is none.
    `expansions`: terms for the questions of groups, by their ids.
    """

    groups: list[Group]
    cast: Cast
    sentences: list[Sentence]
    refused: list[RefusedRow]
    expansions: Mapping[str, Sequence[str]]


def gather(
    params: NiahParams,
    seed: int,
    written: Sequence[Group] = (),
    expanded: Mapping[str, Sequence[str]] | None = None,
) -> Material:
    """Read table and books, check them, and give out names.

    `written`: groups in place of the table's; `expanded`: terms in place of the bundled ones.
    """
    groups = list(written) or read_groups(params)
    check_groups(groups, params.table)
    firewall = Firewall(groups)
    books, refused = read_books(params)
    found = [
        Sentence(book.id, text, firewall.fault(text) or "")
        for book in books
        for text in sentences(book.text)
    ]
    available = names_left(people().names, found)
    if expanded is None:
        known = {} if written or params.table is not None else expansions()
        expanded = {group.id: known[group.id] for group in groups if group.id in known}
    return Material(groups, cast(groups, available, seed, others(params)), found, refused, expanded)


def held_names(material: Material) -> str:
    """Which names nobody has since the books hold them; "" for none."""
    left = set(names_left(people().names, material.sentences))
    held = [name for name in people().names if name not in left]
    if not held:
        return ""
    shown = ", ".join(held[:_SHOWN]) + f" and {len(held) - _SHOWN:,} more" * (len(held) > _SHOWN)
    return (
        f"the books hold {len(held):,} of the {len(people().names):,} names, which are given to "
        f"nobody, so that groups may have other names than with other books: {shown}"
    )


def others(params: NiahParams) -> int:
    """Names that a haystack needs besides that of its needle."""
    return max(*params.distractors, 0) + int(params.training or "neutral" in params.controls)


def write_sources(material: Material, folder: Path) -> None:
    """Leave the material in a folder."""
    groups = [
        {"group": group.id, **group.model_dump(exclude={"id", "set"}), "name": name}
        for group, name in zip(material.groups, material.cast.of_group, strict=True)
    ]
    _write(folder / GROUPS, groups)
    _write(folder / BOOKS, by_book(material.sentences))
    _write(
        folder / EXPANSIONS,
        ({"group": name, "terms": terms} for name, terms in material.expansions.items()),
    )
    _write(folder / SENTENCES, (one._asdict() for one in material.sentences))


def read_material(folder: Path, params: NiahParams, seed: int) -> Material:
    """The material of a run."""
    rows, found = _read(folder / GROUPS), [Sentence(**row) for row in _read(folder / SENTENCES)]
    names = tuple(row.pop("name") for row in rows)
    groups = [Group.model_validate({"id": row.pop("group"), **row}) for row in rows]
    available = names_left(people().names, found)
    expanded = {row["group"]: row["terms"] for row in _read(folder / EXPANSIONS)}
    return Material(groups, cast_of(names, available, seed), found, [], expanded)


def _write(path: Path, rows: Iterable[Mapping[str, Any]] | Sequence[Mapping[str, Any]]) -> None:
    write_file(path, b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))


def _read(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]
