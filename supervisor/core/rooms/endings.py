"""What ends a conversation, as small objects that combine: `Keyword() | Messages(20) | AllSkipped() & Elapsed(60)`."""

from __future__ import annotations

from typing import NamedTuple

from supervisor.events import EndReason


class View(NamedTuple):
    """The figures of a conversation that an ending may look at."""

    turns: int = 0
    messages: int = 0
    elapsed: float = 0.0
    keyword_said: bool = False
    skipped: int = 0
    participants: int = 2
    context_share: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0


class Ending:
    """Says whether a conversation is over, and why."""

    def met(self, view: View) -> EndReason | None:
        raise TypeError(f"{type(self).__name__} has to say when it is met.")

    def __or__(self, other: Ending) -> Ending:
        return Either(self, other)

    def __and__(self, other: Ending) -> Ending:
        return Both(self, other)


class Either(Ending):
    """The first that is met, in the order written."""

    def __init__(self, *parts: Ending) -> None:
        self.parts = parts

    def met(self, view: View) -> EndReason | None:
        return next((reason for part in self.parts if (reason := part.met(view))), None)


class Both(Ending):
    """All of them at once; the last one's reason is given, because it was the one still missing."""

    def __init__(self, *parts: Ending) -> None:
        self.parts = parts

    def met(self, view: View) -> EndReason | None:
        reasons = [part.met(view) for part in self.parts]
        return reasons[-1] if all(reasons) else None


class Keyword(Ending):
    """Somebody said the keyword, and enough turns were taken before (A6, A10)."""

    def __init__(self, min_turns: int = 0) -> None:
        self.min_turns = min_turns

    def met(self, view: View) -> EndReason | None:
        return "keyword" if view.keyword_said and view.turns >= self.min_turns else None


class Elapsed(Ending):
    """The failsafe timer (A7), in seconds of running time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def met(self, view: View) -> EndReason | None:
        return "timer" if view.elapsed >= self.seconds else None


class Messages(Ending):
    """So many answers; 0 means no limit (D8)."""

    def __init__(self, most: int) -> None:
        self.most = most

    def met(self, view: View) -> EndReason | None:
        return "message_limit" if self.most and view.messages >= self.most else None


class AllSkipped(Ending):
    """A full round in which everybody who takes part skipped (D7)."""

    def met(self, view: View) -> EndReason | None:
        return "all_skipped" if view.participants and view.skipped >= view.participants else None


class ContextFull(Ending):
    """Somebody's context window is nearly full (D12)."""

    def __init__(self, share: float = 0.95) -> None:
        self.share = share

    def met(self, view: View) -> EndReason | None:
        return "context_limit" if view.context_share >= self.share else None


class Spent(Ending):
    """So many tokens or dollars; 0 means no limit."""

    def __init__(self, tokens: int = 0, cost_usd: float = 0.0) -> None:
        self.tokens = tokens
        self.cost_usd = cost_usd

    def met(self, view: View) -> EndReason | None:
        over = (self.tokens and view.tokens >= self.tokens) or (self.cost_usd and view.cost_usd >= self.cost_usd)
        return "budget" if over else None
