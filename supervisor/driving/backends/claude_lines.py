"""Claude's lines into records: the transcript, and stdout in stream-json. Unknown types and fields are passed over.

What is typed here is what we use; the rest of a line is skipped without being built, which is what makes a transcript
full of 50 kB attachments cheap to follow.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from supervisor.records import (
    AnyRecord,
    Compacted,
    Delta,
    Failure,
    FailureKind,
    Interrupted,
    MessageEnd,
    PermissionAsked,
    PermissionGone,
    PromptSeen,
    PromptTaken,
    RateLimit,
    Ready,
    Retry,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    TurnEnd,
    Usage,
    Window,
)

from .base import BY_STATUS, UNREADABLE, Once, count, finite, shorten, table, tool_summary, what_it_wants

if TYPE_CHECKING:
    from collections.abc import Iterator

_T = TypeVar("_T", bound=msgspec.Struct)
INTERRUPTED = "[Request interrupted by user"
FAILURES: dict[str, FailureKind] = {
    "authentication_failed": "authentication",
    "billing_error": "billing",
    "rate_limit": "rate_limit",
    "overloaded": "overloaded",
    "invalid_request": "invalid_request",
    "model_not_found": "invalid_request",
    "max_output_tokens": "invalid_request",
    "server_error": "server",
}


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = False


class _Tokens(msgspec.Struct):
    input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    output_tokens: int | None = 0


class _Message(msgspec.Struct):
    id: str = ""
    model: str = ""
    content: str | list[_Block] = ""
    stop_reason: str | None = None
    usage: _Tokens | None = None


class _Attachment(msgspec.Struct):
    type: str = ""
    prompt: Any = None
    source_uuid: str = ""


class _Compaction(msgspec.Struct, rename={"pre_tokens": "preTokens"}):
    pre_tokens: int | None = None


class _Line(msgspec.Struct, rename="camel"):
    """A transcript line, as far as it matters."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    is_sidechain: bool | None = False
    is_meta: bool | None = False
    is_compact_summary: bool | None = False
    message: _Message | None = None
    merged_send_uuids: list[str] | None = None
    turn_position: Any = None
    is_api_error_message: bool | None = False
    api_error_status: int | None = None
    error: Any = None
    attachment: _Attachment | None = None
    retry_in_ms: float | None = None
    retry_attempt: int | None = None
    max_retries: int | None = None
    compact_metadata: _Compaction | None = None


class _Event(msgspec.Struct):
    type: str = ""
    delta: _Block | None = None


class _Limit(msgspec.Struct, rename={"resets_at": "resetsAt", "limit": "rateLimitType"}):
    status: str = ""
    resets_at: float | None = None
    limit: str | None = ""
    utilization: float | None = None


class _Origin(msgspec.Struct):
    kind: str = ""


class _Request(msgspec.Struct):
    subtype: str = ""
    tool_name: str = ""
    tool_use_id: str | None = ""
    input: Any = None


class _Answer(msgspec.Struct):
    subtype: str = ""
    request_id: str = ""
    response: Any = None


class _Output(msgspec.Struct):
    """A line of stdout, as far as it matters."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    message: _Message | None = None
    event: _Event | None = None
    api_message_id: str | None = None
    command_uuid: str = ""
    state: str = ""
    is_error: bool | None = False
    is_api_error_message: bool | None = False
    api_error_status: int | None = None
    terminal_reason: str | None = None
    result: str | None = None
    errors: list[Any] | None = None
    total_cost_usd: float | None = None
    model_usage: Any = msgspec.field(name="modelUsage", default=None)
    user_message_uuids: list[str] | None = None
    origin: _Origin | None = None
    rate_limit_info: _Limit | None = None
    response: _Answer | None = None
    request_id: str = ""
    request: _Request | None = None
    claude_code_version: str = ""
    model: str = ""
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: Any = None


_decode_line = msgspec.json.Decoder(_Line)
_decode_output = msgspec.json.Decoder(_Output)
_NESTED: dict[str, type[msgspec.Struct]] = {
    "message": _Message,
    "usage": _Tokens,
    "event": _Event,
    "delta": _Block,
    "attachment": _Attachment,
    "response": _Answer,
    "request": _Request,
    "rate_limit_info": _Limit,
}


def soften(kind: type[_T], value: Any) -> _T:
    """As much of a value as fits: another version's odd field must not cost us the line that it stands in."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        given = value.get(field.encode_name) if isinstance(value, dict) else None
        if given is None:
            continue
        try:
            fields[field.name] = msgspec.convert(given, field.type)
        except msgspec.ValidationError:
            if isinstance(given, dict) and field.name in _NESTED:
                fields[field.name] = soften(_NESTED[field.name], given)
            elif isinstance(given, list) and field.name == "content":
                fields[field.name] = [soften(_Block, block) for block in given]
    return kind(**fields)


