"""Texts: all facts of an entity, in an order that is written down, and sentences that state none."""

from __future__ import annotations

import re
from pathlib import Path

from retgen.facts import Composer, World, load_domain

SHIPS = load_domain(Path(__file__).parent / "ships.yaml")
WORLD = World(SHIPS, 1, 2000)


def test_a_text_to_the_letter() -> None:
    one = Composer(WORLD).documents(3, 4)[0]
    assert one.name == "Bold Plover 9"
    assert one.text == (
        "Bold Plover 9 was scrapped in 1962. It measured 140 metres. The first captain was Cy Falk. The "
        "ship was launched on 30 October 1934. The home port was Kobe. The holds were filled with "
        "coal. The ship flew a blue flag. The ship was built after the plans of Hasty Plover 12."
    )
    assert one.facts == [
        "scrapped=1962",
        "length=140",
        "captain=Cy Falk",
        "launch=1934-10-30",
        "home=Kobe",
        "cargo=coal",
        "flag=a blue flag",
        "sister=Hasty Plover 12",
    ]


SHARED = """
shapes:
  log:
    - slots: [[home, launch], [scrapped, length], cargo, flag, captain, sister]
"""


def test_two_facts_share_a_sentence_where_the_shape_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ships.yaml"
    text = (Path(__file__).parent / "ships.yaml").read_text("utf-8")
    text = text.replace(
        'document: ["{S} was registered',
        'document: ["{S} was launched in {v}", "{S} was registered',
    )
    path.write_text(text + SHARED, "utf-8")
    documents = Composer(World(load_domain(path), 1, 2000)).documents(0, 400)
    texts = " ".join(one.text for one in documents)
    day = r"\d+ [A-Z][a-z]+ 19\d\d"
    told = [
        rf" was launched in [A-Z]\w+ on {day}\. ",  # one phrase
        r" was scrapped in 19\d\d and measured \d+ metres\. ",  # one subject
        r" Scrapped in 19\d\d, (?:it|the \w+) measured \d+ metres\. ",  # a participle
        r" (?:It|The \w+) was scrapped in 19\d\d\. ",  # two sentences
    ]
    assert [len(re.findall(one, texts)) for one in told] == [400, 72, 38, 73]
    facts = {len(one.facts) for one in documents}
    assert facts == {7, 8}
    assert not re.search(r"(carried|flew)[^.]* and ", texts)


def test_a_fact_is_told_by_the_way_but_not_twice_in_a_row() -> None:
    texts = [one.text for one in Composer(World(load_domain("films"), 5, 1000)).documents(0, 1000)]
    every = " ".join(texts)
    aside = r"[^.]*, (?:which [^.,]*|an? [^.,]*|(?:set|released|billed|marketed) [^.,]*), [^.]*\."
    assert len(re.findall(aside, every)) == 428
    assert not re.search(rf"{aside}{aside}", every)
    assert not re.search(r"\b[Ii]t, (?:which|an?|set|released)", every)  # they follow a noun


def test_shapes_order_the_facts_and_say_what_stands_beside_them() -> None:
    """Every part's facts stand together, in the order of one of the domain's shapes."""
    domain = load_domain("films")
    orders = [
        {slot: number for number, part in enumerate(parts) for of in part.groups for slot in of}
        for parts in domain.shapes.values()
    ]
    said = [one for parts in domain.shapes.values() for part in parts for one in part.say]
    used = set()
    for one in Composer(World(domain, 5, 1000)).documents(0, 300):
        found = [[order[fact.partition("=")[0]] for fact in one.facts] for order in orders]
        fits = [i for i, numbers in enumerate(found) if numbers == sorted(numbers)]
        assert fits, one.text
        used.update(fits)
    assert used == {0, 1, 2}
    texts = " ".join(one.text for one in Composer(World(domain, 5, 1000)).documents(0, 1000))
    assert len(said) > 80
    assert all(one in texts for one in said if "{" not in one)
    assert texts.count("For the record, ") > 10
    assert len(re.findall(r"\. (?:It|The \w+) premiered in \w+ and ", texts)) > 10
    assert len(re.findall(r"\. [A-Z]\w+(?:ed|en|de|ot) [^,.]*, (?:it|the \w+) ", texts)) > 10


def test_who_is_meant_behind_another_name() -> None:
    """After a sentence that names another entity, the next one that names its own has its name."""
    documents = Composer(World(load_domain("films"), 5, 1000)).documents(0, 1000)
    behind = 0
    for one in documents:
        other = next((f.partition("=")[2] for f in one.facts if f.startswith("predecessor=")), None)
        if other is None:
            continue
        sentences = re.split(r"(?<=[.]) ", one.text)
        at = next(i for i, sentence in enumerate(sentences) if other in sentence)
        for sentence in sentences[at + 1 :]:
            if one.name in sentence:
                behind += 1
                break
            assert not re.search(r"\b(it|its|the film|the picture)\b", sentence, re.I), one.text
    assert behind > 300
