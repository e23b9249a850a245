"""Speed of the NIAH family, as ratios against encoding each text again until its length fits.

The naive way adds a sentence and encodes the text, until it has its length. It is even told which
sentences fit, so that both ways make the same texts and it never has to try another one. They are
measured in turn, A B A B ..., and medians are printed. Nothing here is a test: machines differ.

    .venv/bin/python benchmarks/haystacks.py [--sample 7] [--rounds 3]
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import options, peak

from retgen.agents.models import ModelOptions
from retgen.generate import BLOCK, generate_with_agents
from retgen.generators.niah.books import gather_material, read_material
from retgen.generators.niah.counting import load_counter
from retgen.generators.niah.haystacks import Haystack, HaystackBuilder
from retgen.recipe import load_recipe
from retgen.work import Local


def main() -> None:
    given = options(__doc__, sample=7, rounds=3)
    recipe = load_recipe("niah")
    counter = load_counter("minilm")
    with tempfile.TemporaryDirectory() as folder:
        generate_with_agents(recipe, Path(folder), ModelOptions(), engine=Local(1))
        job = recipe.at(Path(folder)).job
        whole, unchecked, checked, naive = [], [], [], []
        for _ in range(given.rounds):
            began = time.perf_counter()
            gather_material(job.params, job.seed)
            assert job.sources is not None
            material = read_material(job.sources, job.params, job.seed)
            every = HaystackBuilder(
                job.params, job.seed, material.groups, material.cast, material.sentences, counter
            )
            ready = time.perf_counter()
            made = list(every.places(range(every.count)))
            done = time.perf_counter()
            whole.append(done - began)
            unchecked.append(done - ready)
            del made
            began = time.perf_counter()
            records = recipe.family.generate(job)
            for first in range(0, records.corpus.count, BLOCK):
                records.corpus.jsonl(first, min(first + BLOCK, records.corpus.count))
            checked.append(time.perf_counter() - began)
            naive.append(slow(every, [one.text for one in material.sentences], given.sample))
        count = every.count
        print(f"{count:,} haystacks, every length re-encoded: {statistics.median(checked):.1f} s")
        print(f"  tables and books read, all texts made:     {statistics.median(whole):.2f} s")
        print(f"  the texts alone:                           {statistics.median(unchecked):.2f} s")
        rate = statistics.median(naive)
        print(f"re-encoding until the length fits: {count / rate:.0f} s ({rate:.1f} a second)")
        for name, times in (
            ("with books and table", whole),
            ("texts alone", unchecked),
            ("with the check", checked),
        ):
            ratios = sorted(count / rate / mine for rate, mine in zip(naive, times, strict=True))
            print(
                f"  ratio, {name}: {statistics.median(ratios):.0f} "
                f"({ratios[0]:.0f} to {ratios[-1]:.0f})"
            )
    print(f"largest process: {peak():.0f} MB")


def slow(every: HaystackBuilder, sentences: Sequence[str], sample: int) -> float:
    """Haystacks a second of the naive way, as many of each length."""
    tokenizer: Any = every.counter._tokenizer  # type: ignore[attr-defined]
    each = every.count // len(every.params.lengths)
    numbers = [
        length * each + (i * each) // sample + i
        for length in range(len(every.params.lengths))
        for i in range(sample)
    ]
    wanted = list(every.at(numbers))
    began = time.perf_counter()
    for one in wanted:
        assert naive(tokenizer, one, sentences) == one.text
    return len(wanted) / (time.perf_counter() - began)


def naive(tokenizer: Any, one: Haystack, sentences: Sequence[str]) -> str:
    """The same haystack, its length found by encoding."""
    start, stop = one.span
    filler = [*_split(one.text[:start], sentences), *_split(one.text[stop:], sentences)]
    needle, before = one.text[start:stop], len(_split(one.text[:start], sentences))

    def text(parts: list[str]) -> str:
        with_needle = [*parts[:before], needle, *parts[before:]] if needle else parts
        return " ".join(with_needle)

    chosen: list[str] = []
    for sentence in filler:
        chosen.append(sentence)
        if len(tokenizer.encode(text(chosen))) > one.key.length:
            raise AssertionError
    return text(chosen)


_known: set[str] = set()


def _split(text: str, sentences: Sequence[str]) -> list[str]:
    """The sentences that a text was joined from."""
    if not _known:
        _known.update(sentences)
    parts, words = [], list[str]()
    for word in text.split():
        words.append(word)
        if " ".join(words) in _known:
            parts.append(" ".join(words))
            words = []
    assert not words
    return parts


if __name__ == "__main__":
    main()
