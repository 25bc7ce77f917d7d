"""AgentRuntime: one loop, one order. Commit, publish, carry out.

runtime = AgentRuntime(folder, office)
await nursery.start(runtime.run)
answer = await runtime.request(StartAutoMode(), client="me")
await runtime.stop()
"""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec
import trio
from pysqlite3 import dbapi2 as sqlite3

from supervisor import events as e
from supervisor.bus import Bus
from supervisor.core import effects, inputs, view
from supervisor.core.core import Core
from supervisor.core.office.plan import plan_of
from supervisor.driving import tree
from supervisor.driving.tail import Bookmark
from supervisor.driving.watcher import Watcher
from supervisor.errors import ConfigError, Refused
from supervisor.store.store import Batch, Process, Prompt, Store
from supervisor.threads import in_thread

from . import leftovers
from .answers import error, message
from .clock import Clock
from .colleague import Ask, Colleague
from .configured import kind_of, launch_of, memory_of, missing_backend, rules_of
from .leftovers import Leftover
from .memory import MemoryGuard
from .questions import LONGEST_LINE, Questions

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.config import Office
    from supervisor.core.state import Agent
    from supervisor.driving.limits import Limits
    from supervisor.store.folder import StateFolder

LOG = logging.getLogger("supervisor")
COMMIT_RETRY_SECONDS = 0.5
LAST_WORDS_SECONDS = 10.0
"""How long a stop waits for a database that cannot be written."""
HEARTBEAT_SECONDS = 1.0
SIGN_SECONDS = 2.0
"""How often a sign of life is stored while a conversation runs and nothing happens: a kill gives it back no more of its
running time than that."""
REMEMBERED_REQUESTS = 10_000


class Request:
    """A command on its way through the loop."""

    def __init__(self, command: inputs.Decided | inputs.StartRoom, client: str) -> None:
        self.command, self.client = command, client
        self.request_id = None if isinstance(command, inputs.StartRoom) else command.request_id
        self.answer = ""
        """Not to be told before it is `done`: what it says is safe then."""
        self.refused: Refused | None = None
        self.done = trio.Event()


class Look:
    """Somebody wants to see everything, as it was committed."""

    def __init__(self, take: Callable[[], None]) -> None:
        self.take = take
        self.done = trio.Event()


