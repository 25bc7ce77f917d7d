"""opencode, spoken to by the Agent Client Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .acp import Acp, AcpDialogue
from .base import Launch, SignIn, line_of

if TYPE_CHECKING:
    from .base import Dialogue

AGENT = "office-supervisor"
"""An agent of ours: what the user's configuration says of its own agents would count beside what we say."""
READING = ("read", "glob", "grep", "list")


class OpenCode(Acp):
    """Starts, resumes and bounds opencode, which is configured by a variable."""

    name = "opencode"
    asks_anew = True
    program = ("opencode",)
    allow = ("OPENCODE_*", "OPENAI_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*", "AWS_*", "AZURE_*")
    oldest, tested = "1.18.0", "1.18.33"
    install = "npm install -g opencode-ai"
    sign_in = SignIn(
        ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
        files=("$XDG_DATA_HOME/opencode/auth.json",), how="run `opencode auth login`, or set its provider's key",
    )  # fmt: skip
    parameters = None

    def command(self, launch: Launch) -> list[str]:
        pure = ("--pure",) if launch.tools == "none" else ()
        return [*(launch.command or self.program), "acp", *pure, *launch.arguments]

    def environment(self, launch: Launch) -> dict[str, str]:
        permission: dict[str, str] = {
            "none": {"*": "deny"},
            "read": {"*": "deny", **dict.fromkeys(READING, "allow")},
            "ask": {"*": "ask", **dict.fromkeys(READING, "allow")},
            "all": {"*": "allow"},
        }[launch.tools]
        agent: dict[str, Any] = {**launch.parameters, "mode": "primary", "permission": permission}
        if launch.instructions and launch.tools == "none":
            agent["prompt"] = launch.instructions
        config: dict[str, Any] = {
            "agent": {AGENT: agent, "title": {"disable": True}}, "default_agent": AGENT, "share": "disabled",
            "autoupdate": False, "experimental": {"continue_loop_on_deny": True},
        }  # fmt: skip
        if launch.model:
            config["model"] = launch.model
        return {
            "OPENCODE_CONFIG_CONTENT": line_of(config).decode().strip(), "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_PERMISSION": "{}",
        }  # fmt: skip

    def dialogue(self, launch: Launch) -> Dialogue:
        return AcpDialogue(launch, introduce=launch.tools != "none", asks_anew=True)
