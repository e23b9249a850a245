"""What a lexical retriever finds: haystacks that hold a content word of their question."""

from __future__ import annotations

import re
from collections import Counter

from retgen.generators.niah.firewall import content_words
from retgen.generators.niah.haystacks import Haystacks
from retgen.tokenizer import stems, tokens


def lexical(haystacks: Haystacks) -> str:
    """How many haystacks with a needle hold a word with a stem of their question's, by arm."""
    words = sorted({word for text in haystacks.all_texts() for word in tokens(text)})
    stem_of = dict(zip(words, stems(words), strict=True))
    looked_for = []
    for group in haystacks.groups:
        asked = set(stems(content_words(group.question)))
        held = [re.escape(word) for word in words if stem_of[word] in asked]
        looked_for.append(re.compile(rf"\b(?:{'|'.join(held)})\b") if held else None)
    there, found = Counter[str](), Counter[str]()
    for number in range(haystacks.count):
        filler, variant = divmod(number, len(haystacks.variants))
        needle, key = haystacks.variants[variant].needle, haystacks.key(filler)
        if needle not in ("one_hop", "literal"):
            continue
        arm = needle.replace("_", "-") + ("" if key.filtered else ", unfiltered")
        there[arm] += 1
        if pattern := looked_for[key.group]:
            (one,) = haystacks.places([number])
            found[arm] += bool(pattern.search(one.text.casefold()))
    shares = [f"{found[arm]:,} of {count:,} ({arm})" for arm, count in there.items()]
    return f"haystacks that hold a content word of their question: {'; '.join(shares)}"
