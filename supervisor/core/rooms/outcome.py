"""What a conversation came to: one of those who held it is asked for the result, and it is kept with the room (D22)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor import events as e
from supervisor.core.parts import Parts
from supervisor.errors import Refused

from . import speech

if TYPE_CHECKING:
    from supervisor.core import inputs
    from supervisor.core.state import Ask, Room


class Concluding(Parts):
    """The part of the core that asks for results."""

    def _request_outcome(self, room: Room, agent_id: str | None = None) -> None:
        """At any time but while auto mode runs; by default of whoever spoke last."""
        if room.auto is not None:
            raise Refused("invalid_state", "Auto mode is running: the outcome is asked for when it has ended.")
        spoken = self._speakers(room)
        if not spoken:
            raise Refused("invalid_state", "Nobody who takes part has said anything yet.")
        agent = self._agent(agent_id or spoken[-1])
        if agent.id not in room.agents:
            raise Refused("unknown_agent", f"{agent.name} is not in {room.name}.")
        if agent.ask_id is not None:
            raise Refused("invalid_state", f"{agent.name} is still answering.")
        self._ask(room, agent, manual=True, purpose="outcome")

    def _speakers(self, room: Room) -> list[str]:
        """Who said what counts, of those who take part, the last one last."""
        taking_part = {agent_id for agent_id in room.agents if self.state.agents[agent_id].participating}
        return [m.author for m in room.messages if m.type == "agent" and m.active and m.author in taking_part]

    def _conclude_again(self, room: Room) -> None:
        """The outcome that was asked for and did not come: from somebody, if need be from another."""
        agent = self.state.agents.get(room.concluding)
        if agent is None or agent.id not in room.agents or room.auto is not None or not self._speakers(room):
            return
        asked = agent if agent.participating else self.state.agents[self._speakers(room)[-1]]
        if asked.ask_id is None:
            self._request_outcome(room, asked.id)

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
        elif over.status == "exited" and not ask.restarted:
            self._ask_again(ask, over.detail)
            return
        elif over.status == "repeated":
            self._turn_ended(ask, "interrupted", over.signal, over.ms, over.detail)
            self._conclude_again(room)
        else:
            if over.kind == "rate_limit":
                self._limited(room, agent, over.retry_at)
            why = over.detail or "the answer is empty"
            self._complain(room, ask, why)
            self._turn_ended(ask, "failed", over.signal, over.ms, why)
        self._ask_due(room)
