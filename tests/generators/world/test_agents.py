"""What a model is asked of facts, and how what it says is held against them."""

from __future__ import annotations

import pytest

from retgen.facts.domain import bundled_domains, load_domain
from retgen.facts.facts import World
from retgen.generators.world.agents import (
    READ_FACTS,
    WRITE_DOCUMENT,
    ReadFact,
    ReadFacts,
    WrittenDocument,
    bare,
    canonical,
    differences,
    fact_line,
    read_values,
    reader_question,
    stands,
)
from retgen.generators.world.with_agents import (
    calibration_documents,
    calibration_sheets,
    entity_facts,
    writer_question,
)

FILMS = load_domain("films")
SLOTS = FILMS.slots


def read(**facts: str) -> ReadFacts:
    return ReadFacts(facts=[ReadFact(slot=slot, value=value) for slot, value in facts.items()])


@pytest.mark.parametrize(
    ("slot", "said", "value"),
    [
        ("runtime", "113 minutes", "113"),
        ("runtime", "1,130", "1130"),
        ("runtime", "113 to 120", "113 to 120"),
        ("release", "in 1987", "1987"),
        ("score", "violin", "the violin"),
        ("score", "The Violin.", "the violin"),
        ("score", "a fiddle", "the violin"),
        ("score", "the kazoo orchestra", "the kazoo orchestra"),
        ("setting", "leipzig", "Leipzig"),
        ("director", "Ada  Borg", "Ada Borg"),
        ("shooting", "1987-05-03", "1987-05-03"),
    ],
)
def test_values_are_those_of_metadata(slot: str, said: str, value: str) -> None:
    assert canonical(SLOTS[slot], said) == value


def test_differences_are_named() -> None:
    facts = {"release": "1987", "setting": "Leipzig", "score": "the violin"}
    same = read(score="violin", release="1987", setting="Leipzig")
    assert differences(facts, read_values(FILMS, same)) == []
    other = read(setting="Hamburg", restoration="1999", score="violin")
    assert differences(facts, read_values(FILMS, other)) == [
        "it does not state release: 1987",
        "of setting it states 'Hamburg', not 'Leipzig'",
        "it states restoration: 1999, which is no fact",
    ]
    twice = ReadFacts(facts=[*same.facts, ReadFact(slot="release", value="1988")])
    assert differences(facts, read_values(FILMS, twice)) == [
        "of release it states '1988', not '1987'"
    ]


def test_facts_are_told_with_what_they_mean() -> None:
    assert (
        fact_line(SLOTS["runtime"], "113") == "runtime: 113 minutes (the running time of the film)"
    )
    assert fact_line(SLOTS["shooting"], "1987-05-03") == (
        "shooting: 3 May 1987 (the day on which shooting of the film began)"
    )
    assert bare(SLOTS["shooting"], "1987-05-03") == ("3 May 1987", "May 3, 1987")
    assert bare(SLOTS["score"], "the violin") == ("violin",)
    assert bare(SLOTS["budget"], "12") == ("12", "12", "twelve")


def test_what_a_text_lacks_goes_back_to_the_writer() -> None:
    one = entity_facts(World(FILMS, 1, 50), 3)
    asked = writer_question(FILMS, one)

    def fault(text: str) -> str | None:
        return WRITE_DOCUMENT.check(asked, WrittenDocument(text=text))

    values = [forms[0] for forms in asked.forms]
    whole = f"{one.name} is a film. " + " ".join(f"So much for {value}." for value in values)
    assert fault(whole) is None
    assert fault("Too short.") == "text: it is too short to be a document"
    assert fault(f"- {whole}") == "text: it holds a list or a headline; write prose"
    assert fault(whole.replace(one.name, "This")) == (
        f"text: the name {one.name!r} does not stand in it"
    )
    assert fault(whole.replace(values[1], "somebody")) == (
        f"text: these words do not stand in it: {values[1]!r}"
    )
    unknown = READ_FACTS.check(
        reader_question(FILMS, one.name, whole), read(colour="red", genre="x")
    )
    assert unknown == "facts: there is no 'colour' among what is asked for"


def test_calibration_states_facts_of_its_domains() -> None:
    assert [
        sum(one.domain == name for one in calibration_documents()) for name in bundled_domains()
    ] == [8] * 5
    assert len({one.title for one in calibration_documents()}) == 40
    for one in calibration_documents():
        slots = load_domain(one.domain).slots
        for slot, value in one.facts.items():
            assert canonical(slots[slot], value) == value
            assert any(stands(form, one.text) for form in bare(slots[slot], value)), one.title
            assert not slots[slot].is_listed or value in {v.name for v in slots[slot].values}


def test_the_reader_is_measured_slot_by_slot() -> None:
    number = next(i for i, one in enumerate(calibration_documents()) if one.domain == "films")
    document, sheet = calibration_documents()[number], calibration_sheets()[number]
    slots = list(SLOTS)
    assert [one.label for one in sheet.cases] == [
        "stated" if slot in document.facts else "not stated" for slot in slots
    ]
    assert {one.kind for one in sheet.cases} == {"plain"}
    labels = {slot: one.label for slot, one in zip(slots, sheet.cases, strict=True)}
    assert sheet.verdicts(read(**document.facts)) == list(labels.values())

    wrong, missed, added = "setting", "genre", "score"
    assert (labels[wrong], labels[missed], labels[added]) == ("stated", "stated", "not stated")
    facts = {slot: value for slot, value in document.facts.items() if slot != missed}
    answer = read(**facts | {wrong: "Atlantis", added: "the violin"})
    assert dict(zip(slots, sheet.verdicts(answer), strict=True)) == labels | {
        wrong: "another value",
        missed: "not stated",
        added: "stated",
    }
