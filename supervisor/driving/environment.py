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
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip

NEVER = ("CLAUDECODE", "CLAUDE_CODE_*", "SUPERVISOR_*")
"""What would tell a CLI that it runs inside another agent, and what is only ours."""


def pick(inherited: Mapping[str, str], allow: Iterable[str], given: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment for a CLI: the allowed part of ours, then what is given for it, then its mark."""
    patterns = (*COMMON, *allow)
    chosen = {
        name: value
        for name, value in inherited.items()
        if any(fnmatchcase(name, p) for p in patterns) and not any(fnmatchcase(name, p) for p in NEVER)
    }
    return {**chosen, **given, MARK: mark}
