"""The laws of the core under random lives: whatever is told, in whatever order. No process, no clock, no file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from office_under_test import KEYWORD, RULES, Office, stored

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.core import Core
from supervisor.errors import Refused

if TYPE_CHECKING:
    from supervisor.core.state import State

COMMANDS = [
    inputs.StartAutoMode(), inputs.StopAutoMode(), inputs.ResumeAutoMode(), inputs.RetryTurn(),
    inputs.CancelRateLimitWait(), inputs.Suspend(), inputs.Wake(), inputs.RequestOutcome(room_id="room_001"),
]  # fmt: skip


class Sessions:
    """What stands in each room, and what each agent's CLI has had of it; knows nothing of how the core remembers it."""

    def __init__(self) -> None:
        self.messages: dict[str, e.Message] = {}
        self.held: dict[str, set[str]] = {}
        self.asked: dict[str, list[str]] = {}
        self.besides: dict[str, set[str]] = {}
        self.written: set[str] = set()

    def take(self, event: Any) -> None:
        match event:
            case e.MessageAdded():
                self.messages[event.message.id] = event.message
                self.held.setdefault(event.message.author, set()).add(event.message.id)
            case e.MessageUpdated():
                self.messages[event.message.id] = event.message
            case e.ConversationBegun():
                for message in self.messages.values():
                    if message.room_id == event.room_id:
                        self.messages[message.id] = msgspec.structs.replace(message, active=False)
            case e.SessionRenewed():
                self.held[event.agent_id] = set()
                self.besides[event.agent_id] = set()
            case e.AgentStateChanged() if event.state == "thinking":
                self.written.add(event.agent_id)
            case e.TurnStarted():
                held = self.held.setdefault(event.agent_id, set())
                words = [m for m in self.messages.values() if m.type in ("user", "agent") and m.author != e.TOPIC]
                here = [m for m in words if m.room_id == event.room_id]
                assert {m.id for m in here if m.active} == {m.id for m in here if m.id in held or m.id in event.heard}
                assert not held & {i for i in event.heard if self.messages[i].author != e.TOPIC}
                assert all(self.messages[i].active for i in self.besides.get(event.agent_id, ()))
                self.asked[event.ask_id] = event.heard
                self.written.discard(event.agent_id)
            case e.TurnEnded() if event.outcome in ("answered", "skipped"):
                self.held[event.agent_id] |= set(self.asked[event.ask_id])
            case e.TurnEnded() if event.agent_id in self.written:  # told again, but the CLI may remember it
                self.besides.setdefault(event.agent_id, set()).update(self.asked[event.ask_id])


