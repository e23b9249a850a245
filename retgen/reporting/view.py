"""What the report page says, from report.json to the variables of report_page.html.

Everything is plain values; nothing is escaped here, the template does that. Whatever a run that
stopped early could not say is left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from retgen.highlights import Marked, query_examples, text_differences
from retgen.reporting import evidence
from retgen.results.measurements import Measurement
from retgen.results.numbers import number, score
from retgen.results.pictures import Bars, Level, Line, Lines, Matrix, Picture, bins
from retgen.validators.baselines import solves
from retgen.validators.origin import in_words, is_separable
from retgen.yaml_text import to_yaml

_FINDING_BYTES = 150_000  # of the page, shared evenly by the rules that found something
_SHOWN = 5  # findings of a rule above the fold
_IDS = 8  # ids of a finding above the fold
_FILES = 200  # rows of the table of files
_YAML = 40_000  # characters of the recipe
_LOW = 0.1  # recall; lines below it would lie on each other on a scale from 0 to 1


def page_values(content: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of report_page.html. Whatever a failed run could not say is empty here."""
    manifest = content.get("manifest") or {}
    statistics = content.get("statistics") or {}
    elsewhere = bool(manifest.get("tests"))  # a score is of something else than the whole corpus
    certificate = ({} if elsewhere else content.get("certificate")) or {}
    baselines = content.get("floors") or {}
    shown = {} if elsewhere and not manifest.get("candidate_sets") else baselines
    recipe = content.get("recipe") or {}
    labels = manifest.get("evidence") or {}
    own = content.get("own", "nothing")
    ok = content.get("ok", False)
    traced = evidence.traces_labels(content.get("family", ""))
    # own documents are no set that was balanced against such rankings
    head_start = "" if traced else _head_start(statistics, baselines)
    groups = _groups(content.get("findings") or [])
    examples = query_examples(content.get("samples") or {})
    yaml = to_yaml(recipe) if recipe else ""
    folder = str(content.get("folder") or content.get("name") or "RUN")
    files = list((manifest.get("files") or {}).items())
    return {
        "name": content.get("name", "unnamed"),
        "what": evidence.what_it_is(own),
        "summary": content.get("summary", ""),
        "paper": content.get("paper", ""),
        "card": [_code_spans(text) for text in content.get("card") or ()],
        "created": manifest.get("created", ""),
        "versions": manifest.get("versions") or {},
        "seed": recipe.get("seed"),
        "pattern": (recipe.get("params") or {}).get("pattern"),
        "verdict": _verdict(content, statistics),
        "poor_texts": evidence.model_answers(manifest)[0],
        "tiles": _tiles(
            manifest.get("counts") or {},
            statistics,
            certificate,
            labels,
            evidence.split_counts(manifest.get("files") or ()),
            traced,
            manifest.get("source_documents"),
        ),
        # of data that did not pass its checks nothing is claimed
        "tests": _tests(statistics, {} if traced else baselines, manifest) if ok else [],
        "solved": bool(content.get("solved_blindly") or head_start),
        "not_tests": _not_tests(content, head_start, certificate, examples, manifest) if ok else [],
        "failed": [g for g in groups if g["severity"] == "error"],
        "warned": [g for g in groups if g["severity"] == "warning"],
        "examples": examples,
        "elsewhere": elsewhere,
        "facts": manifest.get("facts") or {},
        "example": example_rows(manifest.get("example")),
        "certificate": certificate_part(certificate),
        "baselines": baselines_part(shown),
        "origin": origin_part(content.get("origin") or {}),
        "figures": figures(statistics, content.get("samples") or {}, content.get("picture")),
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
        "evidence": labels,
        "recipe": yaml if len(yaml) <= _YAML else yaml[:_YAML] + "\n# ... the rest: recipe.yaml",
        "run": shlex.quote(folder),
        "run_path": folder,
        "again": f"gen report {shlex.quote(folder)}",
    }


