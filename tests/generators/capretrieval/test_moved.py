"""A finished run whose source has moved, and which has moved itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import run, validate
from retgen.errors import RecipeError
from tests.conftest import Write
from tests.generators.capretrieval.texts import TEXTS, write_recipe


def test_a_run_outlives_its_source(tmp_path: Path, dataset: Write) -> None:
    (tmp_path / "kb").mkdir()
    for n, text in enumerate(TEXTS):
        (tmp_path / "kb" / f"d{n}.txt").write_text(text)
    test_set = dataset({"t": "nothing of the kind"}, {"q": "who knows"}, [("q", "t", 1)], "others")
    recipe = write_recipe(
        tmp_path / "kb.yaml", tmp_path / "kb", f"  decontaminate: {{test_sets: [{test_set}]}}\n"
    )
    path = run(recipe, out=tmp_path / "out").path
    (tmp_path / "kb").rename(tmp_path / "gone")
    test_set.rename(tmp_path / "gone too")
    assert validate(path).ok
    moved = path.rename(tmp_path / "moved")
    result = validate(moved)
    assert (result.ok, result.proven) == (True, result.statistics["qrels"])
    # what has to be read again has to be there
    with pytest.raises(RecipeError, match=f"there is no source {tmp_path / 'kb'}: give"):
        run(moved / "recipe.yaml", out=tmp_path / "again")
