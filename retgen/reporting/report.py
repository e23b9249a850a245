"""`gen report`: report.json, and the page that shows it, as a `Page` of results.

Whatever a run that stopped early could not say is left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from retgen.dataset_files import enclosing_dataset_hint
from retgen.errors import DatasetError, DatasetMissing
from retgen.highlights import both_sides
from retgen.recipe import Recipe, written_out
from retgen.reporting import evidence
from retgen.reporting.claims import (
    Report,
    tiles,
    value_range,
    verdicts,
    what_it_does_not_test,
    what_it_tests,
)
from retgen.reporting.evidence import solved_blindly
from retgen.results.measurements import Measure, Measurement
from retgen.results.numbers import count_text, number
from retgen.results.page import Box, Fold, MarkedRecord, Page, Section
from retgen.results.panel import Panel, columns_by
from retgen.results.pictures import Bars, Level, Picture, bins
from retgen.results.tables import Place, TableView
from retgen.validators.baselines import solves
from retgen.validators.rules.origin import in_words
from retgen.validators.validation import Validation
from retgen.write import dump_json, write_file
from retgen.yaml_text import to_yaml


def collect_report(
    folder: Path, recipe: Recipe, manifest: Mapping[str, Any], result: Validation
) -> dict[str, Any]:
    """All that the page shows, as report.json keeps it."""
    return {
        **statements(recipe, manifest, result),
        "folder": folder.resolve().name,
        "samples": result.samples,
    }


def statements(recipe: Recipe, manifest: Mapping[str, Any], result: Validation) -> dict[str, Any]:
    """What is known of a run without its files: for its page and its card."""
    family = recipe.family
    return {
        "name": recipe.name,
        "family": recipe.family.name,
        "summary": family.about(recipe.job),
        "paper": family.paper,
        "own": family.from_user(recipe.job),
        "recipe": written_out(recipe)[0],
        "manifest": {key: one for key, one in manifest.items() if key not in _ELSEWHERE},
        "card": list(manifest.get("card", ())),
        "solved_blindly": None if recipe.family.traces_labels else solved_blindly(result.baselines),
        **result.to_json(),
    }


# of the manifest, what stands in the report by itself or says nothing on its page
_ELSEWHERE = frozenset(
    {"name", "family", "seed", "card", "floors", "origin", "certificate", "checks", "prompts"}
)


def write_report(folder: Path, content: Mapping[str, Any]) -> None:
    """Write report.json and report.html of a run."""
    write_file(folder / "report.json", dump_json(content))
    write_file(folder / "report.html", report_page(content))


def report_page(content: Mapping[str, Any]) -> str:
    """The page of a report.json."""
    return run_page(content).html()


def report(path: str | Path) -> Path:
    """Make the page of a run again, from its report.json. Returns the page's path."""
    if not str(path).strip():
        raise DatasetError("the path is empty: give the folder of a run")
    folder = Path(path)
    if not folder.exists():
        raise DatasetMissing(f"{folder} does not exist. Give the folder of a run.", str(folder))
    if folder.is_file():
        raise DatasetError(
            f"{folder} is a file. Give the folder of a run{enclosing_dataset_hint(folder)}."
        )
    try:
        content = orjson.loads((folder / "report.json").read_bytes())
        if not isinstance(content, dict):
            raise ValueError("report.json is not an object")
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{folder} holds no readable report.json; `gen validate {folder}` checks it anew"
        ) from error
    write_report(folder, content)
    return folder / "report.html"


# --- the page -------------------------------------------------------------------------------------


_SHOWN = 20  # findings of a rule
_IDS = 20  # ids of a finding
_YAML = 40_000  # characters of the recipe

Content = Mapping[str, Any]  # of report.json, or of a part of it


def run_page(content: Content) -> Page:
    """The page of a report.json."""
    report = Report(content)
    versions = report.part("versions", "manifest")
    folder = str(content.get("folder") or content.get("name") or "RUN")
    seed = f", seed {report.recipe['seed']}" if "seed" in report.recipe else ""
    created = (report.manifest.get("created") or "").replace("T", " ").replace("+00:00", " UTC")
    sections = (
        _about(report),
        _example(report.part("example", "manifest")),
        _examples(report.examples),
        None if report.elsewhere else _certificate(report.certificate),
        _baselines(report),
        _shape(report),
        _findings(report),
        _sources(report),
        _made(report),
        _use(folder),
    )
    return Page(
        content.get("name", "unnamed"),
        "retgen report" + (f" · {created}" if created else ""),
        f"{_lede(report)}{seed}.",
        [],
        [one for one in sections if one is not None],
        f"gen report {shlex.quote(folder)}",
        verdicts=[*verdicts(report)],
        tiles=[*tiles(report)],
        boxes=_boxes(report),
        footer="Everything on this page stands in report.json. Written by retgen "
        f"{versions.get('retgen', '')}.",
    )


