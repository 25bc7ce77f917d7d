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
import time
import uuid
from collections import deque
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import trio

from supervisor.errors import (
    AgentBusy,
    AgentError,
    AgentStopped,
    AskRepeated,
    CannotResume,
    CannotStart,
    PromptTooLarge,
)
from supervisor.records import (
    AnyRecord,
    Damage,
    Delta,
    Failure,
    Note,
    PermissionAsked,
    PermissionGone,
    PromptSeen,
    PromptTaken,
    RateLimit,
    Ready,
    Retry,
    SessionLost,
    Text,
    TurnEnd,
    Window,
)
from supervisor.threads import in_thread

from . import environment
from .backends.base import is_name, kept_transcript
from .job import Bell, Held, Job
from .kept import Kept, OwnName, write_files
from .limits import Limits
from .measure import Measures
from .process import PASSING, AgentProcess, CappedLog, new_mark, says_full
from .program import Program
from .tail import Bookmark, Tail, lines_with
from .transcript import Transcript
from .turn import Outcome, Status, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from .backends.base import Backend, Launch
    from .lines import Line
    from .watcher import Watcher

FORWARDED = (Delta, RateLimit, Ready, PromptTaken, PermissionAsked, PermissionGone, Window, TurnEnd, Damage, Note)
"""What stdout alone tells; all else is taken from the transcript, which is the truth."""

