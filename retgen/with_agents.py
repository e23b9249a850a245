"""What only models can write: agents are asked before `generate`."""

from __future__ import annotations

import shutil
from pathlib import Path

from retgen.agents.calls import (
    CallReport,
    ModelOptions,
    call_models,
    check_model,
    in_thread,
    with_call_report,
)
from retgen.agents.context import Context
from retgen.agents.prices import Prices
from retgen.progress import Progress, silent
from retgen.recipe import SOURCES, Recipe
from retgen.write import make_folder


def check_models(recipe: Recipe, model_options: ModelOptions) -> None:
    """Raises `UsageError` for a key, a provider or a price that is missing."""
    required_agents = recipe.agents
    Prices(model_options.prices)
    if model_options.replay is not None:
        return
    for agent, one in recipe.models.items():
        if agent in required_agents:
            check_model(one, model_options)


def generate_with_agents(
    recipe: Recipe,
    folder: Path,
    model_options: ModelOptions,
    *,
    pilot: int | None = None,
    progress: Progress = silent,
    call_report: CallReport | None = None,
) -> CallReport:
    """Ask what the recipe's family wants to know, and leave it in the run directory.

    `call_report` is filled as the work goes on, so it says how far it came where this raises: what
    is rejected is kept even then.
    """
    call_report = call_report or CallReport()
    if not recipe.prepared:
        return call_report
    sources = folder / (".pilot" if pilot is not None else SOURCES)
    make_folder(sources)
    family, job = recipe.family, recipe.job._replace(sources=sources)
    settings = recipe.live

    async def work(context: Context) -> None:
        call_report.rejected, call_report.stages = context.rejected, context.stages
        await family.generate_with_agents(job, context)

    try:
        if not settings:
            in_thread(lambda stop: work(Context(sources, {}, pilot=pilot, progress=progress)))
        else:
            with with_call_report(call_report):
                call_models(
                    work, sources, folder, settings, model_options, call_report, pilot, progress
                )
    finally:
        if pilot is not None:
            shutil.rmtree(sources, ignore_errors=True)
    return call_report
