"""Direct answers to clients, as they go over the wire."""

from __future__ import annotations

from typing import Any

from supervisor import events as e


def message(kind: str, request_id: str | None, **fields: Any) -> str:
    """One that repeats the request it answers."""
    head: dict[str, Any] = {"type": kind} if request_id is None else {"type": kind, "request_id": request_id}
    return e.encoder.encode({**head, **fields}).decode()


def error(request_id: str | None, code: str, text: str) -> str:
    return message("error", request_id, code=code, message=text)
