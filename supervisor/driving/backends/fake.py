"""The fake CLI: claude's manners, no network, and everything it keeps in the agent's own folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .claude import Claude

if TYPE_CHECKING:
    from .base import Launch


class Fake(Claude):
    """Runs with this Python, so that it is there wherever the supervisor is."""

    name = "fake"
    free = True
    allow = ("FAKE_CLI_*", "PYTHON*", "VIRTUAL_ENV")
    oldest = tested = install = ""
    sign_in = None
    parameters = ()
    program = (sys.executable, "-P", "-m", "fake_cli")  # -P: nothing is imported from the working folder

    def environment(self, launch: Launch) -> dict[str, str]:
        return {"CLAUDE_CONFIG_DIR": str(Path(launch.folder).resolve() / "fake")}
