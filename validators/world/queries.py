"""Reads queries to expressions, every word of them.

    query      [intro] set
    set        noun conditions [without] | either ... or ... | at least k of ... | the k with ...
    condition  a relative clause of the lexicon, whole or reduced, or a value that goes on with it

A query with two readings that differ is an error, as one without any, which names the word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from retgen.validators.world.automaton import Automaton
from retgen.validators.world.definitions import Definition, read_definition
from retgen.validators.world.lexicon import Lexicon, own_lexicon, phrase_nodes, read_lexicon
from retgen.validators.world.mentions import NUMBER_WORDS, TOKEN, Item, Mention, MentionFinder
from retgen.validators.world.quantities import FIGURES, OR_MORE, conditions
from retgen.validators.world.reader import DocumentReader, word_at

Expression = list[Any]
Way = tuple[int, Any]  # where it ends, what it says

_INTRO = (
    "[please] (find|list|name|show|give|get|identify|retrieve|select|pick|search for|look for) [me|us] [out]",
    "[(i|we) (am|are|'m) | i ' m | we ' re] (looking|searching) for",
    "(i|we) (need|want|seek|would like|would like to see|wish to find|am interested in|am after|are after)",
    "i ' d like", "(is|are|was|were) there", "what (i|we) (want|need) (is|are)", "it must be", "seeking",
    "(can|could) you (find|show|name|give|list) [me|us]", "do you (know|have) [of|about]",
    "(who|what|which) (is|are|was|were)", "tell me [of|about]", "(i|we) (am|are) interested in", "wanted :",
)  # fmt: skip
_EACH = "(every|each|all [the|of the]|any|a|an|the|some|which|what|those|another|only)"
_WITHOUT = (
    "[,] (leaving|leave) out", "[,] (except|except for|excepting|excluding|but not|though not|without|apart from|"
    "other than|save for|omitting|ignoring|skipping|barring|minus|with the exception of|not counting|but no|and not|not)",
)  # fmt: skip
_FITS = "(that|who|which) (fit|fits|match|matches|meet|meets|satisfy|satisfies) "
_THESE = "of (these|the|the following|those|the following list of) "
_OF = "[<n>] (descriptions|conditions|criteria|statements|properties|requirements|features|things|following)"
_TAKE = "(take|consider|look at|(i am|i ' m) interested in|start from|think of)"
_NAME = "(, (and|then) | . | ; of (these|those) , | : | , | ; | and)"
_GIVE = "(name|find|give me|show me|list|pick|tell me|i want|which|return)"
_WITH = "(with|has|have|had|having|that has|that have|who has|who have)"
_NOT = frozenset(("not", "never"))
_BE = frozenset("is was are were has have had been".split())
_DO = frozenset(("does", "do", "did"))
_SHORT = {
    f"{verb}n{mark}t": verb
    for verb in "is was are were has have had does do did".split() for mark in "'\u2019"
}  # fmt: skip
_PREPOSITIONS = frozenset("in on at of to by with for from as into".split())
_JOINTS = {
    **dict.fromkeys(
        (
            ("and",),
            (",", "and"),
            ("and", "also"),
            (",", "and", "also"),
            ("but",),
            (",", "but"),
            ("as", "well", "as"),
            ("plus",),
        ),
        "and",
    ),
    **dict.fromkeys((("or",), (",", "or"), ("or", "else"), (",", "or", "else")), "or"),
    (",",): "",
    (): "and",
}
_RELATIVES = (["that"], ["who"], ["whose"], ["which"], ["with"])  # fmt: skip


class UnreadableQuery(Exception):
    """Why a query cannot be read."""


class _Condition(NamedTuple):
    """A condition. `slot`: of a value that may go on alone; `join`: what stands before it."""

    expression: Expression
    negated: bool
    slot: str
    join: str = ""


class QueryReader:
    """Reads queries of a domain."""

    def __init__(self, domain: Definition, lexicon: Lexicon) -> None:
        self.domain, self.lexicon = domain, lexicon
        self._finder = MentionFinder(domain, parents=True)
        single = {domain.singular, *(noun.split()[-1] for noun in domain.nouns)}
        many = {domain.plural, *(f"{noun}s" for noun in single)}
        if domain.singular == "person":
            many |= {"persons"}
        self._nouns = (
            single | many | {"one", "ones", "somebody", "someone", "anybody", "anyone", "those"}
        )
        self.frames = _Frames(self._nouns)

    def query(self, text: str) -> Expression:
        """The expression. Raises `UnreadableQuery`."""
        text = OR_MORE.sub(lambda m: f"at {'least' if m[2] == 'more' else 'most'} {m[1]} ", text)
        tokens = TOKEN.findall(FIGURES.sub(r"\1 to \2", text))
        while tokens and tokens[-1] in ".?!":
            tokens.pop()
        items = conditions(self._finder.find_mentions(tokens), self.domain)
        return _Parse(self, _split_denials(items)).expression()


def _split_denials(items: Sequence[Item]) -> list[Item]:
    """The items with "isn't" as "is not"."""
    result: list[Item] = []
    for item in items:
        result += [_SHORT[item], "not"] if isinstance(item, str) and item in _SHORT else [item]
    return result


class _Frames:
    """The words around conditions."""

    def __init__(self, nouns: set[str]) -> None:
        def automaton(*phrases: str) -> Automaton:
            result = Automaton()
            for phrase in phrases:
                result.add(phrase_nodes(phrase.replace("<n>", "\x00"), {}), True)
            return result

        noun = f"({'|'.join(sorted(nouns))})"
        self.intro = automaton(*_INTRO)
        self.noun = automaton(f"[{_EACH[1:-1]}] {noun}", *("somebody", "someone", "something"))
        self.bare_noun = automaton(noun)
        self.other_noun = automaton(
            f"(a|an|the|another|some) [earlier|older|previous] {noun}",
            "(somebody|someone|something)",
        )
        self.without = automaton(
            *(
                f"{one} [any|one|all|every|those|each|anything] [{'|'.join(sorted(nouns))}]"
                for one in _WITHOUT
            )
        )
        self.fits = automaton(_FITS)
        self.these = automaton(_THESE)
        self.listed = automaton(
            "[descriptions|conditions|criteria|statements|properties|requirements|features|things] :"
        )
        self.take = automaton(_TAKE)
        self.name = automaton(f"{_NAME} [{_GIVE[1:-1]}]")
        self.with_ = automaton(_WITH)


class _Parse:
    """The ways in which all words of a query make an expression."""

    def __init__(self, reader: QueryReader, items: list[Item]) -> None:
        self._items, self._lexicon, self._frames = items, reader.lexicon, reader.frames
        self._relations = reader.domain.of_type("relation")
        self._furthest = 0
        self._problem = ""
        self._known: dict[tuple[str, int], list[Way]] = {}

    def expression(self) -> Expression:
        """The only reading."""
        end = len(self._items)
        if not any(isinstance(item, Mention) for item in self._items) and not self._lists():
            raise UnreadableQuery("it asks for nothing")
        found: list[Expression] = []
        for start in (0, *self._ends(self._frames.intro, 0)):
            for stop, expression in self._set(start):
                if stop == end and expression not in found:
                    found.append(expression)
        if len(found) == 1:
            return found[0]
        if found:
            raise UnreadableQuery(f"it reads as {' and as '.join(map(str, found))}")
        raise UnreadableQuery(self._problem or self._left_over())

    def _lists(self) -> bool:
        return False

    def _left_over(self) -> str:
        known = (
            self._lexicon.queries.words
            | self._lexicon.superlatives.words
            | self._lexicon.adjectives.words
        )
        frames = set().union(*(one.words for one in vars(self._frames).values()))
        for item in self._items:
            if isinstance(item, str) and item not in known | frames and item not in _OTHER_WORDS:
                return f"no phrase holds {item!r}"
        if self._furthest >= len(self._items):
            return "it breaks off"
        return f"no phrase goes on with {word_at(self._items, self._furthest)!r}"

    # --- automata ---------------------------------------------------------------------------

    def _ends(self, automaton: Automaton, i: int) -> list[int]:
        """Where phrases end that begin at a place."""
        state, result = automaton.start(), []
        for k in range(i, len(self._items)):
            self._furthest = max(self._furthest, k)
            state = automaton.step(state, self._items[k])
            if state < 0:
                return result
            if automaton.outputs(state):
                result.append(k + 1)
        self._furthest = len(self._items)
        return result

    def _chain(self, i: int, *automata: Automaton) -> list[int]:
        """Where a phrase of each, one behind the other, ends."""
        ends = [i]
        for one in automata:
            ends = [stop for end in ends for stop in self._ends(one, end)]
        return list(dict.fromkeys(ends))

    # --- sets -------------------------------------------------------------------------------

    def _set(self, i: int) -> Iterator[Way]:
        yield from self._plain(i)
        yield from self._either(i)
        yield from self._several(i)
        yield from self._extreme(i)

    def _plain(self, i: int) -> Iterator[Way]:
        """ "every film that ..., leaving out any that ..." """
        for start in (i, *self._ends(self._frames.noun, i)):
            for end, wanted in self._boolean(start):
                yield end, wanted

    def _boolean(self, i: int) -> Iterator[Way]:
        """Conditions, and those that must not be met."""
        for end, parts in self._conditions(i):
            unwanted = (
                [_in_order([one for one in parts if one.negated])]
                if any(one.negated for one in parts)
                else []
            )
            wanted = _in_order([one for one in parts if not one.negated])
            if not wanted:
                if end == len(self._items):
                    self._problem = "it says only what is not asked for"
                continue
            yield end, _but_not(wanted, unwanted)
            for start in self._ends(self._frames.without, end):
                for stop, dropped in self._conditions(start, parts[-1].slot):
                    if not any(one.negated for one in dropped):
                        yield stop, _but_not(wanted, [*unwanted, _in_order(dropped)])

    def _either(self, i: int) -> Iterator[Way]:
        """ "either a film ... or a film ...", "a film ..., or else a film ..." """
        begin = i + 1 if self._items[i : i + 1] == ["either"] else i
        for start in self._ends(self._frames.noun, begin):
            for end, first in self._boolean(start):
                for joint, word in _JOINTS.items():
                    stop = end + len(joint)
                    if word == "or" and tuple(self._items[end:stop]) == joint:
                        for second_start in self._ends(self._frames.noun, stop):
                            for last, second in self._boolean(second_start):
                                yield last, ["or", first, second]

    def _several(self, i: int) -> Iterator[Way]:
        """ "every film that fits at least two of these three descriptions: ..." """
        nouns = [i, *self._ends(self._frames.noun, i)]
        for start in [i, *(stop for noun in nouns for stop in self._ends(self._frames.fits, noun))]:
            for place, k in self._at_least(start):
                for these in self._ends(self._frames.these, place):
                    for counted, n in self._count(these):
                        for end in self._ends(self._frames.listed, counted):
                            yield from self._listed(end, k, n)
                        for stop in self._must_fit(counted):
                            yield from self._listed(stop, k, n)

    def _must_fit(self, i: int) -> list[int]:
        """ "descriptions must fit the film:" """
        if isinstance(self._items[i] if i < len(self._items) else 0, str) and self._items[
            i + 1 : i + 3
        ] in (["must", "fit"], ["must", "match"]):
            return [
                stop + 1
                for stop in self._ends(self._frames.noun, i + 3)
                if self._items[stop : stop + 1] == [":"]
            ]
        return []

    def _at_least(self, i: int) -> Iterator[Way]:
        for begin in (
            ("at", "least"),
            ("no", "fewer", "than"),
            ("no", "less", "than"),
            ("a", "minimum", "of"),
            (),
        ):
            stop = i + len(begin)
            if tuple(self._items[i:stop]) == begin:
                for end, k in self._count(stop):
                    if begin:
                        yield end, k
                    elif self._items[end : end + 2] == ["or", "more"]:
                        yield end + 2, k
        item = self._items[i] if i < len(self._items) else ""
        if isinstance(item, Mention) and item.text.startswith(">= ") and item.text[3:].isdecimal():
            yield i + 1, int(item.text[3:])

    def _count(self, i: int) -> Iterator[Way]:
        """A number of results or conditions."""
        item = self._items[i] if i < len(self._items) else ""
        if isinstance(item, str):
            if item in NUMBER_WORDS:
                yield i + 1, NUMBER_WORDS[item]
        elif item.kind in ("number", "year") and item.text.replace(",", "").isdecimal():
            yield i + 1, int(item.text.replace(",", ""))

    def _listed(self, i: int, k: int, n: int) -> Iterator[Way]:
        """Conditions that are set apart by semicolons."""
        parts: list[Expression] = []
        while True:
            start = next(iter(self._ends(self._frames.noun, i)), i)
            ways = [(end, held[0]) for end, held in self._conditions(start) if len(held) == 1]
            stops = [
                (end, one)
                for end, one in ways
                if end == len(self._items) or self._items[end] == ";"
            ]
            if len(stops) != 1 or stops[0][1].negated:
                return
            end, one = stops[0]
            parts.append(one.expression)
            if end == len(self._items):
                break
            i = end + 1
        if len(parts) != n:
            self._problem = f"it names {len(parts)} conditions, not {n}"
        elif k <= n:
            yield end, ["at least", k, *parts]

    def _extreme(self, i: int) -> Iterator[Way]:
        """The k with the most or least of a slot."""
        items = self._items
        for start in self._ends(
            self._frames.take, i
        ):  # "take every film ..., and name the one with ..."
            for end, of in self._plain(start):
                for name in self._ends(self._frames.name, end):
                    for stop, (k, slot, way) in self._best(name):
                        yield stop, [way, k, slot, of]
        if items[i : i + 1] == ["of"]:  # "of the films ..., the 10 with ..."
            for end, of in self._plain(i + 1):
                for stop, (k, slot, way) in self._best(end + (items[end : end + 1] == [","])):
                    yield stop, [way, k, slot, of]
        for start in self._ends(self._frames.noun, i):  # "which film ... has the lowest budget"
            for end, of in self._boolean(start):
                for stop, (k, slot, way) in self._best(end):
                    yield stop, [way, k, slot, of]
            for stop, (k, slot, way) in self._best(start):  # "the film with the ... that ..."
                for end, of in self._boolean(stop):
                    yield end, [way, k, slot, of]
        the = i + (items[i : i + 1] in (["the"], ["which"], ["what"]))
        for counted, k in ((the, 1), *self._count(the)):  # "the five longest films ..."
            for end, (slot, way) in self._outputs(self._lexicon.adjectives, counted):
                for start in self._ends(self._frames.bare_noun, end):
                    for stop, of in self._boolean(start):
                        yield stop, [way, k, slot, of]

    def _best(self, i: int) -> Iterator[Way]:
        """ "the 10 with the latest release"; (k, slot, "most" or "least")."""
        start = i + (self._items[i : i + 1] == ["the"])
        for end, k in ((start, 1), *self._count(start)):
            for noun in (end, *self._ends(self._frames.bare_noun, end)):
                for held in self._ends(self._frames.with_, noun):
                    stop = held + (self._items[held : held + 1] == ["the"])
                    for last, (slot, way) in self._outputs(self._lexicon.superlatives, stop):
                        yield last, (k, slot, way)

    def _outputs(self, automaton: Automaton, i: int) -> list[Way]:
        state, result = automaton.start(), []
        for k in range(i, len(self._items)):
            self._furthest = max(self._furthest, k)
            state = automaton.step(state, self._items[k])
            if state < 0:
                break
            result += [(k + 1, one) for one in automaton.outputs(state)]
        return result

    # --- conditions -------------------------------------------------------------------------

    def _conditions(self, i: int, slot: str = "") -> list[tuple[int, list[_Condition]]]:
        """Ways to read conditions that are joined. `slot`: of a value that may begin them."""
        key = (slot, i)
        if key not in self._known:
            self._known[key] = []  # no condition begins with itself
            self._known[key] = list(self._joined(i, slot))
        return self._known[key]

    def _joined(self, i: int, slot: str) -> Iterator[tuple[int, list[_Condition]]]:
        firsts = [*self._condition(i), *(self._value(i, slot) if slot else ())]
        for end, first in firsts:
            yield end, [first]
            for joint, word in _JOINTS.items():
                stop = end + len(joint)
                follows = self._items[end : end + 1]
                if tuple(self._items[end:stop]) == joint and (joint or follows in _RELATIVES):
                    for last, others in self._conditions(stop, first.slot if joint else ""):
                        yield last, [first, others[0]._replace(join=word), *others[1:]]

    def _value(self, i: int, slot: str) -> Iterator[tuple[int, _Condition]]:
        """A value that goes on with the words of another one: "set in Oslo or in Turin"."""
        begin = i + (
            isinstance(self._items[i] if i < len(self._items) else 0, str)
            and self._items[i] in _PREPOSITIONS
        )
        item = self._items[begin] if begin < len(self._items) else ""
        if isinstance(item, Mention) and slot in item.slots:
            yield begin + 1, _Condition(item.slots[slot], False, slot)

    def _condition(self, i: int) -> Iterator[tuple[int, _Condition]]:
        """A clause of the lexicon, denied or not."""
        skips = [(0, 0)]
        for k in range(i, min(i + 4, len(self._items))):
            if self._items[k] in _NOT:
                skips.append((k - 1, k + 1) if k > i and self._items[k - 1] in _DO else (k, k + 1))
                break
        for skip in skips:
            yield from self._clause(i, skip)

    def _clause(self, i: int, skip: tuple[int, int]) -> Iterator[tuple[int, _Condition]]:
        automaton = self._lexicon.queries
        state, value = automaton.start(), None
        k, negated = i, skip[1] > 0
        while k < len(self._items):
            if negated and k == skip[0]:
                k = skip[1]
                continue
            self._furthest = max(self._furthest, k)
            if not isinstance(value, Mention):
                yield from self._nested(state, k, negated)
            item = self._items[k]
            value = item if isinstance(item, Mention) else value
            state = automaton.step(state, item)
            if state < 0:
                return
            k += 1
            slots = automaton.outputs(state)
            if len(slots) > 1:
                self._problem = (
                    f"{self._said(i, k)!r} reads as {' and as '.join(sorted(map(str, slots)))}"
                )
            elif slots and isinstance(value, Mention):
                slot = str(next(iter(slots)))
                yield k, _Condition(value.slots[slot], negated, slot)
        self._furthest = len(self._items)

    def _nested(self, state: int, k: int, negated: bool) -> Iterator[tuple[int, _Condition]]:
        """Another entity in place of the name of the one meant: "a film that ..." """
        automaton = self._lexicon.queries
        for slot in self._relations:
            behind = automaton.step(state, Mention.of("name", "", {slot: None}))
            if behind >= 0 and slot in automaton.outputs(behind):
                for start in self._ends(self._frames.other_noun, k):
                    for end, of in self._boolean(start):
                        yield end, _Condition(["via", slot, of], negated, "")

    def _said(self, i: int, k: int) -> str:
        return " ".join(x if isinstance(x, str) else x.text for x in self._items[i:k])


_OTHER_WORDS = frozenset(
    {word for joint in _JOINTS for word in joint} | _NOT | _BE | _DO | NUMBER_WORDS.keys() | _PREPOSITIONS
    | set("either at least no fewer than less a minimum of the must fit match : ; , or more".split())
)  # fmt: skip


def _in_order(parts: Sequence[_Condition]) -> Expression:
    """Conditions as one expression; "and" binds before "or", a comma is what comes behind it."""
    if not parts:
        return []
    joins: list[str] = []
    word = "and"
    for one in reversed(parts):
        word = one.join or word
        joins.append(word)
    joins.reverse()
    groups: list[list[Expression]] = [[parts[0].expression]]
    for one, join in zip(parts[1:], joins[1:], strict=True):
        if join == "or":
            groups.append([])
        groups[-1].append(one.expression)
    return _joined("or", [_joined("and", group) for group in groups])


def _joined(word: str, parts: list[Expression]) -> Expression:
    return [word, *parts] if len(parts) > 1 else parts[0]


def _but_not(wanted: Expression, unwanted: list[Expression]) -> Expression:
    return ["and not", wanted, _joined("or", unwanted)] if unwanted else wanted


class DomainReaders(NamedTuple):
    """A domain, and what reads its documents and its queries."""

    domain: Definition
    documents: DocumentReader
    queries: QueryReader


def domain_readers(path: Path) -> DomainReaders:
    """The readers for a domain's file. Raises `BadDefinition`."""
    return _readers(path, _content(path), _content(own_lexicon(path)))


@lru_cache(maxsize=8)
def _readers(path: Path, definition: bytes, lexicon: bytes) -> DomainReaders:
    """Another content of a file is another key."""
    domain = read_definition(path)
    found = read_lexicon(domain, path)
    return DomainReaders(domain, DocumentReader(domain, found), QueryReader(domain, found))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # whoever reads it says what is wrong
