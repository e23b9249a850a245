"""Models of MTEB's registry, with its loader and its prompts: `mteb:NAME`."""

from __future__ import annotations

from retgen.errors import UsageError
from retgen.messages import did_you_mean
from retgen.search.base import Retriever, RetrieverType
from retgen.search.embedders.options import Options


class Mteb(RetrieverType):
    prefix = "mteb"
    form = "mteb:NAME"
    about = (
        "an embedder of MTEB's registry, with its loader and prompts; `--dims`, `--device` and "
        "`--batch-size` apply"
    )
    needs = ("torch", "mteb")

    def check(self, name: str) -> None:
        """Look into the registry, which needs no torch."""
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

    def load(self, name: str, options: Options) -> Retriever:
        from retgen.search.embedders.mteb_model import load_registered
        from retgen.search.vectors import VectorRetriever

        embedder = load_registered(name, name.partition(":")[2], options)
        return VectorRetriever(name, embedder, options)
