"""What a long document is about stands before the queries of its passages."""

from __future__ import annotations

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.offline import RuleQuery
from retgen.generators.capretrieval.passages import Passage
from retgen.generators.capretrieval.topics import topic_of, with_topic
from retgen.sources import SourceDocument

COUNTS = CorpusCounts(100)


def document(text: str, title: str = "") -> SourceDocument:
    return SourceDocument(id="d", title=title, text=text)


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
