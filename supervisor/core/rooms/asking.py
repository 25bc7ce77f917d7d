"""A prompt for one agent: what it holds, and whether the agent's session is still what the room holds."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from supervisor import events as e
from supervisor.core import effects
from supervisor.core.parts import Parts
from supervisor.core.state import Hearing

from . import prompts, speech
from .prompts import Person

if TYPE_CHECKING:
    from supervisor.core.state import Agent, Ask, Room

UNKNOWN_CONTEXT = 200_000


def most_characters(agent: Agent) -> int:
    """How much one prompt may hold: about half of what its model can read at once."""
    return (agent.context_max or UNKNOWN_CONTEXT) * 3 // 2


class Asking(Parts):
    """The part of the core that writes prompts."""

    def _ask(
        self, room: Room, agent: Agent, *, mentioned: bool = False, manual: bool = False, purpose: e.Purpose = "turn"
    ) -> None:  # fmt: skip
        auto = room.auto
        self._free_up(agent, f"it is asked in {room.name}")
        if why := self._outdated(room, agent):
            self._renew(room, agent, why)
        ask_id = self.new_id("ask", self.state.ask_count + 1)
        hearing = room.heard.get(agent.id, Hearing())
        unheard = self._unheard(room, agent, hearing)
        others = [Person(a.name, a.role) for i in room.agents if (a := self.state.agents[i]) is not agent]
        topic, task = self._topic(room), self.state.tasks.get(agent.task_id or 0)
        told = prompts.instruction(
            Person(agent.name, agent.role), others, topic.content if topic else "", room.settings.keyword,
            task=task.task_name if task else "",
        )  # fmt: skip
        mark = hashlib.sha256(ask_id.encode()).hexdigest()[:8]
        print_of = hashlib.sha256(told.encode()).hexdigest()[:12]
        known = agent.instruction == print_of
        words = [(self._person(m), speech.strip(m.content, room.settings.keyword)) for m in unheard]
        prompt = prompts.said(words, mark, begun=known, most=most_characters(agent))
        if purpose == "outcome":
            prompt = "\n\n".join([prompt, prompts.OUTCOME] if words else [prompts.OUTCOME])
        turn = auto.turns + len(auto.wave) + 1 if auto else 0
        self._emit(e.TurnStarted(
            agent_id=agent.id, room_id=room.id, turn=turn, ask_id=ask_id, manual=manual, purpose=purpose,
            heard=[*([] if known or topic is None else [topic.id]), *(m.id for m in unheard)],
            instruction="" if known else print_of, mentioned=mentioned,
        ))  # fmt: skip
        self._enter(agent, "listening")
        self._emit(e.AgentAcknowledged(agent_id=agent.id, sender=unheard[-1].author if unheard else e.TOPIC))
        if auto is not None:
            self._stage_turn(room, agent, unheard[-1].author if unheard else None)
        self._do(effects.Ask(
            ask_id=ask_id, agent_id=agent.id, prompt=prompt if known else f"{told}\n\n{prompt}"
        ))  # fmt: skip

    def _unheard(self, room: Room, agent: Agent, hearing: Hearing) -> list[e.Message]:
        """What counts and was not told to it; its own words only where it has forgotten them."""
        since = room.since(hearing.to)
        return [
            m for place, m in enumerate(since, room.count - len(since))
            if m.active and m.type in ("user", "agent") and m.author != e.TOPIC
            and (m.author != agent.id or place < hearing.forgotten)
        ]  # fmt: skip

    def _topic(self, room: Room) -> e.Message | None:
        """What the instruction names as the topic: the last one given as such, if it counts."""
        last = next((m for m in reversed(room.messages) if m.author == e.TOPIC), None)
        return last if last is not None and last.active else None

    def _outdated(self, room: Room, agent: Agent) -> str:
        """Why an agent's session is not what the room holds any more; nothing if it is."""
        hearing = room.heard.get(agent.id)
        if hearing is None:
            return ""
        if hearing.differs:
            changed = next(m for m in reversed(room.messages) if m.id == hearing.differs[-1])
            told = "something it had not been told counts now"
            return told if changed.active else "something it holds does not count any more"
        since = room.since(hearing.to)
        held = any(
            not m.active and (m.id in hearing.besides or (m.author == agent.id and place >= hearing.forgotten))
            for place, m in enumerate(since, room.count - len(since))
        )
        return "something it holds does not count any more" if held else ""

    def _renew(self, room: Room | None, agent: Agent, why: str) -> None:
        tokens = agent.context_tokens
        session = self.new_id(f"session of {agent.id}", agent.renewals + 1)
        self._emit(e.SessionRenewed(agent_id=agent.id, session_id=session, reason=why, tokens=tokens))
        self._do(effects.Renew(agent_id=agent.id))
        if not why or room is None:
            return
        cost = f" (about {tokens:,} tokens are read again)" if tokens else ""
        self._say(room, "system", f"{agent.name} | {agent.role} begins a fresh session: {why}{cost}")

    def _session_lost(self, agent: Agent, why: str) -> None:
        """What its CLI has forgotten it is told again, in a fresh session; a turn that was under way begins anew."""
        self._free_up(agent, why)
        ask = self.state.asks.get(agent.ask_id or "")
        room = self.state.rooms.get(ask.room_id if ask else agent.room_id or "")
        if ask is not None:
            self._turn_ended(ask, "interrupted", "exit", 0, why)
        self._renew(room, agent, why)
        if room is None or ask is None or room.id in self.asleep:
            return
        if ask.purpose == "outcome":
            self._conclude_again(room)
        elif ask.manual:
            self._ask_due(room)
        else:
            self._settle(room, at_once=True)

    def _settle_in(self) -> None:
        """In a copy of an office: the sessions are the original's, so everybody begins a fresh one, and what was
        open is asked there."""
        why = "this office is a copy of another one"
        for room in self._autos():
            for ask in self._waited_for(room.auto) if room.auto else ():
                self._turn_ended(ask, "interrupted", "stop", 0, why)
            self._take_held(room)
        for ask in [*self.state.asks.values()]:
            self._turn_ended(ask, "interrupted", "stop", 0, why)
        for agent in self.state.agents.values():
            self._free_up(agent, why)
            self._renew(self.state.rooms.get(agent.room_id or ""), agent, why)

    def _person(self, message: e.Message) -> Person:
        agent = self.state.agents.get(message.author)
        return Person(message.author_name, agent.role if agent else "")

    def _ask_again(self, ask: Ask, why: str) -> None:
        """The very same ask, once: its CLI ended without an answer."""
        self._emit(e.TurnRestarted(
            agent_id=ask.agent_id, room_id=ask.room_id, turn=ask.turn, ask_id=ask.id, detail=why
        ))  # fmt: skip
        self._do(effects.AskAgain(ask_id=ask.id, agent_id=ask.agent_id))
