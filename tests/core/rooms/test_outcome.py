"""Rooms from templates, and what a conversation came to."""

from __future__ import annotations

import pytest
from office_under_test import KEYWORD, RULES, Office, stored

from supervisor import events as e
from supervisor.core import inputs
from supervisor.core.core import Core
from supervisor.core.rooms.settings import problem_of
from supervisor.core.rooms.templates import TEMPLATES
from supervisor.errors import Refused


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_room_from_a_template_has_its_people_and_rules(name: str) -> None:
    """D20: agents, roles, order and endings; it can begin at once."""
    office = Office()
    office.tell(inputs.CreateRoom(template=name))
    template = TEMPLATES[name]
    people = [(agent.name, agent.role) for agent in office.core.state.agents.values()]
    assert people == [(one.name, one.role) for one in template.people]
    assert {key: getattr(office.room.settings, key) for key in template.settings} == template.settings
    assert problem_of(office.room.settings, RULES.patterns) == ""
    office.tell(inputs.SetMode(mode="auto"))
    assert office.name(office.asked.agent_id) == template.people[0].name


def test_an_unknown_template_is_refused_and_makes_nothing() -> None:
    office = Office()
    with pytest.raises(Refused, match="choose one of debate"):
        office.tell(inputs.CreateRoom(template="party"))
    assert office.core.state.rooms == {}


def test_when_it_has_ended_one_is_asked_for_the_outcome() -> None:
    """D22: whoever spoke last; it is kept with the room and counts for no prompt."""
    office = Office()
    office.begin("Ann", "Ben", outcome=True)
    office.answer("I like tabs.")
    office.answer(f"So do I. {KEYWORD}")
    assert office.ends == ["keyword"]
    assert office.name(office.asked.agent_id) == "Ben"
    assert "what was agreed, what stays open, and who held what" in office.asked.prompt
    office.over(text=f"Tabs. {KEYWORD}")
    assert office.room.outcome.content == "Tabs."
    assert [m.content for m in office.room.messages if m.type == "agent"] == ["I like tabs.", "So do I."]
    assert office.core.state.asks == {}
    office.tell(inputs.StartAutoMode(topic="next"))
    assert office.room.outcome is None
    assert "Tabs." not in office.asked.prompt


def test_it_can_be_asked_for_after_any_end_and_of_anybody() -> None:
    office = Office()
    office.begin("Ann", "Ben")
    with pytest.raises(Refused, match="Auto mode is running"):
        office.tell(inputs.RequestOutcome())
    office.answer("I like tabs.")
    office.tell(inputs.StopAutoMode())
    assert office.core.state.asks == {}
    office.tell(inputs.RequestOutcome(agent_id="agent_002"))
    assert office.name(office.asked.agent_id) == "Ben"
    assert "I like tabs." in office.asked.prompt
    with pytest.raises(Refused, match="still answering"):
        office.tell(inputs.RequestOutcome(agent_id="agent_002"))
    office.over("failed", detail="overloaded")
    assert "⚠️ Ben Failed to respond: overloaded" in [m.content for m in office.room.messages]
    assert office.room.outcome is None


def test_without_words_there_is_no_outcome() -> None:
    office = Office()
    office.begin("Ann", "Ben", outcome=True, max_duration_ms=5000)
    office.tell(inputs.Due(), after=6)
    assert office.ends == ["timer"]
    assert office.core.state.asks == {}
    with pytest.raises(Refused, match="has said anything"):
        office.tell(inputs.RequestOutcome())


def test_the_outcome_outlives_a_restart() -> None:
    """D17, D22."""
    office = Office()
    office.begin("Ann", "Ben", outcome=True, max_messages=1)
    office.answer("Tabs.")
    office.over(text="Only one has spoken.")
    again = Core(RULES, stored(office.core.state))
    assert next(iter(again.state.rooms.values())).outcome == office.of(e.RoomOutcome)[0].message


def test_a_rate_limit_pauses_every_room_that_uses_the_backend() -> None:
    """D14: and only those; each goes on by itself at the reset."""
    office = Office()
    for name, backend in (("One", "fake"), ("Two", "fake"), ("Three", "claude")):
        people = tuple(inputs.AgentConfig(name=n, role=n, cli_backend=backend) for n in ("Ann", "Ben"))
        settings = e.Settings(response_delay=0)
        office.tell(inputs.StartRoom(name=name, settings=settings, agents=people, auto=True, topic="x"))
    first = next(ask for ask in office.core.state.asks.values() if ask.room_id == "room_001")
    reset = office.now + 40
    office.tell(inputs.TurnOver(
        ask_id=first.id, status="failed", signal="x", detail="429", kind="rate_limit", retry_at=reset
    ))  # fmt: skip
    paused = {room.name: room.auto.paused for room in office.core.state.rooms.values() if room.auto}
    assert paused == {"One": "rate_limit", "Two": "rate_limit", "Three": None}
    assert [event.retry_at for event in office.of(e.RateLimited)] == [reset]
    office.tell(inputs.Due(), after=40)
    assert {room.auto.paused for room in office.core.state.rooms.values() if room.auto} == {None}


def test_money_is_counted_and_ends_it() -> None:
    """Safety for the purse: also over a restart."""
    office = Office()
    office.begin("Ann", "Ben", max_cost_usd=0.10)
    office.tell(inputs.CostSeen(agent_id="agent_001", cost_usd=0.06))
    office.answer("one")
    office.core = Core(RULES, stored(office.core.state))
    office.tell(inputs.CostSeen(agent_id="agent_002", cost_usd=0.05))
    office.answer("two")
    assert office.ends == ["budget"]
