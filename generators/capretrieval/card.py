"""What the card of a data set says of it, and what `gen run` prints.

Of some things both say the same: the card has it in sentences, the terminal in a line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import filterfalse
from typing import Any

from retgen.data import lookup_caution
from retgen.generators.capretrieval.language import has_baseline, language_name
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import FOUND, LICENCE, TWO
from retgen.generators.capretrieval.queries import FEW
from retgen.generators.capretrieval.tables import SPLITS, QueryTables
from retgen.generators.capretrieval.two_documents import judge_of_questions
from retgen.generators.params import Job
from retgen.generators.records import MODEL_TERMS, Example
from retgen.generators.source import LargestDocument
from retgen.tokenizer import length
from retgen.validators.capretrieval.wording import ALIKE
from retgen.validators.languages import script_of, three_letters

CORPUS_CARD = (
    "The corpus is made of the source's documents as they are; what is not used stands in "
    "`rejected.jsonl`."
)
_LOOKED_AT = 100  # passages of a language, for their script
_ISO_15924 = (  # codes of scripts that are not the first four letters of their names
    "Latin:Latn Han:Hans Japanese:Jpan Hangul:Kore Cyrillic:Cyrl Greek:Grek Armenian:Armn "
    "Gujarati:Gujr Gurmukhi:Guru Kannada:Knda Khmer:Khmr Lao:Laoo Malayalam:Mlym Myanmar:Mymr "
    "Oriya:Orya Tamil:Taml"
)
_SCRIPTS = dict(pair.split(":") for pair in _ISO_15924.split())
_FEW_TESTED = 100  # test queries, below which a run says where the others went
_ON_THE_CARD = ("caution", "warning", "found")  # lines that both say


def paragraphs(
    lines: Mapping[str, str], mined: Mapping[str, Any], judged: Mapping[str, Any]
) -> list[str]:
    """The card's paragraphs. `lines`: those of `notes`."""
    result = [
        f"{CORPUS_CARD} Every query names its evidence: a document and characters of it "
        "(`source`, `span`). Set found holds what people wrote: titles, headings, words of links, "
        "descriptions; of links `found_in` is the document that has them. Set KW holds keywords "
        "and phrases of a passage, and hypernyms; set SM holds summaries, topics and questions "
        "(CapRetrieval). A passage is relevant that holds the evidence of a query; to keywords, "
        "so is every passage of the same split that holds them. Other pairs are not judged.",
        "Splits are by document: queries of a split are written for its documents, a query of two "
        "splits is dropped, and near-duplicates stay on one side.",
    ]
    if "splits" in lines:
        result.append(f"{lines['splits'].capitalize()}.")
    if mined.get("negatives"):
        result.append(
            f"The training pairs have {mined['negatives']:,} hard negatives mined by "
            f"{mined['by']} from the training documents; {mined['drawn']:,} of them were drawn at "
            f"random, where mining gave too few. {mined['left_out']:,} better-ranked ones were "
            "left out as near-duplicates of a positive or because they hold all content words of "
            "the query. Nobody judged the others."
        )
    result += [f"{lines[key][0].upper()}{lines[key][1:]}." for key in _ON_THE_CARD if key in lines]
    if judged:
        result.append(
            f"Set two_documents: {lines['two docs']}. The judge found each of them answerable from "
            "both documents and from neither alone; both are relevant, each by its evidence "
            "(`source` and `span`, `other_source` and `other_span`)."
        )
    return result


def notes(
    job: Job[CapRetrievalParams],
    tables: QueryTables,
    mined: Mapping[str, Any],
    judged: Mapping[str, Any],
) -> dict[str, str]:
    """The lines that `gen run` prints, by what they begin with. `mined`, `judged`: what is known of
    negatives, and of questions that need two documents.
    """
    pairs = zip(tables.facts, tables.passage_of, strict=True)
    tested = [tables.passages[i].source for one, i in pairs if one.split == "test"]
    every = {
        "caution": _caution(tables),
        "warning": _large(passages_of(tables), tested),
        "found": _found(tables),
        "few": _few(job, tables, tested),
        "lacking": _lacking(job, tables),
        "two docs": _two_documents(judged),
        "splits": _shared(mined["alike"]),
        "refused": mined.get("refused", "").removeprefix("Refused are "),
        "negatives": _negatives(mined),
    }
    return {key: text for key, text in every.items() if text}


