"""An office whose people have a life of their own, for the tests of what they decide."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
from office_under_test import RULES, Office

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.core import BackendFacts
from supervisor.core.life import deciding

if TYPE_CHECKING:
    from supervisor.core.state import Agent

LIFE = deciding.Rules(idle_seconds=5.0, per_hour=10, tokens_per_hour=1000)
LIVELY = msgspec.structs.replace(
    RULES, life=LIFE, backends={"fake": BackendFacts(context_max=1000, free=True), "claude": BackendFacts()}
)  # fmt: skip


def office_of(*names: str, rules: Any = LIVELY, settle: float = 30.0, **config: Any) -> Office:
    """People at their desks, in a room in manual mode."""
    office = Office(rules)
    people = tuple(inputs.AgentConfig(name=name, role=f"role {name}", **config) for name in names)
    off = msgspec.structs.replace(rules, life=deciding.Rules())
    office.core.rules = off
    office.tell(inputs.StartRoom(name="Office", settings=e.Settings(response_delay=0), agents=people))
    office.tell(inputs.Due(), after=settle)
    office.core.rules, office.core.woke_at = rules, office.now
    office.events.clear()
    office.effects.clear()
    return office


def agent(office: Office, name: str) -> Agent:
    return next(one for one in office.core.state.agents.values() if one.name == name)


def passes(office: Office, seconds: float) -> None:
    """Time goes by, and what is due happens."""
    end = office.now + seconds
    while (at := office.core.next_deadline()) is not None and at <= end:
        office.tell(inputs.Due(), after=max(0.0, at - office.now))
    office.now = end


def thinking(office: Office) -> list[str]:
    return [one.name for one in office.core.state.agents.values() if one.decision is not None]


def prompt(office: Office, name: str) -> str:
    decision = agent(office, name).decision
    assert decision
    return next(f.prompt for f in office.effects if isinstance(f, effects.Ask) and f.ask_id == decision.ask_id)


def decides(office: Office, name: str, raw: str = "", status: Any = "answered", **action: Any) -> None:
    """What somebody is asked, it answers."""
    decision = agent(office, name).decision
    assert decision
    office.tell(inputs.Written(ask_id=decision.ask_id))
    answer = raw or json.dumps(action)
    office.tell(inputs.TurnOver(ask_id=decision.ask_id, status=status, signal="transcript", text=answer))


def until_thinking(office: Office, name: str) -> None:
    for _ in range(400):
        if name in thinking(office):
            return
        for other in thinking(office):
            decides(office, other, action="wait")
        at = office.core.next_deadline()
        assert at is not None
        office.tell(inputs.Due(), after=max(0.0, at - office.now))
    raise AssertionError(f"{name} never decides")


def deliver(office: Office) -> None:
    """What was said reaches those it is for, as the bus does it."""
    spoke = office.of(e.AgentSpoke)[-1]
    for agent_id in spoke.recipients:
        office.tell(inputs.Heard(agent_id=agent_id, spoke=spoke))
