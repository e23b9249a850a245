"""A version made after a review: what is proven, what is people's, and where the two disagree.

The family's proof holds for what the recipe makes without people. So these tables are made again
and proven, and what differs in the version is exactly what its decisions change, which
`regenerated` compares row by row. Decisions are tied to the texts that people looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from retgen.data import Dataset, open_dataset
from retgen.generate import write_dataset
from retgen.messages import quote
from retgen.progress import Progress
from retgen.recipe import SOURCES, Recipe, written_out
from retgen.reviewed.apply import RULE, ReviewedRecords
from retgen.reviewed.decisions import digest, read_decisions
from retgen.validators.rule import Finding
from retgen.validators.validation import Validation
from retgen.work import Local
from retgen.write import make_folder, write_file
from retgen.yaml_text import to_yaml

_NAMED = 5


def tables_before(run: Path, recipe: Recipe, folder: Path, progress: Progress) -> Dataset:
    """What the recipe of a run makes without people, written into an empty folder.

    `recipe`: the run's `before_review`, `at` the folder.
    """
    make_folder(folder)
    for name in (SOURCES, "inputs"):
        if (run / name).is_dir():
            (folder / name).symlink_to((run / name).resolve(), target_is_directory=True)
    write_file(folder / "recipe.yaml", to_yaml(written_out(recipe)[0]))
    write_dataset(recipe, recipe.records(), folder, Local(1), progress)
    # what was rejected before the review, agents' records too, stands where a proof looks for it
    lines = (run / "rejected.jsonl").read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if orjson.loads(line)["rule"] != RULE]
    write_file(folder / "rejected.jsonl", b"".join(kept))
    return open_dataset(folder, checked=False)


def combine(
    result: Validation,
    before: Validation,
    recipe: Recipe,
    made: ReviewedRecords,
    earlier: Dataset,
) -> None:
    """Make of what the tables say, and of the proof without people, what is true of the version.

    `earlier`: the tables without people.
    """
    proofs = recipe.family.proofs
    of_tables = [one for one in result.findings if one.rule.partition("/")[0] not in proofs]
    of_proof = [
        one._replace(message=f"before the review: {one.message}")
        for one in before.findings
        if one.severity == "error" and one.rule.partition("/")[0] in proofs | {"sources"}
    ]
    result.findings = [*of_proof, *_not_looked_at(recipe, earlier), *of_tables]
    split = result.splits[0]
    human, judged = len(made.human.get(split, {})), len(made.judged.get(split, {}))
    rest = result.statistics["qrels"] - human - judged
    kind = recipe.family.evidence(recipe.job)
    human += rest if kind == "human" else 0
    result.human, result.reviewed = human if result.ok else 0, True
    result.proven = rest if kind == "structural" and result.ok else 0
    judged += rest if kind == "judged" else 0
    result.judged = judged if result.ok else 0
    for one in made.lineage:
        result.judges |= one["review"].get("judges", {})
    if made.against and kind != "human":
        result.findings.append(_against(made, kind == "structural"))


def _against(made: ReviewedRecords, structural: bool) -> Finding:
    pairs = made.against
    named = ", ".join(f"({q}, {d})" for q, d in pairs[:_NAMED])
    more = ", ..." if len(pairs) > _NAMED else ""
    count = f"{len(pairs):,} {'pair' if len(pairs) == 1 else 'pairs'}"
    ids = list(dict.fromkeys(name for pair in pairs for name in pair))
    if structural:
        message = (
            f"people disagree with the proof on {count} ({named}{more}): their labels hold here. "
            "Either the texts can be read in a way that the proof does not know, or the people "
            "erred; look at these again before you use the set"
        )
        return Finding(RULE, "warning", ids, message)
    message = f"people turned round the judge's label of {count} ({named}{more})"
    return Finding(RULE, "info", ids, message)


def _not_looked_at(recipe: Recipe, before: Dataset) -> Iterator[Finding]:
    """Decisions of the first review on other texts than the recipe makes.

    Later reviews looked at the version of the one before; where its texts differ, they state them.
    """
    path = recipe.file.review[0]
    wanted = read_decisions(path).rows
    queries = {one.query_id: one.text for one in before.queries.read()[0]}
    of = {one.doc_id for one in wanted}
    documents = {one.doc_id: one for one in before.documents() if one.doc_id in of}
    for one in wanted:
        document = documents.get(one.doc_id)
        if document is None or one.query_id not in queries:
            what = "is a pair that the recipe does not make"
        elif digest(queries[one.query_id], document.title, document.text) != one.shown:
            what = f"was looked at with other texts than {quote(document.text)}"
        else:
            continue
        message = f"{path.name}: ({one.query_id}, {one.doc_id}) {what}; apply the review again"
        yield Finding(RULE, "error", [one.query_id, one.doc_id], message)
