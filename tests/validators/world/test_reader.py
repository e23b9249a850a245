"""Texts to facts: in order, whose, denied or not, and what cannot be read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import retgen.world
from retgen.validators.world.definitions import BadDefinition, Definition, read_definition
from retgen.validators.world.lexicon import (
    Lexicon,
    lexicon_conflicts,
    lexicon_template,
    read_lexicon,
)
from retgen.validators.world.queries import QueryReader, UnreadableQuery
from retgen.validators.world.reader import DocumentReader

from .sets import DOMAINS, documents

HERE = Path(__file__).parent


@cache
def reader(domain: str) -> DocumentReader:
    path = Path(retgen.world.__file__).parent / "domains" / f"{domain}.yaml"
    definition = read_definition(path)
    return DocumentReader(definition, read_lexicon(definition, path))


def read(domain: str, title: str, *sentences: str) -> tuple[list[str], list[str]]:
    """Facts and problems of a text; that it does not name its title is none."""
    facts, problems = reader(domain).document(title, " ".join(sentences))
    return [str(fact) for fact in facts], [x for x in problems if "does not name" not in x]


ADA = ("people", "Agata K Lengyel")
FILM = ("films", "The Silent Tower of Calimere")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("She was born in Leipzig.", ["birthplace=Leipzig"]),
        ("Lengyel died in Oslo.", ["deathplace=Oslo"]),
        ("It was in Christiania that she passed away.", ["deathplace=Oslo"]),
        ("In Christiania, she passed away.", ["deathplace=Oslo"]),
        ("Leipzig is the city in which she was born.", ["birthplace=Leipzig"]),
        ("She was born on 3 May 1887.", ["birth=1887-05-03"]),
        ("Her birthday was May 3, 1887.", ["birth=1887-05-03"]),
        ("On 3 May 1887 she was born.", ["birth=1887-05-03"]),
        ("She played the fiddle.", ["instrument=the violin"]),
        ("It was the violin that she played.", ["instrument=the violin"]),
        ("What she played was the violin.", ["instrument=the violin"]),
        (
            "She was born in Leipzig and played the cello.",
            ["birthplace=Leipzig", "instrument=the cello"],
        ),
        ("She worked in Munich and grew up with two siblings.", ["workplace=Munich", "siblings=2"]),
        ("She had 3 brothers and sisters.", ["siblings=3"]),
        (
            "Agata K Lengyel, who died in Oslo, played the cello.",
            ["deathplace=Oslo", "instrument=the cello"],
        ),
        ("Born in Leipzig, Lengyel died in Oslo.", ["birthplace=Leipzig", "deathplace=Oslo"]),
        ("Her brother was born in Oslo.", ["other:birthplace=Oslo"]),
        (
            "Her brother was born in Oslo and played the cello.",
            ["other:birthplace=Oslo", "other:instrument=the cello"],
        ),
        (
            "Her sister kept a parrot, whereas she kept a tabby.",
            ["other:pet=a parrot", "pet=a tabby"],
        ),
        (
            "While her sister kept a parrot, she kept a tabby.",
            ["other:pet=a parrot", "pet=a tabby"],
        ),
        ("She spoke Welsh without an accent.", ["language=Welsh"]),
        ("She followed the example of Boris F Conti.", ["model=Boris F Conti"]),
        ("She disliked speeches.", []),
        # two values that share the words before them
        ("She was born in Leipzig on 3 May 1887.", ["birthplace=Leipzig", "birth=1887-05-03"]),
        ("Her brother died in Oslo in 1950.", ["other:deathplace=Oslo", "other:death=1950"]),
        (
            "Born in Leipzig on 3 May 1887, she died in 1950 in Oslo.",
            ["birthplace=Leipzig", "birth=1887-05-03", "death=1950", "deathplace=Oslo"],
        ),
    ],
)
def test_people(text: str, facts: list[str]) -> None:
    assert read(*ADA, text) == (facts, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("It is set in Turin and runs for 113 minutes.", ["setting=Turin", "runtime=113"]),
        ("The picture cost 12 million dollars.", ["budget=12"]),
        ("Its late imitation was released in 1970.", ["other:release=1970"]),
        (
            "It continues the story of The Absent Abyss of Aelastir.",
            ["predecessor=The Absent Abyss of Aelastir"],
        ),
        ("Its music was written by Abena Abbasi.", ["composer=Abena Abbasi"]),
        ("The music of the film was written by Abena Abbasi.", ["composer=Abena Abbasi"]),
    ],
)
def test_films(text: str, facts: list[str]) -> None:
    found, problems = read(*FILM, text)
    assert found == facts
    assert problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("She sang of Leipzig.", "no phrase holds 'sang'"),
        ("She was born in Leipzig where death found her.", "no phrase goes on with 'where'"),
        ("She was born and died in Leipzig.", "no phrase goes on with 'and'"),
        ("Alonso B Conti was born in Leipzig.", "no phrase goes on with 'born'"),
        ("She was born in Leipzig in 1890.", "no phrase goes on with 'in'"),
        ("She was born in Leipzig, in Oslo.", "no phrase goes on with 'in'"),
        ("She was born in Leipzig a violin.", "no phrase goes on with 'the violin'"),
        ("She died in Leipzig in 1950 in Oslo.", "no phrase goes on with 'in'"),
        ("She was born in Leipzig not on 3 May 1887.", "no phrase goes on with 'not'"),
        ("She was born in 1890.", "no phrase goes on with '1890'"),
        ("She died in 2200.", "2200 is no value of death"),
        ("She studied the zither at university.", "no phrase goes on with 'the zither'"),
        ("Adeyemi laughed.", "no phrase holds 'adeyemi'"),
        ("She never played the harp.", "no phrase goes on with 'played'"),
        ("She measured 127 inches.", "no phrase holds 'inches'"),
        ("Her brother died in Oslo, and she was born in Turin.", "'she' may be two"),
    ],
)
def test_problems(text: str, problem: str) -> None:
    _, problems = read(*ADA, text)
    assert [one.partition(": '")[0] for one in problems] == [problem]


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("It was nearly set in Leipzig.", "nearly"),
        ("It was almost set in Leipzig.", "almost"),
        ("It was to be set in Leipzig.", "to"),
        ("It would have been set in Leipzig.", "would"),
        ("It might have been set in Leipzig.", "might"),
        ("Perhaps it is set in Leipzig.", "perhaps"),
        ("Some say that it is set in Leipzig.", "say"),
        ("Legend has it that it is set in Leipzig.", "legend"),
        ("In a dream, it is set in Leipzig.", "dream"),
        ("It is set in Leipzig, or so people say.", "or"),
        ("It is set in Leipzig, but this was an error.", "this"),
        ("It is set in Leipzig or somewhere else.", "or"),
        ("It is set in Leipzig (disputed).", "("),
        ("It is set near Leipzig.", "near"),
        ("Its main character is a former midwife.", "a former"),
        ("It came to cinemas before 1950.", "before"),
        ("It came to cinemas around 1950.", "around"),
        ("It came to cinemas in the spring of 1950.", "spring"),
        ("It cost at least 20 million dollars.", "least"),
        ("It cost twice 20 million dollars.", "twice"),
    ],
)
def test_taken_back(sentence: str, word: str) -> None:
    facts, problems = read(*FILM, sentence)
    assert facts == []
    assert problems[0].split(": ")[0] in (
        f"no phrase holds {word!r}",
        f"no phrase goes on with {word!r}",
    )


def test_an_unknown_name() -> None:
    _, problems = read(*FILM, "It is a sequel to The Golden Tower of Calimere.")
    assert problems == [
        "no phrase holds 'golden': 'It is a sequel to The Golden Tower of Calimere'"
    ]


def test_sentences_are_named() -> None:
    _, problems = read(*ADA, "She was born in Leipzig.", "She died in 2200.")
    assert problems == ["2200 is no value of death: 'She died in 2200'"]


def test_titles() -> None:
    facts, problems = reader("people").document("Agata K Lengyel", "Agnes K Lengyel was here.")
    assert facts == []
    assert problems == [
        "its text does not name 'Agata K Lengyel'",
        "no phrase holds 'here': 'Agnes K Lengyel was here'",
    ]
    assert reader("films").document("Tower", "Tower is long.").problems == [
        "its title 'Tower' is no name of a film",
        "no phrase holds 'tower': 'Tower is long'",
    ]


def test_texts_that_ask_or_hide_something() -> None:
    title = FILM[1]
    asked = reader("films").document(title, f"{title} is set in Leipzig?").problems
    assert asked[0] == "its text asks something"
    hidden = reader("films").document(title, f"{title} is set in\u200b Leipzig.").problems
    assert hidden[0] == "its text holds a character that cannot be seen"


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_no_phrase_reads_as_two_slots(domain: str) -> None:
    path = Path(retgen.world.__file__).parent / "domains" / f"{domain}.yaml"
    definition = read_definition(path)
    assert list(lexicon_conflicts(definition, read_lexicon(definition, path))) == []


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_all_facts_of_composed_documents(domain: str) -> None:
    for row in documents(domain, 150, seed=5):
        facts, problems = reader(domain).document(row["title"], row["text"])
        assert [str(fact) for fact in facts] == row["metadata"]["facts"]
        assert problems == []


# --- a domain of one's own ----------------------------------------------------------------------


LEXICON = """slots:
  material:
    phrases: ["{P} sail <be> made of {v}", "{S} <be> sewn from {v}"]
  workshop:
    phrases: ["{S} <be> (built|crafted|assembled) in {v}"]
  festival:
    phrases: ["{S} flew at a festival in {v}"]
  span:
    nouns: [wingspan]
  built:
    phrases: ["{S} <be> (built|crafted) {in}"]
