"""The address of a place in a bucket, and what it needs; test_s3_server.py publishes there."""

from __future__ import annotations

import sys

import pytest

from retgen.errors import UsageError
from retgen.publishing.destinations import destination
from tests.conftest import Gen
from tests.project import ROOT

READ = """\
import json

import fsspec
from datasets import load_dataset

s3 = fsspec.filesystem("s3")
revision = json.loads(s3.cat("s3://bucket/kb/current.json"))["revision"]
s3.get(f"s3://bucket/kb/revisions/{revision}/", "kb_here/", recursive=True)
corpus = load_dataset("kb_here", "corpus", split="corpus")
queries = load_dataset("kb_here", "queries", split="queries")
qrels = load_dataset("kb_here", split="test")
"""


@pytest.mark.parametrize(
    "address",
    [
        "kb",
        "//bucket",
        "//bucket/",
        "/bucket/kb",
        "//b/kb",
        "//bucket//kb",
        "//bucket/a/../b",
        "//bucket/a b",
        "//bucket/k*",
        "//bucket/k?versionId=1",
    ],
)
def test_places_that_cannot_be(gen: Gen, address: str) -> None:
    done = gen("publish", "outputs/kb", f"s3:{address}")
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"gen: s3:{address} is no place in a bucket: write s3://BUCKET/PATH, the bucket's "
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(UsageError) as error:
        destination("s3://bucket/kb")
    assert (
        str(error.value) == "s3://bucket/kb needs the package s3fs: pip install 'retgen[publish]'"
    )


def test_the_page_says_how_it_is_read() -> None:
    """As test_s3_server.py reads it."""
    assert f"```python\n{READ}```" in (ROOT / "docs" / "publishing.md").read_text()
