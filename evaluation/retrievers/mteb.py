"""MTEB's models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import metadata

from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.search.base import Retriever, RetrieverType
from retgen.search.embedders.options import Options

# an extra of mteb -> the variables of which its provider's client reads one
_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "google_genai": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "voyageai": ("VOYAGE_API_KEY",),
    "voyage_v": ("VOYAGE_API_KEY",),
}


class Mteb(RetrieverType):
    prefix = "mteb"
    form = "mteb:NAME"
    about = (
        "a model of MTEB's registry, with its loader and prompts; options that its loader cannot "
        "take are refused by name"
    )
    needs = ("torch", "mteb")

    def check(self, name: str) -> None:
        """Look into the registry, which needs no torch: the model, its packages, its key."""
        super().check(name)
        try:
            import mteb
        except ModuleNotFoundError as error:
            raise UsageError(
                f"--model {name}: needs the package {error.name}; pip install 'retgen[eval]'"
            ) from error
        model = name.partition(":")[2]
        known = {meta.name: meta for meta in mteb.get_model_metas() if meta.name}
        if model not in known:
            hint = did_you_mean(model, known)
            raise UsageError(f"--model {name}: MTEB's registry has no {model!r}{hint or '.'}")
        extras = known[model].extra_requirements_groups or ()
        if missing := sorted(set(_missing(extras))):
            raise UsageError(
                f"--model {name}: needs the package{'s' * (len(missing) > 1)} "
                f"{', '.join(missing)}; pip install 'mteb[{','.join(extras)}]'"
            )
        for variables in (_KEYS[extra] for extra in extras if extra in _KEYS):
            if not any(map(os.environ.get, variables)):
                raise UsageError(
                    f"--model {name}: its provider needs a key, and there is none in "
                    f"{' or '.join(variables)}; export {variables[0]}=..."
                )

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.evaluation.search.mteb_model import mteb_retriever

        return mteb_retriever(name, name.partition(":")[2], options)


def _missing(extras: Sequence[str]) -> Iterator[str]:
    """The packages of extras of mteb that are not installed."""
    from packaging.requirements import Requirement

    for one in map(Requirement, metadata.requires("mteb") or ()):
        if one.marker and any(one.marker.evaluate({"extra": extra}) for extra in extras):
            try:
                metadata.version(one.name)
            except metadata.PackageNotFoundError:
                yield one.name
