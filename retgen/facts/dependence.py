"""What goes with what: values of a slot beside the value of an earlier one, as a file has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from retgen.facts.domain_file import LARGEST, DependentValues, Members, Value
from retgen.messages import did_you_mean

_Key = TypeVar("_Key", str, int)


Codes = tuple[int, ...]  # indices of values; of numbers and years, the lowest and the highest


class Dependence(NamedTuple):
    """Which values of a slot go with those of an earlier one.

    The earlier slot's codes, of a date its years, are in group i from `starts[i - 1]` on; those
    below the first start, `ABSENT`, are in group 0. `allowed`: by group what goes with it.
    """

    slot: str
    starts: tuple[int, ...]
    allowed: tuple[Codes, ...]


def dependence(
    given: DependentValues,
    values: Sequence[Value],
    others: Sequence[Value],
    note: Callable[[str], None],
) -> Dependence:
    """A rule of a file. `values`, `others`: of the slot and of the earlier one; none of numbers.

    `note` receives what is wrong.
    """
    rules: dict[str, Mapping[Any, Members]] = {
        "of": given.of,
        "except": given.but,
        "from": given.since,
        "until": given.until,
    }
    known = set(chain(*(value.above for value in others)))
    for key, rule in rules.items():
        if rule and (key in ("of", "except")) is not bool(others):
            has = "a list of values" if others else "years or numbers"
            note(f"{key!r} means nothing: {given.slot} has {has}")
        for one, members in rule.items():
            if others and one not in known:
                note(f"{one!r} is no value of {given.slot}, nor a parent")
            if isinstance(members, tuple) is bool(values):
                wanted = "a list of values" if values else "a lowest and a highest number"
                note(f"{key!r} {one}: needs {wanted}")
            for said in _problems(members, values):
                note(said)
    of, but = _codes(given.of, values), _codes(given.but, values)
    since, until = _codes(given.since, values), _codes(given.until, values)
    every = tuple(range(len(values))) if values else (0, LARGEST)
    if others:
        starts = list(range(len(others)))
        only = [next((of[one] for one in value.above if one in of), every) for value in others]
        without = [[but[one] for one in value.above if one in but] for value in others]
    else:
        starts = sorted({0, *since, *(year + 1 for year in until)})
        only, without = [every] * len(starts), []
        for i, start in enumerate(starts):
            begun = [year for year in since if year <= start]
            if begun and not values:
                only[i] = since[max(begun)]
            without.append([codes for year, codes in since.items() if year > start])
            without[i] += [codes for year, codes in until.items() if year < start]
    allowed = [every, *only]
    if values:
        for i, listed in enumerate(without, 1):
            left_out = {*chain(*listed)}
            allowed[i] = tuple(code for code in allowed[i] if code not in left_out)
    return Dependence(given.slot, tuple(starts), tuple(allowed))


def _codes(rule: Mapping[_Key, Members], values: Sequence[Value]) -> dict[_Key, Codes]:
    return {
        key: members
        if isinstance(members, tuple)
        else tuple(i for i, value in enumerate(values) if not set(members).isdisjoint(value.above))
        for key, members in rule.items()
    }


def _problems(members: Members, values: Sequence[Value]) -> Iterator[str]:
    if isinstance(members, tuple):
        if members[0] > members[1]:
            yield f"{[*members]}: its first end is above its second"
        return
    known = {one for value in values for one in value.above}
    for one in members:
        if one not in known:
            yield f"{one!r} is no value of the slot, nor a parent{did_you_mean(one, sorted(known))}"
