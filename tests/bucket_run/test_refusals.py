"""What a bucket cannot be asked for, damaged objects, and keys without the rights."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from retgen import run
from tests.bucket_run.bucket import CORPUS, HERE, TO
from tests.conftest import Gen
from tests.publishing.s3_server import BUCKET, KEY, SECRET, State, calm

pytestmark = pytest.mark.slow


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
