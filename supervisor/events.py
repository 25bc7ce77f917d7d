"""Every fact that can happen, in one vocabulary: the database, the socket, a replay and the tests speak it.

`seq` orders events for ever; `at` is Unix time. Wire names are the tags: those about auto mode as such are camelCase,
all others snake_case. A frame without `seq` is transient: shown while it happens, and never stored.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

AgentState = Literal["idle", "listening", "thinking", "speaking"]
Facing = Literal["up", "down", "left", "right"]
Mode = Literal["auto", "manual"]
TurnOutcome = Literal["answered", "skipped", "failed", "interrupted"]
EndReason = Literal[
    "keyword", "timer", "user", "agent_exit", "all_skipped", "message_limit", "context_limit", "budget", "error"
]
Purpose = Literal["turn", "outcome"]
MessageType = Literal["user", "agent", "system", "error", "pending"]
PauseReason = Literal["failure", "rate_limit", "max_wait", "suspended", "nobody"]

PERSON = "player_0"
"""The person at the keyboard."""
TOPIC = "topic"
"""The author of an opening question."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a room converses; on the wire only what differs from the defaults, which the welcome names."""

    keyword: str = "[CONVERSATION_END]"
    max_duration_ms: int = 300_000
    max_messages: int = 0
    min_turns: int = 0
    max_tokens: int = 0
    max_cost_usd: float = 0.0
    response_delay: float = 2.0
    max_wait_time: float = 120.0
    permission_wait: float = 60.0
    interaction_pattern: str = "walk-to-agent"
    barge_in: bool = False
    outcome: bool = False


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tile of the office."""

    x: int
    y: int


class Source(msgspec.Struct, frozen=True):
    """The line of a transcript that something was taken from."""

    offset: int | None = None
    line: str = ""
    session: str = ""
    """Whose transcript it is; an older version did not say it."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Something that stands in a room."""

    id: str
    room_id: str
    type: MessageType
    author: str
    author_name: str
    content: str
    at: float
    active: bool = True
    transcript: Source | None = None


