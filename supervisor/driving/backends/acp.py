"""The Agent Client Protocol: any CLI that speaks it over stdin and stdout, with what it prints kept as its transcript.

The protocol has no ids for prompts, so each ends with a short mark of its ask: a session that is loaded again is told
word for word, and the mark shows whether it holds the prompt.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.records import (
    AnyRecord,
    Delta,
    Failure,
    Interrupted,
    MessageEnd,
    PromptSeen,
    PromptTaken,
    Ready,
    SessionLost,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    TurnEnd,
    Usage,
    Window,
)

from .base import (
    UNREADABLE,
    Backend,
    Launch,
    Once,
    Reply,
    count,
    failure_kind,
    finite,
    rows,
    shorten,
    table,
    tool_summary,
    wait_named_in,
    what_it_wants,
    whole_wish,
)
from .rpc import UNANSWERED, Error, Heard, Permission, RpcDialogue, decode

if TYPE_CHECKING:
    from .base import Decoder, Dialogue

ENDS = ("end_turn", "max_tokens", "max_turn_requests")
SPOKEN = ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update")
MOST_REPEATS = 20
LONGEST_BLOCK = 1 << 20
"""So many characters are gathered; what is longer comes in several blocks."""
DONE = {"completed": False, "failed": True}


class Acp(Backend):
    """Whatever is configured as its command."""

    name = "acp"
    keeps = False
    tells_cost = b'"usage_update"'
    asks_anew = False
    """Whether a message after another, with nothing done in between, is the same one: its model was asked once more."""
    parameters: tuple[str, ...] | None = ()

    def command(self, launch: Launch) -> list[str]:
        return [*(launch.command or self.program), *launch.arguments]

    def cost_told(self, line: bytes) -> float | None:
        try:
            return _cost(table((decode(line).params or {}).get("update")))
        except UNREADABLE:
            return None

    def decoder(self) -> Decoder:
        return AcpTranscript(asks_anew=self.asks_anew)

    def dialogue(self, launch: Launch) -> Dialogue:
        return AcpDialogue(launch, introduce=True, asks_anew=self.asks_anew)


class Turns:
    """Follows the lines of a session, whether they are just being printed or read again.

    `session/prompt` is our own line, and an answer to its id ends the turn.
    """

    def __init__(self, *, asks_anew: bool) -> None:
        self._turn: Spoken | None = None
        self._asks_anew = asks_anew

    def follow(self, heard: Heard) -> list[AnyRecord]:
        if heard.method == "session/prompt":
            about = table((heard.params or {}).get("_meta"))
            self._turn = Spoken(heard.id, str(about.get("ask", "")), str(about.get("turn", "")), self._asks_anew)
        elif self._turn is not None:
            records = self._turn.hear(heard)
            self._turn = None if self._turn.over else self._turn
            return records
        return []

    @property
    def runs_away(self) -> bool:
        return self._turn is not None and self._turn.runs_away


class Spoken:
    """One turn: what is said, done and used in it."""

    def __init__(self, rpc_id: int | str | None, ask_id: str, nonce: str, asks_anew: bool) -> None:
        self.over = False
        self._rpc_id, self._ask, self._nonce, self._asks_anew = rpc_id, ask_id, nonce, asks_anew
        self._seen = False
        self._speaking, self._thought, self._said = "", "", ""
        self._blocks = self._thoughts = 0
        self._message, self._repeats = "", 0
        self._tools: dict[str, bool] = {}  # by id: whether its summary was told
        self._rounds = 1
        self._context: int | None = None
        self._cost: float | None = None

    def hear(self, heard: Heard) -> list[AnyRecord]:
        if heard.method == "session/update":
            return self._update(table((heard.params or {}).get("update")))
        if heard.method is None and heard.id == self._rpc_id:
            return self._end(heard)
        return []

    def _taken(self) -> list[AnyRecord]:
        """The first thing that comes after a prompt shows that it arrived."""
        if self._seen:
            return []
        self._seen = True
        return [PromptTaken(ask_ids=(self._ask,), state="started"), PromptSeen(ask_ids=(self._ask,))]

    def _update(self, update: dict[str, Any]) -> list[AnyRecord]:
        kind = update.get("sessionUpdate")
        if kind == "usage_update":
            self._context = count(update.get("used")) or None
            amount = _cost(update)
            self._cost = self._cost if amount is None else amount
            window = count(update.get("size"))
            return [Window(tokens=window)] if window else []
        if kind not in SPOKEN:
            return []
        records = self._taken()
        text = str(table(update.get("content")).get("text") or "")
        if kind in ("agent_message_chunk", "agent_thought_chunk"):
            records += self._begin_message(update.get("messageId"))
        match kind:
            case "agent_message_chunk":
                records += self._end_thought()
                records += [Delta(text=text, message_id=self._name)] if text else []
                self._speaking += text
                return [*records, *(self._end_block() if len(self._speaking) > LONGEST_BLOCK else [])]
            case "agent_thought_chunk":
                records += self._end_block()
                self._thought += text
                return [*records, *(self._end_thought() if len(self._thought) > LONGEST_BLOCK else [])]
        return [*records, *self._end_thought(), *self._end_block(), *self._tool(update)]

    @property
    def runs_away(self) -> bool:
        """One message after the other without doing anything: a CLI that asks its model again for ever."""
        return self._repeats > (1 if self._asks_anew else MOST_REPEATS)

    def _begin_message(self, name: object) -> list[AnyRecord]:
        """Another name is another message; where it only takes the place of the last, what that had begun is void."""
        if not name or name == self._message:
            return []
        follows, self._message = bool(self._message), str(name)
        self._repeats += follows
        if follows and self._asks_anew:
            self._speaking = self._thought = ""
        return [*self._end_thought(), *self._end_block()]

    @property
    def _name(self) -> str:
        """A block's own name, the same however often it is read."""
        return f"{self._ask}:{self._nonce}:{self._blocks}"

    def _end_block(self) -> list[AnyRecord]:
        if not self._speaking.strip():
            self._speaking = ""
            return []
        self._said = self._speaking
        block = Text(uuid=self._name, message_id=self._name, text=self._speaking)
        self._speaking, self._blocks = "", self._blocks + 1
        return [block]

    def _end_thought(self) -> list[AnyRecord]:
        thought, self._thought = self._thought, ""
        self._thoughts += bool(thought)
        return [Thinking(uuid=f"{self._ask}:{self._nonce}:t{self._thoughts}", text=thought)] if thought else []

    def _tool(self, update: dict[str, Any]) -> list[AnyRecord]:
        tool_id, status = str(update.get("toolCallId", "")), str(update.get("status"))
        records: list[AnyRecord] = []
        summary = shorten(tool_summary(update.get("rawInput")) or str(update.get("title") or ""))
        self._message, self._repeats = "", 0
        if tool_id not in self._tools:
            self._tools[tool_id] = False
            self._rounds += 1
        if not self._tools[tool_id] and status != "pending":  # until then it may not know yet what with
            self._tools[tool_id] = True
            records.append(ToolUse(tool=str(update.get("kind") or "tool"), tool_id=tool_id, summary=summary))
        if status in DONE:
            records.append(ToolResult(tool_id=tool_id, summary=_output(update), is_error=DONE[status]))
        return records

    def _end(self, heard: Heard) -> list[AnyRecord]:
        self.over = True
        if heard.error is not None:
            gone = failure(heard.error)
            return [*self._taken(), *self._end_thought(), *self._end_block(), *self._fail(gone)]
        result: dict[str, Any] = heard.result if isinstance(heard.result, dict) else {}
        records = [*self._taken(), *self._end_thought(), *self._end_block(), *self._usage(result)]
        reason = str(result.get("stopReason", ""))
        if reason == "cancelled" and self.runs_away:
            why = "the model's answer was cut off again and again"
            return [*records, *self._fail(Failure(kind="network", message=why))]
        if reason == "cancelled":
            return [*records, Interrupted(), TurnEnd(ask_ids=(self._ask,), outcome="interrupted", cost_usd=self._cost)]
        if reason not in ENDS:
            why = "it refused to answer" if reason == "refusal" else f"it stopped ({reason})"
            return [*records, *self._fail(Failure(kind="refused", message=why))]
        end = TurnEnd(ask_ids=(self._ask,), outcome="answered", text=self._said, cost_usd=self._cost)
        last = next((r.message_id for r in reversed(records) if isinstance(r, Text)), self._name)
        return [*records, MessageEnd(message_id=last), end]

    def _fail(self, why: Failure) -> list[AnyRecord]:
        return [why, TurnEnd(ask_ids=(self._ask,), outcome="failed", text=why.message, cost_usd=self._cost)]

    def _usage(self, result: dict[str, Any]) -> list[AnyRecord]:
        usage = table(result.get("usage"))
        other = table(table(table(result.get("_meta")).get("quota")).get("token_count"))
        read = sum(count(usage.get(f"{kind}Tokens")) for kind in ("input", "cachedRead", "cachedWrite"))
        out = sum(count(usage.get(f"{kind}Tokens")) for kind in ("output", "thought"))
        read, out = read or count(other.get("input_tokens")), out or count(other.get("output_tokens"))
        if not read and not out:
            return []
        context = self._context or read // self._rounds + out
        return [Usage(message_id=self._name, input_tokens=read, output_tokens=out, context_tokens=context)]


