"""The bundled attributes: enough, plain, and no two share a content word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from retgen import run
from retgen.errors import RecipeError
from retgen.generators.limit.words import (
    CatalogueParams,
    bundled_files,
    load_attributes,
)
from retgen.tokenizer import content_stems, stems
from retgen.validators.limit import read_attributes, split_half
from tests.conftest import SMALL

EVERYTHING = load_attributes(CatalogueParams(split="all"), 42)[0]


def test_how_many() -> None:
    assert len(EVERYTHING) >= 2400
    categories = Counter(a.category for a in EVERYTHING)
    assert len(categories) >= 60
    assert min(categories.values()) >= 10
    assert [a.id for a in EVERYTHING] == list(range(len(EVERYTHING)))


def test_categories_stand_once() -> None:
    headings = [
        line
        for path in bundled_files()
        for line in path.read_text().splitlines()
        if line[:1] == "["
    ]
    assert len(headings) == len(set(headings))


def test_form() -> None:
    form = re.compile(r"(?!.*\b(?:and|or|And|Or)\b)[A-Z][A-Za-z]*(?:[ -][A-Za-z]+)*")
    assert [a.text for a in EVERYTHING if not form.fullmatch(a.text)] == []
    assert [a.text for a in EVERYTHING if len(a.text.split()) > 4] == []


def test_no_two_share_a_content_word() -> None:
    owners: dict[str, str] = {}
    for attribute in EVERYTHING:
        words = content_stems(attribute.text)
        assert words, attribute
        for word in words:
            assert word not in owners, (attribute.text, owners.get(word))
            owners[word] = attribute.text


def test_no_word_of_the_templates() -> None:
    words = {word for a in EVERYTHING for word in content_stems(a.text)}
    assert words.isdisjoint(stems(["who", "likes", "like"]))


def test_a_category_is_no_attribute() -> None:
    """What a category names is not one of the things people like: it would be a kind of kinds."""
    names = {a.category.casefold() for a in EVERYTHING}
    assert names.isdisjoint(a.text.casefold() for a in EVERYTHING)


def test_halves() -> None:
    halves = [
        {a.text for a in load_attributes(CatalogueParams(split=split), 42)[1]}
        for split in ("test", "train")
    ]
    everything = {a.text for a in EVERYTHING}
    assert halves[0] | halves[1] == everything
    assert halves[0].isdisjoint(halves[1])
    assert abs(len(halves[0]) - len(halves[1])) <= 1
    other = {a.text for a in load_attributes(CatalogueParams(split="test"), 43)[1]}
    assert halves[0] != other
    # the proof, which shares no code, finds the same halves
    listed = [text for text, _ in read_attributes(bundled_files())]
    assert [a.text for a in EVERYTHING] == listed
    assert [split_half(listed, 42, s) for s in ("test", "train")] == halves


def test_filters() -> None:
    _, chosen = load_attributes(CatalogueParams(split="all", categories=("Orchids",)), 42)
    assert {a.category for a in chosen} == {"Orchids"}
    _, rest = load_attributes(CatalogueParams(split="all", without=("Orchids",)), 42)
    assert len(rest) + len(chosen) == len(EVERYTHING)
    with pytest.raises(RecipeError) as error:
        load_attributes(CatalogueParams(categories=("Orchid",)), 42)
    assert str(error.value) == (
        "params.catalogue.categories: there is no category 'Orchid'; did you mean 'Orchids'?"
    )


def own_list(folder: Path, lines: list[str], **changes: int) -> Path:
    (folder / "mine.txt").write_text("\n".join(lines) + "\n")
    recipe = folder / "own.yaml"
    recipe.write_text(
        SMALL.replace(
            "attributes_per_doc: 20",
            "attributes_per_doc: 20, catalogue: {split: all, file: mine.txt}",
        )
    )
    return recipe


def made_up(count: int) -> list[str]:
    syllables = ["ba", "co", "di", "fu", "ga", "lo", "mi", "ne"]
    return [
        (syllables[i % 8] + syllables[i // 8 % 8] + syllables[i // 64 % 8] + "t").title()
        for i in range(count)
    ]


def test_a_list_of_your_own(tmp_path: Path) -> None:
    recipe = own_list(tmp_path, ["# mine", "[Things]", *made_up(300)])
    result = run(recipe, out=tmp_path / "out")
    assert result.manifest["evidence"]["structural"] == 200
    assert (tmp_path / "out" / "inputs" / "mine.txt").read_text().startswith("# mine\n")
    assert run(tmp_path / "out", out=tmp_path / "again").manifest["counts"]["queries"] == 100
    own = run(tmp_path / "out", out=tmp_path / "out", fresh=True)  # its inputs are not removed
    assert own.manifest["files"] == result.manifest["files"]
    (tmp_path / "mine.txt").write_text("\n".join(made_up(301)))
    with pytest.raises(Exception, match=r"it differs in inputs/mine\.txt"):
        run(recipe, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["Rum, Raisin"],
            "mine.txt, line 1: 'Rum, Raisin' cannot be an attribute: it must hold a word that is no "
            "function word, and neither ', ' nor ' and ', which separate the attributes of a "
            "document",
        ),
        (
            ["Salt and Pepper"],
            "mine.txt, line 1: 'Salt and Pepper' cannot be an attribute: it must hold a word that is no "
            "function word, and neither ', ' nor ' and ', which separate the attributes of a "
            "document",
        ),
        (["Tea", "", "tea"], "mine.txt, line 3: 'tea' stands already in mine.txt, line 1"),
        (["# nothing"], "params.catalogue.file: {folder}/mine.txt holds no attribute"),
        (
            made_up(90),
            "params: 100 queries ask for 100 attributes; the catalogue gives 90 (split all): use "
            "fewer queries, catalogue.split all, or a longer list of your own",
        ),
        (
            made_up(110),
            "params.attributes_per_doc: a document needs 20 attributes that no query asks for; of "
            "the catalogue's 110 (split all) queries ask for 100, which leaves 10",
        ),
        (
            [*made_up(300), "Like Minds"],
            "params.templates.document: the word 'likes' of '{{name}} likes {{attributes}}.' is a "
            "word of an attribute too; use another word",
        ),
    ],
)
def test_bad_lists(tmp_path: Path, lines: list[str], expected: str) -> None:
    with pytest.raises(RecipeError) as error:
        run(own_list(tmp_path, lines), out=tmp_path / "out")
    assert str(error.value) == expected.format(folder=tmp_path)


@pytest.mark.slow
def test_words_spread_over_several_attributes_are_found(tmp_path: Path) -> None:
    """'Soy Sauce' is asked; 'Soy Milk' and 'Tomato Sauce' together hold its words."""
    lines = [*made_up(100), "Soy Sauce", *made_up(300)[100:], "Soy Milk", "Tomato Sauce"]
    recipe = own_list(tmp_path, lines)
    result: list[str] = []
    for seed in range(12):
        try:
            run(recipe, out=tmp_path / f"out{seed}", overrides={"seed": seed})
        except Exception as error:
            result.append(str(error))
    assert result
    assert all("limit-proof/spread-words" in text for text in result)
    assert "spread over several attributes but is not relevant: drop one" in result[0]


def test_names(recipe_file: Callable[[str], Path]) -> None:
    import numpy as np

    from retgen.generators.limit.words import LOCALES, attribute_stems, load_names, stem_words

    forbidden = attribute_stems(EVERYTHING)
    names = load_names(LOCALES, forbidden, 42, "test", 10_000_000)
    assert len(names.first) * len(names.last) >= 10_000_000
    (first,), last = names.parts(np.arange(200_000))
    assert len(set(zip(first.tolist(), last.tolist(), strict=True))) == 200_000
    parts = [word.casefold() for word in (*names.first, *names.last)]
    assert not forbidden.intersection(stem_words(parts))
    train = load_names(LOCALES, forbidden, 42, "train", 10_000_000)
    assert set(train.last).isdisjoint(names.last)
    with pytest.raises(RecipeError) as error:
        load_names(("en_US",), forbidden, 42, "test", 10**9)
    result = re.fullmatch(
        r"params\.names: ([\d,]+) first names and ([\d,]+) surnames make ([\d,]+) names with a middle "
        r"name, docs is 1,000,000,000; ask for at most ([\d,]+) documents, or add locales \((.*)\)",
        str(error.value),
    )
    assert result is not None
    one, other, make, most = (int(number.replace(",", "")) for number in result.groups()[:4])
    assert one * (one - 1) * other == make == most
    assert result[5].split(", ") == [locale for locale in LOCALES if locale != "en_US"]
    with pytest.raises(RecipeError) as error:
        load_names(LOCALES, forbidden, 42, "test", 10**12)
    assert re.search(r"ask for at most [\d,]+ documents$", str(error.value))


@pytest.mark.parametrize("split", ["test", "train", "all"])
def test_names_for_a_billion_documents(split: str) -> None:
    """A middle name where there are fewer pairs than documents, and not one document before."""
    import numpy as np

    from retgen.generators.limit.words import LOCALES, attribute_stems, load_names

    forbidden = attribute_stems(EVERYTHING)
    plain = load_names(LOCALES, forbidden, 42, split, 1000)
    pairs = len(plain.first) * len(plain.last)
    assert not load_names(LOCALES, forbidden, 42, split, pairs).middle
    assert load_names(LOCALES, forbidden, 42, split, pairs + 1).middle
    names = load_names(LOCALES, forbidden, 42, split, 10**9)
    assert (names.first, names.last, names.digest) == (plain.first, plain.last, plain.digest)
    (first, middle), last = names.parts(np.arange(10**9 - 200_000, 10**9))
    assert (first != middle).all()
    triples = zip(first.tolist(), middle.tolist(), last.tolist(), strict=True)
    assert len(set(triples)) == 200_000
