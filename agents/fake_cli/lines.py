"""What the lines that are printed and those that are written share: ids, times, token counts, messages.

`printed` and `written` hold the shapes themselves: pure functions from values to dicts in the measured key order.
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


class Session:
    """What every line of a session repeats."""

    def __init__(self, session_id: str, cwd: str, model: str, tools: list[str], permission_mode: str) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.model = model
        self.tools = tools
        self.permission_mode = permission_mode

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


def tool_result_details(block: Line) -> Line:
    return {
        "stdout": block["content"],
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }
