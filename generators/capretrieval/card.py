"""What the card of a data set says of it, and what `gen run` prints.

Of some things both say the same: the card has it in sentences, the terminal in a line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import filterfalse
from typing import Any

from retgen.data import lookup_caution
from retgen.generators.capretrieval.agents import WRITE_QUERIES
from retgen.generators.capretrieval.language import has_baseline, language_name
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import FOUND, LICENCE, TWO
from retgen.generators.capretrieval.tables import SPLITS, QueryTables
from retgen.generators.capretrieval.two_documents import TWO_DOCUMENT_AGENTS, judge_of_questions
from retgen.generators.params import Job
from retgen.generators.records import MODEL_TERMS, Example
from retgen.generators.source import LargestDocument
from retgen.sources import whole_id
from retgen.tokenizer import length
from retgen.validators.capretrieval.wording import ALIKE
from retgen.validators.languages import script_of, three_letters

_WRITERS = tuple(one.name for one in (WRITE_QUERIES, *TWO_DOCUMENT_AGENTS) if one.role == "write")
CORPUS_CARD = (
    "The corpus is made of the source's documents as they are; what is not used stands in "
    "`rejected.jsonl`."
)
_LOOKED_AT = 100  # passages of a language, for their script
# ISO 15924, where it is not the first four letters of the name
_SCRIPTS = {
    "Latin": "Latn",
    "Han": "Hans",
    "Japanese": "Jpan",
    "Hangul": "Kore",
    "Cyrillic": "Cyrl",
    "Greek": "Grek",
    "Armenian": "Armn",
    "Gujarati": "Gujr",
    "Gurmukhi": "Guru",
    "Kannada": "Knda",
    "Khmer": "Khmr",
    "Lao": "Laoo",
    "Malayalam": "Mlym",
    "Myanmar": "Mymr",
    "Oriya": "Orya",
    "Tamil": "Taml",
}


def paragraphs(
    tables: QueryTables, mined: Mapping[str, Any], judged: Mapping[str, Any]
) -> list[str]:
    """The card's paragraphs. `mined`, `judged`: what is known of negatives, and of questions that
    need two documents.
    """
    lines = {**_caution_line(tables), **_large_line(tables), **_found_line(tables)}
    told = [f"{text[0].upper()}{text[1:]}." for text in lines.values()]
    return [*_pairs_card(mined), *told, *_two_documents_card(judged)]


def notes(
    job: Job[CapRetrievalParams],
    tables: QueryTables,
    mined: Mapping[str, Any],
    judged: Mapping[str, Any],
) -> dict[str, str]:
    """The lines that `gen run` prints, by what they begin with."""
    return {
        **_caution_line(tables),
        **_large_line(tables),
        **_found_line(tables),
        **_written_line(job, tables),
        **_few_line(job, tables, mined),
        **_lacking_line(job, tables, mined),
        **_two_documents_line(judged),
        **_mined_lines(mined),
    }


def passages_of(tables: QueryTables) -> Counter[str]:
    """How many passages each document is cut into."""
    return Counter(whole_id(one.source) for one in tables.passages)


def cut_from(counts: Counter[str]) -> int | None:
    """How many documents passages are of; None where each is a whole document."""
    return len(counts) if len(counts) < counts.total() else None


def large_document(counts: Counter[str]) -> list[str]:
    """A sentence where many of the passages are of one document."""
    if not counts:
        return []
    name, most = counts.most_common(1)[0]
    large = LargestDocument(name, most / counts.total())
    return [note] if (note := large.note("passages", len(counts))) else []


def _caution_line(tables: QueryTables) -> dict[str, str]:
    """What `gen run` prints of a test set whose queries repeat words of their documents."""
    text = lookup_caution([one._asdict() for one in tables.facts if one.split == "test"])
    return {"caution": f"test: {text}"} if text else {}


def _large_line(tables: QueryTables) -> dict[str, str]:
    """What `gen run` prints where one document is much of the corpus; its share of the queries."""
    counts = passages_of(tables)
    found = large_document(counts)
    if not found:
        return {}
    largest = counts.most_common(1)[0][0]
    test = [whole_id(tables.passages[i].source) == largest for i in _tested(tables)]
    return {
        "warning": f"{found[0]}; it has {sum(test):,} of {len(test):,} test queries "
        "(a document gives a tenth of a split's queries at most)"
    }


def _tested(tables: QueryTables) -> list[int]:
    """The passages that test queries were written for, by number."""
    pairs = zip(tables.facts, tables.passage_of, strict=True)
    return [passage for one, passage in pairs if one.split == "test"]


def licences(job: Job[CapRetrievalParams]) -> dict[str, str]:
    source = job.params.source
    documents = LICENCE if source is None else source.licence
    if job.params.asked is not None:
        given = job.params.asked.queries
        return {"documents": documents, "queries": LICENCE if given is None else given.licence}
    queries = MODEL_TERMS if job.live else "of the documents whose words they are"
    return {"documents": documents, "queries": queries}


def languages(tables: QueryTables) -> list[str]:
    """ISO 639-3 and script of the documents' languages, most first."""
    counts, by_language = Counter[str](), defaultdict[str, list[str]](list)
    for one in tables.passages:
        counts[one.language] += 1
        if counts[one.language] <= _LOOKED_AT:
            by_language[one.language].append(one.text)
    result = []
    for code in sorted(counts, key=lambda code: (-counts[code], code)):
        script = script_of(" ".join(by_language[code]))[0] or "Zyyy"  # undetermined
        result.append(f"{three_letters(code)}-{_SCRIPTS.get(script, script[:4])}")
    return result


def _pairs_card(mined: Mapping[str, Any]) -> list[str]:
    paragraphs = [
        f"{CORPUS_CARD} Every query names its evidence: a document and characters of it "
        "(`source`, `span`). Set found holds what people wrote: titles, headings, words of links, "
        "descriptions; of links `found_in` is the document that has them. Set KW holds keywords "
        "and phrases of a passage, and hypernyms; set SM holds summaries, topics and questions "
        "(CapRetrieval). A passage is relevant that holds the evidence of a query; to keywords, "
        "so is every passage of the same split that holds them. Other pairs are not judged.",
        "Splits are by document: queries of a split are written for its documents, a query of two "
        "splits is dropped, and near-duplicates stay on one side.",
        *([f"{_shared(mined).capitalize()}."] if mined["alike"] > ALIKE else []),
    ]
    if mined.get("negatives"):
        paragraphs.append(
            f"The training pairs have {mined['negatives']:,} hard negatives mined by "
            f"{mined['by']} from the training documents; {mined['drawn']:,} of them were drawn at "
            f"random, where mining gave too few. {mined['left_out']:,} better-ranked ones were "
            "left out as near-duplicates of a positive or because they hold all content words of "
            "the query. Nobody judged the others."
        )
    return paragraphs


def _shared(mined: Mapping[str, Any]) -> str:
    """What documents of two splits have in common, where templates left too few to hold out."""
    stated = mined["alike"]
    more = f"{stated:.0%} of their words or more" if stated < 1 else "all of their words"
    return (
        f"so many documents share {ALIKE:.0%} of their words (filled-in templates) that only those "
        f"that share {more} stay on one side: held-out documents resemble training documents"
    )


def _mined_lines(mined: Mapping[str, Any]) -> dict[str, str]:
    """What `gen run` prints: what splits share, what is not used, and the negatives."""
    lines = {"splits": _shared(mined)} if mined["alike"] > ALIKE else {}
    if refused := mined.get("refused"):
        lines["refused"] = refused.removeprefix("Refused are ")
    if not mined["queries"]:
        return lines
    text = "none: too few training documents are safe negatives; train with in-batch negatives"
    if mined["negatives"]:
        text = (
            f"{mined['negatives']:,}, mined from the training documents by {mined['by']}; "
            f"{mined['left_out']:,} possible answers left out"
        )
    return lines | {"negatives": text}


def _found_line(tables: QueryTables) -> dict[str, str]:
    """What `gen run` prints of the queries: who wrote them, and which the test set has."""
    if not tables.facts:
        return {}
    kinds = Counter(one.kind for one in tables.facts if one.evidence == FOUND)
    test = [one for one in tables.facts if one.split == "test"]
    found = sum(one.evidence == FOUND for one in test)
    named = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    return {
        "found": (
            f"{kinds.total():,} of {len(tables.facts):,} queries are people's words"
            f"{f' ({named})' if named else ''}; in test {found:,} of {len(test):,}"
        )
    }


def _written_line(job: Job[CapRetrievalParams], tables: QueryTables) -> dict[str, str]:
    """What `gen run` prints of a model's queries: for which share of the passages there are any."""
    if not any(name in job.live for name in _WRITERS):
        return {}
    pairs = zip(tables.facts, tables.passage_of, strict=True)
    written = [passage for one, passage in pairs if one.evidence == "model"]
    served, every = len(set(written)), max(1, len(tables.passages))
    return {
        "written": (
            f"{len(written):,} queries by a model, for {served:,} of {len(tables.passages):,} "
            f"passages ({served / every:.0%})"
        )
    }


