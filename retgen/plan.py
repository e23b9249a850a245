"""`gen plan`: what a recipe will make and cost. Touches nothing, calls nobody."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retgen.generators.family import Plan
from retgen.recipe import Recipe, load_recipe

__all__ = ["plan"]


def plan(source: str | Path | Recipe, overrides: Mapping[str, Any] | None = None) -> Plan:
    """The plan of a recipe: counts, calls, tokens, dollars, bytes.

    Raises `RecipeError` where the recipe asks for something impossible.
    """
    recipe = source if isinstance(source, Recipe) else load_recipe(source, overrides)
    return recipe.the_family().plan(recipe.job())
