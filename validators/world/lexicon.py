"""The words of a domain: whole phrases, in which every word of a clause stands.

A lexicon (`lexicons/DOMAIN.yaml`, or `my_domain.lexicon.yaml` beside a domain of one's own) lists
for each slot `phrases`, and what the slot is called: `nouns` ("setting"), `events` ("birth").

    "{S} <be> (set|staged) in {v}"      It is set in Turin. / films set in Turin
    "{P} story [also] unfolds in {v}"   Its story unfolds in Turin. / whose story unfolds in Turin

`{S}`, `{P}`, `{O}` are the entity, its possessive and its object, `{v}` the value, `{n}` a number
whose unit follows, `{in}` a year or day with its preposition; `(a|b)` is either, `[a]` may be left
out, `<name>` is one of `macros`. Other orders of a clause (clefts, fronted parts) are undone in
sentences, and stand in no phrase. `free` lists whole sentences that state no fact, `leads` what may
stand before a clause and adds nothing to it ("as for the music ,").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from retgen.validators.world.automaton import Automaton, Choice, Node
from retgen.validators.world.definitions import BadDefinition, Definition, SlotDefinition
from retgen.validators.world.mentions import SELF, MentionFinder
from retgen.yaml_text import read_yaml

_BUNDLED = Path(__file__).parent / "lexicons"
_TOKEN = re.compile(r"\{\w+\}|<\w+>|[()\[\]|]|[^\s()\[\]|<>{}]+")
_MARKS = ("{S}", "{P}", "{O}", "{v}", "{n}", "{in}")
_MACROS = {
    "be": "(is|was|are|were|[has|had|have] been)",
    "has": "(has|had|have|having)",
    "came": "(came|comes|fell|falls|took place|takes place|happened|occurred|<be>)",
}
_KEYS = ("nouns", "events", "phrases", "most", "least", "longest", "shortest")
_LISTS = ("free", "leads", "others")
_WHEN = {"year": "year", "date": "(day|date)"}


class Lexicon(NamedTuple):
    """What reads the clauses of a domain. Outputs of `documents` and `queries` are slots.

    `documents` reads clauses with a subject, `free` sentences that state nothing, `leads` what adds
    nothing to a clause, `queries` conditions.
    `others`: nouns of those who share its slots; `superlatives`: outputs (slot, "most" or "least"),
    of what stands behind "the"; `adjectives`: those that stand before the noun of an entity.
    """

    documents: Automaton
    free: Automaton
    leads: Automaton
    queries: Automaton
    others: Automaton
    superlatives: Automaton
    adjectives: Automaton


def own_lexicon(domain: Path) -> Path:
    """Where the lexicon for a domain's file stands that is not bundled."""
    return domain.with_suffix(".lexicon.yaml")


def read_lexicon(domain: Definition, beside: Path) -> Lexicon:
    """The lexicon of a domain: in a file beside its own, or the bundled one of its name.

    `beside`: the domain's file. Raises `BadDefinition`, which names every slot without phrases.
    """
    own = own_lexicon(beside)
    path = own if own.is_file() else _BUNDLED / f"{domain.domain}.yaml"
    raw: Any = read_yaml(path, error=BadDefinition) if path.is_file() else {"slots": {}}
    if wrong := list(_unknown(raw, domain)):
        raise BadDefinition(f"{path}: {'; '.join(wrong)}")
    given = raw["slots"]
    read = ("phrases", "nouns", "events")
    lacking = [
        name for name in domain.slots if not any((given.get(name) or {}).get(key) for key in read)
    ]
    if lacking:
        raise BadDefinition(
            f"domain {domain.domain} has no phrases for {', '.join(lacking)}: the proof cannot "
            f"read them. They belong into {own.name}; `gen world lexicon` writes one to start from"
        )
    try:
        lexicon = _compiled(domain, raw)
    except ValueError as error:
        raise BadDefinition(f"{path}: {error}") from error
    if path.parent != _BUNDLED:
        for slots, said in lexicon_conflicts(domain, lexicon):
            raise BadDefinition(f"{path}: {said!r} reads as {' and as '.join(slots)}")
    return lexicon


def lexicon_conflicts(domain: Definition, lexicon: Lexicon) -> Iterator[tuple[list[str], str]]:
    """(slots, words) of what a lexicon reads as several slots, whose values do not say which."""
    for automaton, parents in ((lexicon.documents, False), (lexicon.queries, True)):
        for slots, said in automaton.conflicts(MentionFinder(domain, parents).kinds()):
            yield sorted(map(str, slots)), said


