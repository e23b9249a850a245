"""Domains: what is read, and what is said of files that hold none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retgen.errors import UsageError
from retgen.facts import bundled_domains, load_domain

SHIPS = Path(__file__).parent / "ships.yaml"


def changed(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """The ships' file with some words replaced."""
    text = SHIPS.read_text("utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = tmp_path / "ships.yaml"
    path.write_text(text, "utf-8")
    return path


def test_values_have_synonyms_and_parents_the_nearest_first() -> None:
    slot = load_domain(SHIPS).slots["home"]
    lisbon = next(value for value in slot.values if value.name == "Lisbon")
    assert lisbon == ("Lisbon", ("Lisboa",), ("Portugal", "Europe"))
    assert [value.name for value in slot.values] == [
        "Bergen",
        "Stavanger",
        "Lisbon",
        "Porto",
        "Kobe",
        "Osaka",
        "Mumbai",
        "Kochi",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("type: person", "type: persn", "line 61, slots.captain.type: must be 'category', "),
        ("values: ports", "values: harbours", "there is no list 'harbours' under lists"),
        ("[launch + 5, launch + 40]", "[lunch + 5, 1990]", "'lunch + 5': a whole number, a day"),
        ("[20, 300]", "[300, 20]", "slots.length.range: its first end is above its second"),
        ("unit: [metre, metres]", "", "slots.length: a slot of type number needs 'unit'"),
        ("before: launch", "before: home", "'home' is no earlier year, date or number"),
        (
            "Norway: [a red flag]",
            "Norge: [a red flag]",
            "'Norge' is no value of home, nor a parent",
        ),
        ("Norway: [a red flag]", "Norway: [red flag]", "'red flag' is no value of the slot"),
        ("of: {Norway", "from: {Norway", "slots.flag.given.0.from"),
        (
            "of: {Norway: [a red flag], ",
            "from: {1900: [a red flag]}, of: {",
            "slots.flag.given: 'from' means nothing: home has a list of values",
        ),
        (
            "of: {Norway: [a red flag]",
            "of: {Norway: [1, 2]",
            "slots.flag.given: 'of' Norway: needs a list of values",
        ),
        (
            "slot: home, of",
            "slot: captain, of",
            "'captain' is no earlier slot with values, years or numbers",
        ),
        (
            "step: 5",
            "step: 5\n    given: [{slot: launch, from: {1920: [300, 20]}}]",
            "slots.length.given: [300, 20]: its first end is above its second",
        ),
        ('"{S} flew {v}"', '"{S} flew it"', "must hold {v} (or {n}) once"),
        ('"{S} flew {v}"', '"flying was {v}"', "must hold {S}, {P} or {O}, or nobody knows"),
        ('"{S} flew {v}"', '"{S} flew {w}"', "unknown mark {w}; possible are {S}, {P}, {O}"),
        ('"{S} flew {v}"', '"{S} carried {v}"', "reads the same as a wording of cargo"),
        ('"whose mast showed {v}"', '"whose mast flew {v}"', "shares 'flew' with the document"),
        ('"whose mast showed {v}"', '"showing {v}"', "must begin with 'that ' or 'whose '"),
        ("Petrel", "Lisbon", "'Lisbon' holds 'lisbon', a word of a slot's value"),
        ("[oil, wine]", "[oil, oil]", "'oil' stands there twice"),
        ("[oil, wine]", '["oil, refined", wine]', "no punctuation, and, or, not in a value"),
        (
            'pattern: "{adjective} {noun} {number}"',
            'pattern: "{adjective} {noun}-{number}"',
            "name.pattern: '{noun}-': the proof reads names word by word, so put a space between",
        ),
        (
            'pattern: "{adjective} {noun} {number}"',
            'pattern: "{adjective} {nun} {number}"',
            "there is no part 'nun' for '{adjective} {nun} {number}'",
        ),
        ("share: 0.5", "shares: 0.5", "unknown key; did you mean share?"),
        ("[oil, wine]", "[oil, wine |]", "'wine |' under 'liquids': a name is missing beside"),
        ("[oil, wine]", "[oil, 7]", "7 under 'liquids' must be a text: put it in quotes"),
        ("[oil, wine]", "[oil, {a: [b]}]", "either values or parents of values under 'liquids'"),
        ("[oil, wine]", "{b: {c: {d: [oil]}}}", "'d' under 'c': at most 3 levels of parents"),
        ("[oil, wine]", "[]", "needs a value under 'liquids'"),
        ("[oil, wine]", '["o\\u200Bil", oil]', "'o\\u200bil': no invisible characters (U+200B)"),
        ("[oil, wine]", "[öl, o\u0308l]", "'o\u0308l' stands there twice"),
        ("[oil, wine]", "{liquids: [oil]}", "'liquids' stands there in two places as a parent"),
        ("[20, 300]", "[20, 1e9]", "1000000000.0: a whole number from 0 to 1,000,000,000"),
        ("[20, 300]", "[20, 99999999999999999999]", "a whole number from 0 to 1,000,000,000"),
        ("unit: [metre, metres]", "unit: ['10', '20']", "slots.length.unit: must hold a letter"),
        ("by: [100, 4000]", "by: [3, 2]", "its first end not above its second"),
        ("by: [100, 4000]", "by: [0, 2]", "slots.sister.by: at least 1"),
        ("Norway: [a red flag]", "Norway: []", "must hold at least 1 value, not []"),
        ('"{S} flew {v}"', '"{S} flew {v}}"', "slots.flag.document.0: a brace is left over"),
        (
            "fillers:",
            "shapes: {log: [{slots: [launch, home, home, mast]}]}\nfillers:",
            "'home' stands in 2 parts, not in one",
        ),
        (
            "fillers:",
            "shapes: {log: [{slots: [launch, mast]}]}\nfillers:",
            "there is no slot 'mast'",
        ),
        (
            "fillers:",
            "shapes: {log: [{lead: [aboard]}]}\nfillers:",
            "shapes.log.0: a part without slots has sentences under 'say' (or 'fillers'), and no 'lead'",
        ),
        (
            "fillers:",
            "shapes: {log: [{slots: [home], lead: ['aboard {O}']}]}\nfillers:",
            "shapes.log.0.lead.0: a connective holds no mark, and no comma at its end",
        ),
        (
            "fillers:",
            "shapes: {log: [{slots: [home], say: ['{v} is far']}]}\nfillers:",
            "shapes.log.0.say.0: may hold {S}, {P} and {O} only",
        ),
        ("Petrel", "Gull", "'Gull' stands there twice, so two names would be the same"),
        (
            "flag:\n    about: the flag that the ship flew\n",
            "flag:\n",
            "slots.flag.about: is missing",
        ),
    ],
)
def test_files_that_hold_no_domain(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = changed(tmp_path, (old, new))
    with pytest.raises(UsageError) as error:
        load_domain(path)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}, line ")


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    path = changed(tmp_path, ("[oil, wine]", "[oil, oil]"), ("[20, 300]", "[3, 2]"))
    with pytest.raises(UsageError) as error:
        load_domain(path)
    assert len(str(error.value).splitlines()) == 2


