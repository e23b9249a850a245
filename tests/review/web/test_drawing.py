"""Records as their families draw them; blind, a drawing never depends on the label."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import retgen
from retgen.generators import families, family
from retgen.review import open_review
from retgen.review.records import ShownPair
from retgen.review.web.app import create_app
from retgen.review.web.drawing import draw, plain, visible
from retgen.review.web.views import render
from tests.review.web.conftest import Browser

LIMIT = ShownPair(
    "Who likes Lhasa Apsos?",
    "",
    "Ann Ek likes Apsos, Lhasa Apsos and Quokkas.",
    {"attributes": [7]},
    {"attributes": [1, 7, 9]},
)
NIAH = ShownPair(
    "Which character avoids the sun?",
    "",
    "It rained. Mireille has xeroderma. It went on.",
    {"group": "m-1"},
    {"group": "m-1", "span": [11, 34]},
)
LADDER = ShownPair(
    "Find a movie that meets the following conditions:\n1. The ship sinks\n2. The cook is saved",
    "",
    "The ship sails on. The cook is saved.",
    {"ladder": "m"},
    {"ladder": "m", "broken": [1]},
)
OWN = ShownPair(
    "red lantern",
    "",
    "A red lantern hangs there. Nothing else does.",
    {"source": "s", "span": [102, 113]},
    {"source": "s", "span": [100, 145]},
)


def drawn(
    name: str,
    shown: ShownPair,
    *,
    revealed: bool,
    label: float | None = None,
    positives: tuple[str, ...] = (),
) -> str:
    one = draw(name, shown, revealed=revealed, label=label, positives=positives)
    return render(one.template, one.values)


def test_limit_marks_the_attribute_that_is_asked_for() -> None:
    html = drawn("limit", LIMIT, revealed=False)
    assert re.findall("<mark.*?</mark>", html) == [
        '<mark class="found" id="found-1">Apsos</mark>',
        '<mark class="found" id="found-2">Lhasa Apsos</mark>',
    ]
    assert "3 attributes in this document; the query names 2 of them." in html
    other = LIMIT._replace(query="Who likes Gouda but not Soup?")
    assert "the query names none of them." in drawn("limit", other, revealed=False)


def test_a_needle_is_shown_in_its_place_once_that_tells_nothing() -> None:
    blind = drawn("niah", NIAH, revealed=False)
    assert "<mark" not in blind
    assert "A haystack of 8 words. Where its needle lies is not shown before your verdict." in blind
    html = drawn("niah", NIAH, revealed=True)
    assert '<mark class="found" id="found-1">Mireille has xeroderma.</mark>' in html
    assert "begins 23.9% into 8 words" in html
    control = NIAH._replace(document_metadata={"group": ""})
    assert "A haystack of 8 words without a needle." in drawn("niah", control, revealed=True)


def test_a_ladder_shows_conditions_and_what_was_changed() -> None:
    positive = ("The ship sinks. The cook is saved.",)
    blind = drawn("multiconir", LADDER, revealed=False, label=0.0, positives=positive)
    assert re.findall(r'<li dir="auto">(.*?)</li>', blind) == [
        "The ship sinks",
        "The cook is saved",
    ]
    assert "<del>" not in blind
    html = drawn("multiconir", LADDER, revealed=True, label=0.0, positives=positive)
    assert "The ship <del>sinks.</del> <ins>sails on.</ins> The cook is saved." in html
    claimed = drawn("multiconir", LADDER, revealed=True, label=1.0, positives=positive)
    assert "<del>" not in claimed
    other = ("Somebody quite else walks through a field in Norway.",)
    assert "<del>" not in drawn("multiconir", LADDER, revealed=True, label=0.0, positives=other)


def test_the_span_that_a_query_rests_on_is_marked_after_the_verdict() -> None:
    assert re.findall("<mark.*?</mark>", drawn("capretrieval", OWN, revealed=True)) == [
        '<mark class="span">red lantern</mark>'
    ]
    assert re.findall("<mark.*?</mark>", drawn("", OWN, revealed=False)) == [
        '<mark class="query">red</mark>',
        '<mark class="query">lantern</mark>',
    ]


@pytest.mark.parametrize(
    ("family", "shown"),
    [("limit", LIMIT), ("niah", NIAH), ("multiconir", LADDER), ("capretrieval", OWN), ("", OWN)],
)
def test_a_blind_drawing_is_of_the_texts_alone(family: str, shown: ShownPair) -> None:
    bare = ShownPair(*shown[:3])
    known = drawn(family, shown, revealed=False, label=1.0, positives=("another text",))
    assert known == drawn(family, bare, revealed=False, label=0.0)


@pytest.mark.parametrize("mark", ["found", "query"])
def test_a_hostile_record_is_text_in_every_drawing(mark: str) -> None:
    evil = "<img src=x onerror=alert(1)> {{ config }} {% raw %} \u202e likes <b>, <i> and x."
    shown = ShownPair(f"<b> {evil}", evil, evil, {"span": [0, 9]}, {"span": [0, 5]})
    for name in ("", "limit", "niah", "multiconir", "capretrieval"):
        for revealed in (False, True):
            html = drawn(name, shown, revealed=revealed, positives=(f"{evil} y",))
            assert not re.search(r"<(img|b|i)\b", html), family
            assert "\u202e" not in html
            assert "{{ config }}" in re.sub("</?(mark|ins|del)[^>]*>", "", html)


def test_a_blind_page_is_the_same_whatever_the_label_is(limit_run: Path, tmp_path: Path) -> None:
    pages = []
    for name in ("right", "wrong"):
        run = tmp_path / name / "run"
        shutil.copytree(limit_run, run)
        review = open_review(run, annotators=["anna"])
        if name == "wrong":
            with closing(sqlite3.connect(review.store.path)) as db, db:
                db.execute(
                    "UPDATE items SET item = replace(item, '\"label\":1.0', '\"label\":0.0')"
                )
            review = open_review(run)
        browser = Browser(create_app(review))
        page = browser.get("/judge/anna").text
        pages.append(re.sub(r'name="(form|since)" value="[^"]*"', "", page))
        assert "relevant (" not in page
    assert pages[0] == pages[1]


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Families that are looked for anew, before and after a test."""
    for found in (families, family):
        found.cache_clear()
    yield
    for found in (families, family):
        found.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_a_family_of_another_package_brings_its_drawing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, about = tmp_path / "balls", tmp_path / "balls-1.0.dist-info"
    package.mkdir()
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: balls\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[retgen.families]\nballs = balls\n")
    (package / "__init__.py").write_text(
        "from retgen.generators import limit\n\n\nclass Balls(limit.Limit):\n    name = 'balls'\n"
    )
    (package / "drawing.py").write_text(
        "def view(query, document, context):\n    return {'colour': 'red'}\n"
    )
    (package / "review.html").write_text(
        '{% extends "drawing.html" %}{% block above %}<p>{{ colour }}</p>{% endblock %}'
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert "<p>red</p>" in drawn("balls", OWN, revealed=False)


def test_every_bundled_drawing_is_in_the_package() -> None:
    root = Path(retgen.__file__).parent / "generators"
    assert sorted(path.parent.name for path in root.glob("*/review.html")) == [
        "album",
        "limit",
        "multiconir",
        "niah",
        "world",
        "world_twins",
    ]


# --- characters that nobody sees; those that scripts and emoji need stay --------------------------


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\u202eb", 'a<span class="hidden" title="Right-to-left override">U+202E</span>b'),
        ("\x00", '<span class="hidden" title="Control character">U+0000</span>'),
        ("\u200b<", '<span class="hidden" title="Zero width space">U+200B</span>&lt;'),
        ("\U000e0041", '<span class="hidden" title="Tag latin capital letter a">U+E0041</span>'),
        ("\ud800", '<span class="hidden" title="Control character">U+D800</span>'),
        ("tab\tline\nend", "tab\tline\nend"),
        ("👩\u200d🚀 क\u094d\u200dष", "👩\u200d🚀 क\u094d\u200dष"),
        ('{{ 7 * 7 }} "q"', "{{ 7 * 7 }} &#34;q&#34;"),
    ],
)
def test_visible(text: str, html: str) -> None:
    assert str(visible(text)) == html


def test_plain() -> None:
    assert plain("a\u202eb") == "a<U+202E>b"
