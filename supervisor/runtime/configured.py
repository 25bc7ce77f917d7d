"""What office.toml says, as rules of the core and as the start of an agent's CLI."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.core.core import BackendFacts, Rules
from supervisor.core.life.deciding import Rules as LifeRules
from supervisor.core.office.default import TEXT as DEFAULT_PLAN
from supervisor.core.office.plan import Plan
from supervisor.core.rooms.templates import TEMPLATES
from supervisor.driving import backends
from supervisor.driving.backends import BACKENDS
from supervisor.driving.backends.base import Launch
from supervisor.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from supervisor.config import Office
    from supervisor.core.state import Agent
    from supervisor.driving.backends.base import Backend

INTRODUCTION = (
    "You are {name}, in the role of {role}. You work in an office with other agents and talk to them. Each "
    "conversation begins with an instruction; answer in plain text."
)


def rules_of(office: Office, office_id: str, *, alone: bool) -> Rules:
    """What the core goes by; `alone` is a conversation of its own, with nobody else about."""
    names = backends.names(office.backends)
    entries = {name: office.backend(name) for name in names}
    return Rules(
        office_id=office_id,
        backends={
            n: BackendFacts(model=b.model, context_max=b.context_size, free=BACKENDS[b.kind or n].free)
            for n, b in entries.items()
        },
        life=LifeRules() if alone or not office.life.on else LifeRules(
            idle_seconds=office.life.idle_seconds, per_hour=office.life.per_hour,
            tokens_per_hour=office.life.tokens_per_hour, hearing_distance=office.life.hearing_distance,
        ),
        default_backend=office.default_backend, settings=office.settings, most_agents=office.most_agents,
        templates=office.templates or TEMPLATES,
        people=frozenset((one.name, one.backend or office.default_backend) for one in office.agents),
        models={
            (agent.name, agent.backend or office.default_backend): agent.model
            for agent in office.agents if agent.model
        },
        plan=read_plan(office), wander_seconds=0.0 if alone else office.wander_seconds,
    )  # fmt: skip


def kind_of(office: Office, backend: str) -> Backend:
    return BACKENDS[office.backend(backend).kind or backend]


def launch_of(
    office: Office, agent: Agent, folder: Path, owner: str, arguments: Mapping[str, Sequence[str]]
) -> Launch:  # fmt: skip
    """How its CLI is started; `folder` holds those of all agents, `arguments` are added by the kind of backend."""
    entry = office.backend(agent.backend)
    person = office.entry(agent.name, agent.backend, configured=agent.configured)
    return Launch(
        agent_id=agent.id, folder=str(folder / agent.id), session_id=agent.session_id,
        cwd=person.cwd if person else "", command=entry.command,
        arguments=(
            *arguments.get(entry.kind or agent.backend, ()), *entry.arguments, *(person.arguments if person else ())
        ),
        owner=owner, model=agent.model, parameters={**entry.parameters, **(person.parameters if person else {})},
        tools=(person.tools if person else None) or entry.tools,
        instructions=INTRODUCTION.format(name=agent.name, role=agent.role), allow=entry.allow,
        environment=entry.environment,
    )  # fmt: skip


def memory_of(office: Office, agent: Agent) -> int:
    """How many megabytes it may use; 0 for no limit."""
    person = office.entry(agent.name, agent.backend, configured=agent.configured)
    return person.memory_mb if person and person.memory_mb else office.backend(agent.backend).memory_mb


def missing_backend(office: Office, backend: str) -> str:
    """Why a backend's program cannot be started, if that is plain to see."""
    name = backend or office.default_backend
    entry = office.backend(name)
    kind = BACKENDS.get(entry.kind or name)
    if kind is None:
        return ""
    probe = Launch(agent_id="", folder="", session_id="", command=entry.command)
    return missing_program(kind.command(probe)[0], kind)


def read_plan(office: Office) -> str:
    """The map of the configured floor plan, or the one that everybody begins with; raises ConfigError."""
    if not office.floor_plan:
        return DEFAULT_PLAN
    try:
        text = Path(office.floor_plan).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failed:
        why = failed.strerror if isinstance(failed, OSError) else "it is not UTF-8"
        raise ConfigError(f"The floor plan {office.floor_plan} cannot be read: {why}.") from None
    Plan(text, office.floor_plan)
    return text


def missing_program(program: str, kind: Backend) -> str:
    """Why it cannot be started, with the way to get it."""
    if shutil.which(program) is None:
        how = f" ({kind.install})" if kind.install else ""
        return f"{program} was not found: install it{how} or correct it in the configuration."
    return ""
