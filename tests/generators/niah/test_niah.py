"""Whole runs of the family: exact counts, exact lengths, same bytes, and what is refused."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from retgen import plan, run, validate
from retgen.errors import RecipeError, SourceRefused
from retgen.generators.niah.counting import load_counter
from retgen.generators.niah.groups import DATA, people
from retgen.recipe import load_recipe
from tests.conftest import read_jsonl

Row = dict[str, Any]
ARMS = {
    "params.lengths": [256],
    "params.places": 3,
    "params.orders": ["default", "inverted"],
    "params.needles": ["one_hop", "literal"],
    "params.filler": ["shuffled", "coherent"],
    "params.filtered": [True, False],
    "params.distractors": [0, 4],
    "params.controls": ["nothing", "neutral"],
}
BOOKS = DATA / "prose"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("niah") / "small"
    return run("niah", overrides={"params.lengths": [128, 256]}, out=out).path


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run("niah", overrides=ARMS, out=tmp_path_factory.mktemp("niah") / "arms").path


# the arms take a proof of 2,816 haystacks
BOTH = pytest.mark.parametrize("made", ["small", pytest.param("arms", marks=pytest.mark.slow)])


def corpus(path: Path) -> list[Row]:
    return read_jsonl(path / "dataset" / "corpus.jsonl")


def needle(row: Row) -> str:
    start, stop = row["metadata"]["span"]
    return str(row["text"][start:stop])


def without(row: Row) -> str:
    start, stop = row["metadata"]["span"]
    return " ".join(f"{row['text'][:start]} {row['text'][stop:]}".split())


def write_books(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.txt").write_text((BOOKS / f"{name}.txt").read_text())
    return folder


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
        (one["metadata"]["length"], one["metadata"]["needle"], one["metadata"]["order"],
         one["metadata"]["place"]) for one in rows
    )  # fmt: skip
    assert told == {
        **{(n, "one_hop", order, place): 22 for n in (128, 256)
           for order in ("default", "inverted") for place in range(10)},
        **{(n, "none", "", -1): 22 for n in (128, 256)},
    }  # fmt: skip


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
            ends = [i for i in range(1, min(len(rest), longest) + 1)
                    if (i == len(rest) or rest[i] == " ") and rest[:i] in whole]  # fmt: skip
            if not ends:  # a near-answer
                stop = next(
                    rest.index(tail, len(head)) + len(tail)
                    for head, tail in near if rest.startswith(head) and tail in rest[: longest + 99]
                )  # fmt: skip
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
        "one_hop": 22 * 8 * 6, "literal": 22 * 8 * 6, "neutral": 22 * 8 * 3, "none": 22 * 8,
    }  # fmt: skip


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
    tokens = dict(zip(
        [one["_id"] for one in rows],
        load_counter("minilm").sizes([needle(one) or "-" for one in rows]).tolist(), strict=True,
    ))  # fmt: skip
    default = {
        one["metadata"]["group"]: tokens[one["_id"]] for one in rows
        if one["metadata"]["needle"] == "one_hop" and one["metadata"]["order"] == "default"
    }  # fmt: skip
    apart = Counter(
        tokens[one["_id"]] - default[one["metadata"]["group"]]
        for one in rows if one["metadata"]["needle"] == "neutral"
    )  # fmt: skip
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
            "none", told["group"], told["length"],
        )  # fmt: skip
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


@pytest.mark.slow
def test_a_tokenizer_that_counts_words_otherwise_at_the_beginning(tmp_path: Path) -> None:
    """Byte-level: a word has other tokens where no blank stands before it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    texts = [path.read_text() for path in sorted(BOOKS.glob("*.txt"))]
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=["</s>"], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    end = [("</s>", tokenizer.token_to_id("</s>"))]
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=end)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    told = {"params.lengths": [160], "params.tokenizer": str(tmp_path)}
    rows = corpus(run("niah", overrides=told, out=tmp_path / "own").path)
    assert {len(one) for one in tokenizer.encode_batch([row["text"] for row in rows])} == {160}
    for row in rows[:100]:
        start, stop = row["metadata"]["span"]
        if stop:
            held = tokenizer.encode(row["text"])
            first, last = held.char_to_token(start), held.char_to_token(stop - 1)
            assert row["metadata"]["depth"] == round(first / (159 - (last + 1 - first)), 4)


def test_words_need_no_package(tmp_path: Path) -> None:
    told = {"params.lengths": [100], "params.tokenizer": "words"}
    rows = corpus(run("niah", overrides=told, out=tmp_path / "words").path)
    assert {len(row["text"].split()) for row in rows} == {100}