def _agents(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Who did the agents' work, how sure the judges were, and what all of it took."""
    rows, judges = [], manifest.get("judges") or {}
    for agent, one in (manifest.get("models") or {}).items():
        work = evidence.worker_name(one["model"])
        rows.append((agent, evidence.judge_with_accuracy(work, judges.get(agent))))
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
    rows += [("answers", line) for line in evidence.model_answers(manifest)[1]]
    return rows


class _Verdict(NamedTuple):
    kind: str  # "good", "fair" or "bad", the colour
    word: str
    text: str


def _verdict(content: Mapping[str, Any], statistics: Mapping[str, Any]) -> _Verdict:
    qrels, proven = statistics.get("qrels", 0), content.get("proven_qrels", 0)
    manifest = content.get("manifest") or {}
    split = evidence.split_counts(manifest.get("files") or ())
    count = f"{number(proven)} of {number(qrels)} {split}qrels"
    proof = manifest.get("proof") or "rebuilt from the words of the documents"
    if not content.get("ok", False):
        errors = content.get("errors", 0)
        return _Verdict(
            "bad",
            "NOT OK",
            f"{_count_text(errors, 'error')}. The data did not pass its checks: do not use it.",
        )
    if qrels and proven == qrels and evidence.traces_labels(content.get("family", "")):
        text = f"{count}: {proof}, as a check by other code found; {evidence.NOT_SHOWN}"
        return _Verdict("good", "Every label traced to its text", text)
    if qrels and proven == qrels:
        return _Verdict(
            "good",
            "PROVEN",
            f"{count}, {proof}, by a check that shares no code with the generator",
        )
    if content.get("human_qrels"):
        kinds = {"proven": proven, "judged": content.get("judged_qrels", 0),
                 "settled by people": content["human_qrels"],
                 "of texts that people changed": content.get("edited_qrels", 0)}  # fmt: skip
        said = ", ".join(f"{number(n)} {kind}" for kind, n in kinds.items() if n)
        return _Verdict("fair", "REVIEWED", f"of {number(qrels)} qrels {said}")
    if judged := content.get("judged_qrels", 0):
        judges = manifest.get("judged") or "they are a judge's"
        return _Verdict(
            "fair",
            "JUDGED",
            f"{number(judged)} of {number(qrels)} qrels: {judges}",
        )
    if proven:
        return _Verdict("fair", "PARTLY PROVEN", f"{count}, {proof}; no errors")
    return _Verdict("fair", "NOT PROVEN", "no rule found an error, but no qrel is proven")


def _tiles(
    counts: Mapping[str, Any],
    statistics: Mapping[str, Any],
    certificate: Mapping[str, Any],
    labels: Mapping[str, int],
    split: str,
    traced: bool,
    source_documents: int | None,
) -> list[tuple[str, str, str]]:
    """(number, what, small print) of the row of counts. `split`: of which the qrels are.

    `traced`: what is known of structural labels is where they come from. `source_documents`: those
    that the corpus is passages of, if any.
    """
    merged = {**counts, **statistics}
    names = {"qrels": f"{split}qrels", "structural": "traced" if traced else "proven"}
    unit, cut = "document", ""
    if source_documents is not None:
        unit, cut = "passage", f"of {number(source_documents)} documents, "
        names["documents"] = "passages"
    words = statistics.get("words_per_document") or {}
    relevant = statistics.get("relevant_per_query") or {}
    play, asked = statistics.get("relevant_documents"), _queries_counted(statistics)
    # of several splits only the queries of one are looked at
    tested = f"{number(asked)} in test: " if asked < merged.get("queries", 0) else ""
    small = {
        "documents": f"{cut}{number(play)} relevant" if play is not None else "",
        "queries": f"{tested}{value_range(relevant)} relevant each" if relevant else "",
        "qrels": ", ".join(f"{number(n)} {names.get(k, k)}" for k, n in labels.items() if n),
    }
    tiles = [
        (number(merged[key]), names.get(key, key), small[key]) for key in small if key in merged
    ]
    if words:
        tiles.append((number(words["mean"], 1), f"words per {unit}", value_range(words)))
    if evidence.dimensions_needed(certificate):
        span = {"min": certificate.get("lower", 0), "max": certificate["upper"]}
        tiles.append((value_range(span), "dimensions needed", "to rank relevant first, proven"))
    if counts.get("rejected"):
        tiles.append((number(counts["rejected"]), "rejected", "see rejected.jsonl"))
    return tiles


def _queries_counted(statistics: Mapping[str, Any]) -> int:
    """How many queries have a relevant document in the qrels that are looked at."""
    histogram = (statistics.get("relevant_per_query") or {}).get("histogram") or {}
    return sum(histogram.values())


def _tests(
    statistics: Mapping[str, Any], baselines: Mapping[str, Any], manifest: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """(bold, plain) statements of what a score on this set means."""
    if manifest.get("tests"):
        what = "Order." if manifest.get("candidate_sets") else "What a score is of."
        return [(what, manifest["tests"])]
    text = []
    relevant, columns = (
        statistics.get(key) or {} for key in ("relevant_per_query", "queries_per_relevant_document")
    )
    if relevant and statistics.get("documents"):
        text.append((
            "Finding.",
            f"Whether a retriever puts the {value_range(relevant)} relevant "
            f"document{'' if value_range(relevant) == '1' else 's'} of each of "
            f"{_count_text(_queries_counted(statistics), 'query', 'queries')} before the rest of "
            f"{number(statistics['documents'])}.",
        ))  # fmt: skip
    if columns and columns["mean"] > 1:
        text.append((
            "Combining.",
            f"The queries draw on {number(statistics['relevant_documents'])} documents, each "
            f"relevant to {number(columns['mean'], 1)} queries on average: the same "
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
            "Informative cutoffs.",
            ", ".join(f"{name} (baseline {score(value)})" for name, value in telling)
            + ". The baseline is what the best query-blind ranking reaches.",
        ))  # fmt: skip
    if manifest.get("complete"):
        text.append(("Complete labels.", "A pair without a qrel is not relevant."))
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
        f"A ranking that never reads it ({name}) reaches {cutoff} = {score(recall)}, "
        f"{times:.0f} times chance. Print the query-blind baselines beside every score."
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
    if is_separable(content.get("origin") or {}):
        text.append((
            "Hard negatives as such.",
            "They can be told from the positives without the query, which scores and trainings "
            "on them may exploit.",
        ))  # fmt: skip
    if evidence.dimensions_needed(certificate):
        upper = number(certificate["upper"])
        text.append((
            "Limits of dimension.",
            f"{upper} dimensions suffice for these qrels: a low score of an embedder with as many, "
            "or more, is no limit of dimension.",
        ))  # fmt: skip
    if examples["literal"]:
        text.append((
            "Understanding.",
            "In every example below the asked words stand literally in the relevant documents: "
            "a lexical retriever can find them.",
        ))  # fmt: skip
    if manifest and not manifest.get("complete"):
        text.append(("Unjudged pairs.", "A pair without a qrel is unjudged, not irrelevant."))
    text.append(evidence.what_it_is_not(content.get("own", "nothing")))
    return text


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


# --- parts of the page ---------------------------------------------------------------------------


def example_rows(example: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A record laid out; where the second text of a row is the first one changed, how is marked."""
    if not example:
        return None
    pieces = text_differences if example.get("changed", True) else _side_by_side
    rows = [(what, *pieces(a, b)) for what, a, b in example["rows"]]
    return {"title": example["title"], "head": example["head"], "rows": rows}


def _side_by_side(a: str, b: str) -> tuple[Marked, Marked]:
    return [(a, False)], [(b, False)]


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
    curves: list[Line] = []
    for name, scores in rankings.items() if at_cutoffs else ():
        points = sorted((int(c.rpartition("@")[2]), scores[c]) for c in random if c in scores)
        if points:
            ks, recalls = zip(*points, strict=True)
            curves.append(Line(name, ks, recalls, dashed=scores is random))
    low = max((y for line in curves for y in line.y), default=0) < _LOW
    plot = Lines(
        caption="recall@k of the query-blind rankings over the cutoff k", curves=curves, log_x=True,
        log_y=low, fraction=not low, x="cutoff k", y="recall@k",
    )  # fmt: skip
    return {
        "of": (
            "recall@k of the corpus in one fixed order, the same for all queries."
            if at_cutoffs
            else "How often the better of two documents comes first, whatever the query."
        ),
        "cutoffs": list(random),
        "rows": rows,
        "plot": plot.draw() if curves else "",
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
        counts = bins(values.get("histogram") or {})
        if len(counts) == 1:
            [(value, total)] = counts.items()
            figures.append((title, "", (value, f"in each of the {number(total)} {counted}")))
        elif counts:
            caption = f"{value_range(values)}, mean {number(values['mean'], 2)}"
            figures.append((title, _histogram(counts, x_label, counted).draw(), caption))
    positions = samples.get("positions") or []
    if 0 < sum(positions) < statistics.get("documents", 0):
        share, expected = 100 / len(positions), sum(positions) / len(positions)
        parts = {f"{number(i * share, 1)}%": count for i, count in enumerate(positions)}
        level = Level(f"by chance {number(expected, 2)} each", expected)
        bars = _histogram(parts, "position in the corpus", "relevant documents", [level])
        caption = "If these crowd somewhere, a ranking by position finds them."
        figures.append(("Where relevant documents stand", bars.draw(), caption))
    if picture:
        queries, documents = (number(picture[key]) for key in ("queries", "documents"))
        columns = f"{documents} relevant documents"
        figures.append((
            "The qrel matrix",
            Matrix(rows=picture["matrix"], x=columns, y=f"{queries} queries").draw(),
            "Marks: relevant pairs (darker: more of them). Rows and columns are reordered.",
        ))  # fmt: skip
        if picture["shared"]:
            figures.append((
                "The document graph",
                Matrix(rows=picture["shared"], x=columns, y="the same").draw(),
                "Marks: documents that are relevant to a common query.",
            ))  # fmt: skip
    return figures


def _histogram(counts: Mapping[str, int], x: str, y: str, levels: Sequence[Level] = ()) -> Picture:
    heights = [Measurement("", y, {}, count) for count in counts.values()]
    return Bars(groups=[*counts], series={y: heights}, counts=True, levels=levels, x=x, y=y)


# --- words --------------------------------------------------------------------------------------


def _code_spans(text: str) -> Marked:
    """A paragraph of the card cut at its `code`."""
    return [(piece, i % 2 == 1) for i, piece in enumerate(text.split("`")) if piece]


def _count_text(count: int, one: str, many: str = "") -> str:
    return f"{number(count)} {one if count == 1 else many or one + 's'}"
