"""What the report page says, from report.json to the variables of report_page.html.

Everything is plain values; nothing is escaped here, the template does that. Whatever a run that
stopped early could not say is left out. plots.py draws the figures.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any, NamedTuple

from retgen import plots
from retgen.recipe import to_yaml
from retgen.reporting import evidence
from retgen.tokenizer import STOPWORDS
from retgen.validators.origin import in_words, marked

_FINDING_BYTES = 150_000  # of the page, shared evenly by the rules that found something
_SHOWN = 5  # findings of a rule above the fold
_IDS = 8  # ids of a finding above the fold
_TEXT = 900  # characters of a document shown
_FILES = 200  # rows of the table of files
_YAML = 40_000  # characters of the recipe


def view(content: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of report_page.html. Whatever a failed run could not say is empty here."""
    manifest = content.get("manifest") or {}
    statistics = content.get("statistics") or {}
    certificate = content.get("certificate") or {}
    baselines = content.get("floors") or {}
    recipe = content.get("recipe") or {}
    evidence = manifest.get("evidence") or {}
    ok = content.get("ok", False)
    head_start = _head_start(statistics, baselines)
    groups = _groups(content.get("findings") or [])
    examples = _examples(content.get("samples") or {})
    yaml = to_yaml(recipe) if recipe else ""
    folder = str(content.get("folder") or content.get("name") or "RUN")
    files = list((manifest.get("files") or {}).items())
    return {
        "name": content.get("name", "unnamed"),
        "summary": content.get("summary", ""),
        "paper": content.get("paper", ""),
        "card": [_code_spans(text) for text in content.get("card") or ()],
        "created": manifest.get("created", ""),
        "versions": manifest.get("versions") or {},
        "seed": recipe.get("seed"),
        "pattern": (recipe.get("params") or {}).get("pattern"),
        "verdict": _verdict(content, statistics),
        "tiles": _tiles(manifest.get("counts") or {}, statistics, certificate, evidence),
        # of data that did not pass its checks nothing is claimed
        "tests": _tests(statistics, baselines, manifest) if ok else [],
        "solved": bool(content.get("solved_blindly") or head_start),
        "not_tests": _not_tests(content, head_start, certificate, examples, manifest) if ok else [],
        "failed": [g for g in groups if g["severity"] == "error"],
        "examples": examples,
        "candidates": bool(manifest.get("candidate_sets")),
        "facts": manifest.get("facts") or {},
        "example": _example(manifest.get("example")),
        "certificate": _certificate(certificate),
        "baselines": _baselines(baselines),
        "origin": _origin(content.get("origin") or {}),
        "figures": _figures(statistics, content.get("samples") or {}, content.get("picture")),
        "groups": groups,
        "errors": content.get("errors", 0),
        "warnings": content.get("warnings", 0),
        "switched_off": content.get("switched_off") or {},
        "severities": content.get("severities") or {},
        "files": files[:_FILES],
        "more_files": max(0, len(files) - _FILES),
        "timings": manifest.get("timings") or {},
        "seconds": content.get("seconds") or {},
        "agents": _agents(manifest),
        "word_lists": manifest.get("word_lists") or {},
        "licences": manifest.get("licences") or {},
        "evidence": evidence,
        "recipe": yaml if len(yaml) <= _YAML else yaml[:_YAML] + "\n# ... the rest: recipe.yaml",
        "run": shlex.quote(folder),
        "run_path": folder,
        "again": f"gen report {shlex.quote(folder)}",
    }


