"""The CapRetrieval family: training and test queries over the user's own documents.

    passage   "A tricycle loaded with watermelons is parked in front of the store."
    found     what people wrote: its title, the heading over it, the words of links that point to it
    KW        watermelons; tricycle; store; with a model also: fruit, vehicle
    SM        tricycle loaded watermelons parked front store; with a model also: What is parked
              in front of the store?

Paper: CapRetrieval (Dense Retrievers Can Fail on Simple Queries), section 4 and Appendices B to D.
Where we deviate: passages are anybody's, not captions alone; a query is split with its document, so
that no document is on two sides; what people wrote comes first; keywords that too many passages
hold are dropped; each training pair has hard negatives of the same corpus; without a model,
summaries are the content words of a sentence, and hypernyms and questions are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from retgen.errors import SourceRefused, UsageError
from retgen.generators.capretrieval.agents import ANNOTATE, WRITE_QUERIES
from retgen.generators.capretrieval.asked import describe_forms, like_note
from retgen.generators.capretrieval.judging import (
    FIGURES,
    GIVEN,
    JUDGED,
    JUDGEMENT,
    JUDGEMENTS,
    GivenQuery,
    judge_queries,
)
from retgen.generators.capretrieval.negatives import MINE
from retgen.generators.capretrieval.params import CapRetrievalParams
from retgen.generators.capretrieval.passages import LICENCE, documents_of, spans
from retgen.generators.capretrieval.plan import (
    JUDGES,
    call_estimates,
    check_judge,
    check_two_documents,
    estimated_queries,
    plan_judged,
    plan_notes,
)
from retgen.generators.capretrieval.queries import FOUND, TWO, PassageQuery
from retgen.generators.capretrieval.reading import (
    DOCUMENT_ROW,
    DOCUMENTS,
    PASSAGE,
    PASSAGES,
    QUERIES,
)
from retgen.generators.capretrieval.tables import NONE, SPLITS, JudgedTables, QueryTables
from retgen.generators.capretrieval.two_documents import (
    JUDGE_TWO_DOCUMENTS,
    JUDGED_QUESTIONS,
    TWO_DOCUMENT_AGENTS,
    TWO_DOCUMENTS,
    judge_of_questions,
)
from retgen.generators.capretrieval.with_agents import MINED, agents_of, write_queries
from retgen.generators.family import Evidence, Family, Plan, RowType
from retgen.generators.params import Job
from retgen.generators.records import MODEL_TERMS, Example, Records
from retgen.generators.source import LargestDocument, PassageSize, SourceDescription
from retgen.sources import HUB, RefusedRow, refusals, whole_id
from retgen.tokenizer import length
from retgen.validators import capretrieval as proof
from retgen.validators.capretrieval.wording import ALIKE
from retgen.validators.languages import script_of, three_letters
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:
    from retgen.agents.context import Context

__all__ = ["CapRetrieval"]

_DOUBTFUL = 0.1  # share of negatives that may be relevant, above which a run warns
_WARNING = (
    f". Warning: that is above {_DOUBTFUL:.0%}; a judge can look at them (mine.judge), or train "
    "with in-batch negatives (gen train --set hard_negatives=0)"
)
_QUERY, _QREL, _ROW = 250, 60, 120  # bytes, for plans
# ISO 15924, where it is not the first four letters of the name
_SCRIPTS = {
    "Latin": "Latn", "Han": "Hans", "Japanese": "Jpan", "Hangul": "Kore", "Cyrillic": "Cyrl",
    "Greek": "Grek", "Armenian": "Armn", "Gujarati": "Gujr", "Gurmukhi": "Guru",
    "Kannada": "Knda", "Khmer": "Khmr", "Lao": "Laoo", "Malayalam": "Mlym", "Myanmar": "Mymr",
    "Oriya": "Orya", "Tamil": "Taml",
}  # fmt: skip
_CORPUS = {"source": "string", "span": ["int32"], "language": "string", "split": "string"}
_CORPUS_CARD = (
    "The corpus is made of the source's documents as they are; what is not used stands in "
    "`rejected.jsonl`."
)


class CapRetrieval(Family[CapRetrievalParams]):
    name = "capretrieval"
    summary = "training and test queries over your own documents: keywords and summaries"
    paper = (
        "Dense Retrievers Can Fail on Simple Queries: Revealing The Granularity Dilemma of "
        "Embeddings (arXiv 2506.08592)"
    )
    params = CapRetrievalParams
    covers = proof.COVERS
    proofs = proof.RULES
    fixed_records = False
    takes_source = True
    agents = (WRITE_QUERIES, *TWO_DOCUMENT_AGENTS, *JUDGES)
    independent_judge = True
    label_source = "grades that a judge gave given queries"
    proof = "each document is one that the query was written for, or it holds the keyword"
    traces_labels = True

    def plan(self, job: Job[CapRetrievalParams]) -> Plan:
        from retgen.evaluation.mining import check_by

        params = job.params
        mined = (params.mine.by,) if params.mine.negatives else ()
        for by in mined if params.judge is None else params.judge.by:
            check_by(by)
        if params.mine.judge and mined:
            check_judge(job, "mine.judge")
        if params.queries.two_documents:
            check_two_documents(job)
        source = params.source
        if source is not None and str(source.path).startswith(HUB):
            limits = [n for n in (job.limit, source.limit) if n is not None]
            note = (
                f"{source.path} is not looked up for a plan: how many documents it has is not known"
            )
            count = min(limits, default=0)
            queries = estimated_queries(job, [1] * count)
            return Plan(count, queries, queries, 0, notes=(note,), unknown=not limits)
        documents, refused = [], list[RefusedRow]()
        for one in documents_of(params, job.limit):
            if isinstance(one, RefusedRow):
                refused.append(one)
            else:
                documents.append(one)
        if not documents:
            where = "the bundled captions" if source is None else str(source.path)
            message = f"params.source: {where} holds no document that can be used."
            rows = [one._asdict() for one in refused]
            raise SourceRefused(f"{message} {refusals(refused)}".rstrip(), rows)
        lengths, passages_of = [], Counter[str]()
        for one in documents:
            for start, stop in spans(one.text, params.passages):
                lengths.append(len(one.text[start:stop].encode()))
                passages_of[whole_id(one.id)] += 1
        if params.judge is not None:
            return plan_judged(job, lengths)
        passages, size = len(lengths), sum(lengths)
        queries = estimated_queries(job, passages_of.values())
        return Plan(
            documents=passages,
            queries=queries,
            qrels=queries,
            bytes=size + passages * _ROW + queries * (_QUERY + _QREL),
            call_estimates=call_estimates(job, passages, size, queries),
            notes=(*plan_notes(job, documents), *_large(passages_of)),
            about=True,
            source_documents=_cut_from(passages_of),
        )

    def required_agents(self, job: Job[CapRetrievalParams]) -> frozenset[str]:
        needed = agents_of(job.params)
        if job.params.judge is not None and ANNOTATE.name not in job.live:
            return needed & {ANNOTATE.name}  # the bundled labels: nothing to settle, or to measure
        return needed

    async def generate_with_agents(self, job: Job[CapRetrievalParams], context: Context) -> None:
        work = write_queries if job.params.judge is None else judge_queries
        await work(job, context)

    def evidence(self, job: Job[CapRetrievalParams]) -> Evidence:
        return "structural" if job.params.judge is None else "judged"

    def about(self, job: Job[CapRetrievalParams]) -> str:
        if job.params.judge is None:
            return self.summary
        return "which documents answer which queries, graded 0, 1 or 2"

    def from_user(self, job: Job[CapRetrievalParams]) -> Literal["documents", "queries"]:
        return "documents" if job.params.judge is None else "queries"

    def judges(self, job: Job[CapRetrievalParams]) -> Mapping[str, Mapping[str, Any]]:
        if job.params.judge is None:
            judged = _judged_questions(job)
            return {JUDGE_TWO_DOCUMENTS.name: judge_of_questions(judged)} if judged else {}
        return {"annotate_relevance": JudgedTables(job.source_folder(), job.seed).judge()}

    def sources(self, job: Job[CapRetrievalParams]) -> Mapping[str, RowType]:
        both: dict[str, RowType] = {DOCUMENTS: DOCUMENT_ROW, PASSAGES: PASSAGE}
        if job.params.judge is None:
            more = {TWO_DOCUMENTS: JUDGED_QUESTIONS} if job.params.queries.two_documents else {}
            return {**both, QUERIES: PassageQuery, MINED: MINE, **more}
        return {**both, GIVEN: GivenQuery, JUDGEMENTS: JUDGEMENT, JUDGED: FIGURES}

    def repeatable(self, job: Job[CapRetrievalParams]) -> bool:
        params = job.params
        asked = None if params.judge is None else params.judge.queries
        # no folder, which may change
        return all(one is None or isinstance(one.path, Path) for one in (params.source, asked))

    def generate(self, job: Job[CapRetrievalParams]) -> Records:
        sources = job.source_folder()
        tables = QueryTables(sources, job.seed)
        if job.params.judge is not None:
            return _judged(job, tables, JudgedTables(sources, job.seed))
        mined = {"alike": ALIKE} | orjson.loads((sources / MINED).read_bytes())
        judged = _judged_questions(job)
        more = {"other_source": "string", "other_span": ["int32"]} if judged else {}
        sets = (FOUND, "kw", "sm", *((TWO,) if judged else ()))
        return Records(
            corpus=tables.corpus(),
            queries=tables.query_rows(),
            qrels=tables.qrels(),
            features={
                "corpus": _CORPUS,
                "queries": {
                    "kind": "string", "set": "string", "evidence": "string", "score": "float64",
                    "side": "string", "source": "string", "span": ["int32"], "found_in": "string",
                    "found_at": [["int32"]], **more, "language": "string", "split": "string",
                },
                **{f"training/{one}": {"negatives-id": ["string"]} for one in sets},
            },
            card=[
                *_card(mined), *_large_card(tables), *_found_card(tables),
                *_like_card(job, tables), *_two_documents_card(judged),
            ],
            notes={
                **_large_line(tables), **_found_line(tables), **_like_line(job, tables),
                **_written_line(job, tables), **_few_line(job, tables, mined),
                **_two_documents_line(judged), **_lines(mined),
            },
            facts=_facts(tables),
            example=_example(tables),
            training=tables.training(),
            languages=_languages(tables),
            licences=_licences(job),
            source_documents=_cut_from(Counter(whole_id(one.source) for one in tables.passages)),
        )  # fmt: skip

    def rechunk(self, sources: Path, seed: int, size: PassageSize | None) -> Records:
        if (sources / JUDGEMENTS).is_file():
            raise UsageError(
                "--passages: these labels are a judge's, of the passages as they were cut; run the "
                "recipe again with other params.passages"
            )
        tables = QueryTables(sources, seed).rechunk(size)
        return Records(
            tables.corpus(), tables.query_rows(), tables.qrels(), card=_rechunk_card(size)
        )

    def checks(self, job: Job[CapRetrievalParams], judgements: Judgements) -> Sequence[CorpusRule]:
        sources = job.source_folder()
        return proof.proof_rules(
            proof.OwnDocumentsSpec(
                sources / DOCUMENTS,
                sources / PASSAGES,
                sources / QUERIES,
                sources / MINED,
                sources.parent / "training",
                None
                if job.params.judge is None
                else proof.JudgingFiles(sources / GIVEN, sources / JUDGEMENTS, sources / JUDGED),
            ),
            judgements,
        )

    def scaffold(self, source: SourceDescription | None = None) -> str:
        text = super().scaffold()
        if source is None:
            return text
        head, _, rest = text.partition("  # source:")
        text = head + source.block() + rest.partition("\n")[2]
        if not (passages := source.passages_line()):
            return text
        head, _, rest = text.partition("  # passages:")
        return head + passages + rest.partition("\n")[2]


def _judged_questions(job: Job[CapRetrievalParams]) -> dict[str, Any]:
    """What is known of the questions that need two documents; empty where none was wanted."""
    if not job.params.queries.two_documents:
        return {}
    result: dict[str, Any] = orjson.loads((job.source_folder() / TWO_DOCUMENTS).read_bytes())
    return result


def _judged(job: Job[CapRetrievalParams], tables: QueryTables, pairs: JudgedTables) -> Records:
    """The records of given queries."""
    return Records(
        corpus=tables.corpus(),
        queries=pairs.queries(),
        qrels=pairs.qrels(),
        complete=pairs.judged["complete"],
        apart=frozenset({NONE}),
        features={
            "corpus": _CORPUS,
            "queries": {"type": "string", "language": "string", "split": "string"},
        },
        card=[_CORPUS_CARD, *pairs.sentences()],
        notes=pairs.notes(),
        languages=_languages(tables),
        licences=_licences(job),
        source_documents=_cut_from(Counter(whole_id(one.source) for one in tables.passages)),
    )


def _cut_from(passages_of: Counter[str]) -> int | None:
    """How many documents passages are of; None where each is a whole document."""
    return len(passages_of) if len(passages_of) < passages_of.total() else None


def _large(passages_of: Counter[str]) -> list[str]:
    """A sentence where many of the passages are of one document."""
    if not passages_of:
        return []
    name, most = passages_of.most_common(1)[0]
    large = LargestDocument(name, most / passages_of.total())
    return [note] if (note := large.note("passages", len(passages_of))) else []


def _large_line(tables: QueryTables) -> dict[str, str]:
    """What `gen run` prints where one document is much of the corpus; its share of the queries."""
    sources = [whole_id(one.source) for one in tables.passages]
    notes = _large(Counter(sources))
    if not notes:
        return {}
    largest = Counter(sources).most_common(1)[0][0]
    test = [sources[one.passage] == largest for one in tables.queries if one.split == "test"]
    return {
        "warning": f"{notes[0]}; it has {sum(test):,} of {len(test):,} test queries "
        "(queries.per_document keeps them few)"
    }


def _large_card(tables: QueryTables) -> list[str]:
    return [f"{text[0].upper()}{text[1:]}." for text in _large_line(tables).values()]


def _licences(job: Job[CapRetrievalParams]) -> dict[str, str]:
    source = job.params.source
    documents = LICENCE if source is None else source.licence
    if job.params.judge is not None:
        given = job.params.judge.queries
        return {"documents": documents, "queries": LICENCE if given is None else given.licence}
    queries = MODEL_TERMS if job.live else "of the documents whose words they are"
    return {"documents": documents, "queries": queries}


def _languages(tables: QueryTables) -> list[str]:
    """ISO 639-3 and script of the documents' languages, most first."""
    by_language: dict[str, list[str]] = {}
    for one in tables.passages:
        by_language.setdefault(one.language, []).append(one.text)
    result = []
    for code, texts in sorted(by_language.items(), key=lambda item: (-len(item[1]), item[0])):
        script = script_of(" ".join(texts[:100]))[0] or "Zyyy"  # undetermined
        result.append(f"{three_letters(code)}-{_SCRIPTS.get(script, script[:4])}")
    return result


def _card(mined: Mapping[str, Any]) -> list[str]:
    paragraphs = [
        f"{_CORPUS_CARD} Every query names its evidence: a document and characters of it "
        "(`source`, `span`). Set found holds what people wrote: titles, headings, words of links, "
        "descriptions. Set KW holds keywords and phrases that stand in the passage, and "
        "hypernyms; set SM holds short summaries, topics and questions (CapRetrieval). A "
        "passage is relevant that holds the evidence of a query; to keywords, so is every passage "
        "of the same split that holds them. Other pairs are not judged.",
        "Splits are by document: queries of a split are written for its documents, a query of two "
        "splits is dropped, and near-duplicates stay on one side.",
        *([f"{_shared(mined).capitalize()}."] if mined["alike"] > ALIKE else []),
    ]
    if mined.get("negatives"):
        shares = (
            f"{mined['left_out']:,} better-ranked ones were left out as near-duplicates of a "
            "positive or because they hold all content words of the query"
        )
        doubt = mined["doubtful"] / mined["negatives"]
        paragraphs.append(
            f"The training pairs have {mined['negatives']:,} hard negatives mined by "
            f"{mined['by']} from the training documents; {mined['drawn']:,} of them were drawn at "
            f"random, where mining gave too few. {shares}. Of those that are left {doubt:.1%} lack "
            "only one content word of three or more: so many may be relevant after all."
        )
        if mined.get("judged"):
            paragraphs.append(
                f"{mined['judge']} graded {mined['judged']:,} mined passages; those that it called "
                f"relevant ({mined['judged_relevant'] / mined['judged']:.1%}) are no negatives."
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


def _rechunk_card(size: PassageSize | None) -> list[str]:
    cutting = (
        "Its documents are whole."
        if size is None
        else f"Its documents are cut into passages of {size.tokens:,} words, of which "
        f"{size.overlap:,} stand in the passage before as well."
    )
    return [
        f"{cutting} The qrels were made again for this cutting, without any model. A query's "
        "evidence is characters of its document (`source`, `span`): a passage is relevant that "
        "holds them whole; where none does, those that lie in them by more than half of "
        "themselves, or else the one that overlaps them most. To keywords and phrases passages "
        "of the same split are relevant that hold them. Other pairs are not judged."
    ]


def _lines(mined: Mapping[str, Any]) -> dict[str, str]:
    """What `gen run` prints: what splits share, what of the source is not used, and how many
    negatives may be positives.
    """
    lines = {"splits": _shared(mined)} if mined["alike"] > ALIKE else {}
    if refused := mined.get("refused"):
        lines["refused"] = refused.removeprefix("Refused are ")
    if not mined["queries"]:
        return lines
    if not mined["negatives"]:
        why = "too few training documents are safe negatives; train with in-batch negatives"
        return lines | {"negatives": f"none: {why}"}
    doubt = mined["doubtful"] / mined["negatives"]
    judged = ""
    if mined.get("judged"):
        share = mined["judged_relevant"] / mined["judged"]
        judged = f"; {share:.1%} of the mined ones were judged relevant and excluded"
    return lines | {
        "negatives": (
            f"{mined['negatives']:,}, mined from the training documents by {mined['by']}; "
            f"{mined['left_out']:,} possible answers excluded; {doubt:.1%} may be wrong negatives "
            f"(they lack one word of the query){judged}"
            + (_WARNING if doubt > _DOUBTFUL else "")
        )
    }  # fmt: skip


def _found_line(tables: QueryTables) -> dict[str, str]:
    """What `gen run` prints of the queries: who wrote them, and which the test set has."""
    if not tables.queries:
        return {}
    kinds = Counter(one.kind for one in tables.queries if one.evidence == FOUND)
    test = [one for one in tables.queries if one.split == "test"]
    found, apart = (
        sum(one.evidence == FOUND for one in test), sum(one.side == "nonlexical" for one in test)
    )  # fmt: skip
    named = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    return {
        "found": (
            f"{kinds.total():,} of {len(tables.queries):,} queries are people's words"
            f"{f' ({named})' if named else ''}; in test {found:,} of {len(test):,}, "
            f"and {apart:,} of these share no content word with their target (--by side)"
        )
    }


def _written_line(job: Job[CapRetrievalParams], tables: QueryTables) -> dict[str, str]:
    """What `gen run` prints of a model's queries: for which share of the passages there are any."""
    if not any(one.role == "write" and one.name in job.live for one in CapRetrieval.agents):
        return {}
    written = [one for one in tables.queries if one.evidence == "model"]
    served, every = len({one.passage for one in written}), max(1, len(tables.passages))
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
        for one, split in zip(tables.passages, tables.split, strict=True) if split == "test"
    }  # fmt: skip
    tested = [one for one in tables.queries if one.split == "test"]
    asked = {whole_id(tables.passages[one.passage].source) for one in tested}
    why = ", ".join(
        f"{count:,} {_DROPPED.get(rule, rule)}" for rule, count in mined["dropped"].items()
    )
    return {
        "few": (
            f"{len(tested):,} test queries, for {len(asked):,} of {len(held_out):,} held-out "
            "documents: intervals of scores will be wide"
            + (f"; dropped there: {why}" if why else "")
            + ". More come of more documents, a larger params.splits.test"
            + ("" if job.live else ", or a model that writes (--model)")
        )
    }


