"""Speed of worlds: facts drawn, worded and written, then read back and proven.

The reference draws as many facts of a document with Faker and puts each into one sentence: what a
plain script would do, which draws nothing coherent and proves nothing. Both are measured in turn,
A B A B ..., each by as many processes, and medians are printed. Nothing here is a test: machines
differ.

With `--phantom-wiki COMMAND` so is PhantomWiki (arXiv 2502.20377), whose generator wants SWI-Prolog
and Python 3.12 in an environment of its own (`pip install phantom-wiki`): families of 25 people to
the same number of documents, one question of each type, no solution traces. It is one process.

    .venv/bin/python benchmarks/world.py [--documents 20000] [--rounds 3] [--processes 2]
                                         [--phantom-wiki .../phantom-wiki-generate]
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import orjson
from common import options, peak

from retgen.data import Document
from retgen.generate import BLOCK
from retgen.recipe import load_recipe
from retgen.validators.rule import Batch, Judgements
from retgen.validators.world import WorldProof, WorldSpec
from retgen.world import load_domain

FACTS = 18  # of a document of films, on average


def written(domain: str, documents: int, part: int, parts: int) -> Path:
    """Draw, word and write a part of a corpus."""
    over = {
        "params.domain": domain,
        "params.documents": documents,
        "params.answer_sizes": [1],
        "params.operators": ["eq"],
        "params.wordings": ["literal"],
        "params.queries_per_cell": 1,
    }
    recipe = load_recipe("world_small", overrides=over)
    corpus = recipe.family.generate(recipe.job).corpus
    path = Path(tempfile.gettempdir()) / f"world-{os.getpid()}-{part}.jsonl"
    with open(path, "wb") as file:
        stop = documents * (part + 1) // parts
        for first in range(documents * part // parts, stop, BLOCK):
            file.write(corpus.jsonl(first, min(first + BLOCK, stop)))
    return path


def proven(domain: str, path: Path) -> int:
    """Read a part back; how many documents."""
    proof = WorldProof(WorldSpec(load_domain(domain).path), Judgements([], []))
    batch = Batch(0)
    with open(path, "rb") as file:
        for line in file:
            row = orjson.loads(line)
            batch.append(Document(row["_id"], row["title"], row["text"], row["metadata"]))
            if len(batch) == BLOCK:
                proof.scan(batch)
                batch = Batch(batch.first + BLOCK)
    proof.scan(batch)
    assert not proof.state.wrong, proof.state.wrong[:3]
    return proof.state.documents


def plain(documents: int, part: int, parts: int) -> Path:
    """The reference: as many facts of each document by Faker, a sentence each."""
    from faker import Faker

    fake = Faker("en_US")
    fake.seed_instance(part)
    draws: list[Callable[[], str]] = [
        fake.city,
        fake.country,
        fake.name,
        fake.job,
        fake.year,
        fake.date,
        fake.company,
        fake.color_name,
        fake.street_name,
        fake.first_name,
        fake.last_name,
        fake.month_name,
        fake.language_name,
        fake.day_of_week,
        fake.currency_name,
        fake.postcode,
        fake.state,
        fake.word,
    ]
    assert len(draws) == FACTS
    path = Path(tempfile.gettempdir()) / f"plain-{os.getpid()}-{part}.jsonl"
    with open(path, "wb") as file:
        for i in range(documents * part // parts, documents * (part + 1) // parts):
            name = fake.name()
            facts = [draw() for draw in draws]
            text = " ".join(f"{name} has value {k} {fact}." for k, fact in enumerate(facts))
            row = {"_id": f"d{i}", "title": name, "text": text, "metadata": {"facts": facts}}
            file.write(orjson.dumps(row) + b"\n")
    return path


def phantom_wiki(command: str, documents: int) -> int:
    """Articles, facts and questions of PhantomWiki; how many articles."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            [
                command,
                "--num-family-trees",
                str(documents // 25),
                "--max-family-tree-size",
                "25",
                "--num-questions-per-type",
                "1",
                "--skip-solution-traces",
                "--quiet",
                "--article-format",
                "json",
                "--question-format",
                "json",
                "--output-dir",
                out,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return len(orjson.loads((Path(out) / "articles.json").read_bytes()))


def main() -> None:
    given = options(
        __doc__, documents=20_000, domain="films", rounds=3, processes=2, phantom_wiki=""
    )
    count, processes = given.documents, given.processes
    made, read, reference, phantoms = [], [], [], []
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn) as pool:

        def timed(
            work: Callable[..., object], *arguments: list[object]
        ) -> tuple[float, list[object]]:
            began = time.perf_counter()
            results = list(pool.map(work, *arguments))
            return count / (time.perf_counter() - began), results

        parts, every = list[object](range(processes)), [processes] * processes
        warm = 100 * processes  # imports, and the domain
        paths = [*pool.map(partial(written, given.domain, warm), parts, every)]
        for path, _ in zip(paths, pool.map(partial(proven, given.domain), paths), strict=True):
            path.unlink()
        for _ in range(given.rounds):
            rate, paths = timed(partial(written, given.domain, count), parts, list(every))
            made.append(rate)
            rate, _documents = timed(partial(proven, given.domain), paths)
            read.append(rate)
            for path in paths:
                assert isinstance(path, Path)
                path.unlink()
            rate, paths = timed(partial(plain, count), parts, list(every))
            reference.append(rate)
            for path in paths:
                assert isinstance(path, Path)
                path.unlink()
            if given.phantom_wiki:
                began = time.perf_counter()
                articles = phantom_wiki(given.phantom_wiki, count)
                phantoms.append(articles / (time.perf_counter() - began))
    print(f"{count:,} documents of {given.domain}, documents/s:")
    series = [("drawn, worded, written", made), ("read back and proven", read)]
    references = [("Faker, a sentence a fact", reference), ("PhantomWiki", phantoms)]
    for what, rates in series + references:
        if rates:
            print(f"  {what + ':':26}{statistics.median(rates):,.0f}")
    for what, rates in series:
        for name, others in references:
            ratios = sorted(a / b for a, b in zip(rates, others, strict=False))
            if ratios:
                print(
                    f"  {what} / {name}: {statistics.median(ratios):.1f} "
                    f"({ratios[0]:.1f} to {ratios[-1]:.1f})"
                )
    print(f"largest process: {peak(resource.RUSAGE_CHILDREN):.0f} MB")


if __name__ == "__main__":
    main()
