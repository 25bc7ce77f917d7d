"""The laws of an office that is left alone, and is not, under random lives."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from living import LIVELY, decides, office_of, thinking
from office_under_test import stored

from supervisor import events as e
from supervisor.core import agents, inputs
from supervisor.core.core import Core
from supervisor.errors import Refused


class Lively(RuleBasedStateMachine):
    """Random lives of an office that is left alone, and is not: the laws hold, and applying gives the same."""

    @initialize()
    def open(self) -> None:
        self.office = office_of("Ann", "Ben", "Cat")
        self.shadow = Core(LIVELY, stored(self.office.core.state))

    def tell(self, given: Any, after: float = 0.0) -> None:
        before = self.office.core.state.seq
        try:
            self.office.tell(given, after)
        except Refused:
            assert self.office.core.state.seq == before

    @rule(after=st.floats(0.1, 20))
    def time_passes(self, after: float) -> None:
        self.tell(inputs.Due(), after)

    @rule(pick=st.integers(0, 2), answer=st.sampled_from([
        {"action": "wait"}, {"action": "move", "to": "Ben"}, {"action": "move", "to": "window"},
        {"action": "speak", "to": ["Cat"], "text": "hm"}, {"action": "speak", "text": "all"}, {"action": "?"},
        {"action": "collaborate", "with": "Ann", "on": "x"},
        {"action": "collaborate", "with": "Cat", "task_done": True},
    ]))  # fmt: skip
    def somebody_decides(self, pick: int, answer: dict[str, Any]) -> None:
        for name in thinking(self.office)[pick:][:1]:
            decides(self.office, name, **answer)
            for spoke in self.office.of(e.AgentSpoke)[-1:]:
                for agent_id in spoke.recipients:
                    self.tell(inputs.Heard(agent_id=agent_id, spoke=spoke))

    @rule(text=st.sampled_from(["yes", "SKIP", ""]), status=st.sampled_from(["answered", "failed", "exited"]))
    def somebody_answers(self, text: str, status: Any) -> None:
        for ask_id in [*self.office.core.state.asks][:1]:
            self.tell(inputs.TurnOver(ask_id=ask_id, status=status, signal="x", text=text))

    @rule(which=st.sampled_from([
        inputs.UserMessage(content="go", room_id="room_001"), inputs.StartAutoMode(roomId="room_001", topic="x"),
        inputs.StopAutoMode(roomId="room_001"), inputs.Suspend(), inputs.Wake(), inputs.SetDecisionLoop(on=False),
        inputs.SetDecisionLoop(on=True), inputs.TerminateAgent(agent_id="agent_003"),
        inputs.CloseRoom(room_id="room_002"), inputs.SetParticipation(agent_id="agent_002", participating=False),
        inputs.SetParticipation(agent_id="agent_002", participating=True),
        inputs.AssignTask(agent_id="agent_001", task_name="t"), inputs.SetMode(room_id="room_002", mode="manual"),
        inputs.SetMode(room_id="room_001", mode="manual"), inputs.RequestOutcome(room_id="room_001"),
        inputs.RetryTurn(room_id="room_001"), inputs.JoinRoom(agent_id="agent_001", room_id="room_002"),
        inputs.JoinRoom(agent_id="agent_001", room_id="room_001"), inputs.LeaveRoom(agent_id="agent_002"),
        inputs.CreateRoom(name="More"), inputs.NewConversation(room_id="room_001"),
    ]))  # fmt: skip
    def a_person(self, which: Any) -> None:
        self.tell(which)

    @invariant()
    def applying_the_events_gives_the_same_state(self) -> None:
        for event in self.office.events:
            if event.seq > self.shadow.state.seq:
                self.shadow.apply(e.decoder.decode(e.encoder.encode(event)))
        assert self.shadow.state == self.office.core.state

    @invariant()
    def states_go_along_the_table(self) -> None:
        """C4, and nobody is asked two things at once."""
        for event in self.office.of(e.AgentStateChanged)[-20:]:
            assert agents.allowed(event.old_state, event.state)
        for one in self.office.core.state.agents.values():
            assert one.decision is None or one.ask_id is None
            if one.decision is None and one.ask_id is None:
                assert one.state in ("idle", "speaking", "listening")

    @invariant()
    def everybody_is_in_one_room_once(self) -> None:
        """D19; and a room in auto mode goes on by itself."""
        state = self.office.core.state
        placed = [agent_id for room in state.rooms.values() for agent_id in room.agents]
        assert len(placed) == len(set(placed))
        for room in state.rooms.values():
            assert all(state.agents[agent_id].room_id == room.id for agent_id in room.agents)
            names = [state.agents[agent_id].name for agent_id in room.agents]
            assert len(names) == len(set(names))
            if room.auto is not None:
                assert room.auto.paused or room.auto.wave or room.auto.next_at is not None
                assert len(room.agents) > 1

    def teardown(self) -> None:
        """Nobody is left listening, speaking or thinking for ever."""
        if not hasattr(self, "office"):
            return
        self.tell(inputs.SetDecisionLoop(on=False))
        for _ in range(80):
            deadline = self.office.core.next_deadline()
            if deadline is None:
                break
            self.tell(inputs.Due(), max(0.0, deadline - self.office.now))
        assert {one.state for one in self.office.core.state.agents.values()} <= {"idle"}


TestLively = Lively.TestCase
TestLively.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
