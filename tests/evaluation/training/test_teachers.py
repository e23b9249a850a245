"""Teachers: scores to learn from, negatives that are relevant after all, and who is no teacher."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer

import retgen
from retgen.errors import DatasetError, UsageError
from retgen.evaluation.training import Pairs, TrainConfig, make_config
from retgen.evaluation.training.batches import prepare
from retgen.evaluation.training.fit import train
from retgen.evaluation.training.losses import dense_loss
from retgen.evaluation.training.page import text as text_of
from retgen.evaluation.training.pairs import FalseNegatives
from retgen.evaluation.training.teachers import Teacher, check_teacher, taught
from retgen.progress import no_progress
from retgen.search.base import CandidateSet
from retgen.search.embedders.options import Options
from tests.agents.server import Server, counted, serving
from tests.conftest import Gen
from tests.evaluation.training.conftest import FAST, weights, with_negatives

pytestmark = pytest.mark.usefixtures("one_torch_thread")

KETTLES = Pairs(
    ["copper kettle", "late trains", "copper kettle"],
    ["an old copper kettle", "late trains of today", "kettle of copper"],
    [
        ["copper kettle copper kettle", "a pan", "a kettle"],
        ["late trains"],
        ["a kettle", "copper kettle copper kettle"],
    ],
    ["q1", "q2", "q1"],
    "a test",
    ["d1", "d2", "d3"],
)


def teacher_of(name: str, folder: Path) -> Teacher:
    return Teacher(name, Options(device="cpu"), folder / "teacher", no_progress)


def bm25(folder: Path) -> Teacher:
    return teacher_of("bm25", folder)


# --- losses ---------------------------------------------------------------------------------------


def given_vectors(loss: str, labels: list[list[float]]) -> float:
    """Of two queries with three documents each: cosines 1, 0.6, 0 and 0.8, 1, 0.6."""

    class Given(torch.nn.Module):
        def forward(self, column: Any) -> Any:
            return {"sentence_embedding": column["vectors"]}

    columns = [
        [[1.0, 0.0], [2.0, 0.0]],  # the length of a vector says nothing
        [[3.0, 0.0], [0.8, 0.6]],
        [[0.6, 0.8], [0.5, 0.0]],
        [[0.0, 1.0], [0.6, 0.8]],
    ]
    config = TrainConfig(loss=loss, teacher="bm25", temperature=0.5)
    module = dense_loss(Given(), config, torch.zeros(2, 4))  # type: ignore[arg-type]
    return float(module([{"vectors": torch.tensor(c)} for c in columns], torch.tensor(labels)))


def test_margin_mse_by_hand() -> None:
    # margins divided by the temperature: 0.8, 2 and -0.4, 0.4; the teacher's: 1, 3 and 0, 2
    wanted = (0.2**2 + 1**2 + 0.4**2 + 1.6**2) / 4
    assert given_vectors("margin_mse", [[4, 3, 1], [2, 2, 0]]) == pytest.approx(wanted, rel=1e-5)


def test_kl_by_hand() -> None:
    def softmax(row: list[float]) -> list[float]:
        total = sum(map(math.exp, row))
        return [math.exp(one) / total for one in row]

    labels = [[4.0, 3.0, 1.0], [2.0, 2.0, 0.0]]
    wanted = 0.0
    for row, scores in zip(labels, ([2, 1.2, 0], [1.6, 2, 1.2]), strict=True):
        wanted += sum(
            p * math.log(p / q) for p, q in zip(softmax(row), softmax(scores), strict=True)
        )
    assert given_vectors("kl", labels) == pytest.approx(wanted / 2, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["margin_mse", "kl"])
@pytest.mark.parametrize("kind", ["static", "dense", "sparse", "late", "cross"])
def test_each_kind_learns_from_a_teacher_and_is_resumed(
    models: dict[str, Path], short: str, pairs: Pairs, tmp_path: Path, kind: str, loss: str
) -> None:
    """Killed, it ends with the same weights."""
    name = short if kind == "static" else f"{kind}:{models[kind]}".removeprefix("dense:")
    steps = 12 if kind == "static" else 6
    settings = {
        **FAST,
        "loss": loss,
        "teacher": "bm25",
        "max_steps": steps,
        "max_length": 32,
        "eval_every": steps // 3,
        "hold_out": 0.2,
    }
    config = make_config(None, settings)
    some = taught(with_negatives(pairs), config, bm25(tmp_path), 2)
    if (kind, loss) == ("cross", "kl"):
        with pytest.raises(UsageError) as caught:
            train(name, some, config, tmp_path / "refused")
        assert str(caught.value) == (
            "loss kl cannot train a cross-encoder. Take mnrl, cached-mnrl or margin_mse"
        )
        return
    fatal = 0

    def scores(model: Any, when: str) -> dict[str, float]:
        nonlocal fatal
        fatal -= when == "during"
        if fatal == 0 and when == "during":
            raise KeyboardInterrupt
        return {}

    whole = train(name, some, config, tmp_path / "whole", evaluate=scores)
    if kind == "static":
        values = [loss for _, loss in whole.losses]
        assert sum(values[-3:]) < 0.8 * sum(values[:3])
    fatal = 2
    with pytest.raises(KeyboardInterrupt):
        train(name, some, config, tmp_path / "killed", evaluate=scores)
    resumed = train(name, some, config, tmp_path / "killed", evaluate=scores)
    files = [sorted(one.path.rglob("*.safetensors")) for one in (whole, resumed)]
    assert files[0]
    assert [one.read_bytes() for one in files[0]] == [one.read_bytes() for one in files[1]]
    assert (resumed.history, resumed.losses) == (whole.history, whole.losses)
    card = (whole.path / "README.md").read_text()
    assert f"- teacher: bm25, its scores divided by {whole.teacher_temperature:.4g}\n" in card


@pytest.mark.slow
def test_prefixes_of_the_vector_learn_too(
    static: SentenceTransformer, pairs: Pairs, tmp_path: Path
) -> None:
    changed = []
    for matryoshka in ([], [8]):
        settings = {**FAST, "loss": "kl", "teacher": "bm25", "max_steps": 2}
        config = make_config(None, {**settings, "matryoshka": matryoshka})
        some = taught(with_negatives(pairs), config, bm25(tmp_path), 2)
        trained = train(static, some, config, tmp_path / f"of{len(matryoshka)}")
        changed.append(weights(trained)["0.embedding.weight"])
    assert not np.allclose(*changed)


# --- what is taught -------------------------------------------------------------------------------


def test_scores_of_the_positive_and_of_the_negatives_that_are_used(tmp_path: Path) -> None:
    config = make_config(None, {"loss": "kl", "teacher": "bm25"})
    result = taught(KETTLES, config, bm25(tmp_path), 2)
    assert [len(row) for row in result.scores] == [3, 2, 3]
    assert replace(result, scores=[]) == KETTLES
    assert result.digest() != KETTLES.digest()
    # the same text has the same score for a query; no word in common is 0
    assert result.scores[0][1] == result.scores[2][2] > result.scores[0][0] > 0
    assert result.scores[0][2] == 0
    examples = prepare(result, config.model_copy(update={"batch_size": 2, "hard_negatives": 2}))
    labels = np.array(examples.train["label"])
    assert labels.shape == (3, 3)
    assert labels[1, 1] == labels[1, 2]  # its one negative stands twice
    assert examples.teacher_temperature is not None
    np.testing.assert_allclose(labels[0] * examples.teacher_temperature, result.scores[0])
    margins = labels[:, :1] - labels[:, 1:]
    assert math.sqrt((margins**2).mean()) == pytest.approx(5)
    given = config.model_copy(update={"teacher_temperature": 2.0, "hard_negatives": 2})
    np.testing.assert_allclose(
        prepare(result, given).train["label"][0], np.array(result.scores[0]) / 2
    )


def test_a_false_negative_becomes_a_positive(tmp_path: Path) -> None:
    """ "copper kettle copper kettle" outscores both documents of its query, "late trains" its."""
    config = make_config(None, {"false_negatives": "relabel", "teacher": "bm25"})
    result = taught(KETTLES, config, bm25(tmp_path), 2)
    assert result.anchors == [*KETTLES.anchors, "copper kettle", "late trains"]
    assert result.positives == [
        *KETTLES.positives,
        "copper kettle copper kettle",
        "late trains",
    ]
    assert result.query_ids == ["q1", "q2", "q1", "q1", "q2"]
    assert result.positive_ids == ["d1", "d2", "d3", "", ""]
    assert [result.negatives[i] for i in (0, 2, 3)] == [
        ["a pan", "a kettle"],
        ["a kettle"],
        ["a pan", "a kettle"],
    ]
    # the trains have no negative left
    assert sorted(result.negatives[1]) == ["an old copper kettle", "kettle of copper"]
    assert result.negatives[4] == result.negatives[1]
    assert result.false_negatives == FalseNegatives("bm25", "relabel", 1.0, 4, 2, 2, 1)
    words = (
        "2 of 4 negatives, of 2 queries, are relabelled as positives: bm25 gives them at least the "
        "score of the query's best positive; 1 pair had no other, and got documents of other "
        "queries"
    )
    assert result.origin == f"a test; {words}"
    assert result.scores == []
    assert taught(KETTLES, config, bm25(tmp_path), 2) == result


def test_or_is_dropped(tmp_path: Path) -> None:
    config = make_config(
        None, {"false_negatives": "drop", "teacher": "bm25", "loss": "kl", "relevant_from": 0.1}
    )
    result = taught(KETTLES, config, bm25(tmp_path), 1)
    assert (result.anchors, result.positives) == (KETTLES.anchors, KETTLES.positives)
    # a tenth of the score is enough: "a kettle" is gone as well
    assert [result.negatives[0], len(result.negatives[1]), len(result.negatives[2])] == [
        ["a pan"],
        1,
        1,
    ]
    assert result.negatives[2] == ["late trains of today"]
    assert [len(row) for row in result.scores] == [2, 2, 2]
    assert result.origin.startswith(
        "a test; 3 of 4 negatives, of 2 queries, are dropped: bm25 gives them at least 0.1 of the "
        "score of the query's best positive; 2 pairs had no other"
    )


def test_without_a_document_to_take_their_place(tmp_path: Path) -> None:
    one = Pairs(["late trains"], ["late trains of today"], [["late trains"]], ["q"], "a test")
    config = make_config(None, {"false_negatives": "drop", "teacher": "bm25"})
    with pytest.raises(DatasetError) as caught:
        taught(one, config, bm25(tmp_path), 1)
    assert str(caught.value) == (
        "the teacher calls all negatives of the query 'late trains' relevant, and no document of "
        "another query can take their place. Set relevant_from above 1, or take another teacher"
    )


def test_scores_are_kept(tmp_path: Path) -> None:
    """Of a teacher of that name with those files; what was damaged is computed again."""
    sets = [CandidateSet("copper kettle", ("a copper kettle", "a pan"))]
    first = bm25(tmp_path).scores(sets)
    (file,) = (tmp_path / "teacher").iterdir()
    np.save(file, np.array([7.0, 8.0]))
    assert bm25(tmp_path).scores(sets) == [{"a copper kettle": 7.0, "a pan": 8.0}]
    file.write_bytes(file.read_bytes()[:-4])
    assert bm25(tmp_path).scores(sets) == first
    teacher_of("static:minilm", tmp_path).scores(sets)
    assert len(list((tmp_path / "teacher").iterdir())) == 2


# --- who is no teacher ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bm52", "there is no such model; did you mean bm25? Known: "),
        ("cross:", "name a cross-encoder after cross:, as cross:owner/name"),
        (
            "openai:text-embedding-3-small",
            "an embedder behind an API is no teacher. Take cross:MODEL, or llm:PROVIDER:NAME for "
            "false_negatives",
        ),
    ],
)
def test_names_that_are_no_teachers(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_teacher(name, make_config(None, {"false_negatives": "drop", "teacher": name}))
    assert str(caught.value).startswith(f"teacher {name}: {message}")


def test_teachers_that_do_not_fit(models: dict[str, Path], tmp_path: Path) -> None:
    two, nan = tmp_path / "two", tmp_path / "nan"
    CrossEncoder(str(models["bare-dense"]), num_labels=2, device="cpu").save(str(two))
    shutil.copytree(models["cross"], nan)
    model: Any = CrossEncoder(str(nan), device="cpu")
    with torch.no_grad():
        model[0].auto_model.classifier.bias.fill_(float("nan"))
    model.save_pretrained(str(nan))
    sets = [CandidateSet("copper kettle", ("a pan", "a pot"))]
    for name, message in {
        f"cross:{two}": f"{two} gives 2 values a pair, as a classifier does. Name a cross-encoder "
        "that gives one score",
        f"cross:{nan}": "2 of its 2 scores are no finite numbers, the first for the query 'copper "
        "kettle' and the document 'a pan'. Take another teacher",
        "bm25": "scores all documents of a query alike, so it teaches nothing. Take another teacher",
        "hybrid:bm25+tfidf": "gives no score to a single pair of query and document. Take "
        "cross:MODEL, bm25 or an embedder",
    }.items():
        with pytest.raises(UsageError) as caught:
            teacher_of(name, tmp_path).scores(sets)
        assert str(caught.value) == f"teacher {name}: {message}"
    assert not (tmp_path / "teacher").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "kl"}, "loss kl needs teacher, as cross:MODEL or bm25"),
        ({"false_negatives": "drop"}, "false_negatives drop needs teacher, as cross:MODEL or bm25"),
        (
            {"teacher": "bm25"},
            "teacher is for loss margin_mse or kl, or for false_negatives drop or relabel",
        ),
        (
            {"loss": "margin_mse", "teacher": "bm25", "hard_negatives": 0},
            "loss margin_mse needs hard_negatives of at least 1",
        ),
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_config(None, settings)
    assert str(caught.value) == f"the training configuration is wrong\n  together: {message}"


def test_pairs_that_cannot_be_taught(pairs: Pairs, short: str, tmp_path: Path) -> None:
    config = make_config(None, {**FAST, "loss": "kl", "teacher": "bm25"})
    with pytest.raises(UsageError, match=r"^loss kl trains on hard negatives; here are no hard "):
        train(short, taught(pairs, config, bm25(tmp_path), 0), config, tmp_path / "out")
    with pytest.raises(UsageError, match=r"^loss kl learns from a teacher's scores, and the pairs"):
        train(short, with_negatives(pairs), config, tmp_path / "out")


# --- gen train ------------------------------------------------------------------------------------


def test_what_is_said_and_shown_again(other: Path, short: str, tmp_path: Path) -> None:
    settings = {
        **FAST,
        "epochs": 1,
        "teacher": "static:minilm",
        "loss": "margin_mse",
        "false_negatives": "relabel",
        "relevant_from": 0.9,
    }
    call: dict[str, Any] = {"settings": settings, "metrics": ["recall@1"], "out": tmp_path / "out"}
    result = retgen.train(other, short, **call)
    false = result.pairs.false_negatives
    assert false is not None
    assert false.negatives == 6
    shown = result.to_json()
    assert shown["false_negatives"] == false._asdict()
    assert len(result.pairs) == shown["pairs"] == 6 + false.relevant
    assert shown["teacher_temperature"] == result.trained.teacher_temperature
    lines = text_of(result).splitlines()
    assert f"note: {false.words()}" in lines
    assert (
        f"taught by static:minilm, its scores divided by {shown['teacher_temperature']:.4g}"
        in (lines[1])
    )
    assert false.words() in (tmp_path / "out/train.md").read_text()
    again = retgen.train(other, short, **call)
    assert again.trained.repeated
    assert again.to_json() == shown
    stored = json.loads((tmp_path / "out/identity.json").read_text())["config"]
    assert (stored["teacher"], stored["hard_negatives"]) == ("static:minilm", 1)


def test_a_wrong_teacher_ends_before_anything_is_written(
    gen: Gen, other: Path, tmp_path: Path
) -> None:
    done = gen(
        "train",
        other,
        "--model",
        "static:minilm",
        "--set",
        "teacher=bm52",
        "--set",
        "loss=kl",
        "--out",
        tmp_path / "out",
    )
    assert done.returncode == 2
    assert done.stderr.startswith("gen: teacher bm52: there is no such model; did you mean bm25?")
    assert not (tmp_path / "out").exists()


# --- a chat model ---------------------------------------------------------------------------------

CHAT = "llm:openai:gpt-5-mini"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Calls what names a cat or a fox relevant, and talks of bees."""

    def say(body: dict[str, Any]) -> str:
        document = body["messages"][1]["content"].partition("<document>")[2]
        if "bee" in document:
            return "Bees?"
        return json.dumps({"relevant": "cat" in document or "fox" in document})

    with serving(say) as result:
        result.usage = counted
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
        monkeypatch.setenv("OPENAI_BASE_URL", result.url)
        yield result


