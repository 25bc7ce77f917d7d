"""Remembering: one event changes the state, and nothing else happens. A restart and a replay are made of this alone."""

from __future__ import annotations

from typing import Any

import msgspec

from supervisor import events as e

from .life.remembering import Lived, remember, spend
from .office import characters
from .office.plan import plan_of
from .state import KEPT_MESSAGES, KEPT_STATES, SHOWN_THOUGHT, Agent, Ask, Auto, Hearing, Room, State


def apply(state: State, event: e.AnyEvent) -> None:
    """Take an event in; events come in the order of their `seq`, without a gap."""
    if event.seq != state.seq + 1:
        raise ValueError(f"event {event.seq} cannot follow {state.seq}")
    state.seq, state.at = event.seq, event.at
    if isinstance(event, Lived):
        remember(state, event)
    match event:
        case e.AgentJoined():
            _joined(state, event)
        case e.AgentLeft():
            _left(state, event)
        case e.AgentStateChanged():
            agent = state.agents[event.agent_id]
            agent.state, agent.state_since = event.state, event.at
            agent.states = [*agent.states, (event.state, event.at)][-KEPT_STATES:]
            agent.tries = None
            if event.state == "thinking" and agent.ask_id in state.asks:
                state.asks[agent.ask_id].written = True
        case e.ToolUsed():
            what = f"{event.tool} {event.summary}".strip()
            agent = state.agents[event.agent_id]
            agent.tool, agent.tries = what if event.status == "started" else "", None
            agent.told[mark_of_tool(event.tool_id, event.status, event.summary)] = event.seq
        case e.Thought():
            agent = state.agents[event.agent_id]
            agent.thought, agent.told[event.thought_id] = event.text[:SHOWN_THOUGHT], event.seq
            agent.tries = None
        case e.Retried():
            agent = state.agents[event.agent_id]
            agent.tries, agent.told[event.retry_id] = (event.attempt, event.max_retries, event.reason), event.seq
        case e.Compacted():
            state.agents[event.agent_id].told[event.compaction_id] = event.seq
        case e.PermissionAsked():
            agent = state.agents[event.agent_id]
            agent.permissions = [*agent.permissions, event.permission]
        case e.PermissionResolved():
            agent = state.agents[event.agent_id]
            agent.permissions = [one for one in agent.permissions if one.id != event.permission_id]
            if agent.ask_id in state.asks:  # the time that a person took is not the CLI's
                state.asks[agent.ask_id].since = event.at
        case e.ParticipationChanged():
            _participation(state, event)
        case e.AgentMoved():
            _moved(state.agents[event.agent_id], event)
        case e.OfficeFurnished():
            _furnished(state, event)
        case e.UsageReported():
            _used(state, event)
        case e.ContextWarning():
            state.agents[event.agent_id].warned = True
        case e.TaskUpdated():
            _task(state, event)
        case e.TurnStarted() | e.TurnRestarted() | e.TurnEnded() | e.AnswerHeld() | e.AgentMessage():
            _turn(state, event)
        case e.MessageAdded():
            _message(state, event.message)
        case e.MessageUpdated():
            _toggled(state.rooms[event.message.room_id], event.message)
        case e.ConversationBegun():
            room = state.rooms[event.room_id]
            room.messages = [msgspec.structs.replace(m, active=False) for m in room.messages]
            room.heard, room.topic, room.end, room.outcome, room.current_index = {}, "", None, None, 0
            room.concluding, room.failed = "", []
        case e.PendingAdded():
            state.message_count += 1
            state.rooms[event.message.room_id].pending.append(event.message)
        case e.PendingResolved():
            room = state.rooms[event.room_id]
            done = {*event.accepted, *event.dismissed}
            room.pending = [message for message in room.pending if message.id not in done]
        case e.RoomOutcome():
            state.message_count += 1
            state.rooms[event.room_id].outcome, state.rooms[event.room_id].concluding = event.message, ""
        case e.SessionRenewed():
            _renewed(state, event)
        case e.RoomCreated():
            state.room_count += 1
            guests = dict(event.guests)
            state.rooms[event.room_id] = Room(
                id=event.room_id, name=event.name, settings=event.settings, guests=guests
            )  # fmt: skip
        case e.RoomRenamed():
            state.rooms[event.room_id].name = event.name
        case e.RoomClosed():
            del state.rooms[event.room_id]
        case e.RoomUpdated():
            _room(state, event)
        case e.AutoModeStarted() | e.AutoModePaused() | e.AutoModeResumed() | e.AutoModeEnded():
            _auto(state, event)
        case e.RateLimited():
            state.limits[event.backend], state.limited_at[event.backend] = event.retry_at or 0.0, event.at
        case _:
            pass  # shown to people; nothing to remember