class Task(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    agent_id: str
    task_name: str
    status: Literal["assigned", "completed"]
    created_at: float
    completed_at: float | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    seq: int = 0
    at: float = 0.0


class AgentJoined(Event, frozen=True, kw_only=True, tag="agent_spawned"):
    agent_id: str
    name: str
    role: str
    cli_backend: str
    model: str = ""
    position: Position
    seat: int
    room_id: str | None = None
    session_id: str = ""
    context_max: int = 0
    configured: bool = False
    """It came as it stands in office.toml, on the CLI that was meant there."""


class AgentLeft(Event, frozen=True, kw_only=True, tag="agent_removed"):
    agent_id: str
    reason: str


class AgentStateChanged(Event, frozen=True, kw_only=True, tag="agent_state_update"):
    agent_id: str
    state: AgentState
    old_state: AgentState
    position: Position
    current_task: str | None = None


class ParticipationChanged(Event, frozen=True, kw_only=True, tag="agent_participation"):
    """Somebody is passed over for a while, or takes part again; it stays in the room (D9)."""

    agent_id: str
    participating: bool


class AgentAcknowledged(Event, frozen=True, kw_only=True, tag="agent_acknowledged"):
    """Entering `listening` acknowledges what was heard."""

    agent_id: str
    sender: str
    until: float = 0.0
    """How long it listens, outside of rooms."""
    answers: bool = False
    """It was spoken to, and will think about an answer then."""
    resumes: bool = False
    """It was deciding something, and goes back to that then."""


MoveReason = Literal["enters", "seat", "answers", "turns", "meets", "wanders", "decides", "command", "leaves"]
ActionName = Literal["wait", "move", "speak", "collaborate"]


class AgentMoved(Event, frozen=True, kw_only=True, tag="agent_moved"):
    """A whole walk: each tile of it, when it begins and how fast; `facing` is where it looks at the end."""

    agent_id: str
    path: list[Position]
    started_at: float
    ms_per_tile: int
    facing: Facing
    reason: MoveReason


class OfficeFurnished(Event, frozen=True, kw_only=True, tag="office_furnished"):
    """The floor plan, before anybody comes in and whenever it is another one; everybody is at their seat then."""

    plan: str
    seats: dict[str, int]


class AgentMessage(Event, frozen=True, kw_only=True, tag="agentMessage"):
    """A block of text that an agent's CLI produced, without the keyword (A5)."""

    agentId: str
    text: str
    messageId: str
    roomId: str
    transcript: Source


class AgentSpoke(Event, frozen=True, kw_only=True, tag="agent_speech"):
    """What an agent said to others when its turn was done."""

    agent_id: str
    name: str = ""
    content: str
    recipients: list[str]
    room_id: str | None = None
    until: float = 0.0
    """How long it speaks, outside of rooms."""


class ToolUsed(Event, frozen=True, kw_only=True, tag="agent_tool"):
    agent_id: str
    tool: str
    status: Literal["started", "done", "failed"]
    summary: str
    tool_id: str = ""


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an agent's CLI will not do without being allowed to."""

    id: str
    tool: str
    summary: str
    until: float
    """When it counts as denied."""
    cli_id: str = ""
    """What the CLI calls it."""


class PermissionAsked(Event, frozen=True, kw_only=True, tag="permission_asked"):
    """Somebody has to allow or deny it."""

    agent_id: str
    room_id: str | None
    permission: Permission


class PermissionResolved(Event, frozen=True, kw_only=True, tag="permission_resolved"):
    """It was allowed, denied, or nobody waits for it any more."""

    agent_id: str
    permission_id: str
    allowed: bool
    by: str
    """A person, `timeout`, `nobody` where nobody could be asked, or `withdrawn` by the CLI itself."""


class Thought(Event, frozen=True, kw_only=True, tag="agent_thought"):
    """What a model thought before it spoke, where its CLI tells it; nobody else hears it."""

    agent_id: str
    text: str
    thought_id: str = ""


class Retried(Event, frozen=True, kw_only=True, tag="agent_retry"):
    """A CLI tries again by itself; what it does then is the same turn."""

    agent_id: str
    attempt: int
    max_retries: int
    delay_ms: int
    reason: str
    retry_id: str = ""


class Compacted(Event, frozen=True, kw_only=True, tag="agent_compacted"):
    """A CLI has shortened what it remembers of its session."""

    agent_id: str
    before_tokens: int | None
    compaction_id: str = ""


class UsageReported(Event, frozen=True, kw_only=True, tag="agent_usage"):
    """What an agent has used in all, and how much its model had to read last."""

    agent_id: str
    input_tokens: int
    output_tokens: int
    context_tokens: int
    context_max: int
    cost_usd: float
    message_id: str = ""
    """The message of the CLI's that was counted."""


class DecisionStarted(Event, frozen=True, kw_only=True, tag="decision_started"):
    """An agent has a moment of its own and is asked what to do with it (C6)."""

    agent_id: str
    ask_id: str
    heard_from: str = ""
    """Whose words it has just heard, where that is why."""


class AgentDecided(Event, frozen=True, kw_only=True, tag="agent_decision"):
    """What it chose; where it was interrupted, or what it said was no action, it waits."""

    agent_id: str
    ask_id: str
    action: ActionName
    target: str = ""
    content: str = ""
    detail: str = ""
    outcome: TurnOutcome = "answered"
    understood: bool = True
    """Whether what it answered was an action that could be carried out."""


class DecisionLoopSet(Event, frozen=True, kw_only=True, tag="decision_loop"):
    """Somebody decides by itself from now on, or no longer; without an agent, everybody."""

    on: bool
    agent_id: str | None = None


class TurnStarted(Event, frozen=True, kw_only=True, tag="turn_started"):
    agent_id: str
    room_id: str
    turn: int
    ask_id: str
    heard: list[str]
    """The messages that the prompt holds."""
    instruction: str = ""
    """A fingerprint of the instruction that the prompt begins with, where it has one."""
    purpose: Purpose = "turn"
    manual: bool = False
    """Its answer waits for a person to take it."""
    mentioned: bool = False
    """It was addressed by name and goes before its turn; the order goes on afterwards as if it had not."""


class TurnRestarted(Event, frozen=True, kw_only=True, tag="turn_restarted"):
    """The CLI ended without an answer and gets the same ask again, once."""

    agent_id: str
    room_id: str
    turn: int
    ask_id: str
    detail: str


class TurnEnded(Event, frozen=True, kw_only=True, tag="turn_ended"):
    agent_id: str
    room_id: str
    turn: int
    ask_id: str
    signal: str
    ms: int
    outcome: TurnOutcome
    detail: str = ""


class AnswerHeld(Event, frozen=True, kw_only=True, tag="answer_held"):
    """An answer waits for those before it in the order, so that a wave is released as it was asked."""

    agent_id: str
    room_id: str
    ask_id: str
    answer: Answer


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn came to, with the keyword taken out."""

    text: str = ""
    ends: bool = False
    skips: bool = False
    reason: str = ""
    transcript: Source | None = None


class AutoModeStarted(Event, frozen=True, kw_only=True, tag="autoModeStarted"):
    roomId: str
    agents: list[str]
    topic: str
    interactionPattern: str
    endsAt: float
    unattended: bool = False
    """Nobody can press Retry."""


class AutoModePaused(Event, frozen=True, kw_only=True, tag="autoModePaused"):
    roomId: str
    reason: PauseReason
    retryAt: float | None = None
    detail: str = ""
    own_fault: bool = False
    """A turn of its own failed; else it waits for something that happened elsewhere."""


class AutoModeResumed(Event, frozen=True, kw_only=True, tag="autoModeResumed"):
    roomId: str
    endsAt: float
    attempt: int = 0
    """How often the turn that failed has been tried again."""


class KeywordIgnored(Event, frozen=True, kw_only=True, tag="keywordIgnored"):
    roomId: str
    agentId: str
    turn: int
    minTurns: int


class AutoModeEnded(Event, frozen=True, kw_only=True, tag="autoModeEnded"):
    roomId: str
    reason: EndReason
    turns: int
    durationMs: int
    endedBy: str
    detail: str = ""
    kept: list[str] = []
    """The asks that go on in manual mode."""


class MessageAdded(Event, frozen=True, kw_only=True, tag="message_added"):
    message: Message


class MessageUpdated(Event, frozen=True, kw_only=True, tag="message_updated"):
    """A message counts for prompts from now on, or no longer (D4)."""

    message: Message


class PendingAdded(Event, frozen=True, kw_only=True, tag="pending_added"):
    """An answer that waits for a person to take it or not (D3)."""

    message: Message


class PendingResolved(Event, frozen=True, kw_only=True, tag="pending_resolved"):
    """Those that were taken stand in the room as active messages, the others as inactive ones."""

    room_id: str
    accepted: list[str]
    dismissed: list[str]


class ConversationBegun(Event, frozen=True, kw_only=True, tag="conversation_begun"):
    """A room begins anew with the same people: nothing that was said before counts any more (D12)."""

    room_id: str


class RoomOutcome(Event, frozen=True, kw_only=True, tag="room_outcome"):
    """What a conversation came to (D22)."""

    room_id: str
    message: Message


class SessionRenewed(Event, frozen=True, kw_only=True, tag="agent_session"):
    """An agent begins anew: its session held something that does not count any more, or lacked something that does."""

    agent_id: str
    session_id: str
    reason: str
    tokens: int


class Home(msgspec.Struct, frozen=True):
    """Somebody's place in a room."""

    room_id: str
    place: int


class RoomCreated(Event, frozen=True, kw_only=True, tag="room_created"):
    room_id: str
    name: str
    settings: Settings
    guests: dict[str, Home | None] = {}
    """Agents who open it for themselves, each with where they come from."""


class RoomRenamed(Event, frozen=True, kw_only=True, tag="room_renamed"):
    room_id: str
    name: str


class RoomClosed(Event, frozen=True, kw_only=True, tag="room_closed"):
    room_id: str


class RoomUpdated(Event, frozen=True, kw_only=True, tag="room_updated"):
    room_id: str
    mode: Mode
    agents: list[str]
    current_index: int
    waiting_for_response: str | None
    waiting_count: int
    skip_count: dict[str, int]
    next_response_at: float | None
    settings: Settings
    mentioned: list[str] = []
    """Who was addressed by name and answers next."""
    due: list[str] = []
    """Who owes the person an answer, in manual mode."""


class ContextWarning(Event, frozen=True, kw_only=True, tag="context_warning"):
    agent_id: str
    context_tokens: int
    context_max: int


class RateLimited(Event, frozen=True, kw_only=True, tag="rate_limited"):
    backend: str
    room_id: str
    retry_at: float | None


class TaskUpdated(Event, frozen=True, kw_only=True, tag="task_updated"):
    task: Task


AnyEvent = (
    DecisionStarted | AgentDecided | DecisionLoopSet
    | AgentJoined | AgentLeft | AgentStateChanged | ParticipationChanged | AgentAcknowledged | AgentMoved
    | OfficeFurnished | AgentMessage | AgentSpoke | ToolUsed | PermissionAsked | PermissionResolved | UsageReported
    | Thought | Retried | Compacted | TurnStarted | TurnRestarted
    | TurnEnded | AnswerHeld | AutoModeStarted | AutoModePaused | AutoModeResumed | KeywordIgnored | AutoModeEnded
    | MessageAdded | MessageUpdated | PendingAdded | PendingResolved | ConversationBegun | RoomOutcome | SessionRenewed
    | RoomCreated | RoomRenamed | RoomClosed | RoomUpdated | ContextWarning | RateLimited | TaskUpdated
)  # fmt: skip


class Transient(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Shown while it happens; has no `seq` and is never stored."""


class TextDelta(Transient, frozen=True, kw_only=True, tag="agent_text_delta"):
    agent_id: str
    text: str
    ask_id: str


class Status(Transient, frozen=True, kw_only=True, tag="status"):
    """Something about the supervisor itself, for people."""

    level: Literal["info", "warning", "error"] = "info"
    message: str


encoder = msgspec.json.Encoder()
decoder = msgspec.json.Decoder(AnyEvent)


def subject(event: Any) -> tuple[str | None, str | None]:
    """The room and the agent an event is about, whatever its fields are called."""
    message = getattr(event, "message", None)
    task = getattr(event, "task", None)
    room = getattr(event, "room_id", None) or getattr(event, "roomId", None) or getattr(message, "room_id", None)
    agent = getattr(event, "agent_id", None) or getattr(event, "agentId", None) or getattr(task, "agent_id", None)
    return room, agent
