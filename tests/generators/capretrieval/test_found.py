"""What people wrote: titles, headings, questions, captions, links and short forms, with what answers."""

from __future__ import annotations

from collections import Counter

import pytest

from retgen.generators.capretrieval.counts import CorpusCounts
from retgen.generators.capretrieval.drafts import incoming_links, survey
from retgen.generators.capretrieval.found import FoundQuery, found_queries, words_shown
from retgen.sources import Block, BlockKind, Link, ShortForm, SourceDocument

BODY = "Mirrors are synchronised four times a day by a push from the archive, or by a timer."
OTHER = "Retries are spaced out: the delay doubles after each failure until an hour has passed."


def document(name: str, *parts: tuple[BlockKind, str, int], **more: object) -> SourceDocument:
    """A document of blocks, in lines apart; the anchor of a heading is its first word."""
    text, blocks = "", []
    for kind, words, level in parts:
        start = len(text)
        anchor = words.split()[0].casefold() if kind == "heading" else ""
        blocks.append(Block(kind, start, start + len(words), level, anchor))
        text += f"{words}\n\n"
    return SourceDocument(name, "", text.rstrip(), tuple(blocks))._replace(**more)  # type: ignore[arg-type]


def found(
    one: SourceDocument, others: list[SourceDocument] | None = None
) -> list[tuple[str, str, str, list[str]]]:
    """Kind, text, what answers, and the words where it was found."""
    every = [one, *(others or [])]
    counts = survey(every)
    counts.documents = max(counts.documents, 20)  # few documents share all of their words
    texts = {doc.id: doc.text for doc in every}
    result: list[FoundQuery] = found_queries(one, "en", counts, incoming_links(every, counts)[0])
    return [
        (
            query.kind,
            query.text,
            one.text[query.start : query.stop],
            [texts[query.found_in][slice(*place)] for place in query.found_at],
        )
        for query in result
    ]


def test_a_heading_is_answered_by_its_section() -> None:
    one = document(
        "d",
        ("title", "# Mirrors of the archive", 1),
        ("paragraph", BODY, 0),
        ("heading", "## 2.1. Spacing `retries` out", 2),
        ("paragraph", OTHER, 0),
        ("heading", "## Too short a section", 2),
        ("paragraph", "See above.", 0),
        ("heading", "## How are mirrors kept up to date?", 2),
        ("paragraph", BODY + " ", 0),
        title="Mirrors of the archive",
    )
    assert found(one) == [
        (
            "title",
            "Mirrors of the archive",
            f"# Mirrors of the archive\n\n{BODY}",
            ["Mirrors of the archive"],
        ),
        ("heading", "Mirrors of the archive Spacing retries out", OTHER, ["Spacing `retries` out"]),
        (
            "question",
            "How are mirrors kept up to date?",
            BODY,
            ["How are mirrors kept up to date?"],
        ),
    ]


def test_a_heading_that_says_little_has_the_words_above_it() -> None:
    one = document(
        "d",
        ("heading", "Mirror synchronisation", 1),
        ("heading", "Notes", 2),
        ("paragraph", OTHER, 0),
        title="Handbook of mirrors",
    )
    counts = CorpusCounts(20, Counter({"notes": 20}), Counter({"notes": 2}))
    (_, query) = found_queries(one, "en", counts, ())
    assert (query.kind, query.text) == ("heading", "Handbook of mirrors Notes")
    assert [one.text[slice(*place)] for place in query.found_at] == ["Notes"]
    # of a title that is too long, or not there, the nearest heading
    for title in ("", "All that there is to know of mirrors and archives"):
        (*_, query) = found_queries(one._replace(title=title), "en", counts, ())
        assert (query.kind, query.text) == ("heading", "Mirror synchronisation Notes")
        assert [one.text[slice(*place)] for place in query.found_at] == [
            "Mirror synchronisation",
            "Notes",
        ]