def card_text(content: Content) -> str:
    """What the card of a data set says: of the page what follows from the recipe alone."""
    report = Report(content)
    sections = (_about(report), _baselines(report), _sources(report))
    page = Page(
        content["name"].replace("_", " "),
        "",
        f"{_lede(report)}.",
        [],
        [one for one in sections if one is not None],
        "",
        verdicts=[*verdicts(report)],
        tiles=[*tiles(report)],
        boxes=_boxes(report),
    )
    return page.markdown()


def _lede(report: Report) -> str:
    lede = evidence.what_it_is(report.content.get("own", "nothing"))
    lede += f": {summary}" if (summary := report.content.get("summary")) else ""
    pattern = report.part("params", "recipe").get("pattern")
    return f"{lede}, pattern `{pattern}`" if pattern else lede


def _boxes(report: Report) -> list[Box]:
    boxes = [*_finding_boxes(report.content.get("findings") or [])]
    if report.ok:  # of data that did not pass its checks nothing is claimed
        boxes.append(Box("What this set tests", "good", [*what_it_tests(report)]))
        boxes.append(Box("What it does not test", "fair", [*what_it_does_not_test(report)]))
    return [one for one in boxes if one.statements]


def _about(report: Report) -> Section | None:
    card, facts = report.content.get("card") or (), report.part("facts", "manifest")
    tables = [TableView([*facts], [[*facts.values()]], len(facts))] if facts else []
    return Section("What it holds", card, tables) if card or facts else None


def _example(example: Content) -> Section | None:
    """A record laid out; where the second text of a row is the first one changed, how is marked."""
    if not example:
        return None
    head, rows = example["head"], example["rows"]
    if not example.get("changed", True):
        return Section("A record", [example["title"]], [TableView(head, rows, len(head))])
    changes = [
        MarkedRecord(what, [(head[1], True, before), (head[2], False, after)])
        for what, a, b in rows
        for before, after in [both_sides(a, b)]
    ]
    return Section("A record", [example["title"]], changes=changes)


def _examples(examples: Content) -> Section:
    records = [
        MarkedRecord(one["query"], [("", False, text) for text in one["relevant"]])
        for one in examples["queries"]
    ]
    if documents := examples["documents"]:
        title = "The first documents of the corpus"
        records.append(MarkedRecord(title, [("", False, text) for text in documents]))
    none = [] if records else ["No query with a relevant document was found."]
    return Section("Examples", none, changes=records)


_DENSITIES = (
    (
        "query graph density",
        "share of the query pairs that have a relevant document in common (“graph density” in the "
        "paper's Table 2)",
    ),
    (
        "document graph density",
        "share of the pairs of relevant documents that are relevant to a common query (the paper's "
        "Appendix F)",
    ),
    (
        "average query strength",
        "mean over the queries of the summed Jaccard similarity to all others",
    ),
)


_BOUND = ("dimension", "notion", "theorem", "reference")


def _certificate(stated: Content) -> Section:
    title = "Certificate: how many dimensions"
    if not stated:
        none = "No certificate: there are no positive qrels, or the run stopped before."
        return Section(title, [none])
    lower, upper = stated.get("lower"), stated.get("upper")
    text = [
        "A single-vector embedder scores a document by the inner product of its vector with the "
        "query's. How many dimensions must it have so that every query's relevant documents come "
        "first (the qrel matrix in row order)? The theorem beside each bound proves it."
    ]
    if upper:
        exact = f"exactly {number(upper)}"
        between = f"at least {number(lower)} and at most {number(upper)}"
        text += [
            f"Needs {exact if lower == upper else between} dimensions: the qrel matrix excludes no "
            f"embedder of {number(upper)} or more dimensions.",
            "“At most” is about vectors that exist for this matrix; a trained model is another "
            "question.",
        ]
    rows, best = list[list[str]](), set[Place]()
    for end, side, falling in (("at least", "lower", True), ("at most", "upper", False)):
        bounds = stated.get(f"{side}_bounds") or []
        for bound in sorted(bounds, key=lambda one: one["dimension"], reverse=falling):
            best |= {(len(rows), 1)} if bound["dimension"] == stated.get(side) else set()
            texts = (bound.get(name, "") for name in _BOUND[1:])
            rows.append([end, number(bound["dimension"]), *texts])
    for one in stated.get("skipped") or []:
        rows.append(["skipped", "–", "", one["theorem"], one["reason"]])
    head = ["bound", "dimensions", *_BOUND[1:]]
    densities = [
        [name, number(stated.get(name.replace(" ", "_")), 6), meaning]
        for name, meaning in _DENSITIES
    ]
    tables = [TableView(head, rows, len(head), best=best)] if rows else []
    tables.append(TableView(["density", "value", "meaning"], densities, 3, title="Densities"))
    return Section(title, text, tables)


