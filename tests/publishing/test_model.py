"""`gen publish` of a trained model: its files, its card, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import retgen
from retgen import publish
from retgen.errors import ChecksFailed, DatasetError, UsageError
from retgen.evaluation.training.config import write_own
from retgen.evaluation.training.result import Training
from tests.conftest import Gen, Write
from tests.publishing.hub_server import State
from tests.publishing.test_publish import files

# the library's own way to send a file
pytestmark = [
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
    pytest.mark.usefixtures("one_torch_thread"),
]
REPO = "me/limit-words"
FILES = [
    "README.md",
    "config_sentence_transformers.json",
    "model.safetensors",
    "modules.json",
    "published.json",
    "tokenizer.json",
]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MiniLM's word vectors cut to 16 dimensions."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    from retgen.search.embedders.loading import load_model

    whole = load_model("static:minilm", "cpu")[0]
    assert isinstance(whole, StaticEmbedding)
    module = StaticEmbedding(
        whole.tokenizer, embedding_weights=whole.embedding.weight.detach()[:, :16].clone()
    )
    folder = tmp_path_factory.mktemp("words") / "words"
    SentenceTransformer(modules=[module], device="cpu").save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def made(limit_run: Path, words: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training on a run, scored on it and, outside, on other animals."""
    folder = tmp_path_factory.mktemp("trained")
    outside = folder / "animals"
    outside.mkdir()
    names = ["owl", "cat", "dog", "fox", "bee", "ant"]
    rows: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"_id": n, "title": "", "text": f"the {n} runs"} for n in names],
        "queries": [{"_id": n, "text": f"where is the {n}"} for n in names],
        "qrels": [{"query-id": n, "corpus-id": n, "score": 1} for n in names],
    }
    for name, of in rows.items():
        (outside / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in of))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        train(limit_run, words, outside, folder / "limit_words")
    return folder / "limit_words"


def train(data: Path, model: Path, outside: Path, out: Path) -> Training:
    return retgen.train(
        data,
        str(model),
        outside=outside,
        metrics=["recall@2", "nDCG@10"],
        settings={"learning_rate": 0.05, "epochs": 2, "batch_size": "full"},
        out=out,
    )


@pytest.fixture
def trained(made: Path, tmp_path: Path) -> Path:
    """One of its own."""
    return Path(shutil.copytree(made, tmp_path / "limit_words"))


def test_a_repository_of_a_model_in_one_commit(made: Path, hub: State, gen: Gen) -> None:
    result = publish(made, f"hub:{REPO}")
    assert (result.where, result.name) == (f"{hub.url}/{REPO}", "limit_words")
    assert sorted(set(hub.head(REPO).files) - {".gitattributes"}) == FILES
    assert hub.head(REPO).lfs == {"model.safetensors"}
    weights = (made / "model/model.safetensors").read_bytes()
    assert hub.head(REPO).files["model.safetensors"] == weights
    assert len(hub.repos[REPO]) == 2
    assert not any("datasets" in request for request in hub.requests)
    card = hub.head(REPO).files["README.md"].decode()
    assert f'SentenceTransformer("{REPO}")' in card
    done = gen("publish", made / "model", f"hub:{REPO}")  # the model's own folder will do
    assert (done.returncode, done.stdout) == (
        0,
        f"unchanged: 6 files\nhub:{REPO} holds all of it already: nothing to do\n",
    )
    assert len(hub.repos[REPO]) == 2


def test_a_data_set_is_not_mixed_up_with_a_model(
    made: Path, limit_run: Path, tmp_path: Path
) -> None:
    to = tmp_path / "place"
    publish(made, f"file:{to}")
    with pytest.raises(UsageError) as caught:
        publish(limit_run, f"file:{to}")
    assert str(caught.value) == (
        f"file:{to} is taken: it holds the data set 'limit_words', not 'limit_small'. Name another "
        "one; nothing was published"
    )


