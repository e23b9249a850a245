from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import retgen
from tests.publishing.hub_server import TOKEN, State, serving


@pytest.fixture
def kb(limit_run: Path, tmp_path: Path) -> Path:
    """A run of its own: 15 documents, 100 queries, 200 qrels.

    As it was made: other tests may have evaluated the run that they share.
    """
    as_made = shutil.ignore_patterns("eval")
    return Path(shutil.copytree(limit_run, tmp_path / "kb", ignore=as_made))


@pytest.fixture(scope="session")
def kb_tree(limit_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `kb` is published as; tests read it only."""
    folder = tmp_path_factory.mktemp("published")
    as_made = shutil.ignore_patterns("eval")
    run = shutil.copytree(limit_run, folder / "kb", ignore=as_made)
    retgen.publish(run, f"file:{folder / 'tree'}")
    return folder / "tree"


@pytest.fixture(scope="session")
def ladders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3 ladders: 60 documents with metadata of several lengths, 60 queries, training tables."""
    out = tmp_path_factory.mktemp("runs") / "ladders"
    return retgen.run("multiconir_people", out=out, limit=3).path


@pytest.fixture(scope="session")
def ladders_tree(ladders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `ladders` is published as; tests read it only."""
    folder = tmp_path_factory.mktemp("published") / "ladders"
    retgen.publish(ladders, f"file:{folder}")
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[State]:
    """A server that speaks the Hub's API, in the environment, with a token that may write."""
    from huggingface_hub import constants

    with serving() as state:
        monkeypatch.setenv("HF_ENDPOINT", state.url)
        # read from the environment when the library is imported
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield state
