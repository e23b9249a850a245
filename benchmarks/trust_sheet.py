"""The bundled sheet `trust`: 300 pairs of seven families, half of them relevant by proof.

Made once and then kept: a verdict is about the texts that were seen. Made again, it is another
sheet, and what people said of the old one does not hold of it.

    .venv/bin/python benchmarks/trust_sheet.py FOLDER      usually retgen/review/sheets/trust
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from retgen import run
from retgen.data import Document, Query, open_dataset
from retgen.streams import Stream
from retgen.tokenizer import STOPWORDS, tokens
from retgen.write import write_file

PAIRS = 300
_NEAREST = 3  # documents that a pair without a label is drawn from
# a recipe a family, and what it is changed to: small, and with hard negatives
RECIPES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "limit": ("limit_small", {}),
    "multiconir": ("multiconir_people", {}),
    "capretrieval": ("capretrieval", {}),
    "album": ("capretrieval_album", {}),
    "niah": ("niah", {"params.lengths": [128], "params.distractors": [1]}),
    # what one text alone answers
    "world": (
        "world_small",
        {"params.operators": ["eq", "and", "or", "and-not", "k-of-n", "range"]},
    ),
    "world_twins": ("world_twins", {}),
}


class Pair(NamedTuple):
    """A pair of a sheet, whose label is proven."""

    family: str
    query: str
    title: str
    text: str
    relevant: bool


def pairs_of(family: str, folder: Path, count: int, seed: int) -> Iterator[Pair]:
    """Half of them relevant; a query stands once, if there are enough."""
    name, overrides = RECIPES[family]
    dataset = open_dataset(run(name, overrides=overrides, out=folder / family).path)
    documents = {one.doc_id: one for one in dataset.documents()}
    queries = {one.query_id: one for one in dataset.read_queries()[0]}
    labels: dict[str, dict[str, float]] = {}
    for query_id, doc_id, score in dataset.read_qrels("test")[0]:
        labels.setdefault(query_id, {})[doc_id] = score
    stream = Stream(seed, f"sheet/{family}")
    asked = sorted(one for one in labels if queries[one].text.isascii())
    for number in range(count):
        relevant = number % 2 == 0
        for _ in range(1000):
            query_id = asked[int(stream.integers(len(asked), 1)[0])]
            judged = labels[query_id]
            given = sorted(d for d, score in judged.items() if (score > 0) == relevant)
            if not relevant and not given:
                given = _others(queries[query_id], documents, judged)
            if given:
                asked.remove(query_id)
                asked = asked or sorted(labels)
                break
        one = documents[given[int(stream.integers(len(given), 1)[0])]]
        yield Pair(family, queries[query_id].text, one.title, one.text, relevant)


def _others(
    query: Query, documents: Mapping[str, Document], judged: Mapping[str, float]
) -> list[str]:
    """Documents without a label that share the most words with a query; of its group, if any."""
    group = query.facts.get("group")
    asked = set(tokens(query.text)) - STOPWORDS

    def shared(doc_id: str) -> int:
        return len(asked & set(tokens(documents[doc_id].text)))

    left = sorted(
        doc_id
        for doc_id, one in documents.items()
        if doc_id not in judged
        and one.text.isascii()
        and (group is None or one.metadata.get("group") == group)
    )
    return sorted(left, key=shared, reverse=True)[:_NEAREST]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=2026)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found: list[Pair] = []
        for number, family in enumerate(RECIPES):
            count = PAIRS // len(RECIPES) + (number < PAIRS % len(RECIPES))
            found += pairs_of(family, Path(scratch), count, args.seed)
            print(f"{family}: {count}", flush=True)
    order = Stream(args.seed, "sheet/order").permutation(len(found)).tolist()
    rows = [found[i] for i in order]
    corpus = [
        {"_id": f"d{i:03}", "title": one.title, "text": one.text} for i, one in enumerate(rows)
    ]
    queries = [
        {"_id": f"q{i:03}", "text": one.query, "metadata": {"family": one.family}}
        for i, one in enumerate(rows)
    ]
    qrels = ["query-id\tcorpus-id\tscore"]
    qrels += [f"q{i:03}\td{i:03}\t{int(one.relevant)}" for i, one in enumerate(rows)]
    (args.folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, lines in (("corpus", corpus), ("queries", queries)):
        text = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in lines)
        write_file(args.folder / f"{name}.jsonl", text)
    write_file(args.folder / "qrels" / "test.tsv", "\n".join([*qrels, ""]))


if __name__ == "__main__":
    main()
