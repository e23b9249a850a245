"""Ladders drawn from a world: facts first, so that what every sentence meets is known.

    condition  ["within", "birthplace", "France"]    "Who drew a first breath in France"
    sentence   "She was born in Lyon, while her brother was born in Oslo."
    rewrite    "She was born in Oslo, while her brother was born in Lyon."

A ladder is a pair of entities, drawn together: the positive states facts of the one, and a rewrite
has the other's value in the same words. Nothing that is chosen depends on which of the two is
which, so positives' and negatives' values are drawn alike, and a document alone does not tell what
it is. `modify` replaces a value; `reassign` exchanges it with that of another holder beside it, so
that not even the words are others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from retgen.errors import RecipeError
from retgen.generators.multiconir.asked import Asked, capital, step_up
from retgen.generators.multiconir.halves import half_of, halved
from retgen.generators.multiconir.ladders import Evidence, Ladder, places
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.multiconir.sentences import CONDITIONS
from retgen.generators.params import Job
from retgen.streams import Stream
from retgen.tokenizer import tokens
from retgen.world.asking import with_article
from retgen.world.compose import Composer, Stated
from retgen.world.domain import Domain, Slot, load_domain
from retgen.world.expressions import Is, dumps
from retgen.world.facts import ABSENT, World

T = TypeVar("T")

FACTS = "facts"  # in place of a judge
_DRAWS = 400  # of a pair, 32 bits each
_PAIRS = 4  # that there are for a ladder; some are too much alike
_WORLDS = {"movies": "films"}  # other domains go by their names
# two facts in a sentence; {0} is the entity's, {1} another's
_BOTH = ("{0}, while {1}", "{0}, whereas {1}", "{0}, but {1}", "{0}; {1}")
_OTHER_FIRST = ("while {1}, {0}", "{1}, but {0}", "{1}, while {0}", "{1}; {0}")


class _Pair(NamedTuple):
    """Codes of two entities by slot, what the first is called, and draws that are the pair's."""

    first: dict[str, int]
    second: dict[str, int]
    forms: tuple[str, str, str]
    pick: Callable[[int], int]


def drawn(job: Job[MultiConIRParams]) -> bool:
    """Whether a job's ladders are drawn: no model is named, and no source."""
    return not job.live and job.params.source is None


def world_of(params: MultiConIRParams) -> Domain:
    """The domain of facts for a recipe's domain."""
    name = str(params.domain)
    domain = load_domain(_WORLDS.get(name, name))
    return halved(domain, params.half) if params.half else domain


def openings(params: MultiConIRParams) -> tuple[str, str]:
    """What instruction-style and descriptive queries begin with."""
    entity = world_of(params).entity
    a = with_article(entity.singular)
    return f"Find {a} {entity.relative} meets the following conditions:", f"I am looking for {a}"


