"""What the summary of a run says of its texts: what a lexical retriever finds, how coherent."""

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


def coherence(haystacks: Haystacks) -> str:
    """How much of its book coherent filler leaves out, and where it goes on in another one."""
    gaps = [
        haystacks.gaps(filler)
        for filler in range(haystacks.fillers)
        if haystacks.key(filler).filler == "coherent"
    ]
    if not gaps:
        return ""
    whole = sum(not one.left_out for one in gaps)
    left_out, kept = sum(one.left_out for one in gaps), sum(one.sentences for one in gaps)
    return (
        f"of {len(gaps):,} coherent fillers {whole:,} leave out no sentence of their books; all "
        f"together {left_out:,} of {left_out + kept:,} (those with words of a question, and in "
        f"short haystacks long ones); {sum(one.books > 1 for one in gaps):,} go on in another book "
        f"where one ends; the last sentences of {sum(one.own_tail for one in gaps):,} are of the "
        "same book"
    )
