"""Tables that follow from events: what each event writes beside itself, in the same transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor import events as e

if TYPE_CHECKING:
    from collections.abc import Callable

Projection = tuple[str, list[tuple[Any, ...]]]


def _message(event: e.MessageAdded) -> Projection:
    m = event.message
    source = e.encoder.encode(m.transcript).decode() if m.transcript else None
    row = (m.id, event.seq, m.room_id, m.type, m.author, m.author_name, m.content, m.active, m.at, source)
    return "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [row]


def _toggled(event: e.MessageUpdated) -> Projection:
    return "UPDATE messages SET active = ? WHERE id = ?", [(event.message.active, event.message.id)]


def _spoken(event: e.AgentSpoke) -> Projection:
    """What an agent said; outside of rooms also what each of those heard who were near."""
    statement = "INSERT INTO agent_conversations (agent_id, timestamp, sender, content, recipient) VALUES (?,?,?,?,?)"
    rows = [(event.agent_id, event.at, event.agent_id, event.content, ",".join(event.recipients))]
    if event.room_id is None:
        rows += [(to, event.at, event.agent_id, event.content, to) for to in event.recipients]
    return statement, rows


def _found_message(event: e.MessageAdded) -> Projection:
    m = event.message
    row = (m.content, m.author_name, m.author, m.room_id, m.id, m.at)
    return "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)", [row] if m.type in ("agent", "user") else []


def _found_speech(event: e.AgentSpoke) -> Projection:
    """In a room it is a message already."""
    row = (event.content, event.name, event.agent_id, "", "", event.at)
    return "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)", [row] if event.room_id is None else []


def _prompted(event: e.TurnStarted) -> Projection:
    """One row for each message that the agent was actually prompted with."""
    statement = (
        "INSERT INTO agent_conversations (agent_id, timestamp, sender, content, recipient) "
        "SELECT ?, ?, author, content, ? FROM messages WHERE id = ?"
    )
    return statement, [(event.agent_id, event.at, event.agent_id, message) for message in event.heard]


def _state(event: e.AgentStateChanged) -> Projection:
    statement = "INSERT INTO agent_state_history (agent_id, old_state, new_state, timestamp) VALUES (?, ?, ?, ?)"
    return statement, [(event.agent_id, event.old_state, event.state, event.at)]


def _task(event: e.TaskUpdated) -> Projection:
    t = event.task
    row = (t.id, t.agent_id, t.task_name, t.status, t.created_at, t.completed_at)
    return "INSERT OR REPLACE INTO agent_tasks VALUES (?, ?, ?, ?, ?, ?)", [row]


def _begun(event: e.ConversationBegun) -> Projection:
    return "UPDATE messages SET active = 0 WHERE room_id = ?", [(event.room_id,)]


def _renamed(event: e.RoomRenamed) -> Projection:
    return "UPDATE rooms SET name = ? WHERE id = ?", [(event.name, event.room_id)]


def _room(event: e.RoomCreated) -> Projection:
    return "INSERT INTO rooms VALUES (?, ?, ?, NULL)", [(event.room_id, event.name, event.at)]


def _room_closed(event: e.RoomClosed) -> Projection:
    return "UPDATE rooms SET closed_at = ? WHERE id = ?", [(event.at, event.room_id)]


PROJECTIONS: dict[type, tuple[Callable[[Any], Projection], ...]] = {
    e.MessageAdded: (_message, _found_message),
    e.MessageUpdated: (_toggled,),
    e.AgentSpoke: (_spoken, _found_speech),
    e.TurnStarted: (_prompted,),
    e.AgentStateChanged: (_state,),
    e.TaskUpdated: (_task,),
    e.RoomCreated: (_room,),
    e.RoomClosed: (_room_closed,),
    e.RoomRenamed: (_renamed,),
    e.ConversationBegun: (_begun,),
}
