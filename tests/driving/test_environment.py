"""What a CLI gets to see of our environment."""

from __future__ import annotations

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


def test_what_is_ours_is_never_passed() -> None:
    assert pick({"SUPERVISOR_TOKEN": "t"}, ["SUPERVISOR_TOKEN", "*"], {}, "m") == {MARK: "m"}
