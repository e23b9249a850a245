"""Texts to facts: in order, whose, denied or not, and what cannot be read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import retgen.world
from retgen.validators.world.clauses import UnreadableQuery
from retgen.validators.world.definitions import BadDefinition, Definition, read_definition
from retgen.validators.world.queries import QueryReader
from retgen.validators.world.reader import DocumentReader
from retgen.validators.world.slot_patterns import Patterns, read_patterns

from .sets import DOMAINS, documents

HERE = Path(__file__).parent


@cache
def reader(domain: str) -> DocumentReader:
    path = Path(retgen.world.__file__).parent / "domains" / f"{domain}.yaml"
    definition = read_definition(path)
    return DocumentReader(definition, read_patterns(definition, path))


def read(domain: str, title: str, *sentences: str) -> tuple[list[str], list[str]]:
    """Facts and problems of a text whose first sentence only names its title."""
    facts, problems = reader(domain).document(title, f"{title} is known. {' '.join(sentences)}")
    return [str(fact) for fact in facts], problems


ADA = ("people", "Agata K Lengyel")
FILM = ("films", "The Silent Tower of Calimere")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("She was born in Leipzig.", ["birthplace=Leipzig"]),
        ("Lengyel died in Oslo.", ["deathplace=Oslo"]),
        ("It was in Christiania that she passed away.", ["deathplace=Oslo"]),
        ("She was born on 3 May 1887.", ["birth=1887-05-03"]),
        ("Her birthday was May 3, 1887.", ["birth=1887-05-03"]),
        ("She played the fiddle.", ["instrument=the violin"]),
        ("She was born in Leipzig and played the cello.", ["birthplace=Leipzig", "instrument=the cello"]),
        ("She worked in Munich and grew up with two siblings.", ["workplace=Munich", "siblings=2"]),
        ("Her brother was born in Oslo.", ["other:birthplace=Oslo"]),
        ("Oslo is where her aunt was born.", ["other:birthplace=Oslo"]),
        ("Her sister kept a parrot, she herself a goat.", ["other:pet=a parrot", "pet=a goat"]),
        ("She never played the harp.", ["not:instrument=the harp"]),
        ("Her sister didn't speak Welsh.", ["not:other:language=Welsh"]),
        ("She spoke Welsh without an accent.", ["language=Welsh"]),
        ("She married Abena Abbasi in a small church.", ["spouse=Abena Abbasi"]),
        ("She followed the example of Boris F Conti.", ["model=Boris F Conti"]),
        ("The wind was cold.", []),
    ],
)  # fmt: skip
def test_people(text: str, facts: list[str]) -> None:
    assert read(*ADA, text) == (facts, [])


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("It is set in Turin and runs for 113 minutes.", ["setting=Turin", "runtime=113"]),
        ("The picture cost 12 million dollars.", ["budget=12"]),
        ("A sequel was released in 1970.", ["other:release=1970"]),
        ("It continues the story of The Absent Abyss of Aelastir.", ["predecessor=The Absent Abyss of Aelastir"]),
        ("Its music was written by Abena Abbasi.", ["composer=Abena Abbasi"]),
    ],
)  # fmt: skip
def test_films(text: str, facts: list[str]) -> None:
    found, problems = read(*FILM, text)
    assert found == facts
    assert problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("She sang of Leipzig.", "does not say whether it is birthplace or deathplace or workplace"),
        ("She was born in Leipzig where death found her.", "reads as deathplace and as birthplace"),
        ("She was born and died in Leipzig.", "reads as deathplace and as birthplace"),
        ("Alonso B Conti was born in Leipzig.",
         "reads as more than one fact (model and birthplace or workplace or deathplace)"),
        ("She was born in 1890.", "says of birth what only death or debut or wedding can be"),
        ("She died in 2200.", "2200 is no value of death"),
        ("She studied the zither at university.", "says of study what only instrument can be"),
        ("Adeyemi laughed.", "names somebody that the text is not about"),
    ],
)  # fmt: skip
def test_problems(text: str, problem: str) -> None:
    _, problems = read(*ADA, text)
    assert [one.partition(": '")[0] for one in problems] == [problem]


def test_an_unknown_name() -> None:
    _, problems = read(*FILM, "It is a sequel to The Golden Tower of Calimere.")
    assert problems == [
        "holds no value that predecessor can have: 'It is a sequel to The Golden Tower of Calimere'"
    ]


def test_sentences_are_named() -> None:
    _, problems = read(*ADA, "She was born in Leipzig.", "She died in 2200.")
    assert problems == ["2200 is no value of death: 'She died in 2200'"]


def test_titles() -> None:
    facts, problems = reader("people").document("Agata K Lengyel", "Agnes K Lengyel was here.")
    assert facts == []
    assert problems == [
        "its text does not name 'Agata K Lengyel'",
        "names what model can be, and does not say that it is: 'Agnes K Lengyel was here'",
    ]
    assert reader("films").document("Tower", "Tower is long.").problems == [
        "its title 'Tower' is no name of a film"
    ]


@pytest.mark.parametrize("domain", DOMAINS)
def test_all_facts_of_composed_documents(domain: str) -> None:
    for row in documents(domain, 150, seed=5):
        facts, problems = reader(domain).document(row["title"], row["text"])
        assert [str(fact) for fact in facts] == row["metadata"]["facts"]
        assert problems == []


# --- a domain of one's own ----------------------------------------------------------------------


def kites(tmp_path: Path, patterns: str = "") -> tuple[Definition, Patterns]:
    path = tmp_path / "kites.yaml"
    path.write_bytes((HERE / "kites.yaml").read_bytes())
    if patterns:
        (tmp_path / "kites.patterns.yaml").write_text(patterns)
    definition = read_definition(path)
    return definition, read_patterns(definition, path)


def test_definition_without_wordings(tmp_path: Path) -> None:
    definition, _ = kites(tmp_path)
    assert list(definition.slots) == ["material", "workshop", "festival", "span", "built"]
    cotton = definition.slots["material"].values["cotton"]
    assert cotton == ("cotton", ("calico",), ("a fabric",))
    assert definition.slots["workshop"].parents() == {
        "Norway": ["Oslo", "Bergen"],
        "Italy": ["Turin", "Naples"],
    }
    assert (definition.slots["built"].low, definition.slots["built"].high) == (1950, 2020)
    assert definition.slots["span"].unit == ("centimetre", "centimetres")
    assert definition.slots["festival"].share == 0.5


def test_patterns_from_definitions(tmp_path: Path) -> None:
    """Without patterns of its own a domain is read by the words of its slots' definitions."""
    definition, patterns = kites(tmp_path)
    assert patterns.slots["festival"] == ["festival*", "town*", "flew*"]
    text = (
        "The Golden Heron is large. Its sail is made of calico. It flew at a festival in Torino. Its "
        "wingspan is 180 centimetres."
    )
    facts, problems = DocumentReader(definition, patterns).document("The Golden Heron", text)
    assert [str(fact) for fact in facts] == ["material=cotton", "festival=Turin", "span=180"]
    assert problems == []


