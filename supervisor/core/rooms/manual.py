"""Manual mode: a person speaks, everybody who takes part answers at once, and the person takes what is worth it (D3).

Whoever owes an answer is listed in the room (`due`), so that a restart knows whom to ask again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor import events as e
from supervisor.core import inputs
from supervisor.core.parts import Parts
from supervisor.errors import Refused

from . import speech

if TYPE_CHECKING:
    from supervisor.core.state import Agent, Ask, Room

LONGEST_MESSAGE = 20_000
PERSON_NAME = "You"


class Manual(Parts):
    """The part of the core that listens to a person."""

    # -- what a person says ---------------------------------------------------------------------------------------

    def _user_message(self, room: Room, content: str) -> None:
        """In manual mode everybody answers; in auto mode it is heard before the next turn, where that is allowed."""
        text = speech.strip(content, room.settings.keyword)
        if not text or len(text) > LONGEST_MESSAGE:
            raise Refused("bad_message", f"A message has 1 to {LONGEST_MESSAGE} characters; this one has {len(text)}.")
        auto = room.auto
        if auto is not None and not room.settings.barge_in:
            raise Refused("invalid_state", "Auto mode is running: stop it to say something, or allow barge-in.")
        if auto is None:
            self._check_budget(room)
            self._call_back(room)
        self._say(room, "user", text, e.PERSON, PERSON_NAME)
        if auto is not None:
            called = self._called(room, text, e.PERSON)
            members = [i for i in room.agents if i in called or i in room.mentioned]
            self._update(room, called=members, next_at=auto.next_at)
            return
        self._update(room, due=[i for i in room.agents if self.state.agents[i].participating])
        self._ask_due(room)

    def _ask_due(self, room: Room) -> None:
        """All of them at once; each may skip."""
        if room.auto is not None or room.id in self.asleep:
            return
        due = [self.state.agents[i] for i in room.agents if i in room.due]
        free = [agent for agent in due if agent.participating and agent.ask_id is None]
        for agent in free:
            self._ask(room, agent, manual=True)
        if free:
            self._update(room)

    def _manual_asks(self) -> list[Ask]:
        return [ask for ask in self.state.asks.values() if ask.manual and ask.room_id not in self.asleep]

    # -- answers --------------------------------------------------------------------------------------------------

    def _manual_over(self, room: Room, ask: Ask, over: inputs.TurnOver) -> None:
        said = speech.read(over.text, room.settings.keyword)
        agent = self.state.agents[ask.agent_id]
        if over.status == "answered" and (said.text or said.skips):
            self._not_limited(room, ask)
            if said.skips:
                self._say_skipped(room, agent, said.reason)
            else:
                self._propose(room, agent, said.text, over.source)
            self._turn_ended(ask, "skipped" if said.skips else "answered", over.signal, over.ms)
        elif over.status == "exited" and not ask.restarted:
            self._ask_again(ask, over.detail)
            return
        elif over.status in ("repeated", "interrupted"):
            self._turn_ended(ask, "interrupted", over.signal, over.ms, over.detail)
        else:
            if over.kind == "rate_limit":
                self._limited(room, agent, over.retry_at)
            self._manual_failed(room, ask, over.detail or "the answer is empty", over=over)
        self._go_home(agent)
        self._ask_due(room)

    def _propose(self, room: Room, agent: Agent, text: str, source: e.Source | None) -> None:
        if agent.state != "speaking":
            self._enter(agent, "speaking")
        self._emit(e.PendingAdded(message=e.Message(
            id=f"msg_{self.state.message_count + 1:06d}", room_id=room.id, type="pending", author=agent.id,
            author_name=agent.name, content=text, at=self.now, transcript=source,
        )))  # fmt: skip

    def _manual_failed(
        self, room: Room, ask: Ask, why: str, *, late: bool = False, over: inputs.TurnOver | None = None
    ) -> None:  # fmt: skip
        """Said in the room, with Retry; nobody else waits for it."""
        self._complain(room, ask, why)
        if late:
            self._drop(ask, "failed", why, signal="watchdog")
        else:
            self._turn_ended(ask, "failed", over.signal if over else "transcript", over.ms if over else 0, why)

    def _say_skipped(self, room: Room, agent: Agent, reason: str) -> None:
        why = f": {reason}" if reason else ""
        self._say(room, "system", f"{agent.name} | {agent.role} skipped their turn{why}")

    def _stop_manual(self, room: Room) -> None:
        """D18: whoever is answering is interrupted, and nobody owes an answer any more."""
        for ask in self._manual_asks():
            if ask.room_id == room.id:
                self._drop(ask, "interrupted", "stopped")
        self._update(room, due=[])

    def _retry_manual(self, room: Room) -> None:
        again = [i for i in room.agents if i in room.failed or i in room.due]
        self._update(room, due=again)
        self._ask_due(room)

    # -- what a person makes of them ------------------------------------------------------------------------------

    def _resolve(self, room: Room, accept: list[str], dismiss: list[str]) -> None:
        """Those taken become active messages, the others inactive ones, both in the order of the room (D3)."""
        known = {message.id: message for message in room.pending}
        chosen = [*accept, *dismiss]
        if not chosen or len(set(chosen)) < len(chosen) or any(message_id not in known for message_id in chosen):
            raise Refused("bad_message", "Name answers that are pending, each once.")
        order = {agent_id: place for place, agent_id in enumerate(room.agents)}
        sorted_ids = sorted(chosen, key=lambda i: (order.get(known[i].author, len(order)), i))
        for message_id in sorted_ids:
            message = msgspec.structs.replace(known[message_id], type="agent", active=message_id in accept)
            self._emit(e.MessageAdded(message=message))
            if message.active and message.author in self.state.agents:
                recipients = [*(other for other in room.agents if other != message.author), e.PERSON]
                self._emit(e.AgentSpoke(
                    agent_id=message.author, name=message.author_name, content=message.content,
                    recipients=recipients, room_id=room.id,
                ))  # fmt: skip
        self._emit(e.PendingResolved(room_id=room.id, accepted=list(accept), dismissed=list(dismiss)))

    def _set_active(self, message_id: str, active: bool) -> None:
        """D4: it counts for every later prompt."""
        for room in self.state.rooms.values():
            message = next((m for m in room.messages if m.id == message_id), None)
            if message is None:
                continue
            if message.type not in ("user", "agent"):
                raise Refused("invalid_state", "Only what somebody said can be taken out of a conversation.")
            if message.active != active:
                self._emit(e.MessageUpdated(message=msgspec.structs.replace(message, active=active)))
            return
        raise Refused("invalid_state", f"There is no message {message_id!r}, or it is too old to be changed.")

    # -- modes ----------------------------------------------------------------------------------------------------

    def _set_mode(self, room: Room, mode: e.Mode) -> None:
        """D16: into auto mode with the room's settings; out of it gracefully, with the rest of the round as pending."""
        if mode == "auto":
            self._start_auto(inputs.StartAutoMode(roomId=room.id))
            return
        if room.auto is None:
            raise Refused("invalid_state", f"{room.name} is in manual mode already.")
        if room.guests:  # nobody moderates two who talk something over: they go back
            self._end(room, "user", e.PERSON)
            return
        waiting = [self.state.asks[ask_id].agent_id for ask_id in room.auto.wave]
        queued = {*room.agents[room.current_index :], *room.mentioned}
        rest = [i for i in room.agents if i in queued and self.state.agents[i].participating]
        paused = room.auto.paused is not None
        self._end(room, "user", e.PERSON, keep=True)
        for ask in self._manual_asks():
            if ask.room_id == room.id and ask.answer is not None:  # it only waited for somebody before it
                agent = self.state.agents[ask.agent_id]
                if ask.answer.text:
                    self._propose(room, agent, ask.answer.text, ask.answer.transcript)
                elif ask.answer.skips:
                    self._say_skipped(room, agent, ask.answer.reason)
                self._turn_ended(ask, "answered" if ask.answer.text else "skipped", "transcript", 0)
                waiting.remove(ask.agent_id)
                rest = [i for i in rest if i != ask.agent_id]
        if not paused:
            self._update(room, due=[i for i in room.agents if i in rest or i in waiting])
            self._ask_due(room)