"""


def kites(tmp_path: Path, lexicon: str = LEXICON) -> tuple[Definition, Lexicon]:
    path = tmp_path / "kites.yaml"
    path.write_bytes((HERE / "kites.yaml").read_bytes())
    (tmp_path / "kites.lexicon.yaml").write_text(lexicon)
    definition = read_definition(path)
    return definition, read_lexicon(definition, path)


def test_definition_without_wordings(tmp_path: Path) -> None:
    definition, _ = kites(tmp_path)
    assert list(definition.slots) == ["material", "workshop", "festival", "span", "built"]
    cotton = definition.slots["material"].values["cotton"]
    assert cotton == ("cotton", ("calico",), ("a fabric",))
    assert [one.parents for one in definition.slots["workshop"].values.values()] == [
        ("Norway",),
        ("Norway",),
        ("Italy",),
        ("Italy",),
    ]
    assert (definition.slots["built"].low, definition.slots["built"].high) == (1950, 2020)
    assert definition.slots["span"].unit == ("centimetre", "centimetres")
    assert definition.slots["festival"].share == 0.5


def test_a_lexicon_beside_a_domain(tmp_path: Path) -> None:
    text = (
        "The Golden Heron was sewn from calico. It flew at a festival in Torino. Its wingspan is 180 "
        "centimetres. It was crafted in Oslo and was built in 1960."
    )
    facts, problems = DocumentReader(*kites(tmp_path)).document("The Golden Heron", text)
    assert [str(fact) for fact in facts] == [
        "material=cotton",
        "festival=Turin",
        "span=180",
        "workshop=Oslo",
        "built=1960",
    ]
    assert problems == []


def test_others_of_a_lexicon(tmp_path: Path) -> None:
    one = DocumentReader(*kites(tmp_path, f"others: [copy]\n{LEXICON}"))
    text = "The Humming Comet was crafted in Bergen. Its copy was crafted in Oslo."
    assert [str(f) for f in one.document("The Humming Comet", text).facts] == [
        "workshop=Bergen",
        "other:workshop=Oslo",
    ]


def test_a_domain_without_a_lexicon(tmp_path: Path) -> None:
    """Every slot that lacks phrases is named; the template is a lexicon that has some for each."""
    with pytest.raises(BadDefinition) as error:
        kites(tmp_path, "slots: {material: {nouns: [cloth]}}\n")
    assert str(error.value) == (
        "domain kites has no phrases for workshop, festival, span, built: the proof cannot read "
        "them. They belong into kites.lexicon.yaml; `gen world lexicon` writes one to start from"
    )
    definition = read_definition(HERE / "kites.yaml")
    template = lexicon_template(definition)
    assert "  span:  # number, in centimetres: the wingspan of the kite\n" in template
    facts, problems = DocumentReader(*kites(tmp_path, template)).document(
        "The Golden Heron", "The Golden Heron has a span of 90 centimetres."
    )
    assert ([str(fact) for fact in facts], problems) == (["span=90"], [])


def test_two_slots_that_read_alike(tmp_path: Path) -> None:
    lexicon = LEXICON.replace("flew at a festival", "<be> (shown|built)")
    with pytest.raises(BadDefinition) as error:
        kites(tmp_path, lexicon)
    said = r".*kites\.lexicon\.yaml: '.+ (built|flew) in \{v\}' reads as festival and as workshop"
    assert re.fullmatch(said, str(error.value)), str(error.value)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match=r"no\.yaml: cannot be read: No such file"):
        read_definition(tmp_path / "no.yaml")
    (tmp_path / "odd.yaml").write_text("domain: odd\n")
    with pytest.raises(BadDefinition, match=r"odd\.yaml defines no domain: KeyError\('slots'\)"):
        read_definition(tmp_path / "odd.yaml")
    for lexicon, said in (
        ("# none", r"holds no lexicon: it needs 'slots', each with phrases"),
        ("slots: [crafted]", r"holds no lexicon: it needs 'slots', each with phrases"),
        ("slots: {shop: {nouns: [shop]}}", r"slots: domain kites has no slot 'shop'"),
        ("slots: {workshop: crafted}", r"slots\.workshop must hold lists: nouns, events, phrases"),
        ("slots: {workshop: {noun: [x]}}", r"slots\.workshop: unknown key 'noun'"),
        ("slots: {workshop: {nouns: x}}", r"slots\.workshop\.nouns must be a list of phrases"),
        ("slots: {workshop: {nouns: [7]}}", r"slots\.workshop\.nouns: 7 is no phrase"),
        (LEXICON.replace("[wingspan]", "['(a']"), r"'.*\(a.*' lacks a closing '\('"),
        (LEXICON.replace("[wingspan]", "['<wing>']"), r".* holds <wing>, which no macro is named"),
        (LEXICON.replace("{in}", "{x}"), r".* holds \{x\}; known are \{S\}, \{P\}, \{O\}"),
        (f"other: [copy]\n{LEXICON}", r"unknown key 'other'"),
        ("slots:\n\tspan: [x]", r", line 2: is not YAML: found character '\\t'"),
    ):
        with pytest.raises(BadDefinition, match=rf"kites\.lexicon\.yaml:? ?{said}"):
            kites(tmp_path, lexicon)


def test_superlatives_of_a_domain(tmp_path: Path) -> None:
    """Those that a lexicon names are read; others are no reason to read a query without them."""
    asked = "Which kite assembled in Oslo has the widest wingspan?"
    with pytest.raises(UnreadableQuery, match="no phrase holds 'widest'"):
        QueryReader(*kites(tmp_path)).query(asked)
    most = LEXICON.replace("[wingspan]", "[wingspan]\n    most: [widest wingspan]")
    assert QueryReader(*kites(tmp_path, most)).query(asked) == [
        "most",
        1,
        "span",
        ["is", "workshop", "Oslo"],
    ]
