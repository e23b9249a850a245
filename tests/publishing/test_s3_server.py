"""Publishing to an S3 server on loopback, with faults at every request."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from retgen import publish
from retgen.errors import EndpointFailed, UsageError
from tests.conftest import Gen
from tests.publishing.s3_server import (
    BUCKET,
    KEY,
    SECRET,
    SESSION,
    Fault,
    State,
    calm,
    serving,
    settings,
)
from tests.publishing.test_hub import change
from tests.publishing.test_publish import FILES, files
from tests.publishing.test_s3 import READ

pytestmark = pytest.mark.slow
TO, HERE = f"s3://{BUCKET}/data/kb", "data/kb/"
# by `change`
CHANGED = ("README.md", "manifest.json", "mteb/task.py", "published.json")
LOOK = (
    "look at the name of the bucket, at AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, and at AWS_ENDPOINT_URL; the keys need s3:ListBucket, s3:GetObject and "
    "s3:PutObject, the store writes on a condition (If-Match)"
)
IN_ORDER = [*(path for path in FILES if path != "published.json"), "published.json"]
# of a first publish, in order: what is there, of this revision too, the files, the pointer
NEW_REVISION = ["GET list", f"HEAD {HERE}revisions/REV", "GET list"]
FIRST = [
    "GET list",
    *NEW_REVISION,
    *(f"PUT {HERE}revisions/REV/{path}" for path in IN_ORDER),
    f"PUT {HERE}current.json",
]
UNCHANGED = [
    "GET list",
    *(f"{method} {HERE}current.json" for method in ("HEAD", "GET")),
    *(f"{method} {HERE}revisions/REV/published.json" for method in ("HEAD", "GET")),
    "GET list",
]


@pytest.fixture(scope="module")
def s3_server() -> Iterator[State]:
    """A real S3 server on loopback."""
    with serving() as state:
        yield state


@pytest.fixture
def s3(s3_server: State, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[State]:
    """The server with an empty bucket, in the environment; of a machine's settings nothing else."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in settings(s3_server.url, tmp_path).items():
        monkeypatch.setenv(name, value)
    s3_server.client().create_bucket(Bucket=BUCKET)
    s3_server.requests.clear()
    yield s3_server
    calm(s3_server)
    s3_server.empty()
    s3_server.client().delete_bucket(Bucket=BUCKET)


