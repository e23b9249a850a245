"""croissant.json of a published data set: Croissant 1.1 with the responsible-AI fields 1.0.

https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html and croissant-rai-spec.html there.
Files and tables are described as a reader loads them: files, record sets, fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from retgen.dataset_files import card_header
from retgen.export.files import WITHOUT
from retgen.licences import spdx_name
from retgen.publishing.card import bibtex
from retgen.publishing.published_run import PublishedRun
from retgen.reporting import evidence
from retgen.reporting.card import content_id
from retgen.review.certificates import in_words
from retgen.validators import origin
from retgen.write import FileInfo, dump_json

CROISSANT = "croissant.json"
_CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
# of Croissant: the terms that are no terms of schema.org
_TERMS = (
    "annotation arrayShape citeAs column containedIn equivalentProperty excludes extract field "
    "fileProperty fileObject fileSet format includes isArray isLiveDataset jsonPath key md5 "
    "parentField path readLines recordSet references regex repeated replace samplingRate "
    "sdVersion separator source subField transform unArchive value"
).split()
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
_FORMAT = "application/x-parquet"
_IDS = {"query-id": "queries/_id", "corpus-id": "corpus/_id"}  # columns to what they refer to
_ABOUT = {
    "_id": "Identifies the record.",
    "title": "Title of the document, which may be empty.",
    "query-id": "The query that was judged.",
    "corpus-id": "The document that was judged for it.",
    "score": "Relevance: above 0 relevant, 0 not relevant.",
    "metadata": "Facts beside the text.",
}
_OTHERS = {
    "training": "Rows for a trainer",
    "tables": "A table in the layout of the data set's family",
    "sources": "What the data set was made from",
}
_GRADES = {"score": "Grade of the pair; what counts as relevant stands in the qrels."}


def croissant(run: PublishedRun, folder: Path, files: Mapping[str, FileInfo]) -> str:
    """The text of croissant.json, the same for the same run.

    `folder`: with tables and card; `files`: what is in it.
    """
    recipe, manifest, header = run.recipe, run.manifest, card_header(folder)
    listed = croissant_tables(folder, header["configs"])
    splits = [table.split for table in listed if table.config == "default"]
    created, times = manifest.get("created"), {}
    if _is_time(created):
        # when it was made, which is when it could first be published: no clock is asked
        times = {"dateCreated": created, "datePublished": created}
    tables = {path: info.sha256 for path, info in files.items() if path.endswith(".parquet")}
    digest = content_id(tables).rpartition(" ")[2][:12]
    # one more for each review that changed it
    version = f"{1 + len(manifest.get('lineage') or ())}.0.0+{digest}"
    responsible_ai = _how_made(run) | _how_judged(run, splits) | _what_it_is_for(run, splits)
    return dump_json(
        {
            "@context": CONTEXT,
            "@type": "sc:Dataset",
            "name": manifest["name"],
            "description": f"{evidence.what_it_is(run.own)}: {recipe.family.about(recipe.job)}. "
            "README.md says more; files that are named, and are not beside it, are "
            "those of the run.",
            "conformsTo": _CONFORMS_TO,
            "url": "README.md",
            "license": _licences(run, header),
            **times,
            "version": version,
            "creator": {
                "@type": "sc:Organization",
                "name": "not stated",
                "description": "No person or organisation is named: the run does not say who made "
                "it.",
            },
            "citeAs": bibtex(manifest),
            "keywords": [*header["tags"], *header["task_categories"]],
            **({"inLanguage": header["language"]} if header.get("language") else {}),
            **{f"rai:{name}": value for name, value in responsible_ai.items() if value},
            "distribution": distribution(listed, files),
            "recordSet": record_sets(folder, listed),
        }
    )


def _is_time(created: Any) -> bool:
    """Whether a manifest's time is written as `gen run` writes it."""
    try:
        when = datetime.fromisoformat(created)
    except (TypeError, ValueError):
        return False
    return when.utcoffset() is not None and when.isoformat(timespec="seconds") == created


def _licences(run: PublishedRun, header: Mapping[str, Any]) -> list[Any]:
    """One that holds for all of it, or one for each part."""
    if whole := spdx_name(str(header.get("license"))):
        return [f"https://spdx.org/licenses/{whole}.html"]
    result = []
    for part, text in (run.licences or {"data set": ""}).items():
        known = spdx_name(re.sub(r" \(.*\)$", "", text.strip()))
        url = {"url": f"https://spdx.org/licenses/{known}.html"} if known else {}
        result.append(
            {
                "@type": "sc:CreativeWork",
                "name": " ".join(text.split()) or "not stated",
                "description": f"Licence of: {part}",
                **url,
            }
        )
    return result


