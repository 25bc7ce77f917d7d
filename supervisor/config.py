"""`office.toml`: backends, agents, rooms and settings. A mistake is told with file, key and what was expected."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from supervisor.errors import ConfigError
from supervisor.events import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")
Tools = Literal["none", "read", "ask", "all"]
"""What an agent may do beside talking: nothing, look at files, whatever a person allows each time, or everything."""
NAME = re.compile(r"[^\W\d_][\w'-]{0,31}")
LONGEST_ROLE = 60


def person_problem(name: str, role: str) -> str:
    """What is wrong with somebody's name or role, in words; nothing if they are fine."""
    if not NAME.fullmatch(name):
        return f"The name {name[:40]!r} cannot be mentioned: use one word of letters and digits, 32 at most."
    if not 0 < len(role.strip()) <= LONGEST_ROLE or not role.isprintable():
        return f"{name} needs a role: one line of at most {LONGEST_ROLE} characters."
    return ""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class BackendEntry(Entry, frozen=True, kw_only=True):
    """`[backends.NAME]`: a CLI under a name that agents are given."""

    kind: str = ""
    """Which CLI it is; the table's own name if left out."""
    command: tuple[str, ...] = ()
    """The program and its first arguments, where it is not found by its usual name."""
    arguments: tuple[str, ...] = ()
    """Further arguments, at the end."""
    allow: tuple[str, ...] = ()
    """Names or patterns of environment variables that it gets beside the usual ones."""
    environment: dict[str, str] = {}
    """Variables that are set for it."""
    model: str = ""
    """The model, by the CLI's own name for it."""
    parameters: dict[str, str | int | float | bool] = {}
    """What else is to hold for the model, by the CLI's own names."""
    tools: Tools = "none"
    """What its agents may do beside talking: nothing, `read` files, whatever a person allows (`ask`), or `all`."""
    context_size: int | None = None
    """How many tokens its model can hold; where it is left out, what its CLI says, and 200,000 until then."""
    memory_mb: int = 0
    """How much memory each of its agents may use, with all that it started; 0 means no limit."""


class AgentEntry(Entry, frozen=True, kw_only=True):
    """`[[agents]]`: somebody who works here."""

    name: str
    """One word, by which others mention it."""
    role: str
    """What it is in conversations, such as `sceptic`."""
    backend: str = ""
    """One of the backends; the default one if left out."""
    model: str = ""
    """Another model than its backend's."""
    parameters: dict[str, str | int | float | bool] = {}
    """Other parameters, on top of its backend's."""
    tools: Tools | None = None
    """What it may do beside talking; as its backend says if left out."""
    cwd: str = ""
    """The folder that its CLI works in; its own below the state folder if left out."""
    arguments: tuple[str, ...] = ()
    """Further arguments for its CLI."""
    memory_mb: int = 0
    """Another limit of memory than its backend's."""


class TemplatePerson(Entry, frozen=True, kw_only=True):
    """Somebody in a template."""

    name: str
    """One word."""
    role: str
    """What it is in the conversation."""
    backend: str = ""
    """One of the backends; the default one if left out."""


class TemplateEntry(Entry, frozen=True, kw_only=True):
    """`[templates.NAME]`: a kind of conversation."""

    says: str = ""
    """What it is for, for people who choose."""
    people: tuple[TemplatePerson, ...]
    """Who is in it, in the order in which they speak."""
    settings: dict[str, Any] = {}
    """What differs from the usual settings."""

    def over(self, settings: Settings) -> Settings:
        """Its settings on top of others."""
        return changed(settings, self.settings)


class RoomEntry(Entry, frozen=True, kw_only=True):
    """`[[rooms]]`: a conversation."""

    name: str
    """What it is called."""
    agents: tuple[str, ...] = ()
    """The names of those in it, in their order."""
    template: str = ""
    """A kind of conversation, with its people and rules; `agents` go before its people."""
    topic: str = ""
    """What to talk about; drawn from the pool if left out."""
    auto: bool = False
    """Whether auto mode starts with the server."""
    settings: dict[str, Any] = {}
    """Settings of this room, as in `[settings]`."""


class LifeEntry(Entry, frozen=True, kw_only=True):
    """`[life]`: what agents do when nobody asks anything of them."""

    on: bool = True
    """Whether agents decide by themselves what to do; those that cost something only where they are switched on."""
    idle_seconds: float = 5.0
    """How long somebody is idle before it decides; who only waits is asked less and less often."""
    per_hour: int = 120
    """How many decisions an agent may make in an hour."""
    tokens_per_hour: int = 300_000
    """How many tokens an agent's decisions may use in an hour, where they cost anything; 0 means no limit."""
    hearing_distance: int = 5
    """How many tiles words carry outside of rooms."""