def _joined(state: State, event: e.AgentJoined) -> None:
    state.agent_count += 1
    state.agents[event.agent_id] = Agent(
        id=event.agent_id, name=event.name, role=event.role, backend=event.cli_backend, model=event.model,
        configured=event.configured,
        session_id=event.session_id, position=event.position, seat=event.seat, spawned_at=event.at,
        room_id=event.room_id, context_max=event.context_max, path=[event.position], walk_started=event.at,
        state_since=event.at,
    )  # fmt: skip
    if event.room_id is not None:
        state.rooms[event.room_id].agents.append(event.agent_id)


def _moved(agent: Agent, event: e.AgentMoved) -> None:
    agent.path, agent.position, agent.facing = event.path, event.path[-1], event.facing
    agent.walk_started, agent.ms_per_tile = event.started_at, event.ms_per_tile
    if event.reason != "turns":
        agent.errand = event.reason
        agent.strolls += event.reason == "wanders"


def _furnished(state: State, event: e.OfficeFurnished) -> None:
    state.plan = event.plan
    plan = plan_of(event.plan)
    for agent_id, seat in event.seats.items():
        agent, home = state.agents[agent_id], plan.homes[seat]
        agent.seat, agent.position, agent.facing = seat, plan.position(home.tile), home.facing
        agent.path, agent.walk_started, agent.errand = [agent.position], event.at, "seat"


def _renewed(state: State, event: e.SessionRenewed) -> None:
    agent = state.agents[event.agent_id]
    agent.session_id, agent.instruction = event.session_id, ""
    agent.renewals += 1
    agent.context_tokens, agent.warned = 0, False
    for room in state.rooms.values():
        if agent.id in room.heard or agent.id in room.agents:
            room.heard[agent.id] = Hearing(forgotten=room.count)


def _participation(state: State, event: e.ParticipationChanged) -> None:
    agent = state.agents[event.agent_id]
    agent.participating = event.participating
    room = state.rooms.get(agent.room_id or "")
    if room is not None:
        for listed in (room.mentioned, room.due):
            if agent.id in listed:
                listed.remove(agent.id)


def _left(state: State, event: e.AgentLeft) -> None:
    agent = state.agents.pop(event.agent_id)
    state.leaving = [gone for gone in state.leaving if characters.walks(gone, event.at)]
    if characters.walks(agent, event.at):
        state.leaving.append(agent)
    state.tasks = {task.id: task for task in state.tasks.values() if task.agent_id != agent.id}
    if agent.room_id in state.rooms:
        room = state.rooms[agent.room_id]
        place = room.agents.index(agent.id)
        room.agents.remove(agent.id)
        room.mentioned = [other for other in room.mentioned if other != agent.id]
        room.due = [other for other in room.due if other != agent.id]
        room.failed = [other for other in room.failed if other != agent.id]
        room.concluding = "" if room.concluding == agent.id else room.concluding
        room.current_index -= place < room.current_index
        room.current_index = room.current_index % len(room.agents) if room.agents else 0
        room.heard.pop(agent.id, None)
        room.skip_count.pop(agent.id, None)


def mark_of_tool(tool_id: str, status: str, summary: str) -> str:
    """By which it is known again: that a tool was begun, with what, and that it was done."""
    return f"{tool_id} {status} {summary}" if tool_id else ""


def _used(state: State, event: e.UsageReported) -> None:
    agent = state.agents[event.agent_id]
    room = state.rooms.get(agent.room_id or "")
    used = event.input_tokens + event.output_tokens - agent.input_tokens - agent.output_tokens
    if room is not None and not agent.alone:
        room.tokens += used
        room.cost_usd += event.cost_usd - agent.cost_usd
    if agent.alone or (room is not None and room.guests):
        spend(agent, event.at, used)
    agent.input_tokens, agent.output_tokens = event.input_tokens, event.output_tokens
    agent.context_tokens, agent.context_max = event.context_tokens, event.context_max
    agent.cost_usd = event.cost_usd
    agent.told[event.message_id] = event.seq


def _task(state: State, event: e.TaskUpdated) -> None:
    task = event.task
    if task.id not in state.tasks:
        state.task_count += 1
    agent = state.agents.get(task.agent_id)
    if task.status == "completed":
        state.tasks.pop(task.id, None)
        if agent is not None and agent.task_id == task.id:
            open_ones = [other.id for other in state.tasks.values() if other.agent_id == agent.id]
            agent.task_id = max(open_ones, default=None)
    else:
        state.tasks[task.id] = task
        if agent is not None:
            agent.task_id = task.id


