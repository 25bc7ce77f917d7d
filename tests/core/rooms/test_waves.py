"""Several at once: what is held, what is lost, and who goes next when one of them drops out."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from office_under_test import KEYWORD, RULES, Office, asked, over, pending, prompt, room_of, said, stored

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.core import Core
from supervisor.errors import Refused


def test_who_answers_although_it_was_limited_is_limited_no_more() -> None:
    """D14: somebody insists, and it works: nobody waits any longer."""
    office = Office()
    office.begin("Ann", "Ben")
    office.answer("One.")
    office.over("failed", kind="rate_limit", detail="429", retry_at=office.now + 3600)
    office.tell(inputs.ResumeAutoMode(), after=1)
    assert office.answer("Two.") == "Ben"
    assert office.room.auto.paused is None
    assert office.asked.agent_id == office.room.agents[0]
    assert [event.retry_at for event in office.of(e.RateLimited)][-1] is None


def called(*names: str, **settings: Any) -> Office:
    """Alice has called the others, and Dora has answered first."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie", "Dora", **settings)
    office.answer("@Charlie @Dora, what do you say?")
    assert list(asked(office)) == ["Charlie", "Dora"]
    for name in names:
        over(office, name, f"{name}'s words")
    return office


def words(office: Office) -> list[str]:
    return [content for _, content, _ in said(office)][2:]


def test_who_leaves_holds_nobody_up() -> None:
    """D1, D6: the answer that waited for it is released."""
    office = called("Dora")
    office.tell(inputs.TerminateAgent(agent_id="agent_003"))
    assert words(office) == ["Dora's words"]
    assert list(asked(office)) == ["Bob"]


def test_a_lost_answer_is_asked_anew_and_holds_nobody_up() -> None:
    """E6."""
    office = called("Dora")
    over(office, "Charlie", status="repeated")
    assert words(office) == ["Dora's words"]
    assert list(asked(office)) == ["Charlie"]
    over(office, "Charlie", "at last")
    assert list(asked(office)) == ["Bob"]


def test_a_copy_keeps_what_was_answered_and_asks_the_rest_in_sessions_of_its_own() -> None:
    """E6: nothing that the original asked is waited for, and nobody is taken to remember what was said there."""
    office = called("Dora")
    before, theirs = {a.session_id for a in office.core.state.agents.values()}, asked(office)
    office.core = Core(replace(RULES, office_id="copy"), stored(office.core.state))
    decision = office.tell(inputs.Wake(copy=True))
    assert words(office) == ["Dora's words"]
    assert list(asked(office)) == ["Charlie"]
    assert not {*asked(office).values()} & {*theirs.values()}
    assert not before & {a.session_id for a in office.core.state.agents.values()}
    assert {type(effect) for effect in decision.effects} == {effects.Spawn, effects.Ask}
    for name in ("Charlie", "Bob"):
        assert f"You are {name}" in prompt(office, name)
        assert "Dora's words" in prompt(office, name)
        over(office, name, "x")


@pytest.mark.parametrize("how", ["failure", "suspend", "late"])
def test_what_was_answered_is_kept_when_it_pauses(how: str) -> None:
    """D13, E6: it is in the room, and only who has not answered is asked again."""
    office = called("Dora", max_wait_time=20)
    if how == "failure":
        over(office, "Charlie", status="failed", detail="overloaded")
    else:
        office.tell(inputs.Suspend() if how == "suspend" else inputs.Due(), after=21)
    assert words(office) == ["Dora's words"]
    assert office.room.auto.paused == {"suspend": "suspended", "late": "max_wait"}.get(how, "failure")
    office.tell(inputs.Wake() if how == "suspend" else inputs.RetryTurn())
    assert list(asked(office)) == ["Charlie"]


def test_a_keyword_waits_for_nobody() -> None:
    """A6: at once, also from one who was faster than those before it."""
    office = called()
    over(office, "Dora", f"That is all. {KEYWORD}")
    assert office.ends == ["keyword"]
    assert words(office) == ["That is all."]
    assert [f for f in office.effects if isinstance(f, effects.Interrupt)]


def test_a_call_during_a_called_turn_is_not_lost() -> None:
    """D6: Dora answers the older question, and then this one."""
    office = called()
    over(office, "Charlie", "@Dora why?")
    over(office, "Dora", "to Alice")
    assert list(asked(office)) == ["Dora"]
    over(office, "Dora", "to Charlie")
    assert list(asked(office)) == ["Bob"]


def test_a_topic_can_call_somebody() -> None:
    """D6, as in the document: [Alice, Bob, Charlie] and @Charlie gives Charlie, Alice, Bob."""
    office = room_of("Alice", "Bob", "Charlie")
    office.tell(inputs.StartAutoMode(topic="@Charlie what do you think?"))
    order = [office.answer("x") for _ in range(3)]
    assert order == ["Charlie", "Alice", "Bob"]


