"""What bounds everything that is waited for, written and kept."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, bytes and counts that bound everything; the defaults suit real CLIs."""

    start: float = 30.0
    starts: int = 6
    backoff: float = 0.25
    backoff_most: float = 15.0
    write: float = 15.0
    silence: float = 180.0
    interrupt: float = 5.0
    settle: float = 1.0
    transcript_wait: float = 2.0
    close: float = 5.0
    term: float = 3.0
    rescan: float = 1.0
    prompt_bytes: int = 4 << 20
    line_bytes: int = 256 << 20
    log_bytes: int = 1 << 20