class Machine(RuleBasedStateMachine):
    """Random lives: whatever is told, in whatever order, the laws hold."""

    @initialize(attended=st.booleans(), delay=st.sampled_from([0.0, 2.0]))
    def open(self, attended: bool, delay: float) -> None:
        self.office = Office(msgspec.structs.replace(RULES, most_agents=6))
        self.shadow = Core(RULES)
        self.fed = self.checked = 0
        self.sessions = Sessions()
        people = tuple(inputs.AgentConfig(name=n, role=f"role {n}") for n in ("Ann", "Ben", "Cat"))
        limits = e.Settings(max_duration_ms=60_000, min_turns=2, response_delay=delay, max_wait_time=20)
        self.tell(inputs.StartRoom(name="R", settings=limits, agents=people, unattended=not attended))

    def tell(self, given: Any, after: float = 0.0) -> None:
        before = self.office.core.state.seq
        try:
            self.office.tell(given, after)
        except Refused:
            assert self.office.core.state.seq == before

    def an_ask(self, pick: int) -> str:
        """One that is open, mostly."""
        known = [f.ask_id for f in self.office.effects if isinstance(f, effects.Ask)]
        known = [*self.office.core.state.asks] or known if pick else known
        return known[-1 - pick % len(known)] if known else "none"

    @rule(after=st.floats(0, 40))
    def time_passes(self, after: float) -> None:
        self.tell(inputs.Due(), after)

    @rule(text=st.sampled_from(["yes", "no", "@Ben and @Cat", "@Ann?", "SKIP", f"done {KEYWORD}", KEYWORD, "",
                                f"{KEYWORD[:5]} half"]),
          pick=st.integers(0, 2), status=st.sampled_from(["answered", "answered", "answered", "failed", "interrupted",
                                                         "exited"]),
          kind=st.sampled_from(["unknown", "rate_limit", "context"]))  # fmt: skip
    def turn_over(self, text: str, pick: int, status: Any, kind: Any) -> None:
        self.tell(inputs.TurnOver(ask_id=self.an_ask(pick), status=status, signal="x", text=text, kind=kind))

    @rule(pick=st.integers(0, 2), line=st.integers(0, 3))
    def said(self, pick: int, line: int) -> None:
        self.tell(inputs.Written(ask_id=self.an_ask(pick)))
        self.tell(inputs.Said(ask_id=self.an_ask(pick), text="block", source=e.Source(1, f"l{line}")))

    @rule(texts=st.lists(st.sampled_from(["yes", "@Cat, no", "SKIP"]), min_size=1, max_size=4), auto=st.booleans())
    def talk(self, texts: list[str], auto: bool) -> None:
        """So that there is something to disturb."""
        room = next(iter(self.office.core.state.rooms), None)
        self.tell(inputs.StartAutoMode(roomId=room) if auto else inputs.UserMessage(room_id=room, content="And you?"))
        for text in texts:
            self.turn_over(text, 1, "answered", "unknown")
            self.tell(inputs.Due(), 2.0)

    @rule(which=st.sampled_from(COMMANDS))
    def command(self, which: Any) -> None:
        self.tell(which)

    @rule(number=st.integers(1, 6), what=st.sampled_from(["end", "gone", "move", "task", "usage"]))
    def about_an_agent(self, number: int, what: str) -> None:
        agent = f"agent_{number:03d}"
        self.tell({
            "end": inputs.TerminateAgent(agent_id=f"agent_{number + 2:03d}"),  # two live on
            "gone": inputs.AgentGone(agent_id=f"agent_{number + 2:03d}", reason="x"),
            "move": inputs.MoveAgent(agent_id=agent, position=e.Position(number, 4)),
            "task": inputs.AssignTask(agent_id=agent, task_name="t"),
            "usage": inputs.UsageSeen(agent_id=agent, input_tokens=5, output_tokens=5, context_tokens=number * 150),
        }[what])  # fmt: skip

    @rule(which=st.sampled_from([
        inputs.UserMessage(content="@Ben, so?"), inputs.SetMode(mode="manual"), inputs.SetMode(mode="auto"),
        inputs.UpdateSettings(barge_in=True),
    ]))  # fmt: skip
    def a_person(self, which: Any) -> None:
        self.tell(which)

    @rule(take=st.booleans(), pick=st.integers(0, 3))
    def resolve(self, take: bool, pick: int) -> None:
        for room in self.office.core.state.rooms.values():
            ids = [message.id for message in room.pending[pick:]]
            accept, dismiss = (ids, []) if take else ([], ids)
            self.tell(inputs.ResolvePending(room_id=room.id, accept=accept, dismiss=dismiss))

    @rule(pick=st.integers(1, 6), active=st.booleans())
    def toggle(self, pick: int, active: bool) -> None:
        for room in self.office.core.state.rooms.values():
            for message in [m for m in room.messages if m.type in ("user", "agent")][-pick:][:1]:
                self.tell(inputs.SetMessageActive(message_id=message.id, active=active))

    @rule(number=st.integers(1, 6), takes_part=st.booleans())
    def participation(self, number: int, takes_part: bool) -> None:
        self.tell(inputs.SetParticipation(agent_id=f"agent_{number:03d}", participating=takes_part))

    @rule(data=st.data())
    def order_and_settings(self, data: st.DataObject) -> None:
        for room in self.office.core.state.rooms.values():
            self.tell(inputs.SetOrder(room_id=room.id, agents=data.draw(st.permutations(room.agents))))
            self.tell(inputs.UpdateSettings(
                room_id=room.id, max_duration_ms=data.draw(st.integers(100, 90_000)),
                response_delay=data.draw(st.sampled_from([0.0, 3.0])), max_messages=data.draw(st.integers(0, 9)),
            ))  # fmt: skip

    @rule(number=st.integers(1, 6), room=st.integers(1, 3),
          what=st.sampled_from(["create", "join", "leave", "rename", "anew", "close"]))  # fmt: skip
    def rooms(self, number: int, room: int, what: str) -> None:
        agent, room_id = f"agent_{number:03d}", f"room_{room:03d}"
        self.tell({
            "create": inputs.CreateRoom(template="debate" if room == 1 else None),
            "join": inputs.JoinRoom(agent_id=agent, room_id=room_id),
            "leave": inputs.LeaveRoom(agent_id=agent),
            "rename": inputs.RenameRoom(room_id=room_id, name="Another"),
            "anew": inputs.NewConversation(room_id=room_id),
            "close": inputs.CloseRoom(room_id=f"room_{room + 1:03d}"),  # the first one lives on
        }[what])  # fmt: skip

    @rule(name=st.sampled_from(["Ann", "Dan", "Eli"]))
    def spawn(self, name: str) -> None:
        self.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name=name, role="new")))

    @precondition(lambda self: self.office.core.state.seq > 40)
    @rule(copy=st.booleans())
    def restart(self, copy: bool) -> None:
        """The state survives being stored, and a core on top of it goes on, also in a copy of the office."""
        rules = msgspec.structs.replace(RULES, office_id=f"copy {self.office.core.state.seq}") if copy else RULES
        self.office.core = Core(rules, stored(self.office.core.state))
        self.tell(inputs.Wake(copy=copy))

    @invariant()
    def applying_the_events_gives_the_same_state(self) -> None:
        for event in self.office.events[self.fed :]:
            self.shadow.apply(e.decoder.decode(e.encoder.encode(event)))
        self.fed = len(self.office.events)
        assert self.shadow.state == self.office.core.state
        assert not self.shadow._effects

    @invariant()
    def nobody_is_asked_twice_at_once(self) -> None:
        state: State = self.office.core.state
        asked = [ask.agent_id for ask in state.asks.values()]
        assert len(asked) == len(set(asked))
        for agent in state.agents.values():
            assert (agent.ask_id in state.asks) == (agent.ask_id is not None)
            assert agent.ask_id is not None or agent.state == "idle"
        for room in state.rooms.values():
            open_asks = {ask.id for ask in state.asks.values() if not ask.manual and ask.room_id == room.id}
            assert set(room.auto.wave if room.auto else []) == open_asks

    @invariant()
    def no_message_is_lost_or_told_twice(self) -> None:
        """Each stands once: in the room, or pending."""
        told = [x.message.id for x in self.office.of(e.MessageAdded)]
        assert len(told) == len(set(told))
        for room in self.office.core.state.rooms.values():
            waiting = {message.id for message in room.pending}
            assert not waiting & set(told)

    @invariant()
    def a_prompt_holds_exactly_what_counts_and_was_not_told(self) -> None:
        """D2, D4, by a plain model of each session: what it was told, what it said, and when it began anew."""
        for event in self.office.events[self.checked :]:
            self.sessions.take(event)
        self.checked = len(self.office.events)

    @invariant()
    def nobody_who_is_paused_is_asked(self) -> None:
        taking_part: dict[str, bool] = {}
        for event in self.office.events:
            if isinstance(event, e.ParticipationChanged):
                taking_part[event.agent_id] = event.participating
            if isinstance(event, e.TurnStarted):
                assert taking_part.get(event.agent_id, True)

    @invariant()
    def every_auto_mode_has_an_end_in_sight(self) -> None:
        for room in self.office.core._autos():
            deadline = self.office.core.next_deadline()
            assert deadline is not None
            assert deadline <= self.office.now + 24 * 3600
            assert room.auto
            assert room.auto.paused or room.auto.wave or room.auto.next_at is not None

    @invariant()
    def no_event_shows_the_keyword(self) -> None:
        for event in self.office.events[-5:]:
            assert KEYWORD.encode() not in e.encoder.encode(event)

    def teardown(self) -> None:
        """Left alone, everything ends."""
        if not hasattr(self, "office"):
            return
        for _ in range(150):
            deadline = self.office.core.next_deadline()
            if deadline is None:
                break
            self.tell(inputs.Due(), max(0.0, deadline - self.office.now))
        assert not self.office.core._autos()
        assert not self.office.core.state.asks


TestCore = Machine.TestCase
TestCore.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
