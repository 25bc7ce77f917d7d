"""The core: `decide` chooses, `apply` remembers. Pure: no clock, no chance, no file, no process.

    decision = core.decide(input, now)      # events (already remembered) and effects to carry out
    core.apply(event)                       # a stored event, on a restart or in a replay: nothing else happens

Every change of the state is made by an event, so whoever applies the same events has the same state. A command that
cannot be carried out raises `Refused` before anything was decided.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from supervisor import events as e
from supervisor.config import TemplateEntry, person_problem
from supervisor.errors import Refused

from . import agents, effects, inputs
from .apply import apply, clone
from .life import deciding
from .life.deciding import Deciding
from .office.default import TEXT as DEFAULT_PLAN
from .office.moves import Moves
from .office.patterns import PATTERNS
from .permitting import Permitting
from .rooms import speech
from .rooms.asking import Asking
from .rooms.manual import Manual
from .rooms.moderating import Moderating
from .rooms.outcome import Concluding
from .rooms.pausing import Pausing
from .rooms.templates import TEMPLATES
from .rooms.turns import Turns
from .state import Agent, Room, State
from .watching import Watching

if TYPE_CHECKING:
    from .effects import AnyEffect

CAST = (
    ("Ada", "optimist"), ("Bo", "sceptic"), ("Cy", "engineer"), ("Dee", "historian"), ("Eve", "advocate of users"),
    ("Finn", "economist"), ("Gus", "tester"), ("Hana", "designer"), ("Ivo", "lawyer"), ("Jo", "newcomer"),
    ("Kit", "operator"), ("Lea", "mediator"),
)  # fmt: skip
"""Who comes when a room needs somebody."""


COMPOUND = (inputs.StartRoom, inputs.StartAutoMode, inputs.SetMode, inputs.CreateRoom, inputs.JoinRoom)
"""Inputs that take several steps, each of which may be refused."""


LONGEST_ROOM_NAME = 200
USUAL_CONTEXT = 200_000
"""How many tokens a model can hold, as long as nobody has said it."""


def room_name(name: str, settings: e.Settings) -> str:
    return " ".join(speech.strip(name, settings.keyword).split())[:LONGEST_ROOM_NAME]


class BackendFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the core has to know of a CLI."""

    model: str = ""
    context_max: int | None = None
    """How many tokens its model can hold, where somebody has said it; else the CLI may."""
    free: bool = False
    """It costs nothing, so its agents may have a life of their own unasked."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change while it runs."""

    office_id: str
    backends: dict[str, BackendFacts]
    default_backend: str
    settings: e.Settings = e.Settings()
    people: frozenset[tuple[str, str]] = frozenset()
    """Who is configured, by name and backend."""
    models: dict[tuple[str, str], str] = {}
    """The models of configured agents that have one of their own, by name and backend."""
    patterns: tuple[str, ...] = tuple(PATTERNS)
    templates: dict[str, TemplateEntry] = msgspec.field(default_factory=lambda: TEMPLATES)
    plan: str = DEFAULT_PLAN
    """The map of the office, checked already."""
    life: deciding.Rules = deciding.Rules()
    """What agents do by themselves."""
    wander_seconds: float = 0.0
    """About how often somebody stretches their legs; 0 means never."""
    most_agents: int = 200
    most_rooms: int = 50


class Decision(NamedTuple):
    """What follows from an input: what happened, what is to be done, and the agent that was made, if one was."""

    events: list[e.AnyEvent]
    effects: list[AnyEffect]
    agent_id: str | None = None


