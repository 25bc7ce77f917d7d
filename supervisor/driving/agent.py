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
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import trio

from supervisor.errors import AgentBusy, AgentError, AgentStopped, AskRepeated, CannotStart, PromptTooLarge
from supervisor.records import AnyRecord, Damage, Delta, Note, PromptSeen, PromptTaken, RateLimit, Ready, Text, TurnEnd

from . import environment
from .backends.base import UNREADABLE
from .process import AgentProcess, CappedLog, new_mark
from .tail import Bookmark, Tail
from .transcript import Transcript
from .turn import Outcome, Status, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .backends.base import Backend, Dialogue, Launch
    from .lines import Line
    from .watcher import Watcher

FORWARDED = (Delta, RateLimit, Ready, PromptTaken, TurnEnd, Damage, Note)
"""What stdout alone tells; all else is taken from the transcript, which is the truth."""

QUICK_LOOKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""How soon to look at the transcript again when only it is missing."""

DYING_SECONDS = 1.0
"""How long a process that closed its stdin may take to end."""


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


class Job:
    """An ask on its way: it belongs to the agent, so that whoever asked may go away without leaving half a prompt."""

    def __init__(self, turn: Turn, prompt: str, on_written: Callable[[], None] = lambda: None) -> None:
        self.turn, self.prompt, self.on_written = turn, prompt, on_written
        self.done = trio.Event()
        self.outcome: Outcome | None = None
        self.error: AgentError | None = None
        self.interrupt = False
        self.abandoned = False


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
        self._mark = new_mark(launch.owner, launch.agent_id)
        given = {**backend.environment(launch), **launch.environment}
        allow = (*backend.allow, *launch.allow)
        self._environment = environment.pick(os.environ, allow, given, self._mark)
        offset = bookmark.offset if bookmark else 0
        self._transcript = Transcript(backend.decoder(), offset, self.limits.line_bytes)
        self._tail = Tail(self._locate, self._transcript, self._from_tail, bookmark, self.limits.rescan)
        self._nursery: trio.Nursery | None = None
        self._log: CappedLog | None = None
        self._process: AgentProcess | None = None
        self._dialogue: Dialogue | None = None
        self._mourned: AgentProcess | None = None  # the last that is gone, with its transcript read to the end
        self._job: Job | None = None
        self._ready = False
        self._missed = False  # it was said that there is no transcript
        self._news = Bell()
        self._stop = trio.Event()
        self._stopped = trio.Event()
        self._given: deque[str] = deque(maxlen=64)  # asks this process has had
        self._seen: deque[str] = deque(maxlen=64)  # asks that stand in the transcript
        self._told: deque[str] = deque(maxlen=64)  # lines that were taken from stdout because they were not written

    # -- life -----------------------------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the CLI and own it until `stop` or cancellation; raises CannotStart when it will not come up."""
        refused: AgentError | None = None
        try:
            watched = self.backend.watched(self.launch, self._environment)
            with self._own_folder(), self._watcher.watching(watched, self._tail.nudge):
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
        except OSError as error:
            refused = CannotStart(f"{error.filename or self._folder} cannot be used: {error.strerror}.")
        finally:
            self._stopped.set()
            self._news.ring()
        if refused is not None:
            raise refused

    @contextmanager
    def _own_folder(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._log = CappedLog(self._folder / "stderr.log", self.limits.log_bytes)
        try:
            yield
        finally:
            self._log.close()

    async def stop(self) -> None:
        """Finish it: interrupt, stdin closed, TERM, KILL; returns when nothing of it is left."""
        self._stop.set()
        self._news.ring()
        if self._nursery is not None:
            await self._stopped.wait()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and not self._process.exited.is_set() else None

    @property
    def transcript_path(self) -> Path | None:
        return self._tail.path

    def bookmark(self) -> Bookmark:
        """Where the transcript has been read to, also after the end: give it to the next agent of this session."""
        return self._tail.bookmark()

    def _locate(self) -> Path | None:
        return self.backend.locate(self.launch, self._environment)

    async def _start(self) -> None:
        """Bring the CLI up, with growing pauses between the tries."""
        why = ""
        for attempt in range(1, self.limits.starts + 1):
            why = await self._try_to_start()
            if not why:
                return
            if attempt < self.limits.starts and not self._stop.is_set():
                self._sink(Note(text=f"{self.launch.agent_id} did not start ({why}); trying again"))
                pause = min(self.limits.backoff * 2 ** (attempt - 1), self.limits.backoff_most)
                with trio.move_on_after(pause * random.uniform(0.5, 1.0)):  # noqa: S311  jitter, not a secret
                    await self._stop.wait()
            if self._stop.is_set():
                raise AgentStopped(f"{self.launch.agent_id} was stopped.")
        tries = f"{self.limits.starts} times" if self.limits.starts > 1 else "once"
        raise CannotStart(f"{self.launch.agent_id} was started {tries} and did not come up: {why}")

    async def _try_to_start(self) -> str:
        """One try; returns why it failed, or nothing. A missing program is not tried again."""
        assert self._nursery is not None
        assert self._log is not None
        launch = msgspec.structs.replace(self.launch, resume=self.launch.resume or self._locate() is not None)
        cwd = Path(launch.cwd) if launch.cwd else self._folder
        self._dialogue, self._ready = self.backend.dialogue(), False
        self._given.clear()
        process = AgentProcess(
            self.backend.command(launch), cwd=cwd, environment=self._environment, mark=self._mark, log=self._log,
            on_line=self._from_stdout, line_limit=self.limits.line_bytes,
        )  # fmt: skip
        await self._nursery.start(process.run)
        self._process = process
        self._nursery.start_soon(self._mourn, process)
        opened = await self._write(process, self._dialogue.open(), self.limits.start)
        if opened:
            with trio.move_on_after(self.limits.start):
                await self._wait_for(lambda: self._ready or process.exited.is_set() or self._stop.is_set())
        else:
            with trio.move_on_after(DYING_SECONDS):  # nobody reads: it is on its way out, or wrong in the head
                await process.exited.wait()
        if self._ready:
            return ""
        if not process.exited.is_set():
            await process.stop(close_grace=0, term_grace=self.limits.term)
            return f"it said nothing for {self.limits.start:g} s" if opened else "it closed its stdin"
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
        if self._job is not None:
            self._job.interrupt = True
            self._news.ring()
            with trio.move_on_after(self.limits.interrupt):
                await self._wait_for(lambda: self._job is None or process.exited.is_set())
        await process.stop(close_grace=self.limits.close, term_grace=self.limits.term)
        with trio.move_on_after(self.limits.interrupt):
            await self._wait_for(lambda: self._job is None)

    # -- turns ----------------------------------------------------------------------------------------------------

    def catch_up(self, ask_id: str) -> Outcome | None:
        """Before `run`: read what was written while nobody looked; what became of an ask that was open, if it is known.

        Nothing may be writing any more. An ask without an outcome can be put again under its id.
        """
        turn = Turn(ask_id, trio.current_time())
        self._job = Job(turn, "")
        try:
            while self._tail.read():
                pass
        finally:
            self._job = None
        turn.gone(0, trio.current_time())
        outcome = turn.poll(trio.current_time())
        return outcome if outcome is not None and outcome.status != "exited" else None

    async def ask(
        self, ask_id: str, prompt: str, *, seen: bool = False, on_written: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Put a prompt to it and wait for what becomes of it; one at a time. `on_written` is called when it is sent.

        An ask that was broken off by the end of the process may be put again under the same id: a CLI that had it
        already neither answers it twice nor writes it down twice. Say `seen` if an earlier run saw it in the
        transcript. Any other new try needs a new id.

        If the caller is cancelled, the turn is interrupted, and the next ask waits until that is over.
        """
        await trio.lowlevel.checkpoint_if_cancelled()  # before anything was done
        size = len(prompt.encode("utf-8", "surrogatepass"))
        if size > self.limits.prompt_bytes:
            most = self.limits.prompt_bytes
            raise PromptTooLarge(f"The prompt has {size:,} bytes, the limit is {most:,}: shorten it.")
        while self._job is not None and self._job.abandoned and not self._stopped.is_set():
            await self._news.wait()
        if self._job is not None:
            raise AgentBusy(f"{self.launch.agent_id} is answering already; wait or interrupt it.")
        if self._nursery is None or self._stop.is_set() or self._stopped.is_set():
            raise AgentStopped(f"{self.launch.agent_id} is not running.")
        if self.pid is not None and ask_id in self._given:
            raise AskRepeated(f"{self.launch.agent_id} was given the ask {ask_id} before: use a new id.")
        turn = Turn(
            ask_id, trio.current_time(), seen=seen or ask_id in self._seen,
            settle=self.limits.settle, transcript_wait=self.limits.transcript_wait,
        )  # fmt: skip
        job = self._job = Job(turn, prompt, on_written)
        self._nursery.start_soon(self._carry_out, job)
        try:
            await job.done.wait()
        except trio.Cancelled:
            job.abandoned = job.interrupt = True
            self._news.ring()
            raise
        if job.error is not None:
            raise job.error
        assert job.outcome is not None
        return job.outcome

    async def interrupt(self) -> None:
        """Break off the running turn with the CLI's own means as soon as it has begun; its outcome comes from `ask`."""
        if self._job is not None:
            self._job.interrupt = True
            self._news.ring()
        await trio.lowlevel.checkpoint()

    async def _carry_out(self, job: Job) -> None:
        try:
            job.outcome = await self._put(job)
            self._tell_printed(job.turn, job.outcome)
        except AgentError as error:
            job.error = error
        finally:
            if job.outcome is None and job.error is None:  # the agent's owner is gone, and so is the agent
                self._stop.set()
                job.outcome = job.turn.give_up("interrupted", "stop", trio.current_time(), "the agent was stopped")
            self._job = None
            job.done.set()
            self._news.ring()

    async def _put(self, job: Job) -> Outcome:
        turn = job.turn
        if not job.abandoned and (self._process is None or self._process.exited.is_set()):
            await self._start()
        if job.abandoned:
            return turn.give_up("interrupted", "stop", trio.current_time(), "nobody waits for it any more")
        process, dialogue = self._process, self._dialogue
        assert process is not None
        assert dialogue is not None
        self._given.append(turn.ask_id)
        written = await self._write(process, dialogue.ask(turn.ask_id, job.prompt), self.limits.write)
        if written:
            job.on_written()
        if not written and self._mourned is not process:
            with trio.move_on_after(DYING_SECONDS):
                await self._wait_for(lambda: self._mourned is process)
        if not written and self._stop.is_set():
            await process.exited.wait()
            return turn.give_up("interrupted", "stop", trio.current_time(), "the agent was stopped")
        if not written and self._mourned is not process:
            await process.stop(close_grace=0, term_grace=self.limits.term)
            detail = f"it did not read its input for {self.limits.write:g} s and was ended"
            return turn.give_up("unread", "watchdog", trio.current_time(), detail)
        return await self._await_end(job, process, dialogue)

    async def _await_end(self, job: Job, process: AgentProcess, dialogue: Dialogue) -> Outcome:
        turn, limits = job.turn, self.limits
        looks = 0
        sent_at: float | None = None  # when the interrupt was written
        silent = False
        while True:
            now = trio.current_time()
            if self._mourned is process:
                turn.gone(process.status or 0, now)
            if outcome := turn.poll(now):
                if silent and outcome.status in ("interrupted", "exited"):
                    return turn.give_up("silent", "watchdog", now, self._silence())
                if self._stop.is_set() and outcome.status == "exited":
                    return turn.give_up("interrupted", "stop", now, "the agent was stopped")
                return outcome
            if not turn.expects_transcript and now - turn.last_activity >= limits.silence:
                silent = job.interrupt = True
            if job.interrupt and sent_at is None and (turn.begun or silent):
                sent_at = now
                await self._write(process, dialogue.interrupt(), limits.interrupt)
                continue
            if sent_at is not None and not turn.expects_transcript and now - sent_at >= limits.interrupt:
                await process.stop(close_grace=0, term_grace=limits.term)
                detail = self._silence() if silent else "it did not heed the interrupt and was ended"
                status: Status = "silent" if silent else "interrupted"
                return turn.give_up(status, "watchdog", trio.current_time(), detail)
            wake = min(turn.next_look(now), turn.last_activity + limits.silence if sent_at is None
                       else sent_at + limits.interrupt)  # fmt: skip
            if turn.expects_transcript:
                self._tail.nudge()
                wake = min(turn.next_look(now), now + QUICK_LOOKS[min(looks, len(QUICK_LOOKS) - 1)])
                looks += 1
            with trio.move_on_after(max(0.001, wake - now)):
                await self._news.wait()

    def _silence(self) -> str:
        return f"it said nothing for {self.limits.silence:g} s and was interrupted"

    def _tell_printed(self, turn: Turn, outcome: Outcome) -> None:
        """What stands in no transcript is told as it was printed, and not a second time if it is written after all."""
        if outcome.signal == "stdout" and self._tail.path is None and not self._missed:
            self._missed = True
            watched = self.backend.watched(self.launch, self._environment)
            self._sink(Note(text=f"there is no transcript below {watched}; what was printed is used instead"))
        for text in turn.unwritten():
            self._told.extend([text.uuid] if text.uuid else [])
            self._sink(text)

    async def _write(self, process: AgentProcess, data: bytes, seconds: float) -> bool:
        """Whether all of it was taken in time; a process that takes only a part of a line is of no use any more."""
        with trio.move_on_after(seconds):
            try:
                await process.write(data)
                return True
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return False
        return False

    async def _wait_for(self, happened: Callable[[], bool]) -> None:
        while not happened():
            await self._news.wait()

    # -- what comes in --------------------------------------------------------------------------------------------

    def _from_stdout(self, line: Line) -> None:
        self._tail.nudge()
        turn, now = self._job.turn if self._job else None, trio.current_time()
        if turn is not None:
            turn.touch(now)
        for record in self._heard(line):
            self._ready = self._ready or isinstance(record, Ready)
            if turn is not None:
                turn.from_stdout(record, now)
            if isinstance(record, FORWARDED):
                self._sink(record)
        self._news.ring()

    def _heard(self, line: Line) -> list[AnyRecord]:
        """What a line of stdout means; the CLI may want something in return."""
        assert self._dialogue is not None
        if line.too_long:
            return [Damage(length=line.length, reason="longer than the limit for a line", source="stdout")]
        if not line.data.strip():
            return []
        try:
            reply = self._dialogue.hear(line.data)
        except UNREADABLE:
            shown = line.data[:80].decode("utf-8", "replace")
            return [Damage(length=line.length, reason=f"not a line of its protocol: {shown!r}", source="stdout")]
        if reply.write and self._nursery is not None and self._process is not None:
            self._nursery.start_soon(self._write, self._process, reply.write, self.limits.write)
        return reply.records

    def _from_tail(self, record: AnyRecord) -> None:
        if isinstance(record, PromptSeen):
            self._seen.extend(record.ask_ids)
        if self._job is not None:
            self._job.turn.from_transcript(record, trio.current_time())
        if not (isinstance(record, Text) and record.uuid in self._told):
            self._sink(record)
        self._news.ring()


def new_ask_id() -> str:
    """The id of a prompt, in the form that CLIs take."""
    return str(uuid.uuid4())