def _leniently(decoder: msgspec.json.Decoder[_T], kind: type[_T], line: bytes) -> _T:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        value = msgspec.json.decode(line)
        if not isinstance(value, dict):
            raise
        return soften(kind, value)


class ClaudeTranscript:
    """A decoder for one transcript."""

    first_keys: tuple[str, ...] = ("type", "parentUuid")

    def __init__(self) -> None:
        self._counted: deque[str] = deque(maxlen=64)
        self._once = Once()

    def is_record(self, value: dict[str, Any]) -> bool:
        return isinstance(value.get("type"), str) and ("sessionId" in value or "leafUuid" in value)

    def decode(self, line: bytes, offset: int) -> list[AnyRecord]:
        decoded = _leniently(_decode_line, _Line, line)
        if decoded.is_sidechain or decoded.is_meta or not self._once.first(decoded.uuid):
            return []
        match decoded.type:
            case "user":
                return list(self._user(decoded, offset))
            case "assistant":
                return list(self._assistant(decoded, offset))
            case "system":
                return list(self._system(decoded, offset))
            case "attachment" if decoded.attachment and decoded.attachment.source_uuid:
                prompt = decoded.attachment.prompt
                text = prompt if isinstance(prompt, str) else ""
                return [PromptSeen(offset=offset, ask_ids=(decoded.attachment.source_uuid,), text=text)]
        return []

    def _user(self, line: _Line, offset: int) -> Iterator[AnyRecord]:
        if line.message is None or line.is_compact_summary:
            return
        content, uuid = line.message.content, line.uuid or ""
        blocks = [_Block(type="text", text=content)] if isinstance(content, str) else content
        for block in blocks:
            if block.type == "tool_result":
                yield ToolResult(
                    offset=offset, uuid=uuid, tool_id=block.tool_use_id, summary=shorten(_plain(block.content)),
                    is_error=bool(block.is_error),
                )  # fmt: skip
        text = "".join(block.text for block in blocks if block.type == "text")
        if line.turn_position is None and text.startswith(INTERRUPTED):
            yield Interrupted(offset=offset, uuid=uuid)
        elif line.turn_position is not None or (text and not text.startswith(("<local-command-", "<command-name>"))):
            yield PromptSeen(offset=offset, uuid=uuid, ask_ids=tuple(line.merged_send_uuids or [uuid]), text=text)

    def _assistant(self, line: _Line, offset: int) -> Iterator[AnyRecord]:
        message, uuid = line.message, line.uuid or ""
        if message is None:
            return
        if message.model == "<synthetic>":
            if line.is_api_error_message:
                yield failure(line.error, line.api_error_status, _text_of(message), offset)
            return
        yield from _blocks(message, uuid, offset)
        if message.usage and message.id not in self._counted:
            self._counted.append(message.id)
            yield _usage(message, message.usage, offset)
        if message.stop_reason in ("end_turn", "stop_sequence"):
            yield MessageEnd(offset=offset, uuid=uuid, message_id=message.id)

    def _system(self, line: _Line, offset: int) -> Iterator[AnyRecord]:
        if line.subtype == "api_error":
            detail = line.error if isinstance(line.error, dict) else {}
            status = count(detail.get("status")) or None
            yield Retry(
                offset=offset, uuid=line.uuid or "", attempt=count(line.retry_attempt),
                max_retries=count(line.max_retries), delay_ms=count(line.retry_in_ms),
                kind=_kind_of_status(status), status=status,
            )  # fmt: skip
        elif line.subtype == "compact_boundary":
            before = count(line.compact_metadata.pre_tokens) or None if line.compact_metadata else None
            yield Compacted(offset=offset, uuid=line.uuid or "", before_tokens=before)


