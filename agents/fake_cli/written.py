"""The shapes of what the CLI writes to its transcript."""

from __future__ import annotations

import time

from . import VERSION
from .lines import Session, Usage, new_id, synthetic_message, timestamp, tool_result_details

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .lines import Line


class Written(Session):
    """Lines of a transcript."""

    def _where(self) -> Line:
        return {
            "userType": "external",
            "entrypoint": "sdk-cli",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": "HEAD",
        }

    def queue(self, operation: str, content: str | None = None, **fields: Any) -> Line:
        line = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": timestamp(),
            "sessionId": self.session_id,
        }
        return line | ({} if content is None else {"content": content}) | fields

    def plain(self, kind: str, **fields: Any) -> Line:
        """The one-line notes that stand between the messages."""
        return {"type": kind, **fields, "sessionId": self.session_id}

    def api_request(self, request: str, first: bool, keep: int) -> Line:
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

    def attachment(self, parent: str | None, kind: str, **fields: Any) -> Line:
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

    def queued_command(self, parent: str | None, content: str, ask_id: str) -> Line:
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

    def prompt(
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

    def user(
        self, parent: str | None, prompt_id: str, content: list[Line], uuid: str, at: str, decision: str = "accept"
    ) -> Line:
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
                "permissionDecision": {"decision": decision, "source": "config", "reasonType": "mode"},
            }
        return line | self._where()

    def assistant(
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

    def failed(self, parent: str | None, message: Line, uuid: str, at: str, request: str, error: Line) -> Line:
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

    def no_response(self, parent: str | None) -> Line:
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

    def api_error(self, parent: str | None, error: Line, attempt: int, delay_ms: int, request: str) -> Line:
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

    def compact(self, parent: str | None, before: int) -> Line:
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

    def cost(self, total: Usage, started: float) -> Line:
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
