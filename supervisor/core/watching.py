"""What is seen of a CLI between a prompt and the words: tools, thoughts, further tries, and what it all uses.

After a crash all of an open turn is read again; what was told of it once is not told twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor import events as e

from . import inputs
from .apply import mark_of_tool
from .parts import Parts
from .rooms import speech

if TYPE_CHECKING:
    from .state import Agent

LONGEST_THOUGHT = 10_000


class Watching(Parts):
    """Facts into events."""

    def _watch(self, agent: Agent, seen: inputs.Inside) -> None:
        match seen:
            case inputs.ToolSeen():
                self._show_tool(agent, seen)
            case inputs.ThoughtSeen() | inputs.RetrySeen() | inputs.CompactionSeen():
                self._show_inside(agent, seen)
            case inputs.WindowSeen():
                self._measure(agent, seen.tokens)
            case inputs.UsageSeen() | inputs.CostSeen():
                self._count(agent, seen)

    def _show_tool(self, agent: Agent, seen: inputs.ToolSeen) -> None:
        room = self.state.rooms.get(agent.room_id or "")
        shown = speech.strip(seen.summary, (room.settings if room else self.rules.settings).keyword)
        if seen.tool_id and mark_of_tool(seen.tool_id, seen.status, shown) in agent.told:
            return
        self._emit(e.ToolUsed(
            agent_id=agent.id, tool=seen.tool, status=seen.status, summary=shown, tool_id=seen.tool_id
        ))  # fmt: skip

    def _show_inside(self, agent: Agent, seen: inputs.ThoughtSeen | inputs.RetrySeen | inputs.CompactionSeen) -> None:
        """What goes on in a CLI between the prompt and the words."""
        event: e.Thought | e.Retried | e.Compacted
        match seen:
            case inputs.ThoughtSeen(text=text, thought_id=name):
                room = self.state.rooms.get(agent.room_id or "")
                shown = speech.strip(text, (room.settings if room else self.rules.settings).keyword)
                event = e.Thought(agent_id=agent.id, text=shown[:LONGEST_THOUGHT], thought_id=name)
            case inputs.RetrySeen(retry_id=name):
                event = e.Retried(
                    agent_id=agent.id, attempt=seen.attempt, max_retries=seen.max_retries, delay_ms=seen.delay_ms,
                    reason=seen.reason, retry_id=name,
                )  # fmt: skip
            case inputs.CompactionSeen(compaction_id=name):
                event = e.Compacted(agent_id=agent.id, before_tokens=seen.before_tokens, compaction_id=name)
        if not (name and name in agent.told):
            self._emit(event)

    def _measure(self, agent: Agent, window: int) -> None:
        """How much its model can hold, unless somebody has said it."""
        if self.rules.backends[agent.backend].context_max is None and window not in (0, agent.context_max):
            self._emit(e.UsageReported(
                agent_id=agent.id, input_tokens=agent.input_tokens, output_tokens=agent.output_tokens,
                context_tokens=agent.context_tokens, context_max=window, cost_usd=agent.cost_usd,
            ))  # fmt: skip

    def _count(self, agent: Agent, seen: inputs.UsageSeen | inputs.CostSeen) -> None:
        usage = seen if isinstance(seen, inputs.UsageSeen) else None
        if usage and usage.message_id and usage.message_id in agent.told:
            return
        self._emit(e.UsageReported(
            agent_id=agent.id, input_tokens=agent.input_tokens + (usage.input_tokens if usage else 0),
            output_tokens=agent.output_tokens + (usage.output_tokens if usage else 0),
            context_tokens=usage.context_tokens if usage else agent.context_tokens, context_max=agent.context_max,
            cost_usd=agent.cost_usd + (0.0 if isinstance(seen, inputs.UsageSeen) else seen.cost_usd),
            message_id=usage.message_id if usage else "",
        ))  # fmt: skip
        if agent.context_max and agent.context_tokens >= 0.8 * agent.context_max and not agent.warned:
            self._emit(e.ContextWarning(
                agent_id=agent.id, context_tokens=agent.context_tokens, context_max=agent.context_max
            ))  # fmt: skip
