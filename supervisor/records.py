"""What an agent was seen to do: one vocabulary for every CLI.

Decoders turn transcript lines and output lines into these; whatever a particular CLI calls it, a text is a `Text` and
the end of a turn is a `TurnEnd`. Records from a transcript carry the byte `offset` of their line, so that everything
shown can be traced back to the raw line it came from; records from stdout have none.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Signal = Literal["transcript", "stdout", "exit", "watchdog", "stop"]
"""What told us that a turn is over."""

FailureKind = Literal[
    "authentication", "billing", "rate_limit", "overloaded", "context", "invalid_request", "server", "network",
    "refused", "session", "unknown",
]  # fmt: skip


class Record(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Something that was seen; `uuid` names the line, where the CLI names its lines."""

    offset: int | None = None
    uuid: str = ""


class Ready(Record, frozen=True, kw_only=True):
    """The CLI is up and listens."""

    version: str = ""
    model: str = ""
    session: str = ""
    """What the CLI itself calls the session, where it chooses the name."""


class SessionLost(Record, frozen=True, kw_only=True):
    """The CLI cannot take up its session again: whatever it knew is gone."""

    reason: str


class PromptTaken(Record, frozen=True, kw_only=True):
    """The CLI acknowledged prompts on its output, before they stand in the transcript."""

    ask_ids: tuple[str, ...]
    state: Literal["queued", "started", "completed", "cancelled"]


class PromptSeen(Record, frozen=True, kw_only=True):
    """Prompts stand in the transcript: they arrived, for certain."""

    ask_ids: tuple[str, ...]
    text: str = ""


class Text(Record, frozen=True, kw_only=True):
    """A block of what the assistant said."""

    text: str
    message_id: str = ""


class Delta(Record, frozen=True, kw_only=True):
    """A piece of a text that is still being said."""

    text: str
    message_id: str = ""


class Thinking(Record, frozen=True, kw_only=True):
    text: str
    message_id: str = ""


class ToolUse(Record, frozen=True, kw_only=True):
    tool: str
    tool_id: str
    summary: str
    message_id: str = ""


class ToolResult(Record, frozen=True, kw_only=True):
    tool_id: str
    summary: str
    is_error: bool = False


class PermissionAsked(Record, frozen=True, kw_only=True):
    """The CLI waits until somebody allows or denies it something."""

    permission_id: str
    tool: str
    summary: str
    tool_id: str = ""


class PermissionGone(Record, frozen=True, kw_only=True):
    """The CLI does not wait for that any more."""

    permission_id: str


class Usage(Record, frozen=True, kw_only=True):
    """Tokens of one message, counted once; `context_tokens` is what the model had to read, answer included."""

    message_id: str
    input_tokens: int
    output_tokens: int
    context_tokens: int


class Window(Record, frozen=True, kw_only=True):
    """How many tokens the model can hold, where the CLI says it."""

    tokens: int


class Retry(Record, frozen=True, kw_only=True):
    """The CLI tries again by itself."""

    attempt: int
    max_retries: int
    delay_ms: int
    kind: FailureKind
    status: int | None = None


class RateLimit(Record, frozen=True, kw_only=True):
    """A usage limit; `resets_at` is Unix time."""

    status: str
    resets_at: float | None
    limit: str = ""
    utilization: float | None = None


class Failure(Record, frozen=True, kw_only=True):
    """The model could not answer, and the CLI gave up."""

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    """In how many seconds it may go better, where the CLI says it."""


class Compacted(Record, frozen=True, kw_only=True):
    """The CLI shortened its own history."""

    before_tokens: int | None = None


class Interrupted(Record, frozen=True, kw_only=True):
    """The turn was broken off on request."""


class MessageEnd(Record, frozen=True, kw_only=True):
    """A message of the assistant is complete and the turn could end with it."""

    message_id: str


class TurnEnd(Record, frozen=True, kw_only=True):
    """The CLI says that a turn is over; which prompts it was for, where it says so."""

    ask_ids: tuple[str, ...] = ()
    outcome: Literal["answered", "failed", "interrupted"]
    text: str = ""
    cost_usd: float | None = None
    unasked: bool = False


class Damage(Record, frozen=True, kw_only=True):
    """Bytes that could not be read: where they are, how many, and why. Nothing around them was lost."""

    length: int
    reason: str
    source: Literal["transcript", "stdout"] = "transcript"


class Note(Record, frozen=True, kw_only=True):
    """Something a person may want to know about the driving itself."""

    text: str


AnyRecord = (
    Ready | SessionLost | PromptTaken | PromptSeen | Text | Delta | Thinking | ToolUse | ToolResult | PermissionAsked
    | PermissionGone | Usage | Window | Retry | RateLimit | Failure | Compacted | Interrupted | MessageEnd | TurnEnd
    | Damage | Note
)  # fmt: skip
