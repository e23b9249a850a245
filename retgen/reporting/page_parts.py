"""Parts of a report page: highlighted examples, certificate, query-blind rankings, figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from retgen.reporting import figures as svg
from retgen.results.numbers import number
from retgen.results.page import Segments
from retgen.tokenizer import STOPWORDS, laid_out
from retgen.validators.baselines import solves
from retgen.validators.origin import in_words

_TEXT = 900  # characters of a document shown
_WORD = re.compile(r"\w+")


def example_rows(example: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A record laid out; where the second text of a row is the first one changed, how is marked."""
    if not example:
        return None
    pieces = text_differences if example.get("changed", True) else _side_by_side
    rows = [(what, *pieces(a, b)) for what, a, b in example["rows"]]
    return {"title": example["title"], "head": example["head"], "rows": rows}


def _side_by_side(a: str, b: str) -> tuple[Segments, Segments]:
    return [(a, False)], [(b, False)]


def text_differences(a: str, b: str) -> tuple[Segments, Segments]:
    """Both texts cut up by words, special where the other has something else."""
    return mark_differences(laid_out(a), laid_out(b))


def mark_differences(before: Sequence[str], after: Sequence[str]) -> tuple[Segments, Segments]:
    """The same of texts that are words already, each with the white space before it."""
    pieces: tuple[Segments, Segments] = ([], [])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        for side, words in zip(pieces, (before[i:j], after[k:m]), strict=True):
            text = "".join(words)
            space = len(text) - len(text.lstrip())
            if kind == "equal" or not text:
                side.append((text, False))
            else:
                side.extend([(text[:space], False), (text[space:], True)])
    return pieces


def query_examples(samples: Mapping[str, Any]) -> dict[str, Any]:
    """Queries with their relevant documents, and some documents, cut up for highlighting.

    `literal`: whether every relevant document shown holds words that its query asks for.
    """
    queries = samples.get("queries") or []
    documents = samples.get("documents") or []
    texts = [text for query in queries for text in query["relevant"]] + list(documents)
    # words that stand in every text ("likes") are no part of what a query asks for
    everywhere = set.intersection(*(_words(text) for text in texts)) if len(texts) > 1 else set()
    shown = []
    literal = bool(queries)
    for query in queries:
        asked: list[str] = []
        relevant = []
        for text in query["relevant"]:
            phrases = _query_phrases(query["query"], text, everywhere)
            literal = literal and bool(phrases)
            asked += phrases
            relevant.append(_highlight(text, phrases))
        shown.append({"query": _highlight(query["query"], asked), "relevant": relevant})
    return {
        "queries": shown,
        "documents": [_highlight(text, []) for text in documents],
        "literal": literal and any(query["relevant"] for query in queries),
    }


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _query_phrases(query: str, text: str, everywhere: set[str]) -> list[str]:
    """The longest phrases of a query, begun and ended by content words, that stand in a text."""
    words = list(_WORD.finditer(query))[:100]
    content = [
        word[0].casefold() not in STOPWORDS and word[0].casefold() not in everywhere
        for word in words
    ]
    result = []
    i = 0
    while i < len(words):
        for j in range(len(words) - 1, i - 1, -1):
            phrase = query[words[i].start() : words[j].end()]
            if content[i] and content[j] and _pattern([phrase]).search(text):
                result.append(phrase)
                i = j
                break
        i += 1
    return result


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(set(phrases), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def _highlight(text: str, phrases: Sequence[str]) -> Segments:
    """A text cut at its phrases, and shortened around the first of them."""
    spans = [match.span() for match in _pattern(phrases).finditer(text)] if phrases else []
    start = max(0, min(spans[0][0] - _TEXT // 3, len(text) - _TEXT)) if spans else 0
    stop = start + _TEXT
    pieces = [("… ", False)] if start else []
    for low, high in spans:
        if low >= start and high <= stop:
            pieces += [(text[start:low], False), (text[low:high], True)]
            start = high
    pieces.append((text[start:stop] + (" …" if stop < len(text) else ""), False))
    return [piece for piece in pieces if piece[0]]


def value_range(values: Mapping[str, Any]) -> str:
    low, high = number(values["min"]), number(values["max"])
    return low if low == high else f"{low}–{high}"


def certificate_part(stated: Mapping[str, Any]) -> dict[str, Any] | None:
    if not stated:
        return None
    lower, upper = stated.get("lower"), stated.get("upper")
    bounds = []
    for key, end in (("lower_bounds", "at least"), ("upper_bounds", "at most")):
        best = stated.get(key.partition("_")[0])
        for bound in sorted(
            stated.get(key) or [], key=lambda b: b["dimension"], reverse=end == "at least"
        ):
            plain = ("dimension", "notion", "theorem", "reference")
            details = {name: value for name, value in bound.items() if name not in plain}
            bounds.append({
                "end": end,
                "dimension": bound["dimension"],
                "best": bound["dimension"] == best,
                "notion": bound.get("notion", ""),
                "theorem": bound.get("theorem", ""),
                "reference": bound.get("reference", ""),
                "details": "; ".join(f"{k.replace('_', ' ')}: {_plain(v)}"
                                     for k, v in details.items()),
            })  # fmt: skip
    exact = f"exactly {number(upper)}"
    return {
        "upper": upper,
        "needs": "Needs " + (exact if lower == upper else f"at least {number(lower)} and at "
                             f"most {number(upper)}") + " dimensions",
        "bracket": svg.bracket(lower, upper) if upper and lower is not None else "",
        "bounds": bounds,
        "skipped": stated.get("skipped") or [],
        "densities": [
            ("query graph density", stated.get("query_graph_density"),
             "share of the query pairs that have a relevant document in common "
             "(“graph density” in the paper's Table 2)"),
            ("document graph density", stated.get("document_graph_density"),
             "share of the pairs of relevant documents that are relevant to a common query "
             "(the paper's Appendix F)"),
            ("average query strength", stated.get("average_query_strength"),
             "mean over the queries of the summed Jaccard similarity to all others"),
        ],
    }  # fmt: skip


def _plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int | float):
        return number(value, 6)
    if isinstance(value, list):
        text = ", ".join(map(_plain, value[:12]))
        return text + (f" and {len(value) - 12} more" if len(value) > 12 else "")
    return str(value)


def baselines_part(baselines: Mapping[str, Any]) -> dict[str, Any] | None:
    random = baselines.get("random") or {}
    if not random:
        return None
    rankings = {"random order": random, **(baselines.get("rankings") or {})}
    best = (baselines.get("best") or {}).get("ranking")
    rows = [
        {
            "name": name,
            "best": name == best,
            "scores": [(scores.get(c), solves(c, scores.get(c), random)) for c in random],
        }
        for name, scores in rankings.items()
    ]
    at_cutoffs = all("@" in c for c in random)
    series = [
        svg.Series(name, [(int(c.rpartition("@")[2]), scores[c]) for c in random if c in scores])
        for name, scores in rankings.items()
        if at_cutoffs and not scores.keys().isdisjoint(random)
    ]
    return {
        "of": (
            "recall@k of the corpus in one fixed order, the same for all queries."
            if at_cutoffs
            else "How often the better of two documents comes first, whatever the query."
        ),
        "cutoffs": list(random),
        "rows": rows,
        "plot": svg.line_plot(series, "cutoff k", "recall@k") if series else "",
    }


def origin_part(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the page says of hard negatives, None where there are none."""
    if not result:
        return None
    text = in_words(result)
    return {"text": text[0].upper() + text[1:], "words": result["words"]}


def figures(
    statistics: Mapping[str, Any], samples: Mapping[str, Any], picture: Mapping[str, Any] | None
) -> list[tuple[str, str, str | tuple[str, str]]]:
    """(title, SVG, caption); where one number says it all, (title, "", (number, caption))."""
    figures: list[tuple[str, str, str | tuple[str, str]]] = []
    for key, title, x_label, counted in (
        ("words_per_document", "Words per document", "words", "documents"),
        ("relevant_per_query", "Relevant documents per query", "relevant documents", "queries"),
        ("queries_per_relevant_document", "Queries per relevant document", "queries", "documents"),
    ):
        values = statistics.get(key) or {}
        bars = svg.bins(values.get("histogram") or {})
        if not bars:
            continue
        caption = f"{value_range(values)}, mean {number(values['mean'], 2)}"
        if len(bars) == 1:
            total = number(bars[0].height)
            figures.append((title, "", (number(bars[0].low), f"in each of the {total} {counted}")))
        else:
            figures.append((title, svg.histogram(bars, x_label, counted), caption))
    positions = samples.get("positions") or []
    if 0 < sum(positions) < statistics.get("documents", 0):
        figures.append((
            "Where relevant documents stand",
            svg.strip(positions, "position in the corpus", "relevant documents"),
            "If these crowd somewhere, a ranking by position finds them.",
        ))  # fmt: skip
    if picture:
        queries, documents = (number(picture[key]) for key in ("queries", "documents"))
        figures.append((
            "The qrel matrix",
            svg.cells(picture["matrix"], f"{documents} relevant documents", f"{queries} queries"),
            "Marks: relevant pairs (darker: more of them). Rows and columns are reordered.",
        ))  # fmt: skip
        if picture["shared"]:
            figures.append((
                "The document graph",
                svg.cells(picture["shared"], f"{documents} relevant documents", "the same"),
                "Marks: documents that are relevant to a common query.",
            ))  # fmt: skip
    return figures