def test_a_name_that_is_no_domain() -> None:
    with pytest.raises(UsageError, match=r"there is no domain 'filns'.* One of your own is named"):
        load_domain("filns")
    with pytest.raises(UsageError, match=r"there is no domain file nowhere\.yaml"):
        load_domain("nowhere.yaml")


@pytest.mark.parametrize("name", bundled_domains())
def test_bundled_domains_are_rich(name: str) -> None:
    domain = load_domain(name)
    slots = domain.slots.values()
    assert domain.name == name
    assert len(slots) >= 16
    assert all(len(slot.document) >= 2 and len(slot.query) >= 8 for slot in slots)
    assert all(len(slot.values) >= 22 for slot in slots if slot.is_listed)
    assert sum(slot.share == 1 for slot in slots) >= 10
    assert {"person", "relation"} <= {slot.type for slot in slots}
    assert sum(slot.is_ordered for slot in slots) >= 3
    deep = [slot for slot in slots if slot.is_listed and all(v.parents for v in slot.values)]
    assert len(deep) + sum(slot.is_ordered for slot in slots) >= 8
    assert all(slot.most and slot.least for slot in slots if slot.is_ordered)
    assert len(domain.others) >= 6
    assert len(domain.fillers) >= 40
    # "at least two of these three: one that ..." would find documents by its own words
    said = [*domain.fillers, *(wording for slot in slots for wording in slot.document)]
    assert not [text for text in said if re.search(r"\b(one|two|three|four)\b", text)]
