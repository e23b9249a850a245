"""Bundled recipes that draw on a world share no entities at their own seeds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import orjson
import pytest

from retgen.generators.multiconir.facts import LadderSampler
from retgen.generators.multiconir.params import MultiConIRParams
from retgen.generators.world.params import WorldParams
from retgen.generators.world.tables import world_of
from retgen.generators.world_twins.params import TwinsParams
from retgen.recipe import Recipe, load_recipe
from retgen.recipes import bundled


def entities(recipe: Recipe) -> set[str]:
    """The names of all entities that documents are about."""
    params = recipe.job.params
    if isinstance(params, MultiConIRParams):
        return {one.title for one in LadderSampler(params, recipe.job.seed).ladders()}
    if isinstance(params, WorldParams):
        return {*world_of(params, recipe.job.seed).names(np.arange(params.documents))}
    corpus = recipe.family.generate(recipe.job).corpus
    return {orjson.loads(row)["title"] for row in corpus.jsonl(0, corpus.count).splitlines()}


@pytest.mark.slow
def test_no_entity_is_in_two_recipes() -> None:
    drawn = {}
    for name in bundled():
        recipe = load_recipe(name)
        if isinstance(recipe.job.params, WorldParams | TwinsParams | MultiConIRParams):
            drawn[name] = entities(recipe)
    assert {name: len(names) for name, names in drawn.items()} == {
        "multiconir_books": 200,
        "multiconir_legal": 200,
        "multiconir_medical": 200,
        "multiconir_movies": 200,
        "multiconir_movies_long": 200,
        "multiconir_people": 200,
        "world_operators": 100_000,
        "world_small": 10_000,
        "world_twins": 630,
    }
    shared = {pair: drawn[pair[0]] & drawn[pair[1]] for pair in combinations(drawn, 2)}
    # the same films, in longer texts
    assert len(shared.pop(("multiconir_movies", "multiconir_movies_long"))) == 200
    assert {pair: names for pair, names in shared.items() if names} == {}
