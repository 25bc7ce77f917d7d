"""What ends a conversation."""

from __future__ import annotations

import pytest

from supervisor.core.rooms.endings import (
    AllSkipped,
    ContextFull,
    Elapsed,
    Ending,
    Keyword,
    Messages,
    Spent,
    View,
)


@pytest.mark.parametrize(
    ("ending", "view", "reason"),
    [
        (Keyword(), View(keyword_said=True), "keyword"),
        (Keyword(), View(), None),
        (Keyword(min_turns=4), View(keyword_said=True, turns=3), None),
        (Keyword(min_turns=4), View(keyword_said=True, turns=4), "keyword"),
        (Elapsed(300), View(elapsed=299.9), None),
        (Elapsed(300), View(elapsed=300), "timer"),
        (Messages(0), View(messages=10_000), None),
        (Messages(3), View(messages=2), None),
        (Messages(3), View(messages=3), "message_limit"),
        (AllSkipped(), View(skipped=2, participants=3), None),
        (AllSkipped(), View(skipped=3, participants=3), "all_skipped"),
        (AllSkipped(), View(skipped=0, participants=0), None),
        (ContextFull(), View(context_share=0.94), None),
        (ContextFull(), View(context_share=0.95), "context_limit"),
        (Spent(), View(tokens=10**9, cost_usd=10**9), None),
        (Spent(tokens=100), View(tokens=100), "budget"),
        (Spent(cost_usd=0.5), View(cost_usd=0.49), None),
        (Spent(cost_usd=0.5), View(cost_usd=0.5), "budget"),
    ],
)
def test_each_ending(ending: Ending, view: View, reason: str | None) -> None:
    """A6, A7, A10, D7, D8, D12."""
    assert ending.met(view) == reason


def test_they_combine() -> None:
    """D7: with or the first that is met, with and all of them."""
    either = Keyword() | Messages(3) | Elapsed(10)
    assert either.met(View(messages=3, elapsed=10)) == "message_limit"
    assert either.met(View()) is None
    both = AllSkipped() & Elapsed(60)
    assert both.met(View(skipped=2, elapsed=59)) is None
    assert both.met(View(skipped=2, elapsed=60)) == "timer"
    assert (Keyword() | both).met(View(keyword_said=True)) == "keyword"


def test_an_ending_without_a_condition_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="has to say when"):
        Ending().met(View())
