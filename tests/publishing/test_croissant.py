"""croissant.json: valid under mlcroissant without a warning, which reads from it what is published."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import retgen
from retgen import publish
from retgen.dataset_files import card_header
from retgen.export import write_export
from retgen.export.layouts import parquet
from retgen.publishing.croissant import (
    CONTEXT,
    croissant_tables,
    distribution,
    record_sets,
)
from retgen.publishing.destinations import destinations
from retgen.review import open_review
from retgen.write import file_info
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.publishing.test_publish import judge, state

# of libraries below mlcroissant, on their own next versions
pytestmark = [
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword:Warning"),
]


@pytest.fixture(scope="module")
def passages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CapRetrieval run of eight documents: splits test, dev and train."""
    folder = tmp_path_factory.mktemp("capretrieval")
    source = write_rows(folder / "kb.jsonl", TEXTS, ["Windmills to visit"])
    path = retgen.run(write_recipe(folder / "kb.yaml", source), out=folder / "kb").path
    manifest = json.loads((path / "manifest.json").read_text())
    state({**manifest, "licences": {"documents": "CC0-1.0", "queries": "CC0-1.0"}}, path)
    return path


def told(out: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((out / "croissant.json").read_text("utf-8"))
    return result


def opened(path: Path, caplog: pytest.LogCaptureFixture) -> Any:
    """What mlcroissant makes of a file; it has nothing to say against it."""
    import mlcroissant

    with caplog.at_level(logging.WARNING):
        made = mlcroissant.Dataset(str(path))
    assert (made.metadata.ctx.issues.errors, made.metadata.ctx.issues.warnings) == (set(), set())
    assert [record.getMessage() for record in caplog.records] == []
    return made


def rows(made: Any, name: str) -> list[dict[str, Any]]:
    """A record set as mlcroissant reads it, with the names of columns and keys."""
    names: dict[str, str] = {}

    def learn(fields: list[Any]) -> None:
        for field in fields:
            names[field.id] = field.name
            learn(field.sub_fields)

    for one in made.metadata.record_sets:
        learn(one.fields)

    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, Mapping):
            return {names[key]: plain(one) for key, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list) else value

    return [plain(record) for record in made.records(name)]


def table(out: Path, pattern: str) -> list[dict[str, Any]]:
    """A published table."""
    paths = sorted(out.glob(pattern))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def check_tables(out: Path, caplog: pytest.LogCaptureFixture) -> dict[str, int]:
    """Every record set is the table of its name; how many rows each has."""
    made, counts = opened(out / "croissant.json", caplog), {}
    for one in made.metadata.record_sets:
        name = one.id if "/" in one.id else f"{one.id}/*"
        expected = table(out, f"{name}.parquet")
        assert rows(made, one.id) == expected
        counts[one.id] = len(expected)
    return counts


