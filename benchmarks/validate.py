"""Speed of `gen validate`: all rules, LIMIT's proof, near-duplicates, decontamination.

The corpus is made of bundled words: texts of 20 to 80 words, some rare and some common, one in a
hundred a near-copy of another one; queries are a few words of a document. Near-duplicates are also
looked for among texts of 8 to 20 words. A tenth of the captions that are decontaminated are ones of
the test set with up to four fifths of the words changed; a sample, half of it dropped, is compared
with the whole test set by rouge-score too. Rates are wall time and CPU time of all processes.

    .venv/bin/python benchmarks/validate.py [--documents 50000 1000000] [--proof 50000]
        [--near 100000 1000000] [--captions 40000 3024 20]
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Iterator
from functools import cache
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
        proof=50_000,
        near=[100_000],
        captions=[40_000, 3_024, 20],
    )
    for documents in given.documents:
        all_rules(documents)
    proof(given.proof)
    for documents in given.near:
        for least, most in ((20, 80), (8, 20)):
            near_duplicates(documents, least, most)
    decontamination(*given.captions)


@cache
def vocabulary() -> list[str]:
    """Words of the catalogue, and numbered ones: 200,000."""
    bundled = words()
    return [f"{word}{lap or ''}" for lap in range(1000) for word in bundled][:200_000]


def texts(documents: int, least: int = 20, most: int = 80) -> Iterator[list[str]]:
    """Texts in blocks; the n-th most common word stands in a share of 1/n of the places."""
    known = vocabulary()
    draw = np.random.default_rng(1)
    weights = np.cumsum(1 / np.arange(1, len(known) + 1))
    for first in range(0, documents, _BLOCK):
        count = min(_BLOCK, documents - first)
        sizes = draw.integers(least, most + 1, count)
        places = np.searchsorted(weights, draw.random(int(sizes.sum())) * weights[-1])
        block = [[known[i] for i in one] for one in np.split(places, np.cumsum(sizes)[:-1])]
        for copy in range(0, count - 1, 100):  # one word of a copy is another one
            block[copy + 1] = [*block[copy][:-1], known[int(draw.integers(5000))]]
        yield [" ".join(one) for one in block]


def all_rules(documents: int) -> None:
    """All rules over a set in MTEB layout: a query is four words of its one relevant document."""
    from retgen import validate

    draw = np.random.default_rng(2)
    asked = set(draw.choice(documents, min(_QUERIES, documents), replace=False).tolist())
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        with (
            open(folder / "corpus.jsonl", "wb") as corpus,
            open(folder / "queries.jsonl", "wb") as queries,
            open(folder / "qrels.jsonl", "wb") as qrels,
        ):
            for line, text in enumerate(text for block in texts(documents) for text in block):
                row = {"_id": f"d{line}", "title": "", "text": text}
                corpus.write(orjson.dumps(row) + b"\n")
                if line in asked:
                    some = " ".join(draw.choice(text.split(), 4, replace=False))
                    queries.write(orjson.dumps({"_id": f"q{line}", "text": some}) + b"\n")
                    qrel = {"query-id": f"q{line}", "corpus-id": f"d{line}", "score": 1}
                    qrels.write(orjson.dumps(qrel) + b"\n")
        seconds, cpu, result = measured(lambda: validate(folder))
    print(
        f"all rules, {documents:,} documents: {seconds:.1f} s, {documents / seconds:,.0f} "
        f"documents/s, {1e6 * cpu / documents:.1f} us of CPU a document; "
        f"{len(result.findings)} findings"
    )


def proof(documents: int) -> None:
    """The proof of LIMIT as a run has it, against reading the JSON alone."""
    from retgen import run
    from retgen.progress import no_progress
    from retgen.recipe import load_recipe
    from retgen.validation.validate import prove
    from retgen.work import Local

    with tempfile.TemporaryDirectory() as folder:
        size = {"params.docs": documents}
        made = run("limit_dense", out=Path(folder) / "run", overrides=size).path
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
    from retgen.data import Document
    from retgen.validators.rule import batches
    from retgen.validators.rules.near import WordSets
    from retgen.validators.similar import groups

    def every() -> Iterator[str]:
        return (text for block in texts(documents, least, most) for text in block)

    spool, cpu = WordSets(), 0.0
    for batch in batches(Document("", "", text) for text in every()):
        batch.words()  # both are given words
        cpu += measured(lambda batch=batch: spool.add(batch))[1]
    _, more, (labels, exact) = measured(lambda: groups(spool.sets(".")))
    cpu += more
    print(
        f"near-duplicates, {documents:,} texts of {least} to {most} words: {cpu:.2f} s of CPU, "
        f"{documents / cpu:,.0f} texts/s, {documents - len(np.unique(labels)):,} found, "
        f"{'exact' if exact else 'verified candidates'}"
    )
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        print("datasketch is not installed: `pip install datasketch` for the comparison")
        return
    index = MinHashLSH(threshold=0.8, num_perm=128)

    def theirs() -> int:
        pairs = 0
        for number, text in enumerate(every()):
            sketch = MinHash(num_perm=128)
            sketch.update_batch([word.encode() for word in set(text.split())])
            pairs += bool(index.query(sketch))
            index.insert(str(number), sketch)
        return pairs

    _, other, pairs = measured(theirs)
    print(
        f"the same, datasketch: {other:.2f} s of CPU, {documents / other:,.0f} texts/s, "
        f"{pairs:,} found; ratio {other / cpu:.1f}"
    )


def decontamination(count: int, test: int, sample: int) -> None:
    """Captions with a ROUGE-L F1 above 0.6 with any of a test set, against rouge-score."""
    from retgen.tokenizer import sequence
    from retgen.validators.decontamination import THRESHOLD, overlapping

    draw = random.Random(1)
    made = [text for block in texts(count + test, 8, 75) for text in block]
    own, others = made[:count], made[count:]
    for place in draw.sample(range(count), count // 10):
        share, text = 0.8 * draw.random(), draw.choice(others).split()
        changed = (draw.choice(vocabulary()) if draw.random() < share else word for word in text)
        own[place] = " ".join(changed)
    _, cpu, found = measured(lambda: overlapping(own, others))
    dropped = {text: (other, f1) for text, (other, f1) in found.items() if f1 is not None}
    rate = count * test / cpu
    print(
        f"decontamination, {count:,} captions x {test:,}: {cpu:.2f} s of CPU, {rate / 1e6:.1f} "
        f"million pairs a second; {len(dropped):,} alike"
    )
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        print("rouge-score is not installed: `pip install rouge-score` for the comparison")
        return
    # its own tokenizer keeps [a-z0-9] only; each text is cut once, not once a pair
    tokenizer = type("Tokens", (), {"tokenize": staticmethod(cache(sequence))})()
    scorer = RougeScorer(["rougeL"], tokenizer=tokenizer)
    left = sorted({*range(count)}.difference(dropped))
    chosen = [*draw.sample(sorted(dropped), sample // 2), *draw.sample(left, -(-sample // 2))]

    def theirs() -> dict[int, tuple[int, float]]:
        result = {}
        for place in chosen:
            f1 = [scorer.score(other, own[place])["rougeL"].fmeasure for other in others]
            best = max(range(test), key=f1.__getitem__)
            if f1[best] > THRESHOLD:
                result[place] = best, f1[best]
        return result

    _, slow, expected = measured(theirs)
    same = {place: dropped[place] for place in chosen if place in dropped} == expected
    other = sample * test / slow
    print(
        f"rouge-score, {sample * test:,} of the pairs: {other:,.0f} pairs a second, ratio "
        f"{rate / other:,.0f}; {len(expected)} of {sample} dropped, "
        f"{'the same' if same else 'NOT the same'} with the same pairs and F1"
    )


if __name__ == "__main__":
    main()
