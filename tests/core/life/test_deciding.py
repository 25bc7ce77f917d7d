"""A life of their own, by example: when somebody decides, what comes of it, and what stops it."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from living import LIVELY, agent, decides, deliver, office_of, passes, prompt, thinking, until_thinking
from office_under_test import Office, asked, over, stored

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.core import Core
from supervisor.core.life import deciding
from supervisor.errors import Refused


def test_who_is_idle_for_long_enough_is_asked_what_to_do() -> None:
    """C6: idle, then thinking; one at a time, so that not everybody gets up at once."""
    office = office_of("Ann", "Ben", "Cat")
    begun = office.now
    passes(office, 4.9)
    assert thinking(office) == []
    passes(office, 10)
    assert sorted(thinking(office)) == ["Ann", "Ben", "Cat"]
    times = [event.at for event in office.of(e.DecisionStarted)]
    assert times[0] > begun + 5 - 1e-6
    assert all(later - earlier >= 0.99 for earlier, later in itertools.pairwise(times))
    assert {agent(office, name).state for name in ("Ann", "Ben", "Cat")} == {"thinking"}
    assert all(f.quiet for f in office.effects if isinstance(f, effects.Ask))


def test_the_prompt_tells_the_situation() -> None:
    """C6, C10: who is near, the task, the last five messages, what happened since, and how to answer."""
    office = office_of("Ann", "Ben")
    office.tell(inputs.AssignTask(agent_id="agent_001", task_name="draw the map"))
    for number in range(7):
        office.core._say(office.room, "user", f"word {number}", e.PERSON, "You")
    office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Cat", role="late")))
    until_thinking(office, "Ann")
    told = prompt(office, "Ann")
    for words in ("You are Ann, in the role of role Ann", "Ben (role Ben) is idle, at the desk",
                  "Your task: draw the map", "word 6", "word 2", "Cat came in.", '"action"',
                  "JSON", "coffee machine", "task_done"):  # fmt: skip
        assert words in told, words
    assert "word 1" not in told


@pytest.mark.parametrize("answer", ["", "no idea", '{"action": "dance"}', '{"action": "move", "to": "the moon"}',
                                    '{"action": "speak", "to": ["Nobody"], "text": "x"}',
                                    '{"action": "collaborate", "with": "Nobody"}'])  # fmt: skip
def test_a_wrong_answer_is_a_wait_that_says_why(answer: str) -> None:
    """C6."""
    office = office_of("Ann", "Ben")
    until_thinking(office, "Ann")
    decides(office, "Ann", answer or "{}")
    chosen = office.of(e.AgentDecided)[-1]
    assert (chosen.action, chosen.understood) == ("wait", False)
    assert chosen.detail
    assert agent(office, "Ann").state == "idle"


def test_a_failure_is_a_wait_too_and_a_limit_is_kept() -> None:
    office = office_of("Ann", "Ben")
    until_thinking(office, "Ann")
    decision = agent(office, "Ann").decision
    assert decision
    office.tell(inputs.TurnOver(
        ask_id=decision.ask_id, status="failed", signal="x", kind="rate_limit", retry_at=office.now + 500
    ))  # fmt: skip
    assert office.of(e.AgentDecided)[-1].outcome == "failed"
    for name in thinking(office):
        decides(office, name, action="wait")
    office.events.clear()
    passes(office, 400)
    assert office.of(e.DecisionStarted) == []


def test_who_waits_is_asked_less_and_less_often() -> None:
    office = office_of("Ann", "Ben", rules=msgspec.structs.replace(LIVELY, life=deciding.Rules(idle_seconds=5)))
    gaps = []
    for _ in range(6):
        until_thinking(office, "Ann")
        began = office.now
        decides(office, "Ann", action="wait")
        until_thinking(office, "Ann")
        gaps.append(office.now - began)
        decides(office, "Ann", action="wait")
    assert gaps[0] < 25
    assert gaps[-1] > 35


def test_moving_goes_to_places_people_and_tiles() -> None:
    """C6: broadcast as AgentMoved, and back to the desk after a while."""
    office = office_of("Ann", "Ben")
    for to in ("the coffee machine", "Ben", {"x": 8, "y": 8}):
        until_thinking(office, "Ann")
        decides(office, "Ann", action="move", to=to)
        move = [event for event in office.of(e.AgentMoved) if event.agent_id == "agent_001"][-1]
        assert move.reason == "decides"
        assert agent(office, "Ann").state == "idle"
    assert agent(office, "Ann").position == e.Position(8, 8)
    office.core.rules = msgspec.structs.replace(LIVELY, life=deciding.Rules())
    passes(office, 60)
    assert agent(office, "Ann").errand == "seat"


def test_where_somebody_stands_already_one_stands_beside_them() -> None:
    office = office_of("Ann", "Ben", "Cat")
    for name in ("Ann", "Ben", "Cat"):
        until_thinking(office, name)
        decides(office, name, action="move", to="water cooler")
    places = {agent(office, name).position for name in ("Ann", "Ben", "Cat")}
    assert len(places) == 3
    assert max(one.x for one in places) - min(one.x for one in places) <= 2
    until_thinking(office, "Ann")
    decides(office, "Ann", action="move", to="")
    assert not office.of(e.AgentDecided)[-1].understood


def test_speaking_reaches_who_is_near_and_who_is_meant() -> None:
    """C12: the one who is meant first; it takes its time, and then it is over."""
    office = office_of("Ann", "Ben", "Cat")
    until_thinking(office, "Ann")
    decides(office, "Ann", action="speak", to=["Cat"], text="Have you a minute?\nI am stuck.")
    spoke = office.of(e.AgentSpoke)[-1]
    assert spoke.content == "Have you a minute? I am stuck."
    assert spoke.recipients[0] == agent(office, "Cat").id
    assert spoke.room_id is None
    assert agent(office, "Ann").state == "speaking"
    with pytest.raises(Refused, match="does not move until it is idle"):
        office.tell(inputs.MoveAgent(agent_id="agent_001", position=e.Position(8, 8)))
    passes(office, 2)
    assert agent(office, "Ann").state == "idle"
    assert [one.content for one in office.core.state.talk] == [spoke.content]


def test_only_who_is_near_hears_what_is_said_to_all() -> None:
    office = office_of("Ann", "Ben", "Cat")
    office.tell(inputs.MoveAgent(agent_id="agent_003", position=e.Position(20, 16)))
    passes(office, 4)
    for name in thinking(office):
        if name != "Ann":
            decides(office, name, action="wait")
    office.now += 4
    until_thinking(office, "Ann")
    decides(office, "Ann", action="speak", text="Good morning")
    assert office.of(e.AgentSpoke)[-1].recipients == ["agent_002"]


def test_who_is_spoken_to_listens_acknowledges_and_then_answers() -> None:
    """C4, C7: idle → listening → thinking → speaking → idle, with the words in view."""
    office = office_of("Ann", "Ben")
    until_thinking(office, "Ann")
    for name in thinking(office):
        if name != "Ann":
            decides(office, name, action="wait")
    decides(office, "Ann", action="speak", to=["Ben"], text="Is it done?")
    deliver(office)
    assert agent(office, "Ben").state == "listening"
    assert office.of(e.AgentAcknowledged)[-1].sender == "agent_001"
    passes(office, 1.6)
    assert thinking(office) == ["Ben"]
    assert "Ann has just said something to you" in prompt(office, "Ben")
    assert "Is it done?" in prompt(office, "Ben")
    decides(office, "Ben", action="speak", to=["Ann"], text="Nearly.")
    states = [x.state for x in office.of(e.AgentStateChanged) if x.agent_id == "agent_002"]
    assert states[-3:] == ["listening", "thinking", "speaking"]


def test_words_interrupt_a_thought_of_ones_own() -> None:
    """C7: thinking → listening, acknowledged, and then back to deciding with the message in view."""
    office = office_of("Ann", "Ben")
    until_thinking(office, "Ann")
    until_ben = office.core.next_deadline()
    assert until_ben
    office.tell(inputs.Due(), after=max(0.0, until_ben - office.now))
    assert thinking(office) == ["Ann", "Ben"]
    before = agent(office, "Ben").decision
    assert before
    decides(office, "Ann", action="speak", to=["Ben"], text="Stop!")
    deliver(office)
    assert effects.Interrupt(ask_id=before.ask_id, agent_id="agent_002") in office.effects
    assert agent(office, "Ben").state == "listening"
    assert office.of(e.AgentDecided)[-1].outcome == "interrupted"
    passes(office, 2)
    assert "Stop!" in prompt(office, "Ben")
    office.tell(inputs.TurnOver(ask_id=before.ask_id, status="answered", signal="x", text='{"action": "wait"}'))
    assert thinking(office) == ["Ben"]


def test_in_a_turn_of_a_room_words_are_acknowledged_and_held() -> None:
    """C7."""
    office = office_of("Ann", "Ben")
    office.tell(inputs.UserMessage(content="go"))
    spoke = e.AgentSpoke(agent_id="agent_001", content="hey", recipients=["agent_002"], until=office.now + 2)
    before = agent(office, "Ben").state
    office.tell(inputs.Heard(agent_id="agent_002", spoke=spoke))
    assert agent(office, "Ben").state == before
    assert office.of(e.AgentAcknowledged)[-1].sender == "agent_001"
    assert len(asked(office)) == 2


def test_two_do_not_answer_each_other_for_ever() -> None:
    office = office_of("Ann", "Ben", rules=msgspec.structs.replace(LIVELY, life=deciding.Rules(idle_seconds=5)))
    until_thinking(office, "Ann")
    speaker = "Ann"
    turns = 0
    while turns < 20:
        turns += 1
        other = "Ben" if speaker == "Ann" else "Ann"
        decides(office, speaker, action="speak", to=[other], text="And you?")
        deliver(office)
        passes(office, 1.6)
        if other not in thinking(office):
            break
        speaker = other
    assert 2 <= turns <= 2 * deciding.MOST_REPLIES + 1


def test_two_get_together_and_go_back_when_it_is_over() -> None:
    """C6: a room for the two, with the topic; afterwards both are where they came from."""
    office = office_of("Ann", "Ben", "Cat")
    until_thinking(office, "Ann")
    decides(office, "Ann", action="collaborate", **{"with": "Ben"}, on="the release")
    second = office.core.state.rooms["room_002"]
    assert (second.name, second.agents) == ("Ann and Ben", ["agent_001", "agent_002"])
    assert second.auto
    assert second.auto.topic == "the release"
    assert office.room.agents == ["agent_003"]
    for _ in range(deciding.TOGETHER_MESSAGES):
        (name,) = [name for name in asked(office) if name in ("Ann", "Ben")]
        over(office, name, "words")
    assert "room_002" not in office.core.state.rooms
    assert office.room.agents == ["agent_001", "agent_002", "agent_003"]
    assert agent(office, "Ann").room_id == "room_001"
    assert office.of(e.AutoModeEnded)[-1].reason == "message_limit"


def test_a_room_of_two_who_got_together_can_be_closed() -> None:
    office = office_of("Ann", "Ben", "Cat")
    until_thinking(office, "Ann")
    decides(office, "Ann", action="collaborate", **{"with": "Ben"}, on="the release")
    office.tell(inputs.CloseRoom(room_id="room_002"))
    assert sorted(office.room.agents) == ["agent_001", "agent_002", "agent_003"]
    assert len(office.core.state.agents) == 3


def test_nobody_decides_in_auto_mode_or_while_paused_or_switched_off() -> None:
    """C6 and Decisions: for one, for all, and for a backend that costs something."""
    office = office_of("Ann", "Ben")
    office.tell(inputs.SetParticipation(agent_id="agent_001", participating=False))
    office.tell(inputs.SetDecisionLoop(agent_id="agent_002", on=False))
    passes(office, 300)
    assert office.of(e.DecisionStarted) == []
    office.tell(inputs.SetDecisionLoop(agent_id="agent_002", on=True))
    office.tell(inputs.SetDecisionLoop(on=False))
    passes(office, 300)
    assert office.of(e.DecisionStarted) == []
    office.tell(inputs.SetDecisionLoop(on=True))
    office.tell(inputs.StartAutoMode(topic="x"))
    passes(office, 100)
    assert office.of(e.DecisionStarted) == []
    paid = office_of("Ann", cli_backend="claude")
    passes(paid, 300)
    assert paid.of(e.DecisionStarted) == []
    paid.tell(inputs.SetDecisionLoop(agent_id="agent_001", on=True))
    passes(paid, 20)
    assert len(paid.of(e.DecisionStarted)) == 1
    with pytest.raises(Refused, match="--no-life"):
        Office().tell(inputs.SetDecisionLoop(on=True))


def test_switching_off_ends_a_thought() -> None:
    office = office_of("Ann")
    until_thinking(office, "Ann")
    office.tell(inputs.SetDecisionLoop(on=False))
    assert thinking(office) == []
    assert agent(office, "Ann").state == "idle"


def test_a_budget_bounds_it() -> None:
    """C6: so many decisions an hour, and so many tokens where they cost something."""
    office = office_of("Ann")
    for _ in range(10):
        until_thinking(office, "Ann")
        decides(office, "Ann", action="move", to="desk")
    office.events.clear()
    passes(office, 3000)
    assert office.of(e.DecisionStarted) == []
    passes(office, 800)
    assert office.of(e.DecisionStarted) != []
    paid = office_of("Ann", cli_backend="claude")
    paid.tell(inputs.SetDecisionLoop(agent_id="agent_001", on=True))
    until_thinking(paid, "Ann")
    paid.tell(inputs.UsageSeen(agent_id="agent_001", input_tokens=1000, output_tokens=1, context_tokens=1))
    decides(paid, "Ann", action="move", to="desk")
    paid.events.clear()
    passes(paid, 3000)
    assert paid.of(e.DecisionStarted) == []


def test_somebody_who_is_asked_in_a_room_leaves_off() -> None:
    """A person goes before one's own thoughts, words and listening."""
    office = office_of("Ann", "Ben")
    until_thinking(office, "Ann")
    for name in thinking(office):
        if name != "Ann":
            decides(office, name, action="wait")
    decides(office, "Ann", action="speak", to=["Ben"], text="A long story, and it is not over yet.")
    deliver(office)
    office.tell(inputs.UserMessage(content="Both of you!"))
    assert sorted(asked(office)) == ["Ann", "Ben"]
    assert {agent(office, name).state for name in ("Ann", "Ben")} == {"listening"}


