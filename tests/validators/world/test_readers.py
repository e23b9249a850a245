"""Readers of a domain are made once for its files as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from retgen.validators.world.definitions import BadDefinition
from retgen.validators.world.readers import readers_of

KITES = Path(__file__).parent / "kites.yaml"


def test_other_files_are_other_readers(tmp_path: Path) -> None:
    path = tmp_path / "kites.yaml"
    shutil.copy(KITES, path)
    first = readers_of(path)
    assert first.domain.domain == "kites"
    assert readers_of(path) is first
    (tmp_path / "kites.patterns.yaml").write_text("slots: {workshop: ['made in+']}\n")
    second = readers_of(path)
    assert second is not first
    path.write_text(path.read_text().replace("singular: kite", "singular: glider"))
    third = readers_of(path)
    assert (second.domain.singular, third.domain.singular) == ("kite", "glider")
    path.unlink()
    with pytest.raises(BadDefinition, match=r"kites\.yaml: cannot be read: No such file"):
        readers_of(path)
