"""Ladders drawn from a world: facts first, so that what every sentence meets is known.

    condition  ["within", "birthplace", "France"]    "Who drew a first breath in France"
    sentence   "She was born in Lyon, while her brother was born in Oslo."
    rewrite    "She was born in Oslo, while her brother was born in Lyon."

A ladder is a pair of entities, drawn together: the positive states facts of the one, and a rewrite
has the other's value in the same words. Nothing that is chosen depends on which of the two is
which, so positives' and negatives' values are drawn alike, and a document alone does not tell what
it is. `modify` replaces a value; `reassign` exchanges it with that of another holder beside it, so
that not even the words are others. `reword` states the other value in other words, as a model's
rewrite does; `context` puts sentences that state nothing behind each sentence and its rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from retgen.errors import RecipeError
from retgen.facts.asking import Wording, enumerated, value_words, with_article
from retgen.facts.compose import Composer, capital
from retgen.facts.domain import Domain, Slot, load_domain, scalar
from retgen.facts.expressions import Condition, Is, ValueRange, Within, dumps
from retgen.facts.facts import ABSENT, World
from retgen.facts.reference import StatedFact
from retgen.generators.multiconir.checks import CONDITIONS
from retgen.generators.multiconir.ladders import Ladder, places
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.params import Job
from retgen.streams import Stream
from retgen.tokenizer import content_stems, tokens

T = TypeVar("T")
DRAWN = 200  # ladders, unless a recipe says how many
_DRAWS = 400  # of a pair, 32 bits each
_ORDERS = 4  # in which slots are tried: what goes with what leaves some without a condition
_BLOCK = 512  # pairs drawn at a time
_PAIRS = 4  # that there are for a ladder; some are too much alike
_WORLDS = {"movies": "films"}  # other domains go by their names

# two facts in a sentence; {0} is the entity's, {1} another's
_BOTH = ("{0}, while {1}", "{0}, whereas {1}", "{0}, but {1}", "{0}; {1}")
_OTHER_FIRST = ("while {1}, {0}", "{1}, but {0}", "{1}, while {0}", "{1}; {0}")
_WIDTHS = [factor * 10**power for power in range(6) for factor in (1, 2, 5)]

# after "that", the subject of "that A wrote"
_NO_VERBS = frozenset(("{v}", "a", "an", "the", "its", "her", "his", "their", "bookshops"))


def is_drawn(job: Job[MultiConIRParams]) -> bool:
    """Whether a job's ladders are drawn: no model is named, and no source."""
    return not job.live and job.params.source is None


def world_of(params: MultiConIRParams) -> Domain:
    """The domain of facts for a recipe's domain."""
    name = str(params.domain)
    return load_domain(_WORLDS.get(name, name))


def openings(params: MultiConIRParams) -> tuple[str, str]:
    """What instruction-style and descriptive queries begin with."""
    entity = world_of(params).entity
    a = with_article(entity.singular)
    return f"Find {a} {entity.relative} meets the following conditions:", f"I am looking for {a}"


# --- ladders --------------------------------------------------------------------------------------


class _EntityPair(NamedTuple):
    """Codes of two entities by slot, what the first is called, and draws that are the pair's."""

    codes: dict[str, list[int]]
    forms: tuple[str, str, str]
    pick: Callable[[int], int]


