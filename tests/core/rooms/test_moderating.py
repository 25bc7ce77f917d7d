"""A person changes the order, who takes part, and the settings; agents call each other by name."""

from __future__ import annotations

from typing import Any

import pytest
from office_under_test import RULES, Office, stored

from supervisor.core import inputs
from supervisor.core.core import Core
from supervisor.core.rooms.turns import MOST_HOPS
from supervisor.errors import Refused


def talk(office: Office, *answers: str) -> list[str]:
    """Each answer by whoever is asked first; returns who spoke."""
    spoke = []
    for text in answers:
        ask = office.room.auto.wave[0]
        agent = office.core.state.asks[ask].agent_id
        office.tell(inputs.TurnOver(ask_id=ask, status="answered", signal="transcript", text=text))
        spoke.append(office.name(agent))
    return spoke


def asked(office: Office) -> list[str]:
    return [office.name(office.core.state.asks[ask].agent_id) for ask in office.room.auto.wave]


@pytest.mark.parametrize(
    ("answers", "spoke"),
    [
        (["hello", "hi", "hey", "again"], ["Alice", "Bob", "Charlie", "Alice"]),
        (["@Charlie, you?", "me", "so", "well"], ["Alice", "Charlie", "Bob", "Charlie"]),
        (["@charl, you?", "me", "so"], ["Alice", "Charlie", "Bob"]),
        (["@Alice says I", "so"], ["Alice", "Bob"]),
        (["hello", "@Alice what?", "this", "so"], ["Alice", "Bob", "Alice", "Charlie"]),
        (["ask bob@charlie.example", "so"], ["Alice", "Bob"]),
        (["`@Charlie`", "so"], ["Alice", "Bob"]),
        (["@Bob", "yes", "then"], ["Alice", "Bob", "Bob"]),
    ],
)
def test_who_is_mentioned_goes_next_and_then_the_normal_order(answers: list[str], spoke: list[str]) -> None:
    """D6."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie")
    assert talk(office, *answers) == spoke


def test_several_who_are_mentioned_answer_at_once_and_are_added_in_normal_order() -> None:
    """D6: whoever is faster."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie", "Dora")
    talk(office, "@Dora and @Charlie?")
    assert asked(office) == ["Charlie", "Dora"]
    dora = office.room.auto.wave[1]
    office.tell(inputs.TurnOver(ask_id=dora, status="answered", signal="transcript", text="Dora's"))
    assert [m.author_name for m in office.room.messages if m.type == "agent"] == ["Alice"]
    talk(office, "Charlie's")
    assert [m.author_name for m in office.room.messages if m.type == "agent"] == ["Alice", "Charlie", "Dora"]
    assert asked(office) == ["Bob"]


def test_calling_each_other_for_ever_is_stopped_by_the_order() -> None:
    """Safety for the purse: after some turns by mention everybody else is heard again."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie")
    spoke = talk(office, *(["@Alice @Bob?"] * (3 * MOST_HOPS)))
    assert "Charlie" in spoke
    assert spoke.index("Charlie") <= 2 * (MOST_HOPS + 1)


def test_a_mention_that_failed_is_asked_again_on_retry() -> None:
    office = Office()
    office.begin("Alice", "Bob", "Charlie")
    talk(office, "@Charlie?")
    office.over("failed", detail="overloaded")
    office.tell(inputs.RetryTurn())
    assert asked(office) == ["Charlie"]
    assert talk(office, "yes", "so") == ["Charlie", "Bob"]


def test_who_is_paused_is_passed_over_and_not_called() -> None:
    """D9: still there, and back when resumed; D6: a mention of it is ignored."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie")
    office.tell(inputs.SetParticipation(agent_id="agent_002", participating=False))
    assert talk(office, "@Bob?", "so", "and") == ["Alice", "Charlie", "Alice"]
    assert "agent_002" in office.room.agents
    office.tell(inputs.SetParticipation(agent_id="agent_002", participating=True))
    assert talk(office, "x", "y", "z") == ["Charlie", "Alice", "Bob"]