def test_a_task_is_reported_done() -> None:
    """C11: by the one who has it; others notice."""
    office = office_of("Ann", "Ben")
    office.tell(inputs.AssignTask(agent_id="agent_001", task_name="draw the map"))
    until_thinking(office, "Ann")
    decides(office, "Ann", action="wait", task_done=True)
    assert office.of(e.TaskUpdated)[-1].task.status == "completed"
    until_thinking(office, "Ben")
    assert "Ann finished a task: draw the map." in prompt(office, "Ben")


def test_a_task_is_named_in_the_instruction_of_a_room() -> None:
    """C10."""
    office = office_of("Ann", "Ben")
    office.tell(inputs.AssignTask(agent_id="agent_001", task_name="draw the map"))
    office.tell(inputs.StartAutoMode(topic="x"))
    assert "Your task: draw the map" in office.asked.prompt


def test_after_a_restart_thoughts_are_gone_and_life_goes_on() -> None:
    office = office_of("Ann", "Ben")
    until_thinking(office, "Ann")
    office.core = Core(LIVELY, stored(office.core.state))
    office.tell(inputs.Wake(), after=100)
    assert thinking(office) == []
    assert {one.state for one in office.core.state.agents.values()} == {"idle"}
    passes(office, 20)
    assert thinking(office) != []


