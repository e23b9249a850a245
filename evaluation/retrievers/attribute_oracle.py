"""The oracle of LIMIT's documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from retgen.evaluation.embedders.options import Options
from retgen.evaluation.search.base import Retriever, RetrieverType


class AttributeOracle(RetrieverType):
    names: ClassVar[Mapping[str, str]] = {
        "attribute-oracle": "LIMIT's oracle: each listed attribute is a token (footnote 9)"
    }

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.search import attributes

        return attributes.AttributeOracle()
