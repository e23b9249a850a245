"""A session with models: their agents are asked, through the ledger, before a family generates.

The event loop has a thread of its own, so it runs beside a notebook's, and the main thread hears
Ctrl-C: the first ends the sending and waits for what is in flight, the second does not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from retgen.agents.batch_queue import BatchQueue
from retgen.agents.batches import batch_apis
from retgen.agents.chat import NO_KEY
from retgen.agents.client import Client
from retgen.agents.context import Context
from retgen.agents.ledger import Ledger
from retgen.agents.limits import Budget, Session, Stop, Stopped
from retgen.agents.models import FLOW, ModelOptions, ModelSettings, find_key, open_chat
from retgen.agents.prices import Prices
from retgen.agents.replay import read_replay
from retgen.agents.report import CallReport
from retgen.errors import BudgetReached, ChecksFailed, EndpointFailed, UsageError
from retgen.write import scratch_folder

_STOPPING = "waiting for what is in flight, which may be paid for (Ctrl-C again: stop now)"
_LEFT = "batches stay with the provider, and the same command takes them up"
_IN_BATCHES = 20_000  # requests at a time, as memory bears


def ledger_of(folder: Path, model_options: ModelOptions) -> Path:
    """The ledger of a run directory."""
    named = model_options.ledger or os.environ.get("RETGEN_LEDGER")
    path = Path(named) if named else folder.resolve().parent / "ledger.sqlite"
    if path.is_dir():
        raise UsageError(f"{path} is no ledger (it is a folder): name another with --ledger")
    return path


def run_name(folder: Path, ledger: Path) -> str:
    """What a ledger calls a run: its path from the ledger's folder, or the whole path."""
    name = os.path.relpath(folder.resolve(), ledger.resolve().parent)
    return str(folder.resolve()) if name.startswith("..") else Path(name).as_posix()


def check_model(one: ModelSettings, model_options: ModelOptions) -> None:
    """Raises `UsageError` for what a model lacks: a key, a provider, a price or a batch API."""
    if model_options.batch and (one.via or one.provider not in batch_apis()):
        raise UsageError(
            f"--batch: {one.full_name} has no batch API; models of {' and '.join(batch_apis())} "
            "can be asked in batches. Leave --batch out, or name another model"
        )
    if reason := open_chat(one, find_key(one)).check(one.name, one.sampling()):
        raise UsageError(f"{one.full_name} cannot be asked: {reason}")
    if model_options.max_usd is not None and Prices(model_options.prices).of(one) is None:
        raise UsageError(
            f"the price of {one.full_name} is not known, so --max-usd cannot be kept: add "
            f"--price {one.full_name}=IN,OUT, the dollars per million tokens"
        )


def notice(text: str) -> None:
    """Say on stderr what a user has to wait or to pay for."""
    print(f"gen: {text}", file=sys.stderr, flush=True)


def call_models(
    work: Callable[[Context], Coroutine[Any, Any, None]],
    folder: Path,
    settings: Mapping[str, ModelSettings],
    model_options: ModelOptions,
    call_report: CallReport,
    *,
    sources: Path | None = None,
    **options: Any,
) -> None:
    """Have `work` ask the models of `settings`, by agent; the others are offline.

    `folder` names the run in the ledger, and is the context's folder unless `sources` is;
    `options`: of the `Context`. `call_report` is filled, and where asking ends early, the error
    says how far it came.
    """

    home, batch = sources or folder, bool(model_options.batch)
    if not settings:
        in_thread(
            lambda stop: work(Context(home, {}, call_report, stop=stop, **options)), stopping=""
        )
        return

    async def work_with_models(stop: Stop) -> None:
        budget = Budget(None if model_options.replay else model_options.cap, begun, stop)
        session = Session(ledger, run, stop, budget, call_report, notice, model_options.replay)
        async with _open_clients(settings, session, model_options) as models:
            await work(Context(home, models, call_report, session=session, **options))

    if batch:
        in_batches = {"concurrency": _IN_BATCHES}
        settings = {name: one.model_copy(update=in_batches) for name, one in settings.items()}
    try:
        with _open_ledger(folder, model_options) as (ledger, run):
            if model_options.cap is not None and not ledger.spent(run).priced:
                raise UsageError(
                    "--max-usd: earlier calls of this run had no known price, so its cost is "
                    "unknown. Go on without a cap, or choose another --out: the ledger's answers "
                    "are used there too"
                )
            retry, again = model_options.retry_refused, model_options.batch is False
            begun = ledger.begin(run, retry_refused=retry, ask_batches_again=again)
            try:
                in_thread(work_with_models, stopping=_LEFT if batch else _STOPPING)
            finally:
                if count := call_report.unstated:
                    notice(
                        f"{count:,} answers do not state, or not credibly, how many tokens they "
                        "took: each is charged at the most that it could cost"
                    )
                call_report.spent = None if model_options.replay else ledger.spent(run)
    except KeyboardInterrupt:
        print(call_report.remaining(), file=sys.stderr)
        raise
    except (BudgetReached, EndpointFailed, ChecksFailed) as error:
        raise type(error)(f"{error}\n{call_report.remaining()}") from error


