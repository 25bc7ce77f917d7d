"""opencode, spoken to by the Agent Client Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .acp import Acp, AcpDialogue
from .base import Launch, SignIn, line_of

if TYPE_CHECKING:
    from .base import Dialogue

AGENT = "office-supervisor"
"""An agent of ours: what the user's configuration says of its own agents would count beside what we say."""
PROVIDERS = (
    "OPENAI_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*", "AWS_*", "AZURE_*", "CLOUDFLARE_*",
    "AI_GATEWAY_API_KEY", "ARK_API_KEY", "BASETEN_API_KEY", "CEREBRAS_API_KEY", "CHUTES_API_KEY", "COHERE_API_KEY",
    "DASHSCOPE_API_KEY", "DEEPINFRA_API_KEY", "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY", "GROQ_API_KEY", "HF_TOKEN",
    "KIMI_API_KEY", "LLAMA_API_KEY", "LMSTUDIO_API_KEY", "MINIMAX_API_KEY", "MISTRAL_API_KEY", "MOONSHOT_API_KEY",
    "NEBIUS_API_KEY", "NVIDIA_API_KEY", "OLLAMA_API_KEY", "PERPLEXITY_API_KEY", "POE_API_KEY", "REQUESTY_API_KEY",
    "SCALEWAY_API_KEY", "SILICONFLOW_API_KEY", "STEPFUN_API_KEY", "TOGETHER_API_KEY", "UPSTAGE_API_KEY",
    "VENICE_API_KEY", "XAI_API_KEY", "ZHIPU_API_KEY",
)  # fmt: skip
"""Who serves its models, by the variables that they are reached with; the rest a configuration has to name."""
READING = ("read", "glob", "grep", "list")


class OpenCode(Acp):
    """Starts, resumes and bounds opencode, which is configured by a variable."""

    name = "opencode"
    asks_anew = True
    program = ("opencode",)
    allow = ("OPENCODE_*", *PROVIDERS)
    oldest, tested = "1.18.0", "1.18.33"
    install = "npm install -g opencode-ai"
    sign_in = SignIn(
        ("*_KEY", "*_TOKEN", "AWS_BEARER_TOKEN_*", "GOOGLE_APPLICATION_CREDENTIALS"),
        files=("$XDG_DATA_HOME/opencode/auth.json",),
        how="run `opencode auth login`, or set its provider's key (one that is not known goes into `allow`)",
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
        lean = {  # no AGENTS.md or CLAUDE.md: the user's stands beside a configuration, the project's with one
            "OPENCODE_CONFIG_DIR": str(Path(launch.folder).absolute()), "OPENCODE_DISABLE_CLAUDE_CODE": "1",
            "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        }  # fmt: skip
        return {
            "OPENCODE_CONFIG_CONTENT": line_of(config).decode().strip(), "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_PERMISSION": "{}", **(lean if launch.tools == "none" else {}),
        }  # fmt: skip

    def dialogue(self, launch: Launch) -> Dialogue:
        return AcpDialogue(launch, introduce=launch.tools != "none", asks_anew=True)