# --- in the words of Croissant RAI 1.0 ------------------------------------------------------------
# A field is there only where recipe, manifest, report or review say something of it: of annotators'
# demographics, social impact and plans for later releases a run knows nothing.

_PERSONAL = "personal-data"
_USES = {"train": "Training", "dev": "Validation", "validation": "Validation", "test": "Testing"}


def _how_made(run: PublishedRun) -> dict[str, Any]:
    family, manifest, checks = run.recipe.family, run.manifest, run.checks
    models = manifest.get("models") or {}
    workers = {name: evidence.worker_name(one["model"]) for name, one in models.items()}
    by = "software and language models" if {*workers.values()} - {evidence.OFFLINE} else "software"
    kinds = [] if run.own == "nothing" else ["Secondary Data analysis"]
    kinds += [] if run.own == "queries" else [f"Others: generated by {by}"]
    parts = "; ".join(f"{what}: {one.strip() or 'none'}" for what, one in run.licences.items())
    version = (manifest.get("versions") or {}).get("retgen", "")
    steps = []
    if "errors" in checks:
        found = [_number(checks.get(f"{what}s", 0), what) for what in ("error", "warning")]
        steps.append(f"Checked by retgen {version}: {', '.join(found)}.")
    for rule, reason in (checks.get("switched_off") or {}).items():
        steps.append(_sentences(f"Not checked: {rule}" + (f" ({reason})" if reason else "")))
    if rejected := (manifest.get("counts") or {}).get("rejected"):
        steps.append(f"{_number(rejected, 'record')} rejected while it was made, and not in it.")
    reviews, changed = manifest.get("lineage"), (manifest.get("notes") or {}).get("review", "")
    return {
        "dataCollection": _sentences(
            f"{evidence.what_it_is(run.own)}: {family.about(run.recipe.job)}",
            f"Made from recipe.yaml with seed {run.recipe.file.seed}",
            f"The method is that of: {family.paper}",
            *(
                f"{one.name}, by {workers[one.name]}: {one.prompt.purpose.rstrip('.')}"
                for one in family.agents
                if one.name in workers
            ),
        ),
        "dataCollectionType": kinds,
        "dataCollectionRawData": parts
        and _sentences(f"Parts and their licences: {parts}", "recipe.yaml names the sources"),
        "dataPreprocessingProtocol": steps,
        "dataManipulationProtocol": reviews
        and _sentences(f"The last of {_number(len(reviews), 'review')} by {changed}"),
    }


def _how_judged(run: PublishedRun, splits: Sequence[str]) -> dict[str, Any]:
    """By a proof, by models, by people. `splits`: of the qrels; a run counts those of test."""
    family, manifest, review = run.recipe.family, run.manifest, run.review
    labels, qrels = manifest.get("evidence") or {}, (manifest.get("counts") or {}).get("qrels", 0)
    version = (manifest.get("versions") or {}).get("retgen", "")
    said, tools = [], []
    if proven := labels.get("structural"):
        proof = manifest.get("proof") or family.proof
        said.append(f"Proven: {evidence.proven_labels(proven, qrels, proof)}")
        tools.append(f"retgen {version}: a check that shares no code with the generator.")
    if judged := labels.get("judged"):
        label = manifest.get("judged") or family.label_source
        said.append(f"Judged: {evidence.judged_labels(judged, qrels, label)}")
        judges = manifest.get("judges") or {}, manifest.get("models") or {}
        tools += map(_sentences, evidence.judge_lines(*judges))
    if manifest.get("structure"):
        said.append(f"Proven without a model: {manifest['structure']}")
    if human := labels.get("human"):
        said.append(f"Human: {evidence.human_labels(human, qrels)}")
    if edited := labels.get("edited"):
        said.append(f"Edited: {evidence.edited_labels(edited, qrels)}")
    if said and len(splits) > 1:
        said.append("These are the qrels of split test")
    result: dict[str, Any] = {
        "dataAnnotationProtocol": _sentences(*said),
        "machineAnnotationTools": tools,
    }
    if review is None:
        return result
    agreement = review["agreement"] or {}
    settled = ", ".join(
        f"{seen['looked_at']:,} of {seen['size']:,} {name}"
        for key, name in (("positives", "positives"), ("others", "pairs without a positive label"))
        for seen in (review["populations"][key],)
    )
    analysis = [in_words(one) for one in review["certificates"]]
    if (raw := agreement.get("raw")) and raw["value"] is not None:
        analysis.append(f"Share of pairs on which annotators agree: {raw['value']:.3f}.")
    return result | {
        "dataAnnotationPlatform": ["gen review, of retgen"],
        "annotationsPerItem": _sentences(
            f"In a review of split {review['split']} people settled {settled}",
            _number(review["annotators"], "annotator"),
            f"{_number(agreement.get('items', 0), 'pair')} judged by more than one",
        ),
        "dataAnnotationAnalysis": analysis,
    }


