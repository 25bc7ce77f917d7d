"""The ways to meet, by name."""

from .base import InteractionPattern
from .meet_at_table import MeetAtTable
from .stay_at_desk import StayAtDesk
from .walk_to_agent import WalkToAgent

PATTERNS: dict[str, InteractionPattern] = {
    pattern.name: pattern
    for pattern in (
        WalkToAgent(),
        StayAtDesk(),
        MeetAtTable(),
    )
}
