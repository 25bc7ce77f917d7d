"""What the core is told: commands of people and programs, and facts about agents.

Commands have their wire names as tags, so that a message from the socket *is* an input; facts come from the runtime.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from supervisor.events import AgentSpoke, Position, Settings, Source
from supervisor.records import FailureKind

Id = Annotated[str, msgspec.Meta(max_length=200)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    request_id: Id | None = None


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    role: str
    cli_backend: str = ""
    initial_position: Position | None = None


class SpawnAgent(Command, frozen=True, kw_only=True, tag="agent_spawn_request"):
    agent_config: AgentConfig
    room_id: str | None = None


class TerminateAgent(Command, frozen=True, kw_only=True, tag="agent_terminate_request"):
    agent_id: str


class StartAutoMode(Command, frozen=True, kw_only=True, tag="startAutoMode"):
    roomId: str | None = None
    topic: str | None = None
    agents: list[str] | None = None
    keyword: str | None = None
    maxDurationMs: Number | None = None
    maxMessages: Number | None = None
    minTurns: Number | None = None
    interactionPattern: str | None = None
    seed: int | str | None = None


class StopAutoMode(Command, frozen=True, kw_only=True, tag="stopAutoMode"):
    roomId: str | None = None


class ResumeAutoMode(Command, frozen=True, kw_only=True, tag="resumeAutoMode"):
    roomId: str | None = None


class RetryTurn(Command, frozen=True, kw_only=True, tag="retry_turn"):
    room_id: str | None = None


class CancelRateLimitWait(Command, frozen=True, kw_only=True, tag="cancel_rate_limit_wait"):
    room_id: str | None = None


class UserMessage(Command, frozen=True, kw_only=True, tag="user_message"):
    content: str
    room_id: str | None = None


class ResolvePending(Command, frozen=True, kw_only=True, tag="resolve_pending"):
    room_id: str | None = None
    accept: list[str] = []
    dismiss: list[str] = []


class SetMessageActive(Command, frozen=True, kw_only=True, tag="set_message_active"):
    message_id: Id
    active: bool


class SetMode(Command, frozen=True, kw_only=True, tag="set_mode"):
    mode: Literal["auto", "manual"]
    room_id: str | None = None


class RequestOutcome(Command, frozen=True, kw_only=True, tag="request_outcome"):
    room_id: str | None = None
    agent_id: str | None = None


class ResolvePermission(Command, frozen=True, kw_only=True, tag="resolve_permission"):
    """Allow or deny what an agent's CLI waits for."""

    permission_id: Id
    allow: bool


class SetParticipation(Command, frozen=True, kw_only=True, tag="set_participation"):
    agent_id: str
    participating: bool


class SetOrder(Command, frozen=True, kw_only=True, tag="set_order"):
    agents: list[str]
    room_id: str | None = None


class UpdateSettings(Command, frozen=True, kw_only=True, tag="update_settings"):
    """Any subset; what is left out stays as it is."""

    room_id: str | None = None
    keyword: str | None = None
    max_duration_ms: Number | None = None
    max_messages: Number | None = None
    min_turns: Number | None = None
    max_tokens: Number | None = None
    max_cost_usd: float | None = None
    response_delay: float | None = None
    max_wait_time: float | None = None
    permission_wait: float | None = None
    interaction_pattern: str | None = None
    barge_in: bool | None = None


class MoveAgent(Command, frozen=True, kw_only=True, tag="move_agent"):
    agent_id: str
    position: Position


class SetDecisionLoop(Command, frozen=True, kw_only=True, tag="set_decision_loop"):
    """Without an agent: for everybody."""

    on: bool
    agent_id: str | None = None


class AssignTask(Command, frozen=True, kw_only=True, tag="assign_task"):
    agent_id: str
    task_name: str


class CompleteTask(Command, frozen=True, kw_only=True, tag="complete_task"):
    task_id: Number


class CreateRoom(Command, frozen=True, kw_only=True, tag="create_room"):
    name: str | None = None
    template: str | None = None


class RenameRoom(Command, frozen=True, kw_only=True, tag="rename_room"):
    name: str
    room_id: str | None = None


class NewConversation(Command, frozen=True, kw_only=True, tag="new_conversation"):
    """The same people begin anew: nothing that was said counts any more, and their sessions are fresh."""

    room_id: str | None = None


class JoinRoom(Command, frozen=True, kw_only=True, tag="join_room"):
    agent_id: str
    room_id: str


class LeaveRoom(Command, frozen=True, kw_only=True, tag="leave_room"):
    agent_id: str


class CloseRoom(Command, frozen=True, kw_only=True, tag="close_room"):
    room_id: str


class GetAgentState(Command, frozen=True, kw_only=True, tag="get_agent_state"):
    agent_id: str


class GetHistory(Command, frozen=True, kw_only=True, tag="get_history"):
    room_id: str | None = None
    before: Number | None = None
    limit: Number = 100


class Search(Command, frozen=True, kw_only=True, tag="search"):
    """Everything that was ever said, by words."""

    query: Annotated[str, msgspec.Meta(max_length=500)]
    room_id: str | None = None
    limit: Number = 50


