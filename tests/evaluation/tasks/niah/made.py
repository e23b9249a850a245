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
    corpus: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    qrels: dict[str, list[str]] = {"test": []}

    def add(
        g: int, length: int, kind: str, order: str = "", place: int = -1, needle: str = ""
    ) -> str:
        """Write a haystack of group g, or a control; its id."""
        count = length - (len(tokenizer(needle)["input_ids"]) if needle else 2)
        words = [_WORDS[(i * i + (g + 1) * i + length) % len(_WORDS)] for i in range(count)]
        at = place * len(words) // (PLACES - 1) if needle else 0
        before = " ".join(words[:at])
        start = len(before) + bool(before)
        text = " ".join(filter(None, [before, needle, " ".join(words[at:])]))
        assert len(tokenizer(text)["input_ids"]) == length
        metadata = {
            "group": groups[g],
            "category": MANY[groups[g]][0],
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
        }
        doc_id = f"d{len(corpus)}"
        corpus.append({"_id": doc_id, "title": "", "text": text, "metadata": metadata})
        return doc_id

    for g, name in enumerate(groups):
        category, question, *sentences, terms = MANY[name]
        keys = ("needle", "needle_inverted", "literal", "literal_inverted")
        metadata = {"group": name, "category": category, "name": sentences[0].split()[2]}
        metadata |= dict(zip(keys, sentences, strict=True))
        if expanded:
            metadata |= {"expansion_100": f"{question} {terms}", "expansion_150": ""}
        queries.append({"_id": f"q{g}", "text": question, "metadata": metadata})
        for length in lengths:
            if "none" in controls:
                add(g, length, "none")
            if "neutral" in controls:
                for place in range(PLACES):
                    add(g, length, "neutral", "", place, "Nobody saw the cat that day.")
            for kind in needles:
                of = sentences[:2] if kind == "one_hop" else sentences[2:]
                for order, needle in zip(ORDERS, of, strict=True):
                    for place in range(PLACES):
                        line = f"q{g}\t{add(g, length, kind, order, place, needle)}\t1\n"
                        for split in ("test", f"test_{length}"):
                            qrels.setdefault(split, []).append(line)
    (folder / "qrels").mkdir(parents=True)
    for table, rows in (("corpus", corpus), ("queries", queries)):
        lines = "".join(json.dumps(one) + "\n" for one in rows)
        (folder / f"{table}.jsonl").write_text(lines)
    for split, of_split in qrels.items():
        text = "query-id\tcorpus-id\tscore\n" + "".join(of_split)
        (folder / "qrels" / f"{split}.tsv").write_text(text)
    return folder
