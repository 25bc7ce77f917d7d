"""`supervisor` that keeps little, so that its memory is full soon and stands still if nothing leaks: forgetful.py …"""

from __future__ import annotations

from supervisor import bus
from supervisor.cli import main
from supervisor.core import apply
from supervisor.driving.backends import base
from supervisor.runtime import runtime
from supervisor.server import viewers

if __name__ == "__main__":
    apply.KEPT_MESSAGES = 50  # type: ignore[attr-defined]  # it is imported there
    runtime.REMEMBERED_REQUESTS = 50
    viewers.MOST_MISSED = 1000
    bus.Bus.__init__.__defaults__ = (256, bus.MOST_CHARACTERS)
    base.Once.__init__.__defaults__ = (200,)
    main()
