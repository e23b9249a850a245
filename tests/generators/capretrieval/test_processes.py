"""Several processes: the same bytes, and Ctrl-C while they work."""

from __future__ import annotations

import random
import resource
from pathlib import Path

import pytest

import retgen.work.local
from retgen import run
from tests.generators.capretrieval.texts import write_recipe, write_rows
from tests.with_agents.conftest import contents

PARTS = ("dataset", "training")
BATCHES = 5  # of documents
# `gen` whose workers start with the first batch, however fast this machine is


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty long documents, in five batches of 300,000 characters."""
    draw = random.Random(0)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    texts = []
    for _ in range(60):
        names = ["".join(draw.choices(syllables, k=3)) for _ in range(200)]
        sentences = (
            "The {} of the {} is kept in a {} near the {}, and it was made for {}.".format(
                *draw.choices(names, k=5)
            )
            for _ in range(320)
        )
        texts.append(" ".join(sentences))
    size = sum(map(len, texts))
    assert BATCHES * 300_000 < size < 1.2 * BATCHES * 300_000
    folder = tmp_path_factory.mktemp("processes")
    return write_recipe(folder / "kb.yaml", write_rows(folder / "kb.jsonl", texts))


@pytest.fixture(scope="module")
def alone(recipe: Path) -> Path:
    """The run in one process."""
    began = children_seconds()
    result = run(recipe, out=recipe.parent / "one", workers=1).path
    assert children_seconds() == began
    return result


def children_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def assert_same(one: Path, other: Path) -> None:
    for part in PARTS:
        assert contents(one / part) == contents(other / part), part
    assert (one / "rejected.jsonl").read_bytes() == (other / "rejected.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_bytes_do_not_depend_on_the_number_of_processes(
    recipe: Path, alone: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = children_seconds()
    # reason: starting processes is worth it from seconds of work on; the threshold is no behaviour
    monkeypatch.setattr(retgen.work.local, "START", 0.0)
    result = run(recipe, out=recipe.parent / f"of_{workers}", workers=workers).path
    assert children_seconds() > began  # others did the work
    assert_same(alone, result)
