"""Finished runs that are copied and altered."""

from __future__ import annotations

from pathlib import Path

import pytest

from retgen import run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A test set, a training set with hard negatives, and ladders."""
    folder = tmp_path_factory.mktemp("finished")
    small = {"params.docs": 300, "params.attributes_per_doc": 20}
    conditions = {
        "params.relevant_docs": 20,
        "params.queries": 60,
        "params.catalogue.split": "train",
        "params.form.hard_negatives": 2,
    }
    made = {
        "test": ("limit_dense", {**small, "params.queries": 60}, None),
        "train": ("limit_conditions", {**small, **conditions}, None),
        "ladders": ("multiconir_legal", {}, 3),
    }
    return {
        name: run(recipe, out=folder / name, overrides=changes, limit=limit).path
        for name, (recipe, changes, limit) in made.items()
    }