class LadderSampler:
    """The ladders of a recipe, in their order."""

    def __init__(self, params: MultiConIRParams, seed: int) -> None:
        self.params, self.seed = params, seed
        self.domain = world_of(params)
        self.wanted = params.ladders or DRAWN
        self._opening = openings(params)[1]
        self._width = max(5, len(str(self.wanted)))
        pairs = _PAIRS * self.wanted + 100
        self.world = World(self.domain, seed, 2 * pairs, "multiconir/None")
        self._pairs = pairs
        self._composer = Composer(self.world)
        # the wordings of each slot that can say of another what they say of the entity; a slot
        # without any is not asked for
        able = {
            name: [i for i, one in enumerate(cut) if one.alone and one.first != "O"]
            for name, cut in self._composer.wordings.items()
        }
        self._of_others = {name: which for name, which in able.items() if which}
        self._begun: set[str] = set()  # clauses that a ladder begins with, or would

    def ladders(self) -> Iterator[Ladder]:
        """Ladder after ladder. Raises `RecipeError` where the domain gives no more."""
        made = 0
        for pair in self._entity_pairs():
            ladder = self._ladder(f"{self.params.domain}-{made + 1:0{self._width}}", pair)
            if ladder is not None:
                yield ladder
                made += 1
            if made == self.wanted:
                return
        raise RecipeError(
            f"params.ladders: domain {self.params.domain} gives {made:,} ladders that differ in "
            f"their first condition, not {self.wanted:,}. Ask for fewer"
        )

    def _entity_pairs(self) -> Iterator[_EntityPair]:
        stream = Stream(self.seed, f"multiconir/drawn/{self.params.domain}/")
        full = np.full(_DRAWS, np.uint64(1 << 32))
        for start in range(0, self._pairs, _BLOCK):
            stop = min(start + _BLOCK, self._pairs)
            columns = self.world.columns(2 * start, 2 * stop)
            both = {slot: codes.reshape(-1, 2).tolist() for slot, codes in columns.items()}
            forms = self.world.forms(np.arange(2 * start, 2 * stop, 2))
            for i, draws in enumerate(stream.draws(start, stop, full).tolist()):
                codes = {slot: pairs[i] for slot, pairs in both.items()}
                yield _EntityPair(codes, forms[i], _picker(draws))

    # --- which conditions ---------------------------------------------------------------------

    def _ladder(self, name: str, pair: _EntityPair) -> Ladder | None:
        """The ladder of a pair; None where the two are too much alike."""
        slots = self.domain.slots
        free = [slots[name] for name in self._of_others if self._differ(slots[name], pair)]
        apart = self._apart(free, pair)
        for _ in range(_ORDERS if len(free) >= CONDITIONS else 0):
            asked = self._conditions(pair, free, apart)
            if len(asked) == CONDITIONS:
                break
        else:
            return None
        _shuffle(asked, pair.pick)
        for place, one in enumerate(asked):  # no other ladder begins as this one does
            begin = one.clause(one.first), one.clause(one.second)
            if self._begun.isdisjoint(begin):
                asked.insert(0, asked.pop(place))
                self._begun.update(begin)
                return self._ladder_of(name, pair, asked)
        return None

    def _conditions(
        self, pair: _EntityPair, able: Sequence[Slot], apart: set[frozenset[str]]
    ) -> list[PairCondition]:
        """Ten conditions, or as many as there are, over slots on which the two differ: `able`."""
        pick, wordings = pair.pick, self.params.wordings
        turns = [*wordings] * (CONDITIONS // len(wordings))
        rest = list(wordings)
        _shuffle(rest, pick)
        turns += rest[: CONDITIONS - len(turns)]
        turns.sort(key="entailed".__ne__)  # which the fewest slots have
        free = list(able)
        _shuffle(free, pick)
        taken: list[PairCondition] = []
        for wording in turns:
            for slot in free:
                if any({slot.name, one.slot.name} in apart for one in taken):
                    continue
                condition = self._condition(slot, wording, pair)
                if condition is not None:
                    taken.append(condition)
                    free.remove(slot)
                    break
        return taken

    def _differ(self, slot: Slot, pair: _EntityPair) -> bool:
        """Whether both have a value, and each says something that the other does not."""
        one, two = pair.codes[slot.name]
        if ABSENT in (one, two) or one == two:
            return False
        names = [bare for _, (_, bare) in self._values(slot, pair)]
        if slot.type == "relation" and pair.forms[0] in names:
            return False  # nothing is its own sequel
        said = [set(tokens(text)) for text in names]
        return not (said[0] <= said[1] or said[1] <= said[0])

    def _values(self, slot: Slot, pair: _EntityPair) -> list[tuple[str, tuple[str, str]]]:
        """Name and words of the values of both, which have one."""
        codes = np.array(pair.codes[slot.name])
        return [one for one in self._composer.wordings_of(slot, codes) if one is not None]

    def _apart(self, slots: Sequence[Slot], pair: _EntityPair) -> set[frozenset[str]]:
        """Pairs of slots of which one entity's value does not go with the other's."""
        result = set()
        known = {slot.name for slot in slots}
        for slot in slots:
            codes = np.array(pair.codes[slot.name])
            for other in known.intersection(slot.dependences):
                crossed = {other: np.array(pair.codes[other][::-1])}
                # which entities come before one is drawn with it
                if slot.before == other or not self.world.fits(slot.name, codes, crossed).all():
                    result.add(frozenset((slot.name, other)))
        return result

    def _condition(self, slot: Slot, wording: str, pair: _EntityPair) -> PairCondition | None:
        """A condition over a slot; None where it cannot be asked so."""
        pick, codes = pair.pick, pair.codes[slot.name]
        able = list(range(len(slot.document)))
        if wording == "entailed":
            both = entailed_pair(slot, codes, pick)
            if both is None:
                return None
        else:
            names = [scalar(slot, code) for code in codes] if slot.is_ordered else []
            both = [Is(slot.name, one) for one in names or self.world.value_names(slot, codes)]
        if wording == "literal":
            cut = self._composer.wordings[slot.name]
            able = [i for i in able if cut[i].joins and cut[i].alone]
            if not able:
                return None
        which = able[pick(len(able))]
        frame = slot.query[pick(len(slot.query))]
        if wording == "literal":
            mark, _, rest = slot.document[which].partition(" ")
            frame = f"{self.domain.entity.relative if mark == '{S}' else 'whose'} {rest}"
        return PairCondition(slot, wording, which, frame, *both)

    # --- in words -----------------------------------------------------------------------------

    def _ladder_of(self, name: str, pair: _EntityPair, asked: Sequence[PairCondition]) -> Ladder:
        strategies = self._strategies(pair.pick)
        named = places(self.seed, name)[0]  # the sentence that stands first
        reword = None
        if self.params.negatives.reword:
            stream = Stream(self.seed, f"multiconir/reword/{name}")
            reword = _picker(stream.integers(1 << 32, _DRAWS).tolist())
        texts = [
            self._sentences(pair, one, strategies[c], c == named, reword)
            for c, one in enumerate(asked)
        ]
        for c, said in enumerate(self._context(name, pair, strategies)):
            texts[c] = (" ".join((texts[c][0], *said)), " ".join((texts[c][1], *said)))
        clauses = [one.clause(one.first) for one in asked]
        relative = self.domain.entity.relative
        return Ladder(
            id=name,
            title=pair.forms[0],
            sentences=[sentence for sentence, _ in texts],
            conditions=[one.list_item(relative) for one in asked],
            queries=[
                f"{self._opening} {enumerated(clauses[:n])}." for n in range(1, CONDITIONS + 1)
            ],
            rewrites=[rewrite for _, rewrite in texts],
            wordings=[one.wording for one in asked],
            strategies=strategies,
            expressions=[dumps(one.first) for one in asked],
        )

    def _context(
        self, ladder: str, pair: _EntityPair, strategies: Sequence[str]
    ) -> Iterator[list[str]]:
        """What stands behind each condition's sentence: sentences that state nothing."""
        count, fillers = self.params.context, self.domain.fillers
        if count * CONDITIONS > len(fillers):
            raise RecipeError(
                f"params.context: domain {self.params.domain} has {len(fillers)} sentences that "
                f"state nothing, which are {len(fillers) // CONDITIONS} for each condition"
            )
        order = Stream(self.seed, f"multiconir/context/{ladder}").permutation(len(fillers)).tolist()
        for c, strategy in enumerate(strategies):
            which = order[c * count : (c + 1) * count]
            # behind somebody else's fact "it" could be the other one
            heard = pair.forms[0] if strategy == "reassign" else ""
            yield [
                self._composer.idle(pair.forms, fillers[i], "" if n else heard)
                for n, i in enumerate(which)
            ]

    def _strategies(self, pick: Callable[[int], int]) -> list[str]:
        strategy = self.params.negatives.strategy or "mixed"
        if strategy != "mixed":
            return [strategy] * CONDITIONS
        strategies = ["modify", "reassign"] * (CONDITIONS // 2)
        _shuffle(strategies, pick)
        return strategies

    def _sentences(
        self,
        pair: _EntityPair,
        one: PairCondition,
        strategy: str,
        named: bool,
        reword: Callable[[int], int] | None,
    ) -> tuple[str, str]:
        """The sentence of a condition and its rewrite. `named`: its subject is the full name;
        `reword`: draws for other words of the rewrite.
        """
        pick, slot = pair.pick, one.slot
        subjects = self._composer.subjects(pair.forms)
        behind = strategy == "reassign" and not named and pick(2) == 1  # another's fact is first
        subject = subjects[0]  # the pronoun, most of the time
        if named or behind:  # after "her sister" nobody knows who "she" is
            subject = pair.forms[0]
        elif pick(4) == 0:
            subject = subjects[pick(len(subjects))]
        first, second = self._values(slot, pair)
        cut = self._composer.wordings[slot.name]

        def again(which: int, of: Sequence[int]) -> int:
            """Which of some wordings the rewrite has."""
            others = [i for i in of if i != which]
            return others[reword(len(others))] if reword and others else which

        own = [
            self._composer.clause(pair.forms, StatedFact(slot.name, *said, which), subject)
            for said, which in ((first, one.stated), (second, again(one.stated, range(len(cut)))))
        ]
        if strategy == "modify":
            return capital(own[0]) + ".", capital(own[1]) + "."
        able = self._of_others[slot.name]
        which, holder = able[pick(len(able))], pick(len(self.domain.others))
        frames = _OTHER_FIRST if behind else _BOTH
        frame = frames[pick(len(frames))]
        others = [
            self._composer.clause(pair.forms, StatedFact(slot.name, *said, stated, holder), subject)
            for said, stated in ((second, which), (first, again(which, able)))
        ]
        made = [frame.format(a, b) for a, b in zip(own, others, strict=True)]
        return capital(made[0]) + ".", capital(made[1]) + "."


def _picker(draws: Sequence[int]) -> Callable[[int], int]:
    left = iter(draws)
    return lambda bound: (next(left) * bound) >> 32


def _shuffle(items: list[T], pick: Callable[[int], int]) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = pick(last + 1)
        items[last], items[other] = items[other], items[last]


# --- conditions -----------------------------------------------------------------------------------


class PairCondition(NamedTuple):
    """A condition. `stated`: which wording its sentence has; `frame`: the relative clause that
    asks; `first`, `second`: what it asks of the first entity, and would ask of the second.
    """

    slot: Slot
    wording: str
    stated: int
    frame: str
    first: Condition
    second: Condition

    def list_item(self, relative: str) -> str:
        """The condition as it stands in a list, which needs no "that" before a verb."""
        clause = self.clause(self.first)
        bare = clause.removeprefix(f"{relative} ")
        verb = self.frame.removeprefix(f"{relative} ").partition(" ")[0]
        return capital(clause if verb in _NO_VERBS else bare)

    def clause(self, condition: Condition) -> str:
        """A relative clause."""
        bare = "{n}" in self.frame
        wording: Wording = "literal" if self.slot.type == "date" else "entailed"
        value = value_words(self.slot, condition, wording, bare=bare)
        return self.frame.replace("{n}" if bare else "{v}", value)


def entailed_pair(
    slot: Slot, codes: Sequence[int], pick: Callable[[int], int]
) -> Sequence[Condition] | None:
    """What each of two values entails and the other does not; None where there is nothing of the
    kind.

    No parent that repeats a word of its value: that would be asking literally.
    """
    name = slot.name
    if slot.is_listed:
        values = [slot.values[code] for code in codes]
        levels = [
            both
            for both in zip(*(value.parents for value in values), strict=False)
            if not any(
                parent in other.parents or content_stems(value.name) & content_stems(parent)
                for parent, value, other in zip(both, values, values[::-1], strict=True)
            )
        ]
        return [Within(name, one) for one in levels[pick(len(levels))]] if levels else None
    if slot.type in ("year", "date"):
        years = [int(str(scalar(slot, code))[:4]) for code in codes]
        decades = [year // 10 * 10 for year in years]
        if decades[0] == decades[1]:
            return None
        if slot.type == "year":
            return [ValueRange(name, low, low + 9) for low in decades]
        if any(year % 10 in (0, 9) for year in years):
            return None  # a year at an end would be named
        return [ValueRange(name, f"{low}-01-01", f"{low + 9}-12-31") for low in decades]
    if slot.type == "number":
        first, second = codes
        widths = [
            width
            for width in _WIDTHS
            if 2 < width <= abs(first - second) and first % width and second % width
        ]
        if not widths:
            return None
        width = widths[pick(len(widths))]
        lows = [code // width * width for code in codes]
        if lows[0] == lows[1] or 0 in lows:
            return None
        return [ValueRange(name, low, low + width) for low in lows]
    return None