def together(office: Office) -> Any:
    """Ann and Ben talk something over in a room of their own; Cat is left."""
    until_thinking(office, "Ann")
    for name in thinking(office):
        if name != "Ann":
            decides(office, name, action="wait")
    decides(office, "Ann", action="collaborate", **{"with": "Ben"}, on="the release")
    return office.core.state.rooms["room_002"]


HOME = ["agent_001", "agent_002", "agent_003"]


@pytest.mark.parametrize(
    "command",
    [inputs.SetMode(room_id="room_002", mode="manual"), inputs.StopAutoMode(roomId="room_002"),
     inputs.CloseRoom(room_id="room_002"), inputs.UserMessage(room_id="room_001", content="Where are you?"),
     inputs.StartAutoMode(roomId="room_001", topic="x"), inputs.StartAutoMode(topic="x"),
     inputs.UserMessage(content="Where are you?")],
)  # fmt: skip
def test_two_who_got_together_come_back_when_somebody_wants_something(command: Any) -> None:
    """D3, D19: also between two turns; a command without a room means the one that is not theirs."""
    office = office_of("Ann", "Ben", "Cat")
    together(office)
    over(office, "Ann", "first words")
    office.tell(command)
    assert "room_002" not in office.core.state.rooms
    assert office.room.agents == HOME
    if isinstance(command, inputs.UserMessage):
        assert sorted(asked(office)) == ["Ann", "Ben", "Cat"]