@contextlib.contextmanager
def _open_ledger(folder: Path, model_options: ModelOptions) -> Iterator[tuple[Ledger, str]]:
    """The ledger and the run's name in it; of a replay one that holds its answers only."""
    path, replay = ledger_of(folder, model_options), model_options.replay
    with scratch_folder("retgen-replay-") if replay else contextlib.nullcontext() as scratch:
        path = scratch / "ledger.sqlite" if scratch else path
        run = run_name(folder, path)
        with contextlib.closing(Ledger(path)) as ledger:
            if replay:
                ledger.add_answers(run, read_replay(replay))
            yield ledger, run


@contextlib.asynccontextmanager
async def _open_clients(
    settings: Mapping[str, ModelSettings], session: Session, model_options: ModelOptions
) -> AsyncIterator[dict[str, tuple[ModelSettings, Client]]]:
    """Settings and client by agent; agents whose models differ in sampling only share one."""
    clients, by_agent = dict[Any, Client](), {}
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(session.ledger.flush)
        for agent, one in settings.items():
            pace = (getattr(one, name) for name in sorted(FLOW))
            whom = one.endpoint(), one.provider, one.name, one.api_key_env, *pace
            if whom not in clients:
                clients[whom] = _open_client(one, session, model_options)
                stack.push_async_callback(clients[whom].close)
            by_agent[agent] = one, clients[whom]
        try:
            yield by_agent
        except Stopped:
            if session.stop.error is not None:  # the reason, which another record has met
                raise session.stop.error from None
            raise


def _open_client(settings: ModelSettings, session: Session, model_options: ModelOptions) -> Client:
    """A model's client, with its batches if that is how it is asked."""
    batch, queue = bool(model_options.batch) and session.replay is None, None
    chat = open_chat(settings, NO_KEY if session.replay else find_key(settings))
    if batch:
        queue = BatchQueue(batch_apis()[settings.provider](chat), session, settings.full_name)
    price = Prices(model_options.prices, batch=batch).of(settings)
    return Client(session, chat, settings, price=price, batches=queue)


def in_thread(
    work: Callable[[Stop], Coroutine[Any, Any, None]], *, stopping: str = _STOPPING
) -> None:
    """Run to the end in an event loop of its own thread. Raises KeyboardInterrupt after Ctrl-C.

    The first signal stops the sending, the second cancels the work. `stopping`: what is said then.
    """
    import uvloop  # a third less of a call's own time

    stop, count, running = Stop(), 0, list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]]()

    def interrupt() -> None:
        nonlocal count
        count += 1
        if count == 1:
            if stopping:
                print(f"\nstopping: nothing more is sent; {stopping}", file=sys.stderr)
            stop.request()
        for loop, task in running:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop.set if count == 1 else task.cancel)

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        if count:  # it came while the loop was made
            stop.set()
        await work(stop)

    def loop() -> None:
        # few cycles, many long-lived modules: with the usual thresholds a call costs a sixth more
        before = gc.get_threshold()
        gc.set_threshold(20_000, 20, 50)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(main())
        finally:
            gc.set_threshold(*before)

    with _handled_signals(interrupt), ThreadPoolExecutor(1, thread_name_prefix="models") as pool:
        try:
            pool.submit(loop).result()
        except (Stopped, asyncio.CancelledError):
            raise KeyboardInterrupt from None
    if count:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _handled_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Have signals that interrupt call a function: a KeyboardInterrupt could be lost in a lock."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    known: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}

    def handle(number: int, frame: Any) -> None:
        try:
            known[number](number, frame)
        except KeyboardInterrupt:
            interrupt()

    handled = [number for number, handler in known.items() if callable(handler)]
    if threading.current_thread() is not threading.main_thread():
        handled = []  # they come to the main thread only
    for number in handled:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in handled:
            if signal.getsignal(number) == handle:
                signal.signal(number, known[number])
