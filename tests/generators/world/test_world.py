from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from retgen.errors import RecipeError
from retgen.facts.domain import load_domain
from retgen.generators.params import Job
from retgen.generators.world import World
from retgen.generators.world.params import WorldParams
from retgen.generators.world.queries import Window, window
from retgen.generators.world.tables import cells
from tests.validators.facts.sets import Set

BOATS = Path(__file__).parents[2] / "facts" / "boats.yaml"
SIZES = (1, 10, 20)


def job(seed: int = 5, **params: Any) -> Job[WorldParams]:
    given: dict[str, Any] = {"domain": BOATS, "documents": 3000, "answer_sizes": SIZES}
    given |= {"queries_per_cell": 2, "hard_negatives": 8}
    return Job("boats", seed, WorldParams.model_validate(given | params))


@pytest.fixture(scope="module")
def made() -> Set:
    return Set.of(World(), job())


def test_queries_are_a_full_factorial(made: Set) -> None:
    counts = Counter(
        (row["metadata"]["operator"], row["metadata"]["answers"], row["metadata"]["wording"])
        for row in made.queries
    )
    assert len(cells(job().params)) == 8 * 3 * 3
    assert counts == Counter(dict.fromkeys(cells(job().params), 2))
    expressions = [row["metadata"]["expression"] for row in made.queries]
    assert len(set(expressions)) == len(expressions) == 144


def test_numbers_of_answers(made: Set) -> None:
    positives = Counter(row["query-id"] for row in made.qrels if row["score"])
    for row in made.queries:
        facts = row["metadata"]
        assert positives[row["_id"]] == facts["n_answers"]
        low, high = window(facts["answers"])
        assert low <= facts["n_answers"] <= high
    assert window(10) == Window(10, 10)
    assert window(20) == Window(18, 22)
    assert window(1000) == Window(900, 1100)


Facts = dict[str, dict[str, Any]]


def facts_by_name(corpus: list[dict[str, Any]]) -> Facts:
    """What the documents say of themselves, by title."""
    result = {}
    for row in corpus:
        said = (fact.split("=", 1) for fact in row["metadata"]["facts"])
        numbers = {"length", "refit"}
        result[row["title"]] = {k: int(v) if k in numbers else v for k, v in said}
    return result


def answers(value: list[Any], facts: Facts) -> set[str]:
    """The titles that an expression holds for, worked out from facts as they are written."""
    everything = set(facts)
    match value:
        case ["is", slot, wanted]:
            return {name for name, one in facts.items() if one.get(slot) == wanted}
        case ["within", slot, parent]:
            values = {one.name: one.parents for one in load_domain(BOATS).slots[slot].values}
            return {n for n, one in facts.items() if slot in one and parent in values[one[slot]]}
        case ["between", slot, low, high]:
            there = {name: one[slot] for name, one in facts.items() if slot in one}
            return {n for n, v in there.items() if (low or v) <= v <= (high or v)}
        case ["and", *parts]:
            return everything.intersection(*(answers(part, facts) for part in parts))
        case ["or", *parts]:
            return set[str]().union(*(answers(part, facts) for part in parts))
        case ["and not", kept, dropped]:
            return answers(kept, facts) - answers(dropped, facts)
        case ["at least", k, *parts]:
            met = Counter(name for part in parts for name in answers(part, facts))
            return {name for name, count in met.items() if count >= k}
        case ["via", slot, of]:
            others = answers(of, facts)
            return {name for name, one in facts.items() if one.get(slot) in others}
        case ["most" | "least" as which, k, slot, of]:
            found = [name for name in answers(of, facts) if slot in facts[name]]
            found.sort(key=lambda name: facts[name][slot], reverse=which == "most")
            assert facts[found[k - 1]][slot] != facts[found[k]][slot]
            return set(found[:k])
    raise AssertionError(value)


def test_qrels_are_what_the_documents_say(made: Set) -> None:
    facts = facts_by_name(made.corpus)
    assert len(facts) == 3000
    title = {row["_id"]: row["title"] for row in made.corpus}
    found: dict[str, set[str]] = {}
    for row in made.qrels:
        if row["score"]:
            found.setdefault(row["query-id"], set()).add(title[row["corpus-id"]])
    for row in made.queries:
        value = orjson.loads(row["metadata"]["expression"])
        assert found[row["_id"]] == answers(value, facts), row["text"]