class Office(Entry, frozen=True, kw_only=True):
    """The whole file."""

    default_backend: str = "fake"
    """The backend of agents that name none."""
    backends: dict[str, BackendEntry] = {}
    """The CLIs."""
    agents: tuple[AgentEntry, ...] = ()
    """The people."""
    rooms: tuple[RoomEntry, ...] = ()
    """The conversations."""
    templates: dict[str, TemplateEntry] = {}
    """Kinds of conversations."""
    settings: Settings = Settings()
    """How rooms converse, unless they say otherwise."""
    life: LifeEntry = LifeEntry()
    """What agents do by themselves."""
    keep_days: float = 0.0
    """For how many days what was said in closed rooms is kept; 0 means for ever."""
    most_agents: int = 200
    """How many agents there may be at once."""
    floor_plan: str = ""
    """A file with the map of the office, beside this one; the usual office if left out."""
    wander_seconds: float = 90.0
    """About how often an idle agent stretches its legs; 0 means never."""

    def backend(self, name: str) -> BackendEntry:
        return self.backends.get(name, BackendEntry())

    def agent(self, name: str) -> AgentEntry | None:
        return next((agent for agent in self.agents if agent.name == name), None)

    def entry(self, name: str, backend: str, *, configured: bool = False) -> AgentEntry | None:
        """What is configured for somebody, on the CLI it was configured for; who has only the name gets none of it.
        `configured`: it came as somebody who is, whatever is the default backend by now."""
        found = self.agent(name)
        meant = found and (found.backend or (backend if configured else self.default_backend))
        return found if meant == backend else None


class Kind(NamedTuple):
    """What the configuration has to know of a CLI."""

    name: str
    program: tuple[str, ...] = ()
    parameters: tuple[str, ...] | None = None
    """The parameters it takes; None for any."""


def changed(settings: Settings, changes: dict[str, Any]) -> Settings:
    return msgspec.convert({**msgspec.to_builtins(settings), **changes}, Settings)