def _what_it_is_for(run: PublishedRun, splits: Sequence[str]) -> dict[str, Any]:
    """What it is for, what it is not, and what is known of personal data in it."""
    manifest, baselines = run.manifest, run.manifest.get("floors") or {}
    known = (one.partition("_")[0] for one in splits)  # test_1024 is a test split
    uses = [*dict.fromkeys(_USES[one] for one in known if one in _USES)]
    biases = [origin.in_words(manifest["origin"])] if manifest.get("origin") else []
    if baselines.get("best") and not evidence.traces_labels(manifest["family"]):
        sets = bool(manifest.get("candidate_sets"))
        biases.append(evidence.query_blind(baselines, candidate_sets=sets))
    what, why = evidence.what_it_is_not(run.own)
    limits = [_sentences(f"Published against the checks of its maker: {x}") for x in run.refused]
    limits.append(f"A score here does not show {what[0].lower()}{what[1:]} {why}")
    if not manifest.get("complete"):
        limits.append("A pair without a qrel is unjudged, not irrelevant.")
    return {
        "dataUseCases": uses + ([manifest["tests"]] if manifest.get("tests") else []),
        "dataBiases": [_sentences(one[0].upper() + one[1:]) for one in biases],
        "dataLimitations": limits,
        "personalSensitiveInformation": _personal(run),
    }


def _personal(run: PublishedRun) -> list[str]:
    """What the rule on personal data found, or why it did not look. No datum, no part of one."""
    if _PERSONAL in run.recipe.family.covers:
        parts = ", ".join(run.licences) or "known parts"
        return [f"Not looked for: the texts are made of {parts}, and a proof reads them back."]
    if _PERSONAL in (run.checks.get("switched_off") or {}):
        return [f"Not looked for: the rule {_PERSONAL} was switched off."]
    if run.findings is None:
        return []
    found = [one["message"].partition(" (")[0] for one in run.findings if one["rule"] == _PERSONAL]
    if not found:
        from retgen.validators.rules.sensitive import PersonalData

        return [f"None found of {PersonalData.finds}. Names of persons are not looked for."]
    return [_sentences(one[0].upper() + one[1:]) for one in found]


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _sentences(*said: str) -> str:
    return " ".join(f"{' '.join(one.split()).rstrip('.')}." for one in said if one.strip())


# --- files and tables -----------------------------------------------------------------------------


class CroissantTable(NamedTuple):
    """A split of a configuration. `name`: its record set; `files`: below the folder, in order."""

    name: str
    config: str
    split: str
    files: tuple[str, ...]


def croissant_tables(folder: Path, configs: list[Mapping[str, Any]]) -> list[CroissantTable]:
    """The tables that the card of a folder names, corpus and queries first.

    Of configurations that show columns of the same files the first.
    """
    result: list[CroissantTable] = []
    for config in configs:
        for one in config["data_files"]:
            paths = sorted(p.relative_to(folder).as_posix() for p in folder.glob(one["path"]))
            if any(table.files == tuple(paths) for table in result):
                continue
            stem, _, file = one["path"].partition("/")
            whole = stem.startswith(("corpus", "queries"))
            name = stem if whole else f"{stem}/{Path(file).stem}"
            result.append(CroissantTable(name, config["config_name"], one["split"], tuple(paths)))
    return sorted(
        result,
        key=lambda table: (
            ("corpus", "queries").index(table.name) if table.name in ("corpus", "queries") else 2
        ),
    )


