"""What a CLI will not do without being allowed to: a person decides, for a while; silence is a no."""

from __future__ import annotations

import pytest
from office_under_test import Office, asked, prompt, room_of, stored

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.errors import Refused


def wants(office: Office, cli_id: str = "i0") -> e.Permission:
    agent_id = office.asked.agent_id
    office.tell(inputs.PermissionWanted(agent_id=agent_id, cli_id=cli_id, tool="Bash", summary="rm -r build"))
    return office.core.state.agents[agent_id].permissions[-1]


def permits(office: Office) -> list[tuple[str, bool]]:
    return [(effect.cli_id, effect.allow) for effect in office.effects if isinstance(effect, effects.Permit)]


@pytest.mark.parametrize("allow", [True, False])
def test_a_person_allows_or_denies(allow: bool) -> None:
    office = Office()
    office.begin("Ann", "Ben")
    permission = wants(office)
    assert (permission.tool, permission.summary) == ("Bash", "rm -r build")
    office.tell(inputs.ResolvePermission(permission_id=permission.id, allow=allow))
    assert permits(office) == [("i0", allow)]
    (resolved,) = office.of(e.PermissionResolved)
    assert (resolved.allowed, resolved.by) == (allow, e.PERSON)
    assert stored(office.core.state) == office.core.state


def test_silence_is_a_no() -> None:
    office = Office()
    office.begin("Ann", "Ben", permission_wait=30.0)
    permission = wants(office)
    assert office.core.next_deadline() == permission.until == office.now + 30
    office.tell(inputs.Due(), after=29.9)
    assert permits(office) == []
    office.tell(inputs.Due(), after=0.2)
    assert permits(office) == [("i0", False)]
    assert office.of(e.PermissionResolved)[0].by == "timeout"


def test_nobody_is_asked_where_nobody_is() -> None:
    office = Office()
    office.begin("Ann", "Ben", unattended=True)
    office.tell(inputs.PermissionWanted(agent_id=office.asked.agent_id, cli_id="i0", tool="Bash", summary="ls"))
    assert permits(office) == [("i0", False)]
    assert office.of(e.PermissionResolved)[0].by == "nobody"


def test_it_can_be_answered_once() -> None:
    office = Office()
    office.begin("Ann", "Ben")
    permission = wants(office)
    office.tell(inputs.ResolvePermission(permission_id=permission.id, allow=True))
    with pytest.raises(Refused, match="Nobody waits"):
        office.tell(inputs.ResolvePermission(permission_id=permission.id, allow=False))
    assert permits(office) == [("i0", True)]


def test_what_the_cli_takes_back_is_gone() -> None:
    office = Office()
    office.begin("Ann", "Ben")
    wants(office, "i0")
    kept = wants(office, "i1")
    agent_id = office.asked.agent_id
    office.tell(inputs.PermissionWithdrawn(agent_id=agent_id, cli_id="i0"))
    assert office.core.state.agents[agent_id].permissions == [kept]
    assert permits(office) == []


def test_the_end_of_a_turn_takes_it_back() -> None:
    office = Office()
    office.begin("Ann", "Ben")
    wants(office)
    agent_id = office.asked.agent_id
    office.answer("I did without.")
    assert office.core.state.agents[agent_id].permissions == []
    assert office.of(e.PermissionResolved)[0].by == "withdrawn"


def test_a_start_forgets_what_nobody_waits_for() -> None:
    """The CLI that asked is gone with the supervisor."""
    office = Office()
    office.begin("Ann", "Ben")
    wants(office)
    office.tell(inputs.Wake())
    assert not any(agent.permissions for agent in office.core.state.agents.values())


def test_waiting_for_a_person_is_not_the_agents_fault() -> None:
    """D8: the longest wait for an answer begins anew when somebody has decided."""
    office = Office()
    office.begin("Ann", "Ben", max_wait_time=20.0, permission_wait=300.0)
    permission = wants(office)
    office.tell(inputs.Due(), after=100)
    assert not office.of(e.AutoModePaused)
    office.tell(inputs.ResolvePermission(permission_id=permission.id, allow=True), after=50)
    office.tell(inputs.Due(), after=19)
    assert not office.of(e.AutoModePaused)
    office.tell(inputs.Due(), after=2)
    assert [paused.reason for paused in office.of(e.AutoModePaused)] == ["max_wait"]


def test_the_keyword_in_a_command_is_not_shown() -> None:
    office = Office()
    office.begin("Ann", "Ben")
    office.tell(inputs.PermissionWanted(
        agent_id=office.asked.agent_id, cli_id="i0", tool="Bash", summary="echo [CONVERSATION_END]"
    ))  # fmt: skip
    assert office.of(e.PermissionAsked)[0].permission.summary == "echo"


# -- a lost session ----------------------------------------------------------------------------------------------------


def lose(office: Office, agent_id: str) -> None:
    office.tell(inputs.SessionLost(agent_id=agent_id, reason="it cannot take up its session again"))


def test_who_forgot_everything_is_told_again() -> None:
    """The turn that was under way begins anew, in a fresh session that holds what was said."""
    office = Office()
    office.begin("Ann", "Ben")
    assert office.answer("Tabs, of course.") == "Ann"
    assert office.answer("Spaces, of course.") == "Ben"
    first = office.asked
    lose(office, first.agent_id)
    again = office.asked
    assert again.ask_id != first.ask_id
    assert again.agent_id == first.agent_id
    for words in ("Tabs?", "Tabs, of course.", "Spaces, of course."):
        assert words in again.prompt, words
    kinds = [type(effect) for effect in office.effects]
    assert kinds.index(effects.Renew) < len(kinds) - 1 - kinds[::-1].index(effects.Ask)
    assert office.answer("As I said.") == "Ann"
    assert stored(office.core.state) == office.core.state


def test_who_forgot_everything_between_turns_is_told_at_the_next_one() -> None:
    office = Office()
    office.begin("Ann", "Ben")
    office.answer("Tabs, of course.")
    other = next(i for i in office.room.agents if i != office.asked.agent_id)
    lose(office, other)
    office.answer("Spaces, of course.")
    assert "Tabs, of course." in office.asked.prompt


def test_in_manual_mode_it_is_asked_again() -> None:
    office = room_of("Ann", "Ben")
    office.tell(inputs.UserMessage(content="Hello?"))
    before = asked(office)
    lose(office, office.core.state.asks[before["Ann"]].agent_id)
    assert asked(office)["Ann"] != before["Ann"]
    assert asked(office)["Ben"] == before["Ben"]
    assert "Hello?" in prompt(office, "Ann")


def test_it_does_not_matter_outside_of_rooms() -> None:
    office = Office()
    office.tell(inputs.SpawnAgent(agent_config=inputs.AgentConfig(name="Ann", role="r")))
    (agent_id,) = office.core.state.agents
    before = office.core.state.agents[agent_id].session_id
    lose(office, agent_id)
    assert office.core.state.agents[agent_id].session_id != before
