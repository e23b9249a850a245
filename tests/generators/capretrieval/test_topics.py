"""What a long document is about stands before the queries of its passages."""

from __future__ import annotations

import pytest

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.offline import RuleQuery
from retgen.generators.capretrieval.passages import Passage
from retgen.generators.capretrieval.topics import topic_of, with_topic
from retgen.sources import SourceDocument

COUNTS = CorpusCounts(100)


def document(text: str, title: str = "", name: str = "d") -> SourceDocument:
    return SourceDocument(id=name, title=title, text=text)


def test_the_topic_is_the_title_or_a_name_that_is_said_first_and_often() -> None:
    often = "tmux is a terminal multiplexer. " + "Start tmux, then split it. " * 4
    assert topic_of(document(often, "Terminal multiplexers"), "en", COUNTS) == (
        "Terminal multiplexers"
    )
    assert topic_of(document(often, "All that there is to know of terminals"), "en", COUNTS) == (
        "tmux"
    )
    assert topic_of(document(often), "en", COUNTS) == "tmux"
    assert topic_of(document(often), "de", COUNTS) == ""
    assert topic_of(document("tmux is a terminal multiplexer."), "en", COUNTS) == ""
    known = CorpusCounts(100)
    known.words["tmux"] = 90
    assert topic_of(document(often), "en", known) == ""


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("tmux.1", "tmux"),
        ("HTTP::Request.3pm", "HTTP::Request"),
        ("HTTP::Request::Common::Old.3pm", ""),  # no more than its beginning
        ("libtmux.1", ""),
        ("split.1", ""),  # an ordinary word
        ("kettle.1", "Kettle"),
        ("man1/de/tmux.1", "tmux"),  # whatever folder it is in
        ("17", ""),
    ],
)
def test_what_is_scored_has_the_name_that_its_id_begins_with(name: str, topic: str) -> None:
    text = "tmux is a terminal. " * 9 + "You may split it. Split a Kettle of HTTP::Request."
    assert topic_of(document(text, name=name), "en", COUNTS, scored=True) == topic
    assert topic_of(document(text, "Terminals", name), "en", COUNTS, scored=True) == "Terminals"
    assert topic_of(document(text, name=name), "en", COUNTS) == "tmux"


def test_a_query_with_its_topic_rests_on_a_sentence() -> None:
    text = "Set the cursor colour. Then leave tmux."
    passage = Passage("d#2", "d", 0, len(text), "", text, "en")
    rules = [
        RuleQuery("phrase", "cursor colour", 8, 21, 0.2),
        RuleQuery("summary", "set cursor colour", 0, 22, 0.2),
        RuleQuery("keyword", "tmux", 34, 38, 0.1),
        RuleQuery("keyword", "colour", 15, 21, 0.1),
    ]
    assert with_topic(rules, "tmux", passage) == [
        RuleQuery("summary", "tmux cursor colour", 0, 22, 0.09),
        RuleQuery("summary", "tmux set cursor colour", 0, 22, 0.09),
        RuleQuery("keyword", "tmux", 34, 38, 0.045),
    ]
    assert [one.text for one in with_topic(rules, "", passage)] == [one.text for one in rules]