def lexicon_template(domain: Definition) -> str:
    """A lexicon to start from, in YAML: each slot under its name, with what it is about."""
    lines = [
        f"# {domain.domain}.lexicon.yaml: whole phrases by which the proof reads each slot; every "
        "word counts.",
        "# {S} the entity, {P} its possessive, {O} its object, {v} the value, {in} a year or day "
        "with its preposition;",
        "# (a|b) either, [a] may be left out, <be> is|was|are|were, <has> has|had.",
        "# most, least: what queries call the largest and smallest value; longest, shortest: words "
        "before the noun.",
        "# free: whole sentences that state no fact; leads: what stands before a clause and adds "
        "nothing.",
    ]
    listed = {"free": domain.free, "leads": [f"{one} ," for one in domain.leads]}
    for key, said in listed.items():
        lines += [f"{key}:", *(f'  - "{one}"' for one in dict.fromkeys(said))] if said else []
    lines.append("slots:")
    for name, slot in domain.slots.items():
        about = slot.about or f"the {name} of the {domain.singular}"
        unit = f", in {slot.unit[-1]}" if slot.unit and slot.unit[-1] else ""
        value = "{in}" if slot.type in _WHEN else "in {v}" if slot.type == "place" else "{v}"
        noun = name.replace("_", " ")
        lines += [
            f"  {name}:  # {slot.type}{unit}: {about}",
            f"    nouns: [{noun}]",
            f'    phrases: []  # - "{{S}} ... {value}"',
        ]
        if slot.type in (*_WHEN, "number"):
            most, least = ("latest", "earliest") if slot.type in _WHEN else ("highest", "lowest")
            lines += [f"    most: [{most} {noun}]", f"    least: [{least} {noun}]"]
    return "\n".join(lines) + "\n"


def _unknown(raw: Any, domain: Definition) -> Iterator[str]:
    """What means nothing, and would be left out without a word."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("slots"), Mapping):
        yield "holds no lexicon: it needs 'slots', each with phrases"
        return
    yield from (f"unknown key {key!r}" for key in raw if key not in (*_LISTS, "macros", "slots"))
    macros = raw.get("macros") or {}
    if not isinstance(macros, Mapping) or not all(isinstance(one, str) for one in macros.values()):
        yield "macros must be a mapping of names to phrases"
    for key in _LISTS:
        yield from _no_phrases(key, raw.get(key) or [])
    for name, given in raw["slots"].items():
        if name not in domain.slots:
            yield f"slots: domain {domain.domain} has no slot {name!r}"
        elif not isinstance(given, Mapping):
            yield f"slots.{name} must hold lists: {', '.join(_KEYS)}"
        else:
            for key, listed in given.items():
                if key not in _KEYS:
                    yield f"slots.{name}: unknown key {key!r}"
                yield from _no_phrases(f"slots.{name}.{key}", listed or [])


def _no_phrases(key: str, listed: object) -> Iterator[str]:
    if not isinstance(listed, list):
        yield f"{key} must be a list of phrases"
    else:
        yield from (f"{key}: {x!r} is no phrase" for x in listed if not isinstance(x, str) or not x)


def _compiled(domain: Definition, raw: Mapping[str, Any]) -> Lexicon:
    """The phrases of a lexicon as automata. Raises `ValueError` for what is no phrase."""
    macros = {**_MACROS, **(raw.get("macros") or {})}
    result = Lexicon(*(Automaton() for _ in Lexicon._fields))
    for text in raw.get("free") or ():
        result.free.add(_filled(phrase_nodes(text, macros), _TEXT_MARKS), True)
    for text in raw.get("leads") or ():
        result.leads.add(phrase_nodes(text, macros), True)
    for text in raw.get("others") or ():
        result.others.add(phrase_nodes(text, macros), "other")
    for name, given in raw["slots"].items():
        slot = domain.slots[name]
        marks = _value_marks(slot, domain.singular)
        for text in (*(given.get("phrases") or ()), *_frames(slot, given)):
            phrase = phrase_nodes(text, macros)
            result.documents.add(_filled(phrase, _TEXT_MARKS | marks), name)
            for form in _conditions(phrase):
                result.queries.add(_filled(form, _QUERY_MARKS | marks), name)
        for key, automaton, way in (
            ("most", result.superlatives, "most"),
            ("longest", result.adjectives, "most"),
            ("least", result.superlatives, "least"),
            ("shortest", result.adjectives, "least"),
        ):
            for text in given.get(key) or ():
                automaton.add(phrase_nodes(text, macros), (name, way))
    return result


def _frames(slot: SlotDefinition, given: Mapping[str, Any]) -> Iterator[str]:
    """The phrases that a slot's nouns and events give."""
    at = {"place": "[in]", "year": "[in]", "date": "[on]"}.get(slot.type, "")
    for noun in given.get("nouns") or ():
        yield f"{{P}} {noun} <be> {at} {{v}}"
        yield f"the {noun} of {{O}} <be> {at} {{v}}"
        yield f"{{v}} <be> {{P}} {noun}"
        yield f"{{v}} <be> the {noun} of {{O}}"
        yield f"{{S}} <has> {{v}} (as|for) [{{P}}|a|an|the] {noun}"
        yield f"{{S}} <has> [a|an|the] {noun} (of|in) {{v}}"
    for event in given.get("events") or ():
        kind = _WHEN.get(slot.type, "(place|city|town|scene)")
        how = "<came> {in}" if slot.type in _WHEN else "(<be>|took place|happened) in {v}"
        yield f"{{P}} {event} {how}"
        yield f"the {event} of {{O}} {how}"
        yield f"{{P}} {kind} of {event} <be> {at} {{v}}"
        yield f"the {kind} of {{P}} {event} <be> {{v}}"
        yield f"{{v}} <be> the {kind} of {{P}} {event}"
        yield f"{{v}} <be> {{P}} {kind} of {event}"
        yield f"{{v}} saw {{P}} {event}"


