"""Manual mode: a person speaks, all answer at once, the person takes what is worth it."""

from __future__ import annotations

from typing import Any

import pytest
from office_under_test import KEYWORD, RULES, Office, asked, over, pending, prompt, room_of, said, stored

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.core import Core
from supervisor.errors import Refused


def test_all_who_take_part_answer_at_once() -> None:
    """D3: in parallel, each may skip; answers are pending, and nothing stands in the room yet."""
    office = room_of("Alice", "Bob", "Charlie", "Dora")
    office.tell(inputs.SetParticipation(agent_id="agent_004", participating=False))
    office.tell(inputs.UserMessage(content="What do you think?"))
    assert list(asked(office)) == ["Alice", "Bob", "Charlie"]
    assert "What do you think?" in prompt(office, "Bob")
    assert '"SKIP"' in prompt(office, "Bob")
    over(office, "Charlie", "third")
    over(office, "Alice", "first")
    over(office, "Bob", "SKIP: not mine")
    assert list(pending(office)) == ["Charlie", "Alice"]
    assert said(office) == [("You", "What do you think?", True)]
    assert "Bob | role Bob skipped their turn: not mine" in [m.content for m in office.room.messages]
    assert office.room.due == []
    assert all(agent.state == "idle" for agent in office.core.state.agents.values())


def test_taken_ones_become_active_and_dismissed_ones_inactive_in_normal_order() -> None:
    """D3: those not yet decided stay pending."""
    office = room_of("Alice", "Bob", "Charlie")
    office.tell(inputs.UserMessage(content="go"))
    for name in ("Charlie", "Bob", "Alice"):
        over(office, name, f"{name}'s")
    ids = pending(office)
    office.tell(inputs.ResolvePending(accept=[ids["Charlie"]], dismiss=[ids["Alice"]]))
    assert said(office)[1:] == [("Alice", "Alice's", False), ("Charlie", "Charlie's", True)]
    assert list(pending(office)) == ["Bob"]
    assert [event.content for event in office.of(e.AgentSpoke)] == ["Charlie's"]
    wrong: Any
    for wrong in ({"accept": []}, {"accept": ["msg_000999"]}, {"accept": [ids["Bob"]], "dismiss": [ids["Bob"]]}):
        with pytest.raises(Refused, match="each once"):
            office.tell(inputs.ResolvePending(**wrong))


def test_the_next_prompt_holds_exactly_what_is_active_and_new() -> None:
    """D2, D4: with who said it; whose own answer was dismissed begins anew."""
    office = room_of("Alice", "Bob")
    office.tell(inputs.UserMessage(content="first question"))
    over(office, "Alice", "alpha")
    over(office, "Bob", "beta")
    ids = pending(office)
    office.tell(inputs.ResolvePending(accept=[ids["Alice"]], dismiss=[ids["Bob"]]))
    office.tell(inputs.UserMessage(content="second question"))
    bob, alice = prompt(office, "Bob"), prompt(office, "Alice")
    assert "second question" in alice
    assert "first question" not in alice
    assert "beta" not in alice
    assert [event.agent_id for event in office.of(e.SessionRenewed)] == ["agent_002"]
    assert "You are Bob" in bob
    assert "first question" in bob
    assert "alpha" in bob
    assert "beta" not in bob
    assert "second question" in bob
    assert any("begins a fresh session" in m.content for m in office.room.messages)
    assert [f.agent_id for f in office.effects if isinstance(f, effects.Renew)] == ["agent_002"]


def test_a_message_taken_out_is_unheard_and_one_put_back_is_told() -> None:
    """D4: who holds it begins anew with the active history; who had not heard it only never hears it."""
    office = room_of("Alice", "Bob")
    office.tell(inputs.UserMessage(content="secret"))
    for name in ("Alice", "Bob"):
        over(office, name, f"{name} one")
    ids = pending(office)
    office.tell(inputs.ResolvePending(accept=list(ids.values())))
    secret = next(m.id for m in office.room.messages if m.content == "secret")
    office.tell(inputs.SetMessageActive(message_id=secret, active=False))
    office.tell(inputs.UserMessage(content="again"))
    for name in ("Alice", "Bob"):
        assert "secret" not in prompt(office, name)
        assert "Alice one" in prompt(office, name)
        assert "Bob one" in prompt(office, name)
        over(office, name, f"{name} two")
    office.tell(inputs.ResolvePending(accept=list(pending(office).values())))
    office.tell(inputs.SetMessageActive(message_id=secret, active=True))
    office.tell(inputs.UserMessage(content="third"))
    assert "secret" in prompt(office, "Alice")
    assert len(office.of(e.SessionRenewed)) == 4
    with pytest.raises(Refused):
        office.tell(inputs.SetMessageActive(message_id="msg_099999", active=True))