def _agents(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Who did the agents' work, how sure the judges were, and what all of it took."""
    rows, judges = [], manifest.get("judges") or {}
    for agent, one in (manifest.get("models") or {}).items():
        work = evidence.who(one["model"])
        rows.append((agent, evidence.measured(work, judges.get(agent))))
    if manifest.get("calls") or manifest.get("cache_hits"):
        tokens, usd = manifest["tokens"], manifest["usd"]
        price = "at a price not known" if usd is None else f"${usd:.4f}"
        rows.append(
            (
                "calls",
                f"{manifest['calls']:,}, and {manifest['cache_hits']:,} answers from the ledger; "
                f"{tokens['in']:,} tokens in, {tokens['out']:,} out; {price}",
            )
        )
    return rows


_Pieces = list[tuple[str, bool]]  # a text cut up: (piece, whether it is highlighted)


class _Verdict(NamedTuple):
    kind: str  # "good", "fair" or "bad", the colour
    word: str
    text: str


def _verdict(content: Mapping[str, Any], statistics: Mapping[str, Any]) -> _Verdict:
    qrels, proven = statistics.get("qrels", 0), content.get("proven_qrels", 0)
    count = f"{plots.number(proven)} of {plots.number(qrels)} qrels"
    if not content.get("ok", False):
        errors = content.get("errors", 0)
        return _Verdict(
            "bad",
            "NOT OK",
            f"{_counted(errors, 'error')}. The data did not pass its checks: do not use it.",
        )
    if qrels and proven == qrels:
        return _Verdict(
            "good",
            "PROVEN",
            f"{count} rebuilt from the words, independently of the generator",
        )
    if judged := content.get("judged_qrels", 0):
        judges = (content.get("manifest") or {}).get("judged") or "they rest on a judge"
        return _Verdict(
            "fair",
            "JUDGED",
            f"{plots.number(judged)} of {plots.number(qrels)} qrels: {judges}",
        )
    if proven:
        return _Verdict("fair", "PARTLY PROVEN", f"{count} rebuilt from the words; no errors")
    return _Verdict("fair", "NOT PROVEN", "no rule found an error, but no qrel is proven")


def _tiles(
    counts: Mapping[str, Any],
    statistics: Mapping[str, Any],
    certificate: Mapping[str, Any],
    evidence: Mapping[str, int],
) -> list[tuple[str, str, str]]:
    """(number, what, small print) of the row of counts."""
    merged = {**counts, **statistics}
    words = statistics.get("words_per_document") or {}
    relevant = statistics.get("relevant_per_query") or {}
    play = statistics.get("relevant_documents")
    small = {
        "documents": f"{plots.number(play)} relevant" if play is not None else "",
        "queries": f"{_span(relevant)} relevant each" if relevant else "",
        "qrels": ", ".join(f"{plots.number(n)} {kind}" for kind, n in evidence.items() if n),
    }
    tiles = [(plots.number(merged[key]), key, small[key]) for key in small if key in merged]
    if words:
        tiles.append((plots.number(words["mean"], 1), "words per document", _span(words)))
    if certificate.get("upper"):
        span = {"min": certificate.get("lower", 0), "max": certificate["upper"]}
        tiles.append((_span(span), "dimensions needed", "to rank relevant first, proven"))
    if counts.get("rejected"):
        tiles.append((plots.number(counts["rejected"]), "rejected", "see rejected.jsonl"))
    return tiles


def _span(values: Mapping[str, Any]) -> str:
    low, high = plots.number(values["min"]), plots.number(values["max"])
    return low if low == high else f"{low}–{high}"


def _tests(
    statistics: Mapping[str, Any], baselines: Mapping[str, Any], manifest: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """(bold, plain) statements of what a score on this set means."""
    if manifest.get("candidate_sets"):
        return [("Order.", manifest["tests"])]
    text = []
    relevant, columns = (
        statistics.get(key) or {} for key in ("relevant_per_query", "queries_per_relevant_document")
    )
    if relevant and statistics.get("documents"):
        text.append((
            "Finding.",
            f"Whether a retriever puts the {_span(relevant)} relevant "
            f"document{'' if _span(relevant) == '1' else 's'} of each of "
            f"{_counted(statistics['queries'], 'query', 'queries')} before the rest of "
            f"{plots.number(statistics['documents'])}.",
        ))  # fmt: skip
    if columns and columns["mean"] > 1:
        text.append((
            "Combining.",
            f"The queries draw on {plots.number(statistics['relevant_documents'])} documents, each "
            f"relevant to {plots.number(columns['mean'], 1)} queries on average: the same "
            "documents must come first for different queries.",
        ))  # fmt: skip
    rankings = (baselines.get("rankings") or {}).values()
    best = {
        c: max((r[c] for r in rankings if c in r), default=0.0)
        for c in baselines.get("random") or {}
    }
    telling = [(cutoff, recall) for cutoff, recall in best.items() if recall < 0.5]
    if telling:
        text.append((
            "Cutoffs that tell something.",
            ", ".join(f"{name} (baseline {plots.score(value)})" for name, value in telling)
            + ". The baseline is what the best query-blind ranking reaches.",
        ))  # fmt: skip
    if manifest.get("complete"):
        text.append(("Complete labels.", "A pair without a qrel is known to be not relevant."))
    return text


def _head_start(statistics: Mapping[str, Any], baselines: Mapping[str, Any]) -> str:
    """How far a query-blind ranking is above chance, "" where luck could explain it."""
    play = statistics.get("relevant_documents", 0)
    best: tuple[float, float, str, str] = (0.0, 0.0, "", "")
    for name, scores in (baselines.get("rankings") or {}).items():
        for cutoff, chance in (baselines.get("random") or {}).items():
            recall = scores.get(cutoff, 0.0)
            # ten relevant documents where at most two are expected: one in 20,000 by luck
            if chance and recall * play >= 10 and recall >= 5 * chance:
                best = max(best, (recall, recall / chance, name, cutoff))
    recall, times, name, cutoff = best
    if not times:
        return ""
    return (
        f"{name} never reads it and reaches {cutoff} = {plots.score(recall)}, {times:.0f} times "
        "what chance does: relevant documents differ from the others. Print the "
        "query-blind baselines beside every score."
    )


def _not_tests(
    content: Mapping[str, Any],
    head_start: str,
    certificate: Mapping[str, Any],
    examples: Mapping[str, Any],
    manifest: Mapping[str, Any],
) -> list[tuple[str, str]]:
    """(bold, plain) statements of what no score on this set can show."""
    text = []
    shortcut = content.get("solved_blindly")
    if shortcut:
        text.append((
            "Reading the query.",
            f"This set can be solved without it: {shortcut}. {evidence.what_to_report(shortcut)}",
        ))  # fmt: skip
    elif head_start:
        text.append(("Reading the query, in part.", head_start))
    if marked(content.get("origin") or {}):
        text.append((
            "Hard negatives as such.",
            "They differ from the positives whatever is asked, so a score against them, or a "
            "training on them, may rest on that.",
        ))  # fmt: skip
    if certificate.get("upper"):
        upper = plots.number(certificate["upper"])
        text.append((
            "Limits of dimension.",
            f"The qrel matrix excludes no embedder of {upper} or more dimensions, so no low score "
            "shows that vectors of such a size are too small.",
        ))  # fmt: skip
    if examples["literal"]:
        text.append((
            "Understanding.",
            "In every example below the asked words stand literally in the relevant documents: "
            "a lexical retriever can find them.",
        ))  # fmt: skip
    if manifest and not manifest.get("complete"):
        text.append(("Unjudged pairs.", "A pair without a qrel is unjudged, not irrelevant."))
    text.append(
        ("Natural text.", "The texts are synthetic: no score here is one on real documents.")
    )
    return text


def _example(example: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A record laid out, with what differs between both texts of a row marked."""
    if not example:
        return None
    rows = [(what, *_differences(a, b)) for what, a, b in example["rows"]]
    return {"title": example["title"], "head": example["head"], "rows": rows}


def _differences(a: str, b: str) -> tuple[_Pieces, _Pieces]:
    """Both texts cut up by words, special where the other has something else."""
    before, after = re.findall(r"\s*\S+", a), re.findall(r"\s*\S+", b)
    pieces: tuple[_Pieces, _Pieces] = ([], [])
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


# --- examples -----------------------------------------------------------------------------------

_WORD = re.compile(r"\w+")


def _examples(samples: Mapping[str, Any]) -> dict[str, Any]:
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
            phrases = _asked(query["query"], text, everywhere)
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


def _asked(query: str, text: str, everywhere: set[str]) -> list[str]:
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


def _highlight(text: str, phrases: Sequence[str]) -> _Pieces:
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


# --- certificate, baselines, figures ------------------------------------------------------------


def _certificate(stated: Mapping[str, Any]) -> dict[str, Any] | None:
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
    exact = f"exactly {plots.number(upper)}"
    return {
        "upper": upper,
        "needs": "Needs " + (exact if lower == upper else f"at least {plots.number(lower)} and at "
                             f"most {plots.number(upper)}") + " dimensions",
        "bracket": plots.bracket(lower, upper) if upper and lower is not None else "",
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
        return plots.number(value, 6)
    if isinstance(value, list):
        text = ", ".join(map(_plain, value[:12]))
        return text + (f" and {len(value) - 12} more" if len(value) > 12 else "")
    return str(value)


def _baselines(baselines: Mapping[str, Any]) -> dict[str, Any] | None:
    random = baselines.get("random") or {}
    if not random:
        return None
    rankings = {"random order": random, **(baselines.get("rankings") or {})}
    best = (baselines.get("best") or {}).get("ranking")
    rows = [
        {
            "name": name,
            "best": name == best,
            "scores": [
                (scores.get(c), evidence.solves(c, scores.get(c), baselines)) for c in random
            ],
        }
        for name, scores in rankings.items()
    ]
    at_cutoffs = all("@" in c for c in random)
    series = [
        plots.Series(name, [(int(c.rpartition("@")[2]), scores[c]) for c in random if c in scores])
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
        "plot": plots.line_plot(series, "cutoff k", "recall@k") if series else "",
    }


def _origin(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the page says of hard negatives, None where there are none."""
    if not result:
        return None
    text = in_words(result)
    return {"text": text[0].upper() + text[1:], "words": result["words"]}


def _figures(
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
        bars = plots.bins(values.get("histogram") or {})
        if not bars:
            continue
        caption = f"{_span(values)}, mean {plots.number(values['mean'], 2)}"
        if len(bars) == 1:
            total = plots.number(bars[0].height)
            figures.append(
                (title, "", (plots.number(bars[0].low), f"in each of the {total} {counted}"))
            )
        else:
            figures.append((title, plots.histogram(bars, x_label, counted), caption))
    positions = samples.get("positions") or []
    if 0 < sum(positions) < statistics.get("documents", 0):
        figures.append((
            "Where relevant documents stand",
            plots.strip(positions, "position in the corpus", "relevant documents"),
            "If these crowd somewhere, a ranking by position finds them.",
        ))  # fmt: skip
    if picture:
        queries, documents = (plots.number(picture[key]) for key in ("queries", "documents"))
        figures.append((
            "The qrel matrix",
            plots.cells(picture["matrix"], f"{documents} relevant documents", f"{queries} queries"),
            "Marks: relevant pairs (darker: more of them). Rows and columns are reordered.",
        ))  # fmt: skip
        if picture["shared"]:
            figures.append((
                "The document graph",
                plots.cells(picture["shared"], f"{documents} relevant documents", "the same"),
                "Marks: documents that are relevant to a common query.",
            ))  # fmt: skip
    return figures


# --- findings -----------------------------------------------------------------------------------


def _groups(findings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Findings by rule, errors first, within the bytes that the page gives them.

    A group's `shown` stand open, `folded` behind a fold, `left` only in report.json.
    """
    rules: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for finding in findings:
        rules.setdefault((finding["severity"], finding["rule"]), []).append(finding)
    order = {"error": 0, "warning": 1, "info": 2}
    groups = []
    for (severity, rule), members in sorted(rules.items(), key=lambda g: order.get(g[0][0], 3)):
        room = _FINDING_BYTES // len(rules)
        kept: list[dict[str, Any]] = []
        for finding in members:
            # half of what is left, so that one finding with all ids leaves room for the others
            entry = _entry(finding, room // 2)
            room -= entry.pop("bytes")
            if room < 0 and len(kept) >= _SHOWN:
                break
            kept.append(entry)
        groups.append({
            "rule": rule,
            "severity": severity,
            "count": len(members),
            "shown": kept[:_SHOWN],
            "folded": kept[_SHOWN:],
            "left": len(members) - len(kept),
        })  # fmt: skip
    return groups


def _entry(finding: Mapping[str, Any], room: int) -> dict[str, Any]:
    """A finding with as many ids as fit into `room` bytes; `bytes` is what it takes, about."""
    message = str(finding["message"])
    message = message if len(message) <= 1000 else message[:1000] + " …"
    used = len(escape(message).encode()) + 120  # with its tags
    ids: list[str] = []
    for record in finding["ids"]:
        cost = len(escape(record).encode()) + 15
        if used + cost > room and len(ids) >= 2:
            break
        ids.append(record[:200])
        used += cost
    return {
        "message": message,
        "ids": ids[:_IDS],
        "folded": ids[_IDS:],
        "left": len(finding["ids"]) - len(ids),
        "bytes": used,
    }


# --- words --------------------------------------------------------------------------------------


def _code_spans(text: str) -> _Pieces:
    """A paragraph of the card cut at its `code`."""
    return [(piece, i % 2 == 1) for i, piece in enumerate(text.split("`")) if piece]


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{plots.number(number)} {one if number == 1 else many or one + 's'}"