class GetTranscriptLine(Command, frozen=True, kw_only=True, tag="get_transcript_line"):
    """The line of its author's transcript that a message was taken from."""

    message_id: Id


Decided = (
    SpawnAgent | TerminateAgent | StartAutoMode | StopAutoMode | ResumeAutoMode | RetryTurn | CancelRateLimitWait
    | UserMessage | ResolvePending | ResolvePermission | SetMessageActive | SetMode | RequestOutcome
    | SetParticipation | SetOrder | UpdateSettings | MoveAgent | SetDecisionLoop | AssignTask | CompleteTask
    | CreateRoom | RenameRoom | NewConversation | JoinRoom | LeaveRoom | CloseRoom
)  # fmt: skip
"""Commands that the core decides about."""
Asked = GetAgentState | GetHistory | GetTranscriptLine | Search
"""Questions that change nothing."""
AnyCommand = Decided | Asked


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened."""


class Written(Fact, frozen=True, kw_only=True):
    """The prompt was written to the CLI's stdin, all of it."""

    ask_id: str


class AtWork(Fact, frozen=True, kw_only=True):
    """The CLI of an earlier life still writes to its transcript, and so on its answer."""

    ask_id: str


class SpeechBegan(Fact, frozen=True, kw_only=True):
    """The first words that may be shown."""

    ask_id: str


class Said(Fact, frozen=True, kw_only=True):
    """A block of text that is certain to be speech, without the keyword."""

    ask_id: str
    text: str
    source: Source = Source()


class Inside(Fact, frozen=True, kw_only=True):
    """Something that is seen of an agent's CLI."""

    agent_id: str


class ToolSeen(Inside, frozen=True, kw_only=True):
    tool: str
    status: Literal["started", "done", "failed"]
    summary: str
    tool_id: str


class PermissionWanted(Fact, frozen=True, kw_only=True):
    """A CLI waits until it is allowed or denied something."""

    agent_id: str
    cli_id: str
    tool: str
    summary: str


class PermissionWithdrawn(Fact, frozen=True, kw_only=True):
    """It does not wait any more."""

    agent_id: str
    cli_id: str


class SessionLost(Fact, frozen=True, kw_only=True):
    """A CLI came up without its session: it knows nothing any more."""

    agent_id: str
    reason: str


class UsageSeen(Inside, frozen=True, kw_only=True):
    """What one message cost."""

    input_tokens: int
    output_tokens: int
    context_tokens: int
    message_id: str = ""
    """By which it is known again when the turn is read a second time, after a crash."""


class WindowSeen(Inside, frozen=True, kw_only=True):
    """How many tokens its model can hold."""

    tokens: int


class ThoughtSeen(Inside, frozen=True, kw_only=True):
    """What a model thought."""

    text: str
    thought_id: str = ""


class RetrySeen(Inside, frozen=True, kw_only=True):
    """A CLI tries again."""

    attempt: int
    max_retries: int
    delay_ms: int
    reason: FailureKind
    retry_id: str = ""


class CompactionSeen(Inside, frozen=True, kw_only=True):
    """A CLI has shortened what it remembers."""

    before_tokens: int | None
    compaction_id: str = ""


class CostSeen(Inside, frozen=True, kw_only=True):
    """What a turn cost in money."""

    cost_usd: float


class TurnOver(Fact, frozen=True, kw_only=True):
    """What became of an ask; `text` is all that was said, keyword and skip included."""

    ask_id: str
    status: Literal["answered", "failed", "interrupted", "exited", "repeated"]
    signal: str
    text: str = ""
    ms: int = 0
    detail: str = ""
    kind: FailureKind = "unknown"
    retry_at: float | None = None
    source: Source | None = None


class Heard(Fact, frozen=True, kw_only=True):
    """Words reached an agent over the bus."""

    agent_id: str
    spoke: AgentSpoke


class AgentGone(Fact, frozen=True, kw_only=True):
    """An agent's CLI cannot be brought up, or not again."""

    agent_id: str
    reason: str


class Due(Fact, frozen=True, kw_only=True):
    """Time has come; what for, the core knows."""


class Suspend(Fact, frozen=True, kw_only=True):
    """A clean stop: nothing ends, everything waits."""


class Wake(Fact, frozen=True, kw_only=True):
    """A start: what was running goes on (`fresh`: is ended); in a copy of an office, with sessions of its own."""

    fresh: bool = False
    alive_at: float = 0.0
    """When the last sign of life was given before, which may be later than the last event."""
    left_at: float = 0.0
    """When they were left, where others have had a conversation of their own since."""
    copy: bool = False


class StartRoom(Fact, frozen=True, kw_only=True):
    """A room from a command line or a configuration, with its people."""

    name: str
    settings: Settings
    agents: tuple[AgentConfig, ...] = ()
    auto: bool = False
    topic: str = ""
    seed: str | None = None
    unattended: bool = False


AnyFact = (
    Written | AtWork | SpeechBegan | Said | ToolSeen | PermissionWanted | PermissionWithdrawn | SessionLost | UsageSeen
    | WindowSeen | ThoughtSeen | RetrySeen | CompactionSeen
    | CostSeen | TurnOver | Heard | AgentGone | Due | Suspend | Wake | StartRoom
)  # fmt: skip
AnyInput = Decided | AnyFact