QUICK_LOOKS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""How soon to look at the transcript again when only it is missing."""

HOPELESS_TRIES = 2
"""After so many it is certain that a key is wrong; the CLI itself would go on for minutes."""

EARLY_SECONDS = 1.0
"""How long an interrupt waits for its turn to begin: before that some CLIs overlook it, others are slow to tell."""

LONGEST_REST = 65.0
"""How long a CLI may want to be left alone before it takes up its session again."""

LONGEST_NAP = 2.0
"""Who is woken so many seconds too late was not awake."""

DYING_SECONDS = 1.0
"""How long a process that closed its stdin may take to end."""


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
        self.backend = backend
        self.limits = limits or Limits()
        self._watcher = watcher
        self._sink = sink
        self._folder = Path(launch.folder).absolute()
        self._own_name = OwnName(self._folder, launch.session_id)
        self.launch = msgspec.structs.replace(launch, own_id=launch.own_id or self._own_name.read())
        self._mark = new_mark(launch.owner, launch.agent_id)
        given = {**backend.environment(launch), **launch.environment}
        allow = (*backend.allow, *launch.allow)
        self._environment = environment.pick(os.environ, allow, given, self._mark)
        offset = bookmark.offset if bookmark else 0
        self._transcript = Transcript(backend.decoder(), offset, self.limits.line_bytes)
        self._tail = Tail(
            self._locate, self._transcript, self._from_tail, bookmark, self.limits.rescan, self._begin_with_old_news
        )
        self._old_news = False  # what is read now was read in an earlier life
        self._held: Held | None = None  # what is read while it is not known yet where the open ask begins
        self._had_transcript = bookmark is not None and bookmark != Bookmark()
        self._nursery: trio.Nursery | None = None
        self._log: CappedLog | None = None
        self._program: Program | None = None
        self._job: Job | None = None
        self._kept: Kept | None = None
        self._missed = False  # it was said that there is no transcript
        self._warned = False  # it was said that nobody tested its version
        self._news = Bell()
        self._stop = trio.Event()
        self._stopped = trio.Event()
        self._seen: deque[str] = deque(maxlen=64)  # asks that stand in the transcript
        self._told: deque[str] = deque(maxlen=64)  # lines that were taken from stdout because they were not written

    # -- life -----------------------------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the CLI and own it until `stop` or cancellation; raises CannotStart when it will not come up."""
        refused: AgentError | None = None
        try:
            watched = self.backend.watched(self.launch, self._environment)
            await self._furnish(watched)
            with self._watcher.watching(watched, self._tail.nudge):
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
            for file in (self._log, self._kept):
                if file is not None:
                    file.close()
            self._stopped.set()
            self._news.ring()
        if refused is not None:
            raise refused

    async def _furnish(self, watched: Path) -> None:
        """What it needs in its own folder; where the machine has no file or no room left, it is tried again."""
        for attempt in count(1):
            try:
                for folder in (self._folder, watched):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._log = self._log or CappedLog(self._folder / "stderr.log", self.limits.log_bytes)
                write_files(self._folder, self.backend.files(self.launch))
                if not self.backend.keeps:
                    self._kept = self._kept or Kept(kept_transcript(self.launch))
                return
            except OSError as error:
                if error.errno not in PASSING:
                    raise
                await self._pause(attempt, error.strerror or "")

    async def stop(self) -> None:
        """Finish it: interrupt, stdin closed, TERM, KILL; returns when nothing of it is left."""
        self._stop.set()
        self._news.ring()
        if self._nursery is not None:
            await self._stopped.wait()

    async def end(self, why: str) -> None:
        """End its process, and not the agent: a running turn learns why, and the next ask starts the CLI again."""
        program = self._program
        if program is not None and program.running:
            program.ended_for = why
            self._sink(Note(text=why))
            await program.process.stop(close_grace=0, term_grace=0)

    @property
    def pid(self) -> int | None:
        return self._program.process.pid if self._program is not None and self._program.running else None

    @property
    def transcript_path(self) -> Path | None:
        return self._tail.path

    @property
    def follows(self) -> bool:
        """Whether its transcript is being read now."""
        return self._tail.open

    def transcript_line(self, offset: int, name: str, most: int) -> bytes | None:
        """What its CLI itself wrote down there, if it is the line of that name; in a transcript of ours lines have
        none."""
        return self._tail.line_at(offset, name.encode() if self.backend.keeps else b"", most)

    def bookmark(self) -> Bookmark:
        """Where the transcript has been read to, also after the end: give it to the next agent of this session."""
        return self._tail.bookmark()

    async def read_up(self) -> None:
        """Read the transcript as far as it goes now: whatever comes out of it later was written later."""
        while not self._stop.is_set() and self._tail.read():
            await trio.lowlevel.checkpoint()

    def written(self) -> int:
        """How much stands in the transcript, whoever wrote it: who works writes."""
        with suppress(OSError):
            path = self._locate()
            return path.stat().st_size if path is not None else 0
        return 0

    def _locate(self) -> Path | None:
        return self.backend.locate(self.launch, self._environment)

    async def _start(self) -> bool:
        """Bring the CLI up, with growing pauses between the tries: as many as it takes where only room is missing.
        False when the ask that it was for was interrupted meanwhile."""
        failed = 0
        for attempt in count(1):
            try:
                why = await self._try_to_start()
                if not why:
                    return True
                failed += 1
            except CannotStart as error:
                if not error.passing:
                    raise
                why = str(error)
            except OSError as error:
                why = error.strerror or str(error)
                if error.errno not in PASSING:
                    raise CannotStart(f"{self.launch.agent_id} cannot be started: {why}") from None
            if failed >= self.limits.starts:
                break
            await self._pause(attempt, why)
            if self._interrupted():
                return False
        if self._stop.is_set():
            raise AgentStopped(f"{self.launch.agent_id} was stopped.")
        tries = f"{self.limits.starts} times" if self.limits.starts > 1 else "once"
        raise CannotStart(f"{self.launch.agent_id} was started {tries} and did not come up: {why}")

    async def _pause(self, attempt: int, why: str) -> None:
        """Before it is tried again; raises AgentStopped when it is not wanted any more."""
        if not self._stop.is_set():
            self._sink(Note(text=f"{self.launch.agent_id} did not start ({why}); trying again"))
            pause = min(self.limits.backoff * 2 ** min(attempt - 1, 20), self.limits.backoff_most)
            with trio.move_on_after(pause * random.uniform(0.5, 1.0)):  # noqa: S311  jitter, not a secret
                await self._wait_for(lambda: self._stop.is_set() or self._interrupted())
        if self._stop.is_set():
            raise AgentStopped(f"{self.launch.agent_id} was stopped.")

    def _interrupted(self) -> bool:
        return self._job is not None and self._job.interrupt

    async def _try_to_start(self) -> str:
        """One try; returns why it failed, or nothing. A missing program is not tried again; raises CannotStart."""
        assert self._nursery is not None
        assert self._log is not None
        launch = msgspec.structs.replace(self.launch, resume=self.launch.resume or self._locate() is not None)
        if not launch.resume and self._had_transcript:
            raise CannotResume(f"{self.launch.agent_id} cannot take up its session again: its transcript is gone")
        if launch.resume:
            await self._wait_until(self.backend.resumable_at(launch, self._environment))
            launch = msgspec.structs.replace(launch, spent=await in_thread(self._spent))
        cwd = Path(launch.cwd) if launch.cwd else self._folder
        program = Program(
            AgentProcess(
                self.backend.command(launch), cwd=cwd, environment=self._environment, mark=self._mark, log=self._log,
                on_line=lambda line: self._from_stdout(program, line), line_limit=self.limits.line_bytes,
            ),
            self.backend.dialogue(launch),
        )  # fmt: skip
        self._log.forget()
        await self._nursery.start(program.process.run)
        self._program = program
        self._nursery.start_soon(self._mourn, program)
        opened = await program.write(program.dialogue.open(), self.limits.start)
        if opened:
            with trio.move_on_after(self.limits.start):
                await self._wait_for(lambda: program.settled or self._stop.is_set())
        else:
            with trio.move_on_after(DYING_SECONDS):  # nobody reads: it is on its way out, or wrong in the head
                await program.process.exited.wait()
        if program.ready:
            return ""
        if program.running:
            await program.process.stop(close_grace=0, term_grace=self.limits.term)
            if isinstance(program.refused, SessionLost):
                why = program.refused.reason
                raise CannotResume(f"{self.launch.agent_id} cannot take up its session again: {why}")
            if isinstance(program.refused, Failure):
                why = program.refused.message
                raise self._refusal(why, passing=program.passing or says_full(why))
            return f"it said nothing for {self.limits.start:g} s" if opened else "it closed its stdin"
        last = self._log.last_line
        if says_full(last):
            raise self._refusal(last, passing=True)
        return f"exit status {program.process.status}" + (f", {last}" if last else f", see {self._log.path}")

    def _spent(self) -> float:
        """What the session has cost so far, as the CLI itself will count on from there."""
        path, told = self._locate(), 0.0
        with suppress(FileNotFoundError):
            for line in lines_with(path, self.backend.tells_cost) if path and self.backend.tells_cost else ():
                cost = self.backend.cost_told(line)
                told = told if cost is None else cost
        return told

    def _refusal(self, why: str, *, passing: bool) -> CannotStart:
        error = CannotStart(f"{self.launch.agent_id} did not come up: {why}")
        error.passing = passing
        return error

    async def _wait_until(self, at: float) -> None:
        """Unix time, as the CLI goes by it; never for more than a minute and a bit."""
        with trio.move_on_after(min(max(0.0, at - time.time()), LONGEST_REST)):
            await self._stop.wait()

    def _nobody_is_asked(self, program: Program) -> None:
        """The turn is broken off, or the process gone: what it waited for nobody need answer any more."""
        gone, program.permissions = program.permissions, set()
        for permission_id in sorted(gone):
            self._sink(PermissionGone(permission_id=permission_id))

    async def _mourn(self, program: Program) -> None:
        """When the process is gone, read what is left in the transcript, and then tell whoever waits for it."""
        process = program.process
        await process.exited.wait()
        while self._tail.read():
            await trio.lowlevel.checkpoint()
        self._nobody_is_asked(program)
        if process.leftover:
            self._sink(Note(text=f"{process.leftover} processes of {self.launch.agent_id} could not be ended"))
        program.mourned = True
        self._news.ring()

    async def _end(self) -> None:
        program = self._program
        if program is None or not program.running:
            return
        if self._job is not None:
            self._job.interrupt = True
            self._news.ring()
            with trio.move_on_after(self.limits.interrupt):
                await self._wait_for(lambda: self._job is None or not program.running)
        await program.process.stop(close_grace=self.limits.close, term_grace=self.limits.term)
        with trio.move_on_after(self.limits.interrupt):
            await self._wait_for(lambda: self._job is None)

    # -- turns ----------------------------------------------------------------------------------------------------

    async def catch_up(self, ask_id: str, *, seen: bool = False, heeded: str = "") -> Outcome | None:
        """Before `run`: read what was written while nobody looked; what became of an ask that was open, if it is known.

        Nothing may be writing any more. An ask without an outcome can be put again under its id. Say `seen` if the
        bookmark may lie behind its prompt. Where the caller is cancelled, nothing of it has been told.
        """
        turn = Turn(ask_id, trio.current_time())
        self._job = Job(turn, "", heeded=heeded)
        self._held = held = Held(ask_id, seen)
        try:
            while self._tail.read():
                await trio.lowlevel.checkpoint()
            self._held = None
            self._job.measures.begin()
            turn.seen = seen and not self._old_news
            self._old_news = False
            for record in held.records():
                self._from_tail(record)
        finally:
            self._job = self._held = None
        turn.gone(0, trio.current_time())
        outcome = turn.poll(trio.current_time())
        return outcome if outcome is not None and outcome.status != "exited" else None

    async def ask(
        self, ask_id: str, prompt: str, *, seen: bool = False, heeded: str = "",
        on_written: Callable[[], None] = lambda: None,
    ) -> Outcome:  # fmt: skip
        """Put a prompt to it and wait for what becomes of it; one at a time. `on_written` is called when it is sent.

        Only the beginning of a very long answer counts, and `heeded`, a word that counts wherever it is said.

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
        if self._program is not None and self._program.running and ask_id in self._program.given:
            raise AskRepeated(f"{self.launch.agent_id} was given the ask {ask_id} before: use a new id.")
        turn = Turn(
            ask_id, trio.current_time(), seen=seen or ask_id in self._seen,
            settle=self.limits.settle, transcript_wait=self.limits.transcript_wait,
        )  # fmt: skip
        job = self._job = Job(turn, prompt, on_written, heeded)
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

    async def permit(self, permission_id: str, allow: bool) -> None:
        """Answer what the CLI waits for; nothing happens if it does not wait any more."""
        program = self._program
        if program is not None and program.running:
            program.permissions.discard(permission_id)
            await program.write(program.dialogue.permit(permission_id, allow), self.limits.write)

    async def _carry_out(self, job: Job) -> None:
        try:
            job.outcome = self._with_a_way_on(await self._put(job))
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
        up = not job.abandoned
        if up and (self._program is None or not self._program.running):
            up = await self._start()
        if job.abandoned or job.interrupt or not up:
            return turn.give_up("interrupted", "stop", trio.current_time(), "nobody waits for it any more")
        program = self._program
        assert program is not None
        program.given.append(turn.ask_id)
        line = program.dialogue.ask(turn.ask_id, job.prompt)
        if self._kept is not None:
            self._kept.begin(line)
        written = await program.write(line, self.limits.write)
        if written:
            job.on_written()
        if not written and not program.mourned:
            with trio.move_on_after(DYING_SECONDS):
                await self._wait_for(lambda: program.mourned)
        if not written and self._stop.is_set():
            await program.process.exited.wait()
            return turn.give_up("interrupted", "stop", trio.current_time(), "the agent was stopped")
        if not written and not program.mourned:
            await program.process.stop(close_grace=0, term_grace=self.limits.term)
            detail = f"it did not read its input for {self.limits.write:g} s and was ended"
            return turn.give_up("unread", "watchdog", trio.current_time(), detail)
        return await self._await_end(job, program)

    async def _await_end(self, job: Job, program: Program) -> Outcome:
        turn, limits = job.turn, self.limits
        looks = 0
        wanted_at: float | None = None  # when the interrupt was asked for
        sent_at: float | None = None  # when it was written
        again = silent = False
        while True:
            now = trio.current_time()
            if program.permissions:  # it waits for a person, and not the other way round
                turn.touch(now)
            if program.mourned:
                turn.gone(program.process.status or 0, now)
            if outcome := turn.poll(now):
                if job.hopeless is not None and outcome.status in ("interrupted", "exited", "failed"):
                    why = job.hopeless
                    return msgspec.structs.replace(outcome, status="failed", failure=why, detail=why.message)
                if silent and (outcome.status in ("interrupted", "exited") or not outcome.texts):
                    return turn.give_up("silent", "watchdog", now, self._silence())
                if program.ended_for and outcome.status == "exited":
                    return turn.give_up("exited", "exit", now, program.ended_for)
                if self._stop.is_set() and outcome.status == "exited":
                    return turn.give_up("interrupted", "stop", now, "the agent was stopped")
                return outcome
            if not turn.expects_transcript and now - turn.last_activity >= limits.silence:
                silent = job.interrupt = True
            wanted_at = now if job.interrupt and wanted_at is None else wanted_at
            early = wanted_at is not None and now - wanted_at >= EARLY_SECONDS
            if job.interrupt and ((sent_at is None and (turn.begun or silent or early)) or (again and turn.begun)):
                sent_at, again = now, not turn.begun
                self._nobody_is_asked(program)
                await program.write(program.dialogue.interrupt(), limits.interrupt)
                continue
            if sent_at is not None and not turn.expects_transcript and now - sent_at >= limits.interrupt:
                await program.process.stop(close_grace=0, term_grace=limits.term)
                detail = self._silence() if silent else "it did not heed the interrupt and was ended"
                status: Status = "silent" if silent else "interrupted"
                return turn.give_up(status, "watchdog", trio.current_time(), detail)
            wake = min(
                turn.next_look(now),
                sent_at + limits.interrupt if sent_at is not None
                else wanted_at + EARLY_SECONDS if wanted_at is not None
                else turn.last_activity + limits.silence,
            )  # fmt: skip
            if turn.expects_transcript:
                self._tail.nudge()
                wake = min(turn.next_look(now), now + QUICK_LOOKS[min(looks, len(QUICK_LOOKS) - 1)])
                looks += 1
            with trio.move_on_after(max(0.001, wake - now)):
                await self._news.wait()
            if trio.current_time() > wake + LONGEST_NAP:  # everything was suspended, and it had no chance to speak
                turn.touch(trio.current_time())

    def _with_a_way_on(self, outcome: Outcome) -> Outcome:
        """Who is not let in is told what to do about it."""
        refused = outcome.failure is not None and outcome.failure.kind == "authentication"
        if not refused or self.backend.sign_in is None or self._sign_in in outcome.detail:
            return outcome
        return msgspec.structs.replace(outcome, detail=f"{outcome.detail} ({self._sign_in})")

    @property
    def _sign_in(self) -> str:
        return self.backend.sign_in.how if self.backend.sign_in is not None else "check its key"

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

    async def _wait_for(self, happened: Callable[[], bool]) -> None:
        while not happened():
            await self._news.wait()

    # -- what comes in --------------------------------------------------------------------------------------------

    def _from_stdout(self, program: Program, line: Line) -> None:
        self._tail.nudge()
        turn, now = self._job.turn if self._job else None, trio.current_time()
        if turn is not None:
            turn.touch(now)
        reply = program.hear(line)
        if reply.keep and self._kept is not None:
            self._kept.write(line.data + b"\n")
            self._tail.nudge()
        if reply.write and self._nursery is not None:
            self._nursery.start_soon(program.write, reply.write, self.limits.write)
        for record in map(self._measured, reply.records):
            match record:
                case Ready():
                    self._came_up(program, record)
                case SessionLost() | Failure() if not program.ready:
                    program.refused = record
                case PermissionAsked():
                    program.permissions.add(record.permission_id)
                case PermissionGone():
                    program.permissions.discard(record.permission_id)
            if turn is not None:
                turn.from_stdout(record, now)
            if isinstance(record, FORWARDED) or (isinstance(record, Retry) and not self.backend.tells_retries):
                self._sink(record)
        self._news.ring()

    def _came_up(self, program: Program, ready: Ready) -> None:
        """Its own name for the session is kept before the first prompt: without it nobody finds the session again."""
        why = self.backend.too_old(ready.version) or ""
        if not why and ready.session and ready.session != self.launch.own_id:
            why = self._keep_name(program, ready.session)
        if why:
            program.refused = Failure(kind="unknown", message=why)
        else:
            program.ready = True
            if not self._warned and (untested := self.backend.untested(ready.version)):
                self._warned = True
                self._sink(Note(text=untested))

    def _keep_name(self, program: Program, name: str) -> str:
        """Returns why it cannot be kept, or nothing."""
        if not is_name(name):
            return f"its name for a session is odd: {name[:40]!r}"
        try:
            self._own_name.write(name)
        except OSError as error:
            program.passing = error.errno in PASSING
            return f"its name for the session cannot be kept: {error.strerror}"
        self.launch = msgspec.structs.replace(self.launch, own_id=name)
        return ""

    def _begin_with_old_news(self) -> None:
        """The transcript was written anew while nobody looked: all was told before, up to the prompt that is open."""
        self._old_news = True

    def _measured(self, record: AnyRecord) -> AnyRecord:
        """Not larger than anybody after us can bear."""
        if self._job is None:
            return Measures().of(record)
        if self._job.turn.begins_with(record):
            self._job.measures.begin()
        return self._job.measures.of(record)

    def _from_tail(self, record: AnyRecord) -> None:
        self._had_transcript = True
        record = self._measured(record)
        if self._held is not None:
            self._held.add(record, old_news=self._old_news)
            return
        if isinstance(record, PromptSeen):
            self._seen.extend(record.ask_ids)
            self._old_news = self._old_news and not (self._job and self._job.turn.ask_id in record.ask_ids)
        if self._old_news and not isinstance(record, Damage | Note):
            return
        if self._job is not None:
            self._job.turn.from_transcript(record, trio.current_time())
            if isinstance(record, Retry) and record.kind == "authentication" and record.attempt >= HOPELESS_TRIES:
                status = f" (HTTP {record.status})" if record.status else ""
                why = f"it is not let in{status}: {self._sign_in}"
                self._job.hopeless = Failure(kind="authentication", message=why, status=record.status)
                self._job.interrupt = True
        if not (isinstance(record, Text) and record.uuid in self._told):
            self._sink(record)
        self._news.ring()


def new_ask_id() -> str:
    """The id of a prompt, in the form that CLIs take."""
    return str(uuid.uuid4())
