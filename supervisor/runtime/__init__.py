"""The one loop: drain the inbox, decide, commit, publish, carry out; and the agents that it drives."""

from .runtime import AgentRuntime as AgentRuntime
