"""What the first screen of a run's page claims: verdict, counts, what a score shows or does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from retgen.highlights import query_examples
from retgen.reporting import evidence
from retgen.results.numbers import count_text, number
from retgen.results.page import Tile, Verdict
from retgen.validators.rules.origin import is_separable


class Report:
    """The content of a report.json; what a run that stopped early could not say is empty."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.manifest, self.statistics, self.recipe, self.baselines, self.origin = (
            self.part(key) for key in ("manifest", "statistics", "recipe", "floors", "origin")
        )
        self.ok = bool(content.get("ok", False))
        # a score is of something else than the whole corpus
        self.elsewhere = bool(self.manifest.get("tests"))
        self.certificate = {} if self.elsewhere else self.part("certificate")
        # known of structural labels is where they come from
        self.traced = evidence.traces_labels(content.get("family", ""))

    def part(self, key: str, of: str = "") -> Any:
        """A mapping of the report, or of its part `of`; empty where it is not there."""
        return ((self.content.get(of) or {}) if of else self.content).get(key) or {}

    def count(self, key: str) -> int:
        """A number of the report, 0 where it is not there."""
        return int(self.content.get(key) or 0)

    @cached_property
    def examples(self) -> Mapping[str, Any]:
        """Queries with their relevant documents, cut up."""
        return query_examples(self.part("samples"))

    @cached_property
    def split(self) -> str:
        """Of which the qrels are, for a sentence."""
        return evidence.split_counts(self.manifest.get("files") or ())

    @property
    def queries_counted(self) -> int:
        """How many queries have a relevant document in the qrels that are looked at."""
        relevant = self.part("relevant_per_query", "statistics")
        return sum((relevant.get("histogram") or {}).values())


def verdicts(report: Report) -> Iterator[Verdict]:
    """Whether the labels are proven, and whether a model's texts are good."""
    counts = [count_text(report.count(f"{one}s"), one) for one in ("error", "warning")]
    counts.append(count_text(len(report.part("switched_off")), "rule") + " off")
    yield Verdict(*_verdict(report), " · ".join(counts))
    if poor := evidence.model_answers(report.manifest)[0]:
        yield Verdict("bad", "WEAK MODEL", poor)


def _verdict(report: Report) -> tuple[str, str, str]:
    """Its kind, a word, and a sentence."""
    qrels, proven = report.statistics.get("qrels", 0), report.count("proven_qrels")
    count = f"{number(proven)} of {number(qrels)} {report.split}qrels"
    proof = report.manifest.get("proof") or "rebuilt from the words of the documents"
    if not report.ok:
        errors = count_text(report.count("errors"), "error")
        return "bad", "NOT OK", f"{errors}. The data did not pass its checks: do not use it."
    if not qrels:
        return "fair", "NOT JUDGED", "nobody has judged a pair yet (gen review)"
    if proven == qrels:
        if report.traced:
            text = f"{count}: {proof}, as a check by other code found; {evidence.NOT_SHOWN}"
            return "good", "Every label traced to its text", text
        text = f"{count}, {proof}, by a check that shares no code with the generator"
        return "good", "PROVEN", text
    judged, human = report.count("judged_qrels"), report.count("human_qrels")
    if human:
        kinds = {"proven": proven, "judged": judged, "given by people": human}
        said = ", ".join(f"{number(n)} {kind}" for kind, n in kinds.items() if n)
        if human == qrels:
            return "fair", "LABELLED BY PEOPLE", f"all {number(qrels)} qrels"
        return "fair", "REVIEWED", f"of {number(qrels)} qrels {said}"
    if judged:
        judges = report.manifest.get("judged") or "they are a judge's"
        structure = report.manifest.get("structure")
        more = f". Proven without a model: {structure}" if structure else ""
        return "fair", "JUDGED", f"{number(judged)} of {number(qrels)} qrels: {judges}{more}"
    if proven:
        return "fair", "PARTLY PROVEN", f"{count}, {proof}; no errors"
    return "fair", "NOT PROVEN", "no rule found an error, but no qrel is proven"


