"""Publishing to a server on loopback that speaks the Hub's API, with faults at every request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retgen import publish
from retgen.errors import EndpointFailed, UsageError
from tests.conftest import Gen
from tests.publishing.hub_server import READER, TOKEN, Fault, State
from tests.publishing.test_publish import FILES, files

# the library's own way to send a file
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
REPO = "me/kb"
# of a first publish, in order; the same path may be asked for twice
FIRST = [
    "GET /api/datasets/me/kb",
    "POST /api/repos/create",
    "GET /api/datasets/me/kb",
    "GET /api/datasets/me/kb/tree/OID",
    "POST /api/validate-yaml",
    "POST /api/datasets/me/kb/preupload/main",
    "POST /datasets/me/kb.git/info/lfs/objects/batch",
    "PUT /blobs/OID",
    "PUT /blobs/OID",
    "PUT /blobs/OID",
    "POST /api/datasets/me/kb/commit/main",
]

# the one that commits always, the others slowly
EVERY = [*(pytest.param(n, marks=pytest.mark.slow) for n in range(1, len(FIRST))), len(FIRST)]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library waits up to 8 seconds before it tries again: not here."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)


def published(hub: State) -> list[str]:
    return sorted(set(hub.head(REPO).files) - {".gitattributes"}) if REPO in hub.repos else []


def change(run: Path, usd: float = 1.0) -> None:
    """What the next publish of a run has to change: manifest, card and listing."""
    manifest = json.loads((run / "manifest.json").read_text())
    manifest.update(usd=usd, created="2001-01-01T00:00:00+00:00")
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_one_commit_and_the_same_tree_as_a_folder(kb: Path, tmp_path: Path, hub: State) -> None:
    result = publish(kb, f"hub:{REPO}")
    assert (result.where, result.is_unchanged) == (f"{hub.url}/datasets/{REPO}", False)
    assert hub.requests[:7] + sorted(hub.requests[7:10]) + hub.requests[10:] == FIRST
    assert len(hub.repos[REPO]) == 2
    publish(kb, f"file:{tmp_path / 'out'}")
    local, remote = files(tmp_path / "out"), dict(hub.head(REPO).files)
    assert sorted(remote) == [".gitattributes", *FILES]
    same = [path for path in FILES if remote[path] == local[path]]
    of_the_place = ("README.md", "mteb/task.py", "published.json")
    assert same == [path for path in FILES if path not in of_the_place]
    assert f'load_dataset("{REPO}", "corpus", split="corpus")' in remote["README.md"].decode()


@pytest.mark.slow
def test_unchanged_is_left_alone_and_changed_is_one_commit(kb: Path, hub: State, gen: Gen) -> None:
    publish(kb, f"hub:{REPO}")
    done = gen("publish", kb, f"hub:{REPO}")
    assert (done.returncode, done.stdout) == (
        0,
        "unchanged: 8 files\nhub:me/kb holds all of it already: nothing to do\n",
    )
    assert len(hub.repos[REPO]) == 2
    head = hub.head(REPO)
    listing = json.loads(head.files["published.json"])
    listing["files"]["old.txt"] = {}
    mine = {
        "old.txt": b"of an earlier version",
        "notes.md": b"of somebody",
        "published.json": json.dumps(listing).encode(),
    }
    hub.commit(REPO, {**head.files, **mine}, head.lfs)
    change(kb)
    done = gen("publish", kb, f"hub:{REPO}", "--dry-run", "--json")
    kinds = {one["path"]: one["kind"] for one in json.loads(done.stdout)["files"]}
    of_the_day = ("README.md", "manifest.json", "mteb/task.py", "published.json")
    changed = dict.fromkeys(of_the_day, "changed")
    assert kinds == {**dict.fromkeys(FILES, "unchanged"), **changed, "old.txt": "removed"}
    assert len(hub.repos[REPO]) == 3
    publish(kb, f"hub:{REPO}")
    assert len(hub.repos[REPO]) == 4
    assert published(hub) == sorted([*FILES, "notes.md"])


@pytest.mark.slow
def test_private(kb: Path, hub: State, gen: Gen) -> None:
    """A repository that is made is private; one that is public is neither changed nor used."""
    assert gen("publish", kb, f"hub:{REPO}", "--private").returncode == 0
    assert hub.private == {REPO}
    assert published(hub) == FILES
    change(kb)
    assert gen("publish", kb, f"hub:{REPO}", "--private").returncode == 0
    assert gen("publish", kb, f"hub:{REPO}").returncode == 0  # it stays so
    assert hub.private == {REPO}
    hub.private.clear()
    heads = len(hub.repos[REPO])
    for options in ((), ("--dry-run",)):
        done = gen("publish", kb, f"hub:{REPO}", "--private", *options)
        assert (done.returncode, done.stdout, done.stderr) == (
            2,
            "",
            "gen: hub:me/kb is there already, and public: --private makes a new repository "
            "private, and changes none. Make it private on its settings page "
            f"({hub.url}/datasets/me/kb/settings), name another one, or leave --private out. "
            "Nothing was published\n",
        )
    assert len(hub.repos[REPO]) == heads


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["drop", 500])
@pytest.mark.parametrize("number", EVERY)
def test_a_network_that_ends_at_any_request_leaves_nothing_half_and_a_repeat_completes(
    kb: Path, hub: State, impatient: None, number: int, fault: Fault
) -> None:
    hub.fault = lambda n, request: fault if n >= number else None
    with pytest.raises(EndpointFailed, match="the Hub did not answer as it should"):
        publish(kb, f"hub:{REPO}")
    assert published(hub) == []
    hub.fault = lambda n, request: None
    publish(kb, f"hub:{REPO}")
    assert published(hub) == FILES
    assert len(hub.repos[REPO]) == 2
    assert publish(kb, f"hub:{REPO}").is_unchanged


@pytest.mark.parametrize("number", EVERY)
def test_an_answer_that_is_lost_once(kb: Path, hub: State, impatient: None, number: int) -> None:
    """Whether it goes on by itself or has to be asked again, it is one commit."""
    hub.fault = lambda n, request: "drop after" if n == number else None
    try:
        publish(kb, f"hub:{REPO}")
    except EndpointFailed:
        assert published(hub) == []
        publish(kb, f"hub:{REPO}")
    assert published(hub) == FILES
    assert len(hub.repos[REPO]) == 2


@pytest.mark.slow
def test_two_publishers_never_mix(kb: Path, hub: State, gen: Gen) -> None:
    publish(kb, f"hub:{REPO}")
    change(kb)
    theirs = {**hub.head(REPO).files, "manifest.json": b"{}"}

    def meanwhile(request: str) -> None:
        if request == "POST /api/datasets/me/kb/commit/main" and len(hub.repos[REPO]) == 2:
            hub.commit(REPO, theirs, hub.head(REPO).lfs)

    hub.before = meanwhile
    done = gen("publish", kb, f"hub:{REPO}")
    assert done.returncode == 4
    assert done.stderr.startswith("gen: hub:me/kb: somebody else published there meanwhile, ")
    assert hub.head(REPO).files == theirs
    publish(kb, f"hub:{REPO}")
    assert json.loads(hub.head(REPO).files["manifest.json"])["usd"] == 1.0


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"model.bin": b"x"}, "is taken: it holds model.bin, which gen publish did not put there"),
        ({"published.json": b"{"}, "is taken: it holds a published.json that gen publish did not"),
        (
            {"published.json": b'{"name": "other", "files": {}}'},
            "is taken: it holds the data set 'other', not 'limit_small'",
        ),
    ],
)
def test_a_name_that_is_taken(kb: Path, hub: State, held: dict[str, bytes], message: str) -> None:
    hub.commit(REPO, held)
    with pytest.raises(UsageError, match=message):
        publish(kb, f"hub:{REPO}")
    assert len(hub.repos[REPO]) == 1


def test_a_name_that_is_somebody_s_secret(kb: Path, hub: State) -> None:
    hub.commit(REPO, {"model.bin": b"x"})
    hub.secret.add(REPO)
    with pytest.raises(UsageError, match="is taken: it is there, but your token may not see it"):
        publish(kb, f"hub:{REPO}")


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (None, "hub:me/kb needs a token that may write: `hf auth login`, or set HF_TOKEN; "),
        ("hf_wrong", "hub:me/kb: the Hub does not take the token: `hf auth login`, or set HF_"),
        (READER, "hub:me/kb: the token may not write there ("),
    ],
)
def test_tokens_that_cannot(
    kb: Path,
    hub: State,
    monkeypatch: pytest.MonkeyPatch,
    gen: Gen,
    token: str | None,
    message: str,
    tmp_path: Path,
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.delenv("HF_TOKEN")
    if token is not None:
        monkeypatch.setenv("HF_TOKEN", token)
    done = gen("publish", kb, f"hub:{REPO}", "-v")
    assert done.returncode == 2
    assert f"gen: {message}" in done.stderr
    assert token is None or token not in done.stderr + done.stdout
    assert hub.repos == {}


@pytest.mark.slow
def test_a_server_that_echoes_the_token(kb: Path, hub: State, gen: Gen) -> None:
    for number in range(1, len(FIRST) + 1):
        first = len(hub.requests)
        hub.fault = lambda n, _, at=first + number: "echo" if n == at else None
        done = gen("publish", kb, f"hub:{REPO}", "-v")
        if number == len(FIRST) or done.returncode == 0:
            break
        assert done.returncode == 2
        assert TOKEN not in done.stderr + done.stdout
    assert number > 4


@pytest.mark.parametrize("name", ["kb", "a/b/c", "me/k b", "me/--", "/kb", "me/" + "k" * 97])
def test_names_that_cannot_be(kb: Path, hub: State, gen: Gen, name: str) -> None:
    done = gen("publish", kb, f"hub:{name}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"gen: hub:{name} is no name of a data set: write hub:OWNER/NAME")
    assert hub.requests == []


@pytest.mark.slow
def test_a_fresh_process_loads_it_by_its_name(kb: Path, hub: State, tmp_path: Path) -> None:
    publish(kb, f"hub:{REPO}")
    program = (
        "from datasets import load_dataset\n"
        f"print([len(load_dataset('{REPO}', c, split=s)) for c, s in "
        "[('corpus', 'corpus'), ('queries', 'queries'), (None, 'test')]])"
    )
    env = {
        **os.environ,
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_DISABLE_XET": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.returncode) == ("[15, 100, 200]\n", 0), done.stderr
