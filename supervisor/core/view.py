"""What a viewer sees first: the whole of the present, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from supervisor import events as e

from .office.characters import tile_at, walks
from .office.patterns import PATTERNS

if TYPE_CHECKING:
    from .core import Core
    from .state import Agent, Hearing, Room, State

SHOWN_MESSAGES = 200


def snapshot(core: Core, now: float) -> dict[str, Any]:
    state, rules = core.state, core.rules
    return {
        "agents": [agent(core, one, now) for one in state.agents.values()],
        "leaving": [agent(core, one, now) for one in state.leaving if walks(one, now)],
        "talk": msgspec.to_builtins(state.talk),
        "decides": state.decides,
        "office": core.plan.view(),
        "tasks": [msgspec.to_builtins(task) for task in state.tasks.values()],
        "rooms": [room(state, one) for one in state.rooms.values()],
        "options": {
            "backends": list(rules.backends),
            "default_backend": rules.default_backend,
            "patterns": [{"name": name, "says": pattern.says} for name, pattern in PATTERNS.items()],
            "templates": [{"name": name, "says": one.says} for name, one in rules.templates.items()],
            "limits": {"agents": rules.most_agents, "rooms": rules.most_rooms},
            "settings": full(rules.settings),
            "life": msgspec.to_builtins(rules.life),
            "free": [name for name, facts in rules.backends.items() if facts.free],
        },
    }


def agent(core: Core, one: Agent, now: float) -> dict[str, Any]:
    task = core.state.tasks.get(one.task_id or 0)
    return {
        "agent_id": one.id, "name": one.name, "role": one.role, "cli_backend": one.backend, "model": one.model,
        "state": one.state, "position": msgspec.to_builtins(tile_at(one, now)), "seat": one.seat,
        "room_id": one.room_id,
        "path": msgspec.to_builtins(one.path), "started_at": one.walk_started, "ms_per_tile": one.ms_per_tile,
        "facing": one.facing, "reason": one.errand, "state_since": one.state_since,
        "current_task": task.task_name if task else None, "active": True, "participating": one.participating,
        "thinking": one.state == "thinking", "input_tokens": one.input_tokens, "output_tokens": one.output_tokens,
        "context_tokens": one.context_tokens, "context_max": one.context_max, "cost_usd": one.cost_usd,
        "last_message": one.last_message, "spawned_at": one.spawned_at,
        "decides": core.wants_to_decide(one), "deciding": one.decision is not None,
        "asked": one.ask_id is not None,
        "permissions": [msgspec.to_builtins(permission) for permission in one.permissions],
        "tool": one.tool, "thought": one.thought, "tries": one.tries,
        "failed": one.failed, "states": [{"state": s, "at": at} for s, at in one.states],
    }  # fmt: skip


def room(state: State, one: Room) -> dict[str, Any]:
    auto = one.auto
    waiting = [ask.agent_id for ask in state.asks.values() if ask.room_id == one.id]
    return {
        "room_id": one.id, "name": one.name, "mode": "auto" if auto else "manual", "agents": one.agents,
        "current_index": one.current_index, "waiting_for_response": waiting[0] if waiting else None,
        "waiting_count": len(waiting), "skip_count": one.skip_count,
        "next_response_at": auto.next_at if auto else None, "settings": full(one.settings),
        "pending": msgspec.to_builtins(one.pending),
        "mentioned": one.mentioned, "due": one.due, "failed": one.failed, "topic": one.topic,
        "concluding": one.concluding, "tokens": one.tokens, "cost_usd": one.cost_usd,
        "heard": {agent_id: heard(one, hearing) for agent_id, hearing in one.heard.items()},
        "outcome": msgspec.to_builtins(one.outcome), "guests": msgspec.to_builtins(one.guests),
        "end": msgspec.to_builtins(one.end), "messages": msgspec.to_builtins(one.messages[-SHOWN_MESSAGES:]),
        "auto": {
            "topic": auto.topic, "startedAt": auto.started_at, "endsAt": auto.ends_at, "turns": auto.turns,
            "interactionPattern": auto.pattern, "paused": auto.paused, "retryAt": auto.retry_at,
            "pausedAt": auto.paused_at if auto.paused else None, "detail": auto.detail,
        } if auto else None,
    }  # fmt: skip


def heard(room: Room, hearing: Hearing) -> dict[str, Any]:
    """The last message that an agent was told, and those before it where that is not as they count."""
    place = hearing.to - room.count + len(room.messages) - 1
    return {"to": room.messages[place].id if place >= 0 else "", "differs": hearing.differs}


def full(settings: e.Settings) -> dict[str, Any]:
    """All of them, the defaults included."""
    return {field: getattr(settings, field) for field in settings.__struct_fields__}
