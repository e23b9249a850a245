"""What the server on loopback says to the judge: a function of the request.

A passage that holds the first word of the query is relevant (2), one that holds any other is in
part (1). The second pass misses what is only in part, unless it is about birds; a conflict is
settled as 1. Of a page with chess, the first answer forgets a grade.
"""

from __future__ import annotations

import json
import re
from typing import Any

SECOND = "- 0:"  # the grades of the second pass begin with it


def mind(body: dict[str, Any]) -> str:
    """The content of an answer, by the title of the schema that is asked for."""
    messages = body["messages"]
    prompt = next(m["content"] for m in messages if m["role"] == "user")
    if body["response_format"]["json_schema"]["name"] == "Settled":
        return json.dumps({"reason": "It is mentioned.", "relevance": 1})
    asked = re.search(r"<query>\n(.*)\n</query>", prompt)
    assert asked is not None
    first, *others = asked[1].casefold().split()
    grades = []
    for number, text in re.findall(r'<passage number="(\d+)">\n(.*)', prompt):
        folded = text.casefold()
        grade = 2 if first in folded else int(any(word in folded for word in others))
        if grade == 1 and _second(prompt) and "birds" not in folded:
            grade = 0
        grades.append({"passage": int(number), "relevance": grade})
    if "chess" in asked[1] and len(messages) == 2:
        grades.pop()
    return json.dumps({"grades": grades})


def _second(prompt: str) -> bool:
    return prompt.partition("Give each passage a grade:\n")[2].startswith(SECOND)
