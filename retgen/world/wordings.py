"""What a wording must be: its marks, its form, and that nothing else reads like it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retgen.tokenizer import STOPWORDS, stems, tokens
from retgen.world.domain_file import DomainFile, SlotBlock

Problem = tuple[tuple[str | int, ...], str]  # where in the file, and what is wrong there

_MARK = re.compile(r"\{([^{}]*)\}")
# words that carry grammar, beside the tokenizer's stop words
_GRAMMAR = frozenset(
    "who whose whom that which one ones has had have having is was were are be been being did does "
    "do done can could would should may might must once ever also both either neither".split()
)


def content_words(wording: str, entity: frozenset[str] = frozenset()) -> frozenset[str]:
    """Stems of the words that carry meaning, without marks and `entity`, the entity's nouns."""
    words = [
        word for word in tokens(_MARK.sub(" ", wording))
        if word not in STOPWORDS and word not in _GRAMMAR and word not in ("s", "t")
    ]  # fmt: skip
    return frozenset(stems(words)) - entity


def skeleton(wording: str) -> str:
    """A wording without what changes from text to text."""
    return " ".join(_MARK.sub(" # ", wording).casefold().split())


def problems_of_wordings(file: DomainFile) -> Iterator[Problem]:
    """All that is wrong with the wordings of a domain."""
    nouns = (file.entity.singular, file.entity.plural, *file.nouns)
    entity = frozenset().union(*(content_words(noun) for noun in nouns))
    seen: dict[str, str] = {}
    for name, block in file.slots.items():
        for i, wording in enumerate(block.document):
            for said in _document(wording, block):
                yield ("slots", name, "document", i), said
        for i, wording in enumerate(block.query):
            for said in _query(wording, file.entity.relative):
                yield ("slots", name, "query", i), said
        if not any(one.startswith(("{S} ", "{P} ")) for one in block.document):
            yield (
                ("slots", name, "document"),
                "none begins with '{S} ' or '{P} ', so no query can ask in its words",
            )
        told = {w: one for one in block.document for w in content_words(one, entity)}
        for i, wording in enumerate(block.query):
            for word in sorted(content_words(wording, entity) & told.keys()):
                yield (
                    ("slots", name, "query", i),
                    f"shares {word!r} with the document wording {told[word]!r}",
                )
        for kind in ("document", "query"):
            for i, wording in enumerate(getattr(block, kind)):
                other = seen.setdefault(f"{kind} {skeleton(wording)}", name)
                if other != name or skeleton(wording) in map(skeleton, getattr(block, kind)[:i]):
                    yield ("slots", name, kind, i), f"reads the same as a wording of {other}"
    for key in ("others", "fillers"):
        for i, wording in enumerate(getattr(file, key)):
            for said in _braces(wording):
                yield (key, i), said
            marks = _MARK.findall(wording)
            allowed = {"P"} if key == "others" else {"S", "P", "O"}
            if set(marks) - allowed or (key == "others" and marks != ["P"]):
                yield (key, i), "others hold {P} once; fillers {S}, {P}, {O} only"


def _document(wording: str, block: SlotBlock) -> Iterator[str]:
    yield from _braces(wording)
    marks = _MARK.findall(wording)
    values = [mark for mark in marks if mark in ("v", "n")]
    if unknown := [mark for mark in marks if mark not in ("S", "P", "O", "v", "n")]:
        yield f"unknown mark {{{unknown[0]}}}; possible are {{S}}, {{P}}, {{O}}, {{v}}, {{n}}"
    if len(values) != 1:
        yield "must hold {v} (or {n}) once"
    if "n" in values and block.type not in ("year", "date"):
        yield f"{{n}} is for years and dates, not for a {block.type}"
    if not {"S", "P", "O"} & set(marks):
        yield "must hold {S}, {P} or {O}, or nobody knows whom it is about"
    if wording.endswith((".", "!", "?")):
        yield "must not end with a full stop"


def _braces(wording: str) -> Iterator[str]:
    if re.search(r"[{}]", _MARK.sub("", wording)):
        yield "a brace is left over"


def _query(wording: str, relative: str) -> Iterator[str]:
    yield from _braces(wording)
    if not wording.startswith((f"{relative} ", "whose ")):
        yield f"must begin with '{relative} ' or 'whose '"
    if _MARK.findall(wording) != ["v"]:
        yield "must hold {v} once, and no other mark"
    if wording.endswith((".", "!", "?")):
        yield "must not end with a full stop"
