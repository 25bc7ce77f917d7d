"""Each rule of auto mode by example. No process, no clock, no file."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from office_under_test import KEYWORD, RULES, Office, stored

from supervisor import events as e
from supervisor.core import agents, effects, inputs
from supervisor.core.core import CAST, BackendFacts, Core
from supervisor.driving.limits import Limits
from supervisor.errors import Refused


def test_a_room_is_topped_up_to_two_with_roles_of_their_own() -> None:
    """A1."""
    office = Office()
    office.tell(inputs.StartAutoMode(seed=1))
    roles = [agent.role for agent in office.core.state.agents.values()]
    assert len(roles) == len(set(roles)) == 2
    assert len([f for f in office.effects if isinstance(f, effects.Spawn)]) == 2
    again = Office()
    again.tell(inputs.StartRoom(name="R", settings=e.Settings(), agents=(inputs.AgentConfig(name="Ada", role="x"),)))
    again.tell(inputs.StartAutoMode())
    assert [a.name for a in again.core.state.agents.values()] == ["Ada", CAST[1][0]]


def test_a_room_that_has_its_people_gets_no_more() -> None:
    """A1."""
    office = Office()
    office.begin("Ann", "Ben", "Cat")
    assert [a.name for a in office.core.state.agents.values()] == ["Ann", "Ben", "Cat"]


def test_the_first_message_of_each_carries_the_instruction() -> None:
    """A2: once; it names the others with their roles, and the keyword."""
    office = Office()
    office.begin("Ann", "Ben")
    first = office.asked.prompt
    assert "You are Ann" in first
    assert "Ben (role Ben)" in first
    assert KEYWORD in first
    assert "collaborative conversation" in first
    office.answer("I like tabs.")
    assert "You are Ben" in office.asked.prompt
    office.answer("I do not.")
    assert "You are" not in office.asked.prompt
    assert KEYWORD not in office.asked.prompt


def test_a_topic_is_drawn_by_the_seed_and_only_into_an_empty_room() -> None:
    """A3."""
    topics = []
    for _ in range(2):
        office = Office()
        office.tell(inputs.StartAutoMode(seed=7))
        topics.append(office.of(e.AutoModeStarted)[0].topic)
    assert topics[0] == topics[1]
    office.answer("One.")
    office.tell(inputs.StopAutoMode())
    office.tell(inputs.StartAutoMode(seed=8))
    assert office.of(e.AutoModeStarted)[1].topic == topics[0]
    assert len([m for m in office.of(e.MessageAdded) if m.message.author == e.TOPIC]) == 1


def test_words_go_to_the_next_in_rotation() -> None:
    """A4: with three, each gets what was said since its own last turn."""
    office = Office()
    office.begin("Ann", "Ben", "Cat")
    assert [office.answer(f"words {n}") for n in range(4)] == ["Ann", "Ben", "Cat", "Ann"]
    prompt = office.asked.prompt
    assert "words 0" not in prompt
    assert "words 1" not in prompt
    assert "words 2" in prompt
    assert "words 3" in prompt


def test_each_block_of_text_is_told_once() -> None:
    """A5: also when the same line is read again after a restart."""
    office = Office()
    office.begin("Ann", "Ben")
    ask = office.asked.ask_id
    for line in ("l1", "l2", "l1"):
        office.tell(inputs.Said(ask_id=ask, text=f"text {line}", source=e.Source(1, line)))
    assert [m.text for m in office.of(e.AgentMessage)] == ["text l1", "text l2"]


def test_the_keyword_ends_it_and_is_never_shown() -> None:
    """A6, A9."""
    office = Office()
    office.begin("Ann", "Ben")
    office.answer(f"All said. {KEYWORD}")
    assert office.ends == ["keyword"]
    end = office.of(e.AutoModeEnded)[0]
    assert (end.turns, end.endedBy) == (1, "agent_001")
    assert not any(KEYWORD in e.encoder.encode(event).decode() for event in office.events)


def test_a_keyword_in_a_topic_or_a_prompt_ends_nothing() -> None:
    """A6: only what an assistant says counts."""
    office = Office()
    office.tell(inputs.StartAutoMode(topic=f"What does {KEYWORD} mean?"))
    office.answer("It depends.")
    assert office.ends == []


def test_the_timer_preempts_a_turn() -> None:
    """A7: in mid-turn; everybody is idle, and the CLI is interrupted."""
    office = Office()
    office.begin("Ann", "Ben", max_duration_ms=5000)
    office.tell(inputs.Written(ask_id=office.asked.ask_id))
    assert office.core.next_deadline() == 1005.0
    ask = office.asked.ask_id
    office.tell(inputs.Due(), after=5.0)
    assert office.ends == ["timer"]
    assert office.effects[-1] == effects.Interrupt(ask_id=ask, agent_id="agent_001")
    assert {a.state for a in office.core.state.agents.values()} == {"idle"}
    assert office.core.next_deadline() is None


def test_a_person_stops_it_in_mid_turn_and_a_late_answer_is_nothing() -> None:
    """A8, D18."""
    office = Office()
    office.begin("Ann", "Ben")
    ask = office.asked.ask_id
    office.tell(inputs.StopAutoMode())
    assert office.ends == ["user"]
    before = office.core.state.seq
    office.tell(inputs.TurnOver(ask_id=ask, status="answered", signal="transcript", text="late"))
    assert office.core.state.seq == before
    with pytest.raises(Refused, match="not running"):
        office.tell(inputs.StopAutoMode())


@pytest.mark.parametrize(
    ("options", "answers", "reason"),
    [
        ({}, [f"x {KEYWORD}"], "keyword"),
        ({"max_messages": 2}, ["a", "b"], "message_limit"),
        ({}, ["SKIP", "SKIP: nothing to add"], "all_skipped"),
        ({"max_tokens": 10}, ["a"], "budget"),
    ],
)
def test_every_ending_names_its_reason(options: dict[str, Any], answers: list[str], reason: str) -> None:
    """A9."""
    office = Office()
    office.begin("Ann", "Ben", **options)
    for text in answers:
        office.tell(inputs.UsageSeen(agent_id="agent_001", input_tokens=9, output_tokens=9, context_tokens=18))
        office.answer(text)
    assert office.ends == [reason]


def test_what_is_read_again_after_a_crash_is_neither_counted_nor_shown_twice() -> None:
    """E6, D7: all of the open turn is read again; a budget is what was really used."""
    office = Office()
    office.begin("Ann", "Ben", max_tokens=100)
    first = inputs.UsageSeen(
        agent_id="agent_001", input_tokens=9, output_tokens=1, context_tokens=10, message_id="m1"
    )  # fmt: skip
    tool = inputs.ToolSeen(agent_id="agent_001", tool="Bash", status="started", summary=f"ls {KEYWORD}", tool_id="t")
    done, second = replace(tool, status="done"), replace(first, message_id="m2")
    seen: list[inputs.AnyFact] = [first, tool, done, second]
    for given in seen[:3]:
        office.tell(given)
    office.core.state = stored(office.core.state)
    for given in seen:
        office.tell(given)
    assert [event.status for event in office.of(e.ToolUsed)] == ["started", "done"]
    assert office.core.state.agents["agent_001"].input_tokens == 18
    assert office.room.tokens == 20
    office.answer("ok")
    office.answer("ok")
    office.tell(first)  # some name their messages anew in each turn
    assert office.room.tokens == 30


def test_what_goes_on_inside_is_told_once() -> None:
    """E5: thoughts, retries and compactions come out as events, and are not told again after a crash."""
    office = Office()
    office.begin("Ann", "Ben")
    seen: list[inputs.AnyFact] = [
        inputs.ThoughtSeen(agent_id="agent_001", text=f"Hm {KEYWORD}", thought_id="t1"),
        inputs.RetrySeen(
            agent_id="agent_001", attempt=1, max_retries=5, delay_ms=500, reason="overloaded", retry_id="r1"
        ),
        inputs.CompactionSeen(agent_id="agent_001", before_tokens=900, compaction_id="c1"),
    ]
    for _ in range(2):
        for given in seen:
            office.tell(given)
        office.core.state = stored(office.core.state)
    assert [event.text for event in office.of(e.Thought)] == ["Hm"]
    assert [(event.attempt, event.reason) for event in office.of(e.Retried)] == [(1, "overloaded")]
    assert [event.before_tokens for event in office.of(e.Compacted)] == [900]
    assert office.core.state.agents["agent_001"].thought == "Hm"
    tries = [office.core.state.agents["agent_001"].tries]
    office.tell(inputs.ThoughtSeen(agent_id="agent_001", text="Now then", thought_id="t2"))
    tries.append(office.core.state.agents["agent_001"].tries)
    assert tries == [(1, 5, "overloaded"), None]


def test_who_is_left_asleep_loses_no_time_while_others_talk() -> None:
    """A7: what a conversation of others does between a crash and the next start is no running time of theirs."""
    office = Office()
    office.begin("Ann", "Ben", max_duration_ms=100_000)
    ends_at = office.room.auto.ends_at
    left_at, ends = office.now, ends_at - office.now
    later = Core(RULES, stored(office.core.state))
    later.state.at = left_at + 3000  # others have talked until now
    events = later.decide(inputs.Wake(left_at=left_at, alive_at=left_at + 3000), left_at + 3060).events
    (resumed,) = [event for event in events if isinstance(event, e.AutoModeResumed)]
    assert resumed.endsAt == pytest.approx(left_at + 3060 + ends)


@pytest.mark.parametrize(("said", "expected"), [(None, 128_000), (50_000, 50_000), (0, 0)])
def test_the_size_of_a_context_is_what_somebody_said_or_else_the_cli(said: int | None, expected: int) -> None:
    """D12."""
    rules = replace(RULES, backends={"fake": BackendFacts(context_max=said)})
    office = Office(rules=rules)
    office.begin("Ann", "Ben")
    office.tell(inputs.WindowSeen(agent_id="agent_001", tokens=128_000))
    assert office.core.state.agents["agent_001"].context_max == expected


def test_a_context_that_is_nearly_full_warns_and_then_ends_it() -> None:
    """A9, D12."""
    office = Office()
    office.begin("Ann", "Ben")
    for tokens in (799, 800, 850):
        office.tell(inputs.UsageSeen(agent_id="agent_001", input_tokens=1, output_tokens=1, context_tokens=tokens))
    assert len(office.of(e.ContextWarning)) == 1
    office.tell(inputs.UsageSeen(agent_id="agent_001", input_tokens=1, output_tokens=1, context_tokens=950))
    office.answer("ok")
    assert office.ends == ["context_limit"]


def test_an_early_keyword_is_stripped_and_ignored() -> None:
    """A10: and the viewer is told so."""
    office = Office()
    office.begin("Ann", "Ben", min_turns=3)
    for _ in range(2):
        office.answer(f"Enough. {KEYWORD}")
    assert office.ends == []
    assert [(i.turn, i.minTurns) for i in office.of(e.KeywordIgnored)] == [(1, 3), (2, 3)]
    office.answer(f"Enough. {KEYWORD}")
    assert office.ends == ["keyword"]
    assert {m.message.content for m in office.of(e.MessageAdded) if m.message.type == "agent"} == {"Enough."}


def test_a_skip_is_no_speech() -> None:
    """D5."""
    office = Office()
    office.begin("Ann", "Ben")
    office.answer("SKIP: not my field")
    assert office.of(e.AgentSpoke) == []
    assert "Ann | role Ann skipped their turn: not my field" in [m.message.content for m in office.of(e.MessageAdded)]
    assert [t.outcome for t in office.of(e.TurnEnded)] == ["skipped"]


def test_an_exit_is_survived_once() -> None:
    """Decision: the same ask again; the second time it ends with agent_exit."""
    office = Office()
    office.begin("Ann", "Ben")
    ask = office.asked.ask_id
    office.over("exited", detail="status 1")
    assert office.effects[-1] == effects.AskAgain(ask_id=ask, agent_id="agent_001")
    office.answer("Back again.")
    assert office.ends == []
    office.over("exited")
    office.over("exited")
    assert office.ends == ["agent_exit"]


def test_a_failure_pauses_and_a_retry_is_a_new_ask() -> None:
    """D13: the timer stands still meanwhile."""
    office = Office()
    office.begin("Ann", "Ben", max_duration_ms=60_000)
    first = office.asked.ask_id
    office.over("failed", detail="overloaded", kind="overloaded")
    assert office.room.auto.paused == "failure"
    assert "⚠️ Ann Failed to respond: overloaded" in [m.message.content for m in office.of(e.MessageAdded)]
    office.tell(inputs.Due(), after=600.0)
    assert office.ends == []
    office.tell(inputs.RetryTurn())
    assert office.asked.ask_id != first
    assert office.name(office.asked.agent_id) == "Ann"
    assert office.room.auto.ends_at == pytest.approx(office.now + 60)


def test_nobody_there_to_press_retry() -> None:
    """Decision: tried once more after a while, then it ends with `error`."""
    office = Office()
    office.begin("Ann", "Ben", unattended=True)
    office.over("failed", detail="x")
    assert office.core.next_deadline() == office.now + 1
    office.tell(inputs.Due(), after=1.0)
    office.over("failed", detail="x")
    assert office.ends == ["error"]


def test_a_rate_limit_waits_for_its_reset_and_goes_on() -> None:
    """D14."""
    office = Office()
    office.begin("Ann", "Ben")
    office.over("failed", detail="limit", kind="rate_limit", retry_at=1500.0)
    assert office.core.next_deadline() == 1500.0
    assert office.of(e.RateLimited)[0].retry_at == 1500.0
    office.tell(inputs.Due(), after=500.0)
    office.over("failed", kind="rate_limit")
    office.tell(inputs.CancelRateLimitWait())
    assert office.room.auto.retry_at is None
    office.tell(inputs.Due(), after=23 * 3600)
    assert office.room.auto.paused
    office.tell(inputs.Due(), after=3600)
    assert office.ends == ["timer"]


def test_who_does_not_answer_in_time_is_interrupted() -> None:
    """D8: and it pauses, with a way on."""
    office = Office()
    office.begin("Ann", "Ben", max_wait_time=30.0)
    ask = office.asked.ask_id
    office.tell(inputs.Due(), after=30.0)
    assert effects.Interrupt(ask_id=ask, agent_id="agent_001") in office.effects
    assert office.room.auto.paused == "max_wait"


def test_who_is_still_at_work_from_an_earlier_life_is_waited_for() -> None:
    """E6, D8: what it writes is a sign of life; the wait is shorter than the silence for which it would be ended."""
    office = Office()
    office.begin("Ann", "Ben", max_duration_ms=3_600_000)
    ask, wait = office.asked.ask_id, e.Settings().max_wait_time
    assert wait < Limits().silence
    office.tell(inputs.Wake(), after=1.0)
    office.tell(inputs.AtWork(ask_id=ask), after=wait - 1)
    office.tell(inputs.Due(), after=wait - 1)
    assert office.room.auto.paused is None
    assert office.core.next_deadline() == office.now + 1
    office.tell(inputs.Due(), after=1.0)
    assert office.room.auto.paused == "max_wait"


def test_the_next_one_waits_for_the_response_delay() -> None:
    """D8."""
    office = Office()
    office.begin("Ann", "Ben", response_delay=2.0)
    office.answer("hello")
    assert office.core.state.asks == {}
    assert office.of(e.RoomUpdated)[-1].next_response_at == office.now + 2
    office.tell(inputs.Due(), after=2.0)
    assert office.name(office.asked.agent_id) == "Ben"


def test_a_wave_is_released_in_its_order() -> None:
    """Whoever is faster waits."""
    office = Office()
    office.begin("Ann", "Ben", "Cat")
    office.answer("first")
    office.core.decide(inputs.Due(), office.now)
    room = office.room
    cat = office.core.state.agents["agent_003"]
    office.core._ask_wave(room, [cat])
    ben_ask, cat_ask = room.auto.wave
    office.tell(inputs.TurnOver(ask_id=cat_ask, status="answered", signal="transcript", text="cat"))
    assert [h.ask_id for h in office.of(e.AnswerHeld)] == [cat_ask]
    office.tell(inputs.TurnOver(ask_id=ben_ask, status="answered", signal="transcript", text="ben"))
    spoken = [m.message.content for m in office.of(e.MessageAdded) if m.message.type == "agent"]
    assert spoken == ["first", "ben", "cat"]


STATES = list(agents.NEXT)


@pytest.mark.parametrize("old", STATES)
@pytest.mark.parametrize("new", STATES)
def test_the_table_of_states(old: e.AgentState, new: e.AgentState) -> None:
    """C4: what is allowed, pair by pair."""
    legal = {
        ("idle", "listening"), ("listening", "thinking"), ("thinking", "speaking"), ("speaking", "idle"),
        ("idle", "thinking"), ("thinking", "listening"), ("listening", "idle"), ("thinking", "idle"),
    }  # fmt: skip
    assert agents.allowed(old, new) == ((old, new) in legal)


def test_a_turn_goes_through_the_states_and_each_is_told() -> None:
    """C4, C5."""
    office = Office()
    office.begin("Ann", "Ben")
    office.answer("hello")
    steps = [(s.old_state, s.state) for s in office.of(e.AgentStateChanged) if s.agent_id == "agent_001"]
    assert steps == [("idle", "listening"), ("listening", "thinking"), ("thinking", "speaking"), ("speaking", "idle")]
    assert office.of(e.AgentAcknowledged)[0].agent_id == "agent_001"


def test_who_is_not_idle_does_not_move() -> None:
    """C4: refused, not queued."""
    office = Office()
    office.begin("Ann", "Ben")
    with pytest.raises(Refused, match="listening and does not move") as refused:
        office.tell(inputs.MoveAgent(agent_id="agent_001", position=e.Position(1, 1)))
    assert refused.value.code == "invalid_state"
    office.tell(inputs.MoveAgent(agent_id="agent_002", position=e.Position(1, 2)))
    assert office.core.state.agents["agent_002"].position == e.Position(1, 2)
    assert office.of(e.AgentMoved)[-1].path[-1] == e.Position(1, 2)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="ann", role="x")), "name_taken"),
        (inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="A b", role="x")), "bad_message"),
        (inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Zoe", role=" ")), "bad_message"),
        (inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Z", role="x", cli_backend="no")), "unknown_backend"),
        (inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Z", role="x"), room_id="r"), "unknown_room"),
        (inputs.TerminateAgent(agent_id="agent_999"), "unknown_agent"),
        (inputs.StartAutoMode(), "invalid_state"),
        (inputs.StartAutoMode(roomId="nowhere"), "unknown_room"),
        (inputs.ResumeAutoMode(), "invalid_state"),
        (inputs.CancelRateLimitWait(), "invalid_state"),
        (inputs.CompleteTask(task_id=5), "invalid_state"),
        (inputs.AssignTask(agent_id="agent_001", task_name=" "), "bad_message"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(command: Any, code: str) -> None:
    office = Office()
    office.begin("Ann", "Ben")
    before = stored(office.core.state)
    with pytest.raises(Refused) as refused:
        office.tell(command)
    assert refused.value.code == code
    assert office.core.state == before


@pytest.mark.parametrize(
    "fields",
    [{"keyword": " "}, {"maxDurationMs": 0}, {"maxMessages": -1}, {"interactionPattern": "fly"}, {"topic": "x" * 5000},
     {"agents": ["agent_001", "agent_001"]}],
)  # fmt: skip
def test_wrong_settings_are_refused(fields: dict[str, Any]) -> None:
    office = Office()
    office.begin("Ann", "Ben")
    office.tell(inputs.StopAutoMode())
    with pytest.raises(Refused) as refused:
        office.tell(inputs.StartAutoMode(**fields))
    assert refused.value.code == "bad_message"


def test_a_command_of_several_steps_is_carried_out_whole_or_not_at_all() -> None:
    """Whatever was decided before the step that is refused has not happened."""
    office = Office(msgspec.structs.replace(RULES, most_agents=1))
    for command in (
        inputs.StartAutoMode(),
        inputs.StartRoom(name="R", settings=e.Settings(), agents=(inputs.AgentConfig(name="A b", role="x"),)),
    ):
        before = stored(office.core.state)
        with pytest.raises(Refused):
            office.tell(command)
        assert office.core.state == before


def test_a_topic_that_quotes_the_keyword_is_given_without_it() -> None:
    """A6: a topic, a room's name or a tool never shows it, and whoever quotes the topic does not end anything."""
    office = Office()
    office.tell(inputs.StartRoom(
        name=f"On {KEYWORD}", settings=e.Settings(response_delay=0), auto=True, topic=f"Why write {KEYWORD} at all?",
        agents=tuple(inputs.AgentConfig(name=n, role=n) for n in ("Ann", "Ben")),
    ))  # fmt: skip
    assert office.asked.prompt.count(KEYWORD) == 1
    office.tell(inputs.ToolSeen(agent_id="agent_001", tool="Bash", status="done", summary=f"a {KEYWORD}", tool_id="t"))
    assert all(KEYWORD.encode() not in e.encoder.encode(event) for event in office.events)
    with pytest.raises(Refused, match="only the keyword"):
        Office().tell(inputs.StartAutoMode(topic=KEYWORD))


