"""LIMIT: attribute corpora from a latent qrel matrix.

    {"_id": "d4821907", "title": "", "text": "Geneva Durben likes Quokkas, Marzipan and Sundials.",
     "metadata": {"attributes": [812, 1544, 97], "column": 17}}
    {"_id": "q0317465", "text": "Who likes Marzipan?", "metadata": {"attributes": [1544], "row": 3}}
    {"query-id": "q0317465", "corpus-id": "d4821907", "score": 1}

Source: "On the Theoretical Limitations of Embedding-Based Retrieval", §5.2 and Appendix C
(arXiv 2508.21038). Where this deviates from the published generator, it is on purpose: which
combinations are left out is a seeded choice (theirs are the lexicographic tail), relevant documents
are scattered over the corpus (theirs come first), attributes share no word (in theirs 26 of 1,000
queries are answered word by word by a document that is not relevant), ids are no names, and the
same seed gives the same bytes on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgen.errors import RecipeError
from retgen.generators.family import Evidence, Family, Plan
from retgen.generators.limit import tables
from retgen.generators.limit.agents import (
    AGENTS,
    IDENTIFY,
    NONE,
    PARAPHRASE,
    PROPOSE,
    REMOVE,
    glossary,
)
from retgen.generators.limit.latent import build_latent, count_queries
from retgen.generators.limit.params import (
    BalancedForm,
    ConditionsForm,
    CyclePattern,
    DensePattern,
    DisjointPattern,
    FactorialPattern,
    FilePattern,
    HadamardPattern,
    LimitParams,
    PowerLawPattern,
    ProjectivePattern,
    RegularPattern,
    SemanticForm,
    SingleForm,
)
from retgen.generators.limit.tables import DocumentTable, TrainingTable
from retgen.generators.limit.with_agents import (
    DESCRIPTIONS,
    call_estimates,
    catalogue_size,
    generate_attributes,
    generate_descriptions,
    read_descriptions,
)
from retgen.generators.limit.words import (
    Attribute,
    attribute_stems,
    attributes_digest,
    has_proposed_attributes,
    job_attributes,
    load_attributes,
    load_names,
    proposed_file,
    source_files,
    stem_words,
)
from retgen.generators.params import Job
from retgen.generators.records import MODEL_TERMS, OWN_LICENCE, Records
from retgen.generators.tables import Ids
from retgen.tokenizer import STOPWORDS, tokens
from retgen.validators import limit as proof
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:
    from retgen.agents.context import Context

__all__ = ["Limit"]

# bytes, for plans of what agents have yet to write
_ITEM = 14
_DESCRIPTION = 60


class Limit(Family[LimitParams]):
    name = "limit"
    summary = "attribute corpora from a latent qrel matrix"
    paper = "On the Theoretical Limitations of Embedding-Based Retrieval (arXiv 2508.21038)"
    params = LimitParams
    covers = proof.COVERS
    proofs = proof.RULES
    agents = AGENTS
    why_no_limit = (
        "the latent matrix of a limit recipe fixes its records; set its size instead, for example "
        "--set params.docs=1000 --set params.queries=50"
    )
    label_source = (
        "which documents hold what a query asks for was rebuilt from their words, but that the "
        "words of the query mean it rests on a judge, who recognised it among similar things"
    )

    def measure(self, job: Job[LimitParams]) -> str:
        """Recall at k where every query has k relevant documents: recall@2 in the paper."""
        k = getattr(job.params, "k", None)
        return f"recall@{k}" if k else self.main_measure

    def plan(self, job: Job[LimitParams]) -> Plan:
        params = job.params
        if has_proposed_attributes(job):
            size = catalogue_size(params)
            available = size if params.catalogue.split == "all" else (size + 1) // 2
            item, id_size = float(_ITEM), len(str(size))
        else:
            everything, chosen = load_attributes(params.catalogue, job.seed)
            _check_templates(params, attribute_stems(everything))
            available = len(chosen)
            item = sum(len(a.text.encode()) for a in chosen) / len(chosen)
            id_size = len(str(max(a.id for a in chosen)))
            if isinstance(params.form, SemanticForm) and PARAPHRASE.name not in job.live:
                _check_glossary(chosen, count_queries(params))
        latent = build_latent(params, job.seed, available)
        load_names(params.names.locales, frozenset(), job.seed, params.catalogue.split, params.docs)
        document = 90 + 16 + params.attributes_per_doc * (item + 2 + id_size + 1)
        asked = _DESCRIPTION if isinstance(params.form, SemanticForm) else item
        query = 90 + latent.asked.shape[1] * (asked + 5)
        qrels = latent.matrix.nnz
        if isinstance(params, FactorialPattern):
            query += 60
            qrels += int((latent.negatives >= 0).sum())
        else:
            query += latent.negatives.shape[1] * 11
        notes = []
        if params.catalogue.split == "all":
            notes.append("uses the whole catalogue: no training set may be paired with this set")
        return Plan(
            documents=params.docs,
            queries=latent.matrix.queries,
            qrels=qrels,
            bytes=int(params.docs * document + latent.matrix.queries * query) + qrels * 58,
            call_estimates=call_estimates(job),
            notes=tuple(notes),
        )

    def required_agents(self, job: Job[LimitParams]) -> frozenset[str]:
        names = [PROPOSE.name, REMOVE.name] if has_proposed_attributes(job) else []
        if isinstance(job.params.form, SemanticForm):
            names += [PARAPHRASE.name, IDENTIFY.name]
        return frozenset(names)

    async def generate_with_agents(self, job: Job[LimitParams], context: Context) -> None:
        if has_proposed_attributes(job):
            await generate_attributes(job, context)
        if isinstance(job.params.form, SemanticForm):
            await generate_descriptions(job, context, job_attributes(job)[1])

    def evidence(self, job: Job[LimitParams]) -> Evidence:
        return "judged" if isinstance(job.params.form, SemanticForm) else "structural"

    def judges(self, job: Job[LimitParams]) -> Mapping[str, Mapping[str, Any]]:
        if not isinstance(job.params.form, SemanticForm):
            return {}
        tried = [
            one.control for one in read_descriptions(job.source_folder()) if one.control is not None
        ]
        named = sum(choice != NONE for choice in tried)
        message = (
            f"wrong in {named} of {len(tried)} controls, from which the right answer was left out"
        )
        result = {"controls": len(tried), "named_another": named, "measured": message}
        return {IDENTIFY.name: result}

    def generate(self, job: Job[LimitParams]) -> Records:
        params, seed = job.params, job.seed
        everything, chosen = job_attributes(job)
        # of the whole list, so that neither templates nor names depend on the split
        of_attributes = attribute_stems(everything)
        _check_templates(params, of_attributes)
        texts, numbers = [a.text for a in chosen], [a.id for a in chosen]
        asked = texts
        first: list[int] = []
        if isinstance(params.form, SemanticForm):
            where = {text: i for i, text in enumerate(texts)}
            descriptions = {
                one.attribute: one.description for one in read_descriptions(job.source_folder())
            }
            first = [where[attribute] for attribute in descriptions]
            asked = [descriptions.get(text, text) for text in texts]
        latent = build_latent(params, seed, len(chosen), first)
        names = load_names(
            params.names.locales, of_attributes, seed, params.catalogue.split, params.docs
        )
        doc_ids = Ids(seed, "limit/ids", "d", params.docs)
        corpus = DocumentTable(
            params.docs,
            seed,
            params.attributes_per_doc,
            latent,
            names,
            doc_ids,
            texts,
            numbers,
            params.templates.document,
        )
        if isinstance(params, FactorialPattern):
            queries, qrels = tables.operator_tables(params, seed, latent, doc_ids, texts, numbers)
        else:
            queries, qrels = tables.query_tables(
                params.templates.query, seed, latent, doc_ids, asked, numbers
            )
        features: dict[str, Mapping[str, Any]] = {
            "corpus": {"attributes": ["int32"], "column": "int32"},
            "queries": {"attributes": ["int32"], "row": "int32"},
        }
        if isinstance(params, FactorialPattern):
            features["queries"] = {**features["queries"], **tables.FEATURES}
        elif latent.negatives.shape[1]:
            features["queries"] = {**features["queries"], "hard_negatives": ["string"]}
        return Records(
            corpus=corpus,
            queries=queries,
            qrels={"test": qrels},
            features=features,
            complete=True,
            breakdown=tables.BREAKDOWN if isinstance(params, FactorialPattern) else (),
            word_lists={"attributes": attributes_digest(everything), "names (Faker)": names.digest},
            card=_card(params),
            training=(
                {"pairs": TrainingTable(queries, qrels, corpus)}
                if params.catalogue.split == "train"
                else {}
            ),
            licences=_licences(job),
        )

    def word_lists(self, job: Job[LimitParams]) -> Mapping[str, str]:
        return {"attributes": attributes_digest(job_attributes(job)[0])}

    def checks(self, job: Job[LimitParams], judgements: Judgements) -> Sequence[CorpusRule]:
        return proof.proof_rules(_spec(job), judgements)


def _check_templates(params: LimitParams, of_attributes: frozenset[str]) -> None:
    """No content word of a template may be one of an attribute: it would match every document."""
    kinds = {"document": params.templates.document, "query": tables.sentences(params)}
    for kind, templates in kinds.items():
        for template in templates:
            plain = tables.without_marks(template)
            words = [word for word in tokens(plain) if word not in STOPWORDS]
            for word, stem in zip(words, stem_words(words), strict=True):
                if stem in of_attributes:
                    what = f"the word {word!r} of {template!r} is a word of an attribute too"
                    if kind == "query" and isinstance(params, FactorialPattern):
                        raise RecipeError(f"params.catalogue: {what}; leave that attribute out")
                    raise RecipeError(f"params.templates.{kind}: {what}; use another word")


def _spec(job: Job[LimitParams]) -> proof.LimitSpec:
    """The recipe in the words of the proof, which reads the catalogue by itself."""
    params = job.params
    files = source_files(params.catalogue)
    if has_proposed_attributes(job) and job.sources is not None:
        files = (proposed_file(job.sources),)
    listed = proof.read_attributes(files)
    half = proof.split_half([text for text, _ in listed], job.seed, params.catalogue.split)
    wanted, without = params.catalogue.categories, params.catalogue.without
    queries, sums, common, matrix_file = _expected_counts(params)
    relevant, column_sum = _expected_structure(params)
    split = params.catalogue.split
    return proof.LimitSpec(
        documents=params.docs,
        queries=queries,
        attributes_per_doc=params.attributes_per_doc,
        attributes={
            text: number
            for number, (text, category) in enumerate(listed)
            if text in half and (wanted is None or category in wanted) and category not in without
        },
        document_templates=params.templates.document,
        query_templates=() if isinstance(params, FactorialPattern) else params.templates.query,
        row_sums=sums,
        per_query=1 if isinstance(params.form, SingleForm | SemanticForm) else 2,
        descriptions=(
            proof.read_descriptions(job.sources / DESCRIPTIONS)
            if isinstance(params.form, SemanticForm) and job.sources is not None
            else None
        ),
        hard_negatives=(
            params.form.hard_negatives if isinstance(params.form, ConditionsForm) else 0
        ),
        balanced=isinstance(params.form, BalancedForm),
        common_documents=common,
        distinct_rows=not isinstance(params, PowerLawPattern | FilePattern | FactorialPattern),
        factorial=(
            proof.FactorialSpec(params.form.operators, params.answer_sizes, params.queries_per_cell)
            if isinstance(params, FactorialPattern)
            else None
        ),
        matrix_file=matrix_file,
        relevant_documents=relevant,
        column_sum=column_sum,
        locales=params.names.locales,
        surname_half=None if split == "all" else (job.seed, split),
        training=split == "train",
    )


def _expected_counts(params: LimitParams) -> tuple[int, tuple[int, int], int | None, Path | None]:
    """(queries, least and most relevant documents, documents any two queries share, own matrix)."""
    match params:
        case HadamardPattern():
            degree = (params.n - round(params.n**0.5)) // 2
            return params.n, (degree, degree), proof.hadamard_common(params.n), None
        case ProjectivePattern():
            return params.p**2 + params.p + 1, (params.p + 1, params.p + 1), 1, None
        case PowerLawPattern():
            return params.queries, (1, params.maximum), None, None
        case FilePattern():
            lines = params.path.read_text("utf-8-sig").splitlines()[1:]
            judged = [line.split("\t") for line in lines if line.strip()]
            positives = [cells[0] for cells in judged if float(cells[2]) > 0]
            sums = [positives.count(query) for query in dict.fromkeys(positives)]
            return len(sums), (min(sums), max(sums)), None, params.path
        case FactorialPattern():
            sizes = params.answer_sizes
            return len(list(params.cells())), (min(sizes), max(sizes)), None, None
        case _:
            return params.queries, (params.k, params.k), None, None


def _expected_structure(params: LimitParams) -> tuple[int | None, int | None]:
    """(documents with a query, queries that each is relevant to); None where the draw decides."""
    match params:
        case DensePattern():
            n = params.k
            while math.comb(n, params.k) < params.queries:
                n += 1
            return n, None  # fewer would leave too few subsets, so each is in some
        case RegularPattern():
            among = params.relevant_docs or params.docs
            return among, params.queries * params.k // among
        case CyclePattern():
            return params.queries * (params.k - 1), 2 if params.k == 2 else None
        case DisjointPattern():
            return params.queries * params.k, 1
        case HadamardPattern():
            return params.n, (params.n - math.isqrt(params.n)) // 2
        case ProjectivePattern():
            return params.p**2 + params.p + 1, params.p + 1
        case _:
            return None, None


def _check_glossary(chosen: Sequence[Attribute], queries: int) -> None:
    """Without a model, only what the glossary describes can be asked for."""
    there = sum(attribute.text in glossary() for attribute in chosen)
    if queries > there:
        raise RecipeError(
            f"params.queries: {queries:,} queries need as many descriptions; without a model there "
            f"are {there:,}, those of the bundled glossary. Use fewer queries, catalogue.split all,"
            " or a model (for example --model openai:gpt-5-mini)"
        )


def _licences(job: Job[LimitParams]) -> dict[str, str]:
    result = {"attributes and templates": OWN_LICENCE, "names": "MIT (Faker)"}
    if has_proposed_attributes(job):
        result = {
            "templates": OWN_LICENCE,
            "attributes": MODEL_TERMS,
            "names": "MIT (Faker)",
        }
    if isinstance(job.params.form, SemanticForm):
        live = PARAPHRASE.name in job.live
        result["descriptions"] = MODEL_TERMS if live else OWN_LICENCE
    return result


def _card(params: LimitParams) -> list[str]:
    text = tables.card(params) if isinstance(params, FactorialPattern) else _of_conjunctions(params)
    if params.catalogue.split == "all":
        text.append("It uses the whole attribute catalogue: pair it with no retgen training set.")
    return text


def _of_conjunctions(params: LimitParams) -> list[str]:
    semantic = isinstance(params.form, SemanticForm)
    one = isinstance(params.form, SingleForm | SemanticForm)
    return [
        "Every document lists what one person likes; every query asks who likes "
        + ("one thing" if one else "two things at once")
        + (", which it describes and does not name." if semantic else ".")
        + f" Which documents are relevant was drawn first, as a `{params.pattern}` qrel matrix "
        "(LIMIT, arXiv 2508.21038), and then put into words.",
        "It tests whether a retriever can return arbitrary combinations of documents. "
        + (
            "It tests understanding too: no word of the thing that a query describes stands in "
            "the query."
            if semantic
            else "It does not test understanding: the words of a query stand literally in its "
            "relevant documents, so a lexical retriever is near perfect."
        ),
    ]
