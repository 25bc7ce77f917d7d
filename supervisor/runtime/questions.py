"""Questions that change nothing: an agent from close up, what was said, what somebody's CLI wrote down."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import msgspec
import trio

from supervisor.core import inputs, view
from supervisor.driving.tree import Figures, Sweeper
from supervisor.events import Source
from supervisor.threads import in_thread

from .answers import error, message

if TYPE_CHECKING:
    from supervisor.core.core import Core
    from supervisor.store.store import Store

    from .colleague import Colleague

LONGEST_LINE = 200_000
"""How much of a transcript line is shown."""
MOST_FOUND = 200
FRESH_SECONDS = 1.0
"""How long it is good enough to know what processes used."""


class Office(Protocol):
    """What is asked about."""

    core: Core

    @property
    def store(self) -> Store: ...
    @property
    def reader(self) -> trio.CapacityLimiter: ...
    def now(self) -> float: ...
    def colleague(self, agent_id: str) -> Colleague | None: ...


class Questions:
    """Answers them out of the present and the database."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._sweeper = Sweeper()
        self._sweeping = trio.Lock()
        self._roots: dict[str, int] = {}
        self._figures: dict[str, Figures] = {}
        self._swept_at = -math.inf

    async def answer(self, command: inputs.Asked) -> str:
        match command:
            case inputs.GetAgentState():
                return await self._agent_state(command)
            case inputs.GetHistory():
                return await self._history(command)
            case inputs.GetTranscriptLine():
                return await self._transcript_line(command)
            case inputs.Search():
                return await self._search(command)

    async def _agent_state(self, command: inputs.GetAgentState) -> str:
        state = self._office.core.state
        agent = state.agents.get(command.agent_id)
        if agent is None:
            return error(command.request_id, "unknown_agent", f"There is no agent {command.agent_id!r}.")
        colleague = self._office.colleague(agent.id)
        pid = colleague.driven.pid if colleague else None
        used = await self._used(agent.id, pid) if pid else None
        if agent.id not in self._office.core.state.agents:
            return error(command.request_id, "unknown_agent", f"{command.agent_id!r} has just left.")
        now = self._office.now()
        return message(
            "agent_state", command.request_id, **view.agent(self._office.core, agent, now), pid=pid,
            uptime=round(now - agent.spawned_at, 3), cpu_percent=used.cpu_percent if used else 0.0,
            memory_bytes=used.memory if used else 0, tokens=agent.input_tokens + agent.output_tokens,
            context_used=round(agent.context_tokens / agent.context_max, 4) if agent.context_max else None,
            heard=colleague.heard if colleague else 0,
        )  # fmt: skip

    async def _used(self, agent_id: str, pid: int) -> Figures | None:
        """What its processes use; however many ask, the whole table of them is read once for all agents."""
        async with self._sweeping:
            now = trio.current_time()
            if self._roots.get(agent_id) != pid or now - self._swept_at > FRESH_SECONDS:
                here = ((one, self._office.colleague(one)) for one in self._office.core.state.agents)
                roots = {one: root for one, each in here if each and (root := each.driven.pid)}
                self._figures = await in_thread(self._sweeper.sweep, roots)
                self._roots, self._swept_at = roots, now
            return self._figures.get(agent_id)

    async def _history(self, command: inputs.GetHistory) -> str:
        rooms = self._office.core.state.rooms
        room_id = command.room_id or (next(iter(rooms)) if len(rooms) == 1 else None)
        if room_id is None:
            return error(command.request_id, "unknown_room", "Say which room: there is not just one.")
        limit = max(1, min(command.limit, 1000))
        read = self._office.store.history
        messages = await in_thread(read, room_id, command.before, limit, limiter=self._office.reader)
        if not messages and room_id not in rooms:
            return error(command.request_id, "unknown_room", f"There is no room {room_id!r}.")
        return message("history", command.request_id, room_id=room_id, messages=messages)

    async def _search(self, command: inputs.Search) -> str:
        """Everything that was ever said here."""
        limit = max(1, min(command.limit, MOST_FOUND))
        find = self._office.store.search
        found = await in_thread(find, command.query, command.room_id, limit, limiter=self._office.reader)
        return message("found", command.request_id, query=command.query, messages=found)

    async def _transcript_line(self, command: inputs.GetTranscriptLine) -> str:
        """What an agent's CLI itself wrote down, for whoever does not believe us."""
        find = self._office.store.message
        found = await in_thread(find, command.message_id, limiter=self._office.reader)
        colleague = self._office.colleague(found["author"]) if found else None
        source = msgspec.convert((found or {}).get("transcript") or {}, Source)
        if colleague is None or source.offset is None:
            why = "There is no transcript line for this message, or its author has left."
            return error(command.request_id, "invalid_state", why)
        driven = colleague.driven
        if source.session not in ("", driven.launch.session_id):
            why = "The line stands in the transcript of an earlier session of its author."
            return error(command.request_id, "invalid_state", why)
        if driven.transcript_path is None or not driven.follows:
            why = "The transcript is not being read any more: its author's CLI has ended."
            return error(command.request_id, "invalid_state", why)
        try:
            data = driven.transcript_line(source.offset, source.line, LONGEST_LINE)
        except OSError as failed:
            return error(command.request_id, "invalid_state", f"The transcript cannot be read: {failed.strerror}.")
        if data is None:
            why = "The line does not stand there any more: the transcript was written anew."
            return error(command.request_id, "invalid_state", why)
        return message(
            "transcript_line", command.request_id, message_id=command.message_id, path=driven.transcript_path.name,
            offset=source.offset, line=data.decode(errors="replace"),
        )  # fmt: skip
