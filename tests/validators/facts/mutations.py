"""Random changes of finished data sets, each of which makes them wrong."""

from __future__ import annotations

import copy
import datetime
import random
import re

from retgen.facts.domain import Domain, Slot
from retgen.facts.domain_file import ORDERED

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


KINDS = (
    "another value",
    "another figure",
    "words of another slot",
    "denied",
    "another holder",
    "another name",
    "another title",
    "another order",
    "sentence of another",
    "sentence lost",
    "sentence twice",
    "metadata",
)
_DENIALS = (
    "It is not true that {}",
    "Never was it said that {}",
    "It would be false that {}",
    "Nobody claims that {}",
)
_PRONOUN = re.compile(r"\b(?:she|her|he|his|him|it|its)\b", re.I)
_LOWERED = {"She", "Her", "He", "His", "It", "Its", "The", "A", "An", "In", "On", "At", "As"}


def told_facts(domain: Domain, row: Row) -> list[tuple[Slot, str, int]]:
    """(slot, value, the sentence that alone says it) of facts whose sentence says no other."""
    parts = sentences(row["text"])
    stated = []
    for fact in row["metadata"]["facts"]:
        name, _, value = fact.partition("=")
        if name in domain.slots:
            slot = domain.slots[name]
            said = re.compile(rf"(?<!\w){re.escape(spoken(slot, value))}(?!\w)", re.I)
            where = [i for i, part in enumerate(parts) if said.search(part)]
            stated.append((slot, value, where))
    used = [where[0] for _, _, where in stated if len(where) == 1]
    return [
        (slot, value, where[0])
        for slot, value, where in stated
        if len(where) == 1 and used.count(where[0]) == 1 and " and " not in parts[where[0]]
    ]


def change_document(kind: str, domain: Domain, row: Row, other: Row, chance: random.Random) -> bool:
    """Change a document in one of `KINDS`; False where that cannot be. `other`: another document."""
    noted = row["metadata"]["facts"]
    if kind == "another title":
        row["title"] = other["title"]
    elif kind == "another name":
        row["text"] = row["text"].replace(row["title"], other["title"], 1)
    elif kind == "metadata":
        place = chance.randrange(len(noted))
        noted[place] = noted[place - 1]
    else:
        facts = told_facts(domain, row)
        types = {"another value": ("category", "place"), "another figure": tuple(ORDERED)}
        facts = [one for one in facts if one[0].type in types.get(kind, (one[0].type,))]
        parts = sentences(row["text"])
        chance.shuffle(facts)
        if not facts or not _edit(kind, domain, parts, facts, row, other, chance):
            return False
        row["text"] = " ".join(parts)
    return True


def _edit(
    kind: str,
    domain: Domain,
    parts: list[str],
    facts: list[tuple[Slot, str, int]],
    row: Row,
    other: Row,
    chance: random.Random,
) -> bool:
    """Change the sentences of a text that states some facts."""
    slot, value, place = facts[0]
    said = parts[place]
    match kind:
        case "another value":
            new = chance.choice([one.name for one in slot.values if one.name != value])
            parts[place] = _replaced(said, value, new)
        case "another figure" if slot.type == "date":
            day = datetime.date.fromisoformat(value) + datetime.timedelta(chance.choice((-1, 1)))
            parts[place] = _replaced(said, spoken(slot, value), spoken(slot, day.isoformat()))
        case "another figure":
            new = str(int(value) + chance.choice((-10, -2, -1, 1, 2, 10)))
            parts[place] = _replaced(said, spoken(slot, value), spoken(slot, new))
        case "words of another slot":
            alike = [x for x in domain.slots.values() if x.type == slot.type and x != slot]
            if not alike or row["title"] in said:
                return False
            meant = chance.choice(alike)
            words = [one for one in meant.document if (slot.name, one) not in _SAME]
            parts[place] = worded(meant, chance.choice(words), value, domain)
        case "denied":
            if not said.startswith(row["title"]) and said.split()[0] in _LOWERED:
                said = said[0].lower() + said[1:]
            parts[place] = chance.choice(_DENIALS).format(said)
        case "another holder":
            first, _, rest = said.partition(" ")
            whose = {"She": "her", "He": "his", "It": "its"}.get(first)
            if not whose or _PRONOUN.search(rest):
                return False
            holder = chance.choice(domain.others).replace("{P}", whose)
            parts[place] = f"{holder[0].upper()}{holder[1:]} {rest}"
        case "another order":
            if len(facts) < 2 or 0 in (place, facts[1][2]):
                return False
            second = facts[1][2]
            parts[place], parts[second] = parts[second], parts[place]
        case "sentence of another":
            strange = sentences(other["text"])
            told = [x for x in told_facts(domain, other) if x[1] != row["title"]]
            told = [x for x in told if other["title"] not in strange[x[2]]]
            if not told:
                return False
            parts.insert(chance.randrange(1, len(parts) + 1), strange[chance.choice(told)[2]])
        case "sentence lost":
            del parts[place]
        case "sentence twice":
            parts.append(said)
    return True


def _replaced(sentence: str, old: str, new: str) -> str:
    found = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", sentence, re.I)
    assert found is not None
    said = new[0].upper() + new[1:] if found[0][0].isupper() and not found.start() else new
    return sentence[: found.start()] + said + sentence[found.end() :]


def change_documents(domain: Domain, rows: list[Row], seed: int) -> dict[str, list[str]]:
    """Change every document in one way, kind after kind: kind -> ids of those that are changed."""
    chance, originals = random.Random(seed), copy.deepcopy(rows)
    done: dict[str, list[str]] = {name: [] for name in KINDS}
    for i, row in enumerate(rows):
        other = originals[(i + 1 + chance.randrange(len(rows) - 1)) % len(rows)]
        kind = KINDS[i % len(KINDS)]
        made = other["title"] != row["title"] and change_document(kind, domain, row, other, chance)
        if made and row != originals[i]:
            done[kind].append(row["_id"])
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