def tiles(report: Report) -> Iterator[Tile]:
    """The row of counts."""
    counts, labels = report.part("counts", "manifest"), report.part("evidence", "manifest")
    merged = {**counts, **report.statistics}
    names = {"qrels": f"{report.split}qrels", "structural": "traced" if report.traced else "proven"}
    unit, cut = "document", ""
    if (whole := report.manifest.get("source_documents")) is not None:  # it is passages of them
        unit, cut = "passage", f"of {number(whole)} documents, "
        names["documents"] = "passages"
    words = report.part("words_per_document", "statistics")
    relevant = report.part("relevant_per_query", "statistics")
    play, asked = report.statistics.get("relevant_documents"), report.queries_counted
    # of several splits only the queries of one are looked at
    tested = f"{number(asked)} in test: " if 0 < asked < merged.get("queries", 0) else ""
    small = {
        "documents": f"{cut}{number(play)} relevant" if play else cut.removesuffix(", "),
        "queries": f"{tested}{value_range(relevant)} relevant each" if play and relevant else "",
        "qrels": ", ".join(f"{number(n)} {names.get(k, k)}" for k, n in labels.items() if n),
    }
    for key, said in small.items():
        if key in merged:
            yield Tile(number(merged[key]), names.get(key, key), said)
    if words:
        yield Tile(number(words["mean"], 1), f"words per {unit}", value_range(words))
    if evidence.dimensions_needed(report.certificate):
        low, high = report.certificate.get("lower", 0), report.certificate["upper"]
        needed = value_range({"min": low, "max": high})
        yield Tile(needed, "dimensions needed", "to rank relevant first, proven")
    if counts.get("rejected"):
        yield Tile(number(counts["rejected"]), "rejected", "see rejected.jsonl")


Statement = tuple[str, str]  # its beginning, which is bold, and the rest


def what_it_tests(report: Report) -> Iterator[Statement]:
    """What a score on this set means."""
    manifest, statistics = report.manifest, report.statistics
    if report.elsewhere:
        what = "Order." if manifest.get("candidate_sets") else "What a score is of."
        yield what, manifest["tests"]
        return
    relevant = report.part("relevant_per_query", "statistics")
    columns = report.part("queries_per_relevant_document", "statistics")
    if relevant and statistics.get("documents") and statistics.get("qrels"):
        count = value_range(relevant)
        queries = count_text(report.queries_counted, "query", "queries")
        text = (
            f"Whether a retriever puts the {count} relevant document{'' if count == '1' else 's'} "
            f"of each of {queries} before the rest of {number(statistics['documents'])}."
        )
        yield "Finding.", text
    if columns and columns["mean"] > 1:
        text = (
            f"The queries draw on {number(statistics['relevant_documents'])} documents, each "
            f"relevant to {number(columns['mean'], 1)} queries on average: the same documents must "
            "come first for different queries."
        )
        yield "Combining.", text
    if manifest.get("complete"):
        yield "Complete labels.", "A pair without a qrel is not relevant."


def what_it_does_not_test(report: Report) -> Iterator[Statement]:
    """What no score on this set can show."""
    if shortcut := report.content.get("solved_blindly"):
        report_it = evidence.what_to_report(shortcut)
        yield "Reading the query.", f"This set can be solved without it: {shortcut}. {report_it}"
    if is_separable(report.origin):
        text = (
            "They can be told from the positives without the query, which scores and trainings on "
            "them may exploit."
        )
        yield "Hard negatives as such.", text
    if evidence.dimensions_needed(report.certificate):
        text = (
            f"{number(report.certificate['upper'])} dimensions suffice for these qrels: a low "
            "score of an embedder with as many, or more, is no limit of dimension."
        )
        yield "Limits of dimension.", text
    if caution := report.part("notes", "manifest").get("caution"):
        yield "Meaning beyond words.", f"{caution[0].upper()}{caution[1:]}."
    elif report.examples["literal"]:
        text = (
            "In every example below words of the query stand literally in the relevant documents: "
            "a lexical retriever may find them."
        )
        yield "Understanding.", text
    if report.manifest and not report.manifest.get("complete"):
        yield "Unjudged pairs.", "A pair without a qrel is unjudged, not irrelevant."
    yield evidence.what_it_is_not(report.content.get("own", "nothing"))


def value_range(values: Mapping[str, float]) -> str:
    """The least and the greatest of some values, or the one that they all are."""
    low, high = number(values["min"]), number(values["max"])
    return low if low == high else f"{low}–{high}"
