"""The reference of the speed ratios: LIMIT's construction as a plain Python script would do it.

Same algorithm as the published notebook (§5.2 of the paper): pairs of the smallest sufficient
number of documents, one attribute a query, random fillers until every document has the same number,
random names kept unique by a set, one JSON object a line. No proof, no report.

    python benchmarks/plain.py OUT_FOLDER [DOCUMENTS]
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path


def main(folder: Path, documents: int, queries: int = 1000, per_document: int = 45) -> None:
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
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 50_000)