@pytest.mark.parametrize(
    "command",
    [inputs.JoinRoom(agent_id="agent_001", room_id="room_001"), inputs.LeaveRoom(agent_id="agent_001"),
     inputs.JoinRoom(agent_id="agent_003", room_id="room_002"),
     inputs.SpawnAgent(room_id="room_002", agent_config=inputs.AgentConfig(name="Dan", role="x"))],
)  # fmt: skip
def test_nobody_goes_in_or_out_of_a_talk_of_two(command: Any) -> None:
    """D19: an agent is in one room, once."""
    office = office_of("Ann", "Ben", "Cat")
    together(office)
    over(office, "Ann", "first words")
    with pytest.raises(Refused, match="talk something over"):
        office.tell(command)


@pytest.mark.parametrize("kind", ["rate_limit", "unknown"])
def test_a_talk_of_two_that_fails_is_over(kind: Any) -> None:
    """Nobody presses Retry for it, and nobody waits for hours in it."""
    office = office_of("Ann", "Ben", "Cat")
    together(office)
    over(office, "Ann", status="failed", kind=kind, detail="429", retry_at=office.now + 7200)
    assert office.ends[-1] == "error"
    assert office.room.agents == HOME


def test_who_is_paused_or_called_into_auto_mode_leaves_its_thoughts_off() -> None:
    """Decisions: a late answer does nothing any more."""
    for command in (inputs.SetParticipation(agent_id="agent_001", participating=False),
                    inputs.StartAutoMode(topic="x")):  # fmt: skip
        office = office_of("Ann", "Ben", "Cat")
        until_thinking(office, "Ann")
        decision = agent(office, "Ann").decision
        assert decision
        office.tell(command)
        assert agent(office, "Ann").decision is None
        before = office.core.state.seq
        text = '{"action": "collaborate", "with": "Ben"}'
        office.tell(inputs.TurnOver(ask_id=decision.ask_id, status="answered", signal="x", text=text))
        assert office.core.state.seq == before


