"""Speed of haystacks: drawn and each encoded again as a check, against re-encoding while they grow.

The naive way to make a haystack adds a sentence and encodes the text, until it has its length. It
is even told which sentences fit, so that both ways make the same texts. What every family takes,
stage by stage, is printed by large.py.

    .venv/bin/python benchmarks/families.py [--sample 7] [--rounds 3]
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from common import options, peak


def main() -> None:
    given = options(__doc__, sample=7, rounds=3)
    haystacks(given.sample, given.rounds)


def haystacks(sample: int, rounds: int) -> None:
    """All haystacks of the recipe `niah`, with the check of every length, against the naive way."""
    from retgen.agents.models import ModelOptions
    from retgen.generate import BLOCK, generate_with_agents
    from retgen.generators.niah.books import read_material
    from retgen.generators.niah.counting import load_counter
    from retgen.generators.niah.haystacks import HaystackBuilder
    from retgen.recipe import load_recipe
    from retgen.work import Local

    recipe, counter = load_recipe("niah"), load_counter("minilm")
    with tempfile.TemporaryDirectory() as folder:
        generate_with_agents(recipe, Path(folder), ModelOptions(), engine=Local(1))
        job = recipe.at(Path(folder)).job
        assert job.sources is not None
        material = read_material(job.sources, job.seed)
        every = HaystackBuilder(job.params, job.seed, material, counter)
        each = every.count // len(job.params.lengths)
        numbers = [
            length * each + (i * each) // sample + i
            for length in range(len(job.params.lengths))
            for i in range(sample)
        ]
        wanted = list(every.at(numbers))
        sentences = {one.text for one in material.sentences}
        checked, ratios = [], []
        for _ in range(rounds):
            began = time.perf_counter()
            records = recipe.family.generate(job)
            for first in range(0, records.corpus.count, BLOCK):
                records.corpus.jsonl(first, min(first + BLOCK, records.corpus.count))
            checked.append(time.perf_counter() - began)
            began = time.perf_counter()
            for one in wanted:
                naive(counter, one, sentences)
            slow = (time.perf_counter() - began) * every.count / len(wanted)
            ratios.append(slow / checked[-1])
    ratios.sort()
    print(f"{every.count:,} haystacks, every length re-encoded: {statistics.median(checked):.1f} s")
    print(
        f"  ratio to re-encoding until the length fits: {statistics.median(ratios):.0f} "
        f"({ratios[0]:.0f} to {ratios[-1]:.0f})"
    )
    print(f"largest process: {peak():.0f} MB")


def naive(counter: Any, one: Any, sentences: set[str]) -> None:
    """Encode a haystack after each of its sentences, and check that it fits."""
    text, words = "", list[str]()
    start, stop = one.span
    for word in (one.text[:start] + one.text[stop:]).split():
        words.append(word)
        if " ".join(words) in sentences:
            text, words = f"{text} {' '.join(words)}".strip(), []
            assert len(counter._tokenizer.encode(text)) <= one.key.length
    assert not words


if __name__ == "__main__":
    main()