def distribution(
    listed: list[CroissantTable], files: Mapping[str, FileInfo]
) -> list[dict[str, Any]]:
    """The files, each with its hash, and of a table in several files the set of these."""
    result: list[dict[str, Any]] = []
    for table in listed:
        for path in table.files:
            result.append(
                {
                    "@type": "cr:FileObject",
                    "@id": path,
                    "name": path,
                    "contentUrl": path,
                    "contentSize": f"{files[path].bytes} B",
                    "encodingFormat": _FORMAT,
                    "sha256": files[path].sha256,
                }
            )
        if len(table.files) > 1:
            result.append(
                {
                    "@type": "cr:FileSet",
                    "@id": _source(table)["fileSet"]["@id"],
                    "name": f"files of {table.name}",
                    "encodingFormat": _FORMAT,
                    "includes": list(table.files),
                }
            )
    return result


def record_sets(folder: Path, listed: list[CroissantTable]) -> list[dict[str, Any]]:
    """The tables as record sets, with the types of their columns and what these refer to."""
    import pyarrow.parquet as pq

    names = {table.name for table in listed}
    result = []
    for table in listed:
        schema = pq.read_schema(folder / table.files[0])
        pair = {"query-id", "corpus-id"} <= set(schema.names)
        key = ["query-id", "corpus-id"] if pair else ["_id"] if "_id" in schema.names else []
        fields = []
        for number, column in enumerate(schema):
            extract = {**_source(table), "extract": {"column": column.name}}
            for field in _field(table.name, number, column.name, column.type, extract, ()):
                known = _ABOUT | (_GRADES if table.config == "graded" else {})
                if column.name in known:
                    field["description"] = known[column.name]
                if target := _target(table, column.name, names):
                    field["references"] = {"field": {"@id": target}}
                fields.append(field)
        result.append(
            {
                "@type": "cr:RecordSet",
                "@id": table.name,
                "name": table.name,
                "description": _about(table),
                **({"key": [{"@id": f"{table.name}/{one}"} for one in key]} if key else {}),
                "field": fields,
            }
        )
    return result


def _about(table: CroissantTable) -> str:
    apart = WITHOUT in table.name
    if table.name.startswith("queries"):
        what = "Queries without a positive in any split" if apart else "Queries with a positive"
    elif table.name.startswith("qrels"):
        what = "Relevance judgements" if table.config != "graded" else "Grades of judged pairs"
        what += f", split {table.split}"
        what += ", of queries without a positive in it" if apart else ""
    else:
        what = _OTHERS.get(table.name.partition("/")[0], "Documents")
    return f"{what}. In load_dataset: configuration {table.config}, split {table.split}."


def _source(table: CroissantTable) -> dict[str, Any]:
    if len(table.files) > 1:
        return {"fileSet": {"@id": f"{table.name}-files"}}
    return {"fileObject": {"@id": table.files[0]}}


def _target(table: CroissantTable, column: str, names: set[str]) -> str | None:
    """The field that a column refers to, None where its ids stand in two tables."""
    split_up = f"queries_{WITHOUT}" in names and table.config != "default"
    if not table.name.startswith("qrels") or (column == "query-id" and split_up):
        return None
    target = _IDS.get(column)
    return target if target and target.partition("/")[0] in names else None


def _field(
    parent: str, number: int, name: str, kind: Any, source: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """A column, or a member of one: `path` leads to it from the column.

    None for lists of lists of structs, which no path of Croissant reaches.
    """
    import pyarrow as pa

    plain = re.fullmatch(r"[\w-]+", name, re.ASCII)
    # an id is part of an IRI: what may not stand in one is called by its number
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{parent}/{name if plain else f'~{number}'}",
        "name": name,
    }
    depth = 0
    while pa.types.is_list(kind):
        kind, depth = kind.value_type, depth + 1
    if depth:
        field |= {"isArray": True, "arrayShape": ",".join(["-1"] * depth)}
    if not pa.types.is_struct(kind):
        yield field | {"dataType": _data_type(kind), "source": _at(source, path)}
    elif depth < 2:
        members = [kind.field(i) for i in range(kind.num_fields)]
        yield field | {
            "subField": [
                one
                for i, member in enumerate(members)
                for one in _field(
                    field["@id"], i, member.name, member.type, source, (*path, member.name)
                )
            ]
        }


def _at(source: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """A step for each level: a step into a list is one into each of its members."""
    names = [re.sub(r"(['\\])", r"\\\1", name) for name in path]
    steps = [{"jsonPath": f"$['{name}']"} for name in names]
    if not steps:
        return dict(source)
    return {**source, "transform": steps if len(steps) > 1 else steps[0]}


def _data_type(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"
