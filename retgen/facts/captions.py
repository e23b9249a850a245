"""Captions of pictures: their domain file, from which facts are drawn, and their words.

    "dog, dogs; 狗, 只 @any #coat"    below    "canine, canines; 犬科动物, 只"
    "{subject:n} {is|are} {action} {place:at}[ {moment:at}]"

A caption is a template around the names of its facts. A concept is what can be seen, said in both
languages; its first English name is the value that facts have.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from retgen.facts.compose import capital
from retgen.facts.domain import Dependence, Domain, Slot
from retgen.facts.domain_file import Entity, NamingBlock, Numbers, Value
from retgen.yaml_text import read_yaml

CAPTIONS_FILE = Path(__file__).with_name("captions.yaml")
Facts = Mapping[str, str]
Choose = Callable[[int], int]  # a number below another

_PARTS = ("things", "landmarks", "places", "moments", "topics", "months", "actions")
_PASSING = frozenset(("passing", "further", "mention"))
_COLOURS = {"subject": "colour", "thing": "colour"} | {
    one: f"{one}_colour" for one in ("passing", "further")
}
_TAG = re.compile(r" ([@#!])(\w+)")
_PIECE = re.compile(r"(\[.*?\]|\{.*?\})")


class Concept(NamedTuple):
    """What a caption or a query can name.

    `part`: which list of the file has it; `names`: by language its names, each in parts; `tags`:
    where it is seen (@) and its colours (#); `leaf`: captions may name it; `rules`: of an action,
    who does it (`by`) and to what (`of`).
    """

    value: Value
    part: str
    names: Mapping[str, list[list[str]]]
    tags: Mapping[str, str]
    leaf: bool
    asked: bool
    rules: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """What it is in the most general terms."""
        return self.part if self.part == "landmarks" else self.value.above[-1]

    def within(self, names: Sequence[str]) -> bool:
        """Whether it is one of `names`, or a kind of one."""
        return not {*self.value.above, self.part}.isdisjoint(names)

    def seen_with(self, other: Concept) -> bool:
        """Whether both may be seen indoors, or both outdoors."""
        sides = {self.tags.get("@", "any"), other.tags.get("@", "any")}
        return sides != {"in", "out"}


class CaptionDomain(NamedTuple):
    """What can be drawn and named. `colours`: their names in each language; `palettes`: which of
    them things have that are tagged so. `likely`: fact -> what it makes likely, by slot.
    """

    domain: Domain
    concepts: Mapping[str, Concept]
    colours: Mapping[str, list[str]]
    palettes: Mapping[str, list[str]]
    likely: Mapping[str, Mapping[str, list[str]]]
    wordings: Mapping[str, Mapping[str, Any]]

    def digest(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.domain.path.read_bytes()).hexdigest()

    def spoken(self, value: str, language: str) -> list[str]:
        """The names of a value, first its first one; of English things their plurals too."""
        if value not in self.concepts:
            return [self.colours.get(value, [value, value])[language == "zh"]]
        concept = self.concepts[value]
        names = concept.names[language]
        plurals = language == "en" and concept.part in ("things", "landmarks")
        return [one for name in names for one in name[: 2 if plurals and len(name) == 2 else 1]]


@cache
def load_captions() -> CaptionDomain:
    """The bundled domain of captions."""
    tree = read_yaml(CAPTIONS_FILE)
    concepts: dict[str, Concept] = {}
    for part in _PARTS:
        for entry in tree[part] if part == "actions" else ({"say": None, "under": tree[part]},):
            lines = {entry["say"]: entry.get("under", [])} if entry["say"] else entry["under"]
            for one in _concepts(lines, part, entry):
                if concepts.setdefault(one.value.name, one) is not one:
                    raise ValueError(f"{CAPTIONS_FILE.name}: two are called {one.value.name!r}")
    colours = dict(line.split("; ") for line in chain(*tree["colours"].values()))
    palettes: dict[str, list[str]] = {"none": []} | {
        name: [line.split("; ")[0] for line in lines] for name, lines in tree["colours"].items()
    }
    slots = _slots(tree, concepts, palettes)
    domain = Domain(
        "captions",
        "Captions of scenes.",
        Entity(singular="caption", plural="captions", relative="that"),
        (),
        NamingBlock(parts={"number": Numbers(**{"from": 1, "to": 1_000_000})}, pattern="{number}"),
        None,
        {slot.name: slot for slot in slots},
        (),
        (),
        {},
        CAPTIONS_FILE,
    )
    named = {one: [one, chinese] for one, chinese in colours.items()}
    return CaptionDomain(domain, concepts, named, palettes, tree["likely"], tree["wordings"])


def _concepts(
    lines: Any,
    part: str,
    rules: Mapping[str, Any],
    above: tuple[str, ...] = (),
    tags: Mapping[str, str] | None = None,
) -> Iterator[Concept]:
    """The concepts of nested lines; tags hold for what is below, unless it has its own."""
    for line in lines:
        below = lines[line] if isinstance(lines, dict) else ()
        flags = {flag for kind, flag in _TAG.findall(line) if kind == "!"}
        own = {**(tags or {}), **{kind: name for kind, name in _TAG.findall(line) if kind != "!"}}
        sides = (side.strip().split(" / ") for side in _TAG.sub("", line).split(";"))
        names = {
            language: [name.split(", ") for name in side]
            for language, side in zip(("en", "zh"), sides, strict=True)
        }
        value = Value(names["en"][0][0], (), above)
        leaf = not below or "self" in flags
        yield Concept(value, part, names, own, leaf, "unasked" not in flags, rules)
        yield from _concepts(below, part, rules, value.above, own)


# --- facts ----------------------------------------------------------------------------------------


def _slots(
    tree: Mapping[str, Any], concepts: Mapping[str, Concept], palettes: Mapping[str, list[str]]
) -> Iterator[Slot]:
    """The slots of a scene in the order in which they are drawn and noted."""
    known: dict[str, list[str]] = {}
    scenes = {one["subject"]: one for one in tree["scenes"]}

    def leaves(*parts: str) -> list[str]:
        return [name for name, one in concepts.items() if one.leaf and one.part in parts]

    def scene(subject: Concept) -> Mapping[str, Any]:
        found: Mapping[str, Any] = scenes[subject.kind]
        return found

    def slot(name: str, values: Sequence[str], **fits: Callable[[Concept, str], bool]) -> Slot:
        """`fits`: by earlier slot whether a value goes with one of its values."""
        known[name] = list(values)
        given = (
            Dependence(
                other,
                tuple(range(len(known[other]))),
                (
                    (),
                    *(
                        tuple(i for i, one in enumerate(values) if fit(concepts[there], one))
                        for there in known[other]
                    ),
                ),
            )
            for other, fit in fits.items()
        )
        named = (concepts[one].value if one in concepts else Value(one) for one in values)
        share = tree["shares"].get(name, 1.0)
        return Slot(name, "", "category", tuple(named), share=share, skew=0, given=tuple(given))

    def written(subject: Concept, _: str = "") -> bool:
        return not scene(subject)["places"]

    def seen(other: Concept, one: str) -> bool:
        return other.seen_with(concepts[one])

    def another(other: Concept, one: str) -> bool:
        return other.kind != concepts[one].kind

    def beside(subject: Concept, one: str) -> bool:
        return another(subject, one) and not written(subject) and seen(subject, one)

    def coloured(other: Concept, one: str) -> bool:
        return one in palettes[other.tags.get("#", "none")]

    def does(subject: Concept, one: str) -> bool:
        return subject.within(concepts[one].rules["by"])

    def possible(place: Concept, one: str) -> bool:
        of = concepts[one].rules.get("of")
        return not of or any(concepts[x].within(of) and seen(place, x) for x in leaves("things"))

    colours = [*dict.fromkeys(chain(*palettes.values()))]
    passing, further = (
        [one for one in leaves("things", "landmarks") if concepts[one].within(tree[key])]
        for key in ("passing", "further")
    )
    acts = leaves("actions")
    topics = leaves("topics")
    subjects = [one for one in leaves("things") if concepts[one].kind in scenes]
    of_kind = [concepts[one].kind for one in subjects]
    weights = tuple(scenes[kind]["share"] / of_kind.count(kind) for kind in of_kind)
    yield replace(slot("subject", subjects), weights=weights)
    yield slot("number", "123", subject=lambda who, one: int(one) <= scene(who)["most"])
    yield slot("colour", colours, subject=coloured)
    yield slot(
        "place",
        leaves("places", "landmarks"),
        subject=lambda who, one: seen(who, one) and concepts[one].within(scene(who)["places"]),
    )
    deeds = [one for one in acts if "state" not in concepts[one].rules]
    # as many are done to something as not
    twice = tuple(3.0 if "of" in concepts[one].rules else 1.0 for one in deeds)
    yield replace(slot("action", deeds, subject=does, place=possible), weights=twice)
    yield slot(
        "object",
        leaves("things"),
        action=lambda act, one: concepts[one].within(act.rules.get("of", ())),
        place=seen,
    )
    yield slot("state", [one for one in acts if "state" in concepts[one].rules], subject=does)
    yield slot("moment", leaves("moments"), place=lambda where, one: where.tags["@"] == "out")
    yield slot("topic", topics, subject=written)
    yield slot("month", leaves("months"), subject=written)
    yield slot("passing", passing, subject=beside, place=seen)
    yield slot("passing_colour", colours, passing=coloured)
    yield slot(
        "further",
        further,
        subject=beside,
        place=seen,
        passing=lambda one, other: another(one, other) and one.within(tree["before_further"]),
    )
    yield slot("further_colour", colours, further=coloured)
    yield slot("mention", topics, topic=lambda topic, one: topic.value.name != one)


# --- words ----------------------------------------------------------------------------------------


class _Template:
    """A text around the names of facts. It fits facts of which it has all, and no others."""

    def __init__(self, text: str) -> None:
        self.pieces = [piece for piece in _PIECE.split(text) if piece]
        marks = re.findall(r"\{(\w+)[:}]", text)
        self.all = frozenset(marks)
        self.required = frozenset(re.findall(r"\{(\w+)[:}]", re.sub(r"\[.*?\]", "", text)))

    def fits(self, facts: frozenset[str]) -> bool:
        return self.required <= facts <= self.all


class Speaker:
    """Puts facts into captions and queries of a language. `choose` deals synonyms and templates."""

    def __init__(self, known: CaptionDomain, language: str) -> None:
        self._known, self._language = known, language
        self._words = known.wordings[language]
        self._captions, self._passing, self._queries = (
            list(map(_Template, self._words[key])) for key in ("captions", "passing", "queries")
        )
        every = (*self._captions, *self._passing, *self._queries)
        self._spoken = frozenset().union(*(one.all for one in every))

    def caption(self, facts: Facts, choose: Choose) -> str:
        """One or two sentences that say all of a scene, and nothing else."""
        named = self._spoken.intersection(facts)
        text = self._chosen(self._captions, named - _PASSING, facts, choose)
        if seen := named & _PASSING:
            text += self._chosen(self._passing, seen, facts, choose)
        sentences = f"{text}{self._words['stop']}".split(". ")
        return self._grammar(". ".join(map(capital, sentences)))

    def query(self, asked: Facts, choose: Choose) -> str:
        """A short phrase that asks for it."""
        named = self._spoken.intersection(asked)
        fits = next(one for one in self._queries if one.fits(named))
        return self._grammar(self._filled(fits.pieces, asked, choose))

    def _grammar(self, text: str) -> str:
        return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)

    def _chosen(
        self, templates: Sequence[_Template], named: frozenset[str], facts: Facts, choose: Choose
    ) -> str:
        fits = [one for one in templates if one.fits(named)]
        return self._filled(fits[choose(len(fits))].pieces, facts, choose)

    def _filled(self, pieces: Sequence[str], facts: Facts, choose: Choose) -> str:
        text = ""
        for piece in pieces:
            if piece[0] == "[":
                inner = _PIECE.split(piece[1:-1])
                if all(one[1:-1].partition(":")[0] in facts for one in inner[1::2]):
                    text += self._filled([one for one in inner if one], facts, choose)
            elif piece[0] == "{":
                text += self._word(piece[1:-1], facts, choose)
            else:
                text += piece
        return text

    def _word(self, mark: str, facts: Facts, choose: Choose) -> str:
        if "|" in mark:
            return mark.split("|")[facts["number"] != "1"]
        slot, _, form = mark.partition(":")
        concept = self._known.concepts[facts[slot]]
        names = concept.names[self._language]
        name = names[choose(len(names))]
        if form in ("n", "a") and slot in ("subject", "thing"):
            form = facts.get("number", "bare" if form == "n" else form)
        forms = self._words.get(concept.part, {}).get(len(name), {})
        colour = facts.get(_COLOURS.get(slot, ""))
        if colour:
            which = self._known.colours[colour][self._language == "zh"]
            colour = self._words["colour"].format(which)
        said: str = forms.get(form or "bare", "{0}").format(*name, colour=colour or "")
        return said