class Core(Turns, Asking, Pausing, Permitting, Watching, Manual, Moderating, Concluding, Deciding, Moves):
    """Agents, tasks, rooms and the office, in one order."""

    def __init__(self, rules: Rules, state: State | None = None) -> None:
        self.rules = rules
        self.state = state or State()
        self._events: list[e.AnyEvent] = []
        self._effects: list[AnyEffect] = []
        self._made: str | None = None
        self.now = 0.0
        self.woke_at = 0.0
        self.at_work: dict[str, float] = {}
        """When the CLI of an earlier life was last seen to be about an ask."""
        self.asleep: frozenset[str] = frozenset()
        """Rooms that nobody has woken: they are left exactly as they are."""

    def apply(self, event: e.AnyEvent) -> None:
        apply(self.state, event)

    def decide(self, given: inputs.AnyInput, now: float) -> Decision:
        self._events, self._effects, self._made, self.now = [], [], None, now
        before = clone(self.state) if isinstance(given, COMPOUND) else None
        try:
            self._handle(given)
        except Refused:
            if self._events:  # a command of several steps, of which a later one was refused: none has happened
                assert before is not None
                self.state = before
            raise
        return Decision(self._events, self._effects, self._made)

    def _handle(self, given: inputs.AnyInput) -> None:
        match given:
            case inputs.SpawnAgent():
                room = self._room(given.room_id) if given.room_id is not None else self._only_room()
                if room is not None:
                    self._check_guests(room)
                self._made = self._spawn(given.agent_config, room)
            case inputs.TerminateAgent():
                self._remove(self._agent(given.agent_id), "terminated")
            case inputs.SetDecisionLoop():
                self._set_decision_loop(given.agent_id, given.on)
            case inputs.MoveAgent():
                self._move(self._agent(given.agent_id), given.position)
            case inputs.AssignTask():
                self._assign(self._agent(given.agent_id), given.task_name)
            case inputs.CompleteTask():
                self._complete(given.task_id)
            case inputs.RequestOutcome():
                self._request_outcome(self._room(given.room_id), given.agent_id)
            case inputs.CreateRoom():
                self._furnished_room(given.name or "", given.template or "")
            case inputs.RenameRoom():
                self._rename(self._room(given.room_id), given.name)
            case inputs.NewConversation():
                self._begin_anew(self._room(given.room_id))
            case inputs.JoinRoom():
                self._join(self._agent(given.agent_id), self._room(given.room_id))
            case inputs.LeaveRoom():
                self._leave(self._agent(given.agent_id))
            case inputs.CloseRoom():
                self._close(self._room(given.room_id))
            case inputs.StartRoom():
                room = self._open_room(given.name, given.settings)
                for config in given.agents:
                    self._spawn(config, room)
                if given.auto:
                    start = inputs.StartAutoMode(roomId=room.id, topic=given.topic or None, seed=given.seed)
                    self._start_auto(start, unattended=given.unattended)
            case inputs.StartAutoMode():
                self._start_auto(given)
            case inputs.StopAutoMode():
                self._stop(given.roomId)
            case inputs.ResumeAutoMode():
                self._resume(self._running(given.roomId), anyway=True)
            case inputs.RetryTurn():
                room = self._room(given.room_id)
                if room.auto is None and room.concluding in room.failed:
                    self._conclude_again(room)
                elif room.auto is None and room.failed:
                    self._retry_manual(room)
                else:
                    self._resume(self._running(given.room_id), anyway=True)
            case inputs.UserMessage():
                self._user_message(self._room(given.room_id), given.content)
            case inputs.ResolvePending():
                self._resolve(self._room(given.room_id), given.accept, given.dismiss)
            case inputs.SetMessageActive():
                self._set_active(given.message_id, given.active)
            case inputs.SetMode():
                self._set_mode(self._room(given.room_id), given.mode)
            case inputs.SetParticipation():
                self._set_participation(self._agent(given.agent_id), given.participating)
            case inputs.SetOrder():
                self._set_order(self._room(given.room_id), given.agents)
            case inputs.UpdateSettings():
                self._update_settings(self._room(given.room_id), given)
            case inputs.CancelRateLimitWait():
                self._cancel_wait(self._running(given.room_id))
            case inputs.PermissionWanted() if given.agent_id in self.state.agents:
                self._wants_permission(self.state.agents[given.agent_id], given)
            case inputs.PermissionWithdrawn() if given.agent_id in self.state.agents:
                self._withdraw_permissions(self.state.agents[given.agent_id], given.cli_id)
            case inputs.ResolvePermission():
                self._resolve_permission(given.permission_id, given.allow)
            case inputs.SessionLost() if given.agent_id in self.state.agents:
                self._session_lost(self.state.agents[given.agent_id], given.reason)
            case inputs.Inside() if given.agent_id in self.state.agents:
                self._watch(self.state.agents[given.agent_id], given)
            case inputs.AgentGone() if given.agent_id in self.state.agents:
                self._remove(self.state.agents[given.agent_id], given.reason, stop=False)
            case inputs.Written() | inputs.SpeechBegan() | inputs.Said() | inputs.TurnOver():
                if given.ask_id in self.state.asks:
                    self._heard_of(self.state.asks[given.ask_id], given)
                elif isinstance(given, inputs.Written | inputs.TurnOver):
                    for agent in [*self.state.agents.values()]:
                        if agent.decision is not None and agent.decision.ask_id == given.ask_id:
                            self._decision_heard_of(agent, given)
            case inputs.AtWork():
                self.at_work[given.ask_id] = self.now
            case inputs.Heard() if given.agent_id in self.state.agents:
                self._hears(self.state.agents[given.agent_id], given.spoke)
            case inputs.Due():
                self._due()
            case inputs.Suspend():
                for room in self._autos():
                    self._pause(room, "suspended", None, "")
                for ask in self._manual_asks():
                    self._drop(ask, "interrupted", "suspended")
                for agent in self.state.agents.values():
                    self._free_up(agent, "suspended")
            case inputs.Wake():
                self._wake(given)
            case _:
                pass  # about somebody who is gone

    # -- saying it ------------------------------------------------------------------------------------------------

    def _emit(self, event: e.AnyEvent) -> None:
        event = msgspec.structs.replace(event, seq=self.state.seq + 1, at=self.now)
        apply(self.state, event)
        self._events.append(event)

    def _do(self, effect: AnyEffect) -> None:
        self._effects.append(effect)

    def _enter(self, agent: Agent, new: e.AgentState) -> None:
        """Change the state along the table; every step is broadcast and recorded (C4, C5)."""
        steps = agents.way(agent.state, new)
        if steps is None:
            raise ValueError(f"{agent.id} cannot go from {agent.state} to {new}")
        if new == "idle":
            self._withdraw_permissions(agent)
        for step in steps:
            task = self.state.tasks.get(agent.task_id or 0)
            self._emit(e.AgentStateChanged(
                agent_id=agent.id, state=step, old_state=agent.state, position=self.position(agent),
                current_task=task.task_name if task else None,
            ))  # fmt: skip

    def _say(self, room: Room, kind: e.MessageType, text: str, author: str = "system", name: str = "") -> str:
        message = e.Message(
            id=f"msg_{self.state.message_count + 1:06d}", room_id=room.id, type=kind, author=author,
            author_name=name or author, content=text, at=self.now,
        )  # fmt: skip
        self._emit(e.MessageAdded(message=message))
        return message.id

    def new_id(self, what: str, number: int) -> str:
        """An id in the form of a random uuid; nobody outside can guess it, and a replay finds the same one."""
        digest = hashlib.sha256(f"{self.rules.office_id} {what} {number}".encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))

    # -- finding --------------------------------------------------------------------------------------------------

    def _agent(self, agent_id: str) -> Agent:
        if agent_id not in self.state.agents:
            raise Refused("unknown_agent", f"There is no agent {agent_id!r}.")
        return self.state.agents[agent_id]

    def _only_room(self) -> Room | None:
        """Where there is just one, beside those of agents who talk something over."""
        rooms = [room for room in self.state.rooms.values() if not room.guests]
        return rooms[0] if len(rooms) == 1 else None

    def _room(self, room_id: str | None) -> Room:
        if room_id is None:
            if (room := self._only_room()) is not None:
                return room
            raise Refused("unknown_room", "Say which room: there is not just one.")
        if room_id not in self.state.rooms:
            raise Refused("unknown_room", f"There is no room {room_id!r}.")
        return self.state.rooms[room_id]

    def _running(self, room_id: str | None) -> Room:
        autos = [room for room in self._autos() if not room.guests]
        room = autos[0] if room_id is None and len(autos) == 1 else self._room(room_id)
        if room.auto is None:
            raise Refused("invalid_state", f"Auto mode is not running in {room.name}.")
        return room

    def _autos(self) -> list[Room]:
        return [room for room in self.state.rooms.values() if room.auto is not None and room.id not in self.asleep]

    @property
    def conversing(self) -> bool:
        """Whether the running time of a conversation passes."""
        return any(room.auto is not None and room.auto.paused is None for room in self._autos())

    # -- agents and tasks -----------------------------------------------------------------------------------------

    def _check_config(self, config: inputs.AgentConfig, room: Room | None) -> str:
        backend = config.cli_backend or self.rules.default_backend
        if problem := person_problem(config.name, config.role):
            raise Refused("bad_message", problem)
        if backend not in self.rules.backends:
            known = ", ".join(self.rules.backends)
            raise Refused("unknown_backend", f"There is no backend {backend!r}; choose one of {known}.")
        self._check_name(config.name, room.id if room else None)
        if len(self.state.agents) >= self.rules.most_agents:
            raise Refused("limit_reached", f"There are {len(self.state.agents)} agents: end one first.")
        return backend

    def _check_name(self, name: str, room_id: str | None) -> None:
        """Within a room everybody can be called by name."""
        there = [agent for agent in self.state.agents.values() if agent.room_id == room_id]
        if any(agent.name.lower() == name.lower() for agent in there):
            raise Refused("name_taken", f"There is a {name} already: choose another name.")

    def _spawn(self, config: inputs.AgentConfig, room: Room | None) -> str:
        backend = self._check_config(config, room)
        position, seat = self._place_for(config.initial_position), self._free_seat()
        if seat is None:
            raise Refused("limit_reached", "The office is full: end an agent first, or use a larger floor plan.")
        self._furnish()
        number = self.state.agent_count + 1
        agent_id = f"agent_{number:03d}"
        facts = self.rules.backends[backend]
        self._emit(e.AgentJoined(
            agent_id=agent_id, name=config.name, role=config.role.strip(), cli_backend=backend,
            model=self.rules.models.get((config.name, backend), facts.model),
            configured=(config.name, backend) in self.rules.people,
            position=position, seat=seat,
            room_id=room.id if room else None, session_id=self.new_id("session", number),
            context_max=USUAL_CONTEXT if facts.context_max is None else facts.context_max,
        ))  # fmt: skip
        self._do(effects.Spawn(agent_id=agent_id))
        self._come_in(self.state.agents[agent_id])
        if room is not None:
            self._joined(room, self.state.agents[agent_id])
        return agent_id

    def _remove(self, agent: Agent, reason: str, *, stop: bool = True, walks: bool = True) -> None:
        room = self.state.rooms.get(agent.room_id or "")
        if agent.ask_id is not None:
            self._drop(self.state.asks[agent.ask_id], "interrupted" if stop else "failed", reason, interrupt=False)
        self._free_up(agent, reason)
        if agent.state != "idle":
            self._enter(agent, "idle")
        if walks:
            self._go_out(agent)
        self._emit(e.AgentLeft(agent_id=agent.id, reason=reason))
        if stop:
            self._do(effects.Stop(agent_id=agent.id))
        if room is not None:
            gone = f"{agent.name} was removed" if reason == "terminated" else f"{agent.name}: {reason}"
            self._left_room(room, agent, gone, failed=not stop)

    def _left_room(self, room: Room, agent: Agent, why: str, *, failed: bool = False) -> None:
        """The others go on, if it went on its own accord and there are enough of them."""
        self._say(room, "system", f"{agent.name} | {agent.role} left the conversation")
        if room.auto is not None and (failed or len(room.agents) < 2):
            self._end(room, "agent_exit", agent.id, why)
        elif room.auto is not None and room.auto.paused is None and room.auto.next_at is None:
            self._settle(room)

    def _assign(self, agent: Agent, name: str) -> None:
        if not name.strip() or len(name) > 500:
            raise Refused("bad_message", "A task needs a name of at most 500 characters.")
        self._emit(e.TaskUpdated(task=e.Task(
            id=self.state.task_count + 1, agent_id=agent.id, task_name=name.strip(), status="assigned",
            created_at=self.now,
        )))  # fmt: skip

    def _complete(self, task_id: int) -> None:
        task = self.state.tasks.get(task_id)
        if task is None:
            raise Refused("invalid_state", f"There is no open task {task_id}.")
        self._emit(e.TaskUpdated(task=msgspec.structs.replace(task, status="completed", completed_at=self.now)))

    # -- rooms ----------------------------------------------------------------------------------------------------

    def _open_room(self, name: str, settings: e.Settings, guests: dict[str, e.Home | None] | None = None) -> Room:
        if len(self.state.rooms) >= self.rules.most_rooms:
            raise Refused("limit_reached", f"There are {len(self.state.rooms)} rooms: close one first.")
        room_id = f"room_{self.state.room_count + 1:03d}"
        shown = room_name(name, settings) or "Office"
        self._emit(e.RoomCreated(room_id=room_id, name=shown, settings=settings, guests=guests or {}))
        return self.state.rooms[room_id]

    def _furnished_room(self, name: str, template: str) -> Room:
        """D20: a room with its people and rules."""
        if not template:
            return self._open_room(name, self.rules.settings)
        templates = self.rules.templates
        if template not in templates:
            raise Refused("bad_message", f"There is no template {template!r}; choose one of {', '.join(templates)}.")
        chosen = templates[template]
        room = self._open_room(name or template, chosen.over(self.rules.settings))
        taken = {agent.name for agent in self.state.agents.values()}
        spare = [person for person, _ in CAST if person not in taken | {one.name for one in chosen.people}]
        for one in chosen.people:
            stands_in = one.name in taken and one.name in dict(CAST) and spare  # in another room they are the same
            person = spare.pop(0) if stands_in else one.name
            self._spawn(inputs.AgentConfig(name=person, role=one.role, cli_backend=one.backend), room)
        return room

    def _rename(self, room: Room, name: str) -> None:
        shown = room_name(name, room.settings)
        if not shown:
            raise Refused("bad_message", "A room needs a name.")
        self._emit(e.RoomRenamed(room_id=room.id, name=shown))

    def _close(self, room: Room, *, walks: bool = True) -> None:
        if room.auto is not None:
            self._end(room, "user", e.PERSON)
        if room.id not in self.state.rooms:  # its people have gone back
            return
        for agent_id in list(room.agents):
            self._remove(self.state.agents[agent_id], "the room was closed", walks=walks)
        self._emit(e.RoomClosed(room_id=room.id))

    def _top_up(self, room: Room) -> None:
        """A1: two or more, each with a role of its own."""
        names = {agent.name.lower() for agent in self.state.agents.values()}  # in another room they are still the same
        roles = {self.state.agents[agent_id].role for agent_id in room.agents}
        spare = [(name, role) for name, role in CAST if name.lower() not in names and role not in roles]
        spare += [(f"Guest{n}", f"guest {n}") for n in range(1, len(names) + 3) if f"guest{n}" not in names]
        while len(room.agents) < 2:
            name, role = spare.pop(0)
            self._spawn(inputs.AgentConfig(name=name, role=role), room)

    def _stop(self, room_id: str | None) -> None:
        """At once: auto mode ends, and in manual mode nobody goes on answering."""
        room = self._only_room() if room_id is None else self.state.rooms.get(room_id)
        if room is not None and room.auto is None and any(ask.room_id == room.id for ask in self._manual_asks()):
            self._stop_manual(room)
        else:
            self._end(self._running(room_id), "user", e.PERSON)

    def _wake(self, given: inputs.Wake) -> None:
        left_at = given.left_at or max(self.state.at, given.alive_at)
        away = max(0.0, self.now - left_at) if self.state.at else 0.0
        self.woke_at = self.now
        if given.fresh:
            for room in list(self.state.rooms.values()):
                self._close(room, walks=False)
            for agent in list(self.state.agents.values()):
                self._remove(agent, "a fresh start", walks=False)
            self._effects.clear()  # nobody was running yet
            return
        if given.copy:
            self._settle_in()
            self._effects.clear()  # nobody is running yet
        if self.state.plan:
            self._furnish()
        for agent in self.state.agents.values():
            self._do(effects.Spawn(agent_id=agent.id))
            self._withdraw_permissions(agent)
            self._free_up(agent, "the supervisor was gone")
        for room in self._autos():
            self._wake_room(room, away)
        for ask in self._manual_asks():
            self._do(effects.AskAgain(ask_id=ask.id, agent_id=ask.agent_id))
        for room in self.state.rooms.values():
            if room.id not in self.asleep and room.concluding not in room.failed:
                self._conclude_again(room)
            self._ask_due(room)
