"""Parameters of the LIMIT family, discriminated by `pattern` and by `form.type`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from retgen.generators.params import Distinct, Params


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


class CatalogueParams(Params):
    """Which attributes a data set may use."""

    split: Literal["test", "train", "all"] = Field(
        "test",
        description="half of the list, chosen by the seed; a set made from `all` must not be "
        "paired with any training set",
    )
    size: int | None = Field(
        None, ge=2, description="attributes that a model proposes; default: what the recipe needs"
    )


class Pattern(Params):
    """A qrel matrix, and the words that it is put into."""

    pattern: str
    docs: Count = Field(50_000, description="documents, distractors included")
    attributes_per_doc: Count = Field(45, description="attributes of every document, exactly")
    form: Form = Field(SingleForm(), description="what a query asks for")
    catalogue: CatalogueParams = CatalogueParams()

    def sizes(self) -> dict[str, int]:
        """The arguments of the pattern's function in `retgen.qrels.patterns`, where it has one."""
        return {}

    def row_sums(self) -> tuple[int, int]:
        """The fewest and the most relevant documents of a query."""
        raise NotImplementedError

    def count_queries(self) -> int:
        """Rows of the matrix, without building it."""
        raise NotImplementedError


class SubsetsPattern(Pattern):
    """Distinct k-subsets as relevant documents of the queries.

    dense: of the smallest number of documents that has enough (the paper's LIMIT); random: of all
    documents; cycle: neighbouring queries share one document; disjoint: none share any (Appendix
    C).
    """

    pattern: Literal["dense", "random", "cycle", "disjoint"]
    queries: Count = 1000
    k: Count = Field(2, description="relevant documents a query")

    def sizes(self) -> dict[str, int]:
        among = {"documents": self.docs} if self.pattern == "random" else {}
        return {"queries": self.queries, "k": self.k, **among}

    def row_sums(self) -> tuple[int, int]:
        return self.k, self.k

    def count_queries(self) -> int:
        return self.queries


class RegularPattern(SubsetsPattern):
    """Distinct k-subsets, each of `relevant_docs` documents (default: all) in equally many."""

    pattern: Literal["regular"]  # type: ignore[assignment]
    relevant_docs: Count | None = None

    def sizes(self) -> dict[str, int]:
        return {"queries": self.queries, "k": self.k, "documents": self.relevant_docs or self.docs}


class HadamardPattern(Pattern):
    """n x n, (n - sqrt n)/2 relevant documents a query; n a power of 4. Proven hard: ~sqrt n."""

    pattern: Literal["hadamard"]
    n: Count = 64

    def sizes(self) -> dict[str, int]:
        return {"n": self.n}

    def row_sums(self) -> tuple[int, int]:
        degree = (self.n - round(self.n**0.5)) // 2
        return degree, degree

    def count_queries(self) -> int:
        return self.n


class ProjectivePattern(Pattern):
    """Lines and points of the projective plane over F_p: any two queries share one document."""

    pattern: Literal["projective"]
    p: Count = Field(31, description="a prime; p*p + p + 1 queries, p + 1 relevant documents each")

    def sizes(self) -> dict[str, int]:
        return {"p": self.p}

    def row_sums(self) -> tuple[int, int]:
        return self.p + 1, self.p + 1

    def count_queries(self) -> int:
        return self.p**2 + self.p + 1


class FactorialPattern(Pattern):
    """Every operator with every number of answers, equally often; with `operators` only."""

    pattern: Literal["factorial"]
    form: OperatorsForm = Field(OperatorsForm(), description="which operators")  # type: ignore[assignment]
    answer_sizes: Annotated[tuple[Size, ...], Distinct] = Field(
        (1, 2, 10, 50), min_length=1, description="relevant documents of a query, exactly"
    )
    queries_per_cell: int = Field(
        25, ge=1, le=10_000, description="of each operator and number of answers"
    )

    def row_sums(self) -> tuple[int, int]:
        return min(self.answer_sizes), max(self.answer_sizes)

    def count_queries(self) -> int:
        return len(self.form.operators) * len(self.answer_sizes) * self.queries_per_cell

    def cells(self) -> Iterator[tuple[Operator, int]]:
        """Operator and number of answers of every row of the matrix."""
        for operator in self.form.operators:
            for size in self.answer_sizes:
                yield from [(operator, size)] * self.queries_per_cell


LimitParams = Annotated[
    SubsetsPattern | RegularPattern | HadamardPattern | ProjectivePattern | FactorialPattern,
    Field(discriminator="pattern"),
]
