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
from retgen.validators.world.mentions import NUMBER_WORDS, Item, Mention, MentionFinder, tokens_of
from retgen.validators.world.quantities import FIGURES, OR_MORE, conditions
from retgen.validators.world.reader import DocumentReader, word_at

Expression = list[Any]

# the words around conditions; # is a number, <noun> what an entity is called
_OF = "of (these|the following|the) [#] (descriptions|conditions|criteria|statements|things|[])"
_FRAMES = {
    "intro": (
        "[please] (find|list|name|show|give|get|identify|search for|look for) [me|us]",
        "(i|we) (am|are) (looking|searching) for",
        "(is|are|was|were) there",
        "(i|we) (need|want|seek|would like|would like to see|am interested in|are interested in)",
        "what (i|we) (want|need) is",
        "it must be",
        "looking for",
        "do you (know|have) [of]",
        "(can|could) you (find|show|name|give) [me|us]",
        "(who|what|which) (is|are|was|were)",
    ),
    "noun": (
        "[every|each|all [the]|any|a|an|the|some|which|what|those|another|only] <noun>",
        "(somebody|someone|something|anybody|anyone)",
    ),
    "another": (
        "(a|an|another|some|an earlier|an older|the) <noun>",
        "(somebody|someone|something)",
    ),
    "kind": ("<noun>",),
    "without": (
        "[,] (leaving out|except|except for|excluding|but not|though not|without|apart from|other "
        "than|and not|not) [any|one|all|every|those|each] [<noun>]",
    ),
    "several": (
        "[[<each>] <noun> (that|who|which)] [that|who] (fit|fits|match|matches|meet|meets|satisfy|"
        "satisfies) ((at least|no fewer than|a minimum of) #|# or more) <of> :",
        "((at least|no fewer than|a minimum of) #|# or more) <of> :",
        "((at least|no fewer than) #|# or more) <of> must (fit|match|meet) [the|a|an] <noun> :",
    ),
    "taken": ("(take|consider|look at|interested in|i am interested in)",),
    "named": (
        "(, and|.|; of these ,|; of those ,|:|,|;|and) (name|find|give me|show me|list|which)",
        "(,|:|;)",
        "",
    ),
    "with": ("[the] [#] [<noun>] (with|has|have|had|having) [the]",),
    "ranked": ("[the|which] [#]",),
}
_EACH = "every|each|all|any|a|an|the|some|which|what"
_JOINTS = {
    **dict.fromkeys(
        (("and",), (",", "and"), ("and", "also"), (",", "and", "also"), ("but",), ()), "and"
    ),
    **dict.fromkeys((("or",), (",", "or"), ("or", "else"), (",", "or", "else")), "or"),
    (",",): "",
}
_RELATIVES = (["that"], ["who"], ["whose"], ["which"], ["with"])
_DENIALS = ("not", "never")
_AUXILIARIES = ("does", "do", "did")
_PREPOSITIONS = frozenset("in on at of to by with for from as into".split())
_SHORT = {
    f"{verb}n{mark}t": verb
    for verb in "is was are were has have had does do did".split()
    for mark in "'\u2019"
}


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
        nouns = {domain.singular, *(noun.split()[-1] for noun in domain.nouns)}
        nouns |= {domain.plural, *(f"{noun}s" for noun in nouns), "one", "ones", "those"}
        macros = {"noun": f"({'|'.join(sorted(nouns))})", "of": _OF, "each": f"({_EACH})"}
        self.frames: dict[str, Automaton] = {}
        for name, phrases in _FRAMES.items():
            self.frames[name] = Automaton()
            for phrase in phrases:
                self.frames[name].add(phrase_nodes(phrase, macros), True)
        automata = (
            *self.frames.values(),
            lexicon.queries,
            lexicon.superlatives,
            lexicon.adjectives,
        )
        self.words = set().union(*(one.words for one in automata), *_JOINTS, _DENIALS, _AUXILIARIES)
        self.words |= {"either", "of", *_PREPOSITIONS, *NUMBER_WORDS}

    def query(self, text: str) -> Expression:
        """The expression. Raises `UnreadableQuery`."""
        text = OR_MORE.sub(lambda m: f"at {'least' if m[2] == 'more' else 'most'} {m[1]} ", text)
        tokens = tokens_of(FIGURES.sub(r"\1 to \2", text))
        while tokens and tokens[-1] in ".?!":
            tokens.pop()
        items: list[Item] = []
        found = [one for *_, sentence in self._finder.sentences(tokens) for one in sentence]
        try:
            asked = conditions(found, self.domain)
        except (OverflowError, ValueError) as error:
            raise UnreadableQuery(f"it names a day that there is not: {error}") from error
        for item in asked:
            known = isinstance(item, str) and item in _SHORT
            items += [_SHORT[str(item)], "not"] if known else [item]
        return _Parse(self, items).expression()