def test_of_a_limit_run(kb_tree: Path, caplog: pytest.LogCaptureFixture) -> None:
    out = kb_tree
    assert check_tables(out, caplog) == {"corpus": 15, "queries": 100, "qrels/test": 200}
    made, manifest = told(out), json.loads((out / "manifest.json").read_text())
    assert {key: made[key] for key in ("name", "license", "inLanguage", "creator", "url")} == {
        "name": "limit_small",
        "license": ["https://spdx.org/licenses/Apache-2.0.html"],
        "inLanguage": ["en"],
        "creator": {
            "@type": "sc:Organization",
            "name": "not stated",
            "description": "No person or organisation is named: the run does not say who made it.",
        },
        "url": "README.md",
    }
    assert made["conformsTo"] == [
        "http://mlcommons.org/croissant/1.1",
        "http://mlcommons.org/croissant/RAI/1.0",
    ]
    assert made["dateCreated"] == made["datePublished"] == manifest["created"]
    assert made["citeAs"] in (out / "README.md").read_text()
    assert made["version"].startswith("1.0.0+")
    version = manifest["versions"]["retgen"]
    assert {key: value for key, value in made.items() if key.startswith("rai:")} == {
        "rai:dataCollection": (
            "A synthetic retrieval data set: attribute corpora from a latent qrel matrix. Made "
            "from recipe.yaml with seed 42. The method is that of: On the Theoretical Limitations "
            "of Embedding-Based Retrieval (arXiv 2508.21038)."
        ),
        "rai:dataCollectionType": ["Others: generated by software"],
        "rai:dataCollectionRawData": (
            "Parts and their licences: attributes and templates: Apache-2.0 (retgen); names: MIT "
            "(Faker). recipe.yaml names the sources."
        ),
        "rai:dataPreprocessingProtocol": [
            f"Checked by retgen {version}: 0 errors, {manifest['checks']['warnings']} warnings."
        ],
        "rai:dataAnnotationProtocol": (
            "Proven: 200 of 200 qrels, rebuilt from the words of the documents."
        ),
        "rai:machineAnnotationTools": [
            f"retgen {version}: a check that shares no code with the generator."
        ],
        "rai:dataUseCases": ["Testing"],
        "rai:dataBiases": made["rai:dataBiases"],
        "rai:dataLimitations": [
            "A score here does not show natural text. The texts are synthetic: no score here is "
            "one on real documents."
        ],
        "rai:personalSensitiveInformation": [
            "Not looked for: the texts are made of attributes and templates, names, and a proof "
            "reads them back."
        ],
    }
    assert "without reading the query: recall@" in made["rai:dataBiases"][0]


def test_files_and_references(kb_tree: Path) -> None:
    out = kb_tree
    made, listing = told(out), json.loads((out / "published.json").read_text())["files"]
    assert [
        (one["@type"], one["contentUrl"], one["sha256"], one["contentSize"])
        for one in made["distribution"]
    ] == [
        ("cr:FileObject", path, listing[path]["sha256"], f"{listing[path]['bytes']} B")
        for path in (
            "corpus/corpus-00000-of-00001.parquet",
            "queries/queries.parquet",
            "qrels/test.parquet",
        )
    ]
    qrels = made["recordSet"][2]
    assert qrels["key"] == [{"@id": "qrels/test/query-id"}, {"@id": "qrels/test/corpus-id"}]
    assert [(f["name"], f["dataType"], f.get("references")) for f in qrels["field"]] == [
        ("query-id", "sc:Text", {"field": {"@id": "queries/_id"}}),
        ("corpus-id", "sc:Text", {"field": {"@id": "corpus/_id"}}),
        ("score", "sc:Integer", None),
    ]
    assert listing["croissant.json"] == file_info(out / "croissant.json")._asdict()