class ClaudeOutput:
    """A decoder for stdout; `opened` is the request whose answer says that the CLI is up."""

    def __init__(self, opened: str) -> None:
        self._opened = opened
        self.wanted: dict[str, object] = {}
        """What the last tool that needs a permission was called with."""
        self.unknown = ""
        """A request in the last line that nobody here can fulfil."""

    def decode(self, line: bytes) -> list[AnyRecord]:
        self.unknown = ""
        return list(self._records(_leniently(_decode_output, _Output, line)))

    def _records(self, line: _Output) -> Iterator[AnyRecord]:
        mine = line.parent_tool_use_id is None
        match line.type:
            case "assistant" if mine and line.message:
                if line.message.model == "<synthetic>":
                    if line.is_api_error_message:
                        yield failure(line.error, line.api_error_status, _text_of(line.message), None)
                else:
                    yield from _blocks(line.message, line.uuid or "", None)
            case "stream_event" if mine and line.event and line.event.delta:
                if line.event.delta.type == "text_delta":
                    yield Delta(text=line.event.delta.text, message_id=line.api_message_id or "")
            case "command_lifecycle" if line.state in ("queued", "started", "completed", "cancelled"):
                yield PromptTaken(ask_ids=(line.command_uuid,), state=line.state)  # type: ignore[arg-type]  # just checked
            case "result":
                if window := _window(line.model_usage):
                    yield Window(tokens=window)
                yield _result(line)
            case "rate_limit_event" if line.rate_limit_info:
                info = line.rate_limit_info
                yield RateLimit(
                    status=info.status,
                    resets_at=finite(info.resets_at),
                    limit=info.limit or "",
                    utilization=finite(info.utilization),
                )
            case "control_response" if line.response and line.response.request_id == self._opened:
                about = line.response.response if isinstance(line.response.response, dict) else {}
                yield Ready(version=str(about.get("claude_code_version", "")))
            case "control_request" if line.request and line.request.subtype == "can_use_tool":
                self.wanted = line.request.input if isinstance(line.request.input, dict) else {}
                yield PermissionAsked(
                    permission_id=line.request_id, tool=line.request.tool_name, summary=what_it_wants(self.wanted),
                    tool_id=line.request.tool_use_id or "",
                )  # fmt: skip
            case "control_request":
                self.unknown = line.request_id
            case "control_cancel_request":
                yield PermissionGone(permission_id=line.request_id)
            case "system" if line.subtype == "init":
                yield Ready(version=line.claude_code_version, model=line.model)
            case "system" if line.subtype == "api_retry":
                kind = FAILURES.get(line.error, "unknown") if isinstance(line.error, str) else "unknown"
                yield Retry(
                    attempt=count(line.attempt), max_retries=count(line.max_retries),
                    delay_ms=count(line.retry_delay_ms), kind=kind, status=count(line.error_status) or None,
                )  # fmt: skip


def failure(error: Any, status: int | None, message: str, offset: int | None) -> Failure:
    kind, status = FAILURES.get(error, "unknown") if isinstance(error, str) else "unknown", count(status) or None
    if "rompt is too long" in message:
        kind = "context"
    elif status == 529:
        kind = "overloaded"
    elif kind == "unknown" and status is None:
        kind = "network"
    return Failure(offset=offset, kind=kind, message=message, status=status)


def _blocks(message: _Message, uuid: str, offset: int | None) -> Iterator[AnyRecord]:
    blocks = [_Block(type="text", text=message.content)] if isinstance(message.content, str) else message.content
    for block in blocks:
        match block.type:
            case "text" if block.text:
                yield Text(offset=offset, uuid=uuid, text=block.text, message_id=message.id)
            case "thinking":
                yield Thinking(offset=offset, uuid=uuid, text=block.thinking, message_id=message.id)
            case "tool_use":
                yield ToolUse(
                    offset=offset, uuid=uuid, tool=block.name, tool_id=block.id,
                    summary=tool_summary(block.input), message_id=message.id,
                )  # fmt: skip


def _usage(message: _Message, tokens: _Tokens, offset: int) -> Usage:
    fresh = count(tokens.input_tokens) + count(tokens.cache_creation_input_tokens)
    read, out = fresh + count(tokens.cache_read_input_tokens), count(tokens.output_tokens)
    return Usage(offset=offset, message_id=message.id, input_tokens=read, output_tokens=out, context_tokens=read + out)


def cost_told(line: bytes) -> float | None:
    """In a line that says what the session has cost."""
    try:
        told = msgspec.json.decode(line)
        return finite(told["totalCostUSD"]) if told["type"] == "cost-state" else None
    except UNREADABLE:
        return None


def _window(usage: Any) -> int:
    """Of the model that can hold most: the others only help."""
    return max((count(table(one).get("contextWindow")) for one in table(usage).values()), default=0)


def _result(line: _Output) -> TurnEnd:
    aborted = (line.terminal_reason or "").startswith("aborted")
    text = line.result if line.result is not None else "; ".join(str(error) for error in line.errors or [])
    return TurnEnd(
        uuid=line.uuid or "",
        ask_ids=tuple(line.user_message_uuids or ()),
        outcome="interrupted" if aborted else "failed" if line.is_error else "answered",
        text=text,
        cost_usd=finite(line.total_cost_usd),
        unasked=bool(line.origin and line.origin.kind == "task-notification"),
    )


def _kind_of_status(status: int | None) -> FailureKind:
    return "network" if status is None else BY_STATUS.get(status, "server")


def _text_of(message: _Message) -> str:
    return _plain(message.content)


def _plain(content: Any) -> str:
    """The text in a block's content, whichever of its shapes it has."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (b.text if isinstance(b, _Block) else b.get("text", "") for b in content if isinstance(b, _Block | dict))
    return "".join(text for text in texts if isinstance(text, str))
