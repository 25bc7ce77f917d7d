"""One driven agent: start it, ask it, interrupt it, stop it, resume it; what it does comes out as records.

    async with trio.open_nursery() as nursery:
        watcher = Watcher()
        await nursery.start(watcher.run)
        agent = DrivenAgent(backend("fake"), launch, watcher, sink=print)
        await nursery.start(agent.run)
        outcome = await agent.ask(new_ask_id(), "Good morning.")
        await agent.stop()

What goes wrong inside a turn is its outcome, never an exception; the agent can be asked again, and starts its CLI
again by itself, resuming the same session.
"""

from __future__ import annotations

import os
import random
import uuid
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import trio

from supervisor.errors import AgentBusy, AgentError, AgentStopped, AskRepeated, CannotStart, PromptTooLarge
from supervisor.records import AnyRecord, Damage, Delta, Note, PromptSeen, PromptTaken, RateLimit, Ready, TurnEnd

from . import environment
from .backends.base import UNREADABLE
from .process import AgentProcess, CappedLog, new_mark
from .tail import Bookmark, Tail
from .transcript import Transcript
from .turn import Outcome, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from .backends.base import Backend, Dialogue, Launch
    from .lines import Line
    from .watcher import Watcher

FORWARDED = (Delta, RateLimit, Ready, PromptTaken, TurnEnd, Damage, Note)
"""What stdout alone tells; all else is taken from the transcript, which is the truth."""

QUICK_LOOKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""How soon to look at the transcript again when only it is missing."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, bytes and counts that bound everything; the defaults suit real CLIs."""

    start: float = 30.0
    starts: int = 6
    backoff: float = 0.25
    backoff_most: float = 15.0
    write: float = 15.0
    silence: float = 180.0
    interrupt: float = 5.0
    settle: float = 1.0
    transcript_wait: float = 2.0
    close: float = 5.0
    term: float = 3.0
    rescan: float = 1.0
    prompt_bytes: int = 4 << 20
    line_bytes: int = 256 << 20
    log_bytes: int = 1 << 20


