"""One agent of the office: its driven CLI, the asks that wait for it, and what its records mean to the core."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, Protocol

import trio

from supervisor import records as r
from supervisor.bus import BROADCASTS
from supervisor.core import inputs
from supervisor.core.rooms import speech
from supervisor.driving.agent import DrivenAgent
from supervisor.driving.limits import Limits
from supervisor.errors import AgentError, AgentStopped, CannotResume
from supervisor.events import AgentSpoke, Source, Status, TextDelta

if TYPE_CHECKING:
    from supervisor.bus import Bus, Mailbox
    from supervisor.driving.backends.base import Backend, Launch
    from supervisor.driving.tail import Bookmark
    from supervisor.driving.turn import Outcome
    from supervisor.driving.turn import Status as Outcomes
    from supervisor.driving.watcher import Watcher

    from .leftovers import Leftover

CUT_SHORT_SECONDS = 1.0
"""How long a turn may go on after the keyword was said in it."""

MEANS: dict[Outcomes, Literal["answered", "failed", "interrupted", "exited", "repeated"]] = {
    "answered": "answered", "failed": "failed", "interrupted": "interrupted", "exited": "exited", "unread": "exited",
    "silent": "failed", "repeated": "repeated",
}  # fmt: skip
"""What the outcomes of driving come to in a conversation."""


class Listener(Protocol):
    """Whoever is told what an agent does: the runtime."""

    bus: Bus

    def now(self) -> float: ...
    def tell(self, given: inputs.AnyFact) -> None: ...
    def show(self, frame: TextDelta | Status) -> None: ...
    def progress(self, ask_id: str, status: str) -> None: ...
    def at(self, wall: float) -> float: ...
    def started(self, agent_id: str, pid: int) -> None: ...
    def ended(self, agent_id: str) -> None: ...
    def read_to(self, agent_id: str, session_id: str, mark: Bookmark) -> None: ...
    def heeds_keyword(self, ask_id: str) -> bool: ...


class Ask:
    """A prompt for this agent, and what was said in answer to it so far."""

    def __init__(self, ask_id: str, prompt: str, keyword: str, *, quiet: bool = False, seen: bool = False) -> None:
        """`quiet`: nothing of the answer is shown as it comes. `seen`: its prompt stood in the transcript before."""
        self.id, self.prompt, self.keyword, self.quiet, self.seen = ask_id, prompt, keyword, quiet, seen
        self.gate = speech.Gate(keyword)
        self.blocks = speech.Blocks(keyword)
        self.shown = False
        self.source: Source | None = None
        self.cut = False


class Colleague:
    """Owns a driven agent for as long as it is in the office."""

    def __init__(
        self, backend: Backend, launch: Launch, watcher: Watcher, listener: Listener, name: str,
        *, limits: Limits | None = None, bookmark: Bookmark | None = None,
    ) -> None:  # fmt: skip
        self.id, self.name = launch.agent_id, name
        self._session = launch.session_id
        self._listener = listener
        self._silence = (limits or Limits()).silence
        self.driven = DrivenAgent(backend, launch, watcher, self._record, limits=limits, bookmark=bookmark)
        self._asks: deque[Ask] = deque()
        self._current: Ask | None = None
        self._before = ""  # what it was asked in an earlier life, and had not answered as far as we know
        self._left: Leftover | None = None  # the CLI that may still be about it
        self._waits = trio.CancelScope()  # for that one, and for what stands in its transcript
        self._predecessor: Colleague | None = None
        self._news = trio.Event()
        self._stopping = False
        self._gone = trio.Event()
        self._nursery: trio.Nursery | None = None
        self._tools: dict[str, str] = {}
        self._cost, self._cost_of = 0.0, 0  # what this process has cost so far
        self._resets_at: float | None = None
        self.heard = 0
        """How many broadcasts of others have reached it."""

    # -- what the core wants of it --------------------------------------------------------------------------------

    def take_up(self, ask_id: str, left: Leftover | None) -> None:
        """Before `run`: what it was about in an earlier life, and its CLI, if that is still at work."""
        self._before, self._left = ask_id, left

    def follow(self, predecessor: Colleague) -> None:
        """Before `run`: a fresh session. The CLI from before is gone before another comes up; asks wait meanwhile."""
        self._predecessor = predecessor

    def ask(self, ask: Ask) -> None:
        self._asks.append(ask)
        self._wake()

    def interrupt(self, ask_id: str) -> None:
        """Break off this ask, whether it has begun or not."""
        if ask_id == self._before:
            self._waits.cancel()
        self._asks = deque(ask for ask in self._asks if ask.id != ask_id)
        if self._current is not None and self._current.id == ask_id and self._nursery is not None:
            self._current.quiet = True  # what it still says is for nobody
            self._nursery.start_soon(self.driven.interrupt)

    def permit(self, cli_id: str, allow: bool) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(self.driven.permit, cli_id, allow)

    async def stop(self) -> None:
        self._stopping = True
        self._waits.cancel()
        self._wake()
        if self._nursery is not None:
            await self.driven.stop()
            await self._gone.wait()
        elif self._predecessor is not None:
            await self._predecessor.stop()
        await self._end_leftover()

    def _wake(self) -> None:
        news, self._news = self._news, trio.Event()
        news.set()

    # -- its life -------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Bring the CLI up and put the asks to it, one at a time, until it is stopped."""
        if self._predecessor is not None:
            await self._predecessor.stop()
            self._predecessor = None
        if self._stopping:
            return
        try:
            with self._listener.bus.mailbox(BROADCASTS) as mailbox:
                await self._work(mailbox)
        finally:
            self._gone.set()
            self._listener.ended(self.id)

    async def _work(self, mailbox: Mailbox) -> None:
        async with trio.open_nursery() as self._nursery:
            try:
                self._nursery.start_soon(self._listen, mailbox)
                await self._settle()
                if not self._stopping:
                    await self._nursery.start(self._drive)
                while not self._stopping:
                    if not self._asks:
                        await self._news.wait()
                        continue
                    await self.driven.read_up()  # what stands there by now is no answer to what is asked next
                    if self._asks and not self._stopping:
                        await self._put(self._asks.popleft())
            except AgentStopped:
                pass
            except CannotResume as lost:
                self._listener.tell(inputs.SessionLost(agent_id=self.id, reason=str(lost)))
            except AgentError as error:
                self._listener.tell(inputs.AgentGone(agent_id=self.id, reason=str(error)))
            await self.driven.stop()  # it may take its leave
            self._nursery.cancel_scope.cancel()

    async def _settle(self) -> None:
        """What was asked before our time: a CLI that is still at it may finish, and an answer that arrived meanwhile
        counts; without one, the ask is put again when its turn comes."""
        with self._waits:
            try:
                if self._left is not None and self._wanted() is not None:
                    self._note("info", "its CLI outlived the last supervisor and may finish its turn")
                    at_work = inputs.AtWork(ask_id=self._before)
                    await self._left.finish(self.driven.written, self._silence, lambda: self._listener.tell(at_work))
            finally:
                await self._end_leftover()
            if (ask := self._wanted()) is not None and not self._stopping:
                await self._catch_up(ask)

    async def _catch_up(self, ask: Ask) -> None:
        over = await self._caught_up(ask)
        if over is not None and ask in self._asks and not self._stopping:
            self._asks.remove(ask)
            self._listener.read_to(self.id, self._session, self.driven.bookmark())
            self._listener.tell(over)

    def _wanted(self) -> Ask | None:
        """The ask from before, if an answer to it is still waited for."""
        return next((ask for ask in self._asks if ask.id == self._before), None)

    async def _end_leftover(self) -> None:
        if self._left is not None:
            left, self._left = self._left, None
            await left.end()
            self._listener.ended(self.id)

    async def _caught_up(self, ask: Ask) -> inputs.TurnOver | None:
        """What became of an ask, where the transcript says it."""
        self._current = ask
        try:
            outcome = await self.driven.catch_up(ask.id, seen=ask.seen, heeded=ask.keyword)
            if outcome is not None and outcome.status == "interrupted" and not ask.blocks.ended:
                outcome = None  # nobody wanted that: some CLIs break off by themselves when their stdin is closed
            return self._over(ask, outcome) if outcome is not None else None
        finally:
            self._current = None

    async def _listen(self, mailbox: Mailbox) -> None:
        """What others do and say, over the bus (C8); only words that are meant for it matter."""
        while True:
            for event in await mailbox.receive():
                if getattr(event, "agent_id", "") == self.id:
                    continue
                self.heard += 1
                if isinstance(event, AgentSpoke) and event.room_id is None and self.id in event.recipients:
                    self._listener.tell(inputs.Heard(agent_id=self.id, spoke=event))

    async def _drive(self, *, task_status: trio.TaskStatus[None]) -> None:
        await self.driven.run(task_status=task_status)

    async def _put(self, ask: Ask) -> None:
        self._current, self._resets_at = ask, None
        try:
            outcome = await self.driven.ask(
                ask.id, ask.prompt, seen=ask.seen, heeded=ask.keyword,
                on_written=lambda: self._listener.progress(ask.id, "written"),
            )  # fmt: skip
            over = self._over(ask, outcome)
        except (AgentStopped, CannotResume):
            raise
        except AgentError as error:
            over = inputs.TurnOver(ask_id=ask.id, status="exited", signal="exit", detail=str(error))
        finally:
            self._current = None
        self._listener.read_to(self.id, self._session, self.driven.bookmark())
        self._listener.tell(over)

    def _over(self, ask: Ask, outcome: Outcome) -> inputs.TurnOver:
        if outcome.status in ("answered", "interrupted"):
            self._say(ask, ask.blocks.finish())
        failure = outcome.failure
        retry_at = None
        if failure is not None and failure.kind == "rate_limit":
            wait = failure.retry_after
            retry_at = self._resets_at or (self._listener.now() + wait if wait is not None else None)
        return inputs.TurnOver(
            ask_id=ask.id, status=MEANS[outcome.status], signal=outcome.signal, text=outcome.text, ms=outcome.ms,
            detail=outcome.detail, kind=failure.kind if failure else "unknown", retry_at=retry_at, source=ask.source,
        )  # fmt: skip

    # -- what it is seen to do ------------------------------------------------------------------------------------

    def _record(self, record: r.AnyRecord) -> None:
        ask = self._current
        match record:
            case r.Ready() if self.driven.pid is not None:
                if self.driven.pid != self._cost_of:  # some say at each turn that they are there
                    self._cost, self._cost_of = 0.0, self.driven.pid
                self._listener.started(self.id, self.driven.pid)
            case r.PromptSeen():
                for ask_id in record.ask_ids:
                    self._listener.progress(ask_id, "seen")
            case r.Delta() if ask is not None:
                self._stream(ask, record.text)
            case r.Text() if ask is not None:
                ask.source = Source(record.offset, record.uuid, self._session)
                self._say(ask, ask.blocks.feed(record.text, ask.source))
                self._cut_short_after(ask)
            case r.ToolUse():
                self._tools[record.tool_id] = record.tool
                self._tool(record.tool_id, "started", record.summary)
            case r.ToolResult():
                self._tool(record.tool_id, "failed" if record.is_error else "done", record.summary)
            case r.PermissionAsked():
                self._listener.tell(inputs.PermissionWanted(
                    agent_id=self.id, cli_id=record.permission_id, tool=record.tool, summary=record.summary
                ))  # fmt: skip
            case r.PermissionGone():
                self._listener.tell(inputs.PermissionWithdrawn(agent_id=self.id, cli_id=record.permission_id))
            case r.Usage():
                self._listener.tell(inputs.UsageSeen(
                    agent_id=self.id, input_tokens=record.input_tokens, output_tokens=record.output_tokens,
                    context_tokens=record.context_tokens, message_id=record.message_id,
                ))  # fmt: skip
            case r.Window():
                self._listener.tell(inputs.WindowSeen(agent_id=self.id, tokens=record.tokens))
            case r.TurnEnd() if record.cost_usd is not None and record.cost_usd > self._cost:
                spent, self._cost = record.cost_usd - self._cost, record.cost_usd
                self._listener.tell(inputs.CostSeen(agent_id=self.id, cost_usd=spent))
            case r.RateLimit() if record.status == "rejected":
                self._resets_at = record.resets_at and self._listener.at(record.resets_at)
            case r.Thinking() if record.text.strip():
                self._listener.tell(inputs.ThoughtSeen(agent_id=self.id, text=record.text, thought_id=record.uuid))
            case r.Retry():
                self._listener.tell(inputs.RetrySeen(
                    agent_id=self.id, attempt=record.attempt, max_retries=record.max_retries,
                    delay_ms=record.delay_ms, reason=record.kind, retry_id=record.uuid,
                ))  # fmt: skip
            case r.Compacted():
                self._listener.tell(inputs.CompactionSeen(
                    agent_id=self.id, before_tokens=record.before_tokens, compaction_id=record.uuid
                ))  # fmt: skip
            case r.Damage():
                self._note("warning", f"{record.source}: {record.reason}")
            case r.Note():
                self._note("warning", record.text)
            case _:
                pass

    def _stream(self, ask: Ask, piece: str) -> None:
        if ask.quiet or not piece:
            return
        if text := ask.gate.feed(piece):
            if not ask.shown:
                ask.shown = True
                self._listener.tell(inputs.SpeechBegan(ask_id=ask.id))
            self._listener.show(TextDelta(agent_id=self.id, text=text, ask_id=ask.id))

    def _say(self, ask: Ask, blocks: list[tuple[str, Source]]) -> None:
        for text, source in [] if ask.quiet else blocks:
            self._listener.tell(inputs.Said(ask_id=ask.id, text=text, source=source))

    def _tool(self, tool_id: str, status: str, summary: str) -> None:
        self._listener.tell(inputs.ToolSeen(
            agent_id=self.id, tool=self._tools.get(tool_id, "tool"), status=status,  # type: ignore[arg-type]  # of three
            summary=summary, tool_id=tool_id,
        ))  # fmt: skip
        if status != "started":
            self._tools.pop(tool_id, None)

    def _note(self, level: str, text: str) -> None:
        self._listener.show(Status(level=level, message=f"{self.name}: {text}"))  # type: ignore[arg-type]  # of three

    def _cut_short_after(self, ask: Ask) -> None:
        """The keyword ends it at once: a turn that goes on with tools is not waited for."""
        if (
            ask.blocks.ended
            and not ask.cut
            and not ask.quiet
            and self._nursery is not None
            and self._listener.heeds_keyword(ask.id)
        ):
            ask.cut = True
            self._nursery.start_soon(self._cut_short, ask)

    async def _cut_short(self, ask: Ask) -> None:
        await trio.sleep(CUT_SHORT_SECONDS)
        if self._current is ask:
            await self.driven.interrupt()
