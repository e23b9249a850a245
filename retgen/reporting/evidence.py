"""What a run knows about itself, in words: said once, for the terminal, the card and the page.

Who judged and how well, what is proven, whether a ranking that never reads the query solves the
set, how many dimensions an embedder needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from retgen.agents.report import FAILED, REPAIRED, TAKEN
from retgen.generators import families, family
from retgen.validators.baselines import best_at, headline, solves

OFFLINE = "rules and word lists"


def worker_name(model: str) -> str:
    """Who did an agent's work; `model` as the manifest names it."""
    return OFFLINE if model == "offline" else model


# by what of a data set is somebody's own, as `Family.own` says: what it is, in its first words
_WHAT = {
    "nothing": "A synthetic retrieval data set",
    "sentences": "A synthetic retrieval data set put together from a source's own sentences",
    "documents": "A retrieval data set of a source's own documents, with queries found in them or "
    "written for them",
    "queries": "A retrieval data set of given documents and given queries, with judged labels",
}
_WHAT_NOT = {
    "nothing": (
        "Natural text.",
        "The texts are synthetic: no score here is one on real documents.",
    ),
    "sentences": (
        "Documents of people.",
        "The sentences around are the source's, but the texts are put together from them and the "
        "queries are synthetic: no score here is one on documents as people write them.",
    ),
    "documents": (
        "Queries of people.",
        "The documents are the source's; the queries are found in them (titles, headings, links) "
        "or generated: no score here is one on queries that people type.",
    ),
    "queries": (
        "Every pair.",
        "A pair that nobody judged has no label: read a score beside Judged@k, and trust it as far "
        "as whoever judged.",
    ),
}


def what_it_is(own: str) -> str:
    """What is synthetic in a data set, in its first words."""
    return _WHAT[own]


def what_it_is_not(own: str) -> tuple[str, str]:
    """What that keeps a score from showing: (in a word, in a sentence)."""
    return _WHAT_NOT[own]


NOT_SHOWN = "whether people would call it relevant, a review (gen review) shows"


def traces_labels(name: str) -> bool:
    """Whether a family's proof shows where labels come from, and not that they are right."""
    return name in families() and family(name).traces_labels


def corpus_counts(documents: int, source_documents: int | None) -> str:
    """How many documents a corpus has, or passages of how many documents."""
    if source_documents is None:
        return f"{documents:,} documents"
    return f"{documents:,} passages of {source_documents:,} documents"


def split_counts(files: Iterable[str]) -> str:
    """Of which qrels the counts are, if there are several splits: "test "."""
    return "test " if sum(name.startswith("dataset/qrels.") for name in files) > 1 else ""


def model_answers(manifest: Mapping[str, Any]) -> tuple[str, list[str]]:
    """("" or that an agent's texts are not good, a line for each that had unusable answers)."""
    poor, lines = list[str](), list[str]()
    for agent, counts in (manifest.get("answers") or {}).items():
        faults = {name: n for name, n in counts.items() if name not in (TAKEN, REPAIRED, FAILED)}
        unusable, taken, failed = sum(faults.values()), counts.get(TAKEN, 0), counts.get(FAILED, 0)
        if not unusable:
            continue
        of_all = f"{unusable:,} of {unusable + taken:,} answers"
        most_first = sorted(faults.items(), key=lambda one: (-one[1], one[0]))
        why = ", ".join(f"{n:,} {name}" for name, n in most_first)
        lines.append(
            f"{agent}: {of_all} unusable ({why}); of {taken + failed:,} questions "
            f"{counts.get(REPAIRED, 0):,} repaired, {failed:,} failed"
        )
        if unusable > taken:
            poor.append(
                f"The texts of {agent} are not good: {of_all} were unusable. Use a stronger model."
            )
    return " ".join(poor), lines


