"""Every script of benchmarks/ runs to its end at its smallest size, and prints the rows it should."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
N = r"[\d,]+"
F = r"\d+\.\d+"
NONE = "no intervals: too few independent units: {} units, 12 needed"
HELD = rf"{F}, width {F}(?: \(\d+% have one\))?"
BEFORE = rf"; bootstrap {F}, width {F}"

# arguments, and the lines that are printed, as expressions; "..." stands for any line
CASES: dict[str, tuple[str, list[str]]] = {
    "agents": (
        "--calls 150 --rounds 1 --in-flight 4 16 --warm-up 40 --ledger 0",
        [
            "...",
            "150 calls after 40 to warm up, best of 1 rounds",
            *(
                rf"  {who}, {flight} in flight: {F} ms of CPU a call, {N} calls/s, "
                rf"{ledger}{flight.strip()} connections \(server: {F} ms a call\)"
                for flight in ("  4", " 16")
                for who, ledger in (("openai", ""), ("retgen", f"{N} bytes of ledger a call, "))
            ),
            *(
                rf"  {flight} in flight: {F} times less CPU, {F} times the calls; "
                r"at most 1.0 ms and at least 1,000/s (NOT )?reached"
                for flight in ("  4", " 16")
            ),
        ],
    ),
    "agents long": (
        "--long --calls 40",
        [
            "...",
            "40 calls at 64 in flight: resident memory, and its maximum so far",
            *(rf"  {calls} calls: {N} MB, {N} MB" for calls in (4, 20, 40)),
        ],
    ),
    "haystacks": (
        "--sample 1 --rounds 1",
        [
            "...",
            rf"3,234 haystacks, every length re-encoded: {F} s",
            rf"  tables and books read, all texts made:     {F} s",
            rf"  the texts alone:                           {F} s",
            rf"re-encoding until the length fits: \d+ s \({F} a second\)",
            *(
                rf"  ratio, {what}: \d+ \(\d+ to \d+\)"
                for what in ("with books and table", "texts alone", "with the check")
            ),
            r"largest process: \d+ MB",
        ],
    ),
    "ledger": (
        "--calls 400",
        [
            "...",
            rf"an empty ledger: open {F} ms, start {F} ms, call {F} ms, end {F} ms, close {F} ms",
            *(rf"calls {first} to {last}: {F} ms of CPU each, {N} calls/s"
              for first, last in ((0, 100), (300, 400))),
            rf"400 calls: {N} MB, {N} bytes each",
            rf"peak memory of the process that wrote them: {N} MB",
            rf"the same ledger, opened again: open {F} ms, .*",
            rf"no step takes more than 1(.0)? s longer than on an empty ledger: -?{F} s, (NOT )?reached",
            *(rf"{step}: {F} s, peak memory so far {N} MB"
              for step in ("gen ledger", "check", "prune, dry", "prune", "check again")),
            rf"after that: {N} MB",
            rf"three turns, prompt of 3 kB: {N} bytes a call .*",
        ],
    ),
    "bm25": (
        "--documents 500",
        [
            r"\S+, 500 documents",
            *(rf"  {name}: index and one query {F} s, then -?{F} ms a query"
              for name in ("bm25", "rank-bm25")),
            rf"  a query: -?{N} times as fast",  # of differences, which load can turn round
        ],
    ),
    "free_embedding": (
        "--rounds 1 --cases 4,5,1",
        [
            "...",
            "d=4 n=5, 1 random start",
            *(rf"    {name}: 1 solved, {N} steps in all"
              for name in ("retgen", "stock", "vectorised check")),
            *(rf" +{F} s  {name} +ratio {F}  \({F} to {F}\)"
              for name in ("retgen", "stock", "vectorised check")),
        ],
    ),
    "gpu": (
        "--device cpu --size tiny",
        [
            r"cpu: .*, median of 1",
            *(rf"  matrix product 128², {name}: {F} TFLOP/s" for name in ("float32", "bf16")),
            rf"  memory, copying {F} GB: {N} GB/s read and written",
            *(rf"  {what}: .*; {F} TFLOP/s, {N}% of the matrix rate"
              for what in ("encode, float32", "encode, bf16", "exact search, float32")),
            *(rf"  first 100 for 200 queries of 2,000 x {dim}: {F} s, {F} of the product; faiss "
              rf"(not here|{F})" for dim in ("384", "1,024")),
            *(rf"  {what}: .*; {F} TFLOP/s, {N}% of the matrix rate"
              for what in ("training, float32", "free embeddings, float32")),
        ],
    ),
    "mining": (
        "--documents 300 --queries 20",
        [
            r"\S+, 300 passages, 20 queries",
            rf"  mine, by bm25: {F} s",
            "    80 negatives",
            rf"  mine, by static:minilm: {F} s",
            rf"    again, vectors from the cache: {F} s",
            rf"  mine_hard_negatives, by static:minilm: {F} s",
            rf"    {F} times as long; {F} times as with a cache",
            "    76 of 76 negatives are among their 76",
            rf"  peak memory of the process {F} GiB",
        ],
    ),
    "multiconir": (
        "--sizes 3 8 --domain books",
        [
            "...",
            *(rf"     {size} ladders: written in {F} s \({N} MB\), proven in {F} s; "
              rf"{N} ladders/s, peak memory {N} MB" for size in (3, 8)),
        ],
    ),
    "large": (
        "--documents 400 --against 200",
        [
            *(rf"{size} documents generated, proven and written in {F} s: {N} documents/s"
              for size in (200, 400)),
            rf"rate at 400 / rate at 200: {F}",
            rf"largest single process: {N} MB",
        ],
    ),
    "limit": (
        "--documents 200 --rounds 1",
        [
            r".*, 200 documents",
            *(
                line
                for what, other in (
                    ("generate and write", "plain script, in process"),
                    ("whole command: start, generate, prove, report, write",
                     "plain script, whole process"),
                )
                for line in (
                    what, rf"    {F} s, {N} documents/s", rf"    {F} s  {other}",
                    rf"    ratio {F}  \({F} to {F}\)",
                )
            ),
            rf"largest process: {N} MB",
        ],
    ),
    "decontamination": (
        "--texts 200 --test 60 --sample 10",
        [
            "...",
            rf"200 captions x 60 of the test set, {F} tokens on average",
            rf"retgen: {F} s, {F} s of CPU, {F} million pairs a second of CPU; {N} dropped",
            rf"contained: {F} s, {F} s of CPU; {N} found",
            rf"rouge-score, 600 of the pairs: {F} s of CPU, {N} pairs a second; 5 of 10 dropped, "
            "the same with the same pairs and F1",
            rf"ratio: {N}",
        ],
    ),
    "own_documents": (
        "--documents 30 60",
        [
            "...",
            *(
                line
                for size in (30, 60)
                for line in (
                    "",
                    rf"{size} documents, {N} queries: {F} s, {N} documents/s; read and written "
                    rf"only: {F} s",
                    *(
                        rf"    {stage} +{F} s +{N} times"
                        for stage in ("agents", "latent", "generate and write",
                                      "prove and measure", "report", "all")
                    ),
                    rf"    largest process {F} GB",
                )
            ),
        ],
    ),
    "world": (
        "--documents 300 --rounds 1",
        [
            "...",
            "300 documents of films, documents/s:",
            rf"  drawn, worded, written:   {N}",
            rf"  read back and proven:     {N}",
            rf"  Faker, a sentence a fact: {N}",
            *(
                rf"  {what} / Faker, a sentence a fact: {F} \({F} to {F}\)"
                for what in ("drawn, worded, written", "read back and proven")
            ),
            r"largest process: \d+ MB",
        ],
    ),
    "intervals": (
        "--simulations 40",
        [
            *(
                rf"independent, {kind}, n = {n}: {NONE.format(n)}{BEFORE}"
                for n in (5, 10)
                for kind in ("uniform", "like nDCG")
            ),
            *(
                rf"{kind}, n = {n}: {HELD}{BEFORE}"
                for n in (12, 20, 50, 200)
                for kind in (
                    "independent, uniform", "independent, like nDCG", r"hits, mean 0\.03",
                    r"hits, mean 0\.97", "exponential", "paired difference",
                )
            ),
            *(f"{n} clusters of 10: {NONE.format(n)}{BEFORE}" for n in (8, 10)),
            f"12 clusters of 10: {HELD}{BEFORE}",
            f"30 clusters of 1 to 30: {HELD}{BEFORE}",
            r"30 clusters, 5 hold most: no intervals: too few independent units: 30 units of "
            rf"unequal size, worth 5\.5, 12 needed{BEFORE}",
            f"AUC of haystacks, 20 questions: {HELD}{BEFORE}",
            *(
                f"{queries}, {kind}: {HELD}{BEFORE}"
                for queries in (
                    "1,000 queries of 2 of 46 documents", "66 queries of 2 of 12 documents",
                    "1,000 queries of 5 of 60 documents",
                )
                for kind in ("recall", "low recall", "nothing shared")
            ),
            *(
                rf"500 queries of 12 of 40 documents, {kind}: no intervals: too few independent "
                rf"units: 40 units of unequal size, worth 39\.2, 60 needed{BEFORE}"
                for kind in ("recall", "low recall", "nothing shared")
            ),
            rf"lowest coverage: {F} \(0\.93 asked\)",
        ],
    ),
    "plain": ("plain 60", []),
    "review": (
        "--population 300 --reviews 2 --shares 0.1 --rates 0 0.05",
        [
            r"300 items, means of 2 reviews; share of suspicion in the draws: 0, 0\.1 \(default 0\.1\)",
            *(
                line
                for what in ("settled: at most 2%", "within 2 points")
                for line in (
                    f"looks until {what}",
                    r"   0\.0% wrong, AUC 0\.5: +\d+ +\d+ \( *[+-]\d+%\)",
                    *(rf"   5\.0% wrong, AUC {auc}: +\d+ +\d+ \( *[+-]\d+%\)" for auc in (0.5, 0.7, 0.9)),
                )
            ),
            r"\d+ s of CPU",
        ],
    ),
    "trust_sheet": (
        "sheet",
        [
            f"{name}: {42 if name == 'world_twins' else 43}"
            for name in (
                "limit", "multiconir", "capretrieval", "album", "niah", "world", "world_twins",
            )
        ],
    ),
    "validate": (
        "--documents 300 --baselines 200 20 --proof 200 --near 300",
        [
            "...",
            rf"all rules, 300 documents: {F} s, {N} documents/s, {F} us of CPU a document; "
            rf"{N} findings",
            rf"query-blind rankings, 200 documents x 20 queries: {F} s, {F} s of CPU",
            rf"proof of LIMIT, 200 documents: {F} s of CPU; orjson.loads of its lines {F} s",
            rf"near-duplicates, 300 texts of 20 to 80 words: {F} s of CPU, {N} texts/s, 3 found, "
            "exact",
            rf"the same, datasketch: {F} s of CPU, {N} texts/s, {N} found; ratio {F}",
            rf"near-duplicates, 300 texts of 8 to 20 words: {F} s of CPU, {N} texts/s, 2 found, "
            "exact",
            rf"the same, datasketch: {F} s of CPU, {N} texts/s, {N} found; ratio {F}",
        ],
    ),
}  # fmt: skip


NEED_DEBIAN = {
    "words_not_in_text",
    "worth",
    "worth_corpora",
}  # and its lists, pages and documentation


def test_every_script_has_a_case() -> None:
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert {name.partition(" ")[0] for name in CASES} == scripts - NEED_DEBIAN


@pytest.mark.parametrize("name", CASES)
def test_it_runs_and_prints_its_rows(name: str, tmp_path: Path) -> None:
    arguments, expected = CASES[name]
    script = ROOT / "benchmarks" / f"{name.partition(' ')[0]}.py"
    done = subprocess.run(
        [sys.executable, str(script), *arguments.split()],
        capture_output=True, text=True, cwd=tmp_path, timeout=120,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(expected), done.stdout
    for line, pattern in zip(lines, expected, strict=True):
        assert pattern == "..." or re.fullmatch(pattern, line), (pattern, line)


def test_the_plain_script_writes_what_it_is_compared_for(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "plain.py"
    subprocess.run([sys.executable, str(script), str(tmp_path), "60"], check=True)
    counts = {path.name: len(path.read_bytes().splitlines()) for path in tmp_path.iterdir()}
    assert counts == {"corpus.jsonl": 60, "queries.jsonl": 1000, "qrels.jsonl": 2000}
