"""The shapes of what the CLI prints to stdout."""

from __future__ import annotations

import time

from . import VERSION
from .lines import Session, Usage, new_id, tool_result_details

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .lines import Line


class Printed(Session):
    """Lines of stdout."""

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

    def can_use_tool(self, request_id: str, tool: str, given: Line, tool_id: str) -> Line:
        """The question whether a tool may be used; the answer is a control_response."""
        request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "permission_suggestions": []}
        return {"type": "control_request", "request_id": request_id, "request": request | {"tool_use_id": tool_id}}

    def user(self, content: list[Line], uuid: str, at: str, decision: str = "accept") -> Line:
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
            made = {"decision": decision, "source": "config", "reason_type": "mode"}
            line |= {
                "tool_use_result": tool_result_details(content[0]),
                "tool_result_meta": [{"id": content[0]["tool_use_id"], "permission_decision": made}],
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
        denials: list[Line] | None = None,
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
            "permission_denials": denials or [],
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
            line |= {"user_message_uuid": ask_ids[0]} if ask_ids else {}
        else:
            line |= {"subtype": "success", "api_error_status": error["status"] if error else None}
            line |= {"api_error_type": error["type"]} if error else {}
            line |= {"result": text} | ({} if error else {"ttft_ms": ms})
        line |= {"type": "result", "duration_ms": ms, "uuid": new_id()}
        if not failed:
            line |= {"ttft_stream_ms": ms, "time_to_request_ms": 0, "first_content_frame_ms": ms}
        line |= {key: value for key, value in named(ask_ids).items() if key not in line}
        if ask_ids and not failed:
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


def named(ask_ids: list[str] | None) -> Line:
    """The prompts that a line answers, where they had ids."""
    return {"user_message_uuid": ask_ids[0], "user_message_uuids": ask_ids} if ask_ids else {}