def passages_of(tables: QueryTables) -> Counter[str]:
    """How many passages each document is cut into."""
    return Counter(one.source for one in tables.passages)


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


def _caution(tables: QueryTables) -> str:
    """Of a test set whose queries repeat words of their documents."""
    text = lookup_caution([one._asdict() for one in tables.facts if one.split == "test"])
    return f"test: {text}" if text else ""


def _large(counts: Counter[str], tested: Sequence[str]) -> str:
    """Where one document is much of the corpus: its share of the queries."""
    found = large_document(counts)
    if not found:
        return ""
    largest = counts.most_common(1)[0][0]
    return (
        f"{found[0]}; it has {tested.count(largest):,} of {len(tested):,} test queries (a document "
        "gives a tenth of a split's queries at most)"
    )


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
    counts, texts = Counter[str](), defaultdict[str, list[str]](list)
    for one in tables.passages:
        counts[one.language] += 1
        if counts[one.language] <= _LOOKED_AT:
            texts[one.language].append(one.text)
    result = []
    for code in sorted(counts, key=lambda code: (-counts[code], code)):
        script = script_of(" ".join(texts[code]))[0] or "Zyyy"  # undetermined
        result.append(f"{three_letters(code)}-{_SCRIPTS.get(script, script[:4])}")
    return result


def _shared(alike: float) -> str:
    """What documents of two splits have in common, where templates left too few to hold out."""
    if alike <= ALIKE:
        return ""
    more = f"{alike:.0%} of their words or more" if alike < 1 else "all of their words"
    return (
        f"so many documents share {ALIKE:.0%} of their words (filled-in templates) that only those "
        f"that share {more} stay on one side: held-out documents resemble training documents"
    )


def _negatives(mined: Mapping[str, Any]) -> str:
    if not mined["queries"]:
        return ""
    if not mined["negatives"]:
        return "none: too few training documents are safe negatives; train with in-batch negatives"
    return (
        f"{mined['negatives']:,} of the training documents, {mined['drawn']:,} of them drawn at "
        f"random, the others mined by {mined['by']}; {mined['left_out']:,} "
        "possible answers left out"
    )


def _found(tables: QueryTables) -> str:
    """Who wrote the queries, and which of them the test set has."""
    if not tables.facts:
        return ""
    kinds = Counter(one.kind for one in tables.facts if one.evidence == FOUND)
    test = [one.evidence for one in tables.facts if one.split == "test"]
    named = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    return (
        f"{kinds.total():,} of {len(tables.facts):,} queries are people's words"
        f"{f' ({named})' if named else ''}; in test {test.count(FOUND):,} of {len(test):,}"
    )


def _few(job: Job[CapRetrievalParams], tables: QueryTables, tested: Sequence[str]) -> str:
    """Where test queries are few: for how many documents, and what gives more."""
    if len(tested) >= _FEW_TESTED:
        return ""
    both = zip(tables.passages, tables.split, strict=True)
    held_out = {one.source for one, split in both if split == "test"}
    return (
        f"{len(tested):,} test queries, for {len({*tested}):,} of {len(held_out):,} held-out "
        "documents: intervals of scores will be wide. More come of more documents, a larger "
        "params.splits.test" + ("" if job.live else ", or a model that writes (--model)")
    )


def _lacking(job: Job[CapRetrievalParams], tables: QueryTables) -> str:
    """Where a set has hardly any query: which languages have no rules."""
    held, wanted = Counter(one.set for one in tables.facts), job.params.queries
    least = max(1, len(tables.documents) // FEW)
    sets = {"KW": wanted.keywords, "SM": wanted.summaries}
    parts = [
        f"{held[one]:,} queries of set {one}" for one in sets if sets[one] and held[one] < least
    ]
    if not parts:
        return ""
    languages = {one.language for one in tables.passages}
    silent = () if job.live else sorted(filterfalse(has_baseline, languages))
    parts += [f"{language_name(code)} has no rules: name a model (--model)" for code in silent]
    return "; ".join(parts)


def _two_documents(judged: Mapping[str, Any]) -> str:
    if not judged:
        return ""
    return (
        f"{judged['kept']:,} of {judged['wanted']:,} questions that need two documents, from "
        f"{judged['pairs']:,} pairs; judge {judged['model']}: "
        f"{judge_of_questions(judged)['measured']}"
    )


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
