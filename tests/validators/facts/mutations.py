"""Random changes of finished data sets, each of which makes them wrong."""

from __future__ import annotations

import datetime
import json
import random
import re
from collections.abc import Callable

from retgen.facts.domain import Domain, Slot

from .sets import Row, Set

# --- documents ----------------------------------------------------------------------------------


def spoken(slot: Slot, value: str) -> str:
    """A value as documents say it, without a preposition."""
    if slot.type == "date":
        day = datetime.date.fromisoformat(value)
        return f"{day.day} {day:%B} {day.year}"
    if slot.type == "number":
        return f"{int(value):,} {slot.unit[value != '1']}"
    return value


def worded(slot: Slot, wording: str, value: str, domain: Domain) -> str:
    """A sentence with a pronoun as its subject."""
    said = spoken(slot, value)
    before = {"year": "in ", "date": "on "}.get(slot.type, "")
    she = domain.entity.relative == "who"
    marks = {"S": "she" if she else "it", "P": "her" if she else "its", "O": "her" if she else "it"}
    text = wording.replace("{v}", before + said).replace("{n}", said)
    for mark, word in marks.items():
        text = text.replace(f"{{{mark}}}", word)
    return f"{text[0].upper()}{text[1:]}."


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=\.) (?=[A-Z0-9])", text)


_SAME = {  # words of another slot that say the same of a value
    ("prop", "{S} centres on {v}"),
    ("claim", "{S} turned on {v}"),
    ("claim", "{P} claimant sued {v}"),
}


