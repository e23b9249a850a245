"""Which rules there are: those that are found as files, and what the engine itself reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from retgen.generators import families, family
from retgen.recipe import Recipe
from retgen.validators.rule import Listed
from retgen.validators.rules import listed

_ENGINE = (
    Listed(
        "schema",
        "error",
        "rows that are not JSON or not a document, query or qrel, and rows with a key twice, of "
        "which parsers keep the last in silence (ids are `table:row`)",
    ),
    Listed("byte-order-mark", "warning", "files that begin with U+FEFF, which is read past"),
    Listed(
        "overlap",
        "warning",
        "with `--against`: documents and queries that another data set holds too, or nearly (ids "
        "are those of the data set under test)",
    ),
)
# beside the rules of the family's proof: what a run's labels and files rest on
_VOUCH = (
    Listed(
        "manifest",
        "error",
        "a file that is not the one in the manifest; a figure or text of the manifest that recipe "
        "and tables do not give",
    ),
    Listed("word-lists", "error", "word lists that have changed since the run"),
    Listed(
        "regenerated",
        "error",
        "rows of a table, or of what offline agents said, that the recipe does not make, or that "
        "cannot be made again; a warning for another version of retgen, other word lists, or a "
        "model of the Hub that cannot be had",
    ),
    Listed(
        "derived",
        "error",
        "the card, `report.json`, `report.html` or `rejected.jsonl` that recipe and tables do not "
        "give",
    ),
    Listed(
        "review",
        "error",
        "decisions of people that are on other labels or texts than the recipe makes; a warning "
        "where people disagree with the proof",
    ),
    Listed(
        "sources",
        "error",
        "a file of `sources/` that is lost, or has a row that its family cannot have left: without "
        "it a proof cannot be repeated",
    ),
)


def generic_rules() -> list[str]:
    """Rules over any data set, in the order of their findings."""
    return [one.name for one in (*_ENGINE, *listed())]


def rule_names(recipe: Recipe | None) -> tuple[frozenset[str], frozenset[str]]:
    """(all rules by name, those of them that vouch for a run)."""
    generic = frozenset(generic_rules())
    if recipe is None:
        return generic, frozenset()
    vouch = frozenset(one.name for one in _VOUCH) | recipe.family.proofs
    return generic | vouch, vouch


def table(docs: Path) -> Iterator[tuple[str, str, str]]:
    """(names, severity, what is found) of all rules; families are explained in pages of `docs`."""
    for row in (*_ENGINE, *listed()):
        yield f"`{row.name}`", row.severity, row.finds
    for name in families():
        page = f"[{name}]({name}.md)" if (docs / f"{name}.md").exists() else name
        proofs = ", ".join(f"`{rule}`" for rule in sorted(family(name).proofs))
        yield proofs, "error", f"the structural proof of the family {page}"
    for row in _VOUCH:
        yield f"`{row.name}`", row.severity, row.finds
