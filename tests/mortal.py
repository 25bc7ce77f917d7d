"""`supervisor` that is killed just before the N-th statement it gives to its database: mortal.py N start …"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from typing import Any

from pysqlite3 import dbapi2 as sqlite3

left = 0


def tick() -> None:
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


class Mortal(sqlite3.Connection):  # type: ignore[misc]  # pysqlite3 has no types
    """Counts what is asked of it."""

    def execute(self, *arguments: Any) -> Any:
        tick()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        tick()
        return super().executemany(*arguments)


def live_until(statement: int) -> None:
    """From now on so many statements are left."""
    global left
    left = statement
    sqlite3.connect = partial(sqlite3.connect, factory=Mortal)


if __name__ == "__main__":
    from supervisor.cli import main

    live_until(int(sys.argv.pop(1)))
    main()
