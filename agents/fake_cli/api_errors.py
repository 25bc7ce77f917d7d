"""The API errors of the real program as they were measured: how often it retries, and what it says in the end."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .lines import Line


def _error(
    status: int | None,
    error: str,
    type_: str,
    text: str,
    delays: tuple[float, ...] = (),
    terminal: str = "api_error",
    recovers: bool = False,
) -> Line:
    return {
        "status": status,
        "error": error,
        "type": type_,
        "text": text,
        "details": f'{status} {{"type":"error","error":{{"type":"{type_}","message":"{text}"}}}}',
        "delays": delays,
        "terminal": terminal,
        "recovers": recovers,
    }


_DOUBLING = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 40.0, 40.0, 40.0)

API_ERRORS: dict[str, Line] = {
    "authentication": _error(401, "authentication_failed", "authentication_error", "Invalid API key", _DOUBLING),
    "forbidden": _error(403, "authentication_failed", "permission_error", "No access for this account"),
    "not_found": _error(404, "model_not_found", "not_found_error", "There is no such model"),
    "bad_request": _error(400, "invalid_request", "invalid_request_error", "The request was malformed"),
    "low_credit": _error(400, "billing_error", "invalid_request_error", "The credit balance is too low"),
    "rate_limit_short": _error(429, "rate_limit", "rate_limit_error", "Over the rate limit", (1.0, 1.2), recovers=True),
    "rate_limit_long": _error(429, "rate_limit", "rate_limit_error", "Over the rate limit for a while"),
    "overloaded": _error(529, "overloaded", "overloaded_error", "Repeatedly overloaded", (0.5, 1.1)),
    "server": _error(500, "server_error", "api_error", "Internal server error", _DOUBLING),
    "server_recovers": _error(500, "server_error", "api_error", "Internal server error", (0.5,), recovers=True),
    "cut_stream": _error(None, "unknown", "api_error", "The connection was cut", (0.5,), recovers=True),
    "refused": _error(None, "unknown", "api_error", "The connection was refused", _DOUBLING),
    "prompt_too_long": _error(
        400, "invalid_request", "invalid_request_error", "Prompt is too long", terminal="prompt_too_long"
    ),
}