def test_a_book_that_holds_a_name_gives_it_to_nobody(small: Path, tmp_path: Path) -> None:
    name = read_jsonl(small / "sources" / "groups.jsonl")[0]["name"]
    books = write_books(tmp_path / "books", "map_room", "boatyard")
    with (books / "boatyard.txt").open("a") as file:
        file.write(f"\n\nThe old man told {name} that it was late.\n")
    made = run(
        "niah",
        overrides={"params.lengths": [128], "params.books": str(books)},
        out=tmp_path / "own",
    )
    groups = read_jsonl(made.path / "sources" / "groups.jsonl")
    assert len({row["name"] for row in groups} - {name}) == 22


def test_books_that_hold_all_names(tmp_path: Path) -> None:
    books = write_books(tmp_path / "books", "map_room")
    (books / "names.txt").write_text("\n\n".join(f"It was {n} again." for n in people().names))
    with pytest.raises(RecipeError) as caught:
        run("niah", overrides={"params.books": str(books)}, out=tmp_path / "run")
    assert str(caught.value).startswith(
        "params.books: 22 names are needed and 0 of 60 are left, since the books hold the others"
    )
    assert not (tmp_path / "run" / "dataset").exists()


def test_books_that_are_none(tmp_path: Path) -> None:
    books = tmp_path / "books"
    books.mkdir()
    (books / "empty.txt").write_text("")
    (books / "binary.txt").write_bytes(bytes(range(256)))
    with pytest.raises(SourceRefused) as caught:
        run("niah", overrides={"params.books": str(books)}, out=tmp_path / "run")
    assert "holds no book that can be used. Refused are 1 by source/binary" in str(caught.value)
    assert "1 by source/empty, the first at empty.txt: the file is empty" in str(caught.value)
    assert not (tmp_path / "run" / "dataset").exists()
    write_books(books, "map_room")
    made = run(
        "niah",
        overrides={"params.lengths": [128], "params.books": str(books)},
        out=tmp_path / "some",
    )
    assert [row["rule"] for row in read_jsonl(made.path / "rejected.jsonl")] == [
        "source/binary", "source/empty",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"params.lengths": [16]}, "params.lengths: 16 tokens are too few for group landmark-01"),
        ({"params.lengths": [48]}, "params.lengths: 48 tokens cannot be made for group landmark-01: its places need 8 sentences between needle and last sentences, where 27 tokens are left, and only 8 of the books' 2,558 sentences are as short as that; use longer haystacks, fewer places, or books with more short sentences"),
        ({"params.lengths": [90_000]}, "params.lengths: 90,000 tokens are more than the books give"),
        ({"params.places": 60}, "params.lengths: 128 tokens cannot be made for group landmark-01: its places need 58 sentences"),
        ({"params.distractors": [5]}, "params.distractors: a group needs 5 near-answers; group landmark-01 of the bundled table has 4: write more, or ask for fewer"),
        ({"params.distractors": [4], "params.training": True}, "params.distractors and params.training: a group needs 5 near-answers (4 for the filler, 1 as the negative of training); group landmark-01 of the bundled table has 4"),
        ({"params.lengths": []}, "params.lengths: must hold at least 1 value, not []"),
        ({"params.expand": True}, "params.expand: that is a model's work: name one, as in --model openai:gpt-5-mini, or leave expand out (the bundled groups for testing have terms of their own; for those of a table, or for training, only a model can add any)"),
        ({"params.lengths": [256, 128]}, "params: lengths must ascend"),
        ({"params.lengths": [128, 128]}, "params.lengths: a value stands there twice"),
        ({"params.tokenizer": "no/where"}, "params.tokenizer: there is no tokenizer "),
    ],
)  # fmt: skip
def test_what_cannot_be_made(told: Row, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan("niah", told)
    assert message in str(caught.value)


def test_a_tokenizer_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"model": 1}')
    with pytest.raises(RecipeError) as caught:
        run("niah", overrides={"params.tokenizer": str(tmp_path)}, out=tmp_path / "run")
    assert f"params.tokenizer: {tmp_path / 'tokenizer.json'} cannot be loaded (" in str(
        caught.value
    )
    assert not (tmp_path / "run" / "dataset").exists()


def table(path: Path, **changed: Any) -> dict[str, Any]:
    group = {
        "id": "a-1", "category": "landmark", "question": "Which character has been to Lima?",
        "literal": "Long ago {name} lived in Lima.", "literal_inverted": "In Lima {name} lived.",
        "one_hop": "Below the Larco Museum {name} keeps a shop.",
        "one_hop_inverted": "The shop of {name} is below the Larco Museum.",
        "fact": "The Larco Museum is in Lima.", "source": 'Wikipedia, "Larco Museum"',
    }  # fmt: skip
    path.write_text(json.dumps([group | changed]))
    return {"params.table": str(path), "params.lengths": [128]}


