"""Sampled alterations for a reader.

python -m retgen.generators.multiconir.alter [N] [--strategy reassign] [--domain people]
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from retgen.generators.multiconir.alter import Alteration, alterations

DOCUMENTS = Path(__file__).parent.parent / "documents"


def sentences(domain: str) -> Iterator[str]:
    """The sentences of the bundled documents of a domain, of all for "*"."""
    for path in sorted(DOCUMENTS.glob(f"{domain}.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield from re.split(r"(?<=\.) (?=[A-Z])", json.loads(line)["text"])


def marked(sentence: str, made: Alteration) -> str:
    """The altered sentence with what differs in brackets."""
    same = 0
    while same < min(len(sentence), len(made.text)) and sentence[same] == made.text[same]:
        same += 1
    at = max(made.text.rfind(made.new, 0, same + len(made.new)), 0)
    end = at + len(made.new)
    rest = made.text[end:]
    tail = len(sentence) - len(sentence.rstrip("."))
    kept = next((n for n in range(len(rest) - tail, 0, -1) if sentence[:-1].endswith(rest[:n])), 0)
    added = f"{rest[:kept]} [{rest[kept:].strip()}]" if rest[kept:] not in ("", ".") else rest
    return f"{made.text[:at]}[{made.old} -> {made.new}]{added}"


def main() -> None:
    """Prints original and first alteration of N sampled sentences."""
    parser = argparse.ArgumentParser(prog="python -m retgen.generators.multiconir.alter")
    parser.add_argument("n", nargs="?", type=int, default=50)
    parser.add_argument("--strategy", choices=("modify", "reassign"), default="modify")
    parser.add_argument("--domain", default="*")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = list(sentences(given.domain))
    for sentence in random.Random(given.seed).sample(found, min(given.n, len(found))):
        made = alterations(sentence, sentence, given.strategy)
        print(sentence)
        print(f"  {made[0].kind}: {marked(sentence, made[0])}" if made else "  nothing found")


if __name__ == "__main__":
    main()