def test_hard_negatives(made: Set) -> None:
    facts = facts_by_name(made.corpus)
    title = {row["_id"]: row["title"] for row in made.corpus}
    negatives: dict[str, list[str]] = {}
    for row in made.qrels:
        if not row["score"]:
            negatives.setdefault(row["query-id"], []).append(title[row["corpus-id"]])
    for row in made.queries:
        own, there = negatives.get(row["_id"], []), row["metadata"]["hard_negatives"]
        assert len(own) == min(8, there)
        value = orjson.loads(row["metadata"]["expression"])
        assert not answers(value, facts).intersection(own)
        if row["metadata"]["operator"] == "and-not":  # those that meet both
            assert value[0] == "and not"
            both = answers(value[1], facts) & answers(value[2], facts)
            assert there == len(both) > 0
            assert both.issuperset(own)
        if row["metadata"]["operator"] == "two-hop":  # themselves, in place of the other
            assert answers(value[2], facts).issuperset(own)
            assert all(value[1] in facts[name] for name in own)  # whose predecessor does not
        if row["metadata"]["operator"] == "superlative":  # the next ones, or at an end themselves
            most, count, slot, of = value
            known = {name: one[slot] for name, one in facts.items() if slot in one}
            ends = sorted((known[name] for name in answers(value, facts)), reverse=most == "most")
            meet = answers(of, facts) & known.keys()
            nearest = sorted((known[name] for name in meet), reverse=most == "most")[: count + 100]
            for name in own:
                edge = nearest[-1] if name in meet else ends[-1]
                assert known[name] >= edge if most == "most" else known[name] <= edge
        if row["metadata"]["operator"] in ("and", "range"):  # all conditions but one
            for name in own:
                met = [name in answers(part, facts) for part in value[1:]]
                assert met.count(False) == 1


def test_wordings_ask_for_values_or_for_what_holds_them(
    made: Set,
) -> None:
    for row in made.queries:
        about = row["metadata"]
        if about["operator"] == "range":
            continue
        kinds = set(_kinds(orjson.loads(about["expression"])))
        allowed = {"within", "between"} if about["wording"] == "entailed" else {"is"}
        assert kinds <= allowed, about


def _kinds(value: list[Any]) -> list[str]:
    if value[0] in ("is", "within", "between"):
        return [value[0]]
    return [kind for part in value[1:] if isinstance(part, list) for kind in _kinds(part)]


def test_plan_says_what_is_made() -> None:
    planned = World().plan(job())
    assert (planned.documents, planned.queries, planned.about) == (3000, 144, False)
    assert planned.qrels == World().generate(job()).qrels["test"].count
    large = World().plan(job(documents=220_000, answer_sizes=[1, 10, 100, 1000]))
    assert (large.documents, large.queries, large.about) == (220_000, 192, True)
    assert large.qrels == 8 * 3 * 2 * 1111 + 192 * 8


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"answer_sizes": [1, 2000]},
            "params.answer_sizes: 2,000 answers are too many for 3,000 documents. Ask for at least "
            "6,000 (params.documents), or leave 2000 out",
        ),
        (
            {"operators": ["eq"], "wordings": ["literal"], "answer_sizes": [900]},
            "params.answer_sizes: among 3,000 boats of domain boats there is not a query with "
            "operator eq, wording literal and 810 to 990 answers (0 of 2 were found). Ask for more "
            "documents, for example params.documents=90000, or leave 900 out of "
            "params.answer_sizes",
        ),
    ],
)
def test_what_a_world_cannot_give(params: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError) as error:
        World().plan(job(**params))
    assert str(error.value) == message


def test_a_domain_without_a_relation(tmp_path: Path) -> None:
    path = tmp_path / "boats.yaml"
    path.write_text(BOATS.read_text("utf-8").partition("  model:\n")[0], "utf-8")
    with pytest.raises(RecipeError) as error:
        World().plan(job(domain=path))
    assert str(error.value) == (
        "params.operators: two-hop needs a slot of type relation, and domain boats has none; leave "
        "the operator out, or add one"
    )