def test_what_is_said_while_they_answer_is_answered_next() -> None:
    office = room_of("Alice", "Bob")
    office.tell(inputs.UserMessage(content="one"))
    office.tell(inputs.UserMessage(content="two"))
    over(office, "Alice", "to one")
    assert "two" in prompt(office, "Alice")
    over(office, "Alice", "to two")
    assert list(asked(office)) == ["Bob"]


def test_a_failure_is_told_and_can_be_retried_and_nobody_waits_for_it() -> None:
    """D13 in manual mode."""
    office = room_of("Alice", "Bob", max_wait_time=20)
    office.tell(inputs.UserMessage(content="go"))
    over(office, "Alice", status="failed", detail="overloaded")
    assert "⚠️ Alice Failed to respond: overloaded" in [m.content for m in office.room.messages]
    office.tell(inputs.Due(), after=21)
    assert any("no answer within 20 s" in m.content for m in office.room.messages)
    assert asked(office) == {}
    office.tell(inputs.RetryTurn())
    assert list(asked(office)) == ["Alice", "Bob"]
    over(office, "Bob", status="exited", detail="gone")
    assert list(asked(office)) == ["Alice", "Bob"]
    over(office, "Bob", status="exited", detail="gone again")
    assert list(asked(office)) == ["Alice"]


def test_from_manual_to_auto_what_is_pending_has_to_be_decided_first() -> None:
    """D16."""
    office = room_of("Alice", "Bob")
    office.tell(inputs.UserMessage(content="go"))
    for command in (inputs.SetMode(mode="auto"), inputs.StartAutoMode()):
        with pytest.raises(Refused, match="still answering"):
            office.tell(command)
    for name in ("Alice", "Bob"):
        over(office, name, f"{name}'s")
    with pytest.raises(Refused, match="take or dismiss"):
        office.tell(inputs.SetMode(mode="auto"))
    office.tell(inputs.ResolvePending(accept=list(pending(office).values())))
    office.tell(inputs.SetMode(mode="auto"))
    assert office.room.auto.topic == "go"
    assert list(asked(office)) == ["Alice"]


def test_from_auto_to_manual_the_round_is_finished_as_pending() -> None:
    """D16: the end is told when it is asked for; the current one completes, those still due answer."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie")
    office.answer("one")
    office.tell(inputs.SetMode(mode="manual"))
    assert office.ends == ["user"]
    assert list(asked(office)) == ["Bob", "Charlie"]
    assert not [f for f in office.effects if isinstance(f, effects.Interrupt)]
    over(office, "Charlie", "three")
    over(office, "Bob", f"two {KEYWORD}")
    assert sorted(pending(office)) == ["Bob", "Charlie"]
    assert office.ends == ["user"]
    with pytest.raises(Refused, match="already"):
        office.tell(inputs.SetMode(mode="manual"))


def test_barging_in_is_heard_before_the_next_turn_where_it_is_allowed() -> None:
    """D10."""
    office = Office()
    office.begin("Alice", "Bob", response_delay=2.0)
    with pytest.raises(Refused, match="Auto mode is running"):
        office.tell(inputs.UserMessage(content="wait"))
    office.tell(inputs.UpdateSettings(barge_in=True))
    office.answer("one")
    office.tell(inputs.UserMessage(content="listen, @Alice"))
    office.tell(inputs.Due(), after=2)
    assert office.name(office.asked.agent_id) == "Alice"
    assert "listen, @Alice" in office.asked.prompt
    office.answer("two")
    office.tell(inputs.Due(), after=2)
    assert office.name(office.asked.agent_id) == "Bob"
    assert "listen, @Alice" in office.asked.prompt


def test_pending_answers_and_open_questions_outlive_a_restart() -> None:
    """D17: also who was still to answer."""
    office = room_of("Alice", "Bob", "Charlie")
    office.tell(inputs.UserMessage(content="go"))
    over(office, "Bob", "two")
    office.tell(inputs.Suspend())
    assert office.core.state.asks == {}
    again = Office(RULES)
    again.core, again.now = Core(RULES, stored(office.core.state)), office.now + 60
    again.tell(inputs.Wake())
    assert list(asked(again)) == ["Alice", "Charlie"]
    assert list(pending(again)) == ["Bob"]
    crashed = Office(RULES)
    crashed.core, crashed.now = Core(RULES, stored(again.core.state)), again.now
    decision = crashed.tell(inputs.Wake())
    open_asks = {f.ask_id for f in decision.effects if isinstance(f, effects.AskAgain)}
    assert open_asks == set(again.core.state.asks)


@pytest.mark.parametrize("content", ["", "  ", "x" * 20_001, KEYWORD])
def test_a_message_is_something_and_not_too_long(content: str) -> None:
    office = room_of("Alice", "Bob")
    with pytest.raises(Refused) as refused:
        office.tell(inputs.UserMessage(content=content))
    assert refused.value.code == "bad_message"
