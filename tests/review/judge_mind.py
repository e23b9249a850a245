"""What the server on loopback says to the judge of a review: a function of the request.

A passage that holds the first word of the query is relevant (2), one that holds any other is in
part (1). Of a page with chess, the first answer forgets a grade.
"""

from __future__ import annotations

import json
import re
from typing import Any


def mind(body: dict[str, Any]) -> str:
    """The content of an answer."""
    messages = body["messages"]
    prompt = next(m["content"] for m in messages if m["role"] == "user")
    asked = re.search(r"<query>\n(.*)\n</query>", prompt)
    assert asked is not None
    first, *others = asked[1].casefold().split()
    grades = []
    for number, text in re.findall(r'<passage number="(\d+)">\n(.*)', prompt):
        folded = text.casefold()
        grade = 2 if first in folded else int(any(word in folded for word in others))
        grades.append({"passage": int(number), "relevance": grade})
    if "chess" in asked[1] and len(messages) == 2:
        grades.pop()
    return json.dumps({"grades": grades})
