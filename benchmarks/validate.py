"""Speed of `gen validate`: documents a second for all rules, near-duplicates, query-blind rankings.

The corpus is made of bundled words: texts of 20 to 80 words, some rare and some common, one in a
hundred a near-copy of another one; queries are a few words of a document. Near-duplicates are also
looked for among texts of 8 to 20 words. Rates are wall time and
CPU time of all processes. Nothing here is a test: machines differ.

    .venv/bin/python benchmarks/validate.py [--documents 50000 1000000] [--baselines 300000 10000]
        [--proof 50000] [--near 100000 1000000]
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson
from common import measured, options, words

_BLOCK = 10_000
_QUERIES = 1000


def main() -> None:
    given = options(
        __doc__,
        documents=[50_000, 1_000_000],
        baselines=[300_000, 10_000],
        proof=50_000,
        near=[100_000],
    )
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for documents in given.documents:
            all_rules(Path(folder) / str(documents), documents)
        baselines(Path(folder), *given.baselines)
    proof(given.proof)
    for documents in given.near:
        for least, most in ((20, 80), (8, 20)):
            near_duplicates(documents, least, most)


def vocabulary() -> list[str]:
    """Words of the catalogue, and numbered ones: 200,000."""
    bundled = words()
    return [word if not lap else f"{word}{lap}" for lap in range(1000) for word in bundled][
        :200_000
    ]


def texts(documents: int, seed: int = 1, least: int = 20, most: int = 80) -> Iterator[list[str]]:
    """Texts in blocks; the n-th most common word stands in a share of 1/n of the places."""
    known = vocabulary()
    draw = np.random.default_rng(seed)
    weights = np.cumsum(1 / np.arange(1, len(known) + 1))
    for first in range(0, documents, _BLOCK):
        count = min(_BLOCK, documents - first)
        sizes = draw.integers(least, most + 1, count)
        places = np.searchsorted(weights, draw.random(int(sizes.sum())) * weights[-1])
        ends = np.cumsum(sizes)
        block = [
            [known[i] for i in places[end - size : end].tolist()]
            for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)
        ]
        for copy in range(0, count - 1, 100):  # one word of a copy is another one
            block[copy + 1] = [*block[copy][:-1], known[int(draw.integers(5000))]]
        yield [" ".join(one) for one in block]


def collection(folder: Path, documents: int, queries: int) -> None:
    """A data set in MTEB layout: each query is four words of its one relevant document."""
    folder.mkdir()
    draw = np.random.default_rng(2)
    asked = set(draw.choice(documents, queries, replace=False).tolist())
    line = 0
    with (
        open(folder / "corpus.jsonl", "wb") as corpus,
        open(folder / "queries.jsonl", "wb") as into,
        open(folder / "qrels.jsonl", "wb") as qrels,
    ):
        for block in texts(documents):
            for text in block:
                row = {"_id": f"d{line}", "title": "", "text": text}
                corpus.write(orjson.dumps(row) + b"\n")
                if line in asked:
                    some = draw.choice(text.split(), 4, replace=False)
                    query = {"_id": f"q{line}", "text": " ".join(some)}
                    into.write(orjson.dumps(query) + b"\n")
                    qrel = {"query-id": f"q{line}", "corpus-id": f"d{line}", "score": 1}
                    qrels.write(orjson.dumps(qrel) + b"\n")
                line += 1


def all_rules(folder: Path, documents: int) -> None:
    from retgen import validate

    collection(folder, documents, min(_QUERIES, documents))
    seconds, cpu, result = measured(lambda: validate(folder))
    print(
        f"all rules, {documents:,} documents: {seconds:.1f} s, {documents / seconds:,.0f} "
        f"documents/s, {1e6 * cpu / documents:.1f} us of CPU a document; "
        f"{len(result.findings)} findings"
    )


def baselines(folder: Path, documents: int, queries: int) -> None:
    from retgen.data import open_dataset
    from retgen.progress import usable_cores
    from retgen.validators.baselines import WordTerms, query_blind_baselines
    from retgen.validators.rule import Batch, Judgements
    from retgen.work import Local

    collection(folder / "baselines", documents, queries)
    dataset = open_dataset(folder / "baselines")
    judgements = Judgements(dataset.queries.read()[0], dataset.qrels["test"].read()[0])
    rule = WordTerms(judgements)
    batch = Batch(0)
    for number, document in enumerate(dataset.documents(), start=1):
        batch.append(document)
        if len(batch) == 4096 or number == documents:
            rule.scan(batch)
            batch = Batch(number)
    cores = usable_cores()
    seconds, cpu, _ = measured(
        lambda: query_blind_baselines(rule.state, rule.query_terms(), judgements, (), Local(cores))
    )
    print(
        f"query-blind rankings, {documents:,} documents x {queries:,} queries: {seconds:.1f} s, "
        f"{cpu:.1f} s of CPU"
    )


def proof(documents: int) -> None:
    """The proof of LIMIT as a run has it, against reading the JSON alone."""
    from retgen import run
    from retgen.progress import no_progress
    from retgen.recipe import load_recipe
    from retgen.validation.validate import prove
    from retgen.work import Local

    with tempfile.TemporaryDirectory() as folder:
        made = run(
            "limit_dense", out=Path(folder) / "run", overrides={"params.docs": documents}
        ).path
        lines = (made / "dataset" / "corpus.jsonl").read_bytes().split(b"\n")[:-1]
        recipe = load_recipe(made).at(made)
        ours, theirs = [], []
        for _ in range(5):
            ours.append(measured(lambda: prove(made, recipe, Local(1), no_progress))[1])
            theirs.append(measured(lambda: sum(1 for line in lines if orjson.loads(line)))[1])
    print(
        f"proof of LIMIT, {len(lines):,} documents: {statistics.median(ours):.2f} s of CPU; "
        f"orjson.loads of its lines {statistics.median(theirs):.2f} s"
    )


def near_duplicates(documents: int, least: int, most: int) -> None:
    """Texts a second until all groups of near-duplicates are known, ours and datasketch's."""
    from retgen.validators.similar import groups
    from retgen.validators.wordsets import WordSets

    def cut() -> Iterator[list[list[str]]]:
        for block in texts(documents, least=least, most=most):
            yield [text.split() for text in block]

    with tempfile.TemporaryDirectory(dir=".") as folder:
        spool = WordSets()
        cpu = sum(measured(lambda some=some: spool.add(some))[1] for some in cut())
        _, more, (labels, exact) = measured(lambda: groups(spool.sets(folder)))
    cpu += more
    result = documents - len(np.unique(labels))
    print(
        f"near-duplicates, {documents:,} texts of {least} to {most} words: {cpu:.2f} s of CPU, "
        f"{documents / cpu:,.0f} texts/s, {result:,} found, "
        f"{'exact' if exact else 'verified candidates'}"
    )
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        print("datasketch is not installed: `pip install datasketch` for the comparison")
        return
    index = MinHashLSH(threshold=0.8, num_perm=128)

    def theirs(some: list[list[str]], first: int) -> int:
        pairs = 0
        for number, one in enumerate(some, start=first):
            sketch = MinHash(num_perm=128)
            sketch.update_batch([word.encode() for word in set(one)])
            pairs += bool(index.query(sketch))
            index.insert(str(number), sketch)
        return pairs

    other, pairs, first = 0.0, 0, 0
    for some in cut():
        _, more, hits = measured(lambda some=some, first=first: theirs(some, first))
        other, pairs, first = other + more, pairs + hits, first + len(some)
    print(
        f"the same, datasketch: {other:.2f} s of CPU, {documents / other:,.0f} texts/s, "
        f"{pairs:,} found; ratio {other / cpu:.1f}"
    )


if __name__ == "__main__":
    main()
