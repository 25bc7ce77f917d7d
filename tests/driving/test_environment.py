"""What a CLI gets to see of our environment."""

from __future__ import annotations

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
