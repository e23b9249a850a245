"""Texts to facts: in order, whose, and what cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import retgen.facts
from retgen.validators.facts.definitions import BadDefinition, read_definition
from retgen.validators.facts.queries import DomainReaders, domain_readers

from .sets import DOMAINS, documents

KITES = Path(__file__).parent / "kites.yaml"
FOLDER = Path(retgen.facts.__file__).parent / "domains"
ADA = ("people", "Agata K Lengyel")
FILM = ("films", "The Silent Tower of Calimere")


def read(domain: str, title: str, *sentences: str) -> tuple[list[str], list[str]]:
    """Facts and problems of a text; that it does not name its title is none."""
    reader = domain_readers(FOLDER / f"{domain}.yaml").documents
    facts, problems = reader.document(title, " ".join(sentences))
    return [str(fact) for fact in facts], [x for x in problems if "does not name" not in x]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("She was born in Leipzig.", ["birthplace=Leipzig"]),
        ("Lengyel died in Oslo.", ["deathplace=Oslo"]),
        ("She was born on 3 May 1887.", ["birth=1887-05-03"]),
        ("Her date of birth was 3 May 1887.", ["birth=1887-05-03"]),
        ("She played the fiddle.", ["instrument=the violin"]),
        ("As I remember, at home she kept a parrot.", ["pet=a parrot"]),
        ("She disliked speeches.", []),
        ("Her brother was born in Oslo.", ["other:birthplace=Oslo"]),
        ("She followed the example of Boris F Conti.", ["model=Boris F Conti"]),
        # two facts in a sentence: one subject, words that they share, one as a participle, an aside
        (
            "She was born in Leipzig and played the cello.",
            ["birthplace=Leipzig", "instrument=the cello"],
        ),
        ("She was born in Leipzig on 3 May 1887.", ["birthplace=Leipzig", "birth=1887-05-03"]),
        (
            "She died in Oslo in 1950 and played the cello.",
            ["deathplace=Oslo", "death=1950", "instrument=the cello"],
        ),
        ("Born in Leipzig, Lengyel died in Oslo.", ["birthplace=Leipzig", "deathplace=Oslo"]),
        (
            "Agata K Lengyel, who died in Oslo, played the cello.",
            ["deathplace=Oslo", "instrument=the cello"],
        ),
        # somebody else's beside
        (
            "Her sister was born in Oslo, whereas Lengyel was born in Turin.",
            ["other:birthplace=Oslo", "birthplace=Turin"],
        ),
        (
            "While her sister was born in Oslo, Lengyel was born in Turin.",
            ["other:birthplace=Oslo", "birthplace=Turin"],
        ),
        (
            "She was born in Turin; her brother's birthplace was Oslo.",
            ["birthplace=Turin", "other:birthplace=Oslo"],
        ),
    ],
)
def test_people(text: str, facts: list[str]) -> None:
    assert read(*ADA, text) == (facts, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("She sang of Leipzig.", "no wording holds 'sang'"),
        ("She was born and died in Leipzig.", "no wording says"),
        ("She was born in Leipzig a violin.", "no wording holds 'violin'"),
        ("She was born in 1890.", "no wording says"),
        ("She died in 2200.", "2200 is no value of death"),
        ("She studied the zither at university.", "no wording says"),
        ("She never played the harp.", "no wording says"),
        ("Her brother died in Oslo, but she was born in Turin.", "'she' may be two"),
        ("Alonso B Conti was born in Leipzig.", "no wording says"),
        ("She disliked few speeches.", "no wording says"),
    ],
)
def test_problems(text: str, problem: str) -> None:
    _, problems = read(*ADA, text)
    assert [one.partition(": '")[0] for one in problems] == [problem]


@pytest.mark.parametrize(
    "sentence",
    [
        "It was nearly set in Leipzig.",
        "It would have been set in Leipzig.",
        "Some say that it is set in Leipzig.",
        "It is set in Leipzig, or so people say.",
        "It is set in Leipzig, but this was an error.",
        "It is set in Leipzig (disputed).",
        "It is set near Leipzig.",
        "It came to cinemas before 1950.",
        "It cost at least 20 million dollars.",
        "It is a sequel to The Golden Tower of Calimere.",
    ],
)
def test_taken_back(sentence: str) -> None:
    facts, problems = read(*FILM, sentence)
    assert facts == []
    assert problems[0].startswith("no wording ")
    assert problems[0].endswith(f": {sentence[:-1]!r}".replace(" (disputed)", " ( disputed )"))


def test_titles_and_texts_that_ask_or_hide_something() -> None:
    reader = domain_readers(FOLDER / "films.yaml").documents
    assert reader.document("Tower", "Tower is long.").problems == [
        "its title 'Tower' is no name of a film",
        "no wording holds 'tower': 'Tower is long'",
    ]
    title = FILM[1]
    assert reader.document(title, "It is set in Leipzig.").problems == [
        f"its text does not name {title!r}"
    ]
    for text, problem in (
        (f"{title} is set in Leipzig?", "its text asks something"),
        (f"{title} is set in\u200b Leipzig.", "its text holds a character that cannot be seen"),
    ):
        assert reader.document(title, text).problems[0] == problem


@pytest.mark.parametrize("domain", DOMAINS)
def test_all_facts_of_composed_documents(domain: str) -> None:
    for row in documents(domain, 60, seed=5):
        assert read(domain, row["title"], row["text"]) == (row["metadata"]["facts"], [])


# --- a domain of one's own ----------------------------------------------------------------------


def kites(tmp_path: Path, old: str = "", new: str = "") -> DomainReaders:
    path = tmp_path / "kites.yaml"
    path.write_text(KITES.read_text("utf-8").replace(old, new), "utf-8")
    return domain_readers(path)


def test_its_one_file_is_enough(tmp_path: Path) -> None:
    text = (
        "The Golden Heron is sewn from calico. It flew at a festival in Torino. It has a wingspan of "
        "180 centimetres. It was built in Oslo in 1960."
    )
    facts, problems = kites(tmp_path).documents.document("The Golden Heron", text)
    assert problems == []
    read = ["material=cotton", "festival=Turin", "span=180", "workshop=Oslo", "built=1960"]
    assert [str(fact) for fact in facts] == read


def test_another_content_of_the_file_is_another_reader(tmp_path: Path) -> None:
    first = kites(tmp_path)
    assert kites(tmp_path) is first
    assert kites(tmp_path, "singular: kite", "singular: glider").domain.singular == "glider"


def test_two_slots_that_read_alike(tmp_path: Path) -> None:
    """A value of both does not say which of the two is meant."""
    readers = kites(tmp_path, "flew at a festival", "was built")
    said = "The Golden Heron was built in Turin."
    assert readers.documents.document("The Golden Heron", said).problems == [
        "reads as festival and as workshop: 'The Golden Heron was built in Turin'"
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "is sewn from {v}",
            "is paper sewn from {v}",
            r"kites\.yaml, line \d+: slots\.material: '\{S\} is paper sewn from \{v\}' holds 'paper', "
            "a value of material, which the proof would read as that",
        ),
        ("slots:", "slot:", r"kites\.yaml defines no domain: KeyError\('slots'\)"),
        ("type: place", "type: plaice", r"slot workshop has the type 'plaice'"),
        ("domain: kites", "\t", r", line 1: is not YAML: found character '\\t'"),
    ],
)
def test_bad_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(BadDefinition) as error:
        kites(tmp_path, old, new)
    assert re.search(message, str(error.value)), str(error.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match=r"no\.yaml: cannot be read: No such file"):
        read_definition(tmp_path / "no.yaml")
