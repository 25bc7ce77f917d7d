"""JSON-RPC over stdin and stdout, one object a line: what codex and the Agent Client Protocol have in common."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from typing import Any

import msgspec

from supervisor.records import AnyRecord, PermissionAsked, PermissionGone

from .base import UNREADABLE, Launch, Reply, line_of, table

METHOD_NOT_FOUND = -32601
UNANSWERED = (
    "Your answer to the last message was cut off before anybody saw it. Answer that message now, from the beginning."
)
"""What is asked when the session holds the prompt already: it is not put a second time."""


INVALID_PARAMS = -32602


class Error(msgspec.Struct):
    """What went wrong, as far as it can be understood."""

    code: int = 0
    message: str = ""
    data: Any = None


class Heard(msgspec.Struct):
    """Whatever may come: a request, its answer, or a notification."""

    id: int | str | None = None
    method: str | None = None
    params: dict[str, Any] | None = None
    result: Any = None
    error: Error | None = None


class _Line(msgspec.Struct):
    id: Any = None
    method: str | None = None
    params: Any = None
    result: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Line).decode


def decode(line: bytes) -> Heard:
    """A line; an odd error is still the answer that somebody waits for."""
    heard = _decode(line)
    rpc_id = int(heard.id) if isinstance(heard.id, float) and heard.id.is_integer() else heard.id
    if isinstance(rpc_id, bool) or not isinstance(rpc_id, int | str | None):
        raise ValueError("an id is a number or a text")
    params = heard.params if isinstance(heard.params, dict) else None
    error: Error | None = None
    if heard.error is not None:
        told = table(heard.error)
        code = told.get("code")
        message = str(told.get("message") or (heard.error if isinstance(heard.error, str) else "it failed"))
        error = Error(code if isinstance(code, int) else 0, message, told.get("data"))
    return Heard(rpc_id, heard.method, params, heard.result, error)


class Permission(msgspec.Struct, frozen=True):
    """What the CLI waits for, and what to say either way."""

    rpc_id: int | str
    allow: object
    deny: object


class RpcDialogue(ABC):
    """The bookkeeping of one process: which answer is to what, and who waits for a permission."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self._count = 0
        self._sent: dict[int | str, str] = {}
        self._waiting: dict[str, Permission] = {}
        self._nonce, self._asked = secrets.token_hex(4), 0

    # -- what a protocol has to say -------------------------------------------------------------------------------

    @abstractmethod
    def answered(self, to: str, heard: Heard) -> Reply:
        """An answer to what was sent under this purpose."""

    @abstractmethod
    def told(self, method: str, params: dict[str, Any]) -> Reply:
        """A notification."""

    @abstractmethod
    def wanted(self, rpc_id: int | str, method: str, params: dict[str, Any]) -> Reply:
        """A request of the CLI."""

    # -- the lines ------------------------------------------------------------------------------------------------

    def hear(self, line: bytes) -> Reply:
        heard = decode(line)
        if heard.method is not None:
            params = heard.params or {}
            return self.told(heard.method, params) if heard.id is None else self._wanted(heard.id, heard.method, params)
        if heard.id is None or heard.id not in self._sent:
            return Reply([])
        return self.answered(self._sent.pop(heard.id), heard)

    def _wanted(self, rpc_id: int | str, method: str, params: dict[str, Any]) -> Reply:
        """Whatever it wants, it gets an answer."""
        try:
            return self.wanted(rpc_id, method, params)
        except UNREADABLE:
            error = {"code": INVALID_PARAMS, "message": f"{method} is not understood"}
            return Reply([], line_of({"jsonrpc": "2.0", "id": rpc_id, "error": error}))

    def request(self, purpose: str, method: str, params: dict[str, Any]) -> bytes:
        self._count += 1
        self._sent[self._count] = purpose
        return line_of({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})

    def notify(self, method: str, params: dict[str, Any]) -> bytes:
        return line_of({"jsonrpc": "2.0", "method": method, "params": params})

    def respond(self, rpc_id: int | str, result: object) -> bytes:
        return line_of({"jsonrpc": "2.0", "id": rpc_id, "result": result})

    def refuse(self, rpc_id: int | str, method: str) -> Reply:
        error = {"code": METHOD_NOT_FOUND, "message": f"{method} is not offered here"}
        return Reply([], line_of({"jsonrpc": "2.0", "id": rpc_id, "error": error}))

    # -- permissions ----------------------------------------------------------------------------------------------

    def decide(self, permission: Permission, tool: str, summary: str, tool_id: str = "") -> Reply:
        """Allow or deny at once where the configuration says it, else ask whoever is there."""
        if self.launch.tools != "ask":
            answer = permission.allow if self.launch.tools == "all" else permission.deny
            return Reply([], self.respond(permission.rpc_id, answer))
        self._asked += 1
        permission_id = f"{self._nonce}:{self._asked}"  # the next process counts its requests from the beginning
        self._waiting[permission_id] = permission
        asked = PermissionAsked(permission_id=permission_id, tool=tool, summary=summary, tool_id=tool_id)
        return Reply([asked])

    def permit(self, permission_id: str, allow: bool) -> bytes:
        permission = self._waiting.pop(permission_id, None)
        if permission is None:
            return b""
        return self.respond(permission.rpc_id, permission.allow if allow else permission.deny)

    def deny_all(self) -> bytes:
        """Whoever breaks off a turn answers first what the CLI waits for."""
        return b"".join(self.permit(permission_id, allow=False) for permission_id in [*self._waiting])

    def nobody_waits(self) -> list[AnyRecord]:
        """The turn is over, and with it whatever was waited for."""
        gone, self._waiting = self._waiting, {}
        return [PermissionGone(permission_id=permission_id) for permission_id in gone]