def test_a_heading_that_does_not_say_what_it_is_about_scores_nothing() -> None:
    shown = [
        "Dummy retries",
        "Dummy retries of clients",
        "Retries of fmtmsg",
        "The longest delay of retries of the",
    ]
    parts = [part for one in shown for part in (("heading", one, 2), ("paragraph", OTHER, 0))]
    one = document("d", *parts)  # type: ignore[arg-type]
    counts = CorpusCounts(20)
    assert [(query.text, query.score) for query in found_queries(one, "en", counts, ())] == [
        ("Dummy retries", 0.0),
        ("Dummy retries of clients", 1.0),
        ("Retries of fmtmsg", 1.0),
        ("The longest delay of retries of the", 0.0),
    ]
    titled = found_queries(one._replace(title="Handbook of mirrors"), "en", counts, ())
    assert [(query.text, query.score) for query in titled][1:] == [
        ("Handbook of mirrors Dummy retries", 1.0),
        ("Handbook of mirrors Dummy retries of clients", 1.0),
        ("Retries of fmtmsg", 1.0),
        ("Handbook of mirrors The longest delay of retries of the", 0.0),
    ]


def test_a_heading_that_is_code_or_goes_on_scores_nothing() -> None:
    shown = [
        "$number of %retries of clients",
        "client->retries, and more retries of it",
        "set retries = none of the clients",
        "show retries of all kinds of cli-",
        "show retries of every kind of cli\u2010",
    ]
    parts = [part for one in shown for part in (("heading", one, 2), ("paragraph", OTHER, 0))]
    one = document("d", *parts)  # type: ignore[arg-type]
    queries = found_queries(one, "en", CorpusCounts(20), ())
    assert [query.score for query in queries] == [0.0] * 5


def test_the_date_of_a_release_and_the_name_of_a_file_are_no_queries() -> None:
    """Nor is an anchor; the words of a version, and other words of the same link, are."""
    shown = ["2.1.0 (2014-01-09)", "## 2.1.0 Longest delay of client retries", "Retryd policy"]
    parts = [part for one in shown for part in (("heading", one, 2), ("paragraph", OTHER, 0))]
    one = document("guide/RETRY_README", *parts, place="guide/RETRY_README.md")  # type: ignore[arg-type]
    words = "RETRY_README, retryd, waiting times of clients"
    targets = ("guide/RETRY_README.md", "guide/RETRY_README#retryd", "guide/RETRY_README.md")
    starts = [words.index(part) for part in words.split(", ")]
    links = tuple(
        Link(start, start + len(part), target)
        for part, start, target in zip(words.split(", "), starts, targets, strict=True)
    )
    other = document("other", ("paragraph", words, 0))._replace(links=links)
    every = [one, other]
    counts = survey(every)
    incoming = incoming_links(every, counts)[0]
    counts.documents = 20
    queries = found_queries(one, "en", counts, incoming)
    assert [(query.kind, query.text, query.score > 0) for query in queries] == [
        ("heading", "Longest delay of client retries", True),
        ("heading", "Retryd policy", True),
        ("link", "RETRY_README", False),
        ("link", "retryd", False),
        ("link", "waiting times of clients", True),
    ]


def test_the_name_of_a_document_stands_before_headings_that_say_little() -> None:
    shown = ["Retries", "Longest delay of retries", "Longest delay of client retries", "Plain"]
    parts = [part for one in shown for part in (("heading", one, 2), ("paragraph", OTHER, 0))]
    one = document("d", ("paragraph", "fmtmsg waits.", 0), *parts)  # type: ignore[arg-type]
    counts = CorpusCounts(20, Counter({"plain": 20}))
    queries = found_queries(one, "en", counts, (), "fmtmsg")
    assert [
        (query.text, query.score > 0, [one.text[slice(*place)] for place in query.found_at])
        for query in queries
    ] == [
        ("fmtmsg Retries", True, ["fmtmsg", "Retries"]),
        ("fmtmsg Longest delay of retries", True, ["fmtmsg", "Longest delay of retries"]),
        ("Longest delay of client retries", True, ["Longest delay of client retries"]),
        ("fmtmsg Plain", False, ["fmtmsg", "Plain"]),  # which says nothing here
    ]


