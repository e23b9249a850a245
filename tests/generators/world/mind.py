"""What the server on loopback says to the agents of worlds: a function of the request.

The writer puts a fact into a sentence of one form, "Its SLOT is VALUE."; the reader reads that form
back, and knows the calibration set by heart but for some of it. Names decide what goes wrong.
"""

from __future__ import annotations

import json
import re
from typing import Any

from retgen.generators.world.with_agents import calibration_documents
from tests.agents.minds import number

NOWHERE = ("Atlantis", "Thule", "Avalon")  # what the writer puts in place of a city, in turn
BLOCK = re.compile(r"^- (\w+): (.+?) \(", re.MULTILINE)
SAID = re.compile(r"Its (\w+) is (.+?)\.")


def mind(body: dict[str, Any]) -> str:
    """The content of an answer, by the title of the schema that is asked for."""
    prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
    name = body["response_format"]["json_schema"]["name"]
    return json.dumps({"WrittenDocument": write, "ReadFacts": read}[name](prompt))


def write(prompt: str) -> dict[str, Any]:
    """Of some names a fact is said of something else at first, of others another city always."""
    head, _, rest = prompt.partition("\n\n")
    name = head.rpartition(": ")[2]
    told, _, rest = rest.partition("Nothing is known of these")
    earlier = rest.partition("which was not taken:")[2].partition("What a")[0]
    repaired = "(none)" not in earlier
    facts = dict(BLOCK.findall(told))
    said = [f"Its {slot} is {value}." for slot, value in facts.items()]
    if slips(name) and not repaired:
        said.remove(f"Its runtime is {facts['runtime']}.")
        said.append(f"Another film lasts {facts['runtime']}.")
    if fails(name):
        before = max((i for i, one in enumerate(NOWHERE) if one in earlier), default=-1)
        said.append(f"Its setting is {NOWHERE[before + 1]}.")
    return {
        "text": " ".join([f"{name} is a film of which much has been told over the years.", *said])
    }


def slips(name: str) -> bool:
    """Whether the writer gets a document of this name right only when it is told."""
    return number(name) % 10 == 1


def fails(name: str) -> bool:
    """Whether the writer never gets it right."""
    return number(name) % 20 == 2


def read(prompt: str) -> dict[str, Any]:
    """The sentences of that form; of the calibration set, what is true and in one case too much."""
    text = prompt.split("\n\n")[1]
    for one in calibration_documents():
        if one.text in prompt:
            facts = list(one.facts.items())
            if one.kind == "planned":
                facts = facts[1:]
            if one.title == "Nobody's Lantern":
                facts.append(("adaptation", "a feature film"))
            return {"facts": [{"slot": slot, "value": value} for slot, value in facts]}
    return {
        "facts": [
            {"slot": slot, "value": value if slot != "shooting" else _iso(value)}
            for slot, value in SAID.findall(text)
        ]
    }


def _iso(value: str) -> str:
    months = "January February March April May June July August September October November December"
    day, month, year = value.split()
    return f"{year}-{months.split().index(month) + 1:02}-{int(day):02}"
