"""Claude Code: long-lived, one prompt a line on stdin, with the ask's own uuid on each of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.records import PermissionAsked, PermissionGone, TurnEnd

from .base import Backend, Launch, Reply, SignIn, line_of
from .claude_lines import ClaudeOutput, ClaudeTranscript, cost_told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.records import AnyRecord

    from .base import Decoder, Dialogue

STREAMING = (
    "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
)  # fmt: skip
QUIET = '{"disableAllHooks":true,"outputStyle":"default","permissions":{"defaultMode":"default"}}'
TALKING = ("--strict-mcp-config", "--setting-sources", "user", "--settings", QUIET, "--disable-slash-commands")
"""Of the user's settings what signs in (`env`, `apiKeyHelper`), and nothing that runs or is told for working."""
READING = "Read,Glob,Grep"
ASKING = ("--permission-prompt-tool", "stdio")
TOOLS: dict[str, tuple[str, ...]] = {
    "none": ("--tools", "", *TALKING),
    "read": ("--tools", READING, "--allowedTools", READING, *TALKING),
    "ask": ASKING,
    "all": ASKING,
}
"""Also what is allowed without asking comes by us: its own switch for that is refused to some users."""


class Claude(Backend):
    """Starts, resumes and finds Claude Code."""

    name = "claude"
    allow: tuple[str, ...] = (
        "ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "AWS_*", "GOOGLE_*", "CLOUD_ML_REGION", "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    )  # fmt: skip
    program: tuple[str, ...] = ("claude",)
    oldest: str = "2.1.0"
    tested: str = "2.1.326"
    install: str = "npm install -g @anthropic-ai/claude-code"
    tells_retries = True
    tells_cost = b'"cost-state"'
    sign_in: SignIn | None = SignIn(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        ("auth", "status"),
        how="run `claude auth login`",
    )
    parameters: tuple[str, ...] | None = ("effort", "max_thinking_tokens", "max_output_tokens")

    def command(self, launch: Launch) -> list[str]:
        which = "--resume" if launch.resume else "--session-id"
        command = [*(launch.command or self.program), *STREAMING, which, launch.session_id, *TOOLS[launch.tools]]
        if launch.model:
            command += ["--model", launch.model]
        if "effort" in launch.parameters:
            command += ["--effort", str(launch.parameters["effort"])]
        if launch.instructions:  # it may begin with a dash; who works keeps what it was taught about its tools
            which = "--system-prompt" if launch.tools == "none" else "--append-system-prompt"
            command.append(f"{which}={launch.instructions}")
        return [*command, *launch.arguments]

    def environment(self, launch: Launch) -> dict[str, str]:
        given = {"DISABLE_AUTOUPDATER": "1"}
        if launch.tools in ("none", "read"):
            given |= {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
        if "max_thinking_tokens" in launch.parameters:
            given["MAX_THINKING_TOKENS"] = str(launch.parameters["max_thinking_tokens"])
        if "max_output_tokens" in launch.parameters:
            given["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(launch.parameters["max_output_tokens"])
        return given

    def watched(self, launch: Launch, environment: Mapping[str, str]) -> Path:
        config = environment.get("CLAUDE_CONFIG_DIR")
        return (Path(config) if config else Path(environment.get("HOME", "~")).expanduser() / ".claude") / "projects"

    def locate(self, launch: Launch, environment: Mapping[str, str]) -> Path | None:
        found = self.watched(launch, environment).glob(f"*/{launch.session_id}.jsonl")
        return next(iter(sorted(found)), None)

    def cost_told(self, line: bytes) -> float | None:
        """It writes this down whenever it ends in good order."""
        return cost_told(line)

    def decoder(self) -> Decoder:
        return ClaudeTranscript()

    def dialogue(self, launch: Launch) -> Dialogue:
        return ClaudeDialogue(launch)


class ClaudeDialogue:
    """Stream-json on stdin and stdout."""

    OPENED = "supervisor-open"

    def __init__(self, launch: Launch) -> None:
        self._output = ClaudeOutput(self.OPENED)
        self._tools = launch.tools
        self._spent = launch.spent
        self._interrupts = 0
        self._waiting: dict[str, dict[str, object]] = {}

    def open(self) -> bytes:
        return line_of({"type": "control_request", "request_id": self.OPENED, "request": {"subtype": "initialize"}})

    def ask(self, ask_id: str, prompt: str) -> bytes:
        return line_of({"type": "user", "uuid": ask_id, "message": {"role": "user", "content": prompt}})

    def interrupt(self) -> bytes:
        self._interrupts += 1
        request_id = f"supervisor-interrupt-{self._interrupts}"
        return line_of({"type": "control_request", "request_id": request_id, "request": {"subtype": "interrupt"}})

    def hear(self, line: bytes) -> Reply:
        records: list[AnyRecord] = []
        write = b""
        for record in self._output.decode(line):
            if isinstance(record, PermissionAsked):
                self._waiting[record.permission_id] = self._output.wanted
                if self._tools != "ask":
                    write += self.permit(record.permission_id, self._tools == "all")
                    continue
            elif isinstance(record, TurnEnd):
                gone, self._waiting = self._waiting, {}
                records += [PermissionGone(permission_id=permission_id) for permission_id in gone]
                records.append(self._since_the_start(record))
                continue
            records.append(record)
        return Reply(records, write + self._refuse(self._output.unknown))

    def _since_the_start(self, end: TurnEnd) -> TurnEnd:
        """What the session had cost before this process was counted then."""
        if end.cost_usd is None:
            return end
        return msgspec.structs.replace(end, cost_usd=max(0.0, end.cost_usd - self._spent))

    def _refuse(self, request_id: str) -> bytes:
        """Whatever it wants, it gets an answer: else it would wait for ever."""
        if not request_id:
            return b""
        response = {"subtype": "error", "request_id": request_id, "error": "This is not offered here."}
        return line_of({"type": "control_response", "response": response})

    def permit(self, permission_id: str, allow: bool) -> bytes:
        if permission_id not in self._waiting:
            return b""
        wanted = self._waiting.pop(permission_id)
        denied = {"behavior": "deny", "message": "This was not allowed."}
        answer = {"behavior": "allow", "updatedInput": wanted} if allow else denied
        response = {"subtype": "success", "request_id": permission_id, "response": answer}
        return line_of({"type": "control_response", "response": response})
