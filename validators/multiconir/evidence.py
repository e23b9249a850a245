"""What the labels of a set follow from: figures, facts of a world, or the judge's verdicts.

Where rewrites differ in a figure, they differ in nothing else. Where ladders are drawn from a
world, the reader of `validators/world` reads every sentence and rewrite to the fact that it states,
and every condition to its expression. Where a judge decided, its table of verdicts is compared with
the data set. Nothing of what the generator noted is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from retgen.validators.multiconir.ladders import TEN, LadderFile, LadderRow, LadderSpec
from retgen.validators.world.queries import UnreadableQuery, domain_readers
from retgen.validators.world.reader import Fact

_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty".split()
)
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d]+|[^\w\s]")


def figure_faults(ladder: LadderRow) -> Iterator[str]:
    """What is wrong with the conditions of a ladder."""
    parts = zip(ladder.conditions, ladder.sentences, ladder.rewrites, strict=True)
    for number, (condition, sentence, rewrite) in enumerate(parts, 1):
        asked, met, broken = (
            _TOKEN.findall(one.casefold()) for one in (condition, sentence, rewrite)
        )
        changed = [place for place, one in enumerate(met) if broken[place : place + 1] != [one]]
        if len(met) != len(broken) or len(changed) != 1:
            yield f"condition {number}: its rewrite differs in more than a figure"
        elif not all(
            one[0].isdigit() or one in _WORDS for one in (met[changed[0]], broken[changed[0]])
        ):
            yield f"condition {number}: its rewrite differs in what is no figure"
        elif asked != met[: len(asked)] or len(asked) <= changed[0]:
            yield f"condition {number}: it does not ask for the figure of its sentence"


def meaning_faults(spec: LadderSpec, ladders: LadderFile) -> Iterator[tuple[str, str]]:
    """(ladder, what is wrong), of ladders whose labels rest on facts or figures."""
    if spec.rests_on == "figures":
        for ladder in ladders:
            for fault in figure_faults(ladder):
                yield ladder.id, fault
    if spec.world is not None:
        meaning = _Meaning(spec.world, spec.opening)
        for ladder in ladders:
            for fault in meaning.faults(ladder):
                yield ladder.id, fault


class _Meaning:
    """Reads the ladders of a domain of facts."""

    def __init__(self, path: Path, opening: str) -> None:
        # "Find a film that meets the following conditions:"
        self._relative = opening.partition(" meets ")[0].rpartition(" ")[2]
        self.domain, self._reader, self._queries = domain_readers(path)

    def faults(self, ladder: LadderRow) -> Iterator[str]:
        """What is wrong with a ladder."""
        begin = re.split(rf" (?:{self._relative}|whose) ", ladder.queries[0])[0]
        clauses = [_clause(one, self._relative) for one in ladder.conditions]
        for n, query in enumerate(ladder.queries, 1):
            if query != f"{begin} {_join_clauses(clauses[:n])}.":
                yield f"its descriptive query {n} does not ask for its first {n} conditions"
                return
        met = self._facts(ladder, ladder.sentences)
        broken = self._facts(ladder, ladder.rewrites)
        for found in (met, broken):
            if isinstance(found, str):
                yield found
                return
        assert not isinstance(met, str)
        assert not isinstance(broken, str)
        if len({fact.slot for fact in met}) < TEN:
            yield "two of its sentences are about the same"
        for c, clause in enumerate(clauses):
            try:
                asked = self._queries.query(f"{begin} {clause}.")
            except UnreadableQuery as error:
                yield f"condition {c + 1} cannot be read: {error}"
                continue
            if met[c].slot != broken[c].slot or not self._meets(met[c], asked):
                yield f"condition {c + 1} asks {asked}, its sentence says {met[c]}"
            elif self._meets(broken[c], asked):
                yield f"condition {c + 1} asks {asked}, its rewrite says {broken[c]}"

    def _facts(self, ladder: LadderRow, texts: Sequence[str]) -> list[Fact] | str:
        """What each text says of the entity; or what is wrong."""
        facts, problems = self._reader.document(ladder.title, " ".join(texts))
        own = [fact for fact in facts if fact.holder == "self"]
        if problems:
            return problems[0]
        if len(own) != TEN or len(facts) > 2 * TEN:
            return f"its sentences state {len(own)} facts of {ladder.title}, not ten"
        return own

    def _meets(self, fact: Fact, asked: Any) -> bool:
        kind, slot, *values = asked
        if slot != fact.slot:
            return False
        of = self.domain.slots[slot]
        if kind == "within":
            return values[0] in of.values[fact.value].parents
        if kind == "between":
            value = fact.value if of.type == "date" else int(fact.value)
            low, high = values
            return (low is None or low <= value) and (high is None or value <= high)
        return kind == "is" and str(values[0]) == fact.value


def _clause(condition: str, relative: str) -> str:
    """A condition of a list as a relative clause."""
    lower = condition[:1].lower() + condition[1:]
    return lower if lower.startswith((f"{relative} ", "whose ")) else f"{relative} {lower}"


def _join_clauses(clauses: Sequence[str]) -> str:
    *first, last = clauses
    return f"{', '.join(first)} and {last}" if first else last


_EXPECTED = {"sentence": "satisfied", "rewrite": "violated"}

Documents = Callable[[LadderRow], Sequence[tuple[str, int]]]
Row = dict[str, Any]


def verdict_faults(
    path: Path, ladders: LadderFile, documents: Documents
) -> Iterator[tuple[str, str]]:
    """(ladder, what is wrong) where a condition lacks its two verdicts, or one does not hold.

    Each ladder needs a row "satisfied" for the sentence of every condition and a row "violated" for
    its rewrite, with the texts of the data set, a quote that stands in the text, and the documents
    that hold it. `documents`: (id, broken conditions as bits) of a ladder's documents. Raises
    OSError or ValueError for a table that cannot be read.
    """
    left = set(ladders.ids())
    with open(path, "rb") as file:
        rows = (orjson.loads(line) for line in file)
        for name, group in groupby(rows, key=_ladder_of):
            ladder = ladders.get(name)
            if ladder is None or name not in left:
                yield str(name), "its verdicts stand twice, or it is no ladder of the run"
                continue
            left.discard(name)
            for fault in _faults(ladder, list(group), documents(ladder)):
                yield ladder.id, fault
    for name in sorted(left):
        yield name, "no verdict stands behind its labels"


def _ladder_of(row: Any) -> Any:
    return row.get("ladder") if isinstance(row, dict) else None


def _faults(
    ladder: LadderRow, rows: list[Row], documents: Sequence[tuple[str, int]]
) -> Iterator[str]:
    """What is wrong with the rows of a ladder, condition by condition."""
    known: dict[tuple[Any, Any], list[Row]] = {}
    for row in rows:
        known.setdefault((row.get("condition"), row.get("of")), []).append(row)
    for number in range(1, TEN + 1):
        for of, expected in _EXPECTED.items():
            result = known.pop((number, of), [])
            where = f"condition {number}, {of}"
            if len(result) != 1:
                yield f"{where}: there are {len(result)} verdicts, not one"
                continue
            if (fault := _fault(ladder, number, of, expected, result[0])) is not None:
                yield f"{where}: {fault}"
            broken = of == "rewrite"
            right = {name for name, bits in documents if bool(bits >> number - 1 & 1) == broken}
            if right != set(map(str, result[0].get("corpus-ids") or ())):
                yield f"{where}: the documents of its verdict are not those that hold the text"
    if known:
        yield f"there are verdicts on what is none of its conditions: {sorted(map(str, known))}"


def _fault(ladder: LadderRow, number: int, of: str, expected: str, row: Row) -> str | None:
    text = (ladder.sentences if of == "sentence" else ladder.rewrites)[number - 1]
    if row.get("text") != text or row.get("asked") != ladder.conditions[number - 1]:
        return "the text or the condition that was judged is not that of the data set"
    if row.get("verdict") != expected:
        return f"the verdict is {row.get('verdict')!r}, the labels need {expected!r}"
    quote = row.get("quote")
    if not isinstance(quote, str) or not _plain(quote) or _plain(quote) not in _plain(text):
        return f"the quote {str(quote)[:80]!r} is not a part of the text"
    return None


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" \"'“”").casefold()
