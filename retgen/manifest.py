"""What manifest.json says of a run: one function, for the run that writes it and for the check.

All but times, versions and what models have cost follows from the recipe, the sources and the
written tables.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgen.agents.models import model_description
from retgen.generators.records import Records
from retgen.recipe import Recipe, written_out
from retgen.validators.rule import Severity
from retgen.validators.validation import Validation
from retgen.version import __version__
from retgen.write import FileInfo, file_info

FORMAT_VERSION = 3  # one more whenever what stands beside the tables has other keys or files
COSTS = ("calls", "cache_hits", "unanswered", "tokens", "usd")


def other_format(manifest: Mapping[str, Any]) -> tuple[Severity, str] | None:
    """What is said of a run in another format, whose files cannot be compared key by key.

    A warning of an earlier format; one that no version up to this one has written vouches for
    nothing.
    """
    stated = manifest.get("format_version")
    if stated == FORMAT_VERSION:
        return None
    what = (
        f"the run is in format {stated}, this version of retgen writes format {FORMAT_VERSION}: "
        "the tables are not made again, and of what stands beside them only name, seed, counts, "
        "evidence and hashes are compared"
    )
    if type(stated) is int and 0 < stated < FORMAT_VERSION:
        return "warning", what
    return "error", f"{what}; check it with the version that made it"


def fault_of_time(created: Any) -> str | None:
    """What is wrong with the time of a run, None where `measured` could have written it."""
    try:
        when = datetime.fromisoformat(created)
    except (TypeError, ValueError):
        return "which is no time"
    if when.utcoffset() is None:
        return "which says no time zone"
    if when.isoformat(timespec="seconds") != created:
        return f"must be written as {when.isoformat(timespec='seconds')}"
    return None


class Measured(NamedTuple):
    """What nothing else tells: when a run was made, by what, in how many seconds, at what cost.

    `costs`: the values of `COSTS`; tokens and dollars are of all attempts at this run.
    """

    created: str
    versions: Mapping[str, str]
    timings: Mapping[str, float]
    costs: Mapping[str, Any]


def measured(timings: Mapping[str, float], costs: Mapping[str, Any]) -> Measured:
    """The same of a run that ends now."""
    versions = {
        "retgen": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    return Measured(datetime.now(UTC).isoformat(timespec="seconds"), versions, timings, costs)


def manifest_of(
    recipe: Recipe,
    result: Validation,
    records: Records,
    files: Mapping[str, FileInfo],
    facts: Measured,
) -> dict[str, Any]:
    """The manifest. `files`: by path below the run; `records.rejected`: of agents and tables."""
    counts, family = result.statistics, recipe.family
    models, prompts = who_answers(recipe)
    return {
        "format_version": FORMAT_VERSION,
        "name": recipe.name,
        "family": recipe.family.name,
        "seed": recipe.seed,
        "created": facts.created,
        "versions": dict(facts.versions),
        "counts": {
            "documents": counts["documents"],
            "queries": counts["queries"],
            "qrels": counts["qrels"],
            "rejected": len(records.rejected),
        },
        "complete": records.complete,
        **({"breakdown": list(records.breakdown)} if records.breakdown else {}),
        "evidence": {
            "structural": result.proven,
            "judged": result.judged,
            "human": result.human,
            **({"edited": result.edited} if result.reviewed else {}),
        },
        **({"lineage": recipe.reviewed().lineage} if result.reviewed else {}),
        "judges": result.judges,
        "structure": family.structure,
        "proof": family.proof,
        "candidate_sets": family.candidate_sets,
        "tests": family.tests,
        "main_measure": family.measure(recipe.job),
        "models": models,
        "prompts": prompts,
        "word_lists": dict(records.word_lists),
        "tokens": facts.costs["tokens"],
        "usd": facts.costs["usd"],
        "timings": dict(facts.timings),
        "licences": dict(records.licences),
        "languages": list(records.languages),
        "checks": {
            "errors": result.errors,
            "warnings": result.warnings,
            "switched_off": result.switched_off,
            "severities": result.severities,
        },
        "card": list(records.card),
        "facts": dict(records.facts),
        "notes": dict(records.notes),
        "example": records.example._asdict() if records.example else None,
        "judged": family.label_source if result.judged else "",
        "floors": result.baselines,
        "origin": result.origin or None,
        "certificate": result.certificate,
        "files": {name: info._asdict() for name, info in sorted(files.items())},
        **({key: facts.costs[key] for key in COSTS[:3]} if models else {}),
    }


def who_answers(recipe: Recipe) -> tuple[dict[str, Any], dict[str, str]]:
    """(who does the work of each agent that is asked, SHA-256 of each prompt that is sent)."""
    family, settings = recipe.family, recipe.models
    required_agents = family.required_agents(recipe.job)
    agents = [agent for agent in family.agents if agent.name in required_agents]
    return (
        {agent.name: model_description(settings.get(agent.name)) for agent in agents},
        {agent.prompt.name: agent.prompt.sha256 for agent in agents if agent.name in settings},
    )


def recipe_files(recipe: Recipe, run: Path) -> dict[str, FileInfo]:
    """The resolved recipe of a run, and the files that it names."""
    names = ["recipe.yaml", *written_out(recipe)[1]]
    return {name: file_info(run / name) for name in names}
