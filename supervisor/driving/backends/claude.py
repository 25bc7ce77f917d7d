"""Claude Code: long-lived, one prompt a line on stdin, with the ask's own uuid on each of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from .base import Launch, Reply
from .claude_lines import ClaudeOutput, ClaudeTranscript

if TYPE_CHECKING:
    from .base import Decoder, Dialogue

STREAMING = (
    "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
)  # fmt: skip
LEAN = ("--tools", "", "--strict-mcp-config", "--setting-sources", "", "--disable-slash-commands")


class Claude:
    """Starts, resumes and finds Claude Code."""

    name = "claude"
    allow: tuple[str, ...] = ("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "AWS_*", "GOOGLE_*", "CLOUD_ML_REGION")
    program: tuple[str, ...] = ("claude",)
    free: bool = False
    lean: tuple[str, ...] = LEAN

    def command(self, launch: Launch) -> list[str]:
        which = "--resume" if launch.resume else "--session-id"
        command = [*(launch.command or self.program), *STREAMING, which, launch.session_id, *self.lean]
        if launch.model:
            command += ["--model", launch.model]
        if launch.instructions:
            command.append(f"--system-prompt={launch.instructions}")  # it may begin with a dash
        return [*command, *launch.arguments]

    def environment(self, launch: Launch) -> dict[str, str]:
        return {"DISABLE_AUTOUPDATER": "1"}

    def watched(self, launch: Launch, environment: dict[str, str]) -> Path:
        config = environment.get("CLAUDE_CONFIG_DIR")
        return (Path(config) if config else Path(environment.get("HOME", "~")).expanduser() / ".claude") / "projects"

    def locate(self, launch: Launch, environment: dict[str, str]) -> Path | None:
        found = self.watched(launch, environment).glob(f"*/{launch.session_id}.jsonl")
        return next(iter(sorted(found)), None)

    def decoder(self) -> Decoder:
        return ClaudeTranscript()

    def dialogue(self) -> Dialogue:
        return ClaudeDialogue()


class ClaudeDialogue:
    """Stream-json on stdin and stdout."""

    OPENED = "supervisor-open"

    def __init__(self) -> None:
        self._output = ClaudeOutput(self.OPENED)
        self._interrupts = 0

    def open(self) -> bytes:
        return _line({"type": "control_request", "request_id": self.OPENED, "request": {"subtype": "initialize"}})

    def ask(self, ask_id: str, prompt: str) -> bytes:
        return _line({"type": "user", "uuid": ask_id, "message": {"role": "user", "content": prompt}})

    def interrupt(self) -> bytes:
        self._interrupts += 1
        request_id = f"supervisor-interrupt-{self._interrupts}"
        return _line({"type": "control_request", "request_id": request_id, "request": {"subtype": "interrupt"}})

    def hear(self, line: bytes) -> Reply:
        return Reply(self._output.decode(line))


def _line(value: object) -> bytes:
    """One line of JSON in ASCII: lone surrogates in a prompt cannot spoil it."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
