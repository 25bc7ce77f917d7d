"""The decision loop: who has been idle for long enough is asked what to do, and does it (C6, C7, C12).

Nobody decides while its room is in auto mode, while it is paused, or when its budget is spent. Words that reach
somebody interrupt its own thoughts: it listens, and when they are said it decides anew with them in view.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING

import msgspec

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.office import characters
from supervisor.core.office.plan import VISITED, Place
from supervisor.core.parts import Parts
from supervisor.core.rooms import speech
from supervisor.core.rooms.prompts import Person
from supervisor.errors import Refused

from . import actions, situation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.state import Agent, Room

HOUR = 3600.0
SLOWEST = 8
"""Who only waits is asked less and less often, up to so many times the usual pause."""
MOST_REPLIES = 3
"""How often in a row somebody answers what it hears, before it has something else to do."""
HELD_SECONDS = 60.0
"""How long words are held for somebody who is busy."""
FULL = 0.9
"""How full its context may be before somebody begins anew."""
SPEAKS_LEAST, SPEAKS_A_SIGN = 1.5, 0.045
TOGETHER_MESSAGES, TOGETHER_MS = 6, 180_000
"""How long two talk something over that nobody asked them to."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How lively an office is."""

    idle_seconds: float = 0.0
    """How long somebody is idle before it decides; 0 means never."""
    per_hour: int = 120
    """How many decisions an agent may make in an hour."""
    tokens_per_hour: int = 300_000
    """How many tokens an agent's decisions may use in an hour, where they cost anything; 0 means no limit."""
    hearing_distance: int = 5
    """How many tiles words carry."""