def _few_line(
    job: Job[CapRetrievalParams], tables: QueryTables, mined: Mapping[str, Any]
) -> dict[str, str]:
    """What `gen run` prints where test queries are few: for how many documents, and why."""
    if "dropped" not in mined:
        return {}
    held_out = {
        whole_id(one.source)
        for one, split in zip(tables.passages, tables.split, strict=True)
        if split == "test"
    }
    tested = _tested(tables)
    asked = {whole_id(tables.passages[i].source) for i in tested}
    why = _dropped(mined["dropped"])
    return {
        "few": (
            f"{len(tested):,} test queries, for {len(asked):,} of {len(held_out):,} held-out "
            "documents: intervals of scores will be wide"
            + (f"; dropped there: {why}" if why else "")
            + ". More come of more documents, a larger params.splits.test"
            + ("" if job.live else ", or a model that writes (--model)")
        )
    }


def _lacking_line(
    job: Job[CapRetrievalParams], tables: QueryTables, mined: Mapping[str, Any]
) -> dict[str, str]:
    """What `gen run` prints where a set has hardly any query: why."""
    if "lacking" not in mined:
        return {}
    held = Counter(one.set for one in tables.facts)
    languages = {one.language for one in tables.passages}
    silent = [] if job.live else sorted(filterfalse(has_baseline, languages))
    parts = [
        f"{held[name]:,} queries of set {name} "
        + (f"(dropped: {_dropped(rules)})" if rules else "(none was written)")
        for name, rules in mined["lacking"].items()
    ]
    parts += [f"{language_name(code)} has no rules: name a model (--model)" for code in silent]
    return {"lacking": "; ".join(parts)}


def _dropped(rules: Mapping[str, int]) -> str:
    """How many queries each rule dropped, most first."""
    ordered = sorted(rules.items(), key=lambda one: -one[1])
    return ", ".join(f"{count:,} {_DROPPED.get(rule, rule)}" for rule, count in ordered)


_DROPPED = {
    "query/ambiguous": "that other documents answer",
    "query/quality": "of low quality",
    "query/common": "of too many passages",
    "query/split": "that another split has",
    "query/document": "beyond a document's share",
    "query/fault": "that fail a check",
    "query/passage": "repeated or beyond a passage's share",
}


def _two_documents_line(judged: Mapping[str, Any]) -> dict[str, str]:
    """What `gen run` prints of the questions that need two documents."""
    if not judged:
        return {}
    return {
        "two docs": (
            f"{judged['kept']:,} of {judged['wanted']:,} questions that need two documents, from "
            f"{judged['pairs']:,} pairs; judge {judged['model']}: "
            f"{judge_of_questions(judged)['measured']}"
        )
    }


def _two_documents_card(judged: Mapping[str, Any]) -> list[str]:
    return [
        f"Set two_documents: {text}. The judge found each of them answerable from both documents "
        "and from neither alone; both are relevant, each by its evidence (`source` and `span`, "
        "`other_source` and `other_span`)."
        for text in _two_documents_line(judged).values()
    ]


def facts(tables: QueryTables) -> dict[str, str]:
    """The columns of the paper's Table 6."""
    sets = Counter(one.set for one in tables.facts)
    words = Counter[str]()
    for one in tables.queries:
        words[one.set] += length(one.text)
    asked = max(1, len(tables.passages))
    splits = Counter(one.split for one in tables.facts)
    result = {
        "Passages": f"{len(tables.passages):,}",
        "Words": f"{sum(length(one.text) for one in tables.passages):,}",
    }
    for name in (FOUND, "SM", "KW", *((TWO,) if sets[TWO] else ())):
        result[f"{name} queries a passage"] = f"{sets[name] / asked:.1f}"
        result[f"Words of a {name} query"] = f"{words[name] / max(1, sets[name]):.1f}"
    result["Queries (train / dev / test)"] = " / ".join(f"{splits[name]:,}" for name in SPLITS)
    return result


def example(tables: QueryTables) -> Example | None:
    """The queries of the first passage that has some."""
    if not tables.passage_of:
        return None
    first = min(tables.passage_of)
    text = tables.documents[tables.document_of[first]]["text"]
    own = (tables.queries[i] for i, number in enumerate(tables.passage_of) if number == first)
    rows = [(f"{one.set}, {one.kind}", one.text, text[slice(*one.span)][:200]) for one in own]
    head = ("kind", "query", "evidence (begins)")
    title = f"The queries of {tables.passages[first].id}"
    return Example(title, head, rows, changed=False)