def _baselines(report: Report) -> Section | None:
    origin, baselines = report.origin, report.baselines
    if report.elsewhere and not report.manifest.get("candidate_sets"):
        baselines = {}
    title = "Query-blind baselines: rankings that never read the query"
    notes = []
    if origin:
        notes = [f"Positives and hard negatives without the query: {in_words(origin)}."]
        if words := ", ".join(origin["words"]):
            notes.append(f"Words that stand more often on one side: {words}.")
    random = baselines.get("random") or {}
    if not random:
        text = [] if report.elsewhere else ["No baselines were computed."]
        return Section(title, text, notes=notes) if text or origin else None
    rankings = {"random order": random, **(baselines.get("rankings") or {})}
    every = [
        Measurement(name, "recall", {"cutoff": cutoff}, scores.get(cutoff))
        for name, scores in rankings.items()
        for cutoff in random
    ]
    solved = [
        f"{name} solves {cutoff}."
        for name, scores in rankings.items()
        for cutoff in random
        if solves(cutoff, scores.get(cutoff), random)
    ]
    columns = columns_by(Measure("recall"), "cutoff", random)
    table = Panel("", every, columns, heads=["ranking"], baselines=frozenset({"random order"}))
    what = "How often the better of two documents comes first, whatever the query."
    if all("@" in cutoff for cutoff in random):
        what = "recall@k of the corpus in one fixed order, the same for all queries."
    text = [f"{what} Read a retriever against the best of these; what they solve tests nothing."]
    if report.manifest.get("source_documents") is not None:
        text.append("Passages are ranked here, whole documents in `gen eval`.")
    return Section(title, text, [table], notes=[*solved, *notes])


_COUNTED = (
    ("words_per_document", "Words per document", "words", "documents"),
    ("relevant_per_query", "Relevant documents per query", "relevant documents", "queries"),
    ("queries_per_relevant_document", "Queries per relevant document", "queries", "documents"),
)


def _shape(report: Report) -> Section:
    pictures, notes = list[Picture](), list[str]()
    for key, title, x, counted in _COUNTED:
        values = report.part(key, "statistics")
        counts = bins(values.get("histogram") or {})
        if len(counts) == 1:
            [(value, total)] = counts.items()
            notes.append(f"{title}: {value} in each of the {number(total)} {counted}.")
        elif counts:
            caption = f"{title}: {value_range(values)}, mean {number(values['mean'], 2)}"
            pictures.append(_histogram(counts, x, counted, caption))
    positions = report.part("samples").get("positions") or []
    if 0 < sum(positions) < report.statistics.get("documents", 0):
        share, expected = 100 / len(positions), sum(positions) / len(positions)
        parts = {f"{number(i * share, 1)}%": count for i, count in enumerate(positions)}
        level = Level(f"by chance {number(expected, 2)} each", expected)
        caption = (
            "Where relevant documents stand: where they crowd, a ranking by position finds them"
        )
        x, y = "position in the corpus", "relevant documents"
        pictures.append(_histogram(parts, x, y, caption, [level]))
    none = [] if pictures or notes else ["No statistics were collected."]
    return Section("Shape", none, pictures=pictures, notes=notes, small=True)


def _histogram(
    counts: Mapping[str, int], x: str, y: str, caption: str, levels: Sequence[Level] = ()
) -> Picture:
    heights = [Measurement("", y, {}, count) for count in counts.values()]
    return Bars(
        groups=[*counts], series={y: heights}, counts=True, levels=levels, x=x, y=y, caption=caption
    )


# --- findings ------------------------------------------------------------------------------------


