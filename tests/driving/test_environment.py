"""What a CLI gets to see of our environment."""

from __future__ import annotations

import pytest

from supervisor.driving.backends import BACKENDS
from supervisor.driving.environment import MARK, pick


def test_only_what_is_on_the_list_is_passed() -> None:
    """Names and patterns; everything else stays with us."""
    ours = {"PATH": "/bin", "LC_ALL": "C", "SECRET": "x", "AWS_KEY": "y", "ANTHROPIC_API_KEY": "k", "HTTPS_PROXY": "p"}
    assert pick(ours, ["ANTHROPIC_*"], {}, "m") == {
        "PATH": "/bin", "LC_ALL": "C", "ANTHROPIC_API_KEY": "k", "HTTPS_PROXY": "p", MARK: "m",
    }  # fmt: skip


def test_nothing_says_that_it_runs_inside_of_another_agent() -> None:
    """Even a careless pattern does not pass these on; what is given for the CLI itself wins."""
    ours = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "SUPERVISOR_TOKEN": "t", "CLAUDE_CONFIG_DIR": "/c"}
    assert pick(ours, ["*"], {"CLAUDE_CODE_X": "mine"}, "m") == {
        "CLAUDE_CONFIG_DIR": "/c", "CLAUDE_CODE_X": "mine", MARK: "m",
    }  # fmt: skip


def test_what_signs_in_is_passed_by_its_whole_name() -> None:
    """A name on the list goes before a pattern of what would say that it runs inside of another agent."""
    ours = {"CLAUDE_CODE_OAUTH_TOKEN": "t", "CLAUDE_CODE_SSE_PORT": "1", "GEMINI_API_KEY": "k", "GEMINI_CLI": "1"}
    assert pick(ours, BACKENDS["claude"].allow, {}, "m") == {"CLAUDE_CODE_OAUTH_TOKEN": "t", MARK: "m"}
    assert pick(ours, BACKENDS["gemini"].allow, {}, "m") == {"GEMINI_API_KEY": "k", MARK: "m"}
    assert pick({"CODEX_HOME": "/c", "CODEX_SANDBOX": "x"}, BACKENDS["codex"].allow, {}, "m") == {
        "CODEX_HOME": "/c", MARK: "m",
    }  # fmt: skip


INSIDE_OF = {
    "claude": ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_EFFORT",
               "CLAUDE_PROJECT_DIR", "AI_AGENT"),
    "codex": ("CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_SESSION_ID",
              "CODEX_TOOL_CALL_ID", "CODEX_VERSION", "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS", "CODEX_MANAGED_BY_NPM",
              "CODEX_MANAGED_PACKAGE_ROOT", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE"),
    "gemini": ("GEMINI_CLI", "GEMINI_CLI_TRUST_WORKSPACE", "GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_PID",
               "GEMINI_CLI_IDE_WORKSPACE_PATH", "GEMINI_CLI_SURFACE", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR",
               "GEMINI_CWD"),
    "opencode": ("AGENT", "OPENCODE", "OPENCODE_PID", "OPENCODE_CLIENT", "OPENCODE_RUN_ID", "OPENCODE_PROCESS_ROLE",
                 "OPENCODE_TERMINAL", "OPENCODE_ROUTE", "OPENCODE_WORKSPACE_ID", "OPENCODE_EDITOR_SSE_PORT"),
}  # fmt: skip
"""What the real ones set for what they start, or for windows and servers of theirs."""


@pytest.mark.parametrize("name", INSIDE_OF)
def test_what_a_cli_sets_for_what_it_starts_goes_no_further(name: str) -> None:
    """Whoever starts the supervisor from within one: the agents have no part in that session."""
    ours = dict.fromkeys(INSIDE_OF[name], "1")
    for backend in BACKENDS.values():
        assert pick(ours, backend.allow, {}, "m") == {MARK: "m"}
    assert pick(ours, ["*"], {}, "m") == {MARK: "m"}


@pytest.mark.parametrize("provider", ["DEEPSEEK", "GROQ", "XAI", "MISTRAL", "MOONSHOT", "TOGETHER", "CEREBRAS"])
def test_opencode_gets_the_keys_of_its_providers(provider: str) -> None:
    """Those that are known, and not whatever is called a key."""
    name = f"{provider}_API_KEY"
    assert pick({name: "k", "STRIPE_API_KEY": "s"}, BACKENDS["opencode"].allow, {}, "m") == {name: "k", MARK: "m"}


def test_who_does_not_want_to_be_watched_is_heeded() -> None:
    """A person's own opt-outs hold for the CLIs that know them."""
    ours = {"DO_NOT_TRACK": "1", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_ERROR_REPORTING": "1"}  # fmt: skip
    assert pick(ours, BACKENDS["claude"].allow, {}, "m") == {**ours, MARK: "m"}
    for name in ("codex", "gemini", "opencode", "acp"):
        assert pick(ours, BACKENDS[name].allow, {}, "m")["DO_NOT_TRACK"] == "1"


def test_what_is_ours_is_never_passed() -> None:
    assert pick({"SUPERVISOR_TOKEN": "t"}, ["SUPERVISOR_TOKEN", "*"], {}, "m") == {MARK: "m"}