@pytest.mark.parametrize(
    ("title", "before"),
    [
        ("omkafka: Write to Apache Kafka", "omkafka "),
        ("Structured Content Extraction (mmjsonparse)", "mmjsonparse "),
        ("Note: what clients do", "Note: what clients do "),  # an ordinary word is no name
        ("Retry policy", "Retry policy "),
        ("Chapter 9. Reference", ""),  # which says nothing
    ],
)
def test_the_title_of_a_page_before_its_headings(title: str, before: str) -> None:
    one = document("d", ("heading", "Parameters", 2), ("paragraph", OTHER, 0), title=title)
    texts = [text for kind, text, _, _ in found(one) if kind == "heading"]
    assert texts == ([f"{before}Parameters"] if before else [])


def test_what_many_documents_have_is_no_query() -> None:
    pages = [
        document(
            f"d{n}",
            ("heading", "SYNOPSIS", 1),
            ("paragraph", f"{BODY} {n}", 0),
            title=f"Mirror tool {n} - Archive wiki",
            short_forms=(ShortForm("description", "A page of the archive wiki"),),
        )
        for n in range(5)
    ]
    for page in pages:
        texts = [text for _, text, _, _ in found(page, [one for one in pages if one is not page])]
        assert texts == [f"Mirror tool {page.id[1:]}"]


def test_short_forms_captions_and_links() -> None:
    one = document(
        "retries",
        ("heading", "Backoff schedule", 2),
        ("paragraph", OTHER, 0),
        ("caption", "Delays after each failure", 0),
        ("table", "1 2\n2 4", 0),
        place="guide/retries.md",
        short_forms=(ShortForm("description", "How clients wait"), ShortForm("subject", "x")),
    )
    words = "Read the retry policy, the waiting times, and here; also retries here."
    links = [
        Link(words.index("retry"), words.index("retry") + 12, "guide/retries.md"),
        Link(words.index("waiting"), words.index("waiting") + 13, "guide/retries#backoff"),
        Link(words.index("here"), words.index("here") + 4, "guide/retries.md"),
        Link(words.index("also"), words.index("also") + 12, "guide/retries.md#no-such-anchor"),
        Link(words.index("also"), words.index("also") + 12, "nowhere.md"),
    ]
    other = document("other", ("paragraph", words, 0))._replace(links=tuple(links))
    assert found(one, [other]) == [
        ("description", "How clients wait", f"Backoff schedule\n\n{OTHER}", []),
        (
            "heading",
            "Backoff schedule",
            f"{OTHER}\n\nDelays after each failure\n\n1 2\n2 4",
            ["Backoff schedule"],
        ),
        (
            "caption",
            "Delays after each failure",
            f"{OTHER}\n\nDelays after each failure\n\n1 2\n2 4",
            ["Delays after each failure"],
        ),
        ("link", "retry policy", f"Backoff schedule\n\n{OTHER}", ["retry policy"]),
        (
            "link",
            "waiting times",
            f"{OTHER}\n\nDelays after each failure\n\n1 2\n2 4",
            ["waiting times"],
        ),
    ]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("Planning retries in steps", True),
        ("retries.html", False),
        ("a/b.md#steps", False),
        ("/guide/retries", False),
        ("Chapter 57", False),
        ("https://e.example/retries", False),
        ("in steps — Planning retries", False),
        ("Retries — planning them", True),
    ],
)
def test_places_of_pages_and_titles_turned_round_are_nobodys_words(words: str, kept: bool) -> None:
    one = document("r", ("paragraph", OTHER, 0), title="Planning retries in steps", place="r.md")
    other = document("other", ("paragraph", f"See {words}.", 0))
    other = other._replace(links=(Link(4, 4 + len(words), "r.md"),))
    texts = [text for kind, text, _, _ in found(one, [other]) if kind == "link"]
    same = words == "Planning retries in steps"  # the title has these words already
    assert texts == ([words] if kept and not same else [])


