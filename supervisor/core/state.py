"""What the core remembers: plain values that are changed by events only, and stored as they are in snapshots."""

from __future__ import annotations

import msgspec

from supervisor.events import (
    AgentState,
    Answer,
    AutoModeEnded,
    Facing,
    Home,
    Message,
    MoveReason,
    PauseReason,
    Permission,
    Position,
    Purpose,
    Settings,
    Task,
)  # fmt: skip

KEPT_STATES = 12
SHOWN_THOUGHT = 300
KEPT_TALK = 50
KEPT_NEWS = 40
KEPT_OVERHEARD = 5
KEPT_MESSAGES = 10_000
"""How many messages of a room count for prompts and can be changed; the database has all of them."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said outside of rooms."""

    at: float
    agent_id: str
    name: str
    role: str
    content: str
    recipients: list[str]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """Something that somebody may have noticed."""

    seq: int
    agent_id: str
    text: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """An agent is asked what it wants to do."""

    ask_id: str
    since: float
    task_id: int | None = None
    """The task that it was told of."""


class Agent(msgspec.Struct, kw_only=True):
    id: str
    name: str
    role: str
    backend: str
    model: str
    session_id: str
    position: Position
    """Where it rests, or will when its walk is over."""
    seat: int
    spawned_at: float
    path: list[Position] = []
    walk_started: float = 0.0
    ms_per_tile: int = 333
    facing: Facing = "down"
    errand: MoveReason = "seat"
    """Why it walked last."""
    strolls: int = 0
    state: AgentState = "idle"
    state_since: float = 0.0
    room_id: str | None = None
    participating: bool = True
    task_id: int | None = None
    ask_id: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    context_tokens: int = 0
    context_max: int = 0
    cost_usd: float = 0.0
    warned: bool = False
    instruction: str = ""
    """A fingerprint of the instruction that its session holds."""
    last_message: str = ""
    tool: str = ""
    """The tool that it uses now, with what."""
    told: dict[str, int] = {}
    """What it was seen to use since it was last asked, each with its event: after a crash all of an open turn is read
    again."""
    configured: bool = False
    """It came as it stands in office.toml."""
    thought: str = ""
    """How its last thought began."""
    tries: tuple[int, int, str] | None = None
    """Which try it is of how many, and why, while its CLI tries again."""
    permissions: list[Permission] = []
    """What its CLI waits to be allowed."""
    failed: str = ""
    """Why its last turn failed."""
    states: list[tuple[AgentState, float]] = []
    """Its last states, each with its time."""
    renewals: int = 0
    decides: bool | None = None
    """Whether it decides by itself what to do; where nobody has said, its backend says it."""
    decision: Decision | None = None
    """What it is thinking about by itself."""
    alone: bool = False
    """What it uses, it uses for its own thoughts."""
    decided_at: float = 0.0
    decisions: list[float] = []
    """When it began to decide, within the last hour."""
    spent: list[tuple[float, int]] = []
    """What it has used by itself within the last hour: when, and how many tokens."""
    waits: int = 0
    """How often in a row it has decided to wait."""
    replies: int = 0
    """How often in a row it has decided because of something it heard."""
    looked_up: int = 0
    """The number of the last event before it last looked at the situation."""
    busy_until: float = 0.0
    """Until when it speaks, or listens, by itself."""
    heard_from: str = ""
    """Whose words it is listening to, if it will answer them."""
    resumes: bool = False
    """It was deciding when it began to listen."""
    overheard: list[Talk] = []
    """What it said and heard last, outside of rooms."""


class Ask(msgspec.Struct, kw_only=True):
    """A prompt on its way."""

    id: str
    agent_id: str
    room_id: str
    turn: int
    heard: list[str]
    upto: int
    """How many messages the room had when it was asked."""
    since: float
    """Since when it is waited for."""
    written: bool = False
    """Its CLI has had the prompt."""
    instruction: str = ""
    """A fingerprint of the instruction that its prompt begins with; the session holds it once it was answered."""
    purpose: Purpose = "turn"
    manual: bool = False
    mentioned: bool = False
    restarted: bool = False
    lines: list[str] = []
    """The lines of the transcript that were shown."""
    answer: Answer | None = None


