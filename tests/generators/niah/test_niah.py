"""Whole runs of the family: exact counts, exact lengths, same bytes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from retgen import plan, run, validate
from retgen.generators.niah.counting import load_counter
from retgen.generators.niah.groups import people
from retgen.recipe import load_recipe
from tests.conftest import read_jsonl
from tests.generators.niah.rows import corpus, needle, without

# the arms take a proof of 2,816 haystacks
BOTH = pytest.mark.parametrize("made", ["small", pytest.param("arms", marks=pytest.mark.slow)])


@pytest.mark.slow
def test_default_is_3234_haystacks() -> None:
    planned = plan("niah")
    assert (planned.documents, planned.queries, planned.qrels) == (3_234, 22, 6_160)


@pytest.mark.slow
def test_a_finished_run_is_silent(tmp_path: Path) -> None:
    made = run(
        "niah", overrides={"params.lengths": [128], "params.places": 2}, out=tmp_path / "run"
    )
    stages = ["agents", "latent", "generate and write", "prove and measure", "report"]
    assert list(json.loads((made.path / "manifest.json").read_text())["timings"]) == stages
    validation = validate(made.path)
    assert [(one.rule, one.message) for one in validation.findings] == []


def test_counts_by_length_needle_order_and_place(small: Path) -> None:
    rows = corpus(small)
    assert len(rows) == 2 * 22 * 21
    told = Counter(
        (
            one["metadata"]["length"],
            one["metadata"]["needle"],
            one["metadata"]["order"],
            one["metadata"]["place"],
        )
        for one in rows
    )
    assert told == {
        **{
            (n, "one_hop", order, place): 22
            for n in (128, 256)
            for order in ("default", "inverted")
            for place in range(10)
        },
        **{(n, "none", "", -1): 22 for n in (128, 256)},
    }


@BOTH
def test_every_text_has_exactly_its_length(made: str, request: pytest.FixtureRequest) -> None:
    rows = corpus(request.getfixturevalue(made))
    counted = load_counter("minilm").lengths([one["text"] for one in rows])
    assert counted == [one["metadata"]["length"] for one in rows]


@BOTH
def test_controls_have_the_words_of_their_haystacks(
    made: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(made)
    words = {one["_id"]: len(one["text"].split()) for one in corpus(path)}
    pairs = read_jsonl(path / "tables" / "pairs.jsonl")
    assert len(pairs) == {"small": 880, "arms": 2112}[made]
    assert [one for one in pairs if words[one["haystack"]] != words[one["control"]]] == []


def test_splits_hold_the_haystacks_of_their_length(small: Path) -> None:
    length = {one["_id"]: one["metadata"]["length"] for one in corpus(small)}
    both = read_jsonl(small / "dataset" / "qrels.jsonl")
    assert len(both) == 880
    for n in (128, 256):
        rows = read_jsonl(small / "dataset" / f"qrels.test_{n}.jsonl")
        assert {length[one["corpus-id"]] for one in rows} == {n}
        assert Counter(one["query-id"] for one in rows) == dict.fromkeys(
            {one["query-id"] for one in both}, 20
        )


def test_places_share_their_filler_and_go_from_end_to_end(small: Path) -> None:
    by_filler = defaultdict(list)
    for one in corpus(small):
        told = one["metadata"]
        if told["needle"] == "one_hop":
            by_filler[told["group"], told["length"], told["order"]].append(one)
    assert len(by_filler) == 22 * 2 * 2
    for rows in by_filler.values():
        rows.sort(key=lambda one: one["metadata"]["place"])
        assert len({without(one) for one in rows}) == 1
        assert rows[0]["metadata"]["span"][0] == 0
        assert rows[-1]["metadata"]["span"][1] == len(rows[-1]["text"])
        depths = [one["metadata"]["depth"] for one in rows]
        assert depths == sorted(set(depths))
        assert (depths[0], depths[-1]) == (0.0, 1.0)


@BOTH
def test_no_sentence_is_cut_or_stands_twice(made: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(made)
    whole = {row["text"] for row in read_jsonl(path / "sources" / "sentences.jsonl")}
    longest = max(map(len, whole))
    groups = read_jsonl(path / "sources" / "groups.jsonl")
    near = [text.split("{name}") for group in groups for text in group["near"]]
    for row in corpus(path)[:400]:
        rest, seen = without(row), set[str]()
        while rest:
            ends = [
                i
                for i in range(1, min(len(rest), longest) + 1)
                if (i == len(rest) or rest[i] == " ") and rest[:i] in whole
            ]
            if not ends:  # a near-answer
                stop = next(
                    rest.index(tail, len(head)) + len(tail)
                    for head, tail in near
                    if rest.startswith(head) and tail in rest[: longest + 99]
                )
            else:
                stop = max(ends)
            assert rest[:stop] not in seen
            seen.add(rest[:stop])
            rest = rest[stop + 1 :]


@pytest.mark.slow
def test_arms_are_the_product_of_what_is_asked_for(arms: Path) -> None:
    rows = [one["metadata"] for one in corpus(arms)]
    assert len(rows) == 22 * 8 * (2 * 2 * 3 + 1 + 3)
    told = Counter((one["filler"], one["filtered"], one["distractors"]) for one in rows)
    assert set(told.values()) == {22 * 16}
    assert len(told) == 8
    assert Counter(one["needle"] for one in rows) == {
        "one_hop": 22 * 8 * 6,
        "literal": 22 * 8 * 6,
        "neutral": 22 * 8 * 3,
        "none": 22 * 8,
    }


@pytest.mark.slow
def test_near_answers_are_about_somebody_else(arms: Path) -> None:
    groups = {row["group"]: row for row in read_jsonl(arms / "sources" / "groups.jsonl")}
    names = set(people().names)
    for row in corpus(arms):
        told = row["metadata"]
        own = groups[told["group"]]["name"]
        words = row["text"].replace("'", " ").replace(".", " ").replace(",", " ").split()
        held = Counter(word for word in words if word in names)
        wanted = told["distractors"] + (told["needle"] != "none")
        assert held.total() == len(held) == wanted
        assert (own in held) == (told["name"] == own) == (told["needle"] in ("one_hop", "literal"))


@pytest.mark.slow
def test_a_neutral_control_is_as_long_as_the_needle(arms: Path) -> None:
    rows = corpus(arms)
    tokens = dict(
        zip(
            [one["_id"] for one in rows],
            load_counter("minilm").sizes([needle(one) or "-" for one in rows]).tolist(),
            strict=True,
        )
    )
    default = {
        one["metadata"]["group"]: tokens[one["_id"]]
        for one in rows
        if one["metadata"]["needle"] == "one_hop" and one["metadata"]["order"] == "default"
    }
    apart = Counter(
        tokens[one["_id"]] - default[one["metadata"]["group"]]
        for one in rows
        if one["metadata"]["needle"] == "neutral"
    )
    assert set(apart) <= {-2, -1, 0, 1, 2}
    assert apart[0] > 0.9 * apart.total()


def test_pairs_and_prompts_name_haystacks(small: Path) -> None:
    rows = {one["_id"]: one for one in corpus(small)}
    pairs = read_jsonl(small / "tables" / "pairs.jsonl")
    prompts = read_jsonl(small / "tables" / "chat.jsonl")
    assert (len(pairs), len(prompts)) == (880, 880)
    for pair in pairs:
        told, control = rows[pair["haystack"]]["metadata"], rows[pair["control"]]["metadata"]
        assert pair["needle"] == needle(rows[pair["haystack"]])
        assert (control["needle"], control["group"], control["length"]) == (
            "none",
            told["group"],
            told["length"],
        )
        assert [pair[key] for key in ("group", "length", "order", "place", "depth")] == [
            told[key] for key in ("group", "length", "order", "place", "depth")
        ]
    assert {one["haystack"] for one in prompts} == {one["haystack"] for one in pairs}
    first = prompts[0]
    assert first["expected"] == rows[first["haystack"]]["metadata"]["name"]
    assert first["messages"][0]["content"].startswith("{haystack}\n\nWhich character ")


def test_queries_carry_needles_and_expansions(small: Path) -> None:
    queries = read_jsonl(small / "dataset" / "queries.jsonl")
    one = next(row for row in queries if row["metadata"]["group"] == "landmark-01")
    told = one["metadata"]
    assert one["text"] == "Which character has been to Krakow?"
    assert told["needle"] == f"Actually, {told['name']} lives next to Wawel Cathedral."
    assert told["expansion_100"].startswith("Which character has been to Krakow? Krakow Cracow ")
    assert len(told["expansion_100"]) < len(told["expansion_150"]) < len(told["expansion_250"])


@pytest.mark.slow
def test_training_has_other_needles_names_and_prose(small: Path, tmp_path: Path) -> None:
    made = run(
        "niah_train",
        overrides={"params.lengths": [128], "params.fillers": 1},
        out=tmp_path / "train",
    )
    rows = pq.read_table(made.path / "training" / "needles.parquet").to_pylist()
    assert len(rows) == 34 * 2 * 10
    texts = {one["_id"]: one for one in corpus(made.path)}
    test = read_jsonl(small / "sources" / "groups.jsonl")
    train = read_jsonl(made.path / "sources" / "groups.jsonl")
    for key in ("group", "name", "fact", "one_hop"):
        assert not {row[key] for row in test} & {row[key] for row in train}
    both = [
        {row["book"] for row in read_jsonl(path / "sources" / "books.jsonl")}
        for path in (small, made.path)
    ]
    assert [len(books) for books in both] == [10, 6]
    assert not both[0] & both[1]
    counted = load_counter("minilm").lengths(
        [row[key] for row in rows for key in ("positive", "negative_1", "negative_2")]
    )
    assert set(counted) == {128}
    places = Counter(texts[row["positive-id"]]["metadata"]["place"] for row in rows)
    assert places == dict.fromkeys(range(10), 68)
    for row in rows:
        assert texts[row["positive-id"]]["text"] == row["positive"]
        name = texts[row["positive-id"]]["metadata"]["name"]
        assert name not in row["negative_1"]
        assert name not in row["negative_2"]


def test_rows_depend_on_nothing_but_their_number(small: Path) -> None:
    recipe = load_recipe("niah", {"params.lengths": [128, 256]}).at(small)
    records = recipe.family.generate(recipe.job)
    lines = (small / "dataset" / "corpus.jsonl").read_bytes().splitlines(keepends=True)
    for first, last in ((500, 503), (7, 8), (920, 924)):
        assert records.corpus.jsonl(first, last) == b"".join(lines[first:last])


@pytest.mark.slow
def test_the_same_bytes_at_any_number_of_workers(small: Path, tmp_path: Path) -> None:
    again = run(
        "niah", overrides={"params.lengths": [128, 256]}, out=tmp_path / "again", workers=2
    ).path
    for path in sorted((small / "dataset").iterdir()):
        assert (again / "dataset" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_a_length_more_changes_no_other_haystack(small: Path, tmp_path: Path) -> None:
    more = run("niah", overrides={"params.lengths": [128, 200]}, out=tmp_path / "more").path
    texts = [
        {one["text"] for one in corpus(path) if one["metadata"]["length"] == 128}
        for path in (small, more)
    ]
    assert texts[0] == texts[1]
