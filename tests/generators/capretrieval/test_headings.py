"""A query that is a page's title is trained on the page without its heading."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from retgen import run
from tests.conftest import read_jsonl
from tests.generators.capretrieval.texts import TEXTS, write_recipe

WINDMILL, STORMS, COPPER, OWLS, TRAM, BEES, GLASS, CHESS = TEXTS


def test_words_are_cut_from_lines_that_stay_apart(tmp_path: Path) -> None:
    """A label over a heading goes with it; white space before the first line moves no place; a
    description that ends within a line leaves the heading above it a line.
    """
    pages = {
        "zinc.md": f"(Copper pans)=\n\n# Copper pans\n\n{COPPER}\n\n## Salt and sour\n\n{COPPER}",
        "indented.txt": f"\t\tThe great glass works\n\t\t=====\n\nAbstract\n-----\n\n{GLASS}",
        "part.md": f"---\ndescription: Bees keep house\n---\n# Bees\n\nBees keep house here. {BEES}",
        **{f"{n}.txt": text for n, text in enumerate((STORMS, OWLS, TRAM, CHESS))},
        "mute.txt": WINDMILL,  # held out
    }
    (tmp_path / "kb").mkdir()
    for name, text in pages.items():
        (tmp_path / "kb" / name).write_text(text, "utf-8")
    params = "  splits: {test: 0.1, dev: 0}\n"
    path = run(write_recipe(tmp_path / "kb.yaml", tmp_path / "kb", params), out=tmp_path / "o").path
    texts = {row["_id"]: row["text"] for row in read_jsonl(path / "dataset" / "queries.jsonl")}
    shown = {
        texts[row["query-id"]]: row["positive"]
        for row in pq.read_table(path / "training" / "found.parquet").to_pylist()
    }
    assert shown == {
        "Copper pans": f"{COPPER}\n\n## Salt and sour\n\n{COPPER}",
        "Copper pans Salt and sour": f"{COPPER}\n\n\n{COPPER}",
        "Bees": f"Bees keep house here. {BEES}",
        "Bees keep house": f"here. {BEES}",
    }
