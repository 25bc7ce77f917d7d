"""How events change what agents know of the office around them, and what they are about by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor import events as e
from supervisor.core.state import KEPT_NEWS, KEPT_OVERHEARD, KEPT_TALK, Decision, News, Talk

if TYPE_CHECKING:
    from supervisor.core.state import Agent, State

HOUR, SPAN = 3600.0, 300.0
NOTICED: dict[str, str] = {
    "enters": "came in", "meets": "went to the meeting table", "wanders": "took a few steps", "decides": "got up",
}  # fmt: skip

Lived = (
    e.DecisionStarted | e.AgentDecided | e.DecisionLoopSet | e.AgentSpoke | e.AgentAcknowledged | e.AgentMoved
    | e.AgentLeft | e.TaskUpdated
)  # fmt: skip


def remember(state: State, event: Lived) -> None:
    match event:
        case e.DecisionStarted():
            agent = state.agents[event.agent_id]
            state.decision_count += 1
            agent.decision = Decision(ask_id=event.ask_id, since=event.at, task_id=agent.task_id)
            agent.alone, agent.told = True, {}
            agent.decisions = [*(at for at in agent.decisions if at > event.at - HOUR), event.at]
            agent.replies = agent.replies + 1 if event.heard_from else 0
            agent.heard_from, agent.resumes, agent.looked_up = "", False, event.seq
        case e.AgentDecided():
            _decided(state, event)
        case e.DecisionLoopSet():
            if event.agent_id is None:
                state.decides = event.on
            else:
                state.agents[event.agent_id].decides = event.on
        case e.AgentSpoke() if event.room_id is None:
            _spoke(state, event)
        case e.AgentAcknowledged() if event.until:
            agent = state.agents[event.agent_id]
            agent.busy_until, agent.resumes = event.until, event.resumes
            agent.heard_from = event.sender if event.answers else ""
        case e.AgentMoved() if event.reason in NOTICED:
            _notice(state, event.seq, event.agent_id, NOTICED[event.reason])
        case e.AgentLeft():
            _notice(state, event.seq, event.agent_id, "left the office")
        case e.TaskUpdated() if event.task.status == "completed":
            _notice(state, event.seq, event.task.agent_id, f"finished a task: {event.task.task_name[:100]}")
        case _:
            pass


def _decided(state: State, event: e.AgentDecided) -> None:
    agent = state.agents[event.agent_id]
    agent.decision, agent.decided_at = None, event.at
    if event.outcome != "interrupted":
        agent.waits = agent.waits + 1 if event.action == "wait" else 0


def spend(agent: Agent, at: float, used: int) -> None:
    """A few sums are enough to say what an hour has cost."""
    last = agent.spent[-1] if agent.spent else (0.0, 0)
    together = at - last[0] < SPAN
    recent = [one for one in agent.spent[: -1 if together else None] if one[0] > at - HOUR]
    agent.spent = [*recent, (last[0], last[1] + used) if together else (at, used)]


def _spoke(state: State, event: e.AgentSpoke) -> None:
    speaker = state.agents[event.agent_id]
    speaker.last_message, speaker.busy_until = event.content, event.until
    talk = Talk(
        at=event.at, agent_id=speaker.id, name=speaker.name, role=speaker.role, content=event.content,
        recipients=event.recipients,
    )  # fmt: skip
    state.talk = [*state.talk, talk][-KEPT_TALK:]
    for agent_id in (speaker.id, *event.recipients):
        if agent_id in state.agents:
            agent = state.agents[agent_id]
            agent.overheard = [*agent.overheard, talk][-KEPT_OVERHEARD:]


def _notice(state: State, seq: int, agent_id: str, what: str) -> None:
    name = state.agents[agent_id].name if agent_id in state.agents else ""
    if name:
        state.news = [*state.news, News(seq=seq, agent_id=agent_id, text=f"{name} {what}.")][-KEPT_NEWS:]
