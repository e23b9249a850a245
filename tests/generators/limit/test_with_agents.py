"""LIMIT's agents: the glossary, what is taken into a catalogue, and the proof of descriptions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retgen import run, validate
from retgen.errors import RecipeError
from retgen.generators.limit.agents import (
    PARAPHRASE,
    AskDescription,
    Description,
    GrowingCatalogue,
    glossary,
)
from retgen.generators.limit.words import bundled_attributes
from retgen.plan import plan
from tests.conftest import read_jsonl, restate


def test_the_glossary_passes_what_a_model_must_pass() -> None:
    known = {attribute.text for attribute in bundled_attributes()}
    assert len(glossary()) == 1118
    assert set(glossary()) <= known
    assert len({text.casefold() for text in glossary().values()}) == len(glossary())
    for attribute, text in glossary().items():
        question = AskDescription(attribute=attribute, category="any")
        assert PARAPHRASE.check(question, Description(description=text)) is None, attribute


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "the quokka of an island near Perth",
            "it uses 'quokka', a word of the name or akin to one",
        ),
        (
            "small quokkalike animals of an island",
            "it uses 'quokkalike', a word of the name or akin to one",
        ),
        (
            'the "smiling" ones of an island',
            "it is one line without quotation marks, braces, and a full stop at the end",
        ),
        ("small furry animals", "it has 3 words, not 4 to 20"),
        ("small cat-sized animals that seem to smile", None),
    ],
)
def test_what_a_description_must_be(text: str, reason: str | None) -> None:
    question = AskDescription(attribute="Quokkas", category="Marsupials")
    assert PARAPHRASE.check(question, Description(description=text)) == reason


def test_a_catalogue_grows_by_what_is_apart() -> None:
    result = GrowingCatalogue()
    assert result.add("Sundials", "Instruments") is None
    assert result.add("Salt and Pepper", "Food") == (
        "it holds 'and', which separates attributes in a document"
    )
    assert result.add("Sundial Clocks", "Instruments") == "it shares 'sundial' with 'Sundials'"
    assert result.add("Hummingbirds", "Birds") is None
    assert result.add("Humingbirds", "Birds") == (
        "it shares nearly all letters with 'Hummingbirds'"
    )
    assert result.add("Likes", "Words") == "it shares 'like' with the sentences of the data set"
    assert result.add("Apples, Pears", "Food") == "it is no name of one to four plain words"
    assert result.add("the", "Words") == "it is no name of one to four plain words"
    assert result.add("Créme Brûlée", "Food") is None
    assert result.of("Food") == ("Créme Brûlée",)
    assert result.drop("Sundials")
    assert not result.drop("Sundials")
    assert result.add("Sundials", "Instruments") == (
        "it shares its meaning with another, as found before"
    )
    assert result.add("Dials of the Sun", "Instruments") is None  # its words are free again
    assert len(result) == 3


def test_more_queries_than_the_glossary_describes() -> None:
    with pytest.raises(RecipeError) as error:
        plan("limit_semantic", {"params.queries": 900})
    assert str(error.value).startswith(
        "params.queries: 900 queries need as many descriptions; without a model there are "
    )


@pytest.fixture
def semantic(tmp_path: Path) -> Path:
    changes = {"params.docs": 40, "params.queries": 60, "params.attributes_per_doc": 20}
    return run("limit_semantic", out=tmp_path / "semantic", overrides=changes).path


def test_offline_descriptions(semantic: Path) -> None:
    rows = read_jsonl(semantic / "sources" / "descriptions.jsonl")
    assert len(rows) == 60
    assert [row["description"] for row in rows] == [glossary()[row["attribute"]] for row in rows]
    assert [row["control"] for row in rows if row["control"]] == ["none of these"] * 6
    manifest = json.loads((semantic / "manifest.json").read_text())
    assert manifest["evidence"] == {"structural": 0, "judged": 120, "human": 0}
    message = "wrong in 0 of 6 controls, from which the right answer was left out"
    assert manifest["judges"] == {
        "identify_attribute": {"controls": 6, "named_another": 0, "measured": message}
    }
    assert manifest["models"]["paraphrase_query"] == {"model": "offline"}
    assert (manifest["usd"], manifest["tokens"]) == (0.0, {"in": 0, "out": 0})
    card = (semantic / "dataset" / "README.md").read_text()
    assert "**JUDGED**: 120 of 120 qrels" in card
    assert "- paraphrase_query by rules and word lists\n" in card
    page = (semantic / "report.html").read_text()
    assert "JUDGED" in page
    validation = validate(semantic)
    assert (validation.ok, validation.proven, validation.judged) == (True, 0, 120)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_the_proof_of_descriptions_finds(semantic: Path) -> None:
    rows = read_jsonl(semantic / "sources" / "descriptions.jsonl")
    queries = semantic / "dataset" / "queries.jsonl"
    first, second = rows[0], rows[1]
    # a query that says what no agent has said
    edit(queries, first["description"], "whatever this may be in the end")
    # a query that names what it should describe
    named = f"{second['description']} {second['attribute']}"
    edit(queries, second["description"], named)
    edit(semantic / "sources" / "descriptions.jsonl", second["description"], named)
    restate(semantic, "sources/descriptions.jsonl")  # else its hash says that it was changed
    messages = [f.message for f in validate(semantic).findings if f.rule == "limit-proof/query"]
    assert any("'whatever this may be in the end' describes no attribute" in m for m in messages)
    given = f"is a word of what it should not name, {second['attribute']!r}"
    assert any(given in message for message in messages)
