"""Whole offline runs over own documents (family capretrieval), stage by stage.

Each stage as a multiple of the time that it takes to read the same documents and write them again.

    .venv/bin/python benchmarks/own_documents.py [--documents 2000 20000]
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from common import CATALOGUE, options, peak

from retgen import run
from retgen.streams import Stream

WORDS, SENTENCE = 60, 12  # of a document, of a sentence


def main() -> None:
    given = options(__doc__, documents=[2_000, 20_000])
    print(f"documents of about {WORDS} words, no model")
    for documents in given.documents:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), documents)


def measure(folder: Path, documents: int) -> None:
    """One run over so many documents, and what it took."""
    source = generated(folder / "kb.jsonl", documents)
    began = time.perf_counter()
    with open(source, "rb") as rows, open(folder / "copy.jsonl", "w") as copy:
        for row in rows:
            copy.write(json.dumps(json.loads(row)) + "\n")
    plain = time.perf_counter() - began
    recipe = folder / "kb.yaml"
    recipe.write_text(f"name: kb\nfamily: capretrieval\nparams:\n  source: {{path: {source}}}\n")
    began = time.perf_counter()
    manifest = run(recipe, out=folder / "kb").manifest
    took = time.perf_counter() - began
    counts = manifest["counts"]
    print(
        f"\n{documents:,} documents, {counts['queries']:,} queries: {took:.1f} s, "
        f"{documents / took:.0f} documents/s; read and written only: {plain:.3f} s"
    )
    for stage, seconds in {**manifest["timings"], "all": took}.items():
        print(f"    {stage:<20} {seconds:8.2f} s {seconds / plain:8.0f} times")
    print(f"    largest process {peak() / 1024:.2f} GB")


def generated(path: Path, documents: int) -> Path:
    """Documents of catalogued things, in sentences, as JSON Lines."""
    things = sorted(
        {
            line
            for file in sorted(CATALOGUE.glob("*.txt"))
            for line in file.read_text("utf-8").splitlines()
            if line and line[0] not in "[#"
        }
    )
    picks = Stream(42, "benchmarks/own_documents").integers(len(things), documents * WORDS)
    with open(path, "w") as file:
        for i, row in enumerate(picks.reshape(documents, WORDS).tolist()):
            words = " ".join(things[j] for j in row).split()[:WORDS]
            sentences = [
                " ".join(words[at : at + SENTENCE]) + "." for at in range(0, WORDS, SENTENCE)
            ]
            file.write(
                json.dumps({"_id": f"d{i}", "title": "", "text": " ".join(sentences)}) + "\n"
            )
    return path


if __name__ == "__main__":
    main()