def test_questions_that_name_the_topic_need_no_title() -> None:
    one = document(
        "faq",
        ("heading", "Is Sailix threadsafe?", 2),
        ("paragraph", OTHER, 0),
        ("heading", "Who reefs?", 2),
        ("paragraph", BODY, 0),
        title="Sailix Frequently Asked",
    )
    texts = [text for kind, text, _, _ in found(one) if kind == "question"]
    assert texts == ["Is Sailix threadsafe?", "Sailix Frequently Asked Who reefs?"]


def test_headings_that_repeat_the_title_need_none() -> None:
    one = document(
        "m",
        ("heading", "To export a master document", 2),
        ("paragraph", OTHER, 0),
        ("heading", "To export images", 2),
        ("paragraph", BODY, 0),
        title="Working with master documents",
    )
    assert [text for kind, text, _, _ in found(one) if kind == "heading"] == [
        "To export a master document",
        "Working with master documents To export images",
    ]


def test_a_title_in_a_script_without_spaces() -> None:
    text = "铜水壶用来烧水，先把水壶装满清水，再点燃炉子，等到冒出蒸汽后倒入茶杯。"
    one = document("kettle", ("title", "铜水壶", 1), ("paragraph", text, 0), title="铜水壶")
    counts = survey([one])
    counts.documents = 20
    assert [query.score > 0 for query in found_queries(one, "zh", counts, ())] == [True]


@pytest.mark.parametrize(("text", "told"), [("Please see set xtics.", False), (BODY, True)])
def test_a_page_that_names_another_one_answers_nobody(text: str, told: bool) -> None:
    one = document("x2tics", ("title", "X2tics", 1), ("paragraph", text, 0), title="X2tics")
    counts = survey([one])
    counts.documents = 20
    assert [query.score > 0 for query in found_queries(one, "en", counts, ())] == [told]


def test_entries_of_lists_of_changes_are_not_scored() -> None:
    one = document(
        "n",
        ("heading", "2014-02-03 - Release 3.8.3", 2),
        ("paragraph", OTHER, 0),
        title="Older news of the boatyard",
    )
    counts = survey([one])
    counts.documents = 20
    every = {query.text: query.score for query in found_queries(one, "en", counts, ())}
    assert every["Older news of the boatyard 2014-02-03 - Release 3.8.3"] == 0
    assert every["Older news of the boatyard"] > 0.5


def test_a_section_of_a_manual_is_no_part_of_its_name() -> None:
    one = document(
        "sailfaq",
        ("heading", "Reefing in storms", 2),
        ("paragraph", OTHER, 0),
        title="sailfaq(7)",
    )
    assert [text for _, text, _, _ in found(one)][-1:] == ["sailfaq Reefing in storms"]


def test_words_that_point_to_many_documents_say_nothing() -> None:
    targets = [
        document(f"t{n}", ("paragraph", f"{BODY} {n}", 0), place=f"t{n}.md") for n in range(3)
    ]
    text = "user manual, user manual, user manual"
    other = document("other", ("paragraph", text, 0))
    places = [Link(13 * n, 13 * n + 11, f"t{n}.md") for n in range(3)]
    both = incoming_links([*targets, other._replace(links=tuple(places[:2]))], CorpusCounts())
    assert [[one.text for one in links] for links in both] == [
        ["user manual"],
        ["user manual"],
        [],
        [],
    ]
    every = incoming_links([*targets, other._replace(links=tuple(places))], CorpusCounts())
    assert list(every) == [(), (), (), ()]


