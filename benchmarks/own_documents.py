"""Whole offline runs over own documents (family capretrieval), stage by stage; hard negatives.

Each stage stands beside the time that it takes to read the same documents and write them again.
Negatives are mined by the rule of sentence-transformers' mine_hard_negatives with the same model,
and it is counted how many are the same.

    .venv/bin/python benchmarks/own_documents.py [--documents 2000 20000]
        [--passages 100000] [--queries 5000]
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from common import entries, measured, options, peak, words

from retgen import run
from retgen.streams import Stream

WORDS, SENTENCE = 60, 12  # of a document, of a sentence


def main() -> None:
    given = options(__doc__, documents=[2_000, 20_000], passages=100_000, queries=5_000)
    print(f"documents of about {WORDS} words, no model")
    for documents in given.documents:
        with tempfile.TemporaryDirectory() as folder:
            whole_run(Path(folder), documents)
    mining(given.passages, given.queries)


def whole_run(folder: Path, documents: int) -> None:
    """One run over so many documents, and what it took."""
    source = generated(folder / "kb.jsonl", documents)

    def copied() -> None:
        with open(source, "rb") as rows, open(folder / "copy.jsonl", "w") as copy:
            for row in rows:
                copy.write(json.dumps(json.loads(row)) + "\n")

    plain = measured(copied)[0]
    took, _, made = measured(lambda: run(recipe_of(source), out=folder / "kb"))
    print(
        f"\n{documents:,} documents, {made.manifest['counts']['queries']:,} queries: {took:.1f} s, "
        f"{documents / took:.0f} documents/s; read and written only: {plain:.3f} s"
    )
    for stage, seconds in {**made.manifest["timings"], "all": took}.items():
        print(f"    {stage:<20} {seconds:8.2f} s {seconds / plain:8.0f} times")
    print(f"    largest process {peak() / 1024:.2f} GB")


def generated(path: Path, documents: int) -> Path:
    """Documents of catalogued things, in sentences, as JSON Lines."""
    things = sorted(set(entries()))
    picks = Stream(42, "benchmarks/own_documents").integers(len(things), documents * WORDS)
    with open(path, "w") as file:
        for i, row in enumerate(picks.reshape(documents, WORDS).tolist()):
            cut = " ".join(things[j] for j in row).split()[:WORDS]
            sentences = [" ".join(cut[at : at + SENTENCE]) for at in range(0, WORDS, SENTENCE)]
            text = ". ".join(sentences) + "."
            file.write(json.dumps({"_id": f"d{i}", "title": "", "text": text}) + "\n")
    return path


def recipe_of(source: Path) -> Path:
    """A recipe beside its source."""
    path = source.with_suffix(".yaml")
    path.write_text(f"name: kb\nfamily: capretrieval\nparams:\n  source: {{path: {source}}}\n")
    return path


def mining(passages: int, count: int) -> None:
    """Four negatives a query from passages of 40 to 80 words, by BM25 and by static:minilm."""
    from datasets import Dataset
    from sentence_transformers.util import mine_hard_negatives

    from retgen.search.embedders.loading import load_model
    from retgen.search.mining import mine

    known = words()
    picks = Stream(42, "benchmarks/mining").integers(len(known), passages * WORDS)
    corpus = [
        " ".join(known[i] for i in row[: 40 + row[0] % 21])
        for row in picks.reshape(passages, WORDS).tolist()
    ]
    queries = [" ".join(text.split()[0:10:2]) for text in corpus[:count]]
    positives = [[i] for i in range(count)]
    for by in ("bm25", "static:minilm"):
        took, _, ours = measured(
            lambda by=by: [*mine(corpus, queries, positives, by=by, count=4, depth=50, margin=0.95)]
        )
        print(f"mine, by {by}: {took:.1f} s, {sum(map(len, ours)):,} negatives")
    model = load_model("static:minilm", "cpu")
    rows = Dataset.from_dict({"anchor": queries, "positive": corpus[:count]})
    other, _, theirs = measured(
        lambda: mine_hard_negatives(
            rows,
            model,
            corpus=corpus,
            num_negatives=4,
            range_max=50,
            relative_margin=0.05,
            output_format="triplet",
            faiss_batch_size=2048,
            verbose=False,
        )
    )
    mined = {(queries[q], corpus[d]) for q, row in enumerate(ours) for d in row}
    same = len(mined & {(row["anchor"], row["negative"]) for row in theirs})
    print(f"mine_hard_negatives, by static:minilm: {other:.1f} s, {other / took:.1f} times as long")
    print(f"    {same:,} of {len(mined):,} negatives are among their {len(theirs):,}")


if __name__ == "__main__":
    main()