def test_a_changed_file_is_no_longer_read(
    kb_tree: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = shutil.copytree(kb_tree, tmp_path / "out")
    shutil.copy(out / "queries" / "queries.parquet", out / "qrels" / "test.parquet")
    with pytest.raises(Exception, match=r"Download\(qrels/test\.parquet\)") as error:
        rows(opened(out / "croissant.json", caplog), "qrels/test")
    assert "is not identical with the reference in the Croissant" in str(error.value.__cause__)


def test_of_a_run_with_three_splits(
    passages: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = Path(shutil.copytree(passages, tmp_path / "kb"))
    manifest = json.loads((run / "manifest.json").read_text())
    state({**manifest, "licences": {"documents": "CC BY 4.0 (us)", "queries": 'a "b"\n</c>'}}, run)
    out = tmp_path / "out"
    publish(run, f"file:{out}")
    counts = check_tables(out, caplog)
    assert list(counts) == [
        "corpus",
        "queries",
        "qrels/test",
        "qrels/dev",
        "qrels/train",
        "training/found",
        "training/kw",
        "training/sm",
    ]
    made = told(out)
    assert made["license"] == [
        {
            "@type": "sc:CreativeWork",
            "name": "CC BY 4.0 (us)",
            "description": "Licence of: documents",
            "url": "https://spdx.org/licenses/CC-BY-4.0.html",
        },
        {"@type": "sc:CreativeWork", "name": 'a "b" </c>', "description": "Licence of: queries"},
    ]
    assert made["rai:dataUseCases"] == ["Testing", "Validation", "Training"]
    assert made["rai:dataCollectionType"] == [
        "Secondary Data analysis",
        "Others: generated by software",
    ]
    assert made["rai:personalSensitiveInformation"] == [
        "None found of e-mail addresses, phone numbers, bank accounts, card numbers, national "
        "identity numbers. Names of persons are not looked for."
    ]
    assert made["rai:dataAnnotationProtocol"].endswith("These are the qrels of split test.")
    assert made["rai:dataLimitations"][1:] == ["A pair without a qrel is unjudged, not irrelevant."]


def test_what_the_checks_found_and_did_not_look_for(passages: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(passages, tmp_path / "kb"))
    report = json.loads((run / "report.json").read_text())
    message = "document d1 holds an e-mail address (jo..., 15)"
    report["findings"] = [{"rule": "personal-data", "ids": ["d1"], "message": message}]
    (run / "report.json").write_text(json.dumps(report))
    publish(run, f"file:{tmp_path / 'a'}")
    # what was found is not shown, not even in part
    assert told(tmp_path / "a")["rai:personalSensitiveInformation"] == [
        "Document d1 holds an e-mail address."
    ]
    (run / "report.json").unlink()
    publish(run, f"file:{tmp_path / 'b'}")
    assert "rai:personalSensitiveInformation" not in told(tmp_path / "b")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["checks"]["switched_off"] = {"personal-data": "ours", "terms": ""}
    state(manifest, run)
    publish(run, f"file:{tmp_path / 'c'}")
    made = told(tmp_path / "c")
    assert made["rai:personalSensitiveInformation"] == [
        "Not looked for: the rule personal-data was switched off."
    ]
    assert made["rai:dataPreprocessingProtocol"][1:3] == [
        "Not checked: personal-data (ours).",
        "Not checked: terms.",
    ]


@pytest.mark.slow
def test_of_a_run_with_splits_by_length(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    overrides = {"params.lengths": [128, 256]}
    run = retgen.run("niah", overrides=overrides, out=tmp_path / "kb").path
    publish(run, f"file:{tmp_path / 'out'}")
    counts = check_tables(tmp_path / "out", caplog)
    assert [name for name in counts if name.startswith("qrels")] == [
        "qrels/test",
        "qrels/test_128",
        "qrels/test_256",
    ]
    tests = json.loads((run / "manifest.json").read_text())["tests"]
    assert told(tmp_path / "out")["rai:dataUseCases"] == ["Testing", tests]


def test_a_corpus_of_several_files(
    kb: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "SHARD", 4)
    out = tmp_path / "out"
    publish(kb, f"file:{out}")
    names = [f"corpus/corpus-{n:05}-of-00004.parquet" for n in range(4)]
    made = told(out)["distribution"]
    assert [one["@id"] for one in made[:5]] == [*names, "corpus-files"]
    assert made[4]["includes"] == names
    assert all(one["sha256"] for one in made[:4])
    assert check_tables(out, caplog) == {"corpus": 15, "queries": 100, "qrels/test": 200}


def described(path: Path, out: Path) -> Path:
    """The tables of a data set that is no run, with a croissant.json of them."""
    write_export(path, "parquet", out)
    listed = croissant_tables(out, card_header(out)["configs"])
    files = {name: file_info(out / name) for one in listed for name in one.files}
    made = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": 'a "@id"',
        "description": "</script>",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "license": ["https://x.y/z"],
        "citeAs": "x",
        "datePublished": "2020-01-01",
        "version": "1.0.0",
        "distribution": distribution(listed, files),
        "recordSet": record_sets(out, listed),
    }
    (out / "croissant.json").write_text(json.dumps(made))
    return out


def test_queries_without_positives_are_tables_of_their_own(
    tmp_path: Path, dataset: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a query without a positive in a split it is not said in which table it stands."""
    qrels = [("q1", "d1", 1.5), ("q0", "d1", 0), ("q0", "d2", 0)]
    path = dataset({"d1": "one", "d2": "two"}, {"q0": "none?", "q1": "one?"}, qrels, "set")
    out = described(path, tmp_path / "out")
    assert check_tables(out, caplog) == {
        "corpus": 2,
        "queries": 1,
        "qrels/test": 1,
        "qrels_without_positives/test": 2,
        "queries_without_positives": 1,
    }
    made = {one["@id"]: one for one in told(out)["recordSet"]}
    assert {
        name: [field.get("references", {}).get("field") for field in made[name]["field"]]
        for name in ("qrels/test", "qrels_without_positives/test")
    } == {
        "qrels/test": [{"@id": "queries/_id"}, {"@id": "corpus/_id"}, None],
        "qrels_without_positives/test": [None, {"@id": "corpus/_id"}, None],
    }
    assert made["qrels/test"]["field"][2]["dataType"] == "sc:Float"
    assert made["qrels_without_positives/test"]["description"] == (
        "Relevance judgements, split test, of queries without a positive in it. In load_dataset: "
        "configuration qrels_without_positives, split test."
    )


def test_metadata_of_any_kind(
    tmp_path: Path, dataset: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Ids, keys and texts that mean something to JSON-LD, IRIs or JSONPath."""
    ids = ["http://a.b/c#d", "_:x", "@id", "a b", "ü/é", "%41", '"', "$.x"]
    metadata = [
        {
            "n": 1,
            "half": 0.5,
            "yes": True,
            "list": [1, 2],
            "lists": [[1], [2, 3]],
            "inner": {"a": "x", "deep": [1]},
            "rows": [{"k": "v", "many": [1, 2]}, {"k": "w", "many": []}],
            "it's": "q",
            'a "b" \\': "r",
            "a.b": "s",
            "ключ": "t",
            "": "u",
            "..": "v",
            "@id": "w",
            "x:y": "x",
            "where": "y",
            "2": "z",
            "~2": "~",
        },
        {"n": None, "list": [], "rows": []},
    ]
    path = dataset({i: f"text of {i}" for i in ids}, {"@type": "q?"}, [("@type", "@id", 1)], "set")
    corpus = [json.loads(line) for line in (path / "corpus.jsonl").read_text().splitlines()]
    for row, facts in zip(corpus, metadata, strict=False):
        row["metadata"] = facts
    (path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    out = described(path, tmp_path / "out")
    opened_set = opened(out / "croissant.json", caplog)
    assert rows(opened_set, "qrels/test") == [{"query-id": "@type", "corpus-id": "@id", "score": 1}]
    read = rows(opened_set, "corpus")
    assert [row["_id"] for row in read] == ids
    first = read[0]["metadata"]
    assert {key: first[key] for key in first if key not in ("inner", "rows")} == {
        key: value for key, value in metadata[0].items() if key not in ("inner", "rows")
    }
    assert read[1]["metadata"]["n"] is None
    assert read[1]["metadata"]["list"] == []
    # which mlcroissant puts beside the struct that holds them
    assert [{key: row[key] for key in ("inner", "rows")} for row in read[:3]] == [
        {key: metadata[0][key] for key in ("inner", "rows")},
        {"inner": {"a": None, "deep": None}, "rows": []},
        {"inner": {"a": None, "deep": None}, "rows": [{"k": None, "many": None}]},
    ]


def test_of_a_review(kb: Path, tmp_path: Path) -> None:
    judge(kb, 120, right=True)
    publish(kb, f"file:{tmp_path / 'out'}")
    made = told(tmp_path / "out")
    review = json.loads((tmp_path / "out" / "review.json").read_text())
    seen = review["populations"]["positives"]["looked_at"]
    assert seen > 50
    assert made["rai:annotationsPerItem"] == (
        f"In a review of split test people settled {seen} of 180 positives, 0 of 740 pairs without a "
        "positive label. 1 annotator. 0 pairs judged by more than one."
    )
    assert made["rai:dataAnnotationPlatform"] == ["gen review, of retgen"]
    [said] = made["rai:dataAnnotationAnalysis"]
    assert said.startswith("wrong <= 20% at 90%: HOLDS. At most ")
    assert f"judged by annotator 1 ({seen})" in said
    assert "zoltan_q" not in json.dumps(made)


def test_of_a_review_without_goals(kb: Path, tmp_path: Path) -> None:
    review = open_review(kb, annotators=["a", "b"], goals=[], plants=0, overlap=1)
    for name in ("a", "b"):
        look = review.next_item(name)
        assert look is not None
        review.record(name, look.item.item_id, look.part, "1", shown=look.item.shown, seconds=1)
    publish(kb, f"file:{tmp_path / 'out'}")
    made = told(tmp_path / "out")
    assert "2 annotators. 1 pair judged by more than one." in made["rai:annotationsPerItem"]
    assert made["rai:dataAnnotationAnalysis"] == [
        "Share of pairs on which annotators agree: 1.000."
    ]


def test_what_is_published_against_the_checks(
    kb: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No licence, a time that is none, a hostile name: it says so, and is valid but for the time."""
    manifest = json.loads((kb / "manifest.json").read_text())
    name = 'a"b\n</script>{"@id": "x"} %s é'
    state({**manifest, "name": name, "licences": {}, "lineage": [{}, {}]}, kb)
    publish(kb, f"file:{tmp_path / 'a'}", force=True)
    made = opened(tmp_path / "a" / "croissant.json", caplog)
    assert made.metadata.name == name
    assert made.metadata.license[0].name == "not stated"
    assert made.metadata.version.startswith("3.0.0+")
    state({**manifest, "licences": {"documents": " "}, "created": "yesterday"}, kb)
    publish(kb, f"file:{tmp_path / 'b'}", force=True)
    found = told(tmp_path / "b")
    assert found["license"] == [
        {
            "@type": "sc:CreativeWork",
            "name": "not stated",
            "description": "Licence of: documents",
        }
    ]
    assert "datePublished" not in found
    assert found["rai:dataLimitations"][0].startswith(
        "Published against the checks of its maker: the licence of the documents (none) does not"
    )


def test_a_destination_that_makes_its_own(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {name: one.makes_croissant for name, one in destinations().items()}["hub"] is True
    monkeypatch.setattr(destinations()["file"], "makes_croissant", True)
    publish(kb, f"file:{tmp_path / 'out'}")
    assert not (tmp_path / "out" / "croissant.json").exists()
    assert "croissant.json" not in (tmp_path / "out" / "published.json").read_text()


def test_of_a_run_that_says_little(
    kb: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of another version of run directories: what is not known is not there."""
    manifest = json.loads((kb / "manifest.json").read_text())
    state({key: manifest[key] for key in ("name", "files", "created")}, kb)
    publish(kb, f"file:{tmp_path / 'out'}", force=True)
    opened(tmp_path / "out" / "croissant.json", caplog)
    assert [key for key in told(tmp_path / "out") if key.startswith("rai:")] == [
        "rai:dataCollection",
        "rai:dataCollectionType",
        "rai:dataUseCases",
        "rai:dataLimitations",
        "rai:personalSensitiveInformation",
    ]


def test_models_that_wrote_are_named(passages: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(passages, tmp_path / "kb"))
    manifest = json.loads((run / "manifest.json").read_text())
    state({**manifest, "models": {"write_queries": {"model": "some-model"}}}, run)
    publish(run, f"file:{tmp_path / 'out'}")
    made = told(tmp_path / "out")
    assert " write_queries, by some-model: Write keywords, " in made["rai:dataCollection"]
    assert made["rai:dataCollectionType"] == [
        "Secondary Data analysis",
        "Others: generated by software and language models",
    ]