def test_an_exact_name_of_somebody_who_is_paused_is_nobody_elses() -> None:
    """D6."""
    office = room_of("Ben", "Al", "Alice")
    office.tell(inputs.SetParticipation(agent_id="agent_002", participating=False))
    office.tell(inputs.StartAutoMode(topic="x"))
    office.answer("@Al?")
    assert list(asked(office)) == ["Alice"]
    office.answer("@Al, really?")
    assert list(asked(office)) == ["Ben"]


def test_nobody_is_waited_for_who_has_answered() -> None:
    """D8: the next deadline is that of one who has not."""
    office = called(max_wait_time=20)
    office.now += 10
    over(office, "Charlie", status="exited", detail="x")  # it is asked again, and has 20 s from now on
    over(office, "Dora", "mine")
    assert office.core.next_deadline() == office.now + 20


@pytest.mark.parametrize("meanwhile", ["paused", "called", "told"])
def test_a_full_round_of_skips_is_one_of_everybody(meanwhile: str) -> None:
    """D7: who was not asked, was asked twice, or has heard something new since, did not skip that round."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie", response_delay=2.0, barge_in=True)
    office.answer("SKIP")
    if meanwhile == "paused":
        office.tell(inputs.Due(), after=2)
        office.answer("SKIP")
        office.tell(inputs.SetParticipation(agent_id="agent_001", participating=False))
    else:
        office.tell(inputs.UserMessage(content="@Alice?" if meanwhile == "called" else "And this?"))
        office.tell(inputs.Due(), after=2)
        office.answer("SKIP")
        office.tell(inputs.Due(), after=2)
        office.answer("SKIP")
    office.tell(inputs.Due(), after=2)
    assert office.ends == []
    assert len(asked(office)) == 1


def test_the_rest_of_a_round_includes_who_was_called() -> None:
    """D16: and a skip that was held is told."""
    office = called()
    over(office, "Dora", "SKIP: not mine")
    office.tell(inputs.SetMode(mode="manual"))
    assert "Dora | role Dora skipped their turn: not mine" in [m.content for m in office.room.messages]
    assert list(asked(office)) == ["Charlie", "Bob"]
    assert office.room.mentioned == []


def test_a_change_of_the_longest_wait_counts_at_once() -> None:
    """D8."""
    office = Office()
    office.begin("Alice", "Bob", max_wait_time=120)
    office.tell(inputs.UpdateSettings(max_wait_time=10), after=5)
    assert office.core.next_deadline() == office.now + 5


def test_a_limit_is_the_backends_in_whatever_mode_it_was_met() -> None:
    """D14: rooms that run wait, rooms that begin wait, and the longest wait counts."""
    office = Office()
    office.begin("Alice", "Bob")
    office.tell(inputs.CreateRoom(name="Second"))
    for name in ("Cy", "Dee"):
        config = inputs.AgentConfig(name=name, role="r")
        office.tell(inputs.SpawnAgent(agent_config=config, room_id="room_002"))
    office.tell(inputs.UserMessage(content="hello", room_id="room_002"))
    over(office, "Cy", status="failed", kind="rate_limit", detail="429", retry_at=office.now + 50)
    first: Any
    second: Any
    first, second = office.core.state.rooms.values()
    assert (first.auto.paused, first.auto.retry_at) == ("rate_limit", office.now + 50)
    over(office, "Dee", status="failed", kind="rate_limit", detail="429", retry_at=office.now + 90)
    assert first.auto.retry_at == office.now + 90
    office.tell(inputs.StartAutoMode(roomId="room_002", topic="x"))
    assert (second.auto.paused, second.auto.retry_at) == ("rate_limit", office.now + 90)
    office.tell(inputs.RetryTurn(room_id="room_002"))  # somebody insists
    assert list(asked(office)) == ["Cy"]
    office.tell(inputs.Due(), after=91)
    assert sorted(asked(office)) == ["Alice", "Cy"]


def test_a_wait_for_somebody_elses_limit_is_no_failure_of_ones_own() -> None:
    """Decisions: where nobody can press Retry, a failure of one's own is tried once more."""
    office = Office()
    office.begin("Alice", "Bob", unattended=True)
    office.tell(inputs.CreateRoom(name="Second", template="debate"))
    office.tell(inputs.UserMessage(content="hello", room_id="room_002"))
    over(office, "Ada", status="failed", kind="rate_limit", detail="429", retry_at=office.now + 5)
    office.tell(inputs.Due(), after=6)
    over(office, "Alice", status="failed", detail="overloaded")
    assert office.ends == []