class Documents:
    """Changes of documents, by kind. A change that cannot be made returns False."""

    def __init__(self, domain: Domain, rows: list[Row], seed: int) -> None:
        self.domain, self.rows = domain, rows
        self.random = random.Random(seed)
        self.kinds: dict[str, Callable[[Row, Row], bool]] = {
            "value": self.value,
            "figure": self.figure,
            "slot": self.slot,
            "negation": self.negation,
            "holder": self.holder,
            "name": self.name,
            "title": self.title,
            "order": self.order,
            "sentence moved": self.moved,
            "sentence lost": self.lost,
            "sentence twice": self.twice,
            "metadata": self.metadata,
        }

    def facts(self, row: Row) -> list[tuple[Slot, str, int]]:
        """(slot, value, the sentence that alone says it) of facts whose sentence says no other."""
        parts = sentences(row["text"])
        stated = []
        for fact in row["metadata"]["facts"]:
            name, _, value = fact.partition("=")
            if name in self.domain.slots:
                slot = self.domain.slots[name]
                said = re.compile(rf"(?<!\w){re.escape(spoken(slot, value))}(?!\w)", re.I)
                where = [i for i, part in enumerate(parts) if said.search(part)]
                stated.append((slot, value, where))
        used = [where[0] for _, _, where in stated if len(where) == 1]
        return [
            (slot, value, where[0])
            for slot, value, where in stated
            if len(where) == 1 and used.count(where[0]) == 1 and " and " not in parts[where[0]]
        ]

    def value(self, row: Row, other: Row) -> bool:
        """Another value of the slot in the same words."""
        choices = [one for one in self.facts(row) if one[0].type in ("category", "place")]
        if not choices:
            return False
        slot, value, place = self.random.choice(choices)
        new = self.random.choice([one.name for one in slot.values if one.name != value])
        return self._replace(row, place, value, new)

    def figure(self, row: Row, other: Row) -> bool:
        """Another year, day or number."""
        choices = [one for one in self.facts(row) if one[0].type in ("year", "date", "number")]
        if not choices:
            return False
        slot, value, place = self.random.choice(choices)
        if slot.type == "date":
            day = datetime.date.fromisoformat(value) + datetime.timedelta(
                self.random.choice((-1, 1))
            )
            new = day.isoformat()
        else:
            new = str(int(value) + self.random.choice((-10, -2, -1, 1, 2, 10)))
        return self._replace(row, place, spoken(slot, value), spoken(slot, new))

    def slot(self, row: Row, other: Row) -> bool:
        """The words of another slot of the same type, with the same value."""
        facts = self.facts(row)
        self.random.shuffle(facts)
        for slot, value, place in facts:
            alike = [
                one
                for one in self.domain.slots.values()
                if one.type == slot.type and one.name != slot.name
            ]
            if alike:
                new = self.random.choice(alike)
                words = [one for one in new.document if (slot.name, one) not in _SAME]
                text = worded(new, self.random.choice(words), value, self.domain)
                parts = sentences(row["text"])
                if row["title"] in parts[place]:
                    continue
                parts[place] = text
                row["text"] = " ".join(parts)
                return True
        return False

    def negation(self, row: Row, other: Row) -> bool:
        """The sentence says that it is not so."""
        facts = self.facts(row)
        if not facts:
            return False
        *_, place = self.random.choice(facts)
        parts = sentences(row["text"])
        sentence = parts[place]
        frame = self.random.choice(
            (
                "It is not true that {}",
                "Never was it said that {}",
                "It would be false that {}",
                "Nobody claims that {}",
            )
        )
        if not sentence.startswith(row["title"]) and sentence.split()[0] in _LOWERED:
            sentence = sentence[0].lower() + sentence[1:]
        parts[place] = frame.format(sentence)
        row["text"] = " ".join(parts)
        return True

    def holder(self, row: Row, other: Row) -> bool:
        """The sentence is told of somebody else."""
        parts = sentences(row["text"])
        for *_, place in self.facts(row):
            first, _, rest = parts[place].partition(" ")
            whose = self.random.choice(self.domain.others)
            if first in ("She", "He", "It") and not _PRONOUN.search(rest):
                whose = whose.replace("{P}", {"She": "her", "He": "his", "It": "its"}[first])
                parts[place] = f"{whose[0].upper()}{whose[1:]} {rest}"
                row["text"] = " ".join(parts)
                return True
        return False

    def name(self, row: Row, other: Row) -> bool:
        """Another one's name in the text."""
        if row["text"].count(row["title"]) == 0 or other["title"] == row["title"]:
            return False
        row["text"] = row["text"].replace(row["title"], other["title"], 1)
        return True

    def title(self, row: Row, other: Row) -> bool:
        row["title"] = other["title"]
        return True

    def order(self, row: Row, other: Row) -> bool:
        """Two sentences have changed places."""
        facts = [one for one in self.facts(row) if one[2] > 0]
        if len(facts) < 2:
            return False
        (*_, one), (*_, two) = self.random.sample(facts, 2)
        parts = sentences(row["text"])
        parts[one], parts[two] = parts[two], parts[one]
        row["text"] = " ".join(parts)
        return True

    def moved(self, row: Row, other: Row) -> bool:
        """A sentence of another document stands in this one as well."""
        facts = [
            (slot, value, place)
            for slot, value, place in self.facts(other)
            if other["title"] not in sentences(other["text"])[place] and value != row["title"]
        ]
        if not facts:
            return False
        *_, place = self.random.choice(facts)
        parts = sentences(row["text"])
        parts.insert(self.random.randrange(1, len(parts) + 1), sentences(other["text"])[place])
        row["text"] = " ".join(parts)
        return True

    def lost(self, row: Row, other: Row) -> bool:
        """A sentence that states a fact is gone."""
        facts = self.facts(row)
        if not facts:
            return False
        *_, place = self.random.choice(facts)
        parts = sentences(row["text"])
        del parts[place]
        row["text"] = " ".join(parts)
        return True

    def twice(self, row: Row, other: Row) -> bool:
        """A sentence stands twice."""
        facts = self.facts(row)
        if not facts:
            return False
        *_, place = self.random.choice(facts)
        row["text"] += " " + sentences(row["text"])[place]
        return True

    def metadata(self, row: Row, other: Row) -> bool:
        """A fact of the metadata is another one."""
        facts = row["metadata"]["facts"]
        place = self.random.randrange(len(facts))
        facts[place] = facts[place - 1]
        return True

    def _replace(self, row: Row, place: int, old: str, new: str) -> bool:
        parts = sentences(row["text"])
        found = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", parts[place], re.I)
        assert found is not None
        said = new[0].upper() + new[1:] if found[0][0].isupper() and not found.start() else new
        parts[place] = parts[place][: found.start()] + said + parts[place][found.end() :]
        row["text"] = " ".join(parts)
        return True