def test_patterns_beside_a_domain(tmp_path: Path) -> None:
    own = "slots:\n  workshop: [crafted]\nothers: [copy]\n"
    definition, patterns = kites(tmp_path, own)
    one = DocumentReader(definition, patterns)
    text = "The Humming Comet was crafted in Bergen. Its copy was crafted in Oslo."
    assert [str(f) for f in one.document("The Humming Comet", text).facts] == [
        "workshop=Bergen",
        "other:workshop=Oslo",
    ]


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match=r"no\.yaml: cannot be read: No such file"):
        read_definition(tmp_path / "no.yaml")
    (tmp_path / "odd.yaml").write_text("domain: odd\n")
    with pytest.raises(BadDefinition, match=r"odd\.yaml defines no domain: KeyError\('slots'\)"):
        read_definition(tmp_path / "odd.yaml")
    for patterns, said in (
        ("# none", r"holds no patterns: it needs 'slots', a list of words for each"),
        ("slots: [crafted]", r"slots must be a mapping of slots"),
        ("slots: {shop: [crafted]}", r"slots: domain kites has no slot 'shop'"),
        ("slots: {workshop: crafted}", r"slots\.workshop must be a list of words and phrases"),
        ("slots: {workshop: [7]}", r"slots\.workshop: 7 is no word and no phrase"),
        (
            "slots: {workshop: ['(a']}",
            r"slots\.workshop: '\(a' is no phrase; either of two is written \(a\|b\)",
        ),
        ("slots: {}\nmost: {spam: [x]}", r"most: domain kites has no slot 'spam'"),
        ("slots: {}\nother: [copy]", r"unknown key 'other'"),
        ("slots:\n\tspan: [x]", r", line 2: is not YAML: found character '\\t'"),
    ):
        with pytest.raises(BadDefinition, match=rf"kites\.patterns\.yaml:? ?{said}"):
            kites(tmp_path, patterns)
    with pytest.raises(BadDefinition, match=r"pattern 'a\*': no word of it begins with 3 letters"):
        DocumentReader(*kites(tmp_path, "slots: {workshop: ['a*']}\n"))


def test_superlatives_of_a_domain(tmp_path: Path) -> None:
    """Those that patterns name are read; others are no reason to read a query without them."""
    asked = "Which kite assembled in Oslo has the widest wingspan?"
    slots = "slots: {span: [wingspan], workshop: [assembled]}\n"
    with pytest.raises(UnreadableQuery, match="'widest' may change what it asks"):
        QueryReader(*kites(tmp_path, slots)).query(asked)
    one = QueryReader(*kites(tmp_path, f"{slots}most: {{span: [widest]}}\n"))
    assert one.query(asked) == ["most", 1, "span", ["is", "workshop", "Oslo"]]