_DROPPED = {
    "query/general": "that other documents answer",
    "query/quality": "of low quality",
    "query/common": "of too many passages",
    "query/split": "that another split has",
    "query/document": "beyond a document's share",
    "query/like": "unlike the sample",
}


def _found_card(tables: QueryTables) -> list[str]:
    lines = _found_line(tables)
    return [
        f"{lines['found'].removesuffix(' (--by side)')}: `evidence` says who wrote a query (found: "
        "people, elsewhere in the source, at `found_at` of `found_in`; rules; model), `side` "
        "whether its target has any of its content words."
    ] if lines else []  # fmt: skip


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


def _like_line(job: Job[CapRetrievalParams], tables: QueryTables) -> dict[str, str]:
    """What `gen run` prints of the queries that users asked, and of those that were written."""
    like = job.params.queries.like
    if like is None:
        return {}
    written = describe_forms(one.text for one in tables.queries)
    return {"like": f"{like_note(like)}; written: {written}"}


def _like_card(job: Job[CapRetrievalParams], tables: QueryTables) -> list[str]:
    return [
        f"Their lengths and the share of questions follow queries that users asked ({line}). No "
        "text of that sample is a query of this data set."
        for line in _like_line(job, tables).values()
    ]


def _facts(tables: QueryTables) -> dict[str, str]:
    """The columns of the paper's Table 6."""
    sets = Counter(one.set for one in tables.queries)
    words = Counter[str]()
    for one in tables.queries:
        words[one.set] += length(one.text)
    asked = max(1, len(tables.passages))
    splits = Counter(one.split for one in tables.queries)
    result = {
        "Passages": f"{len(tables.passages):,}",
        "Words": f"{sum(length(one.text) for one in tables.passages):,}",
    }
    for name in (FOUND, "SM", "KW", *((TWO,) if sets[TWO] else ())):
        result[f"{name} queries a passage"] = f"{sets[name] / asked:.1f}"
        result[f"Words of a {name} query"] = f"{words[name] / max(1, sets[name]):.1f}"
    result["Queries (train / dev / test)"] = " / ".join(f"{splits[name]:,}" for name in SPLITS)
    return result


def _example(tables: QueryTables) -> Example | None:
    """The queries of the first passage that has some."""
    for number, passage in enumerate(tables.passages):
        rows = [
            (f"{one.set}, {one.kind}", one.text,
             tables.documents[passage.source][1][slice(*one.span)][:200])
            for one in tables.queries if one.passage == number
        ]  # fmt: skip
        if rows:
            head = ("kind", "query", "evidence (begins)")
            return Example(f"The queries of {passage.id}", head, rows, changed=False)
    return None
