"""Gemini CLI, spoken to by the Agent Client Protocol."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from .acp import Acp, AcpDialogue
from .base import Launch, SignIn, line_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .base import Dialogue

INSTRUCTIONS, POLICY, SETTINGS = "gemini-system.md", "gemini-policy.toml", "gemini-settings.json"
RULE = '[[rule]]\ntoolName = {tool}\ndecision = "{decision}"\npriority = {priority}\n'
READING = ("read_file", "read_many_files", "list_directory", "glob", "grep_search")
TRIES = 4
"""How often it asks the model again by itself; its own default keeps a room waiting for minutes."""


class Gemini(Acp):
    """Starts, resumes and bounds Gemini CLI."""

    name = "gemini"
    program = ("gemini",)
    allow = ("GEMINI_*", "GOOGLE_*", "CLOUDSDK_*")
    oldest, tested = "0.61.0", "0.61.0"
    install = "npm install -g @google/gemini-cli"
    sign_in = SignIn(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
        files=(".gemini/oauth_creds.json",), how="run `gemini` once and sign in, or set GEMINI_API_KEY",
    )  # fmt: skip
    parameters = None

    def command(self, launch: Launch) -> list[str]:
        command = [*(launch.command or self.program), "--acp", "--skip-trust"]
        if launch.model:
            command += ["--model", launch.model]
        if launch.tools == "none":
            command += ["--extensions", "none", "--allowed-mcp-server-names", "none"]
        if launch.tools in ("none", "read"):
            command += ["--policy", self._place(launch, POLICY)]
        return [*command, *launch.arguments]

    def environment(self, launch: Launch) -> dict[str, str]:
        given = {
            "GEMINI_CLI_NO_RELAUNCH": "true",  # else it is its own child, and KILL leaves that behind
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": self._place(launch, SETTINGS),
        }
        ours = launch.instructions and launch.tools == "none"
        given["GEMINI_SYSTEM_MD"] = self._place(launch, INSTRUCTIONS) if ours else "false"
        return given

    def files(self, launch: Launch) -> dict[str, str]:
        rules = [("*", "deny", 900), *((tool, "allow", 950) for tool in READING if launch.tools == "read")]
        settings: dict[str, object] = {"general": {
            "maxAttempts": TRIES, "enableAutoUpdate": False, "defaultApprovalMode": "default",
        }}  # fmt: skip
        if launch.tools == "none":  # it need not know what lies in the folder, nor run what its user has for working
            settings["context"] = {"includeDirectoryTree": False}
            settings["skills"] = settings["hooksConfig"] = {"enabled": False}
        if launch.parameters:
            generate = {"generateContentConfig": launch.parameters}
            everywhere = {"match": {"overrideScope": "core"}, "modelConfig": generate}
            settings["modelConfigs"] = {"customOverrides": [everywhere]}
        return {
            INSTRUCTIONS: launch.instructions,
            POLICY: "\n".join(
                RULE.format(tool=line_of(tool).decode().strip(), decision=decision, priority=priority)
                for tool, decision, priority in rules
            ),
            SETTINGS: line_of(settings).decode(),
        }

    def resumable_at(self, launch: Launch, environment: Mapping[str, str]) -> float:
        """It names a session's file by the minute; told to load it within the same one, it writes over it."""
        home = Path(environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or "~").expanduser()
        files = (home / ".gemini" / "tmp").glob(f"*/chats/session-*-{escape(launch.own_id[:8])}.jsonl")
        born = [at for path in files if (at := _begun(path.name))]
        return max(born) + 61 if born else 0.0

    def dialogue(self, launch: Launch) -> Dialogue:
        return AcpDialogue(launch, introduce=launch.tools != "none")

    def _place(self, launch: Launch, name: str) -> str:
        return str(Path(launch.folder).absolute() / name)


def _begun(name: str) -> float:
    """The minute that a session's file is named by; 0 where it names none, whoever made it."""
    found = re.search(r"session-(\d{4}-\d\d-\d\dT\d\d-\d\d)-", name)
    with suppress(ValueError):
        return datetime.strptime(f"{found[1]}+0000", "%Y-%m-%dT%H-%M%z").timestamp() if found else 0.0
    return 0.0
