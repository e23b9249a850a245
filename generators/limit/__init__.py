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
from retgen.generators.family import Evidence, Family, RowType
from retgen.generators.ids import Ids
from retgen.generators.limit import questions
from retgen.generators.limit.agents import (
    AGENTS,
    IDENTIFY,
    NONE,
    PARAPHRASE,
    PROPOSE,
    REMOVE,
    glossary,
)
from retgen.generators.limit.attributes import (
    ATTRIBUTES,
    Attribute,
    attribute_stems,
    digest,
    job_attributes,
    load_attributes,
    made_file,
    proposes,
    source_files,
    stem_words,
)
from retgen.generators.limit.documents import Documents
from retgen.generators.limit.latent import build_latent, count_queries
from retgen.generators.limit.names import load_names
from retgen.generators.limit.pairs import TrainingPairs
from retgen.generators.limit.params import (
    Balanced,
    Conditions,
    Cycle,
    Dense,
    Disjoint,
    Factorial,
    File,
    Hadamard,
    LimitParams,
    PowerLaw,
    Projective,
    Regular,
    Semantic,
    Single,
)
from retgen.generators.limit.with_agents import (
    DESCRIPTIONS,
    Described,
    call_estimates,
    catalogue_size,
    described,
    generate_attributes,
    generate_descriptions,
)
from retgen.generators.params import Job
from retgen.generators.plan import Plan
from retgen.generators.records import Records
from retgen.tokenizer import STOPWORDS, tokens
from retgen.validators import limit as proof
from retgen.validators.rule import CorpusRule, Judgements

if TYPE_CHECKING:
    from retgen.agents.context import Context
    from retgen.generators.source_description import SourceDescription

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
        if proposes(job):
            size = catalogue_size(params)
            available = size if params.catalogue.split == "all" else (size + 1) // 2
            item, id_size = float(_ITEM), len(str(size))
        else:
            everything, chosen = load_attributes(params.catalogue, job.seed)
            _check_templates(params, attribute_stems(everything))
            available = len(chosen)
            item = sum(len(a.text.encode()) for a in chosen) / len(chosen)
            id_size = len(str(max(a.id for a in chosen)))
            if isinstance(params.form, Semantic) and PARAPHRASE.name not in job.live:
                _check_glossary(chosen, count_queries(params))
        latent = build_latent(params, job.seed, available)
        load_names(params.names.locales, frozenset(), job.seed, params.catalogue.split, params.docs)
        document = 90 + 16 + params.attributes_per_doc * (item + 2 + id_size + 1)
        asked = _DESCRIPTION if isinstance(params.form, Semantic) else item
        query = 90 + latent.asked.shape[1] * (asked + 5)
        qrels = latent.matrix.nnz
        if isinstance(params, Factorial):
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
        names = [PROPOSE.name, REMOVE.name] if proposes(job) else []
        if isinstance(job.params.form, Semantic):
            names += [PARAPHRASE.name, IDENTIFY.name]
        return frozenset(names)

    async def generate_with_agents(self, job: Job[LimitParams], context: Context) -> None:
        if proposes(job):
            await generate_attributes(job, context)
        if isinstance(job.params.form, Semantic):
            await generate_descriptions(job, context, job_attributes(job)[1])

    def evidence(self, job: Job[LimitParams]) -> Evidence:
        return "judged" if isinstance(job.params.form, Semantic) else "structural"

    def judges(self, job: Job[LimitParams]) -> Mapping[str, Mapping[str, Any]]:
        if not isinstance(job.params.form, Semantic):
            return {}
        tried = [one.control for one in _descriptions(job) if one.control is not None]
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
        if isinstance(params.form, Semantic):
            where = {text: i for i, text in enumerate(texts)}
            descriptions = {one.attribute: one.description for one in _descriptions(job)}
            first = [where[attribute] for attribute in descriptions]
            asked = [descriptions.get(text, text) for text in texts]
        latent = build_latent(params, seed, len(chosen), first)
        names = load_names(
            params.names.locales, of_attributes, seed, params.catalogue.split, params.docs
        )
        doc_ids = Ids(seed, "limit/ids", "d", params.docs)
        corpus = Documents(
            params.docs, seed, params.attributes_per_doc, latent, names, doc_ids, texts, numbers,
            params.templates.document,
        )  # fmt: skip
        if isinstance(params, Factorial):
            queries, qrels = questions.tables_with_operators(
                params, seed, latent, doc_ids, texts, numbers
            )
        else:
            queries, qrels = questions.tables(
                params.templates.query, seed, latent, doc_ids, asked, numbers
            )
        features: dict[str, Mapping[str, Any]] = {
            "corpus": {"attributes": ["int32"], "column": "int32"},
            "queries": {"attributes": ["int32"], "row": "int32"},
        }
        if isinstance(params, Factorial):
            features["queries"] = {**features["queries"], **questions.FEATURES}
        elif latent.negatives.shape[1]:
            features["queries"] = {**features["queries"], "hard_negatives": ["string"]}
        return Records(
            corpus=corpus,
            queries=queries,
            qrels={"test": qrels},
            features=features,
            complete=True,
            breakdown=questions.BREAKDOWN if isinstance(params, Factorial) else (),
            word_lists={"attributes": digest(everything), "names (Faker)": names.digest},
            card=_card(params),
            training=(
                {"pairs": TrainingPairs(queries, qrels, corpus)}
                if params.catalogue.split == "train"
                else {}
            ),
            licences=_licences(job),
        )

    def sources(self, job: Job[LimitParams]) -> Mapping[str, RowType]:
        described = {DESCRIPTIONS: Described} if isinstance(job.params.form, Semantic) else {}
        return {**({ATTRIBUTES: None} if proposes(job) else {}), **described}

    def word_lists(self, job: Job[LimitParams]) -> Mapping[str, str]:
        return {"attributes": digest(job_attributes(job)[0])}

    def checks(self, job: Job[LimitParams], judgements: Judgements) -> Sequence[CorpusRule]:
        return proof.proof_rules(_spec(job), judgements)

    def scaffold(self, source: SourceDescription | None = None) -> str:
        return (Path(__file__).parent / "scaffold.yaml").read_text("utf-8")


