"""What a CLI has to tell us to be driven. Everything here is pure: values in, values and bytes out.

A `Backend` knows how to start its CLI and where the transcript will be. A `Dialogue` is one running process spoken to
over stdin and stdout, without doing any I/O itself: a CLI that wants a handshake or answers to its own requests is only
a longer dialogue. A `Decoder` turns lines into records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.records import AnyRecord


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One agent as it is to be started."""

    agent_id: str
    owner: str = ""
    """Whose agent it is: a part of the mark by which its processes are found."""
    folder: str
    """The agent's own folder, for logs and for whatever the CLI keeps."""
    session_id: str
    resume: bool = False
    cwd: str = ""
    """Where the CLI works; the agent's folder if empty."""
    command: tuple[str, ...] = ()
    """The program and its first arguments, where not the backend's own."""
    arguments: tuple[str, ...] = ()
    """Further arguments, at the end."""
    model: str = ""
    instructions: str = ""
    """The system prompt."""
    allow: tuple[str, ...] = ()
    """Further names or patterns of environment variables to pass on."""
    environment: dict[str, str] = {}


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises where a line is not a whole record of the expected shape."""


class Reply(NamedTuple):
    """What a line of output meant, and what is to be written in answer to it."""

    records: list[AnyRecord]
    write: bytes = b""


class Decoder(Protocol):
    """Lines of one transcript into records, in order; remembers what it must not give out twice."""

    @property
    def first_keys(self) -> tuple[str, ...]:
        """How records usually begin: where to look for one in a damaged line."""

    def decode(self, line: bytes, offset: int) -> list[AnyRecord]:
        """Raises one of `UNREADABLE` where the line is not a whole record."""

    def is_record(self, value: dict[str, Any]) -> bool:
        """Whether an object found in a damaged line is a record of its own, and not a part of a torn one."""


class Dialogue(Protocol):
    """One process, from its first byte of stdin to its last line of stdout."""

    def open(self) -> bytes:
        """What to write first; a `Ready` record has to come of it."""

    def ask(self, ask_id: str, prompt: str) -> bytes: ...

    def interrupt(self) -> bytes:
        """What breaks off the running turn; empty where a CLI cannot do that."""

    def hear(self, line: bytes) -> Reply:
        """A line of stdout; raises like `Decoder.decode`."""


class Backend(Protocol):
    """One kind of CLI."""

    @property
    def name(self) -> str: ...

    @property
    def program(self) -> tuple[str, ...]:
        """The program and its first arguments, where the configuration names no other."""

    @property
    def free(self) -> bool:
        """Whether it costs nothing, so that its agents may have a life of their own unasked."""

    @property
    def allow(self) -> tuple[str, ...]:
        """The environment variables that this CLI needs to sign in and to reach its model."""

    def command(self, launch: Launch) -> list[str]:
        """The whole command line."""

    def environment(self, launch: Launch) -> dict[str, str]:
        """Variables to set for it."""

    def watched(self, launch: Launch, environment: dict[str, str]) -> Path:
        """The folder below which its transcript will be."""

    def locate(self, launch: Launch, environment: dict[str, str]) -> Path | None:
        """The transcript, once it is there."""

    def decoder(self) -> Decoder: ...

    def dialogue(self) -> Dialogue: ...