def test_what_a_room_may_cost_holds_over_all_its_conversations() -> None:
    """The purse: in both modes, after a stop, and over a restart."""
    office = Office()
    office.begin("Alice", "Bob", max_tokens=100)
    usage = inputs.UsageSeen(agent_id="agent_001", input_tokens=60, output_tokens=0, context_tokens=1)
    office.tell(usage)
    office.tell(inputs.StopAutoMode())
    office.core = Core(RULES, stored(office.core.state))
    office.tell(inputs.UserMessage(content="go on"))
    office.tell(usage)
    for name in ("Alice", "Bob"):
        over(office, name, "x")
    with pytest.raises(Refused, match="budget"):
        office.tell(inputs.UserMessage(content="more"))
    office.tell(inputs.ResolvePending(dismiss=[*pending(office).values()]))
    with pytest.raises(Refused, match="budget"):
        office.tell(inputs.StartAutoMode())
    office.tell(inputs.UpdateSettings(max_tokens=500))
    office.tell(inputs.StartAutoMode())


def test_time_that_nobody_was_there_is_no_running_time() -> None:
    """A7: after a crash as after a clean stop."""
    office = Office()
    office.begin("Alice", "Bob", max_duration_ms=60_000)
    office.tell(inputs.Written(ask_id=office.asked.ask_id), after=10)
    left = office.room.auto.ends_at - office.now
    office.core = Core(RULES, stored(office.core.state))
    office.tell(inputs.Wake(), after=4000)
    assert office.room.auto.ends_at == pytest.approx(office.now + left)


def test_words_that_a_stopped_turn_had_heard_are_forgotten_when_they_are_taken_out() -> None:
    """D4: a CLI remembers a prompt that came to nothing."""
    office = Office()
    office.begin("Alice", "Bob")
    office.answer("poison")
    office.tell(inputs.Written(ask_id=office.asked.ask_id))
    office.tell(inputs.StopAutoMode())
    poison = next(m.id for m in office.room.messages if m.content == "poison")
    office.tell(inputs.SetMessageActive(message_id=poison, active=False))
    office.tell(inputs.UserMessage(content="And now?"))
    assert sorted(event.agent_id for event in office.of(e.SessionRenewed)) == ["agent_001", "agent_002"]


def test_a_topic_that_was_taken_out_is_no_topic_any_more() -> None:
    """D4: and nobody begins anew more than once for it."""
    office = Office()
    office.begin("Alice", "Bob")
    for _ in range(2):
        office.answer("x")
    office.tell(inputs.StopAutoMode())
    topic = next(m.id for m in office.room.messages if m.author == e.TOPIC)
    office.tell(inputs.SetMessageActive(message_id=topic, active=False))
    office.tell(inputs.StartAutoMode())
    for _ in range(6):
        assert "Topic:" not in office.asked.prompt
        office.answer("y")
    assert len(office.of(e.SessionRenewed)) == 2


def test_stop_ends_what_is_under_way_in_manual_mode() -> None:
    """D18."""
    office = room_of("Alice", "Bob")
    office.tell(inputs.UserMessage(content="go"))
    office.tell(inputs.StopAutoMode())
    assert asked(office) == {}
    assert office.room.due == []
    assert len([f for f in office.effects if isinstance(f, effects.Interrupt)]) == 2
    with pytest.raises(Refused, match="not running"):
        office.tell(inputs.StopAutoMode())


def test_open_answers_get_their_time_again_after_a_crash() -> None:
    """D17: nobody has failed because nobody was there."""
    office = room_of("Alice", "Bob")
    office.tell(inputs.UserMessage(content="go"))
    office.core = Core(RULES, stored(office.core.state))
    office.tell(inputs.Wake(), after=3000)
    office.tell(inputs.Due())
    assert list(asked(office)) == ["Alice", "Bob"]
    assert office.core.next_deadline() == office.now + 120


def test_who_was_busy_with_the_outcome_answers_afterwards() -> None:
    """D3, D22: the outcome outlives a stop, a crash of the CLI and a failure, and holds nobody up."""
    office = Office()
    office.begin("Alice", "Bob", max_messages=2)
    office.answer("a")
    office.answer("b")
    office.tell(inputs.RequestOutcome())
    office.tell(inputs.Suspend())
    office.tell(inputs.Wake())
    assert list(asked(office)) == ["Bob"]
    over(office, "Bob", status="exited", detail="x")
    assert list(asked(office)) == ["Bob"]
    office.tell(inputs.UserMessage(content="one more thing"))
    over(office, "Bob", status="failed", detail="overloaded")
    assert list(asked(office)) == ["Alice", "Bob"]
    for name in ("Alice", "Bob"):
        over(office, name, f"{name}'s")
    assert office.room.concluding == "agent_002"
    office.tell(inputs.RequestOutcome())
    over(office, "Bob", "We agree.")
    assert office.room.outcome.content == "We agree."