class AcpTranscript:
    """A decoder for what was kept: our prompts and what came back, line by line."""

    first_keys: tuple[str, ...] = ("jsonrpc",)

    def __init__(self, *, asks_anew: bool = False) -> None:
        self._turns = Turns(asks_anew=asks_anew)
        self._once = Once()

    def is_record(self, value: dict[str, Any]) -> bool:
        return value.get("jsonrpc") == "2.0"

    def decode(self, line: bytes, offset: int) -> list[AnyRecord]:
        records = self._turns.follow(decode(line))
        kept = (r for r in records if not isinstance(r, Delta | PromptTaken | Window | TurnEnd))
        placed = (msgspec.structs.replace(record, offset=offset) for record in kept)
        return [record for record in placed if not isinstance(record, Text) or self._once.first(record.uuid)]


class AcpDialogue(RpcDialogue):
    """One process with one session."""

    def __init__(self, launch: Launch, *, introduce: bool = False, asks_anew: bool = False) -> None:
        """`introduce`: the CLI takes no system prompt, so the first prompt of a session begins with it."""
        super().__init__(launch)
        self._turns = Turns(asks_anew=asks_anew)
        self._session = launch.own_id
        self._loads = False
        self._version = ""
        self._model = ""
        self._told = ""  # the history, as it is told when a session is loaded
        self._telling = False
        self._cost_before = launch.spent
        self._open = False
        self._stopped = False  # a turn that ran away was told to end
        self._introduce = introduce

    def open(self) -> bytes:
        return self.request("initialize", "initialize", {
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
            "clientInfo": {"name": "office-supervisor", "title": "Office Supervisor", "version": "1"},
        })  # fmt: skip

    def ask(self, ask_id: str, prompt: str) -> bytes:
        mark = f"<!-- ask {ask_id} -->"
        text = UNANSWERED if mark in self._told else prompt
        if self._introduce and self.launch.instructions and not self._told:
            text = f"{self.launch.instructions}\n\n{text}"
        self._told += mark
        line = self.request("prompt", "session/prompt", {
            "sessionId": self._session, "prompt": [{"type": "text", "text": f"{text}\n\n{mark}"}],
            "_meta": {"ask": ask_id, "turn": secrets.token_hex(4)},
        })  # fmt: skip
        self._turns.follow(decode(line))
        self._stopped = False
        return line

    def interrupt(self) -> bytes:
        return self.deny_all() + self.notify("session/cancel", {"sessionId": self._session})

    def hear(self, line: bytes) -> Reply:
        was_open = self._open
        reply = super().hear(line)
        if not was_open:
            return reply
        heard = decode(line)
        records = [self._only_ours(record) for record in self._turns.follow(heard)]
        gone = self.nobody_waits() if any(isinstance(record, TurnEnd) for record in records) else []
        write = reply.write
        if self._turns.runs_away and not self._stopped:
            self._stopped, write = True, write + self.interrupt()
        return Reply([*reply.records, *records, *gone], write, _tells(heard))

    def _only_ours(self, record: AnyRecord) -> AnyRecord:
        """What a session had cost before this process took it up was counted then."""
        if not isinstance(record, TurnEnd) or record.cost_usd is None:
            return record
        return msgspec.structs.replace(record, cost_usd=max(0.0, record.cost_usd - self._cost_before))

    def answered(self, to: str, heard: Heard) -> Reply:
        result: dict[str, Any] = heard.result if isinstance(heard.result, dict) else {}
        where: dict[str, Any] = {"cwd": self.launch.place, "mcpServers": []}
        match to:
            case "initialize" if heard.error is None:
                self._version = str(table(result.get("agentInfo")).get("version") or "")
                self._loads = bool(table(result.get("agentCapabilities")).get("loadSession"))
                if not self.launch.resume:
                    return Reply([], self.request("session", "session/new", where))
                if not self._loads:
                    return Reply([SessionLost(reason="it cannot take up a session again")])
                return Reply([], self.request("session", "session/load", {**where, "sessionId": self._session}))
            case "session" if heard.error is None:
                self._session = str(result.get("sessionId") or self._session)
                self._model = _model_in(result)
                return Reply([], self._ping()) if self.launch.resume else self._ready()
            case "ping":  # that it knows no such thing is an answer, too
                return Reply([], self._ping()) if self._telling else self._ready()
            case "session" if self.launch.resume:
                return Reply([SessionLost(reason=failure(heard.error or Error()).message)])
            case "initialize" | "session":
                return Reply([failure(heard.error or Error())])
        return Reply([])

    def _ping(self) -> bytes:
        """The history may be told after the answer to `session/load`: it is over when nothing came between two."""
        self._telling = False
        return self.request("ping", "_supervisor/ping", {})

    def _ready(self) -> Reply:
        self._open = True
        return Reply([Ready(version=self._version, model=self._model, session=self._session)])

    def told(self, method: str, params: dict[str, Any]) -> Reply:
        update = table(params.get("update"))
        self._telling = True
        if self._open or method != "session/update":
            return Reply([])
        if update.get("sessionUpdate") == "user_message_chunk":
            self._told += str(table(update.get("content")).get("text") or " ")
        elif update.get("sessionUpdate") == "usage_update":
            self._cost_before = _cost(update) or self._cost_before
        return Reply([])

    def wanted(self, rpc_id: int | str, method: str, params: dict[str, Any]) -> Reply:
        if method != "session/request_permission":
            return self.refuse(rpc_id, method)
        call, options = table(params.get("toolCall")), rows(params.get("options"))

        def choose(*kinds: str) -> dict[str, Any]:
            chosen = next((o for kind in kinds for o in options if o.get("kind") == kind), None)
            if chosen is None:
                return {"outcome": {"outcome": "cancelled"}}
            return {"outcome": {"outcome": "selected", "optionId": chosen.get("optionId")}}

        permission = Permission(rpc_id, choose("allow_once", "allow_always"), choose("reject_once", "reject_always"))
        summary = what_it_wants(call.get("rawInput")) or whole_wish(_title_and_changes(call))
        tool = str(call.get("kind") or "tool")
        return self.decide(permission, tool, summary, str(call.get("toolCallId", "")))