class AgentRuntime:
    """Spawns, runs and stops agents, and conducts their conversations (C1)."""

    def __init__(
        self, folder: StateFolder, office: Office, *, limits: Limits | None = None,
        arguments: dict[str, tuple[str, ...]] | None = None,
    ) -> None:  # fmt: skip
        """`arguments` are added to the command lines of backends, by their kind."""
        self.office = office
        self.bus = Bus()
        self.started_at = 0.0
        self._folder = folder
        self._limits = limits
        self._arguments = arguments or {}
        self._clock = Clock()
        self._inbox: list[inputs.AnyInput | Request | Look] = []
        self._news = trio.Event()
        self._batch = Batch(at=0.0)
        self._colleagues: dict[str, Colleague] = {}
        self._prompts: dict[str, str] = {}
        self._seen: set[str] = set()  # the open asks of an earlier life whose prompt stood in the transcript
        self._live: dict[str, tuple[str, str]] = {}
        self._requests: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._over = trio.Event()
        self._patience = math.inf  # until when a database is waited for
        self._writer = trio.CapacityLimiter(1)
        self._reader = trio.CapacityLimiter(1)
        self._questions = Questions(self)
        self._memory = MemoryGuard()
        self.trouble = ""
        """Why nothing can be written to the database at the moment."""

    # -- life -----------------------------------------------------------------------------------------------------

    async def run(
        self, *, fresh: bool = False, alone: bool = False, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:  # fmt: skip
        """Open the database, revive what was running, and go on until `stop`; raises StoreError.

        `fresh` closes what was running instead; `alone` leaves it as it is, for a conversation of its own.
        """
        self._store = await in_thread(Store, self._folder.database, self._folder.place())
        try:
            self.core = Core(rules_of(self.office, self._store.office_id, alone=alone), self._store.load())
            self._signed_at = self._store.number("alive_at")
            self._clock.not_before(max(self.core.state.at, self._signed_at))
            self._requests.update(self._store.requests())
            async with trio.open_nursery() as self._nursery:
                self._watcher = Watcher(lambda text: self.show(e.Status(level="warning", message=text)))
                await self._nursery.start(self._watcher.run)
                if alone:
                    self._stand_aside()
                else:
                    await self._wake(fresh)
                if self.office.keep_days and not alone:
                    self._nursery.start_soon(self._forget)
                self._nursery.start_soon(self._memory.run, self._colleagues)
                self.started_at = self._clock.now()
                task_status.started()
                await self._loop()
                self._nursery.cancel_scope.cancel()
        finally:
            self._over.set()
            with trio.CancelScope(shield=True):
                async with self._reader:  # an answer that is under way
                    self._store.close()

    async def _forget(self) -> None:
        """Once a day, what is older than it is to be kept."""
        while True:
            before = self._clock.now() - self.office.keep_days * 86_400
            try:
                gone = await in_thread(self._store.forget, before, limiter=self._writer)
                LOG.info("%d old messages were let go", gone)
            except sqlite3.Error as failed:
                LOG.error("old messages could not be let go: %s", failed)
            await trio.sleep(86_400)

    @property
    def _owner(self) -> str:
        """What marks every process of this office, however it was left behind."""
        return hashlib.sha256(f"{self._store.office_id} owner".encode()).hexdigest()[:16]

    async def stop(self) -> bool:
        """A clean stop: conversations are suspended, every CLI is gone; whether everything is saved."""
        if not self._over.is_set():
            self._patience = trio.current_time() + LAST_WORDS_SECONDS
            self.tell(inputs.Suspend())
            await self._over.wait()
        return not self.trouble

    def _stand_aside(self) -> None:
        """For a conversation of its own: nobody is woken, and what the next start has to know of them is kept."""
        self.core.asleep = frozenset(self.core.state.rooms)
        left_at = max(self.core.state.at, self._signed_at)
        if left_at and not self._store.number("left_at"):
            self._batch.numbers["left_at"] = left_at
        if self._store.copy:
            self._batch.settles, self._batch.numbers["copied"] = True, 1.0

    async def _wake(self, fresh: bool) -> None:
        """Everybody is here again; whose CLI still answers what it was asked before is given the time (`Colleague`)."""
        room, here = len(plan_of(self.core.rules.plan).homes), len(self.core.state.agents)
        if not fresh and here > room:
            raise ConfigError(f"The floor plan has room for {room} agents and {here} are here: use a larger one.")
        for agent in () if fresh else self.core.state.agents.values():
            if agent.backend not in self.core.rules.backends:
                raise ConfigError(
                    f"{agent.name} uses the backend {agent.backend!r}, which is not configured: name it in the file "
                    "given with --config, or begin anew with --fresh."
                )
        left_at = self._store.number("left_at")
        if self._store.copy:  # what ran, was asked and was read belongs to the original
            await in_thread(tree.kill_owned, self._owner)
            self._batch.settles, self._batch.numbers["copied"] = True, 0.0
        else:
            await self._take_up(fresh)
        if left_at:
            self._batch.numbers["left_at"] = 0.0
        self.tell(inputs.Wake(fresh=fresh, copy=self._store.copy, alive_at=self._signed_at, left_at=left_at))

    async def _take_up(self, fresh: bool) -> None:
        """What is left of an earlier life."""
        open_prompts, tails = self._store.open_prompts(), self._store.tails()
        self._seen = {ask_id for ask_id, prompt in open_prompts.items() if prompt.status == "seen"}
        processes = {process.agent_id: process for process in self._store.processes()}
        asked = [] if fresh else [a.id for a in self.core.state.agents.values() if a.ask_id in open_prompts]
        lost = [a for a in asked if not ((known := processes.get(a)) and leftovers.alive(known))]
        if lost:  # it may have been asked before it was stored that it is there
            for agent_id, pid in (await in_thread(tree.leaders, self._owner)).items():
                if agent_id in lost:
                    processes[agent_id] = Process(agent_id=agent_id, pid=pid, born=tree.born(pid))
        answering = {
            agent_id: Leftover(process, self._owner)
            for agent_id in asked
            if (process := processes.get(agent_id)) and leftovers.alive(process)
        }
        await in_thread(tree.kill_owned, self._owner, answering)
        self._batch.ended += [agent_id for agent_id in processes if agent_id not in answering]
        for agent in () if fresh else self.core.state.agents.values():
            colleague = self._make(agent, tails.get(agent.session_id))
            if agent.ask_id is not None and agent.ask_id in open_prompts:
                self._prompts[agent.ask_id] = open_prompts[agent.ask_id].prompt
                colleague.take_up(agent.ask_id, answering.get(agent.id))

    # -- what comes in --------------------------------------------------------------------------------------------

    def tell(self, given: inputs.AnyInput) -> None:
        self._put(given)

    def _put(self, item: inputs.AnyInput | Request | Look) -> None:
        self._inbox.append(item)
        self._ring()

    def _ring(self) -> None:
        news, self._news = self._news, trio.Event()
        news.set()

    async def request(self, command: inputs.AnyCommand, client: str) -> str:
        """Carry out a command; returns the one answer to it, as it goes over the wire."""
        if isinstance(command, inputs.Asked):
            if self._over.is_set():
                return error(command.request_id, "invalid_state", "The supervisor stops.")
            return await self._questions.answer(command)
        known = self._requests.get((client, command.request_id or ""))
        if known is not None and command.request_id is not None:
            return known
        if isinstance(command, inputs.SpawnAgent) and (
            problem := missing_backend(self.office, command.agent_config.cli_backend)
        ):
            return error(command.request_id, "unreachable", problem)
        request = Request(command, client)
        self._put(request)
        await self._wait_for(request.done)
        if not request.done.is_set():
            return error(command.request_id, "invalid_state", "The supervisor stops, and this was not saved.")
        return request.answer

    async def begin(self, given: inputs.StartRoom | inputs.StartAutoMode) -> None:
        """Open a room, or begin a conversation, for a command line; raises Refused."""
        request = Request(given, "")
        self._put(request)
        await self._wait_for(request.done)
        if request.refused is not None:
            raise request.refused

    async def look(self, take: Callable[[], None]) -> None:
        """Call `take` at a moment when everything that happened is committed and published."""
        look = Look(take)
        self._put(look)
        await self._wait_for(look.done)

    async def _wait_for(self, done: trio.Event) -> None:
        async with trio.open_nursery() as nursery:

            async def either(event: trio.Event) -> None:
                await event.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(either, done)
            nursery.start_soon(either, self._over)

    @property
    def seq(self) -> int:
        return self.core.state.seq

    @property
    def hindrance(self) -> str:
        """What makes everything slower than it could be."""
        return self._watcher.trouble

    def now(self) -> float:
        return self._clock.now()

    def at(self, wall: float) -> float:
        return self._clock.at(wall)

    @property
    def store(self) -> Store:
        return self._store

    @property
    def reader(self) -> trio.CapacityLimiter:
        """One question at a time to the database; no commit ever waits for it."""
        return self._reader

    def colleague(self, agent_id: str) -> Colleague | None:
        return self._colleagues.get(agent_id)

    def snapshot(self) -> dict[str, Any]:
        """The present, with the words that are being said."""
        shown = view.snapshot(self.core, self._clock.now())
        for agent in shown["agents"]:
            ask_id, text = self._live.get(agent["agent_id"], ("", ""))
            if text and ask_id == self.core.state.agents[agent["agent_id"]].ask_id:
                agent["said"] = {"id": ask_id, "text": text}
        return shown

    async def missed(self, after: int, until: int) -> list[str]:
        """Stored events, as they went over the wire."""
        return await in_thread(self._store.events, after, until, limiter=self._reader)

    # -- the loop -------------------------------------------------------------------------------------------------

    async def _loop(self) -> None:
        while True:
            await self._wait()
            inbox, self._inbox = self._inbox, []
            batch, self._batch = self._batch, Batch(at=0.0)
            batch.at = now = self._clock.now()
            deadline = self.core.next_deadline()
            if deadline is not None and now >= deadline:
                inbox.append(inputs.Due())
            todo: list[effects.AnyEffect] = []
            waiting: list[Request | Look] = []
            for item in inbox:
                if isinstance(item, Look):
                    waiting.append(item)
                    continue
                if isinstance(item, Request) and self._repeated(item, batch):
                    waiting.append(item)
                    continue
                todo += self._decide(item, now, batch)
                waiting += [item] if isinstance(item, Request) else []
            last = any(isinstance(item, inputs.Suspend) for item in inbox)
            if self._store.wants_snapshot or last:
                batch.snapshot = msgspec.json.encode(self.core.state)
            if batch and not await self._commit(batch):
                LOG.error("stopped without saving the last step: %s", self.trouble)
                await self._close(save=False)
                return
            self._remember(batch)
            self.bus.publish(batch.events)
            for done in waiting:
                if isinstance(done, Look):
                    done.take()
                done.done.set()
            if last:
                await self._close()
                return
            for effect in todo:
                self._carry_out(effect)

    async def _wait(self) -> None:
        deadline = self.core.next_deadline()
        while not self._inbox and not self._batch:
            now = self._clock.now()
            left = math.inf if deadline is None else deadline - now
            if left <= 0:
                break
            if self.core.conversing and now >= max(self.core.state.at, self._signed_at) + SIGN_SECONDS:
                self._batch.numbers["alive_at"] = self._signed_at = now
                break
            with trio.move_on_after(min(left, HEARTBEAT_SECONDS)):
                await self._news.wait()
        await trio.lowlevel.checkpoint()  # whoever is ready may add to this step: one commit for all

    def _repeated(self, request: Request, batch: Batch) -> bool:
        """The same request again, while the first was on its way."""
        if request.request_id is None:
            return False
        key = (request.client, request.request_id)
        request.answer = self._requests.get(key) or batch.answers.get(key, "")
        return bool(request.answer)

    def _remember(self, batch: Batch) -> None:
        """What was answered, once it is safe."""
        self._requests.update(batch.answers)
        while len(self._requests) > REMEMBERED_REQUESTS:
            self._requests.popitem(last=False)

    def _decide(self, item: inputs.AnyInput | Request, now: float, batch: Batch) -> list[effects.AnyEffect]:
        given = item.command if isinstance(item, Request) else item
        if isinstance(given, inputs.StartAutoMode) and given.seed is None:
            given = msgspec.structs.replace(given, seed=secrets.token_hex(4))  # chance is not the core's business
        try:
            decision = self.core.decide(given, now)
        except Refused as refused:
            if refused.code == "invalid_state":
                LOG.error("blocked: %s", refused)
            if isinstance(item, Request):
                item.refused = refused
                self._answered(item, error(item.request_id, refused.code, str(refused)), batch)
            return []
        batch.events += decision.events
        for effect in decision.effects:
            if isinstance(effect, effects.Ask):
                self._prompts[effect.ask_id] = effect.prompt
                batch.prompts.append(Prompt(ask_id=effect.ask_id, agent_id=effect.agent_id, prompt=effect.prompt))
        for event in decision.events:
            if isinstance(event, e.TurnEnded | e.AgentDecided):
                self._prompts.pop(event.ask_id, None)
                self._live.pop(event.agent_id, None)
            if isinstance(event, e.AgentDecided) and not event.understood:
                LOG.warning("%s waits, because its answer was no action: %s", event.agent_id, event.detail)
        if isinstance(item, Request):
            self._answered(item, self._answer(item.request_id, decision.agent_id), batch)
        return decision.effects

    def _answer(self, request_id: str | None, made: str | None) -> str:
        if made is None:
            return message("ack", request_id)
        seen = view.agent(self.core, self.core.state.agents[made], self._clock.now())
        return message("agent_spawned", request_id, **seen)

    def _answered(self, request: Request, answer: str, batch: Batch) -> None:
        request.answer = answer
        if request.request_id is not None:
            batch.answers[request.client, request.request_id] = answer

    async def _commit(self, batch: Batch) -> bool:
        """Try until it is safe; nothing has gone out before that. False where a stop cannot wait any longer: then it
        has not happened, and the next start finds everything as after a crash."""
        while True:
            try:
                await in_thread(self._store.commit, batch, limiter=self._writer)
            except sqlite3.Error as failed:
                self.trouble = f"the database cannot be written ({failed}); trying again"
                self.show(e.Status(level="error", message=self.trouble))
                if trio.current_time() > self._patience:
                    return False
                await trio.sleep(COMMIT_RETRY_SECONDS)
            else:
                if self.trouble:
                    self.trouble = ""
                    self.show(e.Status(message="the database can be written again"))
                return True

    async def _close(self, *, save: bool = True) -> None:
        """Everybody goes home; where each transcript was read to is kept, unless what was read there is not."""
        async with trio.open_nursery() as nursery:
            for colleague in self._colleagues.values():
                nursery.start_soon(colleague.stop)
        last = self._batch
        last.at = self._clock.now()
        if last and save:
            await self._commit(last)

    # -- carrying out ---------------------------------------------------------------------------------------------

    def _carry_out(self, effect: effects.AnyEffect) -> None:
        colleague = self._colleagues.get(effect.agent_id)
        match effect:
            case effects.Spawn():
                if effect.agent_id in self.core.state.agents:
                    made = colleague or self._make(self.core.state.agents[effect.agent_id], None)
                    self._nursery.start_soon(made.run)
            case effects.Renew():
                if colleague is not None and effect.agent_id in self.core.state.agents:
                    made = self._make(self.core.state.agents[effect.agent_id], None)
                    made.follow(colleague)
                    self._nursery.start_soon(made.run)
            case effects.Ask() | effects.AskAgain():
                if colleague is not None and effect.ask_id in self._prompts:
                    quiet = isinstance(effect, effects.Ask) and effect.quiet
                    colleague.ask(self._new_ask(effect.ask_id, self._prompts[effect.ask_id], quiet=quiet))
            case effects.Interrupt():
                if colleague is not None:
                    colleague.interrupt(effect.ask_id)
            case effects.Permit():
                if colleague is not None:
                    colleague.permit(effect.cli_id, effect.allow)
            case effects.Stop():
                if colleague is not None:
                    del self._colleagues[effect.agent_id]
                    self._nursery.start_soon(colleague.stop)

    def _new_ask(self, ask_id: str, prompt: str, *, quiet: bool = False) -> Ask:
        ask = self.core.state.asks.get(ask_id)
        room = self.core.state.rooms.get(ask.room_id) if ask else None
        keyword = (room.settings if room else self.core.rules.settings).keyword
        return Ask(ask_id, prompt, keyword, quiet=quiet, seen=ask_id in self._seen)

    def _make(self, agent: Agent, tail: tuple[int, bytes] | None) -> Colleague:
        launch = launch_of(self.office, agent, self._folder.agents, self._owner, self._arguments)
        colleague = Colleague(
            kind_of(self.office, agent.backend), launch, self._watcher, self, agent.name, limits=self._limits,
            bookmark=Bookmark(*tail) if tail else None,
        )  # fmt: skip
        self._memory.limit(agent.id, memory_of(self.office, agent))
        self._colleagues[agent.id] = colleague
        return colleague

    # -- what agents tell -----------------------------------------------------------------------------------------

    def show(self, frame: e.TextDelta | e.Status) -> None:
        """Transient: past the core and the database, straight to whoever looks; who comes late gets what was said."""
        if isinstance(frame, e.TextDelta):
            ask_id, text = self._live.get(frame.agent_id, ("", ""))
            text = text if ask_id == frame.ask_id else ""
            self._live[frame.agent_id] = (frame.ask_id, (text + frame.text)[:LONGEST_LINE])
        self.bus.publish([frame])

    def progress(self, ask_id: str, status: str) -> None:
        self._batch.progress.append((ask_id, status))
        if status == "written":
            self.tell(inputs.Written(ask_id=ask_id))

    def started(self, agent_id: str, pid: int) -> None:
        self._batch.started.append(Process(agent_id=agent_id, pid=pid, born=tree.born(pid)))
        self._ring()

    def ended(self, agent_id: str) -> None:
        self._batch.ended.append(agent_id)
        self._ring()

    def read_to(self, agent_id: str, session_id: str, mark: Bookmark) -> None:
        self._batch.tails.append((session_id, agent_id, mark.offset, mark.before))

    def heeds_keyword(self, ask_id: str) -> bool:
        ask = self.core.state.asks.get(ask_id)
        room = self.core.state.rooms.get(ask.room_id) if ask else None
        return room is not None and room.auto is not None and self.core.heeds_keyword(room, room.auto.turns + 1)