def _turn(
    state: State, event: e.TurnStarted | e.TurnRestarted | e.TurnEnded | e.AnswerHeld | e.AgentMessage
) -> None:  # fmt: skip
    match event:
        case e.TurnStarted():
            room, agent = state.rooms[event.room_id], state.agents[event.agent_id]
            state.ask_count += 1
            state.asks[event.ask_id] = Ask(
                id=event.ask_id, agent_id=agent.id, room_id=room.id, turn=event.turn, heard=event.heard,
                upto=room.count, since=event.at, instruction=event.instruction,
                mentioned=event.mentioned, manual=event.manual, purpose=event.purpose,
            )  # fmt: skip
            agent.ask_id, agent.failed, agent.tool, agent.alone = event.ask_id, "", "", False
            agent.told, agent.thought, agent.tries = {}, "", None
            room.failed = [other for other in room.failed if other != agent.id]
            if event.purpose == "outcome":
                room.concluding = agent.id
            if event.manual:
                return
            if event.mentioned:
                room.mentioned = [other for other in room.mentioned if other != agent.id]
            else:
                room.current_index = room.agents.index(agent.id)
            if room.auto is not None:
                room.auto.hops = room.auto.hops + 1 if event.mentioned else 0
                room.auto.wave.append(event.ask_id)
                room.auto.next_at = None
        case e.TurnRestarted():
            ask = state.asks[event.ask_id]
            ask.restarted, ask.since = True, event.at
            agent = state.agents[ask.agent_id]
            agent.failed, agent.thought, agent.tries = "", "", None
        case e.AnswerHeld():
            state.asks[event.ask_id].answer = event.answer
        case e.AgentMessage():
            agent = state.agents[event.agentId]
            agent.last_message = event.text
            if agent.ask_id in state.asks and event.transcript.line:
                state.asks[agent.ask_id].lines.append(event.transcript.line)
        case e.TurnEnded():
            _turn_ended(state, event)


def _turn_ended(state: State, event: e.TurnEnded) -> None:
    ask = state.asks.pop(event.ask_id)
    room, agent = state.rooms[ask.room_id], state.agents[ask.agent_id]
    agent.ask_id, agent.tool = None, ""
    agent.failed = (event.detail or "failed") if event.outcome == "failed" else ""
    taken = event.outcome in ("answered", "skipped")
    if taken:
        agent.instruction = ask.instruction or agent.instruction
        _heard(room, ask)
        if ask.manual:
            _owes(room, agent)
        elif not ask.mentioned:
            room.current_index = (room.agents.index(agent.id) + 1) % len(room.agents)
        room.skip_count[agent.id] = room.skip_count.get(agent.id, 0) + 1 if event.outcome == "skipped" else 0
    else:
        _not_heard(room, ask)
        if ask.manual and event.outcome == "failed":
            if ask.purpose == "turn":
                room.due = [other for other in room.due if other != agent.id]
            room.failed.append(agent.id)
        if ask.mentioned and agent.participating and room.auto is not None:  # it is still to answer
            room.mentioned = [other for other in room.agents if other in room.mentioned or other == agent.id]
    if room.auto is not None and event.ask_id in room.auto.wave:
        auto = room.auto
        auto.wave.remove(event.ask_id)
        if taken:
            auto.turns += 1
            auto.attempt = 0
            if event.outcome == "skipped" and agent.id not in auto.skipped:
                auto.skipped.append(agent.id)


def _heard(room: Room, ask: Ask) -> None:
    """Its session holds what the prompt held, and what it said itself; some of it may have been changed meanwhile."""
    hearing = room.heard.setdefault(ask.agent_id, Hearing())
    told = set(ask.heard)
    first = max(hearing.to, room.count - len(room.messages))
    for place, m in enumerate(room.since(first)[: ask.upto - first], first):
        held = m.id in told or (m.author == ask.agent_id and place >= hearing.forgotten)
        if m.type in ("user", "agent") and m.active != held and (held or m.author != e.TOPIC):
            hearing.differs.append(m.id)
    hearing.to = ask.upto
    hearing.besides = [message for message in hearing.besides if message not in told]


def _not_heard(room: Room, ask: Ask) -> None:
    """The turn came to nothing, and so it is told again; but its CLI may remember it."""
    if ask.written:
        hearing = room.heard.setdefault(ask.agent_id, Hearing())
        hearing.besides = [*dict.fromkeys([*hearing.besides, *ask.heard])]


