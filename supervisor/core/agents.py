"""What an agent may do next. The law:

An agent is in one of four states, and changes only along this table. Entering `listening` acknowledges what was
heard. Whatever stands in no row is refused, logged and answered with an error; nothing is queued for later. Only
an idle agent walks on command.

    idle      → listening (a message), thinking (a decision of its own)
    listening → thinking (the prompt was given), idle (stop, timer, failure, exit)
    thinking  → speaking (the first words), listening (interrupted by a message), idle (skip, wait, stop, failure)
    speaking  → idle (the turn is over)
"""

from __future__ import annotations

from supervisor.events import AgentState

NEXT: dict[AgentState, frozenset[AgentState]] = {
    "idle": frozenset({"listening", "thinking"}),
    "listening": frozenset({"thinking", "idle"}),
    "thinking": frozenset({"speaking", "listening", "idle"}),
    "speaking": frozenset({"idle"}),
}


def allowed(old: AgentState, new: AgentState) -> bool:
    return new in NEXT[old]


def way(old: AgentState, new: AgentState) -> list[AgentState] | None:
    """The states to go through, the new one last; None where no way leads there without a turn ending."""
    if old == new:
        return []
    if allowed(old, new):
        return [new]
    return ["thinking", new] if allowed(old, "thinking") and allowed("thinking", new) else None


def may_move(state: AgentState) -> bool:
    return state == "idle"