def test_who_never_got_the_instruction_gets_it_with_the_next_prompt() -> None:
    """A2: a first turn that failed, or was interrupted before it was written, is no first message."""
    office = Office()
    office.begin("Ann", "Ben")
    office.tell(inputs.Suspend())
    office.tell(inputs.Wake())
    assert "You are Ann" in office.asked.prompt
    office.over("failed", detail="overloaded")
    office.tell(inputs.RetryTurn())
    assert "You are Ann" in office.asked.prompt


def test_a_prompt_whose_answer_was_lost_is_asked_anew() -> None:
    """E6: its CLI had it and was interrupted when the supervisor ended; only a new prompt can be answered."""
    office = Office()
    office.begin("Ann", "Ben")
    first = office.asked
    office.over("repeated")
    assert office.asked.ask_id != first.ask_id
    assert office.asked.agent_id == first.agent_id
    assert office.room.auto.paused is None


def test_tasks_are_assigned_and_completed() -> None:
    """C9, C11."""
    office = Office()
    office.begin("Ann", "Ben")
    for name in ("one", "two"):
        office.tell(inputs.AssignTask(agent_id="agent_002", task_name=name))
    office.answer("x")
    assert office.of(e.AgentStateChanged)[-1].current_task == "two"
    office.tell(inputs.CompleteTask(task_id=2))
    assert office.core.state.agents["agent_002"].task_id == 1


