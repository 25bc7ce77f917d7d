"""What a person changes while a conversation runs: who takes part, in which order, and by which rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor import events as e
from supervisor.errors import Refused

from .settings import problem_of

if TYPE_CHECKING:
    from supervisor.core import inputs
    from supervisor.core.core import Rules
    from supervisor.core.state import Agent, Room, State


class Moderating:
    """The part of the core that a moderator reaches into."""

    rules: Rules
    state: State

    if TYPE_CHECKING:

        def _emit(self, event: e.AnyEvent) -> None: ...
        def _resume(self, room: Room) -> None: ...
        def _update(
            self, room: Room, *, settings: e.Settings | None = None, members: list[str] | None = None,
            next_at: float | None = None, called: list[str] | None = None, index: int | None = None,
        ) -> None: ...  # fmt: skip
        def _stage_beginning(self, room: Room) -> None: ...
        def _stage_end(self, room: Room) -> None: ...

    def _set_participation(self, agent: Agent, participating: bool) -> None:
        """D9: passed over from the next turn on; one that is under way is finished."""
        if agent.participating == participating:
            return
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