def test_two_of_the_same_name_do_not_get_together() -> None:
    """D6: within a room every name is there once."""
    office = office_of("Ann")
    office.tell(inputs.CreateRoom(name="Second"))
    office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Ann", role="x"), room_id="room_002"))
    until_thinking(office, "Ann")
    decides(office, "Ann", action="collaborate", **{"with": "Ann"})
    assert len(office.core.state.rooms) == 2
    assert not office.of(e.AgentDecided)[-1].understood


def test_an_outcome_that_did_not_come_does_not_spoil_a_restart() -> None:
    """E6: who was to say it is elsewhere now."""
    office = office_of("Ann", "Ben", "Cat")
    office.tell(inputs.StartAutoMode(topic="x"))
    office.answer("words")
    office.tell(inputs.StopAutoMode())
    office.tell(inputs.RequestOutcome())
    over(office, "Ann", status="failed", detail="overloaded")
    together(office)
    office.core = Core(LIVELY, stored(office.core.state))
    office.tell(inputs.Wake(), after=10)
    assert "room_002" in office.core.state.rooms


def test_ones_own_thoughts_are_paid_from_ones_own_purse() -> None:
    """C6: a room's budget is for its conversation; talks of two count as one's own."""
    office = office_of("Ann", "Ben", "Cat", cli_backend="claude")
    for one in HOME:
        office.tell(inputs.SetDecisionLoop(agent_id=one, on=True))
    until_thinking(office, "Ann")
    office.tell(inputs.UsageSeen(agent_id="agent_001", input_tokens=400, output_tokens=1, context_tokens=1))
    assert office.room.tokens == 0
    together(office)
    office.tell(inputs.UsageSeen(agent_id="agent_001", input_tokens=600, output_tokens=1, context_tokens=1))
    assert sum(tokens for _, tokens in agent(office, "Ann").spent) >= 1000
    assert office.core._allowed_at(agent(office, "Ann")) > office.now + 3000