def test_the_card(made: Path, words: Path, tmp_path: Path) -> None:
    publish(made, f"file:{tmp_path / 'out'}")
    assert sorted(files(tmp_path / "out")) == FILES
    card = (tmp_path / "out/README.md").read_text()
    facts = json.loads((made / "train.json").read_text())
    header, _, body = card.removeprefix("---\n").partition("\n---\n")
    assert "- retgen" in header
    assert "license: apache-2.0" in header
    assert str(made.parent) not in card
    heads = [line for line in body.splitlines() if line.startswith(("# ", "## "))]
    assert heads[:4] == [
        "# SentenceTransformer",
        "## Licence",
        "## What that changed",
        "## What to know",
    ]
    assert heads[-1].startswith("## How this model was fine-tuned (retgen ")
    lines = body.splitlines()
    assert "- base model: words" in lines
    assert "- of the names: MIT (Faker)" in lines
    test = facts["test"]
    (row,) = [line for line in lines if line.startswith("| recall@2 | ") and "(" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    low, high = test["intervals"]["before"]["recall@2"]
    assert cells[1] == f"{test['before']['recall@2']:.4f} ({low:.3f} to {high:.3f})"
    (change,) = [
        one
        for one in test["comparisons"]
        if (one["first"], one["second"], one["measure"]) == ("after", "before", "recall@2")
    ]
    assert cells[4] == (
        f"{change['difference']:+.4f} ({change['low']:+.3f} to {change['high']:+.3f})"
    )
    assert any("measure memory, not retrieval." in line for line in lines)


def test_loaded_back(made: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    publish(made, f"file:{tmp_path / 'out'}")
    ours, theirs = (
        SentenceTransformer(str(place), device="cpu").encode(["Who likes tea?"])
        for place in (made / "model", tmp_path / "out")
    )
    assert (ours == theirs).all()


def changed(trained: Path, **facts: Any) -> Path:
    """With other facts in its train.json."""
    stored = {**json.loads((trained / "train.json").read_text()), **facts}
    del stored["checksum"]
    write_own(trained / "train.json", stored)
    return trained


def test_licences_of_the_training_data(trained: Path, tmp_path: Path, gen: Gen) -> None:
    """One that forbids it, one that is not stated; --licence states it, --force passes it."""
    data: dict[str, Any] = {"name": "mine", "recipe": None, "retgen": None, "licences": {}}
    out = f"file:{tmp_path / 'out'}"
    done = gen("publish", changed(trained, data=data), out)
    assert (done.returncode, done.stderr) == (
        1,
        f"gen: {trained} is not published:\n  the licence of the training data (not stated) does "
        "not say that others may have it: --licence states it\n--force publishes it nevertheless, "
        "and its card says so\n",
    )
    publish(trained, out, licence="CC-BY-4.0")
    card = (tmp_path / "out/README.md").read_text()
    assert "license: cc-by-4.0\n" in card
    assert "- of the training data: CC-BY-4.0\n" in card
    changed(trained, data={**data, "licences": {"documents": "CC-BY-ND-4.0"}})
    with pytest.raises(ChecksFailed, match="lets nobody pass on what is made from it"):
        publish(trained, out)
    with pytest.raises(UsageError) as caught:
        publish(trained, out, licence="MIT")
    assert str(caught.value) == (
        "--licence: the licence of all parts is stated already (documents: CC-BY-ND-4.0)"
    )
    publish(trained, out, force=True)
    assert "> This model was published against the checks of its maker:\n" in (
        (tmp_path / "out/README.md").read_text()
    )


def test_a_training_that_collapsed(trained: Path, tmp_path: Path) -> None:
    changed(trained, warnings=["the training collapsed: its vectors are alike"])
    with pytest.raises(ChecksFailed, match="the training collapsed: its vectors are alike"):
        publish(trained, f"file:{tmp_path / 'out'}")


def test_what_is_no_model(trained: Path, dataset: Write, tmp_path: Path) -> None:
    out = f"file:{tmp_path / 'out'}"
    plain = tmp_path / "plain"
    shutil.copytree(trained / "model", plain)
    with pytest.raises(UsageError) as caught:
        publish(plain, out)
    assert str(caught.value).startswith(
        f"{plain} is not a run directory: it has no recipe.yaml, nor a training: it has no "
        "identity.json. What `gen run` and `gen train` made is published; "
    )
    for name, message in {
        "train.json": "its scores are unfinished. The same `gen train` ends it. Nothing was published",
        "training.json": "which is written last: the training is unfinished. The same `gen train` ends it. Nothing was published",
    }.items():
        (trained / name).unlink()
        with pytest.raises(DatasetError) as error:
            publish(trained, out)
        joint = ": " if name == "train.json" else ", "
        assert str(error.value) == f"{trained} has no {name}{joint}{message}"


def test_files_that_are_not_as_the_training_wrote_them(
    trained: Path, made: Path, words: Path, limit_run: Path, tmp_path: Path
) -> None:
    """Both `gen publish` and `gen train` refuse them by name, and take them once put back."""
    weights, modules = trained / "model/model.safetensors", trained / "model/modules.json"
    whole = weights.read_bytes()
    scores, identity = trained / "scores/test_after.npy", trained / "identity.json"
    stated = trained / "training.json"
    values = json.loads(stated.read_text())
    old = {key: value for key, value in values.items() if key not in ("checksum", "files")}
    other = {**values, "result": {**values["result"], "seconds": 0.0}}
    of_file = (
        f"{trained} is a finished training, but not as it was written: {{}}. Put the files back as "
        "they were, or train again with --fresh."
    )
    of_values = (
        f"{stated} cannot be checked: it was changed since the training wrote it, or is of an "
        "earlier version. Put it back as it was, or train again with --fresh."
    )
    damages: list[tuple[Path, bytes | None, str]] = [
        (weights, whole[: len(whole) // 2], of_file.format("model/model.safetensors (changed)")),
        (weights, bytes(len(whole)), of_file.format("model/model.safetensors (changed)")),
        (weights, b"", of_file.format("model/model.safetensors (changed)")),
        (
            weights,
            (words / "model.safetensors").read_bytes(),
            of_file.format("model/model.safetensors (changed)"),
        ),
        (weights, None, of_file.format("model/model.safetensors (missing)")),
        (modules, b"[]", of_file.format("model/modules.json (changed)")),
        (trained / "model/1/more.bin", b"", of_file.format("model/1/more.bin (added)")),
        (scores, None, of_file.format("scores/test_after.npy (missing)")),
        (identity, identity.read_bytes() + b"\n", of_file.format("identity.json (changed)")),
        (stated, json.dumps(other).encode(), of_values),
        (stated, json.dumps(old).encode(), of_values),  # as earlier versions wrote it
        (stated, b"", of_values),
    ]
    out = f"file:{tmp_path / 'out'}"
    for path, data, message in damages:
        before = path.read_bytes() if path.is_file() else None
        put(path, data)
        with pytest.raises(UsageError) as error:
            publish(trained, out, force=True)
        assert str(error.value) == message
        with pytest.raises(UsageError) as error:
            train(limit_run, words, made.parent / "animals", trained)
        assert str(error.value) == message
        put(path, before)
    (trained / "model/1").rmdir()
    assert train(limit_run, words, made.parent / "animals", trained).trained.repeated
    publish(trained, out)
    assert (tmp_path / "out/model.safetensors").read_bytes() == whole


def put(path: Path, data: bytes | None) -> None:
    """Write or remove a file."""
    if data is None:
        path.unlink()
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)


def test_scores_that_are_not_of_the_training(
    trained: Path, made: Path, words: Path, limit_run: Path, tmp_path: Path
) -> None:
    """The same `gen train` writes them anew."""
    facts = trained / "train.json"
    altered = facts.read_text().replace('"steps": ', '"steps": 1')
    for damage in ("{}", altered, None):
        if damage is None:
            changed(trained, training="of another training")
        else:
            facts.write_text(damage)
        with pytest.raises(DatasetError) as error:
            publish(trained, f"file:{tmp_path / 'out'}")
        assert str(error.value) == (
            f"{facts} is damaged, or of another training; the same `gen train` writes it anew. "
            "Nothing was published"
        )
        assert train(limit_run, words, made.parent / "animals", trained).trained.repeated
        publish(trained, f"file:{tmp_path / 'out'}")
