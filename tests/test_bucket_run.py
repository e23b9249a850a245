"""Runs in a bucket: the bytes of a run on a disk, whoever died and whatever the network did.

A real S3 server on loopback, with faults in the way of single requests.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

import retgen.generate
from retgen import run, validate
from retgen.engines.ranks import Rank
from retgen.errors import DatasetError, RanksMissing, RunDirectoryError
from retgen.run import run_rank
from tests.agents.minds import mind
from tests.agents.server import serving as serving_model
from tests.conftest import Gen
from tests.generators.capretrieval.texts import TEXTS, write_recipe, write_rows
from tests.publishing import s3_server
from tests.publishing.s3_server import BUCKET, KEY, SECRET, Fault, State
from tests.with_agents.conftest import environment, recipe_of

pytestmark = pytest.mark.slow
PROGRAM = """
import sys
import retgen.cli, retgen.generate, retgen.validation.scan
retgen.generate.MOST = sys.modules["retgen.validation.scan"].MOST = 100_000
sys.exit(retgen.cli.main())
"""
HERE = "runs/small/"
TO = f"s3://{BUCKET}/runs/small"
LIMIT = """name: small
family: limit
params: {pattern: dense, docs: 6000, queries: 100, k: 2, attributes_per_doc: 20}
output: {shards: 4}
"""
CORPUS = [f"dataset/corpus-{number:05}-of-00004.jsonl" for number in range(4)]
STANDING = [".files.json", ".lock", "manifest.json", "report.html", "report.json", "run.log"]


@pytest.fixture(scope="module")
def server() -> Iterator[State]:
    with s3_server.serving() as state:
        yield state


@pytest.fixture
def s3(server: State, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[State]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3_server.settings(server.url, tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RETGEN_LEASE", "3")
    server.client().create_bucket(Bucket=BUCKET)
    server.requests.clear()
    yield server
    calm(server)
    server.empty()
    server.client().delete_bucket(Bucket=BUCKET)


@pytest.fixture(scope="module", params=["limit", "own"])
def recipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "limit":
        return limit(folder)
    words = random.Random(0)
    texts = [" ".join([*words.sample(" ".join(TEXTS).split(), 60), "."]) for _ in range(120)]
    return write_recipe(folder / "recipe.yaml", write_rows(folder / "kb.jsonl", texts))


@pytest.fixture(scope="module")
def alone(recipe: Path) -> dict[str, bytes]:
    return tables(run(recipe, out=recipe.parent / "alone", workers=1).path)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return limit(tmp_path)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    # reason: the sizes are no behaviour, and small ones make small data sets many pieces
    monkeypatch.setattr(retgen.generate, "MOST", 100_000)
    scan: Any = sys.modules["retgen.validation.scan"]
    monkeypatch.setattr(scan, "MOST", 100_000)


def limit(folder: Path) -> Path:
    (folder / "recipe.yaml").write_text(LIMIT)
    return folder / "recipe.yaml"


def calm(s3: State) -> None:
    s3.fault, s3.before = lambda number, request: None, lambda request: None


def tables(run: Path) -> dict[str, bytes]:
    folders = ("dataset", "training", "tables", "sources", "inputs")
    files = [path for name in folders for path in (run / name).rglob("*") if path.is_file()]
    return {
        str(path.relative_to(run)): path.read_bytes() for path in [*files, run / "rejected.jsonl"]
    }


def stored(s3: State) -> dict[str, bytes]:
    """The tables of the run in the bucket; beside them stands what stands beside a run's."""
    found = {key.removeprefix(HERE): data for key, data in s3.objects(HERE).items()}
    for name, info in json.loads(found["manifest.json"])["files"].items():
        assert hashlib.sha256(found[name]).hexdigest() == info["sha256"], name
    beside = {*STANDING, "recipe.yaml"}
    assert beside <= set(found)
    return {name: data for name, data in found.items() if name not in beside}


