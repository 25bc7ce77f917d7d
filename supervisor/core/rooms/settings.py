"""What settings may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor import events as e


def problem_of(settings: e.Settings, patterns: tuple[str, ...]) -> str:
    """What is wrong with settings, in words; nothing if they are fine."""
    if not settings.keyword.strip() or len(settings.keyword) > 100:
        return "The keyword is empty or too long: give a word that nobody says by accident."
    if not 100 <= settings.max_duration_ms <= 7 * 24 * 3600 * 1000:
        return "The duration has to lie between 0.1 seconds and a week."
    if min(settings.max_messages, settings.min_turns, settings.max_tokens, settings.max_cost_usd) < 0:
        return "Limits cannot be negative; 0 means none."
    if not 0 <= settings.response_delay <= 30:
        return "The response delay has to lie between 0 and 30 seconds."
    if not 1 <= settings.permission_wait <= 3600:
        return "permission_wait: expected a number of seconds from 1 to 3600."
    if not 1 <= settings.max_wait_time <= 24 * 3600:
        return "The longest wait has to lie between 1 second and a day."
    if settings.interaction_pattern not in patterns:
        return f"There is no pattern {settings.interaction_pattern!r}; choose one of {', '.join(patterns)}."
    return ""