def parse(text: str, name: str, kinds: tuple[Kind, ...], templates: Mapping[str, TemplateEntry]) -> Office:
    """The file's text into an office; `kinds` are the CLIs that can be driven, `templates` are there beside its own."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: {error}.") from None
    for key, kind in (("agents", AgentEntry), ("rooms", RoomEntry)):
        entries = data.get(key, [])
        if not isinstance(entries, list):
            raise ConfigError(f"{name}: {key}: expected tables that begin with [[{key}]].")
        for number, entry in enumerate(entries):
            _convert(entry, kind, name, f"{key}[{number}]")
    tables: dict[str, type[Entry]] = {"backends": BackendEntry, "templates": TemplateEntry}
    for table, of in tables.items():
        entries = data.get(table, {})
        for key, entry in entries.items() if isinstance(entries, dict) else ():
            _convert(entry, of, name, f"{table}.{key}")
    office = _convert(data, Office, name, "")
    office = msgspec.structs.replace(office, templates={**templates, **office.templates})
    _check(office, name, kinds)
    return office


def _convert(data: Any, kind: type[T], name: str, where: str) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at ")
        place = ".".join(part for part in (where, path.strip("`").removeprefix("$").lstrip(".")) if part)
        if unknown := re.search(r"unknown field `(\w+)`", message):
            known = ", ".join(field.encode_name for field in msgspec.structs.fields(_owner(kind, path)))
            key = ".".join(part for part in (place, unknown[1]) if part)
            raise ConfigError(f"{name}: {key}: there is no such key; expected one of {known}.") from None
        missing = re.search(r"missing required field `(\w+)`", message)
        if missing:
            raise ConfigError(f"{name}: {place}.{missing[1]}: expected a value, there is none.") from None
        told = message.replace("`", "")
        raise ConfigError(f"{name}: {place}: {told[0].lower()}{told[1:]}.") from None


def _owner(kind: type[Any], path: str) -> type[Any]:
    """The type of the table in which an unknown key was found."""
    if "settings" in path:
        return Settings
    if "people" in path:
        return TemplatePerson
    return BackendEntry if "backends" in path else kind


def _check(office: Office, name: str, kinds: tuple[Kind, ...]) -> None:
    known = {kind.name: kind for kind in kinds}
    backends = {*(kind.name for kind in kinds if kind.program), *office.backends}
    for key, backend in office.backends.items():
        kind = known.get(backend.kind or key)
        if kind is None:
            raise ConfigError(f"{name}: backends.{key}.kind: expected one of {', '.join(known)}.")
        if not (backend.command or kind.program):
            raise ConfigError(f"{name}: backends.{key}.command: expected the program and its arguments, there is none.")
        _check_parameters(backend.parameters, kind, f"{name}: backends.{key}.parameters")
        if backend.context_size is not None and backend.context_size < 0:
            raise ConfigError(f"{name}: backends.{key}.context_size: expected a number of tokens, 0 for unknown.")
        if backend.memory_mb < 0:
            raise ConfigError(f"{name}: backends.{key}.memory_mb: expected a number of megabytes, 0 for no limit.")
    if not 0 <= office.wander_seconds <= 24 * 3600:
        raise ConfigError(f"{name}: wander_seconds: expected a number of seconds up to a day, 0 for never.")
    life = office.life
    if not 0 < life.idle_seconds <= 24 * 3600:
        raise ConfigError(f"{name}: life.idle_seconds: expected a number of seconds up to a day.")
    if min(life.per_hour, life.tokens_per_hour, life.hearing_distance, office.keep_days) < 0 or life.per_hour == 0:
        raise ConfigError(f"{name}: life: expected numbers that are not negative, and a decision an hour at least.")
    if office.default_backend not in backends:
        raise ConfigError(f"{name}: default_backend: expected one of {', '.join(sorted(backends))}.")
    if office.most_agents < 2:
        raise ConfigError(f"{name}: most_agents: expected 2 or more, got {office.most_agents}.")
    names = [agent.name for agent in office.agents]
    lowered = [agent.lower() for agent in names]
    for number, agent in enumerate(office.agents):
        if problem := person_problem(agent.name, agent.role):
            raise ConfigError(f"{name}: agents[{number}]: {problem}")
        if agent.memory_mb < 0:
            raise ConfigError(f"{name}: agents[{number}].memory_mb: expected a number of megabytes.")
        if agent.backend and agent.backend not in backends:
            raise ConfigError(f"{name}: agents[{number}].backend: expected one of {', '.join(sorted(backends))}.")
        entry = office.backend(agent.backend or office.default_backend)
        kind = known[entry.kind or agent.backend or office.default_backend]
        _check_parameters(agent.parameters, kind, f"{name}: agents[{number}].parameters")
        if lowered.index(agent.name.lower()) != number:
            raise ConfigError(f"{name}: agents[{number}].name: there is a {agent.name} already; expected another name.")
    for key, template in office.templates.items():
        _check_template(template, name, f"templates.{key}", backends)
    placed: list[str] = []
    for number, room in enumerate(office.rooms):
        if room.template and room.template not in office.templates:
            raise ConfigError(f"{name}: rooms[{number}].template: expected one of {', '.join(office.templates)}.")
        _convert(room.settings, Settings, name, f"rooms[{number}].settings")
        for member in room.agents:
            if member not in names:
                raise ConfigError(f"{name}: rooms[{number}].agents: there is no agent {member!r}; expected one of "
                                  f"{', '.join(names) or '[[agents]], of which there are none'}.")  # fmt: skip
            if member in placed:
                raise ConfigError(f"{name}: rooms[{number}].agents: {member} is in another room already.")
            placed.append(member)


def _check_parameters(given: dict[str, Any], kind: Kind, where: str) -> None:
    for parameter in given:
        if kind.parameters is not None and parameter not in kind.parameters:
            expected = f"one of {', '.join(kind.parameters)}" if kind.parameters else "none"
            raise ConfigError(f"{where}.{parameter}: {kind.name} takes no such parameter; expected {expected}.")


def _check_template(template: TemplateEntry, name: str, where: str, backends: set[str]) -> None:
    _convert(template.settings, Settings, name, f"{where}.settings")
    if len({one.name.lower() for one in template.people}) < max(2, len(template.people)):
        raise ConfigError(f"{name}: {where}.people: expected two or more people with different names.")
    for one in template.people:
        if problem := person_problem(one.name, one.role):
            raise ConfigError(f"{name}: {where}.people: {problem}")
        if one.backend and one.backend not in backends:
            raise ConfigError(f"{name}: {where}.people: {one.name}: expected one of {', '.join(sorted(backends))}.")
