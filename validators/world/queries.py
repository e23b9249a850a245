"""Reads a query to its canonical expression (JSON lists): what it asks for, by its words alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from retgen.validators.world.clauses import Clause, ClauseReader, UnreadableQuery, nouns_of
from retgen.validators.world.definitions import Definition, read_definition
from retgen.validators.world.mentions import TOKEN, DomainLexicon
from retgen.validators.world.query_words import (
    AMONG,
    ANY,
    BOUNDS,
    ELLIPTIC,
    FIGURES,
    HAVE,
    HINT,
    INTRO,
    KIND_OF,
    LEAST,
    MOST,
    OR_MORE,
    RELATIVES,
    SOMEBODY,
    STOPS,
    Item,
    Quantity,
    count_of,
    is_in,
    is_word,
    join_expression,
    quantities,
    split_at,
    superlatives,
    values_of,
    wording_of,
)
from retgen.validators.world.reader import DocumentReader
from retgen.validators.world.slot_patterns import (
    Patterns,
    PhraseMatcher,
    compile_phrase,
    own_patterns,
    read_patterns,
)
from retgen.validators.world.unparsed import ranked_by, unparsed_words


class QueryReader:
    """Reads queries of a domain."""

    def __init__(self, domain: Definition, patterns: Patterns) -> None:
        self.domain = domain
        self.phrases = PhraseMatcher(patterns)
        self._conditions = ClauseReader(domain, self.phrases)
        self._lexicon = DomainLexicon(domain, parents=True)
        self._relations = domain.of_type("relation")
        self._ordered = domain.of_type("year", "date", "number")
        nouns = nouns_of(domain) | {"one", "ones"}
        self._nouns = frozenset(nouns)
        self._several_nouns = frozenset(noun for noun in nouns if noun.endswith("s")) - {"ones"}
        self._extremes = [
            (
                kind,
                compile_phrase(phrase),
                slot,
                bool(phrase.split()[1:]) and phrase not in (*MOST, *LEAST),
            )
            for kind, listed in (("most", patterns.most), ("least", patterns.least))
            for slot, phrases in listed.items()
            for phrase in phrases
        ]

        self._own = [
            (kind, phrase.split())
            for kind, listed in (("most", patterns.most), ("least", patterns.least))
            for phrases in listed.values()
            for phrase in phrases
        ]

    def query(self, text: str) -> list[Any]:
        """The expression. Raises `UnreadableQuery`."""
        text = OR_MORE.sub(lambda m: f"at {'least' if m[2] == 'more' else 'most'} {m[1]} ", text)
        tokens = TOKEN.findall(FIGURES.sub(r"\1 to \2", KIND_OF.sub("", INTRO.sub("", text))))
        while tokens and tokens[-1] in ".?!":
            tokens.pop()
        if tokens and tokens[0][0].isupper() and not self._lexicon.starts(tokens[0]):
            tokens[0] = tokens[0][0].lower() + tokens[0][1:]
        items = quantities(self._lexicon.find_mentions(tokens), self.domain.slots)
        expression = self._set(items)
        if word := unparsed_words(items, expression, self.phrases, self._nouns):
            raise UnreadableQuery(f"{word!r} may change what it asks, and is not understood")
        return expression

    def _set(self, items: list[Item]) -> list[Any]:
        return self._extreme(items) or self._several(items) or self._boolean(items)

    # --- the k with the most or least -------------------------------------------------------

    def _extreme(self, items: list[Item]) -> list[Any] | None:
        """ "the 10 with the latest ..." and what it is taken from."""
        for start, kind, length in superlatives(items, self._own):
            first = start
            while (
                first
                and isinstance(items[first - 1], str)
                and not is_in(items[first - 1], HAVE)
                and not count_of(items[first - 1])
            ):
                first -= 1  # "the text completed longest ago"
            if first and is_in(items[first - 1], HAVE):
                first -= 1
            stop = start + length
            ends = STOPS | RELATIVES | AMONG | self._nouns
            while stop < len(items) and is_word(items[stop], but=ends):
                if items[stop] == "of" and items[stop + 1 : stop + 2] in (["all"], ["those"]):
                    break
                stop += 1
            if stop < len(items) and not isinstance(items[stop], str):
                continue  # "whose earliest breath was drawn in 1884"
            slot, kind = self._of_extreme(kind, wording_of(items[first:stop]))
            place, k = self._how_many(items, first)
            alone = stop < len(items) and is_in(items[stop], self._nouns)
            if not slot or (place == first and not is_in(items[first], HAVE) and not alone):
                continue
            begin = max((i + 1 for i in range(place) if is_in(items[i], STOPS)), default=0)
            if values_of(items[begin:place]) or values_of(items[place + 1 : first]):
                rest = [*items[:place], *items[place + 1 : first], *items[stop:]]
            else:
                rest = [*items[:begin], *items[stop:]]
            return [kind, k, slot, self._set(rest)]
        return None

    def _how_many(self, items: Sequence[Item], end: int) -> tuple[int, int]:
        """The place of the number of results, and the number; else (`end`, 1).

        It stands shortly in front of the superlative, which begins at `end`, or with the noun.
        """
        for place in range(end - 1, max(-1, end - 5), -1):
            if is_in(items[place], STOPS):
                break
            if number := count_of(items[place]):
                return place, number
        for place in range(min(end, len(items) - 1)):
            if is_in(items[place + 1], self._nouns) and (number := count_of(items[place])):
                return place, number
        return end, 1

    def _of_extreme(self, kind: str, words: str) -> tuple[str, str]:
        """The slot whose values some words rank, "" for none, and whether the most or the least.

        The oldest patients have the most years, the oldest films the least.
        """
        scores = self.phrases.find(words, ()).scores
        told = dict(scores)
        kinds: dict[str, str] = {}
        for one, pattern, slot, says_what in self._extremes:
            if pattern.search(f" {words} "):
                scores[slot] = scores.get(slot, 0.0) + HINT
                kinds[slot] = one
                if says_what:
                    told[slot] = HINT
        ranked = sorted(((scores.get(slot, 0.0), slot) for slot in self._ordered), reverse=True)
        if len(ranked) > 1 and ranked[0][0] and ranked[0][0] == ranked[1][0]:
            raise UnreadableQuery(f"{words!r} reads as {ranked[0][1]} and as {ranked[1][1]}")
        slot = ranked[0][1] if ranked and ranked[0][0] else ""
        if (
            slot
            and not told.get(slot)
            and (by := ranked_by(words.split(), self.phrases, self._nouns))
        ):
            raise UnreadableQuery(f"{words!r} ranks by {by!r}, which is no slot that is known")
        return slot, kinds.get(slot, kind)

    # --- at least k of n --------------------------------------------------------------------

    def _several(self, items: list[Item]) -> list[Any] | None:
        for place, item in enumerate(items):
            number = count_of(item)
            before = wording_of(items[max(0, place - 3) : place])
            behind = [str(one) for one in items[place + 1 : place + 5]]
            least = before.endswith(("at least", "no fewer than", "no less than", "minimum of"))
            open_end = isinstance(item, Quantity) and item.high is None and item.text[3:].isdigit()
            if behind[:2] == ["or", "more"]:
                least, behind = True, behind[2:]
            if not number or not (least or open_end) or behind[:1] != ["of"]:
                continue
            colon = next((i for i in range(place, len(items)) if items[i] == ":"), None)
            if colon is None:
                colon = place + 1
                while colon < len(items) and is_word(items[colon], but=RELATIVES):
                    colon += 1
                colon -= 1
            listed = items[colon + 1 :]
            if ";" in (item for item in listed if isinstance(item, str)):
                parts = split_at(listed, ";")
            else:
                parts = [clause.words for clause in self._conditions.clauses(listed)]
            frame = wording_of(items[:colon])
            if self.phrases.find(frame, ()).negated:
                raise UnreadableQuery(f"{frame!r} denies what it asks for")
            said = [count_of(one) for one in items[place + 1 : colon] if count_of(one)]
            if said and said[-1] != len(parts):
                raise UnreadableQuery(f"it names {len(parts)} conditions, not {said[-1]}")
            return ["at least", number, *(self._conditions.one(part) for part in parts)]
        return None

    # --- and, or, not -----------------------------------------------------------------------

    def _boolean(self, items: list[Item]) -> list[Any]:
        nested = self._nested(items)
        if nested:
            since, end, slot = nested
            before = self._conditions.clauses(items[:since])
            inner = ["via", slot, self._set(items[end:])]
            return join_expression(
                "and", [*(self._conditions.one(clause.words) for clause in before), inner]
            )
        clauses = self._conditions.clauses(items)
        if not clauses:
            raise UnreadableQuery("it asks for nothing")
        first = next((i for i, clause in enumerate(clauses) if clause.without), len(clauses))
        wanted, unwanted = self._combined(clauses[:first])
        said = clauses[first - 1].words if first else []
        _, more = self._combined(clauses[first:], all_unwanted=True, said=said)
        if not wanted:
            raise UnreadableQuery("it says only what is not asked for")
        without = [one for one in (unwanted, more) if one]
        return ["and not", wanted, join_expression("or", without)] if without else wanted

    def _combined(
        self, clauses: Sequence[Clause], all_unwanted: bool = False, said: Sequence[Item] = ()
    ) -> tuple[list[Any], list[Any]]:
        """What clauses ask for, and what they deny; "and" binds before "or"."""
        groups: list[list[Any]] = [[]]
        unwanted: list[Any] = []
        words = _connectives(clauses)
        for word, clause in zip(words, clauses, strict=True):
            if _is_elliptic(clause.words):
                atom, negated, _ = self._conditions.read(clause.words, said)
                if not clause.without and clause.joins & {"or", "nor"}:
                    negated = negated or self.phrases.find(wording_of(said), ()).negated
            else:
                said = clause.words
                atom, negated = self._conditions.atom(said)
            if negated and all_unwanted and is_in(clause.words[0], RELATIVES):
                raise UnreadableQuery(f"{wording_of(clause.words)!r} is denied twice")
            if negated and not all_unwanted:
                unwanted.append(atom)
                continue
            if word == "or" and groups[-1]:
                groups.append([])
            groups[-1].append(atom)
        parts = [join_expression("and", group) for group in groups if group]
        both = join_expression("or", parts) if parts else []
        return (
            ([], both)
            if all_unwanted
            else (both, join_expression("or", unwanted) if unwanted else [])
        )

    def _nested(self, items: list[Item]) -> tuple[int, int, str] | None:
        """(start, end, slot) of the words for another entity in place of the name of the one meant.

        "a film that ..." behind what a relation says, or behind a relative clause without a value.
        """
        for place in range(2, len(items) - 1):
            several = is_in(items[place], self._several_nouns)
            end = place + 1 if several else self._somebody(items, place)
            if not end:
                continue
            since = place
            while since and is_word(items[since - 1], but=BOUNDS):
                since -= 1
            words = items[since:place]
            start = next((i for i, word in enumerate(words) if is_in(word, RELATIVES)), 0)
            scores, _, negated = self.phrases.find(wording_of(words[start:]), self._relations)
            told = {slot: scores.get(slot, 0.0) for slot in self._relations}
            clause = len(words) > 1 and is_in(words[start], RELATIVES) and start + 1 < len(words)
            of_others = self.phrases.best_slot(wording_of(words[start:]))
            plain = (
                not several and is_in(items[end], RELATIVES) and of_others in ("", *self._relations)
            )
            if told and (any(told.values()) or (clause and plain)):
                if negated:
                    raise UnreadableQuery(f"{wording_of(words[start:])!r} denies what it asks for")
                first = since + start if is_in(words[start], RELATIVES) else place
                return first, end, max(told, key=told.__getitem__)
        return None

    def _somebody(self, items: Sequence[Item], place: int) -> int:
        """Where "a film", "an earlier case", "somebody" end that begin at a place; 0 for none."""
        if is_in(items[place], SOMEBODY):
            return place + 1
        if not is_in(items[place], ANY):
            return 0
        for noun in range(place + 1, min(place + 4, len(items) - 1)):
            if is_in(items[noun], self._nouns):
                return noun + 1
            if not isinstance(items[noun], str):
                return 0
        return 0


def _is_elliptic(part: Sequence[Item]) -> bool:
    return all(not isinstance(item, str) or item in ELLIPTIC for item in part)


def _connectives(clauses: Sequence[Clause]) -> list[str]:
    """ "and" or "or" in front of each clause; a comma stands for the word of those that follow."""
    result: list[str] = []
    word = "and"
    for clause in reversed(clauses):
        if "or" in clause.joins or "nor" in clause.joins:
            word = "or"
        elif clause.joins - STOPS:
            word = "and"
        result.append(word)
    return result[::-1]


class DomainReaders(NamedTuple):
    """A domain, and what reads its documents and its queries."""

    domain: Definition
    documents: DocumentReader
    queries: QueryReader


def domain_readers(path: Path) -> DomainReaders:
    """The readers for a domain's file. Raises `BadDefinition`."""
    return _readers(path, _content(path), _content(own_patterns(path)))


@lru_cache(maxsize=8)
def _readers(path: Path, definition: bytes, patterns: bytes) -> DomainReaders:
    """Another content of a file is another key."""
    domain = read_definition(path)
    found = read_patterns(domain, path)
    return DomainReaders(domain, DocumentReader(domain, found), QueryReader(domain, found))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # whoever reads it says what is wrong
