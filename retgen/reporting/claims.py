"""What the first screen of a run's page claims: verdict, counts, what a score shows or does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from retgen.reporting import evidence
from retgen.results.numbers import number, score
from retgen.results.page import Tile, Verdict
from retgen.validators.origin import is_separable

Content = Mapping[str, Any]  # of report.json, or of a part of it


def verdicts(content: Content, manifest: Content, statistics: Content) -> Iterator[Verdict]:
    counts = " · ".join((
        count_text(content.get("errors", 0), "error"),
        count_text(content.get("warnings", 0), "warning"),
        count_text(len(content.get("switched_off") or {}), "rule") + " off",
    ))  # fmt: skip
    yield Verdict(*_verdict(content, manifest, statistics), counts)
    if poor := evidence.model_answers(manifest)[0]:
        yield Verdict("bad", "WEAK MODEL", poor)


def _verdict(content: Content, manifest: Content, statistics: Content) -> tuple[str, str, str]:
    """Its kind, a word, and a sentence."""
    qrels, proven = statistics.get("qrels", 0), content.get("proven_qrels", 0)
    split = evidence.split_counts(manifest.get("files") or ())
    count = f"{number(proven)} of {number(qrels)} {split}qrels"
    proof = manifest.get("proof") or "rebuilt from the words of the documents"
    if not content.get("ok", False):
        errors = count_text(content.get("errors", 0), "error")
        return "bad", "NOT OK", f"{errors}. The data did not pass its checks: do not use it."
    if qrels and proven == qrels:
        if evidence.traces_labels(content.get("family", "")):
            text = f"{count}: {proof}, as a check by other code found; {evidence.NOT_SHOWN}"
            return "good", "Every label traced to its text", text
        text = f"{count}, {proof}, by a check that shares no code with the generator"
        return "good", "PROVEN", text
    if content.get("human_qrels"):
        kinds = {"proven": proven, "judged": content.get("judged_qrels", 0),
                 "settled by people": content["human_qrels"],
                 "of texts that people changed": content.get("edited_qrels", 0)}  # fmt: skip
        said = ", ".join(f"{number(n)} {kind}" for kind, n in kinds.items() if n)
        return "fair", "REVIEWED", f"of {number(qrels)} qrels {said}"
    if judged := content.get("judged_qrels", 0):
        judges = manifest.get("judged") or "they are a judge's"
        return "fair", "JUDGED", f"{number(judged)} of {number(qrels)} qrels: {judges}"
    if proven:
        return "fair", "PARTLY PROVEN", f"{count}, {proof}; no errors"
    return "fair", "NOT PROVEN", "no rule found an error, but no qrel is proven"


def tiles(
    manifest: Content, statistics: Content, certificate: Content, *, traced: bool
) -> list[Tile]:
    """The row of counts. `traced`: known of structural labels is where they come from."""
    counts, labels = manifest.get("counts") or {}, manifest.get("evidence") or {}
    merged = {**counts, **statistics}
    split = evidence.split_counts(manifest.get("files") or ())
    names = {"qrels": f"{split}qrels", "structural": "traced" if traced else "proven"}
    unit, cut = "document", ""
    if (whole := manifest.get("source_documents")) is not None:  # the corpus is passages of them
        unit, cut = "passage", f"of {number(whole)} documents, "
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
        Tile(number(merged[key]), names.get(key, key), small[key]) for key in small if key in merged
    ]
    if words:
        tiles.append(Tile(number(words["mean"], 1), f"words per {unit}", value_range(words)))
    if evidence.dimensions_needed(certificate):
        span = value_range({"min": certificate.get("lower", 0), "max": certificate["upper"]})
        tiles.append(Tile(span, "dimensions needed", "to rank relevant first, proven"))
    if counts.get("rejected"):
        tiles.append(Tile(number(counts["rejected"]), "rejected", "see rejected.jsonl"))
    return tiles


def _queries_counted(statistics: Content) -> int:
    """How many queries have a relevant document in the qrels that are looked at."""
    histogram = (statistics.get("relevant_per_query") or {}).get("histogram") or {}
    return sum(histogram.values())


def what_it_tests(
    statistics: Content, baselines: Content, manifest: Content
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
            f"{count_text(_queries_counted(statistics), 'query', 'queries')} before the rest of "
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


def head_start(statistics: Content, baselines: Content) -> str:
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


def what_it_does_not_test(
    content: Content, head_start: str, certificate: Content, examples: Content, manifest: Content
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


def value_range(values: Content) -> str:
    """The least and the greatest of some values, or the one that they all are."""
    low, high = number(values["min"]), number(values["max"])
    return low if low == high else f"{low}–{high}"


def count_text(count: int, one: str, many: str = "") -> str:
    return f"{number(count)} {one if count == 1 else many or one + 's'}"