def test_a_table_of_your_own(tmp_path: Path) -> None:
    made = run("niah", overrides=table(tmp_path / "own.yaml"), out=tmp_path / "run")
    (query,) = read_jsonl(made.path / "dataset" / "queries.jsonl")
    assert query["text"] == "Which character has been to Lima?"
    assert not [key for key in query["metadata"] if key.startswith("expansion")]
    assert len(corpus(made.path)) == 21


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"one_hop": "Below a tower of Lima {name} keeps a shop."},
            "group a-1: one_hop holds 'lima', a word of the question 'Which character has been to Lima?' ('lima')",
        ),
        (
            {"question": "Which character speaks Welsh?", "one_hop": "In Bala {name} spoke first.",
             "literal": "Then {name} spoke Welsh.", "literal_inverted": "Welsh {name} speaks."},
            "group a-1: one_hop holds 'spoke', a word of the question 'Which character speaks Welsh?' ('speaks')",
        ),
        ({"fact": "Bananas are yellow."},
         "own.yaml, line 1, group a-1: fact says nothing of what the question asks about (no form of "
         "'lima'), so no needle answers it by this fact: 'Bananas are yellow.'; write the fact that "
         "leads from the needle to the question"),
        ({"fact": "The Uffizi is nowhere near Lima."},
         "group a-1: fact says nothing of what one_hop names (no form of 'larco', 'museum', 'keeps', "
         "'shop'), so that needle does not answer the question by it: 'The Uffizi is nowhere near "
         "Lima.'; name in the fact what the needle names: 'Below the Larco Museum {name} keeps a "
         "shop.'"),
        ({"one_hop_inverted": "One shop of {name} is below a bank."},
         "group a-1: fact says nothing of what one_hop_inverted names"),
        ({"sourse": "an atlas"},
         "params.table, group a-1:\n{path}, line 1, sourse: unknown key; did you mean source? "
         "Allowed: id, category, set, "),
        ({"literal": "Long ago {name} left."}, "group a-1: literal shares no word with the question"),
        ({"near": ["The coast of Lima pleased {name}."]}, "group a-1: near[0] holds 'lima'"),
        ({"one_hop": "Nobody is there."}, "own.yaml, line 1, one_hop: must hold {name} exactly once"),
        ({"fact": "Two  blanks."}, "own.yaml, line 1, fact: must be one line"),
        ({"set": "train"}, "own.yaml has groups of set train alone (1), none of set test; write `set: test` into their rows, or take them: --set params.groups=train"),
    ],
)  # fmt: skip
def test_groups_that_are_refused(tmp_path: Path, changed: Row, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan("niah", table(tmp_path / "own.yaml", **changed))
    assert message.replace("{path}", str(tmp_path / "own.yaml")) in str(caught.value)


# --- controls, coherent filler, books ------------------------------------------------------------


def test_a_control_holds_the_filler_of_the_first_needle_and_a_sentence_in_its_stead(
    small: Path,
) -> None:
    held = {
        (one["metadata"]["group"], one["metadata"]["length"]): one
        for one in corpus(small)
        if (one["metadata"]["order"], one["metadata"]["place"]) == ("default", 9)
    }
    whole = {row["text"] for row in read_jsonl(small / "sources" / "sentences.jsonl")}
    controls = [one for one in corpus(small) if one["metadata"]["needle"] == "none"]
    assert len(controls) == 44
    for one in controls:
        same = held[one["metadata"]["group"], one["metadata"]["length"]]
        assert one["text"].startswith(f"{without(same)} ")
        stead = one["text"][len(without(same)) + 1 :]
        assert stead in whole or any(
            stead == f"{a} {stead[len(a) + 1 :]}" and stead[len(a) + 1 :] in whole for a in whole
        )


def in_book(run_path: Path, row: Row) -> list[tuple[str, int, bool]]:
    """Book, number and whether it stays, of each sentence of a haystack's filler in order."""
    sources = read_jsonl(run_path / "sources" / "sentences.jsonl")
    place = {one["text"]: (one["book"], i) for i, one in enumerate(sources)}
    longest = max(map(len, place))
    rest, found = without(row), []
    while rest:
        stop = max(i for i in range(1, min(len(rest), longest) + 1) if rest[:i] in place)
        found.append(place[rest[:stop]])
        rest = rest[stop + 1 :]
    return [(book, i, not sources[i]["fault"]) for book, i in found]


def test_coherent_filler_is_a_run_of_one_book(tmp_path: Path) -> None:
    told = {
        "params.lengths": [512], "params.places": 3, "params.filler": ["coherent"],
        "params.orders": ["default"],
    }  # fmt: skip
    made = run("niah", overrides=told, out=tmp_path / "run")
    sources = read_jsonl(made.path / "sources" / "sentences.jsonl")
    rows = [one for one in corpus(made.path) if one["metadata"]["place"] == 0]
    left_out, one_book = 0, 0
    for row in rows:
        found = in_book(made.path, row)
        body = found[:-2]
        assert len({book for book, *_ in body}) == 1
        for (_, i, _), (_, j, _) in pairwise(body):
            assert i < j
            assert all(sources[k]["fault"] for k in range(i + 1, j))  # nothing else is left out
            left_out += j - i - 1
        one_book += len({book for book, *_ in found}) == 1
    assert (len(rows), one_book) == (22, 21)
    told_of = json.loads((made.path / "manifest.json").read_text())["notes"]["coherent"]
    assert told_of == (
        "of 22 coherent fillers 3 leave out no sentence of their books; all together 32 of 520 "
        "(those with words of a question, and in short haystacks long ones); 0 go on in another "
        "book where one ends; the last sentences of 21 are of the same book"
    )
    assert 20 < left_out <= 32  # some tails are one sentence


def test_coherent_filler_goes_on_with_the_next_book(tmp_path: Path) -> None:
    books = write_books(tmp_path / "books", "map_room", "boatyard")
    told = table(tmp_path / "own.yaml") | {
        "params.lengths": [8192], "params.places": 2, "params.filler": ["coherent"],
        "params.orders": ["default"], "params.books": str(books),
    }  # fmt: skip
    made = run("niah", overrides=told, out=tmp_path / "run")
    row = next(one for one in corpus(made.path) if one["metadata"]["place"] == 0)
    found = in_book(made.path, row)[:-2]
    (first, begun), (second, next_one) = (
        (book, [i for _, i, _ in some]) for book, some in groupby(found, key=lambda one: one[0])
    )
    assert {first, second} == {"map_room", "boatyard"}
    sources = read_jsonl(made.path / "sources" / "sentences.jsonl")
    kept = [i for i, one in enumerate(sources) if one["book"] == second and not one["fault"]]
    assert next_one == kept[: len(next_one)]
    kept = [i for i, one in enumerate(sources) if one["book"] == first and not one["fault"]]
    assert begun == kept[-len(begun) :]
    told_of = json.loads((made.path / "manifest.json").read_text())["notes"]["coherent"]
    assert "; 1 go on in another book where one ends; " in told_of


def sentence_of(words: int, number: int) -> str:
    return " ".join(["Stone", *(["wall"] * (words - 2)), f"n{number}."])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            [sentence_of(13, i) for i in range(600)],
            "its last one or two sentences make up for the tokens of any needle, so those of the books "
            "must come to each number of tokens in a range of 10, and do not: they have 600 "
            "different sentences of 1 length (13 tokens), and of each length at least 3 are needed; "
            "use more books, with sentences of many lengths",
        ),
        (
            [sentence_of(3 + i % 25, i % 25) for i in range(1000)],
            "params.lengths: 512 tokens are more than the books give: their 25 different sentences "
            "that can be used have 375 tokens, and none stands twice in a haystack",
        ),
        (
            [sentence_of(60 + i % 90, i) for i in range(900)],
            "its places need 8 sentences between needle and last sentences, where 441 tokens are left, "
            "and only 0 of the books' 900 sentences are as short as that",
        ),
    ],
)
def test_why_books_give_no_haystack(tmp_path: Path, texts: list[str], message: str) -> None:
    (tmp_path / "book.txt").write_text(" ".join(texts))
    told = {
        "params.books": str(tmp_path / "book.txt"), "params.lengths": [512],
        "params.tokenizer": "words",
    }  # fmt: skip
    with pytest.raises(RecipeError) as caught:
        plan("niah", told)
    assert message in str(caught.value)