def _cost(update: dict[str, Any]) -> float | None:
    """What the session has cost so far."""
    return finite(table(update.get("cost")).get("amount"))


def _tells(heard: Heard) -> bool:
    """Whether a line is worth keeping."""
    if heard.method is None:
        return True
    update = table((heard.params or {}).get("update"))
    return heard.method == "session/update" and update.get("sessionUpdate") in (*SPOKEN, "usage_update")


def failure(error: Error) -> Failure:
    """The API's own error is JSON in the message, or in the data beside it."""
    text, status = error.message, error.code if 400 <= error.code < 600 else None
    data = error.data if isinstance(error.data, dict) else {}
    name = str(data.get("errorName", ""))
    if isinstance(data.get("details"), str):
        text = f"{text}: {data['details']}"
    try:
        inside = msgspec.json.decode(text)
        text = str(inside["error"]["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        pass
    text = text.removeprefix("Internal error: ") or "it failed"
    kind = failure_kind(f"{name} {text}", status)
    return Failure(kind=kind, message=text, status=status, retry_after=wait_named_in(text))


def _title_and_changes(call: dict[str, Any]) -> str:
    """What it calls it, and for files what will stand in them."""
    changes = (
        f"{part.get('path', '')}:\n{part.get('newText') or ''}"
        for part in rows(call.get("content"))
        if part.get("type") == "diff"
    )
    return "\n".join([str(call.get("title") or ""), *changes])


def _model_in(result: dict[str, Any]) -> str:
    options = [option for option in rows(result.get("configOptions")) if option.get("id") == "model"]
    chosen = options[0].get("currentValue") if options else table(result.get("models")).get("currentModelId")
    return str(chosen or "")


def _output(update: dict[str, Any]) -> str:
    texts = (table(part.get("content")).get("text") for part in rows(update.get("content")))
    return shorten(" ".join(str(text) for text in texts if text))
