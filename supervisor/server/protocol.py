"""What clients may say, decoded strictly: unknown types and fields are refused in words, and the connection goes on."""

from __future__ import annotations

from typing import Any

import msgspec

from supervisor.core.inputs import AnyCommand, Asked, Id
from supervisor.errors import Refused

MOST_BYTES = 256 * 1024
"""The longest message that is read."""
PROTOCOL = 1


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello", forbid_unknown_fields=True):
    """The first message of a client."""

    token: str = ""
    since: int | None = None
    client_id: Id | None = None
    request_id: Id | None = None


class Head(msgspec.Struct, frozen=True):
    """What can be read of any message, to answer it."""

    request_id: str | None = None


_hello = msgspec.json.Decoder(Hello)
_command: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AnyCommand)
_head = msgspec.json.Decoder(Head)
TYPES = frozenset(
    kind.__struct_config__.tag for kind in AnyCommand.__args__
)  # fmt: skip


def hello(data: str | bytes) -> Hello | None:
    """None where it is not a proper hello."""
    try:
        return _hello.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def head(data: str | bytes) -> Head:
    try:
        return _head.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Head()


def command(data: str | bytes, *, may_change: bool) -> AnyCommand:
    """A command; raises Refused with `bad_message`, `unknown_type` or `forbidden`."""
    try:
        found: AnyCommand = _command.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused(*_problem(data, error)) from None
    if not may_change and not isinstance(found, Asked):
        raise Refused("forbidden", "This token may look and not change anything.")
    return found


def _problem(data: str | bytes, error: Exception) -> tuple[str, str]:
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return "bad_message", "This is not JSON."
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return "bad_message", "A message is one JSON object with a `type`."
    if value["type"] == "hello":
        return "bad_message", "Hello was said already."
    if value["type"] not in TYPES:
        return "unknown_type", f"There is no message {value['type'][:60]!r}."
    return "bad_message", f"{error}."[:300]