def _value_marks(slot: SlotDefinition, singular: str) -> dict[str, list[Node]]:
    value = f"={slot.name}"
    if slot.type in _WHEN:
        value = f"[the] [year] {value}"
    if slot.type == "place":
        value = f"[the (city|town) of] {value}"
    if slot.type == "relation":
        value = f"[(the|an) earlier {singular} [,]] {value}"
    timed = f"((in|on|during) {value}|~{slot.name})"
    return _marks({"{v}": value, "{n}": f"#{slot.name}", "{in}": timed})


def _filled(nodes: Sequence[Node], marks: Mapping[str, list[Node]]) -> list[Node]:
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, str):
            result += marks.get(node, _THEIR if node in ("its", "his", "her") else [node])
        else:
            result.append(Choice([_filled(one, marks) for one in node.choices]))
    return result


def phrase_nodes(text: str, macros: Mapping[str, str]) -> list[Node]:
    """The nodes of a phrase. Raises `ValueError`."""
    nodes, rest = _sequence(_TOKEN.findall(text), text, macros)
    if rest:
        raise ValueError(f"{text!r} has a {rest[0]!r} too many")
    return nodes


def _sequence(
    tokens: list[str], text: str, macros: Mapping[str, str]
) -> tuple[list[Node], list[str]]:
    nodes: list[Node] = []
    while tokens:
        token, *rest = tokens
        if token in ")]|":
            break
        if token in "([":
            choices: list[list[Node]] = [] if token == "(" else [[]]
            tokens = tokens[:1] + rest
            while True:
                one, after = _sequence(tokens[1:], text, macros)
                choices.append(one)
                if not after:
                    raise ValueError(f"{text!r} lacks a closing {token!r}")
                tokens = after
                if after[0] != "|":
                    break
            if tokens[0] != (")" if token == "(" else "]"):
                raise ValueError(f"{text!r} closes {token!r} with {tokens[0]!r}")
            nodes.append(Choice(choices))
            rest = tokens[1:]
        elif token[0] == "{":
            if token not in _MARKS:
                raise ValueError(f"{text!r} holds {token}; known are {', '.join(_MARKS)}")
            nodes.append(token)
        elif token == SELF:
            nodes.append(token)
        elif token[0] == "<":
            if token[1:-1] not in macros:
                raise ValueError(f"{text!r} holds {token}, which no macro is named")
            nodes += phrase_nodes(macros[token[1:-1]], macros)
        else:
            *first, last = re.findall(r"['’]s\b|[,:;]|[^,:;]+?(?=['’]s\b|[,:;]|$)", token.lower())
            nodes += [*first, last]
        tokens = rest
    return nodes, tokens


def _conditions(phrase: list[Node]) -> Iterator[list[Node]]:
    """A phrase as a relative clause, whole or reduced: "that is set in", "set in"."""
    first, *rest = phrase
    if "{O}" in phrase and first != "{S}":  # "that a smuggler directed"
        at = phrase.index("{O}")
        yield [*_WHICH, *_filled([*phrase[:at], *phrase[at + 1 :]], {"{P}": _THEIR})]
    if first == "{P}":
        yield phrase
    elif first == "{S}":
        yield [Choice([[], ["{S}"]]), *rest] if len(rest) > 1 else phrase
        if not isinstance(rest[0], str):
            if ["is"] in rest[0].choices and len(rest) > 2:
                yield rest[1:]
            if ["has"] in rest[0].choices:
                yield ["with", *rest[1:]]
    elif first == "{v}" and "{P}" in phrase:
        at = phrase.index("{P}")
        yield ["{P}", *phrase[at + 1 :], "{v}", *phrase[1:at]]


def _marks(texts: Mapping[str, str]) -> dict[str, list[Node]]:
    return {mark: phrase_nodes(text, {}) for mark, text in texts.items()}


_THEIR = phrase_nodes("(its|his|her|their)", {})
_WHICH = phrase_nodes("[that|which|whom|who]", {})
_TEXT_MARKS = _marks(
    {
        "{S}": f"({SELF}|it|he|she)",
        "{P}": f"({SELF} 's|its|his|her|the)",
        "{O}": f"({SELF}|it|him|her)",
    }
)
_QUERY_MARKS = _marks(
    {
        "{S}": "(that|who|which)",
        "{P}": "whose",
        "{O}": "(it|them|him|her|that|which|whom|who)",
    }
)
