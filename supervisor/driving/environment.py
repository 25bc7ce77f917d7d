"""What a CLI gets to see of our environment: what is on the list, and nothing else."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MARK = "SUPERVISOR_AGENT"
"""Names the agent a process belongs to; by it descendants are found that left its session and its group."""

COMMON = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "TERM", "XDG_*",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "DO_NOT_TRACK",
)  # fmt: skip

OURS = "SUPERVISOR_*"
"""What no CLI gets to see."""

INSIDE = (
    "CLAUDECODE", "CLAUDE_CODE_*", "CLAUDE_PID", "CLAUDE_EFFORT", "CLAUDE_PROJECT_DIR", "CODEX_CI", "CODEX_VERSION",
    "CODEX_SANDBOX*", "CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID", "CODEX_APPLY_PATCH_*",
    "CODEX_MANAGED_*", "CODEX_INTERNAL_*", "GEMINI_CLI", "GEMINI_CLI_IDE_*", "GEMINI_CLI_TRUST_WORKSPACE",
    "GEMINI_CLI_SURFACE", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "OPENCODE", "OPENCODE_PID",
    "OPENCODE_CALLER", "OPENCODE_CLIENT", "OPENCODE_RUN_ID", "OPENCODE_PROCESS_ROLE", "OPENCODE_TERMINAL",
    "OPENCODE_ROUTE", "OPENCODE_WORKSPACE_ID", "OPENCODE_EDITOR_*", "OPENCODE_SERVER_*", "AGENT", "AI_AGENT",
)  # fmt: skip
"""What would tell a CLI that it runs inside another agent; passed on only where it is on the list by its whole name."""


def pick(inherited: Mapping[str, str], allow: Iterable[str], given: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment for a CLI: the allowed part of ours, then what is given for it, then its mark."""
    patterns = (*COMMON, *allow)

    def passes(name: str) -> bool:
        if fnmatchcase(name, OURS):
            return False
        inside = any(fnmatchcase(name, pattern) for pattern in INSIDE)
        return name in patterns or (not inside and any(fnmatchcase(name, pattern) for pattern in patterns))

    chosen = {name: value for name, value in inherited.items() if passes(name)}
    return {**chosen, **given, MARK: mark}