def test_when_everybody_is_paused_it_waits_for_the_first_to_come_back() -> None:
    """D9: nothing ends, and the timer waits too."""
    office = Office()
    office.begin("Alice", "Bob")
    for agent in ("agent_001", "agent_002"):
        office.tell(inputs.SetParticipation(agent_id=agent, participating=False))
    talk(office, "the turn that was under way")
    assert office.room.auto.paused == "nobody"
    left = office.room.auto.ends_at - office.now
    office.tell(inputs.SetParticipation(agent_id="agent_001", participating=True), after=1000)
    assert office.room.auto.ends_at - office.now == pytest.approx(left)
    assert asked(office) == ["Alice"]


def test_the_order_can_be_changed_while_it_runs() -> None:
    """D1: whose turn it is stays so."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie")
    office.tell(inputs.SetOrder(agents=["agent_003", "agent_001", "agent_002"]))
    assert talk(office, "a", "b", "c", "d") == ["Alice", "Bob", "Charlie", "Alice"]
    for wrong in ([], ["agent_001"], ["agent_001", "agent_001", "agent_002"], ["agent_001", "agent_002", "agent_009"]):
        with pytest.raises(Refused, match="each once"):
            office.tell(inputs.SetOrder(agents=wrong))


def test_auto_mode_begins_with_the_first_in_the_order() -> None:
    """D16: whoever spoke last in the one before."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie")
    talk(office, "a")
    office.tell(inputs.StopAutoMode())
    office.tell(inputs.SetOrder(agents=["agent_003", "agent_001", "agent_002"]))
    office.tell(inputs.SetMode(mode="auto"))
    assert asked(office) == ["Charlie"]


def test_settings_have_effect_at_once() -> None:
    """D8: the timer, the limit, the delay, the keyword, how they meet."""
    office = Office()
    office.begin("Alice", "Bob", max_duration_ms=60_000)
    office.tell(inputs.UpdateSettings(max_duration_ms=20_000), after=5)
    assert office.core.next_deadline() == pytest.approx(1020.0)
    office.tell(inputs.UpdateSettings(response_delay=3, keyword="DONE", interaction_pattern="meet-at-table"))
    places = {office.core.plan.position(place.tile) for place in office.core.plan.table}
    assert {agent.position for agent in office.core.state.agents.values()} <= places
    talk(office, "hello")
    assert office.room.auto.next_at == office.now + 3
    office.tell(inputs.Due(), after=3)
    assert "the keyword DONE" in office.asked.prompt
    office.tell(inputs.UpdateSettings(max_messages=2))
    talk(office, "hi")
    assert office.ends == ["message_limit"]


@pytest.mark.parametrize("fields", [{"response_delay": 31}, {"keyword": ""}, {"interaction_pattern": "x"}])
def test_settings_that_cannot_be_are_refused(fields: dict[str, Any]) -> None:
    office = Office()
    office.begin("Alice", "Bob")
    before = stored(office.core.state)
    with pytest.raises(Refused):
        office.tell(inputs.UpdateSettings(**fields))
    assert office.core.state == before


def test_all_of_it_outlives_a_restart() -> None:
    """D17: participation, order, settings, and who was called."""
    office = Office()
    office.begin("Alice", "Bob", "Charlie", "Dora", response_delay=2.0)
    office.tell(inputs.SetParticipation(agent_id="agent_002", participating=False))
    office.tell(inputs.UpdateSettings(max_messages=9))
    talk(office, "@Dora?")
    office.tell(inputs.Suspend())
    again = Office(RULES)
    again.core, again.now = Core(RULES, stored(office.core.state)), office.now
    again.tell(inputs.Wake())
    assert asked(again) == ["Dora"]
    assert talk(again, "yes") == ["Dora"]
    again.tell(inputs.Due(), after=2)
    assert asked(again) == ["Charlie"]
    assert again.room.settings.max_messages == 9