def _toggled(room: Room, message: e.Message) -> None:
    place = next(n for n, m in enumerate(room.messages) if m.id == message.id)
    was, room.messages[place] = room.messages[place], message
    for hearing in room.heard.values():
        if was.active != message.active and place + room.count - len(room.messages) < hearing.to:
            if message.id in hearing.differs:
                hearing.differs.remove(message.id)
            else:
                hearing.differs.append(message.id)


def _owes(room: Room, agent: Agent) -> None:
    """Somebody has answered, and owes another answer only where the person has said something since."""
    since = room.since(room.heard[agent.id].to)
    if not any(m.type == "user" and m.author == e.PERSON and m.active for m in since):
        room.due = [other for other in room.due if other != agent.id]


def _message(state: State, message: e.Message) -> None:
    number = int(message.id.removeprefix("msg_"))
    state.message_count = max(state.message_count, number)  # one that was pending has its number already
    room = state.rooms[message.room_id]
    room.messages.append(message)
    room.count += 1
    if room.auto is not None and message.type in ("user", "agent"):
        room.auto.messages += message.type == "agent"
        room.auto.skipped = []
    if len(room.messages) > KEPT_MESSAGES:
        gone = room.messages.pop(0)
        for hearing in room.heard.values():
            if gone.id in hearing.differs:
                hearing.differs.remove(gone.id)


def _room(state: State, event: e.RoomUpdated) -> None:
    room = state.rooms[event.room_id]
    for agent_id in set(room.agents) - set(event.agents):
        state.agents[agent_id].room_id = None
    for agent_id in event.agents:
        state.agents[agent_id].room_id = room.id
    room.agents = list(event.agents)
    room.failed = [agent_id for agent_id in room.failed if agent_id in event.agents]
    room.concluding = room.concluding if room.concluding in event.agents else ""
    room.skip_count = {agent_id: count for agent_id, count in room.skip_count.items() if agent_id in event.agents}
    room.current_index, room.mentioned, room.due = event.current_index, list(event.mentioned), list(event.due)
    if room.auto is not None:
        room.auto.next_at = event.next_response_at
        room.auto.pattern = event.settings.interaction_pattern
        room.auto.ends_at += (event.settings.max_duration_ms - room.settings.max_duration_ms) / 1000
    room.settings = event.settings


def _auto(
    state: State, event: e.AutoModeStarted | e.AutoModePaused | e.AutoModeResumed | e.AutoModeEnded
) -> None:  # fmt: skip
    room = state.rooms[event.roomId]
    match event:
        case e.AutoModeStarted():
            room.end = None
            room.skip_count = {}
            room.topic, room.due, room.failed, room.mentioned = event.topic, [], [], []
            room.current_index, room.outcome, room.concluding = 0, None, ""
            room.auto = Auto(
                topic=event.topic, started_at=event.at, ends_at=event.endsAt, pattern=event.interactionPattern,
                unattended=event.unattended,
            )  # fmt: skip
        case e.AutoModePaused():
            assert room.auto is not None
            if room.auto.paused is None:
                room.auto.paused_at = event.at
            room.auto.paused, room.auto.retry_at, room.auto.next_at = event.reason, event.retryAt, None
            room.auto.detail, room.auto.own_fault = event.detail, event.own_fault
        case e.AutoModeResumed():
            auto = room.auto
            assert auto is not None
            if auto.paused is not None:
                auto.paused_ms += int((event.at - auto.paused_at) * 1000)
            auto.paused, auto.retry_at, auto.ends_at, auto.attempt = None, None, event.endsAt, event.attempt
            _forgive(state, room)
            for ask_id in auto.wave:
                state.asks[ask_id].since = event.at
        case e.AutoModeEnded():
            for ask_id in event.kept:
                state.asks[ask_id].manual = True
            room.auto, room.mentioned = None, []
            room.end = event
            _forgive(state, room)


def _forgive(state: State, room: Room) -> None:
    for agent_id in room.agents:
        state.agents[agent_id].failed = ""


def clone(state: State) -> State:
    """A copy that shares only what cannot change, such as messages."""
    copied: State = _copied(state)
    return copied


def _copied(value: Any) -> Any:
    if _changes(value):
        return type(value)(**{name: _copied(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_copied(one) for one in value] if value and _changes(value[0]) else list(value)
    return value


def _changes(value: Any) -> bool:
    return isinstance(value, msgspec.Struct) and not value.__struct_config__.frozen
