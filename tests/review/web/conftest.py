"""A small review with its page, asked as a browser asks it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from retgen.review import Review, open_review
from retgen.review.web.app import create_app

HERE = "http://127.0.0.1:8642"
BIDI = "\u202egnp.exe"
CORPUS = {
    "d1": "Jon likes Quokkas.",
    "d2": "<script>alert(1)</script> {{ 7 * 7 }} likes Quokkas.",
    "d3": f"A picture named {BIDI} of Wombats.",
    "d4": "Nothing of the kind.",
}
QUERIES = {"q1": "Who likes Quokkas?", "q2": "Where are Wombats?"}
QRELS = [("q1", "d1", 1), ("q1", "d2", 1), ("q2", "d3", 1), ("q2", "d4", 0), ("q1", "d4", 0)]

Made = Callable[..., Review]


class Browser(TestClient):
    """What a browser does: keeps cookies, says where a form comes from, sends all its fields."""

    review: Review  # whose page it is at

    def __init__(self, app: Any, base: str = HERE) -> None:
        super().__init__(app, base_url=base, headers={"origin": base}, raise_server_exceptions=True)

    def submit(self, page: str, **fields: str) -> Any:
        """Send the first form of a page, with some fields filled in."""
        action = re.search(r'action="(/[^"]*)"', page)
        assert action
        return self.post(action[1], data=hidden(page) | fields)


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of the first form of a page."""
    form = page[page.index("<form") : page.index("</form>")]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


@pytest.fixture
def made(dataset: Callable[..., Path], tmp_path: Path) -> Made:
    """A review of five pairs."""

    def make(**settings: Any) -> Review:
        folder = tmp_path / "made"
        if not folder.exists():
            dataset(CORPUS, QUERIES, QRELS)
        given = {"annotators": ["anna", "ben"], "pool": ["none"]}
        return open_review(folder, out=tmp_path / "review", **{**given, **settings})

    return make


@pytest.fixture
def browser(made: Made) -> Browser:
    """A browser at that review's page."""
    review = made()
    result = Browser(create_app(review))
    result.review = review
    return result