def verdict(manifest: Mapping[str, Any]) -> str:
    """What the checks of a run say of it, in one line."""
    warnings, off = manifest["checks"]["warnings"], len(manifest["checks"]["switched_off"])
    parts = ["passed all checks" if not off else f"passed its checks ({off} switched off)"]
    if warnings:
        parts.append(f"{warnings:,} warning{'s' * (warnings != 1)} in the report")
    return ", ".join(parts)


def proven_labels(number: int, qrels: int, proof: str, split: str = "") -> str:
    """Of labels that a proof has shown; `proof`: what it shows of each, as the family says it."""
    return f"{number:,} of {qrels:,} {split}qrels, {proof}"


def judged_labels(number: int, qrels: int, label: str) -> str:
    """Of labels that a judge gave; `label`: what the family says of them."""
    return f"{number:,} of {qrels:,} qrels: {label}"


def human_labels(number: int, qrels: int) -> str:
    """Of labels that people gave: in a review, or beside their questions."""
    return f"{number:,} of {qrels:,} qrels, given by people"


def judge_with_accuracy(name: str, judge: Mapping[str, Any] | None) -> str:
    """Who did some work, and if that was to judge, how often that was right.

    A judge may name where its grades are from ("by"), where these are no model's and no rule's.
    """
    return name if judge is None else f"{judge.get('by', name)}, {judge['measured']}"


def judge_lines(
    judged_by: Mapping[str, Mapping[str, Any]], models: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Each judge: who it is, and how often it was right on its calibration set."""
    for agent, one in judged_by.items():
        yield f"{agent} by {judge_with_accuracy(_worker(agent, models), one)}"


def agent_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Each agent: who does its work, and how often judges were right."""
    judges, models = manifest.get("judges") or {}, manifest.get("models") or {}
    for agent in {**models, **judges}:
        yield f"{agent} by {judge_with_accuracy(_worker(agent, models), judges.get(agent))}"


def _worker(agent: str, models: Mapping[str, Mapping[str, Any]]) -> str:
    return worker_name(models[agent]["model"]) if agent in models else OFFLINE


def dimensions_needed(certificate: Mapping[str, Any]) -> str:
    """What the qrels demand of an embedder with one vector per text; "" where that is trivial.

    Three queries with a document each need 2 dimensions: so many are demanded by nearly every set.
    """
    lower, upper = certificate.get("lower", 0), certificate.get("upper", 0)
    if lower <= 2:
        return ""
    enough = "needed and sufficient" if lower == upper else f"needed, {upper} sufficient,"
    return f"{lower} {enough} to rank each query's relevant documents first (proven)"


def query_blind(baselines: Mapping[str, Any], *, candidate_sets: bool) -> str:
    """The best ranking that never reads the query, by the headline measure; "" without one.

    `candidate_sets`: the measure is a win rate within these, whose chance is a half.
    """
    random, rankings = baselines.get("random") or {}, baselines.get("rankings") or {}
    measure = headline(random, rankings)
    if measure is None:
        return ""
    name, value = best_at(rankings, measure)
    if candidate_sets and value <= 0.5:
        return "query-blind rankings: at chance (ties count as losses)"
    solved = ": the set can be solved that way" * solves(measure, value, random)
    return (
        f"{name}, without reading the query: {measure} = {value:.3f} "
        f"(random {random[measure]:.3f}){solved}"
    )


def solved_blindly(baselines: Mapping[str, Any]) -> str | None:
    """The same ranking and measure where they are far above chance, None where not."""
    random, rankings = baselines.get("random") or {}, baselines.get("rankings") or {}
    measure = headline(random, rankings)
    if measure is None or not solves(measure, best_at(rankings, measure)[1], random):
        return None
    name, value = best_at(rankings, measure)
    return f"{name} reaches {measure} = {value:.3f}"


def what_to_report(shortcut: str) -> str:
    """What to do about a set that is solved without reading the query."""
    first = "Report recall at small cutoffs, and print" if "recall" in shortcut else "Print"
    return f"{first} this query-blind baseline beside every score."