class Deciding(Parts):
    """The part of the core in which agents choose for themselves."""

    # -- when -----------------------------------------------------------------------------------------------------

    def wants_to_decide(self, agent: Agent) -> bool:
        """Whether somebody is switched on: by hand, or because it costs nothing."""
        free = agent.backend in self.rules.backends and self.rules.backends[agent.backend].free
        return free if agent.decides is None else agent.decides

    def decides(self, agent: Agent) -> bool:
        """Whether somebody has a life of its own at all."""
        return self.rules.life.idle_seconds > 0 and self.state.decides and self.wants_to_decide(agent)

    def _may_decide(self, agent: Agent) -> bool:
        return agent.decision is None and self._may_join(agent)

    def _may_join(self, agent: Agent) -> bool:
        """Whether somebody's time is its own: nobody waits for it, and it is not in a conversation."""
        room = self.state.rooms.get(agent.room_id or "")
        engaged = room is not None and (room.auto is not None or room.id in self.asleep or agent.id in room.due)
        return agent.participating and agent.ask_id is None and not engaged and self.decides(agent)

    def _decision_times(self) -> Iterator[tuple[float, Agent]]:
        """When each will have something to do by itself: decide, stop speaking, stop listening, or be given up."""
        slot = min(1.0, self.rules.life.idle_seconds / max(1, len(self.state.agents)))
        latest = max((agent.decision.since for agent in self.state.agents.values() if agent.decision), default=0.0)
        for agent in self.state.agents.values():
            if agent.decision is not None:
                at_work = self.at_work.get(agent.decision.ask_id, 0.0)
                yield max(agent.decision.since, self.woke_at, at_work) + self.rules.settings.max_wait_time, agent
            elif agent.ask_id is None and agent.state in ("speaking", "listening"):
                yield agent.busy_until, agent
            elif agent.state == "idle" and self._may_decide(agent):
                if self._owes_an_answer(agent):
                    yield max(agent.busy_until, self._allowed_at(agent)), agent
                else:
                    yield max(self._decides_at(agent), latest + slot), agent

    def _owes_an_answer(self, agent: Agent) -> str:
        """Whose words somebody heard while it was busy; nobody's, when that is too long ago to be taken up again."""
        return agent.heard_from if self.now <= agent.busy_until + HELD_SECONDS else ""

    def _decides_at(self, agent: Agent) -> float:
        life = self.rules.life
        since = max(agent.state_since, agent.decided_at, characters.arrives_at(agent), self.woke_at)
        luck = zlib.crc32(f"{self.rules.office_id} {agent.id} {agent.decided_at}".encode()) / 0xFFFFFFFF
        due = since + life.idle_seconds * (1 + 0.8 * luck) * (1 + min(agent.waits, SLOWEST - 1))
        return max(due, self._allowed_at(agent))

    def _allowed_at(self, agent: Agent) -> float:
        """When its budget and its backend's limits let somebody decide again."""
        life = self.rules.life
        at = self.state.limits.get(agent.backend, 0.0)
        within = [begun for begun in agent.decisions if begun > self.now - HOUR]
        if len(within) >= life.per_hour:
            at = max(at, within[-life.per_hour] + HOUR)
        spent = [one for one in agent.spent if one[0] > self.now - HOUR]
        free = self.rules.backends[agent.backend].free
        if life.tokens_per_hour and not free and sum(tokens for _, tokens in spent) >= life.tokens_per_hour:
            at = max(at, spent[0][0] + HOUR)
        return at

    def _decisions_due(self) -> None:
        begun = False  # one at a time, so that not everybody gets up at once
        for due, agent in [*self._decision_times()]:
            if self.now < due or agent.id not in self.state.agents:
                continue
            if agent.decision is not None:
                self._drop_decision(agent, "failed", f"no answer within {self.rules.settings.max_wait_time:g} s")
            elif agent.state == "speaking":
                self._enter(agent, "idle")
            elif agent.state == "listening":
                self._heard_out(agent)
            elif not begun and agent.state == "idle" and self._may_decide(agent):
                begun = True
                self._ask_decision(agent, self._owes_an_answer(agent))

    # -- asking ---------------------------------------------------------------------------------------------------

    def _ask_decision(self, agent: Agent, heard_from: str = "") -> None:
        if agent.context_max and agent.context_tokens >= FULL * agent.context_max:
            self._renew_alone(agent)
        ask_id = self.new_id("decision", self.state.decision_count + 1)
        now = self._situation(agent, heard_from)
        self._emit(e.DecisionStarted(agent_id=agent.id, ask_id=ask_id, heard_from=heard_from))
        if agent.state == "idle":
            self._enter(agent, "thinking")
        mark = hashlib.sha256(ask_id.encode()).hexdigest()[:8]
        self._do(effects.Ask(ask_id=ask_id, agent_id=agent.id, prompt=situation.prompt(now, mark), quiet=True))

    def _renew_alone(self, agent: Agent) -> None:
        session = self.new_id(f"session of {agent.id}", agent.renewals + 1)
        why = "its context is nearly full"
        self._emit(e.SessionRenewed(agent_id=agent.id, session_id=session, reason=why, tokens=agent.context_tokens))
        self._do(effects.Renew(agent_id=agent.id))

    def _situation(self, agent: Agent, heard_from: str) -> situation.Situation:
        others = [other for other in self.state.agents.values() if other is not agent]
        near = {other.id for other in self._hearers(agent)}
        task = self.state.tasks.get(agent.task_id or 0)
        room = self.state.rooms.get(agent.room_id or "")
        said = [
            (m.at, Person(m.author_name, self._role(m.author)), m.content)
            for m in (room.messages[-4 * situation.KEPT :] if room else [])
            if m.active and m.type in ("user", "agent")
        ]
        said += [(one.at, Person(one.name, one.role), one.content) for one in agent.overheard]
        speaker = self.state.agents.get(heard_from)
        news = [one.text for one in self.state.news if one.seq > agent.looked_up and one.agent_id != agent.id]
        return situation.Situation(
            me=Person(agent.name, agent.role), task=task.task_name if task else "",
            near=[self._colleague(other) for other in others if other.id in near],
            far=[self._colleague(other) for other in others if other.id not in near][:12],
            said=[(person, text) for _, person, text in sorted(said, key=lambda one: one[0])[-situation.KEPT :]],
            heard_from=speaker.name if speaker else "", happened=news[-4:], places=self._places(),
        )  # fmt: skip

    def _role(self, author: str) -> str:
        return self.state.agents[author].role if author in self.state.agents else ""

    def _colleague(self, other: Agent) -> situation.Colleague:
        room = self.state.rooms.get(other.room_id or "")
        busy = "in a conversation" if room is not None and room.auto is not None else other.state
        walks = characters.walks(other, self.now)
        at_desk = other.position == self.plan.position(self._home(other).tile)
        where = "on the way" if walks else "at the desk" if at_desk else "up and about"
        return situation.Colleague(Person(other.name, other.role), f"is {busy}, {where}")

    def _places(self) -> list[str]:
        """Where one can stand, by name."""
        return [*(kind for kind in VISITED if self.plan.spots_at(kind)), "desk"]

    def _hearers(self, speaker: Agent) -> list[Agent]:
        """Who is near enough, the nearest first (C12)."""
        here, reach = self.position(speaker), self.rules.life.hearing_distance
        found = []
        for other in self.state.agents.values():
            there = self.position(other)
            far = max(abs(here.x - there.x), abs(here.y - there.y))
            if other is not speaker and far <= reach:
                found.append((far, other))
        return [other for _, other in sorted(found, key=lambda one: (one[0], one[1].id))]

    # -- being interrupted ----------------------------------------------------------------------------------------

    def _drop_decision(self, agent: Agent, outcome: e.TurnOutcome, why: str, *, then: e.AgentState = "idle") -> None:
        """A thought that is not waited for any longer; the CLI is told so with its own means."""
        decision = agent.decision
        assert decision is not None
        self._emit(e.AgentDecided(
            agent_id=agent.id, ask_id=decision.ask_id, action="wait", detail=why, outcome=outcome
        ))  # fmt: skip
        self._do(effects.Interrupt(ask_id=decision.ask_id, agent_id=agent.id))
        if agent.state != then:
            self._enter(agent, then)

    def _free_up(self, agent: Agent, why: str) -> None:
        """Whatever somebody is about by itself, it leaves off."""
        if agent.decision is not None:
            self._drop_decision(agent, "interrupted", why)
        elif agent.ask_id is None and agent.state != "idle":
            self._enter(agent, "idle")

    def _hears(self, agent: Agent, spoke: e.AgentSpoke) -> None:
        """C7: it listens and acknowledges; in a turn of a room it acknowledges and goes on."""
        speaker = self.state.agents.get(spoke.agent_id)
        if speaker is None or spoke.room_id is not None:
            return
        chosen = bool(spoke.recipients) and spoke.recipients[0] == agent.id
        answers = chosen and agent.replies < MOST_REPLIES and agent.participating and self.decides(agent)
        until = max(spoke.until, self.now)
        room = self.state.rooms.get(agent.room_id or "")
        if agent.ask_id is not None or agent.state == "speaking" or (room is not None and room.auto is not None):
            until = max(until, agent.busy_until)
            self._emit(e.AgentAcknowledged(agent_id=agent.id, sender=speaker.id, until=until, answers=answers))
            return
        resumes = agent.decision is not None or agent.resumes
        if agent.decision is not None:
            self._drop_decision(agent, "interrupted", f"{speaker.name} spoke", then="listening")
        elif agent.state == "idle":
            self._enter(agent, "listening")
        self._emit(e.AgentAcknowledged(
            agent_id=agent.id, sender=speaker.id, until=until, answers=answers, resumes=resumes
        ))  # fmt: skip
        if not characters.walks(agent, self.now):
            self.face(agent, speaker)

    def _heard_out(self, agent: Agent) -> None:
        """What was said is said: it thinks of an answer, goes back to what it was deciding, or to nothing."""
        wants = agent.heard_from or agent.resumes
        if wants and self._may_decide(agent) and self._allowed_at(agent) <= self.now:
            self._ask_decision(agent, agent.heard_from)
        else:
            self._enter(agent, "idle")

    # -- doing it -------------------------------------------------------------------------------------------------

    def _decision_heard_of(self, agent: Agent, fact: inputs.Written | inputs.TurnOver) -> None:
        if isinstance(fact, inputs.Written):
            if agent.state == "listening":
                self._enter(agent, "thinking")
            return
        decision = agent.decision
        assert decision is not None
        if fact.kind == "rate_limit":
            until = max(fact.retry_at or 0.0, self.now + 60.0)
            self._emit(e.RateLimited(backend=agent.backend, room_id="", retry_at=until))
        try:
            if fact.status != "answered":
                raise actions.Misunderstood(fact.detail or fact.status)
            self._carry_out_action(agent, actions.read(fact.text))
        except actions.Misunderstood as wrong:
            outcome: e.TurnOutcome = "answered" if fact.status == "answered" else "failed"
            self._chose(agent, "wait", detail=str(wrong), outcome=outcome, understood=False)
            self._enter(agent, "idle")

    def _chose(
        self, agent: Agent, action: e.ActionName, *, target: str = "", content: str = "", detail: str = "",
        outcome: e.TurnOutcome = "answered", understood: bool = True,
    ) -> None:  # fmt: skip
        assert agent.decision is not None
        self._emit(e.AgentDecided(
            agent_id=agent.id, ask_id=agent.decision.ask_id, action=action, target=target, content=content,
            detail=detail, outcome=outcome, understood=understood,
        ))  # fmt: skip

    def _carry_out_action(self, agent: Agent, action: actions.AnyAction) -> None:
        """Raises Misunderstood before anything has happened, where it cannot be done."""
        told_of = agent.decision.task_id if agent.decision else None
        match action:
            case actions.Wait():
                self._chose(agent, "wait", detail=action.reason[:200])
                self._enter(agent, "idle")
            case actions.Move():
                self._go(agent, action.to)
            case actions.Speak():
                self._speak_up(agent, action)
            case actions.Collaborate():
                self._get_together(agent, action)
        if action.task_done and told_of is not None and told_of in self.state.tasks:
            self._complete(told_of)

    def _go(self, agent: Agent, to: str | e.Position) -> None:
        goal = self._person_called(agent, to) if isinstance(to, str) else None
        places = self._places_called(agent, to) if goal is None else []
        if goal is None and not places:
            raise actions.Misunderstood(f"there is no way to {str(to)[:80]!r}")
        told = to if isinstance(to, str) else f"{to.x}, {to.y}"
        self._chose(agent, "move", target=goal.name if goal else told[:80])
        self._enter(agent, "idle")
        if goal is not None:
            self.approach(agent, goal, "decides")
        else:
            self._walk(agent, places, "seat" if places == [self._home(agent)] else "decides")

    def _person_called(self, agent: Agent, name: str) -> Agent | None:
        others = [other for other in self.state.agents.values() if other is not agent]
        wanted = name.strip().lower().removeprefix("@")
        return next((o for o in others if o.name.lower() == wanted), None)

    def _places_called(self, agent: Agent, to: str | e.Position) -> list[Place]:
        plan = self.plan
        if not isinstance(to, str):
            tile = plan.at(to)
            fits = tile is not None and plan.restable[tile] and tile not in self._kept(agent)
            return [Place(tile, "down")] if fits and tile is not None else []
        wanted = to.strip().lower().removeprefix("the ")
        if wanted in ("desk", "seat", "home", "my desk"):
            return [self._home(agent)]
        kept = self._kept(agent)
        kinds = [kind for kind in VISITED if kind in wanted or wanted in kind] if wanted else []
        spots = [place for kind in kinds for place in plan.spots_at(kind)]
        free = [place for place in spots if place.tile not in kept]
        if free:
            return free
        queue = [(near, place.tile) for place in spots for near in plan.beside(place.tile) if near not in kept]
        return [
            Place(near, plan.facing(near, tile)) for near, tile in queue
        ]  # somebody is there: one stands beside them

    def _speak_up(self, agent: Agent, action: actions.Speak) -> None:
        text = " ".join(action.text.split())[: actions.LONGEST_SPEECH]
        wanted = [self._person_called(agent, name) for name in actions.names_of(action.to)]
        called = [other for other in wanted if other is not None]
        if actions.names_of(action.to) and not called:
            raise actions.Misunderstood(f"there is nobody called {str(action.to)[:80]}")
        near = self._hearers(agent)
        recipients = [*dict.fromkeys([*(o.id for o in called), *(o.id for o in near)])]
        self._chose(agent, "speak", target=", ".join(o.name for o in called), content=text)
        if called and called[0] not in near:
            self.approach(agent, called[0], "decides")
        elif called and not characters.walks(agent, self.now):
            self.face(agent, called[0])
        self._enter(agent, "speaking")
        until = self.now + max(SPEAKS_LEAST, SPEAKS_A_SIGN * len(text))
        self._emit(e.AgentSpoke(agent_id=agent.id, name=agent.name, content=text, recipients=recipients, until=until))

    def _get_together(self, agent: Agent, action: actions.Collaborate) -> None:
        """A room for the two, in which they talk it over; then both go back to where they came from."""
        other = self._person_called(agent, action.partner)
        if other is None:
            raise actions.Misunderstood(f"there is nobody called {action.partner[:80]!r}")
        on = speech.strip(" ".join(action.on.split()), self.rules.settings.keyword)
        about = on[: actions.LONGEST_SUBJECT] or "what each of us is working on"
        full = any(one.context_max and one.context_tokens >= FULL * one.context_max for one in (agent, other))
        if full or not self._may_join(other) or not self._may_join(agent):
            raise actions.Misunderstood(f"{other.name} is busy")
        if other.name.lower() == agent.name.lower():
            raise actions.Misunderstood(f"there is another {other.name}")
        if len(self.state.rooms) >= self.rules.most_rooms:
            raise actions.Misunderstood("there is no room free")
        self._chose(agent, "collaborate", target=other.name, content=about)
        self._enter(agent, "idle")
        for one in (agent, other):
            self._free_up(one, "they get together")
        settings = msgspec.structs.replace(
            self.rules.settings, max_messages=TOGETHER_MESSAGES, max_duration_ms=TOGETHER_MS, outcome=False
        )
        guests = {one.id: self._place_of(one) for one in (agent, other)}
        room = self._open_room(f"{agent.name} and {other.name}", settings, guests)
        for one in (agent, other):
            if one.room_id is not None:
                home = self.state.rooms[one.room_id]
                self._update(home, members=[i for i in home.agents if i != one.id], next_at=None)
            self._update(room, members=[*room.agents, one.id])
        self._start_auto(inputs.StartAutoMode(roomId=room.id, topic=about), unattended=True)

    def _call_back(self, room: Room) -> None:
        """Somebody wants something of this room: those who talk something over elsewhere come back first."""
        for other in [*self.state.rooms.values()]:
            if other.auto is not None and any(home and home.room_id == room.id for home in other.guests.values()):
                self._end(other, "user", e.PERSON, "they were called back")

    def _place_of(self, agent: Agent) -> e.Home | None:
        if agent.room_id is None:
            return None
        return e.Home(agent.room_id, self.state.rooms[agent.room_id].agents.index(agent.id))

    def _go_back(self, room: Room) -> None:
        """It is over: everybody goes back to the room they came from, and this one is closed."""
        guests = dict(room.guests)
        self._update(room, members=[agent_id for agent_id in room.agents if agent_id not in guests])
        for agent_id, came_from in sorted(guests.items(), key=lambda one: one[1].place if one[1] else 0):
            home = self.state.rooms.get(came_from.room_id) if came_from else None
            names = {self.state.agents[i].name.lower() for i in home.agents} if home else set()
            agent = self.state.agents.get(agent_id)
            if home is not None and came_from is not None and agent is not None and agent.name.lower() not in names:
                members = [*home.agents[: came_from.place], agent_id, *home.agents[came_from.place :]]
                index = home.current_index + (came_from.place <= home.current_index and len(home.agents) > 0)
                self._update(home, members=members, index=index, next_at=home.auto.next_at if home.auto else None)
        if not room.agents:
            self._emit(e.RoomClosed(room_id=room.id))

    # -- switches -------------------------------------------------------------------------------------------------

    def _set_decision_loop(self, agent_id: str | None, on: bool) -> None:
        agents = [self._agent(agent_id)] if agent_id is not None else [*self.state.agents.values()]
        if on and self.rules.life.idle_seconds <= 0:
            raise Refused("invalid_state", "Agents decide nothing here: start the server without --no-life.")
        self._emit(e.DecisionLoopSet(on=on, agent_id=agent_id))
        for agent in agents:
            if not on and agent.decision is not None:
                self._drop_decision(agent, "interrupted", "switched off")
