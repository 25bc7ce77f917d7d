"""One person on the plan: where it is at a moment of its walk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.core.state import Agent
    from supervisor.events import Position

MS_PER_TILE = 333
"""Three tiles a second."""


def step_at(agent: Agent, now: float) -> int:
    """How many tiles of its way lie behind it; the last one is where it rests."""
    done = math.floor((now - agent.walk_started) * 1000 / agent.ms_per_tile + 1e-6)
    return min(max(0, done), len(agent.path) - 1)


def tile_at(agent: Agent, now: float) -> Position:
    return agent.path[step_at(agent, now)] if agent.path else agent.position


def arrives_at(agent: Agent) -> float:
    return agent.walk_started + max(0, len(agent.path) - 1) * agent.ms_per_tile / 1000


def walks(agent: Agent, now: float) -> bool:
    return now < arrives_at(agent)
