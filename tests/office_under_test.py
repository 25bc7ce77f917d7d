"""A core with its clock, for the tests of everything that is decided."""

from __future__ import annotations

from typing import Any

import msgspec

from supervisor import events as e
from supervisor.core import effects, inputs
from supervisor.core.core import BackendFacts, Core, Decision, Rules
from supervisor.core.state import State

KEYWORD = "[CONVERSATION_END]"
RULES = Rules(
    office_id="office",
    backends={"fake": BackendFacts(context_max=1000), "claude": BackendFacts(model="m")},
    default_backend="fake",
    settings=e.Settings(response_delay=0),
)


def stored(state: State) -> State:
    """As it is after a restart."""
    return msgspec.json.decode(msgspec.json.encode(state), type=State)


class Office:
    """A core with its clock, and everything that came out of it."""

    def __init__(self, rules: Rules = RULES) -> None:
        self.core = Core(rules)
        self.now = 1000.0
        self.events: list[Any] = []
        self.effects: list[Any] = []

    def tell(self, given: inputs.AnyInput, after: float = 0.0) -> Decision:
        self.now += after
        decision = self.core.decide(given, self.now)
        self.events += decision.events
        self.effects += decision.effects
        return decision

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def begin(self, *names: str, unattended: bool = False, **options: Any) -> str:
        people = tuple(inputs.AgentConfig(name=n, role=f"role {n}") for n in names)
        fields = {"response_delay": 0.0, **options}
        self.tell(inputs.StartRoom(
            name="Room", settings=e.Settings(**fields), agents=people, auto=True, topic="Tabs?", unattended=unattended,
        ))  # fmt: skip
        return next(iter(self.core.state.rooms))

    @property
    def room(self) -> Any:
        return next(iter(self.core.state.rooms.values()))

    @property
    def asked(self) -> effects.Ask:
        """The ask that is open now."""
        (ask_id,) = self.core.state.asks
        return next(f for f in reversed(self.effects) if isinstance(f, effects.Ask) and f.ask_id == ask_id)

    def name(self, agent_id: str) -> str:
        return self.core.state.agents[agent_id].name

    def over(self, status: str = "answered", text: str = "", **fields: Any) -> Decision:
        return self.tell(inputs.TurnOver(
            ask_id=self.asked.ask_id, status=status, signal="transcript", text=text, **fields  # type: ignore[arg-type]
        ))  # fmt: skip

    def answer(self, text: str) -> str:
        """The open ask is answered; returns who spoke."""
        ask = self.asked
        self.tell(inputs.Written(ask_id=ask.ask_id))
        self.over(text=text)
        return self.name(ask.agent_id) if ask.agent_id in self.core.state.agents else ""

    @property
    def ends(self) -> list[str]:
        return [event.reason for event in self.of(e.AutoModeEnded)]


def room_of(*names: str, **settings: Any) -> Office:
    office = Office()
    people = tuple(inputs.AgentConfig(name=name, role=f"role {name}") for name in names)
    fields = e.Settings(**{"response_delay": 0.0, **settings})
    office.tell(inputs.StartRoom(name="Room", settings=fields, agents=people))
    return office


def asked(office: Office) -> dict[str, str]:
    """Who is asked, and the id of the ask."""
    return {office.name(ask.agent_id): ask.id for ask in office.core.state.asks.values()}


def prompt(office: Office, name: str) -> str:
    ask = asked(office)[name]
    return next(f.prompt for f in office.effects if isinstance(f, effects.Ask) and f.ask_id == ask)


def over(office: Office, name: str, text: str = "", status: Any = "answered", **fields: Any) -> None:
    office.tell(inputs.TurnOver(ask_id=asked(office)[name], status=status, signal="transcript", text=text, **fields))


def pending(office: Office) -> dict[str, str]:
    return {message.author_name: message.id for message in office.room.pending}


def said(office: Office) -> list[tuple[str, str, bool]]:
    return [(m.author_name, m.content, m.active) for m in office.room.messages if m.type in ("user", "agent")]
