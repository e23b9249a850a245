"""A server on loopback that speaks as much of the Hub's API as publishing and loading need.

A repository is a list of commits, each a map from path to bytes. Faults are put in the way of
single requests: `faults[n]` of the n-th request says what becomes of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

TOKEN, READER = "hf_writes0123456789", "hf_reads0123456789"
# a model's repository has no folder of its own before its name
_REPOS = r"/(?:api/)?datasets/|/api/models/|/me/"
Fault = Literal["drop", "drop after", 500, 403, 412, 409, "echo"]


@dataclass
class Commit:
    oid: str
    files: dict[str, bytes]
    lfs: frozenset[str] = frozenset()


@dataclass
class State:
    """`fault(number, method, path)`: what becomes of a request, None: it is answered."""

    repos: dict[str, list[Commit]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    fault: Callable[[int, str], Fault | None] = lambda number, request: None
    before: Callable[[str], None] = lambda request: None
    url: str = ""
    secret: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)

    def head(self, repo: str) -> Commit:
        return self.repos[repo][-1]

    def commit(self, repo: str, files: dict[str, bytes], lfs: frozenset[str] = frozenset()) -> None:
        commits = self.repos.setdefault(repo, [])
        oid = hashlib.sha1(f"{repo} {len(commits)} {sorted(files)}".encode()).hexdigest()
        commits.append(Commit(oid, files, lfs))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: State

    def log_message(self, *_: object) -> None:
        pass

    def serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        request = f"{self.command} {re.sub('[0-9a-f]{40,64}', 'OID', path)}"
        if not re.match(rf"{_REPOS}|/api/repos/|/api/validate-yaml|/blobs/", path):
            return self.say(404, {"error": "no such page"})  # what the library asks beside
        with LOCK:
            self.state.requests.append(request)
            number = len(self.state.requests)
        fault = self.state.fault(number, request)
        self.state.before(request)
        if fault == "drop":
            self.close_connection = True
            return None
        if fault == "echo":
            return self.say(400, {"error": self.headers.get("Authorization")})
        if isinstance(fault, int):
            return self.say(fault, {"error": f"injected {fault}"})
        with LOCK:
            answer = self.answer(path, body)
        if fault == "drop after":
            self.close_connection = True
            return None
        return self.say(*answer)

    do_GET = do_POST = do_PUT = do_HEAD = serve

    def say(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        content = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        if isinstance(data, dict) and "error" in data:
            self.send_header("X-Error-Message", str(data["error"]))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def answer(self, path: str, body: bytes) -> tuple[Any, ...]:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token not in ("", TOKEN, READER):
            return 401, {"error": "Invalid credentials in Authorization header"}
        if self.command == "PUT":
            self.state.blobs[hashlib.sha256(body).hexdigest()] = body
            return 200, {}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        writes = "/commit/" in path or "/preupload/" in path or "/lfs/" in path
        if (writes or path == "/api/repos/create") and token != TOKEN:
            return 403, {"error": "You don't have the rights"}
        if path == "/api/repos/create":
            asked = json.loads(body)
            repo = f"{asked['organization']}/{asked['name']}"
            folder = "" if asked.get("type") == "model" else "datasets/"
            url = {"url": f"{self.state.url}/{folder}{repo}"}
            if repo in self.state.repos:
                return 409, {"error": "You already created this dataset repo", **url}
            if asked.get("visibility") == "private":
                self.state.private.add(repo)
            self.state.commit(repo, {".gitattributes": b"*.parquet filter=lfs\n"})
            return 200, url
        found = re.match(r"/(?:(?:api/)?datasets/|api/models/)?([^/]+/[^/.]+)(.*)", path)
        assert found is not None, path
        repo, rest = found[1], found[2]
        if repo not in self.state.repos or (repo in self.state.secret and not writes):
            return 404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"}
        return self.of_repo(repo, rest, body)

    def of_repo(self, repo: str, rest: str, body: bytes) -> tuple[Any, ...]:
        commits = self.state.repos[repo]
        if rest.startswith("/preupload/"):
            files = json.loads(body)["files"]
            mode = {True: "lfs", False: "regular"}
            return 200, {
                "files": [
                    {
                        "path": f["path"],
                        "uploadMode": mode[f["path"].endswith((".parquet", ".safetensors"))],
                        "shouldIgnore": False,
                    }
                    for f in files
                ]
            }
        if rest == ".git/info/lfs/objects/batch":
            return 200, {
                "transfer": "basic",
                "objects": [
                    {
                        "oid": one["oid"],
                        "size": one["size"],
                        **(
                            {}
                            if one["oid"] in self.state.blobs
                            else {
                                "actions": {
                                    "upload": {"href": f"{self.state.url}/blobs/{one['oid']}"}
                                }
                            }
                        ),
                    }
                    for one in json.loads(body)["objects"]
                ],
            }
        if rest.startswith("/commit/"):
            return self.committed(repo, [json.loads(line) for line in body.splitlines()])
        revision = re.match(r"/(?:revision|tree|resolve)/([^/]+)", rest)
        wanted = revision[1] if revision else "main"
        commit = next((c for c in commits if c.oid == wanted), commits[-1])
        if rest.startswith("/resolve/"):
            name = rest.split("/", 3)[3]
            if name not in commit.files:
                return (
                    404,
                    {"error": "no"},
                    {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit.oid},
                )
            data = commit.files[name]
            digest = hashlib.sha256(data).hexdigest()
            return 200, data, {"ETag": f'"{digest}"', "X-Repo-Commit": commit.oid}
        if rest.startswith("/tree/"):
            return 200, [
                tree_entry(name, data, name in commit.lfs) for name, data in commit.files.items()
            ]
        siblings = [{"rfilename": name} for name in commit.files]
        return 200, {
            "id": repo,
            "sha": commit.oid,
            "siblings": siblings,
            "tags": [],
            "private": repo in self.state.private,
            "downloads": 0,
            "likes": 0,
            "cardData": {},
        }

    def committed(self, repo: str, lines: list[dict[str, Any]]) -> tuple[Any, ...]:
        head = self.state.head(repo)
        if lines[0]["value"]["parentCommit"] != head.oid:
            return 412, {"error": "A commit has happened since. Please refresh and try again."}
        files, lfs = dict(head.files), set(head.lfs)
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.state.blobs[value["oid"]]
                lfs.add(value["path"])
            else:
                del files[value["path"]]
        self.state.commit(repo, files, frozenset(lfs & set(files)))
        oid = self.state.head(repo).oid
        return 200, {
            "commitUrl": f"{self.state.url}/datasets/{repo}/commit/{oid}",
            "commitOid": oid,
        }


LOCK = threading.RLock()


def tree_entry(name: str, data: bytes, lfs: bool) -> dict[str, Any]:
    oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    result = {"type": "file", "path": name, "size": len(data), "oid": oid}
    if lfs:
        result["oid"] = hashlib.sha1(b"a pointer to " + data).hexdigest()
        digest = hashlib.sha256(data).hexdigest()
        result["lfs"] = {"oid": digest, "size": len(data), "pointerSize": 130}
    return result


@contextmanager
def serving() -> Iterator[State]:
    """The server, until the block ends."""
    state = State()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"state": state}))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
