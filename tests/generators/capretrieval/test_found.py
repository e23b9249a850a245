"""What people wrote: titles, headings, questions, links and short forms, with what answers them."""

from __future__ import annotations

import pytest

from retgen.generators.capretrieval.drafts import incoming_links, survey
from retgen.generators.capretrieval.found import found_queries, words_shown
from retgen.sources import SourceDocument
from retgen.sources.markdown import markdown_blocks
from retgen.sources.records import ShortForm

BODY = "Mirrors are synchronised four times a day by a push from the archive, or by a timer."
OTHER = "Retries are spaced out: the delay doubles after each failure until an hour has passed."
Found = dict[str, tuple[str, str, float]]


def page(name: str, text: str, title: str = "", *forms: tuple[str, str]) -> SourceDocument:
    blocks, links = markdown_blocks(text, f"{name}.md")
    short_forms = tuple(ShortForm(*one) for one in forms)
    return SourceDocument(name, title, text, tuple(blocks), tuple(links), short_forms, f"{name}.md")


def found(one: SourceDocument, *others: SourceDocument) -> Found:
    """Kind, what answers and score of each query, by its text."""
    every = [one, *others]
    counts = survey(every)
    counts.documents = max(counts.documents, 20)  # few documents share all of their words
    queries = found_queries(one, "en", counts, incoming_links(every)[0])
    return {q.text: (q.kind, one.text[slice(*q.span)], q.score) for q in queries}


def test_headings_are_answered_by_their_sections() -> None:
    one = page(
        "d",
        f"# Mirrors of the archive\n\n{BODY}\n\n## 2.1. Spacing `retries` out\n\n{OTHER}\n\n"
        f"## Too short a section\n\nSee above.\n\n## Hardware and drivers\n\n[a](b.md) [c](d.md)\n\n"
        f"## How are mirrors kept up to date?\n\n{BODY}\n\n## archive.sync\n\n{OTHER}\n",
        "Mirrors of the archive",
    )
    result = found(one)
    assert {text: query[:2] for text, query in result.items()} == {
        "Mirrors of the archive": ("title", f"# Mirrors of the archive\n\n{BODY}"),
        "Mirrors of the archive Spacing retries out": ("heading", OTHER),
        "How are mirrors kept up to date?": ("question", BODY),
        "archive.sync": ("heading", OTHER),
    }
    assert all(score > 0 for _, _, score in result.values())


def test_a_heading_of_a_document_without_title_is_not_scored() -> None:
    text = f"## Conversion strings\n\n{OTHER}\n\n## Spacing failing retries without end\n\n{BODY}\n"
    result = found(page("d", text))
    assert result["Conversion strings"][2] == 0
    assert result["Spacing failing retries without end"][2] > 0


def test_what_many_documents_have_and_licences_are_no_queries() -> None:
    text = f"# Kettle {{}} — Harbour\n\n## Synopsis of it\n\n{BODY}\n\n## Licence\n\n{OTHER}\n"
    pages = [
        page(f"d{n}", text.format(word), f"Kettle {word} — Harbour")
        for n, word in enumerate(("copper", "iron", "silver", "enamel", "glass"))
    ]
    assert set(found(*pages)) == {"Kettle copper"}
    assert found(page("d", f"# GNU General Public License\n\n## Sync\n\n{BODY}", "License")) == {}


def test_links_label_what_they_point_to() -> None:
    one = page(
        "guide/mirrors",
        f"# Mirrors\n\n{BODY}\n\n## Spacing\n\n{OTHER}\n\n## Empty\n\n## Next\n\n{OTHER}\n",
        "Mirrors",
    )
    linking = page(
        "start",
        "Read of [keeping archive copies](guide/mirrors.md) and the [retry delay](guide/mirrors.md#"
        "spacing), [nothing there](guide/mirrors.md#empty), [no such part](guide/mirrors.md#gone), "
        "[guide/mirrors.md](guide/mirrors.md), [here](guide/mirrors.md).",
    )
    result = found(one, linking)
    links = {text: query[1] for text, query in result.items() if query[0] == "link"}
    assert links == {"keeping archive copies": f"# Mirrors\n\n{BODY}", "retry delay": OTHER}


def test_short_forms_are_one_sentence() -> None:
    one = page(
        "d",
        f"{BODY}\n",
        "",
        ("subject", "Archive copies out of date"),
        ("description", "Keeps copies. Spaces retries out."),
        ("summary", " ".join(["mirror"] * 30)),
    )
    assert {text: query[0] for text, query in found(one).items()} == {
        "Archive copies out of date": "subject"
    }


def test_words_that_point_to_many_documents_say_nothing() -> None:
    pages = [page(f"p{n}", f"# Page {n}\n\n{BODY} [mirror details](p{n + 1}.md)") for n in range(5)]
    assert [one for one in found(pages[1], pages[0], *pages[2:]) if one == "mirror details"] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## 2.1. The `x` **option**", "The x option"),
        ("3) Files", "Files"),
        ("12 monkeys", "12 monkeys"),
        ("A.2 Limits", "Limits"),
        ("[What is it?](#what)", "What is it?"),
        ("os.path.join(a, *b)", "os.path.join"),
        ("sync(2)", "sync(2)"),
        ("Usage:", "Usage"),
        ("2023-01-01", ""),
        ("¶", ""),
    ],
)
def test_words_are_shown_without_markup_numbers_and_arguments(text: str, shown: str) -> None:
    assert words_shown(text) == shown