@pytest.fixture(autouse=True)
def one_attempt(s3: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that the client tries again would not be seen."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


def tree_of(run: Path, folder: Path) -> dict[str, bytes]:
    """What a run's tree is, by the folder that it is published to."""
    publish(run, f"file:{folder}")
    return files(folder)


def read(s3: State) -> dict[str, bytes] | None:
    """What a reader finds: the files that the pointer leads to, each as its listing says."""
    pointer = s3.objects(f"{HERE}current.json")
    if not pointer:
        return None
    start = f"{HERE}revisions/{json.loads(*pointer.values())['revision']}/"
    found = {key.removeprefix(start): data for key, data in s3.objects(start).items()}
    listing = json.loads(found["published.json"])["files"]
    assert sorted([*listing, "published.json"]) == sorted(found)
    assert all(hashlib.sha256(found[p]).hexdigest() == one["sha256"] for p, one in listing.items())
    return found


def test_the_same_tree_as_a_folder_and_an_unchanged_run_writes_nothing(
    kb: Path, tmp_path: Path, s3: State, gen: Gen
) -> None:
    result = publish(kb, TO)
    assert [(one.path, one.kind) for one in result.changes] == [(p, "added") for p in FILES]
    assert s3.requests == FIRST
    tree = tree_of(kb, tmp_path / "out")
    assert read(s3) == tree
    revision = hashlib.sha256(tree["published.json"]).hexdigest()[:16]
    assert result.where == f"{TO}/revisions/{revision}/"
    s3.requests.clear()
    done = gen("publish", kb, f"{TO}/")
    assert (done.returncode, done.stdout) == (
        0,
        f"unchanged: {len(FILES)} files\n{TO}/ holds all of it already: nothing to do\n",
    )
    assert s3.requests == UNCHANGED


def test_a_change_is_a_new_revision_and_the_old_one_stays(
    kb: Path, tmp_path: Path, s3: State
) -> None:
    first, tree = publish(kb, TO).where, tree_of(kb, tmp_path / "out")
    s3.write(f"{HERE}notes.md", b"of somebody")
    change(kb)
    s3.requests.clear()
    second = publish(kb, TO).where
    assert first != second
    # what is the same is not sent again
    assert s3.writes() == [
        *(
            f"{'PUT' if path in CHANGED else 'COPY'} {HERE}revisions/REV/{path}"
            for path in IN_ORDER
        ),
        f"PUT {HERE}current.json",
    ]
    assert read(s3) == tree_of(kb, tmp_path / "out") != tree
    objects = s3.objects()
    old = first.removeprefix(f"s3://{BUCKET}/")
    assert {p: objects[old + p] for p in FILES} == tree
    assert objects[f"{HERE}notes.md"] == b"of somebody"
    assert len(objects) == 2 * len(FILES) + 2
    assert publish(kb, TO).is_unchanged


def test_an_update_that_ends_at_any_request_is_the_old_or_the_new(
    kb: Path, tmp_path: Path, s3: State
) -> None:
    publish(kb, TO)
    change(kb, 0)
    s3.requests.clear()
    publish(kb, TO)
    last = len(s3.requests)
    for number in [*range(1, last, 6), last]:
        change(kb, number)  # manifest and listing, the others are copied
        old = read(s3)
        fault: Fault = ("drop", "late", 503)[number % 3]
        s3.requests.clear()
        s3.fault = lambda n, request, at=number, fault=fault: fault if n == at else None
        with contextlib.suppress(EndpointFailed):
            publish(kb, TO)
        met = read(s3)
        assert len(s3.requests) >= number
        calm(s3)
        publish(kb, TO)
        new = read(s3)
        assert met in (old, new)
        assert new != old
    change(kb, 0)  # back to a revision that is still there
    s3.requests.clear()
    publish(kb, TO)
    assert s3.writes() == [f"PUT {HERE}revisions/REV/published.json", f"PUT {HERE}current.json"]
    assert read(s3) == tree_of(kb, tmp_path / "out")


@pytest.mark.parametrize("fault", ["late", "drop after"])
@pytest.mark.parametrize("attempts", ["1", "2"])
def test_an_answer_that_is_lost_at_the_pointer(
    kb: Path,
    tmp_path: Path,
    s3: State,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    attempts: str,
) -> None:
    """It is there, whether or not the client asked again and was refused for that."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", attempts)
    s3.fault = lambda n, request: fault if n == len(FIRST) else None
    assert publish(kb, TO).where
    asked = s3.requests.count(f"PUT {HERE}current.json")
    assert asked == (1 if (fault, attempts) == ("late", "1") else 2)
    assert read(s3) == tree_of(kb, tmp_path / "out")


def test_two_publishers_never_mix(kb: Path, tmp_path: Path, s3: State, gen: Gen) -> None:
    other = shutil.copytree(kb, tmp_path / "other")
    change(other, 2.0)
    theirs = tree_of(other, tmp_path / "theirs")
    for first in (True, False):
        if not first:
            s3.empty()
            publish(kb, TO)
            change(kb)
        looked: list[str] = []

        def meanwhile(request: str, looked: list[str] = looked) -> None:
            if request == f"PUT {HERE}current.json" and not looked:
                looked.append(request)
                publish(other, TO)

        s3.before = meanwhile
        done = gen("publish", kb, TO)
        assert done.returncode == 4
        assert done.stderr.startswith(
            f"gen: {TO}: somebody else published there meanwhile, and nothing of this run was. "
        )
        assert read(s3) == theirs
        calm(s3)
        publish(kb, TO)
        assert read(s3) == tree_of(kb, tmp_path / "mine")


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"model.bin": b"x"}, "is taken: it holds model.bin, which gen publish did not put there"),
        ({"a/b/c": b"x"}, "is taken: it holds a/, which gen publish did not put there"),
        ({"current.json": b"{"}, "is taken: it holds a current.json that gen publish did not"),
        ({"current.json": b'{"name": "limit_small", "revision": "../../x"}'}, "did not write"),
        (
            {"current.json": b'{"name": "other", "revision": "0123456789abcdef"}'},
            "is taken: it holds the data set 'other', not 'limit_small'",
        ),
    ],
)
def test_a_path_that_is_taken(kb: Path, s3: State, held: dict[str, bytes], message: str) -> None:
    for name, data in held.items():
        s3.write(HERE + name, data)
    before = s3.objects()
    with pytest.raises(UsageError, match=message):
        publish(kb, TO)
    assert (s3.objects(), s3.writes()) == (before, [])


@pytest.mark.parametrize("damage", ["gone", "other size", "listing", "listing gone"])
def test_a_revision_that_somebody_changed_is_made_whole(
    kb: Path, tmp_path: Path, s3: State, damage: str
) -> None:
    where = publish(kb, TO).where
    tree, key = tree_of(kb, tmp_path / "out"), where.removeprefix(f"s3://{BUCKET}/")
    listing = "listing" in damage
    path = "published.json" if listing else "qrels/test.parquet"
    if "gone" in damage:
        s3.client().delete_object(Bucket=BUCKET, Key=key + path)
    else:
        s3.write(key + path, b"x" if damage == "other size" else bytes(len(tree[path])))
    kinds = {one.path: one.kind for one in publish(kb, TO, dry_run=True).changes}
    whole = dict.fromkeys(FILES, "added" if listing else "unchanged")
    assert kinds == {**whole, path: "added"}
    s3.requests.clear()
    assert publish(kb, TO).where == where
    assert s3.writes() == [f"PUT {HERE}revisions/REV/{path}", f"PUT {HERE}current.json"]
    assert read(s3) == tree


def test_what_s3_refuses_is_said_in_one_form(
    kb: Path, s3: State, gen: Gen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys, rights, buckets, settings, a store without conditional writes: nothing is published."""
    from moto.core.authorization import enable_iam_authentication

    iam = s3.client("iam")
    iam.create_user(UserName="reader")
    allowed = {"Effect": "Allow", "Action": ["s3:ListBucket", "s3:GetObject"], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=policy)
    reader = iam.create_access_key(UserName="reader")["AccessKey"]
    key, secret = reader["AccessKeyId"], reader["SecretAccessKey"]

    def refused(said: str, to: str = TO, **env: str | None) -> None:
        with monkeypatch.context() as patch:
            for name, value in env.items():
                patch.delenv(name) if value is None else patch.setenv(name, value)
            done = gen("publish", kb, to, "-v")
        assert done.returncode == 2
        assert f"gen: {to}: {said}: {LOOK}. Nothing was published\n" in done.stderr
        assert not [one for one in (KEY, SECRET, secret) if one in done.stderr + done.stdout]

    with enable_iam_authentication():
        refused("S3 refuses it (InvalidAccessKeyId 403)")
        refused("S3 refuses it (SignatureDoesNotMatch 403)", AWS_ACCESS_KEY_ID=key)
        both = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
        refused("S3 refuses it (AccessDenied 403)", **both)
        with monkeypatch.context() as patch:  # who may only read can look
            for name, value in both.items():
                patch.setenv(name, value)
            assert gen("publish", kb, TO, "--dry-run").returncode == 0
    refused("S3 refuses it (NoSuchBucket 404)", to="s3://nobody/kb")
    settings = "the settings of AWS cannot be used"
    refused(f"{settings} (ProfileNotFound)", AWS_PROFILE="nobody")
    refused(f"{settings} (ValueError)", AWS_ENDPOINT_URL="nonsense")
    refused(f"{settings} (PartialCredentialsError)", AWS_SECRET_ACCESS_KEY=None)
    without = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
    refused(f"{settings} (NoCredentialsError)", **without)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    done = gen("publish", kb, TO)
    assert done.returncode == 4
    assert done.stderr.startswith(f"gen: {TO}: S3 did not answer as it should (")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
    s3.fault = lambda number, request: 501 if request == f"PUT {HERE}current.json" else None
    done = gen("publish", kb, TO)
    assert f"S3 refuses it (NotImplemented 501): {LOOK}" in done.stderr
    assert f"{HERE}current.json" not in s3.objects()


def test_a_server_that_echoes_what_it_was_told(
    kb: Path, tmp_path: Path, s3: State, gen: Gen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION)
    for number in range(1, len(FIRST) + 1):
        s3.requests.clear()
        s3.fault = lambda n, request, at=number: "echo" if n == at else None
        done = gen("publish", kb, TO, "-v")
        # the look at a folder that is refused is asked again, in another way
        if done.returncode or FIRST[number - 1] not in NEW_REVISION:
            assert done.returncode == 2
            assert f"gen: {TO}: S3 refuses it (400): {LOOK}. Nothing was published" in done.stderr
            assert read(s3) is None
        s3.empty()
        assert not [one for one in (KEY, SECRET, SESSION) if one in done.stderr + done.stdout]
    calm(s3)
    assert publish(kb, TO).where
    written = [*s3.objects().values(), *files(kb).values()]
    assert not [1 for data in written for one in (KEY, SECRET, SESSION) if one.encode() in data]


def test_a_fresh_process_downloads_and_loads_it(kb: Path, tmp_path: Path, s3: State) -> None:
    """By the lines of docs/publishing.md."""
    publish(kb, TO)
    change(kb)
    publish(kb, TO)
    program = READ.replace("s3://bucket/kb", TO) + (
        "print(len(corpus), len(queries), len(qrels), queries[0])"
    )
    env = {**os.environ, "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    first = json.loads((kb / "dataset" / "queries.jsonl").read_text().splitlines()[0])
    del first["metadata"]  # in a configuration of its own
    assert (done.stdout, done.returncode) == (f"15 100 200 {first}\n", 0), done.stderr
    assert files(tmp_path / "kb_here") == tree_of(kb, tmp_path / "out")
