"""Codex's transcript, its rollout file, into records. Unknown types and fields are passed over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.records import (
    AnyRecord,
    Compacted,
    Failure,
    FailureKind,
    Interrupted,
    MessageEnd,
    PromptSeen,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)

from .base import Once, count, failure_kind, rows, shorten, table, tool_summary, wait_named_in

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS: dict[str, FailureKind] = {
    "context_window_exceeded": "context", "usage_limit_exceeded": "rate_limit", "rate_limit_exceeded": "rate_limit",
    "server_overloaded": "overloaded", "unauthorized": "authentication", "bad_request": "invalid_request",
    "model_not_found": "invalid_request", "internal_server_error": "server", "cyber_policy": "refused",
    "session_budget_exceeded": "billing",
}  # fmt: skip
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
RESULTS = ("function_call_output", "custom_tool_call_output")
FAILED = re.compile(r"exited with code [1-9]|^execution error|rejected by user", re.I | re.M)


class _Line(msgspec.Struct):
    type: str = ""
    timestamp: str = ""
    ordinal: int | None = None
    payload: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_Line).decode


class CodexTranscript:
    """A decoder for one rollout."""

    first_keys: tuple[str, ...] = ("timestamp",)

    def __init__(self) -> None:
        self._once = Once()
        self._last = ""

    def is_record(self, value: dict[str, Any]) -> bool:
        return "timestamp" in value and "type" in value and "payload" in value

    def decode(self, line: bytes, offset: int) -> list[AnyRecord]:
        decoded = _decode(line)
        if decoded.type not in ("event_msg", "response_item", "token_usage_record", "compacted"):
            return []
        if decoded.ordinal is not None and not self._once.first(f"{decoded.ordinal} {decoded.timestamp}"):
            return []
        payload = msgspec.json.decode(decoded.payload)
        return list(self._records(decoded.type, payload, offset)) if isinstance(payload, dict) else []

    def _records(self, kind: str, payload: dict[str, Any], offset: int) -> Iterator[AnyRecord]:
        match kind, payload.get("type"):
            case "event_msg", "item_completed":
                yield from self._item(table(payload.get("item")), offset)
            case "event_msg", "task_complete":
                error = payload.get("error")
                if isinstance(error, dict):
                    gone = failure(error.get("message"), error.get("codex_error_info"))
                    yield msgspec.structs.replace(gone, offset=offset)
                else:
                    yield MessageEnd(offset=offset, message_id=self._last)
            case "event_msg", "turn_aborted":
                yield Interrupted(offset=offset)
            case "response_item", str() as what if what in CALLS:
                name = str(payload.get("name") or what.removesuffix("_call"))
                yield ToolUse(
                    offset=offset, tool=name, tool_id=str(payload.get("call_id") or payload.get("id") or ""),
                    summary=_summary(payload),
                )  # fmt: skip
            case "response_item", str() as what if what in RESULTS:
                output = payload.get("output")
                text = (
                    output
                    if isinstance(output, str)
                    else str((output or {}).get("content", ""))
                    if isinstance(output, dict)
                    else ""
                )
                yield ToolResult(
                    offset=offset, tool_id=str(payload.get("call_id") or ""),
                    summary=shorten(text.rpartition("Output:\n")[2]), is_error=bool(FAILED.search(text)),
                )  # fmt: skip
            case "token_usage_record", _:
                usage = table(payload.get("usage"))
                read, out = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
                yield Usage(
                    offset=offset, message_id=str(payload.get("response_id", "")), input_tokens=read, output_tokens=out,
                    context_tokens=read + out,
                )  # fmt: skip
            case "compacted", _:
                yield Compacted(offset=offset)

    def _item(self, item: dict[str, Any], offset: int) -> Iterator[AnyRecord]:
        name = str(item.get("id", ""))
        text = "".join(str(part.get("text", "")) for part in rows(item.get("content")))
        match item.get("type"):
            case "UserMessage":
                ours = item.get("client_id")
                yield PromptSeen(offset=offset, uuid=name, ask_ids=(str(ours),) if ours else (), text=text)
            case "AgentMessage" if text:
                self._last = name
                yield Text(offset=offset, uuid=name, message_id=name, text=text)
            case "Reasoning":
                summary = item.get("summary_text")
                thought = "\n".join(str(part) for part in summary) if isinstance(summary, list) else ""
                yield Thinking(offset=offset, uuid=name, message_id=name, text=thought)


def failure(message: Any, info: Any, detail: Any = None) -> Failure:
    """What its error says, whichever of its two spellings it has."""
    text, status = str(message or detail or "it failed"), 0
    name, inside = (
        (info, None)
        if isinstance(info, str)
        else next(iter(info.items()), ("", None))
        if isinstance(info, dict)
        else ("", None)
    )
    if isinstance(inside, dict):
        status = count(inside.get("http_status_code", inside.get("httpStatusCode")))
    kind = KINDS.get(re.sub(r"(?<=[a-z])([A-Z])", r"_\1", str(name)).lower())
    if kind is None:
        kind = failure_kind(text, status or None)
        kind = "network" if kind == "unknown" and "isconnected" in str(name) else kind
    return Failure(kind=kind, message=text, status=status or None, retry_after=wait_named_in(text))


def _summary(payload: dict[str, Any]) -> str:
    """What a call is about: its arguments are JSON in a string, or a patch."""
    given = payload.get("arguments") or payload.get("input") or payload.get("action") or ""
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.DecodeError, UnicodeError):
            files = re.findall(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", str(given), re.M)
            return shorten(", ".join(files) or str(given))
    return tool_summary(given)
