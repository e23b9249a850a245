"""Needles in haystacks as a data set holds them: questions, haystacks, and controls without needle.

All is read off the metadata of corpus and queries. A control has the filler of its haystacks, and
instead of the needle nothing, or a neutral sentence at the same place. All texts are held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from retgen.errors import DatasetError
from retgen.evaluation.tasks.task import noted_documents, noted_queries
from retgen.search.collection import Collection

CONTROLS = ("none", "neutral")  # what stands instead of a needle, the main control first
ORDERS = ("default", "inverted")
QUESTION = "question"
_EXPANSION = "expansion_"


class HaystackVariant(NamedTuple):
    """Haystacks of one make: the needle, and what the text around it is like."""

    needle: str
    filler: str
    filtered: bool
    distractors: int


class HaystackText(NamedTuple):
    """A haystack or a control. `place`, `depth`: -1 without needle.

    `span`: the characters of the needle, or of the neutral sentence.
    """

    doc_id: str
    text: str
    variant: HaystackVariant
    group: str
    length: int
    order: str
    place: int
    depth: float
    number: int
    span: tuple[int, int]

    @property
    def around(self) -> tuple[Any, ...]:
        """What the text around the needle is like."""
        return self.variant[1:]

    @property
    def body(self) -> tuple[Any, ...]:
        """Equal for all texts of one filler."""
        return self.group, self.length, self.around, self.number


@dataclass
class QuestionTexts:
    """A question. `queries`: as it is asked, and expanded; `needles`: by kind and order.

    `controls`: for each of `haystacks` the index of its control in `Haystacks.controls`, by kind.
    """

    name: str
    query_id: str
    category: str
    queries: Mapping[str, str]
    needles: Mapping[tuple[str, str], str]
    haystacks: list[HaystackText] = field(default_factory=list)
    controls: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class HaystackSets:
    """`controls`: of all groups and of the kinds in `kinds`, the first of which is the main one."""

    groups: Sequence[QuestionTexts]
    controls: Sequence[HaystackText]
    kinds: Sequence[str]


KEYS = frozenset({"group", "category", "needle"})  # of a query about a needle


def load_haystacks(collection: Collection) -> HaystackSets:
    """The questions of a data set in their order. Raises `DatasetError` for a missing control."""
    path = collection.path
    groups: dict[str, QuestionTexts] = {}
    for query, note in noted_queries(collection, KEYS):
        group = _group(query.query_id, query.text, note)
        if group.name in groups:
            raise DatasetError(f"{path}: group {group.name} has two questions; each has one")
        groups[group.name] = group
    relevant = {
        name: {doc for doc, score in collection.qrels[group.query_id].items() if score > 0}
        for name, group in groups.items()
    }
    controls: list[HaystackText] = []
    for doc_id, content, note in noted_documents(collection, "depth"):
        try:
            text = _text(doc_id, content, note)
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(
                f"{path}: the metadata of document {doc_id} is not that of a haystack: "
                f"{type(error).__name__} {error}; `gen validate` says what belongs there"
            ) from error
        if text.variant.needle in CONTROLS:
            controls.append(text)
        elif text.doc_id in relevant.get(text.group, ()):
            groups[text.group].haystacks.append(text)
    kept = [group for group in groups.values() if group.haystacks]
    if not kept:
        raise DatasetError(f"{path}: no relevant document is a haystack of its question")
    for group in kept:
        group.haystacks.sort(
            key=lambda t: (_rank(t), t.variant, t.length, t.number, t.order, t.place)
        )
    lengths = {text.length for group in kept for text in group.haystacks}
    controls = [text for text in controls if text.length in lengths]
    controls.sort(key=lambda t: (t.variant, t.length, t.group, t.number, t.place))
    kinds = [kind for kind in CONTROLS if any(text.variant.needle == kind for text in controls)]
    _pair(path, kept, controls, kinds)
    return HaystackSets(kept, controls, kinds)


def _rank(text: HaystackText) -> tuple[bool, bool, int, bool]:
    """The plainest make first: one-hop needles, shuffled and filtered filler, no near-answers."""
    needle, filler, filtered, distractors = text.variant
    return needle != "one_hop", not filtered, distractors, filler != "shuffled"


def _group(query_id: str, text: str, message: Mapping[str, Any]) -> QuestionTexts:
    queries = {QUESTION: text}
    expanded = [key for key in message if key.startswith(_EXPANSION) and message[key]]
    queries |= {key: str(message[key]) for key in sorted(expanded, key=terms)}
    keys = {
        ("one_hop", "default"): "needle",
        ("one_hop", "inverted"): "needle_inverted",
        ("literal", "default"): "literal",
        ("literal", "inverted"): "literal_inverted",
    }
    needles = {kind: str(message[key]) for kind, key in keys.items() if message.get(key)}
    return QuestionTexts(
        str(message["group"]), query_id, str(message["category"]), queries, needles
    )


def terms(query: str) -> int:
    """How many terms are added to a question, by the name of the query."""
    return int(query.removeprefix(_EXPANSION)) if query.startswith(_EXPANSION) else 0


def _text(doc_id: str, text: str, message: Mapping[str, Any]) -> HaystackText:
    variant = HaystackVariant(
        str(message["needle"]),
        str(message["filler"]),
        bool(message["filtered"]),
        int(message["distractors"]),
    )
    kinds = {"group": str, "length": int, "order": str, "place": int, "depth": float, "number": int}
    facts: dict[str, Any] = {name: kind(message[name]) for name, kind in kinds.items()}
    start, stop = message["span"]
    return HaystackText(doc_id, text, variant, **facts, span=(int(start), int(stop)))


def _pair(
    path: Path,
    groups: Sequence[QuestionTexts],
    controls: Sequence[HaystackText],
    kinds: Sequence[str],
) -> None:
    """Find each haystack's control: of the same filler, and with a neutral sentence, place."""
    places = {(text.variant.needle, text.body, text.place): i for i, text in enumerate(controls)}
    for group in groups:
        for kind in kinds or CONTROLS[:1]:
            group.controls[kind] = []
            for text in group.haystacks:
                at = places.get((kind, text.body, text.place if kind == "neutral" else -1))
                if at is None:
                    raise DatasetError(
                        f"{path}: haystack {text.doc_id} ({text.length} tokens, group "
                        f"{group.name}) has no control of the same filler, so nothing says what "
                        "its score would be without the needle; `gen validate` says what is missing"
                    )
                group.controls[kind].append(at)