def test_the_number_of_a_chapter_is_none_of_its_words() -> None:
    """Where its folder has a section of it, or its document counts chapters from 1."""
    section = document("m/b", ("heading", "25.1 Linear programming", 2), ("paragraph", OTHER, 0))
    link = document("m/c", ("paragraph", "25 Optimization of plans", 0))
    link = link._replace(links=(Link(0, 24, "m/a.html"),))
    for folder, first in (
        ("m", "Optimization of functions"),
        ("n", "25 Optimization of functions"),
    ):
        chapter = document(
            f"{folder}/a",
            ("heading", "25 Optimization of functions", 2),
            ("paragraph", BODY, 0),
            place="m/a.html",
        )
        assert [text for _, text, _, _ in found(chapter, [section, link])] == [
            first,
            "Optimization of plans",
        ]
    titled = document("m/a", ("paragraph", BODY, 0))._replace(title="25 Optimization of functions")
    assert [text for _, text, _, _ in found(titled, [section])] == ["Optimization of functions"]
    counted = document(
        "o/a",
        *(
            part
            for n, name in enumerate(("Mirrors", "Delays", "Retries", "Archives"), 1)
            for part in (
                ("heading", f"{n + (n > 3)} {name} of clients", 2),
                ("paragraph", f"{OTHER} {BODY} {name}", 0),
            )
        ),
    )
    assert [text for _, text, _, _ in found(counted)] == [
        "Mirrors of clients",
        "Delays of clients",
        "Retries of clients",
        "5 Archives of clients",
    ]


def test_a_title_goes_without_the_name_of_the_manual_in_parentheses() -> None:
    names = (
        "Spacing of retries",
        "Mirrors of archives",
        "Copper kettles",
        "Files (binary)",
        "Kilns",
    )
    every = [
        document(
            f"d{n}", ("paragraph", f"{BODY} {name}", 0), title=f"{name} (GNU Kiln (version 7.3))"
        )
        for n, name in enumerate(names)
    ]
    titles = [text for one in every for _, text, _, _ in found(one, every)]
    assert titles == list(names)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## Installing **on** `Linux`", "Installing on Linux"),
        ("3.2. Retry policy", "Retry policy"),
        ("10 tips", "10 tips"),
        ("℞ 20: Unicode casing", "Unicode casing"),
        ("PEP 305: Comma-separated files", "PEP 305: Comma-separated files"),
        ("find_name($nid)", "find_name"),
        ("find_name()", "find_name"),
        ("Between find_name() and its caller", "Between find_name and its caller"),
        ("Chapter 8. Texts in other languages", "Texts in other languages"),
        ("Listing 19-11: A guard that matches", "A guard that matches"),
        ("Abbildung 3.2. Das Getriebe", "Das Getriebe"),
        ("Table 4 for guests", "Table 4 for guests"),
        ("Appendix A: Licence of the texts", "Licence of the texts"),
        ("Part of speech tagging", "Part of speech tagging"),
        ("F.20.3. Example", "Example"),
        ("Abschnitt 9.2, „Remoteanmeldung“", "Remoteanmeldung"),
        ("Parte de la oración", "Parte de la oración"),
        ("13) Can I sail it?", "Can I sail it?"),
        ("SECTION 9 - SEARCHING TEXT", "SEARCHING TEXT"),
        ("--sail option", "--sail option"),
        ("Weblate (Portuguese (Brazil))", "Weblate (Portuguese (Brazil))"),
        ("Integrator[[INTEGRATOR]]", "Integrator"),
        ('quote"d words', 'quote"d words'),
        ("execve(2) semantics", "execve(2) semantics"),
        ('"kill" with negative signals', "kill with negative signals"),
        ("[The archive](http://archive.example/x)", "The archive"),
        ("Is it safe?", "Is it safe?"),
        ("the [no]color option", "the no]color option"),
        ("A custom __init__ of _this_ class", "A custom __init__ of this class"),
        ("---", ""),
    ],
)
def test_words_are_shown_without_markup_numbers_and_arguments(text: str, shown: str) -> None:
    words, start, stop = words_shown(text)
    assert words == shown
    if shown:
        assert text[start : start + 1].casefold() == shown[:1].casefold()
        assert stop <= len(text)
