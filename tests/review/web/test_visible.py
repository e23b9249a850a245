"""Characters that nobody sees are shown; those that scripts and emoji need stay."""

from __future__ import annotations

import pytest

from retgen.review.web.drawing import plain, visible


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