def _by_rule(findings: Iterable[Content]) -> dict[tuple[str, str], list[Content]]:
    """Findings by severity and rule, errors first."""
    rules: dict[tuple[str, str], list[Content]] = {}
    for finding in findings:
        rules.setdefault((finding["severity"], finding["rule"]), []).append(finding)
    order = {"error": 0, "warning": 1, "info": 2}
    return dict(sorted(rules.items(), key=lambda rule: order.get(rule[0][0], 3)))


def _finding_boxes(findings: Sequence[Content]) -> Iterator[Box]:
    """What failed, and what was warned of: how often, and the first of each rule."""
    for title, kind, own in (("What failed", "bad", "error"), ("Warnings", "fair", "warning")):
        rules = [
            (rule, of) for (severity, rule), of in _by_rule(findings).items() if severity == own
        ]
        first = [(rule, f"{count_text(len(of), own)}: {_message(of[0])}") for rule, of in rules[:6]]
        more = [("...", f"and {len(rules) - 6} more rules, below")] if len(rules) > 6 else []
        yield Box(title, kind, [*first, *more])


def _findings(report: Report) -> Section:
    """A table a rule; the rest is in report.json."""
    rules = _by_rule(report.content.get("findings") or [])
    tables = []
    for (severity, rule), found in rules.items():
        rows = [[_message(one), _ids_text(one["ids"])] for one in found[:_SHOWN]]
        more = f", the first {_SHOWN}; all are in report.json" if len(found) > _SHOWN else ""
        title = f"{severity}: {rule} ({number(len(found))}{more})"
        tables.append(TableView(["finding", "ids"], rows, 2, title=title))
    if off := [[*pair] for pair in report.part("switched_off").items()]:
        tables.append(TableView(["rule", "reason"], off, 2, title="Switched off by the recipe"))
    text = [] if rules else ["Every rule passed; nothing was found."]
    return Section("Findings", text, tables)


def _message(finding: Content) -> str:
    message = str(finding["message"])
    return message if len(message) <= 1000 else message[:1000] + " …"


def _ids_text(ids: Sequence[str]) -> str:
    more = f" ... and {number(len(ids) - _IDS)} more in report.json" if len(ids) > _IDS else ""
    return " ".join(one[:200] for one in ids[:_IDS]) + more


# --- files, and what to do with them -------------------------------------------------------------


def _made(report: Report) -> Section:
    """The recipe, what agents took, and how long each stage did."""
    manifest, folded = report.manifest, []
    if report.recipe:
        yaml = to_yaml(report.recipe)
        cut = yaml if len(yaml) <= _YAML else yaml[:_YAML] + "\n# ... the rest: recipe.yaml"
        folded.append(Fold("The resolved recipe", code=cut))
    notes = []
    if manifest.get("calls") or manifest.get("cache_hits"):
        tokens, usd = manifest["tokens"], manifest["usd"]
        price = "at a price not known" if usd is None else f"${usd:.4f}"
        notes.append(
            f"calls: {manifest['calls']:,}, and {manifest['cache_hits']:,} answers from the "
            f"ledger; {tokens['in']:,} tokens in, {tokens['out']:,} out; {price}"
        )
    notes += evidence.model_answers(manifest)[1]
    if versions := report.part("versions", "manifest"):
        notes.append(f"made with {', '.join(map(' '.join, versions.items()))}")
    timings = report.part("timings", "manifest").items()
    rows = [[stage, number(value, 3)] for stage, value in timings]
    tables = [TableView(["stage", "seconds"], rows)] if rows else []
    return Section("Recipe and costs", [], tables, notes=notes, folded=folded)


def _sources(report: Report) -> Section:
    """Who wrote and judged, under which licences, and whose method it is."""
    licences = report.part("licences", "manifest").items()
    return Section(
        "Agents, licences and method",
        notes=[
            *evidence.agent_lines(report.manifest),
            *(f"{part}: {licence}" for part, licence in licences),
            *(f"method: {paper}" for paper in [report.content.get("paper")] if paper),
        ],
    )


def _use(folder: str) -> Section:
    run, data = shlex.quote(folder), f"{folder}/dataset"
    commands = f"""\
gen validate {run}                     # check every file and label again
gen export {run} --to beir             # or mteb
gen run {run}/recipe.yaml --out again  # make it again: the same bytes of dataset/"""
    python = f"""\
from datasets import load_dataset

corpus = load_dataset({data!r}, "corpus", split="corpus")
queries = load_dataset({data!r}, "queries", split="queries")
qrels = load_dataset({data!r}, split="test")"""
    return Section("Use it", [f"In the folder that holds `{folder}`:"], code=[commands, python])