class _Parse:
    """The ways in which all words of a query make an expression."""

    def __init__(self, reader: QueryReader, items: list[Item]) -> None:
        self._reader, self._items, self._lexicon = reader, items, reader.lexicon
        self._framed = ["#" if _count(item) else item for item in items]
        self._relations = reader.domain.of_type("relation")
        self._furthest = 0
        self._problem = ""
        self._known: dict[tuple[int, str], list[tuple[int, list[_Condition]]]] = {}

    def expression(self) -> Expression:
        """The only reading."""
        if not any(isinstance(item, Mention) for item in self._items):
            raise UnreadableQuery("it asks for nothing")
        found: list[Expression] = []
        for start in (0, *self._ends("intro", 0)):
            for stop, one in self._set(start):
                if stop == len(self._items) and one not in found:
                    found.append(one)
        if len(found) == 1:
            return found[0]
        if found:
            raise UnreadableQuery(f"it reads as {' and as '.join(map(str, found))}")
        raise UnreadableQuery(self._problem or self._left_over())

    def _left_over(self) -> str:
        for item in self._items:
            if isinstance(item, str) and item not in self._reader.words:
                return f"no phrase holds {item!r}"
        if self._furthest >= len(self._items):
            return "it breaks off"
        return f"no phrase goes on with {word_at(self._items, self._furthest)!r}"

    def _ends(self, frame: str, i: int) -> list[int]:
        """Where phrases of a frame end that begin at a place."""
        return [end for end, _ in self._outputs(self._reader.frames[frame], i, self._framed)]

    def _outputs(
        self, automaton: Automaton, i: int, items: Sequence[Item]
    ) -> Iterator[tuple[int, Any]]:
        """(end, output) of the phrases that begin at a place."""
        state = automaton.start()
        yield from ((i, one) for one in automaton.outputs(state))
        for k in range(i, len(items)):
            self._furthest = max(self._furthest, k)
            state = automaton.step(state, items[k])
            if state < 0:
                return
            yield from ((k + 1, one) for one in automaton.outputs(state))
        self._furthest = len(items)

    def _numbers(self, i: int, end: int) -> list[int]:
        return [number for item in self._items[i:end] if (number := _count(item))]

    # --- sets -------------------------------------------------------------------------------

    def _set(self, i: int) -> Iterator[tuple[int, Expression]]:
        for start in (i, *self._ends("noun", i)):  # "every film that ..., leaving out any ..."
            yield from self._boolean(start)
        yield from self._either(i + (self._items[i : i + 1] == ["either"]))
        for start in self._ends("several", i):  # "at least two of these three descriptions: ..."
            yield from self._listed(start, self._numbers(i, start))
        yield from self._extreme(i)

    def _boolean(self, i: int) -> Iterator[tuple[int, Expression]]:
        """Conditions, and those that must not be met."""
        for end, parts in self._conditions(i):
            unwanted = _in_order([one for one in parts if one.negated])
            wanted = _in_order([one for one in parts if not one.negated])
            if not wanted:
                if end == len(self._items):
                    self._problem = "it says only what is not asked for"
                continue
            yield end, _but_not(wanted, [unwanted])
            for start in self._ends("without", end):
                for stop, dropped in self._conditions(start, parts[-1].slot):
                    if not any(one.negated for one in dropped):
                        yield stop, _but_not(wanted, [unwanted, _in_order(dropped)])

    def _either(self, i: int) -> Iterator[tuple[int, Expression]]:
        """ "a film ... or a film ...", "a film ..., or else one ..." """
        for start in self._ends("noun", i):
            for end, first in self._boolean(start):
                for joint, word in _JOINTS.items():
                    stop = end + len(joint)
                    if word == "or" and tuple(self._items[end:stop]) == joint:
                        for begin in self._ends("noun", stop):
                            for last, second in self._boolean(begin):
                                yield last, ["or", first, second]

    def _listed(self, i: int, numbers: Sequence[int]) -> Iterator[tuple[int, Expression]]:
        """Conditions set apart by semicolons. `numbers`: at least how many, of how many."""
        parts: list[Expression] = []
        while True:
            start = next(iter(self._ends("noun", i)), i)
            ends = {
                end: held[0]
                for end, held in self._conditions(start)
                if len(held) == 1 and self._items[end : end + 1] in ([], [";"])
            }
            if len(ends) != 1:
                return
            ((end, one),) = ends.items()
            if one.negated:
                return
            parts.append(one.expression)
            if end == len(self._items):
                break
            i = end + 1
        k, *of = numbers
        if of and of[0] != len(parts):
            self._problem = f"it names {len(parts)} conditions, not {of[0]}"
        elif k <= len(parts):
            yield end, ["at least", k, *parts]

    def _extreme(self, i: int) -> Iterator[tuple[int, Expression]]:
        """The k with the most or least of a slot."""
        for take in (*self._ends("taken", i), i + (self._items[i : i + 1] == ["of"])):
            for start in self._ends("noun", take):  # "take every film ..., and name the one with"
                for end, of in self._boolean(start):
                    for name in self._ends("named", end):
                        for stop, rank in self._rank(name):
                            yield stop, [*rank, of]
                for stop, rank in self._rank(start):  # "the film with the latest release that ..."
                    for end, of in self._boolean(stop):
                        yield end, [*rank, of]
        for start in self._ends("ranked", i):  # "the five longest films ..."
            k = (*self._numbers(i, start), 1)[0]
            for end, (slot, way) in self._outputs(self._lexicon.adjectives, start, self._items):
                for noun in self._ends("kind", end):
                    for stop, of in self._boolean(noun):
                        yield stop, [way, k, slot, of]

    def _rank(self, i: int) -> Iterator[tuple[int, list[Any]]]:
        """ "the 10 with the latest release": an expression that lacks its end."""
        for start in self._ends("with", i):
            k = (*self._numbers(i, start), 1)[0]
            for end, (slot, way) in self._outputs(self._lexicon.superlatives, start, self._items):
                yield end, [way, k, slot]

    # --- conditions -------------------------------------------------------------------------

    def _conditions(self, i: int, slot: str = "") -> list[tuple[int, list[_Condition]]]:
        """Ways to read conditions that are joined. `slot`: of a value that may begin them."""
        if (i, slot) not in self._known:
            self._known[i, slot] = []  # no condition begins with itself
            self._known[i, slot] = list(self._joined(i, slot))
        return self._known[i, slot]

    def _joined(self, i: int, slot: str) -> Iterator[tuple[int, list[_Condition]]]:
        for end, first in (*self._condition(i), *self._value(i, slot)):
            yield end, [first]
            for joint, word in _JOINTS.items():
                stop = end + len(joint)
                follows = self._items[end : end + 1]
                if tuple(self._items[end:stop]) == joint and (joint or follows in _RELATIVES):
                    for last, others in self._conditions(stop, first.slot if joint else ""):
                        yield last, [first, others[0]._replace(join=word), *others[1:]]

    def _value(self, i: int, slot: str) -> Iterator[tuple[int, _Condition]]:
        """A value that goes on with the words of another one: "set in Oslo or in Turin"."""
        for item in self._items[i : i + 1]:
            begin = i + (isinstance(item, str) and item in _PREPOSITIONS)
            for value in self._items[begin : begin + 1]:
                if slot and isinstance(value, Mention) and slot in value.slots:
                    yield begin + 1, _Condition(value.slots[slot], False, slot)

    def _condition(self, i: int) -> Iterator[tuple[int, _Condition]]:
        """A clause of the lexicon, denied or not."""
        yield from self._clause(list(range(i, len(self._items))), negated=False)
        for k in range(i, min(i + 4, len(self._items))):
            if self._items[k] in _DENIALS:
                first = k - 1 if k > i and self._items[k - 1] in _AUXILIARIES else k
                rest = [*range(i, first), *range(k + 1, len(self._items))]
                yield from self._clause(rest, negated=True)
                return

    def _clause(self, order: Sequence[int], *, negated: bool) -> Iterator[tuple[int, _Condition]]:
        """Clauses of the lexicon with which some items begin."""
        automaton = self._lexicon.queries
        state, value = automaton.start(), None
        for count, k in enumerate(order):
            self._furthest = max(self._furthest, k)
            if value is None:
                yield from self._nested(state, k, negated)
            item = self._items[k]
            value = item if isinstance(item, Mention) else value
            state = automaton.step(state, item)
            if state < 0:
                return
            slots = automaton.outputs(state)
            if len(slots) > 1:
                said = " ".join(
                    x if isinstance(x, str) else x.text for x in self._items[order[0] : k + 1]
                )
                self._problem = f"{said!r} reads as {' and as '.join(sorted(map(str, slots)))}"
            elif slots and value is not None:
                slot = str(next(iter(slots)))
                yield order[count] + 1, _Condition(value.slots[slot], negated, slot)
        self._furthest = len(self._items)

    def _nested(self, state: int, k: int, negated: bool) -> Iterator[tuple[int, _Condition]]:
        """Another entity in place of the name of the one meant: "a film that ..." """
        automaton = self._lexicon.queries
        for slot in self._relations:
            behind = automaton.step(state, Mention.of("name", "", {slot: None}))
            if behind >= 0 and slot in automaton.outputs(behind):
                for start in self._ends("another", k):
                    for end, of in self._boolean(start):
                        yield end, _Condition(["via", slot, of], negated, "")


def _count(item: Item) -> int:
    """A number of results or conditions, 0 for what is none."""
    if isinstance(item, str):
        return 0 if item == "one" else NUMBER_WORDS.get(item, 0)
    plain = item.text.replace(",", "")
    return int(plain) if item.kind in ("number", "year") and plain.isdecimal() else 0


def _in_order(parts: Sequence[_Condition]) -> Expression:
    """Conditions as one expression; "and" binds before "or", a comma is what comes behind it."""
    groups: list[list[Expression]] = [[]]
    joins, word = list[str](), "and"
    for one in reversed(parts):
        word = one.join or word
        joins.append(word)
    for one, join in zip(parts, reversed(joins), strict=True):
        if join == "or" and groups[-1]:
            groups.append([])
        groups[-1].append(one.expression)
    return _joined("or", [_joined("and", group) for group in groups if group])


def _joined(word: str, parts: list[Expression]) -> Expression:
    return [word, *parts] if len(parts) > 1 else parts[0] if parts else []


def _but_not(wanted: Expression, unwanted: list[Expression]) -> Expression:
    dropped = _joined("or", [one for one in unwanted if one])
    return ["and not", wanted, dropped] if dropped else wanted


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
