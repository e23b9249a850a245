"""What the server on loopback says to the agents of CapRetrieval: a function of the request.

Keywords are the long words of the passage, with a hypernym for the first; at the first asking some
passages get an answer that cannot be used.
"""

from __future__ import annotations

import json
import re
from typing import Any

HYPERNYM = "umbrella term"


def mind(body: dict[str, Any]) -> str:
    """The content of an answer."""
    messages = body["messages"]
    prompt = next(m["content"] for m in messages if m["role"] == "user")
    repaired = len(messages) > 2
    passage = prompt.partition("Passage:\n")[2]
    if "owls" in passage and not repaired:
        return "Here are some queries, not JSON."
    words = list(dict.fromkeys(re.findall(r"[A-Za-z]{6,}", passage)))[:4]
    kind = "keyword"
    keywords = [{"kind": kind, "text": word.lower(), "rests_on": word} for word in words]
    keywords.append({"kind": "hypernym", "text": f"{HYPERNYM} {words[0]}", "rests_on": words[0]})
    if "honey" in passage.lower() and not repaired:
        keywords = [{"kind": kind, "text": "elephant", "rests_on": "elephant"}] * 5
    if "chess" in passage:
        keywords = [{"kind": kind, "text": "x", "rests_on": "nowhere"}] * 5
    sentence = passage.partition(". ")[0] + "."
    summaries = [
        {
            "kind": "summary",
            "text": f"something on {words[0]} and {words[1]}",
            "rests_on": sentence,
        },
        {"kind": "question", "text": f"What is said of {words[2]} there?", "rests_on": ""},
    ]
    return json.dumps({"keywords": keywords, "summaries": summaries})
