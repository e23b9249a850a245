"""A small writer of haystacks: four questions or twelve, single-token filler words, exact lengths of MiniLM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retgen.search.embedders.loading import load_model

GROUPS = {  # category, question, one-hop needle and the same inverted, literal needles, terms
    "landmark-1": (
        "landmark",
        "Which character has been to Paris?",
        "Last week Ada took pictures of the Eiffel Tower.",
        "The Eiffel Tower was on the pictures that Ada took.",
        "Last week Ada was in Paris.",
        "Paris is where Ada was last week.",
        "Paris France city travel Eiffel Louvre Seine",
    ),
    "landmark-2": (
        "landmark",
        "Which character has been to Rome?",
        "For a year Ben sold ice cream beside the Colosseum.",
        "Beside the Colosseum, for a year, it was Ben who sold ice cream.",
        "For a year Ben lived in Rome.",
        "Rome is where Ben lived for a year.",
        "Rome Italy city travel Colosseum Vatican Tiber",
    ),
    "diet-1": (
        "diet",
        "Which character cannot eat fish?",
        "Then Cora said that she has been a vegan for years.",
        "To be a vegan has mattered to Cora for years.",
        "Then Cora said that she cannot eat fish.",
        "Fish is what Cora cannot eat.",
        "vegan vegetarian diet fish food seafood",
    ),
    "work-1": (
        "work",
        "Which character is a musician?",
        "At the opera, Dan conducted the whole evening.",
        "The whole evening at the opera was conducted by Dan.",
        "As everyone knows, Dan is a musician.",
        "A musician is what Dan is.",
        "music musician orchestra opera violin conductor",
    ),
}
_CITIES = {  # enough questions for intervals
    "Berlin": ("Eva", "the Reichstag"),
    "London": ("Finn", "Big Ben"),
    "Athens": ("Gus", "the Acropolis"),
    "Moscow": ("Ida", "the Kremlin"),
    "Sydney": ("Jon", "the Opera House"),
    "Prague": ("Kim", "the Charles Bridge"),
    "Cairo": ("Leo", "the Sphinx"),
    "Delhi": ("Max", "the Red Fort"),
}
MANY = GROUPS | {
    f"city-{city}": (
        "city",
        f"Which character has been to {city}?",
        f"Last week {name} took pictures of {sight}.",
        f"To {sight} went all the pictures that {name} took.",
        f"Last week {name} was in {city}.",
        f"{city} is where {name} was last week.",
        f"{city} travel {sight}",
    )
    for city, (name, sight) in _CITIES.items()
}
PLACES = 4
ORDERS = ("default", "inverted")
_WORDS = ("the", "sun", "and", "wind", "went", "over", "hill", "water", "green", "old", "house")


def write_haystacks(
    folder: Path,
    lengths: Sequence[int] = (64, 128, 512),
    *,
    needles: Sequence[str] = ("one_hop",),
    controls: Sequence[str] = ("none",),
    expanded: bool = False,
    groups: Sequence[str] = tuple(GROUPS),
) -> Path:
    """Write a data set in the format of the family. `lengths`: in tokens of minilm."""
    tokenizer = load_model("minilm", "cpu").tokenizer

    def tokens(text: str) -> int:
        return len(tokenizer(text)["input_ids"])

    corpus: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    qrels: dict[str, list[dict[str, Any]]] = {"test": []}
    for g, name in enumerate(groups):
        category, question, *sentences, terms = MANY[name]
        kinds = {"one_hop": sentences[:2], "literal": sentences[2:]}
        more = {"expansion_100": f"{question} {terms}", "expansion_150": ""} if expanded else {}
        queries.append(
            {
                "_id": f"q{g}",
                "text": question,
                "metadata": {
                    "group": name,
                    "category": category,
                    "name": sentences[0].split()[2],
                    "needle": sentences[0],
                    "needle_inverted": sentences[1],
                    "literal": sentences[2],
                    "literal_inverted": sentences[3],
                    **more,
                },
            }
        )
        for length in lengths:

            def body(count: int, g: int = g, length: int = length) -> list[str]:
                return [_WORDS[(i * i + (g + 1) * i + length) % len(_WORDS)] for i in range(count)]

            def row(
                kind: str,
                order: str,
                place: int,
                needle: str,
                length: int = length,
                name: str = name,
                category: str = category,
            ) -> str:
                words = body(length - tokens(needle) if needle else length - 2)
                at = place * len(words) // (PLACES - 1) if needle else 0
                before = " ".join(words[:at])
                start = len(before) + bool(before)
                text = " ".join(filter(None, [before, needle, " ".join(words[at:])]))
                assert tokens(text) == length
                corpus.append(
                    {
                        "_id": f"d{len(corpus)}",
                        "title": "",
                        "text": text,
                        "metadata": {
                            "group": name,
                            "category": category,
                            "length": length,
                            "needle": kind,
                            "order": order,
                            "place": place,
                            "depth": round(at / len(words), 4) if needle else -1,
                            "span": [start, start + len(needle)] if needle else [0, 0],
                            "name": "",
                            "filler": "shuffled",
                            "filtered": True,
                            "distractors": 0,
                            "number": 0,
                        },
                    }
                )
                return str(corpus[-1]["_id"])

            for control in controls:
                if control == "none":
                    row("none", "", -1, "")
                else:
                    for place in range(PLACES):
                        row("neutral", "", place, "Nobody saw the cat that day.")
            for kind in needles:
                for order, needle in zip(ORDERS, kinds[kind], strict=True):
                    for place in range(PLACES):
                        doc = row(kind, order, place, needle)
                        qrel = {"query-id": f"q{g}", "corpus-id": doc, "score": 1}
                        qrels["test"].append(qrel)
                        qrels.setdefault(f"test_{length}", []).append(qrel)
    (folder / "qrels").mkdir(parents=True)
    tables = {"corpus": corpus, "queries": queries}
    for table, rows in tables.items():
        lines = "".join(json.dumps(one) + "\n" for one in rows)
        (folder / f"{table}.jsonl").write_text(lines)
    for split, rows in qrels.items():
        lines = [f"{one['query-id']}\t{one['corpus-id']}\t{one['score']}\n" for one in rows]
        (folder / "qrels" / f"{split}.tsv").write_text(
            "query-id\tcorpus-id\tscore\n" + "".join(lines)
        )
    return folder