def test_only_the_task_it_was_told_of_is_finished() -> None:
    """C11."""
    office = office_of("Ann")
    office.tell(inputs.AssignTask(agent_id="agent_001", task_name="old"))
    until_thinking(office, "Ann")
    office.tell(inputs.AssignTask(agent_id="agent_001", task_name="new"))
    decides(office, "Ann", action="wait", task_done=True)
    assert [task.task_name for task in office.core.state.tasks.values()] == ["new"]


def test_words_that_were_held_are_answered_when_the_turn_is_over() -> None:
    """C7."""
    office = office_of("Ann", "Ben")
    office.tell(inputs.UserMessage(content="go"))
    spoke = e.AgentSpoke(agent_id="agent_001", content="hey", recipients=["agent_002"], until=office.now + 2)
    office.tell(inputs.Heard(agent_id="agent_002", spoke=spoke))
    over(office, "Ben", "SKIP")
    over(office, "Ann", "SKIP")
    passes(office, 2.5)
    assert [event.heard_from for event in office.of(e.DecisionStarted)] == ["agent_001"]


def test_words_that_are_long_gone_are_not_taken_up_again() -> None:
    office = office_of("Ann", "Ben", "Cat")
    office.tell(inputs.StartAutoMode(topic="x", agents=["agent_001", "agent_002"]))
    spoke = e.AgentSpoke(agent_id="agent_003", content="hey", recipients=["agent_002"], until=office.now + 2)
    office.tell(inputs.Heard(agent_id="agent_002", spoke=spoke))
    office.tell(inputs.StopAutoMode(), after=200)
    until_thinking(office, "Ben")
    assert "has just said something to you" not in prompt(office, "Ben")


def test_who_is_in_auto_mode_only_nods_at_what_is_said_in_passing() -> None:
    """B5: nobody is left listening at the table."""
    office = office_of("Ann", "Ben", "Cat")
    office.tell(inputs.StartAutoMode(topic="x", agents=["agent_001", "agent_002"]))
    spoke = e.AgentSpoke(agent_id="agent_003", content="hey", recipients=["agent_002"], until=office.now + 9)
    office.tell(inputs.Heard(agent_id="agent_002", spoke=spoke))
    assert agent(office, "Ben").state == "idle"
    assert office.of(e.AgentAcknowledged)[-1].sender == "agent_003"


def test_who_always_fails_is_asked_less_and_less_often() -> None:
    office = office_of("Ann", rules=msgspec.structs.replace(LIVELY, life=deciding.Rules(idle_seconds=5)))
    gaps = []
    for _ in range(6):
        until_thinking(office, "Ann")
        decides(office, "Ann", status="failed")
        failed = office.now
        until_thinking(office, "Ann")
        gaps.append(office.now - failed)
        decides(office, "Ann", status="failed")
    assert gaps[-1] > 3 * gaps[0]