def test_a_room_near_its_context_limit_begins_only_anew() -> None:
    """D12: a new conversation has fresh sessions, and nothing of the old one counts."""
    office = Office()
    office.begin("Alice", "Bob")
    office.answer("old words")
    office.tell(inputs.UsageSeen(agent_id="agent_001", input_tokens=1, output_tokens=1, context_tokens=960))
    office.answer("more")
    assert office.ends == ["context_limit"]
    assert "Conversation approaching model context limit" in [m.content for m in office.room.messages]
    with pytest.raises(Refused, match="start a new conversation"):
        office.tell(inputs.StartAutoMode())
    office.tell(inputs.NewConversation())
    assert not any(m.active for m in office.room.messages if m.type in ("user", "agent"))
    assert len([f for f in office.effects if isinstance(f, effects.Renew)]) == 2
    office.tell(inputs.StartAutoMode(topic="something else"))
    assert "old words" not in office.asked.prompt
    assert "You are Alice" in office.asked.prompt
    with pytest.raises(Refused, match="under way"):
        office.tell(inputs.NewConversation())


def test_agents_change_rooms() -> None:
    """D19: one at a time; told in both rooms; not in the middle of an answer, and not where the name is taken."""
    office = room_of("Alice", "Bob", "Charlie")
    office.tell(inputs.CreateRoom(name="Second"))
    office.tell(inputs.JoinRoom(agent_id="agent_003", room_id="room_002"))
    first, second = office.core.state.rooms.values()
    assert (first.agents, second.agents) == (["agent_001", "agent_002"], ["agent_003"])
    assert first.messages[-1].content == "Charlie | role Charlie left the conversation"
    assert second.messages[-1].content == "Charlie | role Charlie joined the conversation"
    office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Alice", role="x"), room_id="room_002"))
    with pytest.raises(Refused, match="There is a Alice"):
        office.tell(inputs.JoinRoom(agent_id="agent_001", room_id="room_002"))
    office.tell(inputs.UserMessage(content="go", room_id="room_002"))
    with pytest.raises(Refused, match="is answering"):
        office.tell(inputs.LeaveRoom(agent_id="agent_003"))
    office.tell(inputs.LeaveRoom(agent_id="agent_002"))
    assert office.core.state.agents["agent_002"].room_id is None
    with pytest.raises(Refused, match="in no room"):
        office.tell(inputs.LeaveRoom(agent_id="agent_002"))
    office.tell(inputs.RenameRoom(room_id="room_002", name="  The other\nroom "))
    assert second.name == "The other room"


def test_who_comes_back_is_told_only_what_is_new() -> None:
    """D2, D19: its session holds the rest."""
    office = room_of("Alice", "Bob", "Charlie")
    office.tell(inputs.UserMessage(content="before"))
    for name in ("Alice", "Bob", "Charlie"):
        over(office, name, "SKIP")
    office.tell(inputs.LeaveRoom(agent_id="agent_003"))
    office.tell(inputs.UserMessage(content="meanwhile"))
    for name in ("Alice", "Bob"):
        over(office, name, "SKIP")
    office.tell(inputs.JoinRoom(agent_id="agent_003", room_id="room_001"))
    office.tell(inputs.UserMessage(content="after"))
    prompt = next(f.prompt for f in office.effects[::-1] if isinstance(f, effects.Ask) and f.agent_id == "agent_003")
    assert "before" not in prompt
    assert "meanwhile" in prompt
    assert "after" in prompt


def test_who_comes_into_a_room_of_paused_people_goes_on_with_it() -> None:
    office = Office()
    office.begin("Alice", "Bob")
    office.answer("x")
    for number in (1, 2):
        office.tell(inputs.SetParticipation(agent_id=f"agent_00{number}", participating=False))
    over(office, "Bob", "y")
    assert office.room.auto.paused == "nobody"
    office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Charlie", role="x")))
    assert list(asked(office)) == ["Charlie"]


def test_two_rooms_of_one_template_have_different_people() -> None:
    """D20: one should know them apart."""
    office = Office()
    for _ in range(2):
        office.tell(inputs.CreateRoom(template="debate"))
    names = [agent.name for agent in office.core.state.agents.values()]
    assert len(set(names)) == 4
    assert [agent.role for agent in office.core.state.agents.values()] == ["optimist", "sceptic"] * 2


def test_starting_with_other_people_tells_who_came_and_went() -> None:
    """D15."""
    office = room_of("Alice", "Bob", "Charlie")
    office.tell(inputs.StartAutoMode(topic="x", agents=["agent_001", "agent_002"]))
    assert "Charlie | role Charlie left the conversation" in [m.content for m in office.room.messages]
