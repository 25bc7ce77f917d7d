"""What a person changes while a conversation runs: who takes part, in which order, and by which rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor import events as e
from supervisor.core.parts import Parts
from supervisor.errors import Refused

from .settings import problem_of

if TYPE_CHECKING:
    from supervisor.core import inputs
    from supervisor.core.state import Agent, Room


class Moderating(Parts):
    """The part of the core that a moderator reaches into."""

    def _set_participation(self, agent: Agent, participating: bool) -> None:
        """D9: passed over from the next turn on; one that is under way is finished."""
        if agent.participating == participating:
            return
        if not participating:
            self._free_up(agent, "paused")
        self._emit(e.ParticipationChanged(agent_id=agent.id, participating=participating))
        room = self.state.rooms.get(agent.room_id or "")
        if participating and room is not None and room.auto is not None and room.auto.paused == "nobody":
            self._resume(room)

    def _set_order(self, room: Room, order: list[str]) -> None:
        """D1: the same people in another order; whose turn it is stays so."""
        if sorted(order) != sorted(room.agents):
            raise Refused("bad_message", "An order names everybody in the room, each once.")
        due = room.agents[room.current_index] if room.agents else ""
        next_at = room.auto.next_at if room.auto else None
        self._update(room, members=order, next_at=next_at, index=order.index(due) if due else 0)

    def _join(self, agent: Agent, room: Room) -> None:
        """D19: an agent is in one room at a time; it comes in at the end of the order."""
        if agent.room_id == room.id:
            raise Refused("invalid_state", f"{agent.name} is in {room.name} already.")
        self._check_guests(room)
        self._check_name(agent.name, room.id)
        if agent.room_id is not None:
            self._leave(agent)
        elif agent.ask_id is not None:
            raise Refused("invalid_state", f"{agent.name} is answering: wait until that is over.")
        self._update(room, members=[*room.agents, agent.id], next_at=room.auto.next_at if room.auto else None)
        self._joined(room, agent)

    def _joined(self, room: Room, agent: Agent) -> None:
        self._say(room, "system", f"{agent.name} | {agent.role} joined the conversation")
        if room.auto is not None and room.auto.paused == "nobody":
            self._resume(room)

    def _check_guests(self, room: Room) -> None:
        if room.guests:
            raise Refused("invalid_state", f"{room.name} talk something over: wait until they are back, or stop them.")

    def _leave(self, agent: Agent) -> None:
        """It stays in the office, and what it said stays in the room."""
        room = self.state.rooms.get(agent.room_id or "")
        if room is None:
            raise Refused("invalid_state", f"{agent.name} is in no room.")
        self._check_guests(room)
        if agent.ask_id is not None:
            raise Refused("invalid_state", f"{agent.name} is answering: wait until that is over.")
        place, rest = room.agents.index(agent.id), [i for i in room.agents if i != agent.id]
        index = room.current_index - (place < room.current_index)
        self._update(
            room, members=rest, index=index if index < len(rest) else 0,
            next_at=room.auto.next_at if room.auto else None,
            called=[i for i in room.mentioned if i != agent.id], due=[i for i in room.due if i != agent.id],
        )  # fmt: skip
        self._left_room(room, agent, f"{agent.name} left the room")

    def _begin_anew(self, room: Room) -> None:
        """D12: the way on at the context limit; what was said stays to be read and does not count any more."""
        asked = any(ask.room_id == room.id for ask in self.state.asks.values())
        if room.auto is not None or room.pending or asked:
            raise Refused("invalid_state", f"Something is under way in {room.name}: stop it, or take what is pending.")
        self._emit(e.ConversationBegun(room_id=room.id))
        self._say(room, "system", "A new conversation begins")
        for agent_id in room.agents:
            self._renew(room, self.state.agents[agent_id], "")

    def _update_settings(self, room: Room, given: inputs.UpdateSettings) -> None:
        """D8: with effect at once, also on the timer and on how they meet."""
        fields = [name for name in e.Settings.__struct_fields__ if getattr(given, name, None) is not None]
        settings = msgspec.structs.replace(room.settings, **{name: getattr(given, name) for name in fields})
        if problem := problem_of(settings, self.rules.patterns):
            raise Refused("bad_message", problem)
        other_pattern = settings.interaction_pattern != room.settings.interaction_pattern
        self._update(room, settings=settings, next_at=room.auto.next_at if room.auto else None)
        if other_pattern and room.auto is not None:
            self._stage_end(room)
            self._stage_beginning(room)
