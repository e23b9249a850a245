"""Speed of the LIMIT family at the paper's size, as ratios against a plain Python script.

The plain script has the algorithm of the published notebook (§5.2 of the paper): pairs of the
smallest sufficient number of documents, one attribute a query, random fillers until every document
has the same number, random names kept unique by a set, one JSON object a line. No proof, no report.

    .venv/bin/python benchmarks/limit.py [--documents 50000] [--rounds 5]
    .venv/bin/python benchmarks/limit.py plain FOLDER DOCUMENTS      the plain script alone
"""

from __future__ import annotations

import itertools
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def main() -> None:
    from common import in_turn, options, peak, ratio

    from retgen.generate import write_dataset
    from retgen.recipe import load_recipe
    from retgen.work import Local

    given = options(__doc__, documents=50_000, rounds=5)
    documents: int = given.documents
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        recipe = load_recipe("limit_dense", {"params.docs": documents})

        def ours() -> None:
            run = root / "ours"
            shutil.rmtree(run, ignore_errors=True)
            run.mkdir()
            write_dataset(recipe, recipe.family.generate(recipe.job), run, Local(1))

        command = [sys.executable, "-m", "retgen.cli", "run", "limit_dense", "--fresh", "-q"]
        command += ["--set", f"params.docs={documents}", "--out", str(root / "run")]
        script = [sys.executable, __file__, "plain", str(root / "plain"), str(documents)]
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "generate and write": (ours, lambda: plain(root / "plain", documents)),
            "whole command: start, generate, prove, report, write": (
                lambda: subprocess.run(command, check=True),
                lambda: subprocess.run(script, check=True),
            ),
        }
        for what, (one, other) in pairs.items():
            times = in_turn({"ours": one, "theirs": other}, given.rounds)
            mine, theirs = (statistics.median(column) for column in times.values())
            print(f"{what}\n    {mine:.3f} s, {documents / mine:,.0f} documents/s")
            print(f"    {theirs:.3f} s  plain script")
            print(f"    ratio {ratio(times['theirs'], times['ours'])}")
        print(f"largest process: {peak(resource.RUSAGE_CHILDREN):.0f} MB")


def plain(folder: Path, documents: int, queries: int = 1000, per_document: int = 45) -> None:
    """Write corpus.jsonl, queries.jsonl and qrels.jsonl."""
    from faker.providers.person.en_US import Provider

    catalogue = Path(__file__).parent.parent / "generators" / "limit" / "catalogue"
    attributes = [
        line
        for path in sorted(catalogue.glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
        if line and line[0] not in "[#"
    ]
    first, last = list(Provider.first_names), list(Provider.last_names)
    draw = random.Random(42)
    draw.shuffle(attributes)
    asked, fillers = attributes[:queries], attributes[queries : queries + 850]
    pairs = list(itertools.combinations(range(46), 2))[:queries]
    likes: list[list[str]] = [[] for _ in range(documents)]
    for attribute, pair in zip(asked, pairs, strict=True):
        for document in pair:
            likes[document].append(attribute)
    names: set[str] = set()
    while len(names) < documents:
        names.add(f"{draw.choice(first)} {draw.choice(last)}")
    people = sorted(names)
    draw.shuffle(people)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "corpus.jsonl", "w") as file:
        for name, held in zip(people, likes, strict=True):
            held += draw.sample(fillers, per_document - len(held))
            draw.shuffle(held)
            text = f"{name} likes {', '.join(held[:-1])} and {held[-1]}."
            file.write(json.dumps({"_id": name, "title": "", "text": text}) + "\n")
    with open(folder / "queries.jsonl", "w") as file:
        for i, attribute in enumerate(asked):
            file.write(json.dumps({"_id": f"query_{i}", "text": f"Who likes {attribute}?"}) + "\n")
    with open(folder / "qrels.jsonl", "w") as file:
        for i, pair in enumerate(pairs):
            for document in pair:
                row = {"query-id": f"query_{i}", "corpus-id": people[document], "score": 1}
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["plain"]:
        plain(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