def test_a_plan_says_what_the_books_hold(tmp_path: Path) -> None:
    books = write_books(tmp_path / "books", "map_room", "boatyard")
    told = {"params.lengths": [128], "params.books": str(books)}
    assert len(plan("niah", told).notes) == 1
    with (books / "boatyard.txt").open("a") as file:
        file.write("\n\nThe old man told Kofi and Luka that it was late.\n")
    (books / "scan.txt").write_text(
        "Th ey wa lked d own the ro ad to geth er.\n\nA cat sat on the wall.\n\n"
        "Return dict(a=1) or sys.exit(2) from __main__.py now.\n\n"
        "You may use THIS EBOOK under the LICENSE at www.example.org/license or not.\n"
    )
    _, names, unlikely = plan("niah", told).notes
    assert names == (
        "the books hold 2 of the 60 names, so no group has those; with other books, groups may have "
        "other names: Kofi, Luka"
    )
    assert re.fullmatch(
        r"3 of \d+ sentences of the books hardly look like prose \(code, tables, lines of a licence, "
        r"broken words of a scan, another language\?\), 3 of them in scan: .*; .*; .*\. "
        r"Clean the books, or leave such ones out",
        unlikely,
    )
    made = run("niah", overrides=told, out=tmp_path / "run")
    assert json.loads((made.path / "manifest.json").read_text())["notes"]["names"] == names
