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
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retgen.errors import RecipeError
from retgen.generators.family import Evidence, Family, Plan
from retgen.generators.limit import agents as limit_agents
from retgen.generators.limit import tables, words
from retgen.generators.limit.documents import build_latent
from retgen.generators.limit.params import (
    BalancedForm,
    ConditionsForm,
    FactorialPattern,
    LimitParams,
    SemanticForm,
    SingleForm,
)
from retgen.generators.params import Job
from retgen.generators.records import MODEL_TERMS, OWN_LICENCE, Records
from retgen.qrels import patterns
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
    agents = limit_agents.AGENTS
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
        if words.has_proposed_attributes(job):
            size = limit_agents.catalogue_size(params)
            available = size if params.catalogue.split == "all" else (size + 1) // 2
            item, id_size = float(_ITEM), len(str(size))
        else:
            chosen = words.half_of(words.bundled_attributes(), job.seed, params.catalogue.split)
            available = len(chosen)
            item = sum(len(a.text.encode()) for a in chosen) / len(chosen)
            id_size = len(str(max(a.id for a in chosen)))
            if isinstance(params.form, SemanticForm):
                _check_glossary(job, chosen)
        latent = build_latent(params, job.seed, available)
        words.load_names(frozenset(), job.seed, params.catalogue.split, params.docs)
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
            call_estimates=limit_agents.call_estimates(job),
            notes=tuple(notes),
        )

    def required_agents(self, job: Job[LimitParams]) -> frozenset[str]:
        required = []
        if words.has_proposed_attributes(job):
            required += [limit_agents.PROPOSE.name, limit_agents.REMOVE.name]
        if isinstance(job.params.form, SemanticForm):
            required += [limit_agents.PARAPHRASE.name, limit_agents.IDENTIFY.name]
        return frozenset(required)

    async def generate_with_agents(self, job: Job[LimitParams], context: Context) -> None:
        if words.has_proposed_attributes(job):
            await limit_agents.generate_attributes(job, context)
        if isinstance(job.params.form, SemanticForm):
            await limit_agents.generate_descriptions(job, context, words.job_attributes(job)[1])

    def evidence(self, job: Job[LimitParams]) -> Evidence:
        return "judged" if isinstance(job.params.form, SemanticForm) else "structural"

    def judges(self, job: Job[LimitParams]) -> Mapping[str, Mapping[str, Any]]:
        if not isinstance(job.params.form, SemanticForm):
            return {}
        described = limit_agents.read_descriptions(job.source_folder())
        tried = [one.control for one in described if one.control is not None]
        named = sum(choice != limit_agents.NONE for choice in tried)
        message = (
            f"wrong in {named} of {len(tried)} controls, from which the right answer was left out"
        )
        result = {"controls": len(tried), "named_another": named, "measured": message}
        return {limit_agents.IDENTIFY.name: result}

    def generate(self, job: Job[LimitParams]) -> Records:
        params, seed = job.params, job.seed
        everything, chosen = words.job_attributes(job)
        texts, numbers = [a.text for a in chosen], [a.id for a in chosen]
        descriptions: dict[str, str] = {}
        if isinstance(params.form, SemanticForm):
            described = limit_agents.read_descriptions(job.source_folder())
            descriptions = {one.attribute: one.description for one in described}
        asked = [descriptions.get(text, text) for text in texts]
        latent = build_latent(params, seed, len(chosen), list(map(texts.index, descriptions)))
        # without words of the whole list, so that names do not depend on its split
        forbidden = words.attribute_stems(everything)
        names = words.load_names(forbidden, seed, params.catalogue.split, params.docs)
        corpus = tables.DocumentTable(params, seed, latent, names, texts, numbers)
        queries, qrels, pairs = tables.query_tables(params, seed, latent, corpus, asked, numbers)
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
            word_lists=self.word_lists(job) | {"names (Faker)": names.digest},
            card=_card(params),
            training={"pairs": pairs} if params.catalogue.split == "train" else {},
            licences=_licences(job),
        )

    def word_lists(self, job: Job[LimitParams]) -> dict[str, str]:
        return {"attributes": words.attributes_digest(words.job_attributes(job)[0])}

    def checks(self, job: Job[LimitParams], judgements: Judgements) -> Sequence[CorpusRule]:
        return proof.proof_rules(_spec(job), judgements)


def _spec(job: Job[LimitParams]) -> proof.LimitSpec:
    """The recipe in the words of the proof, which reads the catalogue by itself."""
    params, split = job.params, job.params.catalogue.split
    listed = proof.read_attributes(words.catalogue_files(job))
    half = proof.split_half(listed, job.seed, split)
    form, descriptions = params.form, None
    if isinstance(form, SemanticForm):
        descriptions = proof.read_descriptions(job.source_folder() / limit_agents.DESCRIPTIONS)
    return proof.LimitSpec(
        documents=params.docs,
        queries=params.count_queries(),
        attributes_per_doc=params.attributes_per_doc,
        attributes={text: number for number, text in enumerate(listed) if text in half},
        row_sums=params.row_sums(),
        per_query=1 if isinstance(form, SingleForm | SemanticForm) else 2,
        descriptions=descriptions,
        hard_negatives=form.hard_negatives if isinstance(form, ConditionsForm) else 0,
        balanced=isinstance(form, BalancedForm),
        cells=Counter(params.cells()) if isinstance(params, FactorialPattern) else None,
        surname_half=None if split == "all" else (job.seed, split),
        training=split == "train",
        **_fixed_sums(params),
    )


def _fixed_sums(params: LimitParams) -> dict[str, int]:
    """What a pattern fixes of the matrix, in the keys of the proof's specification."""
    queries, k = params.count_queries(), params.row_sums()[0]
    documents, fixed = queries, dict[str, int]()
    match params.pattern:
        case "random" | "factorial":
            return {}
        case "dense":
            return {"relevant_documents": patterns.dense_documents(queries, k)}
        case "cycle" if k > 2:
            return {"relevant_documents": queries * (k - 1)}
        case "disjoint":
            documents = queries * k
        case "regular":
            documents = params.sizes()["documents"]
        case "projective":
            fixed = {"common_documents": 1}
        case "hadamard":
            fixed = {"common_documents": (queries - 2 * math.isqrt(queries)) // 4}
    return fixed | {"relevant_documents": documents, "column_sum": queries * k // documents}


def _check_glossary(job: Job[LimitParams], chosen: Sequence[words.Attribute]) -> None:
    """Without a model, only what the glossary describes can be asked for."""
    queries = job.params.count_queries()
    there = sum(attribute.text in limit_agents.glossary() for attribute in chosen)
    if queries > there and limit_agents.PARAPHRASE.name not in job.live:
        raise RecipeError(
            f"params.queries: {queries:,} queries need as many descriptions; without a model there "
            f"are {there:,}, those of the bundled glossary. Use fewer queries, catalogue.split all,"
            " or a model (for example --model openai:gpt-5-mini)"
        )


def _licences(job: Job[LimitParams]) -> dict[str, str]:
    result = {"attributes and templates": OWN_LICENCE}
    if words.has_proposed_attributes(job):
        result = {"templates": OWN_LICENCE, "attributes": MODEL_TERMS}
    result["names"] = "MIT (Faker)"
    if isinstance(job.params.form, SemanticForm):
        live = limit_agents.PARAPHRASE.name in job.live
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
