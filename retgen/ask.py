"""What only models can write: agents are asked before `generate`."""

from __future__ import annotations

import shutil
from pathlib import Path

from retgen.agents.calls import Asked, Asking, ask_models, check_model, in_thread, telling_how_far
from retgen.agents.context import Context
from retgen.agents.prices import Prices
from retgen.progress import Progress, silent
from retgen.recipe import SOURCES, Recipe
from retgen.write import make_folder


def check_models(recipe: Recipe, asking: Asking) -> None:
    """Raises `UsageError` for a key, a provider or a price that is missing."""
    uses = recipe.agents
    Prices(asking.prices)
    if asking.replay is not None:
        return
    for agent, one in recipe.models.items():
        if agent in uses:
            check_model(one, asking)


def ask(
    recipe: Recipe,
    folder: Path,
    asking: Asking,
    *,
    pilot: int | None = None,
    progress: Progress = silent,
    asked: Asked | None = None,
) -> Asked:
    """Ask what the recipe's family wants to know, and leave it in the run directory.

    `asked` is filled as the work goes on, so it says how far it came where this raises: what is
    rejected is kept even then.
    """
    asked = asked or Asked()
    if not recipe.agents:
        return asked
    sources = folder / (".pilot" if pilot is not None else SOURCES)
    make_folder(sources)
    family, job = recipe.family, recipe.job._replace(sources=sources)
    settings = recipe.asked

    async def work(context: Context) -> None:
        asked.rejected, asked.stages = context.rejected, context.stages
        await family.ask(job, context)

    try:
        if not settings:
            in_thread(lambda stop: work(Context(sources, {}, pilot=pilot, progress=progress)))
        else:
            with telling_how_far(asked):
                ask_models(work, sources, folder, settings, asking, asked, pilot, progress)
    finally:
        if pilot is not None:
            shutil.rmtree(sources, ignore_errors=True)
    return asked
