"""Which rules there are, and what is done with findings: switched off, folded.

A rule is switched off by name, in a recipe or beside it for one call; not one that proves the
labels of a run, or ties its files to its manifest.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from retgen.data import TableFiles
from retgen.errors import RecipeError, RetgenError, UsageError
from retgen.generators import families, family
from retgen.messages import did_you_mean
from retgen.recipe import Recipe
from retgen.rows import Problem, RowPlace
from retgen.validators.rule import SEVERITIES, Finding
from retgen.validators.rules import listed

# beside the classes: what the engine itself finds in any data set, and what vouches for a run
# beside its family's proof; docs/rules.md says what each finds
_ENGINE = ("schema", "overlap")
_VOUCH = frozenset(("manifest", "word-lists", "regenerated", "review", "sources"))


def generic_rules() -> list[str]:
    """Rules over any data set, in the order of their findings."""
    return [*_ENGINE, *(one.name for one in listed())]


def rule_names(recipe: Recipe | None) -> tuple[frozenset[str], frozenset[str]]:
    """(all rules by name, those of them that vouch for a run)."""
    vouch = _VOUCH | recipe.family.proofs if recipe else frozenset()
    return vouch.union(generic_rules()), vouch


def table(docs: Path) -> Iterator[tuple[str, str, str]]:
    """(names, severity, what is found) of the rules that are classes, and of families' proofs.

    Families are explained in pages of `docs`.
    """
    for row in listed():
        yield f"`{row.name}`", row.severity, row.finds
    for name in families():
        page = f"[{name}]({name}.md)" if (docs / f"{name}.md").exists() else name
        proofs = ", ".join(f"`{rule}`" for rule in sorted(family(name).proofs))
        yield proofs, "error", f"the structural proof of the family {page}"


_NAMED = 5  # records or rows that a folded finding names; all are in its ids


# --- switched off --------------------------------------------------------------------------------


def check_rule_names(recipe: Recipe) -> None:
    """A recipe switches off rules that exist, and may be; raises `RecipeError`."""
    _check(recipe, recipe.file.rules.off, "validate.off", RecipeError)


def rules_off(recipe: Recipe | None, off: Mapping[str, str]) -> dict[str, str]:
    """The rules that a recipe and this call switch off, with the reasons. Raises `UsageError`.

    Raises `RecipeError` for a recipe.yaml that was changed after its run, to what it may not say.
    """
    _check(recipe, off, "--off", UsageError)
    if recipe is None:
        return dict(off)
    check_rule_names(recipe)
    return recipe.file.rules.off | dict(off)


def _check(
    recipe: Recipe | None, off: Mapping[str, str], where: str, kind: type[RetgenError]
) -> None:
    """Raise an error of this kind for a rule that cannot be switched off."""
    if not off:
        return
    names, proof = rule_names(recipe)
    for name in off:
        if name.partition("/")[0] in proof:
            raise kind(
                f"{where}: {name} vouches for this data set, so it cannot be switched off. That "
                f"holds for {', '.join(sorted(proof))}"
            )
        if name not in names:
            raise kind(
                f"{where}: there is no rule {name!r}{did_you_mean(name, sorted(names)) or '.'} "
                f"Rules: {', '.join(sorted(names))}"
            )


def kept_findings(findings: Iterable[Finding], off: Container[str]) -> list[Finding]:
    """The findings of rules that are not switched off, errors first, equal ones folded."""
    kept = [finding for finding in findings if finding.rule.partition("/")[0] not in off]
    return sorted(fold_findings(kept), key=lambda finding: SEVERITIES.index(finding.severity))


# --- many of one kind ---------------------------------------------------------------------------

# a number by itself; that of "U+200B" is part of a name
_NUMBER = re.compile(r"(?<![\w+])[0-9]+(?:[.,][0-9]+)*(?!\w)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def fold_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Findings that differ only in records, numbers and quotations become one with all ids.

    The first of them speaks for all; `Finding.folded` keeps every one.
    """
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.rule, finding.severity, _shape(finding)), []).append(finding)
    return [members[0] if len(members) == 1 else _one(members) for members in alike.values()]


def _shape(finding: Finding) -> str:
    named = set(finding.ids[:_NAMED])
    words = ("" if word.strip("(),:;") in named else word for word in finding.message.split())
    return _NUMBER.sub("0", _QUOTED.sub("''", " ".join(words)))


def _one(members: Sequence[Finding]) -> Finding:
    first, *rest = members
    return Finding(
        first.rule,
        first.severity,
        list(dict.fromkeys(one for finding in members for one in finding.ids)),
        first.message + _more([" and ".join(finding.ids[:_NAMED]) for finding in rest]),
        tuple({"ids": finding.ids, "message": finding.message} for finding in members),
    )


def _more(others: Sequence[str]) -> str:
    """How many findings or rows there are beside the first, and the names of some."""
    named = ", ".join(filter(None, others[:_NAMED]))
    etc = ", ..." if len(others) > _NAMED else ""
    return f" ({len(others):,} more of this kind{': ' if named else ''}{named}{named and etc})"


def rows_at_fault(
    root: Path, table: TableFiles, problems: Sequence[Problem], read: int | None = None
) -> Iterator[Finding]:
    """Invalid rows of a table, one finding for all with the same fault.

    `read`: how many rows it has that are right; a table must not be empty.
    """
    if read == 0 and not problems:
        name = RowPlace(table.files[0], 0).below(root).name()
        rows = "documents" if table.name == "corpus" else table.name
        yield Finding("schema", "error", [name], f"{name} is empty: there are no {rows}")
    faults: dict[str, list[RowPlace]] = {}
    places = table.places([problem.line for problem in problems])
    for place, problem in zip(places, problems, strict=True):
        faults.setdefault(problem.reason, []).append(place.below(root))
    for reason, members in faults.items():
        ids = [place.name() for place in members]
        others = [place.name() if place.number else "" for place in members[1:]]
        more = _more(others) if others else ""
        yield Finding("schema", "error", ids, f"{members[0]}: {reason}{more}")
