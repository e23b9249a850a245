"""A small recipe of every family that asks models, and what the server on loopback says to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.agents.ladder_mind import ladder_mind
from tests.agents.minds import mind as limit_mind
from tests.agents.server import Say
from tests.generators.capretrieval.mind import mind as passage_mind
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.generators.multiconir.stories import stories
from tests.generators.world.mind import mind as world_mind
from tests.with_agents.conftest import recipe_of

WORLD = """name: world
family: world
seed: 3
params: {domain: films, documents: 24, operators: [eq, and], answer_sizes: [1, 3],
         wordings: [literal], queries_per_cell: 1}
"""


class Family(NamedTuple):
    """`write`: a recipe without a model, into a folder."""

    write: Callable[[Path], Path]
    say: Say


def ships(folder: Path, count: int = 24, begin: int = 0, name: str = "ships") -> Path:
    """A recipe on documents that the rules without a model can alter."""
    rows = "".join(json.dumps(row) + "\n" for row in stories(begin + count)[begin:])
    (folder / f"{name}.jsonl").write_text(rows)
    path = folder / f"{name}.yaml"
    path.write_text(
        f"name: {name}\nfamily: multiconir\n"
        f"params: {{domain: legal, source: {{path: {name}.jsonl}}}}\n"
    )
    return path


def _text(recipe: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "asked.yaml").write_text(recipe)
        return folder / "asked.yaml"

    return write


FAMILIES = {
    "limit": Family(_text(recipe_of(12, 26)), limit_mind),
    "capretrieval": Family(
        lambda folder: write_recipe(folder / "kb.yaml", write_rows(folder / "kb.jsonl", TEXTS)),
        passage_mind,
    ),
    "multiconir": Family(lambda folder: ships(folder, 3), ladder_mind),
    "world": Family(_text(WORLD), world_mind),
}
