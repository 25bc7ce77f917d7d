"""The shapes of everything the CLI prints and writes: pure functions from values to dicts in the measured key order.

Whoever reads stdout or a transcript sees these and nothing else, so a test compares every one of them, key by key,
with captures of the real program.
"""

from __future__ import annotations

import os
import time

from . import VERSION as VERSION

TYPE_CHECKING = False  # importing typing would cost two megabytes a process
if TYPE_CHECKING:
    from typing import Any

    Line = dict[str, Any]

PRICE_IN, PRICE_OUT = 3e-6, 15e-6  # dollars a token: made up, so that cost figures move
CONTEXT_WINDOW = 200_000


def new_id() -> str:
    """A random uuid4 without importing `uuid`, which costs more memory than the rest of this program."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    h = raw.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def new_token(prefix: str) -> str:
    return f"{prefix}_{os.urandom(11).hex()}"


def timestamp(now: float | None = None) -> str:
    now = time.time() if now is None else now
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"


def tokens(text: str) -> int:
    """About four characters a token, as a rule of thumb."""
    return max(1, (len(text) + 3) // 4)


class Usage:
    """Token counts of one or several requests."""

    def __init__(self, fresh: int = 0, cached: int = 0, created: int = 0, out: int = 0) -> None:
        self.fresh, self.cached, self.created, self.out = fresh, cached, created, out

    def add(self, other: Usage) -> None:
        self.fresh += other.fresh
        self.cached += other.cached
        self.created += other.created
        self.out += other.out

    @property
    def cost(self) -> float:
        return (self.fresh + self.created) * PRICE_IN + self.cached * PRICE_IN / 10 + self.out * PRICE_OUT

    def early(self, out: int = 1) -> Line:
        """As it stands on a stdout line: the output is not counted yet."""
        return {
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.created,
            "cache_read_input_tokens": self.cached,
            "output_tokens": out,
            "service_tier": "standard",
        }

    def final(self, failed: bool = False) -> Line:
        """As it stands in the transcript and in a result."""
        counts = {
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.created,
            "cache_read_input_tokens": self.cached,
            "output_tokens": self.out,
        }
        details = {"output_tokens_details": {"thinking_tokens": 0}}
        return {
            **(details | counts if failed else counts | details),
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
            "fallback_credit": None,
        }

    def by_model(self, model: str) -> Line:
        return {
            model: {
                "inputTokens": self.fresh,
                "outputTokens": self.out,
                "cacheReadInputTokens": self.cached,
                "cacheCreationInputTokens": self.created,
                "webSearchRequests": 0,
                "costUSD": self.cost,
                "contextWindow": CONTEXT_WINDOW,
                "maxOutputTokens": 128000,
                "thinkingTokens": 0,
                "cacheCreationEphemeral5mInputTokens": 0,
                "cacheCreationEphemeral1hInputTokens": 0,
                "canonicalModel": model,
                "provider": "firstParty",
                "costBasis": "list",
            }
        }


NO_USAGE = {
    "output_tokens_details": None,
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": None,
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    "inference_geo": None,
    "iterations": None,
    "speed": None,
    "fallback_credit": None,
}


def synthetic_message(text: str) -> Line:
    """An assistant message that no model wrote: errors, and what is put in after a resume."""
    return {
        "diagnostics": None,
        "id": new_id(),
        "container": None,
        "model": "<synthetic>",
        "role": "assistant",
        "stop_details": None,
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "type": "message",
        "usage": NO_USAGE,
        "content": [{"type": "text", "text": text}],
        "context_management": None,
    }


class Lines:
    """The lines of one session."""

    def __init__(self, session_id: str, cwd: str, model: str, tools: list[str], permission_mode: str) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.model = model
        self.tools = tools
        self.permission_mode = permission_mode

    # -- stdout ---------------------------------------------------------------------------------------------------

    def init(self, ask_ids: list[str]) -> Line:
        line = {
            "type": "system",
            "subtype": "init",
            "cwd": self.cwd,
            "session_id": self.session_id,
            "tools": self.tools,
            "mcp_servers": [],
            "model": self.model,
            "permissionMode": self.permission_mode,
            "slash_commands": [],
            "terminal_slash_commands": [],
            "apiKeySource": "none",
            "claude_code_version": VERSION,
            "output_style": "default",
            "agents": [],
            "skills": [],
            "plugins": [],
            "capabilities": ["interrupt_receipt_v1"],
            "analytics_disabled": True,
            "product_feedback_disabled": True,
            "uuid": new_id(),
            "memory_paths": {},
            "original_cwd": self.cwd,
            "additional_directories": [],
            "messaging_socket_path": None,
            "fast_mode_state": "off",
            "fast_mode_disabled_reason": "sdk_opt_in_required",
            "per_turn_effort_active": True,
            "ultrathink_available": False,
            "ultrathink_typed_raises": False,
            "view_mode": "default",
        }
        return line | ({"user_message_uuids": ask_ids} if ask_ids else {})

    def lifecycle(self, ask_id: str, state: str) -> Line:
        return {
            "type": "command_lifecycle",
            "command_uuid": ask_id,
            "state": state,
            "uuid": new_id(),
            "session_id": self.session_id,
        }

    def replay(self, content: Any, ask_id: str, at: str) -> Line:
        return {
            "type": "user",
            "message": {"role": "user", "content": content},
            "session_id": self.session_id,
            "parent_tool_use_id": None,
            "uuid": ask_id,
            "timestamp": at,
            "isReplay": True,
        }

    def system(self, subtype: str, **fields: Any) -> Line:
        line = {"type": "system", "subtype": subtype, **fields}
        return line | {"session_id": self.session_id, "uuid": new_id()}

    def stream(self, event: Line, message_id: str, **fields: Any) -> Line:
        return {
            "type": "stream_event",
            "event": event,
            "session_id": self.session_id,
            "parent_tool_use_id": None,
            "uuid": new_id(),
            **fields,
            "api_message_id": message_id,
        }

    def message(self, message_id: str, content: list[Line], usage: Usage) -> Line:
        return {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage.early(),
        }

    def assistant(self, message_id: str, block: Line, usage: Usage, uuid: str, at: str, request: str) -> Line:
        message = self.message(message_id, [block], usage) | {"context_management": None}
        line: Line = {
            "type": "assistant",
            "message": message,
            "parent_tool_use_id": None,
            "session_id": self.session_id,
            "uuid": uuid,
            "timestamp": at,
            "request_id": request,
        }
        if block["type"] == "thinking":
            line |= {"thinking_duration_ms": 1, "thinking_display": "updates"}
        return line

    def failed_assistant(self, message: Line, uuid: str, at: str, request: str, error: Line) -> Line:
        return {
            "type": "assistant",
            "message": message,
            "parent_tool_use_id": None,
            "session_id": self.session_id,
            "uuid": uuid,
            "timestamp": at,
            "error": error["error"],
            "request_id": request,
            "is_api_error_message": True,
            "api_error_status": error["status"],
            "api_error_type": error["type"],
        }

    def user(self, content: list[Line], uuid: str, at: str) -> Line:
        """A tool's result, or the note that the turn was interrupted."""
        line: Line = {
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": None,
            "session_id": self.session_id,
            "uuid": uuid,
            "timestamp": at,
        }
        if content[0]["type"] == "tool_result":
            decision = {"decision": "accept", "source": "config", "reason_type": "mode"}
            line |= {
                "tool_use_result": tool_result_details(content[0]),
                "tool_result_meta": [{"id": content[0]["tool_use_id"], "permission_decision": decision}],
            }
        return line

    def result(
        self,
        *,
        turn: Usage,
        total: Usage,
        stop_reason: str | None,
        terminal_reason: str,
        num_turns: int,
        index: int,
        ms: int,
        text: str | None = None,
        error: Line | None = None,
        errors: list[str] | None = None,
        ask_ids: list[str] | None = None,
    ) -> Line:
        """The end of a turn. As in the real one, errors of the API also say `success`; `is_error` tells."""
        failed = errors is not None or error is not None
        line: Line = {
            "duration_api_ms": 0 if failed else ms,
            "stop_reason": stop_reason,
            "session_id": self.session_id,
            "total_cost_usd": total.cost,
            "usage": (Usage() if failed else turn).final(failed),
            "modelUsage": total.by_model(self.model) if total.out else {},
            "permission_denials": [],
            "terminal_reason": terminal_reason,
            "fast_mode_state": "off",
            "fast_mode_disabled_reason": "sdk_opt_in_required",
            "subagent_stats": {
                "spawned": 0,
                "requested": {"background": 0, "foreground": 0, "unset": 0},
                "started_in_background": 0,
                "max_depth": 0,
                "spawned_by_subagents": 0,
                "completed": 0,
                "failed": 0,
                "killed": {"parent": 0, "user": 0, "system": 0},
                "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
                "by_type": {},
            },
            "safety_stops": 0,
            "is_error": failed,
            "num_turns": num_turns,
        }
        if errors is not None:
            line |= {"subtype": "error_during_execution", "errors": errors}
        else:
            line |= {"subtype": "success", "api_error_status": error["status"] if error else None}
            line |= {"api_error_type": error["type"]} if error else {}
            line |= {"result": text} | ({} if error else {"ttft_ms": ms})
        line |= {"type": "result", "duration_ms": ms, "uuid": new_id()}
        if not failed:
            line |= {"ttft_stream_ms": ms, "time_to_request_ms": 0, "first_content_frame_ms": ms}
        if ask_ids:
            line |= {"user_message_uuid": ask_ids[0], "user_message_uuids": ask_ids}
            line |= {
                "request_sent_wall_ms": int(time.time() * 1000),
                "first_request_input_tokens": turn.fresh + turn.cached + turn.created,
                "first_request_cache_read_input_tokens": turn.cached,
            }
        line |= {"queued_turn_count": 0, "result_index": index}
        return line | {"model_usage_since_last_result": turn.by_model(self.model) if turn.out else {}}

    def control(self, request_id: Any, response: Line | None = None, error: str | None = None) -> Line:
        if error is not None:
            answer: Line = {"subtype": "error", "request_id": request_id, "error": error}
            return {"type": "control_response", "response": answer | {"error_code": "unsupported_request"}}
        answer = {"subtype": "success", "request_id": request_id}
        return {
            "type": "control_response",
            "response": answer | ({} if response is None else {"response": response}),
        }

    def rate_limit(self, resets_at: int, kind: str, utilization: float) -> Line:
        info = {
            "status": "rejected",
            "resetsAt": resets_at,
            "rateLimitType": kind,
            "utilization": utilization,
        }
        return {
            "type": "rate_limit_event",
            "rate_limit_info": info,
            "uuid": new_id(),
            "session_id": self.session_id,
        }

    # -- transcript -----------------------------------------------------------------------------------------------

    def _where(self) -> Line:
        return {
            "userType": "external",
            "entrypoint": "sdk-cli",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": "HEAD",
        }

    def t_queue(self, operation: str, content: str | None = None, **fields: Any) -> Line:
        line = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": timestamp(),
            "sessionId": self.session_id,
        }
        return line | ({} if content is None else {"content": content}) | fields

    def t_plain(self, kind: str, **fields: Any) -> Line:
        """The one-line notes that stand between the messages."""
        return {"type": kind, **fields, "sessionId": self.session_id}

    def t_api_request(self, request: str, first: bool, keep: int) -> Line:
        line = {
            "type": "api-request",
            "sessionId": self.session_id,
            "id": new_id(),
            "timestamp": timestamp(),
            "version": VERSION,
            "querySource": "sdk",
            "shapeHash": "0" * 64,
        }
        return line | ({} if first else {"base": request}) | {"keep": keep, "tail": [], "requestDigest": "0" * 64}

    def t_attachment(self, parent: str | None, kind: str, **fields: Any) -> Line:
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "type": "attachment",
            "uuid": new_id(),
            "timestamp": timestamp(),
            "sessionId": self.session_id,
            "version": VERSION,
            "attachment": {"type": kind, **fields},
        }

    def t_queued_command(self, parent: str | None, content: str, ask_id: str) -> Line:
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "attachment": {"type": "queued_command", "prompt": content, "source_uuid": ask_id},
            "type": "attachment",
            "uuid": new_id(),
            "timestamp": timestamp(),
            "rendered": content,
            "renderedRole": "user",
            **self._where(),
        }

    def t_prompt(
        self,
        parent: str | None,
        prompt_id: str,
        content: Any,
        uuid: str,
        at: str,
        turn: int,
        merged: list[str],
    ) -> Line:
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "promptId": prompt_id,
            "type": "user",
            "message": {"role": "user", "content": content},
            "uuid": uuid,
            "timestamp": at,
            "permissionMode": self.permission_mode,
            "promptSource": "sdk",
            "turnOrigin": "sdk",
            "turnPosition": {"promptIndex": 0, "turnIndex": turn},
            **({"mergedSendUuids": merged} if len(merged) > 1 else {}),
            **({"turnAttributionKey": uuid} if merged else {}),
            **self._where(),
        }

    def t_user(self, parent: str | None, prompt_id: str, content: list[Line], uuid: str, at: str) -> Line:
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "promptId": prompt_id,
            "type": "user",
            "message": {"role": "user", "content": content},
            "uuid": uuid,
            "timestamp": at,
        }
        if content[0]["type"] == "tool_result":
            line |= {
                "toolUseResult": tool_result_details(content[0]),
                "sourceToolAssistantUUID": parent,
                "permissionDecision": {"decision": "accept", "source": "config", "reasonType": "mode"},
            }
        return line | self._where()

    def t_assistant(
        self,
        parent: str | None,
        message_id: str,
        block: Line,
        usage: Usage,
        stop_reason: str | None,
        uuid: str,
        at: str,
        request: str,
        index: int,
        aborted: bool = False,
    ) -> Line:
        message = self.message(message_id, [block], usage)
        message |= {"stop_reason": stop_reason, "usage": usage.final(), "stop_details": None}
        line: Line = {"parentUuid": parent, "isSidechain": False, "message": message}
        if block["type"] == "thinking":
            line |= {"thinkingDurationMs": 1, "thinkingDisplay": "updates"}
        elif block["type"] == "tool_use":
            line["toolInputStreamMs"] = 1
        line |= {
            "apiBlockIndex": index,
            "requestId": request,
            "requestRef": new_id(),
            "requestedModel": self.model,
            "promptCacheRequested": "5m",
            "type": "assistant",
            "uuid": uuid,
            "timestamp": at,
        }
        line |= {"isAbortedMidStream": True} if aborted else {}
        return line | {"effort": "medium", "perTurnEffort": "medium", "madeBy": "model", **self._where()}

    def t_failed(self, parent: str | None, message: Line, uuid: str, at: str, request: str, error: Line) -> Line:
        too_long = error["terminal"] == "prompt_too_long"
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "type": "assistant",
            "uuid": uuid,
            "timestamp": at,
            "message": message,
            "requestId": request,
            **({"apiErrorIsTransient": False} if error["status"] == 429 else {}),
            "error": error["error"],
            **({"errorDetails": error["details"]} if too_long else {}),
            "isApiErrorMessage": True,
            "apiErrorStatus": error["status"],
            "apiErrorType": error["type"],
            **({} if too_long else {"perTurnEffort": "medium"}),
            "failedResponseHadNoToolCall": True,
            "madeBy": "other" if too_long else "model",
        }
        return line | self._where()

    def t_no_response(self, parent: str | None) -> Line:
        """What a resumed session puts behind a prompt that was never answered."""
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "type": "assistant",
            "uuid": new_id(),
            "timestamp": timestamp(),
            "message": synthetic_message("No response requested."),
            "isApiErrorMessage": False,
            "madeBy": "other",
            **self._where(),
        }

    def t_api_error(self, parent: str | None, error: Line, attempt: int, delay_ms: int, request: str) -> Line:
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "type": "system",
            "subtype": "api_error",
            "level": "error",
            "error": {
                "message": error["details"],
                "status": error["status"],
                "requestId": request,
                "formatted": f"{error['status']} {error['text']}",
                "connection": None,
                "isNetworkDown": False,
                "rateLimits": None,
                "noResponse": None,
            },
            "retryInMs": delay_ms,
            "retryAttempt": attempt,
            "maxRetries": 10,
            "source": "request_retry",
            "timestamp": timestamp(),
            "uuid": new_id(),
            **self._where(),
        }

    def t_compact(self, parent: str | None, before: int) -> Line:
        return {
            "parentUuid": None,
            "logicalParentUuid": parent,
            "isSidechain": False,
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "timestamp": timestamp(),
            "uuid": new_id(),
            "level": "info",
            "compactMetadata": {"trigger": "auto", "preTokens": before},
            **self._where(),
        }

    def t_cost(self, total: Usage, started: float) -> Line:
        return {
            "type": "cost-state",
            "sessionId": self.session_id,
            "totalCostUSD": total.cost,
            "totalAPIDuration": 0,
            "totalAPIDurationWithoutRetries": 0,
            "totalToolDuration": 0,
            "totalLinesAdded": 0,
            "totalLinesRemoved": 0,
            "totalDuration": int((time.time() - started) * 1000),
            "startTime": int(started * 1000),
            "modelUsage": {
                self.model: {
                    "inputTokens": total.fresh,
                    "outputTokens": total.out,
                    "thinkingTokens": 0,
                    "cacheReadInputTokens": total.cached,
                    "cacheCreationInputTokens": total.created,
                    "cacheCreationEphemeral5mInputTokens": 0,
                    "cacheCreationEphemeral1hInputTokens": 0,
                    "webSearchRequests": 0,
                    "costUSD": total.cost,
                }
            },
            "hasUnknownModelCost": False,
        }


def tool_result_details(block: Line) -> Line:
    return {
        "stdout": block["content"],
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }
