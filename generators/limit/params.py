"""Parameters of the LIMIT family, discriminated by `pattern` and by `form.type`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from retgen.generators.limit.words import LOCALES, CatalogueParams, Locale
from retgen.generators.params import Distinct, InputFile, Params


def _document_template(template: str) -> str:
    if template.count("{name}") != 1 or template.count("{attributes}") != 1:
        raise ValueError("a document template holds {name} once and {attributes} once")
    middle = template.partition("{name}")[2].partition("{attributes}")
    if not middle[1] or not middle[0].strip() or middle[0][0].isalnum() or middle[0][-1].isalnum():
        raise ValueError("{name} comes first, then a space and at least a word, then {attributes}")
    return _one_line(template)


def _query_template(template: str) -> str:
    if template.count("{attributes}") != 1:
        raise ValueError("a query template holds {attributes} once")
    return _one_line(template)


def _one_line(template: str) -> str:
    if any(ord(c) < 32 for c in template):
        raise ValueError("a template is one line without control characters")
    return template


DocumentTemplate = Annotated[str, AfterValidator(_document_template)]
QueryTemplate = Annotated[str, AfterValidator(_query_template)]


class DocumentTemplates(Params):
    """The paper's sentence (§5.2) or your own; of several, the seed deals one to each document."""

    document: tuple[DocumentTemplate, ...] = Field(
        ("{name} likes {attributes}.",), min_length=1, max_length=64
    )


class Templates(DocumentTemplates):
    """Sentences of the paper (§5.2) or your own; of several, the seed deals one to each record."""

    query: tuple[QueryTemplate, ...] = Field(
        ("Who likes {attributes}?",), min_length=1, max_length=64
    )


class NamesParams(Params):
    """Where people's names come from."""

    locales: tuple[Locale, ...] = Field(LOCALES, min_length=1, description="Faker locales")


class SingleForm(Params):
    """One attribute a query, as in the paper."""

    type: Literal["single"] = "single"


class ConditionsForm(Params):
    """Two attributes a query; `hard_negatives` documents hold only one of them, for each."""

    type: Literal["conditions"]
    hard_negatives: int = Field(
        10, ge=0, description="documents with exactly one, for each of the two"
    )


class BalancedForm(Params):
    """Two attributes a query, drawn from one pool for all documents: no query-blind shortcut.

    Every attribute of the pool stands in the same number of documents, and an asked pair stands
    together only in its relevant documents.
    """

    type: Literal["balanced"]
    pool: int = Field(1000, ge=4, description="attributes that documents may have")


class SemanticForm(Params):
    """One attribute a query, which a description stands for: no word of it is in the query."""

    type: Literal["semantic"]


Operator = Literal["and", "or", "and-not", "and-and-not"]
OPERATORS: tuple[Operator, ...] = ("and", "or", "and-not", "and-and-not")


class OperatorsForm(Params):
    """Two or three attributes a query, joined by an operator: A and B, A or B, A but not B, ..."""

    type: Literal["operators"] = "operators"
    operators: Annotated[tuple[Operator, ...], Distinct] = Field(OPERATORS, min_length=1)


Form = Annotated[
    SingleForm | ConditionsForm | BalancedForm | SemanticForm, Field(discriminator="type")
]
Count = Annotated[int, Field(ge=1)]
Size = Annotated[int, Field(ge=1, le=1_000_000)]


class _Common(Params):
    docs: Count = Field(50_000, description="documents, distractors included")
    attributes_per_doc: Count = Field(45, description="attributes of every document, exactly")
    form: Form = Field(SingleForm(), description="what a query asks for")
    catalogue: CatalogueParams = CatalogueParams()
    names: NamesParams = NamesParams()
    templates: Templates = Templates()


class _Sized(_Common):
    queries: Count = 1000
    k: Count = Field(2, description="relevant documents a query")


class DensePattern(_Sized):
    """All k-subsets of the smallest number of documents that has enough (the paper's LIMIT)."""

    pattern: Literal["dense"]


class RandomPattern(_Sized):
    """Distinct k-subsets of all documents."""

    pattern: Literal["random"]


class RegularPattern(_Sized):
    """Distinct k-subsets, each of `relevant_docs` documents (default: all) in equally many."""

    pattern: Literal["regular"]
    relevant_docs: Count | None = None


class CyclePattern(_Sized):
    """Neighbouring queries share one document (Appendix C)."""

    pattern: Literal["cycle"]


class DisjointPattern(_Sized):
    """No two queries share a document (Appendix C)."""

    pattern: Literal["disjoint"]


class PowerLawPattern(_Common):
    """Relevant documents a query follow Zipf's law, from 1 to `maximum`."""

    pattern: Literal["power_law"]
    queries: Count = 1000
    exponent: float = Field(1.5, gt=0, le=10)
    maximum: Count = 100


class FilePattern(_Common):
    """A matrix of your own: a qrels TSV with the header query-id, corpus-id, score."""

    pattern: Literal["file"]
    path: InputFile


class HadamardPattern(_Common):
    """n x n, (n - sqrt n)/2 relevant documents a query; n a power of 4. Proven hard: ~sqrt n."""

    pattern: Literal["hadamard"]
    n: Count = 64


class ProjectivePattern(_Common):
    """Lines and points of the projective plane over F_p: any two queries share one document."""

    pattern: Literal["projective"]
    p: Count = Field(31, description="a prime; p*p + p + 1 queries, p + 1 relevant documents each")


class FactorialPattern(_Common):
    """Every operator with every number of answers, equally often; with `operators` only."""

    pattern: Literal["factorial"]
    form: OperatorsForm = Field(OperatorsForm(), description="which operators")  # type: ignore[assignment]
    templates: DocumentTemplates = DocumentTemplates()  # type: ignore[assignment]
    answer_sizes: Annotated[tuple[Size, ...], Distinct] = Field(
        (1, 2, 10, 50), min_length=1, description="relevant documents of a query, exactly"
    )
    queries_per_cell: int = Field(
        25, ge=1, le=10_000, description="of each operator and number of answers"
    )

    def cells(self) -> Iterator[tuple[Operator, int]]:
        """Operator and number of answers of every row of the matrix."""
        for operator in self.form.operators:
            for size in self.answer_sizes:
                yield from [(operator, size)] * self.queries_per_cell


LimitParams = Annotated[
    DensePattern
    | RandomPattern
    | RegularPattern
    | CyclePattern
    | DisjointPattern
    | PowerLawPattern
    | FilePattern
    | HadamardPattern
    | ProjectivePattern
    | FactorialPattern,
    Field(discriminator="pattern"),
]