@pytest.mark.slow
def test_a_chat_model_says_which_negatives_are_relevant(
    gen: Gen, other: Path, short: str, tmp_path: Path, server: Server
) -> None:
    """Each negative is asked about once, whatever is trained afterwards."""
    call = [
        "train",
        other,
        "--model",
        short,
        "--set",
        f"teacher={CHAT}",
        "--set",
        "max_steps=1",
        "--metric",
        "recall@1",
        "--out",
        tmp_path / "out",
    ]
    done = gen(*call, "--set", "false_negatives=relabel", "--max-usd", "1")
    assert done.returncode == 0, done.stderr
    assert "6 negatives, of 2 queries, are relabelled as positives: " + CHAT in done.stdout
    shown = json.loads((tmp_path / "out/train.json").read_text())
    found = [shown["false_negatives"][name] for name in ("negatives", "relevant", "lost")]
    assert (found, shown["pairs"]) == ([6, 2, 2], 8)
    (line,) = (tmp_path / "out/teacher/rejected.jsonl").read_text().splitlines()
    assert "the bee runs" in line
    sent = len(server.requests)
    again = gen(*call, "--set", "false_negatives=drop", "--fresh")
    assert again.returncode == 0, again.stderr
    assert "2 of 6 negatives, of 2 queries, are dropped: " + CHAT in again.stdout
    # all that can be read are in the ledger; the answer about bees cannot be, and is one too
    assert len(server.requests) == sent


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (
            ["--set", "false_negatives=drop", "--max-usd", "0"],
            3,
            "gen: the next call could cost $0.0",
        ),
        (
            ["--set", "loss=kl"],
            2,
            f"gen: teacher {CHAT}: a chat model says yes or no, and loss kl learns from scores. Take "
            "cross:MODEL, or another loss with false_negatives=relabel",
        ),
        (
            ["--set", "teacher=llm:openai", "--set", "false_negatives=drop"],
            2,
            "gen: teacher openai: a chat model judges pairs; name one, as openai:gpt-5-mini",
        ),
        (
            ["--set", "teacher=bm25", "--set", "false_negatives=drop", "--max-usd", "1"],
            2,
            "gen: --max-usd is about models behind an API: name one, as --set "
            "teacher=llm:openai:gpt-5-mini",
        ),
    ],
)
def test_chat_models_that_are_not_asked(
    gen: Gen,
    other: Path,
    tmp_path: Path,
    server: Server,
    given: list[str],
    code: int,
    message: str,
) -> None:
    out = tmp_path / "out"
    done = gen(
        "train", other, "--model", "static:minilm", "--set", f"teacher={CHAT}", *given, "--out", out
    )
    assert message in done.stderr
    assert (done.returncode, server.requests) == (code, [])
    assert not (out / "model").exists()
