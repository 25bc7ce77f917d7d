"""What a conversation came to: one of those who held it is asked for the result, and it is kept with the room (D22)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor import events as e
from supervisor.errors import Refused

from . import speech

if TYPE_CHECKING:
    from supervisor.core import inputs
    from supervisor.core.state import Agent, Ask, Room, State


class Concluding:
    """The part of the core that asks for results."""

    state: State
    now: float

    if TYPE_CHECKING:

        def _agent(self, agent_id: str) -> Agent: ...
        def _emit(self, event: e.AnyEvent) -> None: ...
        def _enter(self, agent: Agent, new: e.AgentState) -> None: ...
        def _ask(self, room: Room, agent: Agent, *, mentioned: bool = False, manual: bool = False,
                 purpose: e.Purpose = "turn") -> None: ...  # fmt: skip
        def _complain(self, room: Room, ask: Ask, why: str) -> None: ...
        def _turn_ended(self, ask: Ask, outcome: e.TurnOutcome, signal: str, ms: int, detail: str = "") -> None: ...

    def _request_outcome(self, room: Room, agent_id: str | None = None) -> None:
        """At any time but while auto mode runs; by default of whoever spoke last."""
        if room.auto is not None:
            raise Refused("invalid_state", "Auto mode is running: the outcome is asked for when it has ended.")
        spoken = [m.author for m in room.messages if m.type == "agent" and m.active and m.author in room.agents]
        if not spoken:
            raise Refused("invalid_state", "Nobody has said anything yet.")
        agent = self._agent(agent_id or spoken[-1])
        if agent.id not in room.agents:
            raise Refused("unknown_agent", f"{agent.name} is not in {room.name}.")
        if agent.ask_id is not None:
            raise Refused("invalid_state", f"{agent.name} is still answering.")
        self._ask(room, agent, manual=True, purpose="outcome")

    def _outcome_over(self, room: Room, ask: Ask, over: inputs.TurnOver) -> None:
        agent = self.state.agents[ask.agent_id]
        text = speech.read(over.text, room.settings.keyword).text
        if over.status == "answered" and text:
            if agent.state != "speaking":
                self._enter(agent, "speaking")
            message = e.Message(
                id=f"msg_{self.state.message_count + 1:06d}", room_id=room.id, type="agent", author=agent.id,
                author_name=agent.name, content=text, at=self.now, transcript=over.source,
            )  # fmt: skip
            self._emit(e.RoomOutcome(room_id=room.id, message=message))
            self._turn_ended(ask, "answered", over.signal, over.ms)
        else:
            why = over.detail or "the answer is empty"
            self._complain(room, ask, why)
            self._turn_ended(ask, "failed", over.signal, over.ms, why)