def _check_templates(params: LimitParams, of_attributes: frozenset[str]) -> None:
    """No content word of a template may be one of an attribute: it would match every document."""
    kinds = {"document": params.templates.document, "query": questions.sentences(params)}
    for kind, templates in kinds.items():
        for template in templates:
            plain = questions.without_marks(template)
            words = [word for word in tokens(plain) if word not in STOPWORDS]
            for word, stem in zip(words, stem_words(words), strict=True):
                if stem in of_attributes:
                    what = f"the word {word!r} of {template!r} is a word of an attribute too"
                    if kind == "query" and isinstance(params, Factorial):
                        raise RecipeError(f"params.catalogue: {what}; leave that attribute out")
                    raise RecipeError(f"params.templates.{kind}: {what}; use another word")


def _spec(job: Job[LimitParams]) -> proof.LimitSpec:
    """The recipe in the words of the proof, which reads the catalogue by itself."""
    params = job.params
    files = source_files(params.catalogue)
    if proposes(job) and job.sources is not None:
        files = (made_file(job.sources),)
    listed = proof.read_attributes(files)
    half = proof.split_half([text for text, _ in listed], job.seed, params.catalogue.split)
    wanted, without = params.catalogue.categories, params.catalogue.without
    queries, sums, common, matrix_file = _expected(params)
    relevant, column_sum = _structure(params)
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
        query_templates=() if isinstance(params, Factorial) else params.templates.query,
        row_sums=sums,
        per_query=1 if isinstance(params.form, Single | Semantic) else 2,
        descriptions=(
            proof.read_descriptions(job.sources / DESCRIPTIONS)
            if isinstance(params.form, Semantic) and job.sources is not None
            else None
        ),
        hard_negatives=(params.form.hard_negatives if isinstance(params.form, Conditions) else 0),
        balanced=isinstance(params.form, Balanced),
        common_documents=common,
        distinct_rows=not isinstance(params, PowerLaw | File | Factorial),
        factorial=(
            proof.FactorialSpec(params.form.operators, params.answer_sizes, params.queries_per_cell)
            if isinstance(params, Factorial)
            else None
        ),
        matrix_file=matrix_file,
        relevant_documents=relevant,
        column_sum=column_sum,
        locales=params.names.locales,
        surname_half=None if split == "all" else (job.seed, split),
        training=split == "train",
    )


def _expected(params: LimitParams) -> tuple[int, tuple[int, int], int | None, Path | None]:
    """(queries, least and most relevant documents, documents any two queries share, own matrix)."""
    match params:
        case Hadamard():
            degree = (params.n - round(params.n**0.5)) // 2
            return params.n, (degree, degree), proof.hadamard_common(params.n), None
        case Projective():
            return params.p**2 + params.p + 1, (params.p + 1, params.p + 1), 1, None
        case PowerLaw():
            return params.queries, (1, params.maximum), None, None
        case File():
            lines = params.path.read_text("utf-8-sig").splitlines()[1:]
            judged = [line.split("\t") for line in lines if line.strip()]
            positives = [cells[0] for cells in judged if float(cells[2]) > 0]
            sums = [positives.count(query) for query in dict.fromkeys(positives)]
            return len(sums), (min(sums), max(sums)), None, params.path
        case Factorial():
            sizes = params.answer_sizes
            return len(list(params.cells())), (min(sizes), max(sizes)), None, None
        case _:
            return params.queries, (params.k, params.k), None, None


def _structure(params: LimitParams) -> tuple[int | None, int | None]:
    """(documents with a query, queries that each is relevant to); None where the draw decides."""
    match params:
        case Dense():
            n = params.k
            while math.comb(n, params.k) < params.queries:
                n += 1
            return n, None  # fewer would leave too few subsets, so each is in some
        case Regular():
            among = params.relevant_docs or params.docs
            return among, params.queries * params.k // among
        case Cycle():
            return params.queries * (params.k - 1), 2 if params.k == 2 else None
        case Disjoint():
            return params.queries * params.k, 1
        case Hadamard():
            return params.n, (params.n - math.isqrt(params.n)) // 2
        case Projective():
            return params.p**2 + params.p + 1, params.p + 1
        case _:
            return None, None


def _descriptions(job: Job[LimitParams]) -> list[Described]:
    if job.sources is None:
        raise ValueError("the agents of this job have not been asked")
    return described(job.sources)


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
    result = {"attributes and templates": "Apache-2.0 (retgen)", "names": "MIT (Faker)"}
    if proposes(job):
        result = {
            "templates": "Apache-2.0 (retgen)",
            "attributes": "as the terms of the model that wrote them say",
            "names": "MIT (Faker)",
        }
    if isinstance(job.params.form, Semantic):
        live = PARAPHRASE.name in job.live
        result["descriptions"] = (
            "as the terms of the model that wrote them say" if live else "Apache-2.0 (retgen)"
        )
    return result


def _card(params: LimitParams) -> list[str]:
    text = questions.card(params) if isinstance(params, Factorial) else _of_conjunctions(params)
    if params.catalogue.split == "all":
        text.append("It uses the whole attribute catalogue: pair it with no retgen training set.")
    return text


def _of_conjunctions(params: LimitParams) -> list[str]:
    semantic = isinstance(params.form, Semantic)
    one = isinstance(params.form, Single | Semantic)
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
