"""What only models can write: a family's agents are asked, through the ledger, before `generate`.

The event loop has a thread of its own, so it runs beside a notebook's, and the main thread hears
Ctrl-C: the first ends the sending and waits for what is in flight, the second does not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from retgen.agents.backends import LANGCHAIN, backends
from retgen.agents.batch_queue import BatchQueue
from retgen.agents.batches import batch_apis
from retgen.agents.caller import Caller
from retgen.agents.chat import NO_KEY, OFFLINE_COSTS, ChatModel
from retgen.agents.context import Context, Stage
from retgen.agents.flow import Flight, Stop, Stopped
from retgen.agents.ledger import Ledger, Spent, Writer
from retgen.agents.ledger.address import ServerAddress, ledger_address
from retgen.agents.ledger.care import check_before_sending
from retgen.agents.ledger.sidecar import network_drive
from retgen.agents.models import FLOW, ModelSettings, check_provider, find_key, open_chat
from retgen.agents.prices import Prices
from retgen.agents.prompt import Request
from retgen.agents.rejections import Rejections
from retgen.agents.replay import ReplayModel, read_replay
from retgen.agents.sending import Tally
from retgen.engines import Engine
from retgen.errors import (
    BatchUnfinished,
    BudgetReached,
    ChecksFailed,
    EndpointFailed,
    UsageError,
)
from retgen.progress import Progress

_REPLAY = ".replay.sqlite"
_LISTEN = 0.1  # seconds between two looks at whether somebody interrupts
_STOPPING = "waiting for what is in flight, which may be paid for (Ctrl-C again: stop now)"
_LEFT = "batches stay with the provider, and the same command takes them up"
# how requests go into batches: so many at a time as memory bears, and none is paced
_ALL_AT_ONCE = {"concurrency": 20_000, "requests_per_minute": None, "tokens_per_minute": None}


@dataclass(frozen=True)
class ModelOptions:
    """How models are asked: what a command line says beside the recipe.

    `ledger`: its file, or postgresql://...; default `ledger.sqlite` beside the run directory.
    `max_usd`: the most that the run may cost, in dollars. `prices`: as `--price` has them.
    `replay`: a file of answers to use in place of the models. `batch`: ask through batch APIs; None
    refuses to ask again what is in batches, False does not. `batch_hours`: to wait for a batch.
    """

    ledger: Path | str | ServerAddress | None = None
    max_usd: float | None = None
    prices: Sequence[str] = ()
    replay: Path | None = None
    batch: bool | None = None
    batch_hours: float = 49.0  # an hour more than any provider takes to end a batch


@dataclass
class CallReport:
    """What came of calling models."""

    rejected: Rejections = field(default_factory=Rejections)
    stages: list[Stage] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    spent: Spent | None = None  # None: no model was asked
    unanswered: int = 0  # calls that stay charged at their most
    priced: bool = True  # whether the prices of all models are known

    def costs(self) -> dict[str, Any]:
        """As the manifest has them; tokens and dollars are of all attempts at this run."""
        if self.spent is None:
            return {**OFFLINE_COSTS, "cache_hits": sum(self.tally.cached.values())}
        spent = self.spent
        return {
            "calls": spent.calls,
            "cache_hits": sum(self.tally.cached.values()),
            "unanswered": self.unanswered,
            "tokens": {"in": spent.tokens_in, "out": spent.tokens_out},
            "usd": round(spent.nano_usd / 1e9, 9) if self.priced else None,
            "answers": {
                agent: dict(sorted((+counts).items()))
                for agent, counts in sorted(self.tally.answers.items())
            },
        }


class Missing(NamedTuple):
    """Requests that the ledger does not answer, and what was charged to their run so far."""

    requests: int
    texts: int
    size: int  # bytes of texts, and of the schemas of answers
    nano_usd: int


def missing(requests: Iterable[Request], folder: Path, model_options: ModelOptions) -> Missing:
    """What of some requests of a run would have to be sent."""
    path, sizes, schemas = ledger_of(folder, model_options), list[list[int]](), 0
    name = run_name(folder, path)
    with _ledger(path, None, name) as ledger:
        for request in requests:
            if not ledger.ended(request):
                sizes.append([len(message.content.encode()) for message in request.messages])
                schemas += len(orjson.dumps(request.schema)) if request.schema else 0
        texts, size = sum(map(len, sizes)), sum(map(sum, sizes)) + schemas
        return Missing(len(sizes), texts, size, ledger.spent(name).nano_usd)


def cap_of(model_options: ModelOptions) -> int | None:
    """The cap in nano-dollars. Beyond a billion dollars there is none to speak of."""
    dollars = model_options.max_usd
    return None if dollars is None else math.floor(min(dollars, 1e9) * 1e9)


def ledger_of(folder: Path, model_options: ModelOptions) -> Path | ServerAddress:
    """The ledger of a run directory. Raises `UsageError` for a URL of another kind."""
    named = model_options.ledger or os.environ.get("RETGEN_LEDGER")
    return ledger_address(named) if named else folder.resolve().parent / "ledger.sqlite"


def check_model(one: ModelSettings, model_options: ModelOptions) -> None:
    """Raises `UsageError` for what a model lacks: a key, a provider, a price or a batch API."""
    if model_options.batch and (one.via or one.provider not in batch_apis()):
        how = "LangChain" if one.backend is backends()[LANGCHAIN] else f"backend {one.provider}"
        raise UsageError(
            f"--batch: {one.full_name} is asked through {how}, which has no batch API; models of "
            f"{' and '.join(batch_apis())} can be asked in batches. Leave --batch out, or name "
            "another model"
        )
    check_provider(one, find_key(one))
    if model_options.max_usd is not None and Prices(model_options.prices).of(one) is None:
        raise UsageError(
            f"the price of {one.full_name} is not known, so --max-usd cannot be kept: add "
            f"--price {one.full_name}=IN,OUT, the dollars per million tokens"
        )


def run_name(folder: Path, ledger: Path | ServerAddress) -> str:
    """What a ledger calls a run: its path from the ledger's folder, or the whole path.

    On a server it is the same wherever a machine has the directory, and the same as beside its own
    `ledger.sqlite`: the directory's name, or RUN/NAME of a folder in a run directory.
    """
    if isinstance(ledger, ServerAddress):
        home = folder = folder.resolve()
        while (home.parent / "recipe.yaml").is_file():
            home = home.parent
        return folder.relative_to(home.parent).as_posix()
    name = os.path.relpath(folder.resolve(), ledger.resolve().parent)
    return str(folder.resolve()) if name.startswith("..") else Path(name).as_posix()


def notice(text: str) -> None:
    """Say on stderr what a user has to wait or to pay for."""
    print(f"gen: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def with_call_report(call_report: CallReport) -> Iterator[None]:
    """Where calling ends early, the error says how far it came."""
    try:
        yield
    except KeyboardInterrupt:
        print(_remaining(call_report), file=sys.stderr)
        raise
    except (BatchUnfinished, BudgetReached, EndpointFailed, ChecksFailed) as error:
        raise type(error)(f"{error}\n{_remaining(call_report)}") from error


def call_models(
    work: Callable[[Context], Coroutine[Any, Any, None]],
    sources: Path,
    folder: Path,
    settings: Mapping[str, ModelSettings],
    model_options: ModelOptions,
    call_report: CallReport,
    pilot: int | None,
    progress: Progress,
    engine: Engine | None = None,
) -> None:
    """Have `work` ask the models of `settings`, by agent; `call_report` is filled.

    `folder` names the run in the ledger, `sources` is the context's folder.
    """
    cap = cap_of(model_options)
    batch = bool(model_options.batch) and not model_options.replay
    prices = Prices(model_options.prices, batch=batch)
    if batch:
        settings = {agent: one.model_copy(update=_ALL_AT_ONCE) for agent, one in settings.items()}
    apart = {_whom(one): one for one in settings.values()}  # agents of one model share its limits
    priced = {which: prices.of(one) for which, one in apart.items()}
    call_report.priced = all(price is not None for price in priced.values())
    path = folder / _REPLAY if model_options.replay else ledger_of(folder, model_options)
    name = run_name(folder, path)
    if not model_options.replay and isinstance(path, Path):
        _warn_of_network_drive(path)
    with _ledger(path, model_options.replay, name) as ledger:
        ledger.abandon(name)  # whoever runs this holds the run directory: its sender is dead
        if cap is not None and any(not part.priced for part in ledger.parts(name)):
            raise UsageError(
                "--max-usd: earlier calls of this run had no known price, so its cost is unknown. "
                "Go on without a cap, or choose another --out: the ledger's answers are used there "
                "too"
            )
        if model_options.batch is None and (count := ledger.count_in_batches(name)):
            raise UsageError(
                f"requests of this run in batches whose answers were not fetched: {count:,}. "
                "--batch takes them up; --no-batch asks again, and pays for them twice"
            )
        call_report.tally.nano_usd = ledger.spent(name).nano_usd
        keys = {
            which: NO_KEY if model_options.replay else find_key(m) for which, m in apart.items()
        }

        async def everything(stop: Stop) -> None:
            writer, flight = Writer(ledger), Flight()
            chats: list[ChatModel] = []
            queues: list[BatchQueue] = []

            async def note_batch(sends: list[int], tag: str) -> None:
                await asyncio.wrap_future(writer.submit(lambda: ledger.note_batch(sends, tag)))

            try:
                callers = {}
                for which, one in apart.items():
                    chat = open_chat(one, keys[which])
                    if model_options.replay:
                        chat = ReplayModel(chat, model_options.replay, ledger)
                    chats.append(chat)
                    queue = None
                    if batch:
                        queue = BatchQueue(
                            batch_apis()[one.provider](chat), run=name, whom=one.full_name,
                            stop=stop, note_batch=note_batch, hours=model_options.batch_hours,
                            notice=notice,
                        )  # fmt: skip
                        queues.append(queue)
                    callers[which] = Caller(
                        ledger, writer, chat, one, run=name, stop=stop, flight=flight,
                        price=priced[which], cap=None if model_options.replay else cap,
                        tally=call_report.tally, batches=queue, notice=notice,
                        first_delay=5.0 if batch else 0.5,
                    )  # fmt: skip
                models = {agent: (one, callers[_whom(one)]) for agent, one in settings.items()}
                context = Context(
                    sources, models, pilot=pilot, engine=engine, tally=call_report.tally,
                    stop=stop, flight=flight, progress=progress, cap=cap,
                    priced=call_report.priced, notice=notice,
                    batches=lambda: "; ".join(filter(None, (queue.note() for queue in queues))),
                )  # fmt: skip
                try:
                    await work(context)
                except Stopped:
                    if stop.error is not None:  # the reason, which another record has met
                        raise stop.error from None
                    raise
            finally:
                for queue in queues:
                    await queue.close()
                for chat in chats:
                    await chat.close()
                await asyncio.to_thread(writer.close)

        try:
            in_thread(everything, stopping=_LEFT if batch else _STOPPING)
        finally:
            if call_report.tally.silent:
                notice(
                    f"{call_report.tally.silent:,} answers do not state, or not credibly, how many "
                    "tokens they took: each is charged at the most that it could cost"
                )
            if not model_options.replay:
                call_report.spent = ledger.spent(name)
                call_report.unanswered = sum(part.open for part in ledger.parts(name))


@contextlib.contextmanager
def _ledger(path: Path | ServerAddress, replay: Path | None, run: str) -> Iterator[Ledger]:
    """The ledger, or one made of a replay file."""

    def remove() -> None:
        assert isinstance(path, Path)
        for end in ("", "-wal", "-shm", ".state"):
            path.with_name(path.name + end).unlink(missing_ok=True)

    if replay is not None:
        remove()
    ledger = Ledger(path, notice=notice)
    try:
        check_before_sending(ledger)
        if replay is not None:
            ledger.add_answers(run, read_replay(replay))
        yield ledger
    finally:
        ledger.close()
        if replay is not None:
            remove()


def _warn_of_network_drive(path: Path) -> None:
    drive = network_drive(path)
    if drive is not None:
        notice(
            f"{path} lies on a network drive ({drive}), where SQLite is safe only while one "
            "machine uses it: let no other do so, or name a local file with --ledger"
        )


def _whom(model: ModelSettings) -> tuple[Any, ...]:
    """Who is asked, and at what pace; not what the answers should be like."""
    pace = (getattr(model, name) for name in sorted(FLOW))
    return model.endpoint(), model.provider, model.name, model.api_key_env, *pace


def in_thread(
    work: Callable[[Stop], Coroutine[Any, Any, None]], *, stopping: str = _STOPPING
) -> None:
    """Run to the end in an event loop of its own thread. Raises KeyboardInterrupt after Ctrl-C.

    `stopping`: what is said then.
    """
    try:
        import uvloop  # a third less of a call's own time

        factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    except ImportError:  # there is none for Windows
        factory = asyncio.new_event_loop
    control: dict[str, Any] = {}

    async def main() -> None:
        stop = Stop()
        control.update(loop=asyncio.get_running_loop(), stop=stop, task=asyncio.current_task())
        await work(stop)

    def loop() -> None:
        # few cycles, many long-lived modules: with the usual thresholds a call costs a sixth more
        before = gc.get_threshold()
        gc.set_threshold(20_000, 20, 50)
        try:
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.run(main())
        finally:
            gc.set_threshold(*before)

    done = threading.Event()
    heard = 0
    with _signals() as presses, ThreadPoolExecutor(1, thread_name_prefix="models") as pool:
        future = pool.submit(loop)
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_LISTEN):
            if heard < len(presses):
                heard = len(presses)
                _interrupt(control, heard, stopping)
    try:
        future.result()
    except (Stopped, asyncio.CancelledError):
        raise KeyboardInterrupt from None
    if presses:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """The interruptions that come, in place of KeyboardInterrupt.

    That may come anywhere, in a lock that another thread waits for too, and is then never heard.
    """
    heard: list[int] = []
    before: dict[int, Any] = {}

    def hear(number: int, frame: Any) -> None:
        try:
            before[number](number, frame)
        except KeyboardInterrupt:
            heard.append(number)

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and callable(known := signal.getsignal(number)):
                before[number] = known
                signal.signal(number, hear)
    try:
        yield heard
    finally:
        for number, known in before.items():
            if signal.getsignal(number) is hear:
                signal.signal(number, known)


def _interrupt(control: Mapping[str, Any], presses: int, stopping: str) -> None:
    if "loop" not in control or control["loop"].is_closed():
        return
    if presses == 1:
        if stopping:
            print(f"\nstopping: nothing more is sent; {stopping}", file=sys.stderr)
        control["stop"].request()
        control["loop"].call_soon_threadsafe(control["stop"].set)
    else:
        control["loop"].call_soon_threadsafe(control["task"].cancel)


def _remaining(call_report: CallReport) -> str:
    """How far the work came, and what it cost."""
    stages = ", ".join(f"{one.name}: {one.done:,} of {one.total:,}" for one in call_report.stages)
    charged = f"${call_report.spent.nano_usd / 1e9 if call_report.spent else 0.0:.4f}"
    return (
        f"Done so far: {stages}. Charged so far: {charged if call_report.priced else 'not known'}."
    )