class Drawing:
    """The ladders of a recipe, in their order."""

    def __init__(self, params: MultiConIRParams, seed: int) -> None:
        self.params, self.seed = params, seed
        self.domain = world_of(params)
        self.wanted = params.count()
        self._opening = openings(params)[1]
        self._width = max(5, len(str(self.wanted)))
        pairs = _PAIRS * self.wanted + 100
        self.world = World(self.domain, seed, 2 * pairs)
        self._pairs = pairs
        self._composer = Composer(self.world)
        self._begun: set[str] = set()  # clauses that a ladder begins with, or would
        self._links = _links(self.domain)

    def ladders(self) -> Iterator[Ladder]:
        """Ladder after ladder. Raises `RecipeError` where the domain gives no more."""
        made = 0
        for pair in self._drawn():
            name = f"{self.params.domain}-{made + 1:0{self._width}}"
            ladder = self._ladder(name, pair)
            if ladder is None:
                continue
            yield ladder
            made += 1
            if made == self.wanted:
                return
        raise RecipeError(
            f"params.ladders: domain {self.params.domain} gives {made:,} ladders that differ in "
            f"their first condition, not {self.wanted:,}. Ask for fewer"
            + (", or leave params.half out" if self.params.half else "")
        )

    def _drawn(self) -> Iterator[_Pair]:
        purpose = f"multiconir/drawn/{self.params.domain}/{self.params.half or ''}"
        stream = Stream(self.seed, purpose)
        full = np.full(_DRAWS, np.uint64(1 << 32))
        step = 512
        for start in range(0, self._pairs, step):
            stop = min(start + step, self._pairs)
            columns = self.world.columns(2 * start, 2 * stop)
            listed = {slot: codes.tolist() for slot, codes in columns.items()}
            forms = self.world.forms(np.arange(2 * start, 2 * stop, 2))
            draws = stream.draws(start, stop, full).tolist()
            for i in range(stop - start):
                first, second = (
                    {slot: codes[2 * i + k] for slot, codes in listed.items()} for k in (0, 1)
                )
                yield _Pair(first, second, forms[i], _picker(draws[i]))

    # --- which conditions ---------------------------------------------------------------------

    def _ladder(self, name: str, pair: _Pair) -> Ladder | None:
        """The ladder of a pair; None where the two are too much alike."""
        asked = self._conditions(pair)
        if len(asked) < CONDITIONS:
            return None
        _shuffle(asked, pair.pick)
        for place, one in enumerate(asked):  # no other ladder begins as this one does
            begin = one.clause(one.first), one.clause(one.second)
            if self._begun.isdisjoint(begin):
                asked.insert(0, asked.pop(place))
                self._begun.update(begin)
                return self._written(name, pair, asked)
        return None

    def _conditions(self, pair: _Pair) -> list[Asked]:
        """Ten conditions, or as many as there are, over slots on which the two differ."""
        pick, wordings = pair.pick, self.params.wordings
        turns = [*wordings] * (CONDITIONS // len(wordings))
        rest = list(wordings)
        _shuffle(rest, pick)
        turns += rest[: CONDITIONS - len(turns)]
        turns.sort(key="entailed".__ne__)  # which the fewest slots have
        free = [slot for slot in self.domain.slots.values() if self._differ(slot, pair)]
        _shuffle(free, pick)
        taken: list[Asked] = []
        for wording in turns:
            for slot in free:
                if all(self._mix(slot.name, one.slot.name, pair) for one in taken) and (
                    one := self._asked(slot, wording, pair)
                ):
                    taken.append(one)
                    free.remove(slot)
                    break
        return taken

    def _differ(self, slot: Slot, pair: _Pair) -> bool:
        """Whether both have a value, and each says something that the other does not."""
        one, two = pair.first[slot.name], pair.second[slot.name]
        if ABSENT in (one, two) or one == two:
            return False
        if (
            self.params.half
            and not slot.is_listed
            and {half_of(slot, one), half_of(slot, two)} != {self.params.half}
        ):
            return False
        said = [set(tokens(text)) for text in self._spoken(slot, pair, bare=True)]
        return not (said[0] <= said[1] or said[1] <= said[0])

    def _spoken(self, slot: Slot, pair: _Pair, *, bare: bool = False) -> tuple[str, str]:
        codes = np.array([pair.first[slot.name], pair.second[slot.name]])
        one, two = self._composer.wordings_of(slot, codes)
        assert one is not None  # both have a value
        assert two is not None
        return one[1][bare], two[1][bare]

    def _mix(self, one: str, two: str, pair: _Pair) -> bool:
        """Whether each entity's value of a slot goes with the other's of another one."""
        for name, other in ((one, two), (two, one)):
            if (name, other) in self._links:
                if self.domain.slots[name].before == other:
                    return False  # which entities come before one is drawn with it
                codes = np.array([pair.first[name], pair.second[name]])
                crossed = np.array([pair.second[other], pair.first[other]])
                if not self.world.fits(name, codes, {other: crossed}).all():
                    return False
        return True

    def _asked(self, slot: Slot, wording: str, pair: _Pair) -> Asked | None:
        """A condition over a slot; None where it cannot be asked so."""
        pick = pair.pick
        codes = pair.first[slot.name], pair.second[slot.name]
        told = list(range(len(slot.document)))
        if wording == "entailed":
            both = step_up(slot, *codes, pick)
            if both is None:
                return None
        else:
            names = self.world.value_names(slot, codes)
            if slot.type in ("year", "number"):
                both = Is(slot.name, codes[0]), Is(slot.name, codes[1])
            else:
                both = Is(slot.name, names[0]), Is(slot.name, names[1])
        if wording == "literal":
            cut = self._composer.wordings[slot.name]
            told = [i for i in told if cut[i].joins and cut[i].alone]
            if not told:
                return None
        which = told[pick(len(told))]
        frame = slot.query[pick(len(slot.query))]
        if wording == "literal":
            mark, _, rest = slot.document[which].partition(" ")
            frame = f"{self.domain.entity.relative if mark == '{S}' else 'whose'} {rest}"
        return Asked(slot, wording, which, frame, *both)

    # --- in words -----------------------------------------------------------------------------

    def _written(self, name: str, pair: _Pair, asked: Sequence[Asked]) -> Ladder:
        strategies = self._strategies(pair.pick)
        named = places(self.seed, name)[0]  # the sentence that stands first
        texts = [
            self._sentences(pair, one, strategies[c], c == named) for c, one in enumerate(asked)
        ]
        clauses = [one.clause(one.first) for one in asked]
        relative = self.domain.entity.relative
        verdicts = [
            Evidence(c, of, verdict, _quoted(text, value))._asdict()
            for c, (one, both) in enumerate(zip(asked, texts, strict=True), 1)
            for of, verdict, text, value in zip(
                ("sentence", "rewrite"),
                ("satisfied", "violated"),
                both,
                self._spoken(one.slot, pair, bare=True),
                strict=True,
            )
        ]
        return Ladder(
            id=name,
            title=pair.forms[0],
            sentences=[sentence for sentence, _ in texts],
            conditions=[one.listed(relative) for one in asked],
            queries=[f"{self._opening} {_listed(clauses[:n])}." for n in range(1, CONDITIONS + 1)],
            rewrites=[rewrite for _, rewrite in texts],
            verdicts=verdicts,
            refused=[],
            wordings=[one.wording for one in asked],
            strategies=strategies,
            expressions=[dumps(one.first) for one in asked],
        )

    def _strategies(self, pick: Callable[[int], int]) -> list[str]:
        strategy = self.params.strategy()
        if strategy != "mixed":
            return [strategy] * CONDITIONS
        drawn = ["modify", "reassign"] * (CONDITIONS // 2)
        _shuffle(drawn, pick)
        return drawn

    def _sentences(self, pair: _Pair, one: Asked, strategy: str, named: bool) -> tuple[str, str]:
        """The sentence of a condition and its rewrite. `named`: its subject is the full name."""
        pick, slot = pair.pick, one.slot
        subjects = self._composer.subjects(pair.forms)
        behind = strategy == "reassign" and not named and pick(2) == 1  # another's fact is first
        subject = subjects[0]  # the pronoun, most of the time
        if named or behind:  # after "her sister" nobody knows who "she" is
            subject = pair.forms[0]
        elif pick(4) == 0:
            subject = subjects[pick(len(subjects))]
        codes = np.array([pair.first[slot.name], pair.second[slot.name]])
        first, second = self._composer.wordings_of(slot, codes)
        assert first is not None
        assert second is not None
        own = [
            self._composer.clause(pair.forms, Stated(slot.name, *said, one.told), subject)
            for said in (first, second)
        ]
        if strategy == "modify":
            return capital(own[0]) + ".", capital(own[1]) + "."
        cut = self._composer.wordings[slot.name]
        able = [i for i in range(len(cut)) if cut[i].alone and cut[i].first != "O"]
        which, holder = able[pick(len(able))], pick(len(self.domain.others))
        frames = _OTHER_FIRST if behind else _BOTH
        frame = frames[pick(len(frames))]
        others = [
            self._composer.clause(pair.forms, Stated(slot.name, *said, which, holder), subject)
            for said in (second, first)
        ]
        made = [frame.format(a, b) for a, b in zip(own, others, strict=True)]
        return capital(made[0]) + ".", capital(made[1]) + "."


def _links(domain: Domain) -> frozenset[tuple[str, str]]:
    """(slot, other): what can be a value of the slot depends on the other's."""
    return frozenset(
        (name, other)
        for name, slot in domain.slots.items()
        for other in (slot.given_slot, slot.before, slot.low.slot, slot.high.slot)
        if other
    )


def _picker(draws: Sequence[int]) -> Callable[[int], int]:
    left = iter(draws)
    return lambda bound: (next(left) * bound) >> 32


def _shuffle(items: list[T], pick: Callable[[int], int]) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = pick(last + 1)
        items[last], items[other] = items[other], items[last]


def _listed(clauses: Sequence[str]) -> str:
    *first, last = clauses
    return f"{', '.join(first)} and {last}" if first else last


def _quoted(text: str, value: str) -> str:
    """A value as its sentence has it, which may begin with it."""
    at = text.casefold().find(value.casefold())
    return text[at : at + len(value)]