_PRONOUN = re.compile(r"\b(?:she|her|he|his|him|it|its)\b", re.I)
_LOWERED = {"She", "Her", "He", "His", "It", "Its", "The", "A", "An", "In", "On", "At", "As"}


def change_documents(made: Set, seed: int) -> dict[str, list[tuple[str, str]]]:
    """Change every document once, each in a way of its own: kind -> (id, its text)."""
    originals = [dict(row, metadata=json.loads(json.dumps(row["metadata"]))) for row in made.corpus]
    changes = Documents(made.domain, made.corpus, seed)
    names = list(changes.kinds)
    done: dict[str, list[tuple[str, str]]] = {name: [] for name in names}
    for i, row in enumerate(made.corpus):
        other = originals[(i + 1 + changes.random.randrange(len(originals) - 1)) % len(originals)]
        kind = names[i % len(names)]
        if changes.kinds[kind](row, other):
            done[kind].append((row["_id"], f"{row['title']}: {row['text']}"))
    return done


# --- queries and qrels --------------------------------------------------------------------------

_COMPARE = {
    "before",
    "after",
    "earlier than",
    "later than",
    "less than",
    "more than",
    "under",
    "over",
}
_RANK = {"latest", "earliest", "most recent", "oldest", "longest", "shortest", "highest", "lowest"}
_WORDS = [
    ("before", "after"),
    ("earlier than", "later than"),
    ("less than", "more than"),
    ("under", "over"),
    ("latest", "earliest"),
    ("most recent", "oldest"),
    ("longest", "shortest"),
    ("highest", "lowest"),
    (" two ", " three "),
    (" who ", " who never "),
    (" that ", " that never "),
    (", but not one", " or one"),
    (", leaving out any", " and any"),
    (", with the exception of any", " and any"),
    (", though not one", " and one"),
    (", or else ", " and also "),
]


def change_query(made: Set, row: Row, chance: random.Random) -> bool:
    """One word of a query: a value, a figure, or a word that joins, compares or counts."""
    text = row["text"]
    options = []
    ranks = row["metadata"]["operator"] == "superlative"
    for one, other in _WORDS:
        for old, new in ((one, other), (other, one)):
            ending = r"(?= \d)" if old in _COMPARE else r"(?!\w)" if old[-1].isalpha() else ""
            beginning = r"(?<=the )" if old in _RANK else r"(?<!\w)" if old[0].isalpha() else ""
            if "never" not in old and (old not in _RANK or ranks):
                options.append(re.sub(f"{beginning}{re.escape(old)}{ending}", new, text, count=1))
    for slot in made.domain.slots.values():
        if slot.name in row["metadata"]["slots"]:
            for value in slot.values:
                if re.search(rf"(?<!\w){re.escape(value.name)}(?!\w)", text):
                    new = chance.choice([one.name for one in slot.values if one != value])
                    options.append(text.replace(value.name, new, 1))
    for figure in re.findall(r"(?<![\w,])\d{2,4}(?![\w,])", text):
        options.append(text.replace(figure, str(int(figure) + chance.choice((-1, 1))), 1))
    options = [one for one in options if one != text]
    if not options:
        return False
    row["text"] = chance.choice(options)
    return True


def change_qrel(made: Set, query_id: str, chance: random.Random) -> bool:
    """A row of the qrels: lost, turned round, or of another document."""
    places = [i for i, row in enumerate(made.qrels) if row["query-id"] == query_id]
    positive = [i for i in places if made.qrels[i]["score"]]
    kind = chance.randrange(3)
    if kind == 0 and len(positive) > 1:
        del made.qrels[chance.choice(positive)]
    elif kind == 1:
        place = chance.choice(places)
        made.qrels[place] = {**made.qrels[place], "score": 1 - made.qrels[place]["score"]}
    else:
        judged = {made.qrels[i]["corpus-id"] for i in places}
        other = chance.choice([row["_id"] for row in made.corpus if row["_id"] not in judged])
        place = chance.choice(positive)
        made.qrels[place] = {**made.qrels[place], "corpus-id": other}
    return True