class Auto(msgspec.Struct, kw_only=True):
    """A running or paused auto mode."""

    topic: str
    started_at: float
    ends_at: float
    pattern: str
    unattended: bool = False
    turns: int = 0
    messages: int = 0
    skipped: list[str] = []
    """Who has skipped since anything was said."""
    hops: int = 0
    """How many turns in a row were taken by mention."""
    wave: list[str] = []
    """The open asks, in the order in which their answers are released."""
    next_at: float | None = None
    """When the next one is asked; None while somebody is being waited for."""
    paused: PauseReason | None = None
    own_fault: bool = False
    """It is paused because a turn of its own failed."""
    paused_at: float = 0.0
    paused_ms: int = 0
    retry_at: float | None = None
    detail: str = ""
    attempt: int = 0


class Hearing(msgspec.Struct, kw_only=True):
    """What an agent's session holds of a room, without a list of it all."""

    to: int = 0
    """It was told what counted of the first so many messages of the room, and nothing of the others."""
    forgotten: int = 0
    """Its session began anew after so many messages; its own ones among them it has to be told like any others."""
    differs: list[str] = []
    """Those of the first `to` that count and are not held, or are held and do not count any more."""
    besides: list[str] = []
    """What was in prompts that came to nothing: the session holds it, and it is told again."""


class Room(msgspec.Struct, kw_only=True):
    id: str
    name: str
    settings: Settings
    agents: list[str] = []
    current_index: int = 0
    skip_count: dict[str, int] = {}
    mentioned: list[str] = []
    """Who was addressed by name and has not answered yet."""
    messages: list[Message] = []
    """The last ones."""
    count: int = 0
    """How many there have been in all."""
    pending: list[Message] = []
    """Answers that wait for a person to take them, in the order of their arrival."""
    due: list[str] = []
    """Who owes the person an answer, in manual mode."""
    failed: list[str] = []
    """Who could not answer, in manual mode."""
    concluding: str = ""
    """Who is to say what it came to, and has not yet."""
    tokens: int = 0
    cost_usd: float = 0.0
    """What was spent here, in either mode and over all conversations."""
    topic: str = ""
    outcome: Message | None = None
    """What the last conversation came to."""
    guests: dict[str, Home | None] = {}
    """Those who came by themselves, each with where they came from; they go back when it is over."""
    heard: dict[str, Hearing] = {}
    """What each agent has been told."""
    auto: Auto | None = None
    end: AutoModeEnded | None = None
    """How the last auto mode ended."""

    def since(self, count: int) -> list[Message]:
        """The messages after the first so many; of those that are too old to be in memory, none."""
        return self.messages[max(0, count - self.count + len(self.messages)) :]


class State(msgspec.Struct, kw_only=True):
    seq: int = 0
    at: float = 0.0
    """When the last thing happened."""
    talk: list[Talk] = []
    """What was said lately outside of rooms."""
    news: list[News] = []
    """What happened lately, for those who look up."""
    decision_count: int = 0
    decides: bool = True
    """Whether anybody decides by itself."""
    limits: dict[str, float] = {}
    """Until when backends are rate limited."""
    limited_at: dict[str, float] = {}
    """Since when we know."""
    plan: str = ""
    """The floor plan, as its map."""
    leaving: list[Agent] = []
    """Those who have left and are on their way to the door."""
    agents: dict[str, Agent] = {}
    rooms: dict[str, Room] = {}
    asks: dict[str, Ask] = {}
    tasks: dict[int, Task] = {}
    agent_count: int = 0
    room_count: int = 0
    message_count: int = 0
    task_count: int = 0
    ask_count: int = 0