def start(recipe: Path, work: Path, *words: str) -> subprocess.Popen[str]:
    """`gen run` in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, "run", str(recipe), "--out", TO, "-q"]
    return subprocess.Popen(
        [*command, "--work", str(work), *words], cwd=work.parent, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def kill_at(s3: State, number: int, request: str, process: Callable[[], Any]) -> None:
    """Kill a process when the server gets a request for the so many-th time."""
    seen = 0

    def before(got: str) -> None:
        nonlocal seen
        seen += got == request
        if seen == number and got == request:
            os.kill(process().pid, signal.SIGKILL)
            process().wait()

    s3.before = before


def test_the_bytes_of_a_run_on_a_disk(
    recipe: Path, alone: dict[str, bytes], s3: State, tmp_path: Path, gen: Gen
) -> None:
    done = gen("run", recipe, "--out", f"{TO}/", "--work", "work")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[-3:]
    assert lines[:2] == [f"  data        {TO}/dataset", f"  report      {TO}/report.html"]
    (made,) = (tmp_path / "work").glob("*/small")
    assert lines[2] == f"  made in     {made.relative_to(tmp_path)}, which may be removed"
    assert stored(s3) == alone
    assert s3.requests.index(f"PUT {HERE}manifest.json") > max(
        s3.requests.index(f"PUT {HERE}{name}") for name in alone
    )
    before, s3.requests[:] = s3.objects(), []
    done = gen("run", recipe, "--out", TO, "--work", "elsewhere", "--json")
    assert (done.returncode, json.loads(done.stdout)["repeated"]) == (0, True)
    assert {one for one in s3.writes() if not one.endswith(".lock")} == set()
    assert {k: v for k, v in s3.objects().items() if not k.endswith(".lock")} == {
        k: v for k, v in before.items() if not k.endswith(".lock")
    }
    done = gen("validate", TO)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith(f"{TO}: ")
    done = gen("eval", TO, "--model", "bm25", "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outputs" / "eval_small" / "eval.json").is_file()


@pytest.mark.parametrize(
    ("request_", "number", "kept"),
    [
        ("PUT .lock", 1, 0), ("PUT recipe.yaml", 1, 0), (f"PUT {CORPUS[2]}", 1, 2),
        ("PUT .files.json", 6, 3), ("PUT report.html", 1, 4), (f"HEAD {CORPUS[1]}", 1, 4),
        ("PUT manifest.json", 1, 4),
    ],
)  # fmt: skip
def test_killed_and_gone_on_with_elsewhere(
    small: Path, s3: State, tmp_path: Path, request_: str, number: int, kept: int
) -> None:
    """What the bucket had is not made again."""
    method, name = request_.split()
    first = start(small, tmp_path / "first")
    kill_at(s3, number, f"{method} {HERE}{name}", lambda: first)
    assert first.wait(timeout=60) == -signal.SIGKILL
    calm(s3)
    first.communicate()
    s3.requests.clear()
    if name == ".files.json":  # what is put before a corpus file depends on when it was looked for
        noted = json.loads(s3.objects(HERE + name)[HERE + name])
        kept = sum("corpus" in one for one in noted)
        assert kept in (2, 3)
    second = run(small, out=TO, work=tmp_path / "second", workers=1)
    assert stored(s3) == tables(run(small, out=tmp_path / "alone", workers=1).path)
    made = [one for one in s3.writes() if "corpus" in one]
    assert len(made) == (4 - kept if name != "manifest.json" or not second.repeated else 0)
    if kept and not second.repeated:
        assert (
            f"kept {kept} corpus files of an earlier run" in (second.path / "run.log").read_text()
        )


def test_files_are_there_while_the_run_goes_on(s3: State, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(LIMIT.replace("6000", "600000").replace("4}", "12}"))
    first = start(tmp_path / "recipe.yaml", tmp_path / "first", "--workers", "1")
    kill_at(s3, 2, f"PUT {HERE}.tables.json", lambda: first)
    assert first.wait(timeout=120) == -signal.SIGKILL
    first.communicate()
    noted = json.loads(s3.objects(HERE + ".files.json")[HERE + ".files.json"])
    corpus = [name for name in noted if "corpus" in name]
    assert 0 < len(corpus) < 12
    assert {HERE + name for name in corpus} <= set(s3.keys())


def test_a_folder_goes_on_at_once_and_a_killed_run_is_waited_for(
    small: Path, s3: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETGEN_LEASE", "600")
    first = start(small, tmp_path / "first")
    kill_at(s3, 1, f"PUT {HERE}report.html", lambda: first)
    first.communicate(timeout=60)
    calm(s3)
    notes: list[str] = []

    def interrupt(stage: str, done: int, total: int, note: str = "", /) -> None:
        notes.append(f"{stage} {total} {note}")
        if stage == "waiting":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(small, out=TO, work=tmp_path / "second", progress=interrupt)
    (note,) = notes
    assert note.startswith(f"waiting 600 process {first.pid} on ")
    assert note.endswith("makes this run, or was killed")
    assert not run(small, out=TO, work=tmp_path / "first").repeated
    assert run(small, out=TO, work=tmp_path / "second").repeated


def test_two_at_the_same_time(small: Path, s3: State, tmp_path: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def before(request: str) -> None:
        if request == f"PUT {HERE}report.html":
            reached.set()
            go_on.wait(60)

    s3.before = before
    first = start(small, tmp_path / "first")
    assert reached.wait(60)
    second = start(small, tmp_path / "second")
    _, message = second.communicate(timeout=60)
    assert second.returncode == 2
    assert message.startswith(f"gen: {TO} is in use by another gen run (process {first.pid} on ")
    assert message.endswith("); wait for it, or choose another --out\n")
    go_on.set()
    assert first.communicate(timeout=60) == ("", "")
    assert first.returncode == 0
    assert stored(s3) == tables(run(small, out=tmp_path / "alone").path)


def test_a_run_that_was_taken_over_is_told(small: Path, s3: State, tmp_path: Path) -> None:
    stopped = threading.Event()

    def before(request: str) -> None:
        if request == f"PUT {HERE}{CORPUS[1]}" and not stopped.is_set():
            stopped.set()
            os.kill(first.pid, signal.SIGSTOP)

    first = start(small, tmp_path / "first")
    s3.before = before
    assert stopped.wait(60)
    assert not run(small, out=TO, work=tmp_path / "second").repeated
    whole = s3.objects(HERE)
    os.kill(first.pid, signal.SIGCONT)
    _, message = first.communicate(timeout=60)
    assert first.returncode == 2
    assert message.startswith(f"gen: {TO} was taken over by another gen run (process {os.getpid()}")
    assert s3.objects(HERE)[HERE + "manifest.json"] == whole[HERE + "manifest.json"]
    assert stored(s3) == tables(run(small, out=tmp_path / "alone").path)


@pytest.mark.parametrize("seed", range(3))
def test_faults(
    recipe: Path, alone: dict[str, bytes], s3: State, tmp_path: Path, seed: int
) -> None:
    """Every fifth answer fails somehow, and listings are empty."""
    chance = random.Random(seed)
    faults: list[Fault] = [500, 503, "drop", "drop after", "cut"]

    def fault(number: int, request: str) -> Fault | None:
        if request == "GET list":
            return "lag"
        return chance.choice(faults) if chance.random() < 0.2 else None

    s3.fault = fault
    os.environ["AWS_MAX_ATTEMPTS"] = "10"
    run(recipe, out=TO, work=tmp_path / "work")
    assert validate(TO).ok
    calm(s3)
    assert stored(s3) == alone


@pytest.mark.parametrize("faulty", [False, True])
def test_by_rank(
    recipe: Path, alone: dict[str, bytes], s3: State, tmp_path: Path, faulty: bool
) -> None:
    """Each rank and the merge on a machine of their own; a listing that lags changes nothing."""
    if faulty:
        chance = random.Random(0)
        s3.fault = lambda number, request: (
            "lag" if request == "GET list" else 503 if chance.random() < 0.1 else None
        )
    left = [2, 0, 3, 1]
    for _ in range(4):
        for number in list(left):
            try:
                work = tmp_path / f"{number}-{len(left)}"  # one that comes again: elsewhere
                run_rank(recipe, Rank(number, 4), out=TO, work=work, workers=1, patience=0.0)
                left.remove(number)
            except RanksMissing:
                pass
        if left:  # those that are missing are named, and nothing is lost
            with pytest.raises(RanksMissing, match=f"not finished by {min(left)}/4"):
                run(recipe, out=TO, work=tmp_path / "merge")
    assert left == []
    merged = run(recipe, out=TO, work=tmp_path / "merge")
    assert "after ranks" in (merged.path / "run.log").read_text()
    assert validate(TO).ok
    calm(s3)
    found = stored(s3)
    parts = [name for name in found if name.startswith(".parts/")]
    assert bool(parts) == faulty  # what no listing names stays
    assert {name: data for name, data in found.items() if name not in parts} == alone
    again = run_rank(recipe, Rank(0, 4), out=TO, work=tmp_path / "late")
    assert again == (TO, Rank(0, 4), 0, True)


def test_a_merge_that_was_killed_goes_on_elsewhere(small: Path, s3: State, tmp_path: Path) -> None:
    for number in range(2):
        run_rank(small, Rank(number, 2), out=TO, work=tmp_path / str(number), workers=1)
    first = start(small, tmp_path / "first")
    kill_at(s3, 1, f"PUT {HERE}report.html", lambda: first)
    assert first.wait(timeout=60) == -signal.SIGKILL
    first.communicate()
    calm(s3)
    second = run(small, out=TO, work=tmp_path / "second")
    assert "kept 4 corpus files of an earlier run" in (second.path / "run.log").read_text()
    assert stored(s3) == tables(run(small, out=tmp_path / "alone").path)


def test_a_merge_that_was_killed_while_it_tidied_up(small: Path, s3: State, tmp_path: Path) -> None:
    for number in range(2):
        run_rank(small, Rank(number, 2), out=TO, work=tmp_path / str(number), workers=1)
    first = start(small, tmp_path / "first")
    kill_at(s3, 1, f"DELETE {HERE}.tables.json", lambda: first)
    assert first.wait(timeout=60) == -signal.SIGKILL
    first.communicate()
    calm(s3)
    assert s3.keys(HERE + ".parts/")
    assert run(small, out=TO, work=tmp_path / "second").repeated
    assert s3.keys(HERE + ".parts/") == s3.keys(HERE + ".tables") == []
    assert stored(s3) == tables(run(small, out=tmp_path / "alone").path)


def test_fresh_and_what_is_of_another_run(small: Path, s3: State, tmp_path: Path) -> None:
    first = run(small, out=TO, work=tmp_path / "one")
    other = tmp_path / "other.yaml"
    other.write_text(LIMIT.replace("6000", "500").replace("4}", "1}"))
    with pytest.raises(RunDirectoryError) as error:
        run(other, out=TO, work=tmp_path / "two")
    assert str(error.value) == (
        f"{TO} belongs to another recipe; it differs in params.docs, output.shards. Choose another "
        "--out, or throw away what is there with --fresh."
    )
    assert stored(s3) == tables(first.path)
    run(other, out=TO, work=tmp_path / "two", fresh=True)
    found = stored(s3)
    assert len(found["dataset/corpus.jsonl"].splitlines()) == 500
    assert not [name for name in found if name in CORPUS]
    # the folder of the first machine is of a run that is no more
    assert run(other, out=TO, work=tmp_path / "one").repeated
    assert found == stored(s3) == tables(run(other, out=tmp_path / "alone").path)


def test_a_slow_bucket_gets_nothing_of_another_run(small: Path, s3: State, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(LIMIT.replace("6000", "500").replace("4}", "1}"))
    run(other, out=TO, work=tmp_path / "one")
    first = run(small, out=TO, work=tmp_path / "two", fresh=True)
    before = stored(s3)
    s3.before = lambda request: time.sleep(5 * (request == f"GET {HERE}.files.json"))
    s3.requests.clear()
    assert run(small, out=TO, work=tmp_path / "one").repeated
    assert {one for one in s3.writes() if not one.endswith(".lock")} == set()
    assert stored(s3) == before == tables(first.path)


def test_a_run_whose_last_words_did_not_arrive(small: Path, s3: State, tmp_path: Path) -> None:
    os.environ["AWS_MAX_ATTEMPTS"] = "1"
    s3.fault = lambda number, request: 503 if request == f"PUT {HERE}manifest.json" else None
    failed = start(small, tmp_path / "work")
    _, message = failed.communicate(timeout=60)
    assert failed.returncode == 4
    assert message.splitlines()[0] == (
        f"gen: {TO}: S3 did not answer as it should (SlowDown 503). What is finished is kept; the "
        "same command goes on"
    )
    with pytest.raises(DatasetError, match="holds no finished run: it has no manifest"):
        validate(TO)
    calm(s3)
    s3.requests.clear()
    assert not run(small, out=TO, work=tmp_path / "work").repeated
    assert validate(TO).ok
    assert [one for one in s3.writes() if "corpus" in one] == []


@pytest.mark.parametrize("damage", ["changed", "gone", "leads away"])
def test_a_damaged_object(small: Path, s3: State, tmp_path: Path, gen: Gen, damage: str) -> None:
    run(small, out=TO, work=tmp_path / "work")
    name = CORPUS[3]
    if damage == "gone":
        s3.client().delete_object(Bucket=BUCKET, Key=HERE + name)
        message = f"{TO}/{name} is gone; make"
    elif damage == "changed":
        s3.write(HERE + name, bytes(len(s3.objects(HERE + name)[HERE + name])))
        message = (
            f"{TO}/{name} was changed or damaged: its SHA-256 is not the one that was written; make"
        )
    else:
        manifest = s3.objects(HERE + "manifest.json")[HERE + "manifest.json"]
        s3.write(HERE + "manifest.json", manifest.replace(name.encode(), b"../../../etc/passwd"))
        message = f"{TO}/manifest.json is damaged; make"
    done = gen("validate", TO)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gen: {message} the run again with `gen run --fresh`\n"


def test_what_is_refused(
    small: Path, s3: State, tmp_path: Path, gen: Gen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*words: str | Path, code: int = 2) -> str:
        done = gen(*words)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert not [one for one in (KEY, SECRET) if one in done.stderr]
        return " ".join(done.stderr.replace("│", " ").split())

    assert refused("run", small, "--out", "s3://nobody/kb") == (
        "gen: s3://nobody/kb: there is no bucket nobody: look at its name, or make it first "
        "(`aws s3 mb s3://nobody`)"
    )
    assert refused("validate", "s3://nobody/kb").startswith(
        "gen: s3://nobody/kb: there is no bucket nobody: "
    )
    assert refused("run", small, "--out", "s3:bucket").startswith(
        "gen: s3:bucket is no place in a bucket: write s3://BUCKET/PATH, "
    )
    assert refused("run", small, "--work", "work") == (
        "gen: --work: is where a run in a bucket is made, which --out does not name"
    )
    for words in (
        ("export", TO, "--to", "beir"), ("publish", TO, "file:out"), ("diff", TO, TO),
        ("report", TO), ("review", TO), ("capacity", TO), ("run", small, "--work", TO),
        ("run", small, "--out", TO, "--apply-review"),
    ):  # fmt: skip
        assert "is in a bucket, and this must be on this machine; gen run --out, " in refused(
            *words
        )
    assert refused("run", small, "--out", TO, "--pilot", "3") == (
        "gen: --pilot: asks models only, and writes no run: leave --out out"
    )
    assert refused("eval", TO, "--model", "bm25").startswith(f"gen: {TO} holds no finished run: ")
    s3.write("runs/notes.txt", b"of somebody")
    s3.write("runs/taken/notes.txt", b"of somebody")
    assert refused("run", small, "--out", f"s3://{BUCKET}/runs/taken") == (
        f"gen: s3://{BUCKET}/runs/taken is not a run directory: it holds notes.txt but no "
        "recipe.yaml. Choose another --out."
    )
    s3.fault = lambda number, request: "unconditional"
    assert refused("run", small, "--out", TO) == (
        f"gen: {TO}: this store ignores the conditions of a write (If-Match, If-None-Match), which "
        "keep two runs apart; use another one, or a shared disk"
    )
    s3.fault = lambda number, request: 501 if request == f"PUT {HERE}.lock" else None
    assert refused("run", small, "--out", TO) == (
        f"gen: {TO}: the store cannot write an object on a condition, which this needs"
    )
    calm(s3)
    assert s3.keys(HERE) == [f"{HERE}.lock"]
    monkeypatch.setenv("RETGEN_LEASE", "soon")
    assert refused("run", small, "--out", TO) == (
        "gen: RETGEN_LEASE=soon: must be seconds, for example 60"
    )
    monkeypatch.delenv("RETGEN_LEASE")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert refused("run", small, "--out", TO, code=4).startswith(
        f"gen: {TO}: S3 did not answer as it should (EndpointConnectionError at "
        "http://127.0.0.1:9). What is finished is"
    )
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "s3fs", None)
        assert refused("run", small, "--out", TO) == (
            f"gen: {TO} needs the package s3fs: pip install 'retgen[publish]'"
        )


def test_keys_and_rights(small: Path, s3: State, gen: Gen, monkeypatch: pytest.MonkeyPatch) -> None:
    from moto.core.authorization import enable_iam_authentication

    iam = s3.client("iam")
    iam.create_user(UserName="looker")
    iam.put_user_policy(
        UserName="looker", PolicyName="read",
        PolicyDocument=json.dumps({
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Action": ["s3:ListBucket", "s3:GetObject"], "Resource": "*"}
            ],
        }),
    )  # fmt: skip
    looker = iam.create_access_key(UserName="looker")["AccessKey"]
    for key, secret, said in [
        (KEY, SECRET, "S3 does not take the keys (InvalidAccessKeyId 403): look at AWS_PROFILE, "),
        (
            looker["AccessKeyId"], looker["SecretAccessKey"],
            "the keys may not do that (AccessDenied 403). They need s3:ListBucket of the bucket, "
            f"and s3:GetObject, s3:PutObject and s3:DeleteObject below {TO}",
        ),
    ]:  # fmt: skip
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
        with enable_iam_authentication():
            done = gen("run", small, "--out", TO, "-v")
        assert done.returncode == 2
        assert f"gen: {TO}: {said}" in done.stderr
        assert not [one for one in (key, secret) if one in done.stderr + done.stdout]
    assert s3.objects() == {}


def test_what_models_answered_is_kept_beside_other_runs(
    s3: State, tmp_path: Path, gen: Gen
) -> None:
    """In outputs/ledger.sqlite: a working folder may be removed. Another machine asks again."""
    (tmp_path / "asked.yaml").write_text(recipe_of(20, 40))
    with serving_model(mind) as model:
        env = environment(model)
        done = gen("run", "asked.yaml", "--out", TO, "--work", "one", env=env)
        assert done.returncode == 0, done.stderr
        assert (
            f"gen: models' answers are kept on this machine, in {tmp_path}/outputs/ledger.sqlite: "
            "another one that goes on with this run asks again. --ledger postgresql://... is one "
            "ledger for all\n"
        ) in done.stderr
        asked, before = len(model.requests), stored(s3)
        assert asked > 0
        done = gen("run", "asked.yaml", "--out", TO, "--work", "two", "--fresh", env=env)
        assert (done.returncode, len(model.requests)) == (0, asked)
    assert stored(s3) == before
    manifest = orjson.loads(s3.objects(HERE + "manifest.json")[HERE + "manifest.json"])
    assert (manifest["calls"], manifest["cache_hits"] > 0) == (0, True)


def test_a_signal_is_an_end_in_order(small: Path, s3: State, tmp_path: Path) -> None:
    """What is finished is put there, and the lock let go: another machine goes on at once."""
    sent = threading.Event()

    def before(request: str) -> None:
        if request == f"PUT {HERE}{CORPUS[1]}" and not sent.is_set():
            sent.set()
            first.send_signal(signal.SIGTERM)

    s3.before = before
    first = start(small, tmp_path / "first")
    _, message = first.communicate(timeout=60)
    assert first.returncode == 130
    assert message.startswith(
        "gen: interrupted; what is finished is kept. Resume with:\n  gen run "
    )
    calm(s3)
    assert set(CORPUS) <= set(json.loads(s3.objects(HERE)[HERE + ".files.json"]))
    began = time.monotonic()
    second = run(small, out=TO, work=tmp_path / "second")
    assert time.monotonic() - began < 3
    assert "kept 4 corpus files of an earlier run" in (second.path / "run.log").read_text()