def test_a_clean_stop_suspends_and_a_start_goes_on() -> None:
    """Nothing is said to have ended; the time left is the same."""
    office = Office()
    office.begin("Ann", "Ben", max_duration_ms=60_000)
    office.answer("hello")
    office.tell(inputs.Suspend(), after=10)
    assert office.ends == []
    left = office.room.auto.ends_at - office.now
    office.tell(inputs.Wake(), after=5000)
    assert office.room.auto.ends_at == pytest.approx(office.now + left)
    assert office.name(office.asked.agent_id) == "Ben"
    assert "hello" in office.asked.prompt


def test_after_a_crash_the_open_ask_is_put_again_under_its_id() -> None:
    """E6: whoever carries it out looks first whether its answer is there already."""
    office = Office()
    office.begin("Ann", "Ben")
    ask = office.asked.ask_id
    again = Core(RULES, stored(office.core.state))
    decision = again.decide(inputs.Wake(), office.now + 1)
    assert effects.AskAgain(ask_id=ask, agent_id="agent_001") in decision.effects


def test_a_fresh_start_closes_the_rooms() -> None:
    office = Office()
    office.begin("Ann", "Ben")
    decision = office.tell(inputs.Wake(fresh=True))
    assert decision.effects == []
    assert office.core.state.rooms == {}
    assert office.core.state.agents == {}
    assert office.core.state.asks == {}