class Bell:
    """Wakes everybody who waits, and nobody twice: look first, then wait, and no ring is missed."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def ring(self) -> None:
        rung, self._event = self._event, trio.Event()
        rung.set()

    async def wait(self) -> None:
        await self._event.wait()


class DrivenAgent:
    """One agent and its CLI."""

    def __init__(
        self,
        backend: Backend,
        launch: Launch,
        watcher: Watcher,
        sink: Callable[[AnyRecord], None],
        *,
        limits: Limits | None = None,
        bookmark: Bookmark | None = None,
    ) -> None:
        self.launch = launch
        self.backend = backend
        self.limits = limits or Limits()
        self._watcher = watcher
        self._sink = sink
        self._folder = Path(launch.folder).absolute()
        self._mark = new_mark(launch.agent_id)
        given = {**backend.environment(launch), **launch.environment}
        allow = (*backend.allow, *launch.allow)
        self._environment = environment.pick(os.environ, allow, given, self._mark)
        offset = bookmark.offset if bookmark else 0
        self._transcript = Transcript(backend.decoder(), offset, self.limits.line_bytes)
        self._tail = Tail(self._locate, self._transcript, self._from_tail, bookmark, self.limits.rescan)
        self._process: AgentProcess | None = None
        self._dialogue: Dialogue | None = None
        self._nursery: trio.Nursery | None = None
        self._log: CappedLog | None = None
        self._ready = trio.Event()
        self._news = Bell()
        self._stop = trio.Event()
        self._stopped = trio.Event()
        self._turn: Turn | None = None
        self._mourned: AgentProcess | None = None  # the last that is gone, with its transcript read to the end
        self._starting = trio.Lock()
        self._given: set[str] = set()  # asks this process has had
        self._seen: deque[str] = deque(maxlen=64)  # asks that stand in the transcript

    # -- life -----------------------------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the CLI and own it until `stop` or cancellation; raises CannotStart when it will not come up."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._log = CappedLog(self._folder / "stderr.log", self.limits.log_bytes)
        refused: AgentError | None = None
        try:
            with self._watcher.watching(self.backend.watched(self.launch, self._environment), self._tail.nudge):
                async with trio.open_nursery() as self._nursery:
                    try:
                        await self._nursery.start(self._tail.run)
                        await self._start()
                        task_status.started()
                        await self._stop.wait()
                        await self._end()
                    except AgentError as error:  # raised below, where it is not wrapped into a group
                        refused = error
                    finally:
                        self._nursery.cancel_scope.cancel()
        finally:
            self._log.close()
            self._stopped.set()
            self._news.ring()
        if refused is not None:
            raise refused

    async def stop(self) -> None:
        """Finish it: stdin closed, TERM, KILL; returns when nothing of it is left."""
        self._stop.set()
        self._news.ring()
        await self._stopped.wait()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and not self._process.exited.is_set() else None

    @property
    def transcript_path(self) -> Path | None:
        return self._tail.path

    def bookmark(self) -> Bookmark:
        """Where the transcript has been read to: give it to the next `DrivenAgent` of this session."""
        return self._tail.bookmark()

    def _locate(self) -> Path | None:
        return self.backend.locate(self.launch, self._environment)

    async def _start(self) -> None:
        """Bring the CLI up, with growing pauses between the tries."""
        async with self._starting:
            for attempt in range(1, self.limits.starts + 1):
                why = await self._try_to_start()
                if not why:
                    return
                if attempt < self.limits.starts:
                    pause = min(self.limits.backoff * 2 ** (attempt - 1), self.limits.backoff_most)
                    pause *= random.uniform(0.5, 1.0)  # noqa: S311  jitter, not a secret
                    self._sink(Note(text=f"{self.launch.agent_id} did not start ({why}); trying again"))
                    with trio.move_on_after(pause):
                        await self._stop.wait()
                        raise AgentStopped(f"{self.launch.agent_id} was stopped.")
            tries = f"{self.limits.starts} times" if self.limits.starts > 1 else "once"
            raise CannotStart(f"{self.launch.agent_id} was started {tries} and did not come up: {why}")

    async def _try_to_start(self) -> str:
        """One try; returns why it failed, or nothing. A missing program is not tried again."""
        assert self._nursery is not None
        assert self._log is not None
        launch = msgspec.structs.replace(self.launch, resume=self.launch.resume or self._locate() is not None)
        cwd = Path(launch.cwd) if launch.cwd else self._folder
        dialogue = self._dialogue = self.backend.dialogue()
        self._ready = trio.Event()
        self._given.clear()
        process = self._process = AgentProcess(
            self.backend.command(launch), cwd=cwd, environment=self._environment, mark=self._mark, log=self._log,
            on_line=self._from_stdout, line_limit=self.limits.line_bytes,
        )  # fmt: skip
        await self._nursery.start(process.run)
        self._nursery.start_soon(self._mourn, process)
        try:
            with trio.move_on_after(self.limits.start):
                await process.write(dialogue.open())
                await self._wait_for(lambda: self._ready.is_set() or process.exited.is_set())
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await process.exited.wait()
        if self._ready.is_set():
            return ""
        if not process.exited.is_set():
            await process.stop(close_grace=0, term_grace=self.limits.term)
            return f"it said nothing for {self.limits.start:g} s"
        last = self._log.last_line
        return f"exit status {process.status}" + (f", {last}" if last else f", see {self._log.path}")

    async def _mourn(self, process: AgentProcess) -> None:
        """When the process is gone, read what is left in the transcript, and then tell whoever waits for it."""
        await process.exited.wait()
        while self._tail.read():
            await trio.lowlevel.checkpoint()
        if process.leftover:
            self._sink(Note(text=f"{process.leftover} processes of {self.launch.agent_id} could not be ended"))
        self._mourned = process
        self._news.ring()

    async def _end(self) -> None:
        process = self._process
        if process is None or process.exited.is_set():
            return
        if self._turn is not None:
            with trio.move_on_after(self.limits.interrupt):
                await self.interrupt()
                await self._wait_for(lambda: self._turn is None or process.exited.is_set())
        await process.stop(close_grace=self.limits.close, term_grace=self.limits.term)

    # -- turns ----------------------------------------------------------------------------------------------------

    async def ask(self, ask_id: str, prompt: str, *, seen: bool = False) -> Outcome:
        """Put a prompt to it and wait for what becomes of it; one at a time.

        An ask that was broken off by the end of the process may be put again under the same id: a CLI that had it
        already neither answers it twice nor writes it down twice. Say `seen` if an earlier run saw it in the
        transcript. Any other new try needs a new id.
        """
        if self.pid is not None and ask_id in self._given:
            raise AskRepeated(f"{self.launch.agent_id} was given the ask {ask_id} before: use a new id.")
        if self._turn is not None:
            raise AgentBusy(f"{self.launch.agent_id} is answering already; wait or interrupt it.")
        if self._stop.is_set():
            raise AgentStopped(f"{self.launch.agent_id} was stopped.")
        size = len(prompt.encode("utf-8", "surrogatepass"))
        if size > self.limits.prompt_bytes:
            most = self.limits.prompt_bytes
            raise PromptTooLarge(f"The prompt has {size:,} bytes, the limit is {most:,}: shorten it.")
        limits = self.limits
        turn = self._turn = Turn(
            ask_id, trio.current_time(), seen=seen or ask_id in self._seen,
            settle=limits.settle, transcript_wait=limits.transcript_wait,
        )  # fmt: skip
        try:
            return await self._put(turn, prompt)
        finally:
            self._turn = None
            self._news.ring()

    async def _put(self, turn: Turn, prompt: str) -> Outcome:
        if self._process is None or self._process.exited.is_set():
            await self._start()
        process, dialogue = self._process, self._dialogue
        assert process is not None
        assert dialogue is not None
        self._given.add(turn.ask_id)
        written = False
        with trio.move_on_after(self.limits.write):
            try:
                await process.write(dialogue.ask(turn.ask_id, prompt))
                written = True
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                await process.exited.wait()
                written = True
        if not written:
            await process.stop(close_grace=0, term_grace=self.limits.term)
            detail = f"it did not read its input for {self.limits.write:g} s and was ended"
            return turn.give_up("unread", "watchdog", trio.current_time(), detail)
        return await self._await_end(turn, process)

    async def _await_end(self, turn: Turn, process: AgentProcess) -> Outcome:
        looks = 0
        interrupted_at: float | None = None
        while True:
            now = trio.current_time()
            if self._mourned is process:
                turn.gone(process.status or 0, now)
            if outcome := turn.poll(now):
                if interrupted_at is not None and outcome.status != "answered":
                    return turn.give_up("silent", "watchdog", now, self._silence())
                return outcome
            if self._stopped.is_set():
                return turn.give_up("interrupted", "stop", now, "the agent was stopped")
            wake = turn.next_look(now)
            if turn.expects_transcript:
                self._tail.nudge()
                wake = min(wake, now + QUICK_LOOKS[min(looks, len(QUICK_LOOKS) - 1)])
                looks += 1
            elif interrupted_at is None and now - turn.last_activity >= self.limits.silence:
                interrupted_at = now
                await self.interrupt()
            elif interrupted_at is not None and now - interrupted_at >= self.limits.interrupt:
                await process.stop(close_grace=0, term_grace=self.limits.term)
                return turn.give_up("silent", "watchdog", trio.current_time(), self._silence())
            wake = min(wake, turn.last_activity + self.limits.silence if interrupted_at is None
                       else interrupted_at + self.limits.interrupt)  # fmt: skip
            with trio.move_on_after(max(0.0, wake - now)):
                await self._news.wait()

    def _silence(self) -> str:
        return f"it said nothing for {self.limits.silence:g} s and was interrupted"

    async def interrupt(self) -> None:
        """Break off the running turn with the CLI's own means; its outcome comes from `ask`."""
        process, dialogue = self._process, self._dialogue
        if process is None or dialogue is None or process.exited.is_set():
            return
        with trio.move_on_after(self.limits.interrupt):
            try:
                await process.write(dialogue.interrupt())
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return

    async def _wait_for(self, happened: Callable[[], bool]) -> None:
        while not happened():
            await self._news.wait()

    # -- what comes in --------------------------------------------------------------------------------------------

    def _from_stdout(self, line: Line) -> None:
        self._tail.nudge()
        assert self._dialogue is not None
        if line.too_long or not line.data.strip():
            records: list[AnyRecord] = []
            if line.too_long:
                reason = "longer than the limit for a line"
                records = [Damage(length=line.length, reason=reason, source="stdout")]
        else:
            try:
                reply = self._dialogue.hear(line.data)
                records = reply.records
                if reply.write and self._nursery is not None and self._process is not None:
                    self._nursery.start_soon(self._answer, self._process, reply.write)
            except UNREADABLE:
                shown = line.data[:80].decode("utf-8", "replace")
                records = [Damage(length=line.length, reason=f"not a line of its protocol: {shown!r}", source="stdout")]
        for record in records:
            if isinstance(record, Ready):
                self._ready.set()
            if self._turn is not None:
                self._turn.from_stdout(record, trio.current_time())
            if isinstance(record, FORWARDED):
                self._sink(record)
        self._news.ring()

    async def _answer(self, process: AgentProcess, data: bytes) -> None:
        with trio.move_on_after(self.limits.write):
            try:
                await process.write(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return

    def _from_tail(self, record: AnyRecord) -> None:
        if isinstance(record, PromptSeen):
            self._seen.extend(record.ask_ids)
        if self._turn is not None:
            self._turn.from_transcript(record, trio.current_time())
        self._sink(record)
        self._news.ring()


def new_ask_id() -> str:
    """The id of a prompt, in the form that CLIs take."""
    return str(uuid.uuid4())
